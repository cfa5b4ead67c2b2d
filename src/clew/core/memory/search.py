"""Which passages of memory answer a question: concepts of the question, evidence by passage, one weighted sum.

Every signal is brought to about 0 to 1 (a share of the best passage of this question, a share of the question, a
cosine), so that one set of weights holds for stores of any size. The sets lie in data/memory_ranking.json: `notes` for
written documents, `dialogue` for turns of a conversation, where what stands before and after says what a short turn is
about. BM25 after Robertson and Zaragoza (2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from clew.core.memory.dates import (
    Span,
    asks_when,
    named_days,
    overlap,
    partial_days,
    spoken_days,
    tells_when,
)
from clew.core.text.glossary import Glossary
from clew.core.text.terms import content_runs, query_terms, stem, terms
from clew.core.text.thesaurus import Thesaurus

K1 = 1.2
B = 0.4
HEAD = 0.8
"""What a term counts in the headings above a passage, in occurrences."""
REACH = 2
"""Places before and after a passage that say something about it."""
MEANING = 0.4
"""How much a word of the thesaurus or glossary says, relative to the word of the question itself."""
MOST_CONCEPTS = 32
FEATURES = (
    "own", "covered", "before", "after", "answers", "document", "name", "name_covered", "like", "like_before",
    "like_around", "speaker", "dated", "spoken", "follows", "tells_when", "asks", "stale",
)  # fmt: skip
"""Names of the signals, in the order of `Ranked.signals`."""
_FOLLOWS_DAYS = 10.0
"""What is told this many days after a day that was asked for counts 1/e of what is told right after it."""


class Passage(NamedTuple):
    """One indexed passage, in the order of its columns: thousands are made for one question."""

    id: int
    document: int
    place: int
    """Among the passages of its document, from 0."""
    first: int
    last: int
    heading: str
    speaker: str
    at: str
    """ISO 8601 text; empty where the document's own time holds."""
    reference: str
    length: int
    """Terms of the body."""
    text: str
    body: str
    """Terms, separated by spaces."""
    head: str


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that is asked about, with the terms that may stand for it, each with a factor of 0 to 1."""

    source: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart."""

    text: str
    concepts: tuple[Concept, ...]
    days: tuple[Span, ...] = ()
    """Days it names, as far as they are certain: with a year, or seen from today."""
    asks_when: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that may stand for something in it, without repetition."""
        return tuple(dict.fromkeys(term for concept in self.concepts for term, _ in concept.alternatives))


def take_apart(
    text: str,
    glossary: Glossary,
    thesaurus: Thesaurus,
    chinese: Mapping[str, Sequence[str]] | None = None,
    today: date | None = None,
) -> Question:
    """The concepts of a question. `chinese` gives Chinese terms for English stems, see `chinese_terms`.

    Words like "yesterday" mean days only where `today` is known.
    """
    query = query_terms(text)
    meanings = {meaning.stems[0]: meaning.terms for meaning in thesaurus.expand(text) if len(meaning.stems) == 1}
    found: list[Concept] = []
    for word in query.words:
        if word[:1] > "\u2e7f":
            continue
        others = [(term, factor * MEANING) for term, factor in meanings.get(word, ())]
        others += [(term, MEANING) for term in (chinese or {}).get(word, ())]
        found.append(Concept(word, ((word, 1.0), *others)))
    for run in query.han:
        found += _of_han(run, glossary)
    days = spoken_days(text, today) if today else named_days(text)
    return Question(text, tuple(found[:MOST_CONCEPTS]), days, asks_when(text))


def _of_han(run: str, glossary: Glossary) -> list[Concept]:
    """Pairs of characters as written; each with the English of the words that it lies in."""
    english: dict[str, dict[str, float]] = {}
    for translation in glossary.expand(run):
        for pair in _pairs(translation.source):
            alternatives = english.setdefault(pair, {})
            for rank, term in enumerate(translation.english):
                factor = translation.weight * (1.0 if rank == 0 else 0.7)
                alternatives[term] = max(alternatives.get(term, 0.0), factor)
    found: dict[str, Concept] = {}
    for piece in content_runs(run):
        for pair in _pairs(piece):
            found[pair] = Concept(pair, ((pair, 1.0), *english.pop(pair, {}).items()))
    # Words of the glossary that lie across what the stop words cut.
    found.update((pair, Concept(pair, tuple(others.items()))) for pair, others in english.items() if len(pair) > 1)
    return list(found.values())


def _pairs(han: str) -> list[str]:
    return [han[at : at + 2] for at in range(len(han) - 1)] or [han]


def chinese_terms(glossary: Glossary) -> dict[str, tuple[str, ...]]:
    """Chinese pairs of characters by English stem: the words of two characters that the glossary gives it."""
    found: dict[str, dict[str, None]] = {}
    for chinese, english in glossary.rows.items():
        if len(chinese) == 2:
            for alternative in english.split("|"):
                if " " not in alternative and alternative.isalpha():
                    found.setdefault(stem(alternative), {})[chinese] = None
    return {word: tuple(pairs)[:4] for word, pairs in found.items()}


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a document whatever its passages say."""

    view: str = "notes"
    """The set of weights that holds for it: `notes` or `dialogue`."""
    name: float = 0.0
    """BM25 of its name, description, cues and tags."""
    named: str = ""
    """The terms of these, separated by spaces."""
    moment: str = ""
    """When it was changed last, as ISO 8601 text."""
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Likeness:
    """Cosines between the question and a passage: alone, with the one before, with both neighbours."""

    own: float = 0.0
    before: float = 0.0
    around: float = 0.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the numbers of one question are measured against."""

    idf: Mapping[str, float]
    """By term of the question; terms that stand in no passage and no name are left out."""
    mean_length: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """One passage with its score and what it is made of."""

    passage: Passage
    score: float
    signals: tuple[float, ...]
    """In the order of FEATURES."""
    matched: tuple[str, ...]
    """Terms of the question that stand in it, alternatives included."""

    def signal(self, name: str) -> float:
        """One of FEATURES."""
        return self.signals[FEATURES.index(name)]


def inverse_frequency(total: int, count: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): Robertson and Spärck Jones, kept positive."""
    return math.log1p((max(total, count) - count + 0.5) / (count + 0.5))


class _Own(NamedTuple):
    score: float
    held: int
    """Bit n is set where concept n stands in the passage."""


def rank(
    question: Question,
    candidates: Iterable[int],
    nearby: Mapping[tuple[int, int], Passage],
    standings: Mapping[int, Standing],
    likeness: Mapping[int, Likeness],
    corpus: Corpus,
    weights: Mapping[str, Mapping[str, float]],
) -> list[Ranked]:
    """The candidates (numbers of passages), best first; equal ones newest first, then as they stand.

    `nearby` holds, by document and place, the candidates and, of conversations, what stands up to REACH places around
    them. A document without a standing, or a passage without a likeness, counts as one that says nothing.
    """
    wanted = set(candidates)
    speakers = {one.speaker.casefold() for one in nearby.values() if one.speaker}
    spoken_to = _named_speaker(question, speakers)
    concepts = [one for one in question.concepts if one.source not in spoken_to[1]]
    measure = _Measure(concepts, corpus)
    own = {key: measure.own(passage) for key, passage in nearby.items()}
    best = max((one.score for one in own.values()), default=0.0) or 1.0
    best_name = max((one.name for one in standings.values()), default=0.0) or 1.0
    tops = _document_tops(own)
    named = {document: measure.share(measure.held(one.named)) for document, one in standings.items() if one.named}
    times = _Times(question)
    best_top = max(tops.values(), default=0.0) or 1.0
    nothing, none = _Own(0.0, 0), Likeness()
    found: list[Ranked] = []
    for (document, place), passage in nearby.items():
        if passage.id not in wanted:
            continue
        here = own[document, place]
        before, after = own.get((document, place - 1), nothing), own.get((document, place + 1), nothing)
        previous = nearby.get((document, place - 1))
        standing = standings.get(document, Standing())
        like = likeness.get(passage.id, none)
        dated, spoken, follows = times.signals(passage, standing)
        signals = (
            here.score / best,
            measure.share(here.held | before.held | after.held),
            own.get((document, place - 2), nothing).score / best,
            own.get((document, place + 2), nothing).score / best,
            before.score / best if previous is not None and _asks(previous.text) else 0.0,
            tops[document] / best_top,
            standing.name / best_name,
            named.get(document, 0.0),
            like.own,
            like.before,
            like.around,
            float(passage.speaker != "" and passage.speaker.casefold() == spoken_to[0]),
            dated,
            spoken,
            follows,
            float(question.asks_when and tells_when(passage.text)),
            float(_asks(passage.text)),
            float(standing.stale),
        )
        vector = weights[standing.view]
        score = sum(vector.get(name, 0.0) * value for name, value in zip(FEATURES, signals, strict=True) if value)
        found.append(Ranked(passage, score, signals, measure.matched(here.held, passage)))
    return _newest_first(found, standings)


def _newest_first(found: list[Ranked], standings: Mapping[int, Standing]) -> list[Ranked]:
    found.sort(key=lambda one: (one.passage.document, one.passage.place))
    found.sort(key=lambda one: one.passage.at or standings.get(one.passage.document, Standing()).moment, reverse=True)
    found.sort(key=lambda one: -round(one.score, 9))
    return found


class _Measure:
    """Scores of passages against the concepts of one question."""

    def __init__(self, concepts: Sequence[Concept], corpus: Corpus) -> None:
        self._corpus = corpus
        self._terms = [
            [(term, f" {term} ", factor) for term, factor in concept.alternatives if term in corpus.idf]
            for concept in concepts
        ]
        # A concept is as rare as the rarest of its words; one that stands nowhere is what nothing here speaks of.
        self._idf = [max((corpus.idf[term] * factor for term, _, factor in own), default=0.0) for own in self._terms]
        missing = max(corpus.idf.values(), default=0.0)
        self._total = sum(idf or missing for idf in self._idf) or 1.0
        self._shares: dict[int, float] = {}

    def own(self, passage: Passage) -> _Own:
        """BM25 over the concepts, of each the alternative that says most."""
        body, head = f" {passage.body} ", f" {passage.head} "
        damp = K1 * (1 - B + B * passage.length / (self._corpus.mean_length or 1.0))
        score, held = 0.0, 0
        for number, alternatives in enumerate(self._terms):
            best = 0.0
            for term, spaced, factor in alternatives:
                count = (body.count(spaced) if spaced in body else 0) + HEAD * (spaced in head)
                if count:
                    best = max(best, factor * self._corpus.idf[term] * count * (K1 + 1) / (count + damp))
            if best:
                score, held = score + best, held | 1 << number
        return _Own(score, held)

    def held(self, words: str) -> int:
        """Which concepts stand among terms separated by spaces, as bits."""
        spaced_words = f" {words} "
        return sum(
            1 << number
            for number, alternatives in enumerate(self._terms)
            if any(spaced in spaced_words for _, spaced, _ in alternatives)
        )

    def share(self, held: int) -> float:
        """Share of the question's idf that is held, 0 to 1."""
        if held not in self._shares:
            parts = sum(idf for number, idf in enumerate(self._idf) if held >> number & 1)
            self._shares[held] = parts / self._total
        return self._shares[held]

    def matched(self, held: int, passage: Passage) -> tuple[str, ...]:
        """The terms that stand in the body."""
        body = f" {passage.body} "
        return tuple(
            term
            for number, alternatives in enumerate(self._terms)
            if held >> number & 1
            for term, spaced, _ in alternatives
            if spaced in body
        )


def _named_speaker(question: Question, speakers: set[str]) -> tuple[str, set[str]]:
    """The one speaker that a question names (empty where it names none or several), and the terms of all such names."""
    words = set(terms(question.text))
    named = {speaker: own for speaker in speakers if (own := set(terms(speaker)[:1])) and own <= words}
    said = set[str]().union(*named.values()) if named else set[str]()
    return (next(iter(named)) if len(named) == 1 else ""), said


def _document_tops(own: Mapping[tuple[int, int], _Own]) -> dict[int, float]:
    """Mean of the best three passages of each document."""
    scores: dict[int, list[float]] = {}
    for (document, _), one in own.items():
        scores.setdefault(document, []).append(one.score)
    return {document: sum(sorted(values, reverse=True)[:3]) / 3 for document, values in scores.items()}


def _asks(text: str) -> bool:
    return text.rstrip().endswith(("?", "\uff1f"))


class _Times:
    """Tells what passages have to do with the days of one question."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._by_year: dict[int, tuple[Span, ...]] = {}

    def signals(self, passage: Passage, standing: Standing) -> tuple[float, float, float]:
        """Whether a passage is of a day that is asked for, whether it speaks of one, how soon after one it was told."""
        day = _day(passage.at or standing.moment)
        if day is None or not (days := self._days(day.year)):
            return 0.0, 0.0, 0.0
        dated = any(overlap((day, day), one) for one in days)
        said = spoken_days(passage.text, day) if tells_when(passage.text) else ()
        spoken = any(overlap(one, other) for one in said for other in days)
        gaps = [(day - last).days for _, last in days if day > last]
        return float(dated), float(spoken), math.exp(-min(gaps) / _FOLLOWS_DAYS) if gaps else 0.0

    def _days(self, year: int) -> tuple[Span, ...]:
        """The days that are asked for, as seen from a year where the question names none."""
        if self._question.days:
            return self._question.days
        if year not in self._by_year:
            self._by_year[year] = partial_days(self._question.text, range(year, year + 1))
        return self._by_year[year]


def _day(moment: str) -> date | None:
    try:
        return date.fromisoformat(moment[:10])
    except ValueError:
        return None
