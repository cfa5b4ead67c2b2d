"""A sync that is killed between two steps is ended by whatever comes next, a sync or a write, and loses nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.memory_machines import STOPPING, Machine, are_alike, pair

from clew.adapters.memory_git import MemoryGit
from clew.errors import StoreBusy
from clew.services.sync_recovery import finish

pytestmark = [
    pytest.mark.requirement("W-17"),
    pytest.mark.requirement("Q-40"),
    pytest.mark.usefixtures("home"),
]

NOTE = "workspaces/w/notes/deploy.md"
OTHER = "user/other.md"
GONE = "user/gone.md"
LOG = "workspaces/w/logs/2026-03-01.md"
LINES = "".join(f"line {number}\n" for number in range(12))
START: dict[str, str | bytes] = {NOTE: LINES, OTHER: "other\n", GONE: "gone\n", LOG: "# Day\n\n09:00 begun\n"}

KILLED = f"""{STOPPING}
for place, names in (
    (sync_recovery, ("_note", "_mark", "change_file", "finish")),
    (sync_folder, ("put",)), (sync, ("forget",)),
    (MemoryRepository, ("commit", "move_head", "follow", "leave_out", "hide")),
):
    for name in names:
        stopping(place, name)
sync.carry_out = sync_recovery.carry_out
sync.synchronise(MemoryGit(Path(sys.argv[1]), os.environ))
print("done")
"""


def fast_forward(one: Machine, two: Machine) -> None:
    one.write(NOTE, LINES.replace("line 2\n", "line two\n"))
    one.write(LOG, "# Day\n\n09:00 begun\n\n10:00 on one\n")
    one.write("user/new.md", "new\n")
    (one.root / GONE).unlink()


def merge(one: Machine, two: Machine) -> None:
    fast_forward(one, two)
    two.write(NOTE, LINES.replace("line 9\n", "line nine\n"))
    two.write(LOG, "# Day\n\n09:00 begun\n\n11:00 on two\n")


def conflict(one: Machine, two: Machine) -> None:
    merge(one, two)
    one.write(OTHER, "other one\n")
    two.write(OTHER, "other two\n")


def copies(folder: Path, scenario: Callable[[Machine, Machine], None]) -> Iterator[tuple[int, Machine, Machine]]:
    """The two machines before the second one syncs, again and again, each time with a number."""
    start = folder / "start"
    start.mkdir()
    one, two = pair(start, START)
    scenario(one, two)
    one.sync()
    for step in range(1, 200, 2):
        place = folder / str(step)
        shutil.copytree(start, place, symlinks=True)
        sides = Machine(place / "one" / "memory"), Machine(place / "two" / "memory")
        for side in sides:
            side.run("remote", "set-url", "origin", str(place / "remote.git"))
        yield step, *sides
        shutil.rmtree(place)


def kill(two: Machine, step: int) -> bool:
    """Sync, and die before a step. Whether it came to its end before that."""
    line = [sys.executable, "-c", KILLED, str(two.root), str(step)]
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.stdout or done.returncode == -9, done.stderr.decode()
    return bool(done.stdout)


def check(scenario: Callable[[Machine, Machine], None], one: Machine, two: Machine, added: str) -> None:
    """Both have all that both wrote, and each of it once."""
    assert are_alike(one, two)
    text = two.text(NOTE)
    assert "line two\n" in text and ("line nine\n" in text or scenario is fast_forward)
    log = two.text(LOG)
    entries = ["09:00 begun", "10:00 on one", *(["11:00 on two"] if scenario is not fast_forward else [])]
    assert [log.count(entry) for entry in entries] == [1] * len(entries), log
    assert two.text("user/new.md") == "new\n" and not (two.root / GONE).exists()
    assert len(two.open_conflicts()) == (scenario is conflict)
    assert {"other one\n", "other two\n"} <= one.history() or scenario is not conflict
    assert not one.unsaid() and not two.unsaid()
    assert not (two.root / ".git" / "clew" / "merging").exists()
    assert sum(added in text for text in two.files().values()) == 1 or not added


@pytest.mark.parametrize("scenario", [fast_forward, merge, conflict])
def test_the_next_sync_ends_what_a_killed_one_began(
    tmp_path: Path, scenario: Callable[[Machine, Machine], None]
) -> None:
    for step, one, two in copies(tmp_path, scenario):
        ended = kill(two, step)
        own = set(two.run("log", "--format=%H %s").splitlines())
        two.sync()
        one.sync()
        check(scenario, one, two, "")
        # What the sync wrote was not taken for what a person did.
        new = set(two.run("log", "--format=%H %s").splitlines()) - own
        assert sum("Edited by hand" in row for row in new) <= (step < 3) + 1, (step, new)
        if ended:
            break
    assert step > 20


@pytest.mark.parametrize("scenario", [fast_forward, merge, conflict])
@pytest.mark.parametrize("place", [LOG, NOTE])
def test_what_a_person_writes_in_between_is_merged_in_wherever_it_died(
    tmp_path: Path, scenario: Callable[[Machine, Machine], None], place: str
) -> None:
    for step, one, two in copies(tmp_path, scenario):
        ended = kill(two, step)
        added = "12:00 after the fall" if place == LOG else "line twelve"
        two.write(place, two.text(place) + ("\n" if place == LOG else "") + added + "\n")
        if step % 2:
            # A write of Clew's own, with no sync before it.
            git = MemoryGit(two.root, os.environ, finish=finish)
            assert not git.commit([place], "Add to it").reason and not git.notices
        two.sync()
        one.sync()
        check(scenario, one, two, added)
        if ended:
            break
    assert step > 20


def test_writes_of_who_cannot_end_a_sync_wait_and_say_so(tmp_path: Path) -> None:
    for step, _, two in copies(tmp_path, merge):
        kill(two, step)
        if (two.root / ".git" / "clew" / "merging").exists():
            break
    two.write("user/late.md", "late\n")
    git = two.git
    assert git.commit(["user/late.md"], "Late").reason == "a sync of the memory was cut short"
    with pytest.raises(StoreBusy, match="cut short"):
        git.settle_within(git.repository())
    two.sync()
    assert "Late" in two.run("log", "--format=%s").splitlines() and two.run("status", "--short") == ""


@pytest.mark.parametrize(
    "left", [b"", b"{", b'{"old": 1}\n', b"\xff\n", b'{"format":1,"old":"","new":"","steps":[[1]]}\n']
)
def test_a_list_that_cannot_be_understood_hinders_nothing(tmp_path: Path, left: bytes) -> None:
    one, two = pair(tmp_path, START)
    (two.root / ".git" / "clew" / "merging").write_bytes(left)
    one.write(NOTE, "1\n")
    one.sync()
    assert two.sync().changed == [NOTE] and two.run("status", "--short") == ""


def test_a_person_who_commits_over_a_half_sync_gets_the_rest_merged(tmp_path: Path) -> None:
    for step, one, two in copies(tmp_path, conflict):
        if step < 15:
            continue
        ended = kill(two, step)
        if not (two.root / ".git" / "clew" / "merging").exists():
            if ended:
                break
            continue
        two.write("user/mine.md", "mine\n")
        two.run("add", "user/mine.md")
        two.run("commit", "-q", "-m", "Mine")
        two.sync()
        one.sync()
        check(conflict, one, two, "")
        assert one.text("user/mine.md") == "mine\n"
    assert step > 20
