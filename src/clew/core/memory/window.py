"""Which hints stay silent because they were shown lately.

For a message of the user: what was shown in one of the ten runs before (or after, where two processes serve one
session out of order), or in this run. For what the assistant writes: what was shown in this run. Only showing starts
the window; a match that stayed silent does not prolong it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 10
"""A hint shown in run t stays silent in runs t+1 to t+WINDOW."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A hint that was shown: the note's id and the number of the run."""

    id: str
    run: int


def suppressed(shown: Iterable[Shown], run: int, role: str = "user") -> frozenset[str]:
    """The ids that stay silent in `run`."""
    reach = WINDOW if role == "user" else 0
    return frozenset(one.id for one in shown if abs(run - one.run) <= reach)
