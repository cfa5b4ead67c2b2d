"""A watcher that runs beside a test, and its word."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.adapters.rendezvous import Reply, ask_watcher
from clew.adapters.sources.files import WorkTree
from clew.services.code_index import sync_request
from clew.services.context import Place
from clew.services.watch import Watcher


def socket_of(place: Place) -> Path:
    """Where the watcher of a place listens."""
    assert place.watcher is not None
    return place.watcher


@contextlib.contextmanager
def watching(place: Place, ignore: tuple[str, ...] = (), now: Callable[[], float] = time.time) -> Iterator[list[str]]:
    """A watcher in a thread, from its first refresh on; gives the list of what it says."""
    said: list[str] = []
    ready, stop = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def say(what: str, detail: str, refreshed: object) -> None:
        said.append(what)
        if what == "start":
            ready.set()

    def run() -> None:
        try:
            tree = WorkTree(place.workspace.root, ignore)
            with Watcher(tree, place.index, socket_of(place), say, now) as watcher:
                watcher.run(stop.is_set)
        except BaseException as error:
            failures.append(error)
            ready.set()
            raise

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert ready.wait(30) and not failures, failures
        yield said
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive() and not failures, failures


def vouched(place: Place, ignore: tuple[str, ...] = ()) -> Reply:
    """The watcher's word, asked for again while a busy machine keeps it from giving one in time."""
    for _ in range(50):
        reply = ask_watcher(socket_of(place), sync_request(WorkTree(place.workspace.root, ignore)), patience=10)
        if reply is not None and reply.digest:
            return reply
    pytest.fail("the watcher never vouched for the index")
