"""File-system events of a work tree, and a way to know that all events up to now have been seen."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from watchfiles._rust_notify import RustNotify

from clew.adapters.sources.files import WorkTree
from clew.core.ports import Entry

STEP = 10
"""Milliseconds between two looks at the events that came."""
MOST_CHANGES = 2000
"""More changed paths at once are not followed one by one; the queue of the system may have overflowed as well."""


class Events:
    """Changed paths below a folder, collected by a thread until they are taken.

    The same notifier also watches a folder of its own. A file written there gives an event behind all earlier ones, so
    whoever waits for it knows that nothing before it is outstanding. Nothing is written below `root`.
    """

    def __init__(self, root: Path, marks: Path) -> None:
        """`marks` is the folder of its own, made here.

        Raises OSError where the system gives no events: no such folder, its limit of watches reached.
        """
        shutil.rmtree(marks, ignore_errors=True)
        marks.mkdir(mode=0o700)
        # Real paths: events carry them.
        self._marks = Path(os.path.realpath(marks))
        try:
            self._notify = RustNotify([str(root), str(self._marks)], False, False, 300, True, True)
        except BaseException as error:
            shutil.rmtree(self._marks, ignore_errors=True)
            if isinstance(error, OSError):
                raise
            raise OSError(str(error)) from error
        self._changed: set[str] = set()
        self._count = 0
        self._seen: set[str] = set()
        self._news = threading.Condition()
        self._stop = threading.Event()
        self.failed = ""
        """Why no more events come; empty while they do."""
        self._thread = threading.Thread(target=self._collect, name="events", daemon=True)
        self._thread.start()

    def settle(self, seconds: float) -> bool:
        """Wait until every event before this call has been collected; False where that took longer, or none come."""
        self._count += 1
        mark = self._marks / str(self._count)
        try:
            mark.touch()
        except OSError:
            return False
        with self._news:
            seen = self._news.wait_for(lambda: str(mark) in self._seen or bool(self.failed), seconds)
            self._seen.discard(str(mark))
        with contextlib.suppress(OSError):
            mark.unlink()
        return seen and not self.failed

    def take(self) -> frozenset[str]:
        """The paths that changed since the last call, whatever happened to them."""
        with self._news:
            changed = frozenset(self._changed)
            self._changed.clear()
        return changed

    def close(self) -> None:
        """Stop collecting. Safe to call twice."""
        self._stop.set()
        self._thread.join(timeout=2)
        self._notify.close()
        shutil.rmtree(self._marks, ignore_errors=True)

    def _collect(self) -> None:
        marks = f"{self._marks}{os.sep}"
        while not self._stop.is_set():
            try:
                # Without a timeout: one would throw away what comes in the moment it ends.
                found = self._notify.watch(50, STEP, 0, self._stop)
            except Exception as error:  # noqa: BLE001 - the extension raises its own kinds; any of them ends the events
                with self._news:
                    self.failed = str(error) or type(error).__name__
                    self._news.notify_all()
                return
            if not isinstance(found, set):
                continue
            with self._news:
                for _, path in found:
                    (self._seen if path.startswith(marks) else self._changed).add(path)
                self._news.notify_all()


class WatchedTree:
    """A work tree whose list of files is kept, and mended by events instead of a walk where they tell enough.

    A change of a known file is looked at alone. All else (new paths, folders, ignore files, a rename) may change
    what the rules say of other files, so the tree is walked again.
    """

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree
        self._root = f"{os.path.realpath(tree.root)}{os.sep}"
        self._known: dict[str, Entry] | None = None

    def entries(self) -> Iterator[Entry]:
        """The files as of the last `follow`."""
        if self._known is None:
            self.walk()
        yield from (self._known or {}).values()

    def read(self, path: str) -> bytes:
        """The bytes of one file now. Raises NotFound, Refused."""
        return self.tree.read(path)

    def walk(self) -> None:
        """Look at everything."""
        self._known = {entry.path: entry for entry in self.tree.entries()}

    def follow(self, changed: frozenset[str]) -> bool:
        """Take changes in; False where they do not tell enough, and the tree must be walked."""
        known = self._known
        if known is None or len(changed) > MOST_CHANGES or (changed and self.tree.left_out):
            return False
        for full in changed:
            path = full.removeprefix(self._root)
            if path == full:
                if full != self._root[:-1]:
                    continue
            elif self.tree.outside(path):
                continue
            elif path in known and not self.tree.decides(path):
                entry = self.tree.entry(path)
                if entry is not None:
                    known[path] = entry
                    continue
                if not os.path.lexists(full):
                    del known[path]
                    continue
            return False
        return True
