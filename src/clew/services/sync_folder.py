"""Bring the folder of a memory to what a merge says, file by file, and back again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from clew.adapters.memory_repository import Leaf, MemoryRepository
from clew.core.memory.entering import clashes, why_left_out
from clew.core.text.printable import printable
from clew.errors import Conflict, StoreError
from clew.stores.durable import locked, make_folder, put

DOCUMENT_SECONDS: Final = 10.0
"""How long the lock of a folder of documents is waited for."""


def left_out(repository: MemoryRepository, tree: Mapping[str, Leaf]) -> dict[str, str]:
    """Files of a tree that do not belong into the folder, each with the reason."""
    reasons = {path: reason for path, leaf in tree.items() if (reason := why_left_out(path, leaf.mode, leaf.size))}
    entering = [path for path in tree if path not in reasons]
    if clashes(entering):
        there = repository.exactly_there(entering)
        reasons |= {path: spelled_like(other) for path, other in clashes(entering, there).items()}
    return reasons


def spelled_like(other: str) -> str:
    """The reason for a path that some systems take for another."""
    return f"some systems take its name for that of `{printable(other)}`"


def change_file(root: Path, repository: MemoryRepository, path: str, was: Leaf | None, content: bytes | None) -> bool:
    """Whether a file had to be changed. Nothing is, where it is neither what was committed nor what is wanted.

    Raises Conflict where that is so, StoreError. The caller holds the lock of `lock_folder`.
    """
    place = root / path
    if content is not None and os.path.isdir(place) and not os.path.islink(place):
        # Its files are gone; what remains, if anything, stands in the way.
        with contextlib.suppress(OSError):
            os.rmdir(place)
    there, now = os.path.lexists(place), repository.on_disk(path)
    if now == content and (there or content is None):
        return False
    if there if was is None else now is None or repository.id_of(now, was.id) != was.id:
        raise in_the_way(path)
    if content is None:
        try:
            os.unlink(place)
        except OSError as error:
            raise StoreError(
                f"`{printable(path)}` cannot be deleted: {error.strerror}", hint="check its rights"
            ) from error
        return True
    write_file(root, path, content, now, lambda _: in_the_way(path))
    return True


def write_file(root: Path, path: str, content: bytes, seen: bytes | None, changed: Callable[[bytes], Conflict]) -> None:
    """Write a file over what was seen in it, or anew, and keep its rights but that to be run. Raises Conflict."""
    place = root / path
    if os.path.realpath(place.parent) != os.path.join(os.path.realpath(root), *path.split("/")[:-1]):
        raise Conflict(f"`{printable(path)}` lies behind a link", hint="put the folder itself there")
    make_folder(place.parent)
    mode = 0o600
    with contextlib.suppress(OSError):
        mode = os.lstat(place).st_mode & 0o666
    try:
        put(place, content, mode=mode, seen=seen, changed=changed, shown=printable(path))
    except FileExistsError as error:
        raise changed(b"") from error


def take_run_right(root: Path, path: str) -> None:
    """No document is a program: where a merge says so of a file, it cannot be run any more."""
    with contextlib.suppress(OSError):
        status = os.lstat(root / path)
        if status.st_mode & 0o111 and not os.path.islink(root / path):
            os.chmod(root / path, status.st_mode & 0o666)


def in_the_way(path: str) -> Conflict:
    """What is raised for a file that is not as it was committed."""
    return Conflict(f"`{printable(path)}` stands in the way of a sync", hint="move it away, or commit it first")


def holding(root: Path, path: str) -> contextlib.AbstractContextManager[None]:
    """The lock that the documents take for a path. Raises StoreBusy, StoreError."""
    return locked(lock_folder(root, path), DOCUMENT_SECONDS)


def lock_folder(root: Path, path: str) -> Path:
    """The folder whose lock the documents take for a path; the root for files of no document."""
    parts = path.split("/")
    depth = {"user": 1, "workspaces": 2}.get(parts[0], 0)
    return Path(os.path.realpath(root), *parts[:depth][: len(parts) - 1])
