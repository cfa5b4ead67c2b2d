"""The protocol over standard input and output: one message a line."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Final

from clew.entrypoints.mcp.session import Call, Desk, Session
from clew.entrypoints.mcp.wire import (
    INVALID_REQUEST,
    MOST_BYTES,
    Gone,
    Malformed,
    Message,
    Request,
    failure,
    read_message,
    written,
)

WORKERS: Final = 8
"""Calls that are served at once; more wait their turn."""
LAST_SECONDS: Final = 10.0
"""What calls on their way get once the input has ended."""


class Line:
    """The way out: whole lines, whoever writes."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._gone = False

    def send(self, message: Message) -> None:
        """One message. Raises Gone."""
        line = written(message) + b"\n"
        with self._lock:
            if self._gone:
                raise Gone
            try:
                self._out.write(line)
                self._out.flush()
            except (OSError, ValueError) as error:
                self._gone = True
                raise Gone from error


def serve_stdio(desk: Desk, name: str) -> None:
    """Serve one client until its end of input. What it asked to be written is written before this returns.

    Nothing else can get between the messages: whatever prints goes to standard error.
    """
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    line, session = Line(outgoing), Session(desk, name)
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="call")
    try:
        _listen(incoming, line, session, pool)
        # A script closes its end as soon as it has asked; it still reads the answers.
        session.wait(LAST_SECONDS)
    except Gone:
        pass
    finally:
        session.stop()
        pool.shutdown(wait=True)


def _listen(incoming: BinaryIO, line: Line, session: Session, pool: ThreadPoolExecutor) -> None:
    while True:
        read = incoming.readline(MOST_BYTES + 1)
        if not read:
            return
        if len(read) > MOST_BYTES and not read.endswith(b"\n"):
            while (rest := incoming.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            line.send(failure(None, INVALID_REQUEST, f"a message has at most {MOST_BYTES} bytes"))
        elif read.strip():
            _take(read, line, session, pool)


def _take(read: bytes, line: Line, session: Session, pool: ThreadPoolExecutor) -> None:
    try:
        message = read_message(read)
        if not isinstance(message, Request):
            session.notice(message)
        elif message.method == "tools/call":
            call = session.begin(message)
            pool.submit(_carry_out, session, call, line)
        else:
            line.send(session.answer(message))
    except Malformed as error:
        line.send(error.answer)


def _carry_out(session: Session, call: Call, line: Line) -> None:
    try:
        session.carry_out(call, line.send)
    except Gone:
        session.stop()
    except Exception as error:
        # Nothing waits for this thread's outcome: what is not told here is told nowhere.
        print(f"clew mcp: {type(error).__name__}: {error}", file=sys.stderr)
