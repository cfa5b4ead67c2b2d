"""The index of memory: it holds what the files say now, and nothing else, whatever happened on the way."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.core.text.redact import redact
from clew.errors import StoreTooNew
from clew.stores.documents import Documents, Stat
from clew.stores.memory_index import FORMAT, MemoryIndex, Refreshed
from clew.stores.memory_reading import BLOCK, Filter
from clew.stores.memory_writing import TICK, Loaded

NOTE = """---
id: {id}
name: {name}
description: {description}
type: {type}
status: {status}
tags: [{tags}]
branch: {branch}
created: 2026-01-02
---
{body}
"""
LATER = 4_000_000_000.0
"""Seconds: a time at which no file is young any more."""


def note(body: str, **given: str) -> str:
    defaults = {"id": "mem_000000000001", "name": "a note", "description": "says something", "type": "note"}
    return NOTE.format(**{**defaults, "status": "active", "tags": "x", "branch": "", "body": body, **given})


def clean(text: str) -> str:
    return redact(text).text


class Memory:
    """A memory root with its index."""

    def __init__(self, root: Path) -> None:
        self.root = root / "memory"
        self.documents = Documents(self.root, redact=clean)
        self.database = root / "cache" / "memory.db"
        self.read: list[str] = []

    def write(self, name: str, text: str, folder: str = "workspaces/w/notes") -> Path:
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def load(self, path: str, known: str) -> Loaded:
        self.read.append(path)
        return Loaded(self.documents.read_whole(path, known))

    def refresh(self, index: MemoryIndex, now: float = LATER) -> Refreshed:
        return index.refresh(self.documents.walk(), self.load, now=lambda: now)

    def found(self, *words: str, chosen: Filter | None = None) -> set[str]:
        """Paths of documents with one of these terms, after a refresh."""
        with MemoryIndex.open(self.database) as index:
            self.refresh(index)
            passages = index.passages([row for row, _ in index.candidates(words, chosen or Filter(), 100)])
            documents = index.documents([one.document for one in passages.values()])
            documents.update(index.documents([row for row, _ in index.named(words, chosen or Filter(), 100)]))
        return {row.path.rsplit("/", 1)[-1] for row in documents.values()}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


def rows(path: Path) -> list[tuple[object, ...]]:
    """All that an index says of its documents and passages, without its own numbers."""
    with sqlite3.connect(path) as db:
        found = db.execute(
            "select path, name, description, status, tags, place, first, last, heading, at, text, body, head "
            "from documents left join passages on document = documents.id "
            "left join passage_terms on passage_terms.rowid = passages.id order by path, place"
        ).fetchall()
        numbers = db.execute("select key, value from meta where key in ('passages', 'length') order by key").fetchall()
    db.close()
    return [*found, *numbers]


@pytest.mark.requirement("W-01")
def test_an_edit_a_rename_and_a_deletion_by_hand_are_seen_at_the_next_refresh(memory: Memory) -> None:
    path = memory.write("a.md", note("the harbour opens at nine"))
    assert memory.found("harbour") == {"a.md"}
    path.write_text(note("the lighthouse opens at ten"), encoding="utf-8")
    assert memory.found("harbour") == set()
    assert memory.found("lighthous") == {"a.md"}
    path.rename(path.with_name("b.md"))
    assert memory.found("lighthous") == {"b.md"}
    path.with_name("b.md").unlink()
    assert memory.found("lighthous") == set()


@pytest.mark.requirement("W-01")
def test_a_document_whose_id_was_taken_out_is_known_by_its_path_only(memory: Memory) -> None:
    path = memory.write("a.md", note("the harbour opens at nine"))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        assert [row.reference for row in index.listed(Filter())] == ["mem_000000000001"]
        path.write_text(note("the harbour opens at nine").replace("id: mem_000000000001\n", ""), encoding="utf-8")
        memory.refresh(index)
        assert [row.reference for row in index.listed(Filter())] == [""]


def test_two_documents_with_one_id_are_both_there(memory: Memory) -> None:
    memory.write("a.md", note("one"))
    memory.write("b.md", note("two"))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        assert [row.reference for row in index.listed(Filter())] == ["mem_000000000001"] * 2


def test_an_edit_that_leaves_no_mark_within_the_clock_of_the_file_system_is_seen(memory: Memory) -> None:
    path = memory.write("a.md", note("the harbour"))
    written = 1_000_000_000
    same = Stat("workspaces/w/notes/a.md", 100, written * 10**9, 7, written * 10**9)

    def refresh(index: MemoryIndex, now: float) -> Refreshed:
        return index.refresh([same], memory.load, now=lambda: now)

    with MemoryIndex.open(memory.database) as index:
        refresh(index, written + TICK / 2)
        path.write_text(note("the bastion"), encoding="utf-8")
        refresh(index, written + TICK * 2)
        assert index.candidates(["bastion"], Filter(), 10)
        assert not index.candidates(["harbour"], Filter(), 10)
        assert refresh(index, written + TICK * 3).read == 0


def test_what_did_not_change_is_not_read_again(memory: Memory) -> None:
    memory.write("a.md", note("one"))
    memory.write("b.md", note("two"))
    with MemoryIndex.open(memory.database) as index:
        first = memory.refresh(index)
        assert (first.total, first.read, first.changed) == (2, 2, 2)
        memory.read.clear()
        again = memory.refresh(index)
    assert (again.total, again.read, again.changed, again.gone) == (2, 0, 0, 0)
    assert memory.read == []


def test_a_file_that_was_only_touched_keeps_its_rows(memory: Memory) -> None:
    path = memory.write("a.md", note("one"))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        os.utime(path, (1, 1))
        done = memory.refresh(index)
        assert (done.read, done.changed) == (1, 0)
        assert memory.refresh(index).read == 0


def encode(texts: Sequence[str]) -> np.ndarray:
    """Each text along the axis of the first letter of its last line."""
    made = np.zeros((len(texts), 26), np.float32)
    for row, text in zip(made, texts, strict=True):
        row[ord(text.rsplit("\n", 1)[-1][0].lower()) - ord("a")] = 1.0
    return made


def axis(letter: str) -> np.ndarray:
    return encode([letter])[0]


def test_an_entry_added_to_a_log_leaves_the_other_entries_and_their_vectors_alone(memory: Memory) -> None:
    head = "---\nid: mem_000000000009\n---\n"
    path = memory.write("2026-03-04.md", f"{head}## 09:30\nalpha\n\n## 10:15\nbravo\n", "workspaces/w/logs")
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        assert index.embed(encode) == 0
        before = {one.text: one.id for one in index.passages_of(1)}
        path.write_text(f"{head}## 09:30\nalpha\n\nx\n\n## 10:15\nbravo\n\n## 11:00\ncharlie\n", encoding="utf-8")
        memory.refresh(index)
        after = {one.text: one for one in index.passages_of(1)}
        assert after["## 10:15\nbravo"].id == before["## 10:15\nbravo"]
        assert (after["## 10:15\nbravo"].first, after["## 10:15\nbravo"].at) == (9, "2026-03-04T10:15")
        assert [passage for passage, cosine in index.likest(axis("b"), Filter(), 5) if cosine > 0.9] == [
            before["## 10:15\nbravo"]
        ]
        assert index.embed(encode) == 0
        assert [one for one, cosine in index.likest(axis("c"), Filter(), 5) if cosine > 0.9] == [
            after["## 11:00\ncharlie"].id
        ]


def test_a_vector_does_not_outlive_its_passage(memory: Memory) -> None:
    path = memory.write("a.md", note("alpha"))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        index.embed(encode)
        assert len(index.likest(axis("a"), Filter(), 5)) == 1
        path.write_text(note("bravo"), encoding="utf-8")
        memory.refresh(index)
        assert index.likest(axis("a"), Filter(), 5) == []
        index.embed(encode)
        assert [round(cosine, 2) for _, cosine in index.likest(axis("a"), Filter(), 5)] == [0.0]


def test_numbers_of_passages_are_given_again_so_that_vectors_stay_dense(memory: Memory) -> None:
    path = memory.write("a.md", note("alpha"))
    with MemoryIndex.open(memory.database) as index:
        for number in range(30):
            path.write_text(note(f"alpha{number}"), encoding="utf-8")
            memory.refresh(index)
        assert max(one.id for one in index.passages_of(1)) <= 2


def test_the_nearest_vectors_are_exactly_those_of_a_full_comparison(memory: Memory) -> None:
    draw = np.random.default_rng(7)
    count = BLOCK + 300
    body = "\n\n".join(f"## {number}\nw{number}" for number in range(count))
    memory.write("a.md", note(body))
    vectors = draw.standard_normal((count, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        order = iter(range(count))
        index.embed(lambda texts: np.stack([vectors[next(order)] for _ in texts]))
        wanted = [one.text.rpartition("w")[2] for one in (index.passages_of(1))]
        place = {one.id: int(one.text.rpartition("w")[2]) for one in index.passages_of(1)}
        assert len(wanted) == count
        overlap = []
        for query in vectors[:40]:
            exact = set(np.argsort(-(vectors @ query))[:10].tolist())
            got = {place[passage] for passage, _ in index.likest(query, Filter(), 10)}
            overlap.append(len(exact & got) / 10)
    assert np.mean(overlap) >= 0.95


@pytest.mark.requirement("W-09")
def test_a_secret_is_nowhere_in_the_folder_of_the_index(memory: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    memory.write("a.md", note(f"the token is {secret}", name=f"token {secret}", tags=secret, description=secret))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
        index.embed(lambda texts: np.ones((len(texts), 4), np.float32))
        assert index.candidates(["token"], Filter(), 5)
        for file in memory.database.parent.iterdir():
            content = file.read_bytes()
            assert secret.encode() not in content
            assert secret.lower().encode() not in content


def test_each_filter_lets_through_what_it_names(memory: Memory) -> None:
    memory.write("a.md", note("harbour", type="decision", tags="red, blue", branch="main"))
    memory.write("b.md", note("harbour", status="superseded", tags="bluebell", branch="topic"))
    memory.write("c.md", note("harbour", tags="green"), "user")
    memory.write("2026-03-04.md", "## 10:15\nharbour\n", "workspaces/v/logs")

    def found(**chosen: tuple[str, ...] | str) -> set[str]:
        return memory.found("harbour", chosen=Filter(**chosen))  # type: ignore[arg-type]

    assert found() == {"a.md", "b.md", "c.md", "2026-03-04.md"}
    assert found(tiers=("note", "log")) == {"a.md", "b.md", "2026-03-04.md"}
    assert found(workspaces=("w",)) == {"a.md", "b.md"}
    assert found(workspaces=("", "v")) == {"c.md", "2026-03-04.md"}
    assert found(types=("decision",)) == {"a.md"}
    assert found(tags=("blue",)) == {"a.md"}
    assert found(statuses=("superseded",)) == {"b.md"}
    assert found(branches=("main",)) == {"a.md", "c.md", "2026-03-04.md"}
    assert found(since="2026-02-01") == {"2026-03-04.md"}
    assert found(until="2026-03-04", since="2026-03-04") == {"2026-03-04.md"}
    assert found(until="2026-03-04T10:14") == {"a.md", "b.md", "c.md"}


def test_chinese_is_found_by_its_pairs_of_characters(memory: Memory) -> None:
    memory.write("a.md", note("发布之前先跑集成测试"))
    assert memory.found("集成") == {"a.md"}
    assert memory.found("成集") == set()


def damaged(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database at all, just text\n" * 400)
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)


def test_a_damaged_index_is_made_anew(memory: Memory) -> None:
    memory.write("a.md", note("harbour"))
    assert memory.found("harbour") == {"a.md"}
    damaged(memory.database)
    assert memory.found("harbour") == {"a.md"}


def test_damage_that_shows_only_while_it_is_open_is_mended_by_the_refresh(memory: Memory) -> None:
    path = memory.write("a.md", note("harbour " * 3000))
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
    size = memory.database.stat().st_size
    with memory.database.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(64) * ((size - 4096 * 3) // 64))
    path.write_text(note("lighthouse"), encoding="utf-8")
    assert memory.found("lighthous") == {"a.md"}


def test_an_index_of_an_older_format_or_another_variant_is_made_anew(memory: Memory) -> None:
    memory.write("a.md", note("harbour"))
    assert memory.found("harbour") == {"a.md"}
    with sqlite3.connect(memory.database) as db:
        db.execute("update meta set value = 0 where key = 'format'")
        db.execute("update documents set name = 'of old'")
    db.close()
    with MemoryIndex.open(memory.database) as index:
        assert index.listed(Filter()) == []
        memory.refresh(index)
    with MemoryIndex.open(memory.database, variant="other") as index:
        assert index.listed(Filter()) == []


def test_an_index_of_a_newer_format_is_left_alone_with_a_hint(memory: Memory) -> None:
    memory.write("a.md", note("harbour"))
    memory.found("harbour")
    with sqlite3.connect(memory.database) as db:
        db.execute("update meta set value = ? where key = 'format'", (FORMAT + 1,))
    db.close()
    before = memory.database.read_bytes()
    with pytest.raises(StoreTooNew) as refused:
        MemoryIndex.open(memory.database)
    assert "update Clew" in refused.value.hint
    assert memory.database.read_bytes() == before


def test_only_the_owner_may_read_the_index(memory: Memory) -> None:
    memory.write("a.md", note("harbour"))
    memory.found("harbour")
    assert memory.database.stat().st_mode & 0o077 == 0


WORKER = """
import sys
from pathlib import Path
from clew.stores.documents import Documents, Stat
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter
from clew.stores.memory_writing import Loaded
root, database = Path(sys.argv[1]), Path(sys.argv[2])
documents = Documents(root, redact=lambda text: text)
for _ in range(3):
    with MemoryIndex.open(database) as index:
        index.refresh(documents.walk(), lambda path, known: Loaded(documents.read_whole(path, known)))
        assert len(index.listed(Filter())) == 40, len(index.listed(Filter()))
"""


def test_eight_processes_at_once_make_one_index(memory: Memory, tmp_path: Path) -> None:
    for number in range(40):
        memory.write(f"{number}.md", note(f"alpha {number}\n\n## more\n\nbravo {number}"))
    command = [sys.executable, "-c", WORKER, str(memory.root), str(memory.database)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    with MemoryIndex.open(memory.database) as index:
        memory.refresh(index)
    fresh = tmp_path / "fresh.db"
    with MemoryIndex.open(fresh) as index:
        memory.refresh(index)
    assert rows(memory.database) == rows(fresh)


WORDS = st.sampled_from(["harbour", "lighthouse", "灯塔", "## heading", "- 10:15 entry", "", "```"])
TEXTS = st.lists(WORDS, max_size=6).map("\n".join)
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), TEXTS)), min_size=1, max_size=8)


@given(STEPS)
@settings(max_examples=25)
def test_after_any_changes_it_equals_one_made_from_nothing(steps: list[tuple[str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        memory = Memory(root)
        for name, body in steps:
            path = memory.root / "workspaces/w/notes" / f"{name}.md"
            if body is None:
                path.unlink(missing_ok=True)
            else:
                memory.write(f"{name}.md", note(body))
            with MemoryIndex.open(memory.database) as index:
                memory.refresh(index, now=0.0)
        with MemoryIndex.open(root / "fresh.db") as index:
            memory.refresh(index)
        assert rows(memory.database) == rows(root / "fresh.db")


def test_words_of_a_large_index_that_stand_nearly_everywhere_bring_up_nothing(memory: Memory) -> None:
    with MemoryIndex.open(memory.database) as index:
        frequencies = {"common": 9_000, "rare": 3}
        assert index.common(frequencies, 10_000) == {"common"}
        assert index.common({"common": 9_000, "usual": 8_000}, 10_000) == {"common"}
        assert index.common(frequencies, 100) == set()


def test_a_file_that_cannot_be_read_is_not_in_the_index(memory: Memory) -> None:
    memory.write("a.md", note("harbour"))
    path = memory.write("b.md", "")
    path.write_bytes(b"harbour \xff\xfe\xff")
    assert memory.found("harbour") == {"a.md"}
