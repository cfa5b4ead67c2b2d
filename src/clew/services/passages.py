"""Turns ranked passages into fragments: neighbours joined, text read from the tree now, secrets removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.core.context.fragment import Fragment
from clew.core.index.kinds import Kind
from clew.core.index.passages import Passage
from clew.core.ports import Tree
from clew.core.text.redact import redact
from clew.errors import ClewError
from clew.services.relevance import Related, RelatedFile
from clew.stores.index import decode

MOST_PASSAGES = 60
"""Passages of one question that may become fragments."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One passage with its text as it stands on disk now."""

    file: RelatedFile
    first: int
    last: int
    lines: tuple[str, ...]
    score: float


def read_lines(tree: Tree) -> Callable[[str], tuple[str, ...]]:
    """A reader of the lines of a file, which reads each file once. What cannot be read or is binary has no lines."""
    seen: dict[str, tuple[str, ...]] = {}

    def read(path: str) -> tuple[str, ...]:
        if path not in seen:
            try:
                text = decode(tree.read(path))
            except ClewError:
                text = None
            lines = (text or "").split("\n")
            if lines and not lines[-1]:
                lines.pop()
            seen[path] = tuple(lines)
        return seen[path]

    return read


def shown_passages(related: Related, read: Callable[[str], tuple[str, ...]], most: int = MOST_PASSAGES) -> list[Shown]:
    """The best passages with their lines, best first. A passage beyond the present end of its file is left out."""
    found: list[Shown] = []
    for passage in related.passages[:most]:
        file = related.files[passage.file]
        lines = read(file.path)[passage.first - 1 : passage.last]
        if any(line.strip() for line in lines):
            found.append(Shown(file, passage.first, passage.first + len(lines) - 1, lines, passage.score))
    return found


def related_fragments(
    related: Related, read: Callable[[str], tuple[str, ...]], weight: int, *, most: int = MOST_PASSAGES
) -> list[Fragment]:
    """One fragment a passage, grouped by file; the first passage of a file says how long the file is."""
    fragments: list[Fragment] = []
    for shown in shown_passages(related, read, most):
        whole = len(read(shown.file.path))
        clean = redact("\n".join(shown.lines))
        notes = [] if shown.first == 1 and shown.last >= whole else [f"{shown.last - shown.first + 1} of {whole} lines"]
        if clean.count:
            notes.append(f"redacted: {clean.count} secrets")
        fragments.append(
            Fragment(
                "related",
                f"{shown.file.path}:{shown.first}-{shown.last}",
                clean.text,
                weight,
                relevance=shown.score,
                note="; ".join(notes),
                group=shown.file.path,
                order=shown.first,
            )
        )
    return fragments


def file_names(related: Related, most: int) -> Sequence[str]:
    """Paths of the best files that are not mere data."""
    return [file.path for file in related.files if file.kind is not Kind.DATA][:most]


def line_of(passage: Passage) -> int:
    """The line to cite for a passage."""
    return passage.first
