"""The weights of the mode decision, from the package's own files."""

from __future__ import annotations

import io
import zipfile
import zlib
from functools import cache
from importlib import resources

import numpy as np

from clew.core.context.topics import ModeModel


@cache
def load_mode_model() -> ModeModel | None:
    """The shipped weights, read once a process, about 1 MB in memory; None where they are missing or damaged."""
    try:
        return _read()
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _read() -> ModeModel:
    packed = resources.files("clew").joinpath("data", "modes", "modes.npz").read_bytes()
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return ModeModel(
            keys=arrays["keys"],
            rarity=arrays["rarity"],
            weights=arrays["weights"],
            step=float(arrays["step"]),
            surface=arrays["surface"].astype(np.float64),
            bias=arrays["bias"].astype(np.float64),
            topics=tuple(str(name) for name in arrays["topics"]),
        )
