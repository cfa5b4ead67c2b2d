"""A small model server that plays a script: Anthropic messages, OpenAI chat completions, Ollama; with faults."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANTHROPIC_FAULTS: dict[str, tuple[int, str, str]] = {
    "key": (401, "authentication_error", "invalid x-api-key: {key}"),
    "forbidden": (403, "permission_error", "this key may not use the model"),
    "model": (404, "not_found_error", "model: {model}"),
    "busy": (429, "rate_limit_error", "This request would exceed the rate limit of the organization."),
    "failed": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "overflow": (400, "invalid_request_error", "prompt is too long: 215310 tokens > 200000 maximum"),
    "rejected": (400, "invalid_request_error", "messages.0.content: something is wrong"),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
}
OPENAI_FAULTS: dict[str, tuple[int, str | None, str]] = {
    "key": (401, "invalid_api_key", "Incorrect API key provided: {key}."),
    "forbidden": (403, "forbidden", "this key may not use the model"),
    "model": (404, "model_not_found", "The model `{model}` does not exist"),
    "busy": (429, "rate_limit_exceeded", "Rate limit reached. Please try again in 1s."),
    "failed": (500, None, "The server had an error"),
    "overloaded": (529, None, "The engine is overloaded"),
    "overflow": (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.",
    ),
    "rejected": (400, "invalid_value", "Invalid value: something is wrong"),
    "quota": (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that an answer calls. `arguments` as text are sent as they are, good JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(slots=True)
class Turn:
    """What the server does with one request."""

    pieces: tuple[str, ...] = ("Hel", "lo.")
    calls: tuple[Call, ...] = ()
    """Tools that are called behind the text."""
    thoughts: str = ""
    """What the model thinks before it answers."""
    fault: str = ""
    """A key of the fault tables, or `cut-before`, `cut-start` (after the head, before any text), `cut-in`, `end-in`,
    `overloaded-in`, `malformed`, `html`, `hang`, `hang-in`, `redirect`, `llama-overflow`."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: str = ""
    """How the answer ended, in the provider's words; empty for a complete one."""
    usage: bool = True
    input: int = 0
    """Tokens of the prompt that the usage reports; 0: the server's usual figures."""


@dataclass(slots=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class ScriptedServer(ThreadingHTTPServer):
    """Plays `turns` in order, the last one again and again; with `decide`, what that says to each request instead.

    `asked` holds every request, byte for byte.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.turns: list[Turn] = [Turn()]
        self.decide: Callable[[Asked], Turn] | None = None
        self.asked: list[Asked] = []
        self.models: tuple[str, ...] = ("claude-sonnet-5", "gpt-5-mini", "qwen3:8b")
        self.gone = threading.Event()
        """Set when a client closed its connection while the server held it open."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self.server_port}"

    def posts(self) -> list[Asked]:
        """The requests for answers."""
        return [asked for asked in self.asked if asked.method == "POST"]

    def next_turn(self, asked: Asked) -> Turn:
        """The turn for the next request for an answer."""
        with self.lock:
            if self.decide is not None:
                return self.decide(asked)
            return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay quiet: clients that go away are part of the script."""


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    server: ScriptedServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        """Lists of models."""
        self.server.asked.append(Asked("GET", self.path, dict(self.headers.items()), b""))
        if self.path == "/api/tags":
            self._json(200, {"models": [{"name": name} for name in self.server.models]})
        elif self.path.partition("?")[0] == "/v1/models":
            models = [{"id": name, "type": "model", "object": "model"} for name in self.server.models]
            self._json(200, {"object": "list", "data": models, "has_more": False})
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        """Requests for answers."""
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = Asked("POST", self.path, dict(self.headers.items()), body)
        self.server.asked.append(asked)
        turn = self.server.next_turn(asked)
        anthropic = self.path.partition("?")[0] == "/v1/messages"
        faults = ANTHROPIC_FAULTS if anthropic else OPENAI_FAULTS
        if turn.fault in faults:
            self._refuse(faults[turn.fault], turn, asked, anthropic=anthropic)
        elif turn.fault == "llama-overflow":
            message = "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it"
            self._json(400, {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}})
        elif turn.fault == "redirect":
            self._json(307, {}, {"location": f"{self.server.url}/elsewhere"})
        elif turn.fault == "html":
            self._send(200, b"<html>Welcome</html>", {"content-type": "text/html"})
        elif turn.fault == "cut-before":
            self._reset()
        elif turn.fault == "hang":
            self._hold()
        elif not anthropic and self.path != "/v1/chat/completions":
            self._json(404, {"error": {"message": f"no route {self.path}"}})
        else:
            self._stream(turn, asked, anthropic=anthropic)

    def _refuse(self, fault: tuple[int, str | None, str], turn: Turn, asked: Asked, *, anthropic: bool) -> None:
        status, kind, message = fault
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        message = message.replace("{key}", key).replace("{model}", str(asked.json["model"]))
        error = {"type": kind, "message": message} if anthropic else {"code": kind, "message": message, "type": kind}
        body = {"type": "error", "error": error} if anthropic else {"error": error}
        self._json(status, body, turn.headers)

    def _stream(self, turn: Turn, asked: Asked, *, anthropic: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = _anthropic(turn, asked) if anthropic else _openai(turn, asked)
        texts = 0
        for name, event in events:
            self._event(name, event)
            if turn.fault == "cut-start":
                self._reset()
                return
            texts += any(f": {json.dumps(piece)}" in json.dumps(event) for piece in turn.pieces)
            if texts == 1 and turn.fault == "cut-in":
                self._reset()
                return
            if texts == 1 and turn.fault == "end-in":
                break
            if texts == 1 and turn.fault == "overloaded-in":
                message = {"type": "overloaded_error", "message": "Overloaded"}
                self._event("error" if anthropic else "", {"type": "error", "error": message})
                break
            if texts == 1 and turn.fault == "hang-in":
                self._hold()
                return
            if turn.fault == "malformed":
                self._event("", "{no json")
                break
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, name: str, event: Any) -> None:
        text = event if isinstance(event, str) else json.dumps(event)
        self._chunk(f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n")

    def _chunk(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _hold(self) -> None:
        """Say nothing until the client goes away."""
        self.connection.settimeout(30)
        try:
            if self.connection.recv(1) == b"":
                self.server.gone.set()
        except ConnectionError:
            self.server.gone.set()
        except OSError:
            pass
        self.close_connection = True

    def _reset(self) -> None:
        """Cut the connection so that the client cannot take it for an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        self.rfile.close()
        raise ConnectionAbortedError

    def _json(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(content).encode(), {"content-type": "application/json", **(headers or {})})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _anthropic(turn: Turn, asked: Asked) -> Iterator[tuple[str, Any]]:
    usage = {
        "input_tokens": turn.input or 30,
        "cache_creation_input_tokens": 0 if turn.input else 20,
        "cache_read_input_tokens": 0 if turn.input else 50,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.json["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": message}
    number = len(asked.json["messages"])
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if turn.thoughts:
        thinking = [{"type": "thinking_delta", "thinking": piece} for piece in (turn.thoughts[:3], turn.thoughts[3:])]
        signed = {"type": "signature_delta", "signature": f"signed{number}"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thinking, signed]))
    if turn.pieces or not turn.calls:
        texts = [{"type": "text_delta", "text": piece} for piece in turn.pieces]
        blocks.append(({"type": "text", "text": ""}, texts))
    for place, call in enumerate(turn.calls):
        head = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": call.name, "input": {}}
        blocks.append((head, [{"type": "input_json_delta", "partial_json": call.text}]))
    for index, (block, deltas) in enumerate(blocks):
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    end = {"stop_reason": turn.ending or ("tool_use" if turn.calls else "end_turn"), "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}}
    yield "message_stop", {"type": "message_stop"}


def _openai(turn: Turn, asked: Asked) -> Iterator[tuple[str, Any]]:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": asked.json["model"]}

    def choice(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        return "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield choice({"role": "assistant", "content": ""})
    if turn.thoughts:
        yield choice({"reasoning_content": turn.thoughts})
    for piece in turn.pieces:
        yield choice({"content": piece})
    number = len(asked.json["messages"])
    for place, call in enumerate(turn.calls):
        made = {"name": call.name, "arguments": call.text}
        one = {"index": place, "id": f"call_{number}_{place}", "type": "function", "function": made}
        yield choice({"tool_calls": [one]})
    yield choice({}, turn.ending or ("tool_calls" if turn.calls else "stop"))
    if turn.usage:
        details = {"cached_tokens": 0 if turn.input else 50}
        prompt = turn.input or 100
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": 7,
            "total_tokens": prompt + 7,
            "prompt_tokens_details": details,
        }
        yield "", {**base, "choices": [], "usage": usage}
    yield "", "[DONE]"


@contextmanager
def serving() -> Iterator[ScriptedServer]:
    """A server on a free port of this machine, until the end of the block."""
    server = ScriptedServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
