"""The index of memory: derived, incremental, disposable. One SQLite file; the Markdown files are the truth.

Freshness: `refresh` compares stamps (size, mtime, inode) with those stored and loads what differs; a document whose
content turns out to be the same keeps its rows, and one that changed keeps the rows of the passages that did not. What
is younger than `TICK` when it is read is read again at the next refresh.

What is loaded comes without secrets. Writes go through `begin immediate`, so several processes may refresh at once: the
second one finds the work done. A damaged file is moved out of the way and made again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import StoreBusy, StoreError, StoreTooNew
from clew.stores.memory_reading import MemoryReading
from clew.stores.memory_writing import Blocks, Load, Stat, Taking, stamp_of, transaction
from clew.stores.sqlite_file import is_damage, remove, switch_to_wal
from clew.system import open_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
"""Raise it when rows of the same document change; an older index is made anew, a newer one is left alone."""
IN_MEMORY = Path(":memory:")
"""SQLite's name for a database without a file."""
BATCH = 200
"""Documents a transaction."""
BUSY_SECONDS = 90.0
_ENCODED_AT_ONCE = 256
_ENCODED_CHARACTERS = 1_200

_SCHEMA = """
create table if not exists meta (key text primary key, value) without rowid;
create table if not exists documents (
  id integer primary key, path text unique not null, size integer, mtime_ns integer, inode integer, ctime_ns integer,
  digest text, young integer not null, tier text, workspace text, reference text, name text, description text,
  recall text, type text, scope text, branch text, status text, tags text, created text, updated text, expires text,
  supersedes text, superseded_by text, held integer);
create index if not exists documents_reference on documents(reference);
create index if not exists documents_workspace on documents(workspace, tier);
create table if not exists passages (
  id integer primary key, document integer not null, place integer not null, first integer, last integer,
  heading text, speaker text, at text, reference text, length integer, digest blob, text text,
  embedded integer not null default 0);
create index if not exists passages_place on passages(document, place);
create index if not exists passages_bare on passages(id) where not embedded;
create table if not exists free (id integer primary key);
create virtual table if not exists passage_terms using fts5(body, head, tokenize="ascii tokenchars '_.'");
create virtual table if not exists document_terms using fts5(
  name, description, recall, tags, tokenize="ascii tokenchars '_.'");
create virtual table if not exists vocabulary using fts5vocab(passage_terms, row);
create virtual table if not exists document_vocabulary using fts5vocab(document_terms, row);
create table if not exists vectors (
  block integer primary key, version integer not null, rows blob not null, owners blob not null);
"""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: numbers of documents, and of characters of their bodies that were looked through."""

    total: int
    read: int
    changed: int
    gone: int
    characters: int
    seconds: float


class MemoryIndex(MemoryReading):
    """Opened by `MemoryIndex.open`; close it, or use it in a `with`. One instance belongs to one thread."""

    def __init__(self, path: Path, variant: str) -> None:
        """Use `open`."""
        super().__init__()
        self.path = path
        self._variant = variant
        self._db = _connect(path, variant)
        self._inode = _inode(path)

    @classmethod
    def open(cls, path: Path, *, variant: str = "") -> MemoryIndex:
        """Open or make the index. `variant` names what shapes its rows (rules of redaction, embedding); another one
        starts anew.

        Raises StoreTooNew where a newer Clew wrote it, StoreBusy when another process holds it too long, StoreError
        when the folder cannot be written.
        """
        try:
            if path != IN_MEMORY:
                path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return cls(path, variant)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                remove(path)
                return cls(path, variant)
        except sqlite3.Error as error:
            raise store_error(path, error) from error
        except OSError as error:
            raise StoreError(
                f"the index {path} cannot be made: {error}", hint="set CLEW_HOME to a writable folder"
            ) from error

    def __enter__(self) -> MemoryIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._db.close()

    def restart(self) -> None:
        """Drop everything and begin with an empty index. Raises StoreError."""
        self._db.close()
        # Another process may have made it anew already: its file is not the damaged one.
        if self.path != IN_MEMORY and _inode(self.path) == self._inode:
            remove(self.path)
        try:
            self._db = _connect(self.path, self._variant)
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        self._inode = _inode(self.path)
        self.forget_vectors()

    # -- freshness

    def refresh(
        self,
        stats: Iterable[Stat],
        load: Load,
        *,
        now: Callable[[], float] = time.time,
        progress: Callable[[int, int], None] | None = None,
    ) -> Refreshed:
        """Make the index mirror the documents of `stats`, and no others.

        `load` reads one by its path, without secrets; what it gives None for, or cannot read, is not in the index then.
        A damaged index is made again. Raises StoreBusy, StoreError.
        """
        began = time.perf_counter()
        wanted = {stat.path: stat for stat in stats}
        take = Taking(self._db, load, now)
        try:
            try:
                counts = self._brought(wanted, take, progress)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self.restart()
                take = Taking(self._db, load, now)
                counts = self._brought(wanted, take, progress)
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        return Refreshed(len(wanted), *counts, take.characters, time.perf_counter() - began)

    def _brought(
        self, wanted: Mapping[str, Stat], take: Taking, progress: Callable[[int, int], None] | None
    ) -> tuple[int, int, int]:
        stale, gone = self._difference(wanted)
        if not stale and not gone:
            return 0, 0, 0
        changed = 0
        with transaction(self._db):
            stale, gone = self._difference(wanted)
            for path in gone:
                take.forget(path)
            take.finish()
        for at in range(0, len(stale), BATCH):
            with transaction(self._db):
                changed += sum(take.document(wanted[path]) for path in stale[at : at + BATCH])
                take.finish()
            if progress is not None:
                progress(min(at + BATCH, len(stale)), len(stale))
        return len(stale), changed, len(gone)

    def _difference(self, wanted: Mapping[str, Stat]) -> tuple[list[str], list[str]]:
        known = {
            row[0]: row
            for row in self._db.execute("select path, size, mtime_ns, inode, ctime_ns, young from documents")
        }
        stale = [path for path, stat in wanted.items() if known.get(path) != (path, *stamp_of(stat), 0)]
        return stale, [path for path in known if path not in wanted]

    # -- vectors

    def embed(
        self,
        encode: Callable[[Sequence[str]], NDArray[np.float32]],
        *,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> int:
        """Give passages that have none a vector, for at most about `seconds`; the number that still lack one.

        `encode` makes unit rows (texts, dimensions). Raises StoreBusy, StoreError.
        """
        ends = None if seconds is None else clock() + seconds
        query = (
            "select passages.id, passages.document, passages.digest, name, heading, text from passages "
            "join documents on documents.id = document where not embedded order by passages.id limit ?"
        )
        try:
            while rows := self._db.execute(query, (_ENCODED_AT_ONCE,)).fetchall():
                vectors = encode([_encoded(*row[3:]) for row in rows])
                with transaction(self._db):
                    self._put_vectors([row[:3] for row in rows], vectors)
                if ends is not None and clock() >= ends:
                    break
            return int(self._db.execute("select count(*) from passages where not embedded").fetchone()[0])
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def _put_vectors(self, rows: Sequence[tuple[int, int, bytes]], vectors: NDArray[np.float32]) -> None:
        import numpy as np  # noqa: PLC0415 -- not paid for by those who only refresh

        blocks = Blocks(self._db)
        for (passage, document, digest), vector in zip(rows, vectors, strict=True):
            # While the vectors were made another process may have changed the passage or given its number away.
            found = self._db.execute(
                "update passages set embedded = 1 where id = ? and digest = ? and document = ?",
                (passage, digest, document),
            )
            if not found.rowcount:
                continue
            blocks.put(passage, np.rint(vector * 127).astype(np.int8), document)
        blocks.save()


def _encoded(name: str, heading: str, text: str) -> str:
    return "\n".join(filter(None, (name, heading.rpartition(" > ")[2], text[:_ENCODED_CHARACTERS])))


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """What to tell about an error of SQLite."""
    said = str(error)
    if "locked" in said or "busy" in said:
        return StoreBusy(f"the index {path} is in use", hint="try again in a moment")
    hint = "run `clew memory rebuild`"
    if "full" in said:
        said, hint = "the disk is full", "free some space, or set CLEW_HOME elsewhere"
    return StoreError(f"the index {path} cannot be used: {said}", hint=hint)


def _connect(path: Path, variant: str) -> sqlite3.Connection:
    if path != IN_MEMORY and not path.exists():
        # Made by us and not by SQLite: what people noted is nobody else's business.
        os.close(open_file(path, "make", follow=True))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        switch_to_wal(connection, BUSY_SECONDS)
        for setting in ("synchronous = normal", "cache_size = -65536"):
            connection.execute(f"pragma {setting}")
        written, whole = _written(connection)
        if written is not None and written[0] > FORMAT:
            raise StoreTooNew(
                f"the index {path} was written by a newer Clew (format {written[0]}, this one knows {FORMAT})",
                hint="update Clew, or run `clew memory rebuild` to make the index again for this version",
            )
        if written is not None and written != (FORMAT, variant):
            connection.close()
            remove(path)
            return _connect(path, variant)
        if not whole:
            # Not each time: who only reads must not wait for who writes.
            connection.executescript(_SCHEMA)
            connection.executemany(
                "insert or ignore into meta (key, value) values (?, ?)",
                [("format", FORMAT), ("variant", variant), ("passages", 0), ("length", 0)],
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _written(connection: sqlite3.Connection) -> tuple[tuple[int, str] | None, bool]:
    """Format and variant of what is there (None of an empty file), and whether it was made to its end."""
    if connection.execute("select 1 from sqlite_master where name = 'meta'").fetchone() is None:
        return None, False
    found = dict(connection.execute("select key, value from meta").fetchall())
    if "format" not in found:
        return None, False
    # These are written last, once all tables are there.
    whole = all(key in found for key in ("variant", "passages", "length"))
    return (int(found["format"]), str(found.get("variant", ""))), whole


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
