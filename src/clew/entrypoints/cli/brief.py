"""What spares time in a process that lives for one message, and ends it when its time is up."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, MutableMapping
from typing import Final, NoReturn

_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def live_briefly(environ: MutableMapping[str, str]) -> None:
    """Prepare for a short life; call this before numpy is imported. `environ` is that of the process.

    One vector against some thousand rows is done before the threads of a library for matrices have woken up, and they
    use the processor while they wait. What such a process holds is not worth a search for garbage.
    """
    for name in _THREADS:
        environ.setdefault(name, "1")
    gc.disable()


def leave(status: object) -> NoReturn:
    """End the process now. The system takes back at once what the interpreter would take apart piece by piece."""
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] -- there is no public name for what exit does first
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def end_after(seconds: float) -> Callable[[], None]:
    """End the process in silence and with status 0 when so much time has passed, whatever it is at.

    What waits in buffers is not written: half a hint is none. What this returns calls it off. Files are replaced in
    one step and databases roll back, so nothing half-written stays.
    """
    done = threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            os._exit(0)

    threading.Thread(target=watch, name="deadline", daemon=True).start()
    return done.set
