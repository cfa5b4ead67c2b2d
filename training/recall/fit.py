"""Fits the weights of recall on the numbers of collect.py.

python fit.py OUT            writes src/clew/data/recall.json
python fit.py OUT --measure  figures for worlds that took no part in the fit
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
TARGET = ROOT / "src" / "clew" / "data" / "recall.json"
L2 = 3.0
STRANGER, HARMFUL = 0.5, 2.0
WITHIN = 1.5
REJECT = 6.0


class Pairs:
    """Messages x notes with labels: 3 relevant, 2 acceptable, 1 harmful, 0 neither."""

    def __init__(self, folder: Path):
        loaded = np.load(folder / "numbers.npz")
        self.names = [str(name) for name in loaded["names"]]
        self.world, self.message, self.note, self.label, own, self.order = loaded["index"].T
        self.own = own.astype(bool)
        self.numbers = {key: loaded[key].astype(np.float64) for key in loaded.files if "." in key}
        self.group = self.world * 1000 + self.message


def newton(x, y, weight, l2):
    """Logistic regression with L2 (not on the bias) on standardised columns; bias and weights for raw columns."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-6] = 1e9
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    penalty = np.full(z.shape[1], l2)
    penalty[-1] = 1e-6
    beta = np.zeros(z.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-(z @ beta)))
        gradient = z.T @ (weight * (p - y)) + penalty * beta
        hessian = (z * (weight * p * (1 - p))[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-6:
            break
    weights = beta[:-1] / scale
    return beta[-1] - weights @ mean, weights


def fit_model(pairs: Pairs, key: str, rows):
    used = rows & (pairs.label != 2)
    weight = np.where(pairs.own, 1.0, STRANGER) * np.where(pairs.label == 1, HARMFUL, 1.0)
    return newton(pairs.numbers[key][used], (pairs.label[used] == 3).astype(float), weight[used], L2)


def emitted(logit, first, later, within, most=3):
    order = np.argsort(-logit, kind="stable")[:most]
    if not len(order) or logit[order[0]] < first:
        return order[:0]
    best = logit[order[0]]
    return np.array(
        [at for place, at in enumerate(order) if not place or (logit[at] >= later and logit[at] >= best - within)]
    )


def measure(pairs: Pairs, logit, rows, first, later, within):
    """recall@3, precision, emitted recall, false hits, harmful, messages without and with relevant notes."""
    hits = shown = noise = false = harmful = wanted = none = some = 0
    ranked = []
    for group in np.unique(pairs.group[rows]):
        mine = np.flatnonzero(pairs.group == group)
        label, score = pairs.label[mine], logit[mine]
        out = emitted(score, first, later, within)
        relevant = int((label == 3).sum())
        wanted += relevant
        hits += int((label[out] == 3).sum())
        bad = int((label[out] < 2).sum())
        noise += bad
        harmful += int((label[out] == 1).sum())
        shown += len(out)
        if relevant:
            some += 1
            top = np.argsort(-score, kind="stable")[:3]
            ranked.append((label[top] == 3).sum() / relevant)
        else:
            none += 1
            false += bad > 0
    return {
        "recall@3": np.mean(ranked), "precision": hits / max(1, hits + noise), "emitted": hits / max(1, wanted),
        "false": false, "none": none, "harmful": harmful, "n": none + some,
    }  # fmt: skip


def thresholds(pairs: Pairs, logit, rows, least_precision):
    """The first threshold with the greatest emitted recall at a precision, and a false hit for at most one in 36."""
    best = None
    for first in np.arange(-1.5, 3.01, 0.1):
        for later in (first, first + 0.5, first + 1.0):
            figures = measure(pairs, logit, rows, first, later, WITHIN)
            if figures["precision"] >= least_precision and figures["false"] <= figures["none"] / 36:
                if best is None or figures["emitted"] > best[0]:
                    best = (figures["emitted"], round(float(first), 2), round(float(later), 2))
    return best or (0.0, 2.0, 2.5)


def out_of_fold(pairs: Pairs, key: str):
    logit = np.zeros(len(pairs.label))
    for world in np.unique(pairs.world):
        bias, weights = fit_model(pairs, key, pairs.world != world)
        rows = pairs.world == world
        logit[rows] = pairs.numbers[key][rows] @ weights + bias
    return logit


def show(name, figures):
    print(
        f"{name:24s} " + "  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items())
    )


PRECISION = {"e5.when": 0.90, "e5.plain": 0.80, "static.when": 0.87, "static.plain": 0.78}
"""What the thresholds are chosen for, on worlds that took no part in the fit: rather silent than wrong."""


def main() -> None:
    pairs = Pairs(Path(sys.argv[1]))
    models = {}
    everything = np.ones(len(pairs.label), bool)
    for key in sorted(pairs.numbers):
        logit = out_of_fold(pairs, key)
        _, first, later = thresholds(pairs, logit, everything, PRECISION[key])
        show(f"{key} {first} {later}", measure(pairs, logit, everything, first, later, WITHIN))
        if "--measure" in sys.argv:
            for world in np.unique(pairs.world):
                show(f"   world {world}", measure(pairs, logit, pairs.world == world, first, later, WITHIN))
            for at in np.arange(-1, 3, 0.5):
                show(f"   at {at}", measure(pairs, logit, everything, at, at + 0.5, WITHIN))
        bias, weights = fit_model(pairs, key, everything)
        models[key] = {
            "bias": round(float(bias), 4), "first": first, "later": later, "within": WITHIN,
            "weights": {name: round(float(one), 4) for name, one in zip(pairs.names, weights, strict=True)},
        }  # fmt: skip
        if "--weights" in sys.argv:
            scale = pairs.numbers[key].std(axis=0)
            for name, one in sorted(zip(pairs.names, weights * scale), key=lambda item: -abs(item[1])):
                print(f"      {name:18s} {one:+.2f}")
    if "--measure" not in sys.argv:
        TARGET.write_text(json.dumps({"reject": REJECT, "models": models}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
