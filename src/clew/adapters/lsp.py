"""One language server: what it is told, what it answers, and what ends it.

Three threads of its own read, write and look after it, so that nobody ever waits for a server longer than he wants.
What it says about a file counts only if it speaks of the text that it was given last.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from clew.adapters.lsp_wire import Garbled, Unframer, findings_of, framed, path_of
from clew.adapters.programs import OnPipes, PosixPrograms
from clew.core.agent.findings import Finding
from clew.core.text.printable import printable

State = Literal["starting", "ready", "ended"]
End = Literal["", "died", "start", "memory", "garbled", "flood", "deaf", "idle", "closed"]
"""Why a server ended; empty while it runs."""

_TICK: Final = 0.25
"""Seconds between two looks at a server."""
_BUSY: Final = 30.0
"""Seconds after a question in which its memory is looked at twice a second; later, every five seconds."""
_ROOM: Final = 2_500_000_000
"""Bytes above the limit of memory that no single process of a server gets, however fast it takes them."""
_FLOOD_SECONDS: Final = 10.0
_MOST_OPEN: Final = 100
"""Documents that a server has open; the one that was not looked at for longest is closed."""
_MOST_QUEUED: Final = 64 << 20
_AGAIN: Final = frozenset({-32801, -32802})
"""Answers that say: ask again."""
_TRIES: Final = 5
_GRACE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server may use."""

    memory: int = 1_500_000_000
    """Bytes, of all its processes."""
    start: float = 20.0
    """Seconds until it is ready."""
    request: float = 10.0
    """Seconds for an answer."""
    idle: float = 600.0
    """Seconds without a question after which it is ended."""
    flood: int = 64 << 20
    """Bytes that it may say in ten seconds."""


@dataclass(frozen=True, slots=True)
class Order:
    """A server to be started."""

    name: str
    argv: Sequence[str]
    root: Path
    environ: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it is told when it asks for configuration."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it is told when it starts."""
    passed_over: Sequence[str] = ()
    """Codes of findings that are left out."""
    settle: float = 0.0
    """Seconds that it must be silent before what it published is all."""


@dataclass(slots=True)
class _Document:
    path: Path
    language: str
    text: str | None = None
    version: int = 0
    sent: bool = False
    published: tuple[Finding, ...] = ()
    published_version: int = 0
    published_at: float = 0.0
    pulled: tuple[Finding, ...] = ()
    asked: int = 0
    """Id of the newest question; answers to others do not count."""
    answered: bool = False
    tries: int = 0

    def found(self) -> tuple[Finding, ...]:
        """What is known of this version."""
        return (*self.pulled, *(self.published if self.published_version == self.version else ()))


class _Over(Exception):
    """The server is to be ended."""

    def __init__(self, kind: End, words: str) -> None:
        super().__init__(words)
        self.kind: End = kind
        self.words = words


class Server:
    """A language server that was started, whatever became of it. Raises NotFound, StoreError where it cannot be."""

    def __init__(self, programs: PosixPrograms, order: Order, bounds: Bounds) -> None:
        self.order = order
        self.bounds = bounds
        self.state: State = "starting"
        self.ending: End = ""
        self.words = ""
        """Why it ended, for people and models."""
        self.worked = False
        """It was ready once."""
        self._changed = threading.Condition(threading.RLock())
        self._documents: dict[str, _Document] = {}
        self._pending: dict[int, tuple[float, Callable[[Any, Any], None]]] = {}
        self._last_id = 0
        self._touched = self._began = time.monotonic()
        self._altered = 0.0
        self._encoding = "utf-16"
        self._pulls: dict[str, Any] | None = None
        self._saves: dict[str, Any] | None = None
        self._heard = [self._began, 0.0]
        self._looks = self._versions = 0
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0
        self._deaf = self._closing = False
        self._program: OnPipes = programs.on_pipes(order.argv, str(order.root), order.environ, f"lsp-{order.name}")
        self._program.limit_room(bounds.memory + _ROOM)
        self._threads = [threading.Thread(target=one, name="clew-lsp", daemon=True) for one in (self._live, self._feed)]
        self._ask("initialize", self._introduction(), self._started, bounds.start)
        for thread in self._threads:
            thread.start()

    # ------------------------------------------------------------------ what others call

    def sync(self, path: Path, language: str, text: str) -> int:
        """Tell the server what a file says now. The version that answers must speak of."""
        with self._changed:
            self._touched = time.monotonic()
            document = self._documents.pop(str(path), None) or _Document(path, language)
            self._documents[str(path)] = document
            changed = document.text != text
            if changed:
                self._versions += 1
                document.text, document.version = text, self._versions
                document.tries, document.answered = 0, False
                self._altered = self._touched
            self._show(document, changed=changed)
            if len(self._documents) > _MOST_OPEN:
                self._forget(next(iter(self._documents)))
            return document.version

    def wait(self, path: Path, version: int, seconds: float, stopped: Callable[[], bool]) -> tuple[Finding, ...] | None:
        """What is found in a version of a file; None where the server did not say so in time, or ended."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                document = self._documents.get(str(path))
                now = time.monotonic()
                if document is None or document.version != version or self.state == "ended":
                    return None
                self._touched = now
                if self._complete(document, now):
                    return document.found()
                if now >= deadline or stopped():
                    return None
                self._changed.wait(min(deadline - now, 0.05 if self.order.settle else 0.1))

    @property
    def touched(self) -> float:
        """When it was asked for something last, on the monotonic clock."""
        return self._touched

    def started(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Whether the server is ready, after waiting at most so long for it to start."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self.state == "starting" and (left := deadline - time.monotonic()) > 0 and not stopped():
                self._changed.wait(min(left, 0.1))
            return self.state == "ready"

    def close(self) -> None:
        """End the server with all that it started. Safe to call twice."""
        self._closing = True
        if self.state != "ended":
            self._program.end(_GRACE)
        for thread in self._threads:
            thread.join(5)

    # ------------------------------------------------------------------ documents

    def _complete(self, document: _Document, now: float) -> bool:
        if not document.sent:
            return False
        if self._pulls is not None:
            return document.answered
        if document.published_version != document.version:
            return False
        # Another file was changed since: what this one depends on is looked at again, soon.
        if document.published_at < self._altered and now - self._altered < 1.0:
            return False
        return now - document.published_at >= self.order.settle

    def _show(self, document: _Document, *, changed: bool) -> None:
        if self.state != "ready":
            return
        uri = document.path.as_uri()
        if not document.sent:
            item = {"uri": uri, "languageId": document.language, "version": document.version, "text": document.text}
            self._tell("textDocument/didOpen", {"textDocument": item})
            document.sent = True
        elif changed:
            self._tell("textDocument/didChange", {
                "textDocument": {"uri": uri, "version": document.version}, "contentChanges": [{"text": document.text}],
            })  # fmt: skip
            if self._saves is not None:
                text = {"text": document.text} if self._saves.get("includeText") else {}
                self._tell("textDocument/didSave", {"textDocument": {"uri": uri}, **text})
        self._pull(document)

    def _pull(self, document: _Document) -> None:
        if self._pulls is None:
            return
        document.answered = False
        named = {"identifier": self._pulls["identifier"]} if self._pulls.get("identifier") else {}
        asked = {"textDocument": {"uri": document.path.as_uri()}, **named}

        def answer(result: Any, error: Any) -> None:
            if document.asked != number:
                return
            again = isinstance(error, dict) and error.get("code") in _AGAIN
            if again and document.tries < _TRIES:
                document.tries += 1
                self._pull(document)
            elif isinstance(result, dict) and result.get("kind") == "full":
                document.pulled = self._findings(document, result.get("items"))
                document.answered = True

        number = document.asked = self._ask("textDocument/diagnostic", asked, answer, self.bounds.request)

    def _forget(self, path: str) -> None:
        document = self._documents.pop(path, None)
        if document is not None and document.sent:
            self._tell("textDocument/didClose", {"textDocument": {"uri": document.path.as_uri()}})

    def _published(self, told: Any) -> None:
        document = self._documents.get(path_of(told.get("uri"))) if isinstance(told, dict) else None
        if document is None or not document.sent:
            return
        version = told.get("version")
        # Without a version it speaks of what it was told last, as far as anybody can know.
        if version is not None and version != document.version:
            return
        document.published = self._findings(document, told.get("diagnostics"))
        document.published_version, document.published_at = document.version, time.monotonic()

    def _findings(self, document: _Document, items: object) -> tuple[Finding, ...]:
        found = findings_of(items, str(document.path), document.text or "", self.order.name, self._encoding)
        return tuple(one for one in found if one.code not in self.order.passed_over)

    # ------------------------------------------------------------------ messages

    def _introduction(self) -> dict[str, Any]:
        uri = self.order.root.as_uri()
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "clew"},
            "rootPath": _sendable(str(self.order.root)),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": _sendable(self.order.root.name)}],
            "initializationOptions": dict(self.order.options),
            "capabilities": {
                "general": {"positionEncodings": ["utf-32", "utf-16"]},
                "textDocument": {
                    "synchronization": {"didSave": True},
                    "publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
                    "diagnostic": {"relatedDocumentSupport": False},
                },
                "workspace": {"configuration": True, "workspaceFolders": True},
                "window": {"workDoneProgress": True},
            },
        }

    def _started(self, result: Any, error: Any) -> None:
        told = result.get("capabilities") if isinstance(result, dict) else None
        if not isinstance(told, dict):
            words = error.get("message") if isinstance(error, dict) else ""
            raise _Over("start", f"refused to start: {printable(str(words or 'it says nothing'), 200)}")
        names = ("positionEncoding", "diagnosticProvider", "textDocumentSync")
        encoding, pulls, syncs = (told.get(name) for name in names)
        self._encoding = encoding if encoding in ("utf-8", "utf-32") else "utf-16"
        self._pulls = dict(pulls) if isinstance(pulls, dict) else None
        saves = syncs.get("save") if isinstance(syncs, dict) else None
        self._saves = dict(saves) if isinstance(saves, dict) else {} if saves else None
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": dict(self.order.settings)})
        self.state, self.worked = "ready", True
        for document in self._documents.values():
            self._show(document, changed=False)

    def _take(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        with self._changed:
            if isinstance(method, str) and number is not None:
                self._reply(method, number, message.get("params"))
            elif method == "textDocument/publishDiagnostics":
                self._published(message.get("params"))
            elif isinstance(number, int) and number in self._pending:
                self._pending.pop(number)[1](message.get("result"), message.get("error"))
            self._changed.notify_all()

    def _reply(self, method: str, number: Any, params: Any) -> None:
        """Answer a request of the server. It gets no say in files or windows."""
        result: Any
        match method:
            case "workspace/configuration":
                items = params.get("items") if isinstance(params, dict) else None
                result = [self._setting(item) for item in items] if isinstance(items, list) else []
            case "workspace/applyEdit":
                result = {"applied": False, "failureReason": "only the agent edits"}
            case "workspace/workspaceFolders":
                result = [{"uri": self.order.root.as_uri(), "name": _sendable(self.order.root.name)}]
            case "window/showDocument":
                result = {"success": False}
            case (
                "client/registerCapability" | "client/unregisterCapability" | "window/showMessageRequest"
                | "window/workDoneProgress/create" | "workspace/diagnostic/refresh" | "workspace/semanticTokens/refresh"
                | "workspace/inlayHint/refresh" | "workspace/codeLens/refresh"
            ):  # fmt: skip
                result = None
            case _:
                self._send({"id": number, "error": {"code": -32601, "message": "not supported"}})
                return
        self._send({"id": number, "result": result})

    def _setting(self, item: Any) -> Any:
        section = item.get("section") if isinstance(item, dict) else None
        found: Any = self.order.settings
        for part in section.split(".") if isinstance(section, str) and section else ():
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def _ask(self, method: str, params: Any, then: Callable[[Any, Any], None], seconds: float) -> int:
        with self._changed:
            self._last_id += 1
            self._pending[self._last_id] = (time.monotonic() + seconds, then)
            self._send({"id": self._last_id, "method": method, "params": params})
            return self._last_id

    def _tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        data = framed(message)
        with self._changed:
            self._queued += len(data)
        self._queue.put(data)

    # ------------------------------------------------------------------ threads

    def _feed(self) -> None:
        """Write what there is to say, for as long as the server takes it."""
        while (data := self._queue.get()) is not None:
            took = time.monotonic()
            left = memoryview(data)
            while left:
                count = self._program.write(bytes(left[: 1 << 20]), 1.0)
                left = left[count:]
                if count:
                    took = time.monotonic()
                elif self.state == "ended" or self._program.poll() is not None:
                    return
                elif time.monotonic() - took > self.bounds.request:
                    self._deaf = True
                    return
            with self._changed:
                self._queued -= len(data)

    def _live(self) -> None:
        """Read and look after the server until it is over."""
        kind: End
        try:
            unframer = Unframer()
            looked = 0.0
            while (data := self._program.read(64 << 10, _TICK)) != b"":
                if data:
                    self._count(len(data))
                    for message in unframer.feed(data):
                        self._take(message)
                now = time.monotonic()
                if now - looked >= _TICK:
                    looked = now
                    self._look(now)
            kind, words = "died", self._last_words()
        except _Over as over:
            kind, words = over.kind, over.words
        except Garbled as error:
            kind, words = "garbled", f"does not speak the protocol: {error}"
        except Exception as error:  # noqa: BLE001 -- whatever a server says, a session goes on without it
            kind, words = "garbled", f"said what cannot be understood: {type(error).__name__}"
        if self._closing:
            kind, words = "closed", "was ended with the session"
        with self._changed:
            self.state, self.ending, self.words = "ended", kind, words
            self._changed.notify_all()
        self._program.end(_GRACE)
        self._program.close()
        self._queue.put(None)

    def _count(self, size: int) -> None:
        now = time.monotonic()
        if now - self._heard[0] > _FLOOD_SECONDS:
            self._heard = [now, 0.0]
        self._heard[1] += size
        if self._heard[1] > self.bounds.flood:
            raise _Over("flood", f"was ended: it says more than {_size(self.bounds.flood)} in ten seconds")

    def _look(self, now: float) -> None:
        if self._program.poll() is not None:
            raise _Over("died", self._last_words())
        with self._changed:
            starting, late = self.state == "starting", [one for one in self._pending.items() if one[1][0] < now]
            for number, (_, _) in late:
                del self._pending[number]
                self._tell("$/cancelRequest", {"id": number})
        if starting and now - self._began > self.bounds.start:
            raise _Over("start", f"did not start within {self.bounds.start:g} s")
        if self._deaf or self._queued > _MOST_QUEUED:
            raise _Over("deaf", "was ended: it does not take what it is told")
        if now - self._touched > self.bounds.idle and not starting:
            raise _Over("idle", "was not needed")
        busy = now - self._touched < _BUSY
        self._looks += 1
        if self._looks % (2 if busy else 20):
            return
        used = self._program.memory(strays=not busy or self._looks % 16 == 0)
        if used > self.bounds.memory:
            limit = _size(self.bounds.memory)
            raise _Over("memory", f"was ended: it used {_size(used)} of memory, and may use {limit}")

    def _last_words(self) -> str:
        """How it ended by itself, with the last line of its errors."""
        deadline = time.monotonic() + 1.0
        while (how := self._program.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        ended = "closed its output" if how is None else f"ended with status {how.code}" if how.code is not None else ""
        lines = [line.strip() for line in self._program.errors().splitlines() if line.strip()]
        said = f": {printable(lines[-1], 200)}" if lines else ""
        return (ended or f"was ended by {how.signal if how else ''}") + said


def _sendable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
