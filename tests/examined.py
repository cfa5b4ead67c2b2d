"""A session whose files are looked at: its tools as a model calls them, and a machine with chosen programs on PATH."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.command import write
from tests.shell_session import without_secret

from clew.adapters.lsp import Bounds
from clew.adapters.programs import PosixPrograms
from clew.core.agent.effects import Effect
from clew.core.agent.permissions import Rule, verdict
from clew.services.tools.command import command_environ
from clew.services.tools.diagnostics import Diagnostics
from clew.services.tools.files import FileDesk
from clew.services.tools.tool import Reply, Signal, Tool

SCRIPT = Path(__file__).with_name("scripted_lsp.py")
OWN = Path(sys.executable).parent
"""Where the programs lie that come with the packages for development."""
QUICK = Bounds(start=3.0, request=3.0)


@dataclass
class Session:
    """Tools of one session, and what its programs were told."""

    root: Path
    bin: Path
    """The whole PATH, but for the programs of the packages for development."""
    log: Path
    findings: Diagnostics
    tools: dict[str, Tool[Any]]
    asked: list[Effect] = field(default_factory=list[Effect])

    def call(self, tool: str, stop: threading.Event | None = None, **given: object) -> Reply:
        """Call a tool as a model does, with a yes to whatever it does."""
        found = self.tools[tool]
        arguments = found.read(given)
        effect = found.effect(arguments)
        if isinstance(effect, Reply):
            return effect
        self.asked.append(effect)
        return found.run(arguments, effect, Signal(stop or threading.Event()))

    def put(self, name: str, text: str) -> str:
        """Write a file as the model does. What is said of it."""
        if (self.root / name).exists():
            self.call("read", path=name)
        reply = self.call("write_file", path=name, content=text)
        assert not reply.failed, reply
        return reply.text[reply.text.find("diagnostics:") :] if "diagnostics:" in reply.text else ""

    def edit(self, name: str, old: str, new: str) -> str:
        """Change a file as the model does. What is said of it."""
        reply = self.call("edit_file", path=name, edits=[{"old": old, "new": new}])
        assert not reply.failed, reply
        return reply.text[reply.text.find("diagnostics:") :] if "diagnostics:" in reply.text else ""

    def diagnose(self, path: str = "", **given: Any) -> str:
        """What the tool says."""
        reply = self.call("diagnostics", path=path, **given)
        assert not reply.failed, reply
        return reply.text

    def told(self, method: str = "") -> list[dict[str, Any]]:
        """What the scripted server was told."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        messages = [json.loads(line) for line in lines]
        return [one for one in messages if not method or one.get("method") == method]


def scripted(folder: Path, name: str, mode: str, log: Path, *more: str) -> Path:
    """A program that is the scripted server."""
    command = shlex.join([sys.executable, str(SCRIPT), mode, str(log), *more])
    return executable(folder / name, f"#!/bin/sh\nexec {command}\n")


def executable(path: Path, text: str) -> Path:
    """A program of that text."""
    write(path.parent, {path.name: text})
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@contextlib.contextmanager
def session(
    base: Path, *, mode: str = "", own: bool = False, more: tuple[str, ...] = (), bounds: Bounds = QUICK,
    chosen: Mapping[str, str] | None = None, rules: list[Rule] | None = None, yes: bool = False,
    environ: Mapping[str, str] | None = None, name: str = "gopls", redact: Callable[[str], str] = without_secret,
) -> Iterator[Session]:  # fmt: skip
    """A session in `base / "work"`. With `mode` the scripted server is the one for Go; with `own` PATH has the programs
    of the packages for development."""
    root, bin_, log = base / "work", base / "bin", base / "log"
    for one in (root, bin_):
        one.mkdir(parents=True, exist_ok=True)
    if mode:
        scripted(bin_, name, mode, log, *more)
    path = os.pathsep.join([str(bin_), *([str(OWN)] if own else [])])
    programs = PosixPrograms()
    desk = FileDesk(root, root, redact)
    findings = Diagnostics(
        desk.places, desk.cleaner, programs, command_environ({**os.environ, "PATH": path, **(environ or {})}),
        permitted=lambda effect: verdict(effect, rules or [], yes=yes) == "allow", chosen=chosen or {}, bounds=bounds,
    )  # fmt: skip
    desk.after_write = findings.after_write
    tools = {tool.name: tool for tool in (*desk.tools(), findings.tool())}
    try:
        yield Session(root.resolve(), bin_, log, findings, tools)
    finally:
        findings.close()
        programs.close()
