"""Repositories that begin with the same commit: clones share their notes, children of a template do not unasked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import ARGV, clew, environ, git, write

from clew.adapters.home import Home
from clew.adapters.workspace import add_alias

pytestmark = [pytest.mark.requirement("W-01"), pytest.mark.usefixtures("home")]


@pytest.fixture
def twins(tmp_path: Path) -> tuple[Path, Path]:
    """Two repositories that were made from a template of one commit, and went their ways."""
    template = tmp_path / "template"
    template.mkdir()
    git(template, "init", "-q", "-b", "main")
    git(template, "commit", "-q", "--allow-empty", "-m", "Template")
    made: list[Path] = []
    for name in ("Crane", "Berth"):
        git(tmp_path, "clone", "-q", str(template), name)
        git(tmp_path / name, "remote", "remove", "origin")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", name)
        made.append(tmp_path / name)
    shutil.rmtree(template)
    return made[0], made[1]


def note(folder: Path, text: str, **env: str) -> tuple[Path, str]:
    """Keep a note. The folder of its workspace, and what was said."""
    done = clew("note", text, "--json", cwd=folder, env=env)
    assert done.status == 0, done.err
    listed = clew("memory", "list", "--json", cwd=folder, env=env).json
    (row,) = [row for row in listed if text in str(row)]
    return Path(row["path"]).parent.parent, done.err


def test_strangers_with_a_common_first_commit_keep_their_notes_apart_and_it_is_said_once(
    twins: tuple[Path, Path],
) -> None:
    crane, berth = twins
    first, said = note(crane, "The crane stops at wind force 7.")
    assert "same commit" not in said
    second, said = note(berth, "Berths are numbered from one.")
    assert second != first and f"`Berth` and {crane} begin with the same commit" in said and "[alias]" in said
    again, said = note(berth, "Berth nine is closed.")
    assert again == second and "same commit" not in said
    # The first keeps what it had, also from the Chinese interface; names are told beside the ids.
    assert note(crane, "The crane is yellow.", CLEW_LANG="zh")[0] == first
    heads = clew("memory", "list", "--all", cwd=berth).out
    assert f"Crane ({first.name})" in heads and f"Berth ({second.name})" in heads
    assert f"Berth ({second.name}): " in clew("audit", "--all", cwd=crane).out


def test_clones_work_trees_and_moved_folders_share_with_their_own_kind(
    twins: tuple[Path, Path], tmp_path: Path
) -> None:
    crane, berth = twins
    places = {folder: note(folder, f"In {folder.name}.")[0] for folder in (crane, berth)}
    for number, folder in enumerate((crane, berth)):
        git(folder, "worktree", "add", "-q", "-b", "side", str(tmp_path / f"side{number}"))
        git(tmp_path, "clone", "-q", str(folder), f"clone{number}")
        git(tmp_path / f"clone{number}", "remote", "remove", "origin")
        git(tmp_path / f"clone{number}", "commit", "-q", "--allow-empty", "-m", "Later")
        for name in ("side", "clone"):
            assert note(tmp_path / f"{name}{number}", f"In {name} {number}.")[0] == places[folder]
    for folder in (berth, crane):
        git(folder, "worktree", "remove", "--force", str(tmp_path / f"side{twins.index(folder)}"))
        shutil.rmtree(tmp_path / f"clone{twins.index(folder)}")
        folder.rename(tmp_path / f"Moved {folder.name}")
    assert note(tmp_path / "Moved Berth", "Moved.")[0] == places[berth]
    assert note(tmp_path / "Moved Crane", "Moved as well.")[0] == places[crane]


def answer(folder: Path, reply: bytes) -> str:
    """Keep a note on a terminal where somebody answers."""
    main, side = os.openpty()
    child = subprocess.Popen(
        [*ARGV, "note", "From the terminal."], cwd=folder, env=environ({}), stdin=side, stdout=side, stderr=side
    )
    os.close(side)
    os.write(main, reply)
    said = b""
    try:
        while piece := os.read(main, 4096):
            said += piece
    except OSError:
        pass
    finally:
        os.close(main)
    assert child.wait(timeout=60) == 0, said
    return said.decode("utf-8", "replace")


@pytest.mark.parametrize(("reply", "together"), [(b"y\n", True), (b"n\n", False)])
def test_on_a_terminal_it_is_asked_once(twins: tuple[Path, Path], reply: bytes, together: bool) -> None:
    crane, berth = twins
    first, _ = note(crane, "The crane stops.")
    said = answer(berth, reply)
    assert "Are they one project" in said
    second, told = note(berth, "Later.")
    assert (second == first) is together and "same commit" not in told
    assert "Are they one project" not in answer(berth, b"")
    assert note(crane, "Again.")[0] == first


def test_one_that_has_only_the_first_commit_and_its_clone_that_went_on_are_kin(tmp_path: Path) -> None:
    early = tmp_path / "early"
    early.mkdir()
    git(early, "init", "-q", "-b", "main")
    git(early, "commit", "-q", "--allow-empty", "-m", "First")
    git(tmp_path, "clone", "-q", str(early), "late")
    git(tmp_path / "late", "remote", "remove", "origin")
    git(tmp_path / "late", "commit", "-q", "--allow-empty", "-m", "Second")
    assert note(early, "Early.")[0] == note(tmp_path / "late", "Late.")[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '[alias]\n"a" = "b-1"\n'),
        ("# mine\n[alias]\n\"x\" = \"y\"", '# mine\n[alias]\n"a" = "b-1"\n"x" = "y"'),
        ("[other]\nx = 1\n", '[other]\nx = 1\n[alias]\n"a" = "b-1"\n'),
        ("[alias", None),
        ('[alias]\n"a" = "c"\n', None),
        ("alias = 3\n", None),
    ],
)  # fmt: skip
def test_the_alias_file_of_a_person_is_kept_as_it_is_or_gets_a_line(
    tmp_path: Path, before: str | None, after: str | None
) -> None:
    home, file = Home(tmp_path, tmp_path, tmp_path, tmp_path), tmp_path / "workspaces.toml"
    if before is not None:
        file.write_text(before)
    assert add_alias(home, "a", "b-1") is (after is not None)
    assert (file.read_text() if file.exists() else None) == (after or before)


def kept_in(folder: Path, home: Path) -> str:
    """The workspace that a note in a folder makes."""
    folder.mkdir(exist_ok=True)
    before = set((home / "clew/memory/workspaces").glob("*"))
    assert clew("note", "The crane stops at wind force 7.", "--name", "Wind", cwd=folder).status == 0
    (made,) = set((home / "clew/memory/workspaces").iterdir()) - before
    return made.name


@pytest.mark.parametrize("inside", ["nothing", "an old file", "a new file"])
def test_a_folder_that_was_renamed_says_where_its_notes_may_lie(home: Path, tmp_path: Path, inside: str) -> None:
    plain = tmp_path / "plain"
    if inside == "an old file":
        write(plain, {"loads.txt": "4 t\n"})
    before = kept_in(plain, home)
    if inside == "a new file":
        later = time.time() + 60
        os.utime(write(plain, {"loads.txt": "4 t\n"}) / "loads.txt", (later, later))
    moved = plain.rename(tmp_path / "plain2")
    for _ in range(2):
        listed = clew("memory", "list", cwd=moved)
        assert "Wind" not in listed.out and f"may be {plain}, which is gone" in listed.err, listed.err
    # The line that is named brings them back, and then nothing is said any more.
    (line,) = re.findall(r'write (".+" = "\S+") below', listed.err)
    (home / "clew" / "workspaces.toml").write_text(f"[alias]\n{line}\n")
    listed = clew("memory", "list", cwd=moved)
    assert "Wind" in listed.out and before not in listed.err
    # Whose notes these are is settled: a third folder is not taken for it.
    assert before not in clew("memory", "list", cwd=write(tmp_path / "third", {"a": "a\n"})).err


def test_what_lies_beside_a_folder_that_is_gone_is_not_taken_for_it(home: Path, tmp_path: Path) -> None:
    before = kept_in(write(tmp_path / "plain", {"loads.txt": "4 t\n"}), home)
    # Made before the first one goes: its number may be given to what is made next.
    beside = [write(tmp_path / name, {"loads.txt": "4 t\n"}) for name in ("copy", "other")]
    moved = (tmp_path / "plain").rename(tmp_path / "plain2")
    assert before in clew("memory", "list", cwd=moved).err
    assert all(before not in clew("memory", "list", cwd=folder).err for folder in beside)


@pytest.mark.parametrize("name", ['qu"ote', "back\\slash", "Lager ÄÖ"])
def test_the_line_that_brings_notes_over_can_be_pasted_whatever_the_folder_is_called(
    home: Path, tmp_path: Path, name: str
) -> None:
    kept_in(tmp_path / "plain", home)
    moved = (tmp_path / "plain").rename(tmp_path / name)
    (line,) = re.findall(r'write (".+" = "\S+") below', clew("memory", "list", cwd=moved).err)
    (home / "clew" / "workspaces.toml").write_text(f"[alias]\n{line}\n", encoding="utf-8")
    assert "Wind" in clew("memory", "list", cwd=moved).out


def test_nothing_is_said_of_a_renamed_folder_once_it_has_notes_of_its_own_or_the_first_is_back(
    home: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    before = kept_in(plain, home)
    moved = plain.rename(tmp_path / "plain2")
    assert before in clew("memory", "list", cwd=moved).err
    plain.mkdir()
    assert before not in clew("memory", "list", cwd=moved).err
    plain.rmdir()
    assert before in clew("memory", "list", cwd=moved).err
    kept_in(moved, home)
    assert before not in clew("memory", "list", cwd=moved).err
