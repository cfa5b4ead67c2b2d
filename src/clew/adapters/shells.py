"""Terminals of a session: what their programs wrote, the screen as a person would see it, and their names."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clew.adapters.screen import Screen
from clew.core.ports import Exit, Programs, TerminalProgram
from clew.errors import Conflict, NotFound, OverBudget, UsageError

KEPT = 4 << 20
"""Bytes of output that a terminal keeps; what is older is dropped."""
_SLACK = 1 << 20
"""More than that is kept before the oldest is dropped, so that a flood does not move memory with each piece."""
_READ = 64 << 10
SIZE = (120, 30)
"""Columns and rows of a new terminal."""
MOST_RUNNING = 16
_MOST_KNOWN = 48
_ENDED_KEEP = 256 << 10
"""Bytes that are kept of a terminal that was killed."""
GRACE = 2.0
"""Seconds between asking a terminal's programs to end and killing them."""
_NAME = re.compile(r"\w[\w.-]{0,39}")
_ID = re.compile(r"t\d+")
_QUERY = re.compile(rb"\x1b\[(\??6n|5n|0?c)")
"""Questions of programs to their terminal: where the cursor is, whether it works, what it is."""

State = Literal["running", "exited", "killed"]


class Ring:
    """The end of a stream of bytes. Offsets count from its beginning, whatever was dropped since."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._data = bytearray()
        self.start = 0
        """Offset of the first byte that is still there."""
        self.lines = 0
        """Ends of lines that ever came."""

    @property
    def end(self) -> int:
        """Bytes that ever came."""
        return self.start + len(self._data)

    def add(self, data: bytes) -> None:
        """Append, and drop whole lines from the front where too much is kept."""
        self._data += data
        self.lines += data.count(b"\n")
        if len(self._data) > self._kept + _SLACK:
            self.shorten(self._kept)

    def shorten(self, kept: int) -> None:
        """Keep at most so many bytes."""
        over = len(self._data) - kept
        if over > 0:
            line = self._data.find(b"\n", over - 1, over + (64 << 10))
            cut = line + 1 if line >= 0 else over
            del self._data[:cut]
            self.start += cut

    def piece(self, first: int, last: int) -> bytes:
        """What is kept of the bytes from offset `first` to before `last`."""
        return bytes(self._data[max(first - self.start, 0) : max(last - self.start, 0)])

    def line_start(self, offset: int, most: int) -> int:
        """Offset at which the line of `offset` begins; `offset` itself if that is more than `most` bytes before."""
        at = min(max(offset - self.start, 0), len(self._data))
        found = self._data.rfind(b"\n", max(at - most, 0), at)
        if found >= 0:
            return self.start + found + 1
        return self.start if at <= most else offset


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A screen at one moment."""

    rows: tuple[str, ...]
    coloured: tuple[str, ...]
    """The rows with ANSI sequences."""
    full: frozenset[int]
    """Rows that reach the right edge, from 0."""
    columns: int
    lines: int
    row: int
    """Of the cursor, from 1."""
    column: int
    alternate: bool
    """A program fills the whole screen."""


class Terminal:
    """One program on a terminal. A thread takes its output; all methods may be called from any thread."""

    def __init__(self, ident: str, name: str, command: str, folder: str, program: TerminalProgram) -> None:
        self.id = ident
        self.name = name
        self.command = command
        self.folder = folder
        self.seen = 0
        """Bytes that had come when somebody read last."""
        self.read_to = 0
        """Where reading goes on: the line that had no end then is read again."""
        self._program = program
        self._killed = False
        self._exit: Exit | None = None
        self._ring = Ring()
        self._screen = Screen(*SIZE)
        self._drawn = 0
        self._changed = threading.Condition()
        self._drawing = threading.Lock()
        self._reader = threading.Thread(target=self._listen, daemon=True, name=f"clew-terminal-{ident}")
        self._reader.start()

    @property
    def exit(self) -> Exit | None:
        """How the program ended; None while it runs."""
        if self._exit is None and (found := self._program.poll()) is not None:
            if not self._killed:
                # What it wrote last is on its way; programs that it left may hold the terminal for ever.
                self._reader.join(0.2)
            self._exit = found
        return self._exit

    @property
    def state(self) -> State:
        """Whether it runs, ended by itself, or was killed by us."""
        return "killed" if self._killed else "exited" if self.exit else "running"

    @property
    def lines(self) -> int:
        """Lines that the program wrote, the one at the cursor included."""
        with self._changed:
            partial = (
                self._ring.end > self._ring.start and self._ring.piece(self._ring.end - 1, self._ring.end) != b"\n"
            )
            return self._ring.lines + partial

    @property
    def end(self) -> int:
        """Bytes that the program wrote."""
        with self._changed:
            return self._ring.end

    @property
    def start(self) -> int:
        """Offset of the oldest byte that is kept."""
        with self._changed:
            return self._ring.start

    def piece(self, first: int, last: int) -> bytes:
        """The bytes from offset `first` to before `last`, as far as they are kept."""
        with self._changed:
            return self._ring.piece(first, last)

    def line_start(self, offset: int, most: int) -> int:
        """Offset at which the line of `offset` begins, if that is at most `most` bytes before; else `offset`."""
        with self._changed:
            return self._ring.line_start(offset, most)

    def write(self, data: bytes, patience: float = 5.0) -> int:
        """Type `data`; how many bytes were taken."""
        return self._program.write(data, patience)

    def cursor_keys(self) -> bool:
        """Whether arrow keys are to be sent in their second form."""
        with self._drawing:
            self._draw()
            return self._screen.cursor_keys

    def snapshot(self) -> Snapshot:
        """The screen as it is now."""
        with self._drawing:
            self._draw()
            screen = self._screen
            columns, lines = screen.size
            row, column = screen.cursor
            return Snapshot(
                tuple(screen.rows()),
                tuple(screen.coloured()),
                screen.full_rows(),
                columns,
                lines,
                row,
                column,
                screen.alternate,
            )

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of screen and terminal. Raises UsageError."""
        if not (2 <= columns <= 500 and 2 <= rows <= 200):
            raise UsageError(f"a terminal of {columns}×{rows} cannot be shown", hint="2 to 500 columns, 2 to 200 rows")
        with self._drawing:
            self._draw()
            self._screen.resize(columns, rows)
            self._program.resize(columns, rows)

    def wait(
        self, seconds: float, stopped: Callable[[], bool], quiet: float | None = None, *, beyond: int = -1
    ) -> None:
        """Wait until the program ended, or, with `quiet`, wrote nothing for so long; at most `seconds`.

        With `beyond` it must first have written past that offset.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            end, since = self._ring.end, time.monotonic()
        while not stopped() and (now := time.monotonic()) < deadline:
            if (quiet is not None and end > beyond and now - since >= quiet) or self.exit is not None:
                return
            with self._changed:
                if self._ring.end == end:
                    self._changed.wait(min(0.05, deadline - now))
                if self._ring.end != end:
                    end, since = self._ring.end, time.monotonic()

    def kill(self, grace: float = GRACE) -> int:
        """End the program and all that it started. How many processes there were."""
        if self.exit is None:
            self._killed = True
        number = self._program.end(grace)
        self._reader.join(1.0)
        self.exit  # noqa: B018  # read before the id is given back
        self._program.close()
        self._reader.join(1.0)
        with self._changed:
            self._ring.shorten(_ENDED_KEEP)
        return number

    def _listen(self) -> None:
        while data := self._program.read(_READ):
            with self._changed:
                self._ring.add(data)
                self._changed.notify_all()
            if b"\x1b[" in data:
                self._answer(data)

    def _answer(self, data: bytes) -> None:
        """Answer what programs ask of a terminal; some wait for it."""
        for found in _QUERY.findall(data)[-4:]:
            if found.endswith(b"c"):
                reply = b"\x1b[?6c"
            elif found == b"5n":
                reply = b"\x1b[0n"
            else:
                with self._drawing:
                    self._draw()
                    reply = b"\x1b[%d;%dR" % self._screen.cursor
            self._program.write(reply, 0.0)

    def _draw(self) -> None:
        """Bring the screen up to what came. The caller holds the lock of drawing."""
        with self._changed:
            data = self._ring.piece(self._drawn, self._ring.end)
            self._drawn = self._ring.end
        self._screen.feed(data)


class Shells:
    """The terminals of one session, by id (`t1`, `t2`, …) and by name. They end with `close`, or with the session."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._lock = threading.Lock()
        self._known: dict[str, Terminal] = {}
        self._made = 0

    def spawn(
        self, command: str, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str = ""
    ) -> Terminal:
        """Start a program. Raises UsageError, Conflict (the name is taken), OverBudget, NotFound, StoreError."""
        if name and (not _NAME.fullmatch(name) or _ID.fullmatch(name)):
            raise UsageError(
                "that cannot be the name of a terminal", hint="letters, digits, `-`, `_` and `.`, at most 40, not `t1`"
            )
        with self._lock:
            self._room(name)
            ident = f"t{self._made + 1}"
            program = self._programs.on_terminal(argv, folder, environ, ident, SIZE)
            self._made += 1
            terminal = Terminal(ident, name or ident, command, folder, program)
            self._known[ident] = terminal
        return terminal

    def find(self, wanted: str) -> Terminal:
        """A terminal by id or name; of one name the latest. Raises NotFound."""
        with self._lock:
            if wanted in self._known:
                return self._known[wanted]
            for terminal in reversed(self._known.values()):
                if terminal.name == wanted:
                    return terminal
            names = ", ".join(self._known) or "none"
        raise NotFound(f"there is no terminal `{wanted[:40]}`", hint=f"there is: {names}")

    def all(self) -> list[Terminal]:
        """All that are known, in the order in which they were started."""
        with self._lock:
            return list(self._known.values())

    def close(self) -> None:
        """End all terminals. Safe to call twice."""
        running = [terminal for terminal in self.all() if terminal.state != "killed"]
        threads = [threading.Thread(target=terminal.kill, args=(1.0,)) for terminal in running]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _room(self, name: str) -> None:
        """Make room for one more, or say why there is none."""
        states = {terminal.id: terminal.state for terminal in self._known.values()}
        running = [ident for ident, state in states.items() if state == "running"]
        if any(self._known[ident].name == name for ident in running):
            raise Conflict(f"a terminal named `{name}` is running", hint="kill it, or choose another name")
        if len(running) >= MOST_RUNNING:
            raise OverBudget(f"{len(running)} terminals are running", hint="kill those that are not needed")
        ended = [ident for ident in self._known if states[ident] != "running"]
        for ident in ended[: max(len(self._known) - _MOST_KNOWN + 1, 0)]:
            if states[ident] == "exited":
                self._known[ident].kill(0.5)
            del self._known[ident]
