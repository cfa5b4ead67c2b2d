"""What a tool call is about to do, and what may be done unasked (R-17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["read", "edit", "command", "memory", "server", "agent"]
"""`memory`: the user's own notes, written through the one gate. `server`: a tool of an MCP server. `agent`: a
sub-agent."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a call would do, told before it is done."""

    kind: Kind
    title: str
    """One line: `edit src/app.py`, `run pytest -q`."""
    preview: str = ""
    """Exactly what will happen: the diff, the command, the arguments. Shown to the person who is asked."""
    subject: str = ""
    """What rules are matched against: the path relative to the workspace, or the command line."""
    paths: tuple[str, ...] = ()
    """Absolute paths that are read or written."""
    outside: bool = False
    """Touches a path outside the workspace: asked always."""
    reaches: tuple[str, ...] = ()
    """Of a command: paths outside the workspace that its words name. No rule covers it then. A command can reach others
    than its words tell."""

    @property
    def remembered(self) -> bool:
        """Whether a yes is kept for later sessions: that of a project's server is, while its entry stays the same."""
        return self.kind == "server" and self.outside
