"""Seams to the outside world. Each Protocol has at least two real implementations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from clew.core.context.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree. `stamp` changes whenever the content may have changed."""

    path: str
    """Relative to the root, with forward slashes."""
    size: int
    """Bytes."""
    stamp: str
    """Work tree: size, mtime, ctime, inode. Commit: blob id."""
    mtime: float = 0.0
    """Seconds since the epoch of the latest change to its content or its state; 0 where unknown."""


class Tree(Protocol):
    """A set of files with their contents: the work tree, or the tree of a commit."""

    def entries(self) -> Iterable[Entry]:
        """All files that are neither ignored nor special."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of one file. Raises NotFound when it is gone, Refused when it may not be read."""
        ...


class Tokenizer(Protocol):
    """Counts tokens as a model does."""

    name: str
    """Stable name, part of cache keys: `o200k`, `cl100k`, `estimate`."""
    exact: bool
    """False where the count is an estimate that errs high."""

    def count(self, text: str) -> int:
        """Number of tokens; special tokens count as the plain text that they are."""
        ...


class Source(Protocol):
    """Collects fragments for a question."""

    name: str

    def collect(self, question: str) -> Sequence[Fragment]:
        """Fragments, best first. An unavailable source gives none."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt. `blocks` are sent as separate blocks, in order."""

    role: str
    """`system`, `user` or `assistant`."""
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reports them; None where it reports nothing."""

    input: int | None = None
    cached: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a streamed answer."""

    text: str = ""
    usage: Usage | None = None
    """Only on the last piece."""


@runtime_checkable
class Model(Protocol):
    """What answers messages."""

    name: str
    """`provider:model`."""

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the answer, at most `limit` tokens. Raises ModelError; text that came before stays valid.

        Closing the iterator ends the request.
        """
        ...
