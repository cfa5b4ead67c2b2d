"""Which passages of the ranked files come first."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from clew.core.index.kinds import Kind
from clew.core.index.passages import CHUNK_FEATURES, RankedFile, passage_rows, passages


def ranked(file: int, score: float, chunks: int, kind: Kind = Kind.SOURCE) -> RankedFile:
    spans = [(file * 10 + at, at * 40 + 1, at * 40 + 40, f"f{at}") for at in range(chunks)]
    return RankedFile(file, score, kind, chunks * 40, spans)


def test_the_best_chunk_of_the_best_file_comes_first() -> None:
    files = [ranked(1, 5.0, 3), ranked(2, 2.0, 1)]
    found = passages(files, {11: 9.0, 10: 1.0, 20: 3.0}, {}, {}, {"score": 1.0, "file_score": 0.05})
    assert [(one.file, one.chunk) for one in found][:2] == [(1, 11), (2, 20)]
    assert (found[0].first, found[0].last, found[0].symbol) == (41, 80, "f1")


def test_a_chunk_beside_a_strong_one_may_come_before_a_lonely_one() -> None:
    found = passages([ranked(1, 1.0, 4)], {11: 9.0, 13: 0.5}, {}, {}, {"score": 1.0, "neighbour": 0.5})
    assert [one.chunk for one in found] == [11, 10, 12, 13]


def test_chunks_that_score_the_same_keep_the_order_of_their_lines() -> None:
    assert [one.chunk for one in passages([ranked(1, 1.0, 3)], {}, {}, {}, {})] == [10, 11, 12]


def test_no_files_have_no_passages() -> None:
    assert passages([], {}, {}, {}, {}) == []
    assert passage_rows([], {}, {}, {}) == {}


def test_texts_and_tests_and_small_files_are_told_apart() -> None:
    files = [ranked(1, 3.0, 1, Kind.DOC), ranked(2, 2.0, 1, Kind.TEST), ranked(3, 1.0, 5)]
    found = passage_rows(files, {}, {}, {})
    named = {file: dict(zip(CHUNK_FEATURES, rows[0], strict=True)) for file, rows in found.items()}
    assert [named[file]["doc"] for file in (1, 2, 3)] == [1.0, 0.0, 0.0]
    assert [named[file]["test"] for file in (1, 2, 3)] == [0.0, 1.0, 0.0]
    assert [named[file]["small"] for file in (1, 2, 3)] == [1.0, 1.0, 0.0]


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.integers(0, 6)), max_size=6),
    st.dictionaries(st.integers(0, 70), st.floats(0, 100)),
    st.dictionaries(st.integers(0, 70), st.floats(0, 1)),
)
def test_each_chunk_appears_once_with_finite_numbers(
    sizes: list[tuple[float, int]], scores: dict[int, float], near: dict[int, float]
) -> None:
    files = [ranked(at, score, chunks) for at, (score, chunks) in enumerate(sorted(sizes, reverse=True))]
    found = passages(files, scores, near, near, dict.fromkeys(CHUNK_FEATURES, 1.0))
    assert sorted(one.chunk for one in found) == sorted(chunk for file in files for chunk, *_ in file.chunks)
    assert all(math.isfinite(one.score) for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
