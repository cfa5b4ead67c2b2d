"""Someone at a terminal: the real command on a pty, its screen read as a person would, keys typed."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte
from ptyprocess import PtyProcess
from tests.agents import Decide, World
from tests.command import ARGV, environ
from tests.scripted_server import Turn

PATIENCE = float(os.environ.get("CLEW_TEST_PATIENCE", "30"))
"""Seconds until something that should be seen is taken to be missing."""
KEYS = {
    "enter": "\r", "escape": "\x1b", "alt-enter": "\x1b\r", "ctrl-c": "\x03", "ctrl-d": "\x04", "ctrl-j": "\n",
    "ctrl-o": "\x0f", "ctrl-u": "\x15", "tab": "\t", "up": "\x1b[A", "backspace": "\x7f",
}  # fmt: skip


class Seat:
    """A terminal with a program on it. What scrolled away is kept."""

    def __init__(self, process: PtyProcess, columns: int, rows: int) -> None:
        self.process = process
        self.screen = pyte.HistoryScreen(columns, rows, history=20_000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.ended = threading.Event()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = self.process.read(65536)
            except (EOFError, OSError):
                break
            with self._changed:
                self.written += data
                self.stream.feed(data)
                self._changed.notify_all()
        self.ended.set()

    def rows(self) -> list[str]:
        """The screen, row by row, without blanks at their ends."""
        with self._changed:
            return [self._row(self.screen.buffer[at]) for at in range(self.screen.lines)]

    def text(self) -> str:
        """All that was written: what scrolled away and the screen."""
        with self._changed:
            away = [self._row(line) for line in self.screen.history.top]
            return "\n".join([*away, *(self._row(self.screen.buffer[at]) for at in range(self.screen.lines))])

    def _row(self, line: Mapping[int, pyte.screens.Char]) -> str:
        # A wide character leaves an empty cell behind itself.
        return "".join(line[at].data for at in range(self.screen.columns)).rstrip()

    def until(self, holds: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Wait until something holds; at most `patience` seconds."""
        end = time.monotonic() + patience
        with self._changed:
            while not holds():
                left = end - time.monotonic()
                if left <= 0 or (self.ended.is_set() and not holds()):
                    raise AssertionError(f"never seen: {what}\n" + self.text_now())
                self._changed.wait(min(left, 0.1))

    def text_now(self) -> str:
        """As `text`, for those who hold the lock."""
        return self.text()

    def sees(self, *words: str) -> Seat:
        """Wait until all these words are there, on the screen or above it."""
        for word in words:
            self.until(lambda word=word: word in self.text(), repr(word))  # type: ignore[misc]
        return self

    def sees_now(self, word: str) -> Seat:
        """Wait until a word is on the screen."""
        self.until(lambda: any(word in row for row in self.rows()), repr(word))
        return self

    def no_more(self, word: str) -> Seat:
        """Wait until a word is gone from the screen."""
        self.until(lambda: not any(word in row for row in self.rows()), f"{word!r} gone")
        return self

    def idle(self, runs: int = 1) -> Seat:
        """Wait until so many runs are over and the line waits."""
        self.until(lambda: self.text().count("tokens in (") + self.text().count("输入 1") >= runs, f"{runs} runs over")
        return self

    def type(self, *keys: str) -> Seat:
        """Type text, and keys by their names."""
        for one in keys:
            self.process.write(KEYS.get(one, one).encode())
        return self

    def breath(self, seconds: float = 0.4) -> Seat:
        """The moment that a person needs between a paste and a key."""
        began = time.monotonic()
        self.until(lambda: time.monotonic() - began > seconds, "a moment")
        return self

    def slowly(self, text: str) -> Seat:
        """Type as a person does: key by key."""
        for key in text:
            self.type(key).breath(0.12)
        return self

    def say(self, text: str) -> Seat:
        """A line, and enter behind it as a key of its own."""
        self.type(text)
        if shown := text.strip()[-20:]:
            self.until(lambda: any(shown in row for row in self.rows()), f"{shown!r} typed")
        return self.type("enter")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        with self._changed:
            self.process.setwinsize(rows, columns)
            self.screen.resize(rows, columns)

    def status(self) -> int:
        """Wait for the end; the exit status."""
        self.until(self.ended.is_set, "the end")
        self.process.wait()
        return self.process.exitstatus if self.process.exitstatus is not None else -(self.process.signalstatus or 0)

    def modes(self) -> tuple[bool, bool]:
        """Whether the terminal echoes, and takes whole lines."""
        local = termios.tcgetattr(self.process.fd)[3]
        return bool(local & termios.ECHO), bool(local & termios.ICANON)


@contextmanager
def seated(
    world: World, *arguments: str, play: list[Turn] | Decide | None = None, columns: int = 80, rows: int = 30,
    env: Mapping[str, str | None] | None = None, cwd: Path | None = None, argv: list[str] | None = None,
) -> Iterator[Seat]:  # fmt: skip
    """`clew` on a terminal, until the end of the block."""
    if play is not None:
        world._play(play)
    changes = {"TERM": "xterm-256color", "NO_COLOR": None, **world.model, **world.environment, **(env or {})}
    process = PtyProcess.spawn(
        argv or [*ARGV, *arguments], cwd=str(cwd or world.repository), env=environ(changes), dimensions=(rows, columns)
    )
    seat = Seat(process, columns, rows)
    try:
        yield seat
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        seat.ended.wait(5)
        process.close(force=True)
