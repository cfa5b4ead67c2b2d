"""Memory as a source of a question's context: hints for what comes to mind, passages for who asks for what is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.context.fragment import Fragment
from clew.core.memory.evidence import concepts
from clew.core.memory.hits import Hit
from clew.core.memory.recall import Hint, Note
from clew.core.memory.shelf import term_key, text_bag
from clew.core.text.printable import visible
from clew.core.text.terms import query_terms
from clew.services.words import load_glossary, load_thesaurus

ASKED_WEIGHT: Final = 85
"""Least weight of what a question asks for: above related files, which are merely like it, below what is attached."""
MOST_PASSAGES: Final = 6
"""Passages of notes and logs in one context."""
LEAST_SHARE: Final = 0.7
"""What scores less than this share of the best passage is about something else and only takes room."""
_OURS: Final = r"(?:we|i|you|they|the team)"
_ASKS: Final = re.compile(
    rf"\b(?:did|have|had) {_OURS} (?:ever )?(?:decided?|agreed?|settled?|noted?|written|write|logged?|said|say|"
    r"cho(?:o?se|sen)|pick(?:ed)?|recorded?|learn(?:ed|t)?)\b(?: (?:on|for|about|down))?"
    rf"|\b{_OURS} (?:decided|agreed|settled|noted|chose|picked)\b(?: (?:on|for|about))?"
    r"|\b(?:my|our|the) (?:notes?|decisions?|log ?book|agreements?)\b"
    r"(?= (?:says?|tells?|about|on|of|for|regarding)\b|\s*[?.]?\s*$)"
    r"|\b(?:my|our) (?:own )?(?:notes?|memory|memories|logs?|decisions?)\b"
    r"|\b(?:any|a|some|which|what) (?:notes?|decisions?|agreements?) (?:about|on|regarding)\b"
    r"|\b(?:is|are|was|were) there (?:any|a|some) (?:notes?|decisions?|agreements?|conventions?)\b"
    rf"|\b(?:do|did) {_OURS} (?:still )?remember\b|^\W*(?:please )?remember (?:what|when|why|how|that|the|our|my)\b"
    r"|\bwhat do (?:we|i) know\b"
    r"|(?:我|我们|咱们|你)?的?笔记里?|备忘录?里|(?:记忆|工作日志)[里中]|(?:我|我们)的(?:记忆|日志)"
    r"|(?:我们|咱们|团队|我|大家|之前|上次|以前|当时|当初)([^，。？?]{0,16}?)(?:决定|约定|说好|商定|商量好|定下|选定|记过|记下|记录)"
    r"|(?:有没有|有什么|有哪些)([^，。？?]{0,12})(?:约定|决定|笔记)|还?记得|记过(?:什么|哪些)",
    re.IGNORECASE,
)  # fmt: skip
"""Words that ask for what was noted or decided; a group holds what stands between them. "The log",
"in memory" and "remember me" speak of programs."""
_TIME: Final = re.compile(
    r"\b(?:today|yesterday|days?|weeks?|months?|years?|spring|summer|autumn|winter|recently|lately|last|(?:mon|tues|"
    r"wednes|thurs|fri|satur|sun)day|(?:jan|febr)uary|march|april|in may|june|july|august|(?:septem|octo|novem|"
    r"decem)ber|20\d\d)\b|今天|昨天|前天|上周|本周|这周|上个?月|这个月|去年|今年|最近|近期|[周月日]前|"
    r"\d{1,2} ?[月号日]",
    re.IGNORECASE,
)


def asks_for_memory(question: str) -> bool:
    """Whether a question asks for what was noted or decided, not only for what the files say."""
    return bool(_ASKS.search(question))


def answering(question: str, hits: Sequence[Hit], hinted: frozenset[str]) -> list[Hit]:
    """Those of the hits, best first, that answer a question for what was noted.

    A search gives the nearest passages there are. What speaks of none of the things that are asked for, in either
    language, does not count unless it came to mind as well (`hinted`, references). A question that names a time, or
    nothing at all, asks for whatever was noted then.
    """
    shown = [hit for hit in hits if hit.snippet and not hit.stale]
    own = _ASKS.sub(lambda asking: f" {' '.join(filter(None, asking.groups()))} ", question)
    glossary = load_glossary()
    asked = [] if _TIME.search(own) else concepts(query_terms(own), own, glossary, load_thesaurus())
    if asked:
        wanted = {term_key(term) for one in asked for term, _ in one}

        def speaks_of_it(hit: Hit) -> bool:
            said = text_bag(Note("", f"{hit.name} {hit.heading} {hit.about}", hit.snippet), glossary)
            return not wanted.isdisjoint(said) or hit.reference.partition("#")[0] in hinted

        shown = [hit for hit in shown if speaks_of_it(hit)]
    best = max((hit.score for hit in shown), default=0.0)
    return [hit for hit in shown if hit.score >= best - (1 - LEAST_SHARE) * abs(best)][:MOST_PASSAGES]


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Hints as one line each; passages, with their text, where the question asks for them."""

    hints: Callable[[str], Sequence[Hint]]
    search: Callable[[str], Sequence[Hit]]
    weight: int
    read: Callable[[str], str] = lambda ref: ""
    """The text of the note behind a reference, without secrets, for an answer that is given without a model."""
    name: str = "memory"

    def collect(self, question: str) -> Sequence[Fragment]:
        """Fragments, best first; none where nothing comes to mind."""
        hints = self.hints(question)
        asks = asks_for_memory(question)
        shown = answering(question, self.search(question), frozenset(hint.ref for hint in hints)) if asks else []
        told = {hit.reference.partition("#")[0] for hit in shown}
        passages = [
            Fragment(
                self.name, hit.reference, visible(hit.snippet), max(self.weight, ASKED_WEIGHT), relevance=hit.score,
                note=", ".join(filter(None, (hit.name, hit.at[:10]))), cuttable=True,
            )
            for hit in shown
        ]  # fmt: skip
        lines = [
            Fragment(
                self.name, hint.ref, "", self.weight, anchor=True, group=hint.ref,
                line=f"note {hint.ref}: {hint.name} — {hint.description}", note=hint.name,
            )
            for hint in hints
            if hint.ref not in told
        ]  # fmt: skip
        return (*lines, *passages)
