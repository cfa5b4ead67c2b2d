"""Passages, dates, ranking and what is shown of them: pure."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.memory.dates import asks_when, named_days, partial_days, spoken_days, tells_when
from clew.core.memory.hits import Hit, pack, snippet
from clew.core.memory.passages import MOST_CHARACTERS, split
from clew.core.memory.search import (
    FEATURES,
    Corpus,
    Likeness,
    Passage,
    Standing,
    chinese_terms,
    inverse_frequency,
    rank,
    take_apart,
)
from clew.core.text.glossary import Glossary
from clew.core.text.terms import terms
from clew.core.text.thesaurus import Thesaurus

GLOSSARY = Glossary.parse("重试\tretry\n部署\tdeploy|release\n")
THESAURUS = Thesaurus.parse("glue\tadapter\n")
WEIGHTS = {
    "notes": {"own": 1.0, "covered": 1.0, "name": 1.0, "like": 1.0, "stale": -1.0},
    "dialogue": {"own": 1.0, "covered": 1.0, "answers": 1.0, "speaker": 1.0, "dated": 1.0, "tells_when": 0.5},
}
NUMBER = dict(zip("abcdefgh", range(1, 9), strict=True))


def passage(number: int, text: str, **given: object) -> Passage:
    body = terms(text)
    row: dict[str, object] = {
        "id": number, "document": 1, "place": number - 1, "first": number, "last": number, "heading": "",
        "speaker": "", "at": "", "reference": "", "length": len(body), "text": text, "body": " ".join(body),
        "head": "",
    }  # fmt: skip
    return Passage(**{**row, **given})  # type: ignore[arg-type]


def ranked(
    question: str,
    passages: list[Passage],
    standings: dict[int, Standing] | None = None,
    likeness: dict[int, Likeness] | None = None,
) -> list[int]:
    """Numbers of the passages, best first."""
    asked = take_apart(question, GLOSSARY, THESAURUS, chinese_terms(GLOSSARY))
    counts = {term: sum(term in one.body.split() for one in passages) for term in asked.terms}
    idf = {term: inverse_frequency(len(passages), count) for term, count in counts.items() if count}
    view = Standing("dialogue" if passages[0].speaker else "notes")
    found = rank(
        asked,
        [one.id for one in passages],
        {(one.document, one.place): one for one in passages},
        standings or {one.document: view for one in passages},
        likeness or {},
        Corpus(idf, 5.0),
        WEIGHTS,
    )
    return [one.passage.id for one in found]


# -- passages


def test_passages_begin_at_headings_and_know_the_trail_above_them() -> None:
    found = split("intro\n\n# One\ntext\n\n## Two\nmore\n\n# Three\nend", first=5)
    assert [(one.heading, one.first, one.last) for one in found] == [
        ("", 5, 5), ("One", 7, 8), ("One > Two", 10, 11), ("Three", 13, 14),
    ]  # fmt: skip


def test_each_entry_of_a_log_is_a_passage_with_its_time() -> None:
    found = split("# 2026-03-04\n\n## 09:05 start\nbuilt it\n\n- 10:15 broke it\n- 11:00 mended it", day="2026-03-04")
    assert [(one.text.split("\n")[0], one.at) for one in found] == [
        ("# 2026-03-04", "2026-03-04"),
        ("## 09:05 start", "2026-03-04T09:05"),
        ("- 10:15 broke it", "2026-03-04T10:15"),
        ("- 11:00 mended it", "2026-03-04T11:00"),
    ]


def test_a_heading_inside_of_a_code_block_is_code() -> None:
    found = split("# One\n```sh\n# not a heading\n\nls\n```\nafter")
    assert len(found) == 1
    assert found[0].text.count("\n") == 6


@given(st.text(alphabet="ab# \n`。.-19:\r", max_size=4000), st.integers(1, 50))
def test_every_word_is_in_a_passage_of_its_line(body: str, first: int) -> None:
    found = split(body, first=first)
    lines = body.split("\n")
    said = "".join("".join(one.text.split()) for one in found)
    assert said == "".join("".join(line.split()) for line in lines)
    for one in found:
        assert len(one.text) <= MOST_CHARACTERS
        source = "".join("".join(line.split()) for line in lines[one.first - first : one.last - first + 1])
        assert "".join(one.text.split()) in source


# -- dates

DAY = date(2026, 3, 18)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-03-17", "2026-03-17"),
        ("昨天", "2026-03-17", "2026-03-17"),
        ("two weeks ago", "2026-03-02", "2026-03-06"),
        ("三天前", "2026-03-15", "2026-03-15"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("上个月", "2026-02-01", "2026-02-28"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("on Friday", "2026-03-13", "2026-03-13"),
        ("on 3 May", "2026-05-03", "2026-05-03"),
        ("in May", "2026-05-01", "2026-05-31"),
        ("May 3rd, 2024", "2024-05-03", "2024-05-03"),
        ("2024年5月", "2024-05-01", "2024-05-31"),
        ("12月3日", "2026-12-03", "2026-12-03"),
        ("in December 2024", "2024-12-01", "2024-12-31"),
        ("since 2019", "2019-01-01", "2019-12-31"),
        ("2024-02-29", "2024-02-29", "2024-02-29"),
    ],
)
def test_words_of_time_mean_days_as_seen_from_a_day(text: str, first: str, last: str) -> None:
    assert spoken_days(text, DAY) == ((date.fromisoformat(first), date.fromisoformat(last)),)


@pytest.mark.parametrize("text", ["we may do it", "2024-02-31", "30 February 2024", "March on", "port 2099x", ""])
def test_what_is_no_date_means_no_day(text: str) -> None:
    assert spoken_days(text, DAY) == ()


def test_a_date_without_a_year_lies_in_the_years_that_are_given() -> None:
    assert named_days("on 3 May") == ()
    assert partial_days("on 3 May", range(2024, 2026)) == ((date(2024, 5, 3),) * 2, (date(2025, 5, 3),) * 2)


@given(st.text(), st.dates())
def test_any_text_gives_spans_that_do_not_end_before_they_begin(text: str, day: date) -> None:
    assert all(first <= last for first, last in spoken_days(text, day))
    assert asks_when(text) in (True, False)
    assert tells_when(text) in (True, False)


# -- ranking


def test_the_passage_with_the_rarer_word_comes_first() -> None:
    passages = [
        passage(NUMBER[one], text) for one, text in zip("abc", ["the cache", "the cache", "a barnacle"], strict=True)
    ]
    assert ranked("cache barnacle", passages)[0] == 3


def test_a_chinese_question_finds_an_english_note_and_the_reverse() -> None:
    assert ranked("怎么重试", [passage(1, "how we deploy"), passage(2, "when to retry")])[0] == 2
    assert ranked("how do we retry?", [passage(1, "部署之前"), passage(2, "失败后重试三次")])[0] == 2


def test_a_word_of_the_thesaurus_counts_less_than_the_word_itself() -> None:
    assert ranked("glue", [passage(1, "the adapter"), passage(2, "the glue")]) == [2, 1]


def test_the_answer_to_a_question_that_matches_comes_before_a_faint_match() -> None:
    turns = [
        passage(1, "where did the barnacle hunt lead you?", speaker="Ann"),
        passage(2, "to the old pier", speaker="Ben"),
        passage(3, "nothing", speaker="Ann", place=7),
        passage(4, "hunt", speaker="Ben", place=8),
    ]
    assert ranked("where was the barnacle hunt?", turns)[:2] == [1, 2]


def test_of_two_equal_turns_the_one_of_the_named_speaker_comes_first() -> None:
    turns = [passage(1, "I like tea", speaker="Ann"), passage(2, "I like tea", speaker="Ben", place=5)]
    assert ranked("does Ben like tea?", turns)[0] == 2
    assert ranked("does Ann like tea?", turns)[0] == 1
    # Both are named: neither is meant.
    assert ranked("do Ann and Ben like tea?", turns) == [1, 2]


def test_a_turn_of_the_day_that_is_asked_for_comes_first() -> None:
    turns = [
        passage(1, "we met the vet", speaker="Ann", at="2023-06-03T10:00"),
        passage(2, "we met the vet", speaker="Ann", at="2023-05-03T10:00", place=9),
    ]
    assert ranked("who met the vet on 3 May?", turns)[0] == 2
    assert ranked("who met the vet in June 2023?", turns)[0] == 1


def test_equal_passages_stand_newest_first_then_as_written() -> None:
    notes = [passage(1, "tea"), passage(2, "tea", document=2, place=0), passage(3, "tea", document=3, place=0)]
    standings = {1: Standing(moment="2026-01-01"), 2: Standing(moment="2026-03-01"), 3: Standing(moment="2026-01-01")}
    assert ranked("tea", notes, standings) == [2, 1, 3]


def test_a_stale_document_stands_behind_its_successor() -> None:
    notes = [passage(1, "tea at four"), passage(2, "tea at five", document=2, place=0)]
    standings = {1: Standing(stale=True, moment="2026-09-01"), 2: Standing(moment="2026-01-01")}
    assert ranked("tea", notes, standings) == [2, 1]


def test_likeness_alone_can_decide() -> None:
    notes = [passage(1, "one"), passage(2, "two")]
    assert ranked("unrelated words", notes, None, {1: Likeness(0.1), 2: Likeness(0.7)}) == [2, 1]


def test_the_signals_have_names() -> None:
    asked = take_apart("tea", GLOSSARY, THESAURUS)
    one = passage(1, "tea")
    found = rank(asked, [1], {(1, 0): one}, {}, {}, Corpus({"tea": 1.0}, 1.0), WEIGHTS)
    assert [found[0].signal(name) for name in ("own", "covered", "like")] == [1.0, 1.0, 0.0]
    assert len(found[0].signals) == len(FEATURES)
    assert found[0].matched == ("tea",)


# -- what is shown


def test_a_snippet_stands_around_the_words_that_matched_and_fits() -> None:
    text = "filler words here. " * 40 + "The harbour opens at nine. " + "more filler there. " * 40
    shown = snippet(text, ["harbour"], 120)
    assert "harbour opens at nine" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown.encode()) <= 120


def test_a_chinese_snippet_is_cut_between_characters_around_the_pair() -> None:
    text = "无关的句子。" * 60 + "发布之前先跑集成测试。" + "别的内容。" * 60
    shown = snippet(text, ["集成"], 90)
    assert "集成测试" in shown
    assert len(shown.encode()) <= 90
    assert "\ufffd" not in shown


@given(st.text(), st.lists(st.text(max_size=3), max_size=3), st.integers(20, 200))
def test_a_snippet_never_exceeds_its_bytes(text: str, matched: list[str], most: int) -> None:
    shown = snippet(text.encode("utf-8", "ignore").decode(), matched, most)
    assert len(shown.encode()) <= most


def hit(number: int, size: int = 100) -> Hit:
    return Hit(f"clew://memory/mem_{number}#L1", "p", "n", "note", "w", "", 1, 2, "", "", 1.0, "", "x" * size)


@pytest.mark.requirement("W-06")
def test_what_exceeds_the_budget_is_there_by_reference_and_the_rest_is_counted() -> None:
    packed = pack([hit(number) for number in range(60)], 1_500)
    texts = [bool(one.snippet) for one in packed.hits]
    assert texts == sorted(texts, reverse=True)
    assert any(texts)
    assert not all(texts)
    assert packed.left_out == 60 - len(packed.hits) > 0
    assert packed.size <= 1_500


def test_the_best_hit_is_shown_whatever_the_budget_is() -> None:
    packed = pack([hit(1), hit(2)], 1)
    assert [bool(one.snippet) for one in packed.hits] == [True]
    assert packed.left_out == 1
