"""From the words in which people ask to the words in which code is written. Pure lookup over given rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clew.core.text.terms import is_function_word, stem, terms

_WORD = re.compile(r"[a-z0-9][a-z0-9'-]*")
_LONGEST = 3
_FACTORS = (1.0, 0.85, 0.75, 0.65)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word or phrase of a question may be called in code."""

    source: str
    """As it stands in the question, in lower case."""
    stems: tuple[str, ...]
    """Index terms of its own words."""
    terms: tuple[tuple[str, float], ...]
    """Index terms that may stand for it, most likely first, each with a factor of 0 to 1."""


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """Everyday words with their names in code."""

    rows: Mapping[str, str]
    """Alternatives, separated by `|`, by word or phrase."""
    by_stem: Mapping[str, str]
    """The first key of each stem, for inflected words."""

    @classmethod
    def parse(cls, tsv: str) -> Thesaurus:
        """Read rows of `key<TAB>alternative|alternative`; empty lines and `#` comments are skipped."""
        rows: dict[str, str] = {}
        for line in tsv.splitlines():
            key, tab, alternatives = line.partition("\t")
            if tab and key and alternatives and not key.startswith("#"):
                rows[key] = alternatives
        by_stem: dict[str, str] = {}
        for key in rows:
            by_stem.setdefault(_stems(key), key)
        return cls(rows, by_stem)

    def expand(self, question: str) -> tuple[Meaning, ...]:
        """Meanings of the words and phrases of a question, longest first at each place, without overlap of phrases."""
        words = _WORD.findall(question.lower())
        found: list[Meaning] = []
        at = 0
        while at < len(words):
            for length in range(min(_LONGEST, len(words) - at), 0, -1):
                phrase = " ".join(words[at : at + length])
                key = phrase if phrase in self.rows else self.by_stem.get(_stems(phrase), "")
                if key and not (length == 1 and is_function_word(stem(phrase))):
                    found.append(self._meaning(phrase, key))
                    at += length - 1
                    break
            at += 1
        return tuple(found)

    def _meaning(self, phrase: str, key: str) -> Meaning:
        alternatives: dict[str, float] = {}
        for rank, alternative in enumerate(self.rows[key].split("|")):
            factor = _FACTORS[min(rank, len(_FACTORS) - 1)]
            made = terms(alternative)
            whole = [term for term in made if "_" in term] or made
            for term in made:
                alternatives[term] = max(alternatives.get(term, 0.0), factor if term in whole else factor / 2)
        own = tuple(terms(phrase))
        return Meaning(phrase, own, tuple((term, factor) for term, factor in alternatives.items() if term not in own))


def _stems(phrase: str) -> str:
    return " ".join(stem(word) for word in phrase.split())
