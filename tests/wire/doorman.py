"""Stands before `clew mcp --http` for clients that cannot be given a token: adds it, passes on all else as it is."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

HEAD_END = b"\r\n\r\n"


@contextlib.contextmanager
def doorman(port: int, token: str) -> Iterator[int]:
    """A port of this machine that leads to `port`, with the token; Host and Origin are those of the client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_admit, args=(listening, port, token), daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _admit(listening: socket.socket, port: int, token: str) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listening.accept()
            threading.Thread(target=_lead, args=(client, port, token), daemon=True).start()


def _lead(client: socket.socket, port: int, token: str) -> None:
    """One request with its answer: the connection ends then, so that each request gets the token."""
    with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", port)) as server:
        head = b""
        while HEAD_END not in head:
            more = client.recv(65_536)
            if not more:
                return
            head += more
        lines, _, rest = head.partition(HEAD_END)
        kept = [
            line for line in lines.split(b"\r\n") if not line.lower().startswith((b"connection:", b"authorization:"))
        ]
        kept += [b"Connection: close", b"Authorization: Bearer " + token.encode()]
        server.sendall(b"\r\n".join(kept) + HEAD_END + rest)
        threading.Thread(target=_pass, args=(client, server), daemon=True).start()
        _pass(server, client)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
