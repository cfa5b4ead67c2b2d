"""The MCP servers of a session: the user's own, and those of the project that the user allowed.

They start in the background when the session opens. A run takes the tools of those that are there when it begins and
keeps them to its end, so that the list of tools is the same in all its requests.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import msgspec

from clew.adapters.git_process import find_program
from clew.adapters.regular import read_regular
from clew.core.agent.effects import Effect
from clew.core.agent.permissions import Permit
from clew.core.agent.servers import ServerEntry, entry_of, server_names
from clew.core.ports import Tokenizer
from clew.core.text.printable import counted, printable, visible
from clew.errors import ClewError, ConfigError, NotFound, StoreError
from clew.services.tools.servers import Desk, Made, server_tools
from clew.services.tools.tool import Tool
from clew.stores.approvals import Approvals

if TYPE_CHECKING:
    from clew.adapters.mcp_client import Offered, Server, Servers

PROJECT_FILE: Final = ".mcp.json"
_MOST_BYTES: Final = 256 * 1024
_MOST_SERVERS: Final = 50
LONGEST_INSTRUCTIONS: Final = 4_000
"""Characters of a server's instructions that a model gets."""
DEAR: Final = 10_000
"""Tokens of one server's tools from which on their cost is told."""
_HEADING: Final = re.compile(r"^(#{1,2})(?=\s)", re.MULTILINE)
_MARKER: Final = re.compile(r"^(?=\[[a-z_]{3,30}\](?!\())", re.MULTILINE)
"""What Clew's own blocks begin with."""


class Person(Protocol):
    """Whoever can be asked."""

    attended: bool

    def permit(self, effect: Effect) -> Permit:
        """The answer to one question."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """Which servers there are to be, and what is wrong with what was written down."""

    entries: tuple[ServerEntry, ...] = ()
    project: frozenset[str] = frozenset()
    """Names of those that come with the project."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """A server as a list shows it."""

    name: str
    state: str
    """`ready`, `starting`, `ended`, `not allowed`, `off`."""
    tools: int = 0
    tokens: int = 0
    """What its tools cost in every request."""
    origin: str = ""
    """`.mcp.json`, or `config` for the user's own."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """What a run begins with."""

    tools: tuple[Tool[Any], ...] = ()
    injections: tuple[tuple[str, str], ...] = ()
    """Origin and instructions of each server that has some, by name."""
    notices: tuple[str, ...] = ()
    """For the user."""


@dataclass(frozen=True, slots=True)
class Means:
    """What starting servers takes."""

    root: Path
    """The workspace."""
    environ: Mapping[str, str]
    """The user's, for variables in entries."""
    handed_on: Mapping[str, str]
    """What programs get."""
    redact: Callable[[str], str]
    clock: Callable[[], datetime]
    approvals: Approvals
    tokenizer: Tokenizer
    wait: float
    """Seconds that the first run waits."""


@dataclass(slots=True)
class McpServers:
    """The servers of one session."""

    plan: Plan
    means: Means
    desk: Desk
    servers: Callable[[], Servers]
    """Opens the loop in which servers are kept; called with the first server."""
    _open: Servers | None = None
    _started: dict[str, Server] = field(default_factory=dict[str, "Server"])
    _troubles: dict[str, str] = field(default_factory=dict[str, str])
    """Why a server was not started."""
    _refused: set[str] = field(default_factory=set[str])
    _told: set[str] = field(default_factory=set[str])
    _there: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Names of the tools that the last run had, by server."""
    _runs: int = 0
    _sorted: dict[str, tuple[Offered, Made]] = field(default_factory=dict[str, "tuple[Offered, Made]"])
    """The tools that were made of what a server offers."""

    def begin(self) -> None:
        """Start those that may start, in the background."""
        for entry in self.plan.entries:
            if entry.enabled and self._allowed(entry):
                self._start(entry)

    def gather(self, person: Person, stopped: Callable[[], bool]) -> Joined:
        """What the run that begins now has. The first waits, and one that starts more; others take what is there."""
        before = len(self._started)
        self._ask(person, stopped)
        if self._open is not None:
            seconds = self.means.wait if self._runs == 0 or len(self._started) > before else 0.0
            self._open.wait(lambda: all(one.state != "starting" for one in self._started.values()), seconds, stopped)
        self._runs += 1
        tools, there, notices = self._tools()
        notices = [*self.plan.notices, *self._missing(), *notices, *self._changes(there)]
        self._there = there
        fresh = [one for one in notices if one not in self._told]
        self._told.update(fresh)
        return Joined(tuple(tools), self._injections(), tuple(map(self._plain, fresh)))

    def listing(self) -> tuple[Listed, ...]:
        """Every server that is written down, by name."""
        rows: list[Listed] = []
        for entry in sorted(self.plan.entries, key=lambda one: one.name):
            origin = PROJECT_FILE if entry.name in self.plan.project else "config"
            server = self._started.get(entry.name)
            name = printable(entry.name, 60)
            if server is None:
                state = "off" if not entry.enabled else "ended" if entry.name in self._troubles else "not allowed"
                rows.append(Listed(name, state, origin=origin, why=self._plain(self._troubles.get(entry.name, ""))))
                continue
            tools = self._made(entry.name, server)[0]
            why = "" if server.state == "ready" else self._plain(server.why)
            rows.append(Listed(name, server.state, len(tools), self._cost(tools), origin, why))
        return tuple(rows)

    def close(self) -> None:
        """End all of them."""
        if self._open is not None:
            self._open.close()

    # ------------------------------------------------------------------ starting

    def _allowed(self, entry: ServerEntry) -> bool:
        if entry.name not in self.plan.project:
            return True
        try:
            return self.means.approvals.holds(entry.digest(os.path.realpath(self.means.root)))
        except ClewError as error:
            self._troubles[entry.name] = str(error)
            return False

    def _ask(self, person: Person, stopped: Callable[[], bool]) -> None:
        """Ask for what the project wants to start, once a session, where somebody is there to be asked."""
        for entry in self.plan.entries:
            if not entry.enabled or entry.name in self._started or entry.name in self._refused:
                continue
            if entry.name not in self.plan.project or entry.name in self._troubles or not person.attended:
                continue
            name = printable(entry.name, 60)
            deed = "start" if entry.command else "connect to"
            effect = Effect(
                "server", f"{deed} the MCP server {name}, which {PROJECT_FILE} of this project names", entry.lines(),
                f"{deed} {name}", (str(self.means.root / PROJECT_FILE),), outside=True,
            )  # fmt: skip
            if not person.permit(effect).allowed:
                if stopped():
                    return  # that was no answer
                self._refused.add(entry.name)
                continue
            try:
                self.means.approvals.add(
                    entry.digest(os.path.realpath(self.means.root)), printable(entry.name, 60), self.means.clock()
                )
            except StoreError as error:
                self._troubles[entry.name] = str(error)  # told; allowed for this session all the same
            self._start(entry)

    def _start(self, entry: ServerEntry) -> None:
        from clew.adapters.mcp_client import Target  # noqa: PLC0415 -- only where there are servers

        try:
            whole = entry.expanded(self.means.environ)
            target = Target(
                entry.name, self._argv(whole), self.means.root, {**self.means.handed_on, **whole.env}, whole.url,
                whole.transport, whole.headers,
            )  # fmt: skip
        except ClewError as error:
            self._troubles[entry.name] = f"{error}; {error.hint}" if error.hint else str(error)
            return
        if self._open is None:
            self._open = self.servers()
        self._started[entry.name] = self._open.start(target)

    def _argv(self, entry: ServerEntry) -> tuple[str, ...]:
        if not entry.command:
            return ()
        command = os.path.expanduser(entry.command) if entry.command.startswith("~") else entry.command
        environ = {**self.means.handed_on, **entry.env}
        found = command if os.sep in command else find_program(environ, command)
        if found is None:
            raise NotFound(f"there is no program {printable(command, 80)}", hint="install it, or write its whole path")
        return (found, *entry.args)

    # ------------------------------------------------------------------ what a run gets

    def _names(self) -> dict[str, str]:
        # The user's own come first: what a project calls its server cannot take a name from them.
        own = sorted(one.name for one in self.plan.entries if one.name not in self.plan.project)
        return server_names([*own, *sorted(self.plan.project)])

    def _made(self, name: str, server: Server) -> tuple[tuple[Tool[Any], ...], tuple[str, ...]]:
        if server.offered is None or server.state == "ended":
            return (), ()
        offered = server.offered
        kept = self._sorted.get(name)
        if kept is None or kept[0] is not offered:
            kept = (offered, server_tools(self._names()[name], server, offered.tools, self.desk))
            self._sorted[name] = kept
        return kept[1].tools, kept[1].left_out

    def _tools(self) -> tuple[list[Tool[Any]], dict[str, tuple[str, ...]], list[str]]:
        """Tools by server and name, their names by server, and what the user should know of them."""
        names = self._names()
        tools: list[Tool[Any]] = []
        there: dict[str, tuple[str, ...]] = {}
        notices: list[str] = []
        for name in sorted(self._started, key=names.__getitem__):
            server = self._started[name]
            made, left_out = self._made(name, server)
            if server.offered is None or server.state == "ended":
                continue
            tools += made
            there[name] = tuple(one.name for one in made)
            shown = printable(name, 60)
            notices += [f"the MCP server {shown}: {one}, and is left out" for one in left_out[:5]]
            if (cost := self._cost(made)) >= DEAR:
                size = f"{counted(len(made), 'tool')}, {cost:,} tokens"
                notices.append(f"the MCP server {shown} costs {size} in every request; `enabled: false` keeps it away")
        return tools, there, notices

    def _cost(self, tools: Sequence[Tool[Any]]) -> int:
        offered = [{"name": one.name, "description": one.description, "schema": one.schema} for one in tools]
        return self.means.tokenizer.count(msgspec.json.encode(offered).decode()) if offered else 0

    def _injections(self) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for name in sorted(self._started):
            server = self._started[name]
            if server.offered is not None and server.offered.instructions.strip():
                text = told_instructions(server.offered.instructions, self.means.redact)
                found.append((origin_of(name), text))
        return tuple(found)

    def _missing(self) -> list[str]:
        """Servers that are not there, and why."""
        notices: list[str] = []
        for entry in self.plan.entries:
            name, shown = entry.name, printable(entry.name, 60)
            server = self._started.get(name)
            if not entry.enabled:
                continue
            if name in self._troubles:
                notices.append(f"the MCP server {shown}: {self._troubles[name]}")
            elif server is None and name not in self._refused:
                notices.append(
                    f"the MCP server {shown} of this project was not started: nobody was there to be asked; `clew` on "
                    "a terminal asks, and your own config.yaml may name it under `mcp_servers`"
                )
            elif server is not None and server.state == "ended":
                notices.append(f"the MCP server {shown} is not there: {server.why}")
            elif server is not None and server.state == "starting" and server.offered is None:
                notices.append(f"the MCP server {shown} is still starting; it joins with a later message")
        return notices

    def _changes(self, there: Mapping[str, tuple[str, ...]]) -> list[str]:
        """Between runs the list of tools changed: what a provider had kept of the prompt is lost once."""
        if self._runs == 1:
            return []
        notices: list[str] = []
        for name in sorted(self._there.keys() | there.keys()):
            before, now = self._there.get(name), there.get(name)
            if before == now:
                continue
            deed = "has joined" if before is None else "has left" if now is None else "has other tools now"
            notices.append(
                f"the MCP server {printable(name, 60)} {deed} (run {self._runs}): the list of tools changed, so this "
                "request is not cached"
            )
        return notices

    def _plain(self, text: str) -> str:
        return printable(self.means.redact(text), 600)


def origin_of(name: str) -> str:
    """Where instructions of a server come from, as the model reads it."""
    return f"MCP server {printable(name, 60)}"


def told_instructions(text: str, redact: Callable[[str], str]) -> str:
    """Instructions as a model gets them: bounded, without secrets, unable to look like another part of the prompt."""
    cut = len(text) > LONGEST_INSTRUCTIONS
    shown = visible(redact(text[:LONGEST_INSTRUCTIONS].strip()))
    shown = _MARKER.sub("\\\\", _HEADING.sub("###", shown.replace("\r\n", "\n")))
    return f"{shown}\n[… the rest is left out]" if cut else shown


def plan_of(root: Path, own: Mapping[str, ServerEntry]) -> Plan:
    """The user's own servers and those of the project. Nothing that is wrong with the file keeps a session away."""
    notices: list[str] = []
    theirs: list[ServerEntry] = []
    for entry, trouble in _project(root):
        if trouble:
            notices.append(trouble)
        elif entry is not None and entry.name in own:
            notices.append(f"{PROJECT_FILE}: your own MCP server {printable(entry.name, 60)} takes its place")
        elif entry is not None:
            theirs.append(entry)
    names = frozenset(one.name for one in theirs)
    return Plan((*own.values(), *theirs), names, tuple(notices))


def _project(root: Path) -> list[tuple[ServerEntry | None, str]]:
    """Entries of the project's file, each with or instead of what is wrong with it."""
    path = root / PROJECT_FILE
    if not os.path.lexists(path):
        return []
    real = os.path.realpath(root)
    if os.path.commonpath((real, os.path.realpath(path))) != real:
        return [(None, f"{PROJECT_FILE} is a link that leads out of the workspace, and is not read")]
    try:
        text = read_regular(path, _MOST_BYTES, shown=PROJECT_FILE).decode("utf-8-sig")
        found = json.loads(text)
    except json.JSONDecodeError as error:
        return [(None, f"{PROJECT_FILE}:{error.lineno}: this is no JSON ({error.msg}); no server of it is started")]
    except UnicodeDecodeError:
        return [(None, f"{PROJECT_FILE} is no UTF-8 text; no server of it is started")]
    except (RecursionError, ValueError):
        return [(None, f"{PROJECT_FILE}: this is no JSON that can be read; no server of it is started")]
    except (ClewError, OSError) as error:
        return [(None, f"{PROJECT_FILE}: {error}; no server of it is started")]
    servers = cast("dict[str, object]", found).get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        return [(None, f"{PROJECT_FILE}:1: there is no table `mcpServers`; no server is started")]
    named = cast("dict[str, object]", servers)
    rows: list[tuple[ServerEntry | None, str]] = []
    for name, given in list(named.items())[:_MOST_SERVERS]:
        place = f"{PROJECT_FILE}:{_line_of(text, name)}: the MCP server `{printable(name, 60)}`"
        try:
            rows.append((entry_of(name, given), ""))
        except ConfigError as error:
            rows.append((None, f"{place}: {error}; it is not started"))
    if len(named) > _MOST_SERVERS:
        rows.append((None, f"{PROJECT_FILE} names {len(named)} servers; the first {_MOST_SERVERS} are read"))
    return rows


def _line_of(text: str, name: str) -> int:
    """The line in which a name stands as a key; 1 where it is written otherwise than JSON writes it."""
    with contextlib.suppress(ValueError):
        start = max(text.find('"mcpServers"'), 0)
        for written in (json.dumps(name), json.dumps(name, ensure_ascii=False)):
            if found := re.compile(re.escape(written) + r"\s*:").search(text, start):
                return text.count("\n", 0, found.start()) + 1
    return 1
