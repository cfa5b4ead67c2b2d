"""What happened in a window, as values. Whoever hosts an agent makes them from its own records.

`spot` says where it stands: `#3.5`, the fifth step of the third run of the session; empty where the host keeps none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Asked:
    """A message of the user."""

    text: str
    spot: str = ""


@dataclass(frozen=True, slots=True)
class Replied:
    """What the model said, between tools or at the end."""

    text: str
    spot: str = ""


@dataclass(frozen=True, slots=True)
class Used:
    """A tool that was called and has answered."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """`command`, `path` or `file_path`, `pattern`, and what is written: `content`, `new_string`."""
    output: str = ""
    ok: bool | None = None
    """Whether it did what it should; None where the host does not say, then the output tells."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What the model wrote down on purpose, in a note."""

    text: str
    spot: str = ""


@dataclass(frozen=True, slots=True)
class Logged:
    """What the model says that it did, in a log: progress, and no decision."""

    text: str
    spot: str = ""


@dataclass(frozen=True, slots=True)
class Over:
    """The agent has stopped to work on what was asked, and waits for the user. Not every host tells."""

    finished: bool
    """It came to its own end; else it was broken off or failed."""
    began_before: bool = False
    """What it worked on was asked in an earlier window."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan, written anew."""

    text: str


@dataclass(frozen=True, slots=True)
class Altered:
    """A file that somebody else changed meanwhile."""

    path: str
    text: str = ""
    """The whole new text, as far as it is known."""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Hinted:
    """Hints from memory that the model was shown."""

    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The host shortened the window."""


Event: TypeAlias = Asked | Replied | Used | Noted | Logged | Planned | Over | Altered | Hinted | Compacted
