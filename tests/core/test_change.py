"""Words of commits: their subject, the part that they name, and how little the usual words say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.change import SUBJECT, scope, subject, weigh
from clew.core.index.query import concepts
from clew.core.text.glossary import Glossary
from clew.core.text.terms import query_terms

NOTHING = Glossary.parse("")


@pytest.mark.parametrize(
    ("text", "first", "part"),
    [
        ("fix(cache): drop stale keys", "drop stale keys", ("cach",)),
        ("fix!: drop stale keys", "drop stale keys", ()),
        ("cmd/run: keep the order", "cmd/run: keep the order", ("cmd", "run")),
        ("pytester: keep the order", "keep the order", ("pytest",)),
        ("docs: mend a link", "mend a link", ()),
        ("Drop stale keys", "Drop stale keys", ()),
        ("", "", ()),
    ],
)
def test_what_stands_before_the_subject_names_a_part(text: str, first: str, part: tuple[str, ...]) -> None:
    assert subject(text) == first
    assert set(part) <= set(scope(text)) and bool(part) == bool(scope(text))


def test_a_word_of_most_commits_says_little_and_a_word_of_the_subject_more() -> None:
    text = "fix the cache " + "and so on " * 10 + "socket"
    wanted = concepts(query_terms(text), NOTHING)
    found = {one.source: one.weight for one in weigh(wanted, text, {"fix": 300, "cach": 2}, 1000)}
    assert found["fix"] < 0.2 < found["socket"] == 1.0 < found["cach"] == SUBJECT


def test_without_a_history_only_the_place_in_the_text_counts() -> None:
    text = "fix the cache"
    wanted = concepts(query_terms(text), NOTHING)
    assert {one.weight for one in weigh(wanted, text, {}, 0) if one.role == "word"} == {SUBJECT}


@given(st.text(max_size=200), st.integers(0, 500), st.integers(0, 500))
def test_weights_stay_between_nothing_and_the_subject_s(text: str, count: int, more: int) -> None:
    wanted = concepts(query_terms(text), NOTHING)
    said = {one.alternatives[0][0]: count for one in wanted if one.alternatives}
    found = weigh(wanted, text, said, count + more)
    assert [one.source for one in found] == [one.source for one in wanted]
    assert all(0 <= new.weight <= old.weight * SUBJECT for new, old in zip(found, wanted, strict=True))
