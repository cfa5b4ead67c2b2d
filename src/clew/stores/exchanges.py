"""Earlier questions and answers, per workspace and thread, in one SQLite file.

A thread is what one terminal speaks in: two terminals that pass different thread ids never see each other's
exchanges. The file is in WAL mode, so that reading goes on while another process writes. A file that is no database
any more is moved aside, never deleted, and `notices` says where it went.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from clew.core.context.fragment import Exchange
from clew.errors import StoreBusy, StoreError, StoreTooNew

FORMAT: Final = 1
"""Number of the file's format, kept in `user_version`."""
BUSY_SECONDS: Final = 5.0

_SCHEMA: Final = """
create table exchange (
    id integer primary key autoincrement,
    workspace text not null,
    thread text not null,
    question text not null,
    answer text not null,
    mode text not null,
    at text not null,
    refs text not null,
    anchor integer not null,
    removed integer not null default 0
) strict;
create index exchange_by_thread on exchange (workspace, thread, id);
create index exchange_by_anchor on exchange (workspace, thread, id) where anchor = 1;
"""
_COLUMNS: Final = "id, question, answer, mode, at, refs, anchor, removed"
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_Row = tuple[int, str, str, str, str, str, int, int]
_Result = TypeVar("_Result")


class ExchangeStore:
    """The history of exchanges. Raises StoreBusy, StoreTooNew or StoreError, when opened and from every method."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.notices: list[str] = []
        """What the user should know: damaged files that were moved aside."""
        self._busy_seconds = busy_seconds
        self._opened = (0, 0)
        self._connection = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._connection.close()

    def add(
        self,
        workspace: str,
        thread: str,
        *,
        question: str,
        answer: str,
        mode: str,
        at: str,
        refs: Sequence[str] = (),
        anchor: bool = False,
    ) -> Exchange:
        """Keep one exchange; its id is greater than every id before, removed ones included."""
        kept = Exchange(0, _storable(question), _storable(answer), mode, at, tuple(map(_storable, refs)), anchor)
        values = (_storable(workspace), _storable(thread), kept.question, kept.answer, mode, at)

        def insert(connection: sqlite3.Connection) -> Exchange:
            done = connection.execute(
                "insert into exchange (workspace, thread, question, answer, mode, at, refs, anchor) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, json.dumps(kept.refs, ensure_ascii=False), int(anchor)),
            )
            return replace(kept, id=done.lastrowid or 0)

        return self._run(insert, writes=True)

    def last(self, workspace: str, thread: str, count: int) -> tuple[Exchange, ...]:
        """The last `count` exchanges of a thread, oldest first."""
        rows = self._select("workspace = ? and thread = ? order by id desc limit ?", (workspace, thread, max(count, 0)))
        return tuple(reversed(rows))

    def anchored(self, workspace: str, thread: str) -> tuple[Exchange, ...]:
        """The anchor history of a thread, oldest first."""
        return self._select("workspace = ? and thread = ? and anchor = 1 order by id", (workspace, thread))

    def list(self, workspace: str, thread: str | None = None) -> tuple[Exchange, ...]:
        """All exchanges of a workspace, or of one of its threads, oldest first."""
        if thread is None:
            return self._select("workspace = ? order by id", (workspace,))
        return self._select("workspace = ? and thread = ? order by id", (workspace, thread))

    def threads(self, workspace: str) -> tuple[str, ...]:
        """Threads of a workspace, the one that spoke last first."""
        query = "select thread from exchange where workspace = ? group by thread order by max(id) desc"
        rows: list[tuple[str]] = self._run(lambda connection: connection.execute(query, (workspace,)).fetchall())
        return tuple(thread for (thread,) in rows)

    def remove(self, workspace: str, ids: Iterable[int]) -> int:
        """Delete exchanges, texts included; how many there were."""
        doomed = [(workspace, number) for number in ids]
        query = "delete from exchange where workspace = ? and id = ?"
        count = self._run(
            lambda connection: connection.executemany(query, doomed).rowcount if doomed else 0, writes=True
        )
        self._overwrite()
        return count

    def clear(self, workspace: str, thread: str | None = None) -> int:
        """Delete all exchanges of a workspace, or of one of its threads; how many there were."""
        query, values = "delete from exchange where workspace = ?", [workspace]
        if thread is not None:
            query, values = f"{query} and thread = ?", [workspace, thread]
        count = self._run(lambda connection: connection.execute(query, values).rowcount, writes=True)
        self._overwrite()
        return count

    def _overwrite(self) -> None:
        """Leave no deleted text in the write-ahead log, which outlives this process where another has the file open."""
        found: tuple[int, int, int] = self._run(
            lambda connection: connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        )
        if found[0]:
            self.notices.append("another process reads the history; deleted text leaves the disk when it is done")

    def _select(self, where: str, values: Sequence[str | int]) -> tuple[Exchange, ...]:
        query = f"select {_COLUMNS} from exchange where {where}"
        rows: list[_Row] = self._run(lambda connection: connection.execute(query, values).fetchall())
        return tuple(_exchange(row) for row in rows)

    def _run(
        self, work: Callable[[sqlite3.Connection], _Result], *, writes: bool = False, again: bool = True
    ) -> _Result:
        """Do `work`, all or nothing. A damaged file is moved aside and the work done once more, on a new file."""
        try:
            return self._attempt(work, writes=writes)
        except sqlite3.DatabaseError as error:
            if not (again and _is_damage(error)):
                raise self._told(error) from error
        self._connection.close()
        self._set_aside()
        self._connection = self._open()
        return self._run(work, writes=writes, again=False)

    def _attempt(self, work: Callable[[sqlite3.Connection], _Result], *, writes: bool) -> _Result:
        connection = self._connection
        if not writes:
            return work(connection)
        connection.execute("begin immediate")
        try:
            result = work(connection)
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        return result

    def _open(self, *, again: bool = True) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if not (again and _is_damage(error)):
                raise self._told(error) from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from error
        self._set_aside()
        return self._open(again=False)

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Created by us, not by SQLite, so that it is never readable by others.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self._opened = _identity(os.fstat(descriptor))
        os.close(descriptor)
        connection = sqlite3.connect(self.path, timeout=self._busy_seconds, isolation_level=None)
        # One row with damaged text must not take all others with it.
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        found = _format_of(connection)
        if found > FORMAT:
            raise StoreTooNew(
                f"{self.path} has format {found}; this version knows formats up to {FORMAT}",
                hint="upgrade clew, or set CLEW_HOME to another folder",
            )
        connection.execute("pragma synchronous = full")
        connection.execute("pragma secure_delete = on")
        if found == FORMAT:
            return
        self._switch_to_wal(connection)
        connection.execute("begin immediate")
        # Another process may have made the tables while this one waited.
        if _format_of(connection) == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {FORMAT}")
        connection.execute("commit")

    def _switch_to_wal(self, connection: sqlite3.Connection) -> None:
        """SQLite does not wait here when another process is switching too, so this does."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def _set_aside(self) -> None:
        """Move the damaged file, and what belongs to it, to the first free name beside it."""
        if self.path.exists() and _identity(self.path.stat()) != self._opened:
            return  # Another process has done so already, and this is its new file.
        number = 1
        while (target := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        try:
            for suffix in ("", "-wal", "-shm"):
                part = self.path.with_name(self.path.name + suffix)
                if part.exists():
                    part.rename(target.with_name(target.name + suffix))
        except OSError as error:
            raise StoreError(
                f"{self.path} is damaged and cannot be moved aside: {error.strerror}", hint=f"move {self.path} away"
            ) from error
        self.notices.append(f"the history of exchanges was damaged; it was kept as {target}, and a new one started")

    def _told(self, error: sqlite3.DatabaseError) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return StoreBusy(
                f"{self.path} was in use by another process for {self._busy_seconds:g} seconds", hint="try again"
            )
        return StoreError(f"{self.path}: {error}", hint="check that the folder is writable and the disk is not full")


def _format_of(connection: sqlite3.Connection) -> int:
    with closing(connection.execute("pragma user_version")) as cursor:
        return int(cursor.fetchone()[0])


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _exchange(row: _Row) -> Exchange:
    number, question, answer, mode, at, refs, anchor, removed = row
    return Exchange(number, question, answer, mode, at, _refs(refs), bool(anchor), bool(removed))


def _refs(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ref) for ref in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return ()  # As above: the exchange is worth more than what it stood on.
