"""The English thesaurus from the words of questions to the words of code: the form of its file."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_WORD = r"[a-z0-9]+(?:['.+/-][a-z0-9]+)*\+*"
_KEY = re.compile(rf"{_WORD}(?: {_WORD}){{0,2}}")
_ALTERNATIVE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


@cache
def lines() -> tuple[str, ...]:
    text = resources.files("clew").joinpath("data/thesaurus.tsv").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return tuple(text.removesuffix("\n").split("\n"))


@cache
def rows() -> dict[str, tuple[str, ...]]:
    parted = (line.partition("\t") for line in lines())
    return {key: tuple(alternatives.split("|")) for key, _, alternatives in parted}


def test_every_line_is_a_key_a_tab_and_alternatives() -> None:
    assert [line for line in lines() if line.count("\t") != 1] == []


def test_the_keys_are_sorted_and_unique_and_enough_of_them() -> None:
    keys = [line.partition("\t")[0] for line in lines()]
    assert keys == sorted(set(keys))
    assert len(keys) >= 2000


def test_a_key_has_one_to_three_lower_case_words() -> None:
    assert [key for key in rows() if not _KEY.fullmatch(key)] == []


def test_an_alternative_is_a_word_or_a_compound_in_snake_case() -> None:
    wrong = {key: row for key, row in rows().items() if not all(map(_ALTERNATIVE.fullmatch, row))}
    assert wrong == {}


def test_a_key_has_one_to_seven_distinct_alternatives() -> None:
    wrong = {key: row for key, row in rows().items() if len(row) > 7 or len(set(row)) < len(row)}
    assert wrong == {}


def test_no_alternative_equals_its_key() -> None:
    assert [key for key, row in rows().items() if key.replace(" ", "_").replace("-", "_") in row] == []
