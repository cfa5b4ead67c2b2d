"""How the wording of an answer is chosen."""

from __future__ import annotations

import pytest

from clew.core.context.style import SENTENCES, Style, choose_style, language, sentence
from clew.errors import UsageError

CASES = [
    ("why does the worker hang", Style.CODE),
    ("这个函数的复杂度如何", Style.CODE),
    ("write a function that sends an email", Style.CODE),
    ("write a test for the README parser", Style.CODE),
    ("写一个发邮件的脚本", Style.CODE),
    ("写一段代码读取文档", Style.CODE),
    ("who can see draft posts", Style.CODE),
    ("draft an announcement for the release", Style.WRITING),
    ("polish the README", Style.WRITING),
    ("write the release notes for 2.0", Style.WRITING),
    ("translate this to French", Style.WRITING),
    ("帮我写一封邮件通知大家", Style.WRITING),
    ("把这段话润色一下", Style.WRITING),
    ("起草一份更新日志", Style.WRITING),
    ("explain the scheduler to a newcomer", Style.NEWCOMER),
    ("I'm new to asyncio, what is a task", Style.NEWCOMER),
    ("给我写一段面向新手的说明", Style.NEWCOMER),
    ("用大白话讲讲锁", Style.NEWCOMER),
]


@pytest.mark.requirement("P-13")
@pytest.mark.parametrize(("question", "style"), CASES)
def test_the_question_chooses_the_style(question, style):
    assert choose_style(question) is style


@pytest.mark.requirement("P-13")
def test_prose_files_alone_make_it_writing():
    assert choose_style("what is missing here", ["docs/guide.md", "README.rst:1-20"]) is Style.WRITING
    assert choose_style("what is missing here", ["docs/guide.md", "src/a.py"]) is Style.CODE
    assert choose_style("what is missing here") is Style.CODE


@pytest.mark.requirement("P-13")
def test_a_style_that_was_asked_for_decides_alone():
    assert choose_style("explain to a beginner", asked="code") is Style.CODE
    assert choose_style("why", asked="Newcomer ") is Style.NEWCOMER
    assert choose_style("polish the README", asked="auto") is Style.WRITING


def test_an_unknown_style_is_refused_with_those_there_are():
    with pytest.raises(UsageError) as caught:
        choose_style("why", asked="poem")
    assert "'poem'" in str(caught.value)
    assert caught.value.hint == "use one of code, writing, newcomer, or auto"


@pytest.mark.requirement("P-13")
def test_each_style_is_one_line_in_both_languages():
    assert len(SENTENCES) == len(Style) * 2
    for style in Style:
        english, chinese = sentence(style, "en"), sentence(style, "zh-CN")
        assert "\n" not in english + chinese
        assert english.isascii()
        assert language(chinese) == "zh"


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("why is it slow", "en"),
        ("为什么这么慢", "zh"),
        ("rebase 之前帮我确认 working tree 干净不", "zh"),
        ("how do I match 中文 characters with a regex", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_question_is_the_one_its_words_are_in(text, lang):
    assert language(text) == lang
