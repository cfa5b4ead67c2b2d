"""How sure it is that anything here answers a question: numbers from the evidence, one logistic model over them.

Two questions are told apart: does the tree speak of what is asked about (words that are rare elsewhere and common
here), and does one place speak of all of it together (coverage, weighed by how much a word says anywhere)?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from clew.core.index.rank import Evidence, Scored, inverse_frequency

NUMBERS = (
    "covered_file", "covered_chunk", "best", "near", "known", "votes", "names", "defines", "mentioned", "words", "han",
    "chunk_share", "file_share", "top_share", "chunk_weight", "topic", "topic_best", "on_topic", "likeness",
    "likeness_3", "lead", "top_score", "unknown", "rarest", "rarest_unknown", "top_missing", "top_missing_rarest",
    "keys_missing", "first_file", "keys_least", "keys_most", "unknown_words", "file_topic", "file_topic_best", "size",
    "product_unknown", "product_missing", "proper_unknown",
)  # fmt: skip
"""Names of the numbers, in order."""
MOST_RARE = 9.9
"""Importance of a word that stands in no other project: -ln of the smallest share that is told apart."""
WHOLE = 0.9
SEVERAL = 4
_KEYS = 3
_PLAIN = ("word", "name", "glossary")


@dataclass(frozen=True, slots=True)
class Background:
    """How rare terms are in code at large: -ln of the mean share of chunks that hold them."""

    rarity: Mapping[str, float]

    def of(self, term: str) -> float:
        """Rarity of a term, at most MOST_RARE."""
        return self.rarity.get(term, MOST_RARE)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, as the confidence looks at it."""

    evidence: Sequence[Evidence]
    scored: Scored
    near: Mapping[int, float]
    chunk_file: Mapping[int, int]
    frequencies: Mapping[str, int]
    """In how many chunks each term stands."""
    top_files: Sequence[tuple[int, float]]
    """Best files with their scores."""
    file_chunks: Mapping[int, int]
    """Number of chunks of each of the best files."""
    top_chunks: Set[int]
    """The best passages."""
    likeness: Sequence[float]
    """Cosine of the question with each of the best passages."""
    defines: bool
    mentioned: bool
    products: Set[str] = frozenset()
    """Index terms of the products that the question names."""
    proper: Set[str] = frozenset()
    """Index terms of the words that it writes as names."""


def numbers(found: Found, background: Background) -> list[float]:
    """The numbers in the order of NUMBERS."""
    plain = [item for item in found.evidence if item.concept.role in _PLAIN]
    weights = [_importance(item, found.frequencies, background) for item in plain]
    total, count, chunks = sum(weights) or 1.0, len(plain) or 1, len(found.chunk_file)
    ceiling = inverse_frequency(chunks, 0) or 1.0
    files = list(found.scored.files.values())
    by_chunk: dict[int, float] = {}
    by_file: dict[int, float] = {}
    for item, weight in zip(plain, weights, strict=True):
        for chunk in item.chunks:
            by_chunk[chunk] = by_chunk.get(chunk, 0.0) + weight
        for file in {found.chunk_file[chunk] for chunk in item.chunks}:
            by_file[file] = by_file.get(file, 0.0) + weight
    topics = [max(min(_topic(item, found.frequencies, chunks, background), 4.0), -4.0) for item in plain]
    ranked = sorted(zip(weights, plain, strict=True), key=lambda pair: -pair[0])
    unknown = [weight for weight, item in ranked if not item.chunks and not item.paths]
    missing = [weight for weight, item in ranked if not found.top_chunks & item.chunks.keys()]
    keys = ranked[:_KEYS]
    key_total = sum(weight for weight, _ in keys) or 1.0
    in_keys = [
        max((value for chunk, value in item.chunks.items() if chunk in found.top_chunks), default=0.0) / ceiling
        for _, item in keys
    ]
    local = _local_topics(plain, weights, found, background)
    first = found.top_files[0][0] if found.top_files else None
    likeness = sorted(found.likeness, reverse=True)
    return [
        max((row.covered for row in files), default=0.0),
        max((row.covered_chunk for row in files), default=0.0),
        max((row.best for row in files), default=0.0) / (ceiling * count),
        max(found.near.values(), default=0.0) / ceiling,
        sum(item.idf for item in plain if item.chunks) / (sum(item.idf for item in plain) or 1.0),
        min(max((row.votes for row in files), default=0.0), 3.0) / 3,
        max((row.names for row in files), default=0.0) / (ceiling * count),
        float(found.defines),
        float(found.mentioned),
        math.log1p(len(plain)) / 3,
        float(any(item.concept.role == "han" for item in found.evidence)),
        max(by_chunk.values(), default=0.0) / total,
        max(by_file.values(), default=0.0) / total,
        max((by_chunk.get(chunk, 0.0) for chunk in found.top_chunks), default=0.0) / total,
        max(by_chunk.values(), default=0.0) / 40,
        sum(topic * weight for topic, weight in zip(topics, weights, strict=True)) / total / 4,
        max((topic * weight for topic, weight in zip(topics, weights, strict=True)), default=0.0) / 40,
        sum(1 for topic, weight in zip(topics, weights, strict=True) if topic > 1 and weight > 6) / count,
        likeness[0] if likeness else 0.0,
        sum(likeness[:3]) / 3,
        found.top_files[0][1] - found.top_files[4][1] if len(found.top_files) > 4 else 0.0,
        found.top_files[0][1] if found.top_files else 0.0,
        sum(unknown) / total,
        max(weights, default=0.0) / 10,
        max(unknown, default=0.0) / 10,
        sum(missing) / total,
        max(missing, default=0.0) / 10,
        sum(weight for weight, item in keys if not found.top_chunks & item.chunks.keys()) / key_total,
        by_file.get(first, 0.0) / total if first is not None else 0.0,
        min(in_keys, default=0.0),
        max(in_keys, default=0.0),
        len(unknown) / count,
        sum(local) / max(len(local), 1) / 4,
        max(local, default=0.0) / 4,
        math.log1p(chunks) / 10,
        *_names(plain, found),
    ]


def _names(plain: Sequence[Evidence], found: Found) -> tuple[float, float, float]:
    """Whether a product that is asked for stands nowhere, stands but not in the best passages; whether a word that is
    written as a name stands nowhere."""
    unknown, missing = _absent([item for item in plain if item.concept.source in found.products], found.top_chunks)
    proper, _ = _absent([item for item in plain if item.concept.source in found.proper], found.top_chunks)
    return unknown, missing, proper


def _absent(items: Sequence[Evidence], top: Set[int]) -> tuple[float, float]:
    """Whether one of the concepts stands nowhere; whether one stands somewhere and not in the best passages."""
    nowhere = [not item.chunks and not item.paths for item in items]
    return float(any(nowhere)), float(any(
        not known and not top & item.chunks.keys() for item, known in zip(items, nowhere, strict=True)
    ))  # fmt: skip


def _local_topics(
    plain: Sequence[Evidence], weights: Sequence[float], found: Found, background: Background
) -> list[float]:
    """For the best three files: how much more they speak of the question than code at large, whatever stands beside
    them; a large tree has many topics, and each has a small share of it."""
    total = sum(weights) or 1.0
    topics: list[float] = []
    for file, _ in found.top_files[:3]:
        size = found.file_chunks.get(file, 0)
        value = 0.0
        for item, weight in zip(plain, weights, strict=True):
            held = sum(1 for chunk in item.chunks if found.chunk_file[chunk] == file)
            rarity = background.of(_standing(item, found.frequencies, background)) if item.concept.alternatives else 0.0
            value += weight * max(min(math.log((held + 0.02) / (size + 1.0)) + rarity, 5.0), -3.0)
        topics.append(value / total)
    return topics


def _importance(item: Evidence, frequencies: Mapping[str, int], background: Background) -> float:
    """How much a concept says: the rarity of its own word, or of the most usual of its translations."""
    alternatives = item.concept.alternatives
    if not alternatives:
        return MOST_RARE
    if item.concept.role == "glossary":
        return min(background.of(term) for term, _ in alternatives)
    return background.of(_standing(item, frequencies, background))


def _standing(item: Evidence, frequencies: Mapping[str, int], background: Background) -> str:
    """The alternative that stands for the concept here: the rarest likely one that occurs."""
    return max(
        item.concept.alternatives,
        key=lambda pair: (
            (frequencies.get(pair[0], 0) > 0) * pair[1] * background.of(pair[0]) + 1e-6 * background.of(pair[0])
        ),
    )[0]


def _topic(item: Evidence, frequencies: Mapping[str, int], chunks: int, background: Background) -> float:
    """ln of how much more often the concept's word stands here than in code at large."""
    if not item.concept.alternatives:
        return 0.0
    term = _standing(item, frequencies, background)
    return math.log((frequencies.get(term, 0) + 0.3) / (chunks + 0.6)) + background.of(term)


def probability(values: Sequence[float], weights: Mapping[str, float]) -> float:
    """The chance that something here answers the question, by the logistic model."""
    total = weights.get("bias", 0.0)
    total += sum(weights.get(name, 0.0) * value for name, value in zip(NUMBERS, values, strict=True))
    return 1 / (1 + math.exp(-max(min(total, 30.0), -30.0)))


def stands_here(values: Sequence[float]) -> bool:
    """Whether one passage holds nearly all words of a question of several words: then it is about that passage,
    however common the words are (of questions put to a wrong repository, one in a hundred)."""
    named = dict(zip(NUMBERS, values, strict=True))
    return named["covered_chunk"] >= WHOLE and named["words"] >= math.log1p(SEVERAL) / 3
