"""What a question's own words say: how likely each topic is, and which words say so.

A multinomial logistic regression over character n-grams 1..4, word n-grams 1..3 with names masked, and a few surface
features. Its classes are topics of the modes: a follow-up, a git fact, general knowledge, ... Features are keyed by
CRC-32 and summed as integers, so the same question gets the same answer on every platform.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

_HEAD, _TAIL = 900, 300  # characters of a long question that are read: its start and its end
_SURFACE_NAMES: Final = (
    "han mostly_latin length at_most_3 at_most_6 at_most_12 over_40 question_mark line_break fence backtick "
    "identifier path error_name flag number lower_start quotation"
).split()
SURFACE_COUNT: Final = len(_SURFACE_NAMES)

_TOKEN: Final = re.compile(
    r"""
  (?P<url>https?://\S+)
 |(?P<err>\b[A-Za-z_]*(?:Error|Exception|Warning)\b|\bTraceback\b|\bE\d{3,5}\b|\bpanic(?=:))
 |(?P<path>(?:[\w.@~-]+/)+[\w.@*-]+|(?<![\w/])/[\w.-]+(?:/[\w.-]+)*
   |\b[\w-]+\.(?:py|pyi|jsx?|tsx?|mjs|go|rs|rb|java|kt|cc?|h|[ch]pp|cs|php|swift|vue|svelte|sql|sh|md|rst|txt|json|ya?ml
     |toml|ini|cfg|lock|s?css|html|proto|tf|ipynb|xml|gradle|csv|env|log)\b
   |\b(?:Makefile|Dockerfile|README|CHANGELOG|Justfile|Gemfile|Cargo)\b)
 |(?P<flag>(?<!\S)--?[a-zA-Z][\w-]*)
 |(?P<id>\b[A-Za-z]\w*(?:\.[A-Za-z]\w*)*\(\)?|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b
   |\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b|\b_[a-z]\w*|\b[a-z]\w+(?:\.[a-z_]\w+)+\b)
 |(?P<n>\d[\d.,:]*)
 |(?P<w>[A-Za-z]+(?:'[a-z]+)?)
 |(?P<han>[\u4e00-\u9fff])
 |(?P<q>\?)
 |(?P<nl>\n)
""",
    re.VERBOSE | re.ASCII,  # ASCII, so that `\b` holds between a name and the Han character next to it
)
_QUOTED: Final = re.compile('["“「『]')
_DAMPED: Final = tuple(round(16 * (1 + math.log(count))) for count in range(1, 17))
_JOINING: Final = frozenset(
    "a an the i is are was do does did of to in on at it its be by for and or so as with from that this what which how "
    "? <nl> <n> 的 了 是 吗 呢 么 有 在 个 这 那 不 什 怎 为 和 就 都 也 会 到 上 下 里 哪 谁 啥".split()
)


@dataclass(frozen=True, slots=True)
class ModeModel:
    """Weights of the text model over t topics, n known n-grams and s surface features.

    keys     (n,)   uint32, ascending: CRC-32 of the n-gram with its block's prefix
    rarity   (n,)   uint8: inverse document frequency in steps of 1/16
    weights  (n, t) int8, in steps of `step`
    surface  (s, t) float64
    bias     (t,)   float64
    topics   t names "mode.topic"
    """

    keys: npt.NDArray[np.uint32]
    rarity: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.int8]
    step: float
    surface: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Word:
    """A token of the question: its form in n-grams and where it stands."""

    form: str
    start: int
    end: int


def _shorten(question: str) -> str:
    text = unicodedata.normalize("NFKC", question).replace("\u2019", "'").strip()
    return text if len(text) <= _HEAD + _TAIL else text[:_HEAD] + "\n" + text[-_TAIL:]


def _tokens(text: str) -> list[_Word]:
    """Words in lower case; names, numbers, paths and the like as a mask such as `<id>`."""
    words: list[_Word] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("w", "han"):
            form = match.group().lower()
        elif kind == "q":
            form = "?"
        elif kind == "nl" and words and words[-1].form == "<nl>":
            continue
        else:
            form = f"<{kind}>"
        words.append(_Word(form, match.start(), match.end()))
    return words


def _word_grams(words: list[_Word]) -> Iterable[tuple[str, int, int]]:
    """Each word n-gram, n = 1..3, with the span of `words` it covers; `^` and `$` stand for start and end."""
    forms = ["^", *(word.form for word in words), "$"]
    for size in (1, 2, 3):
        for at in range(len(forms) - size + 1):
            yield "w:" + " ".join(forms[at : at + size]), at - 1, at - 1 + size


def _char_grams(text: str) -> Iterable[str]:
    """Each character n-gram, n = 1..4, inside runs without blanks, a blank on each side."""
    for run in text.lower().split():
        padded = f" {run} "
        for size in (1, 2, 3, 4):
            for at in range(len(padded) - size + 1):
                yield "c:" + padded[at : at + size]


def _surface(text: str, words: list[_Word]) -> tuple[float, ...]:
    """The features of _SURFACE_NAMES in that order, each about 0..4."""
    han = sum("\u4e00" <= char <= "\u9fff" for char in text)
    latin = sum(char.isascii() and char.isalpha() for char in text)
    seen = Counter(word.form for word in words)
    count = len(words)
    return (
        float(han >= 2),
        float(2 <= han <= latin),
        round(math.log1p(count), 6),
        float(count <= 3),
        float(count <= 6),
        float(count <= 12),
        float(count > 40),
        float(seen["?"] > 0),
        float(seen["<nl>"] > 0),
        float("```" in text),
        float("`" in text),
        min(seen["<id>"], 2) / 2,
        min(seen["<path>"], 2) / 2,
        min(seen["<err>"], 2) / 2,
        float(seen["<flag>"] > 0),
        float(seen["<n>"] > 0),
        float(text[:1].islower()),
        float(_QUOTED.search(text) is not None),
    )


@dataclass(frozen=True, slots=True)
class Features:
    """What the text model sees of a question: two bags of n-grams by CRC-32, and the surface features."""

    chars: Mapping[int, int]
    words: Mapping[int, int]
    surface: tuple[float, ...]


def features(question: str) -> Features:
    """The features of a question; training and decision both use this one function."""
    text = _shorten(question)
    words = _tokens(text)
    return Features(
        Counter(zlib.crc32(gram.encode()) for gram in _char_grams(text)),
        Counter(zlib.crc32(gram.encode()) for gram, _, _ in _word_grams(words)),
        _surface(text, words),
    )


def weigh(counts: Mapping[int, int], model: ModeModel) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], float]:
    """Rows of the model for a bag of n-grams, their tf-idf values as integers, and the Euclidean norm of these.

    Term frequency is damped, 16 * (1 + ln tf); n-grams that the model does not know count for nothing.
    """
    keys = np.fromiter(counts.keys(), np.uint32, len(counts))
    times = np.fromiter((_DAMPED[min(count, len(_DAMPED)) - 1] for count in counts.values()), np.int64, len(counts))
    rows = np.searchsorted(model.keys, keys)
    rows[rows == len(model.keys)] = 0
    known = model.keys[rows] == keys
    rows, times = rows[known], times[known]
    values = times * model.rarity[rows].astype(np.int64)
    return rows, values, math.sqrt(int((values * values).sum())) or 1.0


def topic_logits(seen: Features, model: ModeModel) -> dict[str, float]:
    """Logit of each topic for the question's own text."""
    total = [float(bias) for bias in model.bias]
    for counts in (seen.chars, seen.words):
        rows, values, norm = weigh(counts, model)
        sums = model.weights[rows].astype(np.int64).T @ values
        for at, integer in enumerate(sums.tolist()):
            total[at] += model.step * integer / norm
    for value, row in zip(seen.surface, model.surface.tolist(), strict=True):
        if value:
            for at, weight in enumerate(row):
                total[at] += value * weight
    return dict(zip(model.topics, total, strict=True))


def word_count(question: str) -> int:
    """How many words, names, numbers and marks the model reads of a question."""
    return len(_tokens(_shorten(question)))


def carrying_words(question: str, topic: str, model: ModeModel) -> str:
    """The words of the question that speak loudest for `topic` against the topics of the other modes; "" if none do.

    Words that mean something on their own go before those that only join others ("is the").
    """
    text = _shorten(question)
    words = _tokens(text)
    own = model.topics.index(topic)
    others = [at for at, name in enumerate(model.topics) if name.split(".")[0] != topic.split(".")[0]]
    best, found = (False, 0), ""
    for gram, start, end in _word_grams(words):
        if start < 0 or end > len(words):
            continue
        rows, values, _ = weigh({zlib.crc32(gram.encode()): 1}, model)
        if not len(rows):
            continue
        row = model.weights[rows[0]].tolist()
        score = int(values[0]) * (row[own] - max(row[at] for at in others))
        telling = any(
            word.form not in _JOINING and (end - start > 1 or not "\u4e00" <= word.form <= "\u9fff")
            for word in words[start:end]
        )
        if score > 0 and (telling, score) > best:
            best, found = (telling, score), text[words[start].start : words[end - 1].end]
    return found.replace("\n", " ").strip()[:60]
