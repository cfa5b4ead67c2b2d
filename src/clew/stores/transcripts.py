"""Transcripts of Clew's own sessions: one file each, lines of JSON that are only ever added.

`sessions/{id}.jsonl` holds it, `sessions/{id}/` the lock and what tools keep for the session. A line is on the disk
before the next step begins. A line torn by a death is skipped by every reader and closed by the next writer.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from clew.core.agent.events import Outcome
from clew.core.agent.loop import Answer, Result
from clew.core.agent.record import RunRecord
from clew.core.text.together import together
from clew.errors import NotFound, StoreBusy, StoreError, StoreTooNew
from clew.stores.durable import locked, make_folder, translated
from clew.system import open_file

FORMAT: Final = 1
_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4,8}")
_LONGEST_TITLE: Final = 120


class Opened(msgspec.Struct, tag_field="type", tag="session", omit_defaults=True):
    """The first line: what the session stands on, unchanged while it lives.

    Before the first run there may be a second one, which takes its place: what MCP servers want the model to read is
    known only when they have started.
    """

    id: str
    at: str
    workspace: str
    name: str
    root: str
    cwd: str
    branch: str = ""
    identity: str = ""
    injections: tuple[tuple[str, str], ...] = ()
    """Origin and text of each."""
    instructions: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Digests of the project's instruction files as they were read."""
    forked: str = ""
    """The session that this one goes on from, with the number of its last run: `ID#3`."""
    delegated: str = ""
    """The session whose agent started this one."""
    format: int = FORMAT


class Began(msgspec.Struct, tag_field="type", tag="run", omit_defaults=True):
    """A run begins."""

    run: int
    at: str
    model: str
    message: str
    blocks: tuple[str, ...]
    """The user's part as it is sent, the message last."""
    hints: tuple[str, ...] = ()


class Replied(msgspec.Struct, tag_field="type", tag="answer", omit_defaults=True):
    """An answer of the model."""

    run: int
    step: int
    window: int
    text: str
    thinking: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    """Id, tool, arguments."""
    usage: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class Resulted(msgspec.Struct, tag_field="type", tag="results", omit_defaults=True):
    """What the calls of a step were answered, and what went along with that."""

    run: int
    step: int
    results: tuple[tuple[str, str, str, bool], ...]
    """Id, tool, text, whether it failed."""


class Added(msgspec.Struct, tag_field="type", tag="added", omit_defaults=True):
    """What was put behind the results: hints, words of the user, notices."""

    run: int
    step: int
    texts: tuple[str, ...]
    hints: tuple[str, ...] = ()
    steered: tuple[str, ...] = ()


class Renewed(msgspec.Struct, tag_field="type", tag="window", omit_defaults=True):
    """A fresh window within a run, or between two."""

    run: int
    window: int
    reason: str
    hint: str = ""
    """The continuation hint, as it is sent from now on."""
    blocks: tuple[str, ...] = ()
    """The user's part as it is sent in the new window."""


class Ended(msgspec.Struct, tag_field="type", tag="end", omit_defaults=True):
    """A run is over."""

    run: int
    at: str
    outcome: Outcome
    final: str = ""
    reason: str = ""
    calls: int = 0
    changed: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()


Line = Opened | Began | Replied | Resulted | Added | Renewed | Ended
_DECODER: Final = msgspec.json.Decoder(Line)
_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Read:
    """What a transcript holds."""

    opened: Opened
    lines: tuple[Line, ...]
    """All lines in order, the first one too."""
    skipped: int = 0
    """Lines that could not be read."""

    def records(self) -> tuple[RunRecord, ...]:
        """The runs, as later runs see them."""
        return tuple(_record(run, self.lines) for run in self.runs())

    def runs(self) -> tuple[Began, ...]:
        """The beginnings of all runs."""
        return tuple(line for line in self.lines if isinstance(line, Began))

    @property
    def windows(self) -> int:
        """How many windows there were."""
        return 1 + sum(isinstance(line, Renewed) for line in self.lines)

    @property
    def hint(self) -> str:
        """The continuation hint of the present window; empty in the first."""
        return next((line.hint for line in reversed(self.lines) if isinstance(line, Renewed)), "")


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in a list."""

    id: str
    at: str
    workspace: str
    name: str
    cwd: str
    title: str
    """Its first message, on one line."""
    runs: int
    model: str
    last: str
    """When its last run began or ended."""
    outcome: str
    """Of the last run; `crashed` where its process died."""
    forked: str = ""
    delegated: str = ""


class Transcript:
    """A session that is being written. Held by one process at a time."""

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self.path = path
        self.id = path.stem
        self.redact = redact
        self._stack = contextlib.ExitStack()
        self._descriptor = -1

    @property
    def folder(self) -> Path:
        """What tools keep for the session."""
        return self.path.with_suffix("")

    def __enter__(self) -> Transcript:
        try:
            self._stack.enter_context(locked(self.folder, 0))
        except StoreBusy as error:
            raise StoreBusy(
                f"the session {self.id} is in use by another process",
                hint="`clew resume --fork` goes on from it in a session of its own",
            ) from error
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._stack.close()

    def append(self, *lines: Line) -> None:
        """Add lines; they are on the disk when this returns. Secrets are taken out. Raises StoreError."""
        content = b"".join(_ENCODER.encode(_clean(line, self.redact)) + b"\n" for line in lines)
        start = os.fstat(self._descriptor).st_size
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, start)  # no half line stays
            raise translated(error, self.path.name, "written") from error

    def read(self) -> Read:
        """All that was written so far."""
        return read_transcript(self.path)

    def _open(self) -> None:
        try:
            self._descriptor = open_file(self.path, "append", follow=True)
            size = os.fstat(self._descriptor).st_size
            if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
                os.write(self._descriptor, b"\n")
        except OSError as error:
            raise translated(error, self.path.name, "opened") from error


class Transcripts:
    """All sessions of this user."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self.folder = folder
        self._redact = redact
        self._summaries: dict[str, tuple[int, int, Summary]] = {}
        """What `list` has read, each with the size of the file and when it was written."""

    def new(self, now: datetime) -> Transcript:
        """A transcript of a new session, not yet begun: enter it, and append an `Opened` first."""
        make_folder(self.folder)
        return self.at(f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03x}{secrets.token_hex(2)[:3]}")

    def at(self, id_: str) -> Transcript:
        """The transcript of a session."""
        return Transcript(self.folder / f"{id_}.jsonl", self._redact)

    def find(self, id_: str) -> str:
        """The id that begins so. Raises NotFound where none or several do."""
        found = [name for name in self.ids() if name.startswith(id_)]
        exact = [name for name in found if name == id_]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if not found:
            raise NotFound(f"there is no session {id_}", hint="`clew session list` shows them")
        raise NotFound(f"{len(found)} sessions begin with {id_}", hint=f"{found[-1]} is the newest of them")

    def ids(self) -> list[str]:
        """All ids, those last that were written to last."""
        found: list[tuple[int, str]] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as entries:
            for one in entries:
                stem, dot, suffix = one.name.partition(".")
                if dot and suffix == "jsonl" and _ID.fullmatch(stem):
                    with contextlib.suppress(FileNotFoundError):
                        found.append((one.stat().st_mtime_ns, stem))
        return [name for _, name in sorted(found)]

    def read(self, id_: str) -> Read:
        """What a session holds. Raises NotFound, StoreError."""
        return read_transcript(self.folder / f"{id_}.jsonl")

    def list(self, workspace: str | None = None, *, delegated: bool = False) -> Iterator[Summary]:
        """Sessions, newest first; of one workspace where that is given. Damaged ones are left out."""
        for id_ in reversed(self.ids()):
            try:
                summary = self._summary(id_)
            except (NotFound, StoreError, FileNotFoundError):
                continue
            if workspace in (None, summary.workspace) and (delegated or not summary.delegated):
                yield summary

    def _summary(self, id_: str) -> Summary:
        stat = (self.folder / f"{id_}.jsonl").stat()
        size, written, summary = self._summaries.get(id_, (0, 0, None))
        if summary is None or (size, written) != (stat.st_size, stat.st_mtime_ns):
            summary = _summary(self.read(id_))
            self._summaries[id_] = stat.st_size, stat.st_mtime_ns, summary
        return summary


def read_transcript(path: Path) -> Read:
    """Read a transcript. Unknown and torn lines are skipped and counted.

    Raises NotFound; StoreTooNew for one that a newer Clew has written; StoreError where it has no first line.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no session {path.stem}", hint="`clew session list` shows them") from None
    except OSError as error:
        raise translated(error, path.name, "read") from error
    lines: list[Line] = []
    skipped = 0
    for raw in content.split(b"\n"):
        if not raw.strip():
            continue
        line = read_line(raw)
        if line is None:
            skipped += 1
        else:
            lines.append(line)
    while len(lines) > 1 and isinstance(lines[0], Opened) and isinstance(lines[1], Opened):
        del lines[0]
    if not lines or not isinstance(lines[0], Opened):
        raise StoreError(f"the session {path.stem} is damaged: it does not say where it began", hint=str(path))
    if lines[0].format > FORMAT:
        raise StoreTooNew(f"the session {path.stem} was written by a newer Clew", hint="install that version")
    return Read(lines[0], tuple(lines), skipped)


def read_line(raw: bytes) -> Line | None:
    """A line of a transcript; None for one that is torn or unknown."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def replied(run: int, step: int, window: int, answer: Answer) -> Replied:
    """The line of an answer."""
    usage = answer.usage
    counts = {"input": usage.input, "cached": usage.cached, "written": answer.written, "output": usage.output}
    return Replied(
        run, step, window, answer.text, answer.thinking,
        tuple((call.id, call.name, dict(call.arguments)) for call in answer.calls),
        {name: count for name, count in counts.items() if count is not None},
    )  # fmt: skip


def resulted(run: int, step: int, results: Sequence[Result]) -> Resulted:
    """The line of what calls were answered."""
    return Resulted(run, step, tuple((one.id, one.name, one.text, one.failed) for one in results))


def _record(began: Began, lines: Sequence[Line]) -> RunRecord:
    own = [line for line in lines if not isinstance(line, Opened) and line.run == began.run]
    end = next((line for line in own if isinstance(line, Ended)), None)
    answers = [line for line in own if isinstance(line, Replied)]
    words = next((line.text for line in reversed(answers) if line.text.strip()), "")
    if end is None:
        calls = sum(len(line.calls) for line in answers)
        return RunRecord(began.run, began.blocks, outcome="crashed", calls=calls, last_words=words)
    finished = bool(end.final.strip())
    return RunRecord(
        began.run, began.blocks, end.final, end.outcome, end.reason, end.calls, end.changed, end.recalled,
        "" if finished else words,
    )  # fmt: skip


def _summary(read: Read) -> Summary:
    opened, runs = read.opened, read.runs()
    ends = [line for line in read.lines if isinstance(line, Ended)]
    outcome = "" if not runs else ends[-1].outcome if ends and ends[-1].run == runs[-1].run else "crashed"
    title = " ".join(runs[0].message.split())[:_LONGEST_TITLE] if runs else ""
    last = max([opened.at, *(run.at for run in runs), *(end.at for end in ends)])
    return Summary(
        opened.id, opened.at, opened.workspace, opened.name, opened.cwd, title, len(runs),
        runs[-1].model if runs else "", last, outcome, opened.forked, opened.delegated,
    )  # fmt: skip


def _clean(value: Any, redact: Callable[[str], str]) -> Any:
    """A line as plain values, its texts without secrets: what an answer says or calls a password goes from all of it.

    What was sent was cleaned before: it stays as it was.
    """
    texts: dict[str, str] = {}
    plain = msgspec.to_builtins(value)
    _each_text(plain, lambda text: texts.setdefault(text, text))
    clean = dict(zip(texts, together(redact, *texts), strict=True))
    return _each_text(plain, clean.__getitem__)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value) if len(value) > 7 else value
    if isinstance(value, list | tuple):
        return [_each_text(one, change) for one in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _each_text(one, change) for key, one in cast("Mapping[str, Any]", value).items()}
    return value
