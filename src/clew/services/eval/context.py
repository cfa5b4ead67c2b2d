"""`clew eval context`: whether the context of a team's own questions holds what they need, and how much else.

One question a line: {"question", "workspace", "needs": ["path or text", …], "reference"}. `workspace` is a folder,
relative to the file; without one, the folder of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.errors import NotFound
from clew.services.context import Gathered
from clew.services.eval.labelled import read_labelled, share, text_of, texts_of
from clew.services.eval.shown import shown_context

_SHAPE = '{"question": "how is the cache keyed?", "workspace": ".", "needs": ["src/cache.py", "def key("]}'


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One question. `redundancy` is the share of context tokens outside the fragments that hold something needed."""

    id: str
    question: str
    mode: str
    hit: bool
    missing: tuple[str, ...]
    tokens: int
    """Tokens of all fragments, facts and reference lines."""
    redundancy: float


@dataclass(frozen=True, slots=True)
class ContextResult:
    """Figures over a file of questions: share of hits, and the redundancy of all context tokens together."""

    n: int
    hit_rate: float
    redundancy: float
    tokens_mean: float
    items: tuple[ContextItem, ...]


def evaluate_context(
    path: Path,
    ask: Callable[[str, Path], Gathered],
    progress: Callable[[int, int], None] | None = None,
) -> ContextResult:
    """Gather for every question in its workspace with `ask(question, folder)`. Raises NotFound, UsageError."""
    rows = read_labelled(path, _SHAPE)
    items: list[ContextItem] = []
    for done, (where, row) in enumerate(rows, 1):
        question, needs = text_of(row, where, "question", _SHAPE), texts_of(row, where, "needs", _SHAPE)
        folder = (path.parent / str(row.get("workspace", "."))).resolve()
        if not folder.is_dir():
            raise NotFound(f"{where}: there is no folder {folder}", hint='"workspace" is relative to the file')
        items.append(_compared(str(row.get("id", done)), question, needs, ask(question, folder)))
        if progress is not None:
            progress(done, len(rows))
    tokens = sum(item.tokens for item in items)
    beside = sum(item.redundancy * item.tokens for item in items)
    return ContextResult(
        n=len(items),
        hit_rate=share([item.hit for item in items]),
        redundancy=round(beside / tokens, 4) if tokens else 0.0,
        tokens_mean=round(tokens / len(items), 1),
        items=tuple(items),
    )


def _compared(ident: str, question: str, needs: tuple[str, ...], gathered: Gathered) -> ContextItem:
    snapshot = gathered.snapshot
    shown = shown_context(snapshot)
    missing = tuple(need for need in needs if not shown.names(need))
    heads = [head for need in needs for head in shown.holding(need)]
    kept = snapshot.report.kept
    tokens = sum(one.tokens for one in kept)
    useful = sum(one.tokens for one in kept if any(f" {one.ref} " in f" {head} " for head in heads))
    return ContextItem(
        id=ident,
        question=question,
        mode=gathered.decision.mode.value,
        hit=not missing,
        missing=missing,
        tokens=tokens,
        redundancy=round(1 - useful / tokens, 4) if tokens else 0.0,
    )
