"""Which keys answer a question that is open, and which are typing: nobody may allow by accident what comes up while
they type, nor lose a letter to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from clew.entrypoints.cli.terminal.screen import Screen

_QUIET: Final = 0.4
"""Seconds without a key before a question takes keys."""
_HELD: Final = 0.3
"""Seconds without another key before a letter counts: the letters of a word come faster."""
_LASTING: Final = 0.7
"""The same for what holds longer than once: also whoever looks for each key types faster."""
_BURST: Final = 0.05
"""Seconds between two keys that no hand has typed."""


class Answering:
    """Keys while a question is open. `answer` gets the letter that was meant, `pasted` what was typed in one piece."""

    def __init__(self, screen: Screen, answer: Callable[[str], None], pasted: Callable[[str], None]) -> None:
        self.screen = screen
        self.answer = answer
        self.pasted = pasted
        self.held = ""
        """A letter that counts if no other key follows at once."""
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._aside = ""
        self._given = ""
        """What was given back, as long as nothing was done with it."""

    @property
    def blocked(self) -> bool:
        """Whether the line holds something: then keys are for the line."""
        return self.screen.mode == "line" and bool(self.screen.line.text.strip())

    def look(self) -> None:
        """Let keys answer where nobody types. A line that was put aside before, and is as it was, gives way again."""
        if self._given and self.screen.line.text == self._given:
            self.put_aside()
        idle = time.monotonic() - self.screen.typed >= _QUIET
        if self.screen.mode == "line" and idle and not self.blocked:
            self.screen.ask()

    def key(self, key: str, offered: str, lasting: str) -> None:
        """A printable key: one of the letters that are offered, or typing, together with the letter before it. Letters
        of `lasting` allow something for longer than once."""
        if self.held or key.lower() not in offered:
            self.type(key)
            return
        self.held, self._since = key, time.monotonic()
        seconds = _LASTING if key.lower() in lasting else _HELD
        self._timer = asyncio.get_running_loop().call_later(seconds, self._meant)
        self.screen.app.invalidate()

    def type(self, text: str, *, pasted: bool = False) -> None:
        """This is typing."""
        held = self.dropped()
        self.screen.back()
        self.screen.line.insert_text(held if pasted else held + text)
        if pasted:
            self.pasted(text)

    def entered(self) -> None:
        """Enter: a letter that is held counts at once, unless both came in one piece."""
        if self.held and time.monotonic() - self._since < _BURST:
            self.type("\n")
        else:
            self._meant()

    def dropped(self) -> str:
        """Forget the letter that is held, and give it."""
        held, self.held = self.held, ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return held

    def put_aside(self) -> None:
        """Keep the line until the question is answered."""
        self._aside = "\n".join(part for part in (self._aside, self.screen.line.text) if part)
        self._given = ""
        self.screen.line.reset()
        self.screen.typed = time.monotonic()

    def give_back(self) -> None:
        """What was put aside, into the line."""
        if self._aside:
            self._given = "\n".join(part for part in (self._aside, self.screen.line.text) if part)
            self.screen.put(self._given)
            self._aside = ""

    def forget(self) -> None:
        """What was put aside is not wanted any more."""
        self._aside = self._given = ""

    def _meant(self) -> None:
        if letter := self.dropped():
            self.answer(letter.lower())
