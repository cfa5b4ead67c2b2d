"""Keeps the code index of a work tree fresh: where it lies, what shapes it, how its history grows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from clew.adapters import chunker
from clew.adapters.git import Git, NoRepository
from clew.adapters.home import Home
from clew.adapters.sources.files import WorkTree
from clew.core.ports import Tree
from clew.stores.index import CodeIndex, Commit, Refreshed

HISTORY = 2000
"""Commits of the history that vote for files."""
MOST_PATHS = 40
"""A commit that touches more paths says nothing about any of them."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Freshened:
    """An index that mirrors its tree."""

    index: CodeIndex
    tree: WorkTree
    refreshed: Refreshed
    head: str
    notice: str = ""
    """What the user should know about files that are missing from it."""


def index_folder(home: Home) -> Path:
    """The folder that holds all code indexes and nothing else. It may be deleted at any time."""
    return home.cache / "index" / "code"


def index_path(home: Home, workspace: str, root: Path) -> Path:
    """The index of one work tree. Work trees of one workspace hold different files, so each has its own."""
    mark = hashlib.blake2b(os.fsencode(os.path.realpath(root)), digest_size=6).hexdigest()
    return index_folder(home) / f"{workspace}-{mark}.db"


def open_index(path: Path) -> CodeIndex:
    """Open or make an index. Raises StoreBusy, StoreError."""
    return CodeIndex.open(path, variant=f"chunks-{chunker.FORMAT}")


def freshen(path: Path, tree: WorkTree, git: Git | NoRepository, progress: Progress | None = None) -> Freshened:
    """The index of a work tree, brought up to date with its files and its history."""
    index = open_index(path)
    try:
        refreshed = index.refresh(tree, chunker.outline, progress=progress)
        head = add_commits(index, git) if isinstance(git, Git) else ""
    except BaseException:
        index.close()
        raise
    return Freshened(index, tree, refreshed, head, tree.left_out)


def refresh_tree(index: CodeIndex, tree: Tree) -> Refreshed:
    """Bring an index up to date with any tree."""
    return index.refresh(tree, chunker.outline)


def add_commits(index: CodeIndex, git: Git, head: str | None = None) -> str:
    """Add the commits that the index does not know; from the start where history was rewritten. The head's hash."""
    current = head or git.head().commit
    known = index.head()
    if current is None or current == known:
        return current or ""
    grown = bool(known) and git.resolve(known) is not None and not any(git.commits(1, f"{current}..{known}"))
    index.add_history(_commits(git, f"{known}..{current}" if grown else current), current, replace=not grown)
    return current


def _commits(git: Git, revision: str) -> Iterator[Commit]:
    for one in git.commits(HISTORY, revision, merges=False, most_files=MOST_PATHS + 1):
        paths = one.files if len(one.files) <= MOST_PATHS else ()
        yield Commit(one.id, int(datetime.fromisoformat(one.at).timestamp()), f"{one.subject}\n{one.body}", paths)
