"""Writes documents of memory and their vectors into the tables of the index, inside of a caller's transaction."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from clew.core.memory.document import Document
from clew.core.memory.passages import Piece, split
from clew.core.text.terms import terms
from clew.errors import ClewError
from clew.stores.memory_reading import BLOCK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TICK = 2.0
"""Seconds: the coarsest clock of a file system in use (FAT: 2 s)."""
_OWNER = 8
"""Bytes of the number of a document beside its vectors."""


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
    """A document to be indexed, without secrets: what is loaded is stored as it is."""

    document: Document
    """Where its file still says what the index knows, only its digest counts."""
    pieces: tuple[Piece, ...] | None = None
    """Turns of a conversation; without them the body is split."""


Load = Callable[[str, str], Loaded | None]
"""Gives what is at a path, of which the index knows the text with this digest (or none: empty)."""


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; other writers wait."""
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.rollback()
        raise
    db.commit()


class Blocks:
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


class Taking:
    """Writes documents into an open database, inside of a transaction of its caller."""

    def __init__(
        self,
        db: sqlite3.Connection,
        load: Load,
        now: Callable[[], float],
    ) -> None:
        self._db = db
        self._load = load
        self._now = now
        self.characters = 0
        self._passages = self._length = 0
        self._freed: list[int] = []

    def document(self, stat: Stat) -> bool:
        """Bring the rows of one document up to its file; whether anything but its stamp changed."""
        row = self._db.execute(
            "select id, digest, size, mtime_ns, inode, ctime_ns, young from documents where path = ?", (stat.path,)
        ).fetchone()
        if row is not None and row[2:] == (*stamp_of(stat), 0):
            return False  # Another process was faster.
        young = self._now() - max(stat.mtime_ns, stat.ctime_ns) / 1e9 < TICK
        try:
            loaded = self._load(stat.path, row[1] if row else "")
        except ClewError:
            loaded = None
        if loaded is None or not loaded.document.readable:
            return self.forget(stat.path)
        stamp = (*stamp_of(stat), int(young))
        if row is not None and row[1] == loaded.document.digest:
            self._db.execute(
                "update documents set size = ?, mtime_ns = ?, inode = ?, ctime_ns = ?, young = ? where id = ?",
                (*stamp, row[0]),
            )
            return False
        self._write(stat.path, row[0] if row else None, stamp, loaded)
        return True

    def _write(self, path: str, known: int | None, stamp: tuple[int, ...], loaded: Loaded) -> None:
        document = loaded.document
        tags, recall, name, description = document.tags, "\n".join(document.when), document.name, document.description
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
        pieces = self._pieces(path, loaded)
        self._write_passages(number, name, pieces)
        self._db.execute("update documents set held = ? where id = ?", (len(pieces), number))

    def _pieces(self, path: str, loaded: Loaded) -> list[Piece]:
        if loaded.pieces is not None:
            self.characters += sum(len(piece.text) for piece in loaded.pieces)
            return list(loaded.pieces)
        document = loaded.document
        self.characters += len(document.body)
        stem = path.rsplit("/", 1)[-1].removesuffix(".md")
        dated = document.tier in ("log", "reflection") and len(stem) == 10
        pieces = list(split(document.body, first=document.body_line, day=stem if dated else ""))
        lines = (line for piece in pieces for line in piece.text.split("\n"))
        bare = all(line.startswith("#") or not line.strip() for line in lines)
        if bare and (said := document.description or document.name):
            # It says all in its front matter.
            pieces.append(Piece(said, 1, max(document.body_line - 1, 1)))
        return pieces

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
        blocks = Blocks(self._db)
        known = {row[0] for row in self._db.execute("select block from vectors")} if self._freed else set[int]()
        for passage in self._freed:
            if passage // BLOCK in known:
                blocks.clear(passage)
        blocks.save()
        self._freed.clear()


def stamp_of(stat: Stat) -> tuple[int, ...]:
    return stat.size, stat.mtime_ns, stat.inode, stat.ctime_ns


def _day(value: date | None) -> str:
    return value.isoformat() if value else ""


def _digest(name: str, piece: Piece) -> bytes:
    # All that its terms and its vector are made of.
    whole = "\0".join((name, piece.heading, piece.speaker, piece.text))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=12).digest()
