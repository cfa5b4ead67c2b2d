"""Moments in a run that are worth a handoff: a commit, tests that fail no more (W-04)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_COMMIT: Final = re.compile(
    r"(?:^|[;&|]\s*|\n)\s*git\b(?:\s+-\S+(?:\s+\S+)?)*\s+(?:commit|merge|rebase --continue|am)\b"
)
_TESTS: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|(?:go|cargo|npm|pnpm|yarn|bun|make|mvn|gradle|"
    r"dotnet|swift|mix|deno|just)\s+(?:run\s+)?(?:test|check)\S*)"
)


@dataclass(slots=True)
class Milestones:
    """What commands have shown so far in a window."""

    _failing: dict[str, None] = field(default_factory=dict[str, None])

    def hear(self, tool: str, arguments: Mapping[str, object], *, failed: bool) -> str:
        """What a call that has answered means: `commit`, `tests pass again`, or nothing."""
        command = arguments.get("command")
        if tool != "shell" or not isinstance(command, str):
            return ""
        if (found := _TESTS.search(command)) is not None:
            kind = found.group().split()[0]
            if failed:
                self._failing[kind] = None
                return ""
            return "tests pass again" if self._failing.pop(kind, self) is None else ""
        return "commit" if _COMMIT.search(command) and not failed else ""
