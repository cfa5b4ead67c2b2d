"""The commands around a question: models, settings, history, references, completion; and the manners of all of them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import pytest
from tests.command import HARBOUR, Done, clew, command_tree, commit, on_terminal, script, write
from tests.scripted_server import serving

from clew.entrypoints.cli.main import COMMANDS, cli


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below a folder but git's own."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


# ---------------------------------------------------------------------- models


@pytest.mark.requirement("P-14")
def test_models_says_of_each_provider_whether_it_is_usable_and_why_not(harbour: Path) -> None:
    found = clew("models", "--json", cwd=harbour, env={"OPENAI_API_KEY": "sk-test-123", "OLLAMA_HOST": "127.0.0.1:9"})
    rows = {row["name"].partition(":")[0]: row for row in found.json["models"]}
    assert rows["openai"]["usable"] and rows["openai"]["key"] == "OPENAI_API_KEY"
    assert not rows["anthropic"]["usable"] and "ANTHROPIC_API_KEY" in rows["anthropic"]["why"]
    assert not rows["ollama"]["usable"] and "no Ollama answers" in rows["ollama"]["why"]
    assert "embedded" in rows
    assert "sk-test-123" not in found.out + found.err
    assert found.json["default"] is None


@pytest.mark.requirement("P-14")
def test_models_marks_the_default_with_its_origin_and_lists_what_a_server_has(harbour: Path) -> None:
    with serving() as server:
        env = {"OLLAMA_HOST": server.url, "CLEW_MODEL": "ollama:qwen3:8b"}
        found = clew("models", "--json", cwd=harbour, env=env)
        plain = clew("models", cwd=harbour, env=env)
    assert found.json["default"] == {"name": "ollama:qwen3:8b", "origin": "CLEW_MODEL"}
    ollama = next(row for row in found.json["models"] if row["name"].startswith("ollama"))
    assert ollama["usable"] and ollama["default"] and "qwen3:8b" in ollama["models"]
    assert re.search(r"^\* ollama", plain.out, re.MULTILINE) and "from CLEW_MODEL" in plain.out
    assert "--model provider:name" in plain.err


@pytest.mark.requirement("P-14")
def test_models_shows_an_endpoint_without_what_stands_in_its_query(home: Path, tmp_path: Path) -> None:
    write(home / "clew", {"config.yaml": "endpoints:\n  gateway: https://llm.example.com/v1?token=tok-5f2a\n"})
    found = clew("models", cwd=tmp_path)
    assert "https://llm.example.com/v1" in found.out
    assert "tok-5f2a" not in found.out + found.err


@pytest.mark.requirement("P-14")
def test_an_unknown_model_is_told_with_the_nearest_name(harbour: Path) -> None:
    found = clew("ask", "--model", "opnai:gpt-5-mini", "how are berths found?", cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert "there is no provider opnai" in found.err and "did you mean openai:gpt-5-mini?" in found.err


# ---------------------------------------------------------------------- settings


@pytest.mark.requirement("P-10")
def test_config_shows_each_value_with_where_it_came_from(harbour: Path, home: Path) -> None:
    write(home / "clew", {"config.yaml": "style: code\nmax_tokens: 9000\n"})
    write(harbour, {".clew.yaml": "project: harbour\nmax_tokens: 7000\n"})
    env = {"CLEW_ANSWER_TOKENS": "300"}
    rows = clew("config", "--json", cwd=harbour / "src", env=env).json["settings"]
    assert rows["style"] == {"value": "code", "origin": f"{home}/clew/config.yaml:1"}
    assert rows["max_tokens"] == {"value": 7000, "origin": ".clew.yaml:2"}
    assert rows["answer_tokens"] == {"value": 300, "origin": "CLEW_ANSWER_TOKENS"}
    assert rows["timeout"]["origin"] == "default"
    plain = clew("config", cwd=harbour / "src", env=env)
    assert re.search(r"^max_tokens +7000 +\(\.clew\.yaml:2\)$", plain.out, re.MULTILINE)
    assert len(plain.out.splitlines()) == len(rows)
    assert clew("config", "get", "max_tokens", cwd=harbour).out == "7000\n"
    beaten = clew(
        "context", "--max-tokens", "6000", "--json", "free berths?", cwd=harbour, env={"CLEW_MAX_TOKENS": "6500"}
    )
    assert beaten.json["report"]["total"] == 6000


@pytest.mark.requirement("P-10")
def test_config_get_names_the_nearest_key(harbour: Path) -> None:
    found = clew("config", "get", "max_token", cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert "did you mean `max_tokens`?" in found.err


@pytest.mark.requirement("P-10")
def test_config_path_answers_also_where_a_file_is_broken(harbour: Path, home: Path) -> None:
    write(harbour, {".clew.yaml": "max_tokens: [\n"})
    found = clew("config", "path", cwd=harbour)
    assert found.status == 0
    assert str(harbour / ".clew.yaml") in found.out and str(home / "clew" / "config.yaml") in found.out
    assert clew("config", cwd=harbour).status == 2


@pytest.mark.requirement("P-10")
def test_init_writes_a_commented_file_and_never_over_one(harbour: Path) -> None:
    first = clew("init", cwd=harbour / "src")
    target = harbour / ".clew.yaml"
    assert first.status == 0 and str(target) in first.out
    text = target.read_text(encoding="utf-8")
    assert "#max_tokens: 8000" in text
    assert clew("config", cwd=harbour).status == 0
    target.write_text("max_tokens: 5000\n", encoding="utf-8")
    again = clew("init", cwd=harbour)
    assert again.status == 2 and "--force" in again.err
    assert target.read_text(encoding="utf-8") == "max_tokens: 5000\n"
    assert clew("init", "--force", cwd=harbour).status == 0
    assert target.read_text(encoding="utf-8") == text
    assert sorted(path.name for path in harbour.iterdir()) == [".clew.yaml", ".git", "README.md", "docs", "src"]


# ---------------------------------------------------------------------- history


def ask(root: Path, question: str, reply: str = "Because of the tide.", **env: str) -> Done:
    """One question with its answer, from a script."""
    model = script(root.parent / "script.json", reply)
    done = clew("ask", "-q", "--model", model, question, cwd=root, env=env)
    assert done.status == 0, done.err
    return done


@pytest.mark.requirement("P-01", "P-05")
def test_history_lists_newest_last_by_thread_and_knows_anchors(harbour: Path) -> None:
    ask(harbour, "what is a berth?", CLEW_THREAD="one")
    ask(harbour, "why does src/retry.py raise TimeoutError?", CLEW_THREAD="one")
    ask(harbour, "what is a quay?", CLEW_THREAD="two")
    mine = clew("history", "--json", cwd=harbour, env={"CLEW_THREAD": "one"}).json
    assert [row["question"] for row in mine["exchanges"]] == [
        "what is a berth?",
        "why does src/retry.py raise TimeoutError?",
    ]
    everything = clew("history", "--all", "--json", cwd=harbour, env={"CLEW_THREAD": "one"}).json["exchanges"]
    assert {row["thread"] for row in everything} == {"one#1", "two#1"}
    anchors = clew("history", "--anchors", cwd=harbour, env={"CLEW_THREAD": "one"})
    assert "src/retry.py" in anchors.out and "what is a berth?" not in anchors.out
    plain = clew("history", cwd=harbour, env={"CLEW_THREAD": "one"})
    assert "--all" in plain.err and plain.out.index("berth") < plain.out.index("retry")
    shown = clew("history", "show", str(mine["exchanges"][0]["id"]), cwd=harbour)
    assert "what is a berth?" in shown.out and "Because of the tide." in shown.out


@pytest.mark.requirement("P-05")
def test_what_is_removed_from_the_history_is_gone_from_the_disk(harbour: Path, home: Path) -> None:
    ask(harbour, "what is a zyzzyva?", "A tropical weevil called quasimodo.", CLEW_THREAD="one")
    ask(harbour, "what is a berth?", CLEW_THREAD="one")

    def on_disk(word: str) -> bool:
        return any(word.encode() in path.read_bytes() for path in (home / "clew").glob("history.db*"))

    assert on_disk("zyzzyva")
    number = clew("history", "--json", cwd=harbour, env={"CLEW_THREAD": "one"}).json["exchanges"][0]["id"]
    assert clew("history", "remove", str(number), cwd=harbour).out == "1 removed\n"
    assert not on_disk("zyzzyva") and not on_disk("quasimodo") and on_disk("berth")
    missing = clew("history", "remove", str(number), cwd=harbour)
    assert missing.status == 2 and "`clew history --all`" in missing.err
    refused = clew("history", "clear", cwd=harbour, env={"CLEW_THREAD": "one"})
    assert refused.status == 2 and "--yes" in refused.err and on_disk("berth")
    assert clew("history", "clear", "--yes", "--json", cwd=harbour, env={"CLEW_THREAD": "one"}).json == {"removed": 1}
    assert not on_disk("berth")


@pytest.mark.requirement("P-05")
def test_removal_is_real_also_while_another_process_has_the_history_open(harbour: Path, home: Path) -> None:
    ask(harbour, "what is a berth?", CLEW_THREAD="one")
    with closing(sqlite3.connect(home / "clew" / "history.db")) as other:
        other.execute("select count(*) from exchange").fetchone()
        ask(harbour, "what is a zyzzyva?", "A tropical weevil called quasimodo.", CLEW_THREAD="one")
        assert clew("history", "remove", "2", cwd=harbour).status == 0
        left = [path.name for path in (home / "clew").iterdir() if path.is_file() and b"quasimodo" in path.read_bytes()]
    assert not left


@pytest.mark.requirement("P-05")
def test_clear_keeps_other_threads_unless_all_are_meant(harbour: Path) -> None:
    ask(harbour, "what is a berth?", CLEW_THREAD="one")
    ask(harbour, "what is a quay?", CLEW_THREAD="two")
    clew("history", "clear", "--yes", cwd=harbour, env={"CLEW_THREAD": "one"})
    left = clew("history", "--all", "--json", cwd=harbour).json["exchanges"]
    assert [row["question"] for row in left] == ["what is a quay?"]
    clew("history", "clear", "--all", "--yes", cwd=harbour)
    assert clew("history", "--all", "--json", cwd=harbour).json["exchanges"] == []


# ---------------------------------------------------------------------- references


@pytest.mark.requirement("P-05")
def test_open_shows_files_lines_exchanges_and_git(harbour: Path) -> None:
    head = commit(harbour, "Widen the quay")
    assert clew("open", "README.md", cwd=harbour / "src").out == HARBOUR["README.md"]
    assert clew("open", "src/retry.py:4", cwd=harbour).out == HARBOUR["src/retry.py"].splitlines()[3] + "\n"
    assert clew("open", "src/retry.py:4-5", cwd=harbour).out.splitlines() == HARBOUR["src/retry.py"].splitlines()[3:5]
    assert clew("open", "berths.py:1", cwd=harbour / "src").out == '"""Which berth is free."""\n'
    assert "Widen the quay" in clew("open", "git:last-commit", cwd=harbour).out
    assert "Widen the quay" in clew("open", head[:8], cwd=harbour).out
    assert "branch main" in clew("open", "git:branch", cwd=harbour).out
    assert "clean" in clew("open", "git:status", cwd=harbour).out
    assert "Book berths" in clew("open", "git:commits", cwd=harbour).out
    ask(harbour, "what is a berth?")
    assert "Because of the tide." in clew("open", "exchange:1", cwd=harbour).out
    opened = clew("open", "--json", "src/retry.py:4-5", cwd=harbour).json
    assert (opened["ref"], opened["first"], opened["lines"]) == ("src/retry.py:4-5", 4, 8)


@pytest.mark.parametrize(
    ("ref", "says", "hint"),
    [
        ("src/retri.py", "there is no `src/retri.py`", "did you mean `src/retry.py`?"),
        ("retry.py", "there is no `retry.py`", "did you mean `src/retry.py`?"),
        ("src/retry.py:900", "has 8 lines", "clew open src/retry.py"),
        ("exchange:7", "there is no `exchange:7`", "nothing has been asked"),
        ("git:stats", "there is no `git:stats`", "did you mean `git:status`?"),
        ("deadbeef", "there is no `deadbeef`", "a reference is"),
        ("src", "is a folder", "berths.py, retry.py"),
        ("https://example.com/", "is a URL", "browser"),
        ("", "there is no reference", "path:10-42"),
        ("../outside.txt", "outside of the workspace", "the workspace is"),
        ("/etc/hostname", "outside of the workspace", "the workspace is"),
        ("link", "outside of the workspace", "the workspace is"),
        ("pipe", "a named pipe", "name a file"),
        ("loop", "leads in a circle", "name the file itself"),
        ("image.bin", "is binary", "program"),
    ],
)
@pytest.mark.requirement("F-01")
def test_a_reference_that_cannot_be_opened_says_why_and_what_is_near(
    harbour: Path, ref: str, says: str, hint: str
) -> None:
    (harbour.parent / "outside.txt").write_text("secret of the neighbour\n", encoding="utf-8")
    (harbour / "link").symlink_to("../outside.txt")
    (harbour / "loop").symlink_to("loop")
    (harbour / "image.bin").write_bytes(b"\x89PNG\0\0\0\1" * 50)
    os.mkfifo(harbour / "pipe")
    found = clew("open", ref, cwd=harbour, timeout=30)
    assert (found.status, found.out) == (2, "")
    assert says in found.err and hint in found.err
    assert "neighbour" not in found.err


@pytest.mark.requirement("P-02")
def test_open_shows_no_secret(harbour: Path) -> None:
    write(harbour, {".env": "DB_PASSWORD=hunter2-correct-horse\n", "a.py": 'key = "AKIAQ3EGSTOIWDKV7N2M"\n'})
    for name in (".env", "a.py"):
        found = clew("open", name, cwd=harbour)
        assert found.status == 0 and "REDACTED" in found.out
        assert "hunter2" not in found.out and "AKIAQ3EGSTOIWDKV7N2M" not in found.out
        assert "secrets not shown: 1" in found.err


# ---------------------------------------------------------------------- manners


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_examples_and_writes_it_to_stdout(home: Path, tmp_path: Path, name: str) -> None:
    found = clew(name, "--help", cwd=tmp_path)
    assert found.status == 0 and found.err == ""
    assert re.search("^  Examples?:$", found.out, re.MULTILINE)
    assert clew(name, "-h", cwd=tmp_path).out == found.out
    assert list(home.iterdir()) == []


@pytest.mark.requirement("F-01")
def test_no_command_at_all_is_a_request_for_help(home: Path, tmp_path: Path) -> None:
    found = clew(cwd=tmp_path)
    assert (found.status, found.err) == (0, "") and found.out == clew("--help", cwd=tmp_path).out
    assert clew(cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"}).out.startswith("用法：")


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("histry",), "did you mean `clew history`?"),
        (("how does the retry work?",), 'clew ask "how does the retry work?"'),
        (("ask", "--modle", "x", "q"), "--model"),
        (("history", "shwo"), "'show'"),
        (("ask", "--mode", "ritch", "q"), "'rich'"),
        (("ask",), "there is no question"),
        (("ask", "  "), "there is no question"),
        (("history", "remove", "x"), "'x' is not a valid integer"),
        (("completion", "tcsh"), "'bash', 'zsh', 'fish'"),
        (("completion",), "Choose from: bash, zsh, fish"),
    ],
)
def test_a_slip_of_the_pen_gets_the_nearest_name_and_status_2(
    home: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    found = clew(*arguments, cwd=tmp_path)
    assert (found.status, found.out) == (2, "")
    assert says in found.err and "Traceback" not in found.err
    assert re.match(r"error: .+\nhint: .+\n\Z", found.err)


@pytest.mark.requirement("F-01")
def test_with_json_an_error_is_json_too(harbour: Path) -> None:
    found = clew("ask", "--json", "--model", "nobody:x", "q", cwd=harbour)
    assert (found.status, found.out) == (2, "")
    error = json.loads(found.err)
    assert error["error"] == "ModelUnknown" and error["message"] and error["hint"]


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({"NO_COLOR": None, "TERM": "xterm-256color"}, True),
        ({"NO_COLOR": "1", "TERM": "xterm-256color"}, False),
        ({"NO_COLOR": None, "TERM": "dumb"}, False),
        ({"NO_COLOR": None, "TERM": "xterm-256color", "CLEW_COLOR": "never"}, False),
    ],
)
def test_a_terminal_gets_colour_unless_told_otherwise(harbour: Path, env: dict[str, str | None], colored: bool) -> None:
    said = on_terminal("open", "src/retry.py:4-5", cwd=harbour, env=env)
    assert (b"\x1b[" in said) is colored
    assert b"4" in said and b"retry_with_backoff" in said
    assert (b"\x1b[" in on_terminal("askk", cwd=harbour, env=env)) is colored


@pytest.mark.requirement("F-01")
def test_a_pipe_gets_no_colour_unless_it_is_always_wanted(harbour: Path) -> None:
    assert "\x1b[" not in clew("config", cwd=harbour, env={"NO_COLOR": None}).out
    assert "\x1b[" in clew("config", cwd=harbour, env={"NO_COLOR": None, "CLEW_COLOR": "always"}).out


@pytest.mark.requirement("F-01")
def test_nothing_in_a_file_or_an_answer_steers_the_terminal(harbour: Path) -> None:
    write(harbour, {"evil.txt": "before \x1b]0;owned\x07 after \x1b[2J\n"})
    said = on_terminal("open", "evil.txt", cwd=harbour, env={"NO_COLOR": "1"})
    assert b"before" in said and b"\x1b]0" not in said and b"\x1b[2J" not in said
    # Also not by way of a pipe, unless that is asked for.
    piped = clew("open", "evil.txt", cwd=harbour)
    assert piped.out == "before �]0;owned� after �[2J\n" and "--raw" in piped.err
    assert clew("open", "--raw", "evil.txt", cwd=harbour).out == "before \x1b]0;owned\x07 after \x1b[2J\n"
    said = on_terminal("open", "--raw", "evil.txt", cwd=harbour, env={"NO_COLOR": "1"})
    assert b"before" in said and b"\x1b]0" not in said and b"\x1b[2J" not in said
    model = script(harbour.parent / "script.json", "see \x1b]52;c;b3duZWQ=\x07 this")
    said = on_terminal("ask", "--model", model, "what is a berth?", cwd=harbour, env={"NO_COLOR": "1"})
    assert b"see" in said and b"\x1b]52" not in said


@pytest.mark.requirement("F-01")
def test_indexing_shows_progress_on_a_terminal_only(harbour: Path) -> None:
    write(harbour, {f"src/part{number}.py": HARBOUR["src/berths.py"] * 30 for number in range(900)})
    said = on_terminal("context", "free berths?", cwd=harbour, env={"NO_COLOR": "1"})
    assert re.search(rb"\r\x1b\[2Kindexing \d+ of 90\d files", said)
    assert not re.search(rb"indexing \d+ of", said.rpartition(b"\x1b[2K")[2])
    (harbour / "src" / "more.py").write_text("x = 1\n", encoding="utf-8")
    piped = clew("context", "free berths?", cwd=harbour, env={"CLEW_HOME": str(harbour.parent / "other")})
    assert not re.search(r"indexing \d+ of", piped.err) and "\r" not in piped.err


@pytest.mark.requirement("P-08")
def test_the_report_is_broken_between_words_on_a_narrow_terminal(harbour: Path) -> None:
    said = on_terminal("context", "where are free berths found?", cwd=harbour, env={"NO_COLOR": "1", "COLUMNS": "60"})
    lines = said.decode().replace("\r", "").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("context: "))
    assert len(lines[first]) <= 60
    assert lines[first + 1].startswith("  ")
    assert len(lines[first + 1]) <= 60


def test_on_a_terminal_references_stand_out_and_long_lines_go_on_below_their_code(harbour: Path) -> None:
    question = ("ask", "where are free berths found?")
    said = on_terminal(*question, cwd=harbour, env={"NO_COLOR": None, "TERM": "xterm", "COLUMNS": "60"}).decode()
    lines = said.replace("\r", "").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("\x1b[1msrc/berths.py:"))
    assert lines[place - 1] == ""
    assert '\x1b[2m  5\x1b[0m      """Berths that are long and deep enough for the\n         ship."""' in "\n".join(
        lines
    )
    piped = clew(*question, cwd=harbour).out
    assert "\x1b" not in piped
    assert '  5      """Berths that are long and deep enough for the ship."""\n' in piped


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_completes_commands_options_and_values(
    home: Path, tmp_path: Path, shell: str
) -> None:
    found = clew("completion", shell, cwd=tmp_path)
    assert found.status == 0 and "_CLEW_COMPLETE" in found.out

    def offered(words: str, count: int) -> str:
        line = {"COMP_WORDS": words, "COMP_CWORD": words.split(" ")[-1] if shell == "fish" else str(count)}
        return clew(cwd=tmp_path, env={"_CLEW_COMPLETE": f"{shell}_complete", **line}).out

    assert "history" in offered("clew hi", 1)
    assert "--model" in offered("clew ask --mo", 2)
    assert "max_tokens" in offered("clew config get max", 3)
    assert "git:status" in offered("clew open git:", 2)


@pytest.mark.requirement("F-06")
def test_no_command_writes_into_the_repository_or_the_home_outside_of_its_own_folder(harbour: Path, home: Path) -> None:
    before = snapshot(harbour)
    for arguments in (["ask", "where does the retry wait?"], ["context", "free berths?"], ["history"], ["models"],
                      ["config"], ["open", "README.md"], ["doctor"]):  # fmt: skip
        assert clew(*arguments, cwd=harbour).status == 0, arguments
    assert snapshot(harbour) == before
    assert [path.name for path in home.iterdir()] == ["clew"]


# ---------------------------------------------------------------------- JSON


@pytest.mark.requirement("F-01")
def test_every_command_that_prints_data_prints_it_as_json_too() -> None:
    without = {
        path
        for path, command in command_tree(cli)
        if (not isinstance(command, click.Group) or command.invoke_without_command)
        and "--json" not in [name for p in command.params for name in p.opts]
    }
    # One prints a program for a shell, one nothing but what it is doing, two speak a protocol, one is a conversation.
    assert without == {("completion",), ("watch",), ("mcp",), ("acp",), ("resume",)}


@pytest.mark.requirement("F-01")
def test_a_template_of_questions_is_written_and_told_as_json(harbour: Path) -> None:
    found = clew("eval", "init", "team.jsonl", "--for", "modes", "--json", cwd=harbour)
    assert (found.status, found.err) == (0, "")
    assert found.json == {"path": str(harbour / "team.jsonl"), "for": "modes", "replaced": False}
    assert clew("eval", "init", "team.jsonl", "--json", "--force", cwd=harbour).json["replaced"]
    refused = clew("eval", "init", "team.jsonl", "--json", cwd=harbour)
    assert (refused.status, refused.out) == (2, "") and json.loads(refused.err)["hint"]
