"""The key of a kept search: each part matters, and nothing else does."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.context import cachekey
from clew.core.context.cachekey import KeyParts, cache_key

PARTS = KeyParts(
    root="/work", branch="main", head="0a1b", git_index="i", files="f", searched="s", question="q", exchanges="e",
    memory="none", max_tokens=8000, answer=800, tokenizer="o200k", settings={"weights": {"git": 60}, "ignore": ()},
    mode="auto", attached=False, assembler=1, ranking="r", embedding="t", words={"glossary.tsv": "g"}, index="2",
    program="0.1.0",
)  # fmt: skip
OTHER = {str: "another", int: 7, bool: True}


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize("name", [part.name for part in fields(KeyParts)])
def test_each_part_changes_the_key(name: str) -> None:
    old = getattr(PARTS, name)
    new = {**old, "more": "x"} if isinstance(old, dict) else OTHER[type(old)]
    assert cache_key(replace(PARTS, **{name: new})) != cache_key(PARTS)


@pytest.mark.requirement("P-09")
def test_a_new_version_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key(PARTS)
    monkeypatch.setattr(cachekey, "VERSION", cachekey.VERSION + 1)
    assert cache_key(PARTS) != before


@pytest.mark.requirement("P-09")
@given(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans(), st.none()), max_size=5))
def test_the_order_of_settings_does_not_matter(settings: dict[str, object]) -> None:
    turned = dict(reversed(settings.items()))
    assert cache_key(replace(PARTS, settings=settings)) == cache_key(replace(PARTS, settings=turned))


@pytest.mark.requirement("P-09")
@given(st.text(), st.text())
def test_text_cannot_move_from_one_part_into_another(one: str, other: str) -> None:
    moved = replace(PARTS, branch=one + other, head="")
    assert (cache_key(moved) == cache_key(replace(PARTS, branch=one, head=other))) == (other == "")
