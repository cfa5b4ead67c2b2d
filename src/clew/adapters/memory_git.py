"""A commit for what is written to memory, where the memory root is a git repository; nothing at all where it is not.

What was written is first put on a list within the repository, then committed, several writes at once where they come
close together. So what a process wrote that died before its commit is committed by the next. No method raises for
what git or the disk refuses: memory goes on without a commit, and the result says why.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from clew.adapters.git_process import HERE
from clew.adapters.memory_repository import MERGING, PRIVATE, MemoryRepository
from clew.core.text.printable import printable
from clew.errors import ClewError, StoreBusy
from clew.system import is_at, open_file, wait_for_lock

BATCH_SECONDS: Final = 3.0
"""How long a write may wait for others to share its commit."""
KEPT: Final = "what was written is kept, and committed later"
"""What becomes of writes that cannot be committed."""
_LOCK_SECONDS: Final = 10.0
_TRIES: Final = 5
_MOST_LIST: Final = 8 << 20
_MOST_LINES: Final = 100
"""Lines of the message of a commit that has many writes."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of writes."""

    commit: str = ""
    """Its id; empty where nothing was committed."""
    waiting: bool = False
    """The writes are on the list, and the next call commits them."""
    reason: str = ""
    """Why nothing was committed, in words; empty where there was nothing to do, or no repository."""


@dataclass(frozen=True, slots=True)
class _Write:
    at: float
    """Seconds since the epoch."""
    paths: tuple[str, ...]
    message: str


class MemoryGit:
    """Commits for one memory root. Call no method while a lock of the documents is held.

    Paths are relative to the root, with `/`. Messages are redacted by the caller; they are kept for ever.
    """

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.time,
        finish: Callable[[MemoryRepository], None] | None = None,
        around: Path = HERE,
    ) -> None:
        """`finish` ends a sync that was killed; without it, writes wait until the next sync.

        `around` is a folder of the workspace at hand, whose programs are not run.
        """
        self.root = root
        self.notices: list[str] = []
        """What the user should know, each once."""
        self._environ = environ
        self._clock = clock
        self._finish = finish
        self._around = around
        self._repository: MemoryRepository | None = None

    @property
    def there(self) -> bool:
        """Whether the memory root was made a repository."""
        return os.path.lexists(self.root / ".git")

    def repository(self) -> MemoryRepository:
        """The repository itself. Raises NotFound or Refused."""
        if self._repository is None:
            self._repository = MemoryRepository(self.root, self._environ, self._around)
        return self._repository

    def commit(self, paths: Sequence[str], message: str, *, batch: bool = False) -> Committed:
        """Commit files that were written or deleted, with all that waits; with `batch`, wait for more a few seconds."""
        if not self.there:
            return Committed()
        write = _Write(self._clock(), tuple(paths), printable(message, 200))
        listed = self._note(write)
        if batch and listed and not self._is_due():
            return Committed(waiting=True)
        return self._settle(() if listed else (write,))

    @contextlib.contextmanager
    def writing(self, paths: Sequence[str], message: str, *, batch: bool = True) -> Iterator[None]:
        """Around a write: should the process die within, the next one commits what was written."""
        if self.there:
            self._note(_Write(self._clock(), tuple(paths), printable(message, 200)))
        try:
            yield
        finally:
            # Listed again: another process may have taken the list before there was anything to commit.
            self.commit(paths, message, batch=batch)

    def close(self) -> Committed:
        """Commit what waits: at the end of a command, or when a server is idle. The object can still be used."""
        return self._settle(()) if self.there and self._listed()[0] else Committed()

    def settle_within(self, repository: MemoryRepository) -> str:
        """Commit what waits, for who holds the lock already. The id of HEAD then. Raises StoreError, StoreBusy."""
        writes, size = self._listed()
        head = self._commit(repository, writes)
        self._forget(size)
        return head

    # ------------------------------------------------------------------ committing

    def _settle(self, more: Sequence[_Write]) -> Committed:
        try:
            repository = self.repository()
            with repository.held(_LOCK_SECONDS):
                writes, size = self._listed()
                before = repository.head()
                head = self._commit(repository, (*writes, *more))
                self._forget(size)
                return Committed("" if head == before else head)
        except ClewError as error:
            reason = str(error)
        except OSError as error:
            reason = f"the repository cannot be written: {error.strerror}"
        notice = f"{reason}; {KEPT}"
        if notice not in self.notices:
            self.notices.append(notice)
        return Committed(reason=reason)

    def _commit(self, repository: MemoryRepository, writes: Sequence[_Write]) -> str:
        paths = dict.fromkeys(path for write in writes for path in write.paths)
        if under_way := repository.under_way():
            raise StoreBusy(
                f"a {under_way} is under way in the memory root", hint=f"finish it: `git -C {self.root} status`"
            )
        if os.path.lexists(repository.folder / PRIVATE / MERGING):
            if self._finish is None:
                raise StoreBusy("a sync of the memory was cut short", hint="`clew sync` ends it; nothing is lost")
            self._finish(repository)
        for tries in range(_TRIES):
            head = repository.head()
            changes = repository.changes(head, paths)
            if not changes:
                return head
            message = _message([write.message for write in writes])
            made = repository.commit(changes, message, [head] if head else [], base=head)
            if not made:
                return head
            try:
                repository.move_head(made, head, message.partition("\n")[0], changes)
                return made
            except StoreBusy:
                if tries == _TRIES - 1 or repository.head() == head:
                    raise
        raise AssertionError

    # ------------------------------------------------------------------ the list

    def _note(self, write: _Write) -> bool:
        """Put a write on the list. False where that is not possible."""
        row = {"at": write.at, "paths": write.paths, "message": write.message}
        try:
            (self.root / ".git" / PRIVATE).mkdir(mode=0o700, exist_ok=True)
            with self._list() as descriptor:
                line = json.dumps(row).encode("ascii") + b"\n"
                # A blank line in front ends one that was cut short.
                return os.write(descriptor, b"\n" + line) == len(line) + 1
        except OSError:
            return False

    def _listed(self) -> tuple[list[_Write], int]:
        """The writes that wait, and how many bytes of the list they are."""
        try:
            with open(self._path, "rb") as file:
                content = file.read(_MOST_LIST)
        except OSError:
            return [], 0
        # A line without an end is still being written.
        content = content[: content.rfind(b"\n") + 1]
        return [write for line in content.split(b"\n") if (write := _read(line))], len(content)

    def _forget(self, size: int) -> None:
        """Take the first `size` bytes off the list; what was added since stays."""
        if not size:
            return
        with contextlib.suppress(OSError), self._list() as descriptor:
            rest = os.pread(descriptor, _MOST_LIST, size)
            if not rest:
                os.ftruncate(descriptor, 0)
                return
            # In one step: a death in between must not take the rest along.
            beside = self._path.with_name("pending.new")
            beside.write_bytes(rest)
            os.replace(beside, self._path)

    def _is_due(self) -> bool:
        writes, _ = self._listed()
        now = self._clock()
        # A write from the future was made before the clock was set back.
        return any(not 0 <= now - write.at < BATCH_SECONDS for write in writes)

    @property
    def _path(self) -> Path:
        return self.root / ".git" / PRIVATE / "pending"

    @contextlib.contextmanager
    def _list(self) -> Iterator[int]:
        """The list, locked, which takes no longer than a write. Raises OSError."""
        while True:
            descriptor = open_file(self._path, "append")
            try:
                wait_for_lock(descriptor)
                # Another process may have put a shorter list in its place.
                if is_at(descriptor, self._path):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)


def _read(line: bytes) -> _Write | None:
    try:
        row: Any = json.loads(line)
        at, paths, message = float(row["at"]), cast("list[object]", row["paths"]), str(row["message"])
        return _Write(at, tuple(path for path in paths if isinstance(path, str)), message)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _message(messages: Sequence[str]) -> str:
    """The message of a commit: that of the write, or the first one and a list of all."""
    told = list(dict.fromkeys(message for message in messages if message)) or ["Write to memory"]
    if len(told) == 1:
        return told[0] + "\n"
    rows = [f"- {message}" for message in told[:_MOST_LINES]]
    more = [f"- and {len(told) - _MOST_LINES} more"] if len(told) > _MOST_LINES else []
    return "\n".join((f"{told[0]} (and {len(told) - 1} more)", "", *rows, *more)) + "\n"
