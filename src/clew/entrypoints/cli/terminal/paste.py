"""Pasted text: told from typed text also where the terminal does not say so, and shown folded."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

LONG: Final = 8
"""Lines from which on a paste is shown folded."""
_LONG_TEXT: Final = 2_000
"""Characters from which on it is, however few lines it has."""
_CHUNK: Final = 1_000
"""About the bytes that one read gives at most: so many at once are no typing."""
_BURST: Final = 32
"""Characters of a burst: nobody types so many while we are busy with something else."""
_APART: Final = 0.15
"""Seconds between two reads of one paste, at most; nobody looks at a paste and presses enter as fast."""
_ONE: Final = 1.0
"""Seconds within which pastes that stand side by side are shown as one."""
_TYPED: Final = {Keys.ControlM: "\n", Keys.ControlJ: "\n", Keys.ControlI: "\t"}


class QuickInput(Vt100Input):
    """Keys of a terminal. A burst with line breaks in it is one paste, also without brackets around it."""

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        self._last = 0.0
        self._more = False
        """The rest of a paste waits to be read."""
        self._first = True
        self.wary: Callable[[], bool] = lambda: False
        """Whether single keys mean much now: then all that comes in one piece is text."""

    def read_keys(self) -> list[KeyPress]:
        """The keys of one read; those of a burst as one paste."""
        keys = super().read_keys()
        if self._first and keys:
            # Typed before we took the terminal over: enter had another code then.
            self._first = False
            keys = [KeyPress(Keys.ControlM, "\r") if one.key == Keys.ControlJ else one for one in keys]
        now = time.monotonic()
        waits = bool(select.select([self.fileno()], [], [], 0)[0])
        parts = _parts(keys)
        text = "".join(part for part in parts if isinstance(part, str))
        # The end of a line is no Enter where more comes at once.
        breaks = "\n" in (text if waits else text.rstrip("\n"))
        burst = len(text) >= _CHUNK or (len(text) >= _BURST and breaks) or (len(text) > 1 and self.wary())
        goes_on = bool(text) and (self._more or now - self._last < _APART)
        self._more = (burst or goes_on) and waits
        if not (burst or goes_on):
            return keys
        self._last = now
        return [KeyPress(Keys.BracketedPaste, part) if isinstance(part, str) else part for part in parts]


def _parts(keys: list[KeyPress]) -> list[str | KeyPress]:
    """What these keys type, and between that the keys that are commands, as also a marked paste is one."""
    parts: list[str | KeyPress] = []
    for one in keys:
        typed = _TYPED.get(one.key) if isinstance(one.key, Keys) else one.key
        if typed is None:
            parts.append(one)
        elif parts and isinstance(parts[-1], str):
            parts[-1] += typed
        else:
            parts.append(typed)
    return parts


@dataclass(slots=True)
class Pastes:
    """Texts that stand in the line as a mark of their size."""

    mark: Callable[[int, int], str]
    """Lines and number of the paste: what stands for it."""
    texts: dict[str, str] = field(default_factory=dict[str, str])
    _last: tuple[str, float] = ("", 0.0)

    def taken(self, text: str, buffer: Any) -> None:
        """Put a paste into a line of input, folded where it is long; the rest of one that goes on, into its mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        mark, when = self._last
        now = time.monotonic()
        before = buffer.document.text_before_cursor
        if mark and now - when < _ONE and before.endswith(mark) and mark in self.texts:
            whole = self.texts.pop(mark) + text
            buffer.delete_before_cursor(len(mark))
        else:
            whole = text
        if whole.count("\n") < LONG and len(whole) < _LONG_TEXT:
            buffer.insert_text(whole)
            return
        lines = whole.count("\n") + (not whole.endswith("\n"))
        number = 1
        while (mark := self.mark(lines, number)) in self.texts and self.texts[mark] != whole:
            number += 1
        self.texts[mark] = whole
        buffer.insert_text(mark)
        self._last = (mark, time.monotonic())

    def behind(self, buffer: Any) -> str:
        """The mark that the cursor stands behind; empty where there is none."""
        before = buffer.document.text_before_cursor
        return next((mark for mark in self.texts if before.endswith(mark)), "")

    def whole(self, text: str) -> str:
        """The line as it is sent: the pastes in place of their marks."""
        for mark, paste in self.texts.items():
            if mark in text:
                text = text.replace(mark, paste)
        return text
