"""What a mode allows of each fragment, which fragment comes first, and which says again what another one says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.context.fences import clean, file_of, reference_line
from clew.core.context.fragment import SIDE_SOURCES, Fragment
from clew.core.text.printable import printable

RECENT_SOURCE: Final = "exchange"
"""Fragments of this source form the layer of earlier exchanges."""
FACT_SOURCES: Final = frozenset({"git", "environment"})
"""Sources whose fragments count as facts: `lean` shows them as lines, anchors or not."""
_FACT_CHARACTERS: Final = 400


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fragment with what the mode allows of it."""

    fragment: Fragment
    body: bool
    """Its body may be shown."""
    line: str
    """Its reference line; empty if it has none to show."""
    kept_line: bool
    """The line must be shown (anchors)."""
    rest: bool
    """The fragment says more than its line."""

    @property
    def recent(self) -> bool:
        """Belongs to the layer of earlier exchanges."""
        return self.fragment.source == RECENT_SOURCE and not self.fragment.explicit


def ranked(fragments: Sequence[Fragment], mode: str) -> tuple[Candidate, ...]:
    """Candidates by priority: explicit, weight, anchor, relevance, order given."""
    order = sorted(
        fragments,
        key=lambda one: (not one.explicit, -one.weight, not one.anchor, -_finite(one.relevance)),
    )
    return tuple(_candidate(fragment, mode) for fragment in order)


def _finite(relevance: float) -> float:
    return relevance if math.isfinite(relevance) else 0.0


def _candidate(fragment: Fragment, mode: str) -> Candidate:
    rest = bool(fragment.text) and fragment.text.strip() != fragment.line.strip()
    if mode == "minimal":
        return Candidate(fragment, fragment.explicit, "", kept_line=False, rest=bool(fragment.text or fragment.line))
    line = reference_line(fragment) if fragment.anchor or fragment.line else ""
    if fragment.explicit:
        return Candidate(fragment, True, line if fragment.anchor else "", kept_line=fragment.anchor, rest=rest)
    if mode == "lean":
        is_fact = fragment.source in FACT_SOURCES
        if is_fact and fragment.text and not line:
            line = _fact(fragment)
            rest = not line
            line = line or reference_line(fragment)
        if not fragment.anchor and not is_fact:
            line, rest = "", bool(fragment.text or line)
        return Candidate(fragment, False, line, fragment.anchor, rest)
    return Candidate(fragment, rest, line, kept_line=fragment.anchor, rest=rest)


def _fact(fragment: Fragment) -> str:
    """A fragment that is all facts as one line; empty where that would be long."""
    joined = "; ".join(row.strip() for row in clean(fragment.text).splitlines() if row.strip())
    return f"- {printable(joined)}" if len(joined) <= _FACT_CHARACTERS else ""


def finds_nothing(candidates: Iterable[Candidate], mode: str, found: bool | None) -> bool:
    """Whether the prompt says that nothing here bears on the question; never where the user attached something."""
    if mode != "rich" or any(one.fragment.explicit for one in candidates):
        return False
    if found is not None:
        return not found
    beside = SIDE_SOURCES | FACT_SOURCES
    return all(one.fragment.source in beside for one in candidates)


def doubles_of(candidates: Sequence[Candidate]) -> frozenset[int]:
    """Places of fragments whose text is already shown by one before them in the order of priority.

    Explicit ones come first and are always whole, so a piece of one of them is a double, too. An explicit fragment is
    a double only of the very same.
    """
    doubles: set[int] = set()
    whole: dict[str, list[str]] = {}
    seen: set[tuple[str, str, str]] = set()
    for index, one in enumerate(candidates):
        fragment = one.fragment
        file = file_of(fragment)
        same = (file, fragment.ref, fragment.text)
        if same in seen or (
            not fragment.explicit and fragment.text and any(fragment.text in text for text in whole.get(file, ()))
        ):
            doubles.add(index)
        elif fragment.explicit:
            whole.setdefault(file, []).append(fragment.text)
        if fragment.text or fragment.explicit:
            seen.add(same)
    return frozenset(doubles)
