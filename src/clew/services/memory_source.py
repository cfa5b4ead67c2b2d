"""Memory as a source of a question's context: hints for what comes to mind, passages for who asks for what is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.context.fragment import Fragment
from clew.core.memory.hits import Hit
from clew.core.memory.recall import Hint
from clew.core.text.printable import visible

MOST_PASSAGES: Final = 6
"""Passages of notes and logs in one context."""
_ASKS: Final = re.compile(
    r"\b(?:did|have|had) (?:we|i|you) (?:ever )?(?:decided?|agreed?|settled?|noted?|written|write|logged?|said|say)\b"
    r"|\b(?:did|have|had) (?:we|i) (?:ever )?(?:recorded?|learn(?:ed|t)?)\b"
    r"|\b(?:my|our|the) (?:notes?|memory|memories|log|logs|decisions?)\b|\bremember(?:ed)?\b|\bwhat do (?:we|i) know\b"
    r"|\b(?:we|i) (?:decided|agreed|settled)\b"
    r"|笔记|备忘|记忆|日志里|(?:我们|咱们|我|之前|上次|以前|当时)[^，。？?]{0,16}(?:决定|约定|说好|商定|记过|记下|记录)|还?记得|记住",
    re.IGNORECASE,
)  # fmt: skip


def asks_for_memory(question: str) -> bool:
    """Whether a question asks for what was noted or decided, not only for what the files say."""
    return bool(_ASKS.search(question))


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Hints as one line each; passages, with their text, where the question asks for them."""

    hints: Callable[[str], Sequence[Hint]]
    search: Callable[[str], Sequence[Hit]]
    weight: int
    name: str = "memory"

    def collect(self, question: str) -> Sequence[Fragment]:
        """Fragments, best first; none where nothing comes to mind."""
        hits = self.search(question) if asks_for_memory(question) else ()
        shown = [hit for hit in hits if hit.snippet and not hit.stale][:MOST_PASSAGES]
        told = {hit.reference.partition("#")[0] for hit in shown}
        passages = [
            Fragment(
                self.name, hit.reference, visible(hit.snippet), self.weight, relevance=hit.score,
                note=", ".join(filter(None, (hit.name, hit.at[:10]))), cuttable=True,
            )
            for hit in shown
        ]  # fmt: skip
        lines = [
            Fragment(
                self.name, hint.ref, "", self.weight, anchor=True, group=hint.ref,
                line=f"note {hint.ref}: {hint.name} — {hint.description}",
            )
            for hint in self.hints(question)
            if hint.ref not in told
        ]  # fmt: skip
        return (*lines, *passages)
