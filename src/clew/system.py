"""What systems do differently with files: how they are opened, locked, and told apart. Only this knows the calls.

Where a flag does not exist, on Windows, it counts for nothing: links are followed there, and nothing waits for a pipe.
A lock is there one byte far behind the end of any file. That part was written from the manual and not run on Windows.
What is opened here is not inherited by programs that are started, and holds bytes.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Way = Literal["read", "change", "make", "append", "empty", "new"]
_NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final[int] = getattr(os, "O_DIRECTORY", 0)
_BYTES: Final[int] = getattr(os, "O_BINARY", 0)
_NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_MAKE: Final = os.O_RDWR | os.O_CREAT
_FLAGS: Final[dict[Way, int]] = {
    "read": os.O_RDONLY | _NO_WAIT,
    "change": os.O_RDWR,
    "make": _MAKE,
    "append": _MAKE | os.O_APPEND,
    "empty": _MAKE | os.O_TRUNC,
    "new": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}
_LOCKED: Final = (1 << 31) - 2
"""The byte that is locked on Windows."""


def open_file(path: str | Path, way: Way, *, follow: bool = False) -> int:
    """A descriptor of a file; a link at its place only where that is to be followed. Raises OSError, ValueError.

    `read` waits for nobody: a pipe has no writer yet, perhaps. `change` reads and writes a file that is there; `make`
    makes it for this user alone where it is missing, `append` also writes at its end only, `empty` also takes out what
    it held. `new` only writes, and FileExistsError is raised where there is anything.
    """
    return os.open(path, _FLAGS[way] | _BYTES | (0 if follow else _NO_LINK), 0o600)


class NotRegular(OSError):
    """What is there is no regular file"""


def open_regular(path: str | Path, *, follow: bool = False) -> BinaryIO:
    """A regular file for reading. Raises NotRegular for anything else, without waiting for it; OSError, ValueError."""
    descriptor = open_file(path, "read", follow=follow)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegular
    return os.fdopen(descriptor, "rb")


def open_folder(folder: str | Path) -> int:
    """A descriptor of a folder, also behind a link. Raises OSError; on Windows always, which opens none."""
    return os.open(folder, os.O_RDONLY | _FOLDER)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk, where its file system can do that. Raises OSError."""
    if sys.platform == "win32":
        return
    descriptor = open_folder(folder)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def tries(seconds: float) -> Iterator[None]:
    """Turns at something that another process may hold: one at once, then more with growing pauses for so long."""
    deadline = time.monotonic() + seconds
    delay = 0.001
    while True:
        yield
        if time.monotonic() >= deadline:
            return
        time.sleep(delay)
        delay = min(delay * 1.5, 0.02)


def try_lock(descriptor: int) -> bool:
    """Lock an open file against all who opened it otherwise, in this process too; False where one of them has done so.

    Held until the descriptor is closed or the process dies. Raises OSError where the file system has no locks.
    """
    if sys.platform == "win32":
        # The lock begins where the next byte would be read.
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, _LOCKED, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(descriptor, place, os.SEEK_SET)
        return True
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def wait_for_lock(descriptor: int, seconds: float = math.inf) -> bool:
    """The same, but wait for it; False where it is still held after so many seconds."""
    if sys.platform != "win32" and seconds == math.inf:
        # The system wakes who waits, and lets nobody starve.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    return any(try_lock(descriptor) for _ in tries(seconds))


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still what this path leads to. Raises OSError where that cannot be seen."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def set_mode(descriptor: int, mode: int) -> None:
    """Give an open file these rights, where the system has them. Raises OSError."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to this user; where the system names no users, each does."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()
