"""The tool `shell` on real commands."""

from __future__ import annotations

import os
import re
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.shell_session import SECRET, Session, alive, fresh_seconds, session, until

from clew.core.agent.effects import Effect
from clew.services.tools.command import MOST_BYTES, MOST_LINES, command_environ
from clew.services.tools.shell import MOST_FILED
from clew.services.tools.tool import Reply

pytestmark = pytest.mark.requirement("R-11")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Session]:
    """A session whose files lie in `.scratch`."""
    with session(tmp_path / "work") as made:
        yield made


@pytest.fixture
def mark() -> str:
    """How long the sleepers of this test sleep."""
    return fresh_seconds()


ENDS = {
    "true": "[exit 0; no output]",
    "echo out; echo err >&2; exit 3": "[exit 3]\nout\nerr",
    "kill -TERM $$": "[ended by SIGTERM; no output]",
    "no-such-program-here 2>/dev/null": "[exit 127; no output]",
    "cat; echo $?": "[exit 0]\n0",
    "exec >&- 2>&-; sleep 0.1; exit 5": "[exit 5; no output]",
    "test -t 0 || test -t 1 || echo none": "[exit 0]\nnone",
    "echo $TERM $PAGER $GIT_PAGER $NO_COLOR": "[exit 0]\ndumb cat cat 1",
    "printf '10%%\\r20%%\\n\\033[31mred\\033[0m\\n'": "[exit 0]\n20%\nred",
    "printf 'a\\0b\\377\\033]52;c;eA==\\007c\\n'": "[exit 0]\nab\ufffdc",
    "printf '你好 \\342\\200\\256x\\n'": "[exit 0]\n你好 \ufffdx",
}


@pytest.mark.parametrize("command", ENDS)
def test_a_command_answers_with_its_output_and_status(command: str, here: Session) -> None:
    reply = here.call("shell", command=command)
    assert (reply.text, reply.failed) == (ENDS[command], False)


def test_a_command_runs_in_the_folder_that_is_named(here: Session) -> None:
    (here.root / "a b").mkdir()
    assert here.call("shell", command='basename "$PWD"', cwd="a b").text.endswith("a b")
    reply = here.call("shell", command="pwd", cwd="none")
    assert reply.failed and "there is no folder" in reply.text


LEFT = {
    "a child that keeps the pipe": "sleep {0} & echo started",
    "one that is deaf to the end of its shell": "nohup sleep {0} >/dev/null 2>&1 & echo started",
    "one that writes for ever": "yes & sleep {0} & echo started",
}


@pytest.mark.parametrize("what", LEFT)
def test_what_stays_in_the_background_does_not_hold_the_call_and_is_ended(what: str, here: Session, mark: str) -> None:
    since = time.monotonic()
    reply = here.call("shell", command=LEFT[what].format(mark))
    assert time.monotonic() - since < 10
    assert "started" in reply.text or "yes" in LEFT[what]
    assert "left in the background (terminal_spawn" in reply.text
    assert "exit 0" in reply.text
    assert alive(f"sleep {mark}") == []


STUBBORN = {
    "a child": "echo begun; sleep {0}; true",
    "one that ignores signals": "trap '' TERM HUP INT; echo begun; while :; do sleep {0}; done",
    "a session of its own": "echo begun; setsid sleep {0} & sleep {0}",
}


@pytest.mark.parametrize("what", STUBBORN)
def test_the_timeout_ends_the_whole_group_and_tells_how_far_it_came(what: str, here: Session, mark: str) -> None:
    since = time.monotonic()
    reply = here.call("shell", command=STUBBORN[what].format(mark), timeout=1)
    assert time.monotonic() - since < 10
    assert reply.failed
    head, _, body = reply.text.partition("\n")
    assert re.fullmatch(r"\[stopped after the timeout of 1 s; \d lines? had come\]", head)
    assert body.startswith("begun")
    assert alive(f"sleep {mark}") == []


def test_an_interruption_ends_the_group_at_once(here: Session, mark: str) -> None:
    stop = threading.Event()
    found: list[Reply] = []
    thread = threading.Thread(
        target=lambda: found.append(here.call("shell", stop, command=f"echo begun; sleep {mark}; true"))
    )
    thread.start()
    assert until(lambda: alive(f"sleep {mark}"))
    since = time.monotonic()
    stop.set()
    thread.join(20)
    assert time.monotonic() - since < 3
    assert found[0].failed and "interrupted by the user" in found[0].text and "begun" in found[0].text
    assert alive(f"sleep {mark}") == []


LONG = {
    "many lines": ("seq 1 100000", "1\n2\n3\n", "\n99999\n100000", 588_895),
    "one line": ("head -c 300000 /dev/zero | tr '\\0' x", "xxx", "xxx", 300_000),
    "lines behind one long line": ("head -c 300000 /dev/zero | tr '\\0' x; echo; echo done", "xxx", "x\ndone", 300_006),
}


@pytest.mark.parametrize("what", LONG)
def test_a_long_output_is_cut_in_the_middle_and_the_whole_is_in_a_file(what: str, here: Session) -> None:
    command, begins, ends, size = LONG[what]
    text = here.call("shell", command=command).text
    head, _, body = text.partition("\n")
    assert head == "[exit 0]" and body.startswith(begins) and body.endswith(ends)
    assert len(text.encode()) <= MOST_BYTES + 500 and text.count("\n") <= MOST_LINES + 5
    note = next(line for line in text.splitlines() if line.startswith("[… "))
    path = Path(note.rpartition("all of it: ")[2].rstrip("]"))
    assert path.stat().st_size == size
    assert path.stat().st_mode & 0o077 == 0
    if what == "many lines":
        shown = text.count("\n") - 2 + 1
        assert f"[… {100_000 - shown:,} lines left out of 100,000 lines, 588.9 KB" in note


def test_an_output_that_is_only_a_little_too_long_shows_no_line_twice(here: Session) -> None:
    text = here.call("shell", command="seq 1 2100").text
    numbers = [int(line) for line in text.splitlines() if line.isdigit()]
    assert len(numbers) == len(set(numbers)) == MOST_LINES
    assert "[… 100 lines left out of 2,100 lines, " in text


def test_a_short_output_leaves_no_file(here: Session) -> None:
    here.call("shell", command="seq 1 1000")
    assert not (here.root / ".scratch").exists()


def test_a_session_that_goes_on_keeps_long_outputs_beside_those_it_has(here: Session) -> None:
    command = "for i in $(seq 30000); do echo line $i; done"
    first = here.call("shell", command=command).text
    with session(here.root) as again:
        second = again.call("shell", command=command).text
    files = [Path(match[1]) for text in (first, second) for match in re.finditer(r"all of it: (\S+?\.txt)", text)]
    assert [file.read_text().count("\n") for file in dict.fromkeys(files)] == [30_000, 30_000]


def test_a_gigabyte_is_bounded_in_memory_and_on_disk(here: Session) -> None:
    before = int(Path("/proc/self/statm").read_text().split()[1]) if os.path.exists("/proc") else 0
    reply = here.call("shell", command="head -c 1G /dev/zero; echo; echo done", timeout=100)
    after = int(Path("/proc/self/statm").read_text().split()[1]) if os.path.exists("/proc") else 0
    assert (after - before) * os.sysconf("SC_PAGE_SIZE") < 50e6
    assert reply.text.endswith("done") and len(reply.text.encode()) < MOST_BYTES + 500
    assert "1.1 GB; the first 10.0 MB: " in reply.text
    assert sum(path.stat().st_size for path in (here.root / ".scratch").iterdir()) == MOST_FILED


def test_a_disk_that_is_full_takes_nothing_from_the_answer(here: Session) -> None:
    (here.root / ".scratch").write_text("no folder")
    reply = here.call("shell", command="seq 1 100000")
    assert reply.text.endswith("100000") and "588.9 KB; it could not be kept: " in reply.text


@pytest.mark.parametrize("before", range(15_900, 16_100, 11))
def test_no_part_of_a_secret_stays_at_a_cut(before: int, here: Session) -> None:
    line = f"head -c {before} /dev/zero | tr '\\0' x; printf {SECRET}; head -c 90000 /dev/zero | tr '\\0' y"
    after = f"printf {SECRET}; head -c {50_000 - before} /dev/zero | tr '\\0' z"
    text = here.call("shell", command=f"{line}; {after}").text
    assert SECRET[:7] not in text and SECRET[-7:] not in text


def test_keys_of_providers_stay_behind_unless_the_user_hands_them_on() -> None:
    environ = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "a",
        "OPENAI_API_KEY": "b",
        "CLEW_HOME": "/c",
        "CLEW_SERVER_TOKEN": "d",
        "HF_TOKEN": "e",
        "ACME_API_KEY": "f",
        "DATABASE_URL": "g",
        "OPENAI_BASE_URL": "h",
    }
    kept = {"PATH", "DATABASE_URL", "OPENAI_BASE_URL"}
    assert command_environ(environ).keys() == kept | {"ACME_API_KEY"}
    assert command_environ(environ, secrets=["ACME_API_KEY"]).keys() == kept
    assert command_environ(environ, hand_on=["OPENAI_API_KEY"])["OPENAI_API_KEY"] == "b"


def test_a_program_sees_no_key(here: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    with session(tmp_path / "other") as other:
        assert "sk-from" not in other.call("shell", command="env").text
        terminal = other.spawn("env")
        assert until(lambda: terminal.exit)
        assert "sk-from" not in other.call("terminal_read", terminal="t1").text


@pytest.mark.requirement("R-17")
def test_the_effect_is_the_command_exactly(here: Session) -> None:
    effect = here.effect("shell", command="rm -rf x\necho '\x1b[2K\u202e' ok", cwd="sub")
    assert isinstance(effect, Effect)
    assert effect.kind == "command" and not effect.outside
    assert effect.preview == "rm -rf x\necho '\\x1b[2K\\u202e' ok"
    assert effect.subject == "rm -rf x\necho '\x1b[2K\u202e' ok"
    assert effect.paths == (str(here.root.resolve() / "sub"),)
    (here.root / "out").symlink_to("/")
    for folder in ("..", "/tmp", "out", "sub/../../x"):
        found = here.effect("shell", command="ls", cwd=folder)
        assert isinstance(found, Effect) and found.outside, folder


@pytest.mark.parametrize(
    "given", [{"command": " "}, {"command": "a\0b"}, {"command": "\ud800"}, {"command": "a", "cwd": "\0"}]
)
def test_what_cannot_be_run_is_told(given: dict[str, Any], here: Session) -> None:
    assert here.call("shell", **given).failed


def test_bounds_of_the_timeout_are_checked(here: Session) -> None:
    for seconds in (0, 601):
        with pytest.raises(msgspec.ValidationError):
            here.call("shell", command="true", timeout=seconds)


@pytest.mark.parametrize("room", [0, 20_000])
def test_a_full_disk_takes_nothing_from_the_answer(here: Session, room: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # As on a full disk, a write takes less than all, and the next one fails.
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        reply = here.call("shell", command="for i in $(seq 30000); do echo line $i; done; exit 3")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not reply.failed and reply.text.startswith("[exit 3]\nline 1\n"), reply.text[:200]
    assert reply.text.endswith("line 30000")
    note = next(row for row in reply.text.split("\n") if row.startswith("[…"))
    assert ("it" if not room else "the rest") + " could not be kept: " in note
    assert ("shell-1.txt" in note) == bool(room)
