"""Seams to the outside world. Each Protocol has at least two real implementations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from clew.core.context.fragment import Fragment

THINKING: Final[Mapping[str, int]] = {
    "auto": 0, "off": 0, "low": 4_000, "medium": 16_000, "high": 24_000, "max": 48_000,
}  # fmt: skip
"""How long a model may be told to think, each with the tokens that an answer gets on top for it: providers count
thoughts as part of the answer, and Anthropic's older models refuse an answer with no more room than its thoughts."""


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


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended."""

    code: int | None
    """Its status; None when a signal ended it."""
    signal: str = ""
    """`SIGKILL`."""


class Program(Protocol):
    """A running program with all that it started."""

    def read(self, limit: int, patience: float | None = None) -> bytes | None:
        """What came, at most `limit` bytes; empty at the end; None when nothing came within `patience` seconds."""
        ...

    def poll(self) -> Exit | None:
        """How the program itself ended; None while it runs. What it left behind may still write."""
        ...

    def end(self, grace: float, *, strays: bool = True) -> int:
        """Ask the group to end, kill it after `grace` seconds; with `strays` also what left the group. Their number."""
        ...

    def close(self) -> None:
        """Take no more output, let go of the id. Safe to call twice, and while another thread reads."""
        ...


class TerminalProgram(Program, Protocol):
    """A program on a terminal of its own."""

    def write(self, data: bytes, patience: float) -> int:
        """Type `data`. How many bytes were taken within `patience` seconds."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and tell the program."""
        ...


class Programs(Protocol):
    """Starts programs of a session; `name` tells them apart. All end with the session, also when it is killed."""

    def on_terminal(
        self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str, size: tuple[int, int]
    ) -> TerminalProgram:
        """Start a program on a terminal of `size` (columns, rows). Raises NotFound, StoreError."""
        ...

    def on_pipe(self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str) -> Program:
        """Start a program without input; its output and errors come together. Raises NotFound, StoreError."""
        ...

    def close(self) -> None:
        """End everything that was started here, also what its programs started. Safe to call twice."""
        ...
