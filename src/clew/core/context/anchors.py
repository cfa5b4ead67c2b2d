"""Which earlier exchanges are kept for good, and how exchanges enter a prompt.

A sliding window forgets what a task hangs on as easily as small talk. Exchanges that carry a path, an error or a task
verb therefore stay beside the window as anchors, however many questions come between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from clew.core.context.fragment import DEFAULT_WEIGHTS, Exchange, Fragment
from clew.core.text.printable import printable

WINDOW: Final = 5
"""Exchanges in the sliding window (P-02)."""
MOST_ANCHORS: Final = 20
"""Anchored exchanges beside the window that enter one prompt; the history itself keeps all."""
QUESTION_CHARACTERS: Final = 600
ANSWER_CHARACTERS: Final = 1200
"""Longer questions and answers are shown in part."""
_LINE_CHARACTERS: Final = 140

_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_EXTENSION: Final = (
    r"(?:pyi?|ipynb|[cm]?[jt]sx?|go|rs|rb|java|kts?|scala|swift|c|cc|cpp|cxx|h|hh|hpp|cs|php|pl|lua|r|jl|dart|ex|exs|erl"
    r"|clj|hs|ml|vue|svelte|sql|sh|bash|zsh|fish|ps1|bat|md|rst|adoc|txt|json[5lc]?|ya?ml|toml|ini|cfg|conf|env|lock|xml"
    r"|html?|s?css|less|proto|tf|gradle|csv|log|patch|diff)"
)
_PATH: Final = re.compile(
    rf"""(?<![\w./~-])(?:
        (?:~|\.{{1,2}})?/(?:[\w.@+-]+/)*[\w.@+-]+                     # /etc/hosts  ./run  ~/x/y
      | (?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.{_EXTENSION}\b                # any/file.ext
      | (?:[\w.@+-]+/){{2,}}[\w.@+-]+                                  # three/parts/deep
      | (?:src|lib|libs|tests?|docs?|app|apps|pkg|cmd|internal|packages|scripts|bin|config|examples?)/[\w.@+-]*
      | (?!(?:node|vue|next|nuxt|nest|express|react|three|d3|chart|moment|ember|discord|socket)\.js\b)
        [\w@+-][\w.@+-]*\.{_EXTENSION}\b                               # file.ext
      | (?:Makefile|Dockerfile|Justfile|Gemfile|Rakefile|Procfile|README|CHANGELOG|CMakeLists)\b
    )""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_NAMED_ERROR: Final = re.compile(
    r"""\b[A-Za-z_][\w.]*(?:Error|Exception|Warning|Panic)\b | \bTraceback\b | \bpanic: | \bfatal:
      | \berror\s*(?::|\[[A-Z]?\d+\]) | \bsegmentation\ fault\b | \bcore\ dumped\b | \bSIG(?:SEGV|ABRT|KILL|BUS)\b
      | \bE(?:NO(?:ENT|MEM|SPC|TDIR|TEMPTY|TFOUND)|ACCES|PERM|EXIST|PIPE|AGAIN|INVAL|ADDRINUSE|CONN(?:REFUSED|RESET)
         |TIMEDOUT|MFILE|ISDIR|HOSTUNREACH|BUSY|ROFS|RESOLVE)\b""",
    re.VERBOSE | re.ASCII,
)
_ERROR_WORD: Final = re.compile(
    r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed|ing)?|tim(?:e|es|ed|ing)[ -]?outs?|"
    r"stack ?traces?|segfaults?|deadlocks?|hangs?|bugs?|broken|breaks?|leaks?|"
    r"(?:exit|status) (?:code|status) [1-9]\d*)\b"
    "|报错|出错|错误|异常|崩溃|崩了|超时|失败|堆栈|挂了|挂掉|死锁|卡住|卡死|泄漏|泄露|溢出",
    re.IGNORECASE | re.ASCII,
)
_TASK_VERB: Final = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|debug(?:ged|ging)?|refactor(?:ed|ing)?|analy[sz](?:e|ed|ing)|investigat(?:e|ed|ing)|"
    r"diagnos(?:e|ed|ing)|implement(?:ed|ing)?|optimi[sz](?:e|ed|ing)|migrat(?:e|ed|ing)|renam(?:e|ed|ing)|"
    r"revert(?:ed|ing)?|rewrit(?:e|ing)|review(?:ed|ing)?|reproduc(?:e|ed|ing)|deploy(?:ed|ing)?|upgrad(?:e|ed|ing)|"
    r"patch(?:ed|ing)?|bisect(?:ed|ing)?|clean(?:ed|ing)? up|trac(?:e|ing) down)\b"
    "|分析|修复|修一下|修好|修掉|重构|调试|排查|定位|实现|优化|迁移|重命名|改名|回滚|重写|改写|审查|评审|复现|部署|升级|打补丁|改成",
    re.IGNORECASE | re.ASCII,
)


def paths_in(text: str) -> tuple[str, ...]:
    """Paths and file names that a text mentions, in order, each once; addresses on the web are none."""
    return tuple(dict.fromkeys(match.group() for match in _PATH.finditer(_URL.sub(" ", text))))


def error_in(text: str) -> str:
    """The first named error of a text with what follows on its line; empty if there is none."""
    match = _NAMED_ERROR.search(text)
    if not match:
        return ""
    end = text.find("\n", match.start())
    return text[match.start() : end if end >= 0 else len(text)].strip()


def is_anchor(question: str, answer: str = "") -> bool:
    """Whether an exchange is kept beside the window.

    The question counts with paths, errors and task verbs. The answer counts only with an error that has a name: answers
    cite paths as a matter of course, and with those nothing would ever be forgotten.
    """
    return bool(
        paths_in(question)
        or error_in(question)
        or _ERROR_WORD.search(question)
        or _TASK_VERB.search(question)
        or error_in(answer)
    )


def window(
    exchanges: Iterable[Exchange], size: int = WINDOW, most: int = MOST_ANCHORS
) -> tuple[tuple[Exchange, ...], tuple[Exchange, ...]]:
    """The last `size` exchanges and the anchored ones before them, both oldest first; removed ones are in neither.

    Of more than `most` anchored ones, those about the workspace (their mode was not `minimal`) stay first, among them
    those with an error, then the latest.
    """
    alive = sorted((one for one in exchanges if not one.removed), key=lambda one: one.id)
    split = max(len(alive) - size, 0)
    anchored = [one for one in alive[:split] if one.anchor]
    if len(anchored) > most:
        ranked = sorted(anchored, key=_staying_power, reverse=True)
        anchored = sorted(ranked[:most], key=lambda one: one.id)
    return tuple(alive[split:]), tuple(anchored)


def _staying_power(exchange: Exchange) -> tuple[bool, bool, int]:
    named = error_in(exchange.question) or error_in(exchange.answer)
    return exchange.mode != "minimal", bool(named or _ERROR_WORD.search(exchange.question)), exchange.id


def exchange_fragments(
    exchanges: Iterable[Exchange],
    weight: int = DEFAULT_WEIGHTS["exchange"],
    size: int = WINDOW,
    most: int = MOST_ANCHORS,
) -> tuple[Fragment, ...]:
    """The window and the anchored exchanges as fragments, the latest most relevant.

    The latest exchange is an anchor whatever it carries: "and why?" stands on it.
    """
    recent, anchored = window(exchanges, size, most)
    made = [exchange_fragment(one, weight) for one in (*anchored, *recent)]
    made = [replace(one, relevance=(place + 1) / len(made)) for place, one in enumerate(made)]
    if made and recent:
        made[-1] = replace(made[-1], anchor=True)
    return tuple(reversed(made))


def exchange_fragment(exchange: Exchange, weight: int = DEFAULT_WEIGHTS["exchange"]) -> Fragment:
    """One exchange as a fragment: question and answer, long ones shown in part."""
    question, answer = exchange.question.strip(), exchange.answer.strip()
    cut = len(question) > QUESTION_CHARACTERS or len(answer) > ANSWER_CHARACTERS
    return Fragment(
        source="exchange",
        ref=f"exchange:{exchange.id}",
        text=f"Asked: {shorten(question, QUESTION_CHARACTERS)}\n"
        + (f"Answered: {shorten(answer, ANSWER_CHARACTERS)}" if answer else "It got no answer."),
        weight=weight,
        anchor=exchange.anchor,
        line=anchor_line(exchange),
        note="; ".join(part for part in (exchange.at, "shortened" if cut else "") if part),
        order=exchange.id,
    )


def anchor_line(exchange: Exchange) -> str:
    """What stands for an exchange whose body is left out: its number, day, question, and the error it carries."""
    asked = _one_line(exchange.question)
    error = _one_line(error_in(exchange.question) or error_in(exchange.answer))
    day = f" ({exchange.at[:10]})" if exchange.at else ""
    carried = f" [{error}]" if error and error not in asked else ""
    return f"exchange:{exchange.id}{day} {asked}{carried}"


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()), _LINE_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """The text, or two thirds of `limit` characters from its start and one third from its end, saying what is missing.

    The end is kept since the last line of a stack trace names the error.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3].rstrip(), text[len(text) - limit // 3 :].lstrip()
    return f"{head}\n[… {len(text) - len(head) - len(tail)} of {len(text)} characters left out …]\n{tail}"
