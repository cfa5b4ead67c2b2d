"""Which hints were shown in which run of which session, and which were rejected. One SQLite file for all processes.

Showing is claimed before it is done, in one short transaction: of two processes that serve the same session only one
gets a hint. Where the file cannot be written, nothing is granted: silence rather than the same hint again and again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clew.core.memory.window import WINDOW, Shown, suppressed
from clew.errors import StoreError
from clew.stores.exchanges import vacuum
from clew.stores.sqlite_file import switch_to_wal
from clew.system import open_file

FORMAT: Final = 1
"""Number of the file's format, kept in `user_version`."""
BUSY_SECONDS: Final = 0.4
"""How long to wait for another process."""
MOST_SHOWN: Final = 50_000
"""Hints kept on record, of all sessions; the oldest go first."""
MOST_REJECTS: Final = 2_000
"""Rejections kept; the oldest go first."""

_SCHEMA: Final = """
create table if not exists shown (session text not null, note text not null, run integer not null, role text not null,
  unique (session, note, run)) strict;
create table if not exists rejected (at integer primary key autoincrement, note text not null, digest text not null,
  said text not null, e5 blob, static blob, unique (note, digest)) strict;
create index if not exists rejected_note on rejected (note);
"""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hint that the user did not want for a message: `said` is the message, secrets removed and cut.

    `vectors` holds the message's int8 vector by engine.
    """

    note: str
    digest: str
    said: str
    vectors: dict[str, bytes]


def said_digest(text: str) -> str:
    """A name for a message, the same for other blanks and another case."""
    return hashlib.blake2b(
        " ".join(text.casefold().split()).encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()


class Seen:
    """The record of hints. Methods raise StoreError where the file cannot be used."""

    def __init__(self, path: Path) -> None:
        """The file and its folder are made when something is written."""
        self.path = path

    def claim(self, session: str, run: int, ids: Sequence[str], role: str = "user") -> tuple[str, ...]:
        """Those of `ids` that may be shown in this run, now recorded as shown; the order stays."""
        if not ids:
            return ()
        with self._transaction() as connection:
            rows = connection.execute(
                "select note, run from shown where session = ? and run between ? and ?",
                (session, run - WINDOW, run + WINDOW),
            )
            blocked = suppressed((Shown(str(note), int(at)) for note, at in rows), run, role)
            granted = tuple(id_ for id_ in dict.fromkeys(ids) if id_ not in blocked)
            connection.executemany(
                "insert or ignore into shown values (?, ?, ?, ?)", [(session, id_, run, role) for id_ in granted]
            )
            # By age, not by run: another process of this session may be far behind.
            connection.execute("delete from shown where rowid <= (select max(rowid) from shown) - ?", (MOST_SHOWN,))
        return granted

    def shown(self, session: str) -> tuple[Shown, ...]:
        """What was shown in a session, oldest run first."""
        if not self.path.exists():
            return ()
        with self._transaction(writes=False) as connection:
            rows = connection.execute("select note, run from shown where session = ? order by run, note", (session,))
            return tuple(Shown(str(note), int(run)) for note, run in rows)

    def reject(self, rejected: Rejected) -> None:
        """Record a rejection; the same note and message once."""
        with self._transaction() as connection:
            connection.execute(
                "insert or replace into rejected (note, digest, said, e5, static) values (?, ?, ?, ?, ?)",
                (
                    rejected.note,
                    rejected.digest,
                    rejected.said,
                    rejected.vectors.get("e5"),
                    rejected.vectors.get("static"),
                ),
            )
            connection.execute(
                "delete from rejected where at <= (select at from rejected order by at desc limit 1 offset ?)",
                (MOST_REJECTS,),
            )

    def accept(self, note: str, digest: str = "") -> int:
        """Take rejections of a note back, all or that of one message; how many there were."""
        if not self.path.exists():
            return 0
        with self._transaction() as connection:
            done = connection.execute(
                "delete from rejected where note = ? and (? = '' or digest = ?)", (note, digest, digest)
            )
            return done.rowcount

    def rejected(self, notes: Sequence[str] = ()) -> tuple[Rejected, ...]:
        """Rejections of some notes, or all of them, oldest first."""
        if not self.path.exists():
            return ()
        marks = ",".join("?" * len(notes))
        chosen = f"where note in ({marks})" if notes else ""
        with self._transaction(writes=False) as connection:
            rows = connection.execute(
                f"select note, digest, said, e5, static from rejected {chosen} order by at", tuple(notes)
            ).fetchall()
        return tuple(
            Rejected(str(note), str(digest), str(said), {
                name: bytes(blob) for name, blob in (("e5", e5), ("static", static)) if blob is not None
            })
            for note, digest, said, e5, static in rows
        )  # fmt: skip

    def about(self, notes: Sequence[str]) -> int:
        """How many rows are about some notes."""
        if not self.path.exists() or not notes:
            return 0
        marks = ",".join("?" * len(notes))
        with self._transaction(writes=False) as connection:
            return sum(
                int(connection.execute(f"select count(*) from {table} where note in ({marks})", notes).fetchone()[0])
                for table in ("shown", "rejected")
            )

    def purge(
        self,
        *,
        notes: Sequence[str] = (),
        sessions: Sequence[str] = (),
        goes: Callable[[str], bool] = lambda _: False,
        change: Callable[[str], str] = str,
    ) -> int:
        """Forget notes, sessions, and rejections for a message that `goes`, and let `change` rewrite all texts; how
        many rows are gone or changed.

        A message that changes loses its vectors. Deleted text leaves the file: free pages and log are emptied.
        """
        if not self.path.exists():
            return 0
        with self._transaction() as connection:
            done = 0
            for note in notes:
                for table in ("shown", "rejected"):
                    done += connection.execute(f"delete from {table} where note = ?", (note,)).rowcount
            for session in sessions:
                done += connection.execute("delete from shown where session = ?", (session,)).rowcount
            for number, *texts in connection.execute("select rowid, session, note, role from shown").fetchall():
                new = [change(str(text)) for text in texts]
                if new != texts:
                    sql = "update or replace shown set session = ?, note = ?, role = ? where rowid = ?"
                    done += connection.execute(sql, (*new, number)).rowcount
            for number, note, digest, said in connection.execute(
                "select at, note, digest, said from rejected"
            ).fetchall():
                if goes(str(said)):
                    done += connection.execute("delete from rejected where at = ?", (number,)).rowcount
                    continue
                told, named = change(str(said)), change(str(note))
                if (told, named) != (said, note):
                    done += connection.execute(
                        "update or replace rejected set note = ?, digest = ?, said = ?, e5 = null, static = null "
                        "where at = ?",
                        (named, said_digest(told) if told != said else digest, told, number),
                    ).rowcount
        with contextlib.closing(self._open()) as connection:
            vacuum(connection)
        return done

    @contextlib.contextmanager
    def _transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction, all or nothing; a failure of the file becomes a StoreError."""
        try:
            with contextlib.closing(self._open()) as connection, connection:
                connection.execute("begin immediate" if writes else "begin")
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"cannot use {self.path}: {error}", hint="no hint is shown until this file can be written"
            ) from error

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would make it readable by others.
        os.close(open_file(self.path, "make"))
        with contextlib.ExitStack() as undo:
            connection = undo.enter_context(
                contextlib.closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None))
            )
            held = int(connection.execute("pragma user_version").fetchone()[0])
            if held > FORMAT:
                raise sqlite3.OperationalError(f"format {held} is newer than {FORMAT}")
            if held < FORMAT:
                switch_to_wal(connection, BUSY_SECONDS)
                with connection:
                    connection.execute("begin immediate")
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        connection.execute(statement)
                    connection.execute(f"pragma user_version = {FORMAT}")
            connection.execute("pragma synchronous = normal")
            undo.pop_all()
        return connection
