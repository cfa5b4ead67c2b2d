"""Text on a terminal: broken between words as it comes, and otherwise left alone."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from clew.entrypoints.cli.prose import Prose, width


def broken(text: str, columns: int, cuts: list[int] | None = None) -> str:
    """`text` as it is shown when it comes in pieces that end at `cuts`."""
    prose = Prose(columns)
    places = sorted({0, len(text), *(cut for cut in cuts or [] if cut < len(text))})
    pieces = [text[begin:end] for begin, end in itertools.pairwise(places)]
    return "".join(prose.feed(piece) for piece in pieces) + prose.end()


TEXTS = st.text(st.sampled_from("ab-1. `|，。（“”中文é\n"), max_size=60)


@given(TEXTS, st.integers(4, 30), st.lists(st.integers(0, 60), max_size=8))
def test_how_the_text_comes_in_pieces_makes_no_difference(text: str, columns: int, cuts: list[int]) -> None:
    assert broken(text, columns, cuts) == broken(text, columns)


@given(TEXTS, st.integers(4, 30))
def test_only_blanks_change(text: str, columns: int) -> None:
    assert re.sub(r"\s", "", broken(text, columns)) == re.sub(r"\s", "", text)
    assert broken(text, 1000) == text


@given(st.lists(st.text(st.sampled_from("abc中文"), min_size=1, max_size=3), max_size=30), st.integers(8, 30))
def test_no_line_is_wider_than_the_terminal(words: list[str], columns: int) -> None:
    assert all(width(line) <= columns for line in broken(" ".join(words), columns).split("\n"))


def test_words_and_references_stay_whole() -> None:
    assert broken("It is in `src/click/_compat.py:488-497`.", 30) == "It is in\n`src/click/_compat.py:488-497`."


def test_an_item_of_a_list_goes_on_below_its_text() -> None:
    assert broken("1. one two three\n- four five", 9) == "1. one\n   two\n   three\n- four\n  five"


def test_chinese_breaks_between_characters_and_marks_stay_with_their_words() -> None:
    assert broken("它在这里，不在那里。", 9) == "它在这\n里，不在\n那里。"
    assert broken("看这里（`ab`）吧", 8) == "看这里\n（`ab`）\n吧"


def test_code_and_tables_stay_as_they_are() -> None:
    for code in ("```\na long line of code\n```\n", "    a long line of code\n", "| a long | line | of cells |\n"):
        assert broken(code, 8) == code
    assert broken("```\na long line\n```\nand words", 5) == "```\na long line\n```\nand\nwords"
