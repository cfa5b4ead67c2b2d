"""Documents with two versions, until their user decides: the local text in place, the other one beside it.

A commit holds one of the texts in place, that of the machine that merged. On a machine whose own text is the other one
the folder has both exchanged, and an exchanged pair counts as unchanged: so no machine's text leaves its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew.adapters.memory_repository import Leaf, MemoryRepository
from clew.core.memory.document import document_of


@dataclass(frozen=True, slots=True)
class Copy:
    """The other side's version of a document, beside it."""

    path: str
    """The document, below the memory root."""
    copy: str
    """The file with the other side's text."""


def conflicts(root: Path) -> list[Copy]:
    """The conflicts that are open: each copy with its document, by path."""
    found: list[Copy] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(folder, root)
        for name in sorted(names):
            path = name if inside == "." else f"{inside}/{name}".replace(os.sep, "/")
            if document := document_of(path):
                found.append(Copy(document, path))
    return found


def without_exchanged(changes: Mapping[str, Leaf | None], tree: Mapping[str, Leaf]) -> dict[str, Leaf | None]:
    """What differs from a tree in the folder, without pairs that are only exchanged."""
    kept = dict(changes)
    for document, copy in _pairs(tree):
        if _is_exchange(kept.get(document), kept.get(copy), tree[document], tree[copy]):
            del kept[document], kept[copy]
    return kept


def exchanged(repository: MemoryRepository, tree: Mapping[str, Leaf]) -> dict[str, str]:
    """Document to copy of the pairs that the folder has the other way round than a tree."""
    found: dict[str, str] = {}
    for document, copy in _pairs(tree):
        now = [_on_disk(repository, path, tree[path]) for path in (document, copy)]
        if _is_exchange(now[0], now[1], tree[document], tree[copy]):
            found[document] = copy
    return found


def staying(
    before: Mapping[str, Leaf], after: Mapping[str, Leaf], wanted: Mapping[str, Leaf | None], pairs: Mapping[str, str]
) -> tuple[dict[str, Leaf | None], dict[str, Leaf]]:
    """What the folder is to become, and what it is now, so that the text in place stays there while it has a copy.

    `before` and `after` are trees, `wanted` what would be written of `after`, `pairs` as of `exchanged`.
    """
    now, goal = dict(before), dict(wanted)
    for document, copy in pairs.items():
        now[document], now[copy] = before[copy], before[document]
        goal |= {document: after.get(document), copy: after.get(copy)}
    for document, copy in _pairs(after):
        mine = now.get(document)
        if mine and (document in goal or copy in goal) and mine.id == after[copy].id != after[document].id:
            goal |= {document: after[copy], copy: after[document]}
    return goal, now


def _pairs(tree: Mapping[str, Leaf]) -> Iterator[tuple[str, str]]:
    """Each document with its first copy."""
    seen: set[str] = set()
    for copy in sorted(path for path in tree if ".conflict-" in path):
        document = document_of(copy)
        if document in tree and document not in seen and tree[document].regular and tree[copy].regular:
            seen.add(document)
            yield document, copy


def _is_exchange(document: Leaf | None, copy: Leaf | None, in_place: Leaf, beside: Leaf) -> bool:
    if document is None or copy is None:
        return False
    return (document.id, copy.id) == (beside.id, in_place.id) != (in_place.id, beside.id)


def _on_disk(repository: MemoryRepository, path: str, like: Leaf) -> Leaf | None:
    content = repository.on_disk(path)
    return None if content is None else Leaf(like.mode, repository.id_of(content, like.id), len(content))
