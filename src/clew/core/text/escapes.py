"""What a program wrote for a terminal, as plain text: no escape sequences, lines that were written over folded."""

from __future__ import annotations

import re

from clew.core.text.printable import visible

SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<given>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles, colours, links, the clipboard
    r"|[PX^_][^\x1b\n]*\x1b\\"  # strings to the terminal itself
    r"|(?P<single>[ -/]*[0-~]))"
)
"""One whole sequence: CSI with its parts, a string, or a single one. A string without its end hides no further line."""
UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]*\x1b?|[PX^_][^\x1b\n]*\x1b?|[ -/]*)\Z")
"""The beginning of a sequence at the end of a text."""
_ERASED, _BLANK = "\ue0f0", "\ue0f1"
"""Stand for `erase to the end of the line` and `erase the line` until the line is folded; removed from what came."""
_OWN = re.compile(f"[{_ERASED}{_BLANK}]")
_LONE = re.compile(r"[\x00\x07\x0e\x0f\x7f\x1b]")
"""Controls that a terminal shows as nothing."""
_FOLDS = re.compile(r"[\r\x08\ue0f0\ue0f1]")
_MOST_BLANKS = 200


def plain(raw: str) -> str:
    """`raw` as it would read on paper: each line as it was last written, what is left of controls as U+FFFD.

    A move of the cursor to another row becomes the end of a line.
    """
    if "\x1b" not in raw and raw.isascii() and raw.replace("\n", "").isprintable():
        return raw
    text = SEQUENCE.sub(_meaning, UNFINISHED.sub("", _OWN.sub("", raw)))
    text = re.sub(r"(?<!\r)\r+\n", "\n", _LONE.sub("", text))
    return visible("\n".join(_folded(line) if _FOLDS.search(line) else line for line in text.split("\n")))


def _meaning(found: re.Match[str]) -> str:
    final, given = found["final"], found["given"] or ""
    if not final or found["between"] or not re.fullmatch(r"[\d;]*", given):
        return ""
    if final == "K":
        return _BLANK if given == "2" else "" if given == "1" else _ERASED
    if final == "C":
        return " " * min(int(given) if given.isdigit() else 1, _MOST_BLANKS)
    return "\n" if final in "Hfd" else ""


def _folded(line: str) -> str:
    """A line after its carriage returns, backspaces and erasures."""
    row: list[str] = []
    column = 0
    for part in re.split(r"([\r\x08\ue0f0\ue0f1])", line):
        if part == "\r":
            column = 0
        elif part == "\x08":
            column = max(column - 1, 0)
        elif part == _ERASED:
            del row[column:]
        elif part == _BLANK:
            row = [" "] * column
        elif part:
            row.extend(" " * (column - len(row)))
            row[column : column + len(part)] = part
            column += len(part)
    return "".join(row).rstrip() if _BLANK in line or _ERASED in line else "".join(row)
