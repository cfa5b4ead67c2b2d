"""Which mode a question gets: minimal (no context), lean (facts and names), rich (all within budget).

The question's own words give each topic a likelihood (topics.py); the probability of a mode is the sum over its topics.
Then evidence, what the workspace knows about the question, moves those probabilities, and phrases that point at the
project or at what was just said rule modes out. The reason names whichever of these carried the decision.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from clew.core.context.topics import ModeModel, carrying_words, features, topic_logits, word_count
from clew.core.text.lazy import lazy_pattern


class Mode(StrEnum):
    """How much context a question gets."""

    MINIMAL = "minimal"
    LEAN = "lean"
    RICH = "rich"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the workspace knows about the question; every default means "nothing known".

    explicit      files or text are attached
    symbols       words of the question that are symbols in the code index here
    paths         paths and file names of the question that exist here
    branches      words of the question that are branch names here
    has_exchange  there is an earlier exchange in this thread
    relevance     calibrated probability in 0..1 that something here answers it; None if nobody asked
    """

    explicit: bool = False
    symbols: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    has_exchange: bool = False
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The mode, one English line that says why, and the probability of each mode (they sum to 1).

    `code` is the reason for machines, a key of REASONS; `detail` is the name or words that carried it, maybe empty.
    """

    mode: Mode
    reason: str
    scores: Mapping[Mode, float]
    code: str = ""
    detail: str = ""


REASONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "empty": ("nothing is asked", "没有提问"),
        "attached": ("files or text are attached", "附带了文件或文本"),
        "symbol": ("names `{}`, which is a symbol here", "提到 `{}`，它是这里的符号"),
        "path": ("names `{}`, which exists here", "提到 `{}`，它在这里存在"),
        "branch": ("names the branch `{}`", "提到分支 `{}`"),
        "relevance": ("something in this project answers it", "项目里有内容能回答它"),
        "exchange": ("follows up on the last exchange", "接着上一轮对话"),
        "said": ('points at what was just said ("{}")', "指向刚才说过的内容（“{}”）"),
        "nothing": ("may be about this project, but nothing here matches", "可能与本项目有关，但这里没有匹配的内容"),
        "option": ("asked for by option", "由选项指定"),
        "unweighed": (
            "the weights that decide cannot be read, so everything is searched",
            "无法读取用于判断的权重，因此搜索全部内容",
        ),
        "off": ("context is switched off", "已关闭上下文"),
        "project": ('points at this project ("{}")', "指向当前项目（“{}”）"),
        "minimal.knowledge": ("general knowledge: nothing points at this project", "通用知识：没有指向本项目的内容"),
        "minimal.text": ("a piece of writing: all it needs is in the question", "文字工作：所需内容都在问题里"),
        "minimal.snippet": ("self-contained: all it needs is in the question", "自成一体：所需内容都在问题里"),
        "minimal.smalltalk": ("small talk", "闲聊"),
        "lean.git": ('asks for a git fact ("{}")', "询问 git 状态（“{}”）"),
        "lean.machine": ('asks about this machine ("{}")', "询问本机环境（“{}”）"),
        "lean.pinned": ('asks for the names of pinned files ("{}")', "询问固定文件的名字（“{}”）"),
        "lean.runner": ('asks which tools this project runs with ("{}")', "询问项目所用的工具（“{}”）"),
        "memory": ("asks for what was noted", "询问记下的内容"),
        "hinted": ("a note came to mind", "想起了一条笔记"),
        "noted": ("may be about this project, and a note came to mind", "可能与本项目有关，并想起了一条笔记"),
        "rich.followup": ('reads like a follow-up ("{}")', "像是接着上文说的（“{}”）"),
        "rich.error": ('reads like an error seen here ("{}")', "像是这里出现的错误（“{}”）"),
        "rich.named": ('names what looks like a part of this project ("{}")', "提到的像是本项目的一部分（“{}”）"),
        "rich.diff": ('asks about the present changes ("{}")', "询问当前改动（“{}”）"),
        "rich.commits": ('asks what the last commits hold ("{}")', "询问最近提交的内容（“{}”）"),
        "rich.change": ('asks for a change to this project ("{}")', "要求修改本项目（“{}”）"),
        "rich.project": ('asks how this project works ("{}")', "询问本项目如何运作（“{}”）"),
    }
)

MAYBE_RICH: Final = 0.1
"""A question with at least this chance of being about the project is told when nothing here matches it."""
MAYBE_RICH_HERE: Final = 0.15
"""With at least this chance it is about the project where something here is likely to answer it."""
_LINKED: Final = lazy_pattern(
    r"\s*(?:那(?!不勒斯|曲|坡|霸|些年|英)|(?:and|what about|how about|but what if|and if)\b)", re.IGNORECASE
)
"""How a question begins that goes on from the one before; it counts only where there is one before."""
_OPEN: Final = frozenset(
    ("relevance", "nothing", "unweighed", "rich.followup", "rich.error", "rich.named", "rich.change", "rich.project")
)
"""Reasons for which it matters what was asked before."""
# Phrases, not marker words: "this project" inside a question of general knowledge must not match, so each pattern asks
# for a preposition, a possessive or a locative next to the noun.
_PROJECT: Final = lazy_pattern(
    r"\b(?:in|inside|within|across|throughout) (?:this|our|my|the current|the present) "
    r"(?:repo|repository|code ?base|project|workspace|checkout|work(?:ing )?tree|monorepo|module|package|branch|diff)\b"
    r"|\b(?:our|this) (?:repo|repository|code ?base|workspace|checkout|monorepo|working tree)(?:'s)?\b"
    r"|(?:这个|咱们?的?|我们的?|本|当前|现在这个)(?:项目|仓库|代码库|工程|代码)(?:里|中|内|下|上|目录)"
    r"|(?:本仓库|咱们?仓库|我们仓库|咱们?项目|我们项目|这个仓库|这个代码库|当前仓库)",
    re.IGNORECASE,
)
_SAID: Final = lazy_pattern(
    r"\b(?:what|as|like|that|which|one|way|code|version|fix|change|changes|function|command|file|test|idea|option)"
    r" you(?:'ve| have)? (?:just )?(?:said|wrote|suggested|proposed|showed|gave|made|mentioned|added|changed)\b"
    r"|\byou just (?:said|wrote|suggested|proposed|showed|gave|made|mentioned|added|changed|did|told)\b"
    r"|\byour (?:last|previous|earlier) (?:answer|reply|message|suggestion|change|edit|version|patch|snippet)\b"
    r"|\bwe (?:just|were just) (?:talked|discussed|decided|talking|discussing|wrote|changed|did)\b"
    r"|你(?:刚才|刚刚|刚|上面|前面|之前)(?:说|写|给|改|提|贴|讲|建议|加|删|生成)"
    r"|(?:刚才|刚刚|上面|前面)(?:那个(?!分支|目录|文件夹)|那段|那条|你说|你写|说的|提到的|写的|改的|给的|贴的)"
    r"|你(?:上一?[条个次]|前一?[条个次])(?:的)?(?:回答|回复|建议|修改|方案|代码)",
    re.IGNORECASE,
)
_GIT_WORD: Final = lazy_pattern(
    r"\b(?:git|branch\w*|commit\w*|merge\w*|rebase\w*|push\w*|pull\w*|stash\w*|checkout|ahead|behind|upstream|remote|origin)\b"
    r"|分支|提交|合并|变基|推送|推上|拉取|暂存|远端|远程|上游",
    re.IGNORECASE | re.ASCII,
)
_LAST_COMMITS: Final = lazy_pattern(
    r"\b(?:last|latest|recent|previous|most recent|newest|past)(?: (?P<count>\w+))?(?: git)? commits?\b"
    r"|\bHEAD(?:'s)? commit\b|\bwhat(?:'s| is| was)? (?:new|changed|happened)\b.{0,30}\b(?:recently|lately)\b"
    r"(?! in (?!this|the|our|my|here))"
    r"|\b(?:what|which|show|list|summari[sz]e|describe|explain|any|were|are)\b.{0,20}\brecent(?:ly made)? changes\b"
    r"|\bgit (?:log|show)\b"
    r"|(?:最近|近期|最新|最后|上)(?:的|这|那)?(?:(?P<han>[一二两三四五六七八九十\d]+) ?)?(?:个|次|条|几个|几次)?(?:的)?"
    r" ?(?:git ?)?(?:提交|commits?)"
    r"|最近(?:都|又|项目|代码)*(?:改|变|动|更新|提交)(?:动|化|更)?(?:过|了)*(?:什么|啥|哪些|些什么|了什么|哪里)"
    r"|最近(?:的|有)*(?:哪些|什么|啥)?(?:改动|变更|变化|更新)(?:有哪些|是什么|内容|[？?]?$)",
    re.IGNORECASE,
)
_CONTENT: Final = lazy_pattern(
    r"\b(?:show|chang\w*|diffs?|touch\w*|files?|contain\w*|introduc\w*|br[eo]\w*k\w*|explain|describe|summar\w*|review"
    r"|about|do|did|does|add(?:s|ed)?|remov\w+|happened|new)\b"
    r"|改|变|动|做了|内容|显示|看看|看一下|文件|总结|介绍|加了|删了|干了|什么|啥",
    re.IGNORECASE,
)
_ABOUT_COMMIT: Final = lazy_pattern(
    r"\b(?:message|hash|sha|id|authors?|who|when|dates?|time|ago|day|title|undo|revert|reset|amend|drop|squash|how many"
    r"|how (?:do|to|can|would|does git))\b"
    r"|hash|作者|是谁|谁|哪天|几点|多久|时间|什么时候|撤|回滚|回退|还原|几个提交|多少|怎么|如何|message|信息|标题|保留|有什么用|是什么意思|区别",
    re.IGNORECASE,
)
"""Facts about a commit, which its line tells, and what to do with one."""
_COUNTS: Final = MappingProxyType(
    dict(zip("two three four five six seven eight nine ten".split(), range(2, 11), strict=True))
    | dict(zip("一两二三四五六七八九十", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
)
_RECENT_COMMITS: Final = 5
"""Commits where several are asked for without a number."""
MOST_COMMITS: Final = 10
_CITED: Final = lazy_pattern(r"```.*?(?:```|\Z)|\"[^\"\n]*\"|“[^”]*”|「[^」]*」|『[^』]*』", re.DOTALL)
_SHAPED: Final = lazy_pattern(r"[_.\d/():-]|[a-z][A-Z]")  # written like a name of code or a branch, not like a word
# How far evidence moves the log odds. Set by hand: a shaped name outweighs all but a sure text model, a plain word that
# happens to be a symbol ("list", "session") only tips an undecided one.
_NAME_SHAPED, _NAME_PLAIN = 5.0, 2.5
_NAME_LEAN = 0.5  # share of the above that lean gets: "is router.ts pinned" stays a question about names
_BRANCH_GIT, _BRANCH_SHAPED = 3.0, 1.5
_EXCHANGE = 1.5
_EXCHANGE_WORDS = 8  # a follow-up is bare up to this many words
_RELEVANCE_LIMIT = 3.0
_SURE_TEXT = 0.5  # from here on a question is a text to translate or mend, whatever that text points at


def _evidence_shift(question: str, evidence: Evidence) -> dict[str, float]:
    """What evidence adds to the logits; keys are modes ("rich") or topics ("lean.git")."""
    shift: defaultdict[str, float] = defaultdict(float)
    names = (*evidence.symbols, *evidence.paths)
    if names:
        shaped = bool(evidence.paths) or any(_SHAPED.search(name) for name in names)
        gain = _NAME_SHAPED if shaped else _NAME_PLAIN
        shift["rich"] += gain
        shift["lean"] += gain * _NAME_LEAN
    if evidence.branches:
        gain = _BRANCH_SHAPED * any(_SHAPED.search(name) is not None for name in evidence.branches)
        if _GIT_WORD.search(question):
            gain = _BRANCH_GIT
        shift["lean.git"] += gain
        shift["rich.diff"] += gain * 0.5
    if evidence.has_exchange and word_count(question) <= _EXCHANGE_WORDS:
        shift["rich.followup"] += _EXCHANGE
    if evidence.relevance is not None:
        p = min(max(evidence.relevance, 0.001), 0.999)
        odds = math.log(p / (1 - p))
        shift["rich"] += min(max(odds, -_RELEVANCE_LIMIT / 2), _RELEVANCE_LIMIT)
        if odds < 0:  # a follow-up need not resemble anything in the project
            shift["rich.followup"] -= max(odds, -_RELEVANCE_LIMIT / 2)
    return dict(shift)


def _softmax(logits: Mapping[str, float]) -> dict[str, float]:
    top = max(logits.values())
    powers = {name: math.exp(logit - top) for name, logit in logits.items()}
    total = sum(powers.values())
    return {name: power / total for name, power in powers.items()}


def _by_mode(topics: Mapping[str, float]) -> dict[Mode, float]:
    """Sum of the topics of each mode, rounded so that the last bit of a platform's exp() does not show."""
    return {mode: round(sum(p for name, p in topics.items() if name.startswith(mode + ".")), 6) for mode in Mode}


def _first(scores: Mapping[Mode, float]) -> Mode:
    """The likeliest mode; a tie goes to the one with more context, because too little costs more than too much."""
    return max((Mode.RICH, Mode.LEAN, Mode.MINIMAL), key=lambda mode: scores[mode])


def _decision(mode: Mode, code: str, detail: str, scores: Mapping[Mode, float]) -> Decision:
    return Decision(mode, explain(code, detail), MappingProxyType(dict(scores)), code, detail)


def explain(code: str, detail: str = "", locale: str = "en") -> str:
    """The reason in words; `locale` starting with "zh" gives Chinese, anything else English."""
    text = REASONS[code][1 if locale.lower().startswith("zh") else 0]
    if detail:
        return text.replace("{}", detail)
    return re.sub(r' ?[(（]["“]\{\}["”][)）]', "", text).replace(" `{}`", "")


def decide(question: str, evidence: Evidence, model: ModeModel | None) -> Decision:
    """The mode for a question, with its reason; same input, same answer, no model call.

    Without weights, what no rule decides is rich: rather too much than an answer out of the air.
    """
    sure = {mode: float(mode is Mode.RICH) for mode in Mode}
    if evidence.explicit:
        return _decision(Mode.RICH, "attached", "", sure)
    if not question.strip():
        return _decision(Mode.MINIMAL, "empty", "", {mode: float(mode is Mode.MINIMAL) for mode in Mode})
    own_words = _CITED.sub(" ", question)  # what a cited text points at is not what its reader points at
    said = _SAID.search(own_words)
    if said:
        return _decision(Mode.RICH, "said", said.group().replace("\n", " "), sure)
    if evidence.has_exchange and (linked := _LINKED.match(question)):
        return _decision(Mode.RICH, "exchange", linked.group(), sure)
    if last_commits(question) and (matched := _LAST_COMMITS.search(own_words)):
        return _decision(Mode.RICH, "rich.commits", matched.group().strip(), sure)
    if model is None:
        return _decision(Mode.RICH, "unweighed", "", sure)
    logits = topic_logits(features(question), model)
    unmoved = _softmax(logits)
    plain = _by_mode(unmoved)
    shift = _evidence_shift(question, evidence)
    moved = {name: logit + shift.get(name, 0.0) + shift.get(name.split(".")[0], 0.0) for name, logit in logits.items()}
    pointed = _PROJECT.search(own_words)
    if pointed and unmoved.get("minimal.text", 0.0) < _SURE_TEXT:
        moved = {name: -math.inf if name.startswith("minimal.") else logit for name, logit in moved.items()}
    topics = _softmax(moved)
    scores = _by_mode(topics)
    mode = _first(scores)
    topic = max((name for name in topics if name.startswith(mode + ".")), key=lambda name: topics[name])
    code, detail = _cause(mode, topic, evidence, changed=mode is not _first(plain))
    if not code and pointed and _first(plain) is Mode.MINIMAL:
        code, detail = "project", pointed.group().replace("\n", " ")
    if not code:
        code = topic
        detail = carrying_words(question, topic, model) if "{}" in REASONS[code][0] else ""
    return _decision(mode, code, detail, scores)


def in_place(decision: Decision, *, likely: bool, named: str) -> Decision:
    """The decision where a project is at hand: `likely`, something in it answers; `named`, its name as it was said.

    Only what the words leave open moves. Facts of git and names of pinned files are asked for whatever else is found.
    """
    undecided = decision.mode is not Mode.RICH and decision.code not in ("lean.git", "lean.pinned")
    if likely and (decision.code == "lean.runner" or (undecided and decision.scores[Mode.RICH] >= MAYBE_RICH_HERE)):
        # Names of tools do not tell how they are run; what was found does.
        return _decision(Mode.RICH, "relevance", "", decision.scores)
    if decision.mode is Mode.MINIMAL and named:
        return _decision(Mode.RICH, "project", named, decision.scores)
    if not likely and undecided and decision.scores[Mode.RICH] >= MAYBE_RICH:
        return _decision(Mode.RICH, "nothing", "", decision.scores)
    return decision


def last_commits(question: str) -> int:
    """Of how many last commits the question asks what they hold; 0 where it asks for none, or for a fact about one."""
    own_words = _CITED.sub(" ", question)
    found = _LAST_COMMITS.search(own_words)
    if not found or _ABOUT_COMMIT.search(own_words) or not _CONTENT.search(own_words):
        return 0
    said = (found["count"] or found["han"] or "").lower()
    number = int(said) if said.isdecimal() else _COUNTS.get(said, 0)
    if number:
        return min(number, MOST_COMMITS)
    single = re.search(r"commit\b(?!s)|上一?[个次]|最后一?[个次]|git show", found.group(), re.IGNORECASE)
    return 1 if single and not said else _RECENT_COMMITS


def on_its_own(decision: Decision, *, likely: bool) -> Decision:
    """The decision for a question that stands for itself, where the model of words takes it for a follow-up."""
    if decision.code != "rich.followup":
        return decision
    return _decision(Mode.RICH, "relevance" if likely else "nothing", "", decision.scores)


def going_on(decision: Decision) -> Decision:
    """The decision for a question that points back at the one before, where no name or command in it decides."""
    if decision.code not in _OPEN:
        return decision
    return _decision(Mode.RICH, "exchange", "", decision.scores)


def from_memory(scores: Mapping[Mode, float]) -> Decision:
    """The mode for a question that asks for what was noted, where memory holds it."""
    return _decision(Mode.RICH, "memory", "", scores)


def came_to_mind(decision: Decision, question: str) -> Decision:
    """The decision where a note came to mind: then it is not true that nothing here matches, or that the question has
    nothing to do with the project. A question that only sounds like one about git, and names nothing of git, is one
    that the note answers. What the user decided, by option or with attachments, stays.
    """
    if decision.code == "nothing":
        return _decision(Mode.RICH, "noted", "", decision.scores)
    seeming = decision.code == "lean.git" and not _GIT_WORD.search(_CITED.sub(" ", question))
    if seeming or decision.code.startswith("minimal."):
        return _decision(Mode.LEAN, "hinted", "", decision.scores)
    return decision


def asked_for(mode: Mode, scores: Mapping[Mode, float]) -> Decision:
    """The mode that the user chose, whatever was decided with these scores."""
    return _decision(mode, "option", "", scores)


def switched_off(mode: Mode) -> Decision:
    """The mode where the user wants no context."""
    return _decision(mode, "off", "", {one: float(one is mode) for one in Mode})


def _cause(mode: Mode, topic: str, evidence: Evidence, *, changed: bool) -> tuple[str, str]:
    """The evidence that explains the decision, as code and detail; ("", "") if the text alone does."""
    if mode is Mode.RICH:
        if evidence.symbols:
            return "symbol", max(evidence.symbols, key=lambda name: (_SHAPED.search(name) is not None, len(name)))
        if evidence.paths:
            return "path", evidence.paths[0]
        if evidence.has_exchange and topic == "rich.followup":
            return "exchange", ""
        if changed and evidence.relevance is not None and evidence.relevance > 0.5:
            return "relevance", ""
    if mode is Mode.LEAN and topic == "lean.git" and evidence.branches:
        return "branch", evidence.branches[0]
    return "", ""
