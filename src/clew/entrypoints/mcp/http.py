"""The protocol over HTTP (its "streamable" transport), on loopback only, for clients that hold the token."""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast
from urllib.parse import urlsplit

from clew.entrypoints.mcp.envelope import (
    NAMED_HEADERS,
    demand_headers,
    demand_spoken,
    envelope_of,
    is_enveloped,
    unspoken,
)
from clew.entrypoints.mcp.session import Desk, Session
from clew.entrypoints.mcp.wire import (
    ENVELOPED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MOST_BYTES,
    UNSUPPORTED_VERSION,
    VERSIONS,
    Gone,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
    failure,
    read_message,
    written,
)

PATH: Final = "/mcp"
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
MOST_SESSIONS: Final = 256
"""With more, the one that has been silent for longest ends."""
MOST_CONNECTIONS: Final = 64
SILENT_SECONDS: Final = 75.0
"""After so long without a request a connection is closed; its session stays."""
STRANGE_SECONDS: Final = 5.0
"""So long may a connection be silent on which nobody has shown the token: it takes the place of another."""


class Door(ThreadingHTTPServer):
    """The server of all clients."""

    daemon_threads = True
    # A client's writes are done before the process ends: `drain` waits for them.
    block_on_close = False

    def __init__(self, desk: Desk, host: str, port: int, token: str, name: Callable[[], str]) -> None:
        if host == "::1":
            self.address_family = socket.AF_INET6
        super().__init__((host, port), Visit)
        self.desk = desk
        self.token = token
        self.name = name
        """Makes the name of a session in the audit trail."""
        self.shared = name()
        """The name of clients that hold no session."""
        self._sessions: dict[str, tuple[Session, float]] = {}
        self._at_work: list[Session] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._idle = threading.Condition()

    @property
    def url(self) -> str:
        """Where clients connect."""
        host, port = self.server_address[:2]
        return f"http://{f'[{host}]' if ':' in str(host) else host}:{port}{PATH}"

    def enroll(self, session: Session) -> str:
        """A new id for a session."""
        ident = secrets.token_urlsafe(24)
        with self._lock:
            self._sessions[ident] = (session, time.monotonic())
            if len(self._sessions) > MOST_SESSIONS:
                oldest = min(self._sessions, key=lambda one: self._sessions[one][1])
                self._sessions.pop(oldest)[0].stop()
        return ident

    def session(self, ident: str) -> Session | None:
        """The session of an id."""
        with self._lock:
            if ident not in self._sessions:
                return None
            session = self._sessions[ident][0]
            self._sessions[ident] = (session, time.monotonic())
            return session

    def end(self, ident: str) -> bool:
        """Forget a session; False where there is none."""
        with self._lock:
            found = self._sessions.pop(ident, None)
        if found is not None:
            found[0].stop()
        return found is not None

    @contextlib.contextmanager
    def working(self, session: Session) -> Any:
        """Around a call of a session, that `drain` waits for."""
        with self._idle:
            self._at_work.append(session)
        try:
            yield
        finally:
            with self._idle:
                self._at_work.remove(session)
                self._idle.notify_all()

    def drain(self, seconds: float) -> None:
        """Let the calls on their way end."""
        with self._lock:
            sessions = [session for session, _ in self._sessions.values()]
        with self._idle:
            sessions += self._at_work
        for session in sessions:
            session.stop()
        with self._idle:
            self._idle.wait_for(lambda: not self._at_work, seconds)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread of its own for each connection, as long as there is room."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is nothing to report."""


class Visit(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = STRANGE_SECONDS
    server_version = "clew"
    sys_version = ""

    @property
    def door(self) -> Door:
        """The server."""
        return cast("Door", self.server)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: requests hold what is private."""

    def do_POST(self) -> None:
        """A message from the client."""
        if self._may_enter() and (content := self._content()) is not None:
            self._take(content)

    def do_GET(self) -> None:
        """No messages come outside of an answer."""
        if self._may_enter() and self._is_spoken():
            allowed = "POST" if self._version in ENVELOPED else "POST, DELETE"
            self._refuse(405, "messages come with the answers to requests only", {"Allow": allowed})

    def do_DELETE(self) -> None:
        """The end of a session."""
        if self._may_enter() and self._is_spoken():
            if self._version in ENVELOPED:
                self._refuse(405, "this revision of the protocol has no sessions", {"Allow": "POST"})
            elif self.door.end(self.headers.get("Mcp-Session-Id", "")):
                self._reply(204, b"")
            else:
                self._refuse(404, "there is no such session")

    # ------------------------------------------------------------------ who may enter

    def _may_enter(self) -> bool:
        """Whether the request comes from this machine, from no foreign page, with the token; else it is refused."""
        if not _is_loopback(self.headers.get("Host", ""), "//"):
            return self._refuse(403, "the Host header names another machine")
        origin = self.headers.get("Origin")
        if origin is not None and not _is_loopback(origin, ""):
            return self._refuse(403, "the Origin header names another site")
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.door.token.encode())
        if scheme.lower() != "bearer" or not right:
            return self._refuse(401, "a token is needed: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
        if urlsplit(self.path).path.rstrip("/") != PATH:
            return self._refuse(404, f"the server is at {PATH}")
        self.connection.settimeout(SILENT_SECONDS)
        return True

    @property
    def _version(self) -> str:
        """The revision that the client says it speaks; empty where it says none."""
        return self.headers.get("MCP-Protocol-Version", "")

    def _is_spoken(self) -> bool:
        """Whether a request without a body is of a revision that is spoken; else it is refused."""
        if self._version and self._version not in (*ENVELOPED, *VERSIONS):
            self.close_connection = True
            self._reply(400, written(unspoken(self._version).answer))
            return False
        return True

    def _content(self) -> bytes | None:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            self._refuse(415, "send application/json")
            return None
        accepted = self.headers.get("Accept", "*/*")
        if not any(one in accepted for one in ("application/json", "application/*", "*/*")):
            self._refuse(406, "accept application/json and text/event-stream")
            return None
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self._refuse(411, "say the Content-Length")
            return None
        if int(length) > MOST_BYTES:
            self._refuse(413, f"a message has at most {MOST_BYTES} bytes")
            return None
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            self.close_connection = True
            return None
        return content

    # ------------------------------------------------------------------ what is answered

    def _take(self, content: bytes) -> None:
        try:
            message = read_message(content)
            # A body that says another revision than the header is told so, whether that revision is spoken or not.
            if self._version not in ("", *ENVELOPED, *VERSIONS) and not _is_enveloped(message):
                raise unspoken(self._version, None if isinstance(message, Notification) else message.ident)
            if isinstance(message, Request) and message.method == "initialize":
                session = Session(self.door.desk, self.door.name())
                answer = session.answer(message)
                self._reply(200, written(answer), {"Mcp-Session-Id": self.door.enroll(session)})
                return
            if self._version in ENVELOPED or _is_enveloped(message):
                self._take_enveloped(message)
                return
            ident = self.headers.get("Mcp-Session-Id")
            if ident is None:
                self._refuse(400, "`initialize` comes first; then send its Mcp-Session-Id")
                return
            session = self.door.session(ident)
            if session is None:
                self._refuse(404, "there is no such session; begin with `initialize`")
            elif not isinstance(message, Request):
                session.notice(message)
                self._reply(202, b"")
            elif message.method == "tools/call":
                self._call(session, message)
            else:
                self._reply(200, written(session.answer(message)))
        except Malformed as error:
            known = error.ident is not None and error.code != UNSUPPORTED_VERSION
            self._reply(200 if known else 400, written(error.answer))

    def _take_enveloped(self, message: Request | Notification | Response) -> None:
        """A message of a client that holds no session."""
        if isinstance(message, Notification):
            # There is nothing to tell by one: who cancels a call hangs up.
            self._reply(202, b"")
            return
        try:
            if isinstance(message, Response):
                raise Malformed(INVALID_REQUEST, "nobody was asked anything")
            envelope = envelope_of(message)
            demand_headers(message, {name: self.headers.get_all(name, []) for name in NAMED_HEADERS})
            demand_spoken(envelope.version, message.ident)
            session = Session(self.door.desk, self.door.shared)
            if message.method == "tools/call":
                self._call(session, message)
            else:
                self._reply(200, written(session.answer(message)))
        except Malformed as error:
            self._reply(404 if error.code == METHOD_NOT_FOUND else 400, written(error.answer))

    def _call(self, session: Session, message: Request) -> None:
        call = session.begin(message)
        stream = Stream(self, "text/event-stream" in self.headers.get("Accept", ""))
        try:
            with self.door.working(session):
                session.carry_out(call, stream.send)
            stream.close()
        except Gone:
            call.stopped.set()
            self.close_connection = True

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> bool:
        # What the client still sends is not read: the connection cannot be used again.
        self.close_connection = True
        self._reply(status, written(failure(None, INVALID_REQUEST, message)), headers)
        return False

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if body:
                self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def answer_json(self, message: Message) -> None:
        """One message as the whole answer."""
        self._reply(200, written(message))


class Stream:
    """The answer to a call: one JSON object, or a stream of events once there is more to say than the answer."""

    def __init__(self, visit: Visit, events: bool) -> None:
        self._visit = visit
        self._events = events
        self._begun = False
        self._answered = False
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """One message. Raises Gone."""
        with self._lock:
            if "method" not in message:
                self._answered = True
                if not self._begun:
                    self._visit.answer_json(message)
                    return
            elif not self._events:
                return
            try:
                if not self._begun:
                    self._begin()
                self._chunk(b"event: message\ndata: " + written(message) + b"\n\n")
            except OSError as error:
                raise Gone from error

    def close(self) -> None:
        """The end of the answer, also where there is none: the client cancelled."""
        try:
            if not self._begun and not self._answered:
                self._begin()
            if self._begun:
                self._visit.wfile.write(b"0\r\n\r\n")
        except OSError as error:
            raise Gone from error

    def _begin(self) -> None:
        self._begun = True
        visit = self._visit
        visit.send_response(200)
        visit.send_header("Content-Type", "text/event-stream")
        visit.send_header("Cache-Control", "no-store")
        visit.send_header("Transfer-Encoding", "chunked")
        visit.end_headers()

    def _chunk(self, event: bytes) -> None:
        self._visit.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self._visit.wfile.flush()


def _is_enveloped(message: Request | Notification | Response) -> bool:
    return isinstance(message, Request) and is_enveloped(message)


def _is_loopback(named: str, before: str) -> bool:
    """Whether a Host (`before` is `//`) or an Origin names this machine, at whatever port."""
    try:
        host = urlsplit(before + named).hostname
    except ValueError:
        return False
    return host in LOOPBACK
