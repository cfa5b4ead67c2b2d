"""Which files and chunks answer a question: evidence by concept, features by file, one linear model over them.

Scores of single terms are BM25 as SQLite FTS5 computes it. A concept's score in a chunk is the best of its
alternatives; a chunk's score is the sum over concepts. The weights are fitted by `training/ranking` on
labelled questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clew.core.index.kinds import Kind
from clew.core.index.query import Concept
from clew.core.text.terms import path_terms

HEAD_WEIGHT = 2.5
"""How much more a term counts among a chunk's symbols than in its body."""
EARLY = 14
"""Concepts of a question that count fully; later ones count less, down to LEAST_LATE."""
LEAST_LATE = 0.3
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
    votes_fresh: float = 0.0
    """Votes, those of recent commits more."""
    covered: float = 0.0
    """Share of the question's idf that stands anywhere in the file."""
    covered_chunk: float = 0.0
    """The same for its best chunk."""
    near: float = 0.0
    """Neighbouring words of the question that stand close together."""
    mentioned: float = 0.0
    defines: float = 0.0
    """Identifiers of the question that are defined here."""
    touched: int = 0
    """Commits of the known history that changed it."""
    name_covered: float = 0.0
    """Share of the question's idf among its symbols."""
    path_covered: float = 0.0
    """Share of the question's idf in its path."""
    scope: float = 0.0
    """Share of the part that a change names, in its path."""


@dataclass(slots=True)
class Scored:
    """All candidates of one question."""

    chunks: dict[int, float]
    chunk_covered: dict[int, float]
    files: dict[int, FileFeatures]
    total_idf: float
    idf: Mapping[str, float]
    """Of the terms of the question, alternatives included, as far as they stand anywhere or are its own words."""


def score(evidence: Sequence[Evidence], chunk_file: Mapping[int, int], near: Mapping[int, float]) -> Scored:
    """Sum the evidence up by chunk and by file."""
    chunks: dict[int, float] = {}
    covered: dict[int, float] = {}
    files: dict[int, FileFeatures] = {}
    total = sum(e.idf * e.concept.weight for e in evidence if e.concept.role not in _BESIDE) or 1.0

    def at(file: int) -> FileFeatures:
        if file not in files:
            files[file] = FileFeatures(file)
        return files[file]

    for place, item in enumerate(evidence):
        # Long texts say first what they are about.
        weight = item.concept.weight * max(LEAST_LATE, 1 / (1 + max(place - EARLY, 0) / EARLY))
        share = 0.0 if item.concept.role in _BESIDE else item.idf * weight / total
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
            row = at(file)
            row.names += value * weight
            row.name_covered += share
        for file, value in item.paths.items():
            row = at(file)
            row.path += value * weight
            row.path_covered += share
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
    said = {term: item.idf for item in evidence for term, _ in item.concept.alternatives if item.concept.role != "han"}
    return Scored(chunks, covered, files, total, said)


FEATURES = (
    "best", "three", "whole", "names", "path", "votes", "covered", "covered_chunk", "near", "mentioned", "defines",
    "source", "test", "doc", "config", "example", "changelog", "data",
    "test_asked", "config_asked", "doc_asked", "example_asked", "recent", "length",
    "votes_own", "touched", "name_covered", "path_covered", "base_covered", "beside", "base_best",
    "votes_fresh", "scope",
)  # fmt: skip
"""Names of the numbers that the file model weighs, in order."""
_BESIDE = ("compound", "phrase")
_SHARED = ("best", "three", "whole", "names", "path", "votes", "near", "votes_fresh")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a file whatever is asked."""

    path: str
    kind: Kind
    lines: int
    recency: float
    """1 for a file of the latest commit, towards 0 for one that was not touched for long."""
    touched: int
    """Commits of the known history that changed it."""


def rows(scored: Scored, facts: Mapping[int, FileFacts], asked: Mapping[str, float]) -> dict[int, list[float]]:
    """The feature vector of every candidate, by path, in the order of FEATURES."""
    top = {name: max((getattr(row, name) for row in scored.files.values()), default=0.0) or 1.0 for name in _SHARED}
    own = {file: row.votes / math.sqrt(1 + facts[file].touched) for file, row in scored.files.items()}
    own_top = max(own.values(), default=0.0) or 1.0
    beside = _beside(scored, facts)
    beside_top = max(beside.values(), default=0.0) or 1.0
    found: dict[int, list[float]] = {}
    for file in sorted(scored.files, key=lambda file: facts[file].path):
        row, of = scored.files[file], facts[file].kind
        base = base_covered(facts[file].path, scored.idf)
        found[file] = [
            row.best / top["best"], row.three / top["three"], row.whole / top["whole"], row.names / top["names"],
            row.path / top["path"], row.votes / top["votes"], row.covered, row.covered_chunk, row.near / top["near"],
            row.mentioned, row.defines,
            float(of is Kind.SOURCE), float(of is Kind.TEST), float(of is Kind.DOC), float(of is Kind.CONFIG),
            float(of is Kind.EXAMPLE), float(of is Kind.CHANGELOG), float(of is Kind.DATA),
            asked["test"] * (of is Kind.TEST), asked["config"] * (of is Kind.CONFIG), asked["doc"] * (of is Kind.DOC),
            asked["example"] * (of is Kind.EXAMPLE), facts[file].recency, math.log1p(facts[file].lines) / 8,
            own[file] / own_top, math.log1p(facts[file].touched) / 6, row.name_covered, row.path_covered, base,
            beside[file] / beside_top, base * row.best / top["best"], row.votes_fresh / top["votes_fresh"],
            row.scope,
        ]  # fmt: skip
    return found


MOST_CANDIDATES = 600
"""Files of one question that are weighed; beyond them, those that are best by no signal are left out."""


def candidates(scored: Scored, facts: Mapping[int, FileFacts]) -> Scored:
    """The files worth weighing: the best by each signal, and all that are mentioned or define a name."""
    files = scored.files
    if len(files) <= MOST_CANDIDATES:
        return scored
    kept = {file for file, row in files.items() if row.mentioned or row.defines}
    for signal, most in (("three", 300), ("whole", 200), ("path", 100), ("names", 100), ("votes", 100)):
        ranked = sorted(files, key=lambda file: (-getattr(files[file], signal), facts[file].path))
        kept.update(ranked[:most])
    return replace(scored, files={file: row for file, row in files.items() if file in kept})


def base_covered(path: str, idf: Mapping[str, float]) -> float:
    """How much of a file's own name the question says: the share of the name's terms, 0 to 1."""
    name = path.rsplit("/", 1)[-1]
    bare = name.split(".")[0] or name
    if bare in ("index", "__init__", "mod", "main", "lib"):
        bare = path.rsplit("/", 2)[-2] if "/" in path else bare
    wanted = [term for term in path_terms(bare) if "_" not in term] or path_terms(bare)
    return sum(1.0 for term in wanted if term in idf) / len(wanted) if wanted else 0.0


def _beside(scored: Scored, facts: Mapping[int, FileFacts]) -> dict[int, float]:
    """Mean score of the best three other files in the same folder."""
    folders: dict[str, list[tuple[float, int]]] = {}
    for file, row in scored.files.items():
        folders.setdefault(facts[file].path.rpartition("/")[0], []).append((row.best, file))
    found: dict[int, float] = {}
    for members in folders.values():
        members.sort(reverse=True)
        for _, file in members:
            others = [value for value, other in members[:4] if other != file][:3]
            found[file] = sum(others) / 3
    return found


def order(features: Mapping[int, Sequence[float]], weights: Mapping[str, float]) -> list[tuple[int, float]]:
    """Files with their scores, best first; equal scores in the order of `features`, which `rows` gives by path."""
    vector = [weights.get(name, 0.0) for name in FEATURES]
    scored = [(file, sum(w * x for w, x in zip(vector, row, strict=True))) for file, row in features.items()]
    return sorted(scored, key=lambda pair: -pair[1])
