"""Messages of JSON-RPC 2.0 as the Model Context Protocol uses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions of the protocol that begin with a handshake, the newest first."""
ENVELOPED: Final = ("2026-07-28",)
"""Revisions without one, in which each request says its own; see `envelope`."""
MOST_BYTES: Final = 32 << 20
"""A longer message is not read."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022

Message = dict[str, Any]
Send = Callable[[Message], None]
"""Hands one message to the client. Raises Gone when it is not there any more."""


class Gone(Exception):
    """The client went away."""


class Malformed(Exception):
    """A message that cannot be answered as asked."""

    def __init__(
        self, code: int, message: str, ident: str | int | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.ident = ident
        self.facts = facts
        """What a program can go by; `data` of the error."""

    @property
    def answer(self) -> Message:
        """What the client is told."""
        return failure(self.ident, self.code, str(self), self.facts)


@dataclass(frozen=True, slots=True)
class Request:
    """Something the client wants an answer to."""

    ident: str | int
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """Something the client only says."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """The client's answer to a request of ours."""

    ident: str | int
    result: Mapping[str, Any] | None
    """None where it was an error."""


def read_message(line: bytes | str) -> Request | Notification | Response:
    """One message. Raises Malformed."""
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise Malformed(PARSE_ERROR, "this is no JSON") from None
    if not isinstance(found, dict):
        raise Malformed(INVALID_REQUEST, "a message is one JSON object")
    message = cast("Message", found)
    ident = message.get("id")
    known = ident if isinstance(ident, str | int) and not isinstance(ident, bool) else None
    if message.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'a message has `"jsonrpc": "2.0"`', known)
    if "id" in message and known is None:
        raise Malformed(INVALID_REQUEST, "an `id` is a string or a whole number")
    method = message.get("method")
    if method is None and known is not None and ("result" in message or "error" in message):
        result = message.get("result")
        return Response(known, cast("Message", result) if isinstance(result, dict) else None)
    if not isinstance(method, str):
        raise Malformed(INVALID_REQUEST, "a message names its `method`", known)
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        raise Malformed(INVALID_PARAMS, "`params` is an object", known)
    given = cast("Message", params or {})
    return Notification(method, given) if known is None else Request(known, method, given)


def written(message: Mapping[str, Any]) -> bytes:
    """A message as bytes on one line, without its end."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    # Halves of surrogate pairs come from clients; no line may fail for them.
    return text.encode("utf-8", "replace")


def success(ident: str | int, result: Mapping[str, Any]) -> Message:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": ident, "result": dict(result)}


def failure(ident: str | int | None, code: int, message: str, facts: Mapping[str, Any] | None = None) -> Message:
    """The answer to a request that cannot be served."""
    more = {} if facts is None else {"data": dict(facts)}
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message, **more}}


def notification(method: str, params: Mapping[str, Any]) -> Message:
    """Something to say."""
    return {"jsonrpc": "2.0", "method": method, "params": dict(params)}


def request(ident: str, method: str) -> Message:
    """A question to the client."""
    return {"jsonrpc": "2.0", "id": ident, "method": method}
