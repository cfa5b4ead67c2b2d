"""Fits the weights of recall on the numbers of collect.py.

python fit.py OUT            writes src/clew/data/recall.json
python fit.py OUT --measure  figures by size of the store, for worlds that took no part in the fit
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROOT = Path(__file__).parent.parent.parent
TARGET = ROOT / "src" / "clew" / "data" / "recall.json"
L2 = 3.0
STRANGER, HARMFUL = 0.5, 2.0
SELECTION, EVERY = 0.2, 0.05
"""What a pair of a small selection and of the store of all worlds counts beside a pair of a world's own store."""
WITHIN = 1.5
RATE = {"e5.when": 1 / 75, "e5.plain": 1 / 36, "static.when": 1 / 75, "static.plain": 1 / 32}
"""False hits for a message without a relevant note; phrases leave room to be strict. The table without phrases has the
weakest signs: held as quiet as the others it would say next to nothing."""
BANDS = ((1, 2, 3), (5, 8), (15,), (30,), (200,))
"""Sizes that are looked at together."""
MISSING_RATE = {"when": 1 / 54, "plain": 1 / 36}
"""The same for all messages with a selection that has no relevant note: here notes beside the matter come up that a
colleague might well mention where the right one is missing."""
LEAST_FALL = -0.5
"""Small stores get no more credit than this, however quiet they were: they stand for all that users may begin with."""
REJECT = 6.0
WHOLE_SIZE = 30


class Pairs:
    """Messages x notes with labels: 3 relevant, 2 acceptable, 1 harmful, 0 neither."""

    def __init__(self, folder: Path):
        loaded = np.load(folder / "numbers.npz")
        self.names = [str(name) for name in loaded["names"]]
        index = loaded["index"].astype(np.int64)
        self.world, self.message, self.size, self.wanted, self.label, own = index.T
        self.own = own.astype(bool)
        self.numbers = {key: loaded[key] for key in loaded.files if "." in key}
        key = ((self.world * 1000 + self.message) * 1000 + self.size) * 2 + self.wanted
        self.starts = np.append(np.flatnonzero(np.append(True, key[1:] != key[:-1])), len(key))
        has = np.zeros((self.world.max() + 1, self.message.max() + 1), bool)
        has[self.world[self.label == 3], self.message[self.label == 3]] = True
        self.has_one = has[self.world, self.message]
        self.stores = list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))
        """Rows of each message with each store."""


def newton(x: Floats, y: Floats, weight: Floats, l2: float):
    """Logistic regression with L2 (not on the bias) on standardised columns; bias and weights for raw columns."""
    x = x.astype(np.float64)
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
        if np.abs(step).max() < 1e-4:
            break
    weights = beta[:-1] / scale
    return beta[-1] - weights @ mean, weights


def fit_model(pairs: Pairs, key: str, rows: Any):
    used = rows & (pairs.label != 2)
    small = pairs.size < WHOLE_SIZE
    weight = np.where(pairs.own, 1.0, STRANGER) * np.where(pairs.label == 1, HARMFUL, 1.0)
    weight *= np.where(small, SELECTION, np.where(pairs.size > WHOLE_SIZE, EVERY, 1.0))
    return newton(pairs.numbers[key][used], (pairs.label[used] == 3).astype(float), weight[used], L2)


def emitted(logit: Floats, first: Any, later: Any, within: float, most: int = 3):
    order = np.argsort(-logit, kind="stable")[:most]
    if not len(order) or logit[order[0]] < first:
        return order[:0]
    best = logit[order[0]]
    return np.array(
        [at for place, at in enumerate(order) if not place or (logit[at] >= later and logit[at] >= best - within)]
    )


def measure(pairs: Pairs, logit: Floats, stores: Any, first: Any, later: Any, within: float):
    """recall@3, precision, emitted recall, false hits, harmful, messages without and with relevant notes."""
    hits = shown = noise = false = harmful = wanted = none = some = 0
    ranked = []
    for start, stop in stores:
        label, score = pairs.label[start:stop], logit[start:stop]
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
        "recall@3": float(np.mean(ranked)) if ranked else 0.0, "precision": hits / max(1, hits + noise),
        "emitted": hits / max(1, wanted), "false": false, "none": none, "rate": false / max(1, none),
        "harmful": harmful, "n": none + some,
    }  # fmt: skip


def of_size(pairs: Pairs, *sizes: int):
    return [(start, stop) for start, stop in pairs.stores if pairs.size[start] in sizes]


def worst(pairs: Pairs, logit: Floats, stores: Any, *, never: bool = False):
    """Of each message without a relevant note in its store the greatest logit of a note that would be wrong,
    descending; with `never` only of messages that have none in their world either."""
    found = []
    for start, stop in stores:
        label = pairs.label[start:stop]
        if not (label == 3).any() and not (never and pairs.has_one[start]):
            found.append(logit[start:stop][label < 2].max(initial=-99.0))
    return np.sort(found)[::-1]


def thresholds(pairs: Pairs, logit: Floats, least_precision: float, rate: float):
    """The first threshold with the greatest emitted recall at a precision in whole worlds, and a false hit for at
    most the share `rate` of messages without a relevant note."""
    best = None
    whole = of_size(pairs, WHOLE_SIZE)
    for first in np.arange(-1.5, 4.01, 0.1):
        for later in (first, first + 0.5, first + 1.0):
            figures = measure(pairs, logit, whole, first, later, WITHIN)
            quiet = figures["precision"] >= least_precision and figures["false"] <= rate * figures["none"]
            if quiet and (best is None or figures["emitted"] > best[0]):
                best = (figures["emitted"], round(float(first), 2), round(float(later), 2))
    return best or (0.0, 2.0, 2.5)


def falls(pairs: Pairs, logit: Floats, first: Any, missing: Any):
    """By the number of notes in force: how far logits fall there, so that false hits are no more frequent than in
    whole worlds."""
    rate = float((worst(pairs, logit, of_size(pairs, WHOLE_SIZE)) >= first).mean())
    found = []
    for band in BANDS:
        counts = [np.log(stop - start) for start, stop in of_size(pairs, *band)]
        limits = [(worst(pairs, logit, of_size(pairs, size), never=True), rate) for size in band]
        limits += [(worst(pairs, logit, of_size(pairs, size)), missing) for size in band]
        needed = max(float(bad[int(most * len(bad))]) + 0.01 for bad, most in limits)
        fall = 0.0 if band == (WHOLE_SIZE,) else max(LEAST_FALL, needed - first)
        found.append([round(float(np.exp(np.mean(counts)))) if len(band) == 1 else band[-1], round(fall, 2)])
    return found


def fallen(pairs: Pairs, logit: Floats, knots: Any):
    """Logits after their fall."""
    counts, depths = np.array(knots, float).T
    sizes = np.diff(pairs.starts)
    return logit - np.repeat(np.interp(np.log(sizes), np.log(counts), depths), sizes)


def out_of_fold(pairs: Pairs, key: str):
    logit = np.zeros(len(pairs.label))
    for world in np.unique(pairs.world):
        bias, weights = fit_model(pairs, key, pairs.world != world)
        rows = pairs.world == world
        logit[rows] = pairs.numbers[key][rows] @ weights + bias
    return logit


def show(name: str, figures: Any):
    print(
        f"{name:24s} " + "  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()),
        flush=True,
    )


PRECISION = {"e5.when": 0.90, "e5.plain": 0.80, "static.when": 0.87, "static.plain": 0.74}
"""What the thresholds are chosen for, on worlds that took no part in the fit: rather silent than wrong."""


def main() -> None:
    folder = Path(sys.argv[1])
    pairs = Pairs(folder)
    models = {}
    everything = np.ones(len(pairs.label), bool)
    for key in sorted(pairs.numbers):
        logit = out_of_fold(pairs, key)
        np.save(folder / f"logit.{key}.npy", logit)
        _, first, later = thresholds(pairs, logit, PRECISION[key], RATE[key])
        print(f"{key} {first} {later}")
        knots = falls(pairs, logit, first, MISSING_RATE[key.partition(".")[2]])
        print(f"   falls {knots}")
        logit = fallen(pairs, logit, knots)
        if "--measure" in sys.argv:
            for size in np.unique(pairs.size):
                show(f"   {size} notes", measure(pairs, logit, of_size(pairs, int(size)), first, later, WITHIN))
            for at in np.arange(0, 3.6, 0.5):
                show(f"   whole at {at}", measure(pairs, logit, of_size(pairs, WHOLE_SIZE), at, at, WITHIN))
        bias, weights = fit_model(pairs, key, everything)
        models[key] = {
            "bias": round(float(bias), 4), "first": first, "later": later, "within": WITHIN, "falls": knots,
            "weights": {name: round(float(one), 4) for name, one in zip(pairs.names, weights, strict=True)},
        }  # fmt: skip
        if "--weights" in sys.argv:
            scale = pairs.numbers[key].std(axis=0)
            for name, one in sorted(zip(pairs.names, weights * scale, strict=True), key=lambda item: -abs(item[1])):
                print(f"      {name:18s} {one:+.2f}")
    usual = json.loads((folder / "usual.json").read_text(encoding="utf-8"))
    if "--measure" not in sys.argv:
        whole = {"reject": REJECT, "usual": usual, "models": models}
        TARGET.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
