"""Turns ranked passages into fragments: neighbours joined, text read from the tree now, secrets removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clew.core.context.fragment import Fragment
from clew.core.ports import Tree
from clew.core.text.content import decode
from clew.core.text.printable import printable
from clew.core.text.redact import Redacted, redact
from clew.errors import ClewError
from clew.services.relevance import Related, RelatedFile

MAP_REF = "related:files"
"""Reference of the fragment that lists the best files."""
NAMED_FILES = 10
"""Files that a context names in the order of their relevance."""
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
    related: Related,
    read: Callable[[str], tuple[str, ...]],
    weight: int,
    *,
    most: int = MOST_PASSAGES,
    redacts: bool = True,
) -> list[Fragment]:
    """One fragment a passage, grouped by file; the first passage of a file says how long the file is."""
    fragments = [_map(related, weight)] if related.passages else []
    for shown in shown_passages(related, read, most):
        whole = len(read(shown.file.path))
        body = "\n".join(shown.lines)
        clean = redact(body) if redacts else Redacted(body)
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


def named_files(related: Related) -> list[RelatedFile]:
    """The files that a context names as most relevant, best first."""
    return list(related.files[:NAMED_FILES])


def _map(related: Related, weight: int) -> Fragment:
    """One short fragment that names the best files in order, so that what is not shown is known by name."""
    rows = [
        f"{place}. {printable(file.path)} ({file.lines} lines)" for place, file in enumerate(named_files(related), 1)
    ]
    best = max(passage.score for passage in related.passages)
    return Fragment("related", MAP_REF, "\n".join(rows), weight, relevance=best + 1.0, note="best files, in order")
