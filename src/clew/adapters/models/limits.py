"""What is said when an answer ends at its limit."""

from __future__ import annotations

from clew.errors import ModelCut


def limited(name: str, limit: int, *, empty: bool) -> ModelCut:
    """Return the error for an answer that ended at its limit of tokens."""
    if empty:
        message = f"{name}: all {limit:,} tokens of the answer were used up before any text came"
    else:
        message = f"{name}: the answer ended at its limit of {limit:,} tokens"
    return ModelCut(message, hint="allow a longer answer: `answer_tokens` in the settings", reason="limit", limit=limit)
