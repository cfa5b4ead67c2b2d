"""Searches the transcripts of Clew's own sessions, and opens the spots that it cites (W-08, in part).

The index is the one of memory, over other documents: derived, disposable, brought up to the files before each search.
Transcripts only grow, so each is indexed in shares of SHARE bytes: only the last two of a session are ever read again.
What is searched is what was said and asked for: messages, answers, calls with their arguments, what failed. Outputs
that were fine are not: they are as long as files, and files are better searched where they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from clew.core.agent.loop import succeeded
from clew.core.handoff.references import SESSION
from clew.core.memory.document import Document, clean_line
from clew.core.memory.hits import Hit
from clew.core.memory.passages import Piece, split
from clew.errors import NotFound, StoreError, UsageError
from clew.services.memory_search import BUDGET, EMBED_SECONDS, Found, MemorySearch, Searched, over_index
from clew.services.notices import WITHOUT_TABLE
from clew.services.relevance import lacks_table, load_table
from clew.services.sessions import exported, spot
from clew.stores.audit import Audit
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter
from clew.stores.memory_writing import Loaded
from clew.stores.transcripts import (
    Added,
    Began,
    Ended,
    Line,
    Opened,
    Replied,
    Resulted,
    Transcripts,
    read_line,
)

if TYPE_CHECKING:
    from clew.adapters.home import Home

SHARE: Final = 128 << 10
"""Bytes of a transcript that are one document of the index."""
_LONGEST: Final = 20_000
"""Characters of a message or an answer that are searched."""
_LONGEST_ARGUMENT: Final = 2_000
_LONGEST_FAILURE: Final = 600
_LONGEST_TITLE: Final = 60
_SEARCHES: Final = frozenset({"session_search", "memory_recall"})
"""Tools whose calls hold nothing but what was looked for: a search must not find itself."""
_RUN: Final = b'{"type":"run"'
_END: Final = b'{"type":"end"'


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a transcript as the index sees it: what says whether it is still the same."""

    path: str
    """`ID.jsonl@3`."""
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing that was said or done."""

    who: str
    """`user`, `assistant`, `call`, `result` or `outcome`."""
    place: str
    """What stands behind `#` in its reference: `3.5`, step 5 of run 3; `3.0` is what the user said to begin it."""
    text: str


def sessions_index_path(home: Home) -> Path:
    """Where the index of sessions lies."""
    return home.cache / "index" / "sessions.db"


@dataclass(slots=True)
class SessionSearch:
    """Searches all sessions of this user; those of one workspace unless more is asked for."""

    transcripts: Transcripts
    path: Path
    """The index."""
    redact: Callable[[str], str]
    audit: Audit
    workspace: str
    clock: Callable[[], datetime]
    session: str = ""
    """The session that asks: its present message and the answer at hand are not found, for they are in its window."""
    progress: Callable[[int, int], None] | None = None
    _content: tuple[str, bytes] = ("", b"")

    def search(self, query: str, *, session: str = "", everything: bool = False, budget: int = BUDGET) -> Found:
        """The hits for `query` under `budget` bytes, of one `session` where that is given, of all workspaces with
        `everything`. What was found, or that nothing was, is recorded in the audit. Raises UsageError, NotFound.
        """
        chosen = Filter(workspaces=() if everything else (self.workspace,))
        if session:
            id_ = self.transcripts.find(session)
            self._demand_near(id_, everything=everything)
            chosen = Filter(tags=(id_,))
        found = self.find(query, chosen=chosen, budget=budget)
        searched = found.searched
        self.audit.write(
            "miss" if found.miss else "recall", reason="searched sessions", query=query,
            refs=tuple(hit.reference for hit in found.hits[:10]), workspace=self.workspace, session=self.session,
            numbers={"documents": searched.documents, "passages": searched.passages, "hits": len(found.hits)},
        )  # fmt: skip
        return found

    def find(self, query: str, *, chosen: Filter | None = None, budget: int = BUDGET) -> Found:
        """As `search`, without a word in the audit; `chosen` names workspaces, times and sessions (as tags)."""
        if not query.strip():
            raise UsageError("there is nothing to look for", hint="give a question or some words")
        if not self.transcripts.ids():
            return Found((), 0, Searched("sessions", 0, 0, ()))
        wanted = replace(chosen or Filter(workspaces=(self.workspace,)), tiers=("session",))
        hidden = self._at_hand()

        def answer(index: MemoryIndex) -> Found:
            self._refresh(index)
            seen = set(hidden)

            def keeps(ref: str) -> bool:
                new = ref not in seen
                seen.add(ref)
                return new

            room = max(budget - min(budget // 6, 1_000), 200)
            found = MemorySearch(index).find(
                self.redact(query), scope="sessions", chosen=wanted, today=self.clock().date(), budget=room,
                keeps=keeps,
            )  # fmt: skip
            ids = {row.path.partition(".")[0] for row in index.listed(wanted)}
            return replace(found, searched=replace(found.searched, documents=len(ids)))

        found, notices = over_index(self.path, answer)
        if lacks_table():
            notices.append(WITHOUT_TABLE)
        return replace(found, hits=self._titled(found.hits), notices=tuple(notices))

    def open(self, ref: str, *, everything: bool = False) -> tuple[str, str]:
        """A reference in its plain form, and what it points to as Markdown. Sessions of other workspaces only with
        `everything`. Raises NotFound, UsageError."""
        plain, read = spot(self.transcripts, ref)
        if not everything and read.opened.workspace != self.workspace:
            raise self._far(read.opened.id)
        return plain, self.redact(exported(read).rstrip("\n"))

    # ------------------------------------------------------------------ the index

    def _refresh(self, index: MemoryIndex) -> None:
        self._content = ("", b"")
        index.refresh(self._parts(), self._load, progress=self.progress)
        self._content = ("", b"")
        table = load_table()
        if table is not None:
            index.embed(table.encode, seconds=EMBED_SECONDS)

    def _parts(self) -> Iterator[Part]:
        for id_ in self.transcripts.ids():
            try:
                status = (self.transcripts.folder / f"{id_}.jsonl").stat()
            except OSError:
                continue
            count = max(1, -(-status.st_size // SHARE))
            for number in range(count):
                whole = number < count - 2
                size, *times = (SHARE, 0, 0) if whole else (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                yield Part(f"{id_}.jsonl@{number}", size, times[0], status.st_ino, times[1])

    def _load(self, path: str, _known: str) -> Loaded | None:
        """A share of a transcript; None where its session cannot be told. Raises StoreError."""
        name, _, number = path.partition("@")
        content = self._read(name)
        opened = _opened(content)
        if opened is None:
            return None
        began, rows = share(content, int(number))
        frames = [*frames_of(rows, content)]
        moments = _moments(began, rows)
        pieces: list[Piece] = []
        for frame in frames:
            at = moments.get(frame.place.partition(".")[0], opened.at)[:16]
            ref = f"{SESSION}{opened.id}#{frame.place}"
            for one in split(self.redact(frame.text)):
                pieces.append(Piece(one.text, 1, 1, "", frame.who, at, ref))
        last = date.fromisoformat(max([opened.at, *moments.values()])[:10])
        digest = hashlib.blake2b(msgspec.json.encode(pieces), digest_size=16).hexdigest()
        document = Document(
            path=path, tier="session", workspace=opened.workspace, tags=(opened.id,), updated=last, created=last,
            digest=digest,
        )  # fmt: skip
        return Loaded(document, tuple(pieces))

    def _read(self, name: str) -> bytes:
        # The shares of one session come one after the other.
        if self._content[0] != name:
            try:
                self._content = (name, (self.transcripts.folder / name).read_bytes())
            except OSError as error:
                raise StoreError(f"{name} cannot be read: {error.strerror}", hint="check its rights") from error
        return self._content[1]

    # ------------------------------------------------------------------ inside

    def _at_hand(self) -> frozenset[str]:
        """What began the run that is under way in the session that asks."""
        if not self.session:
            return frozenset()
        try:
            content = (self.transcripts.folder / f"{self.session}.jsonl").read_bytes()
        except OSError:
            return frozenset()
        at = content.rfind(_RUN)
        line = read_line(_row(content, at)) if at >= 0 else None
        if not isinstance(line, Began) or content.find(_END, at) >= 0:
            return frozenset()
        return frozenset((f"{SESSION}{self.session}#{line.run}.0",))

    def _titled(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Hits with the titles of their sessions; what a fork shares with its origin once."""
        titles: dict[str, str] = {}
        made: list[Hit] = []
        seen: set[tuple[str, str, str]] = set()
        for hit in hits:
            words = (hit.at, hit.speaker, hit.snippet)
            if hit.snippet and words in seen:
                continue
            seen.add(words)
            id_ = hit.path.partition(".")[0]
            if id_ not in titles:
                titles[id_] = self.redact(_title(self.transcripts.folder / f"{id_}.jsonl"))
            made.append(replace(hit, name=titles[id_]) if hit.snippet else hit)
        return tuple(made)

    def _demand_near(self, id_: str, *, everything: bool) -> None:
        if not everything and self.transcripts.read(id_).opened.workspace != self.workspace:
            raise self._far(id_)

    def _far(self, id_: str) -> NotFound:
        return NotFound(f"the session {id_} is of another workspace", hint=f"`clew open {SESSION}{id_}` shows it")


# ---------------------------------------------------------------------- transcripts


def share(content: bytes, number: int) -> tuple[Began | None, list[tuple[int, Line]]]:
    """The lines that begin in share `number` of a transcript, each with the byte it begins at, and the beginning of
    the run that they go on with. Lines that cannot be read are left out."""
    start, end = number * SHARE, min((number + 1) * SHARE, len(content))
    at = content.find(b"\n", start - 1) + 1 if start else 0
    found: list[tuple[int, Line]] = []
    if start and not at:
        return None, found
    before = content.rfind(_RUN, 0, at)
    began = read_line(_row(content, before)) if before >= 0 else None
    while at < end:
        row = _row(content, at)
        line = read_line(row) if row.strip() else None
        if line is not None:
            found.append((at, line))
        at += len(row) + 1
    return began if isinstance(began, Began) else None, found


def frames_of(rows: Sequence[tuple[int, Line]], content: bytes) -> Iterator[Frame]:
    """What was said and done in lines of a transcript. An answer whose calls are not answered yet is left out."""
    for at, line in rows:
        match line:
            case Began(run=run, message=message):
                yield Frame("user", f"{run}.0", message[:_LONGEST])
            case Replied(run=run, step=step, text=text, calls=calls):
                if calls and not content[at + len(_row(content, at)) :].strip():
                    continue
                if text.strip():
                    yield Frame("assistant", f"{run}.{step}", text[:_LONGEST])
                for _, name, arguments in calls:
                    if name not in _SEARCHES:
                        yield Frame("call", f"{run}.{step}", _called(name, arguments))
            case Resulted(run=run, step=step, results=results):
                for _, name, text, failed in results:
                    if not succeeded(name, text, failed=failed):
                        yield Frame("result", f"{run}.{step}", f"{name} failed: {_shortened(text)}")
            case Added(run=run, step=step, steered=steered):
                for words in steered:
                    yield Frame("user", f"{run}.{step}", words[:_LONGEST])
            case Ended(run=run, outcome=outcome, reason=reason) if outcome != "finished":
                yield Frame("outcome", f"{run}", f"the run {outcome}: {reason[:_LONGEST_FAILURE]}")
            case _:
                pass


def _called(name: str, arguments: Mapping[str, Any]) -> str:
    rows = [name]
    for key, value in arguments.items():
        told = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        rows.append(f"{key}: {told[:_LONGEST_ARGUMENT]}")
    return "\n".join(rows)


def _shortened(text: str) -> str:
    """The beginning and the end: errors stand at either."""
    if len(text) <= _LONGEST_FAILURE:
        return text
    half = _LONGEST_FAILURE // 2
    return f"{text[:half]} … {text[-half:]}"


def _moments(began: Began | None, rows: Sequence[tuple[int, Line]]) -> dict[str, str]:
    """When each run began, by its number."""
    lines = [began, *(line for _, line in rows)]
    return {str(line.run): line.at for line in lines if isinstance(line, Began)}


def _row(content: bytes, at: int) -> bytes:
    """The line that begins at a byte."""
    stop = content.find(b"\n", at)
    return content[at:] if stop < 0 else content[at:stop]


def _opened(content: bytes) -> Opened | None:
    line = read_line(_row(content, 0))
    return line if isinstance(line, Opened) else None


def _title(path: Path) -> str:
    """The first message of a session, on one line; empty where there is none."""
    try:
        with path.open("rb") as file:
            for row in file:
                if row.startswith(_RUN):
                    line = read_line(row)
                    return clean_line(line.message, _LONGEST_TITLE) if isinstance(line, Began) else ""
    except OSError:
        pass
    return ""
