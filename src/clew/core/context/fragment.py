"""What may enter a context: fragments, each with a source, a weight and a place where it stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of text that may enter a context.

    Fragments are compared by weight first, then by `relevance`; both only order, neither is ever sent.
    """

    source: str
    """Name of the source, a key of the weight table: `explicit`, `related`, `git`, `exchange`, `tree`, …"""
    ref: str
    """Where it stands: `src/app.py:10-42`, `git:status`, `stdin`, `exchange:3`."""
    text: str
    """The body as it is sent, without a trailing line break."""
    weight: int
    """0 to 100; the weight table gives the default."""
    anchor: bool = False
    """An anchor keeps at least its reference line, whatever the budget."""
    explicit: bool = False
    """Given by the user. Never cut, never left out."""
    line: str = ""
    """The reference line of an anchor: a fact, or path and size. At most one line."""
    relevance: float = 0.0
    """Order among fragments of equal weight; higher is better."""
    note: str = ""
    """What the header says besides the reference: `212 of 840 lines`, `redacted: 2 secrets`."""
    group: str = ""
    """Fragments of one group belong to one file; they are shown in the order of `order`."""
    order: int = 0
    """Place within the group, for instance the first line."""
    cuttable: bool = False
    """When room is short the body may be shown in part, whole lines from its start; the header then says so."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier question with its answer, as it is kept in the history."""

    id: int
    question: str
    answer: str
    mode: str
    at: str
    """Time in UTC, ISO 8601 with seconds."""
    refs: tuple[str, ...] = ()
    """References that the answer stood on."""
    anchor: bool = False
    """Carries a path, an error or a task verb: kept beside the sliding window."""
    removed: bool = False


DEFAULT_WEIGHTS: dict[str, int] = {
    "explicit": 100,
    "related": 80,
    "memory": 70,
    "git": 60,
    "exchange": 50,
    "shell_history": 50,
    "tree": 30,
    "environment": 10,
}
"""Sources and their weights (P-02). `memory` is filled from the second step on."""

SIDE_SOURCES = frozenset({"tree", "environment", "shell_history"})
"""Side information: at most a tenth of the budget unless asked for (P-07)."""
