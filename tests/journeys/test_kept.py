"""An exchange is kept whatever becomes of who reads it, and a thread that was begun anew stays so."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import signal
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest
from tests.command import ARGV, clew, environ, script
from tests.scripted_server import Turn, serving

QUESTION = "where does the retry wait before the next attempt?"
NOWHERE = "where is the kafka zookeeper?"


def history(root: Path, thread: str = "t") -> list[dict[str, Any]]:
    """The exchanges of the current thread, oldest first."""
    rows: list[dict[str, Any]] = clew(
        "history", "--json", cwd=root, env={"CLEW_THREAD": thread, "CLEW_MODEL": None}
    ).json["exchanges"]
    return rows


def unread(root: Path, *arguments: str, env: dict[str, str], errors: bool = False) -> int:
    """Run a command whose output goes to a pipe that nobody reads, with `errors` also what goes to stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [*ARGV, *arguments], cwd=root, env=environ({"CLEW_THREAD": "t", **env}), stdin=subprocess.DEVNULL,
            stdout=pipe, stderr=pipe if errors else subprocess.PIPE, check=False,
        )  # fmt: skip
    return done.returncode


@pytest.mark.requirement("W-09", "P-05")
def test_a_token_that_names_a_thread_is_not_kept_and_the_thread_goes_on(harbour: Path, home: Path) -> None:
    token = "ghp" + "_" + "".join(random.Random(5).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789", k=36))
    other = "ghp" + "_" + token[:3:-1]
    assert clew("ask", QUESTION, cwd=harbour, env={"CLEW_THREAD": token, "CLEW_MODEL": None}).status == 0
    assert [row["question"] for row in history(harbour, token)] == [QUESTION]
    assert history(harbour, other) == []
    kept = [file for file in home.rglob("history.db*") if file.is_file()]
    assert kept
    assert not any(token[4:].encode() in file.read_bytes() for file in kept)


# ---------------------------------------------------------------------- begun anew


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize("reading", ["to the end", "not at all"])
def test_what_new_leaves_behind_stays_behind_although_nothing_was_found(harbour: Path, reading: str) -> None:
    env = {"CLEW_THREAD": "t"}
    assert clew("ask", "where is retry_with_backoff?", cwd=harbour, env=env).status == 0
    if reading == "to the end":
        assert "Nothing in this folder matches" in clew("ask", "--new", NOWHERE, cwd=harbour, env=env).out
    else:
        unread(harbour, "ask", "--new", NOWHERE, env={})
    prompt = clew("context", "and its default?", cwd=harbour, env=env).out
    assert "retry_with_backoff?" not in prompt
    assert NOWHERE in prompt and "It got no answer." in prompt


@pytest.mark.requirement("P-05", "P-14")
def test_what_new_leaves_behind_stays_behind_although_the_model_failed(harbour: Path) -> None:
    env = {"CLEW_THREAD": "t"}
    model = script(harbour.parent / "s.json", "Yes: zinnober.", {"text": "", "error": "ModelBusy", "after": 0})
    assert clew("ask", "--model", model, "does the timeout change the retry?", cwd=harbour, env=env).status == 0
    failing = script(harbour.parent / "f.json", {"text": "", "error": "ModelBusy", "after": 0})
    assert clew("ask", "--new", "--model", failing, QUESTION, cwd=harbour, env=env).status != 0
    assert "zinnober" not in clew("context", "and why is that so?", cwd=harbour, env=env).out
    assert [(row["question"], row["answer"]) for row in history(harbour)] == [(QUESTION, "")]
    assert "(no answer came)" in clew("history", "show", "2", cwd=harbour).out


@pytest.mark.requirement("P-05")
def test_a_question_without_an_answer_is_what_the_next_follows_up_on_and_is_then_forgotten(harbour: Path) -> None:
    env = {"CLEW_THREAD": "t"}
    clew("ask", NOWHERE, cwd=harbour, env=env)
    assert NOWHERE in clew("context", "and why is that so?", cwd=harbour, env=env).out
    model = script(harbour.parent / "s.json", "Karmin.")
    clew("ask", "--model", model, QUESTION, cwd=harbour, env=env)
    later = clew("context", "and why is that so?", cwd=harbour, env=env).out
    assert "Karmin." in later and NOWHERE not in later


# ---------------------------------------------------------------------- nobody reads


@pytest.mark.requirement("P-14", "F-01")
@pytest.mark.parametrize("errors", [False, True])
def test_passages_that_nobody_read_are_kept_whole(harbour: Path, errors: bool) -> None:
    whole = clew("ask", QUESTION, cwd=harbour, env={"CLEW_THREAD": "other"}).out
    assert unread(harbour, "ask", QUESTION, env={}, errors=errors) == 141
    assert [(row["question"], row["answer"]) for row in history(harbour)] == [(QUESTION, whole)]


@pytest.mark.requirement("P-14", "F-01")
@pytest.mark.parametrize("debug", [False, True])
def test_what_came_of_a_model_that_nobody_read_is_kept_as_cut_off(harbour: Path, debug: bool) -> None:
    with serving() as server:
        server.turns = [Turn(pieces=("First half, ", "second half."), fault="hang-in")]
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        assert unread(harbour, "ask", *(["--debug"] if debug else []), QUESTION, env=env, errors=debug) == 141
        assert server.gone.wait(30), "the connection was left open"
    assert [row["answer"] for row in history(harbour)] == ["First half, \n[cut off]"]


@pytest.mark.requirement("P-14", "F-01")
def test_an_answer_on_a_full_disk_is_kept(harbour: Path) -> None:
    with open("/dev/full", "wb") as full:
        subprocess.run([*ARGV, "ask", QUESTION], cwd=harbour, env=environ({"CLEW_THREAD": "t"}),
                       stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)  # fmt: skip
    assert [row["question"] for row in history(harbour)] == [QUESTION]


@pytest.mark.requirement("P-14", "F-01")
def test_what_came_before_the_window_was_closed_is_kept(harbour: Path) -> None:
    def in_the_window() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)

    with serving() as server:
        server.turns = [Turn(pieces=("First half, ", "second half."), fault="hang-in")]
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        window, screen = pty.openpty()
        child = subprocess.Popen(
            [*ARGV, "ask", QUESTION], cwd=harbour, env=environ({"CLEW_THREAD": "t", **env}), stdin=screen,
            stdout=screen, stderr=screen, start_new_session=True, preexec_fn=in_the_window,
        )  # fmt: skip
        os.close(screen)
        shown = b""
        while b"First" not in shown:
            shown += os.read(window, 4096)
        os.close(window)
        status = child.wait(timeout=60)
        assert server.gone.wait(30), "the connection was left open"
    assert status > 0, "ended by the signal, not by itself"
    (row,) = history(harbour)
    assert row["answer"].startswith("First half,") and row["answer"].endswith("[cut off]")


@pytest.mark.requirement("P-14", "F-01")
def test_under_nohup_a_closed_window_stops_nothing(harbour: Path) -> None:
    with serving() as server:
        server.turns = [Turn(pieces=("First half, ", "second half."))]
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        child = subprocess.Popen(
            [*ARGV, "ask", "what breaks?"], cwd=harbour, env=environ({"CLEW_THREAD": "t", **env}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None,
        )  # fmt: skip
        assert child.stderr is not None
        # It says so while it waits for a pipe that nobody writes to: there the signal finds it.
        assert b"waiting for standard input" in child.stderr.readline()
        child.send_signal(signal.SIGHUP)
        out, _ = child.communicate(b"late words\n", timeout=60)
    assert (child.returncode, out) == (0, b"First half, second half.\n")
