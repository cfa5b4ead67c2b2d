"""What the index of memory answers: candidates, passages, documents, likeness. Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from clew.core.memory.search import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BLOCK = 1_024
"""Vectors a row of the table `vectors`: passage n has place n % BLOCK of block n // BLOCK."""
COMMON = 0.02
"""Of a large index, words that stand in more than this share of the passages bring up no candidates."""
LARGE = 5_000
"""Passages."""
_MOST_MARKS = 500
_AHEAD = 4
"""How many times more matches are ranked than are wanted, before a filter is asked."""
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents are searched. An empty tuple or text asks for nothing in particular."""

    tiers: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    """`""` is the workspace of what belongs to the user."""
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Documents with at least one of them."""
    statuses: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Documents of no branch pass always."""
    since: str = ""
    """ISO 8601 day or time: passages (or, where they have no time, documents) that are not older."""
    until: str = ""
    """The same for those that are not newer; a day counts to its end."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One indexed document, without its body."""

    id: int
    path: str
    tier: str
    workspace: str
    reference: str
    name: str
    description: str
    recall: str
    type: str
    scope: str
    branch: str
    status: str
    tags: tuple[str, ...]
    created: str
    updated: str
    expires: str
    supersedes: str
    superseded_by: str


class Named(NamedTuple):
    """What an indexed document is called by."""

    path: str
    tier: str
    workspace: str
    reference: str
    """Its id; empty where it has none."""
    name: str


_DOCUMENT = (
    "documents.id, path, tier, workspace, documents.reference, name, description, recall, type, scope, branch, status, "
    "tags, created, updated, expires, supersedes, superseded_by"
)
_PASSAGE = (
    "passages.id, passages.document, passages.place, first, last, heading, speaker, at, passages.reference, length, "
    "text, body, head"
)


class MemoryReading:
    """The reading side of an open index. Results are empty where nothing is found."""

    _db: sqlite3.Connection

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[int, NDArray[np.int8], NDArray[np.int64]]] = {}

    # -- numbers

    def counts(self, chosen: Filter | None = None) -> dict[str, int]:
        """Numbers of documents and passages that a filter lets through (its times left aside)."""
        where, values = _where(chosen or Filter())
        query = f"select count(*), coalesce(sum(held), 0) from documents where {where}"
        documents, passages = self._db.execute(query, values).fetchone()
        return {"documents": documents, "passages": passages}

    def numbers(self) -> tuple[int, float]:
        """Number of all passages, and their mean length in terms."""
        found = dict(self._db.execute("select key, value from meta where key in ('passages', 'length')").fetchall())
        return int(found["passages"]), found["length"] / max(found["passages"], 1)

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many passages each term stands, heads included; terms that stand nowhere are left out."""
        return self._frequencies("vocabulary", words)

    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In the names, descriptions, cues and tags of how many documents each term stands."""
        return self._frequencies("document_vocabulary", words)

    def _frequencies(self, table: str, words: Sequence[str]) -> dict[str, int]:
        query = f"select term, doc from {table} where term in ({_marks(words)})"
        return dict(self._db.execute(query, list(words)))

    # -- candidates

    def candidates(self, words: Sequence[str], chosen: Filter, most: int) -> list[tuple[int, float]]:
        """(passage, BM25) of the best passages that hold any of the words, best first."""
        if not words:
            return []
        if chosen != Filter():
            # To look each match up in the filter takes longer than to rank them all: it mostly lets the best through.
            best = self._matches("passage_terms", words, most * _AHEAD)
            kept = self.within([row[0] for row in best], chosen)
            passed = [row for row in best if row[0] in kept]
            if len(passed) >= most or len(best) < most * _AHEAD:
                return passed[:most]
        joined = "join passages on passages.id = passage_terms.rowid join documents on documents.id = document"
        return self._matches("passage_terms", words, most, joined, *_where(chosen, times=True))

    def named(self, words: Sequence[str], chosen: Filter, most: int) -> list[tuple[int, float]]:
        """(document, BM25) of the best documents with any of the words in name, description, cues or tags."""
        if not words:
            return []
        joined = "join documents on documents.id = document_terms.rowid"
        return self._matches("document_terms", words, most, joined, *_where(chosen))

    def _matches(
        self,
        table: str,
        words: Sequence[str],
        most: int,
        joined: str = "",
        where: str = "1",
        values: Sequence[str] = (),
    ) -> list[tuple[int, float]]:
        either = " OR ".join(f'"{word}"' for word in words)
        weights = "1.0, 1.0" if table == "passage_terms" else "3.0, 2.0, 2.0, 2.0"
        query = (
            f"select {table}.rowid, -bm25({table}, {weights}) as score from {table} {joined if where != '1' else ''} "
            f"where {table} match ? and {where} order by score desc, {table}.rowid limit ?"
        )
        return list(self._db.execute(query, (either, *values, most)))

    def common(self, frequencies: Mapping[str, int], total: int) -> set[str]:
        """Words that stand in so many passages of a large index that they bring up no candidates of their own."""
        if total < LARGE:
            return set()
        common = {word for word, count in frequencies.items() if count > total * COMMON}
        if common == set(frequencies):
            # Of common words alone the rarest has to do.
            common.discard(min(common, key=lambda word: (frequencies[word], word), default=""))
        return common

    # -- rows

    def passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        """Passages by number."""
        found: dict[int, Passage] = {}
        for part in _parts(ids):
            query = (
                f"select {_PASSAGE} from passages join passage_terms on passage_terms.rowid = passages.id "
                f"where passages.id in ({_marks(part)})"
            )
            found.update((row[0], Passage(*row)) for row in self._db.execute(query, part))
        return found

    def around(self, passages: Iterable[Passage], reach: int) -> dict[tuple[int, int], Passage]:
        """By document and place: the given passages and those up to `reach` places before and after them."""
        found = {(one.document, one.place): one for one in passages}
        wanted: dict[int, set[int]] = {}
        for document, place in list(found):
            near = {at for at in range(max(place - reach, 0), place + reach + 1) if (document, at) not in found}
            wanted.setdefault(document, set()).update(near)
        spans = [(document, first, last) for document, near in wanted.items() for first, last in _runs(near)]
        for part in _parts(spans, 150):
            either = " or ".join("(passages.document = ? and passages.place between ? and ?)" for _ in part)
            query = (
                f"select {_PASSAGE} from passages join passage_terms on passage_terms.rowid = passages.id "
                f"where {either}"
            )
            for row in self._db.execute(query, [value for span in part for value in span]):
                found[row[1], row[2]] = Passage(*row)
        return found

    def passages_of(self, document: int, most: int = 1_000_000) -> list[Passage]:
        """The first passages of a document, in order."""
        query = (
            f"select {_PASSAGE} from passages join passage_terms on passage_terms.rowid = passages.id "
            "where passages.document = ? order by passages.place limit ?"
        )
        return [Passage(*row) for row in self._db.execute(query, (document, most))]

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """Documents by number."""
        found: dict[int, DocumentRow] = {}
        for part in _parts(ids):
            query = f"select {_DOCUMENT} from documents where id in ({_marks(part)})"
            found.update((row[0], _document(row)) for row in self._db.execute(query, part))
        return found

    def named_terms(self, ids: Sequence[int]) -> dict[int, str]:
        """By document: the terms of its name, description, cues and tags, separated by spaces."""
        found: dict[int, str] = {}
        for part in _parts(ids):
            query = f"select rowid, name, description, recall, tags from document_terms where rowid in ({_marks(part)})"
            found.update((row[0], " ".join(row[1:])) for row in self._db.execute(query, part))
        return found

    def holds_chinese(self) -> bool:
        """Whether a Chinese character stands anywhere."""
        query = "select 1 from {} where term >= '\u3400' and term <= '\u9fff' limit 1"
        return any(self._db.execute(query.format(table)).fetchone() for table in ("vocabulary", "document_vocabulary"))

    def listed(self, chosen: Filter) -> list[DocumentRow]:
        """All documents that a filter lets through (its times left aside), by path."""
        where, values = _where(chosen)
        query = f"select {_DOCUMENT} from documents where {where} order by path"
        return [_document(row) for row in self._db.execute(query, values)]

    def names(self, chosen: Filter | None = None) -> dict[str, tuple[Named, tuple[int, ...]]]:
        """By path: what each document is called by, and the stamp of its file then (the last number: too young)."""
        where, values = _where(chosen or Filter())
        query = (
            "select path, tier, workspace, reference, name, size, mtime_ns, inode, ctime_ns, young from documents "
            f"where {where}"
        )
        return {row[0]: (Named._make(row[:5]), row[5:]) for row in self._db.execute(query, values)}

    def twice(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that more than one document has."""
        found: set[str] = set()
        for part in _parts(ids):
            query = (
                f"select reference from documents where reference in ({_marks(part)}) group by 1 having count(*) > 1"
            )
            found.update(row[0] for row in self._db.execute(query, part))
        return found

    # -- likeness

    def likest(self, vector: Floats, chosen: Filter, most: int) -> list[tuple[int, float]]:
        """(passage, cosine) of the passages whose vectors are nearest to a unit vector, best first. Exact over int8."""
        import numpy as np  # noqa: PLC0415 -- only for those who ask for likeness

        self._read_blocks()
        if not self._blocks:
            return []
        cosines = np.concatenate([own.astype(np.float32) @ vector for _, own, _ in self._blocks.values()]) / 127
        ids = np.concatenate([np.arange(BLOCK) + block * BLOCK for block in self._blocks])
        owners = np.concatenate([owners for _, _, owners in self._blocks.values()])
        usable = owners > 0
        if chosen.since or chosen.until:
            usable &= _chosen_of(ids, self._column("passages.id", chosen))
        elif chosen != Filter():
            usable &= _chosen_of(owners, self._column("documents.id", chosen))
        cosines[~usable] = -np.inf
        best = np.argpartition(-cosines, most)[:most] if most < len(cosines) else np.arange(len(cosines))
        order = best[np.lexsort((ids[best], -cosines[best]))]
        return [(int(ids[i]), float(cosines[i])) for i in order if usable[i]]

    def _column(self, column: str, chosen: Filter) -> NDArray[np.int64]:
        """Numbers of the passages or documents that a filter lets through."""
        import numpy as np  # noqa: PLC0415 -- as above

        where, values = _where(chosen, times=column == "passages.id")
        source = "documents" if column == "documents.id" else "passages join documents on documents.id = document"
        rows = self._db.execute(f"select {column} from {source} where {where}", values)
        return np.fromiter((row[0] for row in rows), np.int64)

    def within(self, ids: Sequence[int], chosen: Filter) -> set[int]:
        """Those of the passages that a filter lets through, its times included."""
        where, values = _where(chosen, times=True)
        kept: set[int] = set()
        for part in _parts(ids):
            query = (
                "select passages.id from passages join documents on documents.id = document "
                f"where passages.id in ({_marks(part)}) and {where}"
            )
            kept.update(row[0] for row in self._db.execute(query, [*part, *values]))
        return kept

    def vectors(self, ids: Sequence[int]) -> Floats | None:
        """Vectors of passages, a row each and about of length one; a zero row for one that has none.

        None where no passage has a vector.
        """
        import numpy as np  # noqa: PLC0415 -- as above

        self._read_blocks()
        if not self._blocks:
            return None
        width = next(iter(self._blocks.values()))[1].shape[1]
        found = np.zeros((len(ids), width), np.float32)
        places = np.array(ids, np.int64)
        for block in set((places // BLOCK).tolist()) & self._blocks.keys():
            own = np.flatnonzero(places // BLOCK == block)
            found[own] = self._blocks[block][1][places[own] % BLOCK]
        found /= 127
        return found

    def forget_vectors(self) -> None:
        """Let go of the vectors that are held in memory."""
        self._blocks.clear()

    def _read_blocks(self) -> None:
        """Hold the blocks of the table as it is now; only those that changed are read."""
        import numpy as np  # noqa: PLC0415 -- as above

        now = dict(self._db.execute("select block, version from vectors").fetchall())
        for block in [block for block in self._blocks if block not in now]:
            del self._blocks[block]
        for block, version in now.items():
            if block not in self._blocks or self._blocks[block][0] != version:
                row = self._db.execute("select version, rows, owners from vectors where block = ?", (block,)).fetchone()
                own = np.frombuffer(row[1], np.int8).reshape(BLOCK, -1)
                self._blocks[block] = (row[0], own, np.frombuffer(row[2], np.int64))


def _chosen_of(numbers: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the numbers are among the chosen ones; all are 0 or more."""
    import numpy as np  # noqa: PLC0415 -- as above

    mask = np.zeros(max(int(numbers.max(initial=0)), int(chosen.max(initial=0))) + 1, np.bool_)
    mask[chosen] = True
    return mask[numbers]


def _document(row: tuple[Any, ...]) -> DocumentRow:
    values = list(row)
    values[12] = tuple(filter(None, row[12].split("|")))
    return DocumentRow(*values)


def _where(chosen: Filter, *, times: bool = False) -> tuple[str, list[str]]:
    """A condition over `documents` (and `passages`, with `times`) and its values; `1` where everything passes."""
    parts: list[str] = []
    values: list[str] = []
    for column, wanted in (
        ("tier", chosen.tiers), ("workspace", chosen.workspaces), ("type", chosen.types), ("status", chosen.statuses),
    ):  # fmt: skip
        if wanted:
            parts.append(f"documents.{column} in ({_marks(wanted)})")
            values += wanted
    if chosen.branches:
        parts.append(f"documents.branch in ('', {_marks(chosen.branches)})")
        values += chosen.branches
    if chosen.tags:
        parts.append(f"({' or '.join('instr(documents.tags, ?)' for _ in chosen.tags)})")
        values += [f"|{tag}|" for tag in chosen.tags]
    moment = "coalesce(nullif(at, ''), nullif(documents.updated, ''), documents.created)"
    if times and chosen.since:
        parts.append(f"{moment} >= ?")
        values.append(chosen.since)
    if times and chosen.until:
        parts.append(f"{moment} <= ?")
        # `~` stands after all that a time may hold: the whole of the day, or of the minute, counts.
        values.append(f"{chosen.until}~")
    return " and ".join(parts) or "1", values


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _parts(values: Sequence[_Value], size: int = _MOST_MARKS) -> Iterator[list[_Value]]:
    for at in range(0, len(values), size):
        yield list(values[at : at + size])


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbouring numbers."""
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None:
            first = last = number
        elif number == last + 1:
            last = number
        else:
            yield first, last
            first = last = number
    if first is not None and last is not None:
        yield first, last
