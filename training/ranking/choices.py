"""Labelled examples, and the two models: a linear choice among candidates, and a yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates for one question, of which some are right."""

    repo: str
    lang: str
    names: tuple[str, ...]
    """Of the numbers."""
    x: Array
    """Shape (candidates, numbers)."""
    needs: tuple[tuple[int, ...], ...]
    """For each thing that is needed, the candidates that hold it; empty where none does."""
    tokens: npt.NDArray[np.int64]
    """What each candidate costs; empty for files."""

    def wanted(self) -> npt.NDArray[np.bool_]:
        """Which candidates are right."""
        found = np.zeros(len(self.x), dtype=bool)
        found[[at for need in self.needs for at in need]] = True
        return found

    def order(self, weights: Array) -> list[int]:
        """Candidates, best first; equal ones as they stand."""
        return [int(at) for at in np.argsort(-(self.x @ weights), kind="stable")]

    def recall(self, weights: Array, depth: int) -> float:
        """Share of the needs among the first candidates."""
        first = set(self.order(weights)[:depth])
        return sum(bool(first & set(need)) for need in self.needs) / len(self.needs)

    def packed(self, weights: Array, budget: int) -> float:
        """Share of the needs among the best candidates that fit into a budget of tokens."""
        held: set[int] = set()
        for at in self.order(weights):
            if self.tokens[at] <= budget:
                budget -= int(self.tokens[at])
                held.add(at)
        return sum(bool(held & set(need)) for need in self.needs) / len(self.needs)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question put to one project, for the confidence."""

    repo: str
    """The project that the question is about, which need not be the one it was put to."""
    x: tuple[float, ...]
    answered: bool
    elsewhere: bool
    """It was put to another project."""
    short: bool
    """Only a fragment of it was asked."""
    files_right: bool
    """All needed files are among the first five."""


def fit_choice(choices: Sequence[Choice], columns: Sequence[int], strength: float, most: int) -> Array:
    """Weights of the linear model under which the right candidates are likeliest (softmax over each question's own).

    Minimises the mean cross-entropy plus `strength` / 2 times the squared weights. Only `most` candidates a question
    take part, those with the most evidence (the first three numbers), and all right ones. Weights of numbers outside
    `columns` are 0.
    """
    groups: list[tuple[Array, Array]] = []
    for choice in choices:
        wanted = choice.wanted()
        if not wanted.any():
            continue
        keep = wanted.copy()
        keep[np.argsort(-choice.x[:, :3].sum(axis=1), kind="stable")[:most]] = True
        groups.append((choice.x[keep][:, columns], wanted[keep] / wanted.sum()))

    def loss(weights: Array) -> tuple[float, Array]:
        value, slope = strength / 2 * float(weights @ weights), strength * weights
        for x, share in groups:
            scores = x @ weights
            scores -= scores.max()
            chances = np.exp(scores)
            total = chances.sum()
            value += (float(np.log(total)) - float(share @ scores)) / len(groups)
            slope = slope + x.T @ (chances / total - share) / len(groups)
        return value, slope

    best: Any = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B")
    weights = np.zeros(choices[0].x.shape[1])
    weights[list(columns)] = best.x
    return weights


@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic regression on the numbers as they are."""

    weights: Array
    bias: float

    def logit(self, x: Array) -> Array:
        """Log odds, shape (questions,)."""
        return x @ self.weights + self.bias


def fit_asked(asked: Sequence[Asked], strength: float, hard: float, part: float, given: Array) -> Logistic:
    """Answered or not. A question that its own project does not answer counts `hard` times, a fragment `part`.

    `given` has one weight a number; where it is not 0 it stands, and the number takes no part in the fit.
    """
    x, y = np.array([one.x for one in asked]) * (given == 0), np.array([one.answered for one in asked])
    importance = [part if one.short else 1.0 if one.answered or one.elsewhere else hard for one in asked]
    scale = StandardScaler().fit(x)
    model = LogisticRegression(C=1 / strength, max_iter=5000).fit(scale.transform(x), y, sample_weight=importance)
    weights = model.coef_[0] / scale.scale_
    return Logistic(weights + given, float(model.intercept_[0] - weights @ scale.mean_))
