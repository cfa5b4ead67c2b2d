"""The bilingual glossary: its file, the cutting of Chinese questions, and both directions of look-up."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.glossary import Glossary, Translation
from clew.core.text.terms import query_terms, terms

SMALL = Glossary.parse(
    "会话\tsession|conversation\n对话\tdialog|chat\n对话框\tdialog\n环境变量\tenvironment variable|env\n"
    "变量\tvariable|var\n重\theavy\n重试\tretry|retries\n试\ttry\n项目\tproject\n"
)


def shipped_text() -> str:
    return resources.files("clew").joinpath("data/glossary.tsv").read_text("utf-8")


@cache
def shipped() -> Glossary:
    return Glossary.parse(shipped_text())


def by_source(found: tuple[Translation, ...]) -> dict[str, Translation]:
    return {translation.source: translation for translation in reversed(found)}


def test_the_shipped_file_is_sorted_unique_and_complete() -> None:
    rows = [line.split("\t") for line in shipped_text().splitlines()]
    assert all(len(row) == 2 for row in rows)
    chinese = [row[0] for row in rows]
    assert chinese == sorted(set(chinese))
    assert len(chinese) >= 2500
    for word, english in rows:
        alternatives = english.split("|")
        assert re.fullmatch("[\u4e00-\u9fff]{1,8}", word), word
        assert 1 <= len(alternatives) <= 6, word
        assert len(set(alternatives)) == len(alternatives), word
        assert all(re.fullmatch("[a-z0-9]+( [a-z0-9]+)*", alternative) for alternative in alternatives), word


def test_every_shipped_row_translates_itself() -> None:
    for word in shipped().rows:
        found = shipped().expand(word)
        assert any(translation.source == word and translation.english for translation in found), word


def test_the_english_side_is_stemmed_and_phrases_are_joined() -> None:
    exact, loose, inner = SMALL.expand("环境变量")
    assert exact == Translation("环境变量", ("environment_variable", "environmentvari", "env"), 1.0)
    assert (loose.source, loose.english) == ("环境变量", ("environ", "variabl"))
    assert (inner.source, inner.english) == ("变量", ("variabl", "var"))
    assert exact.weight > inner.weight > 0 < loose.weight < exact.weight


def test_phrases_meet_the_names_of_code_in_either_style() -> None:
    phrase = SMALL.expand("环境变量")[0].english
    assert phrase[0] in terms("environment_variable")
    assert phrase[1] in terms("environmentVariable")


def test_the_cut_prefers_long_words_over_the_first_that_fits() -> None:
    assert by_source(SMALL.expand("对话框"))["对话框"].weight > by_source(SMALL.expand("对话框"))["对话"].weight
    assert by_source(SMALL.expand("一对话"))["对话"].weight == 1.0


def test_function_words_are_cut_around_but_not_out_of_words() -> None:
    assert [translation.source for translation in SMALL.expand("会不会重试")] == ["重试"]
    assert [translation.source for translation in SMALL.expand("会话")] == ["会话"]


def test_a_word_that_would_cut_a_function_word_in_two_weighs_little() -> None:
    glossary = Glossary.parse("么时\twrong\n重试\tretry")
    assert by_source(glossary.expand("什么时"))["么时"].weight < 0.5
    assert by_source(glossary.expand("么时"))["么时"].weight == 1.0


def test_words_that_nearly_every_question_holds_weigh_little() -> None:
    found = by_source(SMALL.expand("项目会话"))
    assert 0 < found["项目"].weight < found["会话"].weight


def test_a_single_character_weighs_less_than_a_word() -> None:
    assert SMALL.expand("试")[0].weight < SMALL.expand("重试")[0].weight


def test_a_later_row_replaces_an_earlier_one() -> None:
    glossary = Glossary.parse("# 注释\tcomment\n\n重试\tretry\n坏行\n\tnothing\n空\t\n重试\tagain and again")
    assert glossary.rows == {"重试": "again and again"}


def test_an_empty_glossary_translates_nothing() -> None:
    assert Glossary.parse("").expand("重试") == ()


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("为什么重试会卡住", {"retri", "hang"}),
        ("表格列宽超出终端宽度时怎么截断", {"tabl", "column_width", "termin", "truncat", "exceed"}),
        ("重定向时会不会把鉴权头去掉", {"redirect", "auth", "header", "strip"}),
        ("默认的上限是多少,在哪里校验", {"default", "limit", "valid"}),
        ("环境变量怎么绕过代理", {"env", "bypass", "proxi"}),
        ("程序挂了为什么没有报错信息", {"crash", "error_message", "traceback"}),
        ("两行文字怎样拼接和对齐", {"join", "concat", "align"}),
        ("解析失败以后会回退到哪种编码", {"parse_error", "fallback", "encod"}),
    ],
)
def test_a_chinese_question_names_what_the_code_calls_it(question: str, wanted: set[str]) -> None:
    found = {term for run in query_terms(question).han for each in shipped().expand(run) for term in each.english}
    assert wanted <= found


HAN = st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=40)
KNOWN = st.lists(st.sampled_from(["为什么", "会", "重试", "卡住", "的", "对话框", "环境变量", "超"]), max_size=12).map(
    "".join
)


@given(HAN | KNOWN | st.text(alphabet=st.characters(), max_size=40))
def test_expansion_is_ordered_weighed_and_made_of_index_terms(run: str) -> None:
    found = shipped().expand(run)
    places = [run.index(translation.source) for translation in found]
    assert places == sorted(places)
    for translation in found:
        assert 0.0 < translation.weight <= 1.0
        assert translation.english and len(set(translation.english)) == len(translation.english)
        assert all(re.fullmatch(r"[a-z0-9_]+", term) for term in translation.english)
    assert shipped().expand(run) == found


@given(st.text(alphabet=st.characters(), max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    glossary = Glossary.parse(text)
    glossary.expand(text)
