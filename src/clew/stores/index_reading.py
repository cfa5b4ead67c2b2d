"""What the code index answers: term scores, rows, history. Every method reads once from the open database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from clew.core.index.kinds import Kind


def path_value(path: str) -> str | bytes:
    """A path as it is kept: text, or its bytes where they are no UTF-8, which no text in a database can hold.

    The columns of paths have no say in it: SQLite keeps bytes as bytes, and compares them with nothing but bytes.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def kept_path(value: str | bytes) -> str:
    """The path of a `path_value`."""
    return value if isinstance(value, str) else os.fsdecode(value)


@dataclass(frozen=True, slots=True)
class FileRow:
    """One indexed file."""

    id: int
    path: str
    kind: Kind
    lines: int
    size: int
    mtime: float
    stamp: str


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One indexed chunk: whole lines of a file."""

    id: int
    file: int
    first: int
    last: int
    symbol: str
    length: int
    """Number of terms."""


class IndexReading:
    """The reading side of an open index. All lists and dictionaries are empty where nothing is found."""

    _db: sqlite3.Connection

    def counts(self) -> dict[str, int]:
        """Numbers of files, chunks, symbols and commits."""
        return {
            table: int(self._db.execute(f"select count(*) from {table}").fetchone()[0])
            for table in ("files", "chunks", "symbols", "commits")
        }

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term stands; terms that stand nowhere are left out."""
        marks = ",".join("?" * len(words))
        query = f"select term, doc from chunk_vocabulary where term in ({marks})"
        return dict(self._db.execute(query, list(words)))

    def vocabulary(self, least: int = 1) -> list[tuple[str, int]]:
        """All terms that stand in at least `least` chunks, with that number."""
        return list(self._db.execute("select term, doc from chunk_vocabulary where doc >= ?", (least,)))

    def chunk_scores(self, term: str, head_weight: float) -> list[tuple[int, float]]:
        """(chunk, BM25) of one term, higher is better. k1 1.2, b 0.75 (SQLite FTS5)."""
        query = "select rowid, -bm25(chunk_terms, 1.0, ?) from chunk_terms where chunk_terms match ?"
        return list(self._db.execute(query, (head_weight, f'"{term}"')))

    def phrase_chunks(self, words: Sequence[str], distance: int) -> list[int]:
        """Chunks in which all the words stand within `distance` terms of each other."""
        inner = " ".join(f'"{word}"' for word in words)
        query = "select rowid from chunk_terms where chunk_terms match ?"
        return [row[0] for row in self._db.execute(query, (f"NEAR({inner}, {distance})",))]

    def file_scores(self, term: str, column: str) -> list[tuple[int, float]]:
        """(file, BM25) of one term in `names` or `path`."""
        query = "select rowid, -bm25(file_terms) from file_terms where file_terms match ?"
        return list(self._db.execute(query, (f'{column} : "{term}"',)))

    def commit_scores(self, term: str) -> list[tuple[int, float]]:
        """(commit, BM25) of one term."""
        query = "select rowid, -bm25(commit_terms) from commit_terms where commit_terms match ?"
        return list(self._db.execute(query, (f'"{term}"',)))

    def commit_paths(self, commits: Sequence[int]) -> dict[int, list[str]]:
        """Paths that each commit touched."""
        found: dict[int, list[str]] = {}
        marks = ",".join("?" * len(commits))
        for commit, path in self._db.execute(
            f"select commit_id, path from commit_files where commit_id in ({marks})", list(commits)
        ):
            found.setdefault(commit, []).append(kept_path(path))
        return found

    def commit_rows(self, commits: Sequence[int]) -> dict[int, tuple[str, int, str]]:
        """(sha, time, subject) of commits."""
        marks = ",".join("?" * len(commits))
        query = f"select id, sha, at, subject from commits where id in ({marks})"
        return {row[0]: (row[1], row[2], row[3]) for row in self._db.execute(query, list(commits))}

    def last_touched(self, most: int) -> dict[str, int]:
        """Paths touched by the last `most` commits, with the place of the latest such commit (0 is the newest)."""
        query = (
            "select path, min(place) from (select id, row_number() over (order by at desc, sha) - 1 as place "
            "from commits order by place limit ?) as latest join commit_files on commit_id = latest.id group by path"
        )
        return {kept_path(path): place for path, place in self._db.execute(query, (most,))}

    def commit_ages(self) -> dict[int, int]:
        """By commit: how many known commits are newer."""
        return {
            row[0]: place for place, row in enumerate(self._db.execute("select id from commits order by at desc, sha"))
        }

    def touched(self) -> dict[str, int]:
        """Number of known commits that changed each path."""
        query = "select path, count(*) from commit_files group by path"
        return {kept_path(path): count for path, count in self._db.execute(query)}

    def files(self) -> dict[int, FileRow]:
        """All indexed files by id."""
        query = "select id, path, kind, lines, size, mtime, stamp from files"
        return {row[0]: FileRow(row[0], kept_path(row[1]), Kind(row[2]), *row[3:]) for row in self._db.execute(query)}

    def chunk_files(self) -> dict[int, int]:
        """The file of every chunk."""
        return dict(self._db.execute("select id, file from chunks"))

    def chunks_of(self, file: int) -> list[ChunkRow]:
        """The chunks of a file, in order."""
        query = "select id, file, first, last, symbol, length from chunks where file = ? order by first"
        return [ChunkRow(*row) for row in self._db.execute(query, (file,))]

    def symbols(self, names: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """(name, file, first line, last line) of definitions with one of these names, whatever their case."""
        folded = [name.casefold() for name in names]
        query = f"select name, file, line, last from symbols where folded in ({','.join('?' * len(folded))})"
        return list(self._db.execute(query, folded))
