"""The table of word vectors that ships with the product."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.adapters.embedding import TABLE_FILES, Segmenter, StaticTable, is_chinese

NOTES = [
    "Requests to the payment gateway time out after 30 seconds and are retried three times",
    "The staging database is restored from last night's backup every morning",
    "Use fish shell syntax in every command you show me",
    "Users without the admin role may not delete invoices",
    "Screenshots of the settings page belong in the design folder",
]
QUESTIONS = {
    "支付接口超时以后会重试几次?": 0,
    "怎么用备份恢复数据库": 1,
    "谁有权限删除发票": 3,
    "which role is allowed to remove an invoice": 3,
    "how often do we try again when the payment provider does not answer": 0,
}


@pytest.fixture(scope="module")
def table() -> StaticTable:
    return StaticTable.load()


def test_a_question_finds_the_note_that_answers_it_in_either_language(table: StaticTable) -> None:
    scores = table.encode(list(QUESTIONS)) @ table.encode(NOTES).T
    assert scores.argmax(axis=1).tolist() == list(QUESTIONS.values())


@pytest.mark.parametrize(
    ("chinese", "english"),
    [("超时", "timeout"), ("缓存", "cache"), ("权限", "permission"), ("数据库", "database"), ("下载", "download")],
)
def test_a_chinese_term_is_nearest_to_its_english_word(table: StaticTable, chinese: str, english: str) -> None:
    words = ["timeout", "cache", "permission", "database", "download", "colour", "invoice", "thread", "queue", "sort"]
    scores = table.word_vectors([chinese]) @ table.word_vectors(words).T
    assert words[int(scores.argmax())] == english


@given(st.lists(st.text(max_size=60), max_size=6))
def test_every_vector_has_length_one_or_is_zero(texts: list[str]) -> None:
    loaded = _shared()
    lengths = np.linalg.norm(loaded.encode(texts), axis=1)
    assert lengths.shape == (len(texts),)
    assert np.all((np.abs(lengths - 1) < 1e-3) | (lengths == 0))


@given(st.lists(st.sampled_from(["重试 the request", "cache", "", "Ω", "删除 invoices", "x" * 300]), max_size=8))
def test_a_text_has_the_same_vector_alone_and_among_others(texts: list[str]) -> None:
    loaded = _shared()
    together = loaded.encode(texts)
    for text, row in zip(texts, together, strict=True):
        assert np.allclose(loaded.encode([text])[0], row, atol=1e-5)


def test_traditional_and_simplified_characters_mean_the_same(table: StaticTable) -> None:
    simplified, traditional = table.encode(["数据库连接超时", "數據庫連接超時"])
    assert float(simplified @ traditional) == pytest.approx(1, abs=1e-5)


def test_the_way_a_name_is_written_does_not_matter(table: StaticTable) -> None:
    rows = table.encode(["read timeout seconds", "readTimeoutSeconds", "read_timeout_seconds", "READ-TIMEOUT-SECONDS"])
    assert np.allclose(rows @ rows[0], 1, atol=1e-5)


def test_unknown_words_are_zero_rows(table: StaticTable) -> None:
    rows = table.word_vectors(["", "???", "Ωμέγα", "timeout"])
    assert rows.any(axis=1).tolist() == [False, False, False, True]


def test_a_word_that_is_only_spelled_letter_by_letter_is_unknown(table: StaticTable) -> None:
    assert not table.word_vectors(["zqxjkv"]).any()
    assert table.encode(["zqxjkv"]).any()


def test_a_frequent_word_hardly_moves_a_text(table: StaticTable) -> None:
    alone, with_article, article = table.encode(["timeout", "the timeout", "the"])
    assert float(alone @ with_article) > 0.9 > float(alone @ article)


def test_long_lists_are_encoded_like_short_ones(table: StaticTable) -> None:
    rows = table.encode(["cache miss", "数据库备份"] * 12_000)
    assert np.allclose(rows.reshape(12_000, -1), table.encode(["cache miss", "数据库备份"]).ravel(), atol=1e-5)


def test_an_empty_list_gives_no_rows(table: StaticTable) -> None:
    assert table.encode([]).shape == table.word_vectors([]).shape == (0, table.dimensions)


def test_fifty_thousand_words_are_looked_up_in_a_few_seconds(table: StaticTable) -> None:
    parts = [piece.removeprefix("▁") for piece in table.segmenter.pieces[-25_000:]]
    words = parts + [f"{one}{two}" for one, two in pairwise([*parts, "end"])]
    started = time.process_time()
    assert table.word_vectors(words).shape == (50_000, table.dimensions)
    assert time.process_time() - started < 10


def test_the_fingerprint_is_the_digest_of_the_shipped_files() -> None:
    digest = hashlib.sha256()
    for name in TABLE_FILES:
        digest.update((files("clew") / "data" / "static" / name).read_bytes())
    facts = json.loads((files("clew") / "data" / "static" / "table.json").read_text(encoding="utf-8"))
    assert facts["fingerprint"] == digest.hexdigest()[:16]


def test_importing_the_module_does_not_import_numpy() -> None:
    code = "import sys, clew.adapters.embedding; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("如何 retry 一个 request", True),
        ("please explain what 重试 means here", False),
        ("plain English", False),
        ("", False),
        ("登录页 CSS", True),
        ("重试 on timeout", True),
    ],
)
def test_a_text_is_chinese_when_han_characters_carry_it(text: str, expected: bool) -> None:
    assert is_chinese(text) is expected


def test_the_segmenter_takes_a_whole_word_before_its_parts_and_then_the_most_probable_parts() -> None:
    pieces = ["▁time", "out", "▁timeout", "▁t", "imeout", "k", "▁k8s", "超时", "超", "时"]
    segmenter = Segmenter(pieces, [-1.0, -1.0, -9.0, -1.0, -5.0, -3.0, -9.0, -2.0, -1.5, -1.5], {})
    assert _spelled(segmenter, "timeout") == ["▁timeout"]
    assert _spelled(segmenter, "timeoutk") == ["▁time", "out", "k"]
    assert _spelled(segmenter, "K8s 超时") == ["▁k8s", "超时"]


def test_the_segmenter_takes_the_more_probable_of_two_ways_wherever_the_cut_lies() -> None:
    early = Segmenter(["▁a", "bc", "▁ab", "c"], [-1.0, -1.0, -1.0, -8.0], {})
    late = Segmenter(["▁a", "bc", "▁ab", "c"], [-1.0, -8.0, -1.0, -1.0], {})
    assert _spelled(early, "abc") == ["▁a", "bc"]
    assert _spelled(late, "abc") == ["▁ab", "c"]


def _spelled(segmenter: Segmenter, text: str) -> list[str]:
    return [segmenter.pieces[i] for i in segmenter.ids(text)]


_LOADED: list[StaticTable] = []


def _shared() -> StaticTable:
    if not _LOADED:
        _LOADED.append(StaticTable.load())
    return _LOADED[0]
