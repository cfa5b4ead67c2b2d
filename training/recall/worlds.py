"""Reads the labelled worlds: notes, and messages with the notes that should, may and must not come to mind.

A world is a text file. `@ KEY TYPE SCOPE TAGS… [> KEY of its successor] [until DATE]` begins a note; its name, its
description and its body follow on a line each (a name of tags only: user notes have no project), then `w` with the
`when` phrases between bars. A body or description may be missing where it would say nothing new. After a line `---`,
each message is `u` (user) or `a` (assistant), its text, `=>`, and the keys of relevant, acceptable and harmful notes,
separated by slashes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from clew.core.memory.recall import Note

WORLDS = Path(__file__).parent / "worlds"
TODAY = "2026-06-15"


@dataclass(frozen=True, slots=True)
class Said:
    """One labelled message; notes by id."""

    world: str
    text: str
    role: str
    relevant: tuple[str, ...]
    acceptable: tuple[str, ...]
    harmful: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Notes and messages of one person."""

    name: str
    notes: tuple[Note, ...]
    messages: tuple[Said, ...]


def read_worlds() -> list[World]:
    """All worlds, by name."""
    return [_read(path) for path in sorted(WORLDS.glob("*.txt"))]


def _read(path: Path) -> World:
    upper, _, lower = path.read_text(encoding="utf-8").partition("\n---\n")
    notes = [_note(path.stem, block) for block in re.split(r"^@ ", upper, flags=re.MULTILINE)[1:]]
    known = {note.id for note in notes}
    messages = [_message(path.stem, line, known) for line in lower.splitlines() if line.strip()]
    return World(path.stem, tuple(notes), tuple(messages))


def _note(world: str, block: str) -> Note:
    head, *lines = block.strip().split("\n")
    key, kind, scope, *rest = head.split()
    successor = expires = ""
    if ">" in rest:
        at = rest.index(">")
        successor, rest = f"{world}:{rest[at + 1]}", rest[:at]
    if "until" in rest:
        at = rest.index("until")
        expires, rest = rest[at + 1], rest[:at]
    when = tuple(part.strip() for line in lines if line.startswith("w ") for part in line[2:].split("|"))
    plain = [line for line in lines if not line.startswith("w ")]
    name, description, body = plain[0], plain[1], " ".join(plain[2:])
    return Note(
        f"{world}:{key}", name, description, body, kind, scope, "", tuple(rest), when, "active", successor, expires
    )


def _message(world: str, line: str, known: set[str]) -> Said:
    said, _, labels = line.rpartition("=>")
    groups = [tuple(f"{world}:{key}" for key in part.split()) for part in labels.split("/")]
    groups += [()] * (3 - len(groups))
    for key in (key for group in groups for key in group):
        if key not in known:
            raise ValueError(f"{world}: no note {key} for {line!r}")
    text = said[2:].strip().replace("\\n", "\n")
    return Said(world, text, "assistant" if said[0] == "a" else "user", groups[0], groups[1], groups[2])
