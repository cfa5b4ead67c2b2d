"""Searches memory: notes, logs, reflections, handoffs, and turns of conversations that were given to the index.

No model is called. A miss is an answer: it says what was searched.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from clew.adapters.home import Home
from clew.core.memory.document import reference_of, why_stale
from clew.core.memory.hits import Hit, Packed, pack, snippet
from clew.core.memory.search import (
    REACH,
    Corpus,
    Likeness,
    Passage,
    Question,
    Ranked,
    Standing,
    chinese_terms,
    inverse_frequency,
    rank,
    take_apart,
)
from clew.core.text.glossary import Glossary
from clew.core.text.thesaurus import Thesaurus
from clew.errors import ClewError, NotFound, StoreBusy, StoreError, StoreTooNew
from clew.services.notices import WITHOUT_TABLE, unkept, unread_notice
from clew.services.relevance import lacks_table, load_table
from clew.services.words import load_glossary, load_thesaurus
from clew.stores.documents import Documents
from clew.stores.memory_index import IN_MEMORY, MemoryIndex, Refreshed, store_error
from clew.stores.memory_reading import DocumentRow, Filter
from clew.stores.memory_writing import Loaded
from clew.stores.sqlite_file import is_damage, remove

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

BUDGET = 6_000
"""Bytes of an answer where nothing else is said."""
MOST_HITS = 30
PER_DOCUMENT = 3
"""Passages of one written document in an answer."""
EMBED_SECONDS = 0.5
"""What a search may spend on vectors of new passages; the rest gets them at the next one."""
VARIANT = "static-5"
"""Raise it when the shipped table, the rules of redaction or the passages of a text change, so that indexes are made
anew."""
_LEXICAL = 120
_LIKE = 50
_NAMED = MOST_HITS
_OF_NAMED = 6
_TIERS = {"notes": ("user", "note"), "logs": ("log",), "reflections": ("reflection",), "handoff": ("handoff",),
          "sessions": ("session",), "all": ()}  # fmt: skip
SCOPES = tuple(_TIERS)
"""What a search can be kept to."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search looked at."""

    scope: str
    documents: int
    passages: int
    words: tuple[str, ...]
    """Words of the question that were looked for; what only its meaning found is not among them."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search."""

    hits: tuple[Hit, ...]
    """Best first; those that found no room have no text."""
    left_out: int
    """Further hits, of which not even the reference found room."""
    searched: Searched
    notices: tuple[str, ...] = ()
    """What the user should know: documents that could not be read, an index that could not be kept."""

    @property
    def miss(self) -> bool:
        """Whether nothing was found."""
        return not self.hits


@cache
def load_weights() -> Mapping[str, Mapping[str, float]]:
    """The shipped weights by view, and the least evidence of a hit; read once a process."""
    return json.loads(resources.files("clew").joinpath("data", "memory_ranking.json").read_text(encoding="utf-8"))


@cache
def _chinese() -> Mapping[str, Sequence[str]]:
    return chinese_terms(load_glossary())


def refresh(
    index: MemoryIndex,
    documents: Documents,
    *,
    seconds: float | None = EMBED_SECONDS,
    progress: Callable[[int, int], None] | None = None,
    missed: set[str] | None = None,
) -> Refreshed:
    """Make the index mirror the documents; new passages get vectors for at most about `seconds`. Raises StoreError.

    `progress` is told of documents that were read and of how many there are to read; what it raises ends the work.
    `missed` gets the paths of what could not be read.
    """
    unread = set[str]() if missed is None else missed

    def load(path: str, known: str) -> Loaded:
        try:
            return Loaded(documents.read_whole(path, known))
        except NotFound:
            raise
        except ClewError:
            unread.add(path)
            raise

    done = index.refresh(documents.walk(unread), load, progress=progress)
    table = load_table()
    if table is not None and seconds != 0:
        index.embed(table.encode, seconds=seconds)
    return done


def index_path(home: Home) -> Path:
    """Where the index of memory lies."""
    return home.cache / "index" / "memory.db"


def search_memory(
    path: Path,
    documents: Documents,
    text: str,
    *,
    scope: str = "all",
    chosen: Filter | None = None,
    today: date | None = None,
    budget: int = BUDGET,
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Bring the index at `path` up to the documents, and search it: see `MemorySearch.find`.

    A secret in `text` is looked for by the placeholder that stands for it in the index. An index that turns out to be
    damaged is made anew; where none can be kept, one in memory serves this search, and a notice says so.
    Raises StoreTooNew, StoreBusy.
    """
    missed = set[str]()

    def answer(index: MemoryIndex) -> Found:
        refresh(index, documents, progress=progress, missed=missed)
        wanted = documents.redact(text)
        return MemorySearch(index).find(wanted, scope=scope, chosen=chosen, today=today, budget=budget)

    found, notices = over_index(path, answer)
    if missed:
        notices.append(unread_notice(len(missed)))
    if lacks_table():
        notices.append(WITHOUT_TABLE)
    return replace(found, notices=tuple(notices))


def over_index(path: Path, answer: Callable[[MemoryIndex], Found]) -> tuple[Found, list[str]]:
    """What `answer` finds in the index at `path`, which it brings up to date first, and what the user should know.

    An index that turns out to be damaged is made anew; where none can be kept, one in memory serves.
    Raises StoreTooNew, StoreBusy, and what `answer` raises.
    """

    def find(where: Path) -> Found:
        with MemoryIndex.open(where, variant=VARIANT) as index:
            for last in (False, True):
                try:
                    return answer(index)
                except sqlite3.DatabaseError as error:
                    if last or not is_damage(error):
                        raise store_error(where, error) from error
                    index.restart()
        raise AssertionError

    try:
        return find(path), []
    except (StoreBusy, StoreTooNew):
        raise
    except StoreError as error:
        # Where what is searched is itself out of reach, this raises as well.
        return find(IN_MEMORY), [unkept(error)]


def joined(one: Found, other: Found) -> Found:
    """Both answers as one, best first: the scores of all indexes come from the same weights. Stale hits come last."""
    hits = sorted((*one.hits, *other.hits), key=lambda hit: (bool(hit.stale), -hit.score))
    searched = Searched(
        one.searched.scope,
        one.searched.documents + other.searched.documents,
        one.searched.passages + other.searched.passages,
        tuple(dict.fromkeys((*one.searched.words, *other.searched.words))),
    )
    notices = tuple(dict.fromkeys((*one.notices, *other.notices)))
    return Found(tuple(hits), one.left_out + other.left_out, searched, notices)


def rebuild(path: Path, documents: Documents, progress: Callable[[int, int], None] | None = None) -> Refreshed:
    """Drop the index at `path` and make it again, vectors included. Raises StoreTooNew, StoreBusy, StoreError."""
    with contextlib.suppress(OSError):
        if path.is_file():
            # Also one that a newer Clew wrote, which opening it would refuse.
            remove(path)
    with MemoryIndex.open(path, variant=VARIANT) as index:
        index.restart()
        return refresh(index, documents, seconds=None, progress=progress)


def _encode() -> Encode | None:
    table = load_table()
    return None if table is None else table.encode


def _knows() -> Callable[[str], bool]:
    table = load_table()
    return (lambda word: True) if table is None else table.segmenter.knows


@dataclass(slots=True)
class MemorySearch:
    """Answers questions from one open index."""

    index: MemoryIndex
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=load_weights)
    glossary: Glossary = field(default_factory=load_glossary)
    thesaurus: Thesaurus = field(default_factory=load_thesaurus)
    encode: Encode | None = field(default_factory=_encode)
    """Makes unit vectors of texts; without it likeness says nothing."""
    knows: Callable[[str], bool] = field(default_factory=_knows)
    """Whether `encode` takes a word as a whole, and not only pieces of it."""

    def find(
        self,
        text: str,
        *,
        scope: str = "all",
        chosen: Filter | None = None,
        today: date | None = None,
        budget: int = BUDGET,
        most: int = MOST_HITS,
        keeps: Callable[[str], bool] = lambda ref: True,
    ) -> Found:
        """The passages that answer `text`, under `budget` bytes. What was deleted is not looked at unless asked for.

        Whatever does not hold any more comes after all that holds and answers.

        `scope` is one of SCOPES and narrows `chosen`. `today` lets "last week" mean days and tells what has expired.
        `keeps` is asked, best first, whether a passage with a reference of its own is shown.
        """
        chosen = chosen or Filter()
        chosen = replace(
            chosen,
            tiers=chosen.tiers or _TIERS[scope],
            statuses=chosen.statuses or ("active", "superseded", "deprecated"),
        )
        question = self.question(text, today)
        ranked, documents = self.ranked(question, chosen, today=today)
        least = self.weights["least"]
        # Of a word that the table has only pieces of, likeness says what the pieces are like.
        meant = not question.concepts or any(self.knows(concept.source) for concept in question.concepts)
        good = [one for one in ranked if self._is_evidence(one, least, meant=meant)]
        # However well it fits: what holds says what is so, and a reader may stop at the first hit.
        good.sort(key=lambda one: one.signal("stale"))
        shown = [one for one in self._spread(good, documents) if keeps(one.passage.reference)][:most]
        packed = self._packed(shown, documents, budget, today)
        counts = self.index.counts(chosen)
        words = tuple(dict.fromkeys(concept.source for concept in question.concepts))
        searched = Searched(scope, counts["documents"], counts["passages"], words)
        return Found(packed.hits, packed.left_out, searched)

    def question(self, text: str, today: date | None = None) -> Question:
        """A question taken apart; Chinese terms for English words where the index holds any Chinese."""
        chinese = _chinese() if self.index.holds_chinese() else None
        return take_apart(text, self.glossary, self.thesaurus, chinese, today)

    def ranked(
        self, question: Question, chosen: Filter, *, today: date | None = None
    ) -> tuple[list[Ranked], dict[int, DocumentRow]]:
        """All candidates with their scores, best first, and their documents. Raises StoreError."""
        index, words = self.index, question.terms
        total, mean = index.numbers()
        frequencies = index.frequencies(words)
        common = index.common(frequencies, total)
        ids = dict.fromkeys(
            row for row, _ in index.candidates([w for w in frequencies if w not in common], chosen, _LEXICAL)
        )
        naming = index.document_frequencies(words)
        named = dict(index.named(list(naming), chosen, _NAMED))
        vector = None if self.encode is None else self.encode([question.text])[0]
        if vector is not None:
            ids.update(dict.fromkeys(row for row, _ in index.likest(vector, chosen, _LIKE)))
        passages = index.passages(list(ids))
        for document in named:
            passages.update((one.id, one) for one in index.passages_of(document, _OF_NAMED))
        nearby = {(one.document, one.place): one for one in passages.values()}
        if spoken := [one for one in passages.values() if one.speaker]:
            turns = index.around(spoken, REACH + 1)
            nearby.update(turns)
            # A turn often answers in other words than the one before it was asked in.
            beside = {(one.document, one.place + step) for one in spoken for step in (-1, 1)}
            passages.update((turns[key].id, turns[key]) for key in beside if key in turns)
        if chosen.since or chosen.until:
            within = index.within(list(passages), chosen)
            passages = {number: one for number, one in passages.items() if number in within}
        documents = index.documents(list({one.document for one in passages.values()}))
        ranked = rank(
            question,
            passages,
            nearby,
            self._standings(nearby, documents, named, today),
            {} if vector is None else self._likeness(vector, passages.values(), nearby),
            # A word that stands in no passage, but in a name, is as rare as the names are that have it.
            Corpus({word: inverse_frequency(total, count) for word, count in (naming | frequencies).items()}, mean),
            self.weights,
        )
        return ranked, documents

    def _standings(
        self,
        nearby: Mapping[tuple[int, int], Passage],
        documents: Mapping[int, DocumentRow],
        named: Mapping[int, float],
        today: date | None,
    ) -> dict[int, Standing]:
        spoken = {one.document for one in nearby.values() if one.speaker}
        terms = self.index.named_terms(list(documents))
        return {
            number: Standing(
                "dialogue" if number in spoken else "notes",
                named.get(number, 0.0),
                terms.get(number, ""),
                row.updated or row.created or _day_of(row.path),
                bool(_stale(row, today)),
            )
            for number, row in documents.items()
        }

    def _likeness(
        self, vector: NDArray[np.float32], passages: Iterable[Passage], nearby: Mapping[tuple[int, int], Passage]
    ) -> dict[int, Likeness]:
        """Cosines of each passage alone and with its neighbours: of their sums, which is what a longer text has."""
        import numpy as np  # noqa: PLC0415 -- only where there are vectors

        known = self.index.vectors([one.id for one in nearby.values()])
        if known is None or known.shape[1] != len(vector):
            return {}
        places = {key: number for number, key in enumerate(nearby)}
        # One row more, for neighbours that are not there.
        own = np.vstack([known, np.zeros_like(vector)])
        wanted = list(passages)
        nobody = len(places)
        here, before, after = (
            own[[places.get((one.document, one.place + step), nobody) for one in wanted]] for step in (0, -1, 1)
        )
        cosines = [_cosines(rows, vector) for rows in (here, here + before, here + before + after)]
        return {one.id: Likeness(float(a), float(b), float(c)) for one, a, b, c in zip(wanted, *cosines, strict=True)}

    def _is_evidence(self, one: Ranked, least: Mapping[str, float], *, meant: bool) -> bool:
        # Nothing but a neighbour's words, or a faint likeness, is no answer.
        own = bool(one.matched) and one.signal("covered") >= least["covered"]
        like = (meant or bool(one.matched)) and one.signal("like") >= least["like"]
        return own or one.signal("name_covered") >= least["covered"] or like

    def _spread(self, ranked: Sequence[Ranked], documents: Mapping[int, DocumentRow]) -> list[Ranked]:
        """Of each written document its best few passages; turns of a conversation all count."""
        taken: dict[int, int] = {}
        kept: list[Ranked] = []
        for one in ranked:
            document = one.passage.document
            taken[document] = taken.get(document, 0) + 1
            if document in documents and (one.passage.speaker or taken[document] <= PER_DOCUMENT):
                kept.append(one)
        return kept

    def _packed(
        self, ranked: Sequence[Ranked], documents: Mapping[int, DocumentRow], budget: int, today: date | None
    ) -> Packed:
        rows = {one.passage.document: documents[one.passage.document] for one in ranked}
        # An id that two documents have opens neither of them; a path does.
        twice = self.index.twice([row.reference for row in rows.values() if row.reference])
        plain = {number: replace(row, reference="") if row.reference in twice else row for number, row in rows.items()}
        return pack((_hit(one, plain[one.passage.document], today) for one in ranked), budget)


def _hit(one: Ranked, row: DocumentRow, today: date | None) -> Hit:
    passage = one.passage
    return Hit(
        reference=reference(passage, row),
        path=row.path,
        name=row.name,
        tier=row.tier,
        workspace=row.workspace,
        at=passage.at or row.updated or row.created or _day_of(row.path),
        first=passage.first,
        last=passage.last,
        heading=passage.heading,
        speaker=passage.speaker,
        score=round(one.score, 4),
        stale=_stale(row, today),
        snippet=snippet(passage.text, one.matched),
        about=" · ".join(filter(None, (row.description, *row.tags, *row.recall.split("\n")))),
    )


def reference(passage: Passage, row: DocumentRow) -> str:
    """What opens a passage: of a document with an id `clew://memory/<id>` with lines, else its path with lines."""
    if passage.reference:
        return passage.reference
    whole = reference_of(row.reference) if row.reference else row.path
    lines = f"L{passage.first}" if passage.first == passage.last else f"L{passage.first}-{passage.last}"
    return f"{whole}#{lines}"


def _stale(row: DocumentRow, today: date | None) -> str:
    expires = date.fromisoformat(row.expires) if row.expires else None
    return why_stale(row.superseded_by, row.status, expires, today)


def _day_of(path: str) -> str:
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    try:
        return date.fromisoformat(stem).isoformat()
    except ValueError:
        return ""


def _cosines(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = (rows * rows).sum(axis=1) ** 0.5
    return (rows @ vector) / (length + (length == 0))
