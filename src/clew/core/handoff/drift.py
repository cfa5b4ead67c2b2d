"""Whether a new window has understood its handoff: what it says it will do, compared by rule with plan and ledger.

Shown, never enforced: the comparison counts words, and a good paraphrase can look like something new.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.handoff.continuation import Elements, elements, items
from clew.core.handoff.force import statement
from clew.core.handoff.ledger import Ledger
from clew.core.handoff.plan import Plan, Step
from clew.core.handoff.sentences import sentences
from clew.core.text.lazy import lazy_pattern
from clew.core.text.terms import is_function_word, terms

ASK: Final = (
    "First say in two or three lines which plan steps are open and what you do next, as the handoff has it.",
    "请先用两三行复述：交接中哪些计划步骤未完成，你接下来做什么。",
)
"""The one line that a model is asked with in the first run of a new window, in English and Chinese."""
_SAME: Final = 0.5
"""Share of the words of a step that a statement must have in common with it to be about it."""
_MOSTLY: Final = 0.67
"""Share of the words of a statement that a step must have, where the step says more than the statement."""
_LEAST_WORDS: Final = 4
"""A statement with fewer content words is about nothing in particular."""
_DONE = lazy_pattern(
    r"\b(?:done|finished|completed?|already|is in|works now|passes)\b|已(?:经)?(?:完成|做完|好了)|做完|搞定",
    re.IGNORECASE,
)
_WILL = lazy_pattern(
    r"\b(?:next|then|will|i'?ll|going to|start|begin|continue|redo|again|open|todo|remaining|left|still)\b"
    r"|接下来|下一步|然后|开始|继续|重新|再|还要|未完成|剩",
    re.IGNORECASE,
)
_NOT = lazy_pattern(
    r"\b(?:not|never|no|without|don'?t|won'?t|instead|skip|drop|unlike|rejected|ruled out|failed)\b"
    r"|不|别|无需|放弃|弃用|跳过|排除|行不通",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement that says otherwise than the handoff."""

    said: str
    handed_over: str
    reason: str
    """`done, but open`, `open, but done`, `tried in vain`, `other value` or `given up`."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a restatement and a handoff are apart."""

    missing: tuple[Step, ...] = ()
    """Open steps of the plan that are not mentioned."""
    contradicted: tuple[Contradiction, ...] = ()
    new: tuple[str, ...] = ()
    """Statements about what is to be done that stand in no plan and no ledger."""

    @property
    def none(self) -> bool:
        """Whether both say the same, as far as words tell."""
        return not (self.missing or self.contradicted or self.new)


def drift(restatement: str, plan: Plan | None, ledger: Ledger | None) -> Drift:
    """Compare what a model says about the work with what was handed over. Raises nothing."""
    plan = plan or Plan()
    known = elements(ledger) if ledger is not None else Elements()
    said = [one for item in items(restatement) for one in sentences(item)]
    bags = {one: _bag(one) for one in said}
    about = {step: [one for one in said if _is_about(bags[one], _bag(step.text))] for step in plan.steps}
    contradicted = [*_steps(plan.steps, about), *_values(said, plan, known), *_failures(said, known.tried, bags)]
    missing = tuple(step for step in plan.steps if step.open and not about[step])
    material = [*(step.text for step in plan.steps), *plan.remarks, *_everything(known)]
    words = _bag("\n".join(material))
    denied = {one.said for one in contradicted}
    new = tuple(
        one
        for one in said
        if one not in denied
        and sum(bags[one].values()) >= _LEAST_WORDS
        and _WILL.search(one)
        and _share(bags[one], words) < _SAME
    )
    return Drift(missing, tuple(dict.fromkeys(contradicted)), new)


def _steps(steps: Sequence[Step], about: dict[Step, list[str]]) -> Iterable[Contradiction]:
    for step in steps:
        for one in about[step]:
            ahead = _WILL.search(one) is not None
            if step.open and _DONE.search(one) and not ahead and not _NOT.search(one):
                yield Contradiction(one, step.text, "done, but open")
            elif step.done and ahead and not _DONE.search(one) and not _mentioned_open(one, step, about):
                yield Contradiction(one, step.text, "open, but done")
            elif step.dropped and ahead and not _NOT.search(one):
                yield Contradiction(one, step.text, "given up")


def _mentioned_open(one: str, done: Step, about: dict[Step, list[str]]) -> bool:
    """Whether a statement is about an open step at least as much as about one that is done."""
    bag = _bag(one)
    return any(
        step.open and one in found and _covered(step.text, bag) >= _covered(done.text, bag)
        for step, found in about.items()
    )


def _values(said: Sequence[str], plan: Plan, known: Elements) -> Iterable[Contradiction]:
    """Other values for the same thing, where both name it or count it in the same unit."""
    lines = [*(step.text for step in plan.steps), *plan.remarks, *known.settled, *known.goal]
    handed = [statement(line) for line in lines]
    for one in said:
        own = statement(one)
        values = dict(own.named)
        for line in handed:
            other = any(name in values and values[name] != value for name, value in line.named)
            counted = any(
                unit == their and number != value and near & before
                for number, unit, near in own.nearby
                for value, their, before in line.nearby
            )
            same = own.measures & line.measures
            if (other or (counted and not same)) and not _NOT.search(one):
                yield Contradiction(one, line.text, "other value")


def _failures(said: Sequence[str], tried: Sequence[str], bags: dict[str, Counter[str]]) -> Iterable[Contradiction]:
    for one in said:
        if not _WILL.search(one) or _NOT.search(one):
            continue
        for line in tried:
            if _share(bags[one], _bag(line)) >= _SAME and len(bags[one]) > 2:
                yield Contradiction(one, line, "tried in vain")
                break


def _everything(known: Elements) -> list[str]:
    return [*known.goal, *known.settled, *known.state, *known.tried, *known.progress, *known.next, known.request]


def _bag(text: str) -> Counter[str]:
    return Counter(
        word for word in terms(re.sub(r"[`*_]{2,}", " ", text)) if len(word) > 1 and not is_function_word(word)
    )


def _covered(text: str, bag: Counter[str]) -> float:
    return _share(_bag(text), bag)


def _is_about(said: Counter[str], step: Counter[str]) -> bool:
    """Whether a statement has most words of a step, or says hardly anything but some of them."""
    return _share(step, said) >= _SAME or (len(said) > 1 and _share(said, step) >= _MOSTLY)


def _share(part: Counter[str], whole: Counter[str]) -> float:
    """Share of the different words of `part` that `whole` has, 0 to 1."""
    return sum(word in whole for word in part) / len(part) if part else 0.0
