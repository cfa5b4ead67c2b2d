"""Memory as a model reads it: hits of a search as quotations, an opened text as far as one answer holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clew.core.memory.hits import Hit
from clew.core.text.printable import printable, visible

MOST_SHOWN: Final = 24_000
"""Characters of a text that one answer holds; the rest by a reference that continues it."""
OF_MEMORY: Final = "#L{}-{}"
"""How a reference into memory names lines."""


def quoted(hit: Hit) -> list[str]:
    """A hit in lines: what opens it and where it stands, then its text as a quotation."""
    about = [hit.reference, *(printable(one, 120) for one in hit.told), *_stale(hit.stale)]
    return ["- " + " · ".join(about), *(f"  > {line}" for line in visible(hit.snippet).splitlines())]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text, cut to what one answer holds."""

    ref: str
    """What is shown: with lines where that is a part."""
    head: str
    text: str
    more: str
    """The reference of the rest; empty where all is shown, or where lines have no numbers."""
    cut: bool

    def __str__(self) -> str:
        tail = f"\n[cut; continue with `{printable(self.more, 300)}`]" if self.more else "\n[cut]" if self.cut else ""
        return f"{self.head}\n\n{self.text}{tail}"


def excerpt(bare: str, text: str, first: int, lines: int, form: str = OF_MEMORY, stale: str = "") -> Excerpt:
    """The part of `text` that one answer holds. It begins at line `first` of `lines` (0: lines have no numbers) of what
    the reference `bare` names; `form` adds two line numbers to a reference."""
    kept, more = text, ""
    if len(text) > MOST_SHOWN:
        kept = text[:MOST_SHOWN]
        if first and (whole := kept.rpartition("\n")[0]):
            kept = whole
            more = bare + form.format(first + kept.count("\n") + 1, lines)
    last = first + kept.count("\n")
    part = bool(first > 1 or (lines and last < lines))
    shown = bare + form.format(first, last) if first and part else bare
    where = f" (lines {first}-{last} of {lines})" if first else f" (of {lines} lines)" if part else ""
    head = " · ".join([f"{printable(shown, 300)}{where}", *_stale(stale)])
    return Excerpt(shown, head, kept, more, len(kept) < len(text))


def _stale(reason: str) -> list[str]:
    return [f"DOES NOT HOLD ANY MORE: {printable(reason, 120)}"] if reason else []
