"""Agent CLIs that a test plays: programs on PATH that keep how they were called, and print what they are told to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python} -IS
import json, os, signal, subprocess, sys
folder = {folder!r}
kept = dict(argv=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ), pid=os.getpid(), files=os.listdir("."))
steps = json.load(open(os.path.join(folder, "steps.json")))
if "ignore" in steps[0]:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
kept["stdin"] = sys.stdin.read()
kept["texts"] = [open(word).read() for word in sys.argv if word.endswith("system.md")]
for step in steps:
    if "child" in step:
        kept["child"] = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(600)"]).pid
with open(os.path.join(folder, "called.json"), "w") as file:
    json.dump(kept, file)
for step in steps:
    if "out" in step:
        print(step["out"], flush=True)
    if "err" in step:
        print(step["err"] * step.get("times", 1), file=sys.stderr, flush=True)
    if "wait" in step:
        open(step["wait"]).read()
    if "exit" in step:
        sys.exit(step["exit"])
"""


@dataclass
class Played:
    """One CLI of a test."""

    name: str
    folder: Path
    version: str = "9.8.7"

    def __post_init__(self) -> None:
        """Put it on a path of its own."""
        self.bin.mkdir(parents=True)
        program = self.bin / self.name
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(self.folder)), encoding="utf-8")
        program.chmod(0o755)
        package = {"name": self.name, "version": self.version, "bin": {self.name: self.name}}
        (self.folder / "package.json").write_text(json.dumps(package), encoding="utf-8")

    @property
    def bin(self) -> Path:
        """The folder for PATH."""
        return self.folder / "bin"

    @property
    def environ(self) -> dict[str, str]:
        """What a user's environment would be."""
        return {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}

    @property
    def called(self) -> dict[str, Any]:
        """How it was called last."""
        return json.loads((self.folder / "called.json").read_text(encoding="utf-8"))

    @property
    def was_called(self) -> bool:
        """Whether it was."""
        return (self.folder / "called.json").exists()

    def play(self, *steps: Mapping[str, Any] | str) -> None:
        """What it does: events, or other steps of the program."""
        other = {"out", "err", "wait", "exit", "ignore", "child"}
        rows = [
            step
            if isinstance(step, dict) and other & step.keys()
            else {"out": step if isinstance(step, str) else json.dumps(step)}
            for step in steps
        ]
        (self.folder / "steps.json").write_text(json.dumps(rows), encoding="utf-8")

    def gate(self) -> Path:
        """What a step `wait` stands at until a test opens it for writing."""
        path = self.folder / "gate"
        os.mkfifo(path)
        return path


def pieces(name: str, *texts: str) -> list[dict[str, Any]]:
    """The events with which a CLI prints an answer of these pieces."""
    match name:
        case "claude":
            deltas = [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}} for text in texts]
            rows = [{"type": "message_start"}, {"type": "content_block_start"}, *deltas]
            whole = {"model": "claude-opus-5", "content": [{"type": "text", "text": "".join(texts)}]}
            return [*({"type": "stream_event", "event": row} for row in rows), {"type": "assistant", "message": whole}]
        case "codex":
            item = {"type": "agent_message", "text": "".join(texts)}
            return [{"type": "thread.started"}, {"type": "item.completed", "item": item}]
        case "pi":
            deltas = [{"type": "text_delta", "delta": text} for text in texts]
            updates = [{"type": "message_update", "assistantMessageEvent": one} for one in deltas]
            return [{"type": "session"}, {"type": "message_start", "message": {"role": "assistant"}}, *updates]
        case _:
            return [{"type": "step_start"}, {"type": "text", "part": {"text": "".join(texts)}}]


def ending(name: str) -> dict[str, Any]:
    """The event with which a CLI ends an answer: 100 tokens in, 60 of them from a cache, 7 out."""
    match name:
        case "claude":
            usage = {"input_tokens": 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 60}
            return {"type": "result", "is_error": False, "usage": {**usage, "output_tokens": 7}}
        case "codex":
            return {
                "type": "turn.completed",
                "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7},
            }
        case "pi":
            usage = {"input": 30, "cacheRead": 60, "cacheWrite": 10, "output": 7}
            message = {"role": "assistant", "stopReason": "stop", "content": [], "usage": usage}
            return {"type": "message_end", "message": message}
        case _:
            tokens = {"input": 30, "output": 7, "reasoning": 0, "cache": {"read": 60, "write": 10}}
            return {"type": "step_finish", "part": {"reason": "stop", "tokens": tokens}}


def failing(name: str, said: str, status: int | None = None) -> dict[str, Any]:
    """The event with which a CLI tells that there is no answer."""
    match name:
        case "claude":
            return {
                "type": "result",
                "is_error": True,
                "subtype": "success",
                "result": said,
                "api_error_status": status,
            }
        case "codex":
            return {
                "type": "turn.failed",
                "error": {"message": f"unexpected status {status}: {said}" if status else said},
            }
        case "pi":
            message = f"{status} {said}" if status else said
            return {
                "type": "message_end",
                "message": {"role": "assistant", "stopReason": "error", "errorMessage": message},
            }
        case _:
            return {"type": "error", "error": {"name": "APIError", "data": {"message": said, "statusCode": status}}}
