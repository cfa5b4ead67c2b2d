"""A model for coding agents: calls one tool, then says one sentence. Keeps all that it was sent.

Speaks as much of Anthropic messages, OpenAI responses and OpenAI chat completions, streaming, as the agents ask for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Event = tuple[str, dict[str, Any]]
LAST_WORDS = "All is noted."


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool in a request."""

    name: str
    space: str = ""


@dataclass(slots=True)
class Asked:
    """One request of an agent."""

    path: str
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """All of it, as one text."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def tools(self) -> list[Offered]:
        """The tools that it offers, also those within a namespace."""
        found: list[Offered] = []
        for tool in self.body.get("tools") or []:
            if tool.get("type") == "namespace":
                found += [Offered(one["name"], tool["name"]) for one in tool.get("tools", [])]
            else:
                found.append(Offered(str((tool.get("function") or tool).get("name") or tool.get("type"))))
        return found

    @property
    def has_result(self) -> bool:
        """Whether a tool has answered in this conversation."""
        kinds = ('"tool_result"', '"function_call_output"', '"role": "tool"')
        return any(kind in self.text for kind in kinds)


@dataclass(slots=True)
class Script:
    """What the model does: the tool whose name ends so, with these arguments, once; then the last words."""

    tool: str
    arguments: Mapping[str, Any]
    asked: list[Asked] = field(default_factory=list)

    def wanted(self, asked: Asked) -> Offered | None:
        """The tool to call now."""
        if asked.has_result:
            return None
        return next((one for one in asked.tools if one.name.endswith(self.tool)), None)


def anthropic(script: Script, asked: Asked) -> Iterator[Event]:
    """Events of the messages protocol."""
    tool = script.wanted(asked)
    head = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": asked.body.get("model", "m"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    yield "message_start", {"message": head}
    if tool is None:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "text_delta", "text": LAST_WORDS}
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool.name, "input": {}}
        yield "content_block_start", {"index": 0, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(script.arguments)}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    reason = {"stop_reason": "end_turn" if tool is None else "tool_use", "stop_sequence": None}
    yield "message_delta", {"delta": reason, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


def responses(script: Script, asked: Asked) -> Iterator[Event]:
    """Events of the responses protocol."""
    tool = script.wanted(asked)
    if tool is None:
        item: dict[str, Any] = {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": LAST_WORDS, "annotations": []}],
        }  # fmt: skip
    else:
        item = {
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool.name, "status": "completed",
            "arguments": json.dumps(script.arguments), **({"namespace": tool.space} if tool.space else {}),
        }  # fmt: skip
    whole = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield "response.created", {"response": whole}
    yield "response.output_item.added", {"output_index": 0, "item": item | {"status": "in_progress"}}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    yield "response.completed", {"response": whole | {"status": "completed", "output": [item], "usage": usage}}


def chat(script: Script, asked: Asked) -> Iterator[Event]:
    """Chunks of the chat completions protocol."""
    tool = script.wanted(asked)
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": asked.body.get("model", "m")}
    if tool is None:
        delta: dict[str, Any] = {"role": "assistant", "content": LAST_WORDS}
    else:
        function = {"name": tool.name, "arguments": json.dumps(script.arguments)}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "stop" if tool is None else "tool_calls"
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    yield "", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


PROTOCOLS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat}


class _Visit(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        """The models that there are."""
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        """One turn."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        asked = Asked(path, body)
        script: Script = self.server.script  # type: ignore[attr-defined]
        speak = next((one for end, one in PROTOCOLS.items() if path.endswith(end)), None)
        if speak is None:
            self._json({"input_tokens": 9})
            return
        script.asked.append(asked)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, (name, content) in enumerate(speak(script, asked)):
            named = {"type": name, "sequence_number": number} if name else {}
            head = f"event: {name}\n" if name else ""
            self._chunk(f"{head}data: {json.dumps(named | content)}\n\n")
        if speak is chat:
            self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def _json(self, content: Mapping[str, Any]) -> None:
        written = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


def codex_settings(url: str, model: str, more: str = "") -> str:
    """What Codex has to be told of the model at this address; `more` goes above the tables."""
    return f"""\
model = "{model}"
model_provider = "scripted"
{more}
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "NO_KEY"
request_max_retries = 1
stream_max_retries = 1
"""


@contextmanager
def playing(script: Script) -> Iterator[str]:
    """The address of the model, until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Visit)
    server.script = script  # type: ignore[attr-defined]
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # an agent that hangs up is no failure
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
