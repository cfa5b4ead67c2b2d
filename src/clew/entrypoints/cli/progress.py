"""Progress on stderr for anything that takes over half a second on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from clew.entrypoints.cli.texts import say

_AFTER = 0.5


@contextlib.contextmanager
def bar(language: str, text: str = "") -> Iterator[Callable[[int, int], None] | None]:
    """A callback that writes one line over itself, and wipes it at the end; None where stderr is no terminal.

    `text` has two places for numbers: done, and in all.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    began, shown = time.monotonic(), False

    def tick(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - began >= _AFTER:
            shown = True
            said = text.format(done, total) if text else say("progress.indexing", language, done, total)
            sys.stderr.write(f"\r\x1b[2K{said}")
            sys.stderr.flush()

    try:
        yield tick
    finally:
        if shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
