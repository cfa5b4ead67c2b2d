"""Read regular files with a bound: no pipe, device or endless file can hold the reader up."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from clew.errors import ClewError, NotFound, OverBudget, Refused
from clew.system import open_file

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link that leads nowhere, or in a circle"),
)
PATHS: Final = "paths count from the folder you are in"
"""The hint where a file is not there."""


def kind_of(mode: int) -> str:
    """What a file that is not regular is, in words; empty for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    return next((words for test, words in _KINDS if test(mode)), "no regular file")


def size_words(size: int) -> str:
    """A number of bytes as people read it: `812 bytes`, `4.2 MB`."""
    if size < 1024:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        amount /= 1024
        if amount < 1024 or unit == "TB":
            break
    return f"{amount:.0f} {unit}" if amount >= 100 else f"{amount:.1f} {unit}"


def read_regular(path: Path, limit: int, *, shown: str = "") -> bytes:
    """All bytes of a regular file of at most `limit` bytes. Symbolic links are followed.

    Raises NotFound, Refused (no permission, not a regular file, a loop of links) or OverBudget (longer than `limit`,
    also when it grows while it is read). `shown` is the name in messages.
    """
    name = shown or str(path)
    try:
        # Looked at before it is opened: opening a device or a pipe may already do something.
        _demand_regular(os.stat(path).st_mode, name)
        # Without waiting: between the two calls the file may have become a pipe.
        descriptor = open_file(path, "read", follow=True)
    except (OSError, ValueError) as error:
        raise _translated(error, name) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        _demand_regular(status.st_mode, name)
        if status.st_size > limit:
            raise _too_long(name, status.st_size, limit)
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise _translated(error, name) from error
    if len(content) > limit:
        raise _too_long(name, len(content), limit)
    return content


def _demand_regular(mode: int, name: str) -> None:
    if kind := kind_of(mode):
        raise Refused(f"`{name}` is {kind}, not a file", hint="name a file with text in it")


def _too_long(name: str, size: int, limit: int) -> OverBudget:
    return OverBudget(
        f"`{name}` has {size_words(size)}, more than the {size_words(limit)} that are read",
        hint="cut out the part that matters",
        size=size,
        limit=limit,
    )


def _translated(error: OSError | ValueError, name: str) -> ClewError:
    if not isinstance(error, OSError):
        return NotFound(f"`{name!r}` is no file name", hint=PATHS)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFound(f"There is no file `{name}`", hint=PATHS)
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused(f"`{name}` may not be read: permission denied", hint="check the file's permissions")
    if error.errno == errno.ELOOP:
        return Refused(f"`{name}` is a symbolic link that leads in a circle", hint="name the file itself")
    if error.errno == errno.ENAMETOOLONG:
        return NotFound("A file name is too long", hint="text goes in through standard input: `… | clew ask`")
    return Refused(f"`{name}` cannot be read: {error.strerror or error}", hint="try again, or name another file")
