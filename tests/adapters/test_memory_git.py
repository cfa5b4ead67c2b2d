"""Commits of writes: batched, by many processes at once, after kills, without what a repository would run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.memory_machines import Machine, machine

from clew.adapters.memory_git import BATCH_SECONDS, KEPT, MemoryGit
from clew.adapters.memory_repository import is_safe

pytestmark = [pytest.mark.requirement("W-17"), pytest.mark.usefixtures("home")]


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    return machine(tmp_path, "one")


def subjects(one: Machine) -> list[str]:
    return one.run("log", "--format=%s").splitlines()


def test_a_write_is_a_commit_with_its_message(one: Machine) -> None:
    one.write("user/a.md", "a\n")
    done = one.git.commit(["user/a.md"], "Add a\nwith a second line")
    assert done.commit == one.run("rev-parse", "HEAD") and not done.reason
    assert one.run("show", "--format=%s|%an <%ae>", "--name-only", "HEAD").split("\n") == [
        "Add a\\nwith a second line|Clew <clew@localhost>", "", "user/a.md",
    ]  # fmt: skip
    assert one.run("status", "--short") == ""
    (one.root / "user" / "a.md").unlink()
    assert one.git.commit(["user/a.md"], "Delete a").commit
    assert one.run("ls-files") == ".gitignore"
    # Nothing to commit is no commit, and no failure.
    assert one.git.commit(["user/a.md", "user/never.md"], "Nothing") == type(done)()


def test_the_author_is_the_user_of_git(one: Machine) -> None:
    one.run("config", "user.name", "Ada")
    one.run("config", "user.email", "ada@example.org")
    one.write("user/a.md", "a\n")
    one.git.commit(["user/a.md"], "Add a")
    assert one.run("log", "-1", "--format=%an <%ae> %cn <%ce>") == "Ada <ada@example.org> Ada <ada@example.org>"


def test_without_a_repository_nothing_happens(tmp_path: Path) -> None:
    git = MemoryGit(tmp_path, os.environ)
    assert not git.there and git.commit(["a.md"], "Add a") == git.close()
    with git.writing(["a.md"], "Add a"):
        (tmp_path / "a.md").write_text("a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"] and not git.notices


@pytest.mark.requirement("Q-42")
def test_without_git_memory_goes_on_and_it_is_said_once(one: Machine) -> None:
    git = MemoryGit(one.root, {"PATH": "/nonexistent"})
    for number in range(2):
        one.write(f"user/{number}.md", "text\n")
        assert git.commit([f"user/{number}.md"], f"Add {number}").reason == "git is not installed"
    assert git.notices == ["git is not installed; what was written is kept, and committed later"]
    # When git is back, what waited is committed.
    assert one.git.close().commit and one.run("status", "--short") == ""
    assert subjects(one)[0] == "Add 0 (and 1 more)"


def test_writes_that_come_close_together_share_a_commit(one: Machine) -> None:
    time = [1000.0]
    git = MemoryGit(one.root, os.environ, clock=lambda: time[0])
    for number in range(3):
        with git.writing([f"user/{number}.md"], f"Add {number}"):
            one.write(f"user/{number}.md", "text\n")
    assert subjects(one) == ["Begin"] and "user" in one.run("status", "--short")
    time[0] += BATCH_SECONDS
    one.write("user/3.md", "text\n")
    assert git.commit(["user/3.md"], "Add 3", batch=True).commit
    assert subjects(one) == ["Add 0 (and 3 more)", "Begin"]
    assert one.run("log", "-1", "--format=%b").splitlines() == [f"- Add {number}" for number in range(4)]
    # At the end of a command nothing is left waiting; nor is a write from the future, after the clock was set back.
    one.write("user/4.md", "text\n")
    assert git.commit(["user/4.md"], "Add 4", batch=True).waiting
    assert git.close().commit and not git.close().commit
    time[0] += 9
    git.commit([], "Later", batch=True)
    time[0] -= 1000
    one.write("user/5.md", "text\n")
    assert git.commit(["user/5.md"], "Add 5", batch=True).commit


WRITER = """
import os, sys
from pathlib import Path
from clew.adapters.memory_git import MemoryGit
root, name = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    git = MemoryGit(root, os.environ)
    path = f"user/{name}-{number % 5}.md"
    with git.writing([path], f"{name} {number}", batch=number % 3 > 0):
        (root / f"{path}.tmp").write_text(f"{name} {number}\\n")
        os.replace(root / f"{path}.tmp", root / path)
    print(number, flush=True)
git.close()
"""


@pytest.mark.requirement("Q-41")
def test_eight_processes_write_and_everything_is_committed(one: Machine) -> None:
    one.write("user/shared.md", "")
    args = [sys.executable, "-c", WRITER, str(one.root)]
    running = [subprocess.Popen([*args, str(name), "12"], stdout=subprocess.DEVNULL) for name in range(8)]
    assert [process.wait(120) for process in running] == [0] * 8
    one.git.close()
    assert one.run("status", "--short") == "?? user/shared.md"
    assert one.run("ls-files").count("user/") == 40
    told = one.run("log", "--format=%B")
    assert all(f"{name} {number}" in told for name in range(8) for number in range(12))
    assert "tmp" not in one.run("log", "--name-only", "--format=")
    one.run("fsck", "--strict")


@pytest.mark.requirement("Q-40")
def test_what_a_killed_process_wrote_is_committed_by_the_next(one: Machine) -> None:
    one.write("user/next.md", "")
    for round_ in range(6):
        name = f"killed{round_}"
        command = [sys.executable, "-c", WRITER, str(one.root), name, "1000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout
        for _ in range(round_ + 1):
            assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        one.write("user/next.md", f"{round_}\n")
        assert not one.git.commit(["user/next.md"], "Next").reason
        assert one.run("status", "--short", "--", "user/next.md") == ""
        # The last write may have died before its file had its name.
        assert all(line.endswith(".tmp") for line in one.run("status", "--short").splitlines())
        assert f"{name} {round_}\n" in one.history()
    one.run("fsck", "--strict")


def test_a_list_that_was_cut_short_or_is_damaged_costs_only_its_line(one: Machine) -> None:
    one.write("user/a.md", "a\n")
    one.write("user/b.md", "b\n")
    git = one.git
    git.commit(["user/a.md"], "Add a", batch=True)
    pending = one.root / ".git" / "clew" / "pending"
    pending.write_bytes(pending.read_bytes() + b'[1]\n{"at": 1, "paths": ["user/')
    assert git.commit(["user/b.md"], "Add b").commit
    assert one.run("status", "--short") == "" and pending.read_bytes().strip() == b""


def test_nothing_that_a_repository_names_is_run(one: Machine) -> None:
    run = f"touch {one.root.parent}/ran"
    one.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "gpg.program", "core.editor"):
        one.run("config", key, f"{run}; cat")
    one.run("config", "commit.gpgSign", "true")
    one.run("config", "core.autocrlf", "true")
    one.run("config", "core.worktree", str(one.root.parent))
    hooks = one.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "commit-msg"):
        (hooks / name).write_text(f"#!/bin/sh\n{run}\n")
        (hooks / name).chmod(0o755)
    text = b"a\r\nb\n$Id$\n"
    one.write("user/a.md", text)
    assert one.git.commit(["user/a.md", ".gitattributes"], "Add a").commit
    assert not (one.root.parent / "ran").exists()
    shown = subprocess.run(
        ["git", "-C", str(one.root), "cat-file", "blob", "HEAD:user/a.md"], capture_output=True, check=True
    )
    assert shown.stdout == text


def test_links_and_paths_that_lead_out_are_never_committed(one: Machine, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    (one.root / "user").mkdir()
    (one.root / "user" / "link.md").symlink_to(tmp_path / "secret")
    (one.root / "folder").symlink_to(tmp_path)
    paths = ["user/link.md", "folder/secret", "../../secret", "/etc/passwd", ".git/config", "user/../.git/config", ""]
    assert one.git.commit(paths, "Out") == one.git.commit([], "")
    assert subjects(one) == ["Begin"]
    assert [is_safe(path) for path in ("a/.GIT/x", "a/.git. /x", "a//b", "a/./b", "a\0b", "a.git/b")] == [False] * 5 + [
        True
    ]


def test_while_a_person_merges_writes_wait(one: Machine) -> None:
    merge = one.root / ".git" / "MERGE_HEAD"
    merge.write_text(one.run("rev-parse", "HEAD") + "\n")
    one.write("user/a.md", "a\n")
    git = one.git
    assert git.commit(["user/a.md"], "Add a").reason == "a merge is under way in the memory root"
    merge.unlink()
    assert git.close().commit and subjects(one)[0] == "Add a"


def test_locks_of_a_git_that_was_killed(one: Machine) -> None:
    # One in Clew's own index is nobody's, as only who holds the lock uses that; one of people's index hinders nothing.
    (one.root / ".git" / "clew" / "index.lock").write_text("")
    (one.root / ".git" / "index.lock").write_text("")
    one.write("user/a.md", "a\n")
    assert one.git.commit(["user/a.md"], "Add a").commit
    # One of a branch may be somebody's: it is named, and what was written waits.
    lock = one.root / ".git" / "refs" / "heads" / "main.lock"
    lock.write_text("")
    one.write("user/b.md", "b\n")
    git = one.git
    reason = git.commit(["user/b.md"], "Add b").reason
    assert str(lock) in reason and git.notices == [f"{reason}; {KEPT}"]
    lock.unlink()
    assert git.close().commit and "b\n" in one.history()


def test_a_commit_of_a_person_in_between_is_kept(one: Machine) -> None:
    one.write("user/a.md", "a\n")
    one.git.commit(["user/a.md"], "Add a")
    one.write("user/b.md", "by hand\n")
    one.run("add", "user/b.md")
    one.run("commit", "-q", "-m", "By hand")
    one.write("user/a.md", "aa\n")
    one.git.commit(["user/a.md"], "Change a")
    assert subjects(one) == ["Change a", "By hand", "Add a", "Begin"] and one.run("status", "--short") == ""


@pytest.mark.requirement("Q-42")
def test_a_repository_that_cannot_be_written_costs_a_commit_and_no_write(one: Machine) -> None:
    private = one.root / ".git" / "clew"
    shutil.rmtree(private)
    private.write_text("")
    one.write("user/a.md", "a\n")
    assert "cannot be written" in one.git.commit(["user/a.md"], "Add a", batch=True).reason
    private.unlink()
    assert one.git.commit(["user/a.md"], "Add a").commit
