"""The tools `terminal_…`: programs that stay, that ask, or that fill a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from clew.adapters.shells import Shells, Snapshot, Terminal
from clew.core.agent import shell_hints as hints
from clew.core.agent.effects import Effect
from clew.core.agent.shell_hints import ShellLine
from clew.core.text.printable import printable, visible
from clew.errors import ClewError
from clew.services.tools import command as common
from clew.services.tools.command import Workplace
from clew.services.tools.pages import page
from clew.services.tools.tool import Reply, Signal, Tool, define

_QUIET = 0.5
"""Seconds without output after which a program is taken to wait."""
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_TYPED = {
    "enter": "\r",
    "tab": "\t",
    "shift-tab": "\x1b[Z",
    "escape": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "page-up": "\x1b[5~",
    "page-down": "\x1b[6~",
    "ctrl-space": "\0",
    "ctrl-\\": "\x1c",
    "ctrl-]": "\x1d",
}
_FUNCTION = ("OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~")
_HARMLESS = frozenset({"ctrl-c", "ctrl-\\"})
"""Keys that only end what a program does."""
_KEYS = (
    "enter, tab, escape, space, backspace, delete, up, down, left, right, home, end, page-up, page-down, f1–f12, ctrl-c"
)


@dataclass(frozen=True, slots=True)
class Spawn:
    """Arguments of `terminal_spawn`."""

    command: Annotated[str, Meta(description="empty: a shell")] = ""
    name: str = ""
    cwd: Annotated[str, Meta(description="folder, relative to the workspace")] = ""


@dataclass(frozen=True, slots=True)
class Send:
    """Arguments of `terminal_send`."""

    terminal: str
    text: str = ""
    key: Annotated[str, Meta(description="pressed after the text: enter, ctrl-c, up, escape, f1, …")] = ""
    wait: Annotated[
        float, Meta(description="seconds to wait at most until output is quiet; it is in the answer", ge=0, le=30)
    ] = 0


@dataclass(frozen=True, slots=True)
class Read:
    """Arguments of `terminal_read`."""

    terminal: str
    offset: Annotated[int | None, Meta(description="default: what is new; negative: from the end")] = None
    wait: Annotated[float, Meta(description="seconds to wait at most for new output", ge=0, le=120)] = 0


@dataclass(frozen=True, slots=True)
class Look:
    """Arguments of `terminal_snapshot`."""

    terminal: str
    ansi: Annotated[bool, Meta(description="with colours")] = False


@dataclass(frozen=True, slots=True)
class Which:
    """Arguments of `terminal_kill`."""

    terminal: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Arguments of `terminal_list`."""


def terminal_tools(shells: Shells, place: Workplace) -> tuple[Tool[Any], ...]:
    """spawn, send, read, snapshot, list and kill, for the terminals of one session."""
    found = _Terminals(shells, place)
    return (
        define(
            "terminal_spawn",
            "Start a program on a terminal, for servers, REPLs and programs that ask. It ends with the session.",
            Spawn,
            found.spawn,
            found.spawns,
        ),
        define(
            "terminal_send",
            "Type into a terminal. Text alone presses no enter.",
            Send,
            found.send,
            found.sends,
            alone=True,
        ),
        define("terminal_read", "Output of a terminal as plain text.", Read, found.read),
        define("terminal_snapshot", "The screen of a terminal, for programs that fill it.", Look, found.look),
        define("terminal_list", "All terminals.", Nothing, found.list),
        define("terminal_kill", "End a terminal with all it started.", Which, found.kill, found.kills, alone=True),
    )


def shell_hints(shells: Shells, place: Workplace) -> str:
    """The block `[shell_hints]` of the terminals that were not killed; empty where there is none."""
    alive = [terminal for terminal in shells.all() if terminal.state != "killed"]
    return hints.shell_hints([_line(terminal, place) for terminal in alive])


class _Terminals:
    def __init__(self, shells: Shells, place: Workplace) -> None:
        self._shells = shells
        self._place = place
        self._environ = common.screen_environ(place.environ)

    def spawns(self, given: Spawn) -> Effect | Reply:
        """What `terminal_spawn` would do."""
        try:
            common.checked(given.command)
            folder, outside = self._place.folder(given.cwd)
        except ClewError as error:
            return common.refusal(error)
        argv = common.shell_argv(given.command.strip(), self._environ)
        subject = given.command.strip() or argv[0]
        title = f"run {printable(subject, 100)} in a terminal"
        reaches = self._place.reached(given.command, folder)
        return Effect("command", title, common.told(subject), subject, (str(folder),), outside, reaches)

    def spawn(self, given: Spawn, effect: Effect, signal: Signal) -> Reply:
        command = given.command.strip()
        argv = common.shell_argv(command, self._environ)
        try:
            terminal = self._shells.spawn(command or argv[0], argv, effect.paths[0], self._environ, given.name)
        except ClewError as error:
            return common.refusal(error)
        # A program that ends at once is told at once.
        terminal.wait(0.3, lambda: signal.stopped)
        return Reply(f"started {self._status(terminal)}" if terminal.exit is None else self._page(terminal, None))

    def sends(self, given: Send) -> Effect | Reply:
        """What `terminal_send` would do: `ctrl-c` alone is not asked for, since it only ends something."""
        if not given.text and not given.key:
            return Reply("there is nothing to send: give text or key", True)
        if given.key and _typed(given.key, cursor_keys=False) is None:
            return Reply(f"there is no key `{printable(given.key, 20)}`; keys: {_KEYS} (any letter)", True)
        try:
            terminal = self._shells.find(given.terminal)
            given.text.encode()
        except ClewError as error:
            return common.refusal(error)
        except UnicodeEncodeError:
            return Reply("the text holds half of a pair, which cannot be typed", True)
        preview = printable(given.text) + (f"<{given.key.lower()}>" if given.key else "")
        kind = "command" if given.text or given.key.lower() not in _HARMLESS else "read"
        subject = given.text or preview
        title = f"type into {terminal.id} ({printable(terminal.command, 60)})"
        folder, root = Path(terminal.folder), self._place.root
        reaches = self._place.reached(given.text, folder if folder.is_relative_to(root) else root)
        return Effect(kind, title, preview, subject, reaches=reaches if kind == "command" else ())

    def send(self, given: Send, effect: Effect, signal: Signal) -> Reply:
        try:
            terminal = self._shells.find(given.terminal)
        except ClewError as error:
            return common.refusal(error)
        if terminal.exit is not None:
            return Reply(f"nothing was sent: {self._status(terminal)}", True)
        key = (
            _typed(given.key, cursor_keys=given.key.lower() in _CURSOR and terminal.cursor_keys()) if given.key else ""
        )
        # The key of a keyboard sends a carriage return, also between the lines of a text.
        text = given.text.replace("\r\n", "\r").replace("\n", "\r")
        data = (text + (key or "")).encode()
        taken = terminal.write(data)
        if given.wait:
            terminal.wait(given.wait, lambda: signal.stopped, _QUIET)
        note = (
            "" if taken == len(data) else f"only {taken} of {len(data)} bytes were taken: the program does not read\n"
        )
        failed = taken < len(data) and terminal.exit is None
        if given.wait:
            full = terminal.exit is None and terminal.snapshot().alternate
            return Reply(note + (self._screen(terminal, ansi=False) if full else self._page(terminal, None)), failed)
        return Reply(note + f"sent to {self._status(terminal)}", failed)

    def read(self, given: Read, effect: Effect, signal: Signal) -> Reply:
        def page_of(terminal: Terminal) -> str:
            if given.wait:
                terminal.wait(given.wait, lambda: signal.stopped, _QUIET, beyond=terminal.seen)
            return self._page(terminal, given.offset)

        return self._with(given.terminal, page_of)

    def look(self, given: Look, effect: Effect, signal: Signal) -> Reply:
        return self._with(given.terminal, lambda terminal: self._screen(terminal, ansi=given.ansi))

    def list(self, given: Nothing, effect: Effect, signal: Signal) -> Reply:
        known = self._shells.all()
        return Reply("\n".join(map(self._status, known)) or "there are no terminals")

    def kills(self, given: Which) -> Effect | Reply:
        """Ending one's own terminal is not asked for."""
        return Effect("read", f"end terminal {printable(given.terminal, 40)}")

    def kill(self, given: Which, effect: Effect, signal: Signal) -> Reply:
        def end(terminal: Terminal) -> str:
            number = terminal.kill()
            return f"ended {number} process{'' if number == 1 else 'es'}: {self._status(terminal)}"

        return self._with(given.terminal, end)

    def _with(self, wanted: str, answer: Callable[[Terminal], str]) -> Reply:
        try:
            return Reply(answer(self._shells.find(wanted)))
        except ClewError as error:
            return common.refusal(error)

    def _status(self, terminal: Terminal) -> str:
        return hints.shell_line(_line(terminal, self._place))

    def _page(self, terminal: Terminal, offset: int | None) -> str:
        final = terminal.exit is not None
        seen = terminal.seen
        if offset is None and 0 < seen == terminal.end:
            return f"[{terminal.id} {_state(terminal)}; nothing new; end {seen}]"
        found = page(terminal, offset, terminal.read_to, self._place.redact, final=final)
        if offset is None:
            terminal.seen, terminal.read_to = found.end, found.next
        where = f"offset {found.first} to {found.stop}, next {found.next}, end {found.end}"
        head = f"{terminal.id} {_state(terminal)}; {where}"
        if found.dropped:
            head += f"; {common.size(found.dropped)} before are dropped"
        if found.passed:
            head += f"; {common.size(found.passed)} passed over, from offset {found.first - found.passed}"
        return f"[{head}]\n{found.text}".rstrip("\n")

    def _screen(self, terminal: Terminal, *, ansi: bool) -> str:
        shot = terminal.snapshot()
        rows, whole = _rows(shot, self._place.redact)
        head = f"{terminal.id} {_state(terminal)}; {shot.columns}×{shot.lines}; cursor {shot.row}:{shot.column}"
        if ansi and whole:
            rows = shot.coloured
        elif ansi:
            head += "; without colours, since a secret was taken out"
        return "\n".join([f"[{head}]", *rows])


def _rows(shot: Snapshot, redact: Callable[[str], str]) -> tuple[Sequence[str], bool]:
    """The rows without secrets, also those that go on in the next row; and whether nothing was taken out."""
    joined = "".join(row + ("" if at in shot.full else "\n") for at, row in enumerate(shot.rows))
    plain = "\n".join(shot.rows)
    if redact(joined) == joined and redact(plain) == plain:
        return shot.rows, True
    return visible(redact(joined)).rstrip("\n").split("\n"), False


def _state(terminal: Terminal) -> str:
    ended = terminal.exit
    if terminal.state == "killed":
        return "killed"
    if ended is None:
        return "running"
    return f"ended by {ended.signal}" if ended.code is None else f"exited {ended.code}"


def _line(terminal: Terminal, place: Workplace) -> ShellLine:
    command, folder = place.redact(terminal.command), place.redact(terminal.folder)
    shown = printable(folder)
    if folder == terminal.folder:
        shown = place.shown(type(place.root)(folder))
    running = terminal.state == "running"
    return ShellLine(terminal.id, terminal.name, _state(terminal), command, shown, terminal.lines, running)


def _typed(key: str, *, cursor_keys: bool) -> str | None:
    """What a key sends; None for one that there is not."""
    name = key.strip().lower().replace("_", "-")
    if name in _CURSOR:
        return f"\x1b{'O' if cursor_keys else '['}{_CURSOR[name]}"
    if name in _TYPED:
        return _TYPED[name]
    if len(name) == 6 and name.startswith("ctrl-") and "a" <= name[5] <= "z":
        return chr(ord(name[5]) - 96)
    if len(name) == 5 and name.startswith("alt-") and name[4].isascii():
        return "\x1b" + key.strip()[4]
    if name[:1] == "f" and name[1:].isdecimal() and 1 <= int(name[1:]) <= len(_FUNCTION):
        return "\x1b" + _FUNCTION[int(name[1:]) - 1]
    return None
