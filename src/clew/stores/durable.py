"""Files that are whole at every moment: locks across processes, replacement in one step, bytes that were read again.

Everything goes through `os`, call by call, so that what a death between two calls leaves behind can be listed: a
temporary file of one fixed name in the folder of the target, which the next writer of that folder takes away. There
is never more than one, since whoever writes holds the lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from clew.errors import ClewError, NotFound, OverBudget, Refused, StoreBusy, StoreError
from clew.system import is_at, open_file, set_mode, sync_folder, tries, try_lock

TEMPORARY: Final = ".clew-write.tmp"
LOCK: Final = ".lock"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_HERE: Final = -100
"""AT_FDCWD of Linux."""
_NO_EXCHANGE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@contextlib.contextmanager
def locked(folder: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is missing. The system gives it up when the process dies.

    Raises StoreBusy, with the process that holds it, after `seconds`; StoreError where the lock cannot be made.
    """
    make_folder(folder)
    descriptor = _taken(folder / LOCK, seconds)
    try:
        # Who waits is told who holds it. Without room for that, it is not told.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)


def _taken(path: Path, seconds: float) -> int:
    holder = b""
    for _ in tries(seconds):
        try:
            descriptor = open_file(path, "make")
        except OSError as error:
            raise translated(error, path.name, "written") from error
        try:
            # Somebody may have deleted the file since it was opened; then others lock another one.
            if try_lock(descriptor) and is_at(descriptor, path):
                return descriptor
            holder = os.pread(descriptor, 20, 0)
        except OSError as error:
            os.close(descriptor)
            raise translated(error, path.name, "locked") from error
        os.close(descriptor)
    number = holder.decode("ascii", "replace").strip()
    who = f"process {number}" if number.isdigit() else "another process"
    raise StoreBusy(f"{who} is writing to this memory", hint="try again; if that process hangs, end it", holder=number)


def make_folder(folder: Path) -> None:
    """Make a folder and what it lies in, for the user alone. Raises StoreError."""
    missing: list[Path] = []
    at = folder
    while not os.path.lexists(at):
        missing.append(at)
        at = at.parent
    try:
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
            sync_folder(path.parent)
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise translated(error, str(folder), "made") from error


def read_bytes(path: Path, limit: int, shown: str) -> bytes:
    """All bytes of a regular file. Raises NotFound, Refused, or OverBudget for more than `limit` bytes."""
    try:
        descriptor = open_file(path, "read", follow=True)
    except (OSError, ValueError) as error:
        raise translated(error, shown, "read") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"`{shown}` is not a regular file", hint="memory holds files and folders only")
        parts: list[bytes] = []
        length = 0
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
            length += len(part)
            if length > limit:
                raise OverBudget(f"`{shown}` has over {limit:,} bytes and is not read", hint="split it into several")
    except OSError as error:
        raise translated(error, shown, "read") from error
    finally:
        os.close(descriptor)
    return b"".join(parts)


def put(
    target: Path,
    content: bytes,
    *,
    mode: int,
    seen: bytes | None,
    changed: Callable[[bytes], ClewError],
    shown: str,
    owner: tuple[int, int] | None = None,
) -> None:
    """Bring `content` to `target` in one step, where that still holds `seen`; the caller holds the lock of the folder.

    Where it holds anything else, `changed` of that is raised (of nothing, where it is gone), and it stays. With `seen`
    None the target is new, and FileExistsError is raised where there is one. Raises StoreError where there is no room
    or no right; nothing is left then. A return means that the bytes are on the disk and were read again. The file gets
    the `owner` (user and group) as far as this user may give files away.
    """
    temporary = target.parent / TEMPORARY
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        _write_new(temporary, content, mode, owner)
        if seen is None:
            _place(temporary, target)
        elif (found := _found(target, len(seen), shown)) != seen:
            raise changed(found)
    except OSError as error:
        _gone(temporary)
        if seen is None and isinstance(error, FileExistsError):
            raise
        raise translated(error, shown, "written") from error
    except BaseException:
        _gone(temporary)
        raise
    try:
        if seen is not None:
            _replace(temporary, target, seen, changed, shown)
        sync_folder(target.parent)
    except OSError as error:
        raise translated(error, shown, "written") from error
    if read_bytes(target, len(content) + 1, shown) != content:
        raise StoreError(
            f"`{shown}` was written, and reads otherwise", hint="another program changed it, or the disk is failing"
        )


def move(source: Path, target: Path, shown: str) -> None:
    """Rename a file within the root; the caller holds the lock and has made sure that the target is free."""
    try:
        os.rename(source, target)
        sync_folder(target.parent)
        sync_folder(source.parent)
    except OSError as error:
        raise translated(error, shown, "moved") from error


def translated(error: OSError | ValueError, shown: str, done: str) -> ClewError:
    """What an error of the system means; `done` is the participle of what was tried."""
    if not isinstance(error, OSError):
        return Refused(f"`{shown!r}` is no file name", hint="name a file below the memory root")
    if error.errno in _FULL:
        hint = "make room, then try again; what was there before is unchanged"
        return StoreError(f"`{shown}` cannot be {done}: there is no room left", hint=hint)
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and done in ("read", "moved"):
        return NotFound(f"there is no document `{shown}`", hint="`clew memory list` shows what there is")
    if error.errno == errno.ENOTDIR or isinstance(error, FileExistsError):
        return StoreError(f"`{shown}` cannot be {done}: a file is where a folder belongs", hint="move that file away")
    if error.errno in _FORBIDDEN:
        reason = "the disk is read-only" if error.errno == errno.EROFS else "permission denied"
        hint = "give yourself the right to write there, or set CLEW_HOME to a folder that you may write to"
        return (Refused if done == "read" else StoreError)(f"`{shown}` cannot be {done}: {reason}", hint=hint)
    if error.errno == errno.ELOOP:
        return Refused(f"`{shown}` is a link that leads in a circle", hint="name the file itself")
    return StoreError(f"`{shown}` cannot be {done}: {error.strerror or error}", hint="check the disk")


def _found(path: Path, length: int, shown: str) -> bytes:
    """What a file holds, as far as is needed to tell it from `length` bytes; nothing where it is gone."""
    try:
        return read_bytes(path, length + 100_000_000, shown)
    except NotFound:
        return b""


def _replace(temporary: Path, target: Path, seen: bytes, changed: Callable[[bytes], ClewError], shown: str) -> None:
    """Put the new file in the place of the old one, and the old one back if it is not what was seen.

    An editor that saves between the last look and the replacement is noticed only where two files can change places:
    then what was replaced is still there to be looked at.
    """
    try:
        exchanged = _exchange(temporary, target)
        if not exchanged:
            os.rename(temporary, target)
    except FileNotFoundError as error:
        _gone(temporary)
        raise changed(b"") from error
    except OSError:
        _gone(temporary)
        raise
    if not exchanged:
        return
    try:
        replaced = read_bytes(temporary, len(seen) + 100_000_000, shown)
    except ClewError:
        os.rename(temporary, target)
        raise
    if replaced != seen:
        os.rename(temporary, target)
        raise changed(replaced)
    os.unlink(temporary)


def _exchange(one: Path, other: Path) -> bool:
    """Let two files change places in one step; False where the system or the file system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_HERE, names[0], _HERE, names[1], 2)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(*names, 2)
    else:
        return False
    code = ctypes.get_errno()
    if failed and code not in _NO_EXCHANGE:
        raise OSError(code, os.strerror(code))
    return not failed


def _write_new(path: Path, content: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    descriptor = open_file(path, "new")
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if owner is not None and not _given(descriptor, owner):
            # Bits that let it run as its owner are not for another one.
            mode &= 0o1777
        set_mode(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _given(descriptor: int, owner: tuple[int, int]) -> bool:
    """Give a file to a user and a group, or to the group at least; whether it belongs to both now."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) == owner:
        return True
    for user in (owner[0], -1):
        try:
            os.fchown(descriptor, user, owner[1])
        except OSError:
            continue
        return user == owner[0] or (user == -1 and status.st_uid == owner[0])
    return False


def _place(temporary: Path, target: Path) -> None:
    """Give the file its name unless that is taken, which a rename would not notice."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _gone(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
