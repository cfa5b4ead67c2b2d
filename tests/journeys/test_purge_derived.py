"""A secret that was broken over lines is purged from what Clew made of the text as well, and from nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.agents import calls, says, world
from tests.command import clew, git, write

pytestmark = pytest.mark.requirement("W-09")

SECRET = "walrusjamtoastmarmalade"
AWKWARD = "p\"a\\ss 'w<o>r&d#é壶"


def kept(home: Path) -> str:
    """All bytes that Clew keeps, with those in git."""
    files = [path.read_bytes() for path in (home / "clew").rglob("*") if path.is_file() and "objects" not in path.parts]
    command = ["git", "-C", str(home / "clew/memory"), "cat-file", "--batch-all-objects", "--batch"]
    return b"\n".join([*files, subprocess.run(command, capture_output=True, check=True).stdout]).decode(
        "utf-8", "replace"
    )


@pytest.mark.parametrize("broken", ["\n", "\\\n", "\n> ", "\r\n  ", "\n- "])
def test_a_blank_that_stands_for_a_line_break_in_a_name_or_the_trail_is_purged(
    home: Path, harbour: Path, broken: str
) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    text = f"Crane key walrusjam{broken}toastmarmalade is for the crane."
    assert clew("note", "-", cwd=harbour, stdin=text).status == 0
    assert clew("memory", "search", f"walrusjam{broken}toastmarmalade", cwd=harbour).status == 0
    assert kept(home).count("toastmarmalade") > 4
    purged = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert purged.status == 0 and "0 left" in purged.err, purged.err
    assert "toastmarmalade" not in kept(home)
    assert "[REDACTED:secret:" in kept(home)
    assert git(home / "clew/memory", "status", "--porcelain") == ""


def test_words_that_make_the_secret_when_the_blank_between_them_goes_stay_in_what_people_wrote(
    home: Path, harbour: Path
) -> None:
    said = "Bread with walrusjam toastmarmalade on it; see the `walrusjam-toastmarmalade` table.\n"
    note = "---\nid: mem_0123456789ab\nname: Breakfast\n---\n" + said
    data = write(home / "clew", {"memory/user/a.md": note, "memory/workspaces/w/handoff/PLAN.md": said})
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET).status == 0
    assert (data / "memory/user/a.md").read_text() == note
    assert (data / "memory/workspaces/w/handoff/PLAN.md").read_text() == said


def test_what_was_broken_and_then_cut_short_is_purged_up_to_where_it_was_cut(home: Path, harbour: Path) -> None:
    said = f"{'The crane of the outer pier is opened by a key. ' * 3}walrusjam\ntoastmarmalade"
    assert clew("memory", "search", said, cwd=harbour).status == 0
    (trail,) = (home / "clew/audit").iterdir()
    assert "walrusjam toast…" in trail.read_text()
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET).status == 0
    assert "walrusjam" not in trail.read_text() and "outer pier" in trail.read_text()


def test_a_break_is_known_however_often_it_was_escaped(home: Path, harbour: Path) -> None:
    rows = ('{"text":"walrusjam\\\\\\ntoastmarmalade"}', '{"text":"walrusjam\\u001b[31mtoastmarmalade"}',
            '{"text":"walrusjam\\u00adtoastmarmalade"}')  # fmt: skip
    data = write(home / "clew", {"sessions/20260301-090000-0001ab.jsonl": "\n".join(rows) + "\n"})
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET).status == 0
    assert "toastmarmalade" not in (data / "sessions/20260301-090000-0001ab.jsonl").read_text()


@pytest.mark.parametrize("secret", [SECRET, AWKWARD])
def test_the_ledger_of_a_run_keeps_no_part_of_a_secret_that_was_broken(home: Path, harbour: Path, secret: str) -> None:
    half = len(secret) // 2
    split = f"{secret[:half]}\n{secret[half:]}"
    with world(harbour, home) as here:
        here.inside("sync", "init")
        write(here.repository, {"key.txt": f"{split}\n"})
        here.run(
            f"sort out the crane, its key is {split}", "--yes",
            play=[calls(("shell", {"command": "cat key.txt"})), says(f"The crane has {split} as its key.\nDone.")],
        )  # fmt: skip
        assert here.inside("sync").status in (0, 2)
        assert secret[half:] in kept(home)
        assert here.inside("purge", "--secret", "--yes", stdin=secret).status == 0
    left = kept(home)
    assert secret[half:] not in left and secret[:half] not in left


def test_the_history_calls_renamed_files_what_the_work_tree_calls_them(home: Path, harbour: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    memory = home / "clew/memory"
    names = {f"user/{word}-{SECRET}.md": f"---\nid: mem_00000000000{at}\nname: {word}\n---\nSays {word}.\n"
             for at, word in enumerate(("zebra", "anchor", "mole"))}  # fmt: skip
    for name, text in names.items():
        write(memory, {name: text})
        git(memory, "add", "-A")
        git(memory, "commit", "-q", "-m", "One more")
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET).status == 0
    assert git(memory, "status", "--porcelain") == ""
    paths = git(memory, "ls-files", "user").split()
    assert len(paths) == 3 and not any(SECRET in path for path in paths)
    # Each file has had one name from its first commit on.
    for path in paths:
        assert len(git(memory, "log", "--format=%H", "--", path).split()) == 1
        assert git(memory, "show", f"HEAD:{path}") == (memory / path).read_text().strip()
