"""Which passages of the ranked files to show: one more linear model, over chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.core.index.chunk import MOST_LINES
from clew.core.index.kinds import Kind

CHUNK_FEATURES = (
    "score", "covered", "near", "file_score", "file_place", "chunk_place", "neighbour", "first", "length", "small",
    "doc", "test",
)  # fmt: skip
"""Names of the numbers that the passage model weighs, in order."""
SMALL_FILE = 80
"""Files of at most this many lines are often shown whole."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a ranked file, with the score by which passages are shown."""

    chunk: int
    file: int
    first: int
    last: int
    symbol: str
    score: float


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file with its chunks, for the passage model."""

    file: int
    score: float
    """From the file model."""
    kind: Kind
    lines: int
    chunks: Sequence[tuple[int, int, int, str]]
    """(id, first line, last line, symbol), in order."""


def passages(
    files: Sequence[RankedFile],
    scores: Mapping[int, float],
    covered: Mapping[int, float],
    near: Mapping[int, float],
    weights: Mapping[str, float],
) -> list[Passage]:
    """All chunks of `files` (best first), best passage first."""
    rows = passage_rows(files, scores, covered, near)
    vector = [weights.get(name, 0.0) for name in CHUNK_FEATURES]
    found: list[Passage] = []
    for ranked in files:
        for row, (chunk, first, last, symbol) in zip(rows[ranked.file], ranked.chunks, strict=True):
            score = sum(weight * value for weight, value in zip(vector, row, strict=True))
            found.append(Passage(chunk, ranked.file, first, last, symbol, score))
    # Equal scores stay in the order of files and lines: ids tell only in which order an index took them in.
    found.sort(key=lambda one: -one.score)
    return found


def passage_rows(
    files: Sequence[RankedFile],
    scores: Mapping[int, float],
    covered: Mapping[int, float],
    near: Mapping[int, float],
) -> dict[int, list[tuple[float, ...]]]:
    """By file, the feature vector of each of its chunks, in the order of CHUNK_FEATURES."""
    if not files:
        return {}
    top, most = files[0].score, max(scores.values(), default=0.0) or 1.0
    closest = max(near.values(), default=0.0) or 1.0
    found: dict[int, list[tuple[float, ...]]] = {}
    for place, ranked in enumerate(files):
        values = [scores.get(chunk, 0.0) for chunk, *_ in ranked.chunks]
        places = {at: rank for rank, at in enumerate(sorted(range(len(values)), key=lambda at: (-values[at], at)))}
        rows = found[ranked.file] = []
        for at, (chunk, first, last, _) in enumerate(ranked.chunks):
            beside = max([values[other] for other in (at - 1, at + 1) if 0 <= other < len(values)], default=0.0)
            rows.append((
                values[at] / most, covered.get(chunk, 0.0), near.get(chunk, 0.0) / closest, ranked.score - top,
                1 / (1 + place), 1 / (1 + places[at]), beside / most, float(at == 0), (last - first + 1) / MOST_LINES,
                float(ranked.lines <= SMALL_FILE), float(ranked.kind is Kind.DOC), float(ranked.kind is Kind.TEST),
            ))  # fmt: skip
    return found
