"""One question, in every kind of place and with every kind of input: through the real process, as a user meets it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.command import ARGV, HARBOUR, clew, commit, environ, script, write
from tests.scripted_server import Turn, serving

QUESTION = "where does the retry wait before the next attempt?"


def quoted(out: str, root: Path) -> list[tuple[str, int]]:
    """Each `path:line` of an answer without a model. The line that stands there must be the one in the file."""
    found: list[tuple[str, int]] = []
    lines = out.splitlines()
    for at, line in enumerate(lines):
        head, _, number = line.partition("  (")[0].rpartition(":")
        if head and number.isdigit() and not line.startswith(" "):
            text = (root / head).read_text(encoding="utf-8").splitlines()[int(number) - 1]
            assert lines[at + 1].strip() == f"{number}  {text}".strip()
            found.append((head, int(number)))
    return found


# ---------------------------------------------------------------------- a question and its answer


@pytest.mark.requirement("P-01", "P-08", "P-14", "F-08")
def test_without_a_model_the_answer_cites_lines_that_exist_and_says_how_to_set_one(harbour: Path) -> None:
    found = clew("ask", QUESTION, cwd=harbour)
    assert found.status == 0
    assert "src/retry.py" in [path for path, _ in quoted(found.out, harbour)]
    report, note = found.err.splitlines()
    assert report.startswith("context: rich · ") and "/8000 tokens" in report
    assert "no model is configured" in note and "CLEW_MODEL" in note


@pytest.mark.requirement("P-01")
def test_a_chinese_question_finds_the_chinese_note_and_the_english_code(harbour: Path) -> None:
    found = clew("ask", "超时时间会不会影响重试", cwd=harbour)
    paths = [path for path, _ in quoted(found.out, harbour)]
    assert "docs/重试机制.md" in paths and "src/retry.py" in paths


@pytest.mark.requirement("P-01", "P-15")
def test_a_question_about_something_else_is_told_that_nothing_matches(harbour: Path) -> None:
    found = clew("ask", "--mode", "rich", "how do I bake sourdough bread with rye flour?", cwd=harbour)
    assert found.status == 0
    assert found.out.startswith("Nothing in this folder matches the question.") and found.out.count("\n") == 1
    assert "nothing relevant found" in found.err


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("question", ["what does this project do?", "这个项目是干什么的?"])
def test_the_first_question_of_a_newcomer_is_answered_by_the_readme(harbour: Path, question: str) -> None:
    (harbour / "README.md").write_text("# Harbour\n\nKeeps ships apart.\n", encoding="utf-8")
    assert quoted(clew("ask", question, cwd=harbour).out, harbour)[0] == ("README.md", 1)


@pytest.mark.requirement("P-02", "P-07")
@pytest.mark.parametrize(
    "question", ["how is this project organised, which folders are there?", "项目的目录结构是怎样的？"]
)
def test_who_asks_for_the_folders_gets_a_map_that_fits_beside_what_else_was_found(
    home: Path, tmp_path: Path, question: str
) -> None:
    names = {
        f"part{one:03}/layer{two}/folder_{two}.py": f"def folder_{two}(): ...\n"
        for one in range(150)
        for two in range(4)
    }
    root = write(tmp_path / "wide", names)
    commit(root)
    asked = clew("ask", question, cwd=root)
    assert "part000/" in asked.out and "folders" not in asked.out.splitlines()[0]
    report = json.loads(clew("context", "--json", "--max-tokens", "3000", question, cwd=root).out)["report"]
    assert [one["form"] for one in report["kept"] if one["source"] == "tree"] == ["body"]
    assert report["used"] <= report["prompt"]


@pytest.mark.requirement("P-15")
def test_a_product_that_no_file_speaks_of_is_named_beside_what_was_found(harbour: Path) -> None:
    asked = "where does the retry wait before the next attempt{}?"
    found = clew("ask", "--mode", "rich", asked.format(" is sent to Kafka"), cwd=harbour)
    assert quoted(found.out, harbour) and "note: no file here speaks of Kafka\n" in found.err
    assert "speaks of" not in clew("ask", "--mode", "rich", asked.format(""), cwd=harbour).err


@pytest.mark.requirement("P-06")
def test_a_question_that_seems_to_need_nothing_is_told_how_to_search_all_the_same(harbour: Path) -> None:
    question = "what is a closure?"
    assert "`--mode rich` searches all the same" in clew("ask", question, cwd=harbour).out
    assert clew("ask", "--mode", "rich", question, cwd=harbour).err.startswith("context: rich")


@pytest.mark.requirement("P-01", "P-14")
def test_a_model_streams_to_stdout_and_the_report_stays_on_stderr(harbour: Path) -> None:
    model = script(
        harbour.parent / "s.json", {"text": "It waits 2**attempt.", "usage": {"input": 900, "cached": 0, "output": 6}}
    )
    found = clew("ask", "-v", "--model", model, QUESTION, cwd=harbour)
    assert found.out == "It waits 2**attempt.\n"
    assert "usage: 900 in (0 cached), 6 out" in found.err and "src/retry.py" in found.err
    assert clew("ask", "-q", "--model", model, QUESTION, cwd=harbour).err == ""


@pytest.mark.requirement("P-01", "P-04")
def test_standard_input_and_files_go_along_whole(harbour: Path) -> None:
    found = clew(
        "ask", "--preview", "--debug", "what breaks?", "src/berths.py", cwd=harbour, stdin="-old line\n+new line\n"
    )
    assert "-old line\n+new line" in found.out
    assert HARBOUR["src/berths.py"].strip() in found.out
    report = clew("ask", "--preview", "--json", "what breaks?", "src/berths.py", cwd=harbour, stdin="+new line\n").json
    explicit = [kept["ref"] for kept in report["kept"] if kept["explicit"]]
    assert sorted(explicit) == ["src/berths.py", "stdin"]


@pytest.mark.requirement("P-04")
def test_a_slow_program_on_standard_input_is_waited_for(harbour: Path) -> None:
    child = subprocess.Popen(
        [*ARGV, "ask", "--preview", "what breaks?"], cwd=harbour, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None and child.stderr is not None
    # The note comes after the patience of a second: only then is the text written.
    assert b"waiting for standard input" in child.stderr.readline()
    out, _ = child.communicate(b"late words\n", timeout=60)
    assert b"explicit     stdin" in out


@pytest.mark.requirement("P-04")
def test_explicit_context_beyond_the_budget_ends_with_status_2_and_the_sizes(harbour: Path) -> None:
    write(harbour, {"big.txt": "one two three four five six seven\n" * 4000})
    found = clew("ask", "what is this?", "big.txt", cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert "big.txt" in found.err and "hint: " in found.err


# ---------------------------------------------------------------------- what is sent


@pytest.mark.requirement("P-08")
def test_what_preview_and_debug_show_is_what_goes_over_the_wire(harbour: Path) -> None:
    arguments = ("--new", "what does this break?", "src/retry.py")
    # The clock is the only thing that may differ between two runs: it is left out by its weight.
    with serving() as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini",
               "CLEW_THREAD": "t"}  # fmt: skip
        asked = clew("ask", "--debug", "-q", *arguments, cwd=harbour, env=env, stdin="+a change \x1b[1m\n")
        body = server.posts()[0].json
    sent = "\n\n".join(
        part if isinstance(part, str) else part["text"]
        for message in body["messages"]
        for part in ([message["content"]] if isinstance(message["content"], str) else message["content"])
    )
    assert asked.out == "Hello.\n"
    assert asked.err == sent + "\n"
    assert "+a change \x1b[1m" in sent and HARBOUR["src/retry.py"].strip() in sent


@pytest.mark.requirement("P-08")
def test_preview_context_and_json_show_one_and_the_same_prompt(harbour: Path) -> None:
    # Attached text alone, so that no clock stands in the prompt.
    arguments = ("--no-context", "what does this break?", "src/retry.py")
    preview = clew("ask", "--preview", "--debug", *arguments, cwd=harbour)
    context = clew("context", *arguments, cwd=harbour)
    as_json = clew("context", "--json", *arguments, cwd=harbour).json
    assert preview.out == context.out == as_json["prompt"] + "\n"
    assert "\n\n".join(block for message in as_json["messages"] for block in message["blocks"]) == as_json["prompt"]
    report = clew("ask", "--preview", "--json", *arguments, cwd=harbour).json
    assert report == as_json["report"]
    assert report["used"] == sum(one["tokens"] for one in report["sources"]) + report["frame"] <= report["prompt"]


@pytest.mark.requirement("P-08")
def test_preview_asks_no_model_and_keeps_nothing(harbour: Path) -> None:
    with serving() as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        found = clew("ask", "--preview", QUESTION, cwd=harbour, env=env)
        assert found.status == 0 and server.asked == []
    assert "src/retry.py" in found.out and "for the prompt" in found.out
    assert clew("history", "--all", "--json", cwd=harbour).json["exchanges"] == []


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize("how", ["option", "variable", "project"])
def test_context_can_be_switched_off_and_attachments_still_go_along(harbour: Path, how: str) -> None:
    if how == "project":
        write(harbour, {".clew.yaml": "context: false\n"})
    env = {"CLEW_NO_CONTEXT": "1"} if how == "variable" else {}
    option = ["--no-context"] if how == "option" else []
    bare = clew("ask", "--preview", "--json", *option, QUESTION, cwd=harbour, env=env).json
    assert (bare["mode"], bare["kept"]) == ("minimal", [])
    given = clew("ask", "--preview", "--json", *option, QUESTION, "README.md", cwd=harbour, env=env).json
    assert [kept["ref"] for kept in given["kept"]] == ["README.md"]


# ---------------------------------------------------------------------- the conversation


def exchange(root: Path, question: str, answer: str, *options: str, thread: str = "t") -> None:
    """One question with its answer."""
    model = script(root.parent / "answers.json", answer)
    done = clew("ask", "-q", "--model", model, *options, question, cwd=root, env={"CLEW_THREAD": thread})
    assert (done.status, done.out) == (0, answer + "\n"), done.err


def prompt(root: Path, question: str, *options: str, thread: str = "t") -> str:
    """The prompt that a question would be sent with."""
    done = clew("context", *options, question, cwd=root, env={"CLEW_THREAD": thread})
    assert done.status == 0, done.err
    return done.out


@pytest.mark.requirement("P-01", "P-05")
@pytest.mark.parametrize("question", ["and with 30 seconds?", "那如果并发呢"])
def test_a_follow_up_sees_the_last_exchange_and_new_does_not(harbour: Path, question: str) -> None:
    exchange(harbour, "does the timeout change the retry?", "Yes: zinnober is the limit.")
    assert "zinnober" in prompt(harbour, question)
    assert "zinnober" not in prompt(harbour, question, "--new")
    exchange(harbour, "what is a berth?", "A place for a ship.", "--new")
    assert "zinnober" not in prompt(harbour, question)


@pytest.mark.slow
@pytest.mark.requirement("P-05")
def test_twenty_unrelated_questions_later_that_error_still_resolves(harbour: Path) -> None:
    exchange(harbour, "why does src/retry.py fail with ZinnoberError?", "ZinnoberError means that attempts is zero.")
    for number in range(20):
        exchange(harbour, f"what is {number} plus {number}?", f"It is {2 * number}.")
    anchors = clew("history", "--anchors", "--json", cwd=harbour, env={"CLEW_THREAD": "t"}).json["exchanges"]
    assert [row["question"] for row in anchors] == ["why does src/retry.py fail with ZinnoberError?"]
    for question in ("how do I fix that error?", "那个错误怎么修？"):
        assert "ZinnoberError" in prompt(harbour, question)
    clew("history", "remove", str(anchors[0]["id"]), cwd=harbour)
    assert "ZinnoberError" not in prompt(harbour, "how do I fix that error?")


@pytest.mark.requirement("P-01", "P-05")
def test_two_terminals_do_not_mix_their_threads(harbour: Path) -> None:
    exchange(harbour, "does the timeout change the retry?", "Yes: zinnober is the limit.", thread="left")
    exchange(harbour, "which berth is free?", "Number karmin.", thread="right")
    left, right = (prompt(harbour, "and why is that so?", thread=name) for name in ("left", "right"))
    assert "zinnober" in left and "karmin" not in left
    assert "karmin" in right and "zinnober" not in right


@pytest.mark.requirement("P-14")
def test_an_answer_that_was_cut_off_is_shown_and_kept(harbour: Path) -> None:
    model = script(
        harbour.parent / "s.json",
        {"text": "one two three four", "error": "ModelCut", "after": 2, "message": "it ended early"},
    )
    found = clew("ask", "--model", model, "why does src/retry.py fail?", cwd=harbour)
    assert found.status == 1 and found.out == "one two \n" and "it ended early" in found.err
    assert "one two \n[cut off]" in clew("history", "show", "1", cwd=harbour).out


@pytest.mark.requirement("P-14", "F-01")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_an_answer_comes_keeps_what_came(harbour: Path, number: signal.Signals, status: int) -> None:
    with serving() as server:
        server.turns = [Turn(pieces=("First half, ", "second half."), fault="hang-in")]
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        child = subprocess.Popen(
            [*ARGV, "ask", "why does src/retry.py fail?"], cwd=harbour, env=environ(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.read(5) == b"First"
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        assert server.gone.wait(30), "the connection was left open"
    assert child.returncode == status
    assert out.startswith(b" half,") and out.endswith(b"\n")
    assert b"what came so far was kept" in err and b"Traceback" not in err
    assert "First half, \n[cut off]" in clew("history", "show", "1", cwd=harbour).out


@pytest.mark.requirement("P-14", "F-01")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_before_any_text_ends_with_its_status_and_keeps_nothing(
    harbour: Path, number: signal.Signals, status: int
) -> None:
    child = subprocess.Popen(
        [*ARGV, "ask", "what breaks?"], cwd=harbour, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stderr is not None
    # It says so while it waits for a pipe that nobody writes to: there the signal finds it.
    assert b"waiting for standard input" in child.stderr.readline()
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (status, b"")
    assert err.strip() == b"interrupted"
    assert clew("history", "--json", cwd=harbour).json["exchanges"] == []


@pytest.mark.requirement("P-14", "F-08")
@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("key", 1, "openai:gpt-5-mini"),
        ("overflow", 1, "openai:gpt-5-mini"),
        ("cut-before", 75, "openai:gpt-5-mini"),
    ],
)
def test_a_model_that_fails_is_named_with_what_to_do_and_no_key(
    harbour: Path, fault: str, status: int, says: str
) -> None:
    with serving() as server:
        server.turns = [Turn(fault=fault)]
        env = {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "sk-test-9Zq",
            "CLEW_MODEL": "openai:gpt-5-mini",
        }
        found = clew("ask", QUESTION, cwd=harbour, env=env)
    assert found.status == status and found.out == ""
    assert says in found.err and "\nhint: " in found.err
    assert "sk-test-9Zq" not in found.err and "Traceback" not in found.err


@pytest.mark.requirement("P-14", "F-08")
def test_no_connection_is_told_with_the_address(harbour: Path) -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
    found = clew("ask", QUESTION, cwd=harbour, env=env)
    assert found.status == 75 and "127.0.0.1:9" in found.err and "Traceback" not in found.err


# ---------------------------------------------------------------------- odd places


@pytest.mark.requirement("P-01", "F-08")
def test_an_empty_folder_gets_an_answer(home: Path, tmp_path: Path) -> None:
    found = clew("ask", QUESTION, cwd=tmp_path)
    assert found.status == 0 and "Nothing in this folder matches" in found.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("P-01", "F-08")
def test_without_git_a_folder_is_searched_all_the_same(home: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "plain", HARBOUR)
    assert ("src/retry.py") in [path for path, _ in quoted(clew("ask", QUESTION, cwd=root).out, root)]
    tools = tmp_path / "bin"
    tools.mkdir()
    commit(root)
    found = clew("ask", QUESTION, cwd=root, env={"PATH": str(tools)})
    assert found.status == 0 and "src/retry.py" in found.out


@pytest.mark.requirement("P-01", "P-03")
def test_a_subfolder_is_asked_like_the_whole_and_ignored_files_stay_out(harbour: Path) -> None:
    write(harbour, {".gitignore": "out/\n*.log\n", "out/retry_notes.py": "# retry wait next attempt delay\n" * 5})
    whole = clew("ask", "--preview", "--json", QUESTION, cwd=harbour).json
    part = clew("ask", "--preview", "--json", QUESTION, cwd=harbour / "docs").json
    refs = [[kept["ref"] for kept in report["kept"] if kept["source"] == "related"] for report in (whole, part)]
    assert refs[0] == refs[1] and any(ref.startswith("src/retry.py") for ref in refs[0])
    assert not any("retry_notes" in ref for ref in refs[0])


ODD: dict[str, bytes] = {
    "binary": b"\x7fELF\0\0\0retry wait attempt\0" * 200,
    "bad utf-8": b"# retry \xff\xfe\xfa wait before the next attempt\n" * 3,
    "one long line": b"retry wait attempt " * 200_000,
    "special tokens": b"# retry <|endoftext|> <|im_start|>system wait before the next attempt\n",
    "only nul": b"\0" * 5000,
    "empty": b"",
    "crlf": b"retry\r\nwait\r\nnext attempt\r\n",
    "utf-16": "retry wait before the next attempt".encode("utf-16"),
}


@pytest.mark.requirement("P-01", "P-03")
@pytest.mark.parametrize("kind", ODD)
def test_odd_files_neither_break_a_question_nor_keep_the_good_ones_from_it(harbour: Path, kind: str) -> None:
    write(harbour, {"src/odd.py": ODD[kind]})
    found = clew("ask", QUESTION, cwd=harbour)
    assert found.status == 0 and "src/retry.py" in found.out, found.err
    assert clew("ask", "--preview", QUESTION, "src/odd.py", cwd=harbour).status in (0, 2)


@pytest.mark.requirement("P-01", "P-03")
def test_pipes_loops_sockets_and_files_that_may_not_be_read_hold_nothing_up(harbour: Path) -> None:
    os.mkfifo(harbour / "src" / "pipe.py")
    (harbour / "src" / "loop.py").symlink_to("loop.py")
    (harbour / "round").symlink_to(".", target_is_directory=True)
    (harbour / "src" / "gone.py").symlink_to("nowhere.py")
    os.close(os.open(os.path.join(os.fsencode(harbour), b"src/\xff\xfe.py"), os.O_CREAT | os.O_WRONLY))
    write(harbour, {"src/locked.py": "retry wait\n", "sealed/a.py": "retry\n"})
    (harbour / "src" / "locked.py").chmod(0)
    (harbour / "sealed").chmod(0)
    try:
        found = clew("ask", QUESTION, cwd=harbour, timeout=60)
        assert found.status == 0 and "src/retry.py" in found.out
        pipe = clew("ask", QUESTION, "src/pipe.py", cwd=harbour, timeout=60)
        loop = clew("ask", QUESTION, "src/loop.py", cwd=harbour, timeout=60)
    finally:
        (harbour / "sealed").chmod(0o755)
    assert pipe.status == 2 and "a named pipe" in pipe.err
    assert loop.status == 2 and "circle" in loop.err


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing.py", "There is no file `nothing.py`"),
        ("src/retri.py", "src/retry.py"),
        ("*.nothing", "matches no file"),
        ("https://example.com/x", "is a URL"),
        ("../..", "outside of the workspace"),
        ("x" * 300, "There is no file"),
        ("image.bin", "is binary"),
    ],
)
def test_an_attachment_that_cannot_be_read_is_named(harbour: Path, name: str, says: str) -> None:
    (harbour / "image.bin").write_bytes(b"\x89PNG\0\0\0\1" * 50)
    found = clew("ask", QUESTION, name, cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert says in found.err or "too long" in found.err
    assert "Traceback" not in found.err


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_tokns: 5\n", "max_tokens"),
        ("max_tokens: many\n", ".clew.yaml:1"),
        ("\tx: [\n", ".clew.yaml"),
        ("endpoints:\n  openai: http://evil.example\n", "may not set `endpoints`"),
        ("model: openai:x\n", "may not set `model`"),
    ],
)
def test_a_broken_or_greedy_project_file_stops_the_question_with_file_and_line(
    harbour: Path, text: str, says: str
) -> None:
    write(harbour, {".clew.yaml": text})
    found = clew("ask", QUESTION, cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert says in found.err and "Traceback" not in found.err


@pytest.mark.requirement("P-01", "F-08")
def test_without_home_it_still_answers_or_says_what_to_set(harbour: Path) -> None:
    names = ("HOME", "CLEW_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    empty = clew("ask", QUESTION, cwd=harbour, env={**dict.fromkeys(names), "HOME": ""})
    assert empty.status == 2 and "CLEW_HOME" in empty.err and "Traceback" not in empty.err
    relative = clew("ask", QUESTION, cwd=harbour, env={"CLEW_HOME": "relative"})
    assert relative.status == 2 and "absolute" in relative.err


@pytest.mark.requirement("P-01", "F-08")
@pytest.mark.parametrize("place", ["closed", "file", "missing"])
def test_a_home_that_cannot_be_written_still_gets_an_answer_and_a_note(harbour: Path, home: Path, place: str) -> None:
    write(home, {"file": "not a folder\n"})
    (home / "closed").mkdir(mode=0o555)
    if place == "closed" and os.access(home / "closed", os.W_OK):
        pytest.skip("permissions do not hold for this user")
    where = {"closed": home / "closed" / "clew", "file": home / "file" / "clew", "missing": Path("/dev/null/clew")}
    found = clew("ask", QUESTION, cwd=harbour, env={"CLEW_HOME": str(where[place])})
    assert found.status == 0 and "src/retry.py" in found.out, found.err
    assert found.err.count("could not be kept") == 2 and "Traceback" not in found.err
    assert sorted(path.name for path in home.iterdir()) == ["closed", "file"]
    assert clew("history", cwd=harbour, env={"CLEW_HOME": str(where[place])}).status == 1


MOUNTED = {
    "read-only": "mount -t tmpfs -o ro none {home}",
    "full": "mount -t tmpfs -o size=96k none {home}; head -c 60000 /dev/zero >{home}/ballast",
    "quite full": "mount -t tmpfs -o size=64k none {home}; head -c 99999 /dev/zero >{home}/ballast",
}


@pytest.mark.requirement("P-01", "F-08")
@pytest.mark.parametrize("kind", MOUNTED)
def test_a_disk_that_is_read_only_or_full_still_gets_an_answer_and_a_note(harbour: Path, home: Path, kind: str) -> None:
    write(harbour, {f"src/part{number}.py": HARBOUR["src/berths.py"] * 30 for number in range(20)})
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace to mount a small disk in")
    disk = home / "disk"
    disk.mkdir()
    command = MOUNTED[kind].format(home=disk) + f'; exec "{sys.executable}" -m clew ask "{QUESTION}"'
    done = subprocess.run([unshare, "-rm", "sh", "-c", command], cwd=harbour, env=environ({"CLEW_HOME": f"{disk}/c"}),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0 and "src/retry.py" in done.stdout, done.stderr
    assert "could not be kept" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.requirement("P-01", "F-08")
def test_a_limit_on_files_still_gets_an_answer_and_a_note(harbour: Path, home: Path) -> None:
    write(harbour, {f"src/part{number}.py": HARBOUR["src/berths.py"] * 30 for number in range(20)})

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    found = clew("ask", QUESTION, cwd=harbour, preexec_fn=small)
    assert found.status == 0 and "src/retry.py" in found.out, found.err
    assert "could not be kept" in found.err and "Traceback" not in found.err
    assert clew("ask", QUESTION, cwd=harbour).status == 0


@pytest.mark.requirement("F-01")
def test_output_that_cannot_be_written_ends_with_a_status_and_no_traceback(harbour: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*ARGV, "ask", QUESTION], cwd=harbour, stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, check=False)  # fmt: skip
    assert done.returncode == 1 and b"No space left" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("arguments", [("ask", QUESTION), ("context", QUESTION), ("config",), ("open", "README.md")])
def test_a_pipe_that_is_closed_early_ends_quietly(harbour: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*ARGV, *arguments], cwd=harbour, stdin=subprocess.DEVNULL, stdout=writer,
                          stderr=subprocess.PIPE, check=False)  # fmt: skip
    os.close(writer)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr and b"Error" not in done.stderr and b"error" not in done.stderr


@pytest.mark.requirement("P-01", "F-01")
@pytest.mark.parametrize("closed", [0, 2])
def test_a_stream_that_is_not_needed_may_be_closed(harbour: Path, closed: int) -> None:
    done = subprocess.run(
        [*ARGV, "ask", QUESTION], cwd=harbour, capture_output=True, preexec_fn=lambda: os.close(closed), check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


# A process starts with the peak of the one that forked it, so a small one stands between this and the command.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def peak_of(out: str) -> int:
    """Bytes at the peak, from what stands last in such an output."""
    word, number = out.splitlines()[-1].split()
    assert word == "peak"
    return int(number) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.requirement("P-04")
@pytest.mark.slow
def test_a_gigabyte_on_standard_input_is_refused_in_bounded_memory(harbour: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", MEASURED, *ARGV, "ask", "what is this?"], cwd=harbour, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    piece, written = b"0123456789abcde\n" * 65536, 0
    with child.stdout, child.stderr:
        try:
            while written < 1 << 30:
                written += os.write(child.stdin.fileno(), piece)
        except BrokenPipeError:
            pass
        finally:
            child.stdin.close()
        out, err = child.stdout.read(), child.stderr.read()
        child.wait(timeout=60)
    assert child.returncode == 2
    assert out.count(b"\n") == 1
    assert b"Standard input has more than" in err and b"tail -n" in err
    peak = peak_of(out.decode())
    assert peak < 300 << 20, f"{peak >> 20} MB"


@pytest.mark.requirement("P-03", "P-04")
def test_a_huge_file_is_left_out_and_refused_when_it_is_named(harbour: Path) -> None:
    with open(harbour / "src" / "huge.py", "wb") as file:
        file.truncate(3 << 30)
    found = clew("ask", QUESTION, cwd=harbour, timeout=60)
    assert found.status == 0 and "src/retry.py" in found.out
    named = clew("ask", QUESTION, "src/huge.py", cwd=harbour, timeout=60)
    assert named.status == 2 and "3.0 GB" in named.err


@pytest.mark.slow
@pytest.mark.requirement("P-01", "P-03")
def test_a_huge_tree_is_read_in_part_which_is_said(harbour: Path) -> None:
    for folder in range(320):
        write(harbour, {f"zz/{folder}/{number}.txt": f"quay {number}\n" for number in range(200)})
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *ARGV, "ask", QUESTION], cwd=harbour, env=environ({}),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "only the first 60000 files were read" in done.stderr
    peak = peak_of(done.stdout)
    assert peak < 600 << 20, f"{peak >> 20} MB"


# ---------------------------------------------------------------------- at once, and killed


@pytest.mark.requirement("P-01")
def test_eight_questions_at_once_are_all_answered_and_kept(harbour: Path) -> None:
    write(harbour, {f"src/part{number}.py": HARBOUR["src/berths.py"] for number in range(150)})

    def one(number: int) -> tuple[int, str, str]:
        found = clew("ask", f"{QUESTION} {number}", cwd=harbour, env={"CLEW_THREAD": f"t{number}"})
        return found.status, found.out, found.err

    with ThreadPoolExecutor(8) as pool:
        for status, out, err in pool.map(one, range(8)):
            assert status == 0 and "src/retry.py" in out, err
    kept = clew("history", "--all", "--json", cwd=harbour).json["exchanges"]
    assert len(kept) == 8 and len({row["thread"] for row in kept}) == 8


@pytest.mark.requirement("P-01")
@pytest.mark.slow
def test_after_a_kill_while_indexing_the_next_question_is_answered(harbour: Path, home: Path) -> None:
    files = {f"src/part{number}.py": HARBOUR["src/berths.py"] * 20 for number in range(1500)}
    write(harbour, files)
    expected = clew("ask", QUESTION, cwd=harbour, env={"CLEW_HOME": str(home / "other")}).out
    folder = home / "clew" / "index" / "code"
    for patience in (0.0, 0.1, 0.3, 0.6):
        child = subprocess.Popen([*ARGV, "ask", QUESTION], cwd=harbour, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        deadline = time.monotonic() + 30
        while not list(folder.glob("*.db")) and time.monotonic() < deadline and child.poll() is None:
            threading.Event().wait(0.01)
        threading.Event().wait(patience)
        child.kill()
        child.wait()
        found = clew("ask", QUESTION, cwd=harbour)
        assert found.status == 0 and found.out == expected, found.err
        shutil.rmtree(folder)


@pytest.mark.requirement("P-06")
def test_a_mode_does_not_bring_back_the_context_that_was_switched_off(harbour: Path) -> None:
    for mode in ("lean", "rich"):
        found = clew("context", "--no-context", "--mode", mode, QUESTION, cwd=harbour)
        assert (found.status, found.out) == (2, "")
        assert "contradict" in found.err
    found = clew("context", "--no-context", "--mode", "minimal", QUESTION, cwd=harbour)
    assert found.status == 0 and "<facts" not in found.out.partition("Question:")[0].rpartition("Answering")[2]


@pytest.mark.requirement("P-01")
def test_a_question_that_is_no_utf_8_is_asked_all_the_same(harbour: Path) -> None:
    found = clew("ask", os.fsdecode(b"\xff\xfe " + QUESTION.encode()), cwd=harbour)
    assert found.status == 0, found.err
    assert f"\ufffd\ufffd {QUESTION}" in clew("history", cwd=harbour).out


@pytest.mark.requirement("P-01")
def test_a_damaged_index_and_a_damaged_history_are_made_anew(harbour: Path, home: Path) -> None:
    expected = clew("ask", QUESTION, cwd=harbour).out
    index = next((home / "clew" / "index" / "code").glob("*.db"))
    for damage in (b"no database at all", index.read_bytes()[:8192] + os.urandom(index.stat().st_size - 8192)):
        for side in ("-wal", "-shm"):
            index.with_name(index.name + side).unlink(missing_ok=True)
        index.write_bytes(damage)
        found = clew("ask", "--new", QUESTION, cwd=harbour)
        assert found.status == 0 and found.out == expected, found.err
    (home / "clew" / "history.db").write_bytes(b"no database at all")
    found = clew("ask", QUESTION, cwd=harbour)
    assert found.status == 0 and "damaged" in found.err


@pytest.mark.requirement("F-08")
def test_a_history_of_a_newer_version_is_left_alone_and_the_question_answered_without_it(
    harbour: Path, home: Path
) -> None:
    expected = clew("ask", QUESTION, cwd=harbour).out
    history = home / "clew" / "history.db"
    with contextlib.closing(sqlite3.connect(history)) as connection:
        connection.execute("pragma user_version = 99")
        connection.commit()
    before = {path.name: path.read_bytes() for path in history.parent.glob("history*")}
    for command in ("ask", "context"):
        found = clew(command, QUESTION, cwd=harbour)
        assert found.status == 0 and (command == "context" or found.out == expected)
        (note,) = [line for line in found.err.splitlines() if "format 99" in line]
        assert note.startswith("note: asked without earlier exchanges, and not kept: ")
        assert note.endswith("; upgrade clew, or set CLEW_HOME to another folder")
    chinese = clew("ask", QUESTION, cwd=harbour, env={"LC_ALL": "zh_CN.UTF-8"})
    assert "说明：此次提问不带入之前的问答，也不会保存：" in chinese.err and "请升级 clew" in chinese.err
    for arguments in (("history",), ("history", "clear", "--yes"), ("open", "exchange:1")):
        refused = clew(*arguments, cwd=harbour)
        assert (refused.status, refused.out) == (1, "")
        assert "has format 99" in refused.err and "hint: upgrade clew" in refused.err
    assert {path.name: path.read_bytes() for path in history.parent.glob("history*")} == before


@pytest.mark.requirement("F-08")
def test_an_exchange_that_is_damaged_on_the_disk_enters_no_prompt_and_is_named(harbour: Path, home: Path) -> None:
    exchange(harbour, "does the timeout change the retry?", "Yes: zinnober is the limit.", thread="left")
    assert "zinnober" in prompt(harbour, "and why is that so?", thread="left")
    with contextlib.closing(sqlite3.connect(home / "clew" / "history.db")) as connection:
        connection.execute("update exchange set answer = replace(answer, 'is the', 'is not the')")
        connection.commit()
    env = {"CLEW_THREAD": "left"}
    found = clew("context", "and why is that so?", cwd=harbour, env=env)
    assert "zinnober" not in found.out and "note: exchange:1 is not what was kept" in found.err
    for arguments in (("history",), ("history", "show", "1"), ("open", "exchange:1")):
        shown = clew(*arguments, cwd=harbour, env=env)
        assert shown.status == 0 and shown.err.count("exchange:1 is not what was kept") == 1, arguments
    assert clew("history", "remove", "1", cwd=harbour, env=env).status == 0


WEAK = (
    "which Kubernetes operator scales the Redis replicas of production, and how long does that take?",
    "where does the PDF exporter embed fonts, images, colour profiles and long captions?",
    "how does the CSS grid of the landing page collapse on a small screen when the service runs?",
)
"""About nothing that is in Clew's own adapters, in words of which some are."""


@pytest.mark.requirement("P-06", "P-15")
def test_who_asks_for_passages_gets_the_nearest_ones_although_nothing_matches(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "adapters"
    ours = Path(__file__).parents[2] / "src" / "clew" / "adapters"
    shutil.copytree(ours, root, ignore=shutil.ignore_patterns("__pycache__"))
    commit(root)
    told = [question for question in WEAK if "Nothing in this folder" in clew("ask", question, cwd=root).out]
    assert told, "each of these has a match by now: choose others"
    for question in told:
        asked = clew("ask", "--mode", "rich", question, cwd=root)
        assert asked.status == 0 and quoted(asked.out, root), asked.out
        assert "context: rich" in asked.err


@pytest.mark.requirement("P-01")
def test_json_gives_answer_references_and_report(harbour: Path) -> None:
    found = clew("ask", "--json", QUESTION, cwd=harbour)
    row = json.loads(found.out)
    assert found.err == "" and row["found"] is True and row["model"] is None
    assert row["refs"][0].startswith("src/retry.py:") and row["answer"]
    assert row["report"]["used"] <= row["report"]["prompt"]
