"""Exact counts where a vocabulary ships, the estimate elsewhere."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
import time

import pytest

from clew.adapters.tokenizers import tokenizer_for
from clew.core.ports import Tokenizer
from clew.core.text.tokens import estimate

ORDINARY = {
    "python": pathlib.Path(json.__file__).with_name("decoder.py").read_text(encoding="utf-8"),
    "python tests": pathlib.Path(__file__).read_text(encoding="utf-8"),
    "english": "The gate reads each line once. When a line is longer than the budget allows, it is cut, and the cut "
    "says how many lines are shown. Nothing else happens to it; we tried to shrink evenly and it read badly.\n" * 20,
    "chinese": "预算不够的时候，先整段丢弃权重最低的片段，不会把所有片段平均缩短。被截断的片段会写明显示了多少行。\n"
    * 20,
    "json": json.dumps(
        [{"id": n, "name": f"item-{n}", "tags": ["a", "b"], "price": n * 1.25} for n in range(80)], indent=1
    ),
}


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("", "o200k"),
        ("openai:gpt-5-mini", "o200k"),
        ("openai:gpt-4o-2024-08-06", "o200k"),
        ("openai:o3-mini", "o200k"),
        ("gpt-4.1", "o200k"),
        ("openai:gpt-4", "cl100k"),
        ("openai:gpt-4-turbo", "cl100k"),
        ("openai:gpt-3.5-turbo", "cl100k"),
        ("compatible:openai/gpt-oss-20b", "o200k"),
        ("ollama:llama3.2:3b", "llama3"),
        ("ollama:qwen2.5-coder:7b", "qwen3"),
    ],
)
def test_a_known_vocabulary_counts_exactly(model: str, vocabulary: str) -> None:
    tokenizer = tokenizer_for(model)
    assert (tokenizer.name, tokenizer.exact) == (vocabulary, True)


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-sonnet-4-5",
        "compatible:claude-opus-5",
        "ollama:deepseek-r1:8b",
        "ollama:gpt-4",
        "ollama:qwen3.5:8b",
        "openai:gpt-99",
        "openai:o30",
        "embedded",
        "scripted:a.json",
        "nonsense",
    ],
)
def test_an_unknown_vocabulary_is_estimated_and_says_so(model: str) -> None:
    assert tokenizer_for(model).exact is False
    assert tokenizer_for(model).name.startswith("estimate")


def test_tokenizers_that_count_differently_have_different_names() -> None:
    models = ("", "gpt-4", "ollama:llama3", "ollama:qwen3", "unknown", "claude-3-opus-20240229", "claude-opus-4-7")
    counts = {tokenizer_for(model).name for model in models}
    assert len(counts) == len(models)


@pytest.mark.requirement("P-07")
def test_special_tokens_inside_a_text_are_plain_text() -> None:
    for model in ("", "gpt-4", "ollama:llama3", "ollama:qwen3"):
        assert tokenizer_for(model).count("<|endoftext|>") > 4


def test_known_texts_have_their_known_counts() -> None:
    assert tokenizer_for("").count("hello world") == 2
    assert tokenizer_for("gpt-4").count("tiktoken is great!") == 6
    assert tokenizer_for("").count("") == 0


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize("kind", list(ORDINARY))
@pytest.mark.parametrize("model", ["openai:gpt-5", "openai:gpt-4"])
def test_the_estimate_errs_high_on_ordinary_text(kind: str, model: str) -> None:
    text = ORDINARY[kind]
    exact = tokenizer_for(model).count(text)
    floor = 0.85 if (kind, model) == ("chinese", "openai:gpt-4") else 0.96
    assert floor * exact <= estimate(text) <= 1.6 * exact


@pytest.fixture(scope="module", params=["", "gpt-4", "ollama:qwen3", "anything"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return tokenizer_for(request.param)


def test_a_lone_surrogate_is_counted(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("a\ud800b") >= 2


@pytest.mark.parametrize("character", ["a", " ", "\n", "-", "的", "👩‍👩‍👧", "a\u0301", "1"])
def test_half_a_megabyte_of_one_character_is_counted_quickly(tokenizer: Tokenizer, character: str) -> None:
    text = character * (500_000 // len(character))
    begin = time.monotonic()
    assert tokenizer.count(text) > 0
    assert time.monotonic() - begin < 30


@pytest.mark.requirement("F-08")
def test_without_the_vocabularies_everything_is_estimated() -> None:
    program = (
        "import sys; sys.modules['splintr'] = None\n"
        "from clew.adapters.tokenizers import tokenizer_for\n"
        "t = tokenizer_for('openai:gpt-5'); print(t.exact, t.count('hello world'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False", "3"]


def test_the_vocabularies_are_loaded_only_when_a_text_is_counted() -> None:
    assert importlib.util.find_spec("splintr") is not None
    program = "import sys, clew.adapters.tokenizers; print('splintr' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
