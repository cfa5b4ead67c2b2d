"""A document of memory cut into passages: whole lines of one section, at most `MOST_CHARACTERS` long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 1_200
"""Of one passage."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# An entry of a log: a list item or a line that begins with a time of day or a date.
_ENTRY = re.compile(
    r"(?:[-*+] +)?[\[(*]{0,3}(?:\d{4}-\d\d-\d\d[T ]?)?(?:\d\d?:\d\d)\b|[-*+] +[\[(*]{0,3}\d{4}-\d\d-\d\d\b"
)
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_BREAK = re.compile(r"[.!?;]\s|[\u3002\uff01\uff1f\uff1b]|\s")


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage of a document, or one turn of a conversation."""

    text: str
    first: int
    """Number of its first line in the file, from 1."""
    last: int
    heading: str = ""
    """Headings above it, outermost first, separated by ` > `."""
    speaker: str = ""
    """Who said it, in a conversation."""
    at: str = ""
    """When, as ISO 8601 text; empty where the document's own time holds."""
    reference: str = ""
    """What a conversation calls this turn."""


def split(body: str, *, first: int = 1, day: str = "") -> tuple[Piece, ...]:
    """Cut `body`, whose first line is line `first` of its file.

    Cuts stand before headings and entries of a log, and between paragraphs where a passage would grow too long; a
    longer paragraph is cut between lines, a longer line between sentences or words. Blank lines belong to no passage.
    `day` (YYYY-MM-DD) dates the entries of a log, whose time of day stands at their beginning.
    """
    pieces: list[Piece] = []
    for heading, paragraphs in _sections(body, first):
        for group in _grouped(paragraphs):
            text = "\n".join(line for _, line in group)
            clock = _CLOCK.search(text[:24]) or _CLOCK.search(heading.rpartition(" > ")[2])
            at = f"{day}T{int(clock[1]):02}:{clock[2]}" if day and clock else day
            pieces.append(Piece(text, group[0][0], group[-1][0], heading, at=at))
    return tuple(pieces)


_Lines = list[tuple[int, str]]


def _sections(body: str, first: int) -> Iterator[tuple[str, list[_Lines]]]:
    """Sections with the trail of headings and their paragraphs; an entry of a log is a section of its own."""
    trail: list[tuple[int, str]] = []
    paragraphs: list[_Lines] = []
    lines: _Lines = []
    fence = ""

    def taken() -> tuple[str, list[_Lines]]:
        nonlocal paragraphs, lines
        if lines:
            paragraphs.append(lines)
        done, paragraphs, lines = paragraphs, [], []
        return " > ".join(text for _, text in trail), done

    for number, line in enumerate(body.split("\n"), first):
        mark = _FENCE.match(line)
        inside = fence != ""
        if mark and not inside:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        heading = None if inside or mark else _HEADING.match(line)
        if heading or (not inside and _ENTRY.match(line)):
            yield taken()
        if heading:
            trail = [one for one in trail if one[0] < len(heading[1])]
            trail.append((len(heading[1]), heading[2]))
        if line.strip() or inside:
            lines.append((number, line.rstrip()))
        elif lines:
            paragraphs.append(lines)
            lines = []
    yield taken()


def _grouped(paragraphs: list[_Lines]) -> Iterator[_Lines]:
    """Neighbouring paragraphs together as far as they are short enough."""
    group: _Lines = []
    held = 0
    for paragraph in paragraphs:
        size = sum(len(line) + 1 for _, line in paragraph)
        if group and held + size > MOST_CHARACTERS:
            yield group
            group, held = [], 0
        if size <= MOST_CHARACTERS:
            group, held = group + paragraph, held + size
        else:
            *whole, rest = _cut(paragraph)
            yield from whole
            group, held = rest, sum(len(line) + 1 for _, line in rest)
    if any(line.strip() for _, line in group):
        yield group


def _cut(paragraph: _Lines) -> list[_Lines]:
    groups: list[_Lines] = [[]]
    held = 0
    for number, line in paragraph:
        for part in _short(line):
            if groups[-1] and held + len(part) + 1 > MOST_CHARACTERS:
                groups.append([])
                held = 0
            groups[-1].append((number, part))
            held += len(part) + 1
    return groups


def _short(line: str) -> Iterator[str]:
    """A line in parts that are short enough, cut after a sentence or a word in the last third where one ends there."""
    while len(line) >= MOST_CHARACTERS:
        cuts = [match.end() for match in _BREAK.finditer(line, MOST_CHARACTERS * 2 // 3, MOST_CHARACTERS - 1)]
        strong = [end for end in cuts if line[end - 1] in "。！？；" or line[end - 2 : end - 1] in (".", "!", "?", ";")]
        at = (strong or cuts or [MOST_CHARACTERS - 1])[-1]
        yield line[:at].rstrip()
        line = line[at:]
    yield line
