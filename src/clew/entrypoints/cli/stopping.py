"""Being stopped from outside: by Ctrl-C, or politely, as service managers, editors and `kill` do."""

from __future__ import annotations

import contextlib
import signal

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
TERMINATED = 143
"""Exit status after SIGTERM, as shells have it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Whoever ends us politely gets what Ctrl-C gets: what came is kept, nothing half-written stays."""


def heed_termination() -> None:
    """Raise Terminated in the main thread on SIGTERM; nothing happens in another thread."""

    def stop(number: int, frame: object) -> None:
        raise Terminated

    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, stop)


def stop_status(error: BaseException | None) -> int:
    """The exit status for what stopped us, also where click has put its own Abort around it."""
    stopped = isinstance(error, Terminated) or isinstance(getattr(error, "__cause__", None), Terminated)
    return TERMINATED if stopped else INTERRUPTED
