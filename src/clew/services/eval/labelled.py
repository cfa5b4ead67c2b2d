"""Labelled files: one JSON object a line; blank lines and lines that begin with `#` are skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from clew.errors import NotFound, UsageError


def read_labelled(path: Path, shape: str) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a file, each with `path:line`. `shape` is an example line, for hints.

    Raises NotFound without such a file, UsageError where it is not such text or holds no object at all.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(
            f"no file {path}", hint="`clew eval init` writes a commented template for your own questions"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint=f"the file must be UTF-8 text, {_each(shape)}") from error
    found = list(_objects(path, text, shape))
    if not found:
        raise UsageError(f"{path} holds no question", hint=_each(shape))
    return found


def _objects(path: Path, text: str, shape: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}:{number}"
        try:
            parsed: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where} is not JSON: {error}", hint=_each(shape)) from error
        if not isinstance(parsed, dict):
            raise UsageError(f"{where} is not a JSON object", hint=_each(shape))
        yield where, cast("dict[str, Any]", parsed)


def text_of(row: dict[str, Any], where: str, name: str, shape: str) -> str:
    """A field that must hold text. Raises UsageError."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f'{where}: "{name}" must be a text', hint=_each(shape))
    return value


def texts_of(row: dict[str, Any], where: str, name: str, shape: str) -> tuple[str, ...]:
    """A field that must hold a list of texts. Raises UsageError."""
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in cast("list[object]", value)):
        raise UsageError(f'{where}: "{name}" must be a list of texts', hint=_each(shape))
    return tuple(cast("list[str]", value))


def share(flags: Sequence[bool] | Sequence[float]) -> float:
    """Mean, to four places; 0.0 of nothing."""
    return round(sum(flags) / len(flags), 4) if flags else 0.0


def _each(shape: str) -> str:
    return f"one JSON object a line: {shape}"
