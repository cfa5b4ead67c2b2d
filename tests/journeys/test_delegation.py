"""A part of the work goes to a sub-agent: its own window, session and limits; the same permissions and person."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agents import World, calls, last_user, of_sub_agent, says, told, world
from tests.scripted_server import Asked, Turn

from clew.core.agent.events import Called, Delegated, Event, RunEnded, RunStarted, Text
from clew.core.agent.permissions import Permit

TASK = {"task": "Which berths are free?", "context": "Look into src/berths.py."}
FOUND = "src/berths.py:4 compares lengths only."
PLAN = "# Plan\n\n- [ ] survey the berths\n- [ ] paint the pier\n"


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


def split(main: Callable[[Asked], Turn], sub: Callable[[Asked], Turn]) -> Callable[[Asked], Turn]:
    """What the agent says, and what its sub-agents say."""
    return lambda asked: (sub if of_sub_agent(asked) else main)(asked)


def delegates(*made: dict[str, str], then: str = "Done.") -> Callable[[Asked], Turn]:
    """An agent that delegates in its first step and ends in its second."""

    def main(asked: Asked) -> Turn:
        answered = any(block["type"] == "tool_result" for block in asked.json["messages"][-1]["content"])
        return says(then) if answered else calls(*(("delegate", one) for one in made))

    return main


def step(asked: Asked) -> int:
    """Which model call of a run this is, from 0."""
    return sum(message["role"] == "assistant" for message in asked.json["messages"])


def sub_agents(here: World) -> list[list[dict[str, Any]]]:
    """The transcripts of all sub-agents."""
    read = [[json.loads(row) for row in path.read_text().splitlines()] for path in here.sessions()]
    return [lines for lines in read if lines[0].get("delegated")]


@pytest.mark.requirement("W-16", "W-14")
def test_a_sub_agent_works_in_a_window_of_its_own_and_its_answer_is_the_result_and_a_note(here: World) -> None:
    def sub(asked: Asked) -> Turn:
        return says(FOUND) if step(asked) else calls(("read", {"path": "src/berths.py"}), text="I read it.")

    here.run("sort out the berths", "--yes", play=split(delegates(TASK), sub))
    first, *subs, last = here.asked()
    assert [of_sub_agent(asked) for asked in (first, *subs, last)] == [False, True, True, False]
    assert last_user(subs[0])[-1] == f"{TASK['task']}\n\n{TASK['context']}"
    assert "sort out the berths" not in told(subs[0])
    assert "def free_berths" in last_user(subs[1])[0]
    (result,) = last_user(last)[:1]
    assert result.startswith(FOUND)
    assert "def free_berths" not in told(last)
    (lines,) = sub_agents(here)
    main = next(path.stem for path in here.sessions() if path.stem != lines[0]["id"])
    assert lines[0]["delegated"] == main
    assert lines[-1]["outcome"] == "finished"
    note = next(word.strip(";]") for word in result.split() if word.startswith("clew://memory/"))
    kept = here.inside("open", note).out
    assert FOUND in kept
    spot = f"clew://session/{lines[0]['id']}#1.2"
    assert spot in kept
    assert FOUND in here.inside("open", spot).out
    assert [one["id"] for one in here.inside("session", "list", "--json").json["sessions"]] == [main]


@pytest.mark.requirement("W-16")
def test_a_sub_agent_looks_and_runs_but_cannot_edit_write_memory_plan_or_start_others(here: World) -> None:
    here.run("go", "--yes", play=split(delegates(TASK), lambda asked: says(FOUND)))
    main, sub = ({tool["name"] for tool in asked.json["tools"]} for asked in here.asked()[:2])
    assert main - sub == {
        "write_file", "edit_file", "memory_note", "memory_log", "session_search", "delegate", "new_context",
        "diagnostics",
    }  # fmt: skip
    assert {"read", "grep", "shell", "terminal_spawn", "memory_recall", "memory_open"} <= sub < main


@pytest.mark.requirement("W-16")
def test_a_sub_agent_gets_the_plan_and_notes_of_the_workspace_and_nothing_of_the_users_own(here: World) -> None:
    question = "may a ship go to berth seven?"
    here.inside("note", "Berth 7 is closed for dredging.", "--name", "berth seven", "--when", question)
    here.inside("note", "I want berths painted teal.", "--name", "teal berths", "--personal", "--when", question)
    private = next(here.home.rglob("memory/user/**/*.md"))
    id_ = next(row.split()[1] for row in private.read_text().splitlines() if row.startswith("id:"))

    def main(asked: Asked) -> Turn:
        turns = (
            calls(("memory_note", {"text": PLAN, "kind": "plan", "mode": "replace"})),
            calls(("delegate", {"task": question})),
            says("ok"),
        )
        return turns[step(asked)]

    def sub(asked: Asked) -> Turn:
        if step(asked):
            return says(FOUND)
        return calls(
            ("memory_recall", {"query": "berths painted teal"}), ("memory_open", {"ref": f"clew://memory/{id_}"}),
            ("memory_recall", {"query": "berths painted teal", "scope": "sessions"}),
        )  # fmt: skip

    here.run("I want my berths painted teal", play=[says("Noted.")])
    before = len(here.asked())
    here.run(question, "--yes", play=split(main, sub))
    asked = [one for one in here.asked() if of_sub_agent(one)]
    begun = told(asked[0])
    assert "· berth seven ·" in begun
    assert "- [ ] survey the berths" in begun
    assert "teal" not in told(asked[0], system=True)
    recalled, opened, sessions = last_user(asked[1])[:3]
    assert "painted teal" not in recalled + opened + sessions
    assert "belongs to the user" in opened
    assert "· teal berths ·" in told(here.asked()[before])


@pytest.mark.requirement("W-16", "R-17")
def test_what_a_sub_agent_wants_is_asked_of_the_same_person_who_is_told_who_wants_it(here: World) -> None:
    def sub(asked: Asked) -> Turn:
        return says("It said hi.") if step(asked) else calls(("shell", {"command": "echo hi"}))

    with here.talk() as talk:
        talk.session.around.yes = False
        talk.answers = [Permit(True), Permit(False, "never")]
        talk.run("go", decide=split(delegates(TASK), sub))
        assert [effect.kind for effect in talk.asked] == ["agent", "command"]
        assert talk.asked[0].title == f"start a sub-agent: {TASK['task']}"
        assert talk.asked[1].title.startswith("sub-agent: ")
        assert "never" in last_user(here.asked()[2])[0]
        nested = [event.event for event in talk.events if isinstance(event, Delegated)]
        assert isinstance(nested[0], RunStarted)
        assert isinstance(nested[-1], RunEnded)
        assert any(isinstance(event, Called) and event.failed for event in nested)


@pytest.mark.requirement("W-16", "R-17")
def test_a_yes_that_is_taken_back_is_taken_back_from_sub_agents_at_work(here: World) -> None:
    with here.talk() as talk:

        def sub(asked: Asked) -> Turn:
            match step(asked):
                case 0:
                    return calls(("shell", {"command": "mkdir one"}))
                case 1:
                    talk.session.around.yes = False
                    return calls(("shell", {"command": "mkdir two"}))
                case _:
                    return says("I could not.")

        talk.answers = [Permit(False, "no more")]
        talk.run("go", decide=split(delegates(TASK), sub))
        assert [effect.title for effect in talk.asked] == ["sub-agent: run mkdir two"]
    assert (here.repository / "one").is_dir()
    assert not (here.repository / "two").exists()


@pytest.mark.requirement("W-16", "R-16")
def test_a_fork_of_a_sub_agents_session_is_a_session_like_any_other(here: World) -> None:
    here.run("go", "--yes", play=split(delegates(TASK), lambda _: says(FOUND)))
    (lines,) = sub_agents(here)
    own = lines[0]["id"]
    assert [one["id"] for one in here.command("session", "list", "--json").json["sessions"]] != [own]
    done = here.run("go on", "--session", own, "--fork", play=[says("Further.")])
    assert done.out == "Further.\n"
    (newest, *_) = here.command("session", "list", "--json").json["sessions"]
    assert newest["forked"].startswith(own)


@pytest.mark.requirement("W-16")
def test_without_a_yes_no_sub_agent_is_started(here: World) -> None:
    here.run("go", play=split(delegates(TASK), lambda asked: says(FOUND)))
    assert not sub_agents(here)
    assert "refused" in last_user(here.asked()[-1])[0]
    here.run("go", "--allow", "agent", play=split(delegates(TASK), lambda asked: says(FOUND)))
    assert len(sub_agents(here)) == 1


@pytest.mark.requirement("W-16")
def test_at_most_three_work_at_once_and_a_fourth_waits_for_its_turn(here: World) -> None:
    tasks = [{"task": f"survey pier {number}"} for number in range(5)]
    meet = (
        "touch at.{0}; while [ $(ls at.* gone.* 2>/dev/null | wc -l) -lt 3 ]; do sleep 0.05; done; "
        "echo here: $(ls at.* | wc -l); mv at.{0} gone.{0}"
    )

    def sub(asked: Asked) -> Turn:
        number = asked.json["messages"][0]["content"][-1]["text"][-1]
        if step(asked) == 0:
            return calls(("shell", {"command": meet.format(number)}))
        return says(f"Pier {number}: {last_user(asked)[0].partition('here: ')[2][0]} of us.")

    here.run("survey all", "--yes", play=split(delegates(*tasks), sub))
    results = [result.partition("\n")[0] for result in last_user(here.asked()[-1])[:5]]
    assert [result.partition(":")[0] for result in results] == [f"Pier {number}" for number in range(5)]
    assert max(int(result.partition(": ")[2][0]) for result in results) == 3
    assert len(sub_agents(here)) == 5


@pytest.mark.requirement("W-16")
def test_a_failing_sub_agent_is_an_answer_to_the_agent_which_goes_on(here: World) -> None:
    here.run("go", "--yes", play=split(delegates(TASK, then="I do it myself."), lambda asked: Turn(fault="rejected")))
    result = last_user(here.asked()[-1])[0]
    assert result.startswith("the sub-agent did not finish (failed: ")
    (lines,) = sub_agents(here)
    assert f"clew://session/{lines[0]['id']}#1" in result
    assert here.lines(0)[-1].get("final", "") + here.lines(1)[-1].get("final", "") == "I do it myself."


@pytest.mark.requirement("W-16")
def test_a_sub_agent_that_cannot_even_begin_is_an_answer_too(here: World) -> None:
    folder = here.home / "clew" / "sessions"
    aside = folder.with_name("aside")

    def main(asked: Asked) -> Turn:
        if not step(asked):
            folder.rename(aside)
            folder.write_text("a file where the folder should be")
            return calls(("delegate", TASK))
        folder.unlink()
        aside.rename(folder)
        return says("I do it myself.")

    assert here.run("go", "--yes", play=main).out == "I do it myself.\n"
    assert last_user(here.asked()[-1])[0].startswith("error: ")
    assert not sub_agents(here)


@pytest.mark.requirement("W-16")
def test_a_sub_agent_that_goes_on_and_on_is_ended_by_steps_and_by_tokens(here: World) -> None:
    def endless(asked: Asked) -> Turn:
        return calls(("glob", {"pattern": f"*{step(asked)}"}), text="Still looking.")

    here.run("go", "--yes", "--steps", "4", play=split(delegates(TASK), endless))
    assert sum(map(of_sub_agent, here.asked())) == 4
    assert "(limit: 4 model calls)" in last_user(here.asked()[-1])[0]
    assert "Still looking." in last_user(here.asked()[-1])[0]

    def costly(asked: Asked) -> Turn:
        turn = endless(asked)
        turn.input = 600_000
        return turn

    before = len(here.asked())
    here.run("go", "--yes", play=split(delegates(TASK), costly))
    assert sum(map(of_sub_agent, here.asked()[before:])) == 3
    assert "tokens)" in last_user(here.asked()[-1])[0]
    assert {lines[-1]["outcome"] for lines in sub_agents(here)} == {"limit"}


@pytest.mark.requirement("W-16", "R-16")
def test_an_interruption_ends_the_sub_agent_as_well(here: World) -> None:
    here.server.decide = split(delegates(TASK), lambda asked: Turn(("half an",), fault="hang-in"))
    with here.started("go", "--yes") as process:
        assert process.stdout is not None
        rows = map(json.loads, process.stdout)
        assert any(row["type"] == "delegated" and row["event"]["type"] == "text" for row in rows)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(20) == 130
    assert here.server.gone.wait(10)
    (lines,) = sub_agents(here)
    assert lines[-1]["outcome"] == "aborted"


@pytest.mark.requirement("W-16", "R-16")
def test_stopping_a_run_stops_its_sub_agent_while_the_session_stays_open(here: World) -> None:
    ended = threading.Event()
    with here.talk() as talk:

        def tell(event: Event) -> None:
            match event:
                case Delegated(event=Text()):
                    talk.session.interrupt.set()
                case Delegated(event=RunEnded(outcome="aborted")):
                    ended.set()
                case _:
                    pass

        talk.tell = tell  # type: ignore[method-assign]
        record = talk.run("go", decide=split(delegates(TASK), lambda asked: Turn(("half an",), fault="hang-in")))
        assert record.outcome == "aborted"
        assert ended.wait(20)
        assert talk.run("go on", says("Here I am.")).final == "Here I am."


@pytest.mark.requirement("W-16")
def test_a_long_answer_is_cut_and_the_rest_is_named(here: World) -> None:
    long = "\n".join(f"{number}: a berth like any other" for number in range(2_000))
    here.run("go", "--yes", play=split(delegates(TASK), lambda asked: says(long)))
    result = last_user(here.asked()[-1])[0]
    assert len(result) < 13_000
    (lines,) = sub_agents(here)
    assert f"clew://session/{lines[0]['id']}#1.1 holds all of it" in result


@pytest.mark.requirement("W-16")
def test_a_window_that_fills_up_while_steps_are_open_suggests_to_delegate(here: World) -> None:
    seen: list[bool] = []
    for plan in (PLAN, "# Plan\n\n- [x] survey the berths\n- [ ] paint the pier\n"):
        keep = calls(("memory_note", {"text": plan, "kind": "plan", "mode": "replace"}), text="The plan is kept.")
        look = replace(calls(("read", {"path": "src/retry.py"}), text="I look into it."), input=70_000)
        with here.talk() as talk:
            talk.run("sort out the berths", keep, replace(look, input=20_000), look, says("ok"), window=100_000)
            notice = "".join(last_user(here.asked()[-1]))
            assert "then call new_context" in notice
            seen.append("`delegate`" in notice)
    assert seen == [True, False]


@pytest.mark.requirement("W-16", "R-18")
def test_a_dump_holds_the_requests_of_a_sub_agent_in_a_folder_of_their_own(here: World, tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    here.run("go", "--yes", "--dump", str(folder), play=split(delegates(TASK), lambda asked: says(FOUND)))
    (lines,) = sub_agents(here)
    assert here.inside("prefix", str(folder), "--json").json["broken"] == 0
    (body,) = (folder / lines[0]["id"]).glob("[0-9]*[0-9].json")
    assert body.read_bytes() == here.asked()[1].body
    assert {one.stat().st_mode & 0o077 for one in folder.rglob("*.json")} == {0}, "it is for its owner alone"
