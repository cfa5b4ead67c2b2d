"""Which files and chunks answer a question: evidence by concept, features by file, one linear model over them.

Scores of single terms are BM25 as SQLite FTS5 computes it. A concept's score in a chunk is the best of its alternatives;
a chunk's score is the sum over concepts. The weights are fitted by `training/ranking` on labelled questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.core.index.kinds import Kind
from clew.core.index.query import Concept

HEAD_WEIGHT = 2.5
"""How much more a term counts among a chunk's symbols than in its body."""
COMMON = 0.35
"""Terms that stand in more than this share of the chunks say nothing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the index says about one concept: scores are BM25, higher is better."""

    concept: Concept
    idf: float
    """Of the rarest alternative that stands anywhere; 0 where none does."""
    chunks: Mapping[int, float]
    names: Mapping[int, float]
    """By file: among the symbols that it defines."""
    paths: Mapping[int, float]
    """By file: in its path."""


def inverse_frequency(total: int, count: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): Robertson and Spärck Jones, kept positive."""
    return math.log1p((total - count + 0.5) / (count + 0.5))


@dataclass(slots=True)
class FileFeatures:
    """Numbers about one candidate file. Those with `share` are divided by the best of the question."""

    file: int
    best: float = 0.0
    """Score of the best chunk."""
    three: float = 0.0
    """Best three chunks, weighted 1, 1/2, 1/4."""
    whole: float = 0.0
    """Score of the file as one document: per concept the best chunk and a third of the rest, capped."""
    names: float = 0.0
    path: float = 0.0
    votes: float = 0.0
    covered: float = 0.0
    """Share of the question's idf that stands anywhere in the file."""
    covered_chunk: float = 0.0
    """The same for its best chunk."""
    near: float = 0.0
    """Neighbouring words of the question that stand close together."""
    mentioned: float = 0.0
    defines: float = 0.0
    """Identifiers of the question that are defined here."""


@dataclass(slots=True)
class Scored:
    """All candidates of one question."""

    chunks: dict[int, float]
    chunk_covered: dict[int, float]
    files: dict[int, FileFeatures]
    total_idf: float


def score(evidence: Sequence[Evidence], chunk_file: Mapping[int, int], near: Mapping[int, float]) -> Scored:
    """Sum the evidence up by chunk and by file."""
    chunks: dict[int, float] = {}
    covered: dict[int, float] = {}
    files: dict[int, FileFeatures] = {}
    total = sum(e.idf * e.concept.weight for e in evidence if e.concept.role != "compound") or 1.0

    def at(file: int) -> FileFeatures:
        if file not in files:
            files[file] = FileFeatures(file)
        return files[file]

    for item in evidence:
        weight = item.concept.weight
        share = 0.0 if item.concept.role == "compound" else item.idf * weight / total
        best: dict[int, float] = {}
        rest: dict[int, float] = {}
        for chunk, value in item.chunks.items():
            chunks[chunk] = chunks.get(chunk, 0.0) + value * weight
            covered[chunk] = covered.get(chunk, 0.0) + share
            file = chunk_file[chunk]
            before = best.get(file, 0.0)
            best[file] = max(before, value)
            rest[file] = rest.get(file, 0.0) + value
        for file, value in best.items():
            row = at(file)
            row.whole += weight * min(value + (rest[file] - value) / 3, 1.6 * value)
            row.covered += share
        for file, value in item.names.items():
            at(file).names += value * weight
        for file, value in item.paths.items():
            at(file).path += value * weight
    by_file: dict[int, list[float]] = {}
    for chunk, value in chunks.items():
        by_file.setdefault(chunk_file[chunk], []).append(value)
        row = at(chunk_file[chunk])
        row.covered_chunk = max(row.covered_chunk, covered[chunk])
        row.near = max(row.near, near.get(chunk, 0.0))
    for file, values in by_file.items():
        values.sort(reverse=True)
        row = at(file)
        row.best = values[0]
        row.three = sum(value * factor for value, factor in zip(values, (1.0, 0.5, 0.25), strict=False))
    return Scored(chunks, covered, files, total)


FEATURES = (
    "best", "three", "whole", "names", "path", "votes", "covered", "covered_chunk", "near", "mentioned", "defines",
    "source", "test", "doc", "config", "example", "changelog", "data",
    "test_asked", "config_asked", "doc_asked", "example_asked", "recent", "length",
)  # fmt: skip
"""Names of the numbers that the file model weighs, in order."""
_SHARED = ("best", "three", "whole", "names", "path", "votes", "near")


def rows(
    scored: Scored,
    kinds: Mapping[int, Kind],
    lines: Mapping[int, int],
    recency: Mapping[int, float],
    asked: Mapping[str, float],
) -> dict[int, list[float]]:
    """The feature vector of every candidate, in the order of FEATURES."""
    top = {name: max((getattr(row, name) for row in scored.files.values()), default=0.0) or 1.0 for name in _SHARED}
    found: dict[int, list[float]] = {}
    for file, row in scored.files.items():
        of = kinds[file]
        found[file] = [
            row.best / top["best"], row.three / top["three"], row.whole / top["whole"], row.names / top["names"],
            row.path / top["path"], row.votes / top["votes"], row.covered, row.covered_chunk, row.near / top["near"],
            row.mentioned, row.defines,
            float(of is Kind.SOURCE), float(of is Kind.TEST), float(of is Kind.DOC), float(of is Kind.CONFIG),
            float(of is Kind.EXAMPLE), float(of is Kind.CHANGELOG), float(of is Kind.DATA),
            asked["test"] * (of is Kind.TEST), asked["config"] * (of is Kind.CONFIG), asked["doc"] * (of is Kind.DOC),
            asked["example"] * (of is Kind.EXAMPLE), recency.get(file, 0.0), math.log1p(lines[file]) / 8,
        ]  # fmt: skip
    return found


def order(features: Mapping[int, Sequence[float]], weights: Mapping[str, float]) -> list[tuple[int, float]]:
    """Files with their scores, best first; equal scores in the order of ids, so that the result is the same each time."""
    vector = [weights.get(name, 0.0) for name in FEATURES]
    scored = [(file, sum(w * x for w, x in zip(vector, row, strict=True))) for file, row in features.items()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
