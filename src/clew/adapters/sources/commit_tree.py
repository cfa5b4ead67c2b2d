"""The tree of a commit as a set of files: no work tree is touched."""

from __future__ import annotations

from collections.abc import Iterator

from clew.adapters.git import Git
from clew.core.ports import Entry
from clew.core.text.printable import printable
from clew.errors import NotFound


class CommitTree:
    """The files of `commit` in a repository, bare or not. Close it after use, or use it in a `with`."""

    def __init__(self, git: Git, commit: str) -> None:
        self._git = git
        self._commit = commit
        self._blobs: dict[str, str] = {}
        self._reader = git.blobs()

    def __enter__(self) -> CommitTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self) -> Iterator[Entry]:
        """Regular files in the order of git. Raises NotFound for no commit."""
        if self._git.resolve(self._commit) is None:
            raise NotFound(f"there is no commit {self._commit}", hint="fetch the commit, or name another repository")
        for file in self._git.tree(self._commit):
            self._blobs[file.path] = file.blob
            yield Entry(file.path, file.size, file.blob)

    def read(self, path: str) -> bytes:
        """The bytes of one file. Raises NotFound, OverBudget."""
        if not self._blobs:
            for _ in self.entries():
                pass
        if path not in self._blobs:
            raise NotFound(f"`{printable(path)}` is not in {self._commit[:12]}")
        return self._reader.read(self._blobs[path])

    def close(self) -> None:
        """End the reader. Safe to call twice."""
        self._reader.close()
