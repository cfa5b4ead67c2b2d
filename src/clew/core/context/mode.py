"""Which mode a question gets: minimal (no context), lean (facts and names), rich (all within budget).

The decision has two parts. Evidence, what the workspace knows about the question, is looked at first, together with
phrases that point at the project or at what was just said. What they leave open is settled by a multinomial logistic
regression over the question's own text: character n-grams 1..4, word n-grams 1..3 with names masked, and a few surface
features. Its classes are topics (a follow-up, a git fact, a piece of general knowledge, ...); the probability of a mode
is the sum over its topics, and the reason names the topic that carried it.

Everything is integer arithmetic up to one division, and features are keyed by CRC-32, so that the same question gets the
same answer on every platform.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt


class Mode(StrEnum):
    """How much context a question gets."""

    MINIMAL = "minimal"
    LEAN = "lean"
    RICH = "rich"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the workspace knows about the question; every default means "nothing known".

    `relevance` is a calibrated probability in 0..1 that something here answers the question, None when nobody asked.
    """

    explicit: bool = False
    symbols: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    has_exchange: bool = False
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The mode, one line that says why, and the probability of each mode (they sum to 1).

    `code` names the reason for machines; `detail` is the word that carried it, empty if none did.
    """

    mode: Mode
    reason: str
    scores: Mapping[Mode, float]
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModeModel:
    """Weights of the text model: `topics` columns, `keys` rows.

    keys     (n,)   uint32, sorted: CRC-32 of each known n-gram
    rarity   (n,)   uint8, inverse document frequency in steps of 1/16
    weights  (n, t) int8, in steps of `step`
    surface  (s, t) float64, one row a surface feature
    bias     (t,)   float64
    topics   t names as "mode.topic"
    """

    keys: npt.NDArray[np.uint32]
    rarity: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.int8]
    step: float
    surface: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    topics: tuple[str, ...]
