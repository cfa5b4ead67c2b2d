"""The revision of the protocol without a handshake: each request says for itself which revision and client it is from.

Nothing is kept between requests. What the server would ask its client, it answers instead, and is called again with it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clew._version import __version__
from clew.entrypoints.mcp.wire import (
    ENVELOPED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    VERSIONS,
    Malformed,
    Message,
    Request,
)

SERVER: Final = {"name": "clew", "title": "Clew memory", "version": __version__}
"""Who answers."""
FRESH_MILLISECONDS: Final = 3_600_000
"""For so long a client need not ask again for what is the same as long as the server runs."""
NAMED_HEADERS: Final = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""Headers of HTTP that say again what the body says."""
_PREFIX: Final = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientCapabilities"
_ROOTS: Final = "roots"
_CODED = re.compile(r"=\?base64\?(.*)\?=")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a request says about its client."""

    version: str
    has_roots: bool
    """Whether the client can be asked for its folders."""
    level: str
    """From which level on it wants to be told of warnings; empty: of none."""


class Needed(Exception):
    """The client has to say first which folders it works in, and then call again."""


def is_enveloped(message: Request) -> bool:
    """Whether a request is one of this revision: only there it says its revision itself."""
    meta = message.params.get("_meta")
    return message.method != "initialize" and isinstance(meta, Mapping) and _VERSION in meta


def envelope_of(message: Request) -> Envelope:
    """What a request says about its client. Raises Malformed where that is not all there."""
    meta = message.params.get("_meta")
    missing = [key for key in (_VERSION, _CAPABILITIES) if not isinstance(meta, Mapping) or key not in meta]
    if not isinstance(meta, Mapping) or missing:
        raise Malformed(INVALID_PARAMS, f"`_meta` lacks {', '.join(missing)}", message.ident)
    version, capabilities, level = meta[_VERSION], meta[_CAPABILITIES], meta.get(f"{_PREFIX}logLevel")
    if not isinstance(version, str) or not isinstance(capabilities, Mapping):
        raise Malformed(INVALID_PARAMS, f"{_VERSION} is a text, {_CAPABILITIES} an object", message.ident)
    has_roots = isinstance(capabilities.get(_ROOTS), Mapping)
    return Envelope(version, has_roots, level if isinstance(level, str) else "")


def demand_spoken(version: str, ident: str | int | None = None) -> None:
    """Raises Malformed where a revision is not spoken in this way."""
    if version not in ENVELOPED:
        raise unspoken(version, ident)


def unspoken(version: str, ident: str | int | None = None) -> Malformed:
    """The error for a revision that is not spoken: it names those that are."""
    known = (*ENVELOPED, *VERSIONS)
    told = f"this revision of the protocol is not spoken; there are {', '.join(known)}"
    return Malformed(UNSUPPORTED_VERSION, told, ident, {"supported": list(known), "requested": version})


def demand_headers(message: Request, headers: Mapping[str, list[str]]) -> None:
    """Raises Malformed where headers of HTTP, by their names in NAMED_HEADERS, say something else than the body."""
    meta = message.params.get("_meta")
    said = {"MCP-Protocol-Version": meta.get(_VERSION) if isinstance(meta, Mapping) else None,
            "Mcp-Method": message.method}  # fmt: skip
    name = message.params.get("name")
    if message.method == "tools/call" and name is not None:
        said["Mcp-Name"] = name
    for header in NAMED_HEADERS:
        given = headers.get(header, [])
        if len(given) > 1:
            raise Malformed(HEADER_MISMATCH, f"the header {header} stands there more than once", message.ident)
        if header in said and (not given or _decoded(given[0]) != said[header]):
            raise Malformed(HEADER_MISMATCH, f"the header {header} does not say what the body says", message.ident)


def _decoded(value: str) -> str | None:
    """The text of a header, also where it is coded in base64; None where the code is broken."""
    match = _CODED.fullmatch(value)
    if match is None:
        return value
    try:
        content = base64.b64decode(match[1], validate=True)
        return content.decode() if base64.b64encode(content).decode() == match[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def completed(result: Mapping[str, Any], *, lasting: bool = False) -> Message:
    """A result of this revision. `lasting`: it is the same for everybody as long as the server runs."""
    fresh = {"ttlMs": FRESH_MILLISECONDS, "cacheScope": "public"} if lasting else {}
    return {"resultType": "complete", **result, **fresh, "_meta": {f"{_PREFIX}serverInfo": SERVER}}


def asking_for_roots() -> Message:
    """The result that asks the client for its folders."""
    wanted = {_ROOTS: {"method": "roots/list"}}
    return {**completed({}), "resultType": "input_required", "inputRequests": wanted}


def roots_given(message: Request) -> Mapping[str, Any] | None:
    """What the client said about its folders; None where it was not asked yet. Empty where it said nothing usable."""
    given = message.params.get("inputResponses")
    if not isinstance(given, Mapping) or _ROOTS not in given:
        return None
    found = given[_ROOTS]
    return found if isinstance(found, Mapping) else {}
