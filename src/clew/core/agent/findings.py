"""What language servers and checkers say about files: order, one line each, and what an edit changed of it (R-14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clew.core.text.printable import counted, printable

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information", "hint")
"""The worst first; number n of the protocol is the n-th, counted from 1."""
MOST_SHOWN: Final = 20
_MOST_MESSAGE: Final = 300
_RANK: Final = {severity: rank for rank, severity in enumerate(SEVERITIES)}


@dataclass(frozen=True, slots=True)
class Range:
    """From a character to before another one; lines and columns (in characters) count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found wrong."""

    source: str
    """Who says so: `basedpyright`, `Ruff`."""
    severity: Severity
    path: str
    """As the model writes it, or absolute where a program said it."""
    range: Range
    message: str
    code: str = ""
    """The rule: `F401`, `reportAssignmentType`."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two looks at a file."""

    introduced: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    kept: tuple[Finding, ...]
    """As they are now."""


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, then by place; the same thing said twice once."""

    def place(one: Finding) -> tuple[object, ...]:
        where = one.range
        at = (where.line, where.column, where.end_line, where.end_column)
        return _RANK[one.severity], one.path, at, one.source, one.message, str(one.code)

    return sorted(dict.fromkeys(findings), key=place)


def rendered(findings: Iterable[Finding], most: int = MOST_SHOWN) -> list[str]:
    """One line each, at most `most`, then how many more there are."""
    every = ordered(findings)
    lines = [_line(one) for one in every[:most]]
    if rest := every[most:]:
        lines.append(f"… and {len(rest):,} more ({tally(rest)})")
    return lines


def tally(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`."""
    numbers = Counter(one.severity for one in findings)
    return ", ".join(
        f"{numbers[one]:,} {one}" if one == "information" else counted(numbers[one], one)
        for one in SEVERITIES
        if numbers[one]
    )


def compared(before: Sequence[Finding], after: Sequence[Finding], old: str, new: str) -> Change:
    """What the step from the text `old` to the text `new` changed.

    A finding outside of the lines that were rewritten is the same where it moved with its line. Within them, it is the
    same where it says the same; of several that do, the nearest.
    """
    moved = _moving(old, new)
    left: dict[tuple[str, ...], list[tuple[int, Finding]]] = {}
    for one in before:
        left.setdefault(_says(one), []).append((moved(one.range.line), one))
    kept: list[Finding] = []
    open_: list[Finding] = []
    for one in after:
        same = left.get(_says(one), [])
        found = next((pair for pair in same if pair[0] == one.range.line), None)
        if found is None:
            open_.append(one)
        else:
            same.remove(found)
            kept.append(one)
    introduced: list[Finding] = []
    for one in open_:
        same = left.get(_says(one), [])
        if same:
            same.remove(min(same, key=lambda pair: abs(pair[0] - one.range.line)))
            kept.append(one)
        else:
            introduced.append(one)
    fixed = [one for pairs in left.values() for _, one in pairs]
    return Change(tuple(ordered(introduced)), tuple(ordered(fixed)), tuple(ordered(kept)))


def _moving(old: str, new: str) -> Callable[[int], int]:
    """Where a line of the old text stands in the new one; one that was rewritten stays where it was."""
    before, after = old.split("\n"), new.split("\n")
    shorter = min(len(before), len(after))
    first = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    alike = next((at for at in range(shorter - first) if before[-1 - at] != after[-1 - at]), shorter - first)
    tail, by = len(before) - alike, len(after) - len(before)
    return lambda line: line + by if line > tail else line


def column(line: str, units: int, encoding: str) -> int:
    """The column, counted in characters from 1, that a server counts in `utf-8`, `utf-16` or `utf-32` units from 0."""
    if encoding == "utf-32" or line.isascii():
        return units + 1
    width = 0
    for at, char in enumerate(line):
        if width >= units:
            return at + 1
        width += len(char.encode("utf-8", "replace")) if encoding == "utf-8" else 1 + (char > "\uffff")
    return len(line) + 1


def _says(finding: Finding) -> tuple[str, ...]:
    return finding.source, finding.severity, finding.code, finding.message


def _line(one: Finding) -> str:
    place = f"{printable(one.path)}:{one.range.line}:{one.range.column}"
    words = " ".join(one.message.split())
    parts = (place, one.severity, printable(one.source, 60), printable(one.code, 60), printable(words, _MOST_MESSAGE))
    return " ".join(part for part in parts if part)
