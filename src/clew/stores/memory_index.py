"""The index of memory: derived, incremental, disposable. One SQLite file; the Markdown files are the truth.

Freshness: `refresh` compares stamps (size, mtime, inode) with those stored and loads what differs; a document whose
content turns out to be the same keeps its rows, and one that changed keeps the rows of the passages that did not. What
is younger than `TICK` when it is read is read again at the next refresh.

Everything passes the redactor before it is stored. Writes go through `begin immediate`, so several processes may
refresh at once: the second one finds the work done. A damaged file is moved out of the way and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clew.core.memory.document import Document
from clew.core.memory.passages import Piece, split
from clew.core.text.terms import terms
from clew.errors import ClewError, StoreBusy, StoreError, StoreTooNew
from clew.stores.memory_reading import BLOCK, MemoryReading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
"""Raise it when rows of the same document change; an older index is made anew, a newer one is left alone."""
TICK = 2.0
"""Seconds: the coarsest clock of a file system in use (FAT: 2 s)."""
BATCH = 200
"""Documents a transaction."""
BUSY_SECONDS = 90.0
_OWNER = 8
"""Bytes of the number of a document beside its vectors."""
_ENCODED_AT_ONCE = 256
_ENCODED_CHARACTERS = 1_200

_SCHEMA = """
create table if not exists meta (key text primary key, value) without rowid;
create table if not exists documents (
  id integer primary key, path text unique not null, size integer, mtime_ns integer, inode integer, ctime_ns integer,
  digest text, young integer not null, tier text, workspace text, reference text, name text, description text,
  recall text, type text, scope text, branch text, status text, tags text, created text, updated text, expires text,
  supersedes text, superseded_by text);
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


class Stat(Protocol):
    """What a walk over the documents says of one file."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def inode(self) -> int: ...
    @property
    def ctime_ns(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document to be indexed."""

    document: Document
    pieces: tuple[Piece, ...] | None = None
    """Turns of a conversation; without them the body is split."""


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
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return cls(path, variant)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                _remove(path)
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
        """Release the file. Safe to call twice."""
        self._db.close()

    def restart(self) -> None:
        """Drop everything and begin with an empty index. Raises StoreError."""
        self._db.close()
        # Another process may have made it anew already: its file is not the damaged one.
        if _inode(self.path) == self._inode:
            _remove(self.path)
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
        load: Callable[[str], Loaded | None],
        redact: Callable[[str], str],
        *,
        now: Callable[[], float] = time.time,
        progress: Callable[[int, int], None] | None = None,
    ) -> Refreshed:
        """Make the index mirror the documents of `stats`, and no others.

        `load` reads one by its path; what it gives None for, or cannot read, is not in the index then.
        A damaged index is made again. Raises StoreBusy, StoreError.
        """
        began = time.perf_counter()
        wanted = {stat.path: stat for stat in stats}
        take = _Taking(self._db, load, redact, now)
        try:
            try:
                counts = self._brought(wanted, take, progress)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self.restart()
                take = _Taking(self._db, load, redact, now)
                counts = self._brought(wanted, take, progress)
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        return Refreshed(len(wanted), *counts, take.characters, time.perf_counter() - began)

    def _brought(
        self, wanted: Mapping[str, Stat], take: _Taking, progress: Callable[[int, int], None] | None
    ) -> tuple[int, int, int]:
        stale, gone = self._difference(wanted)
        if not stale and not gone:
            return 0, 0, 0
        changed = 0
        with self._writing():
            stale, gone = self._difference(wanted)
            for path in gone:
                take.forget(path)
            take.finish()
        for at in range(0, len(stale), BATCH):
            with self._writing():
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
        stale = [path for path, stat in wanted.items() if known.get(path) != (path, *_stamp(stat), 0)]
        return stale, [path for path in known if path not in wanted]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.rollback()
            raise
        self._db.commit()

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
                with self._writing():
                    self._put_vectors([row[:3] for row in rows], vectors)
                if ends is not None and clock() >= ends:
                    break
            return int(self._db.execute("select count(*) from passages where not embedded").fetchone()[0])
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def _put_vectors(self, rows: Sequence[tuple[int, int, bytes]], vectors: NDArray[np.float32]) -> None:
        import numpy as np  # noqa: PLC0415 -- not paid for by those who only refresh

        blocks = _Blocks(self._db)
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


class _Blocks:
    """Blocks of vectors that are being changed, inside of a transaction of their caller."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._open: dict[int, tuple[bytearray, bytearray]] = {}

    def put(self, passage: int, vector: NDArray[np.int8], document: int) -> None:
        """Set the vector of a passage, which belongs to `document`."""
        place, rows, owners = self._block(passage, vector.shape[0])
        width = vector.shape[0]
        rows[place * width : (place + 1) * width] = vector.tobytes()
        owners[place * _OWNER : (place + 1) * _OWNER] = document.to_bytes(_OWNER, sys.byteorder)

    def clear(self, passage: int) -> None:
        """Remove the vector of a passage."""
        place, rows, owners = self._block(passage, 0)
        width = len(rows) // BLOCK
        rows[place * width : (place + 1) * width] = bytes(width)
        owners[place * _OWNER : (place + 1) * _OWNER] = bytes(_OWNER)

    def save(self) -> None:
        """Write what was changed."""
        for block, (rows, owners) in self._open.items():
            self._db.execute(
                "insert into vectors (block, version, rows, owners) values (?, 1, ?, ?) on conflict (block) do update "
                "set version = version + 1, rows = excluded.rows, owners = excluded.owners",
                (block, rows, owners),
            )
        self._open.clear()

    def _block(self, passage: int, width: int) -> tuple[int, bytearray, bytearray]:
        block, place = divmod(passage, BLOCK)
        if block not in self._open:
            row = self._db.execute("select rows, owners from vectors where block = ?", (block,)).fetchone()
            rows, owners = row or (bytes(width * BLOCK), bytes(_OWNER * BLOCK))
            self._open[block] = bytearray(rows), bytearray(owners)
        return place, *self._open[block]


class _Taking:
    """Writes documents into an open database, inside of a transaction of its caller."""

    def __init__(
        self,
        db: sqlite3.Connection,
        load: Callable[[str], Loaded | None],
        redact: Callable[[str], str],
        now: Callable[[], float],
    ) -> None:
        self._db = db
        self._load = load
        self._redact = redact
        self._now = now
        self.characters = 0
        self._passages = self._length = 0
        self._freed: list[int] = []

    def document(self, stat: Stat) -> bool:
        """Bring the rows of one document up to its file; whether anything but its stamp changed."""
        row = self._db.execute(
            "select id, digest, size, mtime_ns, inode, ctime_ns, young from documents where path = ?", (stat.path,)
        ).fetchone()
        if row is not None and row[2:] == (*_stamp(stat), 0):
            return False  # Another process was faster.
        young = self._now() - max(stat.mtime_ns, stat.ctime_ns) / 1e9 < TICK
        try:
            loaded = self._load(stat.path)
        except ClewError:
            loaded = None
        if loaded is None or not loaded.document.readable:
            return self.forget(stat.path)
        stamp = (*_stamp(stat), int(young))
        if row is not None and row[1] == loaded.document.digest:
            self._db.execute(
                "update documents set size = ?, mtime_ns = ?, inode = ?, ctime_ns = ?, young = ? where id = ?",
                (*stamp, row[0]),
            )
            return False
        self._write(stat.path, row[0] if row else None, stamp, loaded)
        return True

    def _write(self, path: str, known: int | None, stamp: tuple[int, ...], loaded: Loaded) -> None:
        document, redact = loaded.document, self._redact
        tags = [redact(tag) for tag in document.tags]
        recall = redact("\n".join(document.when))
        name, description = redact(document.name), redact(document.description)
        row = (
            path, *stamp, document.digest, document.tier, document.workspace, document.id, name, description, recall,
            document.type, document.scope, document.branch, document.status, f"|{'|'.join(tags)}|" if tags else "",
            _day(document.created), _day(document.updated), _day(document.expires), ", ".join(document.supersedes),
            document.superseded_by,
        )  # fmt: skip
        columns = (
            "path, size, mtime_ns, inode, ctime_ns, young, digest, tier, workspace, reference, name, description, "
            "recall, type, scope, branch, status, tags, created, updated, expires, supersedes, superseded_by"
        )
        if known is not None:
            self._db.execute("delete from document_terms where rowid = ?", (known,))
        # The number stays: passages that did not change, and their vectors, belong to it.
        cursor = self._db.execute(
            f"insert or replace into documents (id, {columns}) values (?{', ?' * len(row)})", (known, *row)
        )
        number = int(cursor.lastrowid or 0)
        self._db.execute(
            "insert into document_terms (rowid, name, description, recall, tags) values (?, ?, ?, ?, ?)",
            (number, *(" ".join(terms(part)) for part in (name, description, recall, " ".join(tags)))),
        )
        self._write_passages(number, name, self._pieces(path, loaded))

    def _pieces(self, path: str, loaded: Loaded) -> list[Piece]:
        redact = self._redact
        if loaded.pieces is not None:
            self.characters += sum(len(piece.text) for piece in loaded.pieces)
            return [
                Piece(redact(one.text), one.first, one.last, redact(one.heading), one.speaker, one.at, one.reference)
                for one in loaded.pieces
            ]
        self.characters += len(loaded.document.body)
        stem = path.rsplit("/", 1)[-1].removesuffix(".md")
        dated = loaded.document.tier in ("log", "reflection") and len(stem) == 10
        # The whole body at once: a private key spans lines, and passages.
        return list(split(redact(loaded.document.body), first=loaded.document.body_line, day=stem if dated else ""))

    def _write_passages(self, document: int, name: str, pieces: Sequence[Piece]) -> None:
        kept: dict[bytes, list[tuple[int, int]]] = {}
        for passage, digest, length in self._db.execute(
            "select id, digest, length from passages where document = ? order by place desc", (document,)
        ):
            kept.setdefault(digest, []).append((passage, length))
        new: list[tuple[int, bytes, Piece]] = []
        for place, piece in enumerate(pieces):
            digest = _digest(name, piece)
            if same := kept.get(digest):
                self._db.execute(
                    "update passages set place = ?, first = ?, last = ?, at = ?, reference = ? where id = ?",
                    (place, piece.first, piece.last, piece.at, piece.reference, same.pop()[0]),
                )
            else:
                new.append((place, digest, piece))
        for rows in kept.values():
            for passage, length in rows:
                self._drop_passage(passage, length)
        if new:
            self._insert(document, new)

    def _insert(self, document: int, new: Sequence[tuple[int, bytes, Piece]]) -> None:
        """Add passages (place, digest, piece), under numbers that were given before where some are free."""
        numbers = [row[0] for row in self._db.execute("select id from free order by id limit ?", (len(new),))]
        self._db.executemany("delete from free where id = ?", [(number,) for number in numbers])
        last = "select max(coalesce((select max(id) from passages), 0), coalesce((select max(id) from free), 0))"
        begin = self._db.execute(last).fetchone()[0] + 1
        numbers += range(begin, begin + len(new) - len(numbers))
        rows: list[tuple[object, ...]] = []
        words: list[tuple[int, str, str]] = []
        for number, (place, digest, piece) in zip(numbers, new, strict=True):
            body = terms(piece.text)
            self._passages, self._length = self._passages + 1, self._length + len(body)
            words.append((number, " ".join(body), " ".join(terms(piece.heading))))
            rows.append(
                (number, document, place, piece.first, piece.last, piece.heading, piece.speaker, piece.at,
                 piece.reference, len(body), digest, piece.text)
            )  # fmt: skip
        self._db.executemany(
            "insert into passages (id, document, place, first, last, heading, speaker, at, reference, length, digest, "
            "text) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        self._db.executemany("insert into passage_terms (rowid, body, head) values (?, ?, ?)", words)

    def _drop_passage(self, passage: int, length: int) -> None:
        self._passages, self._length = self._passages - 1, self._length - length
        self._freed.append(passage)
        self._db.execute("delete from passage_terms where rowid = ?", (passage,))
        self._db.execute("delete from passages where id = ?", (passage,))
        self._db.execute("insert or ignore into free (id) values (?)", (passage,))

    def forget(self, path: str) -> bool:
        """Remove a document; whether there was one."""
        row = self._db.execute("select id from documents where path = ?", (path,)).fetchone()
        if row is None:
            return False
        for passage, length in self._db.execute("select id, length from passages where document = ?", row).fetchall():
            self._drop_passage(passage, length)
        self._db.execute("delete from document_terms where rowid = ?", row)
        self._db.execute("delete from documents where id = ?", row)
        return True

    def finish(self) -> None:
        """Before a commit: add up the numbers of passages and terms, clear vectors of passages that are gone."""
        for key, change in (("passages", self._passages), ("length", self._length)):
            self._db.execute(
                "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = value + ?",
                (key, change, change),
            )
        self._passages = self._length = 0
        blocks = _Blocks(self._db)
        known = {row[0] for row in self._db.execute("select block from vectors")} if self._freed else set[int]()
        for passage in self._freed:
            if passage // BLOCK in known:
                blocks.clear(passage)
        blocks.save()
        self._freed.clear()


def _stamp(stat: Stat) -> tuple[int, ...]:
    return stat.size, stat.mtime_ns, stat.inode, stat.ctime_ns


def _day(value: date | None) -> str:
    return value.isoformat() if value else ""


def _encoded(name: str, heading: str, text: str) -> str:
    return "\n".join(filter(None, (name, heading.rpartition(" > ")[2], text[:_ENCODED_CHARACTERS])))


def _digest(name: str, piece: Piece) -> bytes:
    # All that its terms and its vector are made of.
    whole = "\0".join((name, piece.heading, piece.speaker, piece.text))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is at fault: no database, broken pages, or text that is none, which SQLite calls operational."""
    return isinstance(error, sqlite3.DatabaseError) and (
        not isinstance(error, sqlite3.OperationalError) or "decode to UTF-8" in str(error)
    )


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """What to tell about an error of SQLite."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return StoreBusy(f"the index {path} is in use", hint="try again in a moment")
    if "full" in text:
        return StoreError(
            "the disk is full: the index could not be written", hint="free some space, or set CLEW_HOME elsewhere"
        )
    return StoreError(f"the index {path} cannot be used: {text}", hint="run `clew index rebuild`")


def _connect(path: Path, variant: str) -> sqlite3.Connection:
    if not path.exists():
        # Made by us and not by SQLite: what people noted is nobody else's business.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma cache_size = -65536")
        written = _written(connection)
        if written is not None and written[0] > FORMAT:
            raise StoreTooNew(
                f"the index {path} was written by a newer Clew (format {written[0]}, this one knows {FORMAT})",
                hint="update Clew, or run `clew index rebuild` to make the index again for this version",
            )
        if written is not None and written != (FORMAT, variant):
            connection.close()
            _remove(path)
            return _connect(path, variant)
        connection.executescript(_SCHEMA)
        connection.executemany(
            "insert or ignore into meta (key, value) values (?, ?)",
            [("format", FORMAT), ("variant", variant), ("passages", 0), ("length", 0)],
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _written(connection: sqlite3.Connection) -> tuple[int, str] | None:
    """Format and variant of what is there; None of an empty file."""
    if connection.execute("select 1 from sqlite_master where name = 'meta'").fetchone() is None:
        return None
    found = dict(connection.execute("select key, value from meta where key in ('format', 'variant')").fetchall())
    if "format" not in found:
        return None
    return int(found["format"]), str(found.get("variant", ""))


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _remove(path: Path) -> None:
    for side in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + side).unlink()
