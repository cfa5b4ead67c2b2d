"""Searching memory through its files: hits with references, budgets, misses, scopes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from clew.core.memory.hits import Hit
from clew.core.text.redact import redact
from clew.errors import StoreTooNew
from clew.services.memory_search import MOST_HITS, Found, rebuild, search_memory
from clew.stores.documents import Documents
from clew.stores.memory_reading import Filter

TODAY = date(2026, 3, 18)


@dataclass
class Memory:
    root: Path
    database: Path
    documents: Documents = field(init=False)

    def __post_init__(self) -> None:
        self.documents = Documents(self.root, redact=lambda text: redact(text).text)

    def note(self, stem: str, body: str, folder: str = "workspaces/w/notes", **front: str) -> None:
        path = self.root / folder / f"{stem}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        keys = {"id": f"mem_{stem}", "name": stem, "description": "", **front}
        head = "".join(f"{key}: {value}\n" for key, value in keys.items())
        path.write_text(f"---\n{head}---\n{body}\n", encoding="utf-8")

    def find(self, question: str, **given: object) -> Found:
        return search_memory(self.database, self.documents, question, today=TODAY, **given)  # type: ignore[arg-type]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = Memory(tmp_path / "memory", tmp_path / "cache" / "memory.db")
    made.note("retries", "# Client\n\nWe retry three times with a pause of two seconds.", description="how often")
    made.note("release", "Releases go out on Tuesdays.\n\nNever on a Friday.", when="[shipping a version]")
    made.note("leave", "年假要提前两周申请，由组长批准。", name="请假", description="怎么请年假")
    made.note("tabs", "Tabs, never spaces.", "user", type="preference")
    made.note("old", "Releases went out on Mondays.", status="superseded", superseded_by="mem_release")
    made.note("gone", "Releases were a secret ceremony.", status="deleted")
    log = made.root / "workspaces/w/logs/2026-03-17.md"
    log.parent.mkdir(parents=True)
    log.write_text("## 09:30\nmoved the release to Wednesday\n\n## 14:00\nlunch\n", encoding="utf-8")
    return made


def names(found: Found) -> list[str]:
    return [hit.name for hit in found.hits]


@pytest.mark.requirement("W-06")
def test_a_hit_names_its_document_its_lines_and_shows_the_words(memory: Memory) -> None:
    best = memory.find("how often do we retry?").hits[0]
    assert best.reference == "clew://memory/mem_retries#L6-8"
    assert (best.first, best.last, best.heading) == (6, 8, "Client")
    assert "retry three times" in best.snippet
    lines = (memory.root / best.path).read_text(encoding="utf-8").split("\n")
    assert [line for line in lines[best.first - 1 : best.last] if line] == best.snippet.split("\n")


@pytest.mark.requirement("W-06")
def test_a_miss_says_what_was_searched(memory: Memory) -> None:
    found = memory.find("zygomorphic quaternions", scope="notes")
    assert found.miss
    assert found.searched.scope == "notes"
    assert found.searched.documents == 5
    assert found.searched.passages > 4
    assert found.searched.words == ("zygomorph", "quaternion")


def test_an_empty_memory_is_a_miss_over_nothing(tmp_path: Path) -> None:
    found = Memory(tmp_path / "none", tmp_path / "memory.db").find("anything at all")
    assert (found.miss, found.searched.documents, found.searched.passages) == (True, 0, 0)


@pytest.mark.parametrize("question", ["", "   ", "的", "the of and", '"*" AND (x OR ^', "\u0000\ud800", "x" * 20_000])
def test_any_question_is_answered(memory: Memory, question: str) -> None:
    assert memory.find(question).searched.documents == 6


@pytest.mark.requirement("W-06")
def test_a_scope_keeps_to_its_tiers(memory: Memory) -> None:
    def tiers(scope: str) -> set[str]:
        return {hit.tier for hit in memory.find("release on which day, tabs or spaces", scope=scope).hits}

    assert tiers("notes") == {"note", "user"}
    assert tiers("logs") == {"log"}
    assert tiers("reflections") == set()
    assert tiers("all") == {"note", "user", "log"}


def test_what_was_superseded_stands_behind_and_says_so_and_what_was_deleted_is_gone(memory: Memory) -> None:
    hits = {hit.path.rsplit("/", 1)[-1]: hit for hit in memory.find("which day do releases go out?").hits}
    assert list(hits).index("release.md") < list(hits).index("old.md")
    assert hits["old.md"].stale == "superseded by mem_release"
    assert "gone.md" not in hits
    asked = memory.find("which day do releases go out?", chosen=Filter(statuses=("deleted",)))
    assert [hit.path.rsplit("/", 1)[-1] for hit in asked.hits] == ["gone.md"]


def test_a_question_in_the_other_language_finds_the_note(memory: Memory) -> None:
    assert names(memory.find("how do I apply for vacation?"))[0] == "请假"
    assert names(memory.find("失败后重试几次？"))[0] == "retries"


def test_a_phrase_that_says_when_to_think_of_it_leads_to_the_note(memory: Memory) -> None:
    assert names(memory.find("I am shipping a version"))[0] == "release"


def test_yesterday_means_the_day_before_today(memory: Memory) -> None:
    best = memory.find("what happened to the release yesterday?").hits[0]
    assert (best.tier, best.at) == ("log", "2026-03-17T09:30")


def test_times_keep_to_passages_of_that_time(memory: Memory) -> None:
    def times(**chosen: str) -> list[str]:
        return [hit.at for hit in memory.find("release lunch", chosen=Filter(**chosen)).hits]  # type: ignore[arg-type]

    assert sorted(times(since="2026-03-17")) == ["2026-03-17T09:30", "2026-03-17T14:00"]
    assert times(since="2026-03-17T10:00", until="2026-03-17") == ["2026-03-17T14:00"]
    assert times(since="2026-03-18") == []


@pytest.mark.requirement("W-06")
def test_the_answer_keeps_to_its_budget_and_leaves_the_rest_by_reference(memory: Memory) -> None:
    for number in range(30):
        memory.note(f"berth{number}", f"Berth {number} of the harbour. " + "It is long and calm there. " * 20)
    found = memory.find("the harbour berth", budget=2_000)
    texts = [bool(hit.snippet) for hit in found.hits]
    assert texts[0]
    assert not texts[-1]
    assert sum(size(hit) for hit in found.hits) <= 2_000
    assert found.left_out > 0


def size(hit: Hit) -> int:
    return len((hit.reference + hit.name + hit.snippet + hit.heading).encode())


def test_one_long_document_does_not_fill_the_answer(memory: Memory) -> None:
    memory.note("long", "\n\n".join(f"## {number}\nthe pier again" for number in range(40)))
    memory.note("short", "one pier more")
    found = memory.find("pier")
    assert names(found).count("long") == 3
    assert "short" in names(found)


def test_a_secret_is_not_shown(memory: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    memory.note("token", f"the deploy token is {secret}")
    found = memory.find("what is the deploy token?")
    assert found.hits[0].name == "token"
    assert all(secret not in str(hit) for hit in found.hits)


def test_a_document_without_an_id_is_named_by_its_path(memory: Memory) -> None:
    path = memory.root / "workspaces/w/notes/bare.md"
    path.write_text("only a barnacle\n", encoding="utf-8")
    assert memory.find("barnacle").hits[0].reference == "workspaces/w/notes/bare.md#L1"


@pytest.mark.requirement("W-01")
def test_damage_that_only_a_search_meets_is_mended(memory: Memory) -> None:
    assert names(memory.find("how often do we retry?"))[0] == "retries"
    with closing(sqlite3.connect(memory.database)) as db:
        pages = [row[0] for row in db.execute("select rootpage from sqlite_master where name like 'passage_terms%'")]
        db.execute("pragma wal_checkpoint(truncate)")
        size = db.execute("pragma page_size").fetchone()[0]
    with memory.database.open("r+b") as file:
        for page in filter(None, pages):
            file.seek((page - 1) * size)
            file.write(b"\xaa" * size)
    assert names(memory.find("how often do we retry?"))[0] == "retries"


@pytest.mark.requirement("W-01")
def test_a_rebuilt_index_answers_as_the_one_before_it(memory: Memory) -> None:
    before = memory.find("which day do releases go out?")
    done = rebuild(memory.database, memory.documents)
    assert (done.changed, done.total) == (7, 7)
    assert memory.find("which day do releases go out?") == before


def test_rebuild_makes_an_index_of_a_newer_format_again(memory: Memory) -> None:
    memory.find("retry")
    with closing(sqlite3.connect(memory.database)) as connection:
        connection.execute("update meta set value = 99 where key = 'format'")
        connection.commit()
    with pytest.raises(StoreTooNew) as refused:
        memory.find("retry")
    assert "`clew memory rebuild`" in refused.value.hint
    rebuild(memory.database, memory.documents)
    assert names(memory.find("how many retries"))[0] == "retries"


def test_an_index_that_cannot_be_made_is_made_in_memory_with_one_notice(memory: Memory) -> None:
    memory.database.parent.write_text("no folder", encoding="utf-8")
    found = memory.find("how many retries")
    assert names(found)[0] == "retries"
    (notice,) = found.notices
    assert notice.startswith("the index could not be kept") and str(memory.database) in notice
    assert not Path(":memory:").exists()


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("others", [0, 30])
@pytest.mark.parametrize(
    "question",
    ["crockery", "Crockery shelf", "porcelain", "plates", "tea pot is missing", "餐具", "where is our crockery?"],
)
def test_a_document_is_found_by_each_word_of_its_name_description_tags_and_cues(
    tmp_path: Path, question: str, others: int
) -> None:
    memory = Memory(tmp_path / "memory", tmp_path / "memory.db")
    for number in range(others):
        memory.note(f"berth-{number}", f"Berth {number} is {number + 3} fathoms deep.")
    memory.note(
        "shelf", "The stuff sits in the cupboard.", name="Crockery shelf", tags="[porcelain]",
        description="Where plates are kept", when='["the tea pot is missing again today", "餐具在哪里"]',
    )  # fmt: skip
    best = memory.find(question).hits[0]
    assert best.name == "Crockery shelf" and best.snippet == "The stuff sits in the cupboard."
    assert best.reference == f"clew://memory/mem_shelf#L{best.first}" and best.first == best.last > 1
    assert memory.find("zygomorphic quaternions").miss


@pytest.mark.requirement("W-06")
def test_of_many_documents_with_one_tag_as_many_are_shown_as_of_those_that_say_the_word(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory", tmp_path / "memory.db")
    for number in range(40):
        memory.note(f"a{number}", f"It has {number} rooms.", tags="[porcelain]")
        memory.note(f"b{number}", f"There are {number} teacups.")
    tagged, said = (memory.find(word, budget=60_000) for word in ("porcelain", "teacups"))
    assert len(tagged.hits) == len(said.hits) == MOST_HITS
