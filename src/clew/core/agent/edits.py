"""Edits of a text: all of them or none, and nothing outside of them changes.

A text holds its line ends as the file has them. Old and new texts of edits are given with plain line ends: they match
whatever the text has there, and what is put in gets the ends of its surroundings. All edits speak of the text as it
is, none of what another one makes of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from clew.core.agent.differences import Region, hunks, shared

_LEAST_SIMILAR = 0.3
_MOST_SHOWN = 12
"""Lines of the closest place that are given."""
_MOST_COMPARED = 20_000
"""Characters of two texts that are compared one by one; longer ones are compared by their words."""
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Replace:
    """`new` in the place of `old`, which stands in the text exactly once, or else `all` says that each is meant."""

    old: str
    new: str
    all: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """`text` in the place of the lines from `first` to `last`, both included, counted from 1.

    With `last` = `first` - 1 it is put in before the line `first`. One line end at the end of `text` does not count;
    an empty `text` is no line, a lone line end is an empty one.
    """

    first: int
    last: int
    text: str


Edit: TypeAlias = Replace | Lines


@dataclass(frozen=True, slots=True)
class Edited:
    """All edits were applied."""

    text: str
    diff: str
    """Hunks in unified form with the numbers of lines before and after; empty where nothing changes."""
    added: int = 0
    removed: int = 0
    """Lines of the diff."""


@dataclass(frozen=True, slots=True)
class Missed:
    """The old text of an edit is not there."""

    number: int
    """Of the edit, from 1."""
    closest: tuple[tuple[int, str], ...] = ()
    """Numbers and texts of the lines that are most like it; none where nothing is like it."""
    similarity: float = 0.0
    """0 to 1; 1 where only white space differs."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The old text of an edit is there more than once."""

    number: int
    lines: tuple[int, ...]
    """Where each of them begins."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two edits speak of the same place."""

    number: int
    other: int


@dataclass(frozen=True, slots=True)
class Unfit:
    """An edit that is none: lines that are not there, or nothing to look for."""

    number: int
    reason: str


Outcome: TypeAlias = Edited | Missed | Ambiguous | Overlap | Unfit


class _Change(NamedTuple):
    """`new` between two places of the plain text."""

    start: int
    end: int
    new: str
    number: int


def apply(text: str, edits: Sequence[Edit]) -> Outcome:
    """The text with all edits applied, or the first reason why they cannot be."""
    plain = Plain(text)
    changes: list[_Change] = []
    for number, edit in enumerate(edits, 1):
        found = _replacements(plain, edit, number) if isinstance(edit, Replace) else _range(plain, edit, number)
        if not isinstance(found, list):
            return found
        changes += found
    changes.sort(key=lambda one: (one.start, one.end))
    for one, other in pairwise(changes):
        if other.start < one.end or (one.start == one.end == other.start == other.end):
            return Overlap(*sorted((one.number, other.number)))
    return _made(plain, changes)


def rewritten(before: str, after: str) -> Edited:
    """`after` in the place of the whole text. Where it has plain line ends only, it gets those of `before`."""
    ends = Plain(before).end_near(0, 0)
    whole = after if "\r" in after else after.replace("\n", ends)
    diff, added, removed = hunks(before, whole, [Region(0, len(before), 0, len(whole))])
    return Edited(whole, diff, added, removed)


class Plain:
    """A text with plain line ends, and where each of its characters stands in the text itself.

    A carriage return alone ends a line only in texts that have no other end.
    """

    def __init__(self, text: str) -> None:
        self.raw = text
        self._old_mac = "\n" not in text and "\r" in text
        self.text = text.replace("\r", "\n") if self._old_mac else text.replace("\r\n", "\n")
        self._pairs = [found.start() - count for count, found in enumerate(re.finditer("\r\n", text))]
        """Places in the plain text of ends that are two characters."""
        self.starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        """Where each line begins; the last one is empty where the text ends with a line end."""
        if self.starts[-1] == len(self.text):
            del self.starts[-1]

    def at(self, place: int) -> int:
        """The place in the text itself."""
        return place + bisect_left(self._pairs, place)

    def line(self, place: int) -> int:
        """The number, from 1, of the line that a place is in."""
        return max(bisect_right(self.starts, place), 1)

    def end_near(self, start: int, end: int) -> str:
        """The line end between two places, or else that of the line, or the last one before."""
        if self._old_mac:
            return "\r"
        place = self.text.find("\n", start, end)
        if place < 0:
            place = self.text.find("\n", end)
        if place < 0:
            place = self.text.rfind("\n", 0, start)
        slot = bisect_left(self._pairs, place)
        return "\r\n" if slot < len(self._pairs) and self._pairs[slot] == place else "\n"

    def lines(self) -> list[str]:
        """The lines without their ends."""
        found = self.text.split("\n")
        return found[:-1] if not found[-1] else found


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n")


def _replacements(plain: Plain, edit: Replace, number: int) -> list[_Change] | Missed | Ambiguous | Unfit:
    old, new = _unified(edit.old), _unified(edit.new)
    if not old:
        return Unfit(number, "there is no old text to look for")
    places: list[int] = []
    place = plain.text.find(old)
    while place >= 0:
        places.append(place)
        # One that lies over another one is a second place, too; of `all`, each is replaced once.
        place = plain.text.find(old, place + (len(old) if edit.all else 1))
    if not places:
        return closest(plain, old, number)
    if len(places) > 1 and not edit.all:
        return Ambiguous(number, tuple(plain.line(one) for one in places))
    return [_Change(one, one + len(old), new, number) for one in places]


def _range(plain: Plain, edit: Lines, number: int) -> list[_Change] | Unfit:
    total = len(plain.starts)
    if not (1 <= edit.first <= total + 1 and edit.first - 1 <= edit.last <= total):
        return Unfit(number, f"lines {edit.first}-{edit.last} are not in a text of {total} lines")
    places = [*plain.starts, len(plain.text)]
    start, end = places[edit.first - 1], places[edit.last] if edit.last >= edit.first else places[edit.first - 1]
    body = _unified(edit.text)
    body = body.removesuffix("\n") + "\n" if body else ""
    open_end = bool(plain.text) and not plain.text.endswith("\n")
    if body and end == len(plain.text) and open_end:
        # The last line has no end, and still has none afterwards.
        body = ("\n" if start == end else "") + body[:-1]
    return [_Change(start, end, body, number)]


def _made(plain: Plain, changes: Sequence[_Change]) -> Edited:
    parts: list[str] = []
    regions: list[Region] = []
    done = length = 0
    for change in changes:
        old = plain.text[change.start : change.end]
        # What both texts begin and end with keeps its bytes, line ends included.
        same = shared(old, change.new)
        tail = shared(old[same:][::-1], change.new[same:][::-1])
        first, last = change.start + same, change.end - tail
        start, end = plain.at(first), plain.at(last)
        new = change.new[same : len(change.new) - tail].replace("\n", plain.end_near(first, last))
        parts += (plain.raw[done:start], new)
        length += start - done
        regions.append(Region(start, end, length, length + len(new)))
        length += len(new)
        done = end
    text = "".join((*parts, plain.raw[done:]))
    diff, added, removed = hunks(plain.raw, text, regions)
    return Edited(text, diff, added, removed)


# ---------------------------------------------------------------------- what was meant


def closest(plain: Plain, old: str, number: int) -> Missed:
    """The lines that are most like `old`, by their words; of several, the first."""
    lines = plain.lines()
    wanted = old.strip("\n").split("\n")
    words = Counter(_WORD.findall(old))
    height = min(len(wanted), len(lines))
    if not words or not height:
        return Missed(number)
    best, place = _best_window(lines, words, height)
    shown = lines[place : place + height]
    if best == 1.0 and [_bare(one) for one in shown] == [_bare(one) for one in wanted]:
        similarity = 1.0
    elif sum(map(len, shown)) + len(old) <= _MOST_COMPARED:
        similarity = min(SequenceMatcher(None, "\n".join(wanted), "\n".join(shown), autojunk=False).ratio(), 0.99)
    else:
        similarity = min(best, 0.99)
    if max(similarity, best) < _LEAST_SIMILAR:
        return Missed(number)
    listed = tuple((place + at, line) for at, line in enumerate(shown[:_MOST_SHOWN], 1))
    return Missed(number, listed, round(similarity, 2))


def _bare(line: str) -> str:
    return "".join(line.split())


def _best_window(lines: Sequence[str], words: Counter[str], height: int) -> tuple[float, int]:
    """Similarity (twice the words that both have, by the words of both) and place of the best run of `height` lines.

    The counts move along with the window, so each line is counted once.
    """
    counted: list[list[str]] = [_WORD.findall(line) for line in lines]
    inside: Counter[str] = Counter()
    shared = length = 0
    total = words.total()
    best, place = -1.0, 0
    for at, added in enumerate(counted):
        for word in added:
            inside[word] += 1
            shared += inside[word] <= words[word]
        length += len(added)
        if at >= height:
            for word in counted[at - height]:
                shared -= inside[word] <= words[word]
                inside[word] -= 1
            length -= len(counted[at - height])
        score = 2 * shared / (total + length)
        if at >= height - 1 and score > best:
            best, place = score, at - height + 1
    return best, place
