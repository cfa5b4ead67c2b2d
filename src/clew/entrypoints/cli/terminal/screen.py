"""The terminal itself: an input line with what is going on above it; what is finished is written above that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from clew.entrypoints.cli.prose import width
from clew.entrypoints.cli.terminal.paint import CODES

KEPT: Final = 1_000
"""Rows that can be shown again when the terminal changes its size."""
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around what a terminal should show at once; one that does not know this ignores it."""
_REDRAWN: Final = 0.05
"""Seconds between two drawings of the live part, at least."""
_MOST_INPUT: Final = 10
"""Rows of the input line."""
Mode = Literal["line", "question", "why"]


class Live(Protocol):
    """What is shown below the finished text."""

    def above(self, columns: int, rows: int) -> StyleAndTextTuples:
        """What is going on: the tail of the answer, tools at work, what waits. At most about `rows` rows."""
        ...

    def question(self) -> StyleAndTextTuples:
        """The question that waits for an answer; empty where there is none."""
        ...

    def status(self, columns: int) -> StyleAndTextTuples:
        """The last row."""
        ...


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a screen is made of."""

    live: Live
    bindings: KeyBindingsBase
    history: History
    completer: Completer
    colored: bool


class _Application(Application[None]):
    resized: Callable[[], None] = staticmethod(lambda: None)

    def _on_resize(self) -> None:
        self.resized()


class Screen:
    """Runs in the loop of the main thread; all its methods are called there."""

    def __init__(self, wiring: Wiring, keys: Input, output: Output | None = None) -> None:
        self.live = wiring.live
        self.mode: Mode = "line"
        self.typed = 0.0
        """When something was last typed."""
        self._rows: deque[str] = deque(maxlen=KEPT)
        self._filled = False
        self._live: tuple[int, StyleAndTextTuples] = (-1, [])
        self._out: list[str] = []
        self.output = output or Vt100_Output(sys.stdout, _size, enable_cpr=False)
        self.line = Buffer(
            multiline=True, history=wiring.history, complete_while_typing=True,
            completer=ThreadedCompleter(wiring.completer),
            enable_history_search=False, name="line",
        )  # fmt: skip
        self.line.on_text_changed += self._typing
        self.why = Buffer(multiline=False, name="why")
        self.why.on_text_changed += self._typing
        self._answering = FormattedTextControl(self.live.question, focusable=True, show_cursor=False)
        self._question = Window(self._answering, wrap_lines=True, dont_extend_height=True)
        self._input = Window(
            BufferControl(self.line), wrap_lines=True, dont_extend_height=True, get_line_prefix=self._prefix,
            height=lambda: Dimension(min=1, max=max(3, min(_MOST_INPUT, self.size.rows // 3))),
        )  # fmt: skip
        self._reason = Window(
            BufferControl(self.why), wrap_lines=True, dont_extend_height=True,
            get_line_prefix=lambda number, wrapped: [("class:prompt", "? " if not (number or wrapped) else "  ")],
        )  # fmt: skip
        self.app = _Application(
            layout=Layout(self._laid_out(), focused_element=self._input),
            key_bindings=wiring.bindings, style=_STYLE, input=keys, output=self.output, full_screen=False,
            color_depth=None if wiring.colored else ColorDepth.DEPTH_1_BIT, mouse_support=False,
            erase_when_done=True, min_redraw_interval=_REDRAWN,
        )  # fmt: skip
        self.app.ttimeoutlen = 0.08
        self.app.timeoutlen = 0.15
        self.app.resized = self._resized
        self.app.before_render += self._shrunk

    @property
    def size(self) -> Size:
        """Rows and columns now."""
        return self.output.get_size()

    def _laid_out(self) -> HSplit:
        above = FormattedTextControl(self._above)
        asking, line = Condition(lambda: bool(self.live.question())), Condition(lambda: self.mode == "line")
        return HSplit(
            [
                ConditionalContainer(
                    Window(above, wrap_lines=False, dont_extend_height=True), Condition(lambda: bool(self._above()))
                ),
                ConditionalContainer(self._question, asking),
                ConditionalContainer(self._reason, Condition(lambda: self.mode == "why")),
                ConditionalContainer(self._input, line),
                ConditionalContainer(CompletionsMenu(max_height=8), has_completions & line),
                Window(
                    FormattedTextControl(lambda: self.live.status(self.size.columns)), height=1, dont_extend_height=True
                ),
            ]
        )

    def _above(self) -> StyleAndTextTuples:
        """Asked for several times in one drawing."""
        drawing = self.app.render_counter
        if self._live[0] != drawing:
            found = self.live.above(self.size.columns, self.size.rows)
            if found and found[-1][1].endswith("\n"):
                found = [*found[:-1], (found[-1][0], found[-1][1][:-1])]
            self._live = (drawing, found)
        return self._live[1]

    def _prefix(self, number: int, wrapped: int) -> StyleAndTextTuples:
        return [("class:prompt", "› " if not (number or wrapped) else "  ")]

    def _typing(self, _: Buffer) -> None:
        self.typed = time.monotonic()

    def put(self, text: str) -> None:
        """Fill the line with a text that nobody types now."""
        before = self.typed
        self.line.text = text
        self.line.cursor_position = len(text)
        self.typed = before

    # ------------------------------------------------------------------ modes

    def ask(self) -> None:
        """Show the question and let keys answer it; the line keeps what was typed."""
        self.mode = "question"
        self.app.layout.focus(self._question)
        self.app.invalidate()

    def ask_why(self) -> None:
        """Let a reason be typed."""
        self.mode = "why"
        self.why.reset()
        self.app.layout.focus(self._reason)
        self.app.invalidate()

    def back(self) -> None:
        """To the line."""
        self.mode = "line"
        self.app.layout.focus(self._input)
        self.app.invalidate()

    # ------------------------------------------------------------------ what is finished

    def print(self, text: str) -> None:
        """Write text with codes above the live part, for good. It ends with a line break."""
        if not text:
            return
        self._out.append(text if text.endswith("\n") else text + "\n")
        if len(self._out) == 1:
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if not self._out:
            return
        text = "".join(self._out)
        self._out.clear()
        rows = text.split("\n")[:-1]
        self._rows.extend(rows)
        if not self.app.is_running:
            self.output.write_raw(text.replace("\n", "\r\n"))
            self.output.flush()
            return
        self.output.write_raw(_BEGIN)
        self.app.renderer.erase(leave_alternate_screen=False)
        self.output.write_raw(text.replace("\n", "\r\n"))
        self._filled = self._filled or self._height(self._rows) >= self.size.rows
        self.app._redraw()  # pyright: ignore[reportPrivateUsage]
        self.output.write_raw(_END)
        self.output.flush()

    def _height(self, rows: Sequence[str] | deque[str]) -> int:
        return sum(_rows_of(row, self.size.columns) for row in rows)

    def _shrunk(self, app: Application[None]) -> None:
        """Give rows back that the live part does not need any more."""
        last = app.renderer.last_rendered_screen
        if last is None:
            return
        size = self.size
        needed = app.layout.container.preferred_height(size.columns, size.rows).preferred
        if last.height > min(needed, size.rows):
            app.renderer.erase(leave_alternate_screen=False)

    def _resized(self) -> None:
        """Draw what is to be seen anew.

        Terminals differ in what they make of lines that do not fit any more, so the position of the cursor says
        nothing. Where all rows are ours, they are written again; else only the live part is.
        """
        app, size = self.app, self.size
        self.output.write_raw(_BEGIN)
        if self._filled:
            # The cursor is not put into the corner first: some terminals then keep a copy of what is deleted.
            self.output.write_raw("\x1b[1;2H\x1b[1K\x1b[J\x1b[1;1H")
            room = size.rows - min(app.layout.container.preferred_height(size.columns, size.rows).preferred, size.rows)
            shown: list[str] = []
            for row in reversed(self._rows):
                room -= _rows_of(row, size.columns)
                if room < 0:
                    break
                shown.append(row)
            self.output.write_raw("".join(f"{row}\r\n" for row in reversed(shown)))
            app.renderer.reset(leave_alternate_screen=False)
        else:
            app.renderer.erase(leave_alternate_screen=False)
        app._redraw()  # pyright: ignore[reportPrivateUsage]
        self.output.write_raw(_END)
        self.output.flush()


def _size() -> Size:
    # A command that was typed catches what goes to `sys.stdout`, in its thread.
    stream = sys.__stdout__ or sys.stdout
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except OSError:
        columns, rows = 0, 0
    return Size(rows or 24, columns or 80)


def _rows_of(row: str, columns: int) -> int:
    """How many rows of a terminal a line with codes takes."""
    plain = CODES.sub("", row)
    return max(1, -(-width(plain) // max(columns, 1)))


_STYLE: Final = Style.from_dict(
    {
        "prompt": "bold",
        "pale": "ansibrightblack",
        "good": "ansigreen",
        "bad": "ansired",
        "name": "bold",
        "held": "bold reverse",
        "mark": "ansicyan",
        "alarm": "ansired bold",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "noinherit ansibrightblack",
        "completion-menu.meta.completion.current": "reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "reverse",
    }
)
