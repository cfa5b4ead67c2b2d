"""What one write calls a secret goes from the whole document that it is written to, and what a document calls so goes
from what is written to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests import agents
from tests.command import Done, clew, write
from tests.journeys.test_secrets_of_fields import holders, says
from tests.wire.lines import talking

pytestmark = pytest.mark.requirement("W-09")

WORD = "Pq81kkZZm2"
TOLD = f"The gate password is {WORD}"


@pytest.fixture
def gate(home: Path, harbour: Path) -> Path:
    """The file of a note that holds a word of which nothing says yet that it is a password."""
    done = clew(
        "note", f"Gate opens with {WORD} only.\n\nIt creaks.", "--name", "Gate", "--tag", WORD, "--when",
        f"open the gate with {WORD}", cwd=harbour,
    )  # fmt: skip
    assert done.status == 0 and "secrets" not in done.err, done.err
    (path,) = (home / "clew/memory").rglob("gate.md")
    assert WORD in path.read_text()
    return path


def is_gone(data: Path, gate: Path, done: Done) -> None:
    """The write is told of truly, and no file holds the word any more, but for what was said of it before."""
    assert done.status == 0 and says(done, WORD) == [], done.err
    assert "also of lines that were there" in done.err, done.err
    text = gate.read_text()
    assert WORD.lower() not in text.lower() and "It creaks." in text
    assert [one for one in holders(data, WORD) if not one.startswith(("audit/", "index/", "recall/"))] == []
    (audit,) = (data / "audit").rglob("*.jsonl")
    assert WORD not in audit.read_text().splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("note", TOLD, "--name", "Gate"),
        ("note", "It is new.", "--name", "Gate", "--when", TOLD),
        ("note", f"Gate opens with {WORD} only.\n\nIt creaks.", "--name", "Gate", "--when", TOLD),
        ("memory", "set", "Gate", f"when+={TOLD} now"),
        ("memory", "set", "Gate", f"description={TOLD}"),
    ],
    ids=["note", "phrase of a note", "the same note with a phrase", "set when", "set description"],
)
def test_a_word_that_a_later_write_calls_a_password_goes_from_the_older_lines(
    home: Path, harbour: Path, gate: Path, words: tuple[str, ...]
) -> None:
    is_gone(home / "clew", gate, clew(*words, cwd=harbour))


def test_a_note_that_takes_the_place_of_another_takes_the_word_from_both(home: Path, harbour: Path, gate: Path) -> None:
    is_gone(home / "clew", gate, clew("note", TOLD, "--name", "Gate", "--replace", cwd=harbour))


def test_in_an_editor_the_word_goes_from_all_lines(home: Path, harbour: Path, gate: Path) -> None:
    given = write(home, {"text.md": f"{gate.read_text()}\n{TOLD}\n"}) / "text.md"
    done = clew("memory", "edit", "Gate", cwd=harbour, env={"VISUAL": f"cp {given}"})
    assert done.status == 0 and "secrets were taken out" in done.err and WORD.lower() not in gate.read_text().lower()


def test_over_mcp_and_by_the_tool_of_the_agent_it_goes_as_well(home: Path, harbour: Path, gate: Path) -> None:
    before = gate.read_text()
    with talking(harbour) as server:
        server.initialize()
        told = json.dumps(server.call("memory_note", {"text": TOLD, "name": "Gate"}))
    assert "also of lines that were there" in told and WORD not in told
    assert WORD.lower() not in gate.read_text().lower()
    gate.write_text(before)
    with agents.world(harbour, home) as agent:
        note = agents.calls(("memory_note", {"text": TOLD, "name": "Gate"}))
        assert agent.run("keep it", "--yes", play=[note, agents.says("Kept.")]).status == 0
        assert "also of lines that were there" in agents.told(agent.asked()[-1])
    assert "gate password is" in gate.read_text() and WORD.lower() not in gate.read_text().lower()


def test_the_log_of_a_day_loses_it_from_the_entries_before(home: Path, harbour: Path) -> None:
    assert clew("log", f"opened the gate with {WORD}", cwd=harbour).status == 0
    done = clew("log", TOLD, "--heading", f"Gate {WORD}", cwd=harbour)
    (path,) = (home / "clew/memory").rglob("logs/*.md")
    assert "also of lines that were there" in done.err and says(done, WORD) == []
    assert WORD not in path.read_text() and "opened the gate with [REDACTED" in path.read_text()


def test_a_plan_and_a_handoff_lose_it_with_the_versions_that_this_write_puts_away(home: Path, harbour: Path) -> None:
    for way in ((), ("--replace",)):
        clew("handoff", "save", f"## State\nGate opens with {WORD}\n", "--name", "Gate", *way, cwd=harbour)
        done = clew("handoff", "save", f"## Next\n{TOLD}\n", *way, cwd=harbour)
        assert done.status == 0 and says(done, WORD) == [] and "also of lines" in done.err, done.err
    first = write(home, {"plan.md": f"- [ ] open the gate with {WORD}\n"}) / "plan.md"
    assert clew("plan", "edit", cwd=harbour, env={"VISUAL": f"cp {first}"}).status == 0
    first.write_text(f"- [ ] {TOLD}\n")
    done = clew("plan", "edit", cwd=harbour, env={"VISUAL": f"cp {first}"})
    first.unlink()
    assert done.status == 0 and says(done, WORD) == [], done.err
    assert holders(home / "clew/memory", WORD) == []


@pytest.mark.parametrize(
    "words",
    [
        ("note", f"It opens with {WORD} at night.", "--name", "Gate", "--tag", WORD.lower()),
        ("memory", "set", "Gate", f"when+=open the gate with {WORD}"),
    ],
    ids=["note", "set"],
)
def test_what_a_person_wrote_calls_a_password_what_is_added_loses_and_the_hand_written_line_stays(
    home: Path, harbour: Path, words: tuple[str, ...]
) -> None:
    data = home / "clew"
    assert clew("note", "It creaks.", "--name", "Gate", cwd=harbour).status == 0
    (gate,) = (data / "memory").rglob("gate.md")
    gate.write_text(f"{gate.read_text()}\n{TOLD}\n")
    done = clew(*words, cwd=harbour)
    assert done.status == 0 and "secrets" in done.err and "lines that were there" not in done.err, done.err
    assert gate.read_text().lower().count(WORD.lower()) == 1 and f"{TOLD}\n" in gate.read_text()


def test_an_editor_that_takes_out_the_line_that_called_it_a_password_does_not_keep_the_word(
    home: Path, harbour: Path
) -> None:
    assert clew("note", "It creaks.", "--name", "Gate", cwd=harbour).status == 0
    (gate,) = (home / "clew/memory").rglob("gate.md")
    before = gate.read_text()
    gate.write_text(f"{before}\n{TOLD}\n")
    given = write(home, {"text.md": f"{before}\nIt opens with {WORD}.\n"}) / "text.md"
    done = clew("memory", "edit", "Gate", cwd=harbour, env={"VISUAL": f"cp {given}"})
    assert done.status == 0 and "secrets were taken out" in done.err and WORD not in gate.read_text()


def test_only_lines_that_hold_it_are_touched(harbour: Path, gate: Path) -> None:
    text = gate.read_text().replace("It creaks.", "It  creaks,\tand\t`a = [REDACTED`   \nPq81kkZZm2x is another.")
    gate.write_text(text)
    assert clew("note", TOLD, "--name", "Gate", cwd=harbour).status == 0
    before, after = text.splitlines(), gate.read_text().splitlines()
    holding = re.compile(rf"(?i)\b{WORD}\b")
    assert {line for line in before if not holding.search(line)} - {*after} == set()
    assert not any(map(holding.search, after)) and f"{WORD}x is another." in after


def test_an_import_takes_it_from_the_note_that_was_made_before(home: Path, harbour: Path, tmp_path: Path) -> None:
    vault = write(tmp_path / "vault", {"gate.md": f"---\ndescription: Open with {WORD}\n---\nIt creaks.\n"})
    assert clew("memory", "import", vault, cwd=harbour).status == 0
    (vault / "gate.md").write_text(f"---\ndescription: Open with {WORD}\n---\nIt creaks. {TOLD}\n")
    dry = clew("memory", "import", vault, "--dry-run", cwd=harbour)
    assert "nothing was written" in dry.err and "would be taken out" in dry.err and "were taken out" not in dry.err
    done = clew("memory", "import", vault, cwd=harbour)
    assert done.status == 0 and "were taken out" in done.err and says(done, WORD) == []
    assert holders(home / "clew/memory", WORD) == []


def test_the_note_that_is_meant_is_found_also_by_a_name_that_the_write_calls_a_password(
    home: Path, harbour: Path
) -> None:
    name = f"Door {WORD}"
    assert clew("note", f"Use {WORD} at the door.", "--name", name, "--tag", WORD, cwd=harbour).status == 0
    done = clew("note", TOLD, "--name", name, cwd=harbour)
    (path,) = (home / "clew/memory").rglob("door-*.md")
    assert done.status == 0 and WORD not in path.read_text() and "also of lines that were there" in done.err, done.err
