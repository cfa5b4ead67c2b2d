"""The numbers that speak for and against mentioning a note for a message: one row a note, columns NUMBERS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clew.core.memory.actions import KINDS, PERSONAL, announced
from clew.core.memory.shape import FORMS, forms
from clew.core.memory.shelf import QUANTUM, TYPES, Floats, Postings, Shelf, Vectors, is_chinese
from clew.core.text.glossary import Glossary
from clew.core.text.terms import Query, content_runs, query_terms, terms
from clew.core.text.thesaurus import Thesaurus

NUMBERS: Final = (
    "bm25_text", "cover_text", "best_text", "lead_text",
    "bm25_when", "cover_when", "best_when", "lead_when_words",
    "head", "chunk", "when", "when_second", "top",
    "lead_head", "lead_chunk", "lead_when", "lead_top", "gap_top",
    "preference", "profile", "decision", "procedure", "gotcha", "reference",
    "act_user", "act_project", "act_miss",
    "named", "other_named", "personal_both", "personal_note", "personal_project",
    "same_language",
    "assistant", "words", "bare", "question", "minimal", "lean",
    "minimal_project", "minimal_lead", "assistant_user", "assistant_lead", "bare_lead",
    "duel_top", "duel_words", "rank_top", "rank_words",
    *FORMS, *(f"{name}_lead" for name in FORMS), "edit_user", "general_project", "announces_user", "symptom_fact",
    "few", "many", "few_top", "few_lead", "few_words", "near_when", "near_top",
)  # fmt: skip
"""What each column is; how it is made stands in the code that makes it."""

ENOUGH: Final = 24
"""Notes from which on a store is compared with itself alone; a smaller one is filled up with notes as they usually are,
since a lead over nobody says nothing."""
_UNKNOWN_SHARE = 0.03
"""Share of the notes that fill up a store in which any term stands."""
_KIND_SHARE = 0.1
"""Share of them that speak of any one kind of action."""
_NEAR_COSINE = 0.45
_K1, _B = 1.2, 0.6
_BLOCK = 1024
_NEAR = 500
_MOST_CONCEPTS = 48
_THESAURUS, _PAIR, _CHARACTER = 0.5, 0.7, 0.6
_MOMENTS: Final = frozenset("today tomorrow yesterday tonight now 今天 明天 昨天 今晚 现在".split())
"""Say nothing of what a message is about."""
_QUESTION: Final = re.compile(
    r"[?？]|^(?:what|why|how|who|when|where|which|is|are|can|does|do|should|could)\b|[吗呢么]\s*$|怎么|什么|多少",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9_]+|[\u3400-\u4dbf\u4e00-\u9fff]")


Usual = Mapping[str, Sequence[float]]
"""By number, what notes that have nothing to do with a message have of it: quantiles, ascending. `length_text` and
`length_when` hold one value each, the mean length of a note. What ends in `_when` is for notes with phrases."""


def filled(pool: Floats, usual: Sequence[float]) -> Floats:
    """The values of a store's notes, filled up to ENOUGH with usual ones, evenly chosen from their quantiles."""
    missing = ENOUGH - len(pool)
    if missing <= 0 or not len(usual):
        return pool
    at = (np.arange(missing) + 0.5) * len(usual) / missing - 0.5
    chosen = np.interp(at, np.arange(len(usual)), np.asarray(usual)).astype(np.float32)
    return np.concatenate([pool, chosen])


@dataclass(frozen=True, slots=True)
class Message:
    """A message and what its shape tells: `minimal` and `lean` are the chances of those modes, 0..1."""

    text: str
    role: str = "user"
    minimal: float = 0.0
    lean: float = 0.0

    @property
    def words(self) -> int:
        """Words, each Han character half a one."""
        found = _WORD.findall(self.text)
        return sum(1 if piece.isascii() else 0.5 for piece in found).__ceil__()

    @property
    def bare(self) -> bool:
        """Whether there is next to nothing to go by: fewer than two content words."""
        query = query_terms(self.text)
        content = {word for word in query.words if word.isascii()}
        # A character that stands alone between function words is a word of its own.
        han = sum(max(1.0, len(piece) / 2) for run in query.han for piece in content_runs(run))
        return len(content) + han < 2


def concepts(query: Query, text: str, glossary: Glossary, thesaurus: Thesaurus) -> list[list[tuple[str, float]]]:
    """What a message speaks of: for each thing the terms that may stand for it, with factors of 0 to 1."""
    found: list[list[tuple[str, float]]] = []
    meanings = {meaning.stems[0]: meaning for meaning in thesaurus.expand(text) if len(meaning.stems) == 1}
    for word in query.words:
        if word.isascii():
            others = meanings[word].terms if word in meanings else ()
            found.append([(word, 1.0), *((term, factor * _THESAURUS) for term, factor in others)])
    found = [some for some in found if some[0][0] not in _MOMENTS]
    for run in query.han:
        merged: dict[str, list[tuple[str, float]]] = {}
        for translation in glossary.expand(run):
            if translation.weight >= 0.25:
                merged.setdefault(translation.source, []).extend(
                    (term, translation.weight * (0.9 if rank == 0 else 0.6))
                    for rank, term in enumerate(translation.english)
                )
        alone: list[list[tuple[str, float]]] = []
        for piece in content_runs(run):
            for term in (pair for pair in terms(piece) if len(pair) == 2 or len(piece) == 1):
                # A word and its translations are one thing; so is a word of three characters and its pairs.
                source = next((source for source in merged if term in source and len(term) == 2), "")
                if source:
                    merged[source].append((term, 1.0 if source == term else _PAIR))
                else:
                    alone.append([(term, 1.0 if len(term) == 2 else _CHARACTER)])
        found += [alternatives for source, alternatives in merged.items() if alternatives and source not in _MOMENTS]
        found += alone
    return found[:_MOST_CONCEPTS]


def _words(
    postings: Postings, asked: Sequence[Sequence[tuple[str, float]]], live: NDArray[np.bool_], length: float
) -> tuple[Floats, Floats, Floats]:
    """ln(1 + BM25), the covered share of what is asked, and the rarest covered thing, for every note.

    Terms are as rare as they are among the notes in force and those that fill up a small store, which have the given
    mean `length`.
    """
    total, covered, best = (np.zeros(len(live), np.float32) for _ in range(3))
    count = int(live.sum())
    if not count or not asked:
        return total, covered, best
    missing = max(0, ENOUGH - count)
    size = count + missing
    mean = (float(postings.lengths[live].sum()) + missing * length) / size or 1.0
    norm = _K1 * (1 - _B + _B * postings.lengths / mean)
    weight = 0.0
    most = np.log(1 + size / 0.5)
    for alternatives in asked:
        strength = np.zeros(len(live), np.float32)
        rarity = 0.0
        for term, factor in alternatives:
            notes, counts = postings.find(term)
            there = int(live[notes].sum())
            if not there:
                continue
            having = there + missing * _UNKNOWN_SHARE
            idf = float(np.log(1 + (size - having + 0.5) / (having + 0.5)))
            value = factor * idf * counts * (_K1 + 1) / (counts + norm[notes])
            strength[notes] = np.maximum(strength[notes], value)
            rarity = max(rarity, factor * idf)
        weight += rarity or most * 0.6
        if rarity:
            hit = strength > 0
            total += strength
            covered += np.where(hit, np.minimum(strength, rarity), 0.0)
            best = np.maximum(best, np.where(hit, np.minimum(strength, rarity), 0.0))
    return np.log1p(total), covered / max(weight, 1e-6), best / most


def _best(size: int, cosines: Floats, owner: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """The best and the second-best cosine of each note's rows; where there is none, 0 and 0."""
    first, second = np.zeros(size, np.float32), np.zeros(size, np.float32)
    if len(owner):
        order = np.lexsort((-cosines, owner))
        sorted_owner = owner[order]
        starts = np.flatnonzero(np.append(True, sorted_owner[1:] != sorted_owner[:-1]))
        first[sorted_owner[starts]] = cosines[order][starts]
        after = starts + 1
        valid = after < len(order)
        after, who = after[valid], sorted_owner[starts][valid]
        same = sorted_owner[after] == who
        second[who[same]] = cosines[order][after[same]]
    return first, second


def _cosines(rows: NDArray[np.int8], vector: Floats) -> Floats:
    """Products of unit rows, kept as int8 in steps of QUANTUM, with a unit vector; block by block to spare memory."""
    out = np.empty(len(rows), np.float32)
    scaled = vector * np.float32(QUANTUM)
    for at in range(0, len(rows), _BLOCK):
        np.dot(rows[at : at + _BLOCK].astype(np.float32), scaled, out=out[at : at + _BLOCK])
    return out


def _near(
    meaning: Floats, words: Mapping[str, NDArray[Any] | float], live: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Which notes of a large shelf are worth a look at their bodies; None on a small one: all."""
    if len(live) <= 2 * _NEAR:
        return None
    near = np.zeros(len(live), np.bool_)
    said = np.asarray(words["bm25_text"], np.float32) + np.asarray(words["bm25_when"], np.float32)
    for values in (meaning, said):
        near[np.argpartition(np.where(live, values, -np.inf), -_NEAR)[-_NEAR:]] = True
    return near


def _lead(values: Floats, live: NDArray[np.bool_], usual: Sequence[float]) -> Floats:
    """How far each value lies above the fourth best of those that may be mentioned."""
    pool = filled(values[live], usual)
    if not len(pool):
        return np.zeros_like(values)
    place = min(3, len(pool) - 1)
    return (values - np.partition(pool, -1 - place)[-1 - place]).astype(np.float32)


def _duel(values: Floats, live: NDArray[np.bool_], usual: Sequence[float]) -> Floats:
    """How far each value lies above (or below) the best of all others that may be mentioned."""
    pool = filled(values[live], usual)
    if len(pool) < 2:
        return np.zeros_like(values)
    second, first = np.partition(pool, -2)[-2:].tolist()
    others = np.full(len(values), first, np.float32)
    others[values >= np.float32(first)] = second
    return values - others


def _rank(values: Floats, live: NDArray[np.bool_], usual: Sequence[float]) -> Floats:
    """One over the rank of each value; what shares a value shares the lower rank."""
    pool = np.sort(filled(values[live], usual))
    if not len(pool):
        return np.zeros_like(values)
    above = len(pool) - np.searchsorted(pool, values, side="right")
    return np.where(values > 0, 1 / (1.0 + above), 0.0).astype(np.float32)


def _between(usual: Usual, name: str, phrased: float) -> Sequence[float]:
    """The usual values of a number in a store of which the share `phrased` has phrases."""
    plain, other = usual.get(name, ()), usual.get(f"{name}_when", ())
    if not len(plain) or not len(other):
        return ()
    return [one * (1 - phrased) + two * phrased for one, two in zip(plain, other, strict=True)]


def wording(
    message: Message,
    shelf: Shelf,
    live: NDArray[np.bool_],
    glossary: Glossary,
    thesaurus: Thesaurus,
    usual: Usual,
) -> dict[str, NDArray[Any] | float]:
    """The columns that need no vectors. `live` (n,) says which notes may be mentioned; `usual` values of words."""
    query = query_terms(message.text)
    asked = concepts(query, message.text, glossary, thesaurus)
    bm25_text, cover_text, best_text = _words(shelf.text, asked, live, *usual.get("length_text", (1.0,)))
    bm25_when, cover_when, best_when = _words(shelf.phrases, asked, live, *usual.get("length_when", (1.0,)))
    both = bm25_text + bm25_when
    phrased = float(shelf.has_when[live].mean()) if live.any() else 0.0
    usually = _between(usual, "words", phrased)
    count = int(live.sum())
    few = max(0.0, 1 - count / ENOUGH)
    shape = forms(message.text)
    return {
        "bm25_text": bm25_text, "cover_text": cover_text, "best_text": best_text,
        "lead_text": _lead(bm25_text, live, usual.get("bm25_text", ())),
        "bm25_when": bm25_when, "cover_when": cover_when, "best_when": best_when,
        "lead_when_words": np.where(
            shelf.has_when, _lead(bm25_when, live & shelf.has_when, usual.get("bm25_when", ())), 0.0
        ),
        "duel_words": _duel(both, live, usually), "rank_words": _rank(both, live, usually),
        "few": few, "many": float(np.log(max(count, ENOUGH) / ENOUGH)), "few_words": few * both,
        **_nature(message, shelf, query, live), **_shape(message), **shape,
        "edit_user": shape["edit"] * shelf.user, "general_project": shape["general"] * ~shelf.user,
        "announces_user": shape["announces"] * shelf.user,
        "symptom_fact": shape["symptom"] * (shelf.types == TYPES.index("gotcha")),
    }  # fmt: skip


def evidence(
    words: Mapping[str, NDArray[Any] | float],
    shelf: Shelf,
    engine: str,
    vector: Floats,
    live: NDArray[np.bool_],
    usual: Usual,
) -> Floats:
    """The numbers (n, len(NUMBERS)) of every note of the shelf, `words` being what `wording` found.

    `vector` is the unit vector of the message in the space of `shelf.engines[engine]`, `usual` what this engine finds.
    """
    size = len(shelf)
    vectors = shelf.engines[engine]
    head, _ = _best(size, _cosines(vectors.head, vector), vectors.head_owner)
    when, second = _best(size, _cosines(vectors.when, vector), vectors.when_owner)
    near = _near(np.maximum(head, when), words, live)
    rows = np.flatnonzero(near[vectors.chunk_owner]) if near is not None else slice(None)
    chunk, _ = _best(size, _cosines(vectors.chunk[rows], vector), vectors.chunk_owner[rows])
    top = np.maximum(np.maximum(head, chunk), when)
    sure = live & vectors.have
    phrased = float(shelf.has_when[sure].mean()) if sure.any() else 0.0
    usually = _between(usual, "top", phrased)
    lead_top = _lead(top, sure, usually)
    spread = float(filled(top[sure], usually).std()) if sure.any() else 1.0
    few = words["few"]
    minimal, assistant = words["minimal"], words["assistant"]
    columns: dict[str, NDArray[Any] | float] = {
        **words,
        "head": head, "chunk": chunk, "when": when, "when_second": second, "top": top,
        "lead_head": _lead(head, sure, usual.get("head", ())),
        "lead_chunk": _lead(chunk, sure, usual.get("chunk", ())),
        "lead_when": np.where(shelf.has_when, _lead(when, sure & shelf.has_when, usual.get("when", ())), 0.0),
        "near_when": np.maximum(when - _NEAR_COSINE, 0), "near_top": np.maximum(top - _NEAR_COSINE, 0),
        "few_top": few * top, "few_lead": few * lead_top,
        "lead_top": lead_top, "gap_top": lead_top / max(spread, 1e-3) / 10,
        "minimal_project": minimal * ~shelf.user, "minimal_lead": minimal * lead_top,
        "assistant_user": assistant * shelf.user, "assistant_lead": assistant * lead_top,
        "bare_lead": words["bare"] * lead_top,
        "duel_top": _duel(top, sure, usually), "rank_top": _rank(top, sure, usually),
        **{f"{name}_lead": words[name] * lead_top for name in FORMS},
    }  # fmt: skip
    out = np.empty((size, len(NUMBERS)), np.float32)
    for at, name in enumerate(NUMBERS):
        out[:, at] = columns[name]
    return out


def _nature(message: Message, shelf: Shelf, query: Query, live: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Numbers of the note's type, its kinds of action against the message's, its project, its language."""
    said = announced(message.text)
    common = shelf.kinds & said & ~PERSONAL
    # A kind that many notes speak of tells less.
    missing = max(0, ENOUGH - int(live.sum()))
    overlap = np.zeros(len(shelf), np.float32)
    for bit in range(len(KINDS)):
        if said >> bit & 1 and 1 << bit != PERSONAL:
            having = (shelf.kinds >> bit & 1).astype(np.float32)
            overlap += having / (1 + 0.15 * (float(having[live].sum()) + _KIND_SHARE * missing))
    words = set(query.words) | {name.casefold() for name in query.identifiers}
    named = np.array([bool(name) and name in words for name in shelf.workspaces], np.bool_)
    by_name = named[shelf.projects]
    personal = (shelf.kinds & PERSONAL) > 0
    types = {name: shelf.types == at for at, name in enumerate(TYPES) if name != "note"}
    mine = bool(said & PERSONAL)
    return {
        **types,
        "act_user": overlap * shelf.user,
        "act_project": overlap * ~shelf.user,
        "act_miss": (shelf.types == TYPES.index("preference")) & (common == 0),
        "named": by_name,
        "other_named": ~shelf.user & ~by_name & bool(named.any()),
        "personal_both": personal & mine,
        "personal_note": personal & (not mine),
        "personal_project": ~shelf.user & mine,
        "same_language": shelf.chinese == is_chinese(message.text),
    }


def _shape(message: Message) -> dict[str, float]:
    """Numbers of the message alone."""
    return {
        "assistant": float(message.role == "assistant"),
        "words": float(np.log1p(message.words)) / 4,
        "bare": float(message.bare),
        "question": float(_QUESTION.search(message.text.strip()) is not None),
        "minimal": message.minimal,
        "lean": message.lean,
    }


def logits(numbers: Floats, bias: float, weights: Mapping[str, float]) -> Floats:
    """The logit of each row. A weight of a number that does not exist is an error (KeyError)."""
    unknown = set(weights) - set(NUMBERS)
    if unknown:
        raise KeyError(sorted(unknown)[0])
    return numbers @ np.array([weights.get(name, 0.0) for name in NUMBERS], np.float32) + np.float32(bias)


def centred(vector: Floats, vectors: Vectors, text: str) -> Floats:
    """A message's vector minus the mean of queries in its language, of length one."""
    moved = vector - vectors.means[1 if is_chinese(text) else 0]
    length = float(np.sqrt(moved @ moved))
    return moved / length if length else moved
