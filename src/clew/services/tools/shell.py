"""The tool `shell`: one command, its output and how it ended."""

from __future__ import annotations

import itertools
import time
from collections import deque
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from clew.core.agent.effects import Effect
from clew.core.ports import Exit, Program, Programs
from clew.core.text.escapes import plain
from clew.core.text.printable import counted, printable
from clew.errors import ClewError
from clew.services.tools import command as common
from clew.services.tools.command import Workplace
from clew.services.tools.tool import Reply, Signal, Tool, define
from clew.system import open_file

HEAD = 16_000
"""Most bytes of the beginning that are shown of a long output; the rest of the bound goes to its end."""
_HEAD_LINES = 600
MOST_FILED = 10_000_000
"""Bytes of an output that are written to a file."""
_RAGGED = 2_000
"""Characters of a line that are given up at a cut so that only whole lines are shown."""
_TICK = 0.05
_GRACE = 0.3
"""Seconds in which a stopped command may clean up, for instance take its locks away."""
_AFTER = 0.2
"""Seconds in which output is still taken once the command itself has ended."""


@dataclass(frozen=True, slots=True)
class ShellCall:
    """Arguments of `shell`."""

    command: str
    cwd: Annotated[str, Meta(description="folder, relative to the workspace")] = ""
    timeout: Annotated[float, Meta(description="seconds", ge=1, le=600)] = 120


class Output:
    """The beginning and the end of what a command wrote; all of it, up to a limit, in a file once it gets long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.total = 0
        self.lines = 0
        self.filed = 0
        """Bytes in the file."""
        self.head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0
        self.trouble = ""
        """Why no more goes into the file."""
        self._file: FileIO | None = None

    def add(self, data: bytes) -> None:
        """Take one more piece."""
        self.total += len(data)
        self.lines += data.count(b"\n")
        room = max(common.MOST_BYTES + common.MARGIN - len(self.head), 0)
        self.head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest)
            self._held += len(rest)
            while self._held - len(self._tail[0]) >= common.MOST_BYTES + common.MARGIN:
                self._held -= len(self._tail.popleft())
        if self.total > common.MOST_BYTES or self.lines > common.MOST_LINES:
            self._write(data)

    @property
    def tail(self) -> bytes:
        """The end, where it is not part of `head`."""
        return b"".join(self._tail)

    @property
    def gap(self) -> bool:
        """Something between head and tail is not in memory any more."""
        return self.total > len(self.head) + self._held

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                # Some file systems say only now that they are full.
                self.trouble = error.strerror or str(error)

    def _write(self, data: bytes) -> None:
        if self.trouble or self.filed >= MOST_FILED:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                made = open_file(self.path, "new")
                self._file = FileIO(made, "wb")
                # Its first piece holds all that came: nothing was written before.
                data = bytes(self.head) + self.tail
            left = memoryview(data)[: MOST_FILED - self.filed]
            while left:
                # Without a buffer: what is counted is in the file.
                written = self._file.write(left)
                self.filed += written
                left = left[written:]
        except OSError as error:
            # A full disk takes nothing from the answer.
            self.trouble = error.strerror or str(error)


def shell_tool(programs: Programs, place: Workplace, scratch: Path) -> Tool[ShellCall]:
    """`shell`. Long outputs go to files in `scratch`, a folder of the session."""
    # A session that goes on has files already.
    filed = (one.stem.removeprefix("shell-") for one in scratch.glob("shell-*.txt"))
    numbers = itertools.count(max((int(one) for one in filed if one.isascii() and one.isdigit()), default=0) + 1)
    environ = common.quiet_environ(place.environ)

    def effect(given: ShellCall) -> Effect | Reply:
        try:
            common.checked(given.command)
            folder, outside = place.folder(given.cwd)
        except ClewError as error:
            return common.refusal(error)
        if not given.command.strip():
            return Reply("there is no command", True)
        title = f"run {printable(given.command, 100)}"
        reaches = place.reached(given.command, folder)
        return Effect("command", title, common.told(given.command), given.command, (str(folder),), outside, reaches)

    def run(given: ShellCall, effect: Effect, signal: Signal) -> Reply:
        number = next(numbers)
        output = Output(scratch / f"shell-{number}.txt")
        started = time.monotonic()
        try:
            argv = common.shell_argv(given.command, environ)
            program = programs.on_pipe(argv, effect.paths[0], environ, f"s{number}")
        except ClewError as error:
            return common.refusal(error)
        stopped, left = "", 0
        try:
            stopped = _collect(program, output, started + given.timeout, signal)
            left = program.end(_GRACE, strays=bool(stopped))
            _drain(program, output)
            ended = program.poll()
        finally:
            program.close()
            output.close()
        spent = time.monotonic() - started
        head = _status(stopped, ended, spent, given.timeout)
        if stopped:
            head += f"; {counted(output.lines, 'line')} had come"
        elif left:
            head += f"; ended {left} left in the background (terminal_spawn is for programs that stay)"
        text = shown(output, place)
        summary = f"{head} · {counted(output.lines, 'line')} · {spent:.1f} s"
        return Reply(f"[{head}]\n{text}" if text else f"[{head}; no output]", bool(stopped), summary)

    return define(
        "shell",
        "Run one bash command; answers with its output and exit status. No input; what it leaves in the background "
        "is ended: use terminal_spawn for servers and programs that ask.",
        ShellCall,
        run,
        effect,
    )


def _collect(program: Program, output: Output, deadline: float, signal: Signal) -> str:
    """Take output until the command has ended; else why it is to be stopped: `timeout` or `interrupted`."""
    ended = float("inf")
    while True:
        if ended == float("inf") and program.poll() is not None:
            ended = time.monotonic()
        data = program.read(64 << 10, _TICK)
        if data:
            output.add(data)
        now = time.monotonic()
        # Programs in the background may hold the pipe, and write for ever.
        if ended < now and (not data or now >= ended + _AFTER):
            return ""
        if signal.stopped:
            return "interrupted"
        if now >= deadline:
            return "timeout"
        if data == b"":
            signal.wait(0.005)  # it has closed its output and runs on, or is about to end


def _drain(program: Program, output: Output) -> None:
    """What was on its way when the command was stopped."""
    for _ in range(64):
        data = program.read(64 << 10, 0)
        if not data:
            return
        output.add(data)


def _status(stopped: str, ended: Exit | None, spent: float, timeout: float) -> str:
    # `succeeded` of core/agent/loop.py reads this.
    if stopped == "timeout":
        return f"stopped after the timeout of {timeout:g} s"
    if stopped:
        return f"interrupted by the user after {spent:.1f} s"
    if ended is None:
        return "does not end"
    return f"ended by {ended.signal}" if ended.code is None else f"exit {ended.code}"


def shown(output: Output, place: Workplace) -> str:
    """The output as the model reads it: whole, or its beginning and end with what is left out between them."""
    if not output.gap:
        whole = place.redact(_plain(bytes(output.head) + output.tail))
        if len(whole.encode()) <= common.MOST_BYTES and whole.count("\n") <= common.MOST_LINES:
            return whole.rstrip("\n")
        first, last = whole, whole
    else:
        # Both are redacted with a margin that is then cut off, so that no half of a secret stays at the edges.
        first, last = place.redact(_plain(bytes(output.head))), place.redact(_plain(output.tail))
    start = _first(first, HEAD, _HEAD_LINES)
    end = _last(last, common.MOST_BYTES - HEAD, common.MOST_LINES - _HEAD_LINES)
    where = f"; all of it: {output.path}"
    if output.filed < output.total:
        where = f"; the first {common.size(output.filed)}: {output.path}" if output.filed else ""
        if output.trouble:
            where += f"; {'the rest' if output.filed else 'it'} could not be kept: {output.trouble}"
    left = counted(max(output.lines - start.count("\n") - end.count("\n"), 0), "line")
    note = f"[… {left} left out of {counted(output.lines, 'line')}, {common.size(output.total)}{where}]"
    return f"{start.rstrip(chr(10))}\n{note}\n{end.rstrip(chr(10))}"


def _plain(data: bytes) -> str:
    return plain(data.decode("utf-8", "replace"))


def _first(text: str, most: int, lines: int) -> str:
    """Whole lines of the beginning; a part of a line where whole ones would leave much of the bound empty."""
    kept = "".join(text.splitlines(keepends=True)[:lines]).encode()[:most].decode("utf-8", "ignore")
    line = kept.rfind("\n") + 1
    return kept[:line] if len(kept) - line < _RAGGED else kept


def _last(text: str, most: int, lines: int) -> str:
    """Whole lines of the end, likewise."""
    kept = "".join(text.splitlines(keepends=True)[-lines:]).encode()
    if len(kept) <= most:
        return kept.decode()
    rest = kept[-most:].decode("utf-8", "ignore")
    line = rest.find("\n") + 1
    return rest[line:] if 0 < line < min(len(rest), _RAGGED) else rest
