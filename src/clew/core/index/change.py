"""Words that describe a change (mostly of a commit): which come first, which part they name, which say little."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clew.core.index.query import Concept
from clew.core.text.terms import path_terms, query_terms

SUBJECT_WORDS = 14
"""Words of a text that count as its subject, at most."""
SUBJECT = 1.5
"""How much more the words of the subject say."""
COMPOUND = 0.5
"""How much less compounds say here than in a question: commits name things as the code does."""
USUAL = 0.02
"""A word that this share of the commits says counts fully; one that more say counts less."""
_SMOOTH = 0.002
_TYPES = frozenset("build bug chore ci docs doc feat fix perf refactor revert style test tests".split())
_TYPED = re.compile(r"\w+(?:\(([^)]*)\))?!?:\s*")
_PART = re.compile(r"([\w./-]{2,24}):\s")


def subject(text: str) -> str:
    """The first words, without what a conventional commit puts before them: ``fix(cache): ``."""
    typed = _TYPED.match(text)
    return " ".join(text[typed.end() if typed else 0 :].split()[:SUBJECT_WORDS])


def scope(text: str) -> tuple[str, ...]:
    """Terms of the part that a text names before its subject: ``fix(cache): ``, ``cmd/run: ``. Often there is none."""
    typed, part = _TYPED.match(text), _PART.match(text)
    if typed and typed[1]:
        named = typed[1]
    elif part and part[1].casefold() not in _TYPES:
        named = part[1]
    else:
        named = ""
    return tuple(dict.fromkeys(path_terms(named))) if named else ()


def weigh(wanted: Sequence[Concept], text: str, said: Mapping[str, int], commits: int) -> tuple[Concept, ...]:
    """The concepts of a text with weights that fit a change.

    `said` holds in how many of the known `commits` a term stands. A word of every other commit (`fix`, `support`) is
    rare in code and yet says little about where the change belongs: its weight falls with the square of the logarithm
    of that share. No weight grows by more than SUBJECT.
    """
    first = query_terms(subject(text))
    early = {*first.words, *first.compounds}
    found: list[Concept] = []
    for concept in wanted:
        factor = SUBJECT if concept.source in early else 1.0
        if concept.role == "compound":
            factor *= COMPOUND
        if concept.role != "phrase" and concept.alternatives and commits:
            share = said.get(concept.alternatives[0][0], 0) / commits
            factor *= min(1.0, math.log(1 / (share + _SMOOTH)) / math.log(1 / USUAL)) ** 2 if share < 1 else 0.0
        found.append(replace(concept, weight=concept.weight * factor))
    return tuple(found)
