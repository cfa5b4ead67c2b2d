"""Markdown that comes in pieces: what of it is finished and may be laid out for good."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_INDENTED: Final = re.compile(r"(?: {2,}|\t)\S")


class Blocks:
    """Takes pieces, gives whole blocks.

    A block ends at a blank line that is followed by something that does not belong to it: lists with blank lines
    between their items stay together, fenced code ends with its fence.
    """

    def __init__(self) -> None:
        self.tail = ""
        """What is not finished."""
        self._lines: list[str] = []
        self._rest = ""
        self._fence = ""
        self._list = False
        self._blank = False

    def feed(self, piece: str) -> list[str]:
        """The blocks that are finished now."""
        *whole, self._rest = (self._rest + piece).split("\n")
        found = [block for line in whole if (block := self._line(line))]
        self.tail = "\n".join((*self._lines, self._rest))
        return found

    def end(self) -> str:
        """What is left, finished or not; then all begins anew."""
        left = self.tail.strip("\n")
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
            return ""
        if not line.strip():
            self._blank = bool(self._lines)
            if self._lines:
                self._lines.append(line)
            return ""
        done = ""
        goes_on = self._list and bool(_ITEM.match(line) or _INDENTED.match(line))
        if self._blank and not goes_on:
            done = self._taken()
        self._blank = False
        fence = _FENCE.fullmatch(line)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = fence[1]
        if not self._lines:
            self._list = bool(_ITEM.match(line))
        self._lines.append(line)
        return done

    def _taken(self) -> str:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._list, self._blank = [], False, False
        return block
