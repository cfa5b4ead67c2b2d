"""How sure it is that something here answers a question."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.confidence import MOST_RARE, NUMBERS, Background, Found, numbers, probability
from clew.core.index.query import Concept
from clew.core.index.rank import Evidence, score

CHUNK_FILE = {10: 1, 11: 1, 20: 2, 30: 3}
BACKGROUND = Background({"file": 3.0, "retri": 7.0, "delay": 6.0})


def looked(evidence: list[Evidence], near: dict[int, float] | None = None, likeness: tuple[float, ...] = ()) -> Found:
    scored = score(evidence, CHUNK_FILE, near or {})
    top = sorted(((file, row.best) for file, row in scored.files.items()), key=lambda pair: -pair[1])
    best = sorted(scored.chunks, key=lambda chunk: -scored.chunks[chunk])[:2]
    held = {item.concept.alternatives[0][0]: len(item.chunks) for item in evidence if item.concept.alternatives}
    sizes = {file: sum(1 for other in CHUNK_FILE.values() if other == file) for file, _ in top[:3]}
    return Found(evidence, scored, near or {}, CHUNK_FILE, held, top, sizes, set(best), likeness, False, False)


def word(source: str, chunks: dict[int, float], role: str = "word") -> Evidence:
    return Evidence(Concept(source, role, ((source, 1.0),)), 2.0, chunks, {}, {})


def named(evidence: list[Evidence]) -> dict[str, float]:
    return dict(zip(NUMBERS, numbers(looked(evidence), BACKGROUND), strict=True))


def test_a_term_that_no_project_holds_is_as_rare_as_can_be() -> None:
    assert BACKGROUND.of("xyzzy") == MOST_RARE > BACKGROUND.of("retri") > BACKGROUND.of("file")


def test_a_missing_rare_word_weighs_more_than_a_missing_usual_one() -> None:
    rare_missing = named([word("file", {10: 1.0}), word("xyzzy", {})])
    usual_missing = named([word("file", {}), word("xyzzy", {10: 1.0})])
    assert rare_missing["unknown"] > 0.7 > 0.3 > usual_missing["unknown"] > 0


def test_words_in_one_place_cover_more_than_words_apart() -> None:
    together = named([word("retri", {10: 1.0}), word("delay", {10: 1.0})])
    apart = named([word("retri", {10: 1.0}), word("delay", {30: 1.0})])
    assert together["chunk_share"] == pytest.approx(1.0) and apart["chunk_share"] < 0.6


def test_a_word_common_here_and_rare_elsewhere_tells_the_topic() -> None:
    assert named([word("retri", {10: 1.0, 11: 1.0, 20: 1.0})])["topic"] > named([word("file", {10: 1.0})])["topic"]


ROLES = st.sampled_from(["word", "name", "phrase", "compound", "han", "glossary"])
ALTERNATIVES = st.lists(
    st.tuples(st.sampled_from(["file", "retri", "xyzzy"]), st.floats(0.1, 1)), max_size=3
).map(tuple)  # fmt: skip
EVIDENCE = st.lists(
    st.builds(
        Evidence,
        st.builds(Concept, st.sampled_from(["retri", "delay"]), ROLES, ALTERNATIVES, st.floats(0, 1)),
        st.floats(0, 12),
        st.dictionaries(st.sampled_from(sorted(CHUNK_FILE)), st.floats(0, 40)),
        st.just({}),
        st.just({}),
    ),
    max_size=12,
)


@given(EVIDENCE, st.lists(st.floats(-1, 1), max_size=6).map(tuple))
def test_every_number_is_finite_whatever_was_found(evidence: list[Evidence], likeness: tuple[float, ...]) -> None:
    values = numbers(looked(evidence, likeness=likeness), BACKGROUND)
    assert len(values) == len(NUMBERS)
    assert all(math.isfinite(value) for value in values)


FLOATS = st.floats(-1e6, 1e6)


@given(st.lists(FLOATS, min_size=len(NUMBERS), max_size=len(NUMBERS)), FLOATS, FLOATS)
def test_a_probability_lies_between_nothing_and_certainty(values: list[float], weight: float, bias: float) -> None:
    assert 0 <= probability(values, {"best": weight, "bias": bias}) <= 1


def test_without_weights_it_is_as_likely_as_not() -> None:
    assert probability([1.0] * len(NUMBERS), {}) == 0.5
