"""The screen of a terminal as a person would see it."""

from __future__ import annotations

import contextlib
import copy
import re
import unicodedata
from collections import defaultdict
from typing import Any, cast

import pyte
from pyte.screens import wcwidth as width

from clew.core.text.escapes import SEQUENCE, UNFINISHED
from clew.core.text.printable import visible

_PARAMETERS = dict.fromkeys("@ABCDEFGJKLMPXadeg`'", 1) | dict.fromkeys("Hfr", 2) | dict.fromkeys("hlm", 32)
"""Final characters of sequences that pyte knows, each with the number of parameters that it takes."""
_SINGLES = frozenset("78=>DEHMc") | {"#8", "(B", "(0", ")B", ")0", "(U", ")U"}
_REPEAT = re.compile(r"([^\x00-\x1f])\x1b\[(\d{1,4})b")
_SCROLL = re.compile(r"\x1b\[(\d{0,4})([ST])")
_ALTERNATE = frozenset({47, 1047, 1049})
_SWITCH = re.compile(rb"\x1b\[\?(?:47|1047|1049)[hl]")
_CURSOR_KEYS = 1 << 5
_MOST_HELD = 4096
_MARK = "\ufffd"
_MOST_MARKS = 4
"""Combining marks that one character may carry."""
_MOST_FED = 64 << 10
"""Bytes behind the end that are drawn at once, about 0.1 s of work. What lies before has scrolled away by then."""
_COLOURS = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_STYLES = (("bold", "1"), ("italics", "3"), ("underscore", "4"), ("blink", "5"), ("reverse", "7"))


class _Cells(pyte.Screen):
    """A screen with a second one for programs that fill it, which leaves the first as it was."""

    def __init__(self, columns: int, rows: int) -> None:
        self.main: tuple[Any, Any] | None = None
        super().__init__(columns, rows)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        """Switch on; never to 132 columns."""
        if kwargs.get("private"):
            if _ALTERNATE & set(modes) and self.main is None:
                self.main = (self.buffer, copy.copy(self.cursor))
                self.buffer = defaultdict(cast("Any", self.buffer).default_factory)
            modes = tuple(mode for mode in modes if mode != 3)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        """Switch off."""
        if kwargs.get("private"):
            if _ALTERNATE & set(modes) and self.main is not None:
                (self.buffer, self.cursor), self.main = self.main, None
                self.ensure_hbounds()
                self.ensure_vbounds()
            modes = tuple(mode for mode in modes if mode != 3)
        super().reset_mode(*modes, **kwargs)

    def reset(self) -> None:
        """Begin anew."""
        self.main = None
        super().reset()

    def scroll(self, count: int, *, up: bool) -> None:
        """Move the lines between the margins; the cursor stays."""
        top, bottom = self.margins or (0, self.lines - 1)
        at = self.cursor.y
        self.cursor.y = bottom if up else top
        for _ in range(min(count, self.lines)):
            self.index() if up else self.reverse_index()
        self.cursor.y = at


class Screen:
    """A screen that is drawn when somebody looks. For one thread at a time."""

    def __init__(self, columns: int, rows: int) -> None:
        self._cells = _Cells(columns, rows)
        self._stream = self._attached()
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Draw what a program wrote. Of more than 64 KiB only the end is drawn, on the screen it had chosen."""
        if len(data) > _MOST_FED:
            skipped = _SWITCH.findall(data[:-_MOST_FED])
            start = data.find(b"\n", len(data) - _MOST_FED) + 1
            data = b"".join(skipped[-1:]) + data[start or len(data) - _MOST_FED :]
            self._rest = b""
        data = self._rest + data
        whole = _whole(data)
        self._rest = data[whole:]
        text = data[:whole].decode("utf-8", "replace")
        if not text.isascii():
            text = _unpiled(text)
        done = 0
        text = _REPEAT.sub(lambda found: found[1] * (int(found[2]) + 1), text)
        for found in _SCROLL.finditer(text):
            self._draw(text[done : found.start()])
            self._cells.scroll(int(found[1] or 1) or 1, up=found[2] == "S")
            done = found.end()
        self._draw(text[done:])

    def resize(self, columns: int, rows: int) -> None:
        """Change the size."""
        self._cells.resize(rows, columns)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._cells.columns, self._cells.lines

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 1."""
        return self._cells.cursor.y + 1, min(self._cells.cursor.x, self._cells.columns - 1) + 1

    @property
    def alternate(self) -> bool:
        """A program fills the whole screen."""
        return self._cells.main is not None

    @property
    def cursor_keys(self) -> bool:
        """A program wants arrow keys in their second form."""
        return _CURSOR_KEYS in self._cells.mode

    def rows(self) -> list[str]:
        """The rows, without blanks at their ends; empty rows at the end are left out."""
        return _trimmed([visible(row.rstrip()) for row in self._cells.display])

    def full_rows(self) -> frozenset[int]:
        """Rows that reach to the right edge, from 0: the line may go on in the next one."""
        last = self._cells.columns - 1
        return frozenset(y for y in range(self._cells.lines) if self._cells.buffer[y][last].data.strip())

    def coloured(self) -> list[str]:
        """The rows with their colours as ANSI sequences; each row begins and ends without any."""
        rows = [self._coloured(y) for y in range(self._cells.lines)]
        return _trimmed(rows)

    def _coloured(self, y: int) -> str:
        row = self._cells.buffer[y]
        plain = _style(self._cells.default_char)
        cells = [row[x] for x in range(self._cells.columns)]
        while cells and cells[-1].data in (" ", "") and _style(cells[-1]) == plain:
            cells.pop()
        parts: list[str] = []
        style = plain
        for cell in cells:
            wanted = _style(cell)
            if wanted != style:
                parts.append(f"\x1b[{';'.join(('0', *wanted))}m")
                style = wanted
            parts.append(visible(cell.data))
        return "".join(parts) + ("\x1b[0m" if style != plain else "")

    def _draw(self, text: str) -> None:
        for line in SEQUENCE.sub(_known, text).splitlines(keepends=True):
            # What the library trips over costs a line; its parser begins anew by itself.
            with contextlib.suppress(AttributeError, LookupError, NameError, TypeError, ValueError):
                self._stream.feed(line)

    def _attached(self) -> pyte.Stream:
        stream = pyte.Stream(self._cells)
        stream.use_utf8 = False  # so that line drawing works, which full-screen programs use
        return stream


def _trimmed(rows: list[str]) -> list[str]:
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _known(found: re.Match[str]) -> str:
    """A sequence as pyte can take it; empty for what it would draw as text or trip over."""
    if found["single"]:
        return found[0] if found["single"] in _SINGLES else ""
    final, given = found["final"], found["given"]
    if not final or found["between"]:
        return ""
    private = given.startswith("?")
    numbers = given[private:]
    if final in "su" and not given:
        return "\x1b7" if final == "s" else "\x1b8"
    if re.search(r"[^\d;]", numbers) or final not in _PARAMETERS or (private and final not in "hlJK"):
        return ""
    if final in "JK" and numbers not in ("", "0", "1", "2", "3"[final == "K" :]):
        return ""
    return f"\x1b[{'?' * private}{';'.join(numbers.split(';')[: _PARAMETERS[final]])}{final}"


def _whole(data: bytes) -> int:
    """How many bytes of `data` are whole: no character and no sequence is cut at the end."""
    end = len(data)
    for back in range(1, min(4, end) + 1):
        first = data[end - back]
        if first & 0xC0 != 0x80:
            needed = 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1
            end -= back if needed > back else 0
            break
    found = UNFINISHED.search(data[max(end - _MOST_HELD, 0) : end].decode("latin-1"))
    return end - len(found[0]) if found else end


def _unpiled(text: str) -> str:
    """`text` with few combining marks on each character, and without what has no place of its own on a screen.

    pyte stops to draw at a character without width that does not combine, such as a joiner.
    """
    kept: list[str] = []
    marks = 0
    for char in text:
        if char < "\x7f" or width(char) > 0:
            marks = 0
        elif unicodedata.combining(char):
            marks += 1
            if marks > _MOST_MARKS:
                continue
        else:
            char = visible(char) if unicodedata.category(char) == "Cf" else ""
            char = char if char == _MARK else ""
        kept.append(char)
    return "".join(kept)


def _style(cell: Any) -> tuple[str, ...]:
    return (
        *(code for name, code in _STYLES if getattr(cell, name)),
        *_colour(cell.fg, 30),
        *_colour(cell.bg, 40),
    )


def _colour(name: str, base: int) -> tuple[str, ...]:
    if name in _COLOURS:
        return (str(base + _COLOURS.index(name)),)
    bright = name.removeprefix("bright")
    if bright != name and bright in _COLOURS:
        return (str(base + 60 + _COLOURS.index(bright)),)
    with contextlib.suppress(ValueError):
        if len(name) == 6:
            return (f"{base + 8};2;" + ";".join(str(int(name[at : at + 2], 16)) for at in (0, 2, 4)),)
    return ()
