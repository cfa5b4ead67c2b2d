"""Phrases that a message says word for word: who wrote "when I add an index" down is answered when it is said.

Likeness of meaning is judged by weights and may fall short of any threshold; the very phrase may not. A message says a
phrase when it is the same but for case, width, punctuation and spaces, however short it is. Where the phrase is long
enough to be about one thing, a message also says it that is the same but for function words, inflection and order, or
that contains it. Phrases are kept as hashes of their words, so that a message costs the same whatever the number of
notes.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clew.core.text.lazy import lazy_pattern
from clew.core.text.terms import content_runs, query_terms

_WORD: Final = lazy_pattern(
    r"[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|"
    r"[^\W_\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_BREAK: Final = lazy_pattern(r"[\W_]+")
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
"""Any odd number that spreads its bits; hashes are polynomials in it, modulo 2**64."""
_LEAST: Final = 2.0
"""Content words of a phrase that can be said in other words or among others: "continue" or a lone "deploy" tells
nothing there."""
_LEAST_WITHIN: Final = 3.0
"""Content words of a phrase that counts in the midst of anything; a shorter one has to be half of what is said."""
_MOST_SAID: Final = 4_000
"""Words of a phrase that can be said at all: no message has more."""
_MOST_WORDS: Final = 40
"""Words of a phrase that is looked for within a message; a longer one is a text, and only counts as the whole."""


def spoken_words(text: str) -> list[str]:
    """The words of a text without case, width and punctuation; each Han character, kana or Hangul is one."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("\u2019", ""))


def is_short(phrase: str) -> bool:
    """Whether a phrase has too few content words to be found within a longer message."""
    return _content(phrase)[0] < _LEAST


def _content(text: str) -> tuple[float, list[str]]:
    """How many content words a text has, two Han characters counting as one, and their stems in any order."""
    query = query_terms(_BREAK.sub(" ", unicodedata.normalize("NFKC", text)))
    latin = sorted(word for word in query.words if word.isascii())
    runs = sorted(piece for run in query.han for piece in content_runs(run))
    return len(latin) + sum(map(len, runs)) / 2, latin + runs


def _hash(words: Sequence[str]) -> int:
    """A polynomial of the words' numbers, the last one without a factor."""
    found = 0
    for word in words:
        found = (found * int(_BASE) + _number(word)) % 2**64
    return found


def _number(word: str) -> int:
    """A word as a number; two sums of it, since one of 32 bits is shared by some words of a large store."""
    coded = word.encode("utf-8", "surrogatepass")
    return (zlib.crc32(coded) << 32) | zlib.adler32(coded)


@dataclass(frozen=True, slots=True)
class Spoken:
    """p phrases in any order: hashes (p,) uint64, owners (p,) int32, sizes (p,) int16, weights (p,) float32.

    `sizes` are words in a row, 0 where the hash is that of content words in any order; `weights` are content words.
    """

    hashes: NDArray[np.uint64]
    owners: NDArray[np.int32]
    sizes: NDArray[np.int16]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, phrases: Sequence[Sequence[str]]) -> Spoken:
        """From the phrases of each note."""
        rows = dict[tuple[int, int, int], float]()
        for owner, some in enumerate(phrases):
            for phrase in some:
                words, (weight, content) = spoken_words(phrase), _content(phrase)
                if 0 < len(words) <= _MOST_SAID:
                    rows[_hash(words), owner, len(words)] = weight
                if weight >= _LEAST and len(words) <= _MOST_WORDS:
                    rows[_hash(content), owner, 0] = weight
        return cls(
            np.array([key[0] for key in rows], np.uint64),
            np.array([key[1] for key in rows], np.int32),
            np.array([key[2] for key in rows], np.int16),
            np.array([*rows.values()], np.float32),
        )

    def merged(self, moved: NDArray[np.int32], fresh: Spoken, places: NDArray[np.int32]) -> Spoken:
        """These phrases with note i as number `moved[i]` (-1: gone), and the notes of `fresh` at `places`."""
        owners = np.concatenate([moved[self.owners], places[fresh.owners]]).astype(np.int32)
        kept = owners >= 0
        return Spoken(
            np.concatenate([self.hashes, fresh.hashes])[kept],
            owners[kept],
            np.concatenate([self.sizes, fresh.sizes])[kept],
            np.concatenate([self.weights, fresh.weights])[kept],
        )

    def said_in(self, text: str) -> NDArray[np.int32]:
        """The numbers of the notes one of whose phrases a message says, ascending and without repetition."""
        if not len(self.hashes):
            return self.owners
        words, (weight, content) = spoken_words(text), _content(text)
        numbers = np.array([_number(word) for word in words], np.uint64)
        said = (self.sizes == 0) & (self.hashes == np.uint64(_hash(content)))
        for size in np.unique(self.sizes[self.sizes > 0]).tolist():
            if size > len(words):
                break
            if size > _MOST_WORDS and size != len(words):
                continue
            rows = self.sizes == size
            there = rows & np.isin(self.hashes, _windows(numbers, size))
            half = (self.weights >= _LEAST) & (2 * self.weights >= weight)
            said |= there & ((self.weights >= _LEAST_WITHIN) | half | (size == len(words)))
        return np.unique(self.owners[said])


def _windows(numbers: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """The hashes of every `size` words in a row, as `_hash` makes them."""
    found = np.zeros(len(numbers) - size + 1, np.uint64)
    for at in range(size):
        found = found * _BASE + numbers[at : len(numbers) - size + 1 + at]
    return found
