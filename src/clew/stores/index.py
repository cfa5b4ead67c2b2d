"""The code index of one workspace: derived, incremental, disposable. One SQLite file in one folder.

Freshness: `refresh` compares the stamps of a tree with those stored and reads what differs. A file whose times are
younger than `TICK` when it is read may change again under the same stamp, so it is read again at the next refresh and
compared by digest, until it has come to rest.

All writes of one refresh go through `begin immediate`, so several processes may refresh at once: the second one finds
the work done. A database that is damaged is moved aside and made again; nothing in it is canonical.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path

from clew.core.index.chunk import Outline
from clew.core.index.kinds import Kind, kind
from clew.core.ports import Entry, Tree
from clew.core.text.content import decode, generated
from clew.core.text.redact import is_secret_path, names_with_tokens, redact
from clew.core.text.terms import path_terms, terms
from clew.errors import ClewError, StoreBusy, StoreError
from clew.stores.index_reading import IndexReading, kept_path, path_value
from clew.stores.sqlite_file import is_damage, remove, switch_to_wal
from clew.system import open_file

FORMAT = 4
"""Raise it when rows of the same text change."""
TICK = 2.0
"""Seconds: the coarsest clock of a file system in use (FAT: 2 s)."""
MOST_BYTES = 1_000_000
"""Larger files are known by path only."""
BATCH = 2000
"""Files a transaction. Each one ends a segment of the full-text tables, which are merged later: fewer are quicker."""
_TOLD = 400
"""Files from one report of progress to the next."""
_MOST_HELD = 16 << 20
"""Bytes of terms that a full-text table collects before it writes a segment."""
_FEW_PAGES, _MANY_PAGES = 1000, 16_384
"""Pages in the log before they go to their places, for which the disk is waited for: SQLite's own number, and while
very much is written, where the same pages change again and again."""
BUSY_SECONDS = 90.0

_SCHEMA = """
create table if not exists meta (key text primary key, value text) without rowid;
create table if not exists files (
  id integer primary key, path text unique not null, size integer, stamp text, digest blob, kind text,
  lines integer, mtime real, young integer not null default 0);
create table if not exists chunks (
  id integer primary key, file integer not null, first integer, last integer, symbol text, length integer);
create index if not exists chunks_file on chunks(file);
create table if not exists symbols (folded text, name text, file integer, line integer, last integer);
create index if not exists symbols_folded on symbols(folded);
create index if not exists symbols_file on symbols(file);
create virtual table if not exists chunk_terms using fts5(body, head, tokenize="ascii tokenchars '_.'");
create virtual table if not exists file_terms using fts5(names, path, tokenize="ascii tokenchars '_.'");
create virtual table if not exists chunk_vocabulary using fts5vocab(chunk_terms, row);
create table if not exists commits (id integer primary key, sha text, at integer, subject text);
create virtual table if not exists commit_terms using fts5(words, tokenize="ascii tokenchars '_.'");
create table if not exists commit_files (commit_id integer, path text);
create index if not exists commit_files_commit on commit_files(commit_id);
create index if not exists commit_files_path on commit_files(path);
"""
_LAST_MADE = "select 1 from sqlite_master where name = 'commit_files_path'"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: numbers of files."""

    total: int
    read: int
    changed: int
    gone: int
    seconds: float
    digest: str
    """Digest over path and stamp of every file: the state of the tree that the index now mirrors."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit for the history table."""

    sha: str
    at: int
    """Author time, seconds since the epoch."""
    message: str
    paths: tuple[str, ...]


class CodeIndex(IndexReading):
    """Opened by `CodeIndex.open`; close it, or use it in a `with`. One instance belongs to one thread."""

    def __init__(self, path: Path, variant: str) -> None:
        """Use `open`."""
        self.path = path
        self._variant = variant
        self._db = _connect(path, variant)

    @classmethod
    def open(cls, path: Path, *, variant: str) -> CodeIndex:
        """Open or make the index. `variant` names chunker, terms and settings that shape rows; another one starts anew.

        Raises StoreBusy when another process holds it too long, StoreError when the folder cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return cls(path, f"{FORMAT}:{variant}")
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                remove(path)
                return cls(path, f"{FORMAT}:{variant}")
            if "locked" in str(error) or "busy" in str(error):
                raise StoreBusy(f"the index {path} is in use", hint="try again in a moment") from error
            raise StoreError(
                f"the index {path} cannot be opened: {error}", hint="set CLEW_HOME to a writable folder"
            ) from error
        except OSError as error:
            raise StoreError(
                f"the index {path} cannot be made: {error}", hint="set CLEW_HOME to a writable folder"
            ) from error

    def __enter__(self) -> CodeIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        self._db.close()

    # -- freshness

    def refresh(
        self,
        tree: Tree,
        outline: Callable[[str, str], Outline],
        *,
        now: Callable[[], float] = time.time,
        progress: Callable[[int, int], None] | None = None,
    ) -> Refreshed:
        """Make the index mirror `tree`. Files that vanish or cannot be read while this runs are left out, and those
        whose name holds a token: the index keeps names as they are.

        A database that turns out to be damaged is made again. Raises StoreBusy, StoreError.
        """
        began = time.perf_counter()
        entries = {entry.path: entry for entry in tree.entries()}

        def take(entry: Entry) -> bool:
            return self._take(tree, outline, entry, now)

        try:
            try:
                read, changed, gone = self._brought(entries, take, progress)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._db.close()
                remove(self.path)
                self._db = _connect(self.path, self._variant)
                read, changed, gone = self._brought(entries, take, progress)
        except sqlite3.Error as error:
            raise _store_error(self.path, error) from error
        return Refreshed(len(entries), read, changed, gone, time.perf_counter() - began, self.digest())

    def _brought(
        self, entries: dict[str, Entry], take: Callable[[Entry], bool], progress: Callable[[int, int], None] | None
    ) -> tuple[int, int, int]:
        """Numbers of files that were read, that changed, that are gone."""
        read = changed = 0
        stale, gone = self._difference(entries)
        # What the index has was looked at when it came in.
        named = names_with_tokens(stale)
        for path in named:
            del entries[path]
        if len(stale) > len(named) or gone:
            read, changed = self._bring(entries, take, progress)
        digest = hashlib.blake2b(digest_size=16)
        for path in sorted(entries):
            digest.update(os.fsencode(f"{path}\0{entries[path].stamp}\n"))
        if digest.hexdigest() != self.digest():
            self._db.execute("insert or replace into meta (key, value) values ('digest', ?)", (digest.hexdigest(),))
        return read, changed, len(gone)

    def unsettled(self) -> bool:
        """Whether a file was so young when it was read that it may change again under the same stamp."""
        return self._db.execute("select 1 from files where young limit 1").fetchone() is not None

    def difference(self, tree: Tree) -> tuple[int, int]:
        """Numbers of files of `tree` that are new or changed since the last refresh, and of those that are gone."""
        entries = {entry.path: entry for entry in tree.entries()}
        known = {kept_path(path): stamp for path, stamp in self._db.execute("select path, stamp from files")}
        stale = [path for path, entry in entries.items() if known.get(path) != entry.stamp]
        return len(stale) - len(names_with_tokens(stale)), len(known.keys() - entries.keys())

    def digest(self) -> str:
        """Digest of the tree that was mirrored last; empty before the first refresh."""
        row = self._db.execute("select value from meta where key = 'digest'").fetchone()
        return row[0] if row else ""

    def _difference(self, entries: dict[str, Entry]) -> tuple[list[str], list[str]]:
        known = dict[str, str]()
        young = set[str]()
        for value, mark, is_young in self._db.execute("select path, stamp, young from files"):
            path = kept_path(value)
            known[path] = mark
            if is_young:
                young.add(path)
        stale = [path for path, entry in entries.items() if known.get(path) != entry.stamp or path in young]
        gone = [path for path in known if path not in entries]
        return stale, gone

    def _bring(
        self, entries: dict[str, Entry], take: Callable[[Entry], bool], progress: Callable[[int, int], None] | None
    ) -> tuple[int, int]:
        read = changed = 0
        with self._writing():
            stale, gone = self._difference(entries)
            for path in gone:
                self._forget(path)
        for at in range(0, len(stale), BATCH):
            with self._writing():
                for path in stale[at : at + BATCH]:
                    read += 1
                    changed += take(entries[path])
            if progress is not None:
                progress(min(at + BATCH, len(stale)), len(stale))
        return read, changed

    def _take(self, tree: Tree, outline: Callable[[str, str], Outline], entry: Entry, now: Callable[[], float]) -> bool:
        """Read one file again; whether its content is another one."""
        row = self._db.execute(
            "select id, stamp, digest from files where path = ?", (path_value(entry.path),)
        ).fetchone()
        young = entry.mtime > 0 and now() - entry.mtime < TICK
        file_kind = kind(entry.path)
        content = b""
        if is_secret_path(entry.path):
            file_kind = Kind.DATA
        if file_kind is not Kind.DATA and entry.size <= MOST_BYTES:
            try:
                content = tree.read(entry.path)
            except ClewError:
                self._forget(entry.path)
                return False
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if row is not None and row[2] == digest and row[1] is not None:
            self._db.execute(
                "update files set stamp = ?, size = ?, mtime = ?, young = ? where id = ?",
                (entry.stamp, entry.size, entry.mtime, young, row[0]),
            )
            return False
        self._forget(entry.path)
        text = decode(content)
        if text is None or generated(text, prose=file_kind in (Kind.DOC, Kind.TEST)):
            text, file_kind = "", Kind.DATA
        self._insert(entry, file_kind, digest, young, outline(entry.path, text) if text else None, text)
        return True

    def _insert(
        self, entry: Entry, file_kind: Kind, digest: bytes, young: bool, found: Outline | None, text: str
    ) -> None:
        lines = found.lines if found else 0
        cursor = self._db.execute(
            "insert into files (path, size, stamp, digest, kind, lines, mtime, young) values (?, ?, ?, ?, ?, ?, ?, ?)",
            (path_value(entry.path), entry.size, entry.stamp, digest, file_kind.value, lines, entry.mtime, young),
        )
        file_id = cursor.lastrowid
        where = path_terms(entry.path)
        names: list[str] = []
        if found is not None:
            rows = text.split("\n")
            inside: list[list[str]] = [[] for _ in found.chunks]
            at = 0
            for symbol in found.symbols:
                names.extend(terms(symbol.name))
                while at + 1 < len(found.chunks) and found.chunks[at].ends_before(symbol.start):
                    at += 1
                inside[at].append(symbol.name)
            for chunk, own in zip(found.chunks, inside, strict=True):
                body = terms("\n".join(rows[chunk.start - 1 : chunk.end]))
                head = terms(" ".join([chunk.symbol, *own]))
                row = self._db.execute(
                    "insert into chunks (file, first, last, symbol, length) values (?, ?, ?, ?, ?)",
                    (file_id, chunk.start, chunk.end, chunk.symbol, len(body)),
                )
                self._db.execute(
                    "insert into chunk_terms (rowid, body, head) values (?, ?, ?)",
                    (row.lastrowid, " ".join(body), " ".join(head)),
                )
            self._db.executemany(
                "insert into symbols (folded, name, file, line, last) values (?, ?, ?, ?, ?)",
                [(s.name.casefold(), s.name, file_id, s.start, s.end) for s in found.symbols],
            )
        self._db.execute(
            "insert into file_terms (rowid, names, path) values (?, ?, ?)", (file_id, " ".join(names), " ".join(where))
        )

    def _forget(self, path: str) -> None:
        row = self._db.execute("select id from files where path = ?", (path_value(path),)).fetchone()
        if row is None:
            return
        self._db.execute("delete from chunk_terms where rowid in (select id from chunks where file = ?)", row)
        self._db.execute("delete from chunks where file = ?", row)
        self._db.execute("delete from symbols where file = ?", row)
        self._db.execute("delete from file_terms where rowid = ?", row)
        self._db.execute("delete from files where id = ?", row)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.rollback()
            raise
        self._db.commit()

    # -- history

    def head(self) -> str:
        """What `add_history` was told last: up to where the history is known; empty when none is."""
        row = self._db.execute("select value from meta where key = 'head'").fetchone()
        return row[0] if row else ""

    def add_history(self, commits: Iterable[Commit], head: str, *, replace: bool) -> None:
        """Add commits (any order, known ones once) and remember `head`; with `replace`, forget earlier ones first."""
        with self._writing():
            if replace:
                for table in ("commits", "commit_terms", "commit_files"):
                    self._db.execute(f"delete from {table}")
            # Another process may have added some of them since it was found out what to add.
            known = self.commit_ids()
            for commit in commits:
                if commit.sha in known:
                    continue
                message = commit.message
                if names_with_tokens((message, *commit.paths)):
                    message = redact(message).text
                    commit = replaced(commit, paths=tuple({*commit.paths} - names_with_tokens(commit.paths)))
                subject = message.partition("\n")[0]
                row = self._db.execute(
                    "insert into commits (sha, at, subject) values (?, ?, ?)", (commit.sha, commit.at, subject)
                )
                self._db.execute(
                    "insert into commit_terms (rowid, words) values (?, ?)",
                    (row.lastrowid, " ".join(terms(message))),
                )
                self._db.executemany(
                    "insert into commit_files (commit_id, path) values (?, ?)",
                    [(row.lastrowid, path_value(path)) for path in commit.paths],
                )
            self._db.execute("insert or replace into meta (key, value) values ('head', ?)", (head,))

    def commit_ids(self) -> set[str]:
        """Hashes of the known commits."""
        return {row[0] for row in self._db.execute("select sha from commits")}

    def drop_commits(self, ids: Iterable[str]) -> None:
        """Forget commits by hash."""
        with self._writing():
            for sha in ids:
                row = self._db.execute("select id from commits where sha = ?", (sha,)).fetchone()
                self._db.execute("delete from commit_terms where rowid = ?", row)
                self._db.execute("delete from commit_files where commit_id = ?", row)
                self._db.execute("delete from commits where id = ?", row)


def is_current(path: Path, variant: str) -> bool:
    """Whether there is an index of this format and variant at `path`. Changes nothing."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            row = connection.execute("select value from meta where key = 'variant'").fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return row is not None and row[0] == f"{FORMAT}:{variant}"


def _connect(path: Path, variant: str) -> sqlite3.Connection:
    if str(path) != ":memory:" and not path.exists():
        # Made by us and not by SQLite: names and words of private code are nobody else's business.
        os.close(open_file(path, "make", follow=True))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        switch_to_wal(connection, BUSY_SECONDS)
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma cache_size = -65536")
        if connection.execute(_LAST_MADE).fetchone() is None:
            # Several processes may come to a new file at once: one makes all of it, the others wait.
            connection.executescript(f"begin immediate; {_SCHEMA} commit;")
        row = connection.execute("select value from meta where key = 'variant'").fetchone()
        if row is None:
            connection.execute("insert or ignore into meta (key, value) values ('variant', ?)", (variant,))
        elif row[0] != variant:
            connection.close()
            remove(path)
            return _connect(path, variant)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _store_error(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return StoreBusy(f"the index {path} is in use", hint="try again in a moment")
    if "full" in text:
        return StoreError(
            "the disk is full: the index could not be written", hint="free some space, or set CLEW_HOME elsewhere"
        )
    return StoreError(f"the index {path} cannot be written: {text}", hint="run `clew index rebuild`")
