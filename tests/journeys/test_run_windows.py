"""The window of the agent's own runs: its level, the handoff, a fresh window within a run and between two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents import World, calls, last_user, says, told, world
from tests.command import write
from tests.scripted_server import Asked, Turn

from clew.core.agent.events import Drifted, Notice, RunEnded, WindowOpened

PLAN = "# Berths\n\n- [x] Read the tides\n- [ ] Fix the retry timeout\n- [ ] Write the tests\n"


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        made.windows = True
        yield made


def sized(turn: Turn, tokens: int) -> Turn:
    """The same answer, with what its provider reports of the prompt."""
    return replace(turn, input=tokens)


@pytest.mark.requirement("W-10", "W-04")
def test_the_handoff_is_written_once_a_window_at_65_percent_and_said_once(here: World) -> None:
    look = calls(("read", {"path": "src/retry.py"}), text="The retry sleeps twice as long each time.")
    with here.talk() as talk:
        levels = [60_000, 64_000, 66_000, 70_000, 79_000]
        play = [*(sized(look, level) for level in levels), sized(says("Done."), 80_000)]
        talk.run("Find out why the retry test times out", *play, window=100_000)
        ledgers = list((here.home / "clew" / "memory").glob("workspaces/*/handoff/2*.md"))
    notices = [event.text for event in talk.told(Notice)]
    assert notices == ["the window is 66 % full; the handoff is written"]
    assert len(ledgers) == 1
    assert "Find out why the retry test times out" in ledgers[0].read_text(encoding="utf-8")
    texts = [told(asked) for asked in here.asked()]
    assert [text.count("then call new_context") for text in texts] == [0, 0, 0, 1, 1, 1]
    assert "the window is 66 % full" in "".join(last_user(here.asked()[3]))


@pytest.mark.requirement("W-11")
def test_a_fresh_window_is_not_told_that_the_one_before_was_full(here: World) -> None:
    look = calls(("read", {"path": "src/retry.py"}), text="I look.")
    with here.talk() as talk:
        levels = [9_000, 90_000, 10_000]
        talk.run("Look", *(sized(look, level) for level in levels), says("Done."), window=100_000)
        assert len(here.asked()) == 4
        assert [event.window for event in talk.told(WindowOpened)] == [2]
        assert not any("then call new_context" in told(asked) for asked in here.asked())


@pytest.mark.requirement("W-10")
def test_without_figures_of_the_provider_the_level_is_estimated_and_marked(here: World) -> None:
    env = {"CLEW_MODEL": "ollama:qwen3:8b", "OLLAMA_HOST": here.server.url}
    here.environment = dict(env)
    events = here.events("hello", play=[replace(says("Hello."), usage=False)])
    level = next(event for event in events if event["type"] == "filled")
    assert level["exact"] is False
    assert 800 < level["used"] < 8_000


@pytest.mark.requirement("W-10")
def test_nothing_is_said_of_the_level_where_nobody_watches(here: World) -> None:
    look = calls(("read", {"path": "src/retry.py"}))
    with here.talk() as talk:
        talk.attended = False
        talk.run("Look", sized(look, 70_000), sized(look, 71_000), says("Done."), window=100_000)
    assert not talk.told(Notice)
    assert "new_context." not in told(here.asked()[-1])
    assert list((here.home / "clew" / "memory").glob("workspaces/*/handoff/2*.md"))


@pytest.mark.requirement("W-11", "W-05", "W-12")
def test_new_context_goes_on_in_a_fresh_window_from_layers_and_handoff(here: World) -> None:
    write(here.repository, {"AGENTS.md": "Tests first.\n"})
    with here.talk() as talk:
        talk.run("first of all", says("noted"))
        play = [
            calls(("read", {"path": "src/retry.py"}), text="I look at the retry."),
            calls(("memory_note", {"kind": "plan", "mode": "replace", "text": PLAN})),
            calls(
                (
                    "memory_note",
                    {"kind": "handoff", "text": "## Progress and next step\n\nNext: raise the timeout to 60 s."},
                )
            ),
            calls(("new_context", {"reason": "the retry is understood"})),
            says("Open: fix the retry timeout, then write the tests. Done for now."),
        ]
        record = talk.run("Fix the retry timeout", *play)
        assert record.final.startswith("Open: fix")
        assert talk.session.window == 2
        before, after = here.asked()[-2:]
        blocks = [block["text"] for message in after.json["messages"] for block in message["content"]]
        assert blocks[0].startswith("[session_identity]")
        assert blocks[1].startswith("[handoff] This window goes on from an earlier one.")
        assert len(blocks[1].encode()) < 4_096 + 400
        for fact in (
            "Fix the retry timeout",
            "raise the timeout to 60 s",
            "Write the tests",
            "First say in two or three lines",
        ):
            assert fact in blocks[1]
        assert blocks[2:5] == ["first of all", "noted", "[run 1; finished]"]
        assert "This window began in the middle of the run" in blocks[5]
        assert blocks[6:] == ["Fix the retry timeout"]
        assert "I look at the retry." in told(before)
        assert "for attempt in range" not in told(after)
        assert before.json["system"] == after.json["system"]
        assert before.json["tools"] == after.json["tools"]
        # The hint stays as it is until the next window.
        talk.run("and now?", says("ok"))
        again = [block["text"] for message in here.asked()[-1].json["messages"] for block in message["content"]]
        assert again[:5] == blocks[:5]
    opened = talk.told(WindowOpened)
    assert [event.window for event in opened] == [2]


@pytest.mark.requirement("W-12")
def test_a_fresh_window_that_tells_another_plan_is_shown_as_drift_and_goes_on(here: World) -> None:
    with here.talk() as talk:
        play = [
            calls(("memory_note", {"kind": "plan", "mode": "replace", "text": PLAN})),
            calls(("read", {"path": "src/retry.py"}), text="Looking at the retry."),
            calls(("new_context", {})),
            says("Next I will migrate the whole database to another engine and rename all the tables."),
        ]
        record = talk.run("Fix the retry timeout", *play)
    drift = talk.told(Drifted)
    assert len(drift) == 1
    assert "Write the tests" in drift[0].missing
    assert drift[0].new
    assert record.outcome == "finished"


@pytest.mark.requirement("W-11")
def test_no_fresh_window_begins_where_the_handoff_cannot_be_saved(here: World) -> None:
    with here.talk() as talk:
        talk.run("begin", calls(("read", {"path": "README.md"}), text="I read."), says("ok"))
        folder = next((here.home / "clew" / "memory").glob("workspaces/*/handoff"))
        moved = folder.rename(folder.with_name("away"))
        folder.write_text("a file where a folder belongs", encoding="utf-8")
        play = [
            calls(("read", {"path": "src/retry.py"}), text="Reading once more."),
            calls(("new_context", {})),
            says("I go on here."),
        ]
        record = talk.run("Fix the retry timeout and the berths", *play)
        assert moved.is_dir()
        assert talk.session.window == 1
    assert record.outcome == "finished"
    assert "no fresh window: the handoff could not be saved" in last_user(here.asked()[-1])[0]


@pytest.mark.requirement("W-11")
@pytest.mark.requirement("W-14", "W-02")
def test_each_line_of_a_handoff_cites_a_spot_that_opens_and_says_so(here: World) -> None:
    play = [
        calls(("read", {"path": "src/retry.py"}), text="The delay doubles because of 2**attempt."),
        calls(("write_file", {"path": "notes.txt", "content": "x\n"}), text="Raising the pause alone failed."),
        says("The retry waits 31 seconds in all. Next: cap the delay at 8 s."),
    ]
    here.run("Cap the wait of the retry", "--yes", play=play)
    id_ = here.sessions()[-1].stem
    (ledger,) = (here.home / "clew" / "memory").glob("workspaces/*/handoff/2*.md")
    cited = re.findall(r"^- (.+) \[(#[\d.]+)\]$", ledger.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(cited) >= 4
    for line, spot in cited:
        opened = here.inside("open", f"clew://session/{id_}{spot}")
        assert opened.status == 0, opened.err
        words = line.partition(": ")[2] or line
        assert words in opened.out, (line, spot)


@pytest.mark.requirement("W-11")
@pytest.mark.parametrize("how", ["full", "overflow", "asked"])
def test_windows_that_hold_no_more_than_a_step_end_the_run_after_three(here: World, how: str) -> None:
    def decide(asked: Asked) -> Turn:
        if len(here.asked()) == 1:
            return calls(("memory_note", {"kind": "plan", "text": PLAN}))
        if how == "asked":
            return calls(("new_context", {}), text="I begin anew.")
        if how == "overflow" and any("berth.length" in text for text in last_user(asked)):
            return Turn(fault="overflow")
        return sized(calls(("read", {"path": "src/berths.py"}), text="I read it."), 90_000 if how == "full" else 0)

    with here.talk() as talk:
        record = talk.run("Which berths are free?", decide=decide, window=100_000)
        assert talk.session.window == 3
        (end,) = talk.told(RunEnded)
    assert record.outcome == ("failed" if how == "overflow" else "limit")
    assert end.hint
    if how != "overflow":
        assert "3 windows, one after the other" in record.reason
    assert len(here.asked()) <= 9


@pytest.mark.requirement("W-03")
def test_a_plan_that_is_written_again_takes_the_place_of_the_one_before(here: World) -> None:
    first, then = "- [ ] lock the crane\n- [ ] paint the pier\n", "- [x] lock the crane\n- [ ] paint the pier\n"
    play = [
        calls(("memory_note", {"kind": "plan", "text": first}), text="The plan."),
        calls(("memory_note", {"kind": "plan", "text": then}), text="Locked."),
        says("Half done."),
    ]
    here.run("see to the pier", "--yes", play=play)
    assert here.inside("plan").out.count("lock the crane") == 1
    assert "- [x] lock the crane" in here.inside("plan").out
    assert "lock the crane" not in here.inside("handoff", "--hint").out.partition("still open")[2].partition("done:")[0]
    play = [calls(("memory_note", {"kind": "plan", "mode": "append", "text": "- [ ] rest\n"})), says("ok")]
    here.run("and rest", "--yes", play=play)
    assert "- [ ] paint the pier" in here.inside("plan").out and "- [ ] rest" in here.inside("plan").out


@pytest.mark.parametrize("how", ["full", "overflow"])
def test_a_window_that_is_full_is_followed_by_a_fresh_one_without_losing_the_task(here: World, how: str) -> None:
    def decide(asked: Asked) -> Turn:
        text = told(asked)
        if "[handoff]" in text:
            return says("The retry waits 31 seconds in all." if "31 seconds" in text else "I forgot.")
        if "the wait adds up to 31 seconds" in text:
            more = calls(("read", {"path": "src/berths.py"}), text="Now the berths.")
            return Turn(fault="overflow") if how == "overflow" else sized(more, 90_000)
        return calls(("read", {"path": "src/retry.py"}), text="With five attempts the wait adds up to 31 seconds.")

    with here.talk() as talk:
        talk.attended = False
        record = talk.run("How long does the retry wait in all?", decide=decide, window=100_000)
        assert talk.session.window == 2
    assert record.final == "The retry waits 31 seconds in all."


@pytest.mark.requirement("W-11", "R-06")
@pytest.mark.parametrize("known", [True, False])
def test_earlier_runs_that_are_too_much_for_the_model_leave_and_the_task_is_done(here: World, known: bool) -> None:
    """A session that moves to a smaller model: its window is known, or its provider says so."""

    def decide(asked: Asked) -> Turn:
        return Turn(fault="overflow") if len(asked.body) > 45_000 else says("Done.")

    with here.talk() as talk:
        for number in range(12):
            talk.run(f"{number} " + "What is it about the tides? " * 90, says("It is the moon. " * 200))
        record = talk.run("and now?", decide=decide, window=16_000 if known else None)
        assert (record.outcome, record.final) == ("finished", "Done.")
    assert "and now?" in told(here.asked()[-1])


@pytest.mark.requirement("R-04", "W-11")
def test_what_changed_in_an_instruction_file_is_told_again_in_a_fresh_window(here: World) -> None:
    write(here.repository, {"AGENTS.md": "Tests first.\n"})
    with here.talk() as talk:
        talk.run("one", says("1"))
        write(here.repository, {"AGENTS.md": "Tests last.\n"})
        look = calls(("read", {"path": "README.md"}), text="I look.")
        talk.run("two", look, calls(("new_context", {})), says("2"))
    seen = [told(asked).count("AGENTS.md changed since") for asked in here.asked()]
    assert seen == [0, 1, 1, 1]


@pytest.mark.requirement("W-05", "W-11")
def test_a_resumed_session_begins_with_the_hint_of_its_window_byte_for_byte(here: World) -> None:
    with here.talk() as talk:
        talk.run(
            "Fix the retry",
            calls(("read", {"path": "src/retry.py"}), text="I look."),
            calls(("new_context", {})),
            says("ok"),
        )
        id_ = talk.session.id
    hint = here.asked()[-1].json["messages"][0]["content"][1]["text"]
    with here.talk(id_) as talk:
        assert talk.session.window == 2
        talk.run("go on", says("ok"))
    assert here.asked()[-1].json["messages"][0]["content"][1]["text"] == hint


@pytest.mark.requirement("W-04")
def test_small_talk_and_runs_without_tools_hand_nothing_over(here: World) -> None:
    with here.talk() as talk:
        talk.run("hello", says("Hello!"))
        talk.run("thanks", calls(("memory_recall", {"query": "x"})), says("You are welcome."))
    assert not list((here.home / "clew" / "memory").glob("workspaces/*/handoff/*.md"))


@pytest.mark.requirement("W-04")
def test_a_commit_hands_over_by_rule_in_the_middle_of_a_run(here: World) -> None:
    seen: list[int] = []

    def decide(asked: Asked) -> Turn:
        seen.append(len(list((here.home / "clew" / "memory").glob("workspaces/*/handoff/2*.md"))))
        match len(seen):
            case 1:
                return calls(("write_file", {"path": "notes.txt", "content": "a\n"}), text="I write the notes file.")
            case 2:
                return calls(("shell", {"command": "git add . && git commit -q -m 'Add notes'"}))
            case _:
                return says("Committed.")

    with here.talk() as talk:
        record = talk.run("Add a notes file and commit it", decide=decide)
    assert record.changed == ("notes.txt",)
    assert seen == [0, 0, 1]


@pytest.mark.requirement("R-18")
def test_prefix_takes_a_fresh_window_for_a_beginning(here: World, tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    with here.talk() as talk:
        play = [calls(("read", {"path": "src/retry.py"}), text="I look."), calls(("new_context", {})), says("ok")]
        talk.run("Fix the retry", *play, dump=folder)
    report = json.loads(here.inside("prefix", str(folder), "--json").out)
    assert [one["kind"] for one in report["requests"]] == ["first", "within", "between"]
    assert report["requests"][2]["layer"] == "recent_chat"


@pytest.mark.requirement("W-11", "W-12")
def test_a_fresh_window_takes_neither_finished_work_nor_failed_calls_for_what_is_to_be_done(here: World) -> None:
    failing = calls(("shell", {"command": "cat ../../../etc/no-such-file src/never_was.py"}))
    with here.talk() as talk:
        talk.run("Raise the timeout of the retry to 60 seconds", calls(("memory_log", {"text": "did it"})), says("Up."))
        talk.run("Rename the berths to moorings everywhere", failing, says("Renamed."))
        for number in range(4):
            talk.run(f"Is mooring {number} named right?", says("It is."))
        look = calls(("read", {"path": "src/retry.py"}))
        talk.run("Go on in a fresh window", look, look, look, calls(("new_context", {})), says("Here I am."))
    hint = told(here.asked()[-1]).partition("[handoff]")[2].partition("This window began in")[0]
    assert "Rename the berths to moorings everywhere" in hint, "it still is what was said"
    assert "word for word:\n```\nGo on in a fresh window\n```" in hint
    assert "did it" not in hint
    terms = "".join(row for row in hint.split("\n") if row.startswith("Worth searching"))
    assert "etc/no-such-file" not in terms and "never_was" not in terms
