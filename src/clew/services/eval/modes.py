"""`clew eval modes`: how often the mode decision agrees with labelled questions.

One question a line: {"id", "query", "ideal"} and, if known, "lang" and "explicit". The decision sees the text alone,
and whether something was attached; no workspace stands behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import Evidence, Mode, decide
from clew.core.context.topics import ModeModel
from clew.errors import StoreError, UsageError
from clew.services.eval.labelled import read_labelled, text_of

# (ideal, got): what a wrong mode costs. Too little context costs an answer, too much costs only tokens.
COSTS: Final[Mapping[tuple[Mode, Mode], int]] = {
    (Mode.RICH, Mode.MINIMAL): 4,
    (Mode.RICH, Mode.LEAN): 2,
    (Mode.LEAN, Mode.MINIMAL): 2,
    (Mode.LEAN, Mode.RICH): 1,
    (Mode.MINIMAL, Mode.RICH): 2,
    (Mode.MINIMAL, Mode.LEAN): 1,
}
_SHAPE = '{"id": "q1", "query": "which branch am I on?", "ideal": "lean", "explicit": false}'


@dataclass(frozen=True, slots=True)
class ModeItem:
    """One question: the mode it should get, the mode it got, and why."""

    id: str
    ideal: str
    got: str
    reason: str


@dataclass(frozen=True, slots=True)
class ModesResult:
    """Figures over a file of labelled questions.

    `accuracy` and `macro_f1` are shares in 0..1; `cost` is the sum of COSTS over all questions. `per_class` gives
    precision and recall of each mode, `per_lang` n, accuracy, macro_f1 and cost of each language. `rich_as_minimal`
    counts the costliest mistake. `macro_f1` averages over the modes that occur as label or answer.
    """

    n: int
    accuracy: float
    macro_f1: float
    cost: int
    rich_as_minimal: int
    per_class: Mapping[str, Mapping[str, float]]
    per_lang: Mapping[str, Mapping[str, float]]
    items: tuple[ModeItem, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    query: str
    lang: str
    explicit: bool
    ideal: Mode


def evaluate_modes(path: Path, model: ModeModel | None = None) -> ModesResult:
    """Decide every question of a labelled file and compare.

    `model` is the text model to measure, by default the shipped one. Raises NotFound without such a file, UsageError
    with the line's number if a line is not a labelled question, or if the file has none.
    """
    questions = [_question(where, row) for where, row in read_labelled(path, _SHAPE)]
    weights = model or load_mode_model()
    if weights is None:
        raise StoreError("the weights of the mode decision cannot be read", hint="install clew again")
    items: list[ModeItem] = []
    pairs: list[tuple[Mode, Mode]] = []
    for question in questions:
        decision = decide(question.query, Evidence(explicit=question.explicit), weights)
        items.append(ModeItem(question.id, question.ideal.value, decision.mode.value, decision.reason))
        pairs.append((question.ideal, decision.mode))
    by_lang: dict[str, list[tuple[Mode, Mode]]] = {}
    for question, pair in zip(questions, pairs, strict=True):
        by_lang.setdefault(question.lang, []).append(pair)
    return ModesResult(
        n=len(pairs),
        accuracy=_accuracy(pairs),
        macro_f1=_macro_f1(pairs),
        cost=_cost(pairs),
        rich_as_minimal=pairs.count((Mode.RICH, Mode.MINIMAL)),
        per_class={mode.value: dict(zip(("precision", "recall"), _rates(pairs, mode), strict=True)) for mode in Mode},
        per_lang={
            lang: {
                "n": len(some),
                "accuracy": _accuracy(some),
                "macro_f1": _macro_f1(some),
                "cost": _cost(some),
            }
            for lang, some in sorted(by_lang.items())
        },
        items=tuple(items),
    )


def _accuracy(pairs: Sequence[tuple[Mode, Mode]]) -> float:
    return round(sum(ideal is got for ideal, got in pairs) / len(pairs), 4)


def _cost(pairs: Sequence[tuple[Mode, Mode]]) -> int:
    return sum(COSTS.get(pair, 0) for pair in pairs)


def _rates(pairs: Sequence[tuple[Mode, Mode]], mode: Mode) -> tuple[float, float]:
    """Precision and recall of a mode; 0.0 where nothing was answered or asked so."""
    hit = pairs.count((mode, mode))
    answered = sum(got is mode for _, got in pairs)
    asked = sum(ideal is mode for ideal, _ in pairs)
    return round(hit / answered, 4) if answered else 0.0, round(hit / asked, 4) if asked else 0.0


def _macro_f1(pairs: Sequence[tuple[Mode, Mode]]) -> float:
    scores: list[float] = []
    for mode in Mode:
        seen = sum(ideal is mode for ideal, _ in pairs) + sum(got is mode for _, got in pairs)
        if seen:
            scores.append(2 * pairs.count((mode, mode)) / seen)
    return round(sum(scores) / len(scores), 4)


def _question(where: str, row: dict[str, Any]) -> _Question:
    query, ideal, explicit = text_of(row, where, "query", _SHAPE), row.get("ideal"), row.get("explicit", False)
    if ideal not in tuple(Mode):
        raise UsageError(f'{where}: "ideal" must be one of {", ".join(Mode)}, not {ideal!r}', hint=_SHAPE)
    if not isinstance(explicit, bool):
        raise UsageError(f'{where}: "explicit" must be true or false, not {explicit!r}', hint=_SHAPE)
    return _Question(str(row.get("id", where)), query, str(row.get("lang", "unknown")), explicit, Mode(ideal))
