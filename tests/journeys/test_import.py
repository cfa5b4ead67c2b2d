"""Taking over a folder of Markdown, through the real command: what was moved, what cannot be read, two at once."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.command import ARGV, clew, environ, write
from tests.journeys.test_bad_input import powerless, run

BUOYS = "# Buoys\n\nRed to port when coming in.\n"
ROPES = "# Ropes\n\nRope 4 is worn.\n\nOrder a new one in spring.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Path]:
    """A folder of notes that an import must not touch: compared after the test with what the test made of it."""
    root = write(tmp_path / "vault", {"buoys.md": BUOYS, "ops/ropes.md": ROPES, "picture.png": "x"})
    yield root
    for path in root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def looks(root: Path) -> dict[str, tuple[int, str]]:
    """By path, the time of the last change and the digest of every regular file."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): (path.stat().st_mtime_ns, sha256(path.read_bytes()).hexdigest()) for path in files}


def taken(root: Path, where: Path, *more: str, status: int = 0) -> dict[str, dict[str, Any]]:
    """What an import makes of each file, by file; the source is as it was."""
    before = looks(where)
    done = clew("memory", "import", str(where), "--json", *more, cwd=root)
    assert (done.status, looks(where)) == (status, before), done.err
    return {row["file"]: row for row in done.json["files"]}


def actions(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The action by file."""
    return {file: row["action"] for file, row in rows.items()}


def notes(root: Path) -> dict[str, str]:
    """The notes of memory: name and path."""
    return {row["name"]: row["path"] for row in clew("memory", "list", "--json", cwd=root).json}


@pytest.mark.requirement("W-01")
def test_a_file_that_is_moved_or_renamed_stays_one_note(harbour: Path, vault: Path) -> None:
    first = taken(harbour, vault)
    (vault / "buoys.md").rename(vault / "ops" / "marks at sea.md")
    planned = taken(harbour, vault, "--dry-run")
    assert actions(planned) == {"ops/marks at sea.md": "moved", "ops/ropes.md": "same"}
    moved = taken(harbour, vault)
    assert moved["ops/marks at sea.md"]["path"] == first["buoys.md"]["path"]
    assert len(notes(harbour)) == 2
    assert actions(taken(harbour, vault)) == {"ops/marks at sea.md": "same", "ops/ropes.md": "same"}
    vault.rename(vault.with_name("shelf"))
    again = taken(harbour, vault.with_name("shelf"))
    assert set(actions(again).values()) == {"moved"} and len(notes(harbour)) == 2
    vault.with_name("shelf").rename(vault)


@pytest.mark.requirement("W-01")
def test_a_copy_is_a_note_of_its_own_and_the_original_keeps_the_first(harbour: Path, vault: Path) -> None:
    first = taken(harbour, vault)
    write(vault, {"a copy.md": BUOYS})
    rows = taken(harbour, vault)
    assert actions(rows) == {"a copy.md": "new", "buoys.md": "same", "ops/ropes.md": "same"}
    assert rows["a copy.md"]["path"] != first["buoys.md"]["path"]


@pytest.mark.requirement("W-01")
def test_a_file_that_is_moved_and_edited_is_known_by_its_id_or_told_of(harbour: Path, vault: Path) -> None:
    write(vault, {"lamp.md": "---\nid: lamp-7\n---\n# Lamp\n\nGreen.\n"})
    first = taken(harbour, vault)
    (vault / "lamp.md").unlink()
    (vault / "ops" / "ropes.md").unlink()
    write(vault, {"lights/lamp.md": "---\nid: lamp-7\n---\n# Lamp\n\nWhite now.\n", "ropes.md": f"{ROPES}Or hemp.\n"})
    rows = taken(harbour, vault)
    assert rows["lights/lamp.md"]["action"] == "moved"
    assert rows["lights/lamp.md"]["path"] == first["lamp.md"]["path"]
    assert "White now." in Path(first["lamp.md"]["path"]).read_text(encoding="utf-8")
    assert (rows["ropes.md"]["action"], rows["ops/ropes.md"]["action"]) == ("new", "gone")
    assert rows["ops/ropes.md"]["reason"] == "the file is gone; the note stays, `ropes.md` may be what became of it"
    told = clew("memory", "import", str(vault), cwd=harbour, env={"CLEW_LANG": "zh"})
    assert "已消失" in told.out and "笔记保留" in told.out and told.status == 0


@pytest.mark.requirement("W-01")
def test_a_note_that_was_edited_here_follows_its_file_and_keeps_its_text(harbour: Path, vault: Path) -> None:
    path = Path(taken(harbour, vault)["buoys.md"]["path"])
    path.write_text(path.read_text(encoding="utf-8").replace("Red to port", "Green to port"), encoding="utf-8")
    (vault / "buoys.md").rename(vault / "marks.md")
    assert taken(harbour, vault)["marks.md"]["action"] == "moved"
    assert "Green to port" in path.read_text(encoding="utf-8")
    (vault / "marks.md").write_text(f"{BUOYS}Lit at night.\n", encoding="utf-8")
    assert taken(harbour, vault)["marks.md"]["action"] == "edited"
    assert "Green to port" in path.read_text(encoding="utf-8")


@pytest.mark.requirement("W-01")
def test_what_may_not_be_entered_is_told_and_the_rest_is_taken_over(harbour: Path, vault: Path) -> None:
    write(vault, {"closed/a.md": "# A\n", "listed/b.md": "# B\n", "secret.md": "# C\n"})
    (vault / "closed").chmod(0)
    (vault / "listed").chmod(0o400)
    (vault / "secret.md").chmod(0)
    (vault / "way in").symlink_to(vault / "closed" / "deeper")
    before = powerless()
    done = run(before, "memory", "import", str(vault), cwd=harbour)
    assert done.status == 1 and "unexpected" not in done.err and "Traceback" not in done.err, done.err
    assert "left out    closed  the folder cannot be read: Permission denied" in done.out
    assert "new: 2," in done.err and "left out: 3" in done.err
    assert set(notes(harbour)) == {"Buoys", "Ropes"}
    inside = run(before, "memory", "import", str(vault / "closed" / "deeper"), cwd=harbour)
    assert inside.status == 2 and "cannot be read: permission denied" in inside.err
    (vault / "closed").chmod(0o755)
    (vault / "listed").chmod(0o755)
    (vault / "secret.md").chmod(0o644)
    assert set(actions(taken(harbour, vault)).values()) == {"new", "same"}
    # What cannot be reached for a while is not gone.
    (vault / "closed").chmod(0)
    again = run(before, "memory", "import", str(vault), "--json", cwd=harbour)
    assert "gone" not in actions({row["file"]: row for row in again.json["files"]}).values()


@pytest.mark.requirement("W-01", "W-04")
def test_odd_files_are_told_of_and_stop_nothing(harbour: Path, vault: Path) -> None:
    os.mkfifo(vault / "pipe.md")
    listening = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(vault)  # the name of a socket has to be short
    listening.bind("socket.md")
    os.chdir(here)
    (vault / "circle").symlink_to(vault / "circle")
    (vault / "circle.md").symlink_to(vault / "circle.md")
    (vault / "up").symlink_to(vault)
    with (vault / "huge.md").open("wb") as huge:
        huge.truncate(100_000_000)
    (vault / "latin.md").write_bytes("# Café\n".encode("latin-1"))
    (vault / "dos.md").write_bytes(
        b"\xef\xbb\xbf---\r\ntitle: From DOS\r\ntags: [tide]\r\n---\r\n\r\nHigh at noon.\r\n"
    )
    write(vault, {"-x.md": "# Dash\n\nA name like an option.\n"})
    done = clew("memory", "import", str(vault), "--json", cwd=harbour, timeout=60)
    listening.close()
    rows = {row["file"]: row for row in done.json["files"]}
    assert done.status == 1, done.err
    new = {"-x.md": "new", "buoys.md": "new", "dos.md": "new", "ops/ropes.md": "new"}
    out = dict.fromkeys(("circle.md", "huge.md", "latin.md", "pipe.md", "socket.md", "up"), "left out")
    assert actions(rows) == new | out
    assert all(rows[name]["reason"] for name in out)
    assert rows["latin.md"]["reason"] == "it is not UTF-8"
    assert {rows[name]["reason"] for name in ("pipe.md", "socket.md")} == {"it is not a regular file"}
    dos = next(row for row in clew("memory", "list", "--json", cwd=harbour).json if row["name"] == "From DOS")
    assert dos["tags"] == ["tide"] and dos["description"] == "High at noon."
    assert clew("memory", "check", cwd=harbour).status == 0
    assert "A name like an option" in Path(rows["-x.md"]["path"]).read_text(encoding="utf-8")


@pytest.mark.requirement("W-01", "Q-42")
def test_two_imports_at_once_make_each_note_once(harbour: Path, vault: Path) -> None:
    write(vault, {f"many/{number:03}.md": f"# Note {number}\n\nThe tide of day {number}.\n" for number in range(60)})
    words = [*ARGV, "memory", "import", str(vault), "--json"]
    both = [
        subprocess.Popen(words, cwd=harbour, env=environ({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for one in both:
        _, told = one.communicate(timeout=120)
        assert one.returncode == 0, told
    found = clew("memory", "list", "--json", cwd=harbour).json
    assert len(found) == 62 and len({row["name"] for row in found}) == 62
    assert set(actions(taken(harbour, vault)).values()) == {"same"}


@pytest.mark.requirement("W-01")
def test_memory_is_not_taken_over_into_itself(harbour: Path, home: Path, vault: Path) -> None:
    for number in range(3):
        assert clew("note", f"Crane {number} is idle.", "--name", f"Crane {number}", cwd=harbour).status == 0
    assert clew("note", "Use ed.", "--name", "Editor", "--personal", cwd=harbour).status == 0
    memory = home / "clew" / "memory"
    (memory / "workspaces" / "other" / "notes").mkdir(parents=True)
    (memory / "workspaces" / "other" / "notes" / "a.md").write_text("# A\n\nOf another workspace.\n")
    link = vault.parent / "link"
    link.symlink_to(memory)
    before = looks(memory)
    for folder in (memory, memory / "user", memory / "workspaces" / "other" / "notes", home, home / "clew", link):
        for more in ((), ("--dry-run",), ("--personal",)):
            done = clew("memory", "import", str(folder), *more, cwd=harbour)
            assert done.status == 2 and "memory" in done.err and "hint" in done.err.lower(), done.out
    assert {path: look for path, look in looks(memory).items() if path.endswith(".md")} == {
        path: look for path, look in before.items() if path.endswith(".md")
    }
    assert len(notes(harbour)) == 4
