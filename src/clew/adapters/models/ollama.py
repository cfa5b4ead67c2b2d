"""What a running Ollama has."""

from __future__ import annotations

import json
import urllib.request

PATIENCE = 1.0
"""Seconds for the server to answer; it is usually on this machine."""

_LARGEST = 4_000_000
"""Bytes of the answer that are read."""


def installed(url: str) -> tuple[str, ...] | None:
    """Return the names of the models at base URL `url` (with its `/v1`); None where no Ollama answers."""
    # No proxy: the address is the user's own server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url.removesuffix('/v1')}/api/tags", timeout=PATIENCE) as answer:
            content = json.loads(answer.read(_LARGEST))
        return tuple(str(model["name"]) for model in content["models"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
