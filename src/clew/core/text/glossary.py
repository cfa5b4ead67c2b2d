"""The bilingual glossary of developers' words: Chinese questions find English code.

Pure lookup over rows that the caller has read: ``中文<TAB>english|other english``, most usual translation first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clew.core.text.terms import is_function_word, stem, terms

# How much a translation says, relative to a word of two or more characters that the segmentation chose.
_ONE_CHARACTER = 0.5
_FUNCTION_WORD = 0.3
_INSIDE = 0.5
_ACROSS = 0.25
_LOOSE_WORD = 0.4

# Terms that stand for the whole Chinese word, and the words of English phrases on their own.
_Terms = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Translation:
    """One piece of a Chinese question and the English index terms that say the same."""

    source: str
    english: tuple[str, ...]
    """Index terms as ``terms`` makes them, most usual first."""
    weight: float
    """0.0 to 1.0: lower for single characters, for pieces inside of longer ones and for loose words of a phrase."""


@dataclass(frozen=True, slots=True)
class Glossary:
    """Chinese words with their English alternatives."""

    rows: Mapping[str, str]
    """English alternatives, separated by ``|``, by Chinese word."""
    _longest: int
    _english: dict[str, _Terms] = field(default_factory=dict[str, _Terms], repr=False, compare=False)

    @classmethod
    def parse(cls, tsv: str) -> Glossary:
        """Read rows of ``中文<TAB>english|english``.

        Empty lines, ``#`` comments and rows with an empty side are skipped.
        Of two rows for one word the later one counts, so that own rows may follow the shipped ones.
        """
        rows: dict[str, str] = {}
        for line in tsv.splitlines():
            chinese, tab, english = line.partition("\t")
            if tab and chinese and english and not chinese.startswith("#"):
                rows[chinese] = english
        return cls(rows, max(map(len, rows), default=0))

    def expand(self, han_run: str) -> tuple[Translation, ...]:
        """Translations of a run of Han characters, in order of appearance, the best first among equal places.

        The run is cut so that the sum of squared word lengths is greatest, which prefers long words without the
        mistakes of cutting greedily from the left. Shorter words inside of a chosen one or across a border follow
        with less weight.
        """
        chosen = self._segments(han_run)
        # By character, the end of the chosen word it belongs to; 0 outside of all.
        owner = [0] * len(han_run)
        for at, end in chosen:
            owner[at:end] = [end] * (end - at)
        found = [(at, self._weight(han_run[at:end]), han_run[at:end]) for at, end in chosen]
        taken = set(chosen)
        for at, end in self._matches(han_run):
            if end - at > 1 and (at, end) not in taken:
                share = _INSIDE if owner[at] and owner[at] == owner[end - 1] else _ACROSS
                found.append((at, self._weight(han_run[at:end]) * share, han_run[at:end]))
        found.sort(key=lambda item: (item[0], -item[1]))
        return tuple(self._translations(found))

    def _translations(self, found: list[tuple[int, float, str]]) -> Iterator[Translation]:
        seen: set[str] = set()
        for _, weight, source in found:
            if source in seen:
                continue
            seen.add(source)
            exact, loose = self._terms(source)
            if exact:
                yield Translation(source, exact, weight)
            if loose:
                yield Translation(source, loose, weight * _LOOSE_WORD)

    def _terms(self, source: str) -> _Terms:
        known = self._english.get(source)
        if known is not None:
            return known
        exact: list[str] = []
        loose: list[str] = []
        for alternative in self.rows[source].split("|"):
            words = alternative.split()
            if len(words) == 1:
                exact += terms(words[0])
            else:
                exact += ["_".join(words).casefold(), stem("".join(words))]
                loose += [term for term in terms(alternative) if not is_function_word(term)]
        result = (
            tuple(dict.fromkeys(exact)),
            tuple(dict.fromkeys(term for term in loose if term not in exact)),
        )
        self._english[source] = result
        return result

    def _weight(self, source: str) -> float:
        weight = _ONE_CHARACTER if len(source) == 1 else 1.0
        return weight * _FUNCTION_WORD if is_function_word(source) else weight

    def _matches(self, run: str) -> Iterator[tuple[int, int]]:
        for at in range(len(run)):
            for end in range(at + 1, min(at + self._longest, len(run)) + 1):
                if run[at:end] in self.rows:
                    yield at, end

    def _segments(self, run: str) -> list[tuple[int, int]]:
        """The chosen words as start and end; function words take their place in the cut but are left out."""
        best = [0] * (len(run) + 1)
        step = [1] * len(run)
        for at in range(len(run) - 1, -1, -1):
            best[at] = best[at + 1]
            for length in range(1, min(max(self._longest, 5), len(run) - at) + 1):
                word = run[at : at + length]
                if word in self.rows or is_function_word(word):
                    score = length * length + best[at + length]
                    if score > best[at]:
                        best[at], step[at] = score, length
        chosen: list[tuple[int, int]] = []
        at = 0
        while at < len(run):
            if run[at : at + step[at]] in self.rows:
                chosen.append((at, at + step[at]))
            at += step[at]
        return chosen
