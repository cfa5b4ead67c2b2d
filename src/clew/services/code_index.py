"""Keeps the code index of a work tree fresh: where it lies, what shapes it, how its history grows."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from clew.adapters import chunker
from clew.adapters.git import Git, NoRepository
from clew.adapters.home import Home
from clew.adapters.rendezvous import Request, ask_watcher
from clew.adapters.sources.files import WorkTree
from clew.core.ports import Entry, Tree
from clew.errors import StoreBusy, StoreError
from clew.stores.index import CodeIndex, Commit, Refreshed, is_current
from clew.stores.sqlite_file import is_damage, remove

HISTORY = 2000
"""Commits of the history that vote for files."""
IN_MEMORY = Path(":memory:")
"""SQLite's name for a database without a file."""
MOST_PATHS = 40
"""A commit that touches more paths says nothing about any of them."""

VARIANT = f"chunks-{chunker.FORMAT}"
"""What shapes the rows of an index, beside the format of the store."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Freshened:
    """An index that mirrors its tree."""

    index: CodeIndex
    tree: Tree
    """The files that the index knows, read from where they are now."""
    refreshed: Refreshed
    head: str
    branch: str = ""
    """Name of the branch; empty without one."""
    notice: str = ""
    """What the user should know about files that are missing from it."""
    watched: bool = False
    """A watcher vouched for the files: none was looked at."""


class IndexedTree:
    """The files of an index, with their contents from the tree behind it: listing them walks nothing.

    The list is read when it is first asked for, which must be while the index is open.
    """

    def __init__(self, index: CodeIndex, tree: Tree) -> None:
        self._index = index
        self._tree = tree
        self._entries: tuple[Entry, ...] | None = None

    def entries(self) -> Iterable[Entry]:
        """All indexed files, by path."""
        if self._entries is None:
            rows = sorted(self._index.files().values(), key=lambda row: row.path)
            self._entries = tuple(Entry(row.path, row.size, row.stamp, row.mtime) for row in rows)
        return self._entries

    def read(self, path: str) -> bytes:
        """The bytes of one file now. Raises NotFound, Refused."""
        return self._tree.read(path)


def index_folder(home: Home) -> Path:
    """The folder of all code indexes and of what is kept of searches, nothing else. It may be deleted at any time."""
    return home.cache / "index" / "code"


def index_path(home: Home, workspace: str, root: Path) -> Path:
    """The index of one work tree. Work trees of one workspace hold different files, so each has its own."""
    mark = hashlib.blake2b(os.fsencode(os.path.realpath(root)), digest_size=6).hexdigest()
    return index_folder(home) / f"{workspace}-{mark}.db"


def searches_path(index: Path) -> Path:
    """The outcomes of searches of one work tree, beside its index."""
    return index.with_suffix(".searches")


def watcher_path(home: Home, index: Path) -> Path:
    """Where a watcher that keeps this index fresh listens. Its mark alone names it: paths of sockets must be short."""
    return home.state / "watch" / f"{index.stem.rpartition('-')[2]}.sock"


def open_index(path: Path) -> CodeIndex:
    """Open or make an index. Raises StoreBusy, StoreError."""
    return CodeIndex.open(path, variant=VARIANT)


def freshen(
    path: Path,
    tree: WorkTree,
    git: Git | NoRepository,
    progress: Progress | None = None,
    watcher: Path | None = None,
    now: Callable[[], float] = time.time,
) -> Freshened:
    """The index of a work tree, brought up to date with its files and its history.

    Where a watcher listens at `watcher`, it is asked first; without a good answer the files are looked at one by one.
    A damaged index is made anew. Where none can be written, one in memory serves this question, and `notice` says so.
    `now` tells which files are so young that they may change unseen. Raises StoreBusy.
    """
    try:
        return _freshened(path, tree, git, progress, watcher, now)
    except StoreBusy:
        raise
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            remove(path)
            return _freshened(path, tree, git, progress, None, now)
        cause = str(error)
    except StoreError as error:
        cause = str(error)
    found = _freshened(IN_MEMORY, tree, git, progress, None, now)
    return replace(found, notice=f"the index could not be kept, and this took longer for it: {cause}")


def _freshened(
    path: Path,
    tree: WorkTree,
    git: Git | NoRepository,
    progress: Progress | None,
    watcher: Path | None,
    now: Callable[[], float],
) -> Freshened:
    index = open_index(path)
    try:
        told = _told(index, tree, watcher) if watcher is not None else None
        refreshed, notice = told or (index.refresh(tree, chunker.outline, now=now, progress=progress), tree.left_out)
        branch, commit = _history(index, git)
    except BaseException:
        index.close()
        raise
    return Freshened(index, IndexedTree(index, tree), refreshed, commit, branch, notice, watched=told is not None)


def _told(index: CodeIndex, tree: WorkTree, watcher: Path) -> tuple[Refreshed, str] | None:
    """What the watcher of this tree did just now; None where it does not vouch for the state that the index holds."""
    began = time.perf_counter()
    answer = ask_watcher(watcher, sync_request(tree))
    if answer is None or not answer.digest or answer.digest != index.digest():
        return None
    return Refreshed(answer.total, 0, 0, 0, time.perf_counter() - began, answer.digest), answer.notice


def sync_request(tree: WorkTree) -> Request:
    """What a watcher must agree on before its word counts."""
    return Request(os.path.realpath(tree.root), VARIANT, tree.ignore)


def refresh_tree(index: CodeIndex, tree: Tree) -> Refreshed:
    """Bring an index up to date with any tree."""
    return index.refresh(tree, chunker.outline)


def add_commits(index: CodeIndex, git: Git, head: str | None = None) -> str:
    """Make the history of the index that of a commit, by default of HEAD: its last HISTORY commits. The commit's hash.

    Where the history has grown, only the new commits are read; whatever was rewritten is read from the start.
    """
    current = head or git.head().commit
    if current is None:
        _forget_history(index)
        return ""
    bounds = git.history_bounds()
    mark, (known, _, known_bounds) = f"{current}:{bounds}", index.head().partition(":")
    if (current, bounds) == (known, known_bounds):
        return current
    grown = (
        bool(known)
        and bounds == known_bounds
        and git.resolve(known) is not None
        and not any(git.commits(1, f"{current}..{known}"))
    )
    index.add_history(_commits(git, f"{known}..{current}" if grown else current), mark, replace=not grown)
    if grown and index.counts()["commits"] > HISTORY:
        wanted, held = set(git.commit_ids(HISTORY, current)), index.commit_ids()
        index.drop_commits(held - wanted)
        if wanted - held:
            index.add_history(_commits(git, current), mark, replace=True)
    return current


def _history(index: CodeIndex, git: Git | NoRepository) -> tuple[str, str]:
    """Bring the history up to date. Branch and commit; empty where there is none."""
    head = git.head() if isinstance(git, Git) else None
    if head is None or head.commit is None or not isinstance(git, Git):
        # A branch without a commit, or a folder that is no repository any more, has no history.
        _forget_history(index)
        return (head.branch or "") if head else "", ""
    return head.branch or "", add_commits(index, git, head.commit)


def _forget_history(index: CodeIndex) -> None:
    if index.head():
        index.add_history((), "", replace=True)


def _commits(git: Git, revision: str) -> Iterator[Commit]:
    for one in git.commits(HISTORY, revision, merges=False, most_files=MOST_PATHS + 1):
        paths = one.files if len(one.files) <= MOST_PATHS else ()
        yield Commit(one.id, _seconds(one.at), f"{one.subject}\n{one.body}", paths)


def _seconds(at: str) -> int:
    """Seconds since the epoch of a time as git prints it."""
    try:
        return int(datetime.fromisoformat(at).timestamp())
    except ValueError:
        # Old commits exist whose zone is no zone (`+518:00`): their time counts as UTC.
        return int(datetime.fromisoformat(f"{at[:19]}+00:00").timestamp())


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What is known about one index. Looking changes nothing."""

    path: str
    exists: bool
    files: int = 0
    chunks: int = 0
    symbols: int = 0
    commits: int = 0
    size: int = 0
    """Bytes, with side files."""
    written: float = 0.0
    """Seconds since the epoch."""
    stale: int = 0
    """Files that are new or changed since."""
    gone: int = 0
    fresh: bool = False
    """The index mirrors the files and the history as they are now."""
    watched: bool = False
    notice: str = ""
    """What the user should know about files that are missing from it."""

    def to_json(self) -> dict[str, object]:
        """All of it, as plain values."""
        return {**asdict(self), "folder": os.path.dirname(self.path)}


def index_status(path: Path, tree: WorkTree, git: Git | NoRepository, watcher: Path | None = None) -> IndexStatus:
    """Compare an index with its tree. An index of another format counts as none. Raises StoreError."""
    if not path.is_file() or not is_current(path, VARIANT):
        return IndexStatus(str(path), False)
    try:
        with open_index(path) as index:
            counts = index.counts()
            stale, gone = index.difference(tree)
            head = (git.head().commit or "") if isinstance(git, Git) else ""
            fresh = not stale and not gone and index.head().partition(":")[0] == head
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return IndexStatus(str(path), False)  # The next question makes it anew.
        raise StoreError(f"the index {path}: {error}", hint="try again, or run `clew index rebuild`") from error
    told = ask_watcher(watcher, sync_request(tree)) if watcher is not None else None
    sides = [path.with_name(path.name + side) for side in ("", "-wal", "-shm")]
    found = [side.stat() for side in sides if side.exists()]
    return IndexStatus(
        str(path), True, **counts, size=sum(one.st_size for one in found),
        written=max(one.st_mtime for one in found[:2]), stale=stale, gone=gone, fresh=fresh, watched=told is not None,
        notice=tree.left_out,
    )  # fmt: skip


def remove_all(home: Home) -> int:
    """Delete every code index and what is kept of searches; the number of bytes freed."""
    folder = index_folder(home)
    return sum(remove(path) for path in sorted((*folder.glob("*.db"), *folder.glob("*.searches"))))
