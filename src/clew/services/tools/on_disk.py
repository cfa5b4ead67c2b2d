"""Text files as they are on the disk: their bytes, what they say, and how they are replaced in one step.

Who writes holds a lock on the folder of the file (on the folder itself: nothing is put into it for that), compares the
file with what was read right before it is replaced, and looks at what was replaced right after.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clew.adapters.regular import read_regular
from clew.core.text.content import read_text
from clew.errors import ClewError, Conflict, NotFound, Refused, StoreBusy, StoreError
from clew.stores.durable import put
from clew.system import open_folder, wait_for_lock

MOST_BYTES: Final = 16 << 20
"""Of a file that is read as a whole, and can be changed."""
_LOCK_SECONDS = 10.0
_HEAD = 8192
"""Bytes in which a NUL tells a binary file."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the text of a file is written as bytes, such that reading and writing give the same bytes."""

    name: str = "utf-8"
    mark: bytes = b""
    """The byte order mark, if any."""
    errors: str = "strict"
    """`surrogateescape` where some bytes of a UTF-8 file are none."""

    def bytes_of(self, text: str) -> bytes:
        """Raises UnicodeEncodeError for characters that it does not have."""
        return self.mark + text.encode(self.name, self.errors)

    @property
    def shown(self) -> str:
        """For people; empty for plain UTF-8."""
        if self.errors != "strict":
            return "UTF-8 with bytes that are none, shown as \ufffd"
        return {"utf-8": "", "latin-1": "Latin-1", "gb18030": "GB 18030"}.get(self.name, "UTF-16")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read."""

    content: bytes
    text: str
    """With line ends as they are in the file."""
    encoding: Encoding
    mode: int
    owner: tuple[int, int]
    """User and group."""
    links: int = 1
    """How many names it has."""

    @property
    def digest(self) -> str:
        """What tells this content from another one."""
        return digest_of(self.content)


def digest_of(content: bytes) -> str:
    """What tells contents apart."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def load(path: Path, shown: str) -> TextFile:
    """The file. Raises NotFound, OverBudget (over 16 MB), Refused (binary, or not a regular file)."""
    content = read_regular(path, MOST_BYTES, shown=shown)
    decoded = decode(content)
    if decoded is None:
        raise Refused(f"{shown} is binary", hint="")
    try:
        status = os.stat(path)
    except OSError as error:
        raise NotFound(f"`{shown}` is gone", hint="") from error
    text, encoding = decoded
    owner = status.st_uid, status.st_gid
    return TextFile(content, text, encoding, stat.S_IMODE(status.st_mode), owner, status.st_nlink)


def decode(content: bytes) -> tuple[str, Encoding] | None:
    """The text and its encoding, which together give the same bytes again; None for binary.

    Without a mark: UTF-8; GB 18030 where that makes it Chinese; UTF-8 with escaped bytes where most of what is beyond
    ASCII is UTF-8; else Latin-1, which any bytes are.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            encoding = Encoding(name, mark)
            with contextlib.suppress(UnicodeDecodeError):
                text = content[len(mark) :].decode(name)
                if encoding.bytes_of(text) == content:
                    return text, encoding
    if b"\0" in content[:_HEAD]:
        return None
    with contextlib.suppress(UnicodeDecodeError):
        return content.decode("utf-8"), Encoding()
    found = read_text(content)
    if found is None:
        return None
    if "GB 18030" in found.note and found.text.encode("gb18030") == content:
        return found.text, Encoding("gb18030")
    escaped = content.decode("utf-8", "surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in escaped)
    good = sum(char > "\x7f" for char in escaped) - bad
    if good > bad:
        return escaped, Encoding(errors="surrogateescape")
    return content.decode("latin-1"), Encoding("latin-1")


# ---------------------------------------------------------------------- writing


def save(path: Path, content: bytes, *, seen: TextFile | None, mode: int, shown: str) -> None:
    """Bring `content` to a real path in one step; `seen` is what was read of it, or None for a new file.

    Mode and owner stay as they were; the owner only where the system lets this user give files away. A further name
    of the same file (a hard link) keeps the old content. Raises Conflict where the file is not what was seen any more,
    StoreError (no room, no right), StoreBusy.
    """
    made = _make_folders(path.parent, shown)
    try:
        with _locked(path.parent, shown):
            if seen is not None and (not seen.mode & 0o222 or not os.access(path, os.W_OK)):
                raise StoreError(f"{shown} is read-only", hint="")
            put(
                path,
                content,
                mode=mode if seen is None else seen.mode,
                seen=None if seen is None else seen.content,
                changed=lambda _: Conflict(f"{shown} was changed right now by another program"),
                shown=shown,
                owner=None if seen is None else seen.owner,
            )
    except FileExistsError as error:
        raise Conflict(f"{shown} was made right now by another program") from error
    except ClewError as error:
        for folder in made:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise _for_tools(error, shown) from error


def _make_folders(folder: Path, shown: str) -> list[Path]:
    """Make a folder and what it lies in; those that were made, deepest first."""
    missing: list[Path] = []
    at = folder
    while not os.path.lexists(at):
        missing.append(at)
        at = at.parent
    for path in reversed(missing):
        try:
            os.mkdir(path)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"{shown} cannot be written: {_reason(error)}") from error
    if os.path.realpath(folder) != str(folder):
        raise Conflict(f"the folder of {shown} leads elsewhere by now")
    return missing


@contextlib.contextmanager
def _locked(folder: Path, shown: str) -> Iterator[None]:
    """Hold a folder, among all who write through this; where its file system has no locks, without one."""
    try:
        descriptor = open_folder(folder)
    except NotADirectoryError as error:
        raise StoreError(f"{shown} cannot be written: a file is where a folder belongs") from error
    except OSError:
        yield
        return
    try:
        # Without locks what was replaced is looked at all the same.
        with contextlib.suppress(OSError):
            if not wait_for_lock(descriptor, _LOCK_SECONDS):
                raise StoreBusy(f"another process is writing beside {shown}", hint="try again")
        yield
    finally:
        os.close(descriptor)


def _for_tools(error: ClewError, shown: str) -> ClewError:
    """The error in words for a file of the user's."""
    cause = error.__cause__
    if isinstance(cause, OSError):
        return StoreError(f"{shown} cannot be written: {_reason(cause)}")
    return error


_REASONS = {
    errno.ENOSPC: "there is no room left",
    errno.EDQUOT: "there is no room left",
    errno.EFBIG: "there is no room left",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied for its folder, in which it would be replaced in one step",
    errno.EPERM: "permission denied for its folder, in which it would be replaced in one step",
    errno.ENOTDIR: "a file is where a folder belongs",
    errno.ENAMETOOLONG: "its name is too long",
}


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def current_umask() -> int:
    """What new files of this process are not to be. Without `/proc` it is set and set back, which other threads see."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("Umask:")[2].split()[0], 8)
    except (OSError, IndexError, ValueError):
        mask = os.umask(0o022)
        os.umask(mask)
        return mask
