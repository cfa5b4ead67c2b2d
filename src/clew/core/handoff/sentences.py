"""Texts cut where a reader would stop: at the end of a sentence, within a number of bytes."""

from __future__ import annotations

import re
from typing import Final

from clew.core.text.lazy import lazy_pattern

ELLIPSIS: Final = "…"
_CLOSERS: Final = "\"'”’»）)」』]*`"
_END = lazy_pattern(rf"[.!?](?:[{re.escape(_CLOSERS)}]+)?(?=\s|$)|[。！？…；;](?:[{re.escape(_CLOSERS)}]+)?|\n")
_ABBREVIATED = lazy_pattern(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|st|dr|mr|ms|mrs)|(?<![\w.])[A-Za-z]|(?m:^)\s*\d{1,3})\.$", re.IGNORECASE
)
_LEAST_SHARE: Final = 3
"""A cut at the end of a sentence must keep at least one part in so many of what would fit."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the blanks around them. A line break ends one; no text is lost."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[0] != "\n" and _ABBREVIATED.search(text[start : match.end()].rstrip(_CLOSERS)):
            continue
        if piece := text[start : match.end()].strip():
            found.append(piece)
        start = match.end()
    if rest := text[start:].strip():
        found.append(rest)
    return found


_FENCE = lazy_pattern(r"[ \t>]*(`{3,}|~{3,})")
_FURNITURE = lazy_pattern(r"[ \t>]*(?:#{1,6}(?:\s.*)?|\|.*|(?:[-*_=]\s*){3,})$")
_BULLET = lazy_pattern(r"[ \t>]*(?:[-*+]|\d{1,3}[.)])\s+")


def prose(text: str) -> str:
    """What is said in Markdown: without headings, rows of tables, rulers, blocks of code, and the marks of lists."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark is not None and mark[1].startswith(fence) else fence
        elif mark is not None:
            fence = mark[1]
        elif not _FURNITURE.match(line):
            kept.append(line[bullet.end() :] if (bullet := _BULLET.match(line)) is not None else line)
    return "\n".join(kept)


def size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def cut(text: str, most: int) -> str:
    """`text` within `most` bytes: whole, or up to the end of a sentence, else of a word; cut within a sentence it ends
    with an ellipsis. Empty where not even a word and the ellipsis fit."""
    text = text.strip()
    if size(text) <= most:
        return text
    kept = _prefix(text, most)
    ends = [match.end() for match in _END.finditer(kept) if match.end() < len(kept) or match[0][0] not in ".!?"]
    ends = [at for at in ends if not _ABBREVIATED.search(kept[:at].rstrip(_CLOSERS))]
    if ends and size(kept[: ends[-1]].rstrip()) * _LEAST_SHARE >= most:
        return kept[: ends[-1]].rstrip()
    room = most - size(ELLIPSIS)
    if room <= 0:
        return ""
    words = _prefix(text, room)
    at = max((match.start() for match in re.finditer(r"\s|[，、,：:]", words)), default=0)
    torn = words.isascii() and words[-1:].isalnum() and text[len(words)].isalnum()
    if at and (torn or size(words[:at]) * _LEAST_SHARE >= room):
        words = words[:at]
    words = words.rstrip(" \t\n，、,：:")
    return words + ELLIPSIS if words else ""


def ends(text: str, most: int, gap: str) -> str:
    """Beginning and end of a text with `gap` between them, within `most` bytes; the whole where that fits."""
    if size(text) <= most:
        return text
    room = most - size(gap)
    if room < 2:
        return _prefix(text, max(most, 0))
    head = _prefix(text, room - room // 3)
    backwards = _prefix(text[::-1], room - size(head))
    return f"{head}{gap}{backwards[::-1]}"


def _prefix(text: str, most: int) -> str:
    """The longest beginning of `text` that has at most `most` bytes."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore") if size(text) > most else text
