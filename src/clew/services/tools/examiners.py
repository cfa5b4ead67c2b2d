"""Which programs look at a file, and what they said: language servers that stay, checkers that end.

What may be started unasked is decided here: a program that only reads, on PATH, outside of the workspace. All else
needs the user's yes, as a command does.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from clew.adapters.checkers import check
from clew.adapters.language_servers import (
    CHECKERS,
    SERVERS,
    CheckerKind,
    Installed,
    Language,
    ServerKind,
    installed,
    language_of,
    options_of,
    root_of,
    server_environ,
    serves,
    settings_of,
)
from clew.adapters.lsp import Bounds, Order, Server
from clew.adapters.programs import PosixPrograms
from clew.core.agent.effects import Effect
from clew.core.agent.findings import Finding
from clew.core.text.printable import printable
from clew.errors import ClewError

OFF: Final = "off"
EVERY: Final = "*"
"""Stands for all languages in the setting."""
_MOST_SERVERS: Final = 4
_AT_ONCE: Final = 4
"""Checkers that run side by side."""
_RESTARTS: Final = 2
"""How often a server is started again that had worked and died."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is now."""

    path: Path
    """Absolute, without links."""
    text: str


@dataclass(frozen=True, slots=True)
class Look:
    """What one program said about one file."""

    source: str
    findings: tuple[Finding, ...] | None
    words: str = ""
    """Why there are no findings."""
    later: bool = False
    """They may come when it is asked again."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    kind: ServerKind | CheckerKind
    argv: tuple[str, ...]
    trusted: bool


@dataclass(slots=True)
class _Choice:
    """The programs for one file."""

    server: _Chosen | None = None
    checkers: list[_Chosen] = field(default_factory=list[_Chosen])
    question: Effect | None = None
    """What would have to be allowed for more."""
    missing: str = ""


class Examiners:
    """The programs of one session. `permitted` tells what may be done unasked, `chosen` what the user's settings say:
    by language a command, or `off`."""

    def __init__(
        self, root: Path, programs: PosixPrograms, environ: Mapping[str, str], permitted: Callable[[Effect], bool],
        chosen: Mapping[str, str], bounds: Bounds,
    ) -> None:  # fmt: skip
        self.root = root
        self.bounds = bounds
        self._programs = programs
        self._environ = environ
        self._permitted = permitted
        self._chosen = chosen
        self._allowed: set[str] = set()
        self._servers: dict[tuple[str, Path], Server] = {}
        self._restarts: dict[tuple[str, Path], int] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all servers."""
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.close()

    # ------------------------------------------------------------------ what may be started

    def switched_off(self, path: Path) -> bool:
        """Whether the user's settings say that nothing looks at this file."""
        found = language_of(path)
        return bool(found) and OFF in (self._chosen.get(EVERY), self._chosen.get(found[0].key))

    def question(self, path: Path) -> Effect | None:
        """What would have to be allowed so that more can look at a file."""
        return self._choose(path).question

    def allow(self, effect: Effect) -> None:
        """The user said yes."""
        self._allowed.add(effect.subject)

    def revive(self, path: Path) -> None:
        """Give a server for this file that has ended another try."""
        chosen = self._choose(path).server
        if chosen is None or not isinstance(chosen.kind, ServerKind):
            return
        key = chosen.kind.name, root_of(chosen.kind, path, self.root)
        with self._lock:
            if key in self._servers and self._servers[key].state == "ended":
                self._servers.pop(key).close()
                self._restarts.pop(key, None)

    def _choose(self, path: Path) -> _Choice:
        choice = _Choice()
        found = language_of(path)
        if found is None or self.switched_off(path):
            return choice
        kinds = self._kinds(found[0])
        for kind in kinds:
            choice.server = self._usable(kind, path, choice)
            if choice.server:
                break
        for kind in CHECKERS:
            twin = choice.server is not None and choice.server.kind.name in (kind.name, *kind.within)
            if kind.language == found[0].key and not twin and (not kind.ends or path.suffix.lower() in kind.ends):
                usable = self._usable(kind, path, choice)
                choice.checkers += [usable] if usable else []
        if choice.server is None and choice.question is None:
            names = " or ".join(f"`{kind.argv[0]}`" for kind in kinds)
            choice.missing = f"no language server for {found[0].shown} is installed ({printable(names)})"
        return choice

    def _kinds(self, language: Language) -> list[ServerKind]:
        usual = [kind for kind in SERVERS if kind.language == language.key]
        command = self._chosen.get(language.key, "")
        if not command:
            return usual
        argv = tuple(shlex.split(command))
        name = Path(argv[0]).name
        # Whoever names a program in his own settings knows what it runs.
        known = next((kind for kind in usual if kind.argv[0] == name), None)
        if known:
            return [replace(known, argv=argv, runs="")]
        roots = tuple(dict.fromkeys(root for kind in usual for root in kind.roots))
        return [ServerKind(name, argv, language.key, roots, settle=0.3)]

    def _usable(self, kind: ServerKind | CheckerKind, path: Path, choice: _Choice) -> _Chosen | None:
        found = installed(kind.argv[0], self._environ, self.root, path.parent)
        if found is None or not serves(kind, found.path):
            return None
        effect = self._effect(kind, found)
        if effect is None or effect.subject in self._allowed or self._permitted(effect):
            return _Chosen(kind, (found.path, *kind.argv[1:]), found.inside)
        choice.question = choice.question or effect
        return None

    def _effect(self, kind: ServerKind | CheckerKind, found: Installed) -> Effect | None:
        runs = kind.runs if isinstance(kind, ServerKind) else ""
        if not (found.inside or runs):
            return None
        program = found.path
        if Path(program).is_relative_to(self.root):
            program = str(Path(program).relative_to(self.root))
        command = printable(shlex.join([program, *kind.argv[1:]] if found.inside else kind.argv))
        whys = ["it lies in the workspace"] if found.inside else []
        whys += [f"it runs what the workspace holds: {runs}"] if runs else []
        preview = f"{command}\n# to look for mistakes in files; {', and '.join(whys)}"
        return Effect("command", f"start {command}", preview, command)

    # ------------------------------------------------------------------ looking

    def look(
        self, files: Sequence[File], seconds: float | None, stopped: Callable[[], bool]
    ) -> dict[Path, tuple[list[Look], list[str]]]:
        """What is said about files as they are now, and what else there is to say about each: what is missing.

        All are looked at side by side. With `seconds` all is done after so long; without, a server has the time that
        its bounds give it.
        """
        given = None if seconds is None else time.monotonic() + seconds
        told = [(file, *self._shown(file)) for file in files]
        end = time.monotonic() + self.bounds.request if given is None else given
        with ThreadPoolExecutor(_AT_ONCE, "clew-checker") as pool:
            checked = [
                [pool.submit(self._checked, one, file, end, stopped) for one in choice.checkers]
                for file, choice, _, _ in told
            ]
            for _, _, server, _ in told:
                if isinstance(server, Server):
                    server.started(self.bounds.start + 1.0 if given is None else given - time.monotonic(), stopped)
        looks = {
            file.path: ([one.result() for one in running], _notes(choice))
            for (file, choice, _, _), running in zip(told, checked, strict=True)
        }
        end = time.monotonic() + self.bounds.request if given is None else given
        for file, _, server, version in told:
            if isinstance(server, Server):
                looks[file.path][0].insert(0, _asked(server, file, version, end, stopped))
            elif server is not None:
                looks[file.path][0].insert(0, server)
        return looks

    def _shown(self, file: File) -> tuple[_Choice, Server | Look | None, int]:
        """Tell a server what a file says now. The programs, the server, and the version that it must speak of."""
        choice = self._choose(file.path)
        server = self._server(choice.server, file.path) if choice.server else None
        found = language_of(file.path)
        if not isinstance(server, Server) or found is None:
            return choice, server, 0
        # Bytes that are no UTF-8 cannot be sent; what stands for them keeps each line as long as it is.
        return choice, server, server.sync(file.path, found[1], file.text.encode("utf-8", "replace").decode())

    def _checked(self, chosen: _Chosen, file: File, end: float, stopped: Callable[[], bool]) -> Look:
        kind = chosen.kind
        assert isinstance(kind, CheckerKind)
        environ = server_environ(self._environ, self.root, trusted=chosen.trusted)
        left = end - time.monotonic()
        if left <= 0 or stopped():
            return Look(kind.name, None, f"{kind.name} had no time left to look", later=True)
        done = check(self._programs, kind.name, chosen.argv, kind.form, file.path, self.root, environ, left, stopped)
        return Look(kind.name, done.findings, done.words)

    def _server(self, chosen: _Chosen, path: Path) -> Server | Look:
        """The server for a file, running or ended; where it cannot be started, why."""
        kind = chosen.kind
        assert isinstance(kind, ServerKind)
        key = kind.name, root_of(kind, path, self.root)
        with self._lock:
            old = self._servers.get(key)
            if old is not None and not self._again(key, old):
                return old
            environ = server_environ(self._environ, self.root, trusted=chosen.trusted)
            settings, options = settings_of(kind, key[1], environ), options_of(kind, environ)
            order = Order(
                kind.name, chosen.argv, key[1], environ, settings, options, kind.passed_over, kind.settle
            )  # fmt: skip
            self._make_room()
            try:
                server = self._servers[key] = Server(self._programs, order, self.bounds)
            except ClewError as error:
                return Look(kind.name, None, f"{kind.name}: {error}")
            return server

    def _again(self, key: tuple[str, Path], old: Server) -> bool:
        """Whether a server that was started before is to be started once more."""
        if old.state != "ended":
            return False
        if old.ending == "died" and old.worked:
            self._restarts[key] = self._restarts.get(key, 0) + 1
            return self._restarts[key] <= _RESTARTS
        return old.ending in ("idle", "closed")

    def _make_room(self) -> None:
        running = [key for key, one in self._servers.items() if one.state != "ended"]
        if len(running) >= _MOST_SERVERS:
            oldest = min(running, key=lambda key: self._servers[key].touched)
            self._servers.pop(oldest).close()


def _notes(choice: _Choice) -> list[str]:
    notes = [choice.missing] if choice.missing else []
    if choice.question:
        why = choice.question.preview.rpartition("; ")[2]
        notes.append(f"`{choice.question.subject}` was not started: {why}; with `start` the user is asked")
    return notes


def _asked(server: Server, file: File, version: int, end: float, stopped: Callable[[], bool]) -> Look:
    name, left = server.order.name, max(end - time.monotonic(), 0.0)
    findings = server.wait(file.path, version, left, stopped)
    if findings is not None:
        return Look(name, findings)
    match server.state:
        case "ended":
            return Look(name, None, f"{name} {server.words}")
        case "starting":
            return Look(name, None, f"{name} is still starting", later=True)
        case "ready":
            return Look(name, None, f"{name} has not answered yet", later=True)
