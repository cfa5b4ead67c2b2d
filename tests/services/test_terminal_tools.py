"""The tools `terminal_…` on real programs."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.shell_session import SECRET, Session, says, session, until, without_secret

from clew.adapters.shells import Ring
from clew.core.agent.effects import Effect
from clew.services.tools.command import MOST_BYTES, MOST_LINES
from clew.services.tools.pages import page

pytestmark = pytest.mark.requirement("R-11", "R-13")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Session]:
    """A session in a folder of its own."""
    with session(tmp_path / "work") as made:
        yield made


def numbers(head: str) -> dict[str, int]:
    """`offset`, `to`, `next` and `end` in the first line of an answer."""
    return {name: int(value) for name, value in re.findall(r"(offset|to|next|end) (\d+)", head.splitlines()[0])}


def test_a_session_with_a_repl(here: Session) -> None:
    terminal = here.spawn(f"{sys.executable} -q -u", "repl")
    assert says(terminal, ">>> ")
    answer = here.call("terminal_send", terminal="repl", text="print(6 * 7)", key="enter", wait=20)
    assert not answer.failed and answer.text.startswith("[t1 running; offset 0 to ")
    assert ">>> print(6 * 7)\n42\n>>> " in answer.text + " "
    here.call("terminal_send", terminal="repl", text="for i in range(3):\n  print('n', i)\n", key="enter", wait=20)
    assert says(terminal, "n 2")
    answer = here.call("terminal_send", terminal="t1", text="import sys; sys.exit(7)", key="enter", wait=20)
    assert until(lambda: terminal.exit)
    assert "exited 7" in here.call("terminal_list").text
    late = here.call("terminal_send", terminal="t1", text="x")
    assert late.failed and "nothing was sent" in late.text


def test_ctrl_c_ends_what_runs_and_not_the_shell(here: Session) -> None:
    terminal = here.spawn("bash --norc")
    assert says(terminal, "bash-")
    here.call("terminal_send", terminal="t1", text="echo be'gun'; sleep 600", key="enter")
    assert says(terminal, "begun")
    here.call("terminal_send", terminal="t1", key="ctrl-c")
    here.call("terminal_send", terminal="t1", text="echo status $((127 + 3)) $?", key="enter")
    assert says(terminal, "status 130 130")


def test_an_editor_that_fills_the_screen(here: Session) -> None:
    terminal = here.spawn("vim -u NONE -N -i NONE hello.txt")
    assert says(terminal, "hello.txt")
    answer = here.call("terminal_send", terminal="t1", text="ihello wörld 你好", key="escape", wait=20)
    assert until(lambda: "hello wörld 你好" in here.call("terminal_snapshot", terminal="t1").text)
    assert "120×30; cursor " in answer.text
    terminal.resize(60, 12)
    assert until(lambda: len(here.call("terminal_snapshot", terminal="t1").text.splitlines()) == 13)
    coloured = here.call("terminal_snapshot", terminal="t1", ansi=True).text
    assert "\x1b[0;94m~" in coloured and "\x1b" not in here.call("terminal_snapshot", terminal="t1").text
    here.call("terminal_send", terminal="t1", text=":wq", key="enter")
    assert until(lambda: terminal.exit)
    assert (here.root / "hello.txt").read_text() == "hello wörld 你好\n"


def test_arrow_keys_reach_a_pager(here: Session) -> None:
    terminal = here.spawn("seq 1 500 | less")
    assert says(terminal, ":")
    for _ in range(3):
        here.call("terminal_send", terminal="t1", key="down")
    assert until(lambda: here.call("terminal_snapshot", terminal="t1").text.splitlines()[1] == "4")
    here.call("terminal_send", terminal="t1", text="q")
    assert until(lambda: terminal.exit)


def test_reading_goes_on_where_it_stopped_and_gives_an_open_line_again(here: Session) -> None:
    terminal = here.spawn("printf 'one\\n10%%'; read x; printf '\\r20%%\\n'; read x; echo three")
    assert says(terminal, "10%")
    assert here.call("terminal_read", terminal="t1").text.endswith("\none\n10%")
    assert "nothing new" in here.call("terminal_read", terminal="t1").text
    here.call("terminal_send", terminal="t1", key="enter")
    assert says(terminal, "20%")
    text = here.call("terminal_read", terminal="t1").text
    assert "one" not in text and "20%" in text
    here.call("terminal_send", terminal="t1", key="enter")
    assert until(lambda: terminal.exit)
    assert here.call("terminal_read", terminal="t1").text.endswith("three")
    assert here.call("terminal_read", terminal="t1", offset=0).text.splitlines()[1] == "one"


def test_pages_from_the_beginning_give_every_line_once(here: Session) -> None:
    terminal = here.spawn("seq 1 5000")
    assert until(lambda: terminal.exit)
    found: list[str] = []
    at = 0
    for _ in range(20):
        text = here.call("terminal_read", terminal="t1", offset=at).text
        found += text.splitlines()[1:]
        assert len(text.encode()) < MOST_BYTES + 200 and text.count("\n") <= MOST_LINES + 1
        at = numbers(text)["next"]
        if at == numbers(text)["end"]:
            break
    assert found == [str(number) for number in range(1, 5001)]


def test_the_end_of_much_output_is_given_and_what_was_passed_over_is_said(here: Session) -> None:
    terminal = here.spawn("sleep 0.6; seq 1 30000")
    assert until(lambda: terminal.exit)
    text = here.call("terminal_read", terminal="t1").text
    assert text.splitlines()[-1] == "30000" and text.count("\n") == MOST_LINES
    assert re.search(r"; 18\d\.\d KB passed over, from offset 0\]", text.splitlines()[0]), text.splitlines()[0]
    assert here.call("terminal_read", terminal="t1", offset=-21).text.splitlines()[1:] == ["29998", "29999", "30000"]
    assert here.call("terminal_read", terminal="t1", offset=10**12).text.endswith("]")


def given(data: bytes, kept: int = 1 << 30) -> Ring:
    """A ring that took `data` and keeps its last bytes."""
    ring = Ring(kept)
    ring.add(data)
    ring.shorten(kept)
    return ring


def test_what_was_dropped_is_said() -> None:
    ring = given(b"0123456789\n" * 1000, 1100)
    found = page(ring, 0, 0, str, final=True)
    assert (found.first, found.dropped, found.end) == (ring.start, ring.start, 11_000)
    assert page(ring, None, 500, str, final=True).dropped == ring.start - 500
    assert page(ring, ring.start, 0, str, final=True).dropped == 0


def test_a_line_without_end_is_given_again_until_it_has_one() -> None:
    ring = given(b"one\n>>> ")
    first = page(ring, 0, 0, str, final=False)
    assert (first.text, first.next, first.stop) == ("one\n>>> ", 4, 8)
    ring.add(b"1 + 1\r\n2\r\n")
    second = page(ring, None, first.next, str, final=False)
    assert (second.text, second.next, second.passed) == (">>> 1 + 1\n2\n", ring.end, 0)
    assert page(ring, 0, 0, str, final=True).next == ring.end


LONG = {
    "one long line": "你" * 200_000,
    "colours": "\x1b[31m" * 60_000 + "x",
    "progress": "123%\r" * 90_000 + "\nend\n",
    "empty lines": "\n" * 10_000,
    "bytes that are no text": "\ud83d\ude00" * 10,
}


@pytest.mark.parametrize("what", LONG)
def test_every_output_is_read_to_its_end_in_bounded_pages(what: str) -> None:
    ring = given(LONG[what].encode("utf-8", "surrogatepass") * 2)
    at, text = 0, ""
    for _ in range(60):
        found = page(ring, at, 0, str, final=True)
        assert len(found.text.encode()) <= MOST_BYTES * 3
        text += found.text
        if found.next == found.end:
            break
        assert found.next > at
        at = found.next
    assert at > 0 or ring.end < 300_000
    assert found.next == ring.end
    if what == "one long line":
        assert text == "你" * 400_000


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_no_part_of_a_secret_is_given_by_reading_around_it(shift: int) -> None:
    before = "x" * 100
    ring = given(f"{before}{SECRET}{'y' * 100}\n".encode())
    for offset in (100 + shift, -101 - shift):
        text = page(ring, offset, 0, without_secret, final=True).text
        assert not any(SECRET[at : at + 6] in text for at in range(len(SECRET) - 6)), text


def test_no_secret_is_on_a_screen_or_in_a_hint(here: Session) -> None:
    for number, before in enumerate((0, 90, 110, 119), 1):
        terminal = here.spawn(f"printf '%{before}s' ''; echo {SECRET}; sleep 600")
        assert says(terminal, SECRET)
        for ansi in (False, True):
            text = here.call("terminal_snapshot", terminal=f"t{number}", ansi=ansi).text
            assert SECRET[:8] not in text and SECRET[-8:] not in text and "[REDACTED]" in text
    for text in (here.call("terminal_list").text, here.hints(), here.call("terminal_read", terminal="t1").text):
        assert SECRET not in text and "[REDACTED]" in text


def test_hints_tell_of_shells_that_were_not_killed(here: Session) -> None:
    assert here.hints() == ""
    (here.root / "sub").mkdir()
    first = here.spawn("echo words; sleep 600", "web")
    here.call("terminal_spawn", command="exit 2", cwd="sub")
    third = here.spawn("sleep 600")
    assert says(first, "words") and until(lambda: here.shells.find("t2").exit)
    third.kill()
    assert here.hints() == (
        "[shell_hints]\n"
        't1 "web" running · echo words; sleep 600 · in . · 1 line\n'
        "t2 exited 2 · exit 2 · in sub · 0 lines\n"
        "terminal_read gives their text, terminal_snapshot the screen."
    )


@pytest.mark.requirement("R-17")
def test_what_is_asked_for_and_what_not(here: Session) -> None:
    here.spawn("cat", "c")

    def effect(tool: str, **given: object) -> Effect:
        found = here.effect(tool, **given)
        assert isinstance(found, Effect), found
        return found

    spawn = effect("terminal_spawn", command="npm run\x07 dev", cwd="..")
    assert (spawn.kind, spawn.preview, spawn.subject, spawn.outside) == (
        "command", "npm run\\x07 dev", "npm run\x07 dev", True,
    )  # fmt: skip
    sent = effect("terminal_send", terminal="c", text="rm x\nls\x1b", key="Enter")
    assert (sent.kind, sent.preview, sent.subject) == ("command", "rm x\\nls\\x1b<enter>", "rm x\nls\x1b")
    assert effect("terminal_send", terminal="c", key="enter").kind == "command"
    assert effect("terminal_send", terminal="c", text="y", key="ctrl-c").kind == "command"
    free = [
        effect("terminal_send", terminal="c", key="ctrl-c"),
        effect("terminal_read", terminal="c"),
        effect("terminal_snapshot", terminal="c"),
        effect("terminal_list"),
        effect("terminal_kill", terminal="c"),
    ]
    assert {one.kind for one in free} == {"read"}


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("terminal_send", {"terminal": "t9", "text": "x"}, "there is no terminal `t9`; there is: t1"),
        ("terminal_send", {"terminal": "t1"}, "nothing to send"),
        ("terminal_send", {"terminal": "t1", "key": "hyper-x"}, "no key `hyper-x`; keys: enter, "),
        ("terminal_send", {"terminal": "t1", "text": "\ud800"}, "half of a pair"),
        ("terminal_read", {"terminal": "\x1b[2J"}, "there is no terminal `\\x1b[2J`"),
        ("terminal_kill", {"terminal": "t9"}, "there is no terminal"),
        ("terminal_spawn", {"command": "x\0"}, "NUL"),
        ("terminal_spawn", {"command": "true", "cwd": "none"}, "there is no folder"),
        ("terminal_spawn", {"command": "true", "name": "t5"}, "cannot be the name"),
    ],
)
def test_what_cannot_be_done_is_told(tool: str, given: dict[str, Any], words: str, here: Session) -> None:
    here.spawn("cat")
    reply = here.call(tool, **given)
    assert reply.failed and words in reply.text


def test_waiting_for_quiet_ends_with_its_cap_and_with_an_interruption(here: Session) -> None:
    here.spawn("while :; do echo tick; read -t 0.1; done")
    since = time.monotonic()
    assert "tick" in here.call("terminal_send", terminal="t1", text="x", wait=1).text
    assert 0.9 < time.monotonic() - since < 10
    stop = threading.Event()
    stop.set()
    since = time.monotonic()
    here.call("terminal_send", stop, terminal="t1", text="x", wait=30)
    assert time.monotonic() - since < 10


def test_a_text_that_a_program_does_not_take_is_told(here: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = here.spawn("stty raw -echo; echo ready; sleep 600")
    assert says(terminal, "ready")
    reply = here.call("terminal_send", terminal="t1", text="x" * 200_000)
    assert reply.failed and "of 200000 bytes were taken: the program does not read" in reply.text
