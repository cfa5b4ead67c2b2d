"""One tree of two histories: path by path, without git's own merge, so that nothing of either side is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Final

from clew.adapters.memory_repository import PRIVATE, Leaf, MemoryRepository
from clew.core.memory.document import document_of
from clew.core.memory.entering import why_left_out
from clew.core.memory.merge import merged
from clew.errors import StoreError
from clew.services.sync_documents import told_apart


@dataclass(slots=True)
class Merge:
    """The tree of a merge, as it differs from our own."""

    changes: dict[str, Leaf | None] = field(default_factory=dict[str, "Leaf | None"])
    """Path to file, None for one that goes."""
    kept: list[str] = field(default_factory=list[str])
    """Paths that one side deleted and the other changed."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """Path to the new one of a document that had to leave it to another."""


def merge_trees(
    repository: MemoryRepository,
    base: Mapping[str, Leaf],
    ours: Mapping[str, Leaf],
    theirs: Mapping[str, Leaf],
    commit: str,
) -> Merge:
    """The files of both sides, seen from ours. `commit` is theirs, for the names of copies.

    What may not come into a folder goes its way in the tree alone, and never takes the place of what may.
    """
    before = ours
    sides = told_apart(repository, _no_programs(base), ours, _no_programs(theirs))
    base, ours, theirs = sides.base, sides.ours, sides.theirs
    found = Merge(renamed=sides.renamed)
    foreign = {path for path, leaf in theirs.items() if why_left_out(path, leaf.mode, leaf.size)}
    result = dict(ours)
    copies: dict[str, Leaf] = {}
    for path in sorted({*ours, *theirs}):
        old, mine, other = base.get(path), ours.get(path), theirs.get(path)
        if other in (mine, old):
            continue
        if (
            mine
            and not why_left_out(path, mine.mode)
            and (path in foreign or (other is None and _is_below(path, foreign)))
        ):
            # A link or the like stands where a document or its folder was.
            continue
        if mine == old or (mine is None and path in foreign):
            if other is None:
                del result[path]
            else:
                result[path] = other
            continue
        if why_left_out(path, (mine or other or _NOTHING).mode):
            continue
        if mine is None or other is None:
            # Deleted on one side, changed on the other: the text stays.
            result[path] = mine or theirs[path]
            found.kept.append(path)
            continue
        together = both(repository, path, old, mine, other)
        if together is None:
            copies[path] = other
        else:
            result[path] = together
    _make_way(result, ours, foreign)
    _part(result, ours, theirs, commit)
    for path, leaf in copies.items():
        if not _stands_beside(result, path, leaf):
            result[_beside(path, commit, result)] = leaf
    found.changes = {path: result.get(path) for path in {*before, *result} if result.get(path) != before.get(path)}
    return found


_NOTHING: Final = Leaf("100644", "")


def _no_programs(tree: Mapping[str, Leaf]) -> dict[str, Leaf]:
    """A tree in which no document can be run."""
    return {path: replace(leaf, mode="100644") if leaf.mode == "100755" else leaf for path, leaf in tree.items()}


def _is_below(path: str, others: set[str]) -> bool:
    return any(str(parent) in others for parent in PurePosixPath(path).parents)


def _make_way(result: dict[str, Leaf], ours: Mapping[str, Leaf], foreign: set[str]) -> None:
    """Where what may not come in has the name of a folder, or lies below a file, it goes."""
    folders = {str(parent) for path in result if path not in foreign for parent in PurePosixPath(path).parents}
    files = {path for path in result if path not in foreign}
    for path in foreign & result.keys():
        if path not in ours and (path in folders or _is_below(path, files)):
            del result[path]


def both(repository: MemoryRepository, path: str, old: Leaf | None, mine: Leaf, other: Leaf) -> Leaf | None:
    """One file of two that both changed; None where they conflict."""
    if not (mine.regular and other.regular):
        return None
    try:
        ours, theirs = (repository.read(leaf).decode("utf-8") for leaf in (mine, other))
        before = repository.read(old).decode("utf-8") if old and old.regular else None
    except UnicodeDecodeError:
        return None
    text = merged(path, before, ours, theirs, partial(_merge_lines, repository))
    return None if text is None else Leaf(mine.mode, repository.store(text.encode("utf-8")))


def _merge_lines(repository: MemoryRepository, base: str, ours: str, theirs: str) -> str | None:
    """Git's own merge of lines, in files of its private folder. None where the same lines were changed."""
    folder = repository.folder / PRIVATE
    places = [folder / name for name in ("merge-ours", "merge-base", "merge-theirs")]
    for place, text in zip(places, (ours, base, theirs), strict=True):
        place.write_bytes(text.encode("utf-8"))
    try:
        return repository.run("merge-file", "-p", "-q", *map(str, places)).decode("utf-8")
    except StoreError:
        # The status is the number of conflicts.
        return None
    finally:
        for place in places:
            place.unlink(missing_ok=True)


def _part(result: dict[str, Leaf], ours: Mapping[str, Leaf], theirs: Mapping[str, Leaf], commit: str) -> None:
    """Where one side has a file and the other a folder of the same name, what is theirs goes beside."""
    folders = {str(parent) for path in result for parent in PurePosixPath(path).parents}
    for path in [path for path in result if path in folders]:
        inside = [name for name in result if name.startswith(f"{path}/")]
        if path in ours:
            for name in inside:
                leaf = result.pop(name)
                result[_beside(path, commit, result) + name[len(path) :]] = leaf
        elif path in theirs:
            leaf = result.pop(path)
            result[_beside(path, commit, result)] = leaf


def _beside(path: str, commit: str, taken: Mapping[str, Leaf]) -> str:
    return copy_name(path, commit, taken.__contains__)


def copy_name(path: str, commit: str, is_taken: Callable[[str], bool]) -> str:
    """A name beside a document for the text of a commit, which `document_of` knows."""
    stem, ending = os.path.splitext(path)
    name = f"{stem}.conflict-{commit[:7]}{ending}"
    number = 2
    while is_taken(name):
        name = f"{stem}.conflict-{commit[:7]}-{number}{ending}"
        number += 1
    return name


def _stands_beside(result: Mapping[str, Leaf], path: str, leaf: Leaf) -> bool:
    """Whether a version is there already, as the document or a copy of it."""
    return any(one.id == leaf.id for name, one in result.items() if name == path or document_of(name) == path)
