"""Evidence summed up by file and chunk, the numbers of each file, and their order."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.kinds import Kind
from clew.core.index.query import Concept
from clew.core.index.rank import (
    FEATURES,
    Evidence,
    FileFacts,
    base_covered,
    inverse_frequency,
    order,
    rows,
    score,
)
from clew.services.eval.ask import evaluate_ask
from clew.services.eval.locate import evaluate_locate
from clew.services.eval.repositories import Repositories

CLOCK = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
FIVE, TEN = 0.86, 0.92
"""Recall that the shipped weights hold on commits of projects that took no part in their fit."""
ASKED = {"test": 0.0, "config": 0.0, "doc": 0.0, "example": 0.0}
CHUNK_FILE = {10: 1, 11: 1, 20: 2, 30: 3}


def evidence(
    source: str, chunks: Mapping[int, float], *, role: str = "word", idf: float = 2.0, weight: float = 1.0
) -> Evidence:
    return Evidence(Concept(source, role, ((source, 1.0),), weight), idf, chunks, {}, {})


def facts(kinds: Mapping[int, Kind] | None = None) -> dict[int, FileFacts]:
    return {file: FileFacts(f"src/f{file}.py", (kinds or {}).get(file, Kind.SOURCE), 40, 0.0, 0) for file in (1, 2, 3)}


def test_a_chunk_gains_from_each_concept_and_a_file_from_its_best_chunks() -> None:
    found = score([evidence("retri", {10: 2.0, 11: 1.0}), evidence("delay", {10: 1.0, 20: 3.0})], CHUNK_FILE, {})
    assert found.chunks == {10: 3.0, 11: 1.0, 20: 3.0}
    assert found.files[1].best == 3.0 and found.files[1].three == 3.5
    assert found.files[1].covered == pytest.approx(1.0) and found.files[2].covered == pytest.approx(0.5)


def test_words_that_say_more_cover_more() -> None:
    found = score([evidence("rare", {10: 1.0}, idf=6.0), evidence("usual", {20: 1.0}, idf=2.0)], CHUNK_FILE, {})
    assert found.files[1].covered == pytest.approx(0.75)


def test_a_compound_adds_score_and_covers_nothing() -> None:
    found = score([evidence("file_name", {10: 1.0}, role="compound"), evidence("name", {20: 1.0})], CHUNK_FILE, {})
    assert found.files[1].best == 1.0 and found.files[1].covered == 0.0


def test_what_a_long_text_says_late_counts_less() -> None:
    many = [evidence(f"w{n}", {10 if n == 0 else 20: 1.0} if n in (0, 39) else {}) for n in range(40)]
    found = score(many, CHUNK_FILE, {})
    assert found.files[1].best == 1.0 > found.files[2].best >= 0.3


@pytest.mark.parametrize(
    ("path", "words", "covered"),
    [
        ("src/retry.py", {"retri"}, 1.0),
        ("src/retry_delay.py", {"retri"}, 0.5),
        ("src/retry/__init__.py", {"retri"}, 1.0),
        ("src/retry/index.ts", {"retri"}, 1.0),
        ("src/retry.py", {"delay"}, 0.0),
        ("Makefile", {"makefil"}, 1.0),
        ("", {"makefil"}, 0.0),
    ],
)
def test_a_question_may_say_the_name_of_a_file(path: str, words: set[str], covered: float) -> None:
    assert base_covered(path, dict.fromkeys(words, 1.0)) == covered


@given(st.text(max_size=60), st.sets(st.text(alphabet="abcdef", min_size=1, max_size=4)))
def test_the_covered_share_of_a_name_lies_between_nothing_and_all(path: str, words: set[str]) -> None:
    assert 0 <= base_covered(path, dict.fromkeys(words, 1.0)) <= 1


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_rarer_term_says_more_and_none_says_less_than_nothing(count: int, more: int) -> None:
    total = count + more
    assert 0 < inverse_frequency(total, count) <= inverse_frequency(total, 0)


VALUES = st.floats(0, 50, allow_nan=False)
EVIDENCE = st.lists(
    st.builds(
        Evidence,
        st.builds(
            Concept,
            st.sampled_from(["retri", "delay", "cach"]),
            st.sampled_from(["word", "name", "phrase", "compound", "han", "glossary"]),
            st.just((("retri", 1.0),)),
            st.floats(0, 1.5),
        ),
        VALUES,
        st.dictionaries(st.sampled_from(sorted(CHUNK_FILE)), VALUES),
        st.dictionaries(st.sampled_from([1, 2, 3]), VALUES),
        st.dictionaries(st.sampled_from([1, 2, 3]), VALUES),
    ),
    max_size=20,
)


@given(EVIDENCE, st.dictionaries(st.sampled_from(sorted(CHUNK_FILE)), VALUES))
def test_every_number_of_every_file_is_finite(found: list[Evidence], near: dict[int, float]) -> None:
    vectors = rows(score(found, CHUNK_FILE, near), facts(), ASKED)
    assert all(len(row) == len(FEATURES) for row in vectors.values())
    assert all(math.isfinite(value) for row in vectors.values() for value in row)


def test_the_kind_that_a_question_speaks_of_is_a_number_of_its_own() -> None:
    found = score([evidence("retri", {10: 1.0, 20: 1.0})], CHUNK_FILE, {})
    vectors = rows(found, facts({1: Kind.TEST}), {**ASKED, "test": 1.0})
    at = FEATURES.index("test_asked")
    assert (vectors[1][at], vectors[2][at]) == (1.0, 0.0)


@pytest.mark.requirement("P-03")
def test_a_file_that_speaks_of_all_words_comes_before_one_that_repeats_one() -> None:
    found = score([evidence("retri", {10: 2.0, 20: 2.5}), evidence("delay", {10: 2.0})], CHUNK_FILE, {})
    ranked = order(rows(found, facts(), ASKED), {"three": 1.0, "covered": 1.0})
    assert [file for file, _ in ranked] == [1, 2]


@given(EVIDENCE, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_the_files_came(found: list[Evidence], chance) -> None:
    scored = score(found, CHUNK_FILE, {})
    weights: dict[str, float] = dict.fromkeys(FEATURES, 0.5)
    ranked = order(rows(scored, facts(), ASKED), weights)
    files = list(scored.files.items())
    chance.shuffle(files)
    scored.files = dict(files)
    assert order(rows(scored, facts(), ASKED), weights) == ranked
    assert [value for _, value in ranked] == sorted((value for _, value in ranked), reverse=True)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_words_of_a_fix_lead_to_its_files(shared_data: Path, tmp_path: Path) -> None:
    result = evaluate_locate(shared_data / "locate.dev.jsonl", labelled_repositories(tmp_path))
    assert result.skipped == 0
    assert result.recall["5"] >= FIVE and result.recall["10"] >= TEN
    assert result.median_ms < 60


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.requirement("Q-11")
def test_a_question_finds_its_files_and_a_strange_one_is_told(shared_data: Path, tmp_path: Path) -> None:
    states = labelled_repositories(tmp_path)
    result = evaluate_ask(shared_data / "ask.dev.jsonl", states, CLOCK, elsewhere=True)
    assert result.skipped == 0
    assert result.files_at_5 >= 0.65 and result.covered >= 0.55
    assert result.absent_told is not None and result.absent_told >= 0.60
    shares = [own["files_at_5"] for own in (result.per_lang["en"], result.per_lang["zh"])]
    assert shares[1] >= shares[0] - 0.10


def labelled_repositories(scratch: Path) -> Repositories:
    """The git directories of the labelled projects below CLEW_SHARED_REPOS, else a skip."""
    folder = os.environ.get("CLEW_SHARED_REPOS")
    if not folder:
        pytest.skip("no repositories of the labelled data here (CLEW_SHARED_REPOS names their folder)")
    return Repositories(Path(folder), scratch, {"PATH": os.environ["PATH"]})
