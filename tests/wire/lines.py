"""`clew mcp` over its standard input and output, line by line: for what no well-behaved client would send."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.command import ARGV, environ

SECONDS = 60


class Lines:
    """One server process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        """Messages that came and were no answer to `ask`."""
        self._came: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._came.put(line)
        self._came.put(b"")

    def close(self) -> None:
        """End the server at once, if it still runs."""
        self.process.kill()
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def send(self, message: Mapping[str, Any] | bytes) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next message of the server; fails at the end of its output."""
        line = self._came.get(timeout=SECONDS)
        assert line, "the server has ended"
        return json.loads(line)

    def begin_call(self, name: str, arguments: Mapping[str, Any], **params: Any) -> int:
        """Send a call, without waiting. Its id."""
        ident = next(self._numbers)
        self.send({"id": ident, "method": "tools/call", "params": {"name": name, "arguments": arguments, **params}})
        return ident

    def answer(self, ident: int) -> dict[str, Any]:
        """Wait for the answer to a request; what else comes goes to `seen`."""
        for one in self.seen:
            if one.get("id") == ident and "method" not in one:
                self.seen.remove(one)
                return one
        while True:
            message = self.next()
            if message.get("id") == ident and "method" not in message:
                return message
            self.seen.append(message)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request."""
        ident = next(self._numbers)
        self.send({"id": ident, "method": method, **({} if params is None else {"params": params})})
        return self.answer(ident)

    def call(self, name: str, arguments: Mapping[str, Any], **params: Any) -> dict[str, Any]:
        """The result of a call; fails where it is an error of the protocol."""
        answer = self.answer(self.begin_call(name, arguments, **params))
        assert "result" in answer, answer
        return answer["result"]

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        """Shake hands."""
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
        result = self.ask("initialize", params)["result"]
        self.send({"method": "notifications/initialized"})
        return result

    def end(self) -> int:
        """Close the server's input; its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(SECONDS)


@contextmanager
def talking(cwd: Path, *options: str, env: Mapping[str, str | None] | None = None) -> Iterator[Lines]:
    """A server in a process of its own, until the end of the block."""
    process = subprocess.Popen(
        [*ARGV, "mcp", *options], cwd=cwd, env=environ(env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with contextlib.closing(Lines(process)) as lines:
        yield lines


def text_of(result: Mapping[str, Any]) -> str:
    """The words of a result."""
    (content,) = result["content"]
    return content["text"]
