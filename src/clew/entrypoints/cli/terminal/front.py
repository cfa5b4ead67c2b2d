"""The interactive terminal, from its first line to its last."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import termios
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input

from clew._version import __version__
from clew.app import App
from clew.core.agent.permissions import Permit
from clew.core.text.printable import printable
from clew.entrypoints.cli.prose import Prose
from clew.entrypoints.cli.stopping import undisturbed
from clew.entrypoints.cli.style import cut
from clew.entrypoints.cli.terminal.answering import Answering
from clew.entrypoints.cli.terminal.commands import Commands
from clew.entrypoints.cli.terminal.conversation import Conversation, Finished, Interrupted
from clew.entrypoints.cli.terminal.keys import bindings
from clew.entrypoints.cli.terminal.names import Names
from clew.entrypoints.cli.terminal.paint import Paint
from clew.entrypoints.cli.terminal.paste import Pastes, QuickInput
from clew.entrypoints.cli.terminal.permission import Question
from clew.entrypoints.cli.terminal.screen import Screen, Wiring
from clew.entrypoints.cli.terminal.show import Show
from clew.entrypoints.cli.texts import say
from clew.errors import ClewError, StoreError

if TYPE_CHECKING:
    from clew.stores.typed import Typed

TWICE: Final = 1.0
"""Seconds within which a key counts as pressed twice."""
_LEAVES: Final = 2.0
"""The same for leaving."""
_TICK: Final = 0.12
_APART: Final = 0.08
"""Seconds between two looks at what came, at least."""
_SLICE: Final = 0.04
"""Seconds of one look, about."""
_FAULTS: Final = 5
"""Faults of ours that are shown before it is better to leave."""


class Lines(History):
    """The lines of earlier sessions, and of this one."""

    def __init__(self, typed: Typed, pastes: Pastes) -> None:
        super().__init__()
        self.typed = typed
        self.pastes = pastes

    def load_history_strings(self) -> Iterator[str]:
        """Newest first."""
        yield from self.typed.lines()

    def store_string(self, string: str) -> None:
        """Keep a line; where that is not possible, this session knows it all the same. The mark of a paste means
        nothing later."""
        if any(mark in string for mark in self.pastes.texts):
            return
        with contextlib.suppress(StoreError):
            self.typed.add(string)


class Front:
    """What is on the terminal, and what keys do."""

    def __init__(self, app: App, talk: Conversation, paint: Paint, typed: Typed, keys: Input) -> None:
        self.talk = talk
        self.language = app.language
        self.show = Show(paint, self.language, self._print, app.workspace.root)
        self.commands = Commands(self)
        self.pastes = Pastes(self._mark)
        self.asking: Question | None = None
        self.remark = ""
        self._escaped = self._broken = 0.0
        self._leaving = False
        self._woken = False
        """Somebody will look at what came."""
        self._looked = 0.0
        self._faults = 0
        names = Names(app.cwd, self.commands.known, self.commands.arguments)
        self.screen = Screen(Wiring(self, bindings(self), Lines(typed, self.pastes), names, paint.colored), keys)
        self.screen.app.before_render += lambda _: self._fit()
        self.answering = Answering(self.screen, self._answered, self.pasted)

    async def run(self, first: list[tuple[str, bool]]) -> None:
        """Until the user leaves. `first`: a session to go on with, and whether as a fork."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            if self._woken:
                return
            self._woken = True
            # The terminal may have been left while a run was ending.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._look_soon)

        self.talk.wake = wake
        # Once the terminal is ours: what is typed before that would be echoed by it.
        loop.call_soon(self._welcome, first)
        tick = loop.create_task(self._tick())
        try:
            loop.set_exception_handler(self._failed)
            await self.screen.app.run_async(handle_sigint=False, set_exception_handler=False)
        finally:
            tick.cancel()

    def _welcome(self, first: list[tuple[str, bool]]) -> None:
        self._fit()
        app = self.talk.app
        told = f"Clew {__version__} · {printable(app.workspace.name)} · {printable(str(app.cwd))}"
        self._print(self.show.paint.parts([(told, "bold")]))
        prose = Prose(max(self.show.paint.columns - 1, 20), hang="")
        begin = prose.feed(self.show.say("term.begin")) + prose.end()
        self._print(self.show.paint.lines([(row, "dim") for row in begin.rstrip("\n").split("\n")]))
        try:
            for id_, fork in first:
                self.commands.go_on(id_, fork=fork)
        except ClewError as error:
            # Nobody wants to go on with nothing: the terminal is given back, then it is told.
            self.screen.app.exit(exception=error)
        self.screen.flush()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            if self.asking is not None and self.asking.done.is_set():
                # Answered by the end of the run.
                self._answer(Permit(False))
            if self.asking is not None:
                self.answering.look()
            if self.talk.working or self.remark:
                if self.remark and not self._twice(self._broken, _LEAVES):
                    self.remark = ""
                self.screen.app.invalidate()

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault of ours is shown, and the conversation goes on; one that comes again and again ends it."""
        error = context.get("exception")
        self._faults += 1
        if not isinstance(error, Exception) or self._faults > _FAULTS:
            if self.screen.app.is_running:
                self.screen.app.exit(exception=error or RuntimeError(context["message"]))
        else:
            self.show.error(f"unexpected {type(error).__name__}: {error}")

    def _print(self, text: str) -> None:
        self.screen.print(text)

    def _fit(self) -> None:
        self.show.paint.columns = max(self.screen.size.columns, 20)

    def _mark(self, lines: int, number: int) -> str:
        if number == 1:
            return self.show.say("term.pasted", f"{lines:,}")
        return self.show.say("term.pasted-again", f"{lines:,}", number)

    # ------------------------------------------------------------------ what happens

    def _look_soon(self) -> None:
        """Look, but not at each piece: a dozen times a second is seen as one movement."""
        wait = self._looked + _APART - time.monotonic()
        asyncio.get_running_loop().call_later(max(wait, 0.0), self._look)

    def _look(self) -> None:
        """Take what came from the run. A question stops that until it is answered; keys are never kept waiting."""
        self._woken = False
        until = time.monotonic() + _SLICE
        while self.talk.inbox and self.asking is None:
            if time.monotonic() > until:
                self.talk.wake()
                break
            item = self.talk.inbox.popleft()
            if isinstance(item, Question):
                if not item.done.is_set():
                    self.asking = item
                    self.talk.opened(item)
                    self.show.asked(item)
                    self.answering.look()
            elif isinstance(item, Finished):
                self._finished(item)
            else:
                self.show.event(item)
        self.screen.flush()
        self.screen.app.invalidate()
        self._looked = time.monotonic()

    def _finished(self, item: Finished) -> None:
        self.talk.settled()
        self.show.phase = ""
        self.show.tools.clear()
        if isinstance(item.error, Interrupted):
            self.talk.back.insert(0, str(item.error))
        elif item.error is not None:
            self.show.answer(self.show.blocks.end())
            self.show.error(item.error)
        if self._leaving:
            return
        ended = item.record.outcome if item.record is not None else "failed"
        if ended not in ("finished", "aborted"):
            self.talk.take_back()
        if message := self.talk.next():
            self._send(message)
        if left := self.talk.unsaid():
            # What was not said any more is for the user to send or to change.
            self.screen.put("\n\n".join(part for part in (left, self.screen.line.text) if part))

    def _send(self, message: str) -> None:
        self.show.message(message)
        self.show.now("term.starting")
        self.screen.flush()
        self.talk.send(message)

    # ------------------------------------------------------------------ keys

    @property
    def working(self) -> bool:
        """Whether a run is under way."""
        return self.talk.working

    def entered(self, text: str, *, later: bool) -> None:
        """A line is complete."""
        whole = self.pastes.whole(text).strip()
        if not whole:
            return
        line = self.screen.line
        if line.text == text:
            line.append_to_history()
            line.reset()
        self.screen.typed = time.monotonic()
        self.remark = ""
        if _is_command(whole):
            self.commands.run(whole)
            self.screen.flush()
            return
        if not self.working:
            self._send(whole)
        elif later:
            self.talk.queue.append(whole)
        else:
            self.talk.steer(whole)
        self.screen.app.invalidate()

    def pasted(self, text: str) -> None:
        """Text was pasted into the line."""
        self.pastes.taken(text, self.screen.line)

    @property
    def behind_mark(self) -> bool:
        """Whether the cursor stands behind a paste that is folded."""
        return bool(self.pastes.behind(self.screen.line))

    def rubbed_out(self) -> None:
        """Take the paste away."""
        self.screen.line.delete_before_cursor(len(self.pastes.behind(self.screen.line)))

    def escaped(self) -> None:
        """Interrupt the run; pressed twice, clear the line."""
        twice, self._escaped = self._twice(self._escaped, TWICE), time.monotonic()
        if self.asking is not None:
            # The run first, so that a call that waits for this answer does not ask in its turn.
            self._stop()
            self._answer(Permit(False))
        elif self.working and not twice:
            self._stop()
        elif twice:
            self.screen.line.reset()

    def broken(self) -> None:
        """Ctrl-C: clear the line, end the run; pressed twice, leave."""
        twice, self._broken = self._twice(self._broken, _LEAVES), time.monotonic()
        self.answering.forget()
        if twice:
            self.left()
            return
        if self.working:
            self._stop()
        if self.asking is not None:
            self._answer(Permit(False))
        self.screen.line.reset()
        self.remark = self.show.say("term.ctrl-c")
        self.screen.app.invalidate()

    def _twice(self, before: float, within: float) -> bool:
        """Whether a key that was pressed at `before` is pressed again, with nothing typed in between."""
        return time.monotonic() - before < within and self.screen.typed < before

    def left(self) -> None:
        """Leave. A run that is under way is ended first."""
        self._leaving = True
        self.talk.stop()
        if self.screen.app.is_running:
            self.screen.app.exit()

    def unfolded(self) -> None:
        """The last output, whole."""
        if self.show.last:
            self.show.whole(self.show.last)
        else:
            self.show.note(self.show.say("cmd.nothing-last"))

    def _stop(self) -> None:
        self.show.phase = "term.stopping"
        self.talk.stop()

    # ------------------------------------------------------------------ questions

    @property
    def asked(self) -> bool:
        """Whether a question is open."""
        return self.asking is not None

    def answered(self, key: str) -> None:
        """A printable key while the question takes keys."""
        question = self.asking
        if question is not None:
            offered = "yn" if question.rule is None else "yan"
            self.answering.key(key, offered, "ya" if question.effect.remembered else "a")

    def _answered(self, letter: str) -> None:
        """One of the letters that are offered, and it was meant."""
        question = self.asking
        if question is None:
            return
        match letter:
            case "y":
                self._answer(Permit(True))
            case "a" if question.rule is not None:
                self.show.note(self.show.say("permit.rule", question.rule), "green", " ")
                self._answer(Permit(True, rule=question.rule))
            case "n":
                self.screen.ask_why()
            case _:
                pass

    def reasoned(self, text: str) -> None:
        """No, and why."""
        self._answer(Permit(False, text.strip()))

    def _answer(self, permit: Permit) -> None:
        question, self.asking = self.asking, None
        self.answering.dropped()
        self.screen.back()
        if question is None:
            return
        if permit.reason:
            self.show.note(self.show.say("permit.refused", permit.reason), "", "›")
        self.show.answered()
        question.give(permit)
        self.talk.opened(None)
        self._look()
        if self.asking is None:
            self.answering.give_back()

    # ------------------------------------------------------------------ the live part

    def above(self, columns: int, rows: int) -> StyleAndTextTuples:
        """What is going on, and what waits."""
        found = [] if self.asking is not None else self.show.live(columns, rows)
        waiting = [("term.steers", one) for one in self.talk.steering] + [
            ("term.queued", one) for one in self.talk.queue
        ]
        for key, text in waiting[-4:]:
            told = self.show.say(key, printable(text, 200))
            found.append(("class:pale", cut(told, columns - 1) + "\n"))
        return found

    def question(self) -> StyleAndTextTuples:
        """The answers that can be given."""
        if self.asking is None:
            return []
        if self.screen.mode == "why":
            return [("class:name", self.show.say("permit.why"))]
        parts: StyleAndTextTuples = [("class:alarm", self.show.say("permit.ask")), ("", "  ")]
        if self.screen.mode == "line":
            # Not the answers: they are not taken now.
            return [*parts, ("class:name", self.show.say("permit.typing"))] if self.answering.blocked else []
        told = [self.show.say("permit.keep" if self.asking.effect.remembered else "permit.yes")]
        if self.asking.rule is not None:
            told.append(self.show.say("permit.always", printable(str(self.asking.rule), 120)))
        for one in (*told, self.show.say("permit.no"), self.show.say("permit.stop")):
            key, _, rest = one.partition(" ")
            style = "class:held" if key == self.answering.held.lower() else "class:name"
            parts += [(style, key), ("", f" {rest}   ")]
        return parts

    def status(self, columns: int) -> StyleAndTextTuples:
        """Model, branch, fill level, session."""
        session = self.talk.session
        parts = [self.talk.endpoint.name.partition(":")[2], self.talk.branch]
        fill = self.show.fill
        parts += [fill, session.id[9:] if session is not None else "", "yes" if self.talk.yes else ""]
        told = self.remark or " · ".join(part for part in parts if part)
        style = "class:alarm" if self.remark or self.show.full else "class:pale"
        return [(style, cut(told, columns - 1))]


def _is_command(text: str) -> bool:
    """`/help` is a command; `/usr/bin/x` is a path, and several lines are a message."""
    return bool(re.fullmatch(r"/[a-z-]+( .*)?", text))


def converse(app: App, first: list[tuple[str, bool]], *, model: str = "", yes: bool = False) -> int:
    """Talk at the terminal until the user leaves; the exit status."""
    from clew.stores.typed import Typed  # heavy

    endpoint = app.catalogue.endpoint(model or app.loaded.settings.model)
    talk = Conversation(app, endpoint, yes)
    talk.look_at_branch()
    talk.load()
    typed = Typed(app.home.data / "typed.jsonl", app.redactor)
    before, stdout = termios.tcgetattr(sys.stdin.fileno()), sys.stdout
    try:
        keys = QuickInput(sys.stdin)
        front = Front(app, talk, paint_of(app), typed, keys)
        keys.wary = lambda: front.asking is not None and front.screen.mode != "why"
        asyncio.run(front.run(first))
    finally:
        # A command that is still at work has put its own in the place.
        sys.stdout = stdout
        _restored(before)
        with undisturbed():
            talk.close()
    if talk.session is not None:
        id_ = talk.session.id
        click.echo(say("term.left", app.language, id_, id_))
    return 0


def paint_of(app: App) -> Paint:
    """Colours as the settings and the terminal have them."""
    wanted, environ = app.loaded.settings.color, app.environ
    colored = wanted == "always" or (wanted == "auto" and environ.get("TERM") != "dumb")
    deep = environ.get("COLORTERM", "") in ("truecolor", "24bit")
    depth = "truecolor" if deep else "256" if "256" in environ.get("TERM", "") else "standard"
    return Paint(80, colored, depth)


def _restored(before: list[object]) -> None:
    """The terminal as it was, whatever happened."""
    with contextlib.suppress(OSError, ValueError, termios.error):
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)  # type: ignore[arg-type]
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write("\x1b[?2026l\x1b[?2004l\x1b[?25h\x1b[0m\r\x1b[J")
        sys.stdout.flush()
