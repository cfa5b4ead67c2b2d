"""Questions as concepts, the paths that they name, and the kinds of file that they speak of."""

from __future__ import annotations

from functools import cache
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.query import ROLES, Concept, concepts, intent, mentions
from clew.core.text.glossary import Glossary
from clew.core.text.terms import path_terms, query_terms
from clew.core.text.thesaurus import Thesaurus

GLOSSARY = Glossary.parse("会话\tsession|conversation\n重试\tretry|retries\n")


@cache
def shipped() -> tuple[Glossary, Thesaurus]:
    folder = resources.files("clew").joinpath("data")
    read = [folder.joinpath(name).read_text("utf-8") for name in ("glossary.tsv", "thesaurus.tsv")]
    return Glossary.parse(read[0]), Thesaurus.parse(read[1])


def found(question: str, glossary: Glossary = GLOSSARY) -> dict[str, Concept]:
    return {f"{one.role}:{one.source}": one for one in concepts(query_terms(question), glossary)}


def test_each_word_is_one_concept_under_its_own_stem() -> None:
    assert found("where are retries counted?")["word:retri"].alternatives == (("retri", 1.0),)


def test_parts_of_a_name_are_told_from_words() -> None:
    roles = {one.source: one.role for one in found("does `retry_delay` wait for the socket?").values()}
    assert roles["retri"] == "name" and roles["retry_delay"] == "name" and roles["socket"] == "word"


def test_two_words_also_stand_for_the_joined_name_with_less_weight() -> None:
    compound = found("the file name")["compound:file_name"]
    assert compound.weight < 1 and compound.alternatives == (("file_name", 1.0),)


def test_a_chinese_word_stands_as_written_and_in_english() -> None:
    asked = found("会话如何重试")
    assert [term for term, _ in asked["glossary:会话"].alternatives][:1] == ["session"]
    assert asked["glossary:会话"].alternatives[0][1] >= asked["glossary:会话"].alternatives[1][1]
    assert asked["han:会话"].alternatives == (("会话", 1.0),)


def test_a_word_of_the_thesaurus_brings_what_code_calls_it() -> None:
    glossary, thesaurus = shipped()
    question = "how many attempts are made?"
    wanted = concepts(query_terms(question), glossary, thesaurus.expand(question))
    assert any(term == "retri" and factor < 1 for one in wanted for term, factor in one.alternatives)


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does src/app/run.py do", {"src/app/run.py": 1.0}),
        ("what does run.py do", {"src/app/run.py": 0.7, "tools/run.py": 0.7}),
        ("what does ./tools/run.py do", {"tools/run.py": 1.0}),
        ("what does other.py do", {}),
        ("what does it do", {}),
    ],
)
def test_a_named_path_is_found_whole_or_by_its_tail(question: str, expected: dict[str, float]) -> None:
    paths = {"src/app/run.py": 1, "tools/run.py": 2, "src/rerun.py": 3}
    assert mentions(query_terms(question), paths) == expected


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("which fixture resets the clock", {"test"}),
        ("哪个用例覆盖了重试", {"test"}),
        ("which python version does the workflow use", {"config"}),
        ("流水线在哪里配置", {"config"}),
        ("where is the guide for authors", {"doc"}),
        ("is there a demo", {"example"}),
        ("where are retries counted", set[str]()),
    ],
)
def test_a_question_says_which_kinds_of_file_it_speaks_of(question: str, asked: set[str]) -> None:
    given_kinds = intent(query_terms(question), question)
    assert {name for name, value in given_kinds.items() if value} == asked
    assert set(given_kinds) == {"test", "config", "doc", "example"}


def test_a_path_has_the_words_of_its_folders_and_names() -> None:
    assert {"retri", "delay"} <= set(path_terms("src/retry/retryDelay.py"))


@given(st.text(max_size=200))
def test_weights_and_factors_stay_within_their_bounds(question: str) -> None:
    glossary, thesaurus = shipped()
    for one in concepts(query_terms(question), glossary, thesaurus.expand(question)):
        assert one.role in ROLES
        assert 0 < one.weight <= 1
        assert all(term and 0 < factor <= 1 for term, factor in one.alternatives)


@given(st.text(max_size=200))
def test_the_same_question_gives_the_same_concepts(question: str) -> None:
    glossary, _ = shipped()
    assert concepts(query_terms(question), glossary) == concepts(query_terms(question), glossary)
