"""Being stopped from outside: by Ctrl-C, politely as by `kill`, or because the window was closed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
TERMINATED = 143
"""Exit status after SIGTERM, as shells have it."""
HUNG_UP = 129
"""Exit status after SIGHUP, as shells have it."""
_HANG_UP = getattr(signal, "SIGHUP", None)


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Whoever ends us politely gets what Ctrl-C gets: what came is kept, nothing half-written stays."""

    status = TERMINATED


class HungUp(Terminated):
    """SIGHUP came: the terminal is gone, and nobody reads what is printed now."""

    status = HUNG_UP


def heed_termination() -> None:
    """Raise Terminated in the main thread on SIGTERM and HungUp on SIGHUP; nothing happens in another thread.

    Where SIGHUP is ignored, as under `nohup`, it stays so.
    """

    def stop(number: int, frame: object) -> None:
        if number != _HANG_UP:
            raise Terminated
        # The system and the shell may both send one: the second must not disturb what the first lets us finish.
        signal.signal(number, signal.SIG_IGN)
        raise HungUp

    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, stop)
        if _HANG_UP is not None and signal.getsignal(_HANG_UP) == signal.SIG_DFL:
            signal.signal(_HANG_UP, stop)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Heed no signal while something short is finished that must not be lost."""
    before: dict[int, object] = {}
    with contextlib.suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM, *([_HANG_UP] if _HANG_UP is not None else [])):
            before[number] = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            # A handler that C code has set is none for Python; it cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]


def stop_status(error: BaseException | None) -> int:
    """The exit status for what stopped us, also where click has put its own Abort around it."""
    for one in (error, getattr(error, "__cause__", None)):
        if isinstance(one, Terminated):
            return one.status
    return INTERRUPTED
