"""Turns ranked passages into fragments: neighbours joined, text read from the tree now, secrets removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from clew.core.context.fragment import Fragment
from clew.core.index.kinds import Kind, is_licence
from clew.core.ports import Tree
from clew.core.text.content import read_text
from clew.core.text.printable import counted, printable
from clew.core.text.redact import Redacted, is_secret_path, redact
from clew.errors import ClewError
from clew.services.relevance import Related, RelatedFile

_OF_LICENCES = frozenset("licens licenc licensor copyright patent copyleft legal warranti 许可 版权 授权 协议".split())
"""Terms of a question that asks for the text of a licence."""
MAP_REF = "related:files"
"""Reference of the fragment that lists the best files."""
NAMED_FILES = 10
"""Files that a context names in the order of their relevance."""
WITHHELD = "withheld: it usually holds secrets"
"""What stands beside the name of a file of secrets."""
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


class LineReader:
    """Reads the lines of a file, each file once. What cannot be read or is binary has no lines."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seen: dict[str, tuple[tuple[str, ...], str]] = {}

    def __call__(self, path: str) -> tuple[str, ...]:
        """The lines of the file at a path of the tree."""
        return self._read(path)[0]

    def note(self, path: str) -> str:
        """How the file was read, where it is not UTF-8."""
        return self._read(path)[1]

    def _read(self, path: str) -> tuple[tuple[str, ...], str]:
        if path not in self._seen:
            try:
                found = read_text(self._tree.read(path))
            except ClewError:
                found = None
            text, note = found or ("", "")
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            if lines and not lines[-1]:
                lines.pop()
            self._seen[path] = tuple(lines), note
        return self._seen[path]


def read_lines(tree: Tree) -> LineReader:
    """A reader of the lines of a tree's files."""
    return LineReader(tree)


def shown_passages(related: Related, read: Callable[[str], tuple[str, ...]], most: int = MOST_PASSAGES) -> list[Shown]:
    """The best passages with their lines, best first. A passage beyond the present end of its file is left out."""
    found: list[Shown] = []
    licences = _asks_licence(related)
    for passage in related.passages[:most]:
        file = related.files[passage.file]
        if is_licence(file.path) and not licences:
            continue
        lines = read(file.path)[passage.first - 1 : passage.last]
        if any(line.strip() for line in lines):
            found.append(Shown(file, passage.first, passage.first + len(lines) - 1, lines, passage.score))
    return found


def related_fragments(
    related: Related,
    read: LineReader,
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
        if encoding := read.note(shown.file.path):
            notes.append(encoding)
        if clean.count:
            notes.append(f"redacted: {counted(clean.count, 'secret')}")
        fragments.append(
            Fragment(
                "related",
                f"{printable(shown.file.path)}:{shown.first}-{shown.last}",
                clean.text,
                weight,
                relevance=shown.score,
                note="; ".join(notes),
                group=printable(shown.file.path),
                order=shown.first,
            )
        )
    return fragments


def named_files(related: Related) -> list[RelatedFile]:
    """The files that a context names as most relevant, best first."""
    licences = _asks_licence(related)
    best = (file for file in related.files if licences or not is_licence(file.path))
    return list(islice(best, NAMED_FILES))


def _asks_licence(related: Related) -> bool:
    """Whether licences are asked for: their text is like many questions and answers next to none."""
    return not _OF_LICENCES.isdisjoint(related.query.words) or any(map(is_licence, related.paths))


def withheld(question: str, paths: Iterable[str]) -> list[str]:
    """The files of secrets whose name or path stands in the question."""
    words = {word.strip("`'\"()[]<>,;:?!.，。？！：；、") for word in re.split(r"[\s，。？！：；、]+", question)}
    words |= {f".{word}" for word in words} | set(re.findall(r"[\w./-]*[\w/-]", question, re.ASCII))
    return [path for path in paths if (path in words or path.rpartition("/")[2] in words) and is_secret_path(path)]


def known_of(path: str, kind: Kind, lines: int) -> str:
    """What is known of a file, for a list that names it: its lines, or why its contents were not read."""
    if is_secret_path(path):
        return WITHHELD
    return "contents not read" if kind is Kind.DATA else counted(lines, "line")


def listed_files(related: Related) -> list[str]:
    """The best files, each on a line with its place and what is known of it."""
    return [
        f"{place}. {printable(file.path)} ({known_of(file.path, file.kind, file.lines)})"
        for place, file in enumerate(named_files(related), 1)
    ]


def _map(related: Related, weight: int) -> Fragment:
    """One short fragment that names the best files in order, so that what is not shown is known by name."""
    best = max(passage.score for passage in related.passages)
    return Fragment(
        "related", MAP_REF, "\n".join(listed_files(related)), weight, relevance=best + 1.0, note="best files, in order"
    )
