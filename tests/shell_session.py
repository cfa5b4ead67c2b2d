"""A session with terminals for tests: its tools, called as a model calls them, and what is left of its processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.adapters.programs import PosixPrograms
from clew.adapters.shells import Shells, Terminal
from clew.core.agent.effects import Effect
from clew.services.tools.command import Workplace, command_environ
from clew.services.tools.shell import shell_tool
from clew.services.tools.terminals import shell_hints, terminal_tools
from clew.services.tools.tool import Reply, Signal, Tool

SECRET = "hunter2-hunter2-hunter2"


def fresh_seconds() -> str:
    """A number of seconds to sleep that no other process has on its command line."""
    return f"9{uuid.uuid4().int % 10**8:08d}"


def without_secret(text: str) -> str:
    """A redactor that knows one secret."""
    return text.replace(SECRET, "[REDACTED]")


@dataclass(frozen=True, slots=True)
class Session:
    """Terminals and tools of one session in a folder."""

    root: Path
    shells: Shells
    place: Workplace
    tools: dict[str, Tool[Any]]

    def effect(self, tool: str, **given: object) -> Effect | Reply:
        """What a call would do."""
        return self.tools[tool].effect(self.tools[tool].read(given))

    def call(self, tool: str, stop: threading.Event | None = None, **given: object) -> Reply:
        """Call a tool as a model does."""
        effect = self.effect(tool, **given)
        if isinstance(effect, Reply):
            return effect
        found = self.tools[tool]
        return found.run(found.read(given), effect, Signal(stop or threading.Event()))

    def spawn(self, command: str, name: str = "") -> Terminal:
        """Start a program on a terminal."""
        reply = self.call("terminal_spawn", command=command, name=name)
        assert not reply.failed, reply
        return self.shells.all()[-1]

    def hints(self) -> str:
        """The block `[shell_hints]`."""
        return shell_hints(self.shells, self.place)


@contextlib.contextmanager
def session(root: Path) -> Iterator[Session]:
    """A session in `root` that ends with the block."""
    root.mkdir(parents=True, exist_ok=True)
    programs = PosixPrograms()
    shells = Shells(programs)
    place = Workplace(root.resolve(), command_environ(os.environ), without_secret)
    tools = (*terminal_tools(shells, place), shell_tool(programs, place, root / ".scratch"))
    try:
        yield Session(root, shells, place, {tool.name: tool for tool in tools})
    finally:
        shells.close()
        programs.close()


def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether a condition comes true in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    return True


def says(terminal: Terminal, words: str, seconds: float = 20.0) -> bool:
    """Whether a terminal's program writes `words` in time."""
    return until(lambda: words.encode() in terminal.piece(0, terminal.end), seconds)


def alive(words: str) -> list[str]:
    """Processes whose command line begins with `words`, those that are dead and not waited for left out."""
    listing = subprocess.run(
        ["ps", "axww", "-o", "stat=,pid=,args="], capture_output=True, text=True, check=True
    ).stdout
    parts = [line.split(maxsplit=2) for line in listing.splitlines()]
    return [" ".join(part) for part in parts if part[0][0] != "Z" and part[-1].startswith(words)]
