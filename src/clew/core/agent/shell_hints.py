"""The block that tells the model which shells there are (R-13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.core.text.printable import counted, printable

MOST_SHELLS = 5
_MOST_COMMAND = 120
_MOST_FOLDER = 200


@dataclass(frozen=True, slots=True)
class ShellLine:
    """One terminal that was not killed."""

    id: str
    name: str
    status: str
    """`running`, `exited 1`, `ended by SIGSEGV`."""
    command: str
    folder: str
    lines: int
    running: bool


def shell_hints(shells: Sequence[ShellLine]) -> str:
    """The block `[shell_hints]`, without any output of the shells; empty where there is none.

    `shells` are in the order in which they were started. Of more than five, those that run are told first, then the
    latest.
    """
    if not shells:
        return ""
    ranked = sorted(range(len(shells)), key=lambda at: (not shells[at].running, -at))[:MOST_SHELLS]
    lines = [shell_line(shells[at]) for at in sorted(ranked)]
    if more := len(shells) - len(lines):
        lines.append(f"and {more} more: terminal_list")
    return "\n".join(["[shell_hints]", *lines, "terminal_read gives their text, terminal_snapshot the screen."])


def shell_line(shell: ShellLine) -> str:
    """One shell on one line: id, name, status, command, folder, lines."""
    name = "" if shell.name == shell.id else f' "{printable(shell.name, 40)}"'
    command = printable(shell.command, _MOST_COMMAND) or "(shell)"
    folder = printable(shell.folder, _MOST_FOLDER)
    return f"{shell.id}{name} {shell.status} · {command} · in {folder} · {counted(shell.lines, 'line')}"
