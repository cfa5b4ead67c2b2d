"""The analyser: what text is indexed as, and how questions are taken apart."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.core.text.terms import (
    content_runs,
    path_terms,
    query_terms,
    stem,
    terms,
)

ANY_TEXT = st.text(alphabet=st.characters(), max_size=200)
WORDS = st.lists(st.from_regex(r"[a-z]{2,10}", fullmatch=True), min_size=2, max_size=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Retries", ["retri"]),
        ("retry_with_backoff", ["retri", "with", "backoff", "retry_with_backoff"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("ALLCAPSWord", ["allcap", "word", "allcapsword"]),
        ("MAX_RETRIES", ["max", "retri", "max_retries"]),
        ("--max-count", ["max", "count", "max_count"]),
        ("X-Forwarded-For", ["x", "forward", "for", "x_forwarded_for"]),
        ("os.path", ["os", "path", "os.path"]),
        ("self.limit", ["self", "limit"]),
        ("setup.py", ["setup", "py", "setup.py"]),
        ("app.max_count", ["app", "max", "count", "max_count", "app.max_count"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("utf-8", ["utf", "8", "utf8", "utf_8"]),
        ("sha256", ["sha", "256", "sha256"]),
        ("http2", ["http", "2", "http2"]),
        ("x509", ["x", "509", "x509"]),
        ("sha256_hash", ["sha", "256", "hash", "sha256", "sha256_hash"]),
        ("k8s", ["k", "8", "s", "k8s"]),
        ("__init__", ["init"]),
        ("_", []),
        ("超时重试", ["超", "超时", "时", "时重", "重", "重试", "试"]),
        ("限", ["限"]),
        ("\u8bfbutf8\u6587", ["\u8bfb", "utf", "8", "utf8", "\u6587"]),
        ("\uff2d\uff21\uff38", ["max"]),
        ("Straße", ["strass"]),
        ("naïve", ["naïve"]),
        ("\ud800\x00ok", ["ok"]),
        ("", []),
    ],
)
def test_text_gives_these_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_name_without_separators_meets_the_word_written_in_one() -> None:
    assert terms("userName")[-1] == terms("username")[0] == terms("UserNames")[-1]


@pytest.mark.parametrize("blob", ["a1b2c3d4e5f6a7b8c9d0e1f2", "3f8a9c0d1e2f3a4b5c6d"])
def test_a_digest_is_one_term(blob: str) -> None:
    assert terms(blob) == [blob]


def test_encoded_bytes_give_no_terms() -> None:
    assert terms("x = '" + "QUJD" * 100 + "'") == ["x"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "src/core/retry_queue.py",
            ["src", "core", "retri", "queue", "retry_queue", "py", "retry_queue.py"],
        ),
        ("src\\App.tsx", ["src", "app", "tsx", "app.tsx"]),
        (".gitignore", ["gitignor"]),
        ("Makefile", ["makefil"]),
        ("a/a/a.go", ["a", "go", "a.go"]),
    ],
)
def test_a_path_gives_its_parts_and_its_file_name(path: str, expected: list[str]) -> None:
    assert path_terms(path) == expected


@given(ANY_TEXT)
def test_no_text_breaks_the_analyser(text: str) -> None:
    for term in terms(text):
        assert term and not any(char.isspace() for char in term)
    path_terms(text)
    query_terms(text)


@given(WORDS)
def test_snake_camel_kebab_and_constant_forms_have_equal_parts(
    words: list[str],
) -> None:
    snake = "_".join(words)
    camel = words[0] + "".join(word.title() for word in words[1:])
    parts = [stem(word) for word in words]
    assert terms(snake) == [*parts, snake]
    assert terms(snake.upper()) == terms("-".join(words)) == terms(snake)
    assert terms(camel)[:-1] == terms(camel[0].upper() + camel[1:])[:-1] == parts


@given(WORDS)
def test_a_joined_name_is_found_under_itself(words: list[str]) -> None:
    for term in terms("_".join(words)):
        if "_" in term:
            assert terms(term)[-1] == term


@given(ANY_TEXT, ANY_TEXT)
def test_lines_are_analysed_one_by_one(above: str, below: str) -> None:
    assert terms(f"{above}\n{below}") == terms(above) + terms(below)


@given(st.text(st.characters(max_codepoint=127)) | st.text("ab7_-.:/ "))
@example("utf-8 a-1234 v1-12x --max-count k8s.io b-12")
def test_other_scripts_beside_a_text_do_not_change_its_terms(text: str) -> None:
    assert terms(f"{text}\n错误") == [*terms(text), *terms("错误")]


@given(ANY_TEXT)
def test_asking_twice_gives_the_same_terms(text: str) -> None:
    assert terms(text) == terms(text)


@given(st.text(alphabet="超时重试限", min_size=1, max_size=20))
def test_han_terms_are_every_character_and_every_pair(run: str) -> None:
    found = terms(run)
    assert found[::2] == list(run)
    assert found[1::2] == [run[at : at + 2] for at in range(len(run) - 1)]


@pytest.mark.requirement("P-03")
def test_a_question_is_taken_apart() -> None:
    query = query_terms(
        "Why does `retry_with_backoff` hang in src/core/retry.py:123 when --max-count is 0"
        ' and RetryPolicy raises "too many tries"?'
    )
    assert query.identifiers == ("retry_with_backoff", "--max-count", "RetryPolicy")
    assert query.paths == ("src/core/retry.py",)
    assert query.quoted == ("retry_with_backoff", "too many tries")
    assert query.han == ()
    assert {
        "retri",
        "backoff",
        "retry_with_backoff",
        "hang",
        "retry.py",
        "max_count",
        "retrypolici",
    } <= set(query.words)
    assert not {"why", "doe", "in", "when", "is", "and"} & set(query.words)


@pytest.mark.requirement("P-03")
def test_a_chinese_question_is_taken_apart() -> None:
    query = query_terms("为什么重试会卡住,max_tokens 的默认上限在哪里?")
    assert query.han == ("为什么重试会卡住", "的默认上限在哪里")
    assert query.identifiers == ("max_tokens",)
    assert {"重试", "卡住", "默认", "上限", "max_tokens", "token"} <= set(query.words)
    assert not {"为什", "什么", "会卡", "的默", "在哪", "哪里"} & set(query.words)


@pytest.mark.parametrize(
    ("question", "identifiers"),
    [
        ("who raises KeyError", ("KeyError",)),
        ("see app.run and open()", ("app.run", "open")),
        ("is MAX_SIZE or TIMEOUT read", ("MAX_SIZE", "TIMEOUT")),
        ("HTTP over TLS from a URL", ()),
        ("the rule E501 and errno ENOENT", ("E501", "ENOENT")),
        ("what does -v or --dry-run do", ("-v", "--dry-run")),
        ("`parse` and maxTokens, maxTokens", ("parse", "maxTokens")),
        ("std::vector and Foo#bar", ("std::vector", "Foo#bar")),
        ("a well-known Node.js idea, e.g. caching", ()),
        ("修改maxTokens后retry_count不变", ("maxTokens", "retry_count")),
    ],
)
def test_names_of_code_are_recognised(question: str, identifiers: tuple[str, ...]) -> None:
    assert query_terms(question).identifiers == identifiers


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("open src/app/main.py:12:3, please", ("src/app/main.py",)),
        ("the Makefile and .gitignore", ("Makefile", ".gitignore")),
        (
            "docker-compose.yml or pyproject.toml?",
            ("docker-compose.yml", "pyproject.toml"),
        ),
        ("client/server over TCP/IP and/or UDP", ()),
        ("Node.js reads https://example.org/a_b/c.py", ()),
        ("look in src/core and ./tools", ("src/core", "./tools")),
        ("在config.yaml里配置", ("config.yaml",)),
    ],
)
def test_paths_are_recognised(question: str, paths: tuple[str, ...]) -> None:
    assert query_terms(question).paths == paths


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("say 'x y' but don't and won't", ("x y",)),
        ("“hello” 和 「世界」 《书》", ("hello", "世界", "书")),
        ("``` \n```", ()),
    ],
)
def test_quotes_are_verbatim(question: str, quoted: tuple[str, ...]) -> None:
    assert query_terms(question).quoted == quoted


def test_compounds_offer_the_other_ways_to_write_a_name() -> None:
    assert {"file_name", "filenam"} <= set(query_terms("where is the file name read").compounds)
    assert "timeout" in query_terms("when does it time out").compounds
    assert "max_tokens" in query_terms("maxTokens").compounds
    assert stem("maxtokens") in query_terms("max_tokens").compounds


@pytest.mark.parametrize(
    ("run", "pieces"),
    [
        ("为什么重试会卡住", ["重试", "卡住"]),
        ("会话的目的", ["会话", "目的"]),
        ("怎么样", []),
    ],
)
def test_function_words_are_cut_from_han_runs_but_not_out_of_words(run: str, pieces: list[str]) -> None:
    assert content_runs(run) == pieces


@given(ANY_TEXT)
def test_a_query_repeats_nothing(question: str) -> None:
    query = query_terms(question)
    for field in (
        query.words,
        query.identifiers,
        query.paths,
        query.quoted,
        query.han,
        query.compounds,
    ):
        assert len(set(field)) == len(field)
