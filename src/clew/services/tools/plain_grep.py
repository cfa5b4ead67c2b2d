"""Search files line by line without ripgrep: slower, with the same answers in the same form (that of `rg --json`).

A program of its own, since an expression may take for ever and then has to be ended:
`python -m clew.services.tools.plain_grep` reads one request as JSON on standard input.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import msgspec

from clew.system import open_regular

MOST_BYTES = 64 << 20
"""Of one file; a longer one is passed over."""


class Request(msgspec.Struct):
    """What is looked for, and where. Without files, only whether the expression is one."""

    pattern: str
    files: list[str]
    """Relative to the current folder; bytes that are no UTF-8 as surrogates."""
    literal: bool = False
    ignore_case: bool = False
    context: int = 0


def main() -> int:
    """Print one line of JSON for each match. 2 where the expression is none."""
    request = msgspec.convert(json.loads(sys.stdin.read()), Request)
    warnings.simplefilter("ignore")
    pattern = re.escape(request.pattern) if request.literal else request.pattern
    try:
        wanted = re.compile(pattern, re.IGNORECASE if request.ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for name in request.files:
        for event in _events(name, wanted, request):
            sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()
    return 0


def _events(name: str, wanted: re.Pattern[str], request: Request) -> Iterator[dict[str, Any]]:
    content = _content(name)
    if content is None:
        return
    lines = _text(content).split("\n")
    if not lines[-1]:
        del lines[-1]
    lines = [line.removesuffix("\r") for line in lines]
    hits = [(at, found) for at, line in enumerate(lines) if (found := wanted.search(line))]
    if not hits:
        return
    matched = dict(hits)
    shown = {
        near
        for at, _ in hits
        for near in range(max(at - request.context, 0), min(at + request.context + 1, len(lines)))
    }
    for at in sorted(shown):
        data: dict[str, Any] = {"path": _said(name), "lines": _said(lines[at] + "\n"), "line_number": at + 1}
        if at in matched:
            start = len(lines[at][: matched[at].start()].encode("utf-8", "surrogateescape"))
            data["submatches"] = [{"start": start}]
        yield {"type": "match" if at in matched else "context", "data": data}
    stats = {"matched_lines": len(hits)}
    yield {"type": "end", "data": {"path": _said(name), "binary_offset": None, "stats": stats}}


def _content(name: str) -> bytes | None:
    """The bytes of a regular file; None for one that is gone, too long, binary, or not to be read."""
    try:
        with open_regular(name) as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        return None
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return None if len(content) > MOST_BYTES or (b"\0" in content and not marked) else content


def _text(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def _said(text: str) -> dict[str, str]:
    content = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"bytes": b64encode(content).decode()}


if __name__ == "__main__":
    sys.exit(main())
