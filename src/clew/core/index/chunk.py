"""Values of the code index: symbols, chunks, the outline of a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: function, class, method, type, constant."""

    name: str
    start: int
    """First line, from 1; decorators and attributes included."""
    end: int
    """Last line, inclusive."""


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """A run of whole lines that is found and shown as one."""

    start: int
    """First line, from 1."""
    end: int
    """Last line, inclusive."""
    symbol: str
    """Names of the definitions around the first line, outermost first, joined by a dot; may be empty."""

    def ends_before(self, line: int) -> bool:
        """Whether `line` stands behind this chunk."""
        return self.end < line


@dataclass(frozen=True, slots=True)
class Outline:
    """What chunking finds in one file."""

    lines: int
    symbols: tuple[Symbol, ...]
    chunks: tuple[CodeChunk, ...]
    """In order, without gaps or overlap: together they cover every line."""


TARGET_LINES = 40
"""Chunks of plain text, and parts of a long definition, have about this many lines."""
MOST_LINES = 64
"""No chunk has more lines than this."""
LEAST_LINES = 6
"""A definition shorter than this joins its neighbour."""


def cover(lines: list[str], symbols: tuple[Symbol, ...], breaks: list[int]) -> tuple[CodeChunk, ...]:
    """Cut a file at `breaks` (first lines of sections, from 1) into chunks that cover every line.

    Short sections join the one before them while both stay below TARGET_LINES; long ones are cut near blank lines.
    """
    count = len(lines)
    if count == 0:
        return ()
    starts = sorted({1, *(line for line in breaks if 1 < line <= count)})
    sections = [(start, stop - 1) for start, stop in zip(starts, [*starts[1:], count + 1], strict=True)]
    merged: list[tuple[int, int]] = []
    for start, end in sections:
        if merged:
            before_start, before_end = merged[-1]
            short = end - start + 1 < LEAST_LINES or before_end - before_start + 1 < LEAST_LINES
            if short and end - before_start + 1 <= TARGET_LINES:
                merged[-1] = (before_start, end)
                continue
        merged.append((start, end))
    chunks: list[CodeChunk] = []
    for start, end in merged:
        for first, last in _windows(lines, start, end):
            chunks.append(CodeChunk(first, last, _around(symbols, first, last)))
    return tuple(chunks)


def _windows(lines: list[str], start: int, end: int) -> list[tuple[int, int]]:
    if end - start + 1 <= MOST_LINES:
        return [(start, end)]
    windows: list[tuple[int, int]] = []
    first = start
    while end - first + 1 > MOST_LINES:
        ideal = first + TARGET_LINES - 1
        last = _quiet_line(lines, ideal, first + TARGET_LINES // 2, first + MOST_LINES - 1)
        windows.append((first, last))
        first = last + 1
    windows.append((first, end))
    return windows


def _quiet_line(lines: list[str], ideal: int, low: int, high: int) -> int:
    """The line near `ideal` to end a window at: a blank one if there is one, else the one before the least indent."""
    for distance in range(max(ideal - low, high - ideal) + 1):
        for line in (ideal - distance, ideal + distance):
            if low <= line <= high and line <= len(lines) and not lines[line - 1].strip():
                return line
    return ideal


def _around(symbols: tuple[Symbol, ...], first: int, last: int) -> str:
    covering = [s for s in symbols if s.start <= first and s.end >= first]
    if not covering:
        covering = [s for s in symbols if first <= s.start <= last][:1]
    covering.sort(key=lambda s: (s.start, -s.end))
    names: list[str] = []
    for symbol in covering:
        if not names or names[-1] != symbol.name:
            names.append(symbol.name)
    return ".".join(names)
