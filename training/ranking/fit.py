"""Fit the weights of the ranking and write src/clew/data/ranking.json.

python fit.py IN              fit on everything that collect.py kept in IN, and write the weights
python fit.py IN --measure    leave one project out at a time and print how well the rest serves it; writes nothing
python fit.py IN --files      write the weights of files and passages only, and keep those of the confidence
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from choices import Array, Asked, Choice, Logistic, fit_asked, fit_choice

from clew.core.index.confidence import NUMBERS
from clew.core.index.passages import CHUNK_FEATURES
from clew.core.index.rank import FEATURES

TARGET = Path(__file__).parents[2] / "src" / "clew" / "data" / "ranking.json"
STRENGTH_FILES = 0.02
STRENGTH_CHANGES = 0.01
STRENGTH_PASSAGES = 0.003
STRENGTH_CONFIDENCE = 100.0
NEGATIVES = 80
"""Candidate files a question that take part in the fit."""
HARD = 4.0
FRAGMENT = 0.2
UNKNOWN_PRODUCT = -1.5
"""Log odds for a product that is named and stands nowhere: it does for 13 of the 116 questions without an answer and
for 3 of the 176 with one (-1.9), shrunk for so few. Beside numbers that every question has, a fit leaves it at 0."""
KEPT = 0.78
"""Share of the answerable training questions that the decision point lets through."""
BUDGET = 7200


def fit_files(choices: Sequence[Choice]) -> Array:
    """Weights of files for questions."""
    return fit_choice(choices, range(len(FEATURES)), STRENGTH_FILES, NEGATIVES)


def fit_changes(choices: Sequence[Choice]) -> Array:
    """Weights of files for commits."""
    return fit_choice(choices, range(len(FEATURES)), STRENGTH_CHANGES, NEGATIVES)


def fit_passages(choices: Sequence[Choice]) -> Array:
    """Weights of passages."""
    return fit_choice(choices, range(len(CHUNK_FEATURES)), STRENGTH_PASSAGES, sys.maxsize)


def fit_confidence(asked: Sequence[Asked]) -> Logistic:
    """The model of the confidence, before its decision point is moved."""
    given = np.array([UNKNOWN_PRODUCT if name == "product_unknown" else 0.0 for name in NUMBERS])
    return fit_asked(asked, STRENGTH_CONFIDENCE, HARD, FRAGMENT, given)


def left_out_weights(choices: Sequence[Choice], fit: Callable[[Sequence[Choice]], Array]) -> dict[str, Array]:
    """By project, the weights that the others give."""
    return {repo: fit([one for one in choices if one.repo != repo]) for repo in sorted({c.repo for c in choices})}


def left_out_logits(asked: Sequence[Asked]) -> Array:
    """Log odds of each question by the model of the questions about other projects."""
    found = np.zeros(len(asked))
    for repo in {one.repo for one in asked}:
        model = fit_confidence([one for one in asked if one.repo != repo])
        own = np.array([one.repo == repo for one in asked])
        found[own] = model.logit(np.array([one.x for one in asked])[own])
    return found


def decision_point(asked: Sequence[Asked], logits: Array) -> float:
    """The log odds above which a share of KEPT of the whole questions with an answer lies."""
    return float(np.quantile(logits[[one.answered and not one.short for one in asked]], 1 - KEPT))


def measure(folder: Path) -> None:
    """Print the figures for projects that took no part in the fit."""
    for name, fit in (("files", fit_files), ("changes", fit_changes)):
        choices = read(folder, name)
        if not choices:
            continue
        weights = left_out_weights(choices, fit)
        rows = [[c.recall(weights[c.repo], depth) for depth in (1, 5, 10)] for c in choices]
        one, five, ten = np.mean(rows, axis=0)
        whole = np.mean([row[1] == 1 for row in rows])
        print(f"{name} ({len(rows)}): R@1 {one:.3f}, R@5 {five:.3f}, R@10 {ten:.3f}, all in five {whole:.3f}")
    choices = read(folder, "passages")
    if not choices:
        return
    weights = left_out_weights(choices, fit_passages)
    packed = [one.packed(weights[one.repo], BUDGET) for one in choices]
    for lang in ("en", "zh"):
        own = [share == 1 for share, one in zip(packed, choices, strict=True) if one.lang == lang]
        print(f"passages, {lang} ({len(own)}): covered in {BUDGET} tokens {np.mean(own):.3f}")
    asked: list[Asked] = read(folder, "asked")
    logits = left_out_logits(asked)
    said = logits < decision_point(asked, logits)
    answered = np.array([one.answered for one in asked])
    elsewhere = np.array([one.elsewhere for one in asked])
    short = np.array([one.short for one in asked])
    right = np.array([one.files_right for one in asked])
    for name, own in (("whole", ~short), ("fragments", short)):
        absent = own & ~answered & ~elsewhere
        told = f", absent told {said[absent].mean():.3f} of {absent.sum()}" if absent.any() else ""
        print(
            f"confidence, {name}: wrong project told {said[own & elsewhere].mean():.3f} of {(own & elsewhere).sum()}"
            f"{told}, all in five and let through {(right & ~said)[own & answered].mean():.3f} "
            f"(of {right[own & answered].mean():.3f})"
        )


def write(folder: Path) -> None:
    """Fit on everything and write the shipped weights."""
    shipped = json.loads(TARGET.read_text(encoding="utf-8"))
    shipped.pop("fingerprint", None)
    if choices := read(folder, "files"):
        shipped["file_question"] = named(FEATURES, fit_files(choices))
    if choices := read(folder, "changes"):
        shipped["file_change"] = named(FEATURES, fit_changes(choices))
    if choices := read(folder, "passages"):
        shipped["passage"] = named(CHUNK_FEATURES, fit_passages(choices))
    if asked := read(folder, "asked"):
        model = fit_confidence(asked)
        point = decision_point(asked, left_out_logits(asked))
        shipped["abstain"] = {**named(NUMBERS, model.weights), "bias": round(model.bias - point, 4)}
    mark = hashlib.blake2b(json.dumps(shipped, sort_keys=True).encode(), digest_size=8).hexdigest()
    TARGET.write_text(json.dumps({**shipped, "fingerprint": mark}, indent=1) + "\n", encoding="utf-8")
    print(mark)


def named(names: Sequence[str], weights: Array) -> dict[str, float]:
    """Weights by name, short enough to read."""
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def read(folder: Path, name: str) -> Any:
    """Examples of collect.py, none where it kept none. Stops where they were made for other numbers than now."""
    if not (folder / f"{name}.pkl").exists():
        return []
    examples = pickle.loads((folder / f"{name}.pkl").read_bytes())
    expected = {"files": FEATURES, "changes": FEATURES, "passages": CHUNK_FEATURES}.get(name)
    kept = examples[0].names if expected else examples[0].x
    if (expected and kept != expected) or (not expected and len(kept) != len(NUMBERS)):
        sys.exit(f"{folder / name}.pkl holds other numbers: run collect.py again")
    return examples


def main() -> None:
    """Measure or write."""
    folder = Path(sys.argv[1])
    if "--measure" in sys.argv:
        measure(folder)
    else:
        write(folder)


if __name__ == "__main__":
    main()
