"""What memory did and did not do, one entry a line of JSON: how an entry is written, bounded, read and chosen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from clew.core.text.printable import printable
from clew.errors import UsageError

FORMAT: Final = 1
"""Number of the form of a file, in its first line."""
KINDS: Final = ("recall", "hint", "miss", "write", "redaction", "exclusion", "reject", "sync", "injection", "purge")
NEEDLESS: Final = "needless"
"""Number of a miss to which nothing is lacking: small talk, for instance."""
MOST_LINE: Final = 32_768
"""Bytes of a line; no entry comes near, so a longer line is damage."""
MOST_QUERY: Final = 160
"""Characters of a query: enough to know it again, not enough to keep a pasted text."""
_MOST_REASON: Final = 400
_MOST_NAME: Final = 160
_MOST_REFS: Final = 20
_MOST_NUMBERS: Final = 20
_MOST_GIVEN: Final = 50_000
"""Characters of a text that the redactor looks at."""

Redactor = Callable[[str], str]
"""Gives a text without its secrets."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. Texts are redacted and short."""

    time: str
    """UTC, as `2026-03-01T09:30:00.125Z`: texts of this form sort as times do."""
    kind: str
    """One of KINDS; from a newer Clew it may be another word."""
    reason: str = ""
    refs: tuple[str, ...] = ()
    query: str = ""
    """Only the beginning."""
    workspace: str = ""
    """Empty for what belongs to the user."""
    session: str = ""
    run: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores, counts, milliseconds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which entries are wanted. Empty means all."""

    since: str = ""
    """The earliest time, in the form of `Entry.time`."""
    until: str = ""
    """The latest time, not included."""
    kinds: frozenset[str] = frozenset()
    workspace: str | None = None
    """Entries of this workspace and of none; None for every workspace."""
    lacking: bool = False
    """Leave out misses to which nothing is lacking."""
    text: str = ""
    """Stands in a reason, a query or a reference, in capitals or not."""

    def takes(self, entry: Entry) -> bool:
        """Whether an entry is wanted."""
        if (self.since and entry.time < self.since) or (self.until and entry.time >= self.until):
            return False
        if (self.kinds and entry.kind not in self.kinds) or (
            self.workspace is not None and entry.workspace not in ("", self.workspace)
        ):
            return False
        if self.lacking and entry.kind == "miss" and NEEDLESS in entry.numbers:
            return False
        return not self.text or self.text.casefold() in "\n".join((entry.reason, entry.query, *entry.refs)).casefold()


def stamp(moment: datetime) -> str:
    """The time of an entry, to the millisecond."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def bounded(entry: Entry, redact: Redactor) -> Entry:
    """The entry as it may be kept: without secrets, without control characters, each part short."""
    numbers = {
        printable(str(name), 40): float(number)
        for name, number in list(entry.numbers.items())[:_MOST_NUMBERS]
        if abs(number) < float("inf")
    }
    return replace(
        entry,
        kind=printable(entry.kind, 40),
        reason=_short(entry.reason, _MOST_REASON, redact),
        refs=tuple(_short(ref, _MOST_NAME, redact) for ref in entry.refs[:_MOST_REFS]),
        query=_short(entry.query, MOST_QUERY, redact),
        workspace=_short(entry.workspace, _MOST_NAME, redact),
        session=_short(entry.session, _MOST_NAME, redact),
        run=_short(entry.run, _MOST_NAME, redact),
        numbers=numbers,
    )


def _short(text: str, limit: int, redact: Redactor) -> str:
    # Redacted before it is cut: half a secret has no shape that could be known. The last word of a text too long to
    # look at may be such a half.
    given = text if len(text) <= _MOST_GIVEN else re.sub(r"\S*\Z", "", text[:_MOST_GIVEN])
    return printable(" ".join(redact(given).split()), limit)


def query_of(text: str) -> str:
    """How an entry names a text without secrets that was asked or looked for."""
    return _short(text, MOST_QUERY, str)


def head_line() -> str:
    """The first line of a file."""
    return json.dumps({"clew_audit": FORMAT}) + "\n"


def line_of(entry: Entry) -> str:
    """An entry as a line, with its end. What is empty is left out."""
    row: dict[str, Any] = {"time": entry.time, "kind": entry.kind}
    row |= {name: value for name in _TEXTS if (value := getattr(entry, name))}
    if entry.refs:
        row["refs"] = list(entry.refs)
    row |= {name: _tidy(number) for name, number in entry.numbers.items() if name not in row and name not in _TEXTS}
    return json.dumps(row, ensure_ascii=False) + "\n"


_TEXTS: Final = ("workspace", "session", "run", "reason", "query")


def _tidy(number: float) -> float:
    return int(number) if number == int(number) and abs(number) < 1e15 else round(number, 6)


def read_line(line: bytes) -> Entry | int | None:
    """An entry; the format number for a first line; None for a line that is neither. Unknown keys are left out."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    found = cast("dict[str, Any]", row)
    number = found.get("clew_audit")
    if type(number) is int:
        return number
    time, kind, refs = found.get("time"), found.get("kind"), found.get("refs", [])
    if not isinstance(time, str) or not isinstance(kind, str) or not _TIME.fullmatch(time):
        return None
    texts = {name: str(found.get(name, "")) for name in _TEXTS}
    numbers = {name: value for name, value in found.items() if type(value) in (int, float)}
    kept = tuple(map(str, cast("list[object]", refs))) if isinstance(refs, list) else ()
    return Entry(time, kind, refs=kept, numbers=numbers, **texts)


_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_SPAN: Final = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: datetime) -> str:
    """A time as people write it, in the form of `Entry.time`: `30m`, `12h`, `2d`, `3w` ago, a date, a date with a time.

    What names no zone is UTC, as all that is printed. Raises UsageError.
    """
    wanted = text.strip()
    try:
        if span := _SPAN.fullmatch(wanted.lower()):
            return stamp(now - timedelta(**{_UNITS[span[2]]: int(span[1])}))
        found = datetime.fromisoformat(wanted)
        return stamp(found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise UsageError(
            f"`{printable(text, 60)}` is no time", hint="write `2d`, `12h`, `30m`, `3w` or a date such as `2026-03-01`"
        ) from None


def names(entry: Entry) -> Sequence[str]:
    """What an entry is about, for a line on a terminal: its references, else its query."""
    return entry.refs or ((entry.query,) if entry.query else ())
