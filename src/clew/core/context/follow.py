"""Whether a question goes on from the one before, or stands for itself.

A question that joins is searched for together with what it follows up on; one of its own must not be, or whatever was
asked last decides what is found. Length says nothing: "digest auth" is as short as "and why?". What tells is how a
question begins, what it points at, and whether it has words of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from clew.core.text.terms import query_terms, stem

MOST_JOINED: Final = 3
"""Earlier questions that a follow-up of follow-ups is searched with."""
_SHORT: Final = 10
"""Words up to which something pointed at may lie outside of the question; two Han characters count as one word."""
_SEVERAL: Final = 2
"""Unknown words of its own from which a question is about something else."""


class Follow(StrEnum):
    """`JOINS`: it needs the question before. `MAYBE`: it may. `OWN`: it stands for itself."""

    JOINS = "joins"
    MAYBE = "maybe"
    OWN = "own"


_OPENING: Final = re.compile(
    r"\s*(?:(?:and|but|or|so|also|then|what about|how about|what else|why not|ok(?:ay)?|in that case)\b"
    r"|那(?!不勒斯|曲|坡|霸|些年|英)|还有|另外|然后|所以|但是?|不过|换成|如果是)",
    re.IGNORECASE,
)
"""How a question begins that goes on from the one before."""
_PROJECT_WORD: Final = (
    r"(?:project|repo(?:sitory)?|code ?base|code|workspace|package|folder|directory|checkout|branch|machine|module)"
)
_BEFORE_THAT: Final = (
    "is was are does do did can could will would should about with of in on for to from by like use uses when if after "
    "before why how where than at into fix fixes change changes explain rename remove do test"
).split()
_POINTING: Final = re.compile(
    r"\b(?:it|its|it's|they|them|their|these|those|the same|instead|again|the other|the others|the latter|the former)\b"
    rf"|\bthis\b(?! {_PROJECT_WORD}\b)"
    rf"|(?:^\s*|\b(?:{'|'.join(_BEFORE_THAT)})\s+)that\b"
    r"|它们?|其(?![他它实中余次])|[这那](?:个|些|种|样|段|条|里的?)(?!项目|仓库|工程|目录|代码库|文件夹|包)"
    r"|上面|前面|刚才|刚刚|同样|后者|前者",
    re.IGNORECASE,
)
_ASKING_HAN: Final = re.compile(r"什么|怎么|怎样|为何|为啥|哪|谁|多少|几|如何|吗|啥|是否|能不能|有没有")
_TOPIC_HAN: Final = re.compile(r"呢[？?。！!\s]*$")
# Words that ask for more of the same, of whatever was spoken of.
_GENERIC: Final = frozenset(
    stem(word)
    for word in (
        "explain elaborate detail details more again example examples summarise summarize summary shorter longer "
        "simpler simple continue mean means work works working happen happens show tell give write rewrite translate "
        "help understand sure step steps better difference different reason wrong correct right problem issue line "
        "lines file files function functions test tests fix change code really exactly answer question part place list "
        "possible alternative alternatives also else please short brief english chinese do make see look say"
    ).split()
)
_GENERIC_HAN: Final = re.compile(
    "详细|解释|举例|例子|示例|继续|具体|意思|原因|为什么|怎么|怎样|如何|修复?|改动?|代码|文件|哪一?行|行|函数|测试|区别"
    "|翻译|总结|简单|步骤|说明|一下|一点|多少|什么|哪些?|可以|能|呢|吗|吧|啊|再|更|说|讲|写|看|给|我|你|的|了|是|请|好"
    "|如果|那|这|个|些|有|没|会|要|不|也|都|还|用|在|和|与|为|做"
)


def points_back(question: str) -> bool:
    """Whether a question says by its form alone that it goes on from another one."""
    short = _words(question) <= _SHORT
    return bool(_OPENING.match(question) or (short and (_POINTING.search(question) or _is_topic(question))))


def follow(question: str, stands: Callable[[str], bool]) -> Follow:
    """How a question relates to the one before. `stands` tells whether words of a text stand in the project."""
    if _OPENING.match(question) or _is_topic(question):
        return Follow.JOINS
    if _words(question) <= _SHORT and (pointing := _POINTING.search(question)):
        # What was named before in the same question is more likely meant than what another one spoke of.
        return Follow.MAYBE if stands(own_words(question[: pointing.start()])) else Follow.JOINS
    own = own_words(question)
    if not own.strip():
        return Follow.JOINS
    if stands(own):
        return Follow.OWN
    query = query_terms(own)
    return Follow.OWN if len(query.words) >= _SEVERAL or query.identifiers or query.paths else Follow.MAYBE


def own_words(question: str) -> str:
    """The words of a question that say what it is about; empty where it only asks for more."""
    kept = [
        word
        for word in re.findall(r"[^\s?？,，。.!！;；:：]+", _GENERIC_HAN.sub(" ", question))
        if not _is_generic(word)
    ]
    text = " ".join(kept)
    return text if query_terms(text).words else ""


def joined(questions: Sequence[str]) -> str:
    """What a follow-up on the last of these questions goes on from: that one, and those that it goes on from itself."""
    chain: list[str] = []
    for question in reversed(questions):
        chain.append(question)
        if len(chain) == MOST_JOINED or not points_back(question):
            break
    return "\n".join(chain)


def _is_generic(word: str) -> bool:
    return word.isascii() and stem(word.strip("'\"`()")) in _GENERIC


def _is_topic(question: str) -> bool:
    """A topic and 呢, with no other word that asks: 默认值呢？"""
    return bool(_TOPIC_HAN.search(question)) and not _ASKING_HAN.search(question) and _words(question) <= _SHORT


def _words(question: str) -> float:
    han = sum("\u4e00" <= char <= "\u9fff" for char in question)
    return len(re.findall(r"[A-Za-z0-9_'./-]+", question)) + han / 2
