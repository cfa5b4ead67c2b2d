"""Machines that share a memory over a bare repository on disk, for tests of `clew sync`."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from clew.adapters.memory_git import MemoryGit
from clew.services.sync import Synced, begin, conflicts, synchronise


@dataclass
class Machine:
    """A memory root with its repository. Paths are below the root."""

    root: Path

    @property
    def git(self) -> MemoryGit:
        """As a new process would have it."""
        return MemoryGit(self.root, os.environ)

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file as an editor would."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def text(self, path: str) -> str:
        """What a file says."""
        return (self.root / path).read_text("utf-8")

    def files(self) -> dict[str, str]:
        """All files but the hidden ones."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes().decode("utf-8", "replace")
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(self.root).parts)
        }

    def sync(self, *, join: bool = False) -> Synced:
        """Exchange, without waiting between tries."""
        return synchronise(self.git, join=join, wait=lambda _: None)

    def run(self, *arguments: str, ok: bool = True) -> str:
        """Git as a person would use it."""
        done = subprocess.run(["git", "-C", str(self.root), *arguments], capture_output=True, check=False)
        assert not ok or done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout).strip()

    def unsaid(self) -> set[str]:
        """What git sees as changed here, without documents of two versions, which may each have their own in place."""
        rows = {row.rpartition(" ")[2] for row in self.run("status", "--short").splitlines()}
        return rows - {path for pair in self.open_conflicts() for path in pair}

    def history(self) -> set[str]:
        """Every text that can be reached from HEAD."""
        rows = [row.split(" ", 1)[0] for row in self.run("rev-list", "--objects", "HEAD").splitlines()]
        given = "\n".join(rows).encode() + b"\n"
        command = ["git", "-C", str(self.root), "cat-file", "--batch-check=%(objecttype) %(objectname)"]
        kinds = subprocess.run(command, input=given, capture_output=True, check=True).stdout.decode().splitlines()
        blobs = [row.split()[1] for row in kinds if row.startswith("blob")]
        out: set[str] = set()
        for blob in blobs:
            raw = subprocess.run(
                ["git", "-C", str(self.root), "cat-file", "blob", blob], capture_output=True, check=True
            )
            out.add(raw.stdout.decode("utf-8", "replace"))
        return out

    def open_conflicts(self) -> list[tuple[str, str]]:
        """Document and copy of each conflict."""
        return [(one.path, one.copy) for one in conflicts(self.root)]


def are_alike(one: Machine, other: Machine) -> bool:
    """Whether both have the same files; of a document with two versions each may have its own in place."""
    mine, theirs = one.files(), other.files()
    for document, copy in one.open_conflicts():
        if (mine.get(document), mine.get(copy)) == (theirs.get(copy), theirs.get(document)):
            mine[document], mine[copy] = theirs[document], theirs[copy]
    return mine == theirs


def remote_of(folder: Path) -> Path:
    """An empty bare repository."""
    place = folder / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    return place


def machine(folder: Path, name: str, remote: Path | None = None) -> Machine:
    """A machine whose memory is a repository."""
    made = Machine(folder / name / "memory")
    begin(made.git, str(remote) if remote else "")
    return made


def pair(folder: Path, files: dict[str, str | bytes]) -> tuple[Machine, Machine]:
    """Two machines that have the same files."""
    remote = remote_of(folder)
    one = machine(folder, "one", remote)
    for path, text in files.items():
        one.write(path, text)
    one.sync()
    two = machine(folder, "two", remote)
    two.sync(join=True)
    one.sync()
    assert one.files() == two.files()
    return one, two


STOPPING = """
import os, signal, sys
from pathlib import Path
from clew.adapters.memory_git import MemoryGit
from clew.adapters.memory_repository import MemoryRepository
from clew.services import sync, sync_folder, sync_recovery
calls = 0
def stopping(place, name):
    original = getattr(place, name)
    def call(*arguments, **more):
        global calls
        calls += 1
        if calls == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **more)
    setattr(place, name, call)
"""
"""The head of a program that is killed before the n-th call of what it hands to `stopping`; n is its last argument."""
