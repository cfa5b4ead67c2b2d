"""How many tokens a model takes, as its provider publishes it."""

from __future__ import annotations

from typing import Final

from clew.adapters.models.endpoints import Endpoint

ASSUMED: Final = 128_000
"""Where nothing is known of a model."""
_LOCAL: Final = 32_768
"""For a server on this machine that does not say it."""


def window_of(endpoint: Endpoint) -> tuple[int, bool]:
    """Tokens of prompt and answer together, and whether that is known rather than assumed."""
    # A table of a few megabytes, which is only needed where an agent runs.
    from genai_prices import data_snapshot  # noqa: PLC0415

    if endpoint.provider == "ollama":
        return _LOCAL, False
    try:
        _, model = data_snapshot.get_snapshot().find_provider_model(endpoint.model, None, endpoint.provider, None)
    except LookupError:
        return ASSUMED, False
    found = model.context_window
    return (found, True) if found else (ASSUMED, False)
