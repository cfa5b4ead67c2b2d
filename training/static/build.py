"""Build the shipped table: python build.py SCRATCH [OUT]. Downloads, reads, encodes, fits, writes; about 8 minutes.

Every step leaves its result in SCRATCH and is skipped when that exists, so a run can be taken up again.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import corpus
import download
import e5
import fit
import numpy as np
import vocabulary

from clew.adapters.embedding import WORD_START, Segmenter, StaticTable

Array = np.ndarray[Any, Any]
T = TypeVar("T")
OUT = Path(__file__).parents[2] / "src" / "clew" / "data" / "static"
TWINS, ENGLISH, CHINESE = 12_000, 5_000, 5_000
STEP = 2_500
LONGEST = 220
VOCABULARY = (12_000, 9_000, 8_000)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers of the fit; see fit.py."""

    dimensions: int = 256
    whitening: float = 0.5
    blend: float = 1.0
    ridge: float = 30.0
    residual: float = 2.0
    steps: int = 12


@dataclass(frozen=True, slots=True)
class Material:
    """All that the fit needs: the rows to be, their features, texts with the teacher's vectors."""

    segmenter: Segmenter
    features: Array
    lesson: fit.Lesson


def kept(path: Path, make: Callable[[], T]) -> T:
    """The pickled result of a step, made when it is not there yet."""
    if path.exists():
        return pickle.loads(path.read_bytes())  # a file this script wrote
    started = time.monotonic()
    made = make()
    path.write_bytes(pickle.dumps(made))
    print(f"{path.stem}: {time.monotonic() - started:.0f} s", flush=True)
    return made


def lesson_texts(found: corpus.Corpus) -> tuple[list[str], Array]:
    """The texts to learn from; the first 2 * TWINS are English and Chinese in turn."""
    dice = random.Random(0)
    pairs = sorted(found.pairs)
    pairs = dice.sample(pairs, min(TWINS, len(pairs)))
    texts = [side for pair in pairs for side in pair]
    texts += dice.sample(sorted(found.english), ENGLISH) + dice.sample(sorted(found.chinese), CHINESE)
    return [text[:LONGEST] for text in texts], np.arange(2 * len(pairs)).reshape(-1, 2)


def token_features(weights: e5.Weights, teacher: e5.Teacher, pieces: list[str]) -> Array:
    """(pieces, 768): the teacher's vector of "query: piece" and the mean of its input embeddings."""
    own = {piece: i for i, piece in enumerate(weights.pieces)}
    spelled = teacher.token_ids([piece.removeprefix(WORD_START) for piece in pieces])
    ids = [[own[p]] if p in own else ids or [e5.UNK] for p, ids in zip(pieces, spelled, strict=True)]
    prefix = teacher.token_ids(["query:"])[0]
    whole = teacher.encode_ids([prefix + row for row in ids])
    inputs = weights.tensor("emb.word", -1, weights.hidden)
    return np.hstack([whole, np.stack([inputs[row].mean(0) for row in ids])]).astype(np.float32)


def gather(scratch: Path, threads: int) -> Material:
    """Everything before the fit, step by step."""
    missing = download.download(scratch)
    if missing:
        print("not fetched:", missing)
    found = kept(scratch / "corpus.pickle", lambda: corpus.read_packages(scratch))
    weights = e5.read_weights(e5.model_file())
    graph = scratch / "e5.onnx"
    if not graph.exists():
        e5.write_graph(weights, graph)
    teacher = e5.Teacher(weights, graph, threads)
    simplified = vocabulary.simplified_map()

    def choose() -> tuple[list[str], Array]:
        texts = [side for pair in sorted(found.pairs) for side in pair] + sorted(found.english | found.chinese)
        english, chinese = vocabulary.count_words(texts, found.names, Segmenter([], [], simplified))
        return vocabulary.choose(weights, english, chinese, simplified, VOCABULARY)

    pieces, scores = kept(scratch / "vocabulary.pickle", choose)
    features = kept(scratch / "features.pickle", lambda: token_features(weights, teacher, pieces))
    texts, twins = lesson_texts(found)

    parts = [
        kept(
            scratch / f"lesson-{prefix}-{start}.pickle",
            partial(teacher.encode, texts[start : start + STEP], f"{prefix}: "),
        )
        for prefix in ("query", "passage")
        for start in range(0, len(texts), STEP)
    ]
    half = len(parts) // 2
    vectors = ((np.vstack(parts[:half]) + np.vstack(parts[half:])) / 2).astype(np.float32)
    return Material(Segmenter(pieces, scores.tolist(), simplified), features, fit.Lesson(texts, vectors, twins))


def fit_table(material: Material, recipe: Recipe) -> StaticTable:
    """The table by the recipe."""
    segmenter, lesson = material.segmenter, material.lesson
    probability = np.exp(np.asarray(segmenter.scores))
    weights = (fit.SIF / (fit.SIF + probability)).astype(np.float32)
    y = fit.target(lesson, recipe.dimensions, recipe.whitening, recipe.blend)
    x = fit.weigh(fit.counts(segmenter, lesson.texts), weights)
    features = fit.standardise(material.features)
    rows = features @ fit.project(x, features, y, recipe.ridge)
    rows = fit.refine(x, rows, y, recipe.residual, recipe.steps)
    return fit.pack(segmenter, rows * weights[:, None], lesson.texts)


def main() -> None:
    """Command line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("scratch", type=Path)
    arguments.add_argument("out", type=Path, nargs="?", default=OUT)
    arguments.add_argument("--threads", type=int, default=1)
    given = arguments.parse_args()
    recipe = Recipe()
    material = gather(given.scratch, given.threads)
    table = fit_table(material, recipe)
    facts = {
        "dimensions": recipe.dimensions,
        "rows": len(table.segmenter.pieces),
        "teacher": "multilingual-e5-small, MIT",
    }
    print("fingerprint", fit.save(table, given.out, facts))


if __name__ == "__main__":
    main()
