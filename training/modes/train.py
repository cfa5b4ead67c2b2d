"""Train the mode decision: questions in, src/clew/data/modes/modes.npz out.

    python training/modes/train.py                  train on every *.jsonl beside this file and write the weights
    python training/modes/train.py --check          cross-validation grouped by kind and by random fold, writes nothing
    python training/modes/train.py --measure FILE   figures of the shipped weights on a labelled file

Needs scikit-learn beside Clew itself.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold

from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import Evidence, Mode, decide
from clew.core.context.topics import SURFACE_COUNT, Features, ModeModel, features, weigh

HERE: Final = Path(__file__).parent
WEIGHTS: Final = HERE.parents[1] / "src" / "clew" / "data" / "modes" / "modes.npz"
LEAST_QUESTIONS: Final = 2  # an n-gram seen in fewer questions is left out
STRENGTH: Final = 20.0  # inverse of the L2 penalty
SURFACE_SCALE: Final = 0.15
MODE_WEIGHTS: Final = {"minimal": 1.0, "lean": 1.6, "rich": 1.0}  # lean questions are fewer here than they are asked
RICH_TILT: Final = 1.1  # factor on the odds of rich: context that is missing costs twice what needless context does

# Kinds are finer than topics: a topic is a class of the model, a kind is a group for cross-validation.
TOPICS: Final[dict[str, list[tuple[str, str]]]] = {
    "minimal": [
        ("translate|rewrite|write|writing|office|creative|naming", "text"),
        ("smalltalk", "smalltalk"),
        ("puzzle|regex|math|data|convert|snippet", "snippet"),
        ("", "knowledge"),
    ],
    "lean": [
        ("git", "git"),
        ("pinned", "pinned"),
        ("project-runner|test-run|pkg", "runner"),
        ("env|platform|runtime|tool-probe|clock|shell|cwd", "machine"),
    ],
    "rich": [
        ("followup", "followup"),
        ("error", "error"),
        ("symbol|file|snippet", "named"),
        ("diff", "diff"),
        ("write-code", "change"),
        ("behaviour|search|overview|understand|project-config|config-project", "project"),
    ],
}

Row = dict[str, Any]


def topic_of(row: Row) -> str:
    """The topic, "mode.topic", of a labelled question; raises ValueError for an unknown kind."""
    for pattern, topic in TOPICS[row["ideal"]]:
        if re.match(pattern, row["kind"]):
            return f"{row['ideal']}.{topic}"
    raise ValueError(f"{row['id']}: no topic for kind {row['kind']!r} of mode {row['ideal']!r}")


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def vocabulary(seen: Sequence[Features]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Known n-grams in ascending order, and their inverse document frequency in steps of 1/16."""
    found: Counter[int] = Counter()
    for one in seen:
        found.update(one.chars.keys())
        found.update(one.words.keys())
    kept = sorted(key for key, count in found.items() if count >= LEAST_QUESTIONS)
    rarity = [round(16 * (math.log((1 + len(seen)) / (1 + found[key])) + 1)) for key in kept]
    return np.array(kept, np.uint32), np.array(rarity, np.uint8)


def matrix(seen: Sequence[Features], model: ModeModel) -> csr_matrix:
    """(questions, n-grams + surface features): the same values as at run time, before the weights."""
    at: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for number, one in enumerate(seen):
        for counts in (one.chars, one.words):
            rows, integers, norm = weigh(counts, model)
            at += [number] * len(rows)
            columns += rows.tolist()
            values += (integers / norm).tolist()
    grams = csr_matrix((values, (at, columns)), shape=(len(seen), len(model.keys)))
    return hstack([grams, csr_matrix(np.array([one.surface for one in seen]) * SURFACE_SCALE)]).tocsr()


def fit(rows: Sequence[Row]) -> ModeModel:
    """Train on labelled questions and round the weights to int8."""
    seen = [features(row["query"]) for row in rows]
    keys, rarity = vocabulary(seen)
    names = sorted({topic_of(row) for row in rows})
    empty = ModeModel(
        keys,
        rarity,
        np.zeros((len(keys), len(names)), np.int8),
        1.0,
        np.zeros((SURFACE_COUNT, len(names))),
        np.zeros(len(names)),
        tuple(names),
    )
    regression = LogisticRegression(max_iter=1000, C=STRENGTH)
    regression.fit(
        matrix(seen, empty),
        [topic_of(row) for row in rows],
        sample_weight=[MODE_WEIGHTS[row["ideal"]] for row in rows],
    )
    weights = regression.coef_.T[: len(keys)]
    tilt = [math.log(RICH_TILT) if str(name).startswith("rich.") else 0.0 for name in regression.classes_]
    step = float(np.abs(weights).max()) / 127
    return ModeModel(
        keys,
        rarity,
        np.rint(weights / step).astype(np.int8),
        step,
        np.round(regression.coef_.T[len(keys) :] * SURFACE_SCALE, 4),
        np.round(regression.intercept_ + np.array(tilt), 4),
        tuple(str(name) for name in regression.classes_),
    )


def write(model: ModeModel, path: Path) -> None:
    """Same weights, same bytes: entries carry a fixed time."""
    arrays = {
        "keys": model.keys,
        "rarity": model.rarity,
        "weights": model.weights,
        "step": np.float64(model.step),
        "surface": model.surface.astype(np.float32),
        "bias": model.bias.astype(np.float32),
        "topics": np.array(model.topics),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, np.asarray(array), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue(), zipfile.ZIP_DEFLATED
            )


def answers(rows: Sequence[Row], model: ModeModel) -> list[Mode]:
    return [decide(row["query"], Evidence(explicit=row["explicit"]), model).mode for row in rows]


def figures(name: str, rows: Sequence[Row], got: Sequence[Mode]) -> str:
    """One line: accuracy, macro-F1, precision and recall of each mode, the two costly confusions."""
    right = [row["ideal"] for row in rows]
    parts: list[str] = []
    scores: list[float] = []
    for mode in Mode:
        hit = sum(a == b == mode for a, b in zip(got, right, strict=True))
        precision, recall = hit / max(1, list(got).count(mode)), hit / max(1, right.count(mode))
        scores.append(2 * precision * recall / max(1e-9, precision + recall))
        parts.append(f"{mode} {precision:.2f}/{recall:.2f}")
    accuracy = sum(a == b for a, b in zip(got, right, strict=True)) / len(right)
    missed = sum(b == "rich" and a == "minimal" for a, b in zip(got, right, strict=True))
    wasted = sum(b == "minimal" and a == "rich" for a, b in zip(got, right, strict=True))
    return (
        f"{name:24s} n {len(right):4d}  accuracy {accuracy:.3f}  macro-F1 {sum(scores) / 3:.3f}  {'  '.join(parts)}"
        f"  rich->minimal {missed}  minimal->rich {wasted}"
    )


def cross_validate(rows: Sequence[Row]) -> None:
    """Five folds, once so that a kind is never on both sides, once at random."""
    labels = [row["ideal"] for row in rows]
    kinds = [f"{row['ideal']}:{row['kind']}" for row in rows]
    for name, folds in (
        ("grouped by kind", GroupKFold(5).split(rows, labels, kinds)),
        ("at random", StratifiedKFold(5, shuffle=True, random_state=1).split(rows, labels)),
    ):
        tested: list[Row] = []
        got: list[Mode] = []
        for known, unseen in folds:
            model = fit([rows[at] for at in known])
            tested += [rows[at] for at in unseen]
            got += answers([rows[at] for at in unseen], model)
        print(figures(name, tested, got))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", type=Path, metavar="FILE")
    wanted = parser.parse_args()
    if wanted.measure:
        rows = read(wanted.measure)
        print(figures(wanted.measure.name, rows, answers(rows, load_mode_model())))
        return 0
    rows = [row for path in sorted(HERE.glob("*.jsonl")) for row in read(path)]
    if wanted.check:
        cross_validate(rows)
        return 0
    model = fit(rows)
    write(model, WEIGHTS)
    print(f"{len(rows)} questions, {len(model.keys)} n-grams, {WEIGHTS.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
