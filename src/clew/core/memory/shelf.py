"""Notes prepared for recall: postings of terms, vectors, kinds of action. Arrays only, so that a file can hold them.

What a note says and its `when` phrases are kept apart: phrases say in which situation a note should come to mind, which
is another kind of sign than what it is about. Chinese text also carries its English translations with less weight, so
that an English message meets it on terms of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clew.core.memory.actions import ruled
from clew.core.memory.recall import Note
from clew.core.memory.spoken import Spoken
from clew.core.text.glossary import Glossary
from clew.core.text.lazy import lazy_pattern
from clew.core.text.terms import is_function_word, terms

Floats = NDArray[np.float32]

TYPES: Final = ("preference", "profile", "decision", "procedure", "gotcha", "reference", "note")
"""Types of notes by their number; anything else is a note."""
_NAME, _DESCRIPTION, _TAGS, _BODY, _WHEN = 2.0, 2.0, 1.5, 1.0, 1.0
_TRANSLATED = 0.5
_CHUNK_CHARACTERS, _MOST_CHUNKS = 320, 12
_MOST_WHEN = 12
_HAN: Final = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]+")
_SENTENCE: Final = lazy_pattern(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class Texts:
    """What is embedded of a note: its head, pieces of its body under its name, its `when` phrases."""

    head: str
    chunks: tuple[str, ...]
    when: tuple[str, ...]

    @classmethod
    def of(cls, note: Note) -> Texts:
        """The texts of a note; long bodies and long lists of phrases are cut."""
        head = f"{note.name}. {note.description}"
        pieces: list[str] = []
        for sentence in filter(None, (part.strip() for part in _SENTENCE.split(note.body))):
            if pieces and len(pieces[-1]) + len(sentence) < _CHUNK_CHARACTERS:
                pieces[-1] += " " + sentence
            elif len(pieces) < _MOST_CHUNKS:
                pieces.append(sentence[: 3 * _CHUNK_CHARACTERS])
        return cls(head, tuple(f"{note.name}. {piece}" for piece in pieces), note.when[:_MOST_WHEN])


@dataclass(frozen=True, slots=True)
class Postings:
    """An inverted index of n notes: term `keys[i]` stands in `notes[starts[i]:starts[i+1]]`, `counts` often.

    keys (t,) uint32 ascending, starts (t+1,) int64, notes (p,) int32, counts (p,) float32 weighted; lengths (n,)
    """

    keys: NDArray[np.uint32]
    starts: NDArray[np.int64]
    notes: NDArray[np.int32]
    counts: Floats
    lengths: Floats

    @classmethod
    def of(cls, bags: Sequence[Mapping[int, float]]) -> Postings:
        """From the weighted terms of each note."""
        sizes = [len(bag) for bag in bags]
        total = sum(sizes)
        keys = np.fromiter((key for bag in bags for key in bag), np.uint32, total)
        counts = np.fromiter((count for bag in bags for count in bag.values()), np.float32, total)
        notes = np.repeat(np.arange(len(bags), dtype=np.int32), sizes)
        return cls._sorted(keys, notes, counts, np.array([sum(bag.values()) for bag in bags], np.float32))

    def merged(self, moved: NDArray[np.int32], fresh: Postings, places: NDArray[np.int32], size: int) -> Postings:
        """These postings with note i as number `moved[i]` (-1: gone), and the notes of `fresh` at `places`."""
        notes = np.concatenate([moved[self.notes], places[fresh.notes]]).astype(np.int32)
        keys = np.concatenate([np.repeat(one.keys, np.diff(one.starts)) for one in (self, fresh)])
        counts = np.concatenate([self.counts, fresh.counts])
        kept = notes >= 0
        lengths = np.zeros(size, np.float32)
        lengths[moved[moved >= 0]] = self.lengths[moved >= 0]
        lengths[places] = fresh.lengths
        return Postings._sorted(keys[kept], notes[kept], counts[kept], lengths)

    @classmethod
    def _sorted(cls, keys: NDArray[np.uint32], notes: NDArray[np.int32], counts: Floats, lengths: Floats) -> Postings:
        order = np.argsort(keys, kind="stable")
        unique, starts = np.unique(keys[order], return_index=True)
        return cls(unique, np.append(starts, len(keys)).astype(np.int64), notes[order], counts[order], lengths)

    def find(self, term: str) -> tuple[NDArray[np.int32], Floats]:
        """The notes with a term, and how often."""
        key = term_key(term)
        at = int(np.searchsorted(self.keys, np.uint32(key)))
        if at == len(self.keys) or int(self.keys[at]) != key:
            return self.notes[:0], self.counts[:0]
        return self.notes[self.starts[at] : self.starts[at + 1]], self.counts[self.starts[at] : self.starts[at + 1]]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of one engine. Rows are int8 with a scale; `owner` (ascending) is the number of their note.

    `have` (n,) says which notes are embedded whole; `means` (4, d) of queries and passages in English and Chinese were
    taken away from the rows: query-en, query-zh, passage-en, passage-zh (zeros where the engine centres by itself).
    """

    head: NDArray[np.int8]
    head_owner: NDArray[np.int32]
    chunk: NDArray[np.int8]
    chunk_owner: NDArray[np.int32]
    when: NDArray[np.int8]
    when_owner: NDArray[np.int32]
    have: NDArray[np.bool_]
    means: Floats

    def merged(self, moved: NDArray[np.int32], fresh: Vectors, places: NDArray[np.int32], size: int) -> Vectors:
        """These vectors with note i as number `moved[i]` (-1: gone), and the notes of `fresh` at `places`."""

        def joined(
            old: NDArray[np.int8], old_owner: NDArray[np.int32], new: NDArray[np.int8], new_owner: NDArray[np.int32]
        ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
            kept = moved[old_owner] >= 0
            owner = np.concatenate([moved[old_owner][kept], places[new_owner]]).astype(np.int32)
            order = np.argsort(owner, kind="stable")
            return np.concatenate([old[kept], new])[order], owner[order]

        have = np.zeros(size, np.bool_)
        have[moved[moved >= 0]] = self.have[moved >= 0]
        have[places] = fresh.have
        return Vectors(
            *joined(self.head, self.head_owner, fresh.head, fresh.head_owner),
            *joined(self.chunk, self.chunk_owner, fresh.chunk, fresh.chunk_owner),
            *joined(self.when, self.when_owner, fresh.when, fresh.when_owner),
            have,
            self.means,
        )


QUANTUM: Final = 1 / 256
"""One step of an int8 row; numbers of a unit vector with some hundred dimensions rarely reach half."""


def quantised(rows: Floats) -> NDArray[np.int8]:
    """Unit rows as int8 in steps of QUANTUM."""
    return np.clip(np.rint(rows / QUANTUM), -127, 127).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Shelf:
    """n prepared notes. Deleted and undescribed ones are not on the shelf.

    expires (n,) days since 1970 or a far future, GONE for what is superseded or deprecated;
    types (n,) index of TYPES; user (n,) whether the scope is the user;
    places (n,) index of `workspaces`; kinds (n,) bits of actions; chinese (n,); `engines` by name.
    """

    ids: Sequence[str]
    names: Sequence[str]
    descriptions: Sequence[str]
    workspaces: Sequence[str]
    places: NDArray[np.int32]
    projects: NDArray[np.int32]
    expires: NDArray[np.int32]
    types: NDArray[np.int8]
    user: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    chinese: NDArray[np.bool_]
    has_when: NDArray[np.bool_]
    text: Postings
    phrases: Postings
    spoken: Spoken
    engines: Mapping[str, Vectors]

    def __len__(self) -> int:
        return len(self.ids)


def term_key(term: str) -> int:
    """A term as a number of 32 bits."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def is_chinese(text: str) -> bool:
    """Whether a text counts as Chinese: more Han characters than half its words in Latin letters."""
    if text.isascii():
        return False
    han = sum(map(len, _HAN.findall(text)))
    return han > 0 and 2 * han > len(re.findall(r"[A-Za-z\u00c0-\u024f]+", text))


def _add(bag: dict[int, float], text: str, weight: float, glossary: Glossary) -> None:
    for term in terms(text):
        if not is_function_word(term):
            key = term_key(term)
            bag[key] = bag.get(key, 0.0) + weight
    for run in () if text.isascii() else _HAN.findall(text):
        for translation in glossary.expand(run):
            for rank, term in enumerate(translation.english[:4]):
                key = term_key(term)
                share = weight * _TRANSLATED * translation.weight * (1.0 if rank == 0 else 0.6)
                bag[key] = max(bag.get(key, 0.0), share)


def text_bag(note: Note, glossary: Glossary) -> dict[int, float]:
    """Weighted terms of what a note says."""
    bag: dict[int, float] = {}
    for text, weight in (
        (note.name, _NAME), (note.description, _DESCRIPTION), (" ".join(note.tags), _TAGS), (note.body, _BODY),
    ):  # fmt: skip
        _add(bag, text, weight, glossary)
    return bag


def when_bag(note: Note, glossary: Glossary) -> dict[int, float]:
    """Weighted terms of a note's `when` phrases."""
    bag: dict[int, float] = {}
    for phrase in note.when[:_MOST_WHEN]:
        _add(bag, phrase, _WHEN, glossary)
    return bag


def said_phrases(note: Note) -> tuple[str, ...]:
    """What a message may say word for word to bring a note to mind."""
    return (*note.when[:_MOST_WHEN], *note.handed[:_MOST_WHEN])


def note_kinds(note: Note) -> int:
    """Kinds of action that a note speaks of."""
    return ruled(" ".join((note.name, note.description, *note.tags)), "\n".join(note.when))


def days(date: str) -> int:
    """Days since 1970 of a date YYYY-MM-DD; a far future for anything else."""
    try:
        return int(np.datetime64(date.strip()[:10]).astype("datetime64[D]").astype(np.int64))
    except ValueError:
        return _NEVER


_NEVER: Final = 2**30
GONE: Final = -1
"""In the place of a day: before any on which somebody asks."""


def project_of(note: Note) -> str:
    """The project that a note names: its workspace, else the first tag of a project note."""
    return "" if note.scope == "user" else (note.workspace or (note.tags[0] if note.tags else "")).casefold()


def _last_day(note: Note) -> int:
    if not note.hintable:
        return GONE
    return days(note.expires) if note.expires else _NEVER


def stack(
    notes: Sequence[Note],
    kinds: NDArray[np.int64],
    text: Postings,
    phrases: Postings,
    spoken: Spoken,
    engines: Mapping[str, Vectors],
) -> Shelf:
    """A shelf of notes that are all weighed, with what was made of them in the same order."""
    projects = sorted({project_of(note) for note in notes} | {note.workspace for note in notes} | {""})
    number = {name: at for at, name in enumerate(projects)}
    return Shelf(
        ids=tuple(note.id for note in notes),
        names=tuple(note.name for note in notes),
        descriptions=tuple(note.description for note in notes),
        workspaces=tuple(projects),
        places=np.array([number[note.workspace] for note in notes], np.int32),
        projects=np.array([number[project_of(note)] for note in notes], np.int32),
        expires=np.array([_last_day(note) for note in notes], np.int32),
        types=np.array([TYPES.index(note.type) if note.type in TYPES else len(TYPES) - 1 for note in notes], np.int8),
        user=np.array([note.scope == "user" for note in notes], np.bool_),
        kinds=kinds,
        chinese=np.array([is_chinese(f"{note.name} {note.description}") for note in notes], np.bool_),
        has_when=np.array([bool(note.when) for note in notes], np.bool_),
        text=text,
        phrases=phrases,
        spoken=spoken,
        engines=engines,
    )
