"""Finds the files and passages of a tree that bear on a question, and says how sure it is that any does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Literal

from clew.adapters.embedding import StaticTable
from clew.core.index import change
from clew.core.index import query as questions
from clew.core.index.confidence import Background, Found, numbers, probability, stands_here
from clew.core.index.kinds import Kind
from clew.core.index.landmarks import landmarks
from clew.core.index.named import parse_products, product_terms, proper_terms
from clew.core.index.passages import Passage, RankedFile, passages
from clew.core.index.query import Concept
from clew.core.index.rank import (
    COMMON,
    HEAD_WEIGHT,
    Evidence,
    FileFacts,
    FileFeatures,
    Scored,
    candidates,
    inverse_frequency,
    order,
    rows,
    score,
)
from clew.core.text.glossary import Glossary
from clew.core.text.terms import Query, query_terms
from clew.core.text.thesaurus import Thesaurus
from clew.services.words import load_thesaurus
from clew.stores.index import CodeIndex
from clew.stores.index_reading import FileRow

Task = Literal["question", "change"]
"""`question`: what a person asks. `change`: words that describe a change, for instance of a commit."""
SHOWN_FILES = 20
"""Files whose passages are considered."""
STANDS_HERE = 0.75
"""The least chance of an answer where one passage holds nearly all words of the question."""
HEAD_CHUNKS = 3
"""Passages at the head of a file that answers by custom."""
_VOTING_COMMITS = 60
_RECENT_COMMITS = 200
_SMALL_INDEX = 50
_LIKE = 6
_LIKE_CHARACTERS = 1500
_TOP_PASSAGES = 8
_FRESH_COMMITS = 150
"""A commit this many commits ago votes half as much as the latest, in the count that looks at age."""


@dataclass(frozen=True, slots=True)
class RelatedFile:
    """A file that bears on the question."""

    path: str
    score: float
    kind: Kind
    lines: int
    size: int
    stamp: str


@dataclass(frozen=True, slots=True)
class Related:
    """What was found for one question."""

    query: Query
    files: tuple[RelatedFile, ...]
    """Best first."""
    passages: tuple[Passage, ...]
    """Of the first SHOWN_FILES files, best first; `file` is a place in `files`."""
    probability: float
    """Calibrated chance that something here answers the question."""
    symbols: tuple[str, ...] = ()
    """Names of the question that are defined here."""
    paths: tuple[str, ...] = ()
    """Paths of the question that exist here."""
    unknown: tuple[str, ...] = ()
    """Products that the question names and that stand nowhere here, as written."""
    commits: tuple[tuple[str, str], ...] = ()
    """(short hash, subject) of the past commits most like the question."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The fitted weights. `training/ranking` makes them."""

    file: Mapping[Task, Mapping[str, float]]
    passage: Mapping[str, float]
    abstain: Mapping[str, float]
    fingerprint: str


@cache
def load_ranking() -> Ranking:
    """The shipped weights; read once a process."""
    text = resources.files("clew").joinpath("data", "ranking.json").read_text(encoding="utf-8")
    found = json.loads(text)
    files: Mapping[Task, Mapping[str, float]] = {"question": found["file_question"], "change": found["file_change"]}
    return Ranking(files, found["passage"], found["abstain"], found["fingerprint"])


@cache
def load_background() -> Background:
    """How rare terms are in code at large; read once a process."""
    text = resources.files("clew").joinpath("data", "background.tsv").read_text(encoding="utf-8")
    pairs = (line.partition("\t") for line in text.splitlines() if not line.startswith("#"))
    return Background({term: float(value) for term, _, value in pairs})


@cache
def load_products() -> frozenset[str]:
    """Names of products and protocols; read once a process."""
    return parse_products(resources.files("clew").joinpath("data", "products.txt").read_text(encoding="utf-8"))


@cache
def load_table() -> StaticTable | None:
    """The static embedding table, loaded once a process; None where it is missing or damaged."""
    try:
        return StaticTable.load()
    except (OSError, ValueError, EOFError):
        return None


def lacks_table() -> bool:
    """Whether the table was wanted in this process and could not be read."""
    return load_table.cache_info().currsize > 0 and load_table() is None


@dataclass(slots=True)
class Finder:
    """Answers questions from one index. Numbers that hold for all questions are read once."""

    index: CodeIndex
    ranking: Ranking
    glossary: Glossary
    thesaurus: Thesaurus = field(default_factory=load_thesaurus)
    text: Callable[[Passage], str] | None = None
    """Reads a passage (its `file` is an id here); without it, likeness counts as none."""
    files: dict[int, FileRow] = field(init=False)
    chunk_file: dict[int, int] = field(init=False)
    paths: dict[str, int] = field(init=False)
    facts: dict[int, FileFacts] = field(init=False)
    ages: dict[int, int] = field(init=False)
    """By commit: how many commits of the history are newer."""

    def __post_init__(self) -> None:
        self.files = self.index.files()
        self.chunk_file = self.index.chunk_files()
        self.paths = dict(sorted((row.path, row.id) for row in self.files.values()))
        self.ages = self.index.commit_ages()
        recent, touched = self.index.last_touched(_RECENT_COMMITS), self.index.touched()
        self.facts = {
            row.id: FileFacts(
                row.path, row.kind, row.lines, 1 / (1 + recent[row.path] / 20) if row.path in recent else 0.0,
                touched.get(row.path, 0),
            )
            for row in self.files.values()
        }  # fmt: skip

    def find(self, question: str, task: Task = "question") -> Related:
        """Rank the files and passages of the index for a question. An empty index gives nothing."""
        query = query_terms(question)
        matched = self.match(query, question, task)
        asked = questions.intent(query, question)
        vectors = rows(candidates(matched.scored, self.facts), self.facts, asked)
        ranked = order(vectors, self.ranking.file[task])
        first = tuple(self.paths[path] for path in landmarks(question, self.paths)) if task == "question" else ()
        ranked = _led(first, ranked)
        top = ranked[:SHOWN_FILES]
        places = {file: place for place, (file, _) in enumerate(top)}
        scored = matched.scored
        shown = passages(self.outlined(top), scored.chunks, scored.chunk_covered, matched.near, self.ranking.passage)
        products = product_terms(question, load_products())
        shown = self._led_passages(first, shown)
        values = self.confidence(question, matched, top, shown)
        chance = probability(values, self.ranking.abstain)
        return Related(
            query=query,
            files=tuple(self._related(file, value) for file, value in ranked),
            passages=tuple(
                Passage(p.chunk, places[p.file], p.first, p.last, p.symbol, p.score) for p in shown
            ),
            probability=max(chance, STANDS_HERE) if first or stands_here(values) else chance,
            symbols=matched.symbols,
            paths=matched.paths,
            unknown=tuple(products[e.concept.source] for e in matched.evidence
                          if not e.chunks and not e.paths and e.concept.source in products),
            commits=matched.commits,
        )  # fmt: skip

    def _led_passages(self, first: Sequence[int], shown: Sequence[Passage]) -> Sequence[Passage]:
        """The passages, after the head of each file that answers by custom."""
        if not first:
            return shown
        best = max((passage.score for passage in shown), default=0.0)
        heads = [
            Passage(chunk.id, file, chunk.first, chunk.last, chunk.symbol, best + 1)
            for file in first
            for chunk in self.index.chunks_of(file)[:HEAD_CHUNKS]
        ]
        known = {passage.chunk for passage in heads}
        return [*heads, *(passage for passage in shown if passage.chunk not in known)]

    def outlined(self, top: Sequence[tuple[int, float]]) -> list[RankedFile]:
        """Ranked files with their chunks."""
        return [
            RankedFile(
                file, value, self.files[file].kind, self.files[file].lines,
                [(c.id, c.first, c.last, c.symbol) for c in self.index.chunks_of(file)],
            )
            for file, value in top
        ]  # fmt: skip

    def _related(self, file: int, value: float) -> RelatedFile:
        row = self.files[file]
        return RelatedFile(row.path, value, row.kind, row.lines, row.size, row.stamp)

    def confidence(
        self, question: str, matched: Matched, top: Sequence[tuple[int, float]], shown: Sequence[Passage]
    ) -> list[float]:
        """Numbers that tell a question that something here answers from one that nothing does."""
        texts = [self.text(passage) for passage in shown[:_LIKE]] if self.text is not None else []
        likeness: list[float] = []
        if texts and (table := load_table()) is not None:
            vectors = table.encode([question, *(text[:_LIKE_CHARACTERS] for text in texts)])
            likeness = [float(value) for value in vectors[1:] @ vectors[0]]
        found = Found(
            matched.evidence, matched.scored, matched.near, self.chunk_file, matched.frequencies, top,
            {file: len(self.index.chunks_of(file)) for file, _ in top[:3]},
            {passage.chunk for passage in shown[:_TOP_PASSAGES]}, likeness,
            bool(matched.symbols), bool(matched.paths),
            product_terms(question, load_products()).keys(), proper_terms(question),
        )  # fmt: skip
        return numbers(found, load_background())

    def match(self, query: Query, question: str, task: Task = "question") -> Matched:
        """All evidence for a question, summed up by chunk and file."""
        wanted = questions.concepts(query, self.glossary, self.thesaurus.expand(question))
        evidence, frequencies = self._evidence(wanted)
        commits: dict[str, list[tuple[int, float]]] = {}
        if task == "change":
            wanted = [item.concept for item in evidence]
            own = [concept.alternatives[0][0] for concept in wanted if concept.alternatives and concept.role != "han"]
            commits = {term: self.index.commit_scores(term) for term in dict.fromkeys(own)}
            said = {term: len(rows_of) for term, rows_of in commits.items()}
            weighed = change.weigh(wanted, question, said, len(self.ages))
            evidence = [replace(item, concept=concept) for item, concept in zip(evidence, weighed, strict=True)]
        near = self._near_pairs(query, frequencies)
        scored = score(evidence, self.chunk_file, near)
        voting = self._votes([item.concept for item in evidence], scored, commits)
        mentioned = questions.mentions(query, self.paths)
        for path, value in mentioned.items():
            file = self.paths[path]
            scored.files.setdefault(file, FileFeatures(file)).mentioned = value
        names = [name.strip("-").replace("::", ".").rsplit(".", 1)[-1] for name in query.identifiers]
        defined = self.index.symbols(names) if names else []
        for _, file, _, _ in defined:
            scored.files.setdefault(file, FileFeatures(file)).defines = 1.0
        if task == "change":
            named = change.scope(question)
            for term in named:
                for file, _ in self.index.file_scores(term, "path"):
                    scored.files.setdefault(file, FileFeatures(file)).scope += 1 / len(named)
        symbols = tuple(sorted({name for name, *_ in defined}))
        return Matched(evidence, scored, near, frequencies, symbols, tuple(mentioned), voting)

    def _evidence(self, wanted: Sequence[Concept]) -> tuple[list[Evidence], dict[str, int]]:
        index, total = self.index, len(self.chunk_file)
        words = list({term for concept in wanted for term, _ in concept.alternatives})
        frequencies: dict[str, int] = {}
        for at in range(0, len(words), 400):
            frequencies.update(index.frequencies(words[at : at + 400]))
        idf = {term: inverse_frequency(total, count) for term, count in frequencies.items()}
        unknown = inverse_frequency(total, 0)
        if len(wanted) > questions.MOST_CONCEPTS:
            rarest = sorted(
                wanted,
                key=lambda concept: (
                    -concept.weight * max((idf.get(t, 0.0) * f for t, f in concept.alternatives), default=0.0)
                ),
            )[: questions.MOST_CONCEPTS]
            wanted = [concept for concept in wanted if concept in rarest]
        seen: dict[str, tuple[list[tuple[int, float]], list[tuple[int, float]], list[tuple[int, float]]]] = {}
        found: list[Evidence] = []
        for concept in wanted:
            chunks: dict[int, float] = {}
            names: dict[int, float] = {}
            paths: dict[int, float] = {}
            best = 0.0
            for term, factor in concept.alternatives:
                if term not in seen:
                    common = frequencies.get(term, 0) > COMMON * total and total > _SMALL_INDEX
                    in_chunks = index.chunk_scores(term, HEAD_WEIGHT) if term in frequencies and not common else []
                    seen[term] = in_chunks, index.file_scores(term, "names"), index.file_scores(term, "path")
                for rows_of, into in zip(seen[term], (chunks, names, paths), strict=True):
                    for key, value in rows_of:
                        if value * factor > into.get(key, 0.0):
                            into[key] = value * factor
                if seen[term][0]:
                    best = max(best, idf[term] * factor)
            if not best and concept.role in ("word", "name", "glossary"):
                best = unknown * max((factor for _, factor in concept.alternatives), default=0.5)
            found.append(Evidence(concept, best, chunks, names, paths))
        return found, frequencies

    def _near_pairs(self, query: Query, frequencies: Mapping[str, int]) -> dict[int, float]:
        """Chunks where neighbouring words of the question stand close together, with the smaller idf of each pair."""
        total = len(self.chunk_file)
        words = [w for w in query.words if w.isascii() and 0 < frequencies.get(w, 0) < 0.2 * total]
        near: dict[int, float] = {}
        for first, second in zip(words, words[1:][: questions.MOST_CONCEPTS], strict=False):
            value = inverse_frequency(total, max(frequencies[first], frequencies[second]))
            for chunk in self.index.phrase_chunks((first, second), 4):
                near[chunk] = near.get(chunk, 0.0) + value
        return near

    def _votes(
        self, wanted: Sequence[Concept], scored: Scored, seen: dict[str, list[tuple[int, float]]]
    ) -> tuple[tuple[str, str], ...]:
        """Let the past commits whose words are like the question vote for the files that they touched.

        `seen` holds the commits of terms that were looked up already.
        """
        summed: dict[int, float] = {}
        count = self.index.counts()["commits"]
        for concept in wanted:
            if concept.role == "han" or not count:
                continue
            best: dict[int, float] = {}
            for term, factor in concept.alternatives:
                if term not in seen:
                    seen[term] = self.index.commit_scores(term)
                if len(seen[term]) > max(0.2 * count, 20):
                    continue
                for commit, value in seen[term]:
                    best[commit] = max(best.get(commit, 0.0), value * factor)
            for commit, value in best.items():
                summed[commit] = summed.get(commit, 0.0) + value * concept.weight
        top = sorted(summed.items(), key=lambda pair: (-pair[1], self.ages[pair[0]]))[:_VOTING_COMMITS]
        touched = self.index.commit_paths([commit for commit, _ in top])
        for commit, value in top:
            vote = (value / top[0][1]) ** 2
            paths = touched.get(commit, [])
            fresh = 1 / (1 + self.ages.get(commit, 0) / _FRESH_COMMITS)
            for path in paths:
                if path in self.paths:
                    row = scored.files.setdefault(self.paths[path], FileFeatures(self.paths[path]))
                    row.votes += vote / math.sqrt(len(paths))
                    row.votes_fresh += vote * fresh / math.sqrt(len(paths))
        named = self.index.commit_rows([commit for commit, _ in top[:3]])
        return tuple((named[c][0][:10], named[c][2]) for c, _ in top[:3] if c in named)


def _led(first: Sequence[int], ranked: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The ranking with some files before all others."""
    best = ranked[0][1] if ranked else 0.0
    return [*((file, best + 1) for file in first), *(pair for pair in ranked if pair[0] not in first)]


@dataclass(frozen=True, slots=True)
class Matched:
    """Evidence for one question, before any model weighs it."""

    evidence: Sequence[Evidence]
    scored: Scored
    near: Mapping[int, float]
    frequencies: Mapping[str, int]
    symbols: tuple[str, ...]
    paths: tuple[str, ...]
    commits: tuple[tuple[str, str], ...]
