"""What the agent's tools may do in a run, and what becomes of a run that ends in the middle of one."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, last_user, says, told, world
from tests.command import write
from tests.scripted_server import Asked, Call, Turn

from clew.core.agent.effects import Effect
from clew.core.agent.events import Steered
from clew.core.agent.offered import rule_for
from clew.core.agent.permissions import Permit, Rule, rule_of, verdict
from clew.errors import UsageError


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


EDIT = ("edit_file", {"path": "src/retry.py", "edits": [{"old": "timeout=30.0", "new": "timeout=60.0"}]})
READ = ("read", {"path": "src/retry.py"})


# ---------------------------------------------------------------------- permission


@pytest.mark.requirement("R-17")
def test_without_a_yes_edits_and_commands_are_refused_and_reading_is_free(here: World) -> None:
    play = [calls(READ), calls(EDIT, ("shell", {"command": "touch made"})), says("I may not.")]
    done = here.run("raise the timeout", play=play)
    assert done.status == 0
    results = last_user(here.asked()[-1])
    assert [text.split(":")[0] for text in results[:2]] == ["refused", "refused"]
    assert "--yes or --allow would have allowed it" in results[0]
    assert "timeout=30.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")
    assert not (here.repository / "made").exists()
    assert "for attempt in range(attempts):" in told(here.asked()[1])


@pytest.mark.requirement("R-17")
def test_yes_and_rules_allow_what_they_say_within_the_workspace(here: World) -> None:
    play = [calls(READ), calls(EDIT, ("shell", {"command": "touch made"})), says("Done.")]
    here.run("raise the timeout", "--allow", "edit:src/**", play=play)
    assert "timeout=60.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")
    assert not (here.repository / "made").exists()
    here.run("again", "--yes", play=[calls(("shell", {"command": "touch made"})), says("Done.")])
    assert (here.repository / "made").exists()


@pytest.mark.requirement("R-17")
def test_what_no_yes_covers_is_refused_without_naming_one_that_would_have_helped(here: World, tmp_path: Path) -> None:
    write(tmp_path, {"elsewhere.txt": "private\n"})
    play = [
        calls(
            ("read", {"path": str(tmp_path / "elsewhere.txt")}), ("write_file", {"path": ".mcp.json", "content": "{}"}),
            ("shell", {"command": "ls", "cwd": str(tmp_path)}),
        ),
        says("I may not."),
    ]  # fmt: skip
    here.run("look", "--yes", "--allow", "edit", play=play)
    for text in last_user(here.asked()[-1])[:3]:
        assert text.startswith("refused")
        assert "is never done unasked" in text
        assert "would have allowed it" not in text


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("how", ["edit", "write", "read", "command"])
def test_what_a_call_was_answered_is_not_known_to_the_calls_beside_it(here: World, how: str) -> None:
    """The model wrote all calls of an answer before it saw what the first of them was told."""
    path = here.repository / "berths.txt"
    path.write_text("one\ntwo\nthree\n", encoding="utf-8")
    theirs = "the user's first\nthe user's second\none\ntwo\nthree\n"
    look = ("read", {"path": "berths.txt"})
    by_line = ("edit_file", {"path": "berths.txt", "edits": [{"first": 1, "last": 2, "new": "ONE AND TWO"}]})
    whole = ("write_file", {"path": "berths.txt", "content": "all new\n"})
    beside = {
        "edit": (("edit_file", {"path": "berths.txt", "edits": [{"old": "three", "new": "3"}]}), by_line),
        "write": (by_line, whole, whole),
        "read": (look, whole),
        "command": (("shell", {"command": "cat berths.txt"}), by_line, by_line),
    }[how]

    def decide(asked: Asked) -> Turn:
        match len(here.asked()):
            case 1:
                return calls(look)
            case 2:
                path.write_text(theirs, encoding="utf-8")
                return calls(*beside)
            case 3:
                return calls(("edit_file", {"path": "berths.txt", "edits": [{"first": 3, "last": 3, "new": "ONE"}]}))
            case _:
                return says("Done.")

    here.run("tidy up", "--yes", play=decide)
    refused = last_user(here.asked()[2])
    assert "the user's first" in "".join(refused)
    assert any("has changed since you read it" in text or "shown in this same answer" in text for text in refused)
    assert path.read_text(encoding="utf-8") == theirs.replace("\none\n", "\nONE\n")


@pytest.mark.requirement("R-12")
def test_edits_of_one_answer_build_on_each_other_and_a_read_beside_them_takes_nothing_away(here: World) -> None:
    play = [
        calls(READ),
        calls(
            READ, EDIT, ("edit_file", {"path": "src/retry.py", "edits": [{"old": "attempts=5", "new": "attempts=7"}]})
        ),
        says("Done."),
    ]
    here.run("raise both", "--yes", play=play)
    assert "attempts=7, timeout=60.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")


@pytest.mark.requirement("R-01", "R-11")
def test_a_call_of_a_tool_that_is_not_there_is_told_like_any_other(here: World) -> None:
    events = here.events("go", play=[calls(("no_such_tool", {"a": 1}), READ), says("Done.")])
    called = {one["name"]: one for one in events if one["type"] == "called"}
    assert called["no_such_tool"]["failed"] and not called["read"]["failed"]
    assert [one["name"] for one in events if one["type"] == "calling"].count("no_such_tool") == 1
    assert events[-1]["outcome"] == "finished"


@pytest.mark.requirement("R-17")
def test_a_path_outside_the_workspace_asks_always(here: World, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.txt"
    outside.write_text("private\n", encoding="utf-8")
    (here.repository / "link.txt").symlink_to(outside)
    play = [
        calls(("read", {"path": str(outside)}), ("read", {"path": "link.txt"}), ("read", {"path": "../elsewhere.txt"})),
        calls(
            ("write_file", {"path": str(outside), "content": "x"}), ("shell", {"command": "ls", "cwd": str(tmp_path)})
        ),
        says("I may not."),
    ]
    here.run("look", "--yes", play=play)
    results = [*last_user(here.asked()[1]), *last_user(here.asked()[2])]
    assert [text.partition(":")[0] for text in results[:3]] == ["refused"] * 3
    assert results[4].startswith("refused")
    assert "was not read yet" in results[3]
    assert "private" not in told(here.asked()[-1])
    assert outside.read_text(encoding="utf-8") == "private\n"


@pytest.mark.requirement("R-17")
def test_the_person_sees_exactly_what_will_happen_and_their_words_reach_the_model(here: World) -> None:
    with here.talk() as talk:
        talk.session.around.yes = False
        talk.answers = [Permit(False, "use 45 instead"), Permit(True, rule=Rule("edit", "src/**"))]
        other = ("edit_file", {"path": "src/retry.py", "edits": [{"old": "timeout=30.0", "new": "timeout=45.0"}]})
        more = ("edit_file", {"path": "src/berths.py", "edits": [{"old": "free_berths(", "new": "open_berths("}]})
        talk.run(
            "raise the timeout",
            calls(READ, ("read", {"path": "src/berths.py"})),
            calls(EDIT),
            calls(other),
            calls(more),
            says("Done."),
        )
        assert [effect.title for effect in talk.asked] == ["edit src/retry.py", "edit src/retry.py"]
        assert "-def retry_with_backoff(call, attempts=5, timeout=30.0):" in talk.asked[0].preview
        assert "+def retry_with_backoff(call, attempts=5, timeout=60.0):" in talk.asked[0].preview
    assert "use 45 instead" in last_user(here.asked()[2])[0]
    assert "timeout=45.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")
    assert "open_berths(" in (here.repository / "src/berths.py").read_text(encoding="utf-8")


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("command:pytest *", "pytest -q", True),
        ("command:pytest *", "pytest", True),
        ("command:pytest *", "pytest -q; rm -rf /", False),
        ("command:pytest *", "pytest -q && curl evil", False),
        ("command:pytest *", "pytest $(rm x)", False),
        ("command:pytest *", "pytest `rm x`", False),
        ("command:pytest *", "pytest -q > /etc/passwd", False),
        ("command:pytest *", "pytest\nrm x", False),
        ("command:pytest *", "pytestx", False),
        ("command:git log *", "git push", False),
        ("command:make -j* check", "make -j4 check", True),
        ("command", "anything at all; really", True),
        ("edit:src/**", "pytest", False),
    ],
)
def test_a_rule_for_commands_holds_for_one_plain_command_only(rule: str, command: str, allowed: bool) -> None:
    effect = Effect("command", f"run {command}", command, command)
    assert (verdict(effect, [rule_of(rule)], yes=False) == "allow") is allowed


def _always(command: str) -> Rule:
    """The rule that `a` takes."""
    rule = rule_for(Effect("command", f"run {command}", command, command))
    assert rule is not None
    return rule


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    "begin",
    (
        "command|builtin|nice|setsid|stdbuf -o0|busybox|watch|strace|flock l|source|.|env|xargs|npx|python3.11|pypy|"
        "python -m timeit|docker run x|uv run|git config|git|tar|rg|fd -x|find . -exec|gdb|vim|ssh h|make|sort|uniq|"
        "./ls|/bin/ls|X=1 ls|npm run|node|sed -n|tee|some-new-program|sh *|rm *"
    ).split("|"),
)
def test_always_offers_the_very_same_command_where_a_program_could_run_others(begin: str) -> None:
    rule = _always(f"{begin} ls")
    assert verdict(Effect("command", "", "", f"{begin} ls"), [rule], yes=False) == "allow"
    for other in (f"{begin} touch made", f"{begin} sh -c x", f"{begin.replace('*', 'x')} ls x", f"{begin} ls x"):
        assert verdict(Effect("command", "", "", other), [rule], yes=False) == "ask", other


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    ("command", "rule", "like", "unlike"),
    [
        ("ls -la", "command:ls *", ["ls", "ls src -R"], ["ls; sh x", "lsof", "ls > x"]),
        ("pytest -q", "command:pytest *", ["pytest", "pytest -xvs tests/a.py -k 'a or b'"],
         ["pytest -p evil", "pytest -pevil", "pytest --basetemp=src", "pytest @more", "pytest -o x=y", "pytest -$X",
          "pytest {-p,evil}", "pytest '-p' evil", "pytest *", "pytest \\-pevil", "pytest --junitxml=src/a.py"]),
        ("python -m pytest", "command:python -m pytest *", ["python -m pytest -x"], ["python -m pip install x"]),
        ("git status", "command:git status *", ["git status --short"], ["git stash", "git status --x"]),
        ("git log -3", "command:git log *", ["git log --oneline HEAD~2..@", "git log -p --since=1.day src"],
         ["git log --output=src/a.py", "git log --outp=x", "git log -p --ext-diff", "git -c x=y log"]),
        ("git diff", "command:git diff *", ["git diff --stat -- src", "git diff --cached"],
         ["git diff --output=x", "git diff -Oorder", "git diff --no-index a b", "git diff --output x", "git difftool"]),
        ("go test ./...", "command:go test *", ["go test -run=A -v ./a"],
         ["go test -exec sh ./...", "go test --exec=sh", "go test -toolexec sh", "go test -ldflags=-extld=x"]),
        ("cargo test", "command:cargo test *", ["cargo test -p a -- --nocapture"],
         ["cargo test --config build.rustc=x", "cargo run"]),
        ("npm test", "command:npm test", ["npm test"], ["npm test --script-shell=x", "npm run x"]),
    ],
)  # fmt: skip
def test_always_offers_more_where_nothing_but_the_projects_own_code_can_run(
    command: str, rule: str, like: list[str], unlike: list[str]
) -> None:
    given = _always(command)
    assert str(given) == rule
    for other in like:
        assert verdict(Effect("command", "", "", other), [given], yes=False) == "allow", other
    for other in unlike:
        assert verdict(Effect("command", "", "", other), [given], yes=False) == "ask", other


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    "command",
    [
        "ls -la /etc", "cat ../../x", "cat ../elsewhere.txt", "cat etcl/passwd", "cat ~/x", "cat $HOME/x",
        "cat < /etc/passwd", "ls --file=/etc/passwd", "X=/etc sh y", "gcc -I/usr/include x", "cat /et?/passwd",
        "bash -c 'cat /etc/passwd'", 'echo "$(cat /etc/passwd)"', "echo `cat /etc/passwd`", "cd sub && cat ../../x",
        "curl file:///etc/passwd", "docker run -v /etc:/m x", "echo a\ncat /etc/passwd", "cat '/etc/passwd", "cd ..",
    ],
)  # fmt: skip
def test_a_command_that_names_a_path_outside_is_covered_by_no_rule(here: World, command: str) -> None:
    (here.repository / "etcl").symlink_to("/etc")
    (here.repository / "sub").mkdir()
    with here.talk() as talk:
        talk.session.around.yes = False
        talk.session.around.rules.append(rule_of("command"))
        talk.run("look", calls(("shell", {"command": command})), says("I may not."))
        (asked,) = talk.asked
        assert asked.reaches
        assert rule_for(asked) is None
        talk.run("look", calls(("terminal_spawn", {"command": command})), says("I may not."))
        assert [effect.subject for effect in talk.asked] == [command] * 2


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    "command",
    [
        "ls -la src", "/bin/cat src/retry.py > /dev/null 2>&1", "cd src && cat ../README.md", "sed -n '/foo/d' x",
        "awk '/re.*/ {print $1/2}' x", "git log main..HEAD HEAD~2", "curl -s http://127.0.0.1:1/etc", "env py -c 1",
        "if true; then /bin/cat src/../x; fi", "echo a:b,c=d :/", "cat $PWD/src/retry.py",
    ],
)  # fmt: skip
def test_a_command_that_names_no_path_outside_is_not_taken_for_one(here: World, command: str) -> None:
    (here.repository / "py").symlink_to(sys.executable)
    with here.talk() as talk:
        talk.session.around.yes = False
        talk.session.around.rules.append(rule_of("command"))
        talk.run("look", calls(("shell", {"command": command})), says("Done."))
        assert not talk.asked


@pytest.mark.requirement("R-17")
def test_where_nobody_is_asked_only_yes_lets_a_command_name_a_path_outside(here: World, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("high tide\n", encoding="utf-8")
    look = calls(("shell", {"command": "cat ../elsewhere.txt"}))
    here.run("look", "--allow", "command", play=[look, says("I may not.")])
    (answer,) = last_user(here.asked()[-1])[:1]
    assert answer.startswith("refused")
    assert f"only --yes allows a command that names {tmp_path.resolve() / 'elsewhere.txt'}" in answer
    here.run("again", "--yes", play=[look, says("Done.")])
    assert "high tide" in last_user(here.asked()[-1])[0]


@pytest.mark.requirement("R-17")
def test_what_a_person_allows_always_holds_for_the_same_and_not_for_other_programs(here: World) -> None:
    with here.talk() as talk:
        talk.session.around.yes = False
        first, same, other = "command touch one", "command touch one", "command touch two"
        talk.answers = [Permit(True, rule=_always(first))]
        talk.run("go", *(calls(("shell", {"command": one})) for one in (first, same, other)), says("Done."))
        assert [effect.subject for effect in talk.asked] == [first, other]
    assert (here.repository / "one").exists()
    assert not (here.repository / "two").exists()


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize(
    ("rule", "path", "allowed"),
    [
        ("edit:src/**", "src/a.py", True),
        ("edit:src/**", "src/deep/a.py", True),
        ("edit:src/*.py", "src/a.py", True),
        ("edit:src/*.py", "src/deep/a.py", False),
        ("edit:**/*.md", "docs/a.md", True),
        ("edit:**/*.md", "a.md", True),
        ("edit:src/**", "srcs/a.py", False),
        ("edit:a.py", "b.py", False),
    ],
)
def test_a_rule_for_edits_is_a_glob_below_the_workspace(rule: str, path: str, allowed: bool) -> None:
    effect = Effect("edit", f"edit {path}", "", path)
    assert (verdict(effect, [rule_of(rule)], yes=False) == "allow") is allowed
    outside = Effect("edit", f"edit {path}", "", path, outside=True)
    assert verdict(outside, [rule_of(rule)], yes=True) == "ask"


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize("text", ["", "everything", "read:*", "edits:src", ":x"])
def test_what_is_no_rule_is_told_so(text: str, here: World) -> None:
    with pytest.raises(UsageError, match="no rule"):
        rule_of(text)
    done = here.inside("run", "x", "--allow", text)
    assert done.status == 2
    assert "a rule is kind:pattern" in done.err


# ---------------------------------------------------------------------- steering


def test_words_said_while_it_works_come_with_the_next_request_and_cause_none(here: World) -> None:
    with here.talk() as talk:

        def decide(asked: Asked) -> Turn:
            if len(here.asked()) == 1:
                talk.words.append("only the berths, please")
                return calls(READ)
            return says("Only the berths.")

        talk.run("look at everything", decide=decide)
        assert len(here.asked()) == 2
        assert last_user(here.asked()[1])[-1] == "[user] Said by the user while you worked:\nonly the berths, please"
        assert [event.text for event in talk.told(Steered)] == ["only the berths, please"]


@pytest.mark.requirement("R-07")
def test_words_said_while_it_works_are_sent_once_however_often_their_request_is_sent(here: World) -> None:
    with here.talk() as talk:

        def decide(asked: Asked) -> Turn:
            number = len(here.asked())
            if number == 1:
                talk.words.append("only the berths, please")
                return calls(READ)
            if number == 2:
                # Too late for this request: it is sent again as it was.
                talk.words.append("and quickly")
            return Turn(fault="busy") if number < 4 else says("Only the berths.")

        talk.run("look at everything", decide=decide)
        asked = here.asked()
        assert len(asked) == 4 and asked[1].body == asked[2].body == asked[3].body
        assert told(asked[-1]).count("only the berths, please") == 1
        assert talk.words == ["and quickly"]


# ---------------------------------------------------------------------- shells


@pytest.mark.requirement("R-13")
def test_open_shells_are_named_at_the_end_of_the_next_message_without_their_output(here: World) -> None:
    with here.talk() as talk:
        spawn = calls(("terminal_spawn", {"command": "echo started; cat", "name": "server"}))
        talk.run("start it", spawn, says("It runs."))
        talk.run("what now?", says("Nothing."))
        hints, message = last_user(here.asked()[-1])[-2:]
        assert message == "what now?"
        assert "[shell_hints]" in hints
        assert "server" in hints
        assert "running" in hints
        assert "started\n" not in hints
        kill = calls(("terminal_kill", {"terminal": "server"}))
        talk.run("stop it", kill, says("Stopped."))
        talk.run("and now?", says("Nothing."))
        assert "[shell_hints]" not in "".join(last_user(here.asked()[-1]))


# ---------------------------------------------------------------------- ends in the middle


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return (
        "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2][:3]
        if sys.platform == "linux"
        else True
    )


@pytest.mark.requirement("R-16", "R-13")
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_ends_while_a_command_runs_takes_the_command_with_it(here: World, signal_: signal.Signals) -> None:
    pid_file = here.repository / "pid"
    here.server.turns = [calls(("shell", {"command": "echo $$ > pid; sleep 300"}), text="I start it."), says("Done.")]
    with here.started("run the server", "--yes") as process:
        assert process.stdout is not None
        assert any(json.loads(row)["type"] == "calling" for row in process.stdout)
        deadline = threading.Event()
        for _ in range(200):
            if pid_file.exists() and pid_file.read_text(encoding="utf-8").strip():
                break
            deadline.wait(0.05)
        pid = int(pid_file.read_text(encoding="utf-8"))
        process.send_signal(signal_)
        process.wait(20)
        for _ in range(200):
            if not _alive(pid):
                break
            deadline.wait(0.05)
        assert not _alive(pid)
    kinds = [line["type"] for line in here.lines()]
    assert kinds[:3] == ["session", "run", "answer"]
    here.run("go on", "--continue", play=[says("ok")])
    text = told(here.asked()[-1])
    how = "crashed" if signal_ == signal.SIGKILL else "aborted"
    assert f"[run 1; {how}, no final reply" in text
    assert "1 tool call" in text
    assert here.asked()[-1].json["system"][0]["text"].startswith("You are Clew")


@pytest.mark.requirement("R-12")
def test_a_file_that_the_user_changes_between_read_and_edit_is_not_overwritten(here: World) -> None:
    def decide(asked: Asked) -> Turn:
        text = told(asked)
        if "attempts=5" not in text:
            return calls(READ)
        if "attempts=7" not in text:
            path = here.repository / "src/retry.py"
            path.write_text(path.read_text(encoding="utf-8").replace("attempts=5", "attempts=7"), encoding="utf-8")
            return calls(EDIT)
        done = "+def retry_with_backoff(call, attempts=7, timeout=60.0)" in "".join(last_user(asked))
        return says("Raised, beside your change.") if done else calls(EDIT)

    done = here.run("raise the timeout", "--yes", play=decide)
    assert done.out == "Raised, beside your change.\n"
    assert "attempts=7, timeout=60.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")
    assert len(here.asked()) == 4


def test_a_tool_that_breaks_answers_the_model_and_the_run_goes_on(here: World) -> None:
    write(here.repository, {"big.bin": "\0" * 100})
    play = [
        calls(
            ("read", {"path": "nowhere.py"}), ("read", {"path": "big.bin"}), ("read", {}),
            ("read", {"path": 7, "offset": "x"}),
            ("grep", {"pattern": "("}), ("shell", {"command": ""}), ("terminal_read", {"terminal": "t9"}),
            ("memory_open", {"ref": "clew://memory/mem_000000000000"}),
        ),
        says("All answered."),
    ]  # fmt: skip
    done = here.run("try", "--yes", play=play)
    assert done.out == "All answered.\n"
    content = here.asked()[-1].json["messages"][-1]["content"]
    assert [block["is_error"] for block in content if block["type"] == "tool_result"] == [True] * 8


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize(
    "arguments", ["[1]", '"text"', "null", "7", '{"path": ', '{"path": NaN}', '{"path": "\\ud800"}']
)
def test_arguments_that_are_no_object_are_answered_and_the_call_beside_them_is_carried_out(
    here: World, provider: str, arguments: str
) -> None:
    if provider == "openai":
        here.environment |= {
            "CLEW_MODEL": "openai:gpt-5-mini", "OPENAI_BASE_URL": f"{here.server.url}/v1", "OPENAI_API_KEY": "k" * 20,
        }  # fmt: skip
    done = here.run("look", play=[calls(Call("read", arguments), READ), says("All answered.")])
    assert done.out == "All answered.\n", done.err
    text = told(here.asked()[-1]) + here.asked()[-1].body.decode()
    assert "no JSON object" in text
    assert "for attempt in range" in text


@pytest.mark.requirement("R-11")
def test_no_reply_of_a_tool_is_longer_than_its_bound(here: World) -> None:
    long = "x" * 100_000
    asked = [
        ("read", {"path": long}), ("edit_file", {"path": f"a/{long}", "edits": [{"old": "a", "new": "b"}]}),
        ("grep", {"pattern": "a", "path": long}), ("shell", {"command": "true", "cwd": long}),
        ("memory_open", {"reference": long}), ("read", {"path": 1, long: 2}),
        ("grep", {"pattern": f"({long}"}),
    ]  # fmt: skip
    here.run("look", "--yes", play=[calls(*asked), says("Done.")])
    results = last_user(here.asked()[-1])
    assert len(results) == len(asked)
    assert "is no path" in results[0] and len(results[0]) < 500
    assert [len(text) for text in results if len(text.encode()) > 66_000] == []


@pytest.mark.requirement("R-12")
def test_a_mark_that_a_command_showed_goes_into_no_file(here: World) -> None:
    write(here.repository, {"conf.py": 'token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"\n'})

    def decide(asked: Asked) -> Turn:
        said = last_user(asked)[0]
        if said.startswith("[exit 0]"):
            return calls(("write_file", {"path": "new.py", "content": said.split("\n")[1] + "\n"}))
        return says("Done.") if "Nothing was changed" in said else calls(("shell", {"command": "cat conf.py"}))

    here.run("copy it", "--yes", play=decide)
    assert "stands for a secret that you are not shown" in last_user(here.asked()[-1])[0]
    assert not (here.repository / "new.py").exists()


def test_the_tools_are_the_same_in_the_same_order_in_every_request(here: World) -> None:
    here.run("one", play=[calls(READ), says("1")])
    here.run("two", play=[says("2")])
    lists = {json.dumps([tool["name"] for tool in asked.json["tools"]]) for asked in here.asked()}
    assert len(lists) == 1
    names = json.loads(lists.pop())
    assert names[:5] == ["read", "write_file", "edit_file", "glob", "grep"]
    assert {"shell", "terminal_spawn", "memory_recall", "new_context"} <= set(names)


# ---------------------------------------------------------------------- what the settings say


@pytest.mark.requirement("R-17", "P-10")
def test_the_users_own_settings_allow_and_a_projects_may_not(here: World) -> None:
    config = here.home / "clew" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("allow:\n- edit:src/**\nsteps: 2\nwindow: 50000\n", encoding="utf-8")
    events = here.events("raise the timeout", play=[calls(READ), calls(EDIT), says("Done.")])
    assert "timeout=60.0" in (here.repository / "src/retry.py").read_text(encoding="utf-8")
    assert [event["window"] for event in events if event["type"] == "filled"] == [50_000, 50_000]
    assert (events[-1]["outcome"], events[-1]["steps"]) == ("limit", 2)
    write(here.repository, {".clew.yaml": "allow:\n- command\n"})
    done = here.inside("run", "go on")
    assert done.status == 2
    assert "a project file may not set `allow`" in done.err
    (here.repository / ".clew.yaml").unlink()
    config.write_text("allow:\n- everything\n", encoding="utf-8")
    done = here.inside("run", "go on")
    assert done.status == 2
    assert "config.yaml:2: `everything` is no rule" in done.err
