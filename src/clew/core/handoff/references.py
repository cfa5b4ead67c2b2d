"""References to what is handed over, `clew://handoff/STEM`, `clew://plan`, `clew://plan/PLAN-TIME`, and to sessions."""

from __future__ import annotations

from typing import Final

HANDOFF: Final = "clew://handoff/"
"""Of a ledger, by the name of its file."""
PLAN: Final = "clew://plan"
"""Of the plan at hand; with `/PLAN-TIME` behind it, of an earlier version."""
SESSION: Final = "clew://session/"
"""Of a session, by its id; `#3` behind it names a run, `#3.5` one step of it."""


def is_reference(ref: str) -> bool:
    """Whether a reference is of this kind; lines of it may be named behind `#`."""
    bare = ref.strip().partition("#")[0]
    return bare.startswith(HANDOFF) or bare == PLAN or bare.startswith(f"{PLAN}/")


def reference(path: str) -> str:
    """What opens a file of the handoff folder, or of its archive."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    if stem == "PLAN":
        return PLAN
    return f"{PLAN}/{stem}" if stem.startswith("PLAN-") else f"{HANDOFF}{stem}"
