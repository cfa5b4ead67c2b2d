"""How a server ends: by itself, or by a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable


def run_until_stopped(work: Callable[[], None]) -> int:
    """Do `work` on a thread of its own. 0 once it has ended, else the signal that came first; then it still runs.

    A handler that raises would do so wherever the main thread happens to be, and is lost in some places (a finalizer
    runs, say): a server that nobody can end is left. So the handler only writes a byte. Raises what `work` raised.
    """
    reading, writing = os.pipe()
    failed: list[BaseException] = []

    def do() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            # After a signal nobody reads any more.
            with contextlib.suppress(BrokenPipeError):
                os.write(writing, b"\0")

    def stop(number: int, frame: object) -> None:
        os.write(writing, bytes((number,)))

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        threading.Thread(target=do, name="serve", daemon=True).start()
        (number,) = os.read(reading, 1)
    finally:
        for one, handler in zip(numbers, before, strict=True):
            signal.signal(one, handler)
        # The other end stays open: the thread writes to it when it ends.
        os.close(reading)
    if failed:
        raise failed[0]
    return number
