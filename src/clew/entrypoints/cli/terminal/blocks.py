"""Markdown that comes in pieces: what of it is finished and may be laid out for good."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_INDENTED: Final = re.compile(r"(?: {2,}|\t)\S")
_RULER: Final = re.compile(r" {0,3}(?=.*\|)(?=.*-)[-:| \t]+")
"""The line below the heads of a table."""
LONG: Final = 60
"""Lines of a block that are given before its end is seen: what is drawn anew at each piece must stay small."""


class Part(str):
    """The rest of a block, some of which was given before: nothing stands between the two. Where a blank line does, it
    is given as a block of its own."""

    __slots__ = ()


class Blocks:
    """Takes pieces, gives whole blocks, and of a long one its lines as they come.

    A block ends at a blank line that is followed by something that does not belong to it: lists with blank lines
    between their items stay together, fenced code ends with its fence. Of a block of more than `LONG` lines the first
    ones are given at once: each part of fenced code has the fences around it, each of a table its heads.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._head: list[str] = []
        """What the lines of a part begin with that was given before."""
        self._parted = False
        """The lines before these were given, and no blank line lies between."""
        self._rest = ""
        self._fence = ""
        self._opening = ""
        """The line with the fence."""
        self._list = False
        self._blank = False

    def feed(self, piece: str) -> list[str]:
        """The blocks that are finished now."""
        *whole, self._rest = (self._rest + piece).split("\n")
        found = [block for line in whole if (block := self._line(line))]
        return found

    @property
    def tail(self) -> str:
        """What was not given yet; about twice `LONG` lines at most, and the line that is being written."""
        return "\n".join((*self._lines[len(self._head) :], self._rest))

    def end(self) -> str:
        """What is left, finished or not; then all begins anew."""
        if self._rest:
            self._lines.append(self._rest)
        left = self._taken()
        self.__init__()
        return left

    def _line(self, line: str) -> str:
        """Take one whole line; the block that ended before or with it."""
        if self._fence:
            self._lines.append(line)
            found = _FENCE.fullmatch(line)
            if found and found[1].startswith(self._fence) and not found[2].strip():
                self._fence = ""
                return "" if self._list else self._taken()
            return self._part_of_code() if len(self._lines) > LONG and line.strip() else ""
        if not line.strip():
            self._blank = bool(self._lines)
            if self._lines:
                self._lines.append(line)
            return ""
        done = ""
        goes_on = self._list and bool(_ITEM.match(line) or _INDENTED.match(line))
        if self._blank and not goes_on:
            done = self._taken()
        elif len(self._lines) >= (2 * LONG if self._list and not _ITEM.match(line) else LONG):
            done = self._part()
        self._blank = False
        fence = _FENCE.fullmatch(line)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence, self._opening = fence[1], line
        if not self._lines:
            self._list = bool(_ITEM.match(line))
        self._lines.append(line)
        return done

    def _part(self) -> str:
        """The lines that are there; the next one belongs to them."""
        of_list, head, near = self._list, self._lines[:2], bool(self._lines[-1].strip())
        done = self._taken()
        self._list, self._parted = of_list, near
        if len(head) > 1 and _RULER.fullmatch(head[1]):
            self._head = head
            self._lines = [*head]
        return done

    def _part_of_code(self) -> str:
        """The lines of fenced code before the last one, with fences, and what stands before them."""
        opening, line = self._opening, self._lines.pop()
        near = bool(self._lines[-1].strip())
        self._lines.append(opening[: len(opening) - len(opening.lstrip())] + self._fence)
        done = self._taken()
        self._parted, self._head, self._lines = near, [opening], [opening, line]
        return done

    def _taken(self) -> str:
        lines = self._lines if len(self._lines) > len(self._head) else []
        block = "\n".join(lines).strip("\n")
        if self._parted and block:
            block = Part(block)
        self._lines, self._head, self._list, self._blank, self._parted = [], [], False, False, False
        return block
