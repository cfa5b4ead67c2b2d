"""Keeps an index fresh from file-system events, and tells questions that it is, so that they need not look."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from clew.adapters import chunker
from clew.adapters.rendezvous import Listener, Reply, Request, listen
from clew.adapters.sources.files import WorkTree
from clew.adapters.sources.watch import Events, WatchedTree
from clew.errors import Refused, StoreBusy, StoreError
from clew.services.code_index import VARIANT, open_index
from clew.stores.index import CodeIndex, Refreshed

Event = Literal["start", "refresh", "no-events", "events", "gone"]
Say = Callable[[Event, str, Refreshed | None], None]
"""Told what happens: what, a detail in words, and the numbers of a refresh."""

SETTLE = 0.2
"""Seconds that a request waits for events that came before it."""
QUIET = 0.2
"""Seconds between two looks at the events when nobody asks."""
CHECK = 60.0
"""Seconds after which everything is looked at, whatever the events said: some file systems tell of no change."""
POLL = 5.0
"""Seconds between two stat passes while no events come, and between tries to get events again."""


class Watcher:
    """One watched work tree. Use it in a `with`: leaving it removes the socket.

    While events come it answers questions with the digest of the state that the index mirrors. While none come (a limit
    of the system, a folder that is gone) it makes a stat pass now and then, and vouches for nothing.
    """

    def __init__(
        self, tree: WorkTree, index: Path, socket: Path, say: Say, now: Callable[[], float] = time.time
    ) -> None:
        """`now` tells which files are so young that they may change unseen, as for `freshen`.

        Raises Refused when another process watches the tree, StoreError when the state folder cannot be written.
        """
        self._root = Path(os.path.realpath(tree.root))
        self._watched = WatchedTree(tree)
        self._index_path = index
        self._say = say
        self._now = now
        self._events: Events | None = None
        self._index: CodeIndex | None = None
        self._opened: os.stat_result | None = None
        self._folder: os.stat_result | None = None
        self._why = ""
        """Why no events come, as it was said."""
        self._marks = socket.with_suffix(".marks")
        self._listener = _listening(socket)
        self._checked = self._tried = time.monotonic()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop. Nothing is left behind. Safe to call twice."""
        if self._events is not None:
            self._events.close()
            self._events = None
        self._listener.close()
        if self._index is not None:
            self._index.close()
            self._index = None

    def run(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Watch until `stopped` says so, which is asked a few times a second. Raises StoreBusy, StoreError."""
        self._start_events()
        self._say("start", str(self._root), self._refresh(everything=True))
        while not stopped():
            asked = self._listener.accept(QUIET)
            if asked is not None:
                connection, request = asked
                self._listener.reply(connection, self._synced(request))
            try:
                self._look_round()
            except StoreBusy:
                self._checked = time.monotonic() - CHECK

    # -- events

    def _start_events(self) -> None:
        self._tried = time.monotonic()
        try:
            self._folder = self._root.stat()
            self._events = Events(self._root, self._marks)
        except OSError as error:
            self._events = None
            if self._why != str(error):
                self._why = str(error)
                self._say("no-events", str(error), None)
        else:
            self._why = ""

    def _lose_events(self, why: str) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None
            self._tried = time.monotonic()
            self._why = why
            self._say("no-events", why, None)

    def _look_round(self) -> None:
        """What there is to do when nobody asks."""
        now = time.monotonic()
        if self._events is not None and (why := self._trouble(self._events)):
            self._lose_events(why)
        if self._events is None:
            if now - self._tried >= POLL:
                if self._root.is_dir():
                    self._start_events()
                    if self._events is not None:
                        self._say("events", "", None)
                else:
                    self._tried = now
                self._report(self._refresh(everything=True))
            return
        changed = self._events.take()
        if changed or now - self._checked >= CHECK:
            self._report(self._refresh(changed, everything=now - self._checked >= CHECK))

    def _trouble(self, events: Events) -> str:
        if events.failed:
            return events.failed
        try:
            same = self._folder is not None and os.path.samestat(self._folder, self._root.stat())
        except OSError:
            return f"{self._root} is gone"
        return "" if same else f"{self._root} is another folder now"

    def _report(self, refreshed: Refreshed) -> None:
        if refreshed.changed or refreshed.gone:
            self._say("refresh", "", refreshed)

    # -- the index

    def _synced(self, request: Request) -> Reply:
        if request.root != str(self._root) or request.variant != VARIANT or self._events is None:
            return Reply("")
        if not self._events.settle(SETTLE) or self._trouble(self._events):
            # Events may have been lost: only a look at everything tells.
            self._checked = time.monotonic() - CHECK
            return Reply("")
        if request.ignore != self._watched.tree.ignore:
            self._watched = WatchedTree(WorkTree(self._root, request.ignore))
        try:
            refreshed = self._refresh(self._events.take())
        except StoreError:
            return Reply("")
        self._report(refreshed)
        return Reply(refreshed.digest, refreshed.total, self._watched.tree.left_out)

    def _refresh(self, changed: frozenset[str] = frozenset(), *, everything: bool = False) -> Refreshed:
        if everything:
            self._watched.walk()
            self._checked = time.monotonic()
        elif not self._watched.follow(changed):
            if self._events is not None:
                # A new folder is watched only a moment after its event: what came into it before that gave no event.
                self._events.settle(SETTLE)
            self._watched.walk()
        return self._current_index().refresh(self._watched, chunker.outline, now=self._now)

    def _current_index(self) -> CodeIndex:
        """The index, opened again where it was deleted or made anew meanwhile."""
        try:
            there = self._index_path.stat()
        except OSError:
            there = None
        if self._index is None or there is None or self._opened is None or not os.path.samestat(there, self._opened):
            if self._index is not None:
                self._index.close()
            self._index = open_index(self._index_path)
            self._opened = self._index_path.stat()
        return self._index


def _listening(socket: Path) -> Listener:
    try:
        found = listen(socket)
    except OSError as error:
        raise StoreError(
            f"cannot listen at {socket}: {error.strerror or error}", hint="set CLEW_HOME to a writable folder"
        ) from error
    if isinstance(found, Listener):
        return found
    process = f" (process {found})" if found else ""
    raise Refused(f"this folder is watched already{process}", hint="one watcher serves all questions")
