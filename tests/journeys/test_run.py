"""A run of the agent, through the real command, looked at on the wire and on the disk."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents import World, calls, laid_out, last_user, says, told, world
from tests.command import write
from tests.scripted_server import Asked, Call, Turn

from clew.core.agent.events import RunEnded
from clew.errors import StoreError, UsageError
from clew.stores.transcripts import Line, Replied

RETRY_NOTE = ("note", "Retries are capped at five attempts since the outage in May.", "--name", "retry cap",
              "--when", "why does the retry test time out?")  # fmt: skip


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


# ---------------------------------------------------------------------- layers


@pytest.mark.requirement("R-02")
def test_layers_come_stable_first_each_in_blocks_of_its_own(here: World) -> None:
    write(here.repository, {"AGENTS.md": "# House rules\n\nTests first.\n"})
    here.run("look around", play=[says("I looked.")])
    here.run("and again", "--continue", play=[says("Again.")])
    body = here.asked()[-1].json
    assert [block["text"].splitlines()[0][:20] for block in body["system"]] == ["You are Clew, an age", "[injections]"]
    first, reply, last = body["messages"]
    assert first["content"][0]["text"].startswith("[session_identity]\ncwd: ")
    assert [block["text"] for block in first["content"][1:]] == ["look around"]
    assert reply == {"role": "assistant", "content": [{"type": "text", "text": "I looked."}]}
    assert [block["text"] for block in last["content"]] == ["[run 1; finished]", "and again"]


@pytest.mark.requirement("R-03")
def test_model_and_provider_are_settings_of_the_request_and_never_text(here: World) -> None:
    here.run("hello", play=[says("Hello.")])
    asked = here.asked()[-1]
    assert asked.json["model"] == "claude-sonnet-5"
    text = told(asked, system=True)
    assert "sonnet" not in text
    assert "anthropic" not in text.lower()


@pytest.mark.requirement("R-03", "R-07")
def test_thoughts_go_back_as_they_came_and_how_long_to_think_is_no_text(here: World) -> None:
    look = replace(calls(("read", {"path": "src/retry.py"})), thoughts="I should look at the retries.")
    done = here.run("look", "--thinking", "high", "--json", play=[look, replace(says("Done."), thoughts="Fine.")])
    first, second = here.asked()
    assert first.json["output_config"] == {"effort": "high"}
    assert first.json["max_tokens"] > 24_000
    answer = next(one for one in second.json["messages"] if one["role"] == "assistant")
    assert answer["content"][0] == {
        "type": "thinking", "thinking": "I should look at the retries.", "signature": "signed1",
    }  # fmt: skip
    events = [json.loads(row) for row in done.out.splitlines()]
    assert "".join(one["text"] for one in events if one["type"] == "thinking") == "I should look at the retries.Fine."
    assert [one["thinking"] for one in here.lines() if one["type"] == "answer"][-1] == "Fine."
    here.run("look", play=[says("Done.")])
    last = here.asked()[-1].json
    assert "output_config" not in last and "thinking" not in last
    assert (last["system"], last["tools"]) == (first.json["system"], first.json["tools"])
    wrong = here.inside("run", "look", "--thinking", "hard")
    assert wrong.status == 2 and "'auto', 'off', 'low', 'medium', 'high', 'max'" in wrong.err


@pytest.mark.requirement("W-04")
def test_the_model_is_asked_to_keep_what_a_run_taught_and_what_it_keeps_is_on_disk(here: World) -> None:
    """What it is told decides what it does: without the word for the end of a run nothing is kept."""

    def decide(asked: Asked) -> Turn:
        core, results = asked.json["system"][0]["text"], asked.body.count(b'"tool_result"')
        due = "before your last answer: `memory_log`" in core and "`memory_note` with `kind` plan" in core
        if not results:
            return calls(("read", {"path": "src/retry.py"}))
        if results > 1 or not due:
            return says("The delay doubles.")
        note = {"text": "The delay doubles.", "name": "retry delay", "when": ["a retry waits too long"]}
        return calls(
            ("memory_log", {"text": "Read the retries."}), ("memory_note", note),
            ("memory_note", {"text": "- [x] read the retries\n- [ ] cap the delay", "kind": "plan"}),
        )  # fmt: skip

    here.run("how long does a retry wait?", play=decide)
    memory = here.home / "clew" / "memory"
    texts = {path.name: path.read_text(encoding="utf-8") for path in memory.rglob("*.md")}
    assert "- [ ] cap the delay" in texts["PLAN.md"]
    assert any("The delay doubles." in text and "a retry waits too long" in text for text in texts.values())
    assert any("Read the retries." in text for text in texts.values())


@pytest.mark.requirement("R-03")
def test_the_base_prompt_ends_with_a_sentence_for_the_model_at_hand(here: World) -> None:
    here.run("hello", play=[says("Hello.")])
    ours = here.asked()[-1].json["system"][0]["text"]
    other = {"CLEW_MODEL": "openai:gpt-5-mini", "OPENAI_BASE_URL": f"{here.server.url}/v1", "OPENAI_API_KEY": "k" * 20}
    here.run("hello", play=[says("Hello.")], env=other)
    theirs = here.asked()[-1].json["messages"][0]["content"]
    assert ours != theirs
    assert ours.rpartition("\n\n")[0] == theirs.rpartition("\n\n")[0]


@pytest.mark.requirement("R-05")
def test_the_identity_says_where_it_is_and_nothing_that_changes(here: World) -> None:
    here.run("hello", play=[says("Hello.")])
    identity = here.asked()[-1].json["messages"][0]["content"][0]["text"]
    assert [row.partition(":")[0] for row in identity.splitlines()] == [
        "[session_identity]", "cwd", "workspace root", "memory root", "os", "platform", "shell",
    ]  # fmt: skip
    write(here.repository, {"new.txt": "new\n"})
    here.run("hello", "--continue", play=[says("Hello.")])
    assert here.asked()[-1].json["messages"][0]["content"][0]["text"] == identity


@pytest.mark.requirement("R-04")
def test_instruction_files_are_read_once_a_session_and_a_change_is_announced_once(here: World) -> None:
    write(here.repository, {"AGENTS.md": "Write tests first.\n", "sub/CLAUDE.md": "Only here.\n"})
    deep = here.repository / "sub"
    here.run("one", cwd=deep, play=[says("1")])
    injected = here.asked()[-1].json["system"][1]["text"]
    assert injected == "[injections]\n## AGENTS.md\nWrite tests first.\n\n## sub/CLAUDE.md\nOnly here."
    write(here.repository, {"AGENTS.md": "Write no tests.\n"})
    here.run("two", "--continue", cwd=deep, play=[says("2")])
    assert here.asked()[-1].json["system"][1]["text"] == injected
    assert "AGENTS.md changed since this session began" in told(here.asked()[-1])
    with here.talk() as talk:
        talk.run("one", says("1"))
        write(here.repository, {"AGENTS.md": "Write some tests.\n"})
        talk.run("two", says("2"))
        talk.run("three", says("3"))
    assert [told(asked).count("AGENTS.md changed since") for asked in here.asked()[-3:]] == [0, 1, 1]


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    ("size", "words"), [(70_000, "the rest of AGENTS.md is left out"), (20_000_000, "is too long to be read")]
)
def test_a_huge_instruction_file_is_cut_or_named_and_never_passed_over_in_silence(
    here: World, size: int, words: str
) -> None:
    write(here.repository, {"AGENTS.md": "Tests first.\n" * (size // 13)})
    here.run("one", play=[says("1")])
    assert words in here.asked()[-1].json["system"][1]["text"]


@pytest.mark.requirement("R-04")
def test_an_instruction_file_that_links_out_of_the_workspace_is_not_read(here: World, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the other project's plans", encoding="utf-8")
    (here.repository / "AGENTS.md").symlink_to(tmp_path / "secret.txt")
    here.run("one", play=[says("1")])
    assert "other project" not in told(here.asked()[-1], system=True)


@pytest.mark.requirement("R-04")
def test_what_installed_extensions_want_read_is_injected_by_name_and_a_broken_one_is_told(
    here: World, tmp_path: Path
) -> None:
    write(tmp_path / "packages", {
            "acme_rules.py": (
                "TEXT = 'Use the Acme linter.'\n\ndef late():\n    return 'Zebra rules.'\n\n"
                "def broken():\n    raise OSError('gone')\n"
            ),
        "acme_rules-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n",
        "acme_rules-1.0.dist-info/entry_points.txt": (
            "[clew.injections]\nzebra = acme_rules:late\nacme = acme_rules:TEXT\nbroken = acme_rules:broken\n"
        ),
    })  # fmt: skip
    paths = os.pathsep.join([str(tmp_path / "packages"), os.environ["PYTHONPATH"]])
    here.server.turns = [says("ok")]
    done = here.command("run", "hello", env={"PYTHONPATH": paths})
    assert here.asked()[-1].json["system"][1]["text"] == (
        "[injections]\n## extension acme\nUse the Acme linter.\n\n## extension zebra\nZebra rules."
    )
    assert "the extension broken failed and says nothing: OSError: gone" in done.err


# ---------------------------------------------------------------------- hints


@pytest.mark.requirement("R-08")
def test_hints_for_the_message_reach_the_model_as_data_that_the_user_did_not_say(here: World) -> None:
    here.inside(*RETRY_NOTE)
    here.run("why does the retry test time out?", play=[says("It is capped.")])
    hints, message = last_user(here.asked()[-1])[-2:]
    assert message == "why does the retry test time out?"
    assert "not said by the user" in hints
    assert "· retry cap · Retries are capped at five attempts since the outage in May." in hints
    assert hints.startswith("<fragment ")
    assert hints.endswith(">")


@pytest.mark.requirement("R-08")
def test_a_hint_is_not_repeated_within_ten_runs_and_may_come_again_after_them(here: World) -> None:
    here.inside(*RETRY_NOTE)
    seen: list[bool] = []
    with here.talk() as talk:
        talk.run("why does the retry test time out?", says("0"))
        for number in range(1, 12):
            talk.run("why does the retry test time out?", says(str(number)))
            seen.append("retry cap" in "".join(last_user(here.asked()[-1])))
    assert seen == [False] * 10 + [True]


@pytest.mark.requirement("R-09")
def test_hints_for_what_the_assistant_wrote_come_with_the_next_request_and_cause_none(here: World) -> None:
    here.inside(*RETRY_NOTE)
    play = [
        calls(("memory_recall", {"query": "berths"}), text="why does the retry test time out?"),
        says("why does the retry test time out?"),
    ]
    here.run("look at the berths", play=play)
    first, second = here.asked()
    assert "retry cap" not in told(first)
    results = last_user(second)
    assert "retry cap" in results[-1]
    assert "not said by the user" in results[-1]
    end = here.lines()[-1]
    assert end["type"] == "end"
    assert end["outcome"] == "finished"


@pytest.mark.requirement("R-09")
def test_a_note_hinted_for_the_user_is_not_hinted_again_for_the_assistant_in_that_run(here: World) -> None:
    here.inside(*RETRY_NOTE)
    question = "why does the retry test time out?"
    here.run(question, play=[calls(("memory_recall", {"query": "berths"}), text=question), says("Done.")])
    assert "".join(last_user(here.asked()[0])).count("retry cap") == 1
    assert "· retry cap ·" not in "".join(last_user(here.asked()[1])[-1:])


@pytest.mark.requirement("R-09")
def test_after_the_final_answer_recall_is_recorded_and_nothing_is_sent(here: World) -> None:
    here.inside(*RETRY_NOTE)
    here.run("look at the berths", play=[says("why does the retry test time out?")])
    assert len(here.asked()) == 1
    assert len(here.lines()[-1]["recalled"]) == 1
    here.run("go on", "--continue", play=[says("Done.")])
    assert "notes hinted while you worked: mem_" in told(here.asked()[-1])


# ---------------------------------------------------------------------- recent chat


@pytest.mark.requirement("R-06")
def test_old_runs_leave_in_batches_and_at_least_ten_stay(here: World) -> None:
    shown: list[int] = []
    with here.talk() as talk:
        talk.run("run 1", says("reply 1"))
        for number in range(2, 33):
            talk.run(f"run {number}", says(f"reply {number}"))
            text = told(here.asked()[-1])
            shown.append(sum(f"reply {one}\n" in text + "\n" for one in range(1, 33)))
    assert shown[:20] == list(range(1, 21))
    assert shown[20:] == [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 11]


@pytest.mark.requirement("R-06")
def test_a_long_message_is_capped_in_later_runs_and_says_so(here: World) -> None:
    here.run("begin " + "x" * 9_000 + " end", play=[says("long " + "y" * 9_000 + " done")])
    assert "x" * 9_000 in told(here.asked()[-1])
    here.run("go on", "--continue", play=[says("ok")])
    text = told(here.asked()[-1])
    assert "x" * 2_000 not in text
    assert text.count("characters left out here; `session_search` finds them") == 2
    assert "begin xxx" in text
    assert "yyy done" in text


@pytest.mark.requirement("R-06")
def test_failed_runs_are_recorded_as_such_and_the_next_one_has_the_whole_prompt(here: World) -> None:
    done = here.run("first", play=[calls(("memory_recall", {"query": "x"}), text="let me see"), Turn(fault="key")])
    assert done.status == 1
    assert "refused the key" in done.err
    here.run("second", "--continue", play=[says("ok")])
    asked = here.asked()[-1]
    assert asked.json["system"][0]["text"].startswith("You are Clew")
    text = told(asked)
    assert "[run 1; failed, no final reply (anthropic:claude-sonnet-5: the provider refused the key" in text
    assert "said last: let me see" in text


# ---------------------------------------------------------------------- on the wire


@pytest.mark.requirement("R-07")
def test_each_request_of_a_run_begins_with_all_bytes_of_the_one_before(here: World) -> None:
    here.inside(*RETRY_NOTE)
    play = [
        calls(("memory_recall", {"query": "a"}), ("memory_log", {"text": "looked"}), text="one"),
        calls(("memory_open", {"ref": "nope"}), text="why does the retry test time out?"),
        calls(Call("memory_recall", '{"query": '), text="three"),
        calls(("no_such_tool", {}), text="four"),
        says("Done."),
    ]
    done = here.run("work", play=play)
    assert done.out == "Done.\n"
    assert len(here.asked()) == 5


@pytest.mark.requirement("R-07")
@pytest.mark.parametrize(
    "fault", ["busy", "failed", "overloaded", "cut-before", "cut-start", "cut-in", "end-in", "overloaded-in"]
)
def test_a_request_that_failed_is_sent_again_byte_for_byte_and_doubles_nothing(here: World, fault: str) -> None:
    here.inside(*RETRY_NOTE)
    look = calls(("memory_recall", {"query": "a"}), text="why does the retry test time out?")
    done = here.run("mend the berths", play=[look, Turn(("half",), fault=fault), says("Done.")])
    assert (done.status, done.out) == (0, "Done.\n")
    asked = here.asked()
    assert len(asked) == 3
    assert asked[1].body == asked[2].body
    assert told(asked[-1]).count("mend the berths") == told(asked[-1]).count("· retry cap ·") == 1
    assert [line["text"] for line in here.lines() if line["type"] == "answer"][1:] == ["Done."]


@pytest.mark.requirement("R-01", "F-01")
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [("long-wait", 75, "ModelBusy"), ("failed", 75, "ModelUnavailable"), ("key", 1, "ModelRefused")],
)
def test_the_exit_status_of_a_failed_run_is_that_of_its_error(here: World, fault: str, status: int, code: str) -> None:
    turn = Turn(fault="busy", headers={"retry-after": "3600"}) if fault == "long-wait" else Turn(fault=fault)
    done = here.run("go", "--json", play=[turn])
    end = json.loads(done.out.splitlines()[-1])
    assert (done.status, end["outcome"], end["code"]) == (status, "failed", code)


@pytest.mark.requirement("R-16")
def test_a_session_that_has_lines_nobody_can_read_goes_on_and_says_so(here: World) -> None:
    here.run("one", play=[says("1")])
    with here.sessions()[0].open("a", encoding="utf-8") as file:
        file.write('{"type": "from the future"}\n{"type": "end", "ru')
    done = here.run("two", "--continue", play=[says("2")])
    assert done.out == "2\n" and "2 lines of this session cannot be read" in done.err
    assert "[run 1; finished]" in told(here.asked()[-1])
    assert "cannot be read" in here.run("three", "--continue", play=[says("3")]).err


@pytest.mark.requirement("W-10")
@pytest.mark.parametrize(("window", "exact"), [("", False), ("60000", True)])
def test_the_level_of_a_window_that_is_assumed_is_an_estimate(here: World, window: str, exact: bool) -> None:
    """What the provider reports is exact, the share of a size that nobody knows is not."""
    unknown = {"CLEW_MODEL": "anthropic:nobody-knows-this-1", **({"CLEW_WINDOW": window} if window else {})}
    events = here.events("hello", play=[says("Hello.")], env=unknown)
    (level,) = (event for event in events if event["type"] == "filled")
    assert level["exact"] is exact


@pytest.mark.requirement("R-16", "Q-42")
def test_a_step_that_finds_no_room_fails_the_run_and_is_told_once(here: World) -> None:
    with here.talk() as talk:
        keep = talk.session.around.transcript.append
        refused: list[Line] = []

        def append(*lines: Line) -> None:
            if isinstance(lines[0], Replied) and not refused:
                refused.extend(lines)
                raise StoreError("there is no room left", hint="make room, then try again")
            keep(*lines)

        talk.session.around.transcript.append = append
        record = talk.run("go", calls(("read", {"path": "src/retry.py"})), says("never"))
        assert (record.outcome, record.reason) == ("failed", "there is no room left")
        (end,) = talk.told(RunEnded)
        assert (end.code, end.hint) == ("StoreError", "make room, then try again")
        assert talk.run("again", says("Now it goes.")).final == "Now it goes."


@pytest.mark.requirement("R-01")
def test_a_run_that_came_to_its_limit_says_how_to_go_on(here: World) -> None:
    done = here.run("go", "--steps", "1", play=[calls(("read", {"path": "src/retry.py"})), says("never")])
    assert done.status == 1
    assert "1 model call" in done.err and "--continue" in done.err and "--steps" in done.err


def test_a_message_without_a_word_begins_no_run(here: World) -> None:
    with here.talk() as talk, pytest.raises(UsageError, match="nothing to do"):
        talk.run("  \n", says("What?"))
    assert here.asked() == []


def test_an_answer_without_a_word_is_told(here: World) -> None:
    done = here.run("look", play=[says(" "), says(" "), says(" ")])
    assert "the model answered nothing" in done.err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("key", "refused the key"),
        ("quota", "quota or credit"),
        ("rejected", "rejected the request"),
        ("html", "no answer"),
    ],
)
def test_what_no_second_try_can_mend_ends_the_run_with_a_hint(here: World, fault: str, words: str) -> None:
    done = here.run("work", play=[Turn(fault=fault)])
    assert done.status == 1
    assert words in done.err
    assert "hint: " in done.err
    assert here.lines()[-1]["outcome"] == "failed"


@pytest.mark.requirement("R-18", "Q-08")
def test_thirty_runs_share_their_beginnings_through_an_abort_a_resume_and_another_model(
    here: World, tmp_path: Path
) -> None:
    """The dump holds each request as it was sent, and `clew prefix` tells what was shared, and where that ends."""
    folder = tmp_path / "sent"
    here.inside(*RETRY_NOTE)
    here.run("one", "--dump", str(folder), play=[calls(("memory_recall", {"query": "a"})), says("1")])
    id_ = here.sessions()[-1].stem
    long = "It is a matter of the tides. " * 20
    for part in (range(2, 11), range(11, 21), range(21, 31)):
        with here.talk(id_) as talk:
            for number in part:
                message = "why does the retry test time out?" if number % 7 == 0 else f"run {number}"
                if number == 9:
                    # Esc, while the model speaks.
                    timer = threading.Timer(0.5, lambda: talk.session.interrupt.set())
                    timer.start()
                    talk.run(message, Turn(("half an answer",), fault="hang-in"), dump=folder)
                    timer.join()
                    continue
                look = [calls(("read", {"path": "README.md"}), text="I look.")] if number % 3 == 0 else []
                talk.model = "anthropic:claude-opus-5" if number > 25 else None
                talk.run(message, *look, says(f"{long} {number}"), dump=folder)
    bodies = [path.read_bytes() for path in sorted(folder.glob("[0-9]*[0-9].json"))]
    assert bodies == [asked.body for asked in here.asked()]
    report = json.loads(here.inside("prefix", str(folder), "--json").out)
    assert (report["between"], report["broken"]) == (29, 0)
    assert all(one["by_byte"] > 0.3 for one in report["requests"] if one["kind"] == "between")
    assert report["by_byte"] >= 0.92
    assert report["by_block"] >= 0.92
    differences = {one["layer"] for one in report["requests"] if one["kind"] == "between"}
    assert differences == {"", "recent_chat"}
    assert [one["by_usage"] for one in report["requests"][:2]] == [0.5, 0.5]
    assert here.inside("prefix", str(folder), "--min", "0.85").status == 0
    assert here.inside("prefix", str(folder), "--min", "0.999").status == 1


@pytest.mark.requirement("R-18")
def test_prefix_names_the_layer_of_the_first_difference(here: World, tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    here.run("one", "--dump", str(folder), play=[says("1")])
    here.run("two", "--continue", "--dump", str(folder), play=[says("2")])
    path = folder / "0002.json"
    whole = path.read_text(encoding="utf-8")
    for needle, layer in (("You are Clew", "system_core"), ("cwd: ", "session_identity"), ("Search notes", "tools")):
        path.write_text(whole.replace(needle, needle.upper(), 1), encoding="utf-8")
        about = folder / "0002.about.json"
        known = about.read_text(encoding="utf-8")
        about.write_text(known.replace(needle, needle.upper(), 1), encoding="utf-8")
        report = here.inside("prefix", str(folder), "--json").json
        assert report["requests"][1]["layer"] == layer
        about.write_text(known, encoding="utf-8")


# ---------------------------------------------------------------------- headless


@pytest.mark.requirement("R-01")
def test_json_prints_one_event_a_line_and_nothing_else(here: World) -> None:
    events = here.events("work", play=[calls(("memory_recall", {"query": "a"}), text="look"), says("Do", "ne.")])
    names = [event["type"] for event in events]
    assert names == [
        "run_started", "asking", "text", "answered", "filled", "calling", "called", "asking", "text", "text",
        "answered", "filled", "run_ended",
    ]  # fmt: skip
    assert events[-1]["text"] == "Done."
    assert events[-1]["steps"] == 2


@pytest.mark.requirement("R-01")
def test_text_that_is_piped_in_goes_along_with_the_message(here: World) -> None:
    here.run("review this", stdin="diff --git a/x b/x\n", play=[says("ok")])
    assert last_user(here.asked()[-1])[-1] == "review this\n\ndiff --git a/x b/x"


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize("model", ["", "embedded", "scripted:nowhere.json"])
def test_without_a_model_that_can_call_tools_it_says_what_it_needs(here: World, model: str) -> None:
    done = here.inside("run", "work", env={"CLEW_MODEL": model})
    assert done.status == 2
    assert "hint: " in done.err
    assert not here.sessions()


@pytest.mark.requirement("R-16")
def test_a_run_that_was_killed_is_a_record_for_the_next_one(here: World) -> None:
    here.server.turns = [calls(("memory_recall", {"query": "a"}), text="I will look"), Turn(fault="hang")]
    with here.started("work") as process:
        assert process.stdout is not None
        assert any(json.loads(row) == {"type": "asking", "step": 2, "window": 1} for row in process.stdout)
        process.kill()
        process.wait(20)
    kept = here.lines()
    assert [line["type"] for line in kept] == ["session", "run", "answer", "results"]
    here.run("go on", "--continue", play=[says("ok")])
    text = told(here.asked()[-1])
    assert "[run 1; crashed, no final reply; 1 tool call; said last: I will look]" in text
    assert here.asked()[-1].json["system"][0]["text"].startswith("You are Clew")


@pytest.mark.requirement("R-16")
def test_a_torn_last_line_costs_that_line_only(here: World) -> None:
    here.run("one", play=[says("1")])
    path = here.sessions()[-1]
    with path.open("ab") as file:
        file.write(b'{"type":"run","run":2,"at":"2026')
    here.run("two", "--continue", play=[says("2")])
    assert "[run 1; finished]" in told(here.asked()[-1])
    rows = path.read_bytes().splitlines()
    kinds = [json.loads(row)["type"] for row in rows if row.endswith(b"}")]
    assert kinds == ["session", "run", "answer", "end", "run", "answer", "end"]


@pytest.mark.requirement("R-16")
def test_an_interrupted_run_ends_as_aborted_and_the_next_has_the_full_prompt(here: World) -> None:
    here.server.turns = [Turn(("half an",), fault="hang-in")]
    with here.started("work") as process:
        assert process.stdout is not None
        assert any(json.loads(row)["type"] == "text" for row in process.stdout)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(20) == 130
    assert json.loads(rest.splitlines()[-1])["outcome"] == "aborted"
    assert here.server.gone.wait(10)
    here.run("go on", "--continue", play=[says("ok")])
    assert here.asked()[-1].json["system"][0]["text"].startswith("You are Clew")
    assert "[run 1; aborted, no final reply (by the user)]" in told(here.asked()[-1])


@pytest.mark.requirement("R-16")
def test_a_session_in_use_is_refused_and_can_be_forked(here: World) -> None:
    here.run("one", play=[says("1")])
    here.run("two", "--continue", "--fork", play=[says("2")])
    assert len(here.sessions()) == 2
    assert "[run 1; finished]" in told(here.asked()[-1])
    assert here.lines()[0]["forked"].endswith("#1")
    first = here.sessions()[0].read_bytes()
    here.run("three", "--continue", play=[says("3")])
    assert here.sessions()[0].read_bytes() == first


def test_secrets_reach_neither_the_model_nor_the_transcript(here: World) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    here.run(f"use {secret} now", play=[says("ok")])
    assert secret not in here.asked()[-1].body.decode()
    assert secret not in here.sessions()[-1].read_text(encoding="utf-8")


@pytest.mark.requirement("W-09")
def test_what_one_call_of_an_answer_calls_a_password_is_kept_nowhere_of_that_answer(here: World) -> None:
    word = "Kx8wq" + "2LmmQ9v"
    login = calls(("shell", {"command": f"DB_PASSWORD={word} true"}), ("shell", {"command": f"echo {word} | wc -c"}),
                  text=f"I will use {word} now.")  # fmt: skip
    here.run("log in", "--yes", play=[login, says("Done.")])
    kept = here.sessions()[-1].read_text(encoding="utf-8")
    marks = re.findall(r"\[REDACTED:\w+:([0-9a-f]{4})\]", kept)
    assert word not in kept and len(marks) == 3 and len(set(marks)) == 1, kept


@pytest.mark.requirement("W-09")
def test_a_purge_reaches_transcripts_and_what_tools_kept_and_the_session_goes_on(here: World) -> None:
    """Said in words that no rule knows; found out only afterwards."""
    word = "the-blue-heron-sleeps"
    write(here.repository, {"long.txt": f"{word}\n" * 6_000})
    play = [calls(("shell", {"command": "cat long.txt"})), says(f"It says {word}.")]
    here.run(f"what is {word}?", "--yes", play=play)
    assert word in here.sessions()[-1].read_text(encoding="utf-8")
    done = here.inside("purge", "--secret", "--yes", stdin=f"{word}\n")
    assert done.status == 0, done.err
    assert "session" in done.out + done.err
    for path in (here.home / "clew").rglob("*"):
        assert not path.is_file() or word.encode() not in path.read_bytes(), path
    here.run("and now?", "--continue", play=[says("Nothing.")])
    text = told(here.asked()[-1])
    assert word not in text
    assert "[run 1; finished; 1 tool call]" in text


def test_the_model_decides_by_what_it_reads(here: World) -> None:
    here.inside(*RETRY_NOTE)

    def decide(asked: Asked) -> Turn:
        text = told(asked)
        if "outage in May" in text and "clew://memory/" in text and "(lines" not in text:
            ref = text[text.index("clew://memory/") :].split()[0]
            return calls(("memory_open", {"ref": ref}))
        return says("five") if "Retries are capped at five" in "".join(last_user(asked)) else says("no idea")

    done = here.run("why does the retry test time out?", play=decide)
    assert done.out == "five\n", done.err
    assert len(here.asked()) == 2
    assert laid_out(here.asked()[1].json).startswith(laid_out(here.asked()[0].json))
