"""What is read of a terminal at once: a bounded window on its output, in whole lines where there are any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from clew.core.text.escapes import plain
from clew.services.tools.command import MARGIN, MOST_BYTES, MOST_LINES, redacted

_RAW = 256 << 10
"""Bytes that are looked at for one page: progress lines and colours leave little text."""
_REREAD = 4_096
"""A line without end is given again with the next page if it has at most so many bytes: it may be written over."""


class Text(Protocol):
    """What a terminal tells of its output."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    def piece(self, first: int, last: int) -> bytes: ...

    def line_start(self, offset: int, most: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the output, as plain text without secrets. Offsets count bytes of the output from its beginning."""

    text: str
    first: int
    stop: int
    """Where it ends."""
    next: int
    """Where the next page begins: a line that has no end yet is given again."""
    end: int
    dropped: int
    """Bytes that were asked for and are not kept any more."""
    passed: int
    """Bytes before `first` that nobody has read, and that can be."""


def page(output: Text, offset: int | None, seen: int, redact: Callable[[str], str], *, final: bool) -> Page:
    """The page at `offset`; without one the end of what came since `seen`. A negative offset counts from the end.

    `final`: nothing more will come, so that a line without end is whole.
    """
    start, end = output.start, output.end
    if offset is None:
        first = max(min(seen, end), start)
        shown = _end_of(output, first, end)
        return _cut(output, (shown, end), max(start - seen, 0), shown - first, redact, final=final)
    wanted = end + offset if offset < 0 else offset
    first = min(max(wanted, start), end)
    return _cut(output, (first, end), max(first - max(wanted, 0), 0), 0, redact, final=final)


def _end_of(output: Text, first: int, end: int) -> int:
    """Where the last page before `end` begins, not before `first`."""
    at = max(first, end - MOST_BYTES)
    raw = output.piece(at, end)
    if at > first:
        line = raw.find(b"\n") + 1
        if 0 < line < len(raw):
            raw, at = raw[line:], at + line
    return at + sum(map(len, _lines(raw)[:-MOST_LINES]))


def _cut(
    output: Text, span: tuple[int, int], dropped: int, passed: int, redact: Callable[[str], str], *, final: bool
) -> Page:
    first, end = span
    raw = output.piece(first, min(first + _RAW, end))
    while raw and raw[0] & 0xC0 == 0x80 and passed + first > output.start:
        raw, first = raw[1:], first + 1  # the rest of a character
    parts: list[str] = []
    at, size = 0, 0
    for line in _lines(raw):
        if not line.endswith(b"\n") and parts and first + at + len(line) < end:
            break  # more of this line is there than was looked at
        text = _plain(line)
        if parts and (size + len(text) > MOST_BYTES or len(parts) >= MOST_LINES):
            break
        if len(text) > MOST_BYTES:
            line = _characters(line[: MOST_BYTES // 2])
            text = _plain(line)
        parts.append(text)
        size += len(text)
        at += len(line)
    stop = first + at
    body = "".join(parts)
    before = _plain(output.piece(output.line_start(max(first - MARGIN, 0), MARGIN), first))
    after = _plain(output.piece(stop, stop + MARGIN))
    then = stop if final or stop < end else _again(output, first, stop)
    return Page(redacted(redact, before, body, after), first, stop, then, end, dropped, passed)


def _again(output: Text, first: int, stop: int) -> int:
    """Where reading goes on after a page that reaches the end."""
    return max(output.line_start(stop, _REREAD), first)


def _lines(raw: bytes) -> list[bytes]:
    """Lines that end with a line feed, which they keep; carriage returns end none."""
    lines = [line + b"\n" for line in raw.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _characters(raw: bytes) -> bytes:
    """`raw` without a character that is cut at its end."""
    for back in range(1, 5):
        if raw[-back] & 0xC0 != 0x80:
            return raw[:-back] if raw[-back] >= 0xC0 else raw
    return raw


def _plain(raw: bytes) -> str:
    return plain(raw.decode("utf-8", "replace"))
