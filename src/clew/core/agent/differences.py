"""Two states of a text as hunks in unified form, where it is known between which places they may differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_CONTEXT = 3
_MOST_COMPARED = 2_000_000
"""Pairs of lines that are compared; a larger place is shown as taken out and put in."""


class Region(NamedTuple):
    """Places (characters) in the text before and in that after it between which they may differ."""

    start: int
    end: int
    new_start: int
    new_end: int


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How long the beginning is that both have."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class _Block(NamedTuple):
    """Lines that are taken out and those that are put in, by index."""

    start: int
    end: int
    new_start: int
    new_end: int


def hunks(before: str, after: str, regions: Sequence[Region]) -> tuple[str, int, int]:
    """The hunks, and how many lines they add and remove. `regions` are in order and do not overlap.

    Lines are shown without their ends; a last line without one is marked as usual.
    """
    if before == after:
        return "", 0, 0
    end = "\n" if "\n" in before or "\n" in after else "\r"
    old, new = _Lines(before, end), _Lines(after, end)
    blocks: list[_Block] = []
    for whole in _whole_lines(old, new, regions):
        blocks += _differing(old.texts, new.texts, whole)
    parts: list[str] = []
    group: list[_Block] = []
    for block in blocks:
        if group and block.start - group[-1].end > 2 * _CONTEXT:
            parts += _hunk(old.texts, new.texts, group)
            group = []
        group.append(block)
    parts += _hunk(old.texts, new.texts, group) if group else ()
    added = sum(one.new_end - one.new_start for one in blocks)
    removed = sum(one.end - one.start for one in blocks)
    return "\n".join(parts) + "\n", added, removed


class _Lines:
    def __init__(self, text: str, end: str) -> None:
        self.texts = text.split(end)
        self.texts = [one + end for one in self.texts[:-1]] + ([self.texts[-1]] if self.texts[-1] else [])
        self.starts: list[int] = []
        place = 0
        for one in self.texts:
            self.starts.append(place)
            place += len(one)
        self.length = place

    def holding(self, place: int) -> int:
        """Index of the line that a place is in; that of the last line for the end of the text."""
        return max(bisect_right(self.starts, place) - 1, 0)

    def start(self, index: int) -> int:
        return self.starts[index] if index < len(self.starts) else self.length


def _whole_lines(old: _Lines, new: _Lines, regions: Sequence[Region]) -> list[_Block]:
    """The lines that the regions touch; regions that touch the same line are one."""
    merged: list[_Block] = []
    for region in regions:
        start = old.holding(region.start)
        end = min(old.holding(region.end) + 1, len(old.texts))
        # The rest of the last line is the same in both.
        rest = old.start(end) - region.end
        new_end = bisect_right(new.starts, max(region.new_end + rest - 1, 0))
        new_start = new.holding(region.new_start - (region.start - old.start(start)))
        if merged and start < merged[-1].end:
            merged[-1] = _Block(merged[-1].start, max(end, merged[-1].end), merged[-1].new_start, new_end)
        else:
            merged.append(_Block(start, end, new_start, new_end))
    return merged


def _differing(old: Sequence[str], new: Sequence[str], whole: _Block) -> list[_Block]:
    left, right = old[whole.start : whole.end], new[whole.new_start : whole.new_end]
    same = shared(left, right)
    tail = shared(left[same:][::-1], right[same:][::-1])
    left, right = left[same : len(left) - tail], right[same : len(right) - tail]
    at, new_at = whole.start + same, whole.new_start + same
    if not left and not right:
        return []
    if len(left) * len(right) > _MOST_COMPARED:
        return [_Block(at, at + len(left), new_at, new_at + len(right))]
    found = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [_Block(at + a, at + b, new_at + c, new_at + d) for tag, a, b, c, d in found if tag != "equal"]


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[_Block]) -> list[str]:
    first, last = group[0], group[-1]
    start, new_start = max(first.start - _CONTEXT, 0), max(first.new_start - _CONTEXT, 0)
    end, new_end = min(last.end + _CONTEXT, len(old)), min(last.new_end + _CONTEXT, len(new))
    parts = [f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@"]
    place = start
    for block in group:
        parts += (_shown(" ", line) for line in old[place : block.start])
        parts += (_shown("-", line) for line in old[block.start : block.end])
        parts += (_shown("+", line) for line in new[block.new_start : block.new_end])
        place = block.end
    parts += (_shown(" ", line) for line in old[place:end])
    return parts


def _span(start: int, end: int) -> str:
    length = end - start
    # A hunk without lines names the line that it follows, as usual.
    return f"{start + 1 if length else start}" + ("" if length == 1 else f",{length}")


def _shown(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line[:-1].removesuffix("\r")
    return sign + (line[:-1] if line.endswith("\r") else line + "\n\\ No newline at end of file")
