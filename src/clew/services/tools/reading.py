"""What `read` answers: numbered lines of a file, or the names in a folder, bounded, from disk now."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BufferedReader, FileIO
from itertools import islice
from pathlib import Path

from clew.adapters.regular import kind_of, size_words
from clew.core.agent.bounded import MOST_BYTES, MOST_LINE, cut_line, fitting
from clew.core.text.printable import counted, printable
from clew.errors import NotFound, Refused
from clew.services.tools.clean import Cleaner, marks
from clew.services.tools.tool import Signal
from clew.system import open_file

_BLOCK = 1 << 20
_MOST_NAMES = 100_000
_FOLDER_LIMIT = 500
"""Names of a folder that are listed at once."""


def numbered(lines: list[str], first: int, most: int) -> list[str]:
    """`N| text` of lines that may be shown, the first of them with the number `first`, as many as fit."""
    rows = [f"{number}| {cut_line(line, MOST_LINE)}" for number, line in enumerate(lines[:most], first)]
    return rows[: fitting(rows, most, MOST_BYTES)]


def window(path: str, lines: list[str], cleaner: Cleaner, offset: int, limit: int, note: str = "") -> str:
    """A header and the numbered lines from `offset` on. Raises NotFound where there is no such line."""
    total = len(lines)
    if not total:
        return f"{path} is empty"
    if offset > total:
        raise NotFound(f"{path} has {counted(total, 'line')}: none from {offset} on", hint="")
    shown = cleaner.sight(path, lines).lines(offset - 1, min(offset - 1 + limit, total))
    rows = numbered(shown, offset, limit)
    last = offset - 1 + len(rows)
    head = f"{path}: {counted(total, 'line')}"
    if offset > 1 or last < total:
        head = f"{path}: lines {offset}-{last} of {total}"
    if last < total:
        head += f"; the rest: read offset={last + 1}"
    notes = [note] if note else []
    if hidden := marks("\n".join(shown)) - marks("\n".join(lines[offset - 1 : last])):
        notes.append(f"secrets are replaced by {', '.join(sorted(hidden))}")
    return "\n".join([head, *(f"({one})" for one in notes), *rows])


def folder(path: Path, shown: str, offset: int, limit: int) -> str:
    """The names in a folder: folders first, then by name; what a link leads to is told. Raises Refused."""
    try:
        with os.scandir(path) as found:
            entries = list(islice(found, _MOST_NAMES + 1))
    except OSError as error:
        raise Refused(f"{shown} cannot be listed: {error.strerror}", hint="") from error
    cut = len(entries) > _MOST_NAMES
    named = sorted((not _is_folder(one), one.name, one) for one in entries[:_MOST_NAMES])
    listed = [_name(one) for _, _, one in named]
    rows = listed[offset - 1 : offset - 1 + limit]
    rows = rows[: fitting(rows, limit, MOST_BYTES)] if rows else []
    last = offset - 1 + len(rows)
    head = f"{shown}: {'over ' if cut else ''}{counted(len(listed), 'name')}"
    if offset > 1 or last < len(listed):
        head += f", {offset}-{last} shown"
    if last < len(listed):
        head += f"; the rest: read offset={last + 1}"
    return "\n".join([head, *rows])


def folder_limit(limit: int) -> int:
    """How many names are listed at once."""
    return min(limit, _FOLDER_LIMIT)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _name(entry: os.DirEntry[str]) -> str:
    name = printable(entry.name)
    try:
        if entry.is_symlink():
            return f"{name} -> {printable(os.readlink(entry.path))}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return name
    kind = kind_of(status.st_mode)
    return f"{name} ({kind})" if kind else f"{name} {size_words(status.st_size)}"


def huge(path: Path, shown: str, cleaner: Cleaner, offset: int, limit: int, signal: Signal) -> str:
    """The window of a file that is too long to be read as a whole: what comes before it is passed over, block by block.

    Raises NotFound where there is no such line, Refused for binary, or where it cannot be read.
    """
    try:
        descriptor = open_file(path, "read", follow=True)
        with BufferedReader(FileIO(descriptor), _BLOCK) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Refused(f"{shown} is {kind_of(status.st_mode)}", hint="")
            if b"\0" in file.peek(1)[:8192]:
                raise Refused(f"{shown} is binary, {size_words(status.st_size)}", hint="")
            passed = _pass_over(file, offset - 1, signal)
            lines = [one.decode("utf-8", "replace") for one in islice(_lines(file), limit)]
            if signal.stopped:
                raise Refused("stopped", hint="")
            if not lines:
                raise NotFound(f"{shown} has {counted(passed, 'line')}: none from {offset} on", hint="")
            more = bool(file.peek(1))
    except OSError as error:
        raise Refused(f"{shown} cannot be read: {error.strerror}", hint="") from error
    clean = cleaner.sight(shown, lines).lines(0, len(lines))
    rows = numbered(clean, offset, limit)
    last = offset - 1 + len(rows)
    head = f"{shown}: lines {offset}-{last} of a file of {size_words(status.st_size)}, too long to edit here"
    if more or len(rows) < len(clean):
        head += f"; the rest: read offset={last + 1}"
    return "\n".join([head, *rows])


def _pass_over(file: BufferedReader[FileIO], count: int, signal: Signal) -> int:
    """Go behind so many line ends; how many there were. A last line without an end counts."""
    passed = 0
    rest = False
    while passed < count and not signal.stopped:
        at = file.tell()
        block = file.read(_BLOCK)
        if not block:
            return passed + rest
        ends = block.count(b"\n")
        if passed + ends < count:
            passed += ends
            rest = not block.endswith(b"\n")
            continue
        place = -1
        for _ in range(count - passed):
            place = block.index(b"\n", place + 1)
        file.seek(at + place + 1)
        passed = count
    return passed


def _lines(file: BufferedReader[FileIO]) -> Iterator[bytes]:
    """Lines without their ends, up to the bound of what is shown; of an endless line, its beginning."""
    room = MOST_BYTES
    while room > 0:
        line = file.readline(MOST_BYTES)
        if not line:
            return
        room -= len(line)
        yield line.rstrip(b"\r\n")
