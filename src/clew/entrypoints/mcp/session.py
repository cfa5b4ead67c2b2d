"""One client, from its `initialize` to its end, whatever carries the messages."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from clew.core.text.printable import printable, visible
from clew.entrypoints.mcp.envelope import (
    SERVER,
    Envelope,
    Needed,
    asking_for_roots,
    completed,
    demand_spoken,
    envelope_of,
    is_enveloped,
    roots_given,
)
from clew.entrypoints.mcp.tools import INSTRUCTIONS, TOOLS, listed
from clew.entrypoints.mcp.wire import (
    ENVELOPED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    VERSIONS,
    Gone,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
    Send,
    failure,
    notification,
    request,
    success,
)

ROOTS_SECONDS: Final = 3.0
"""What a client may take to name its folders; then the folder of the server counts."""
_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_CAPABILITIES: Final = {"tools": {"listChanged": False}, "logging": {}}


class Cancelled(Exception):
    """The client does not want the answer any more."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers."""

    text: str
    facts: Mapping[str, Any]
    failed: bool = False
    notices: tuple[str, ...] = ()
    """What went wrong beside the work."""

    @property
    def result(self) -> Message:
        """As `tools/call` has it; nothing in it steers or hides, whatever the notes and files hold."""
        content = [{"type": "text", "text": visible(self.text)}]
        if self.failed:
            return {"content": content, "isError": True}
        return {"content": content, "structuredContent": _visible(self.facts), "isError": False}


def _visible(value: Any) -> Any:
    """A value of JSON with `visible` texts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _visible(one) for key, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders that the client works in."""

    uris: tuple[str, ...]
    asked: bool
    """Whether the client can be asked at all."""
    answered: bool = True


@dataclass(slots=True)
class Call:
    """One `tools/call` on its way."""

    request: Request
    session: Session
    envelope: Envelope | None = None
    """What it says about its client, in a revision without a handshake."""
    stopped: threading.Event = field(default_factory=threading.Event)
    _progress: float = 0

    def progress(self, send: Send, done: int, total: int, message: str) -> None:
        """Tell how far it is, where the client asked for that. Raises Cancelled, Gone."""
        self.heed()
        meta = self.request.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, Mapping) else None
        # Each has to be more than the one before.
        if isinstance(token, str | int) and done > self._progress:
            self._progress = done
            told = {"progressToken": token, "progress": done, "total": total, "message": message}
            send(notification("notifications/progress", told))

    def heed(self) -> None:
        """Raises Cancelled once the client has cancelled or gone."""
        if self.stopped.is_set():
            raise Cancelled


class Desk(Protocol):
    """Does what tools promise."""

    def serve(self, name: str, arguments: Mapping[str, Any], call: Call, send: Send) -> Reply:
        """The answer of one tool; what it cannot do is an answer as well. Raises Cancelled, Gone."""
        ...


class Session:
    """What one client said about itself, and its calls on their way. Used by several threads."""

    def __init__(self, desk: Desk, name: str = "") -> None:
        self.desk = desk
        self.name = name
        """Stands in the audit trail."""
        self.version = ""
        """The revision of the protocol that was agreed on; empty before `initialize`."""
        self.client = ""
        self._has_roots = False
        self._roots: Roots | None = None
        self._roots_lock = threading.Lock()
        self._level = _LEVELS.index("warning")
        self._calls: dict[str | int, Call] = {}
        self._idle = threading.Condition()
        self._asked: dict[str | int, threading.Event] = {}
        self._numbers = itertools.count(1)

    # ------------------------------------------------------------------ what comes in

    def notice(self, message: Notification | Response) -> None:
        """Take what wants no answer."""
        if isinstance(message, Response):
            if waiting := self._asked.pop(message.ident, None):
                # Also when it comes late: then it counts from the next call on.
                self._roots = _roots_in(message.result or {})
                waiting.set()
        elif message.method == "notifications/roots/list_changed":
            self._roots = None
        elif message.method == "notifications/cancelled":
            ident = message.params.get("requestId")
            call = self._calls.get(ident) if isinstance(ident, str | int) else None
            if call is not None:
                call.stopped.set()

    def answer(self, message: Request) -> Message:
        """The answer to everything but a call of a tool. Raises Malformed."""
        if is_enveloped(message):
            return self._answer_enveloped(message)
        match message.method:
            case "initialize":
                return success(message.ident, self._initialized(message))
            case "ping":
                return success(message.ident, {})
            case "tools/list":
                self._demand_begun(message)
                return success(message.ident, {"tools": listed()})
            case "logging/setLevel":
                self._demand_begun(message)
                level = message.params.get("level")
                if level not in _LEVELS:
                    raise Malformed(INVALID_PARAMS, f"`level` is one of {', '.join(_LEVELS)}", message.ident)
                self._level = _LEVELS.index(level)
                return success(message.ident, {})
            case _:
                raise Malformed(
                    METHOD_NOT_FOUND, f"there is no method `{printable(message.method, 100)}`", message.ident
                )

    def _answer_enveloped(self, message: Request) -> Message:
        demand_spoken(envelope_of(message).version, message.ident)
        if message.method == "server/discover":
            return success(message.ident, completed({
                "supportedVersions": [*ENVELOPED, *VERSIONS],
                "capabilities": _CAPABILITIES,
                "instructions": INSTRUCTIONS,
            }, lasting=True))  # fmt: skip
        if message.method == "tools/list":
            return success(message.ident, completed({"tools": listed()}, lasting=True))
        raise _no_method(message)

    def begin(self, message: Request) -> Call:
        """A call of a tool, from now on known to cancellations. Raises Malformed."""
        envelope = envelope_of(message) if is_enveloped(message) else None
        if envelope is None:
            self._demand_begun(message)
        else:
            demand_spoken(envelope.version, message.ident)
        name, arguments = message.params.get("name"), message.params.get("arguments", {})
        if not isinstance(name, str) or name not in TOOLS:
            shown = printable(str(name), 100)
            raise Malformed(INVALID_PARAMS, f"Unknown tool: {shown}. There are: {', '.join(TOOLS)}", message.ident)
        if arguments is not None and not isinstance(arguments, dict):
            raise Malformed(INVALID_PARAMS, "`arguments` is an object", message.ident)
        if message.ident in self._calls:
            raise Malformed(INVALID_REQUEST, "that `id` is in use", message.ident)
        call = Call(message, self, envelope)
        with self._idle:
            self._calls[message.ident] = call
        return call

    def carry_out(self, call: Call, send: Send) -> None:
        """Do what was called and send the answer; nothing where the client cancelled. Raises Gone."""
        ident, params = call.request.ident, call.request.params
        try:
            call.heed()
            reply = self.desk.serve(params["name"], params.get("arguments") or {}, call, send)
            call.heed()
            for text in reply.notices:
                self._log(call, send, text)
            send(success(ident, completed(reply.result) if call.envelope else reply.result))
        except Cancelled:
            return
        except Needed:
            send(success(ident, asking_for_roots()))
        except Gone:
            raise
        except Exception as error:  # one call may not end the others
            send(failure(ident, INTERNAL_ERROR, f"unexpected {type(error).__name__}: {printable(str(error), 500)}"))
        finally:
            self._forget(ident)

    def wait(self, seconds: float) -> None:
        """Let the calls on their way end, for so long at most."""
        with self._idle:
            self._idle.wait_for(lambda: not self._calls, seconds)

    def stop(self) -> None:
        """Let calls that only read end early. Those that write end by themselves, with what they write."""
        for call in list(self._calls.values()):
            call.stopped.set()

    # ------------------------------------------------------------------ what goes out

    def roots(self, call: Call, send: Send) -> Roots:
        """The folders that the client works in, asked for once and after each change. Raises Gone, Needed."""
        if call.envelope is not None:
            return _given_roots(call.request, call.envelope)
        if not self._has_roots:
            return Roots((), asked=False)
        with self._roots_lock:
            if self._roots is not None:
                return self._roots
            ident = f"roots-{next(self._numbers)}"
            waiting = self._asked[ident] = threading.Event()
            send(request(ident, "roots/list"))
            if not waiting.wait(ROOTS_SECONDS) or self._roots is None:
                # Not asked again: each call would wait for nothing.
                self._roots = self._roots or Roots((), asked=True, answered=False)
            return self._roots

    def _log(self, call: Call, send: Send, text: str) -> None:
        level = self._level
        if call.envelope is not None:
            level = _LEVELS.index(call.envelope.level) if call.envelope.level in _LEVELS else len(_LEVELS)
        if level <= _LEVELS.index("warning"):
            send(notification("notifications/message", {"level": "warning", "logger": "clew", "data": printable(text)}))

    # ------------------------------------------------------------------ inside

    def _initialized(self, message: Request) -> Message:
        wanted, capabilities = message.params.get("protocolVersion"), message.params.get("capabilities")
        if not isinstance(wanted, str):
            raise Malformed(INVALID_PARAMS, "`protocolVersion` is missing", message.ident)
        self.version = wanted if wanted in VERSIONS else VERSIONS[0]
        self._has_roots = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)
        self._roots = None
        client = message.params.get("clientInfo")
        if isinstance(client, dict):
            self.client = str(client.get("name", ""))[:60]
        return {
            "protocolVersion": self.version,
            "capabilities": _CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    def _forget(self, ident: str | int) -> None:
        with self._idle:
            self._calls.pop(ident, None)
            self._idle.notify_all()

    def _demand_begun(self, message: Request) -> None:
        if not self.version:
            raise Malformed(INVALID_REQUEST, "`initialize` comes first", message.ident)


def _no_method(message: Request) -> Malformed:
    return Malformed(METHOD_NOT_FOUND, f"there is no method `{printable(message.method, 100)}`", message.ident)


def _given_roots(message: Request, envelope: Envelope) -> Roots:
    """The folders that a call without a handshake brings along. Raises Needed where its client can say them first."""
    if not envelope.has_roots:
        return Roots((), asked=False)
    given = roots_given(message)
    if given is None:
        raise Needed
    return _roots_in(given) if isinstance(given.get("roots"), list) else Roots((), asked=True, answered=False)


def _roots_in(result: Mapping[str, Any]) -> Roots:
    rows = result.get("roots")
    uris = (row.get("uri") for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict))
    return Roots(tuple(uri for uri in uris if isinstance(uri, str)), asked=True)
