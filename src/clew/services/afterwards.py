"""What follows a write to memory: the index and the notes that hints come from are brought up to the files.

In a memory of few files that is done before the write ends, since it takes less time than to start a process. In a
larger one it would take longer the more files there are; then a process of its own does it. One such process works at
a time, and one more may wait: it begins after whatever was written until then, so a third has nothing to do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clew.errors import StoreBusy
from clew.services.memory_known import are_few
from clew.services.memory_search import EMBED_SECONDS, VARIANT, refresh
from clew.stores.documents import Documents
from clew.stores.durable import locked
from clew.stores.memory_index import MemoryIndex

if TYPE_CHECKING:
    from clew.services.hinting import Hinter

_WAITS: Final = 600.0
"""Seconds that a process waits for the one before it."""
_ROUNDS: Final = 5
"""How often it begins again because files changed while it worked."""


@dataclass(frozen=True, slots=True)
class Afterwards:
    """What follows a write to some documents."""

    documents: Documents
    index_path: Path
    hinter: Callable[[], Hinter]
    """Opens what gives hints, which takes longer than a write."""
    start: Callable[[], None]
    """Begins a process that calls `run`."""

    def follow(self, paths: Collection[str]) -> None:
        """After the documents at `paths` were written. Raises StoreError where nothing can be kept."""
        if are_few(self.documents):
            self._index(seconds=0)
            if not self.hinter().prepare_written(paths):
                return
        self.begin()

    def begin(self) -> None:
        """Let a process do it that nobody waits for, unless one is going to begin."""
        if not self._is_awaited():
            self.start()

    def run(self) -> None:
        """Do all of it, after whoever is at it. Raises StoreError, StoreBusy where another process waits already."""
        with contextlib.ExitStack() as waiting, contextlib.ExitStack() as working:
            waiting.enter_context(locked(self._next, 0))
            working.enter_context(locked(self._now, _WAITS))
            waiting.close()
            for _ in range(_ROUNDS):
                before = self.documents.looks()
                self._index()
                self.hinter().prepare()
                # What was deleted or purged meanwhile must not stay in what was made from it.
                if self.documents.looks() == before:
                    return

    def _index(self, seconds: float = EMBED_SECONDS) -> None:
        with MemoryIndex.open(self.index_path, variant=VARIANT) as index:
            refresh(index, self.documents, seconds=seconds)

    def _is_awaited(self) -> bool:
        try:
            with locked(self._next, 0):
                return False
        except StoreBusy:
            return True

    @property
    def _next(self) -> Path:
        return self.index_path.parent / ".next"

    @property
    def _now(self) -> Path:
        return self.index_path.parent / ".now"
