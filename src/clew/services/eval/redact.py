"""`clew eval redact`: how many secrets of a labelled file are gone, and what else went with them.

One text a line: {"id", "text"} or {"id", "chunks"} (pieces of one text, fed one by one), and, if known, "secrets"
([{"value", "kind", "parts"}]: `value` as it stands in the text, `parts` the pieces of a value that is broken there) and
"tolerated" (texts that may stay or go).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

from clew.core.text.redact import RedactStream, redact
from clew.errors import UsageError
from clew.services.eval.labelled import read_labelled, share, text_of, texts_of

_RUN: Final = 8
"""No piece of a secret of so many characters may be left."""
_SHORT: Final = 12
"""A secret with fewer characters counts as gone when it nowhere stands whole."""
_PLACEHOLDER = re.compile(r"\[REDACTED(?::[\w.-]+)*\]")
_NOISE = re.compile(
    r"""(?x) \x1b\[[0-9;?]*[A-Za-z] | \\\r?\n | \r?\n[ \t]*[+\-|>│#]? | \\[rn]
      | ["'][ \t]*\+?[ \t]*\r?\n?[ \t]*["'] | [ \t]+"""
)
_SHAPE = '{"id": "s1", "text": "password: …", "secrets": [{"value": "…", "kind": "password"}]}'


@dataclass(frozen=True, slots=True)
class RedactItem:
    """One text: what was left of its secrets (kinds), whether it was changed without any, characters that went too."""

    id: str
    left: tuple[str, ...]
    alarm: bool
    lost: int
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RedactResult:
    """Figures over a file of texts.

    `gone` is the share of secrets of which nothing is left, `quiet` the share of texts without secrets that stayed as
    they were, `kept` the share of the other characters that stayed in texts with secrets; all in 0..1, 0.0 where there
    is nothing to count. `per_kind` gives n and gone of each kind, `removed` the placeholders by kind.
    """

    n: int
    secrets: int
    gone: float
    quiet: float
    kept: float
    false_alarms: int
    per_kind: Mapping[str, Mapping[str, float]]
    removed: Mapping[str, int]
    items: tuple[RedactItem, ...]


def evaluate_redact(path: Path, output: Path | None = None) -> RedactResult:
    """Redact each text of a file; write lines `{"id", "output"}` to `output`, pieces as a list of pieces.

    Raises NotFound without such a file, UsageError for a row of another shape or an output that cannot be written.
    """
    rows = [_row(where, row) for where, row in read_labelled(path, _SHAPE)]
    outs = [_redacted(row) for row in rows]
    if output is not None:
        lines = [
            json.dumps({"id": row.id, "output": out}, ensure_ascii=False) for row, out in zip(rows, outs, strict=True)
        ]
        try:
            output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {output}: {error.strerror}", hint="name another file") from error
    return _figures(rows, ["".join(out) for out in outs])


@dataclass(frozen=True, slots=True)
class _Secret:
    value: str
    kind: str
    whole: str
    """The value without what breaks it."""
    broken: bool


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    chunks: tuple[str, ...]
    pieces: bool
    secrets: tuple[_Secret, ...]
    tolerated: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.chunks)


def _row(where: str, row: dict[str, Any]) -> _Row:
    pieces = "chunks" in row
    chunks = texts_of(row, where, "chunks", _SHAPE) if pieces else (text_of(row, where, "text", _SHAPE),)
    secrets = tuple(_secret(where, one) for one in cast("list[Any]", row.get("secrets") or []))
    tolerated = texts_of(row, where, "tolerated", _SHAPE) if row.get("tolerated") else ()
    return _Row(text_of(row, where, "id", _SHAPE), chunks, pieces, secrets, tolerated)


def _secret(where: str, given: object) -> _Secret:
    if not isinstance(given, dict):
        raise UsageError(f'{where}: "secrets" must be a list of objects', hint=f"one JSON object a line: {_SHAPE}")
    row = cast("dict[str, Any]", given)
    value = text_of(row, where, "value", _SHAPE)
    parts = texts_of(row, where, "parts", _SHAPE) if row.get("parts") else ()
    return _Secret(value, str(row.get("kind") or "secret"), "".join(parts) or value, bool(parts))


def _redacted(row: _Row) -> str | list[str]:
    if not row.pieces:
        return redact(row.text).text
    stream = RedactStream()
    return [*(stream.feed(chunk) for chunk in row.chunks), stream.close()]


def _figures(rows: Sequence[_Row], outs: Sequence[str]) -> RedactResult:
    items: list[RedactItem] = []
    kinds: defaultdict[str, list[bool]] = defaultdict(list)
    removed: Counter[str] = Counter()
    quiet: list[bool] = []
    lost = public = 0
    for row, out in zip(rows, outs, strict=True):
        placeholders = tuple(one[10:-1].strip(":") or "secret" for one in _PLACEHOLDER.findall(out))
        removed.update(placeholders)
        left = tuple(secret.kind for secret in row.secrets if not _gone(secret, out))
        for secret in row.secrets:
            kinds[secret.kind].append(_gone(secret, out))
        alarm, missing = False, 0
        if row.secrets:
            rest = _PLACEHOLDER.sub("\0", _public(row))
            missing = len(rest) - _common(rest, _PLACEHOLDER.sub("\0", out))
            lost, public = lost + missing, public + len(rest)
        else:
            alarm = not _unchanged(row, out)
            quiet.append(not alarm)
        items.append(RedactItem(row.id, left, alarm, missing, placeholders))
    return RedactResult(
        n=len(rows),
        secrets=sum(map(len, kinds.values())),
        gone=share([one for each in kinds.values() for one in each]),
        quiet=share(quiet),
        kept=round(1 - lost / public, 4) if public else 0.0,
        false_alarms=quiet.count(False),
        per_kind={kind: {"n": len(each), "gone": share(each)} for kind, each in sorted(kinds.items())},
        removed=dict(sorted(removed.items())),
        items=tuple(items),
    )


def _gone(secret: _Secret, out: str) -> bool:
    forms = {secret.whole, unquote(secret.whole)} if "%" in secret.value else {secret.whole}
    texts = [out, _NOISE.sub("", out)] if secret.broken else [out]
    for form in forms:
        size = len(form) if len(form) < _SHORT else _RUN
        pieces = {form[at : at + size] for at in range(len(form) - size + 1)}
        if any(piece in text for piece in pieces for text in texts):
            return False
    return True


def _public(row: _Row) -> str:
    """The text without its secrets and without what is tolerated."""
    text = row.text
    kept = [True] * len(text)
    for value in (*(secret.value for secret in row.secrets), *row.tolerated):
        at = text.find(value)
        while value and at >= 0:
            kept[at : at + len(value)] = [False] * len(value)
            at = text.find(value, at + len(value))
    return "".join(char for char, keep in zip(text, kept, strict=True) if keep)


def _unchanged(row: _Row, out: str) -> bool:
    if not row.tolerated:
        return out == row.text
    between = re.split("|".join(map(re.escape, sorted(row.tolerated, key=len, reverse=True))), row.text)
    return re.fullmatch("(?s:.*?)".join(map(re.escape, between)), out) is not None


def _common(one: str, two: str) -> int:
    """Length of the longest common subsequence, by rows of bits (Hyyrö 2004): a bit for each character of `one`."""
    if not one:
        return 0
    places: defaultdict[str, int] = defaultdict(int)
    for at, char in enumerate(one):
        places[char] |= 1 << at
    every = (1 << len(one)) - 1
    row = every
    for char in two:
        met = row & places[char]
        row = ((row + met) | (row - met)) & every
    return len(one) - row.bit_count()
