"""`clew eval locate`: whether the words of a commit lead to the source files that it changed, seen from its parent.

One commit a line: {"id", "repo", "parent", "query", "gold"}.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.errors import NotFound
from clew.services.eval.labelled import read_labelled, share, text_of, texts_of
from clew.services.eval.repositories import Repositories
from clew.services.relevance import Finder, load_ranking
from clew.services.words import load_glossary

_SHAPE = '{"id": "c1", "repo": "owner/name", "parent": "1a2b3c4", "query": "fix the retry", "gold": ["src/retry.py"]}'
DEPTHS = (1, 5, 10)
"""How many files are looked at."""


@dataclass(frozen=True, slots=True)
class LocateItem:
    """One commit with the ten best files."""

    id: str
    repo: str
    gold: tuple[str, ...]
    ranked: tuple[str, ...]
    ms: float
    """Of the search alone, the index being fresh and open."""

    def recall(self, depth: int) -> float:
        """Share of the files that the commit changed within the first `depth`."""
        return len(set(self.gold) & set(self.ranked[:depth])) / len(set(self.gold))


@dataclass(frozen=True, slots=True)
class LocateResult:
    """Figures over a file of commits: `recall` by depth, as text, is the mean share of gold within the first files."""

    n: int
    recall: Mapping[str, float]
    per_repo: Mapping[str, Mapping[str, Any]]
    median_ms: float
    skipped: int
    notices: tuple[str, ...]
    items: tuple[LocateItem, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    id: str
    repo: str
    parent: str
    query: str
    gold: tuple[str, ...]


def evaluate_locate(
    path: Path, repositories: Repositories, progress: Callable[[int, int], None] | None = None
) -> LocateResult:
    """Search for every commit's words in the state before it. Raises NotFound, UsageError, StoreError.

    Commits whose repository or parent is not there are skipped and counted.
    """
    changes = [_change(where, row) for where, row in read_labelled(path, _SHAPE)]
    items: dict[str, LocateItem] = {}
    missing: dict[str, list[str]] = {}
    for change in _by_time(changes, repositories, missing):
        with repositories.state(change.repo, change.parent) as (freshened, _):
            finder = Finder(freshened.index, load_ranking(), load_glossary())
            began = time.perf_counter()
            related = finder.find(change.query, task="change")
            ms = (time.perf_counter() - began) * 1000
        ranked = tuple(file.path for file in related.files[: max(DEPTHS)])
        items[change.id] = LocateItem(change.id, change.repo, change.gold, ranked, round(ms, 2))
        if progress is not None:
            progress(len(items), len(changes))
    notices = tuple(f"{len(ids)} commits skipped: {why}" for why, ids in missing.items())
    if not items:
        raise NotFound("no commit could be looked at", hint="; ".join(notices))
    found = [items[change.id] for change in changes if change.id in items]
    return LocateResult(
        n=len(found),
        recall=_recall(found),
        per_repo={
            repo: {"n": len(own), "recall": _recall(own), "median_ms": _median_ms(own)}
            for repo in sorted({item.repo for item in found})
            if (own := [item for item in found if item.repo == repo])
        },
        median_ms=_median_ms(found),
        skipped=len(changes) - len(found),
        notices=notices,
        items=tuple(found),
    )


def _by_time(changes: Sequence[_Change], repositories: Repositories, missing: dict[str, list[str]]) -> list[_Change]:
    """Those that can be looked at, a repository after the other, the oldest state first: least is indexed anew."""
    dated: list[tuple[str, str, _Change]] = []
    for change in changes:
        try:
            git = repositories.git(change.repo)
            full = repositories.resolved(change.repo, change.parent)
        except NotFound as error:
            missing.setdefault(str(error), []).append(change.id)
            continue
        at = next((commit.at for commit in git.commits(1, full)), "")
        dated.append((change.repo, at, change))
    return [change for _, _, change in sorted(dated, key=lambda row: row[:2])]


def _recall(items: Sequence[LocateItem]) -> dict[str, float]:
    return {str(depth): share([item.recall(depth) for item in items]) for depth in DEPTHS}


def _median_ms(items: Sequence[LocateItem]) -> float:
    return round(statistics.median(item.ms for item in items), 2)


def _change(where: str, row: dict[str, Any]) -> _Change:
    gold = texts_of(row, where, "gold", _SHAPE)
    return _Change(
        id=str(row.get("id", where)),
        repo=text_of(row, where, "repo", _SHAPE),
        parent=text_of(row, where, "parent", _SHAPE),
        query=text_of(row, where, "query", _SHAPE),
        gold=gold or ("",),
    )
