"""Wildcards: the tame expression matches what the plain one matches, and no name makes it take long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.wildcards import ABOVE, ANY, BETWEEN, FOLDERS, STAR, compiled, tokens

GLOBS = st.lists(st.sampled_from(["a", "b", "/", "[ab]", "[^/]", STAR, ANY]), max_size=12)
NAMES = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5)


@given(GLOBS, NAMES)
def test_a_tame_glob_matches_what_the_plain_one_matches(parts: list[str], names: list[str]) -> None:
    path = "/".join(names)
    assert bool(compiled(parts).fullmatch(path)) == bool(re.fullmatch("".join(parts), path))


@given(st.lists(st.sampled_from(["a", "b*", "*a*b", "?a*", "**"]), min_size=1, max_size=6), NAMES)
def test_wildcards_over_folders_keep_their_meaning(segments: list[str], names: list[str]) -> None:
    parts: list[str] = []
    for place, segment in enumerate(segments, 1):
        last = place == len(segments)
        if segment == "**":
            parts.append(ANY if last else FOLDERS)
            continue
        parts += [{"*": STAR, "?": "[^/]"}.get(char, char) for char in segment] + ([] if last else ["/"])
    path = "/".join(names)
    assert bool(compiled(parts).fullmatch(path)) == bool(re.fullmatch("".join(parts), path))


def test_wildcards_are_told_from_what_only_looks_like_them() -> None:
    assert tokens(r"^(?:.+/)?[^/]*\*[^a]?(?:/.+)?/.*") == [
        "^", ABOVE, STAR, r"\*", "[^a]", "?", BETWEEN, "/", ANY,
    ]  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("parts", [[STAR, "a"] * 30, [ANY, "a"] * 30, [FOLDERS, "a", "/"] * 30, ["a", STAR] * 30])
def test_no_name_takes_long_to_match(parts: list[str]) -> None:
    pattern = compiled([*parts, "c"])
    assert not pattern.fullmatch("a" * 250)
    assert not pattern.fullmatch("a/" * 125)


def test_a_set_holds_characters_and_no_operators() -> None:
    assert [char for char in "&-a[|~" if compiled(["[a&&b||~~[]"]).fullmatch(char)] == ["&", "a", "[", "|", "~"]
    assert [char for char in "+,-.a" if compiled(["[+--]"]).fullmatch(char)] == ["+", ",", "-"]
    assert not compiled(["a", "[^b]", "c"]).fullmatch("a/c")
