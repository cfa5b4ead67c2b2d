"""What simple ways reach on the same data: the floors that stand beside Clew's figures, without Clew's ranking."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from clew.adapters.sources.files import WorkTree
from clew.core.ports import Tree
from clew.errors import ClewError

_MOST_BYTES = 500_000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u4e00-\u9fff]+")
_MARKERS = re.compile(
    r"\b(?:this|these|that|current|currently|error|exception|fail(?:s|ed|ing)?|bug|fix|why|last|previous|above|here)\b"
    r"|这个|这里|当前|目前|错误|报错|异常|失败|为什么|上次|刚才|之前|修复",
    re.IGNORECASE,
)


def marker_mode(query: str, *, explicit: bool) -> str:
    """The rule by marker words: rich where one stands or something is attached, lean elsewhere."""
    return "rich" if explicit or _MARKERS.search(query) else "lean"


def words(text: str) -> Iterator[str]:
    """Words in small letters, names cut at their humps, Chinese as pairs of characters."""
    for match in _WORD.finditer(text):
        word = match[0]
        if word[0] >= "\u4e00":
            yield from (word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            yield word.lower()


class WholeFiles:
    """BM25 over whole files of a tree, by SQLite's FTS5; changed file by file from one commit to the next."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("create virtual table files using fts5(body, tokenize='ascii')")
        self._known: dict[str, tuple[str, int]] = {}

    def bring(self, tree: Tree) -> None:
        """Hold the files of this tree and no others."""
        entries = {entry.path: entry for entry in tree.entries()}
        for path, (stamp, row) in list(self._known.items()):
            if path not in entries or entries[path].stamp != stamp:
                self._db.execute("delete from files where rowid = ?", (row,))
                del self._known[path]
        for path, entry in entries.items():
            if path in self._known or entry.size > _MOST_BYTES:
                continue
            try:
                content = tree.read(path)
            except ClewError:
                continue
            if b"\0" in content[:8192]:
                continue
            body = " ".join(words(f"{path} {content.decode('utf-8', 'replace')}"))
            row = self._db.execute("insert into files (body) values (?)", (_hex(body),)).lastrowid
            self._known[path] = entry.stamp, int(row or 0)

    def ranked(self, question: str, most: int = 10) -> list[str]:
        """The best files for any of the words of the question."""
        wanted = dict.fromkeys(_hex(word) for word in words(question))
        if not wanted:
            return []
        query = "select rowid from files where files match ? order by bm25(files), rowid limit ?"
        rows = self._db.execute(query, (" OR ".join(f'"{word}"' for word in wanted), most))
        paths = {row: path for path, (_, row) in self._known.items()}
        return [paths[row] for (row,) in rows]


def _hex(text: str) -> str:
    """Chinese pairs as letters: the ascii tokenizer knows nothing else."""
    if text.isascii():
        return text
    return " ".join(word if word.isascii() else word.encode().hex() for word in text.split(" "))


def main() -> None:
    """`python -m benchmarks.floors FOLDER QUESTION`: BM25 over the files of a folder, the index made for this once."""
    root, question = Path(sys.argv[1]), sys.argv[2]
    files = WholeFiles()
    files.bring(WorkTree(root))
    print("\n".join(files.ranked(question)))


if __name__ == "__main__":
    main()
