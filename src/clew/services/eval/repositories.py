"""States of repositories for measurements: read from commits, indexed in a scratch folder, one index a repository."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from clew.adapters.git import Branch, Commit, Git, Head, Status, find_repository
from clew.adapters.sources.commit_tree import CommitTree
from clew.adapters.workspace import Workspace
from clew.errors import NotFound, UsageError
from clew.services.code_index import Freshened, IndexedTree, add_commits, open_index, refresh_tree
from clew.services.context import Place
from clew.system import open_file, wait_for_lock

_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


class GitAt(Git):
    """A repository as if one commit were checked out and no work tree existed."""

    def __init__(self, git: Git, commit: str) -> None:
        super().__init__(git._command, replace(git.repository, root=None))
        self._commit = commit

    def head(self) -> Head:
        """Detached at the commit."""
        return Head(None, self._commit)

    def status(self, limit: int = 10_000) -> Status | None:
        """None: there is no work tree."""
        return None

    def commits(
        self, count: int, revision: str = "HEAD", *, merges: bool = True, most_files: int = 1000
    ) -> Iterator[Commit]:
        """The last commits, from the commit on where none other is named."""
        named = self._commit if revision == "HEAD" else revision
        return super().commits(count, named, merges=merges, most_files=most_files)

    def branches(self, limit: int = 200) -> tuple[Branch, ...]:
        """None: branches of today say nothing about the commit."""
        return ()


class Repositories:
    """Git directories below one folder, as `owner+name/repo`, `owner+name`, `owner/name` or `name`; bare or not."""

    def __init__(self, folder: Path, scratch: Path, environ: Mapping[str, str]) -> None:
        """Raises NotFound when the folder is not there."""
        if not folder.is_dir():
            raise NotFound(f"there is no folder {folder}", hint="--repos names a folder of git directories")
        self.folder = folder
        self._scratch = scratch
        self._environ = environ
        self._gits: dict[str, Git] = {}

    def git(self, name: str) -> Git:
        """The repository `owner/name` or `name`. Raises NotFound, UsageError."""
        if not _NAME.fullmatch(name) or ".." in name.split("/"):
            raise UsageError(f"`{name}` is no name of a repository", hint="owner/name")
        if name not in self._gits:
            flat, short = name.replace("/", "+"), name.rpartition("/")[2]
            for place in (f"{flat}/repo", flat, name, short, f"{short}/repo", f"{flat}.git", f"{short}.git"):
                folder = self.folder / place
                if _is_repository(folder) and isinstance(found := find_repository(folder, self._environ), Git):
                    self._gits[name] = found
                    break
            else:
                raise NotFound(
                    f"there is no repository {name} below {self.folder}",
                    hint=f"clone it to {self.folder / flat}",
                )
        return self._gits[name]

    def resolved(self, name: str, commit: str) -> str:
        """The full id of a commit. Raises NotFound."""
        found = self.git(name).resolve(commit)
        if found is None:
            raise NotFound(f"{name} has no commit {commit}", hint="fetch the whole history of the repository")
        return found

    @contextlib.contextmanager
    def state(self, name: str, commit: str) -> Iterator[tuple[Freshened, Place]]:
        """The index of one state, and a place to ask from. Raises NotFound, StoreError."""
        git, full = self.git(name), self.resolved(name, commit)
        root = git.repository.git_dir
        path = self._scratch / f"{name.replace('/', '+')}.db"
        with _alone(path), open_index(path) as index, CommitTree(git, full) as tree:
            refreshed = refresh_tree(index, tree)
            add_commits(index, git, full)
            at = GitAt(git, full)
            workspace = Workspace("measured", name, root, True, "root-commit", full)
            place = Place(workspace, at, root, {"LANG": "C.UTF-8", "PATH": os.defpath}, path)
            yield Freshened(index, IndexedTree(index, tree), refreshed, full), place


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Another measurement would bring the same index to another state: it waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = open_file(path.with_suffix(".lock"), "make", follow=True)
    try:
        wait_for_lock(handle)
        yield
    finally:
        os.close(handle)


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())
