"""The plan: one Markdown text for people and model. Its list items are steps; two plans can be compared by them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from clew.core.text.frontmatter import parse
from clew.core.text.lazy import lazy_pattern
from clew.core.text.terms import terms

Change = Literal["added", "done", "reopened", "reworded", "removed"]
_MOST_STEPS: Final = 400
_ALIKE: Final = 0.6
"""Share of words that two steps have in common where one is the other reworded."""
_STEP = lazy_pattern(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)、])[ \t]+\[(?P<box>[ xX✓✔~删-]?)\][ \t]*(?P<text>\S.*)")
_BARE = lazy_pattern(r"(?P<indent>[ \t]*)\d{1,3}[.)、][ \t]*(?P<text>\S.*)")
_HEADING = lazy_pattern(r"[ \t]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = lazy_pattern(r"[ \t]{0,3}(```|~~~)")
_EMPTY = lazy_pattern(r"\s*(?:([-=*_]\s*){3,}|(?:[-*+]|\d{1,3}[.)、])\s*(?:\[.?\])?\s*)")
"""A line that says nothing: a rule, or an item that is still to be filled in."""
_STRUCK = lazy_pattern(r"~~(.+)~~(.*)")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    text: str
    done: bool = False
    dropped: bool = False
    """Struck out: it will not be done."""
    line: int = 0
    """The line of the text that it stands in, counted from 1."""
    level: int = 0
    """How deep it is nested."""

    @property
    def open(self) -> bool:
        """Whether it is still to be done."""
        return not self.done and not self.dropped


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan says."""

    title: str = ""
    steps: tuple[Step, ...] = ()
    remarks: tuple[str, ...] = ()
    """Lines that are neither steps nor headings: reasons, constraints, what was ruled out. In order."""

    @property
    def next(self) -> Step | None:
        """The first step that is still to be done."""
        return next((step for step in self.steps if step.open), None)


@dataclass(frozen=True, slots=True)
class Difference:
    """One step that is not what it was."""

    change: Change
    step: Step
    """As it is now; where it is `removed`, as it was."""
    before: Step | None = None
    """As it was, where it was there."""


def read_plan(text: str) -> Plan:
    """The steps and remarks of a plan. Raises nothing, whatever the text is.

    A step is a list item with a box: `- [ ]`, `1. [x]`; `[-]`, `[~]`, `[删]` and struck text are steps that were given
    up. Of a plan without any box, numbered items are the steps, all open. Fenced blocks are remarks.
    """
    body = parse(text).body
    boxed = any(_STEP.match(line) for line in body.splitlines())
    title, fence = "", ""
    steps: list[Step] = []
    remarks: list[str] = []
    offset = len(text[: len(text) - len(body)].splitlines())
    for number, line in enumerate(body.splitlines(), offset + 1):
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
            continue
        heading = None if fence else _HEADING.match(line)
        if heading:
            title = title or heading[2]
        elif not fence and (step := _step(line, number, boxed=boxed)) and len(steps) < _MOST_STEPS:
            steps.append(step)
        elif line.strip() and not _EMPTY.fullmatch(line):
            remarks.append(re.sub(r"^\s*[-*+]\s+", "", line).strip())
    return Plan(title, tuple(steps), tuple(remarks))


def _step(line: str, number: int, *, boxed: bool) -> Step | None:
    match = (_STEP if boxed else _BARE).match(line)
    if match is None:
        return None
    indent = len(match["indent"].expandtabs(4))
    text = match["text"].strip()
    box = match["box"] if boxed else " "
    struck = _STRUCK.fullmatch(text)
    if struck:
        text = (struck[1] + struck[2]).strip()
    dropped = box in ("-", "~", "删") or (struck is not None and box not in ("x", "X", "✓", "✔"))
    return Step(text, box in ("x", "X", "✓", "✔"), dropped, number, indent // 2)


def difference(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """What became of the steps: those of `after` in their order, then those that are gone. The same plan gives none.

    Two steps are one where their words are the same; where that is said of none, where most of their words are.
    """
    pairs, gone = _paired(before.steps, after.steps)
    found: list[Difference] = []
    for step in after.steps:
        old = pairs.get(step)
        if old is None:
            found.append(Difference("added", step))
        elif step.done and not old.done:
            found.append(Difference("done", step, old))
        elif old.done and not step.done:
            found.append(Difference("reopened", step, old))
        elif step.dropped and not old.dropped:
            found.append(Difference("removed", step, old))
        elif old.dropped and not step.dropped:
            found.append(Difference("added", step, old))
        elif _words(old.text) != _words(step.text):
            found.append(Difference("reworded", step, old))
    return (*found, *(Difference("removed", step, step) for step in gone if not step.dropped))


def _paired(before: tuple[Step, ...], after: tuple[Step, ...]) -> tuple[dict[Step, Step], list[Step]]:
    """Each step of `after` with what it was, and the steps of `before` that are gone."""
    pairs: dict[Step, Step] = {}
    left = list(before)
    for step in after:
        same = next((old for old in left if _words(old.text) == _words(step.text)), None)
        if same is not None:
            pairs[step] = same
            left.remove(same)
    bags = {step: Counter(terms(step.text)) for step in (*left, *after) if step not in pairs}
    news = [(at, step) for at, step in enumerate(after) if step in bags]
    near = [(likeness(bags[old], bags[step]), -at, old, step) for at, step in news for old in left]
    near.sort(key=lambda found: found[:2], reverse=True)
    for share, _, old, step in near:
        if share >= _ALIKE and step not in pairs and old in left:
            pairs[step] = old
            left.remove(old)
    return pairs, left


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of words, 0 to 1, that the shorter of two bags has in common with the other, weighed by how far they
    are alike in length."""
    total = min(sum(one.values()), sum(other.values()))
    if not total:
        return 0.0
    shared = sum((one & other).values())
    return shared / total * (2 * total / (sum(one.values()) + sum(other.values()))) ** 0.5


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def lines_of_difference(before: str, after: str) -> list[str]:
    """The changed lines of two texts, removed ones with `-`, new ones with `+`, in the order of the new text."""
    old, new = parse(before).body.splitlines(), parse(after).body.splitlines()
    rows: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            rows += [f"- {line}" for line in old[a:b] if line.strip()]
            rows += [f"+ {line}" for line in new[c:d] if line.strip()]
    return rows
