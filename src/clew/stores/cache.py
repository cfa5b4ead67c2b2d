"""Outcomes of searches of one work tree, kept until something changes: derived, bounded, disposable. One SQLite file.

A cache never fails a question: damage means that the file is dropped, a file in use or a disk that cannot be written
that nothing is kept, a file of a later format that it is left alone. Values carry a digest, so that half-written pages
are seen as damage.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from clew.stores.sqlite_file import remove
from clew.system import open_file

FORMAT: Final = 1
"""Number of the file's format, kept in `user_version`."""
MOST_ENTRIES: Final = 200
MOST_BYTES: Final = 20_000_000
"""Bytes of all values together."""
BUSY_SECONDS: Final = 0.05
"""How long to wait for another process before doing without."""

_SCHEMA: Final = """
create table kept (at integer primary key autoincrement, key text unique not null, mode text not null,
  size integer not null, digest text not null, value text not null) strict;
"""
_Result = TypeVar("_Result")


class SearchCache:
    """key -> JSON value, tagged with the mode that it was made in. No method raises for the state of the file."""

    def __init__(self, path: Path, *, most_entries: int = MOST_ENTRIES, most_bytes: int = MOST_BYTES) -> None:
        """The file is opened only where it is needed. Nothing is kept where its folder does not exist."""
        self.path = path
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._usable = True

    def get(self, key: str) -> Any:
        """The value, or None."""
        return self._run(lambda connection: _read(connection, key))

    def keep(self, key: str, mode: str, value: object) -> None:
        """Keep a value; drop what other modes kept, and the oldest entries beyond the bounds."""
        text = json.dumps(value, separators=(",", ":"))
        if len(text) > self._most_bytes:
            return

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("delete from kept where mode <> ?", (mode,))
            connection.execute(
                "insert or replace into kept (key, mode, size, digest, value) values (?, ?, ?, ?, ?)",
                (key, mode, len(text), _digest(key, text), text),
            )
            self._bound(connection)

        self._run(insert, writes=True)

    def drop_mode(self, mode: str) -> None:
        """Drop what was kept while another mode than `mode` was in force."""
        if self._run(lambda connection: connection.execute(_OTHERS, (mode,)).fetchone()):
            self._run(lambda connection: connection.execute("delete from kept where mode <> ?", (mode,)), writes=True)

    def count(self) -> int:
        """Number of entries."""
        return self._run(lambda connection: int(connection.execute("select count(*) from kept").fetchone()[0])) or 0

    def _bound(self, connection: sqlite3.Connection) -> None:
        total = 0
        for place, (at, size) in enumerate(connection.execute("select at, size from kept order by at desc").fetchall()):
            total += size
            if place >= self._most_entries or total > self._most_bytes:
                connection.execute("delete from kept where at <= ?", (at,))
                return

    def _run(
        self, work: Callable[[sqlite3.Connection], _Result], *, writes: bool = False, again: bool = True
    ) -> _Result | None:
        """Do `work`, all or nothing; None where that is not possible now. Once more after damage, on a new file."""
        if not self._usable:
            return None
        try:
            with contextlib.closing(self._open()) as connection, _transaction(connection, writes=writes):
                return work(connection)
        except (sqlite3.OperationalError, OSError):
            # In use, full, read-only, no folder: a question goes on without.
            self._usable = False
        except (sqlite3.DatabaseError, ValueError):
            self._usable = again and _removed(self.path)
            return self._run(work, writes=writes, again=False)
        return None

    def _open(self) -> sqlite3.Connection:
        # Created by us, not by SQLite, so that it is never readable by others.
        os.close(open_file(self.path, "make"))
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            found = int(connection.execute("pragma user_version").fetchone()[0])
            if found > FORMAT:
                raise sqlite3.OperationalError(f"format {found} is newer than {FORMAT}")
            # Lost with the power is no loss.
            connection.execute("pragma synchronous = off")
            connection.execute("pragma secure_delete = on")
            if found < FORMAT:
                with _transaction(connection, writes=True):
                    # Another process may have made the table while this one waited.
                    if int(connection.execute("pragma user_version").fetchone()[0]) != FORMAT:
                        connection.execute("drop table if exists kept")
                        connection.execute(_SCHEMA)
                        connection.execute(f"pragma user_version = {FORMAT}")
        except BaseException:
            connection.close()
            raise
        return connection


_OTHERS: Final = "select 1 from kept where mode <> ? limit 1"


def _removed(path: Path) -> bool:
    try:
        remove(path)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, *, writes: bool) -> Iterator[None]:
    connection.execute("begin immediate" if writes else "begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _read(connection: sqlite3.Connection, key: str) -> Any:
    row = connection.execute("select digest, value from kept where key = ?", (key,)).fetchone()
    if row is None:
        return None
    digest, text = row
    if _digest(key, text) != digest:
        raise ValueError("the value is not what was kept")
    return json.loads(text)


def _digest(key: str, text: str) -> str:
    return hashlib.blake2b(f"{key}\0{text}".encode(), digest_size=16).hexdigest()
