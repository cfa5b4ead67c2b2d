"""Run a checker over one file and read what it says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
        errors = _settled(program.errors)
        found = _FORMS[form](output.decode("utf-8", "replace"), errors, path)
        if found is None:
            last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "it says nothing")
            return Checked(None, f"{name} failed: {printable(last, 200)}")
        return Checked(tuple(found))
    finally:
        program.end(0.2)
        program.close()


def _settled(errors: Callable[[], str]) -> str:
    """What a program that has ended wrote to its errors; another thread takes that, which may be a moment behind."""
    said = errors()
    for _ in range(10):
        time.sleep(0.005)
        more = errors()
        if more == said and said:
            break
        said = more
    return said


def _ruff(output: str, errors: str, path: Path) -> list[Finding] | None:
    rows = _json(output)
    if not isinstance(rows, list):
        return None
    found: list[Finding] = []
    for row in rows:
        place, end = row.get("location") or {}, row.get("end_location") or {}
        code = row.get("code") or ""
        broken = not code or code == "invalid-syntax"
        span = _span(place.get("row"), place.get("column"), end.get("row"), end.get("column"))
        found.append(Finding("ruff", "error" if broken else "warning", str(path), span, str(row.get("message")), code))
    return found


def _shellcheck(output: str, errors: str, path: Path) -> list[Finding] | None:
    told = _json(output)
    if not isinstance(told, dict):
        return None
    return [
        Finding(
            "shellcheck", _LEVELS.get(row.get("level"), "warning"), str(path),
            _span(row.get("line"), row.get("column"), row.get("endLine"), row.get("endColumn")),
            str(row.get("message")), f"SC{row.get('code')}",
        )
        for row in told.get("comments") or ()
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


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return None


def _span(line: Any, column: Any, end_line: Any = None, end_column: Any = None) -> Range:
    first, start = _number(line, 1), _number(column, 1)
    return Range(first, start, _number(end_line, first), _number(end_column, start))


def _number(value: Any, other: int) -> int:
    return value if isinstance(value, int) and value > 0 else other
