"""A day at the terminal: the real command on a pty, against a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, demand_extension, last_user, says, told, world
from tests.seat import seated


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


WRITES = calls(("write_file", {"path": "src/crane.py", "content": "LOCKED = True\n"}), text="I write it.")
RUNS = calls(("shell", {"command": "echo wind force 8"}), text="I look.")


@pytest.mark.requirement("R-01")
def test_a_conversation_goes_on_and_leaves_what_was_said_in_the_scrollback(here: World) -> None:
    with seated(here, play=[says("# Berths\n\nAll *free*.\n"), says("Still **free**.")]) as seat:
        seat.sees("ctrl-d").say("what about the berths?").idle(1)
        seat.say("and now?").idle(2)
        text = seat.text()
        assert text.index("› what about the berths?") < text.index("Berths\n") < text.index("All free.")
        assert text.index("› and now?") < text.index("Still free.")
        assert "*" not in text
        assert any(row.startswith("claude-sonnet-5 · main · ") for row in seat.rows())
        seat.type("ctrl-d")
        assert seat.status() == 0
        assert seat.modes() == (True, True)
    first, second = here.asked()
    demand_extension([first])
    assert "Still" not in told(second) and "All *free*." in told(second)
    assert here.lines()[-1]["type"] == "end"


@pytest.mark.requirement("R-17")
def test_a_question_shows_exactly_what_will_be_written_and_yes_holds_once(here: World) -> None:
    with seated(here, play=[WRITES, WRITES, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("lock the crane").sees("Allow this?", "+LOCKED = True")
        assert not (here.repository / "src/crane.py").exists()
        seat.type("y").sees("● write src/crane.py").idle()
    assert (here.repository / "src/crane.py").read_text() == "LOCKED = True\n"


@pytest.mark.requirement("R-17")
def test_no_goes_to_the_model_with_what_the_user_types(here: World) -> None:
    with seated(here, play=[WRITES, says("As you like.")]) as seat:
        seat.sees("ctrl-d").say("lock the crane").sees("Allow this?").type("n").sees("Why not?")
        seat.say("ask the crew first").sees("✗ write src/crane.py").idle()
    assert not (here.repository / "src/crane.py").exists()
    assert "ask the crew first" in "".join(last_user(here.asked()[-1]))


@pytest.mark.requirement("R-17")
def test_always_allows_what_the_rule_says_and_nothing_beside_it(here: World) -> None:
    again = calls(("shell", {"command": "echo wind force 9"}), text="I look again.")
    other = calls(("shell", {"command": "ls src"}), text="And there.")
    with seated(here, play=[RUNS, again, other, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("how is the wind?").sees_now("always command:echo *")
        seat.type("a").sees("● run echo wind force 9", "? run ls src").type("y").idle()
        assert seat.text().count("? run echo") == 1
