"""Documents of two histories told apart by their ids, before their trees are merged by paths.

A path is only where a document lies. Two machines that each made a note of one name have two documents at one path:
both are kept, and one of them gets another file name. A document that one side moved is followed, so that what the
other side changed in it meanwhile goes along.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from clew.adapters.memory_repository import Leaf, MemoryRepository
from clew.core.memory.document import document_of, tier_of
from clew.core.memory.entering import folded, why_left_out
from clew.core.text.frontmatter import parse

_TIERS = frozenset({"user", "note"})
"""Logs and reflections of one day are one document, whoever began them; ledgers are named by the second."""


@dataclass(slots=True)
class Sides:
    """Three trees that are to be merged, each path with one document."""

    base: dict[str, Leaf]
    ours: dict[str, Leaf]
    theirs: dict[str, Leaf]
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """Path to the new one of a document that had to leave it to another."""


def told_apart(
    repository: MemoryRepository, base: Mapping[str, Leaf], ours: Mapping[str, Leaf], theirs: Mapping[str, Leaf]
) -> Sides:
    """The trees with each document at one path of its own, the same whichever side is ours. Raises StoreError."""
    sides = Sides(dict(base), dict(ours), dict(theirs))
    trees = (sides.base, sides.ours, sides.theirs)
    changed = [
        path
        for path in sorted({*base, *ours, *theirs})
        if _is_note(path) and len({base.get(path), ours.get(path), theirs.get(path)}) == 3
    ]
    if not changed:
        return sides
    known = _Ids(repository)
    known.read(leaf for path in changed for tree in trees if (leaf := tree.get(path)))
    for path in changed:
        _follow(sides, known, path)
    for path in changed:
        _part(sides, known, path)
    return sides


def free_path(path: str, is_taken: Callable[[str], bool]) -> str:
    """A file name beside `path` that no other has: `deploy-2.md`, as a second note of one name gets it."""
    stem, ending = os.path.splitext(path)
    return next(name for number in count(2) if not is_taken(name := f"{stem}-{number}{ending}"))


def id_in(content: bytes) -> str:
    """The id that a document gives itself; empty for none."""
    return _identity(content)[1]


def _is_note(path: str) -> bool:
    return (tier_of(path) or ("",))[0] in _TIERS and not document_of(path) and not why_left_out(path)


def _identity(content: bytes) -> tuple[str, str]:
    """The day on which a document was made, and its id."""
    values = parse(content.decode("utf-8", "replace")).values
    created, id_ = values.get("created"), values.get("id")
    return str(created or "9999"), id_ if isinstance(id_, str) else ""


class _Ids:
    """What documents say they are, read from a repository many at a time."""

    def __init__(self, repository: MemoryRepository) -> None:
        self._repository = repository
        self._known: dict[str, tuple[str, str]] = {}

    def read(self, leaves: Iterable[Leaf]) -> None:
        wanted = {leaf.id for leaf in leaves if leaf.regular} - self._known.keys()
        if not wanted:
            return
        ids = sorted(wanted)
        out = self._repository.run("cat-file", "--batch", given="".join(f"{one}\n" for one in ids).encode("ascii"))
        at = 0
        for one in ids:
            end = out.index(b"\n", at)
            head = out[at:end].split()
            if len(head) != 3:
                # Missing: the merge itself says so.
                at = end + 1
                continue
            size = int(head[2])
            self._known[one] = _identity(out[end + 1 : end + 1 + size])
            at = end + size + 2

    def of(self, leaf: Leaf | None) -> str:
        return self.whole(leaf)[1]

    def whole(self, leaf: Leaf | None) -> tuple[str, str]:
        """Day and id; empty where there is none."""
        return self._known.get(leaf.id, ("", "")) if leaf else ("", "")


def _follow(sides: Sides, known: _Ids, path: str) -> None:
    """Where one side moved a document that the other changed in its place, both have it where it was moved to."""
    id_ = known.of(sides.base.get(path))
    mine, other = (known.of(tree.get(path)) == id_ for tree in (sides.ours, sides.theirs))
    if not id_ or mine == other:
        return
    moved, stayed = (sides.theirs, sides.ours) if mine else (sides.ours, sides.theirs)
    new = [one for one in sorted(moved) if one not in sides.base and _is_note(one)]
    known.read(moved[one] for one in new)
    found = [one for one in new if known.of(moved[one]) == id_]
    if len(found) != 1:
        return
    target = found[0]
    if target in stayed:
        # What lies there on the other side is another one.
        target = _free(sides, target)
        moved[target] = moved.pop(found[0])
    stayed[target], sides.base[target] = stayed.pop(path), sides.base.pop(path)


def _part(sides: Sides, known: _Ids, path: str) -> None:
    """Where two documents lie at one path, the one that was there first stays, else the one that was made first."""
    old, mine, other = sides.base.get(path), sides.ours.get(path), sides.theirs.get(path)
    ids = known.of(mine), known.of(other)
    if not all(ids) or ids[0] == ids[1] or old in (mine, other):
        return
    before = known.of(old)
    if before in ids:
        leaving = sides.ours if ids[1] == before else sides.theirs
    else:
        leaving = sides.ours if known.whole(other) < known.whole(mine) else sides.theirs
    name = _free(sides, path)
    leaving[name] = leaving.pop(path)
    sides.renamed[path] = name


def _free(sides: Sides, path: str) -> str:
    taken = {folded(one) for tree in (sides.base, sides.ours, sides.theirs) for one in tree}
    numbered = re.fullmatch(r"(.+)-\d{1,3}(\.[^./]+)", path)
    first = numbered[1] + numbered[2] if numbered else path
    # `deploy-2` makes room as `deploy-3`, where it was the second of its name itself.
    return free_path(first if folded(first) in taken else path, lambda name: folded(name) in taken)
