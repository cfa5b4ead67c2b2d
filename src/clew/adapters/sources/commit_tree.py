"""The tree of a commit as a set of files: no work tree is touched."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from clew.core.ports import Entry
from clew.errors import NotFound


class CommitTree:
    """The files of `commit` in the repository at `git_dir` (bare or not). Close it after use, or use it in a `with`."""

    def __init__(self, git_dir: Path, commit: str) -> None:
        self.git_dir = git_dir
        self.commit = commit
        self._blobs: dict[str, str] = {}
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CommitTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self) -> Iterator[Entry]:
        """Regular files in the order of git. Raises NotFound when the commit is not there."""
        command = ["git", "-C", str(self.git_dir), "ls-tree", "-r", "-z", "-l", "--full-tree", self.commit]
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        if done.returncode:
            raise NotFound(
                f"`{self.commit}` is not a commit of {self.git_dir.name}",
                hint="fetch the commit, or name another repository",
            )
        for row in done.stdout.split(b"\0"):
            head, _, name = row.partition(b"\t")
            fields = head.split()
            if len(fields) != 4 or fields[1] != b"blob" or fields[0] == b"120000":
                continue
            path, blob = name.decode("utf-8", "replace"), fields[2].decode()
            self._blobs[path] = blob
            # A blob that a partial clone lacks has no size.
            yield Entry(path, int(fields[3]) if fields[3].isdigit() else 0, blob)

    def read(self, path: str) -> bytes:
        """The bytes of one file. Raises NotFound."""
        if not self._blobs:
            for _ in self.entries():
                pass
        if path not in self._blobs:
            raise NotFound(f"`{path}` is not in {self.commit[:12]}")
        if self._reader is None:
            self._reader = subprocess.Popen(
                ["git", "-C", str(self.git_dir), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        stdin, stdout = self._reader.stdin, self._reader.stdout
        if stdin is None or stdout is None:
            raise NotFound(f"`{path}` cannot be read")
        stdin.write(self._blobs[path].encode() + b"\n")
        stdin.flush()
        head = stdout.readline().split()
        if len(head) != 3:
            raise NotFound(f"`{path}` is not in {self.commit[:12]}")
        content = stdout.read(int(head[2]))
        stdout.read(1)
        return content

    def close(self) -> None:
        """End the reader process. Safe to call twice."""
        if self._reader is not None:
            if self._reader.stdin:
                self._reader.stdin.close()
            if self._reader.stdout:
                self._reader.stdout.close()
            self._reader.wait(timeout=10)
            self._reader = None
