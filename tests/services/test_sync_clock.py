"""Clocks that were set back, or run ahead: no version is lost by them, and none wins by its date alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.memory_machines import Machine, are_alike, pair

from clew.adapters.memory_git import MemoryGit

pytestmark = [pytest.mark.requirement("W-17"), pytest.mark.usefixtures("home")]

NOTE = "workspaces/w/notes/deploy.md"
LOG = "workspaces/w/logs/2026-03-01.md"


def head(created: str, updated: str) -> str:
    return f"---\nid: mem_0123456789ab\nname: Deploy\ncreated: {created}\nupdated: {updated}\n---\n"


def commit(one: Machine, message: str, seconds: int) -> None:
    """Commit everything by hand, at a time since the epoch."""
    one.run("add", "-A")
    dated = f"@{seconds} +0000"
    one.run(
        "-c", f"alias.at=!GIT_AUTHOR_DATE='{dated}' GIT_COMMITTER_DATE='{dated}' git commit -q -m '{message}'", "at"
    )  # fmt: skip
    assert one.run("log", "-1", "--format=%ct") == str(seconds)


@pytest.mark.parametrize("order", [(1, 2_000_000_000), (2_000_000_000, 1), (4_000_000_000, 4_000_000_001)])
def test_commits_of_any_date_are_exchanged_and_counted_by_their_history(tmp_path: Path, order: tuple[int, int]) -> None:
    one, two = pair(tmp_path, {NOTE: head("2026-01-01", "2026-01-02") + "The port is 1.\n", LOG: "# Day\n"})
    for side, name, seconds in ((one, "one", order[0]), (two, "two", order[1])):
        side.write(NOTE, head("2026-01-01", "2026-01-02") + f"The port is {name}.\n")
        side.write(LOG, f"# Day\n\n10:00 on {name}\n")
        commit(side, "First", seconds)
        # What comes after it is older than it, or much newer.
        side.write(f"user/{name}.md", f"{name}\n")
        commit(side, "Second", order[1 - order.index(seconds)])
    assert one.sync().pushed == 2
    done = two.sync()
    assert (done.fetched, done.pushed) == (2, 3)
    assert one.sync().fetched == 3 and are_alike(one, two)
    # A conflict is one, whoever has the later date; both texts are there, and the local one stays.
    ((_, copy),) = two.open_conflicts()
    assert two.text(NOTE).endswith("two.\n") and two.text(copy).endswith("one.\n")
    assert two.text(LOG).count("on one") == two.text(LOG).count("on two") == 1
    assert not one.unsaid() and two.run("status", "--short") == ""


def test_an_updated_before_created_decides_nothing_about_the_text(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: head("2026-03-01", "2026-03-02") + "a\nb\nc\nd\ne\n"})
    # One has a clock that was set back and changed the text; the other only looked at it later.
    one.write(NOTE, head("2026-03-01", "1999-01-01") + "a\nb\nc\nd\nnew\n")
    two.write(NOTE, head("2026-03-01", "2030-01-01") + "first\nb\nc\nd\ne\n")
    one.sync()
    assert not two.sync().conflicts
    assert two.text(NOTE).endswith("---\nfirst\nb\nc\nd\nnew\n")
    assert "updated: 2030-01-01\n" in two.text(NOTE) and "created: 2026-03-01\n" in two.text(NOTE)
    one.sync()
    assert one.files() == two.files()
    # Both change the same line: no date says which one is right.
    one.write(NOTE, two.text(NOTE).replace("first", "one").replace("2030-01-01", "1970-01-01"))
    two.write(NOTE, two.text(NOTE).replace("first", "two").replace("2030-01-01", "2031-01-01"))
    one.sync()
    assert len(two.sync().conflicts) == 1
    assert {"one", "two"} <= {line for text in two.files().values() for line in text.splitlines()}


def test_writes_that_wait_are_committed_after_the_clock_was_set_back(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, {NOTE: "a\n"})
    time = [2_000_000_000.0]
    git = MemoryGit(one.root, os.environ, clock=lambda: time[0])
    one.write("user/a.md", "a\n")
    assert git.commit(["user/a.md"], "Before", batch=True).waiting
    time[0] = 1_000_000_000.0
    one.write("user/b.md", "b\n")
    assert git.commit(["user/b.md"], "After", batch=True).commit
    assert one.run("log", "-1", "--format=%s") == "Before (and 1 more)" and one.run("status", "--short") == ""
