"""How much of a request was sent before: by byte, by block, by the provider's own figures (R-07, Q-08).

A request is laid out as it is hashed by caches: tools, then the system prompt, then the messages; marks for a cache
are left out, since a provider leaves them out as well. Nothing else is: key order and white space count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

_MARKS: Final = frozenset({"cache_control"})


@dataclass(frozen=True, slots=True)
class Block:
    """One piece that a cache can end at."""

    part: str
    """`tools`, `system` or `messages`."""
    text: str
    """As it stands in the layout, in JSON."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What two requests, one after the other, have in common from their beginning."""

    bytes: int
    of: int
    """Bytes of the later one."""
    block_bytes: int
    """Bytes of the whole blocks at the beginning that both have."""
    layer: str
    """The layer with the first difference; empty where the earlier one is wholly at the beginning of the later."""
    extends: bool
    """The earlier one is wholly at the beginning of the later one."""

    @property
    def by_byte(self) -> float:
        """Share of the later request's bytes."""
        return self.bytes / self.of if self.of else 1.0

    @property
    def by_block(self) -> float:
        """Share of the later request's bytes that lie in whole common blocks."""
        return self.block_bytes / self.of if self.of else 1.0


def laid_out(body: Mapping[str, Any]) -> tuple[Block, ...]:
    """The blocks of a request to Anthropic, or to what speaks OpenAI's chat protocol."""
    blocks = [Block("tools", _json(one)) for one in cast("list[Any]", body.get("tools") or [])]
    system = body.get("system")
    if isinstance(system, str):
        blocks.append(Block("system", _json(system)))
    elif system:
        blocks += [Block("system", _json(one)) for one in cast("list[Any]", system)]
    for message in cast("list[dict[str, Any]]", body.get("messages") or []):
        part = "system" if message.get("role") in ("system", "developer") else "messages"
        content = message.get("content")
        rest = {key: value for key, value in message.items() if key != "content"}
        if isinstance(content, list):
            pieces = cast("list[Any]", content)
            blocks += [Block(part, _json({**rest, "content": one})) for one in pieces]
        else:
            blocks.append(Block(part, _json({**rest, "content": content})))
    return tuple(blocks)


def compare(
    before: Sequence[Block], after: Sequence[Block], layers: Sequence[tuple[str, Sequence[str]]] = ()
) -> Shared:
    """What `after` shares with `before`. `layers` are those of `after`: names with their blocks, in order."""
    first, second = "\n".join(one.text for one in before), "\n".join(one.text for one in after)
    common = _common(first, second)
    whole = 0
    same = 0
    for one, other in zip(before, after, strict=False):
        if one.text != other.text:
            break
        same += 1
        whole += len((one.text + "\n").encode())
    extends = second.startswith(first) and (len(first) == len(second) or second[len(first)] == "\n")
    at = "" if extends else _layer(after, same, layers)
    total = len(second.encode())
    return Shared(len(second[:common].encode()), total, min(whole, total), at, extends)


def _layer(blocks: Sequence[Block], place: int, layers: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The layer that the block at `place` belongs to: the first one, in order, whose text stands in it."""
    if place >= len(blocks):
        return "end"
    if blocks[place].part == "tools":
        return "tools"
    found = ""
    names = iter(_texts(layers))
    current = next(names, None)
    for one in blocks[: place + 1]:
        if one.part == "tools":
            continue
        if current is None:
            found = "transcript"
            continue
        found = current[0]
        # A server that takes one system message has several blocks in one.
        while current is not None and current[1] in one.text:
            found = current[0]
            current = next(names, None)
    return found or blocks[place].part


def _texts(layers: Iterable[tuple[str, Sequence[str]]]) -> Iterable[tuple[str, str]]:
    for name, texts in layers:
        for text in texts:
            if text.strip():
                yield name, json.dumps(text, ensure_ascii=False)[1:-1]


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _json(value: Any) -> str:
    return json.dumps(_unmarked(value), ensure_ascii=False, separators=(",", ":"))


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        kept = cast("dict[str, Any]", value)
        return {key: _unmarked(one) for key, one in kept.items() if key not in _MARKS}
    if isinstance(value, list):
        return [_unmarked(one) for one in cast("list[Any]", value)]
    return value
