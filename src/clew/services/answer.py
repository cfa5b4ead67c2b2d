"""An answer without a model: the best passages, each cited with the lines that matter most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clew.core.text.printable import printable
from clew.core.text.redact import redact
from clew.core.text.terms import terms
from clew.services.passages import Shown, shown_passages
from clew.services.relevance import Related

PASSAGES = 3
"""Passages of one answer."""
LINES = 12
"""Lines shown of a passage."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A few lines of one file that bear on the question."""

    path: str
    first: int
    last: int
    symbol: str
    text: str

    @property
    def ref(self) -> str:
        """`path:line` of the first line."""
        return f"{printable(self.path)}:{self.first}"


def cite(
    related: Related, read: Callable[[str], tuple[str, ...]], words: Sequence[str], most: int = PASSAGES
) -> list[Cited]:
    """The best passages, each cut to the LINES around the words of the question; at most two of one file."""
    wanted = frozenset(words)
    found: list[Cited] = []
    of_file: dict[str, int] = {}
    for place, shown in enumerate(shown_passages(related, read)):
        path = shown.file.path
        if of_file.get(path, 0) >= 2:
            continue
        of_file[path] = of_file.get(path, 0) + 1
        first, last = _densest(shown, wanted)
        text = redact("\n".join(shown.lines[first - shown.first : last - shown.first + 1])).text
        found.append(Cited(path, first, last, related.passages[place].symbol, text))
        if len(found) == most:
            break
    return found


def _densest(shown: Shown, wanted: frozenset[str]) -> tuple[int, int]:
    """First and last line of the window with the most different words of the question; the earliest of equals."""
    hits = [wanted.intersection(terms(line)) for line in shown.lines]
    size = min(LINES, len(hits))
    best, start = -1, 0
    for at in range(len(hits) - size + 1):
        value = len(set[str]().union(*hits[at : at + size])) * 100 + sum(map(len, hits[at : at + size]))
        if value > best:
            best, start = value, at
    while size > 1 and not shown.lines[start + size - 1].strip():
        size -= 1
    while size > 1 and not shown.lines[start].strip():
        start, size = start + 1, size - 1
    return shown.first + start, shown.first + start + size - 1


def render(cited: Sequence[Cited]) -> Iterator[str]:
    """Pieces of plain text, one a passage: the reference, then the lines with their numbers."""
    for place, one in enumerate(cited):
        head = one.ref
        symbol = f"  ({printable(one.symbol)})" if one.symbol else ""
        width = len(str(one.last))
        body = "\n".join(f"  {number:>{width}}  {line}" for number, line in enumerate(one.text.split("\n"), one.first))
        yield f"{'' if place == 0 else chr(10)}{head}{symbol}\n{body}\n"
