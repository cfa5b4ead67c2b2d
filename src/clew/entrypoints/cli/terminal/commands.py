"""The commands of the terminal: lines that begin with `/`."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from clew.core.agent.permissions import rule_of
from clew.core.ports import THINKING
from clew.core.text.printable import printable, visible
from clew.entrypoints.cli.deeds import signs
from clew.entrypoints.cli.style import padded
from clew.entrypoints.cli.terminal.conversation import Conversation
from clew.entrypoints.cli.terminal.show import Show
from clew.entrypoints.cli.terminal_zh import COMMANDS_HELP, KEYS_HELP
from clew.entrypoints.cli.writing import write_new
from clew.errors import ClewError, UsageError

if TYPE_CHECKING:
    from clew.services.run import Prepared
    from clew.stores.transcripts import Summary

_ALONE: Final = ("/resume", "/new", "/fork")
"""They wait for the end of a run."""
_LISTED: Final = 20
_SHORTEST_ID: Final = 4
"""Digits from which on a number is the beginning of an id, not a place in the list."""
_SHOWN: Final = 3
"""Runs of a session that are shown when it goes on."""


class Room(Protocol):
    """Where commands are given."""

    talk: Conversation
    show: Show

    def entered(self, text: str, *, later: bool) -> None:
        """A message."""
        ...

    def left(self) -> None:
        """Leave."""
        ...

    def unfolded(self) -> None:
        """The last output, whole."""
        ...


class Commands:
    """Carries commands out. Each prints what it has to say."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.listed: list[str] = []
        """Ids of the sessions in the last list."""
        self._known: dict[str, Callable[[str], None]] = {
            "/help": self._help, "/context": self._context, "/hints": self._hints, "/memory": self._memory,
            "/plan": lambda rest: self._clew("plan", *rest.split()),
            "/handoff": lambda rest: self._clew("handoff", *rest.split(), shape=without_front_matter),
            "/resume": self._resume, "/model": self._model, "/thinking": self._thinking, "/new": self._new,
            "/fork": self._fork, "/export": self._export, "/allow": self._allow, "/yes": self._yes,
            "/shells": self._shells, "/last": lambda _: self.room.unfolded(), "/queue": self._queue,
            "/quit": lambda _: self.room.left(),
        }  # fmt: skip

    @property
    def talk(self) -> Conversation:
        """The conversation."""
        return self.room.talk

    @property
    def show(self) -> Show:
        """Where things are said."""
        return self.room.show

    def known(self) -> list[tuple[str, str]]:
        """Names, each with what it does."""
        at = 1 if self.show.language == "zh" else 0
        return [(name, COMMANDS_HELP[name][at]) for name in self._known]

    def arguments(self, name: str) -> Sequence[tuple[str, str]]:
        """What may follow a name."""
        match name:
            case "/yes":
                return (("on", ""), ("off", ""))
            case "/context":
                return (("full", ""),)
            case "/thinking":
                return [(level, "") for level in THINKING]
            case "/hints":
                return [(f"reject {at}", one.name) for at, one in enumerate(self.show.hints, 1)]
            case "/resume":
                return [(one.id, one.title) for one in self._sessions()]
            case _:
                return ()

    def run(self, line: str) -> None:
        """Carry out a line. What goes wrong is said."""
        name, _, rest = line.partition(" ")
        command = self._known.get(name)
        try:
            if command is None:
                self.show.note(self.show.say("cmd.unknown", printable(name, 60)), "red", "✗")
            elif self.talk.working and name in _ALONE:
                self.show.note(self.show.say("cmd.busy", name), "yellow", "!")
            else:
                command(rest.strip())
        except ClewError as error:
            self.show.error(error)

    # ------------------------------------------------------------------ told

    def _rows(self, rows: Sequence[tuple[str, str]]) -> None:
        self.show.print("\n" + self.show.paint.lines([(f"  {text}", style) for text, style in rows]))

    def _help(self, _: str) -> None:
        zh = self.show.language == "zh"
        rows = [(self.show.say("help.commands"), "bold")]
        rows += [(f"  {padded(name, 10)} {told}", "") for name, told in self.known()]
        rows += [("", ""), (self.show.say("help.keys"), "bold")]
        rows += [(f"  {padded(key, 10)} {chinese if zh else english}", "") for key, english, chinese in KEYS_HELP]
        self._rows(rows)

    def _context(self, rest: str) -> None:
        session = self.talk.session
        prepared: Prepared | None = session.last if session is not None else None
        if session is None or prepared is None:
            self.show.note(self.show.say("cmd.nothing-sent"))
            return
        count = session.around.tokenizer.count
        if rest == "full":
            rows: list[tuple[str, str]] = []
            for layer in prepared.snapshot.layers:
                for at, block in enumerate(layer.blocks, 1):
                    rows.append((f"── {layer.name} {at} · {layer.role}", "cyan"))
                    rows += [(visible(row), "") for row in block.split("\n")]
            self._rows(rows)
            return
        report = prepared.snapshot.report
        exact = "" if report.exact else "~"
        sums: dict[str, tuple[int, int]] = {}
        for layer in prepared.snapshot.layers:
            blocks, tokens = sums.get(layer.name, (0, 0))
            sums[layer.name] = (blocks + len(layer.blocks), tokens + sum(count(block) for block in layer.blocks))
        rows = [(f"{f'{exact}{tokens:,}':>9}  {name} ({blocks})", "") for name, (blocks, tokens) in sums.items()]
        rows += [(f"{kept.tokens:>9,}    {kept.source} · {printable(kept.ref)}", "dim") for kept in report.kept]
        rows.append((f"{f'{exact}{report.used:,}':>9}  {self._of(report.prompt, report.answer)}", "bold"))
        if report.trimmed:
            rows.append((self.show.say("report.left-out"), "dim"))
            rows += [
                (f"{one.tokens:>9,}    {one.source} · {printable(one.ref)} ({self._cause(one.cause)})", "dim")
                for one in report.trimmed
            ]
        self._rows(rows)

    def _cause(self, cause: str) -> str:
        return self.show.say(f"cause.{cause}")

    def _of(self, prompt: int, answer: int) -> str:
        return self.show.say("report.total", f"{prompt:,}", f"{answer:,}")

    def _hints(self, rest: str) -> None:
        hints = self.show.hints
        word, _, number = rest.partition(" ")
        if word == "reject":
            if not number.strip().isdigit() or not 1 <= int(number) <= len(hints):
                raise UsageError(self.show.say("cmd.number", printable(number, 20) or "?"))
            given = hints[int(number) - 1]
            self.talk.app.hinter().reject(_ref(given.id), given.about)
            self.show.note(self.show.say("cmd.rejected", printable(given.name)))
            return
        if not hints:
            self.show.note(self.show.say("cmd.no-hints"))
            return
        rows: list[tuple[str, str]] = []
        for at, given in enumerate(hints, 1):
            rows.append((f"{at:>2}  {printable(given.name)} · {_ref(given.id)}", ""))
            reason = signs(printable(given.reason), self.show.language)
            rows.append((f"    {reason} ← {printable(given.about, 80)}", "dim"))
        self._rows([*rows, (self.show.say("cmd.reject"), "dim")])

    def _memory(self, rest: str) -> None:
        if not rest:
            self.show.note(self.show.say("cmd.memory"))
            return
        self._clew("memory", "search", "--", *rest.split())

    def _shells(self, _: str) -> None:
        text = self.talk.session.around.shells() if self.talk.session is not None else ""
        rows = text.split("\n")[1:-1]
        if not rows:
            self.show.note(self.show.say("cmd.no-shells"))
            return
        self._rows([(row, "") for row in rows])

    def _clew(self, *arguments: str, shape: Callable[[str], str] = str) -> None:
        """A command of the command line, its output here."""

        loop, colored = asyncio.get_running_loop(), self.show.paint.colored

        def work() -> None:
            text = shape(outcome(arguments, colored))
            # The terminal may have been left meanwhile.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.show.print, f"\n{text}")

        # Not one of the loop's own threads: whoever leaves would wait for it.
        threading.Thread(target=work, daemon=True, name="clew-command").start()

    # ------------------------------------------------------------------ done

    def _queue(self, rest: str) -> None:
        if not rest:
            self.show.note(self.show.say("cmd.queue"))
            return
        self.room.entered(rest, later=True)

    def _model(self, rest: str) -> None:
        if not rest:
            self.show.note(self.show.say("cmd.models", self.talk.endpoint.name))
            return
        self.talk.changed_model(rest)
        self.show.note(self.show.say("cmd.model", self.talk.endpoint.name))

    def _thinking(self, rest: str) -> None:
        level = rest.lower() or self.talk.endpoint.thinking
        if level not in THINKING:
            raise UsageError(f"`{printable(rest, 60)}` is no level of thinking", hint="one of " + ", ".join(THINKING))
        self.talk.endpoint = replace(self.talk.endpoint, thinking=level)
        key = "cmd.thinking" if self.talk.endpoint.can_be_told else "cmd.thinking-alone"
        self.show.note(self.show.say(key, level, self.talk.endpoint.name))

    def _new(self, _: str) -> None:
        session = self.talk.session
        if session is None or not session.records:
            self.show.note(self.show.say("cmd.nothing-sent"))
            return
        session.renew("asked for by the user")
        self.show.fill = ""
        self.show.full = False
        self.show.note(self.show.say("cmd.new"), "cyan", "──")

    def _fork(self, _: str) -> None:
        session = self.talk.session
        if session is None or not session.records:
            self.show.note(self.show.say("cmd.nothing-sent"))
            return
        before = session.id
        self.talk.begin("fork", before)
        self.show.note(self.show.say("cmd.fork", self.talk.session.id if self.talk.session else "", before))

    def _export(self, rest: str) -> None:
        from clew.services.sessions import exported  # heavy

        session = self.talk.session
        if session is None:
            self.show.note(self.show.say("cmd.nothing-sent"))
            return
        path = self.talk.app.cwd / os.path.expanduser(rest or f"session-{session.id}.md")
        write_new(path, exported(session.around.transcript.read()))
        self.show.note(self.show.say("cmd.exported", printable(str(path))))

    def _allow(self, rest: str) -> None:
        if rest:
            self.talk.allow(rule_of(rest))
        rules = [str(rule) for rule in self.talk.rules]
        told = self.show.say("cmd.allow", ", ".join(rules)) if rules else self.show.say("cmd.rules")
        self.show.note(told)

    def _yes(self, rest: str) -> None:
        if rest in ("on", "off"):
            self.talk.yes = rest == "on"
            self.show.note(self.show.say(f"cmd.yes-{rest}"), "yellow" if rest == "on" else "dim")
        else:
            self.show.note(self.show.say("cmd.yes", "on" if self.talk.yes else "off"))

    # ------------------------------------------------------------------ sessions

    def _sessions(self) -> list[Summary]:
        workspace = self.talk.app.workspace.id
        own = self.talk.session.id if self.talk.session is not None else ""
        found: list[Summary] = []
        for one in self.talk.room.transcripts.list(workspace):
            if one.id != own and one.runs:
                found.append(one)
            if len(found) == _LISTED:
                break
        return found

    def _resume(self, rest: str) -> None:
        if rest and not (rest.isdecimal() and len(rest) < _SHORTEST_ID):
            self.go_on(self.talk.room.transcripts.find(rest))
            return
        sessions = self._sessions() if not (rest and self.listed) else []
        self.listed = [one.id for one in sessions] or self.listed
        if rest:
            if not 0 < int(rest) <= len(self.listed):
                raise UsageError(self.show.say("cmd.no-session", rest))
            self.go_on(self.listed[int(rest) - 1])
            return
        if not sessions:
            self.show.note(self.show.say("cmd.no-sessions"))
            return
        rows = [
            (f"{at:>2}  {one.id}  {one.last[:16].replace('T', ' ')}  {one.runs:>3}  {printable(one.title, 60)}", "")
            for at, one in enumerate(sessions, 1)
        ]
        self._rows([*rows, (self.show.say("cmd.which"), "dim")])

    def go_on(self, id_: str, *, fork: bool = False) -> None:
        """Go on with a session, and show its last runs. Raises NotFound, StoreBusy."""
        session = self.talk.begin("fork" if fork else "again", id_)
        read = session.around.transcript.read()
        self.show.hints.clear()
        told = "term.forked" if fork else "term.again"
        self.show.note(self.show.say(told, id_, len(read.runs())), "cyan")
        for began, record in list(zip(read.runs(), read.records(), strict=True))[-_SHOWN:]:
            self.show.message(began.message)
            if text := record.final or record.last_words:
                self.show.answer(text)
            if record.outcome != "finished":
                self.show.stopped(record.outcome, record.reason)
        self.show.print("\n")


def without_front_matter(text: str) -> str:
    """A document as it is read: without the keys before it, with what stands behind it."""
    return re.sub(r"\A  ---\n.*?\n  ---\n(\s*\n)*", "", text, flags=re.DOTALL)


def _ref(id_: str) -> str:
    from clew.core.memory.document import reference_of  # heavy

    return reference_of(id_)


_CATCHING: Final = threading.Lock()
"""The streams are the process's: of two that exchange them at once, one would put back what the other had put there."""


class _Caught(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        """Whether colours are wanted."""
        return self._terminal


def outcome(arguments: Sequence[str], colored: bool) -> str:
    """What a command of the command line prints, errors included."""
    import click

    from clew.entrypoints.cli.main import cli, tell
    from clew.entrypoints.cli.style import plain_line

    out, err = _Caught(colored), _Caught(False)
    with _CATCHING, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(args=list(arguments), prog_name="clew", standalone_mode=False)
        except click.exceptions.Exit:
            pass
        except click.ClickException as error:
            tell(error.format_message(), "", arguments, "UsageError")
        except ClewError as error:
            tell(str(error), error.hint, arguments, error.code)
    rows = (out.getvalue() + err.getvalue()).rstrip("\n").split("\n")
    return "".join(f"  {plain_line(row)}\n" for row in rows)
