"""Q-27: what the server for agents costs a conversation: tokens of its tools and instructions, time to begin."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Spread, environment, spread, table
from clew.adapters.tokenizers import tokenizer_for

TOKENIZER_OF = "gpt-4o"
"""Its vocabulary is o200k."""
_NOTES = 3_000
_BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def q27(options: Options) -> None:
    """Tokens of the MCP tools and instructions; time until `initialize` is answered, also before a first index."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _server(folder) as ask:
            instructions = ask("initialize", _BEGIN)["instructions"]
            tools = ask("tools/list", {})["tools"]
        rows = [[tool["name"], str(count(tool)), str(count(without_outcome(tool)))] for tool in tools]
        rows.append(["all tools", str(count(tools)), str(count([without_outcome(tool) for tool in tools]))])
        rows.append(["instructions", str(words := count(instructions)), str(words)])
        whole = count(tools) + words
        rows.append(["all of it", str(whole), str(count([without_outcome(tool) for tool in tools]) + words)])
        rows.append(["bar", "1500", ""])
        table("Q-27 tokens (o200k)", ["what", "as listed", "as most agents send it"], rows)
        nothing = spread([sys.executable, "-c", "pass"], options.runs, home=folder, cwd=folder)
        empty = Spread(tuple(_until_answered(folder) for _ in range(options.runs)))
        _fill(folder)
        full = Spread(tuple(_until_answered(folder) for _ in range(options.runs)))
        with _server(folder) as ask:
            ask("initialize", _BEGIN)
            first, again = (_recall(ask) for _ in range(2))
        rows = [
            ["python -c pass (whole process)", str(nothing)],
            ["initialize answered, nothing kept yet", str(empty)],
            [f"initialize answered, {_NOTES} notes and no index", str(full)],
            ["first memory_recall, which makes the index", f"{first:.2f} s"],
            ["the next one", f"{again * 1000:.0f} ms"],
        ]
        table("Start of `clew mcp`", ["until", "seconds"], rows)


def count(what: object) -> int:
    """Tokens of a text, or of anything as compact JSON."""
    text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False, separators=(",", ":"))
    return tokenizer_for(TOKENIZER_OF).count(text)


def without_outcome(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Name, description and arguments: what agents put in front of a model."""
    return {name: tool[name] for name in ("name", "description", "inputSchema")}


@contextmanager
def _server(folder: Path) -> Iterator[Any]:
    """A server; what is given asks it and gives the result."""
    command = [str(Path(sys.executable).with_name("clew")), "mcp"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(folder / "home"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        return json.loads(stdout.readline())["result"]

    try:
        yield ask
    finally:
        stdin.close()
        process.wait(60)
        stdout.close()


def _until_answered(folder: Path) -> float:
    began = time.perf_counter()
    with _server(folder) as ask:
        ask("initialize", _BEGIN)
        return time.perf_counter() - began


def _fill(folder: Path) -> None:
    """Notes of the project, as a person would copy them there."""
    with _server(folder) as ask:
        ask("initialize", _BEGIN)
        logged = ask("tools/call", {"name": "memory_log", "arguments": {"text": "the first day"}})
    notes = folder / "home" / "memory" / "workspaces" / logged["structuredContent"]["workspace"] / "notes"
    notes.mkdir()
    for number in range(_NOTES):
        text = (
            f"# Berth {number}\n\nBerth {number} is {number % 90 + 20} metres long. "
            + "Ships are measured twice. " * 20
        )
        (notes / f"berth-{number}.md").write_text(text, encoding="utf-8")


def _recall(ask: Any) -> float:
    began = time.perf_counter()
    found = ask("tools/call", {"name": "memory_recall", "arguments": {"query": "how long is berth 77?"}})
    assert found["structuredContent"]["found"]
    return time.perf_counter() - began
