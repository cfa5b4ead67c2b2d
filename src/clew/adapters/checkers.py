"""Run a checker over one file and read what it says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from clew.adapters.programs import PosixPrograms
from clew.core.agent.findings import Finding, Range, Severity
from clew.core.text.printable import printable
from clew.errors import ClewError

_MOST_OUTPUT: Final = 4 << 20
_ROOM: Final = 4_000_000_000
_LEVELS: Final[dict[str, Severity]] = {"error": "error", "warning": "warning", "info": "information", "style": "hint"}
_PLACED: Final = re.compile(r"^(?P<path>.+?):(?P<line>\d+):(?P<column>\d+): (?P<message>.+)$")
_NODE: Final = re.compile(r"^(?P<path>/.+):(?P<line>\d+)$")


_Form = TypeVar("_Form")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a checker said: findings, or why there are none."""

    findings: tuple[Finding, ...] | None
    words: str = ""


def check(
    programs: PosixPrograms, name: str, argv: Sequence[str], form: str, path: Path, folder: Path,
    environ: Mapping[str, str], seconds: float, stopped: Callable[[], bool],
) -> Checked:  # fmt: skip
    """Let a checker look at a file, for at most `seconds`."""
    try:
        program = programs.on_pipes([*argv, str(path)], str(folder), environ, f"check-{name}")
    except ClewError as error:
        return Checked(None, str(error))
    try:
        program.limit_room(_ROOM)
        output = bytearray()
        deadline = time.monotonic() + seconds
        while (piece := program.read(64 << 10, 0.05)) != b"":
            output += piece or b""
            if time.monotonic() > deadline or stopped() or len(output) > _MOST_OUTPUT:
                return Checked(None, f"{name} was ended: it took longer than {seconds:.0f} s, or said too much")
            if piece is None and program.poll() is not None:
                break
        while program.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        errors = program.errors(wait=0.05)
        found = _FORMS[form](output.decode("utf-8", "replace"), errors, path)
        if found is None:
            last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "it says nothing")
            return Checked(None, f"{name} failed: {printable(last, 200)}")
        return Checked(tuple(found))
    finally:
        program.end(0.2)
        program.close()


class _Place(msgspec.Struct):
    row: int = 1
    column: int = 1


class _RuffRow(msgspec.Struct):
    message: str
    code: str | None = None
    location: _Place | None = None
    end_location: _Place | None = None


class _ShellRow(msgspec.Struct, rename="camel"):
    message: str
    line: int = 1
    column: int = 1
    end_line: int | None = None
    end_column: int | None = None
    level: str = "warning"
    code: int = 0


class _ShellRows(msgspec.Struct):
    comments: list[_ShellRow]


def _ruff(output: str, errors: str, path: Path) -> list[Finding] | None:
    rows = _read(output, list[_RuffRow])
    if rows is None:
        return None
    found: list[Finding] = []
    for row in rows:
        place = row.location or _Place()
        end = row.end_location or place
        broken = not row.code or row.code == "invalid-syntax"
        span = _span(place.row, place.column, end.row, end.column)
        found.append(Finding("ruff", "error" if broken else "warning", str(path), span, row.message, row.code or ""))
    return found


def _shellcheck(output: str, errors: str, path: Path) -> list[Finding] | None:
    told = _read(output, _ShellRows)
    if told is None:
        return None
    return [
        Finding(
            "shellcheck", _LEVELS.get(row.level, "warning"), str(path),
            _span(row.line, row.column, row.end_line, row.end_column), row.message, f"SC{row.code}",
        )
        for row in told.comments
    ]  # fmt: skip


def _gofmt(output: str, errors: str, path: Path) -> list[Finding] | None:
    found: list[Finding] = []
    for line in errors.splitlines():
        if told := _PLACED.match(line):
            span = _span(int(told["line"]), int(told["column"]))
            found.append(Finding("gofmt", "error", str(path), span, told["message"]))
    if errors.strip() and not found:
        return None
    if not found and output.strip():
        found.append(Finding("gofmt", "hint", str(path), Range(1, 1, 1, 1), message="is not formatted as gofmt does"))
    return found


def _node(output: str, errors: str, path: Path) -> list[Finding] | None:
    lines = errors.splitlines()
    if not lines:
        return []
    told = next((match for line in lines if (match := _NODE.match(line))), None)
    message = next((line for line in lines if re.match(r"\w*Error\b", line)), "")
    if told is None or not message:
        return None
    return [Finding("node", "error", str(path), _span(int(told["line"]), 1), message)]


_FORMS: Final[dict[str, Callable[[str, str, Path], list[Finding] | None]]] = {
    "ruff": _ruff, "shellcheck": _shellcheck, "gofmt": _gofmt, "node": _node,
}  # fmt: skip


def _read(text: str, kind: type[_Form]) -> _Form | None:
    """What a checker said; None where it is not of that form."""
    try:
        return msgspec.json.decode(text.encode(), type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _span(line: int, column: int, end_line: int | None = None, end_column: int | None = None) -> Range:
    first, start = max(line, 1), max(column, 1)
    return Range(first, start, max(end_line or first, 1), max(end_column or start, 1))
