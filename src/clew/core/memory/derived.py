"""Which parts of what is kept Clew made itself from other texts: there, a line break of the text became a blank."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Final

MESSAGE: Final = "message"
"""The kind of what a commit or a tag says."""
_WHOLE: Final = frozenset({"audit", "hints", "index", MESSAGE})
"""Kinds that hold only what was made from other texts, or is told of them."""
_MADE: Final = frozenset({"handoff", "reflections"})
"""Folders of documents that are written by rule."""
_TOLD: Final = (".git/logs/", ".git/clew/pending")
"""Files of git that repeat messages."""
_FRONT: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n.*?^---[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(rb"^#{1,6} [^\n]*", re.MULTILINE)
_MOST_FRONT: Final = 1 << 16


def derived_parts(kind: str, path: str, content: bytes | mmap) -> Sequence[tuple[int, int]]:
    """Start and end of the parts that Clew made, in the bytes of a file of this kind; `path` is below the memory root.

    Of a document these are its front matter, whose name and description come from the text, and its headings; of a
    ledger or a reflection all of it.
    """
    if kind in _WHOLE or path.startswith(_TOLD) or _is_written_by_rule(path):
        return ((0, len(content)),)
    return tuple(_of_document(content)) if path.lower().endswith(".md") else ()


def _is_written_by_rule(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(_MADE.intersection(folders)) and not name.startswith("PLAN")


def _of_document(content: bytes | mmap) -> Iterator[tuple[int, int]]:
    front = _FRONT.match(content[:_MOST_FRONT])
    if front is not None:
        yield front.span()
    yield from (found.span() for found in _HEADING.finditer(content, front.end() if front is not None else 0))
