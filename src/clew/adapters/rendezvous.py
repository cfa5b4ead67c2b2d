"""How a question meets the watcher of its work tree: one line of JSON each way over a socket that only the user opens.

A Unix socket where the path of one is short enough, else loopback TCP with a token in a file beside it.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clew.system import is_at, open_file, try_lock

PROTOCOL = 1
"""Raise it when the meaning of a field changes; a watcher with another number is not believed."""
PATIENCE = 0.3
"""Seconds that a question waits for the whole answer."""
_LONGEST_NAME = 100
"""Bytes of a path that fit into a socket address everywhere (macOS: 104)."""
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """`sync`: handle all that happened before now, then say which state the index mirrors."""

    root: str
    variant: str
    ignore: tuple[str, ...]
    protocol: int = PROTOCOL
    token: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """`digest` is that of the tree as `CodeIndex.digest` has it; empty where the watcher cannot vouch for it."""

    digest: str
    total: int = 0
    notice: str = ""


def ask_watcher(path: Path, request: Request, patience: float = PATIENCE) -> Reply | None:
    """The watcher's answer; None where none listens, or none of use comes in time. Cheap where there is none."""
    try:
        connection, token = _connected(path, patience)
    except (OSError, ValueError):
        return None
    with connection:
        try:
            connection.settimeout(patience)
            _send(connection, asdict(request) | {"token": token})
            found = _received(connection)
            digest, total, notice = found["digest"], found["total"], found["notice"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
    if not isinstance(digest, str) or not isinstance(total, int) or not isinstance(notice, str):
        return None
    return Reply(digest, total, notice)


class Listener:
    """The watcher's end. Only one listens at a path; made by `listen`, ended by `close`, which leaves nothing."""

    def __init__(self, path: Path, lock: int, listening: socket.socket, token: str) -> None:
        self.path = path
        self._lock = lock
        self._socket = listening
        self._token = token

    def accept(self, seconds: float) -> tuple[socket.socket, Request] | None:
        """The next request that came with the right token, or None after `seconds`. Answer it with `reply`."""
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return None
        try:
            connection.settimeout(PATIENCE)
            found = _received(connection)
            given = str(found["token"])
            if found["protocol"] == PROTOCOL and hmac.compare_digest(given.encode(), self._token.encode()):
                return connection, Request(str(found["root"]), str(found["variant"]), tuple(map(str, found["ignore"])))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        connection.close()
        return None

    def reply(self, connection: socket.socket, reply: Reply) -> None:
        """Answer and hang up. Whoever asked may be gone."""
        with connection, contextlib.suppress(OSError):
            _send(connection, asdict(reply))

    def close(self) -> None:
        """Stop listening; socket and lock are removed. Safe to call twice."""
        self._socket.close()
        for file in (self.path, _port_file(self.path), _lock_file(self.path)):
            with contextlib.suppress(OSError):
                file.unlink()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def listen(path: Path) -> Listener | int:
    """Listen at `path`; the process that does so already, by its id (0 where that is unknown). Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _locked(_lock_file(path))
    if lock < 0:
        return -lock - 1
    # The lock is ours: what an earlier watcher left behind belongs to nobody.
    for file in (path, _port_file(path)):
        file.unlink(missing_ok=True)
    token = ""
    if hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _LONGEST_NAME:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        path.chmod(0o600)
    else:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.bind(("127.0.0.1", 0))
        token = secrets.token_hex(16)
        handle = open_file(_port_file(path), "new")
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{listening.getsockname()[1]} {token}\n")
    listening.listen(16)
    return Listener(path, lock, listening, token)


def _locked(file: Path) -> int:
    """A handle that holds the lock; below 0: minus the id of the process that holds it, minus 1."""
    while True:
        handle = open_file(file, "make", follow=True)
        taken = False
        with contextlib.suppress(OSError):
            taken = try_lock(handle)
        if not taken:
            words = os.read(handle, 32).split()
            os.close(handle)
            return -(int(words[0]) if words and words[0].isdigit() else 0) - 1
        if is_at(handle, file):
            os.truncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            return handle
        os.close(handle)  # removed by the one who held it before


def _connected(path: Path, patience: float) -> tuple[socket.socket, str]:
    if hasattr(socket, "AF_UNIX") and path.exists():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        place: Any = str(path)
        token = ""
    else:
        port, token = _port_file(path).read_text(encoding="ascii").split()
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        place = ("127.0.0.1", int(port))
    connection.settimeout(patience)
    try:
        connection.connect(place)
    except BaseException:
        connection.close()
        raise
    return connection, token


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _received(connection: socket.socket) -> dict[str, Any]:
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece or len(received) > _MOST_BYTES:
            raise ValueError("not one line")
        received += piece
    found: dict[str, Any] = json.loads(received)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _port_file(path: Path) -> Path:
    return path.with_suffix(".port")


def _lock_file(path: Path) -> Path:
    return path.with_suffix(".lock")
