"""Learn the table in closed form: a projection of token features to the teacher, then a residual for every piece.

Notation: X is the (texts, pieces) matrix of SIF weights a/(a+p) (Arora 2017), rows of length one; Y the teacher's
vectors of the same texts minus their language's mean, reduced to d dimensions; F the features of every piece. First
min |XFA - Y|^2 + l|A|^2 for A, then min |X(FA + D) - Y|^2 + m|D|^2 for D by conjugate gradients.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from clew.adapters.embedding import TABLE_FILES, Segmenter, StaticTable, is_chinese

SIF = 1e-4
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Texts with the teacher's raw vectors; `twins` are index pairs of texts with the same meaning."""

    texts: Sequence[str]
    vectors: Array
    twins: Array


def unit(rows: Array) -> Array:
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)


def counts(segmenter: Segmenter, texts: Sequence[str]) -> sparse.csr_matrix:
    """(texts, pieces) matrix of piece counts."""
    rows = [segmenter.ids(text) for text in texts]
    starts = np.cumsum([0, *map(len, rows)])
    flat = np.fromiter((i for row in rows for i in row), np.int64, int(starts[-1]))
    made = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(len(rows), len(segmenter.pieces)))
    made.sum_duplicates()
    return made


def weigh(matrix: sparse.csr_matrix, weights: Array) -> sparse.csr_matrix:
    """Columns times their weight, then rows of length one."""
    weighted = matrix.multiply(weights[None, :]).tocsr()
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(1)).ravel()) + 1e-6
    return (sparse.diags(1 / length) @ weighted).tocsr().astype(np.float32)


def language_means(lesson: Lesson) -> Array:
    """(2, 384): mean of the English and of the Chinese sides of the twins, so both speak of the same."""
    return np.stack([lesson.vectors[lesson.twins[:, side]].mean(0) for side in (0, 1)])


def target(lesson: Lesson, dimensions: int, whitening: float, blend: float) -> Array:
    """What the table shall give: language-centred, twins drawn together by `blend`, leading components damped."""
    chinese = np.array([is_chinese(text) for text in lesson.texts], np.int64)
    centred = unit(lesson.vectors - language_means(lesson)[chinese])
    left, right = lesson.twins.T
    middle = (centred[left] + centred[right]) / 2
    for side in (left, right):
        centred[side] = (1 - blend) * centred[side] + blend * middle
    _, strength, basis = np.linalg.svd(centred[::3], full_matrices=False)
    strength /= np.sqrt(len(centred[::3]))
    return unit(centred @ (basis[:dimensions].T / strength[:dimensions] ** whitening)).astype(np.float32)


def standardise(features: Array) -> Array:
    spread = features - features.mean(0)
    return (spread / (spread.std(0) + 1e-6)).astype(np.float32)


def project(x: sparse.csr_matrix, features: Array, y: Array, strength: float) -> Array:
    """Ridge: the (features, d) map A."""
    mixed = np.asarray(x @ features)
    gram = mixed.T @ mixed + strength * len(y) / 1000 * np.eye(features.shape[1], dtype=np.float32)
    return np.linalg.solve(gram, mixed.T @ y)


def refine(x: sparse.csr_matrix, rows: Array, y: Array, strength: float, steps: int) -> Array:
    """rows + D with D the ridge residual, all columns at once by conjugate gradients."""
    change = np.zeros_like(rows)
    left = x.T @ (y - x @ rows)
    direction, norm = left.copy(), (left * left).sum(0)
    for _ in range(steps):
        curved = x.T @ (x @ direction) + strength * direction
        size = norm / ((direction * curved).sum(0) + 1e-12)
        change += size * direction
        left -= size * curved
        new = (left * left).sum(0)
        direction = left + (new / (norm + 1e-12)) * direction
        norm = new
    return (rows + change).astype(np.float32)


def pack(segmenter: Segmenter, rows: Array, texts: Sequence[str]) -> StaticTable:
    """Quantise the weighted rows and measure the language means of encoded texts."""
    scales = (np.abs(rows).max(1) / 127 + 1e-12).astype(np.float16)
    scales = np.maximum(scales, np.float16(6e-8)).astype(np.float32)
    quantised = np.clip(np.round(rows / scales[:, None]), -127, 127).astype(np.int8)
    plain = StaticTable(segmenter, quantised, scales, np.zeros((2, rows.shape[1]), np.float32))
    encoded = plain.encode(texts)
    chinese = np.array([is_chinese(text) for text in texts])
    means = np.stack([encoded[~chinese].mean(0), encoded[chinese].mean(0)]).astype(np.float32)
    return StaticTable(segmenter, quantised, scales, means)


def save(table: StaticTable, folder: Path, facts: dict[str, Any]) -> str:
    """Write the table's files; returns the fingerprint."""
    folder.mkdir(parents=True, exist_ok=True)
    segmenter = table.segmenter
    np.save(folder / "vectors.npy", table.vectors)
    np.save(folder / "scales.npy", table.scales.astype(np.float16))
    np.save(folder / "scores.npy", np.asarray(segmenter.scores, np.float16))
    np.save(folder / "means.npy", table.means)
    (folder / "pieces.txt").write_text("\n".join(segmenter.pieces), encoding="utf-8")
    characters = sorted(segmenter.simplified.items())
    lines = ("".join(chr(pair[side]) for pair in characters) for side in (0, 1))
    (folder / "simplified.txt").write_text("\n".join(lines), encoding="utf-8")
    digest = hashlib.sha256()
    for name in TABLE_FILES:
        digest.update((folder / name).read_bytes())
    fingerprint = digest.hexdigest()[:16]
    facts = {"fingerprint": fingerprint, **facts}
    (folder / "table.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return fingerprint
