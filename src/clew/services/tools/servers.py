"""Tools of MCP servers, as the agent has them: `mcp__server__tool`, asked for each time unless a rule allows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from clew.core.agent.bounded import bound
from clew.core.agent.effects import Effect
from clew.core.agent.servers import tool_names
from clew.core.text.printable import printable, visible
from clew.services.tools.tool import Reply, Signal, Tool

if TYPE_CHECKING:
    from clew.adapters.mcp_client import Server, ServerTool

LONGEST_DESCRIPTION: Final = 1_000
"""Characters of a tool's description that a model gets."""
MOST_SCHEMA: Final = 20_000
"""Bytes of a tool's schema; a tool with a longer one is left out, since a schema cannot be cut."""
_UNTAKEN: Final = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
"""What providers refuse at the top of a schema; the server itself still checks it."""
_MOST_FILED: Final = 2_000_000
"""Characters of an answer that are kept."""

Given = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Desk:
    """What calls of servers share."""

    timeout: float
    """Seconds without an answer or a report of progress."""
    redact: Callable[[str], str]
    scratch: Path
    """A folder of the session, for answers that are longer than what is shown."""
    progress: Callable[[str, str], None] = lambda _name, _words: None
    """Told how far a call is: the tool's name, the server's words."""


@dataclass(frozen=True, slots=True)
class Made:
    """The tools of one server, sorted by name."""

    tools: tuple[Tool[Any], ...]
    left_out: tuple[str, ...] = ()
    """Why a tool is not among them, one line each."""


def server_tools(short: str, server: Server, offered: Sequence[ServerTool], desk: Desk) -> Made:
    """The tools that a server offers; `short` is its name in names of tools and in rules."""
    names = tool_names(short, (one.name for one in offered))
    tools: dict[str, Tool[Any]] = {}
    left_out: list[str] = []
    for one in offered:
        schema = taken(one.schema)
        if schema is None:
            left_out.append(f"{printable(one.name, 80)}: its schema is none that a model can be given")
        else:
            tools.setdefault(names[one.name], _tool(names[one.name], short, server, one, schema, desk))
    return Made(tuple(tools[name] for name in sorted(tools)), tuple(left_out))


def taken(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema as providers take it, its order kept; None for one that no provider takes."""
    if schema.get("type", "object") != "object":
        return None
    kept = {key: value for key, value in schema.items() if key not in _UNTAKEN}
    try:
        shown = cast("dict[str, Any]", _shown({"type": "object", **kept} if "type" not in kept else kept))
        size = len(msgspec.json.encode(shown))
    except (TypeError, ValueError, RecursionError):
        return None
    if size > MOST_SCHEMA or not isinstance(shown.get("properties", {}), dict):
        return None
    return shown if "properties" in shown else {**shown, "properties": {}}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_shown(one) for one in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        if any(visible(key) != key for key in pairs):
            # An argument by another name would not be the same argument.
            raise ValueError("a name in this schema cannot be shown")
        return {key: _shown(one) for key, one in pairs.items()}
    return value


def _tool(
    name: str, short: str, server: Server, told: ServerTool, schema: dict[str, Any], desk: Desk
) -> Tool[dict[str, Any]]:
    whole = visible(desk.redact(told.description.strip()))
    description = whole if len(whole) <= LONGEST_DESCRIPTION else f"{whole[:LONGEST_DESCRIPTION]}…"
    subject = f"{short} {name.removeprefix(f'mcp__{short}__')}"
    shown = printable(told.name, 80)

    def effect(given: Given) -> Effect:
        arguments = json.dumps(given, indent=2, ensure_ascii=False)
        preview = "\n".join(printable(row) for row in f"{told.name} {arguments}".splitlines())
        claims = " (the server says that it only reads)" if told.reads else ""
        return Effect("server", f"call {shown} of the MCP server {short}{claims}", preview, subject)

    def run(given: Given, _effect: Effect, signal: Signal) -> Reply:
        answer = server.call(
            told.name, given, desk.timeout, lambda: signal.stopped, lambda words: desk.progress(name, words)
        )
        if answer.lost:
            return Reply(f"error: the MCP server {short} did not answer: {desk.redact(answer.text)}", failed=True)
        text = _bounded(answer.text or "[nothing]", desk)
        return Reply(f"error: {text}" if answer.failed else text, answer.failed)

    # Its calls may change what others read, whatever it says of itself.
    return Tool(name, description or shown, schema, dict, effect, run, alone=True)


def _bounded(text: str, desk: Desk) -> str:
    """What is shown of an answer; all of it is kept in a file once it is longer."""
    clean = visible(desk.redact(text[:_MOST_FILED]))
    part = bound(clean)
    cut = len(text) - _MOST_FILED
    if part.text == clean and cut <= 0:
        return clean
    path = desk.scratch / f"server-{hashlib.sha256(clean.encode()).hexdigest()[:8]}.txt"
    lost = f"; {cut:,} more characters were dropped" if cut > 0 else ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(clean, encoding="utf-8")
    except OSError:
        return part.text + lost
    return f"{part.text.rstrip()}\n[{part.lines:,} lines, {part.size:,} bytes in all{lost}: read {path}]"
