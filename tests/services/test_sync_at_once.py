"""Many processes write and synchronise at the same time, on two machines with one remote."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import ARGV, clew, environ, git
from tests.memory_machines import Machine, pair, remote_of

from clew.errors import StoreBusy
from clew.services.sync import synchronise

pytestmark = [
    pytest.mark.requirement("W-17"),
    pytest.mark.requirement("Q-41"),
    pytest.mark.usefixtures("home"),
]

ROUNDS = """
import subprocess, sys
argv, name, rounds = sys.argv[1:-2], sys.argv[-2], int(sys.argv[-1])
said = ""
for number in range(rounds):
    note = ["note", f"Ship {name} of round {number} lies at berth {number}.", "--name", f"Ship {name} {number}"]
    for line in (note, ["sync"]):
        done = subprocess.run([*argv, *line], capture_output=True, text=True)
        said += done.stderr if done.returncode == 0 else f"\\nFAILED {line} {done.returncode}: {done.stderr}"
print(said)
"""


@pytest.mark.parametrize(("each", "rounds"), [(1, 3), (4, 1)])
def test_processes_that_write_and_sync_at_once_all_get_through(
    tmp_path: Path, harbour: Path, each: int, rounds: int
) -> None:
    remote = remote_of(tmp_path)
    homes = {name: {"CLEW_HOME": str(tmp_path / name)} for name in ("one", "two")}
    for env in homes.values():
        assert clew("sync", "init", "--remote", remote, cwd=harbour, env=env).status == 0
        assert clew("sync", "--join", cwd=harbour, env=env).status == 0
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ROUNDS, *ARGV, f"{name}{number}", str(rounds)],
            cwd=harbour, env=environ(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for name, env in homes.items()
        for number in range(each)
    ]  # fmt: skip
    said = "".join(process.communicate(timeout=300)[0] for process in running)
    assert "FAILED" not in said and "index.lock" not in said and ".lock" not in said, said
    for name in ("one", "two", "one"):
        assert clew("sync", cwd=harbour, env=homes[name]).status == 0
    one, two = (Machine(tmp_path / name / "memory") for name in homes)
    assert one.files() == two.files() and not one.open_conflicts()
    wanted = {f"Ship {name}{number} of round {at} " for name in homes for number in range(each) for at in range(rounds)}
    missing = {words for words in wanted if not any(words in text for text in one.files().values())}
    assert not missing
    assert one.run("status", "--short") == two.run("status", "--short") == ""
    assert one.run("rev-parse", "HEAD") == two.run("rev-parse", "HEAD") == git(remote, "rev-parse", "main").strip()


def test_a_sync_that_waits_too_long_for_another_says_so_and_has_committed(tmp_path: Path) -> None:
    one, _ = pair(tmp_path, {})
    one.write("user/a.md", "a\n")
    descriptor = os.open(one.root / ".git" / "clew" / "syncing", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(StoreBusy, match="another sync of this memory is not done after 0 s") as raised:
            synchronise(one.git, patience=0.1)
    finally:
        os.close(descriptor)
    assert raised.value.hint == "everything is kept here; try again"
    assert "a\n" in one.history() and one.sync().pushed == 1
