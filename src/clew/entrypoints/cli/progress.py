"""Progress on stderr for anything that takes over half a second on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from clew.entrypoints.cli.texts import say

_AFTER = 0.5
"""Seconds: what is over by then says nothing."""
_EVERY = 0.1
"""Seconds from one line to the next that takes its place."""
_TICK = 1.0


@contextlib.contextmanager
def bar(language: str, text: str = "", *, gives_way: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A callback that writes one line over itself, and wipes it at the end; None where stderr is no terminal.

    `text` has two places for numbers: done, and in all. With `gives_way` the line is wiped as soon as all is done, for
    work whose result is told before this ends.
    """
    if not _is_watched():
        yield None
        return
    began, shown = time.monotonic(), 0.0

    def tick(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if gives_way and done >= total > 0:
            shown = _wiped(shown)
        elif now - began >= _AFTER and now - shown >= _EVERY:
            shown = now
            _write(text.format(done, total) if text else say("progress.indexing", language, done, total))

    try:
        yield tick
    finally:
        _wiped(shown)


def reading(
    language: str, *, gives_way: bool = False
) -> contextlib.AbstractContextManager[Callable[[int, int], None] | None]:
    """`bar` for files of memory that are read."""
    return bar(language, say("progress.reading", language, "{}", "{}"), gives_way=gives_way)


@contextlib.contextmanager
def busy(text: str) -> Iterator[None]:
    """Say every second how long it has taken by now, where nobody can say how long it will take; wiped at the end.

    `text` has a place for the seconds. Nothing is said where stderr is no terminal.
    """
    if not _is_watched():
        yield
        return
    over = threading.Event()

    def watch() -> None:
        began, shown = time.monotonic(), 0.0
        while not over.wait(_TICK):
            shown = time.monotonic()
            _write(text.format(round(shown - began)))
        _wiped(shown)

    watcher = threading.Thread(target=watch, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _write(text: str) -> None:
    sys.stderr.write(f"\r\x1b[2K{text}")
    sys.stderr.flush()


def _wiped(shown: float) -> float:
    """Take the line away where one was shown."""
    if shown:
        _write("")
    return 0.0
