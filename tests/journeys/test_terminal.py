"""A day at the terminal: the real command on a pty, against a scripted model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, demand_extension, last_user, says, told, world
from tests.scripted_server import Asked, Turn
from tests.seat import PATIENCE, seated
from tests.shell_session import alive, until

from clew.entrypoints.cli.texts import say


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


# ---------------------------------------------------------------------- while it works


NAP = f"sleep 1{os.getpid()}"
"""A command that no other test has."""
SLEEPS = calls(("shell", {"command": NAP}), text="I wait.")
SHORT = calls(("shell", {"command": "sleep 1.5"}), text="I wait a little.")


@pytest.mark.requirement("R-01")
def test_enter_while_it_works_reaches_the_model_with_its_next_request(here: World) -> None:
    with seated(here, play=[SHORT, says("Understood.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for")
        seat.say("wait").sees_now("run sleep 1.5 ·").say("mind the crane")
        seat.sees("goes to the model").sees("told the model: mind the crane").idle()
    assert len(here.asked()) == 2
    demand_extension(here.asked())
    assert "Said by the user while you worked:\nmind the crane" in last_user(here.asked()[-1])[-1]


@pytest.mark.requirement("R-01")
def test_what_comes_too_late_for_the_model_is_the_next_message(here: World) -> None:
    def decide(asked: Asked) -> Turn:
        if "and the ships" in "".join(last_user(asked)):
            return says("The ships too.")
        seat.until(lambda: "goes to the model" in seat.text(), "steering")
        return says("All berths are free.")

    with seated(here, play=decide) as seat:
        seat.sees("ctrl-d").say("look at the berths").sees_now("waiting for the model").say("and the ships")
        seat.idle(2).sees("The ships too.")
    assert [one["message"] for one in here.lines() if one["type"] == "run"] == ["look at the berths", "and the ships"]


@pytest.mark.requirement("R-01")
def test_alt_enter_and_queue_are_for_the_runs_after_this_one(here: World) -> None:
    with seated(here, play=[SHORT, says("One."), says("Two."), says("Three.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("first").sees_now("run sleep 1.5 ·")
        seat.type("second").sees_now("second").type("alt-enter").sees("queued: second")
        seat.say("/queue third").sees("queued: third").idle(3).sees("Three.")
    messages = [one["message"] for one in here.lines() if one["type"] == "run"]
    assert messages == ["first", "second", "third"]


@pytest.mark.requirement("R-16")
@pytest.mark.parametrize(
    "turn", [Turn(fault="hang"), Turn(("Well, ", "then"), fault="hang-in")], ids=["asks", "writes"]
)
def test_escape_ends_a_run_at_once_while_the_model_is_asked_or_answers(here: World, turn: Turn) -> None:
    with seated(here, play=[turn, says("Again.")]) as seat:
        seat.sees("ctrl-d").say("look around")
        seat.sees_now("Well," if turn.pieces[0] == "Well, " else "waiting for the model")
        began = time.monotonic()
        seat.type("escape").sees("the run was interrupted").idle(1)
        assert time.monotonic() - began < 5
        seat.say("go on").sees("Again.").idle(2)
    assert here.server.gone.is_set()
    ends = [one for one in here.lines() if one["type"] == "end"]
    assert [one["outcome"] for one in ends] == ["aborted", "finished"]
    first, second = here.asked()
    assert first.json["system"] == second.json["system"]


@pytest.mark.requirement("R-16")
def test_escape_ends_the_tool_that_runs_and_gives_back_what_was_not_said(here: World) -> None:
    with seated(here, play=[SLEEPS, says("Again.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("wait").sees_now(f"run {NAP} ·")
        seat.say("and then sail").sees("goes to the model").type("escape").sees("the run was interrupted")
        seat.sees_now("› and then sail").type("escape", "escape").no_more("› and then sail")
        seat.say("go on").sees("Again.")
    assert NAP not in subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.requirement("R-17")
def test_escape_at_a_question_is_no_and_ends_the_run(here: World) -> None:
    with seated(here, play=[WRITES, says("Again.")]) as seat:
        seat.sees("ctrl-d").say("lock the crane").sees("Allow this?").type("escape").sees("the run was interrupted")
        seat.no_more("Allow this?").say("go on").sees("Again.")
    assert not (here.repository / "src/crane.py").exists()


@pytest.mark.requirement("R-17")
def test_a_question_takes_no_key_that_was_meant_for_the_line(here: World) -> None:
    def decide(asked: Asked) -> Turn:
        if len(here.asked()) == 1:
            seat.until(lambda: any("› yaya" in row for row in seat.rows()), "typing")
            return WRITES
        return says("Done.")

    with seated(here, play=decide) as seat:
        seat.sees("ctrl-d").say("lock the crane").sees_now("waiting for the model")
        while "? write" not in seat.text():
            seat.type("ya")
            time.sleep(0.05)
        seat.sees("Allow this?", "ctrl-u puts it aside").breath().type("y")
        seat.until(lambda: any(row.endswith("ay") for row in seat.rows()), "y in the line")
        assert not (here.repository / "src/crane.py").exists()
        seat.type("ctrl-u").no_more("› yaya").sees("y once").type("y").sees("● write").idle()
        assert any("› yaya" in row for row in seat.rows())


@pytest.mark.requirement("R-17")
def test_words_that_are_typed_at_a_question_are_text_and_allow_nothing(here: World) -> None:
    with seated(here, play=[RUNS, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("how is the wind?").sees_now("always command:echo *")
        seat.slowly("what is this").sees_now("› what is this").sees_now("Allow this?").type("ctrl-u")
        for words in ("always ask me", "yes, but first look", "n.b. the crane"):
            seat.sees_now("a always command:echo").type(words[0]).breath(0.1 if words[0] == "a" else 0)
            seat.type(words[1:]).sees_now(f"› {words}").type("ctrl-u")
        seat.sees_now("a always command:echo").type("/queue later").sees_now("› /queue later")
        seat.breath().type("enter")
        seat.sees_now("queued: later")
        assert not [one for one in here.lines() if one["type"] == "results"]
        assert "● run" not in seat.text() and "allowed from now on" not in seat.text()
        seat.sees_now("y once").type("y").sees("● run echo wind force 8").idle()


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize("marks", [("", ""), ("\x1b[200~", "\x1b[201~")], ids=["bare", "marked"])
def test_a_paste_at_a_question_is_text_that_enter_tells_the_model(here: World, marks: tuple[str, str]) -> None:
    with seated(here, play=[WRITES, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("lock the crane").sees_now("y once")
        seat.type(marks[0] + "yes, see my log:\rplay it\ra" + marks[1]).sees_now("› yes, see my log:")
        seat.sees_now("  play it").breath()
        assert "goes to the model" not in seat.text() and "● write" not in seat.text()
        seat.type("enter").sees("goes to the model").sees_now("y once")
        assert not (here.repository / "src/crane.py").exists()
        seat.type("y").sees("● write src/crane.py").idle()
    assert "yes, see my log:\nplay it\na" in last_user(here.asked()[-1])[-1]


@pytest.mark.requirement("R-17")
def test_a_line_that_was_put_aside_comes_back_and_gives_way_to_the_next_question(here: World) -> None:
    again = calls(("shell", {"command": "ls src"}), text="And there.")
    with seated(here, play=[RUNS, again, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("how is the wind?").sees_now("y once").type("mind the crane")
        seat.sees_now("› mind the crane").type("ctrl-u").sees_now("y once").type("y").sees("● run echo")
        seat.sees("? run ls src").sees_now("y once").type("y").sees("● run ls src").idle().sees_now("› mind the crane")


@pytest.mark.requirement("R-17")
def test_enter_behind_a_letter_answers_at_once_and_a_letter_alone_soon_after(here: World) -> None:
    again = calls(("shell", {"command": "ls src"}), text="And there.")
    with seated(here, play=[RUNS, again, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("how is the wind?").sees_now("y once").type("y").breath(0.1).type("enter")
        seat.sees("● run echo", "? run ls src").sees_now("y once").type("a").sees("allowed from now on", "● run ls src")
        seat.idle()
        assert "goes to the model" not in seat.text()


@pytest.mark.requirement("R-17")
def test_a_path_outside_the_workspace_is_marked_and_never_allowed_for_good(here: World, tmp_path: Path) -> None:
    away = tmp_path / "away.txt"
    turn = calls(("write_file", {"path": str(away), "content": "x\n"}), text="I write.")
    with seated(here, play=[turn, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("write")
        seat.sees("OUTSIDE the workspace", "Allow this?")
        assert "always" not in seat.text()
        seat.type("a").sees_now("› a").type("backspace").no_more("› a").sees_now("y once").type("y").idle()
    assert away.read_text() == "x\n"


# ---------------------------------------------------------------------- what is typed


def test_five_thousand_pasted_lines_are_shown_folded_and_sent_whole(here: World) -> None:
    paste = "".join(f"line {number} of the log\n" for number in range(5_000))
    with seated(here, play=[says("Read.")]) as seat:
        seat.sees("ctrl-d").type("look: ", f"\x1b[200~{paste}\x1b[201~")
        seat.sees_now("› look: [5,000 lines pasted]").type("enter").idle()
        assert "line 4999" not in seat.text()
    assert last_user(here.asked()[0])[-1] == f"look: {paste}".strip()


def test_a_terminal_without_bracketed_paste_sends_nothing_before_enter(here: World) -> None:
    paste = "".join(f"line {number} of the log\r" for number in range(5_000))
    with seated(here, play=[says("Read.")]) as seat:
        seat.sees("ctrl-d").type("look: ")
        seat.sees_now("› look:").type(paste).sees_now("[5,000 lines pasted]")
        assert here.asked() == []
        seat.breath().type("enter").idle()
    sent = last_user(here.asked()[0])[-1]
    assert sent == f"look: {paste}".replace("\r", "\n").strip()
    assert len(here.asked()) == 1


def test_a_burst_without_marks_is_one_paste_also_where_marks_were_seen_before(here: World) -> None:
    paste = "".join(f"line {number} of the log\r" for number in range(5_000))
    with seated(here, play=[SLEEPS]) as seat:
        seat.sees("ctrl-d").type("/yes \x1b[200~on\x1b[201~").sees_now("› /yes on").breath().type("enter")
        seat.sees("not asked for").say("wait").sees_now(f"run {NAP} ·").type(paste)
        seat.sees_now("[5,000 lines pasted]").breath().type("escape").sees("interrupted")
        assert "goes to the model" not in seat.text()
        seat.sees_now("[5,000 lines pasted]").type("ctrl-c").no_more("pasted]").breath()
        seat.type(paste[:5_000].replace("\r", "\x1b[C\r")).sees_now("line 255 o").breath()
    assert len(here.asked()) == 1


def test_lines_can_be_broken_and_come_back_in_the_next_session_without_secrets(here: World, home: Path) -> None:
    with seated(here, play=[says("Yes.")]) as seat:
        seat.sees("ctrl-d").type("one\\").sees_now("one\\").type("enter").no_more("one\\").type("two").sees_now("  two")
        seat.type("ctrl-j").breath().say("password = 'hunter2hunter2hunter2'").idle()
        seat.type("ctrl-d")
        assert seat.status() == 0
    assert last_user(here.asked()[0])[-1].startswith("one\ntwo\n")
    kept = home / "clew" / "typed.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "one\\ntwo" in kept.read_text() and "hunter2" not in kept.read_text()
    with seated(here, play=[says("Yes.")]) as seat:
        seat.sees("ctrl-d").type("up").sees_now("› one")


def test_paths_and_commands_are_completed(here: World) -> None:
    with seated(here, play=[says("Yes.")]) as seat:
        seat.sees("ctrl-d").type("/ha").sees_now("/handoff ").type("tab").sees_now("› /handoff").type("ctrl-c")
        seat.no_more("› /handoff").type("look at @src/be").sees_now(" berths.py").type("tab")
        seat.sees_now("› look at @src/berths.py").type("enter").idle()
    assert last_user(here.asked()[0])[-1] == "look at @src/berths.py"


@pytest.mark.parametrize("menu", [("/con", "tab"), ("/con",), ("/con tent",)], ids=["chosen", "open", "none"])
def test_escape_twice_clears_the_line_also_where_names_are_offered(here: World, menu: tuple[str, ...]) -> None:
    with seated(here, play=[says("Seen.")]) as seat:
        seat.sees("ctrl-d").type(menu[0]).sees_now(f"› {menu[0]}")
        if menu[0] == "/con":
            seat.sees_now("/context ")
        seat.type(*menu[1:])
        if menu[1:]:
            seat.sees_now("› /context")
        seat.type("escape", "escape").no_more("› /con").type("see").sees_now("› see").type("enter").idle()
    assert last_user(here.asked()[0])[-1] == "see"


# ---------------------------------------------------------------------- how it looks


LONG = "港口的泊位已经全部查看过了。" * 12 + "\n\n| 泊位 | 长度 |\n|---|---|\n| 一号 | 120 |\n\n```python\nx = 1\n```\n"


@pytest.mark.requirement("F-05")
@pytest.mark.parametrize("columns", [80, 120])
def test_wide_characters_stay_within_the_terminal_and_the_interface_is_chinese(here: World, columns: int) -> None:
    env = {"LC_ALL": "zh_CN.UTF-8"}
    with seated(here, play=[WRITES, says(LONG)], columns=columns, env=env) as seat:
        seat.sees("ctrl-d 退出").say("查看所有泊位").sees("允许吗？").type("y").sees("输入 2", "一号")
        text = seat.text()
    assert "港口的泊位" in text and "› 查看所有泊位" in text
    joined = "".join(row for row in text.split("\n") if "港口" in row or "泊位已" in row or "查看过了" in row)
    assert joined.count("港口的泊位已经全部查看过了。") == 12
    assert not any(row.startswith(("。", "，")) for row in text.split("\n"))
    assert "? 写入 src/crane.py" in text and "● 写入 src/crane.py" in text
    for english in ("Allow", "waiting", "tokens in", "once", "? write", "● write"):
        assert english not in text


@pytest.mark.parametrize("columns", [30, 60, 80])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_greeting_is_not_cut(here: World, columns: int, language: str) -> None:
    with seated(here, play=[], columns=columns, env={"CLEW_LANG": language}) as seat:
        seat.sees("ctrl-d")
        greeting = say("term.begin", language)
        seat.until(lambda: greeting.replace(" ", "") in "".join(seat.rows()).replace(" ", ""), greeting)
        assert columns < 80 or greeting in seat.rows()


@pytest.mark.requirement("F-05")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_question_about_a_server_of_the_project_says_that_its_yes_is_kept(here: World, language: str) -> None:
    entry = {"command": "./no-such-server", "args": ["--read only"], "env": {"DB": "dev"}}
    (here.repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"db": entry}}))
    with seated(here, play=[says("Done.")], env={"CLEW_LANG": language}) as seat:
        seat.sees("ctrl-d").say("look").sees_now(say("permit.keep", language))
        text = seat.text()
    assert say("permit.yes", language) not in text
    if language == "zh":
        for words in (
            "启动 MCP 服务器 db（由此项目的 .mcp.json 列出）",
            "服务器：db",
            "程序：./no-such",
            "参数：--read",
        ):
            assert words in text
        for words in ("server:", "program:", "argument:", "variable:", "start the"):
            assert words not in text


@pytest.mark.requirement("F-05")
def test_a_run_without_a_terminal_says_in_chinese_what_it_does_refuses_and_ends_with(here: World) -> None:
    chinese = {"CLEW_LANG": "zh"}
    done = here.run("风力如何？", play=[RUNS, says("好的。")], env=chinese)
    assert "· 运行 echo wind force 8" in done.err
    assert "已拒绝：用户不允许 `运行 echo wind force 8`：没有人可以询问；--yes 或 --allow 本可允许它" in done.err
    assert "refused: the user does not allow `run echo wind force 8`: nobody" in told(here.asked()[-1])
    limited = here.run("风力如何？", "--steps", "1", play=[RUNS], env=chinese)
    assert "本次运行达到上限：调用模型 1 次" in limited.err
    refused = here.run("风力如何？", play=[Turn(fault="key")], env=chinese)
    assert "本次运行失败：anthropic:claude-sonnet-5：提供方拒绝了密钥" in refused.err
    assert "提示：请确认密钥完整且有效" in refused.err
    for err in (done.err, limited.err, refused.err):
        bare = re.sub("`[^`]*`|invalid x-api-key|echo wind force", "", err)
        assert not re.search("[a-z]{2,} [a-z]{2,} [a-z]{2,}", bare)


def test_the_screen_holds_all_of_it_after_the_window_changed_its_size(here: World) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    with seated(here, play=[says(words), says("Second.")], columns=120, rows=20) as seat:
        seat.sees("ctrl-d").say("say it").idle()
        for columns, rows in ((60, 20), (100, 30), (80, 12), (80, 24)):
            seat.resize(columns, rows)
            seat.until(lambda: any(row.startswith("claude-sonnet-5 ·") for row in seat.rows()), "status")
            seat.say(f"/hints reject {columns}{rows}").sees_now(f"error: {columns}{rows} is no number")
            seat.until(lambda: sum(row == "›" for row in seat.rows()) == 1, "one empty line")
            seat.until(lambda: sum(row.startswith("claude-sonnet-5 ·") for row in seat.rows()) == 1, "one status")
        seat.say("again").idle(2).sees_now("Second.")


def test_what_a_command_says_keeps_to_the_width_that_the_window_has_now(here: World) -> None:
    with seated(here, play=[], columns=120, rows=24) as seat:
        seat.sees("ctrl-d").say("/model nonsense").sees_now("ollama:qwen3")
        (wide,) = (row for row in seat.rows() if "ollama:qwen3" in row)
        # The edge of the terminal would now break the word.
        seat.resize(wide.index("ollama:qwen3") + 3, 24)
        seat.until(lambda: sum(row.startswith("claude-sonnet-5 ·") for row in seat.rows()) == 1, "status")
        seat.until(lambda: not any("ollama:qwen3" in row for row in seat.rows()), "narrow")
        seat.say("/model nonsense").sees_now("ollama:qwen3")


def test_of_a_file_that_was_read_its_own_lines_are_counted(here: World) -> None:
    (here.repository / "two.txt").write_text("one\ntwo\n", encoding="utf-8")
    (here.repository / "single.txt").write_text("one\n", encoding="utf-8")
    reads = calls(("read", {"path": "two.txt"}), ("read", {"path": "single.txt"}), text="I read.")
    with seated(here, play=[reads, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("read them").idle().sees("read two.txt · 2 lines", "read single.txt · 1 line")


@pytest.mark.requirement("F-01")
def test_no_color_means_no_colour(here: World) -> None:
    with seated(here, play=[WRITES, says("**Done** `x`")], env={"NO_COLOR": "1"}) as seat:
        seat.sees("ctrl-d").say("lock").sees("Allow this?").type("y").idle()
        written = seat.written
    assert not re.search(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|38;|48;)[0-9;]*m", written)


def test_what_a_model_says_cannot_steer_the_terminal(here: World) -> None:
    with seated(here, play=[says("before \x1b]0;owned\x07\x1b[2J after\n")]) as seat:
        seat.sees("ctrl-d").say("go").idle()
        assert b"\x1b]0;owned" not in seat.written
        assert "before" in seat.text() and "after" in seat.text()


# ---------------------------------------------------------------------- ends


@pytest.mark.requirement("R-16")
def test_resume_shows_the_last_runs_and_goes_on(here: World) -> None:
    with seated(here, play=[says("Three are free.")]) as seat:
        seat.sees("ctrl-d").say("which berths?").idle().type("ctrl-d")
        assert seat.status() == 0
        assert f"clew resume {here.sessions()[0].stem}" in seat.text()
    with seated(here, "resume", play=[says("And two are not.")]) as seat:
        seat.sees("› which berths?", "Three are free.").say("and the others?").idle()
    assert "Three are free." in told(here.asked()[1])
    assert len(here.sessions()) == 1
    with seated(here, "resume", "--fork", play=[says("Yes.")]) as seat:
        seat.sees("› and the others?").say("sure?").idle()
        seat.say("/resume").sees("/resume N").say("/resume 1")
        seat.sees(f"session {here.sessions()[0].stem} goes on; runs so far: 2")
    assert len(here.sessions()) == 2


@pytest.mark.requirement("R-16")
def test_a_run_that_was_interrupted_says_so_when_its_session_goes_on(here: World) -> None:
    with seated(here, play=[Turn(("Well, ", "then"), fault="hang-in")]) as seat:
        seat.sees("ctrl-d").say("look around").sees_now("Well,").type("escape").sees("the run was interrupted").idle()
        seat.type("ctrl-d")
        assert seat.status() == 0
    with seated(here, "resume", play=[]) as seat:
        seat.sees("› look around", "■ the run was interrupted: by the user")
    with seated(here, play=[], env={"LC_ALL": "zh_CN.UTF-8"}) as seat:
        seat.sees("ctrl-d").say("/resume 2").sees("列表中没有第 2 个会话").say("/resume 1")
        seat.sees("› look around", "■ 本次运行被中断：由用户中断")


@pytest.mark.requirement("R-16")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_terminal_that_dies_leaves_the_transcript_whole(here: World, number: signal.Signals) -> None:
    with seated(here, play=[SLEEPS, says("Again.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("wait").sees_now(f"run {NAP} ·")
        os.kill(seat.process.pid, number)
        status = seat.status()
        assert status == (-number if number == signal.SIGKILL else 128 + number)
        if number == signal.SIGTERM:
            assert seat.modes() == (True, True)
    if number != signal.SIGKILL:
        assert here.lines()[-1]["outcome"] == "aborted"
    done = here.run("go on", "--continue", play=[says("Again.")])
    assert done.status == 0
    assert "run 1; " in told(here.asked()[-1])


def test_ctrl_c_twice_leaves_and_ends_what_runs(here: World) -> None:
    with seated(here, play=[SLEEPS]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("wait").sees_now(f"run {NAP} ·")
        seat.type("ctrl-c").sees("once more leaves").type("ctrl-c")
        assert seat.status() == 0
        assert seat.modes() == (True, True)
    assert here.lines()[-1]["outcome"] == "aborted"


def test_ctrl_c_is_not_pressed_twice_where_something_was_typed_in_between(here: World) -> None:
    with seated(here, play=[]) as seat:
        seat.sees("ctrl-d").type("abc").sees_now("› abc").type("ctrl-c").no_more("› abc").type("xyz").sees_now("› xyz")
        seat.type("ctrl-c").no_more("› xyz").sees_now("once more leaves")
        seat.say("/yes").sees("`/yes on` or `/yes off`").type("ctrl-c").breath(0.1).type("ctrl-c")
        assert seat.status() == 0


def test_a_program_that_heeds_no_signal_holds_nobody_up_and_is_ended(here: World) -> None:
    (here.repository / "stubborn.py").write_text(
        "import signal, time\n"
        "for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):\n    signal.signal(one, signal.SIG_IGN)\n"
        "print('I stay', flush=True)\ntime.sleep(600)\n"
    )
    command = f"{sys.executable} {here.repository}/stubborn.py"
    start = calls(("terminal_spawn", {"command": f"exec {command}", "name": "stubborn"}), text="I start it.")
    with seated(here, play=[start, says("It runs.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("start it").sees("It runs.").idle()
        assert until(lambda: bool(alive(command)), PATIENCE)
        began = time.monotonic()
        seat.type("ctrl-d")
        assert seat.status() == 0
        assert time.monotonic() - began < 6
    assert until(lambda: not alive(command), PATIENCE)


def test_without_a_model_it_says_what_it_needs(here: World) -> None:
    for name in ("embedded", None):
        with seated(here, env={"CLEW_MODEL": name, "ANTHROPIC_API_KEY": None}) as seat:
            seat.sees("needs a model", "export ANTHROPIC_API_KEY", "clew models")
            assert seat.status() == 2
    with seated(here, env={"ANTHROPIC_API_KEY": None, "ANTHROPIC_BASE_URL": None}) as seat:
        seat.sees("needs a key", "export ANTHROPIC_API_KEY")
        assert seat.status() == 2


def test_without_a_terminal_clew_alone_is_help(here: World) -> None:
    done = here.command()
    assert done.status == 0 and done.out.startswith("Usage: clew")


# ---------------------------------------------------------------------- commands


def test_commands_tell_what_the_model_was_given(here: World) -> None:
    question = "why does the retry test time out?"
    here.inside("note", "Retries are capped at five attempts since May.", "--name", "retry cap", "--when", question)
    with seated(here, play=[says("They are capped."), says("They double.")], rows=60) as seat:
        seat.sees("ctrl-d").say("/context").sees("nothing was sent")
        seat.say(question).sees("hint: retry cap").idle()
        seat.say("/context").sees("system_core", "session_identity").say("/context full").sees("[session_identity]")
        seat.say("/hints").sees("1  retry cap", "/hints reject N").say("/hints reject 1").sees("rejected: retry cap")
        seat.say("/memory retries").sees("Retries are capped at five attempts")
        seat.say("/plan").sees("there is no plan yet").say("/handoff").sees("nothing has been handed over here yet")
        seat.say("/shells").sees("no shell is open")
        seat.say("/thinking hard").sees("is no level of thinking").say("/thinking low").sees("thinking: low")
        seat.say("/model anthropic:claude-opus-5").sees("anthropic:claude-opus-5 works from now on")
        seat.say("and now?").sees("They double.").idle(2)
        seat.say("/export out.md").sees("exported to").say("/allow command:ls *").sees("command:ls *")
        seat.say("/new").sees("a fresh window").say("/fork").sees("goes on from").say("/resume").sees("/resume N")
        seat.say("/nonsense").sees("there is no command /nonsense").say("/quit")
        assert seat.status() == 0
    assert "They are capped." in (here.repository / "out.md").read_text()
    asked = here.asked()[-1].json
    assert (asked["model"], asked["output_config"]) == ("claude-opus-5", {"effort": "low"})


def test_what_was_handed_over_is_shown_without_the_keys_of_its_file(here: World) -> None:
    here.inside("handoff", "save", "The berths are counted.")
    with seated(here, play=[]) as seat:
        seat.sees("ctrl-d").say("/help").sees("what was handed over last")
        seat.say("/handoff").sees("The berths are counted.")
        assert "trigger:" not in seat.text() and "---" not in seat.text()


@pytest.mark.requirement("R-16")
def test_sessions_are_listed_shown_exported_and_opened_by_reference(here: World) -> None:
    here.run("which berths?", play=[says("Three.")])
    here.run("and now?", "--continue", play=[says("Two.")])
    id_ = here.sessions()[0].stem
    listed = here.command("session", "list")
    assert listed.out.startswith(f"{id_}    2  which berths?")
    assert here.command("session", "list", "--json").json["sessions"][0]["runs"] == 2
    shown = here.command("session", "show", id_[:15], "--run", "2").out
    assert "Two." in shown and "Three." not in shown
    assert here.command("session", "show", id_, "--json").json["session"]["id"] == id_
    assert "Three." in here.command("session", "export", id_).out
    assert here.command("session", "export", id_, "x.md").status == 0
    assert here.command("session", "export", id_, "x.md").status == 2
    opened = here.command("open", f"clew://session/{id_}#2")
    assert "Two." in opened.out and "Three." not in opened.out
    assert here.command("open", f"clew://session/{id_}#7").status == 2
    assert here.command("open", f"clew://session/{id_}#x").status == 2


@pytest.mark.requirement("R-16")
def test_a_session_in_use_elsewhere_is_told_and_the_terminal_given_back(here: World) -> None:
    with here.talk() as talk:
        talk.run("which berths?", says("Three."))
        with seated(here, "resume") as seat:
            seat.sees("is in use by another process", "clew resume --fork")
            assert seat.status() == 75
            assert seat.modes() == (True, True)


def test_a_long_diff_is_folded_and_shown_whole_on_demand(here: World) -> None:
    content = "".join(f"berth {number}\n" for number in range(100))
    turn = calls(("write_file", {"path": "berths.txt", "content": content}), text="I write.")
    with seated(here, play=[turn, says("Done.")]) as seat:
        seat.sees("ctrl-d").say("/yes on").sees("not asked for").say("write them").sees(
            "+berth 1", "more lines: ctrl-o"
        )
        seat.idle()
        assert "berth 99" not in seat.text()
        seat.type("ctrl-o").sees("+berth 99")
