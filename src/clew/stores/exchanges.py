"""Earlier questions and answers, per workspace and thread, in one SQLite file.

A thread is what one terminal speaks in: two terminals that pass different thread ids never see each other's
exchanges. The file is in WAL mode, so that reading goes on while another process writes. A file that is no database
any more is moved aside, never deleted, and `notices` says where it went.

Each row carries a digest of what it holds. A row whose text is not what was written is still listed, so that its owner
can look at it and delete it, but enters no prompt, and `notices` names it. A file of an older format is brought to
this one after a copy of it was put beside it; the copy goes when something is deleted for good.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from clew.core.context.fragment import Exchange
from clew.errors import StoreBusy, StoreError, StoreTooNew
from clew.stores.sqlite_file import BUSY, switch_to_wal
from clew.system import open_file

FORMAT: Final = 2
"""Number of the file's format, kept in `user_version`. 1: rows without digests."""
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
    removed integer not null default 0,
    digest text not null default ''
) strict;
create index exchange_by_thread on exchange (workspace, thread, id);
create index exchange_by_anchor on exchange (workspace, thread, id) where anchor = 1;
"""
_COLUMNS: Final = "id, question, answer, mode, at, refs, anchor, removed, workspace, thread, digest"
_HEADER: Final = 64
"""Bytes of a SQLite file up to and with `user_version`, four bytes at 60, big endian."""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_Row = tuple[int, str, str, str, str, str, int, int, str, str, str]
_Result = TypeVar("_Result")


class ExchangeStore:
    """The history of exchanges. Raises StoreBusy, StoreTooNew or StoreError, when opened and from every method."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.notices: list[str] = []
        """What the user should know: damaged files that were moved aside, damaged rows."""
        self._told_damaged: set[int] = set()
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
            row = (*values, json.dumps(kept.refs, ensure_ascii=False), int(anchor))
            done = connection.execute(
                "insert into exchange (workspace, thread, question, answer, mode, at, refs, anchor, digest) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, _digest(*row)),
            )
            return replace(kept, id=done.lastrowid or 0)

        return self._run(insert, writes=True)

    def last(self, workspace: str, thread: str, count: int) -> tuple[Exchange, ...]:
        """The last `count` exchanges of a thread, oldest first, without those that are damaged."""
        order = "workspace = ? and thread = ? order by id desc limit ?"
        rows = self._select(order, (workspace, thread, max(count, 0)), whole=True)
        return tuple(reversed(rows))

    def anchored(self, workspace: str, thread: str) -> tuple[Exchange, ...]:
        """The anchor history of a thread, oldest first, without what is damaged."""
        return self._select("workspace = ? and thread = ? and anchor = 1 order by id", (workspace, thread), whole=True)

    def list(self, workspace: str, thread: str | None = None) -> tuple[Exchange, ...]:
        """All exchanges of a workspace, or of one of its threads, oldest first; damaged ones as they are now."""
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

    def everything(self) -> list[tuple[str, str, Exchange]]:
        """Workspace, thread and exchange of all rows, oldest first, as they are now."""
        query = f"select {_COLUMNS} from exchange order by id"
        rows: list[_Row] = self._run(lambda connection: connection.execute(query).fetchall())
        return [(row[8], row[9], _exchange(row)) for row in rows]

    def purge(self, doomed: Iterable[int], change: Callable[[str], str]) -> int:
        """Delete rows by id, let `change` rewrite all texts of the others, and leave nothing of either on the disk.

        The number of rows that are gone or changed. A damaged row stays one. Raises StoreBusy where another process
        keeps the log open.
        """
        numbers = [(number,) for number in doomed]

        def rewrite(connection: sqlite3.Connection) -> int:
            done = connection.executemany("delete from exchange where id = ?", numbers).rowcount if numbers else 0
            rows: list[_Row] = connection.execute(f"select {_COLUMNS} from exchange").fetchall()
            for row in rows:
                texts = tuple(change(str(part)) for part in (*row[1:6], *row[8:10]))
                if texts == (*row[1:6], *row[8:10]):
                    continue
                question, answer, mode, at, refs, workspace, thread = texts
                whole = _digest(workspace, thread, question, answer, mode, at, refs, row[6])
                digest = whole if _is_whole(row) else row[10]
                connection.execute(
                    "update exchange set question = ?, answer = ?, mode = ?, at = ?, refs = ?, workspace = ?, "
                    "thread = ?, digest = ? where id = ?",
                    (*texts, digest, row[0]),
                )
                done += 1
            return done

        done = self._run(rewrite, writes=True)
        try:
            vacuum(self._connection)
        except sqlite3.DatabaseError as error:
            raise self._told(error) from error
        return done

    def _overwrite(self) -> None:
        """Leave no deleted text behind: in the copy of an older format, and in the write-ahead log.

        The log outlives this process where another has the file open.
        """
        for copy in self.path.parent.glob(f"{self.path.name}.format-*"):
            _shred(copy)
        found: tuple[int, int, int] = self._run(
            lambda connection: connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        )
        if found[0]:
            self.notices.append("another process reads the history; deleted text leaves the disk when it is done")

    def _select(self, where: str, values: Sequence[str | int], *, whole: bool = False) -> tuple[Exchange, ...]:
        query = f"select {_COLUMNS} from exchange where {where}"
        rows: list[_Row] = self._run(lambda connection: connection.execute(query, values).fetchall())
        damaged = {row[0] for row in rows if not _is_whole(row)}
        for number in sorted(damaged - self._told_damaged):
            self.notices.append(
                f"exchange:{number} is not what was kept: its text is damaged, and it enters no prompt; "
                f"`clew history remove {number}` deletes it"
            )
        self._told_damaged |= damaged
        return tuple(_exchange(row) for row in rows if not (whole and row[0] in damaged))

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
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}", hint="check its rights") from error
        self._set_aside()
        return self._open(again=False)

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Created by us, not by SQLite, so that it is never readable by others.
        descriptor = open_file(self.path, "make", follow=True)
        try:
            self._opened = _identity(os.fstat(descriptor))
            head = os.read(descriptor, _HEADER)
        finally:
            os.close(descriptor)
        # SQLite would write beside a file of a newer version, and into it when it closes one that was left open.
        if head.startswith(b"SQLite format 3\0"):
            self._refuse_newer(int.from_bytes(head[60:64], "big"))
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
        self._refuse_newer(found)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma secure_delete = on")
        if found == FORMAT:
            return
        switch_to_wal(connection, self._busy_seconds)
        connection.execute("begin immediate")
        # Another process may have made or changed the tables while this one waited.
        found = _format_of(connection)
        self._refuse_newer(found)
        if found == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                connection.execute(statement)
        elif found < FORMAT:
            self._copy(found)
            _add_digests(connection)
        connection.execute(f"pragma user_version = {FORMAT}")
        connection.execute("commit")

    def _refuse_newer(self, found: int) -> None:
        if found > FORMAT:
            raise StoreTooNew(
                f"{self.path} has format {found}; this version knows formats up to {FORMAT}",
                hint="upgrade clew, or set CLEW_HOME to another folder",
            )

    def _copy(self, found: int) -> None:
        """Put a copy of the file, as it was in format `found`, beside it; whole or not at all."""
        target = self.path.with_name(f"{self.path.name}.format-{found}")
        half = target.with_name(f"{target.name}.new")
        os.close(open_file(half, "empty", follow=True))
        # A connection of its own reads what was committed, while this one holds the lock that keeps writers out.
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(half)) as copy:
            source.backup(copy)
            copy.execute("pragma journal_mode = delete")
        half.replace(target)

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
        if code in BUSY:
            return StoreBusy(
                f"{self.path} was in use by another process for {self._busy_seconds:g} seconds", hint="try again"
            )
        return StoreError(f"{self.path}: {error}", hint="check that the folder is writable and the disk is not full")


def vacuum(connection: sqlite3.Connection) -> None:
    """Write a file anew without its free pages, and empty its log. Raises sqlite3.Error, as busy where it is read."""
    connection.execute("pragma temp_store = memory")
    connection.execute("pragma secure_delete = on")
    connection.execute("vacuum")
    if connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
        raise sqlite3.OperationalError("another process has it open")


def _format_of(connection: sqlite3.Connection) -> int:
    with closing(connection.execute("pragma user_version")) as cursor:
        return int(cursor.fetchone()[0])


def _add_digests(connection: sqlite3.Connection) -> None:
    """From format 1 to 2. What a row holds now counts as what was kept."""
    connection.execute("alter table exchange add column digest text not null default ''")
    rows: list[_Row] = connection.execute(f"select {_COLUMNS} from exchange").fetchall()
    connection.executemany("update exchange set digest = ? where id = ?", ((_digest_of(row), row[0]) for row in rows))


def _digest(workspace: str, thread: str, question: str, answer: str, mode: str, at: str, refs: str, anchor: int) -> str:
    """16 hexadecimal digits over all that a row holds but its number. Against damage, not against malice."""
    parts = json.dumps([workspace, thread, question, answer, mode, at, refs, anchor], ensure_ascii=False)
    return hashlib.blake2b(parts.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _digest_of(row: _Row) -> str:
    _, question, answer, mode, at, refs, anchor, _, workspace, thread, _ = row
    return _digest(workspace, thread, question, answer, mode, at, refs, anchor)


def _is_whole(row: _Row) -> bool:
    return row[-1] == _digest_of(row)


def _shred(path: Path) -> None:
    """Overwrite a file once and remove it. Raises StoreError."""
    try:
        with path.open("r+b") as file:
            left = path.stat().st_size
            while left > 0:
                left -= file.write(bytes(min(left, 1 << 20)))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except OSError as error:
        raise StoreError(
            f"{path} still holds what was deleted, and cannot be removed: {error.strerror}", hint=f"remove {path}"
        ) from error


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _exchange(row: _Row) -> Exchange:
    number, question, answer, mode, at, refs, anchor, removed, *_ = row
    return Exchange(number, question, answer, mode, at, _refs(refs), bool(anchor), bool(removed))


def _refs(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ref) for ref in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return ()  # As above: the exchange is worth more than what it stood on.
