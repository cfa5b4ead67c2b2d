"""What a write to memory costs: no more in a large one than in a small one, and nothing is overlooked for that."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.command import ARGV, clew, environ

from clew.adapters.memory_git import MemoryGit
from clew.errors import NotFound
from clew.services.afterwards import Afterwards
from clew.services.memory import Memory, NoteWish
from clew.services.memory_known import FEW
from clew.services.memory_search import VARIANT, refresh
from clew.stores.audit import Audit
from clew.stores.documents import Documents
from clew.stores.durable import locked
from clew.stores.memory_index import MemoryIndex

NOON = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)
OLD = 1_700_000_000
"""Seconds: the files of a test were not changed just now."""


class Counting:
    """A redactor that takes nothing out and counts the documents that pass: each begins with its id."""

    documents = 0

    def __call__(self, text: str) -> str:
        self.documents += text.startswith("id: ")
        return text


def filled(folder: Path, count: int, first: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        path = folder / f"berth-{number}.md"
        path.write_text(f"---\nid: mem_{number:012x}\nname: Berth {number}\n---\nIt is {number} m deep.\n", "utf-8")
        os.utime(path, (OLD, OLD))


def opened(tmp_path: Path, redact: Counting) -> Memory:
    return Memory(
        Documents(tmp_path / "memory", redact=redact), tmp_path / "memory.db", Audit(tmp_path / "audit", redact),
        MemoryGit(tmp_path / "memory", {}), "w", clock=lambda: NOON,
    )  # fmt: skip


def indexed(memory: Memory) -> None:
    with MemoryIndex.open(memory.index_path, variant=VARIANT) as index:
        refresh(index, memory.documents, seconds=0)


@pytest.fixture
def large(tmp_path: Path) -> tuple[Memory, Counting]:
    """A memory of 300 indexed notes, and what counts those that are read."""
    filled(tmp_path / "memory/workspaces/w/notes", 300)
    count = Counting()
    memory = opened(tmp_path, count)
    indexed(memory)
    with closing(sqlite3.connect(memory.index_path)) as db, db:
        # As if the index had been made some seconds after the files.
        db.execute("update documents set young = 0")
    count.documents = 0
    return memory, count


@pytest.mark.requirement("W-01", "W-04")
def test_a_write_reads_a_handful_of_files_however_many_there_are(large: tuple[Memory, Counting]) -> None:
    memory, count = large
    for write in (
        lambda: memory.note(NoteWish("The crane stops.", "Crane")),
        lambda: memory.note(NoteWish("The quay is wet.", "The quay", derived=True)),
        lambda: memory.note(NoteWish("It is dry.", "berth 7")),
        lambda: memory.note(NoteWish("It is full.", "Berth 8", mode="replace")),
        lambda: memory.log("moved the crane"),
        lambda: memory.set_fields("Berth 9", {"status": "deleted"}),
        lambda: memory.supersede("mem_00000000000a", "workspaces/w/notes/berth-11.md"),
        lambda: memory.edit("mem_00000000000c", lambda text: text + "More.\n"),
    ):
        count.documents = 0
        write()
        assert count.documents < 60
    with pytest.raises(NotFound, match="holds no"):
        memory.find("Berth 9999")
    assert count.documents < 60


@pytest.mark.requirement("W-01")
def test_what_was_changed_by_hand_since_the_index_was_made_counts_in_a_write(large: tuple[Memory, Counting]) -> None:
    memory, _ = large
    notes = memory.documents.root / "workspaces/w/notes"
    (notes / "berth-1.md").write_text("---\nid: mem_hand\nname: Crane\n---\nIt stops.\n", encoding="utf-8")
    assert memory.note(NoteWish("At wind force 7.", "crane")).ref == "clew://memory/mem_hand"
    (notes / "berth-2.md").rename(notes / "moved.md")
    assert memory.find("mem_000000000002").path == "workspaces/w/notes/moved.md"
    (notes / "berth-3.md").unlink()
    assert memory.note(NoteWish("Dry.", "Berth 3")).action == "created"
    (notes / "copy.md").write_bytes((notes / "berth-4.md").read_bytes())
    with pytest.raises(NotFound, match="more than one document"):
        memory.set_fields("mem_000000000004", {"status": "deleted"})


@pytest.mark.requirement("W-01")
def test_a_name_that_is_taken_gets_a_number_whether_or_not_the_index_knows_it(large: tuple[Memory, Counting]) -> None:
    memory, _ = large
    notes = memory.documents.root / "workspaces/w/notes"
    (notes / "crane.md").write_text("---\nname: Something else\n---\nText.\n", encoding="utf-8")
    assert memory.note(NoteWish("Stops.", "Crane")).receipt.path.endswith("/crane-2.md")
    assert memory.note(NoteWish("Stops again.", "Crane", derived=True)).receipt.path.endswith("-2.md")
    ids = [one.id for one in memory.documents.read_all() if one.id]
    assert len(ids) == len(set(ids))


@pytest.mark.requirement("W-01")
def test_a_write_does_not_wait_for_who_makes_the_index(large: tuple[Memory, Counting]) -> None:
    memory, _ = large
    with closing(sqlite3.connect(memory.index_path, isolation_level=None)) as busy:
        busy.execute("begin immediate")
        began = time.monotonic()
        assert memory.note(NoteWish("The crane stops.", "Crane")).action == "created"
        assert memory.set_fields("Berth 5", {"status": "deleted"}).action == "edited"
        # Whoever waits for a database here waits for a minute and a half.
        assert time.monotonic() - began < 30


def test_without_an_index_or_with_a_damaged_one_a_write_overlooks_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "memory/workspaces/w/notes", 150)
    memory = opened(tmp_path, Counting())
    assert memory.note(NoteWish("Dry.", "Berth 149")).ref == "clew://memory/mem_000000000095"
    memory.index_path.write_bytes(b"no database" * 1_000)
    assert memory.note(NoteWish("Wet.", "Berth 148")).ref == "clew://memory/mem_000000000094"


def test_one_process_prepares_at_a_time_and_one_more_may_wait(tmp_path: Path) -> None:
    filled(tmp_path / "memory/user", FEW + 1)
    documents, begun = Documents(tmp_path / "memory", redact=Counting()), list[str]()

    def nothing() -> None:
        raise AssertionError("a large memory is not prepared before the write ends")

    later = Afterwards(documents, tmp_path / "index/memory.db", nothing, start=lambda: begun.append("begun"))  # pyright: ignore[reportArgumentType] -- never called
    later.follow(["user/berth-1.md"])
    assert begun == ["begun"]
    with locked(tmp_path / "index/.now", 0):
        later.follow(["user/berth-1.md"])
        assert len(begun) == 2
    with locked(tmp_path / "index/.next", 0):
        later.follow(["user/berth-1.md"])
        assert len(begun) == 2


@pytest.mark.requirement("R-08")
def test_in_a_large_memory_a_note_comes_to_mind_soon_after_it_was_kept(harbour: Path, home: Path) -> None:
    filled(home / "clew/memory/user", FEW + 100)
    question = "may we lift containers in this wind?"
    assert clew("recall", question, "--json", cwd=harbour).json["hints"] == []
    clew("note", "The crane stops at wind force 7.", "--name", "Crane", "--when", question, cwd=harbour)
    ends = time.monotonic() + 90
    while not (hints := clew("recall", question, "--json", cwd=harbour).json["hints"]) and time.monotonic() < ends:
        pass
    assert [one["name"] for one in hints] == ["Crane"]


def on_a_terminal(*words: str, cwd: Path) -> str:
    """What a command writes to stderr where that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*ARGV, *words], cwd=cwd, env=environ({}), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    parts: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(ours, 65_536):
                parts.append(part)
        except OSError:
            pass  # Linux says so when the other end is closed.

    reader = threading.Thread(target=read)
    reader.start()
    process.wait(120)
    reader.join()
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.requirement("F-01")
def test_a_terminal_is_told_how_far_a_long_reading_is_and_a_pipe_is_not(harbour: Path, home: Path) -> None:
    filled(home / "clew/memory/user", 6_000)
    for words in (("memory", "list"), ("memory", "check"), ("recall", "may we lift?"), ("memory", "search", "depth")):
        told = on_a_terminal(*words, cwd=harbour)
        assert " of 6000 files" in told, words
        # The line is gone before anything else is said.
        assert told.rpartition(" of 6000 files")[2].startswith("\r\x1b[2K"), words
    assert "6000 files" not in clew("memory", "check", cwd=harbour).err


@pytest.mark.requirement("Q-21")
def test_who_set_a_deadline_is_told_no_progress(harbour: Path, home: Path) -> None:
    filled(home / "clew/memory/user", 6_000)
    assert "files" not in on_a_terminal("recall", "may we lift?", "--deadline", "100", cwd=harbour)
