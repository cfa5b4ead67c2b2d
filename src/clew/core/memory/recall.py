"""Which notes to mention for a message: values and the decision. At most three, or silence with a reason.

A hint is id, name and description, no body and no score. Below the threshold nothing is said: noise costs more than a
missed hint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from clew.core.memory.document import MOST_NAME, clean_description, clean_line, reference_of

MOST_HINTS: Final = 3
"""Hints of one message."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note as recall sees it. `expires` is a date YYYY-MM-DD; empty texts mean "not given".

    `scope` is "user" or "project"; `workspace` names the project that a project note belongs to.
    """

    id: str
    name: str
    description: str = ""
    body: str = ""
    type: str = "note"
    scope: str = "project"
    workspace: str = ""
    tags: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    status: str = "active"
    superseded_by: str = ""
    expires: str = ""
    handed: tuple[str, ...] = ()
    """`when` phrases of notes that it supersedes: it answers them too, where they are said word for word."""

    @property
    def hintable(self) -> bool:
        """Whether it may ever be a hint: active, with a description, replaced by nothing. Expiry is asked apart."""
        return self.weighed and self.status == "active" and not self.superseded_by

    @property
    def weighed(self) -> bool:
        """Whether it is prepared for recall: also what is superseded or deprecated, so that the trail can tell that it
        was held back."""
        return bool(self.id and self.description.strip()) and self.status != "deleted"


@dataclass(frozen=True, slots=True)
class Hint:
    """What is said of a note: one line each, without control characters."""

    id: str
    name: str
    description: str

    @property
    def ref(self) -> str:
        """The reference that opens the note."""
        return reference_of(self.id)


def with_handed(notes: Sequence[Note]) -> list[Note]:
    """The notes, each with the `when` phrases of those that it supersedes, over others or directly."""
    by_id = {note.id: note for note in notes}
    handed: dict[str, dict[str, None]] = {}
    for note in notes:
        heir, passed = note, {note.id}
        while heir.superseded_by in by_id and heir.superseded_by not in passed:
            heir = by_id[heir.superseded_by]
            passed.add(heir.id)
        if heir is not note and note.status != "deleted":
            handed.setdefault(heir.id, {}).update(dict.fromkeys(note.when))
    return [replace(note, handed=tuple(handed[note.id])) if note.id in handed else note for note in notes]


def hint(id_: str, name: str, description: str) -> Hint:
    """A hint from what a note says of itself; line breaks and control characters fall away."""
    return Hint(clean_line(id_, MOST_NAME), clean_line(name, MOST_NAME), clean_description(description))


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic model: bias and weights of the numbers of `evidence.NUMBERS`, and where it speaks.

    `first` is the least logit of the first hint, `later` that of the others, which also lie at most `within` below it.
    `falls` says by the number of notes in force, ascending, how far logits fall: false hits are to be as rare in a
    small store, or a very large one, as in others.
    """

    bias: float
    weights: Mapping[str, float]
    first: float
    later: float
    within: float
    falls: Sequence[tuple[float, float]] = ()

    def fall(self, count: int) -> float:
        """How far logits fall among `count` notes in force; between the given numbers in step with the logarithm."""
        if not self.falls or count < 1:
            return 0.0
        before = self.falls[0]
        for after in self.falls:
            if count <= after[0]:
                span = math.log(after[0] / before[0]) if after[0] > before[0] else 1.0
                return before[1] + (after[1] - before[1]) * max(0.0, math.log(count / before[0])) / span
            before = after
        return before[1]


@dataclass(frozen=True, slots=True)
class Weights:
    """Models by "engine.kind": engine e5 or static, kind `when` for notes with such phrases, `plain` for others."""

    models: Mapping[str, Linear]
    reject: float
    """How far below the threshold a logit falls for a message that is as like as can be to one that the note was
    rejected for."""
    usual: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict[str, Mapping[str, Sequence[float]]])
    """By engine, and as "words": see `evidence.Usual`."""

    @classmethod
    def parse(cls, loaded: Mapping[str, Any]) -> Weights:
        """From the object of `recall.json`. Raises KeyError, TypeError or ValueError where that is something else."""
        models = {
            str(name): Linear(
                float(one["bias"]),
                {str(key): float(value) for key, value in cast("Mapping[str, Any]", one["weights"]).items()},
                float(one["first"]),
                float(one["later"]),
                float(one["within"]),
                tuple((float(count), float(depth)) for count, depth in one["falls"]),
            )
            for name, one in cast("Mapping[str, Mapping[str, Any]]", loaded["models"]).items()
        }
        usual = {
            str(name): {str(key): tuple(map(float, values)) for key, values in some.items()}
            for name, some in cast("Mapping[str, Mapping[str, Sequence[float]]]", loaded["usual"]).items()
        }
        return cls(models, float(loaded["reject"]), usual)


@dataclass(frozen=True, slots=True)
class Scored:
    """A note that was considered: `margin` is its logit above the threshold of its model."""

    id: str
    logit: float
    margin: float
    within: float
    later: float
    sure: bool = False
    """Whether the message says one of its `when` phrases word for word."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Ids to mention, best first, or none with the reason: "nothing", "below", "suppressed"."""

    ids: tuple[str, ...]
    silence: str = ""


def choose(ranked: Sequence[Scored], *, blocked: frozenset[str] = frozenset(), limit: int = MOST_HINTS) -> Choice:
    """The notes to mention. `ranked` is ordered best first; `blocked` were shown lately and stay silent.

    What is sure comes first. A blocked note still counts as the best one: what is far weaker does not take its place.
    """
    if not ranked:
        return Choice((), "nothing")
    sure = [one for one in ranked if one.sure]
    best, rest = ranked[0], [one for one in ranked if not one.sure]
    if best.margin < 0 and not sure:
        return Choice((), "below")
    fit = sure + [
        one for one in rest
        if best.margin >= 0 and (one is best or (one.logit >= one.later and one.logit >= best.logit - one.within))
    ]  # fmt: skip
    told = tuple(one.id for one in fit[:limit] if one.id not in blocked)
    return Choice(told, "" if told else "suppressed")


def probability(logit: float) -> float:
    """The logistic function, without overflow."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))
