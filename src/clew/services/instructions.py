"""Instruction files of a project: what its people want an agent to read in every session (R-04)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clew.adapters.regular import read_regular
from clew.core.agent.prompt import Injection
from clew.core.text.printable import visible
from clew.errors import ClewError, OverBudget

NAMES: Final = ("AGENTS.md", "CLAUDE.md")
"""In each folder the first that exists counts: many projects keep both, one of them saying `@AGENTS.md`."""
MOST: Final = 32_000
"""Characters of one file that go along; more is cut, which is said."""
MOST_READ: Final = 16_000_000
"""Bytes of a file that is looked at."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """The files as they were read, and what they looked like."""

    injections: tuple[Injection, ...]
    digests: dict[str, str]
    """By path relative to the root."""


def read_instructions(root: Path, cwd: Path, redact: Callable[[str], str]) -> Instructions:
    """The files of the workspace root and of each folder down to `cwd`, outermost first.

    A link that leads out of the workspace is not followed; what cannot be read is left out.
    """
    found: list[Injection] = []
    digests: dict[str, str] = {}
    for folder in _folders(root, cwd):
        for name in NAMES:
            path = folder / name
            if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
                continue
            try:
                content = read_regular(path, MOST_READ)
            except OverBudget:
                shown = path.relative_to(root).as_posix()
                digests[shown] = "too long"
                found.append(Injection(shown, f"[{shown} is too long to be read here; `read` shows it]"))
                break
            except (ClewError, OSError):
                continue
            text = content.decode("utf-8", "replace").lstrip("\ufeff")
            shown = path.relative_to(root).as_posix()
            digests[shown] = hashlib.blake2b(content, digest_size=8).hexdigest()
            if len(text) > MOST:
                text = f"{text[:MOST]}\n[… the rest of {shown} is left out; `read` shows it]"
            if text.strip():
                found.append(Injection(shown, visible(redact(text))))
            break
    return Instructions(tuple(found), digests)


def changed_since(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """Which files came, went or changed."""
    return tuple(sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name)))


def _folders(root: Path, cwd: Path) -> list[Path]:
    try:
        below = cwd.resolve().relative_to(root.resolve())
    except ValueError:
        return [root]
    folders = [root]
    for part in below.parts:
        folders.append(folders[-1] / part)
    return folders
