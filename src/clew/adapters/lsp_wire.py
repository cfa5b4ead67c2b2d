"""How language servers talk: JSON-RPC messages with a head on a stream, files as URIs, findings as they send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

import msgspec

from clew.core.agent.findings import SEVERITIES, Finding, Range, column

_MOST_HEAD: Final = 8 << 10
_MOST_BODY: Final = 32 << 20
_MOST_FINDINGS: Final = 2_000
"""Of one file; what comes behind is only counted."""
_MOST_MESSAGE: Final = 4_000


class Garbled(Exception):
    """What came is no message."""


def framed(message: Mapping[str, Any]) -> bytes:
    """A message as it is sent."""
    body = msgspec.json.encode({"jsonrpc": "2.0", **message})
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Unframer:
    """Messages out of pieces of a stream."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._body = -1

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The messages that are whole now. Raises Garbled."""
        self._kept += piece
        while True:
            if self._body < 0:
                end = self._kept.find(b"\r\n\r\n")
                if end < 0 and len(self._kept) > _MOST_HEAD:
                    raise Garbled("its answer has no head")
                if end < 0:
                    return
                self._body = _length(bytes(self._kept[:end]))
                del self._kept[: end + 4]
            if len(self._kept) < self._body:
                return
            body = bytes(self._kept[: self._body])
            del self._kept[: self._body]
            self._body = -1
            yield _message(body)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            break
        if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
            length = int(value)
            if length > _MOST_BODY:
                raise Garbled(f"a message of {length:,} bytes is too long")
            return length
    raise Garbled("its answer has no head")


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Garbled("a message is no JSON") from error
    if not isinstance(message, dict):
        raise Garbled("a message is no object")
    return cast("dict[str, Any]", message)


def path_of(uri: object) -> str:
    """The path that a URI names; empty for what is no file."""
    if not isinstance(uri, str):
        return ""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else ""


class _Position(msgspec.Struct):
    line: int
    character: int


class _Span(msgspec.Struct):
    start: _Position
    end: _Position


class _Markup(msgspec.Struct):
    value: str


class _Diagnostic(msgspec.Struct):
    range: _Span
    message: str | _Markup
    severity: int | None = None
    code: int | str | None = None
    source: str | None = None
    tags: list[int] | None = None


def findings_of(items: object, path: str, text: str, server: str, encoding: str) -> tuple[Finding, ...]:
    """What a server reports on a text. What is no report is left out, and marks that are only drawn: greyed code."""
    if not isinstance(items, list):
        return ()
    lines = text.split("\n")
    found: list[Finding] = []
    for item in cast("list[Any]", items)[:_MOST_FINDINGS]:
        try:
            one = msgspec.convert(item, _Diagnostic)
        except msgspec.ValidationError:
            continue
        if one.severity == len(SEVERITIES) and one.tags:
            continue
        message = one.message if isinstance(one.message, str) else one.message.value
        number = one.severity if one.severity and 1 <= one.severity <= len(SEVERITIES) else 1
        code = str(one.code) if one.code else ""
        source = one.source or server
        span = _range(one.range, lines, encoding)
        found.append(Finding(source, SEVERITIES[number - 1], path, span, message[:_MOST_MESSAGE], code))
    return tuple(found)


def _range(span: _Span, lines: Sequence[str], encoding: str) -> Range:
    start, end = _place(span.start, lines, encoding), _place(span.end, lines, encoding)
    return Range(*start, *end)


def _place(position: _Position, lines: Sequence[str], encoding: str) -> tuple[int, int]:
    line, units = max(position.line, 0), max(position.character, 0)
    return line + 1, column(lines[line] if line < len(lines) else "", units, encoding)
