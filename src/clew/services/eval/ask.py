"""`clew eval ask`: how often the context of a question about a repository holds the passages that answer it.

One question a line: {"id", "repo", "commit", "question", "lang", "kind", "needs": [{"path", "text"}]}. `text` is a part
of one line of `path`. Questions of kind `absent` have no answer there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from clew.errors import NotFound, UsageError
from clew.services.context import Gathered, Wish, gather_from
from clew.services.eval.labelled import read_labelled, share, text_of
from clew.services.eval.repositories import Repositories
from clew.services.eval.shown import named_files, shown_context

_SHAPE = (
    '{"id": "q1", "repo": "owner/name", "commit": "HEAD", "question": "where is the cache keyed?", "lang": "en", '
    '"kind": "where", "needs": [{"path": "src/cache.py", "text": "def key("}]}'
)
ABSENT = "absent"
"""Kind of a question that nothing in its repository answers."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AskItem:
    """One question: what the context named and what it did not show. `missing` are `path: text`."""

    id: str
    repo: str
    lang: str
    kind: str
    mode: str
    found: bool
    """False: it was said that nothing matches."""
    tokens: int
    files: tuple[str, ...]
    missing: tuple[str, ...]
    files_at_5: bool
    covered: bool
    need_share: float


@dataclass(frozen=True, slots=True)
class AskResult:
    """Figures over a file of questions; shares in 0..1.

    `covered`, `need_share` and `files_at_5` are over the questions with needs, `absent_right` over those of kind
    `absent`, `absent_told` over questions put to another repository of the file, where that was asked for.
    """

    n: int
    covered: float
    need_share: float
    files_at_5: float
    absent_right: float
    absent_told: float | None
    tokens_mean: float
    per_lang: Mapping[str, Mapping[str, float]]
    per_kind: Mapping[str, Mapping[str, float]]
    per_repo: Mapping[str, Mapping[str, float]]
    skipped: int
    notices: tuple[str, ...]
    items: tuple[AskItem, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    repo: str
    commit: str
    question: str
    lang: str
    kind: str
    needs: tuple[tuple[str, str], ...]


def evaluate_ask(
    path: Path,
    repositories: Repositories,
    clock: datetime,
    *,
    budget: int = 8000,
    elsewhere: bool = False,
    progress: Progress | None = None,
) -> AskResult:
    """Ask every question of its repository at its commit, without a model, and compare with what it needs.

    `elsewhere` also puts each question to the next repository of the file, which should then say that nothing matches.
    Questions whose repository or commit is not there are skipped and counted. Raises NotFound, UsageError; also when
    nothing at all could be asked.
    """
    questions = [_question(where, row) for where, row in read_labelled(path, _SHAPE)]
    states: dict[tuple[str, str], list[_Question]] = {}
    for question in questions:
        states.setdefault((question.repo, question.commit), []).append(question)
    items: dict[str, AskItem] = {}
    told: list[bool] = []
    notices: list[str] = []
    done = 0
    order = list(states)
    for at, (repo, commit) in enumerate(order):
        own = states[repo, commit]
        foreign = next((states[other] for other in order[at + 1 :] + order[:at] if other[0] != repo), [])
        try:
            with repositories.state(repo, commit) as (freshened, place):
                for question in own:
                    wish = _wish(question, budget)
                    items[question.id] = _compared(question, gather_from(freshened, wish, place, (), clock))
                    done += 1
                    if progress is not None:
                        progress(done, len(questions))
                for question in foreign if elsewhere else ():
                    told.append(not gather_from(freshened, _wish(question, budget), place, (), clock).found)
        except NotFound as error:
            notices.append(f"{len(own)} questions skipped: {error}")
    if not items:
        raise NotFound("no question could be asked", hint="; ".join(notices))
    return _result([items[q.id] for q in questions if q.id in items], told, len(questions) - len(items), notices)


def _wish(question: _Question, budget: int) -> Wish:
    return Wish(question.question, max_tokens=budget, language="zh" if question.lang == "zh" else "en")


def _compared(question: _Question, gathered: Gathered) -> AskItem:
    shown = shown_context(gathered.snapshot)
    missing = tuple(f"{path}: {text}" for path, text in question.needs if not shown.holds(path, text))
    files = named_files(gathered.snapshot)
    needed = {path for path, _ in question.needs}
    return AskItem(
        id=question.id,
        repo=question.repo,
        lang=question.lang,
        kind=question.kind,
        mode=gathered.decision.mode.value,
        found=gathered.found,
        tokens=gathered.snapshot.report.used,
        files=files,
        missing=missing,
        files_at_5=bool(needed) and needed <= set(files[:5]),
        covered=bool(needed) and not missing,
        need_share=1 - len(missing) / len(question.needs) if needed else 0.0,
    )


def _result(items: Sequence[AskItem], told: Sequence[bool], skipped: int, notices: Sequence[str]) -> AskResult:
    whole = _figures(items)
    return AskResult(
        n=len(items),
        covered=whole["covered"],
        need_share=whole["need_share"],
        files_at_5=whole["files_at_5"],
        absent_right=whole["absent_right"],
        absent_told=share(told) if told else None,
        tokens_mean=whole["tokens_mean"],
        per_lang=_split(items, lambda item: item.lang),
        per_kind=_split(items, lambda item: item.kind),
        per_repo=_split(items, lambda item: item.repo),
        skipped=skipped,
        notices=tuple(notices),
        items=tuple(items),
    )


def _split(items: Sequence[AskItem], key: Callable[[AskItem], str]) -> dict[str, dict[str, float]]:
    return {name: _figures([item for item in items if key(item) == name]) for name in sorted(set(map(key, items)))}


def _figures(items: Sequence[AskItem]) -> dict[str, float]:
    asked = [item for item in items if item.kind != ABSENT]
    absent = [item for item in items if item.kind == ABSENT]
    return {
        "n": len(items),
        "covered": share([item.covered for item in asked]),
        "need_share": share([item.need_share for item in asked]),
        "files_at_5": share([item.files_at_5 for item in asked]),
        "absent_right": share([not item.found for item in absent]),
        "told_absent": share([not item.found for item in asked]),
        "tokens_mean": round(sum(item.tokens for item in items) / len(items), 1),
    }


def _question(where: str, row: dict[str, Any]) -> _Question:
    kind = str(row.get("kind", "unknown"))
    needs: list[tuple[str, str]] = []
    given: object = row.get("needs", [])
    for need in cast("list[object]", given) if isinstance(given, list) else [None]:
        if not isinstance(need, dict):
            raise UsageError(f'{where}: "needs" must be a list of objects with "path" and "text"', hint=_SHAPE)
        one = cast("dict[str, Any]", need)
        needs.append((text_of(one, where, "path", _SHAPE), text_of(one, where, "text", _SHAPE)))
    if not needs and kind != ABSENT:
        raise UsageError(f'{where}: only a question of kind "{ABSENT}" needs nothing', hint=_SHAPE)
    return _Question(
        id=str(row.get("id", where)),
        repo=text_of(row, where, "repo", _SHAPE),
        commit=text_of(row, where, "commit", _SHAPE),
        question=text_of(row, where, "question", _SHAPE),
        lang=str(row.get("lang", "unknown")),
        kind=kind,
        needs=tuple(needs),
    )
