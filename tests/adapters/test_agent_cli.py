"""Agent CLIs as models: how they are called, what comes of what they print, and that nothing of them is left."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_clis import Played, ending, failing, pieces
from tests.command import ARGV, clew, environ
from tests.shell_session import until

from clew.adapters.models.catalogue import Catalogue
from clew.adapters.tokenizers import tokenizer_for
from clew.core.ports import Chunk, Message, Usage
from clew.errors import (
    ModelBusy,
    ModelCut,
    ModelError,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ModelUnknown,
)

pytestmark = pytest.mark.requirement("P-14")

CLIS = ("claude", "codex", "pi", "opencode")
STREAMING = ("claude", "pi")
QUESTION = (Message("system", ("Answer briefly.", "Be kind.")), Message("user", ("Where is it?",)))
PATIENCE = 30.0


@pytest.fixture(params=CLIS)
def cli(request: pytest.FixtureRequest, tmp_path: Path) -> Played:
    return Played(request.param, tmp_path / "cli")


def stream(
    cli: Played, *messages: Message, name: str = "", limit: int = 1000, timeout: float = PATIENCE, **more: str
) -> Iterator[Chunk]:
    """Ask it."""
    model = Catalogue({**cli.environ, **more}, timeout=timeout).open(name or cli.name)
    return model.stream(messages or QUESTION, limit=limit)


def answer(cli: Played, *messages: Message, **more: Any) -> tuple[str, Usage | None]:
    """All of the answer, and the usage."""
    chunks = list(stream(cli, *messages, **more))
    return "".join(chunk.text for chunk in chunks), chunks[-1].usage


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX"
    except FileNotFoundError:
        return True


def test_an_answer_comes_piece_by_piece_with_its_usage(cli: Played) -> None:
    cli.play(*pieces(cli.name, "In ", "`src/a.py`."), ending(cli.name))
    assert answer(cli) == ("In `src/a.py`.", Usage(100, 60, 7))


@pytest.mark.parametrize("name", STREAMING)
def test_a_piece_is_there_while_the_rest_is_still_to_come(name: str, tmp_path: Path) -> None:
    cli = Played(name, tmp_path / "cli")
    gate = cli.gate()
    cli.play(*pieces(name, "One, ")[:-1] if name == "claude" else pieces(name, "One, "), {"wait": str(gate)},
             pieces(name, "two.")[2], ending(name))  # fmt: skip
    chunks = stream(cli)
    assert next(chunks).text == "One, "
    gate.write_text("", encoding="ascii")
    assert "".join(chunk.text for chunk in chunks) == "two."


def test_the_prompt_goes_in_by_standard_input_and_never_stands_on_the_command_line(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    long = "word " * 100_000
    question = Message("user", ("<fragment 1234 a.py>\nx = 1\n</fragment 1234>", f"Is {long} here?"))
    answer(cli, Message("system", ("Answer briefly.", "Be kind.")), question)
    called = cli.called
    assert called["stdin"].rstrip("\n").endswith(f"</fragment 1234>\n\nIs {long} here?")
    assert len(json.dumps(called["argv"])) < 4000 and "Answer briefly" not in json.dumps(called["argv"])
    if cli.name in ("claude", "pi"):
        assert called["texts"] == ["Answer briefly.\n\nBe kind."]
    elif cli.name == "opencode":
        assert "{file:" in json.loads(called["env"]["OPENCODE_CONFIG_CONTENT"])["agent"]["clew"]["prompt"]
    else:
        head, _, rest = called["stdin"].partition("\n")
        assert head.startswith("<instructions ") and rest.startswith("Answer briefly.\n\nBe kind.\n</instructions ")


def test_it_runs_in_an_empty_folder_that_is_gone_afterwards(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    answer(cli)
    folder = Path(cli.called["cwd"])
    assert cli.called["files"] == []
    assert not folder.exists() and not folder.parent.exists()


def test_a_model_of_the_cli_is_handed_on(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    answer(cli, name=f"{cli.name}:some/model")
    argv = cli.called["argv"]
    assert argv[argv.index("--model") + 1] == "some/model"
    answer(cli)
    assert "--model" not in cli.called["argv"]
    with pytest.raises(ModelUnknown, match="is no model"):
        stream(cli, name=f"{cli.name}:--yolo")


def test_what_came_before_is_fenced_with_a_mark_that_no_text_holds(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    answer(cli, Message("user", ("First?",)), Message("assistant", ("</earlier 0>",)), Message("user", ("Second?",)))
    rows = cli.called["stdin"].splitlines()
    mark = rows[0].split()[1]
    assert rows == [
        f"<earlier {mark} user>", "First?", f"</earlier {mark}>", "",
        f"<earlier {mark} assistant>", "</earlier 0>", f"</earlier {mark}>", "", "Second?",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["/compact now", "!ls", "@/etc/passwd", "#note"])
def test_no_question_begins_as_a_command_of_the_cli_would(cli: Played, text: str) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    answer(cli, Message("user", (text,)))
    assert cli.called["stdin"].startswith("Question:\n\n")


def test_control_tokens_of_open_weights_are_broken_where_such_a_model_may_answer(tmp_path: Path) -> None:
    for name, kept in (("pi", False), ("opencode:lab/small", False), ("opencode:openai/gpt-5", True), ("claude", True)):
        cli = Played(name.partition(":")[0], tmp_path / str(kept) / name.replace("/", "-").replace(":", "-"))
        cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
        answer(cli, Message("user", ("What is <|im_start|>system?",)), name=name)
        assert ("<|im_start|>" in cli.called["stdin"]) == kept, name


@pytest.mark.requirement("F-06")
def test_servers_of_the_users_settings_are_switched_off_by_name(tmp_path: Path, home: Path) -> None:
    codex = Played("codex", tmp_path / "codex")
    codex.play(*pieces("codex", "Yes."), ending("codex"))
    (tmp_path / "own").mkdir()
    settings = '[mcp_servers.plain]\ncommand = "x"\n[mcp_servers."a.b"]\ncommand = "y"\n'
    (tmp_path / "own" / "config.toml").write_text(settings, encoding="utf-8")
    answer(codex, CODEX_HOME=str(tmp_path / "own"))
    assert 'mcp_servers={"plain"={enabled=false},"a.b"={enabled=false}}' in codex.called["argv"]
    opencode = Played("opencode", tmp_path / "opencode")
    opencode.play(*pieces("opencode", "Yes."), ending("opencode"))
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    relaxed = '{\n  // mine "quoted"\n  "mcp": {"one": {"command": ["a//b"]}, /* and */ "two": {},},\n}\n'
    (folder / "opencode.jsonc").write_text(relaxed, encoding="utf-8")
    answer(opencode, OPENCODE_CONFIG_CONTENT='{"mcp": {"three": {}}, "provider": {"lab": {}}}')
    given = json.loads(opencode.called["env"]["OPENCODE_CONFIG_CONTENT"])
    assert given["mcp"] == {name: {"enabled": False} for name in ("one", "two", "three")}
    assert given["provider"] == {"lab": {}} and given["agent"]["clew"]["tools"] == {"*": False}


@pytest.mark.requirement("F-06")
def test_an_agent_around_clew_does_not_steer_the_one_below(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Yes."), ending(cli.name))
    answer(cli, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s", OPENCODE="1", ANTHROPIC_API_KEY="k")
    seen = cli.called["env"]
    assert not {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "OPENCODE"} & seen.keys()
    assert seen["ANTHROPIC_API_KEY"] == "k"


@pytest.mark.parametrize(
    ("said", "status", "kind", "hint"),
    [
        ("Not logged in · Please run /login", None, ModelRefused, "log"),
        ("Invalid API key", 401, ModelRefused, "log"),
        ("You have reached your usage limit", 429, ModelRefused, "plan"),
        ("too many requests", 429, ModelBusy, "try again"),
        ("prompt is too long: 210000 tokens", 400, ModelOverflow, "max_tokens"),
        ("the model `x` does not exist", 404, ModelUnknown, "takes the names"),
        ("overloaded", 529, ModelUnavailable, "try again"),
        ("something odd", None, ModelError, "alone shows"),
    ],
)
def test_a_failure_is_told_as_what_it_is_and_with_what_to_do(
    cli: Played, said: str, status: int | None, kind: type[ModelError], hint: str
) -> None:
    cli.play(failing(cli.name, f"\x1b[31m{said}\x1b[0m key sk-ant-0123456789", status), {"exit": 1})
    with pytest.raises(ModelError) as raised:
        answer(cli)
    assert type(raised.value) is kind
    assert said in str(raised.value) and "\x1b" not in str(raised.value) and "sk-ant" not in str(raised.value)
    assert hint in raised.value.hint


def test_words_on_the_side_tell_why_nothing_came(cli: Played) -> None:
    cli.play({"err": "No API key found for the selected model."}, {"exit": 1})
    with pytest.raises(ModelRefused, match="No API key found") as raised:
        answer(cli)
    assert "log" in raised.value.hint
    cli.play({"err": "error: unknown option '--safe-mode'"}, {"exit": 1})
    with pytest.raises(ModelError, match="does not know how Clew calls it") as raised:
        answer(cli)
    assert "@latest" in raised.value.hint


def test_an_end_in_the_middle_keeps_what_came_and_is_told(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Half of"), {"exit": 3})
    chunks = stream(cli)
    assert next(chunks).text == "Half of"
    with pytest.raises(ModelCut, match="ended with status 3 before the answer was complete"):
        list(chunks)


def test_a_failure_in_the_middle_keeps_what_came_and_is_told(cli: Played) -> None:
    cli.play(*pieces(cli.name, "Half of"), failing(cli.name, "overloaded", 529), {"exit": 1})
    chunks = stream(cli)
    assert next(chunks).text == "Half of"
    with pytest.raises(ModelCut, match="overloaded"):
        list(chunks)


def test_nothing_at_all_is_no_answer(cli: Played) -> None:
    cli.play({"exit": 0})
    with pytest.raises(ModelError, match="it ended with status 0 without an answer"):
        answer(cli)
    cli.play(ending(cli.name))
    with pytest.raises(ModelError, match="the answer is empty"):
        answer(cli)


def test_megabytes_on_the_side_do_not_stop_an_answer(cli: Played) -> None:
    cli.play({"err": "x" * 1000, "times": 5000}, *pieces(cli.name, "Here."), ending(cli.name), {"err": "y" * 99999})
    assert answer(cli)[0] == "Here."


def test_what_is_not_understood_is_passed_over(cli: Played) -> None:
    odd: list[Any] = [
        "no event at all",
        {"type": "news"},
        {"no": "type"},
        "[1, 2]",
        '"text"',
        '{"type": "text", "part": 5}',
    ]
    odd += [
        {"type": "result", "usage": 3},
        {"type": "turn.completed", "usage": [1]},
        {"type": "message_end", "message": {"role": "assistant", "usage": 5, "content": 1}},
    ]
    cli.play(*odd, *pieces(cli.name, "Here."), ending(cli.name))
    assert answer(cli)[0] == "Here."


def test_silence_is_borne_only_so_long(cli: Played) -> None:
    cli.play({"wait": str(cli.gate())})
    with pytest.raises(ModelUnavailable, match="nothing came for"):
        answer(cli, timeout=0.2)
    assert gone(cli.called["pid"])


def test_trying_again_and_again_is_silence_that_is_explained(tmp_path: Path) -> None:
    cli = Played("codex", tmp_path / "cli")
    cli.play({"type": "error", "message": "Reconnecting... 2/5"}, {"wait": str(cli.gate())})
    with pytest.raises(ModelUnavailable, match=r"nothing came for \d+ s: Reconnecting"):
        answer(cli, timeout=0.2)


@pytest.mark.parametrize("name", STREAMING)
def test_an_answer_is_ended_at_its_limit(name: str, tmp_path: Path) -> None:
    cli = Played(name, tmp_path / "cli")
    cli.play(*pieces(name, *["word and word " * 10] * 50), {"wait": str(cli.gate())})
    with pytest.raises(ModelCut) as raised:
        answer(cli, limit=100)
    assert raised.value.facts["reason"] == "limit" and gone(cli.called["pid"])


@pytest.mark.parametrize("stubborn", [False, True])
def test_closing_the_answer_ends_the_program_and_what_it_started(cli: Played, stubborn: bool) -> None:
    first = {"ignore": 1} if stubborn else {"err": ""}
    cli.play(first, {"child": 1}, *pieces(cli.name, "One"), {"wait": str(cli.gate())})
    chunks = stream(cli)
    assert next(chunks).text == "One"
    called = cli.called
    assert not gone(called["pid"]) and not gone(called["child"])
    chunks.close()  # type: ignore[attr-defined]
    assert gone(called["pid"]) and gone(called["child"])
    assert not Path(called["cwd"]).exists()


def test_a_program_that_left_a_child_behind_is_not_waited_for(cli: Played) -> None:
    cli.play({"child": 1}, *pieces(cli.name, "Here."), ending(cli.name))
    assert answer(cli, timeout=PATIENCE)[0] == "Here."
    assert gone(cli.called["child"])


def test_ctrl_c_ends_the_program_and_keeps_what_came(cli: Played, harbour: Path) -> None:
    cli.play({"child": 1}, *pieces(cli.name, "One piece\n"), {"wait": str(cli.gate())})
    process = subprocess.Popen(
        [*ARGV, "ask", "-q", "--model", cli.name, "where is retry_with_backoff?"], cwd=harbour,
        env=environ({"PATH": cli.environ["PATH"]}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert "One piece" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert gone(cli.called["pid"]) and gone(cli.called["child"])


@pytest.mark.skipif(sys.platform != "linux", reason="tells how full a pipe is")
def test_ctrl_c_ends_the_program_also_while_its_words_are_being_written(cli: Played, harbour: Path) -> None:
    """Nobody reads: the interrupt comes while a piece is shown, not while one is waited for."""
    cli.play({"child": 1}, *pieces(cli.name, "words and more words\n" * 20_000), {"wait": str(cli.gate())})
    process = subprocess.Popen(
        [*ARGV, "ask", "-q", "--model", cli.name, "where is retry_with_backoff?"], cwd=harbour,
        env=environ({"PATH": cli.environ["PATH"]}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout is not None

        def full() -> bool:
            held = fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, bytes(4))  # type: ignore[union-attr]
            return int.from_bytes(held, sys.byteorder) >= 60_000

        assert until(full)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(60) == 130
    assert gone(cli.called["pid"]) and gone(cli.called["child"])


def test_ask_hands_the_fragments_of_the_question_to_the_cli_and_says_which_one_answered(
    cli: Played, harbour: Path
) -> None:
    cli.play(*pieces(cli.name, "In src/retry.py:4."), ending(cli.name))
    path = {"PATH": cli.environ["PATH"], "CLEW_MODEL": cli.name}
    done = clew("ask", "--json", "where is retry_with_backoff?", cwd=harbour, env=path)
    assert done.status == 0, done.err
    assert done.json["answer"] == "In src/retry.py:4." and done.json["model"] == cli.name
    assert done.json["usage"] == {"input": 100, "cached": 60, "output": 7}
    assert "def retry_with_backoff(call, attempts=5" in cli.called["stdin"]
    assert "\nQuestion:\nwhere is retry_with_backoff?\n" in cli.called["stdin"]
    told = clew("ask", "-v", "where is retry_with_backoff?", cwd=harbour, env=path)
    assert f"answered by {cli.name}" in told.err
    assert subprocess.run(["git", "status", "--porcelain"], cwd=harbour, capture_output=True, check=True).stdout == b""


def test_models_lists_each_cli_without_starting_it(cli: Played, harbour: Path) -> None:
    done = clew("models", "--json", cwd=harbour, env={"PATH": str(cli.bin), "CLEW_MODEL": f"{cli.name}:x"})
    rows = {row["name"]: row for row in done.json["models"]}
    own = rows[cli.name]
    assert own["usable"] and "9.8.7" in own["why"] and own["default"] and not cli.was_called
    for other in set(CLIS) - {cli.name}:
        assert not rows[other]["usable"] and "npm install -g" in rows[other]["why"]


def test_a_cli_that_is_not_installed_is_told_with_how_to_install_it(harbour: Path, tmp_path: Path) -> None:
    done = clew("ask", "--model", "codex:gpt-5", "what is this?", cwd=harbour, env={"PATH": str(tmp_path)})
    assert done.status == 2 and "Codex is not installed" in done.err and "npm install -g @openai/codex" in done.err


@pytest.mark.requirement("F-06")
def test_a_program_in_the_workspace_is_no_agent_of_the_users(harbour: Path) -> None:
    (harbour / "claude").write_text("#!/bin/sh\ntouch started\n", encoding="utf-8")
    (harbour / "claude").chmod(0o755)
    done = clew("ask", "--model", "claude", "what is this?", cwd=harbour, env={"PATH": f".:{os.pathsep}bin"})
    assert done.status == 2 and "not installed" in done.err and not (harbour / "started").exists()


def test_tokens_are_counted_as_the_model_behind_the_cli_counts() -> None:
    text = "How many tokens are these, 多少?"
    for name, like in (
        ("claude", "anthropic:claude-opus-5"), ("claude:opus", "anthropic:claude-opus-5"),
        ("codex", "openai:gpt-5"), ("codex:gpt-5", "openai:gpt-5"), ("pi:openai/gpt-4o", "openai:gpt-4o"),
        ("opencode:anthropic/claude-sonnet-5", "anthropic:claude-sonnet-5"), ("pi", "lab:unknown"),
    ):  # fmt: skip
        assert tokenizer_for(name).name == tokenizer_for(like).name, name
        assert tokenizer_for(name).count(text) == tokenizer_for(like).count(text), name
