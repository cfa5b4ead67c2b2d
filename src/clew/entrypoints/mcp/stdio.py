"""The protocol over standard input and output: one message a line."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from clew.entrypoints.mcp.ending import run_until_stopped
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
_LOST: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL
_STANDSTILL_MILLISECONDS: Final = 500
"""After so long without room a reader is taken to stand still; that matters at the end only."""


class Line:
    """The way out: whole lines, whoever writes."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._room = select.poll()
        self._room.register(out, select.POLLOUT)
        self._gone = False
        self._last = threading.Event()
        self.ended, self._end = os.pipe()
        """A descriptor that can be read from once nobody can be written to."""

    def send(self, message: Message) -> None:
        """One message. Raises Gone."""
        line = memoryview(written(message) + b"\n")
        with self._lock:
            if self._gone:
                raise Gone
            try:
                while line:
                    self._wait()
                    # So much fits where there is room at all: a reader that stands still holds up nobody for good.
                    line = line[os.write(self._out, line[: select.PIPE_BUF]) :]
            except OSError as error:
                self._gone = True
                os.write(self._end, b"\0")
                raise Gone from error

    def is_gone(self) -> bool:
        """Whether the reader has closed its end, as far as can be known before something is written."""
        return self._gone or any(events & _LOST for _, events in self._room.poll(0))

    def let_go(self) -> None:
        """From now on do not wait for a reader that does not read."""
        self._last.set()

    def _wait(self) -> None:
        while not self._room.poll(_STANDSTILL_MILLISECONDS):
            if self._last.is_set():
                raise BlockingIOError


def serve_stdio(desk: Desk, name: str) -> int:
    """Serve one client until its end of input: 0, or the signal that ended it.

    What it asked to be written is written before this returns. Nothing else can get between the messages: whatever
    prints goes to standard error.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    line, session = Line(outgoing), Session(desk, name)
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="call")

    def listen() -> None:
        try:
            for read in _lines(incoming, outgoing, line):
                _take(read, line, session, pool)
            # A script closes its end as soon as it has asked; it still reads the answers.
            session.wait(LAST_SECONDS)
        except Gone:
            pass

    try:
        return run_until_stopped(listen)
    finally:
        session.stop()
        line.let_go()
        pool.shutdown(wait=True)


def _lines(incoming: int, outgoing: int, line: Line) -> Iterator[bytes]:
    """Lines as they come in; of one that is too long only the beginning. Raises Gone once nobody can be answered.

    Not buffered: a thread may be left in here.
    """
    kept, dropping = bytearray(), False
    coming = select.poll()
    for descriptor, events in ((incoming, select.POLLIN), (line.ended, select.POLLIN), (outgoing, 0)):
        coming.register(descriptor, events)
    while True:
        ready = dict(coming.poll())
        if line.ended in ready or line.is_gone():
            raise Gone
        if incoming not in ready:
            # What is said of the way out is no end of it: it need not be asked again.
            coming.unregister(outgoing)
            continue
        read = os.read(incoming, 1 << 16)
        if not read:
            break
        pieces = read.split(b"\n")
        for number, piece in enumerate(pieces):
            if not dropping:
                kept += piece
                dropping = len(kept) > MOST_BYTES
            if number < len(pieces) - 1:
                yield bytes(kept)
                kept, dropping = bytearray(), False
    if kept:
        yield bytes(kept)


def _take(read: bytes, line: Line, session: Session, pool: ThreadPoolExecutor) -> None:
    if len(read) > MOST_BYTES:
        line.send(failure(None, INVALID_REQUEST, f"a message has at most {MOST_BYTES} bytes"))
        return
    if not read.strip():
        return
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
