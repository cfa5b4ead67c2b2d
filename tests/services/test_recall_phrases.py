"""A message that says a `when` phrase word for word brings the note to mind, whatever the weights make of it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command import clew
from tests.services.test_recall import NOTES, TODAY, recaller

from clew.adapters.embedding import StaticTable
from clew.core.memory.recall import Note
from clew.core.memory.spoken import Spoken
from clew.services.recall import Recaller
from clew.services.recall_shelf import ShelfRoom
from clew.services.words import load_glossary
from clew.stores.seen import Seen

PHRASES = (
    "translating the yearly figures of a closed branch into German", "给线上的字段改个名字怎么上",
    "difference between a vendor portal and a login page",
)  # fmt: skip
OLD = Note(
    "mem_first", "Figures of closed branches", "They stay in the report of the year", "", "decision", "project",
    "harbour", when=(*PHRASES, "a question that only the old note foresaw"), status="superseded",
    superseded_by="mem_second",
)  # fmt: skip
NEW = replace(
    OLD, id="mem_second", description="They leave the report", when=PHRASES, status="active", superseded_by=""
)
STORE = (*NOTES, OLD, NEW)


def told(message: str, notes: tuple[Note, ...] = STORE, **how: object) -> list[str]:
    found = recaller(notes=notes).hints(message, **{"today": TODAY, "workspace": "harbour", **how})  # type: ignore[arg-type]
    return [one.id for one in found.hints]


@pytest.mark.requirement("R-10")
@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_the_very_phrase_brings_the_newer_of_a_superseded_pair(phrase: str, role: str) -> None:
    """They sound like requests that need no notes, and the weights alone take them for that."""
    assert told(phrase, role=role)[:1] == ["mem_second"]


@pytest.mark.requirement("R-10")
@pytest.mark.parametrize(
    "message",
    [
        "  TRANSLATING the “yearly figures”,\n of a closed   branch into german!! ",
        "Ｔｒａｎｓｌａｔｉｎｇ ｔｈｅ yearly figures of a closed branch into German",
        "Hello, translating the yearly figures of a closed branch into German, and I have no idea how they write dates",
        "translate yearly figures of the closed branches into German",
        "给线上的字段,改个 名字怎么上",
        "老板说给线上的字段改个名字怎么上，先做哪一步",
        "the difference between a vendor-portal and the login page?",
    ],
)
def test_case_width_punctuation_inflection_and_company_do_not_matter(message: str) -> None:
    assert told(message)[:1] == ["mem_second"]


@pytest.mark.requirement("R-10")
def test_what_only_the_old_note_foresaw_brings_the_one_that_holds_now() -> None:
    assert told("A question that only the old note foresaw") == ["mem_second"]
    assert told("a question that only the old note foresaw", (*NOTES, replace(OLD, superseded_by=""), NEW)) == []
    gone = replace(OLD, status="deleted")
    assert told("a question that only the old note foresaw", (*NOTES, gone, NEW)) == []


@pytest.mark.requirement("R-10")
def test_a_phrase_in_passing_has_to_be_long_enough_to_be_about_one_thing() -> None:
    short = replace(NEW, when=("deploy", "close the branch"))
    assert Spoken.of([short.when]).said_in("I deploy the ferry now").tolist() == []
    assert told("close the branch", (*NOTES, short)) == ["mem_second"]
    passing = "yesterday I had to close the branch of the old shop in town and then we went home for a long dinner"
    assert Spoken.of([short.when]).said_in(passing).tolist() == []
    assert Spoken.of([PHRASES]).said_in(passing + ", since " + PHRASES[0]).tolist() == [0]


@pytest.mark.requirement("R-10")
@pytest.mark.parametrize(
    "phrase", ["deploy", "how do I deploy?", "can I merge?", "怎么部署？", "can I?", "行吗", "a long tale " * 20]
)
def test_a_phrase_that_is_the_whole_message_is_said_however_short_or_long_it_is(phrase: str) -> None:
    store = (*NOTES, replace(NEW, when=(phrase,)))
    assert told(phrase, store)[:1] == ["mem_second"]
    assert told(f" {phrase.upper()}!", store)[:1] == ["mem_second"]
    assert Spoken.of([(phrase,)]).said_in(f"what is the capital of France, and {phrase}").tolist() == []


@pytest.mark.requirement("R-08")
def test_window_scope_expiry_and_rejection_outweigh_the_very_phrase(tmp_path: Path) -> None:
    phrase = PHRASES[0]
    assert told(phrase, workspace="ferry") == []
    assert told(phrase, (*NOTES, replace(NEW, expires="2026-06-14"))) == []
    assert told(phrase, (*NOTES, replace(NEW, status="deprecated"))) == []
    one = recaller(Seen(tmp_path / "seen.db"), STORE)
    runs = [run for run in range(1, 14) if one.hints(phrase, today=TODAY, session="s", run=run).hints]
    assert runs == [1, 12]
    one.reject("mem_second", phrase)
    found = one.hints(phrase, today=TODAY)
    assert "mem_second" not in {hint.id for hint in found.hints}
    one.accept("mem_second")
    assert found.considered and one.hints(phrase, today=TODAY).hints[0].id == "mem_second"


@pytest.mark.requirement("R-10")
def test_phrases_on_disk_are_those_in_memory_also_after_a_note_changed(tmp_path: Path) -> None:
    room = ShelfRoom(tmp_path / "recall")
    many = tuple(replace(NOTES[5], id=f"mem_{at}", name=f"Ferry number {at}") for at in range(20))
    before = (*many, replace(NEW, when=("quite another situation arises",)), NOTES[0])
    room.refresh(before, load_glossary())
    room.refresh((NOTES[0], OLD, NEW, *many), load_glossary())
    opened = room.open()
    table = StaticTable.load()
    assert opened is not None
    again = Recaller(opened, {"static": lambda: table})
    for phrase in (*PHRASES, OLD.when[-1]):
        assert [one.id for one in again.hints(phrase, today=TODAY).hints][:1] == ["mem_second"], phrase
    assert not again.hints("quite another situation arises", today=TODAY).hints


_WORDS = ("ledger sail anchor invoice harbour crane pilot tariff mooring ballast 泊位 吊机 领航 费率 系缆 压舱").split()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(_WORDS), min_size=3, max_size=7, unique=True), st.randoms(use_true_random=False))
def test_a_phrase_is_found_in_whatever_it_stands_in(words: list[str], chance: random.Random) -> None:
    phrase = " ".join(words)
    others = [[" ".join(chance.sample(_WORDS, 4))] for _ in range(chance.randrange(5))]
    spoken = Spoken.of([*others, [phrase]])
    around = [f"Well, {phrase.upper()}!", "、".join(words), f"x y {phrase} z", "\n".join(words)]
    for said in around:
        assert len(others) in spoken.said_in(said).tolist()
    assert len(others) not in spoken.said_in(" ".join(words[:-1])).tolist()


@pytest.mark.requirement("R-10", "W-14")
def test_the_command_hints_the_note_that_took_the_place_of_another_for_the_phrase_of_both(harbour: Path) -> None:
    phrase = "translating a berth permit for the harbour master"
    first = ("--name", "Permits", "--when", phrase, "--when", "spelling of a ship in the register")
    clew("note", "Permits are translated by the office in town.", *first, cwd=harbour)
    clew("note", "Permits are translated by the agent of the ship.", "--name", "Permits", "--when", phrase, "--replace",
         cwd=harbour)  # fmt: skip
    for said in (phrase.upper(), f"next: {phrase}, as agreed", "spelling of a ship in the register"):
        hints = clew("recall", "--json", said, cwd=harbour).json["hints"]
        assert [one["description"] for one in hints] == ["Permits are translated by the agent of the ship."], said
