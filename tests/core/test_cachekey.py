"""The key of a kept search: each part matters, and nothing else does."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.context import cachekey
from clew.core.context.cachekey import Asking, KeyParts, cache_key

ASKING = Asking(
    root="/work", question="q", max_tokens=8000, answer=800, tokenizer="o200k",
    settings={"weights": {"git": 60}, "ignore": ()}, mode="auto", attached=False,
)  # fmt: skip
PARTS = KeyParts(
    ASKING, branch="main", head="0a1b", git_index="i", files="f", searched="s", exchanges="e", memory="none",
    assembler=1, ranking="r", embedding="t", words={"glossary.tsv": "g"}, index="2", program="0.1.0",
)  # fmt: skip
OTHER = {str: "another", int: 7, bool: True}


def other(value: object) -> object:
    """Something else of the same type."""
    return {**value, "more": "x"} if isinstance(value, dict) else OTHER[type(value)]


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize("name", [part.name for part in fields(KeyParts) if part.name != "asking"])
def test_each_part_changes_the_key(name: str) -> None:
    assert cache_key(replace(PARTS, **{name: other(getattr(PARTS, name))})) != cache_key(PARTS)


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize("name", [part.name for part in fields(Asking)])
def test_each_part_of_what_is_asked_changes_the_key(name: str) -> None:
    asking = replace(ASKING, **{name: other(getattr(ASKING, name))})
    assert cache_key(replace(PARTS, asking=asking)) != cache_key(PARTS)


@pytest.mark.requirement("P-09")
def test_a_new_version_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key(PARTS)
    monkeypatch.setattr(cachekey, "VERSION", cachekey.VERSION + 1)
    assert cache_key(PARTS) != before


@pytest.mark.requirement("P-09")
@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans(), st.none()), max_size=5))
def test_the_order_of_settings_does_not_matter(settings: dict[str, object]) -> None:
    turned = dict(reversed(settings.items()))
    keys = {cache_key(replace(PARTS, asking=replace(ASKING, settings=some))) for some in (settings, turned)}
    assert len(keys) == 1


@pytest.mark.requirement("P-09")
@given(st.text(), st.text())
def test_text_cannot_move_from_one_part_into_another(one: str, other: str) -> None:
    moved = replace(PARTS, branch=one + other, head="")
    assert (cache_key(moved) == cache_key(replace(PARTS, branch=one, head=other))) == (other == "")
