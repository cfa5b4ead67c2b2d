"""What an assembled prompt shows: its fragments by file, read back from the very text that is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.core.context.layers import Snapshot
from clew.core.text.printable import printable
from clew.services.passages import MAP_REF

_FRAGMENT = re.compile(
    r"^<fragment (?P<mark>[0-9a-f]{8}) (?P<head>[^\n]*)>\n(?P<body>.*?)^</fragment (?P=mark)>$",
    re.DOTALL | re.MULTILINE,
)
_FACTS = re.compile(r"^<facts (?P<mark>[0-9a-f]{8})>\n(?P<body>.*?)^</facts (?P=mark)>$", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\d+\. (?P<path>.+) \(\d+ lines\)$", re.MULTILINE)
_RANGE = re.compile(r":\d+(-\d+)?$")


@dataclass(frozen=True, slots=True)
class ShownContext:
    """Fragments as (header, body), and the lines of names and facts."""

    fragments: tuple[tuple[str, str], ...]
    facts: tuple[str, ...]

    def holds(self, path: str, text: str) -> bool:
        """Whether a fragment of this file shows the text."""
        return any(text in body and _is_of(head, path) for head, body in self.fragments)

    def holding(self, needed: str) -> list[str]:
        """Headers of the fragments that show the text, or that are of the file of this path."""
        return [head for head, body in self.fragments if needed in body or _is_of(head, needed)]

    def names(self, needed: str) -> bool:
        """Whether the context shows the text or the path anywhere."""
        return bool(self.holding(needed)) or any(needed in line for line in self.facts)


def shown_context(snapshot: Snapshot) -> ShownContext:
    """The fragments and facts of a prompt."""
    text = snapshot.text()
    fragments = tuple((match["head"], match["body"]) for match in _FRAGMENT.finditer(text))
    facts = tuple(line for match in _FACTS.finditer(text) for line in match["body"].splitlines())
    return ShownContext(fragments, facts)


def named_files(snapshot: Snapshot) -> tuple[str, ...]:
    """Files that the prompt names as related, in its order, each once: those of its list, then those it only shows."""
    listed = [
        match["path"]
        for head, body in shown_context(snapshot).fragments
        if head.startswith(f"related {MAP_REF}")
        for match in _ROW.finditer(body)
    ]
    refs = [kept.ref for kept in snapshot.report.kept if kept.source == "related" and kept.ref != MAP_REF]
    return tuple(dict.fromkeys([*listed, *(_RANGE.sub("", ref) for ref in refs)]))


def _is_of(head: str, path: str) -> bool:
    shown = printable(path)
    return f" {head} ".find(f" {shown} ") >= 0 or f" {head}".find(f" {shown}:") >= 0
