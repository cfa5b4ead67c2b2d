"""The fitted estimate: what it promises whatever the text is."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.core.text.tokens import Estimate, estimate

TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="aAbZ 09\n\t_-(){}é的\U0001f600", max_size=300),
)


@given(TEXTS, TEXTS)
@example("a  ", "\nb")
@example("ab", "C")
def test_appending_text_never_lowers_the_estimate(head: str, tail: str) -> None:
    assert estimate(head) <= estimate(head + tail)


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate("") == 0
    assert Estimate().count("") == 0


@pytest.mark.requirement("P-07")
def test_chinese_is_not_counted_at_a_third_of_its_size() -> None:
    text = "水龙头滴水自己能修吗" * 20
    assert len(text) * 0.7 < estimate(text) < len(text) * 1.3


def test_a_larger_margin_counts_more() -> None:
    text = "Where is the retry budget computed?"
    assert Estimate(margin=170).count(text) > Estimate().count(text)


@pytest.mark.parametrize("character", ["a", " ", "\n", "-", "的", "\U0001f600", "1", "\u0301"])
def test_a_megabyte_of_one_character_is_counted_at_once(character: str) -> None:
    text = character * 1_000_000
    begin = time.monotonic()
    assert estimate(text) > 0
    assert time.monotonic() - begin < 5
