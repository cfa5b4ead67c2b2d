"""Real clients in a folder of their own: `make wire` installs them, and without them these tests are skipped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Read before any test: the environment of a test knows nothing of the developer's.
FOLDER = Path(os.environ.get("WIRE_CLIENTS") or ROOT / ".wire").absolute()


@pytest.fixture
def installed() -> Callable[[str], Path]:
    """The file of a package's program; skips where it is not installed."""

    def find(name: str) -> Path:
        path = FOLDER / "node_modules" / name
        if not path.exists():
            pytest.skip(f"{name} is not installed in {FOLDER.name} (`make wire` does it)")
        return path

    return find


@pytest.fixture
def node(installed: Callable[[str], Path]) -> Path:
    """Node of the version that the suite and the inspector want."""
    return installed(".bin/node")
