"""The audit trail: files of lines that are only ever added to, by many processes at once.

Files are named `2026-03.jsonl`, then `2026-03.2.jsonl` and so on when one is full. A line goes into the file with one
write, under a lock that is waited for briefly and does without when it does not come. A line that a kill or a full
disk cut short is left as it is; the next writer begins on a line of its own, and readers count what is damaged.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from clew.core.memory.audit import (
    FORMAT,
    MOST_LINE,
    Choice,
    Entry,
    Redactor,
    bounded,
    head_line,
    line_of,
    read_line,
    stamp,
)
from clew.errors import StoreBusy
from clew.system import is_at, open_file, open_regular, set_mode, wait_for_lock

MOST_BYTES: Final = 8 << 20
"""Of a file; the next line begins another one."""
_LOCK_SECONDS: Final = 0.5
_REWRITE_SECONDS: Final = 10.0
_BLOCK: Final = 1 << 16
_NAME: Final = re.compile(r"(\d{4}-\d\d)(?:\.(\d{1,6}))?\.jsonl")


def now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


class Audit:
    """The trail in one folder. Writing raises nothing: what could not be kept is told by the result."""

    def __init__(
        self, folder: Path, redact: Redactor, *, clock: Callable[[], datetime] = now, most_bytes: int = MOST_BYTES
    ) -> None:
        self.folder = folder
        self._redact = redact
        self._clock = clock
        self._most_bytes = most_bytes

    def write(
        self,
        kind: str,
        *,
        reason: str = "",
        refs: Sequence[str] = (),
        query: str = "",
        workspace: str = "",
        session: str = "",
        run: str = "",
        numbers: Mapping[str, float] | None = None,
    ) -> bool:
        """Add an entry. False when it could not be kept: no right, no room, no folder, or the redactor failed."""
        try:
            entry = Entry(
                stamp(self._clock()), kind, reason, tuple(refs), query, workspace, session, run, numbers or {}
            )
            line = line_of(bounded(entry, self._redact)).encode("utf-8", "replace")
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return len(line) <= MOST_LINE and self._append(entry.time[:7], line)
        except Exception:  # noqa: BLE001 - whatever keeps an entry out must not stop what it is about
            return False

    def entries(self, choice: Choice | None = None, *, newest_first: bool = True) -> Reading:
        """The entries that are chosen. Files are read piece by piece, while they are asked for."""
        return Reading(self.folder, choice or Choice(), newest_first)

    def _append(self, month: str, line: bytes) -> bool:
        numbers = [number for name, number, _ in _files(self.folder) if name == month]
        number = numbers[-1] if numbers else 1
        # Another process may begin the same file, and a newer Clew may have begun the next ones as well.
        for candidate in range(number, number + 20):
            kept = self._append_to(self.folder / _name(month, candidate), line)
            if kept is not None:
                return kept
        return False

    def _append_to(self, path: Path, line: bytes) -> bool | None:
        """Whether the line was written whole; None when this file takes no more."""
        descriptor = open_file(path, "append")
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_mode & 0o077:
                with contextlib.suppress(OSError):
                    set_mode(descriptor, 0o600)
            _lock(descriptor)
            if not is_at(descriptor, path):
                # A purge has put another file in its place meanwhile.
                return self._append_to(path, line)
            size = os.fstat(descriptor).st_size
            if size and (size + len(line) > self._most_bytes or _format_of(descriptor) > FORMAT):
                return None
            if not size:
                line = head_line().encode() + line
            elif os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            # One write: within a file system, nothing of another process comes between its bytes.
            return os.write(descriptor, line) == len(line)
        finally:
            os.close(descriptor)


def rewrite(path: Path, change: Callable[[bytes], bytes], *, seconds: float = _REWRITE_SECONDS) -> bool:
    """Let `change` make the bytes of a file of the trail anew, in one step; whether it changed anything.

    Who adds a line meanwhile waits, and goes on in the new file. What was there is overwritten. Raises StoreBusy where
    another process holds the file for `seconds`, OSError.
    """
    descriptor = open_file(path, "change")
    try:
        if not _lock(descriptor, seconds):
            raise StoreBusy(
                f"another process holds `{path.name}` of the audit trail", hint="end that process, then try again"
            )
        old = b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))
        new = change(old)
        if new == old:
            return False
        beside = path.with_name(path.name + ".new")
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        half = open_file(beside, "new")
        try:
            with os.fdopen(half, "wb") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        blot(descriptor)
        return True
    finally:
        os.close(descriptor)


def blot(descriptor: int) -> None:
    """Overwrite a file that has no name any more, as far as the disk does that in place."""
    status = os.fstat(descriptor)
    if status.st_nlink:
        return
    with contextlib.suppress(OSError):
        for at in range(0, status.st_size, 1 << 20):
            os.pwrite(descriptor, bytes(min(1 << 20, status.st_size - at)), at)
        os.fsync(descriptor)


@dataclass
class Reading:
    """Entries of the trail, one after another; iterate once. The counts are right when it has ended."""

    folder: Path
    choice: Choice
    newest_first: bool = True
    damaged: int = 0
    """Lines that are no entry, cut short for instance."""
    newer: bool = False
    """Some of it was written by a newer Clew, and read as far as it is understood."""
    unread: list[str] = field(default_factory=list[str])
    """Files that could not be read."""

    def __iter__(self) -> Iterator[Entry]:
        for month, _, path in sorted(_files(self.folder), reverse=self.newest_first):
            # Names of files are the months of their entries.
            if (self.choice.since and month < self.choice.since[:7]) or (
                self.choice.until and month > self.choice.until[:7]
            ):
                continue
            try:
                with open_regular(path, follow=True) as file:
                    for line in _backwards(file) if self.newest_first else _forwards(file):
                        yield from self._taken(line)
            except OSError:
                self.unread.append(path.name)

    def _taken(self, line: bytes | None) -> Iterator[Entry]:
        if line is not None and not line.strip():
            return
        found = read_line(line) if line is not None else None
        if found is None:
            self.damaged += 1
        elif isinstance(found, int):
            self.newer = self.newer or found > FORMAT
        elif self.choice.takes(found):
            yield found


def _name(month: str, number: int) -> str:
    return f"{month}.jsonl" if number == 1 else f"{month}.{number}.jsonl"


def _files(folder: Path) -> list[tuple[str, int, Path]]:
    """Month, number and path of each file, oldest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    matches = [match for name in names if (match := _NAME.fullmatch(name))]
    return sorted((match[1], int(match[2] or 1), folder / match[0]) for match in matches)


def _lock(descriptor: int, seconds: float = _LOCK_SECONDS) -> bool:
    """Wait for the lock so long; whether it came, or there is none here. A line without it is still one write, only the
    look at the end may be outdated."""
    try:
        return wait_for_lock(descriptor, seconds)
    except OSError:
        return True


def _format_of(descriptor: int) -> int:
    found = read_line(os.pread(descriptor, 256, 0).split(b"\n")[0])
    return found if isinstance(found, int) else 0


def _forwards(file: BinaryIO) -> Iterator[bytes | None]:
    """Lines; None for one that is too long to be one."""
    while line := file.readline(MOST_LINE):
        if line.endswith(b"\n") or len(line) < MOST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(MOST_LINE)
        yield None


def _backwards(file: BinaryIO) -> Iterator[bytes | None]:
    """The same from the end. Lines that come while it runs are not seen."""
    place = file.seek(0, os.SEEK_END)
    rest = b""
    dropped = False
    while place:
        size = min(_BLOCK, place)
        place -= size
        file.seek(place)
        first, *lines = (file.read(size) + rest).split(b"\n")
        for line in reversed(lines):
            yield None if dropped else line
            dropped = False
        dropped = dropped or len(first) > MOST_LINE
        rest = b"" if dropped else first
    yield None if dropped else rest
