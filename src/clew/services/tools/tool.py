"""What a tool is: a name, a schema, what a call would do, and the call.

Arguments are frozen dataclasses; their fields carry `Annotated[…, msgspec.Meta(description="…")]`, from which the
schema that the model sees is made. A tool is synchronous; it runs in a thread and looks at `Signal` when it waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec

from clew.core.agent.effects import Effect

Arguments = TypeVar("Arguments")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call answers. A failing tool answers the model; it raises only for what nobody foresaw."""

    text: str
    """As the model reads it."""
    failed: bool = False
    view: str = ""
    """For the person at the terminal, where it differs: a diff in unified form, a summary line."""
    changed: tuple[str, ...] = ()
    """Absolute paths that the call wrote."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Tells a running tool that the user has interrupted the run."""

    event: threading.Event

    @property
    def stopped(self) -> bool:
        """Whether the call should end now."""
        return self.event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; True as soon as the run was interrupted."""
        return self.event.wait(seconds)


@dataclass(frozen=True, slots=True)
class Tool(Generic[Arguments]):
    """One tool of the agent. Names and order are the same in every request of a session."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments, as it is sent."""
    read: Callable[[Mapping[str, Any]], Arguments]
    """Arguments of a call as the model gave them. Raises msgspec.ValidationError."""
    effect: Callable[[Arguments], Effect | Reply]
    """What the call would do; a Reply answers at once, nothing is asked and nothing done."""
    run: Callable[[Arguments, Effect, Signal], Reply]
    alone: bool = False
    """Never beside another call of the same answer: it changes something that others may read."""


def define(
    name: str,
    description: str,
    arguments: type[Arguments],
    run: Callable[[Arguments, Effect, Signal], Reply],
    effect: Callable[[Arguments], Effect | Reply] | None = None,
    *,
    alone: bool = False,
) -> Tool[Arguments]:
    """A tool whose schema is made from the fields of `arguments`. Without `effect` it only reads."""

    def read(given: Mapping[str, Any]) -> Arguments:
        return msgspec.convert(given, arguments, strict=False)

    def reads(given: Arguments) -> Effect | Reply:
        return Effect("read", name)

    return Tool(name, description, schema_of(arguments), read, effect or reads, run, alone)


def schema_of(arguments: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a dataclass, without references, titles and defaults that say nothing."""
    made, parts = msgspec.json.schema_components([arguments], ref_template="{name}")
    root = cast("dict[str, Any]", made[0])
    whole = parts[root["$ref"]] if "$ref" in root else root
    return cast("dict[str, Any]", _plain(whole, parts))


def _plain(node: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(one, parts) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("dict[str, Any]", node)
    if "$ref" in found:
        rest = {key: one for key, one in found.items() if key != "$ref"}
        return {**cast("dict[str, Any]", _plain(parts[found["$ref"]], parts)), **rest}
    kept: dict[str, Any] = {}
    for key, one in found.items():
        if key == "title" or (key == "default" and one in (None, "", [], (), False, 0)):
            continue
        # Names of arguments may be anything, also `title`.
        kept[key] = (
            {name: _plain(part, parts) for name, part in cast("dict[str, Any]", one).items()}
            if key == "properties"
            else _plain(one, parts)
        )
    kept.pop("description", None) if found.get("type") == "object" and "properties" in found else None
    return kept
