"""Read a small YAML file into nodes that know their line.

A subset on purpose: one document of mappings, lists and scalars. Aliases, anchors and tags are refused, since a few
lines of them can stand for gigabytes or for objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.adapters.regular import read_regular, size_words
from clew.core.text.printable import printable
from clew.errors import ConfigError, OverBudget

if TYPE_CHECKING:
    from yaml import Event

MOST_BYTES = 256 * 1024
_MOST_DEPTH = 20

_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]{0,30}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. `raw` is the text as written, without quotes."""

    raw: str
    value: str | int | float | bool | None
    line: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of nodes."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping: key, line of the key, node; in the order of the file, each key once."""

    pairs: tuple[tuple[str, int, Node], ...]
    line: int


Node = Scalar | Listing | Table


def plain(raw: str, line: int = 0) -> Scalar:
    """The scalar that unquoted text stands for: nothing, truth value, number or text."""
    lower = raw.lower()
    if lower in ("", "~", "null"):
        return Scalar(raw, None, line)
    if lower in _TRUE or lower in _FALSE:
        return Scalar(raw, lower in _TRUE, line)
    if _INTEGER.fullmatch(raw):
        return Scalar(raw, int(raw.replace("_", "")), line)
    if _NUMBER.fullmatch(raw):
        return Scalar(raw, float(raw), line)
    return Scalar(raw, raw, line)


def read_yaml(path: Path, label: str) -> Table:
    """The mapping in a file; an empty file is an empty mapping.

    Raises ConfigError, which names `label` and the line, for anything that is not one; NotFound and Refused when the
    file cannot be read.
    """
    try:
        content = read_regular(path, MOST_BYTES, shown=label)
    except OverBudget as error:
        raise ConfigError(
            f"{label}: the file has more than {size_words(MOST_BYTES)}", hint="a configuration file is a few lines long"
        ) from error
    return parse_yaml(_decoded(content, label), label)


def parse_yaml(text: str, label: str) -> Table:
    """As `read_yaml`, from text."""
    yaml = _yaml()
    try:
        events: Iterator[Event] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return _document(events, label)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _broken(label, line, error.problem or "cannot be parsed") from error
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        raise _broken(label, text.count("\n", 0, position) + 1, "a character that YAML does not allow") from error


@cache
def _yaml() -> Any:
    """The package, loaded with the first file: most users have none."""
    return import_module("yaml")


def _decoded(content: bytes, label: str) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{label}: the file is UTF-16", hint="save it as UTF-8")
    if b"\0" in content:
        raise ConfigError(f"{label}: the file is binary", hint="a configuration file is YAML text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{label}:{line}: the file is not UTF-8", hint="save it as UTF-8") from error


def _document(events: Iterator[Event], label: str) -> Table:
    yaml = _yaml()
    root: Node | None = None
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            raise ConfigError(f"{label}:{_line(event)}: a second document begins", hint="keep one document, no `---`")
        if isinstance(event, yaml.NodeEvent):
            root = _node(event, events, label, 0)
    if root is None or (isinstance(root, Scalar) and root.value is None):
        return Table((), 1)
    if not isinstance(root, Table):
        found = "a list" if isinstance(root, Listing) else "one value"
        raise ConfigError(
            f"{label}:{root.line}: the file holds {found} where settings belong",
            hint="write lines such as `max_tokens: 8000`",
        )
    return root


def _node(event: Any, events: Iterator[Event], label: str, depth: int) -> Node:
    yaml, line = _yaml(), _line(event)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise ConfigError(f"{label}:{line}: aliases and anchors (`*`, `&`) are not read", hint="write the value out")
    if getattr(event, "tag", None):
        raise ConfigError(f"{label}:{line}: tags (`!`) are not read", hint="write the plain value")
    if depth > _MOST_DEPTH:
        raise ConfigError(f"{label}:{line}: nested more than {_MOST_DEPTH} levels deep", hint="settings are flat")
    if isinstance(event, yaml.ScalarEvent):
        # The C parser leaves the style empty for unquoted text, the Python parser None.
        return Scalar(event.value, event.value, line) if event.style else plain(event.value, line)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Node] = []
        for inner in events:
            if isinstance(inner, yaml.SequenceEndEvent):
                break
            items.append(_node(inner, events, label, depth + 1))
        return Listing(tuple(items), line)
    return _table(events, label, depth, line)


def _table(events: Iterator[Event], label: str, depth: int, line: int) -> Table:
    pairs: dict[str, tuple[int, Node]] = {}
    for event in events:
        if isinstance(event, _yaml().MappingEndEvent):
            break
        key = _node(event, events, label, depth + 1)
        if not isinstance(key, Scalar):
            raise ConfigError(
                f"{label}:{key.line}: a key must be a word", hint="write lines such as `max_tokens: 8000`"
            )
        if key.raw in pairs:
            raise ConfigError(
                f"{label}:{key.line}: `{printable(key.raw, 60)}` is set twice, first in line {pairs[key.raw][0]}",
                hint="keep one of them",
            )
        pairs[key.raw] = key.line, _node(next(events), events, label, depth + 1)
    return Table(tuple((name, at, node) for name, (at, node) in pairs.items()), line)


def _line(event: Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark else 1


def _broken(label: str, line: int, problem: str) -> ConfigError:
    return ConfigError(f"{label}:{line}: not valid YAML: {problem}", hint="check indentation, colons and quotes there")
