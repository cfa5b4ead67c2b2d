"""Which key does what."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from clew.entrypoints.cli.terminal.answering import Answering
from clew.entrypoints.cli.terminal.screen import Screen


class Desk(Protocol):
    """What keys are for."""

    @property
    def screen(self) -> Screen:
        """Where they are typed."""
        ...

    @property
    def working(self) -> bool:
        """Whether a run is under way."""
        ...

    def entered(self, text: str, *, later: bool) -> None:
        """A line is complete; `later`: it is meant for after the run."""
        ...

    def pasted(self, text: str) -> None:
        """Text was pasted into the line."""
        ...

    @property
    def behind_mark(self) -> bool:
        """Whether the cursor stands behind something folded."""
        ...

    def rubbed_out(self) -> None:
        """Take that away."""
        ...

    def escaped(self) -> None:
        """Esc."""
        ...

    def broken(self) -> None:
        """Ctrl-C."""
        ...

    def left(self) -> None:
        """Leave."""
        ...

    def unfolded(self) -> None:
        """Show the last output whole."""
        ...

    @property
    def asked(self) -> bool:
        """Whether a question is open."""
        ...

    @property
    def answering(self) -> Answering:
        """What keys are while a question is open."""
        ...

    def answered(self, key: str) -> None:
        """A printable key while the question takes keys."""
        ...

    def reasoned(self, text: str) -> None:
        """Why not."""
        ...


def bindings(desk: Desk) -> KeyBindings:
    """The keys of the terminal."""
    keys = KeyBindings()
    on_line = Condition(lambda: desk.screen.mode == "line")
    on_why = Condition(lambda: desk.screen.mode == "why")
    working = Condition(lambda: desk.working)
    _line(keys, desk, on_line, working)
    _always(keys, desk, on_line)
    _question(keys, desk, on_line, Condition(lambda: desk.screen.mode == "question"))

    @keys.add("enter", filter=on_why)
    def _(event: KeyPressEvent) -> None:
        desk.reasoned(desk.screen.why.text)

    return keys


def _question(keys: KeyBindings, desk: Desk, on_line: Condition, on_question: Condition) -> None:
    @keys.add(Keys.Any, filter=on_question)
    def _(event: KeyPressEvent) -> None:
        """What no other binding takes: of that, what types something."""
        if not isinstance(event.key_sequence[0].key, Keys):
            desk.answered(event.data)

    @keys.add(Keys.BracketedPaste, filter=on_question)
    def _(event: KeyPressEvent) -> None:
        desk.answering.type(event.data, pasted=True)

    @keys.add("enter", filter=on_question)
    def _(event: KeyPressEvent) -> None:
        desk.answering.entered()

    @keys.add("backspace", filter=on_question)
    def _(event: KeyPressEvent) -> None:
        desk.answering.dropped()

    asked = Condition(lambda: desk.asked)

    @keys.add("c-u", filter=on_line & asked)
    def _(event: KeyPressEvent) -> None:
        desk.answering.put_aside()

    @keys.add("c-d", filter=on_question | (on_line & asked & Condition(lambda: not desk.screen.line.text)))
    def _(event: KeyPressEvent) -> None:
        """Nothing: an open question is answered first."""


def _line(keys: KeyBindings, desk: Desk, on_line: Condition, working: Condition) -> None:
    def line(event: KeyPressEvent) -> str:
        return desk.screen.line.text

    @keys.add("enter", filter=on_line)
    def _(event: KeyPressEvent) -> None:
        buffer = desk.screen.line
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
            return
        desk.entered(line(event), later=False)

    @keys.add("escape", "enter", filter=on_line & working)
    def _(event: KeyPressEvent) -> None:
        desk.entered(line(event), later=True)

    @keys.add("escape", "enter", filter=on_line & ~working)
    @keys.add("c-j", filter=on_line)
    def _(event: KeyPressEvent) -> None:
        desk.screen.line.insert_text("\n")

    @keys.add(Keys.BracketedPaste, filter=on_line)
    def _(event: KeyPressEvent) -> None:
        desk.pasted(event.data)

    @keys.add("backspace", filter=on_line & Condition(lambda: desk.behind_mark))
    def _(event: KeyPressEvent) -> None:
        desk.rubbed_out()

    @keys.add("c-d", filter=on_line & Condition(lambda: not desk.screen.line.text))
    def _(event: KeyPressEvent) -> None:
        desk.left()


def _always(keys: KeyBindings, desk: Desk, on_line: Condition) -> None:
    @keys.add("escape", filter=on_line & has_completions)
    def _(event: KeyPressEvent) -> None:
        desk.screen.line.cancel_completion()
        desk.escaped()

    @keys.add("escape", filter=~(on_line & has_completions))
    def _(event: KeyPressEvent) -> None:
        desk.escaped()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        desk.broken()

    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        desk.unfolded()

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-l")
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.clear()
