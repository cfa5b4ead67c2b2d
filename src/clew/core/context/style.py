"""How an answer is worded: for reading code, for writing prose, or for a newcomer (P-13).

The choice is one sentence after the question. It never touches what comes before, so the cached prefix stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from clew.errors import UsageError


class Style(StrEnum):
    """A way of wording answers."""

    CODE = "code"
    WRITING = "writing"
    NEWCOMER = "newcomer"


SENTENCES: Final = MappingProxyType(
    {
        (Style.CODE, "en"): "Be brief and exact, as among programmers: name files, symbols and lines, show code where "
        "it says more than words, and leave out introductions.",
        (
            Style.CODE,
            "zh",
        ): "像程序员之间那样简洁准确地回答：写明文件、符号和行号，代码比文字更清楚时就给代码，不要开场白。",
        (Style.WRITING, "en"): "Write finished prose that its readers can use as it stands: whole sentences, plain "
        "words, the project's own terms, and code only where the text needs it.",
        (
            Style.WRITING,
            "zh",
        ): "写成读者可以直接使用的完整文字：语句通顺、用词平实、术语与项目一致，只在行文需要时才放代码。",
        (Style.NEWCOMER, "en"): "Explain it to someone new to this: one step after the other, every term said in plain "
        "words when it first comes up, and a small example.",
        (Style.NEWCOMER, "zh"): "讲给刚接触的人听：一步一步来，术语第一次出现时用大白话解释，并给一个小例子。",
    }
)

_NEWCOMER: Final = re.compile(
    r"\b(?:beginners?|newcomers?|newbies?|novices?|juniors?|new hires?|for onboarding|eli5|for dummies|layman\w*|"
    r"explain (?:it |this |that )?like|non-(?:technical|programmers?|developers?)|"
    r"(?:i am|i'm|we are|we're|someone|somebody|people|who is|who's) (?:completely |totally |very |quite )?new to|"
    r"never (?:used|seen|worked with|touched)|in (?:simple|plain) (?:terms|words|english)|from scratch step by step)\b"
    "|新手|初学|小白|零基础|新人|入门|外行|菜鸟|通俗|大白话|手把手|科普|刚接触|刚入职|没接触过|没用过|讲给.{0,8}听",
    re.IGNORECASE | re.ASCII,
)
_CODE_NOUN_EN: Final = (
    r"functions?|methods?|class(?:es)?|scripts?|code|tests?|regex(?:es)?|quer(?:y|ies)|sql|endpoints?|migrations?|"
    r"decorators?|modules?|handlers?|loops?|hooks?|types?|parsers?|programs?|dockerfile|makefile"
)
_TEXT_NOUN_EN: Final = (
    r"docs?|documentation|readmes?|articles?|e?-?mails?|blogs?|posts?|release notes?|changelogs?|paragraphs?|letters?|"
    r"announcements?|essays?|reports?|summar(?:y|ies)|introductions?|intros?|guides?|tutorials?|docstrings?|"
    r"commit messages?|descriptions?|newsletters?|copy|wording|sentences?|texts?|stor(?:y|ies)|poems?|speech(?:es)?|"
    r"slides?|abstracts?|titles?|headlines?"
)
_WRITING_EN: Final = re.compile(
    r"\b(?:writ(?:e|ing)|draft (?:an?|the|me|us|my|our|some)|compose|polish|rewrite|rephrase|reword|proofread|"
    rf"translate|shorten|improve|edit)\b(?:(?!\b(?:{_CODE_NOUN_EN}|that|which)\b)[^.?!\n]){{0,60}}?\b(?:{_TEXT_NOUN_EN})\b"
    r"|\b(?:polish|proofread|rephrase|reword|paraphrase|translate)\b",
    re.IGNORECASE | re.ASCII,
)
_WRITING_ZH: Final = re.compile(
    "(?:写|撰写|起草|拟|整理成|总结成|扩写|缩写)(?:(?!代码|函数|脚本|测试|接口|方法|程序|查询|正则|[。？！\n]).){0,20}?"
    "(?:文档|文章|说明|邮件|博客|公告|报告|段落|文案|周报|日报|月报|更新日志|标题|介绍|README|readme|信|作文|故事|诗|稿|摘要|教程|指南)(?!的)"
    "|润色|改写|措辞|校对|翻译|语气",
)
_PROSE_FILE: Final = re.compile(r"\.(?:md|mdx|rst|adoc|txt|tex|docx?|odt|org|wiki)(?::\d+(?:-\d+)?)?$", re.IGNORECASE)
_HAN: Final = re.compile("[\u3400-\u9fff]")
_LATIN_WORD: Final = re.compile(r"[A-Za-z]+")


def language(text: str) -> str:
    """`zh` where a text speaks Chinese, names in other scripts aside; else `en`."""
    han = len(_HAN.findall(text))
    return "zh" if han >= 2 and han >= len(_LATIN_WORD.findall(text)) else "en"


def choose_style(question: str, files: Iterable[str] = (), asked: str = "") -> Style:
    """The style for a question. `asked` (a flag or setting) decides alone; UsageError if it is no style.

    `files` are the files the question is about: named in it or attached. Prose files alone make it `writing`.
    """
    if asked and asked != "auto":
        try:
            return Style(asked.strip().lower())
        except ValueError:
            names = ", ".join(style.value for style in Style)
            raise UsageError(f"unknown style {asked!r}", hint=f"use one of {names}, or auto") from None
    if _NEWCOMER.search(question):
        return Style.NEWCOMER
    if _WRITING_EN.search(question) or _WRITING_ZH.search(question):
        return Style.WRITING
    about = tuple(files)
    if about and all(_PROSE_FILE.search(file) for file in about):
        return Style.WRITING
    return Style.CODE


def sentence(style: Style, lang: str = "en") -> str:
    """The one sentence of a style, in English or (`zh`) Chinese."""
    return SENTENCES[style, "zh" if lang.startswith("zh") else "en"]
