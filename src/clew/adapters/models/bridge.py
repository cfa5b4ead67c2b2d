"""A plain iterator over what an asynchronous producer makes."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

CLOSE_PATIENCE = 5.0
"""Seconds that a cancelled producer may take to close its connection before it is left behind."""


def drained(produce: Callable[[Callable[[Item], None]], Coroutine[Any, Any, None]]) -> Iterator[Item]:
    """Yield what `produce` hands to its argument, as it comes; then raise what it raised.

    The producer runs in an event loop of a thread of its own, so the caller may itself run in one. Closing the
    iterator, or an exception in the caller such as KeyboardInterrupt, cancels the producer and waits for its end.
    """
    items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(produce(items.put))
    thread = threading.Thread(target=_run, args=(loop, task, items), daemon=True, name="clew-model")
    thread.start()
    try:
        while (item := items.get()) is not None:
            yield item
    finally:
        with contextlib.suppress(RuntimeError):  # a closed loop: the producer has ended
            loop.call_soon_threadsafe(task.cancel)
        thread.join(CLOSE_PATIENCE)
        failure = task.exception() if task.done() and not task.cancelled() else None
    if failure is not None:
        raise failure


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None], items: queue.SimpleQueue[Any]) -> None:
    try:
        loop.run_until_complete(asyncio.wait({task}))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
        items.put(None)
