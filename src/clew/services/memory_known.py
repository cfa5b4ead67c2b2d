"""Documents by what they are called: found through the index, and read again before anybody relies on them.

The index is compared with the files, which costs a look at each (5 µs); those that changed since are read. What it
says of the others decides which of them are read, never what they say.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from clew.core.memory.document import PREFIX, Document, bare_id, is_made, nearest, tier_of
from clew.core.text.printable import printable
from clew.errors import NotFound, StoreError, UsageError
from clew.services.memory_search import VARIANT, refresh
from clew.stores.documents import Documents, folder_of
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter, Named
from clew.stores.memory_writing import stamp_of

FEW: Final = 1_000
"""Files that a command indexes without anybody waiting long (0.9 ms each)."""
_MOST_UNKNOWN: Final = 100
"""Files that are read under a lock (0.3 ms each)."""
_LEAST_OF_ID: Final = 5
"""Characters of the beginning of an id, for `mem_` alone means nothing."""
_OF_A_DAY: Final = frozenset({"log", "reflection"})
"""Tiers of which two machines may each begin the document of a day."""
_NOTHING: Final[tuple[None, tuple[int, ...]]] = (None, ())

Progress = Callable[[int, int], None]


class Behind(Exception):
    """So many files changed that they should be read before a lock is taken, not under it"""


@dataclass(frozen=True, slots=True)
class _Names:
    """What the documents are called."""

    rows: Sequence[Named]
    others: Sequence[str]
    """Paths of files that the index does not know as they are now: only reading them tells."""
    missed: Collection[str]
    """What cannot be reached."""


@dataclass(frozen=True, slots=True)
class Known:
    """The documents below a memory root, by name. The index is only read, so nobody waits for who writes to it."""

    documents: Documents
    index_path: Path

    def called(
        self,
        is_meant: Callable[[str], bool],
        tier: str,
        workspace: str,
        *,
        progress: Progress | None = None,
        patient: bool = False,
    ) -> list[Document]:
        """Readable documents of a place whose name is meant, by path.

        Raises Behind, unless `patient`, where so many files changed that `freshened` should come first.
        """
        names = self._names(tier, workspace)
        if len(names.others) > _MOST_UNKNOWN and not patient:
            raise Behind
        known = [row.path for row in names.rows if is_meant(row.name)]
        found = self.documents.read_these(sorted([*known, *names.others]), progress)
        return [one for one in found if one.readable and is_meant(one.name)]

    def of_ids(self, ids: Collection[str], progress: Progress | None = None) -> list[Document]:
        """The readable documents that have one of the ids, wherever they lie, by path."""
        names = self._names()
        meant = [row.path for row in names.rows if row.reference in ids]
        found = self.documents.read_these(sorted([*meant, *names.others]), progress)
        return [one for one in found if one.readable and one.id in ids]

    def demand_id(self, before: Document, after: Document, progress: Progress | None = None) -> None:
        """Raise UsageError where references would find nothing, or another document, once `after` is written."""
        if after.id == before.id:
            return
        others = {one.id for one in self.of_ids({before.id, after.id} - {""}, progress) if one.path != before.path}
        hint = f"leave the line `id: {before.id}` between the lines `---` at its top"
        if after.id in others:
            hint = hint if before.id else "take out the line `id:` at its top; `clew memory check --fix` gives it one"
            raise UsageError(f"another document has the id `{after.id}`, and references would find either", hint=hint)
        if before.id and not after.id:
            raise UsageError("the document would have no id, and references to it would find nothing", hint=hint)
        if before.id and before.id not in others:
            raise UsageError("the document would have another id, and references to it would find nothing", hint=hint)

    def freshened(self, progress: Progress | None) -> None:
        """Bring the index up to the files, unless that takes long: for a moment in which no lock is held."""
        with contextlib.suppress(StoreError):
            if len(self._names().others) <= FEW:
                with MemoryIndex.open(self.index_path, variant=VARIANT) as index:
                    refresh(index, self.documents, seconds=0, progress=progress)

    def find(
        self,
        ref: str,
        is_near: Callable[[Document], bool],
        narrowed: Callable[[list[Document]], list[Document]],
        progress: Progress | None = None,
    ) -> Document:
        """The document of a reference, an id, a path below the memory root, the name of a near one, or the beginning of
        an id that no other near one has.

        `narrowed` says which of several with one name are meant. Raises NotFound, with the paths of `candidates` where
        there are several, and UsageError.
        """
        wanted = bare_id(ref)
        if not wanted:
            raise UsageError("there is no reference", hint=f"for instance: {PREFIX}mem_0123456789ab")
        paths = (wanted, f"{wanted}.md")
        names = self._names()
        if len(names.others) > _MOST_UNKNOWN:
            self.freshened(progress)
            names = self._names()
        meant = [
            row.path
            for row in names.rows
            if row.reference == wanted or row.path in paths or same(row.name, wanted) or _begins(row.reference, wanted)
        ]
        among = list(self.documents.read_these(sorted({*meant, *names.others, *names.missed}), progress))
        ids = [*(row.reference for row in names.rows), *(one.id for one in among)]
        near = [one for one in among if is_near(one)]
        for found in (
            # An id that was copied into another workspace means the document of this one.
            [one for one in near if one.id == wanted] or [one for one in among if one.id == wanted],
            [one for one in among if one.path in paths],
            narrowed([one for one in near if same(one.name, wanted)]),
            [one for one in near if _begins(one.id, wanted)],
        ):
            if len(found) > 1:
                raise several(wanted, found, "name its path")
            if found:
                return found[0]
        if former := self._formerly(wanted):
            return former
        close = nearest(wanted, tuple(filter(None, ids)))
        hint = f"did you mean {PREFIX}{close}?" if close else "`clew memory list` shows what is there"
        raise NotFound(f"memory holds no `{printable(wanted, 80)}`", hint=hint)

    def _formerly(self, wanted: str) -> Document | None:
        """The document that had an id before; only logs and reflections give theirs up. They are read one by one."""
        if not is_made(wanted):
            return None
        paths = [one.path for one in self.documents.walk() if (tier_of(one.path) or ("",))[0] in _OF_A_DAY]
        return next((one for one in self.documents.read_these(paths) if wanted in one.aliases), None)

    def ids_indexed(self) -> dict[str, str]:
        """By path, the ids that documents had when they were indexed last."""
        return {path: row.reference for path, (row, _) in self._indexed().items() if row.reference}

    def _names(self, tier: str = "", workspace: str = "") -> _Names:
        """What the index says of files that are as they were, and which others there are; those of a place, or all."""
        chosen = Filter(tiers=(tier,), workspaces=(workspace,)) if tier else None
        below = folder_of(tier, workspace) if tier else ""
        missed, indexed = set[str](), self._indexed(chosen)
        rows: list[Named] = []
        others: list[str] = []
        for stat in self.documents.walk(missed, below):
            row, stamp = indexed.get(stat.path, _NOTHING)
            if row is not None and stamp == (*stamp_of(stat), 0):
                rows.append(row)
            else:
                others.append(stat.path)
        return _Names(rows, others, missed)

    def _indexed(self, chosen: Filter | None = None) -> Mapping[str, tuple[Named, tuple[int, ...]]]:
        with contextlib.suppress(StoreError, sqlite3.Error):
            if self.index_path.exists():
                with MemoryIndex.open(self.index_path, variant=VARIANT) as index:
                    return index.names(chosen)
        return {}


def several(wanted: str, found: Sequence[Document], hint: str) -> NotFound:
    """What to tell where more than one document is meant."""
    told = ", ".join(f"`{printable(one.path)}`" for one in found[:5])
    more = f", {len(found) - 5} more" if len(found) > 5 else ""
    wrong = f"`{printable(wanted, 80)}` is more than one document: {told}{more}"
    return NotFound(wrong, hint=hint, candidates=tuple(one.path for one in found))


def same(one: str, other: str) -> bool:
    """Whether two names are one, whatever their case and blanks."""
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


def _begins(id_: str, wanted: str) -> bool:
    """Whether `wanted` is enough of an id to mean it."""
    return len(wanted) >= _LEAST_OF_ID and id_.startswith(wanted)


def are_few(documents: Documents) -> bool:
    """Whether there are no more than FEW files; looks at no more."""
    return not any(True for _ in islice(documents.walk(), FEW, None))
