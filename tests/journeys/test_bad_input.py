"""`clew ask` where the folder, the input or what surrounds them is bad. More of it stands in `test_ask`, beside the
good cases: no git, an empty folder, odd and huge files, pipes and loops, a gigabyte on standard input, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import ARGV, HARBOUR, Done, clew, environ, write
from tests.scripted_server import Turn, serving

QUESTION = "where does the retry wait before the next attempt?"
HOMELESS = ("HOME", "CLEW_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


def powerless() -> list[str]:
    """Words before a command that take from root what lets it read everything; none where we are not root."""
    if os.geteuid() != 0:
        return []
    return namespace("-U")


def run(before: list[str], *arguments: str, cwd: Path, env: dict[str, str | None] | None = None) -> Done:
    """The command with other words before it."""
    done = subprocess.run([*before, *ARGV, *arguments], cwd=cwd, env=environ(env or {}), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def sealed(harbour: Path) -> Iterator[Path]:
    """The small repository with a file and a folder that may not be read."""
    write(
        harbour, {"src/locked.py": "# the retry waits before the next attempt\n", "sealed/notes.md": "# retry wait\n"}
    )
    (harbour / "src" / "locked.py").chmod(0)
    (harbour / "sealed").chmod(0)
    yield harbour
    (harbour / "sealed").chmod(0o755)


@pytest.mark.requirement("P-01", "P-03")
def test_what_may_not_be_read_is_passed_over_and_refused_where_it_is_named(sealed: Path) -> None:
    before = powerless()
    found = run(before, "ask", QUESTION, cwd=sealed)
    assert found.status == 0 and "src/retry.py:" in found.out and "locked" not in found.out, found.err
    named = run(before, "ask", QUESTION, "src/locked.py", cwd=sealed)
    assert (named.status, named.out) == (2, "")
    assert "`src/locked.py` may not be read: permission denied" in named.err and "\nhint: " in named.err
    folder = run(before, "ask", QUESTION, "sealed", cwd=sealed)
    assert folder.status in (0, 2) and "Traceback" not in folder.err and "unexpected" not in folder.err


@pytest.mark.requirement("P-01")
def test_a_folder_that_may_not_be_listed_has_nothing_that_matches(sealed: Path) -> None:
    before = powerless()
    shutil.rmtree(sealed / ".git")
    sealed.chmod(0o311)
    try:
        found = run(before, "ask", QUESTION, cwd=sealed)
    finally:
        sealed.chmod(0o755)
    assert found.status == 0 and "Nothing in this folder matches" in found.out, found.err


def namespace(*options: str) -> list[str]:
    """Words before a command that run it in a namespace of its own."""
    unshare = shutil.which("unshare")
    words = [unshare or "", *options]
    if unshare is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"no namespace here: unshare {' '.join(options)}")
    return words


@pytest.mark.requirement("P-01", "F-08")
def test_without_home_the_password_database_decides(harbour: Path, home: Path) -> None:
    before = namespace("-rm")
    own, users = home / "by-password", home / "passwd"
    own.mkdir()
    users.write_text(f"root:x:0:0::{own}:/bin/sh\n", encoding="utf-8")
    before += ["sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', str(users)]
    found = run(before, "ask", QUESTION, cwd=harbour, env=dict.fromkeys(HOMELESS))
    assert found.status == 0 and "src/retry.py:" in found.out, found.err
    assert list(own.rglob("history.db"))


@pytest.mark.requirement("P-01", "F-08")
def test_without_home_and_without_an_entry_it_says_what_to_set(harbour: Path) -> None:
    found = run(namespace("-U", "--map-user=54321"), "ask", QUESTION, cwd=harbour, env=dict.fromkeys(HOMELESS))
    assert (found.status, found.out) == (2, "")
    assert "No home folder is known for this user" in found.err and "hint: set CLEW_HOME" in found.err


@pytest.mark.requirement("P-04")
@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        (b"\x7fELF\0\0\0\1" * 500, 2, "is binary"),
        (b"\0" * 5000, 2, "is binary"),
        ("重试超时\n".encode("gb18030") * 50, 0, "stdin"),
        (b"the retry waits for the next attempt\n" * 50 + b"ok \xff\xfe\xfa and on\n", 0, "stdin"),
        (b"", 0, "context: "),
    ],
    ids=["binary", "nul", "gb18030", "invalid utf-8", "empty"],
)
def test_odd_standard_input_is_taken_or_refused_with_a_reason(
    harbour: Path, content: bytes, status: int, says: str
) -> None:
    found = clew("ask", "-v", "what is this?", cwd=harbour, stdin=content)
    assert found.status == status, found.err
    assert says in found.err and "Traceback" not in found.err


@pytest.mark.requirement("P-04")
@pytest.mark.timeout(90)
def test_standard_input_without_end_is_not_read_to_its_end(harbour: Path) -> None:
    with subprocess.Popen(["yes", "the retry waits"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run([*ARGV, "ask", "what is this?"], cwd=harbour, stdin=endless.stdout, capture_output=True,
                              timeout=60, check=False)  # fmt: skip
        endless.kill()
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Standard input has more than" in done.stderr and b"hint: " in done.stderr


@pytest.mark.requirement("F-01", "P-14")
def test_a_pipe_that_is_closed_while_the_answer_streams_ends_quietly(harbour: Path) -> None:
    with serving() as server:
        # More than a pipe holds: the command writes on when its reader has gone.
        server.turns = [Turn(pieces=("First ", *("and so on " * 2000 for _ in range(40))))]
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        child = subprocess.Popen([*ARGV, "ask", "-q", QUESTION], cwd=harbour, env=environ(env), bufsize=0,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.read(5) == b"First"
        child.stdout.close()
        said = child.stderr.read()
        child.stderr.close()
        child.wait(timeout=60)
    assert (child.returncode, said) == (141, b"")


@pytest.mark.requirement("P-10")
def test_a_broken_file_of_the_user_stops_the_question_with_file_and_line(harbour: Path, home: Path) -> None:
    write(home / "clew", {"config.yaml": "style: code\nmax_tokens: many\n"})
    found = clew("ask", QUESTION, cwd=harbour)
    assert (found.status, found.out) == (2, "")
    assert f"{home}/clew/config.yaml:2" in found.err and "Traceback" not in found.err


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize("name", ["nobody:x", "openai", ":", "openai:", "x" * 3000, "scripted:", "embedded:/dev/null"])
def test_a_model_that_is_none_is_refused_before_anything_is_read(harbour: Path, home: Path, name: str) -> None:
    found = clew("ask", "--model", name, QUESTION, cwd=harbour, env={"OPENAI_API_KEY": "sk-test"})
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith("error: ") and "Traceback" not in found.err and "unexpected" not in found.err
    assert not (home / "clew" / "index").exists()


@pytest.mark.requirement("F-01")
def test_without_a_terminal_anywhere_a_question_is_answered_like_in_one(harbour: Path) -> None:
    done = subprocess.run([*ARGV, "ask", QUESTION], cwd=harbour, env=environ({"TERM": None, "NO_COLOR": None}),
                          stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0 and "src/retry.py:" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stderr


@pytest.mark.requirement("P-01", "P-03")
@pytest.mark.timeout(90)
def test_a_named_pipe_that_nobody_writes_to_holds_no_folder_up(harbour: Path) -> None:
    os.mkfifo(harbour / "src" / "pipe")
    (harbour / "src" / "self").symlink_to("../src", target_is_directory=True)
    (harbour / "src" / "ring").symlink_to("ring")
    found = clew("ask", QUESTION, "src", cwd=harbour, timeout=60)
    assert found.status == 0 and "Traceback" not in found.err
    assert HARBOUR["src/retry.py"].splitlines()[3] in clew("context", QUESTION, "src", cwd=harbour, timeout=60).out
