"""The form of a place where secrets stand: the hints that it is found by, its shape, and what counts there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from clew.core.text.lazy import lazy_pattern
from clew.core.text.redact_values import Words

VALUE = r"[\"']?(?P<s>[^\s\"'|;<>]{3,400})"


@dataclass(frozen=True, slots=True)
class Place:
    """A place by hints; `s` in its shape is the value."""

    kind: str
    hints: tuple[bytes, ...]
    """In lower case; text without any of them is not looked at. What is no ASCII is `?`."""
    shape: re.Pattern[str]
    back: int = 0
    """Characters before a hint that may belong to the place."""
    typed: bool = True
    """Whether a value that a person types counts, or only one that looks random."""
    sure: bool = False
    """Whether any value counts, as nothing but a secret ever stands there."""
    good: Callable[[str], bool] | None = None
    """What counts, where the place has a rule of its own; the value is taken as it stands."""
    programs: tuple[tuple[bytes, bool], ...] = ()
    """Words of the names of programs, one of which the text must hold, and whether a part of a word will do."""


def place(
    kind: str,
    hints: str,
    shape: str,
    back: int = 0,
    *,
    typed: bool = True,
    sure: bool = False,
    good: Callable[[str], bool] | None = None,
) -> Place:
    """A place; `␣` in a hint is a blank."""
    words = tuple(hint.replace("␣", " ").encode("ascii", "replace") for hint in hints.split())
    return Place(kind, words, lazy_pattern(shape), back, typed, sure, good)


def flag(hints: str, programs: str, shape: str, good: Callable[[str], bool] | None = None) -> Place:
    """A password that a flag gives to a program: the flag is looked for, being rarer than the names of programs."""
    made = place(
        "password",
        hints,
        rf"(?<![\w./-])(?:{programs})\b(?:[^\n|\\]|\\\n?){{0,300}}?[ \n](?:{shape}){VALUE}",
        300,
        good=good,
    )
    return replace(made, programs=tuple(map(_program, programs.split("|"))))


def _program(shape: str) -> tuple[bytes, bool]:
    words = re.findall(r"[a-z0-9]{2,}", re.sub(r".\?|\\w", " ", shape))
    return max(words, key=len).encode(), re.search(r"\\w|[a-z]\?", shape) is not None


def may_run(one: Place, words: Words) -> bool:
    """Whether a text with these words may hold what the place needs."""
    return not one.programs or any(name in (words.all if part else words.each) for name, part in one.programs)
