"""Lines broken between words, as wide as a terminal, while the text comes."""

from __future__ import annotations

import unicodedata

from clew.core.text.lazy import lazy_pattern

_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_OPENS = "（「『【《“‘"
_CLOSES = "、。，．：；？！）」』】》”’"
_PIECE = lazy_pattern(
    rf"\n| +|[{_OPENS}]*(?:(?![{_OPENS}])[{_WIDE}][{_CLOSES},.:;?!)\]]*|[^\n {_WIDE}{_OPENS}]+[{_CLOSES}]*)|[{_OPENS}]+"
)
"""What is never torn: a line break, blanks, a wide character or a word, each with the marks that open and close it."""
_ITEM = lazy_pattern(r" *(?:[-*+>]|\d+[.)]) +")


def width(text: str) -> int:
    """Columns that a terminal needs for text without line breaks."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


class Prose:
    """Breaks lines of a text that comes in pieces between words; fenced and indented code and tables stay as they are.

    Lines that continue an item of a list stand below its text. A word is held back until its end is seen.
    """

    def __init__(self, columns: int, hang: str = "") -> None:
        self.columns = columns
        self.hang = hang
        self._held = ""
        self._blanks = ""
        self._line = ""
        self._column = 0
        self._fenced = False

    def feed(self, text: str) -> str:
        """What can be shown now that `text` has come."""
        self._held += text
        shown, begin = "", 0
        for piece in _PIECE.finditer(self._held):
            if piece.end() == len(self._held) and piece[0] != "\n":
                break
            shown += self._placed(piece[0])
            begin = piece.end()
        self._held = self._held[begin:]
        return shown

    def end(self) -> str:
        """What was held back."""
        shown = "".join(self._placed(piece) for piece in _PIECE.findall(self._held)) + self._blanks
        self._held = self._blanks = ""
        return shown

    def _placed(self, piece: str) -> str:
        if piece == "\n":
            self._fenced ^= self._line.lstrip().startswith("```")
            shown, self._blanks, self._line, self._column = self._blanks + piece, "", "", 0
            return shown
        if piece.isspace():
            self._blanks += piece
            return ""
        gap, self._blanks = self._blanks, ""
        before, self._line = self._line, self._line + gap + piece
        needed = width(gap + piece)
        if before.strip() and not self._fixed() and self._column + needed > self.columns:
            item = _ITEM.match(self._line)
            indent = " " * len(item[0]) if item else self.hang
            self._column = len(indent) + width(piece)
            return f"\n{indent}{piece}"
        self._column += needed
        return gap + piece

    def _fixed(self) -> bool:
        """Whether the line would be spoilt by a break."""
        return self._fenced or self._line.startswith(("    ", "\t", "|", "```"))
