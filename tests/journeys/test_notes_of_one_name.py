"""Notes that have one name, or would get one: written at the same time, without a name, with one that is too long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.command import ARGV, Done, clew, environ


def said(done: Done) -> str:
    """The reference that a command gave; it must have worked."""
    assert done.status == 0, done.err
    return done.out.strip()


def notes_of(home: Path) -> list[Path]:
    return sorted((home / "clew" / "memory").rglob("*.md"))


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("replacing", [True, False], ids=["replace", "append"])
def test_of_eight_who_write_one_note_at_once_none_loses_a_word_and_one_note_holds(
    harbour: Path, home: Path, replacing: bool
) -> None:
    words = [f"Berth {number} is free." for number in range(8)]
    more = ["--replace"] if replacing else []
    running = [
        subprocess.Popen(
            [*ARGV, "note", word, "--name", "Same", *more], cwd=harbour, env=environ({}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for word in words
    ]  # fmt: skip
    told = [(one.communicate(timeout=120)[1], one.returncode) for one in running]
    assert [status for _, status in told] == [0] * 8, told
    (holds,) = clew("memory", "list", "--json", cwd=harbour).json
    texts = {path: path.read_text(encoding="utf-8") for path in notes_of(home)}
    assert len(texts) == (8 if replacing else 1)
    assert sorted(word for word in words for text in texts.values() if word in text) == words
    newer = [text.partition("superseded_by: ")[2].split("\n")[0] for text in texts.values()]
    assert newer.count("") == 1 and len(set(newer)) == len(newer), "a chain, without forks"
    assert clew("memory", "check", cwd=harbour).status == 0 and holds["name"] == "Same"


@pytest.mark.requirement("W-01", "W-04")
def test_a_note_without_a_name_is_never_added_to_another(harbour: Path, home: Path) -> None:
    begin = "The crane on the north quay of the old harbour stops when the wind"
    refs = {said(clew("note", f"{begin} blows from the {side}.", cwd=harbour)) for side in ("north", "south")}
    assert len(refs) == 2 == len(notes_of(home))
    assert clew("note", f"{begin} blows from the north.", cwd=harbour).err.startswith("nothing to save")
    nameless = clew("note", f"{begin} turns.", "--replace", cwd=harbour)
    assert nameless.status == 2 and "--name NAME" in nameless.err and len(notes_of(home)) == 2
    long = clew("note", "Stop.", "--name", "n" * 81, cwd=harbour)
    assert long.status == 2 and "longer than 80 characters" in long.err and len(notes_of(home)) == 2


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("more", [["--replace"], []], ids=["replace", "append"])
def test_where_two_notes_of_one_name_hold_a_note_of_that_name_is_refused_until_they_are_told_apart(
    harbour: Path, home: Path, more: list[str]
) -> None:
    said(clew("note", "Deploy by hand.", "--name", "Deploy", cwd=harbour))
    (path,) = notes_of(home)
    text = path.read_text(encoding="utf-8")
    id_ = text.partition("id: ")[2].split("\n")[0]
    twin = path.with_name("deploy-2.md")
    twin.write_text(text.replace(id_, "mem_0123456789ab").replace("by hand", "with make"), encoding="utf-8")
    before = {one: one.read_bytes() for one in notes_of(home)}
    refused = clew("note", "Deploy with the robot.", "--name", "deploy", *more, cwd=harbour)
    assert refused.status == clew("memory", "forget", "Deploy", cwd=harbour).status == 2
    assert "`deploy` is more than one document" in refused.err and "supersedes=PATH" in refused.err
    assert "notes/deploy.md`" in refused.err and "notes/deploy-2.md`" in refused.err
    assert {one: one.read_bytes() for one in notes_of(home)} == before
    # A note that is given no name means none of them.
    said(clew("note", "Deploy", cwd=harbour))
    said(clew("memory", "set", id_, "supersedes=mem_0123456789ab", cwd=harbour))
    assert said(clew("note", "Deploy with the robot.", "--name", "Deploy", *more, cwd=harbour))
