"""Terminals on real programs: what is kept, what is seen, and that nothing is left behind."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shell_session import Session, alive, fresh_seconds, says, session, until

from clew.adapters import shell_keeper
from clew.adapters.programs import PosixPrograms
from clew.adapters.screen import Screen
from clew.adapters.shells import KEPT, Ring
from clew.errors import Conflict, NotFound, OverBudget, UsageError

pytestmark = pytest.mark.requirement("R-13")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Session]:
    """A session in a folder of its own."""
    with session(tmp_path / "work") as made:
        yield made


@pytest.fixture
def mark() -> str:
    """Tells the sleepers of one test from all others."""
    return fresh_seconds()


# ---------------------------------------------------------------------- ends


ESCAPES = {
    "in the group": "sleep {0} & sleep {0}",
    "in the background without a hang-up": "nohup sleep {0} >/dev/null 2>&1 & sleep {0}",
    "in a session of its own": "setsid sleep {0} & sleep {0}",
    "in a session of its own, without parents": "(setsid setsid sleep {0} &); sleep {0}",
    "deaf to all that can be ignored": "trap '' HUP TERM INT; sleep {0} & while :; do sleep {0}; done",
    "stopped": "sleep {0} & sleep 0.3; kill -STOP $!; sleep {0}",
    "with an empty environment": "env -i sleep {0} & sleep {0}",
}


@pytest.mark.parametrize("how", ESCAPES)
def test_killing_a_terminal_ends_all_that_it_started(how: str, here: Session, mark: str) -> None:
    terminal = here.spawn(ESCAPES[how].format(mark))
    assert until(lambda: len(alive(f"sleep {mark}")) >= 2), alive(f"sleep {mark}")
    assert terminal.kill(0.5) >= 2
    assert alive(f"sleep {mark}") == []
    assert terminal.state == "killed"


def test_what_left_everything_but_its_parent_is_found(here: Session, mark: str) -> None:
    terminal = here.spawn(f"env -i setsid sleep {mark} & sleep {mark}; true")
    assert until(lambda: len(alive(f"sleep {mark}")) == 2)
    terminal.kill()
    assert alive(f"sleep {mark}") == []


KEEPER = f"{sys.executable} -I -S {shell_keeper.__file__} keep"
PARENT = """
import sys, threading
from pathlib import Path
from tests.shell_session import session
with session(Path(sys.argv[1])) as here:
    for number, command in enumerate(sys.argv[3:]):
        here.spawn(command, f"n{number}")
    here.spawn("", "shell")
    here.call("terminal_send", terminal="shell", text=f"sleep {sys.argv[2]} &", key="enter")
    threading.Thread(target=here.call, args=("shell",), kwargs={"command": f"sleep {sys.argv[2]}; true"}).start()
    print("ready", flush=True)
    threading.Event().wait()
"""


def test_nothing_is_left_of_a_session_that_was_killed(tmp_path: Path, mark: str) -> None:
    commands = [command.format(mark) for command in ESCAPES.values()]
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "work"), mark, *commands],
        stdout=subprocess.PIPE,
        cwd=root,
        env=os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{os.environ['PYTHONPATH']}", "SHELL": "/bin/bash"},
    )
    try:
        assert parent.stdout and parent.stdout.readline() == b"ready\n"
        # Two sleeps of each command, that of the shell, and that of the tool `shell`.
        enough = 2 * len(commands) + 2
        assert until(lambda: len(alive(f"sleep {mark}")) >= enough), alive(f"sleep {mark}")
        keepers = alive(KEEPER)
        assert keepers
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate(timeout=10)
    assert until(lambda: not alive(f"sleep {mark}")), alive(f"sleep {mark}")
    assert until(lambda: not set(alive(KEEPER)) & set(keepers)), "the keeper itself stays"


def test_a_session_inside_a_terminal_ends_with_it(here: Session, mark: str) -> None:
    root = Path(__file__).resolve().parents[2]
    lost = f"(setsid setsid sleep {mark} &); sleep {mark}"
    command = [sys.executable, "-c", PARENT, str(here.root / "inner"), mark, lost]
    terminal = here.spawn(f"cd {shlex.quote(str(root))} && PYTHONPATH={shlex.quote(str(root))} {shlex.join(command)}")
    assert until(lambda: len(alive(f"sleep {mark}")) == 4)
    terminal.kill(0.0)
    assert until(lambda: not alive(f"sleep {mark}"))


def test_a_session_that_ends_leaves_nothing(tmp_path: Path, mark: str) -> None:
    with session(tmp_path / "work") as here:
        for command in ESCAPES.values():
            here.spawn(command.format(mark))
        assert until(lambda: len(alive(f"sleep {mark}")) >= 2 * len(ESCAPES))
    assert alive(f"sleep {mark}") == []


def test_another_session_is_left_alone(tmp_path: Path, here: Session, mark: str) -> None:
    here.spawn(f"sleep {mark}")
    with session(tmp_path / "other") as other:
        other.spawn(f"sleep {mark}")
        assert until(lambda: len(alive(f"sleep {mark}")) == 2)
    assert len(alive(f"sleep {mark}")) == 1


def test_a_keeper_that_somebody_ended_is_replaced(tmp_path: Path, mark: str) -> None:
    programs = PosixPrograms()
    first = programs.on_pipe(["sleep", mark], str(tmp_path), os.environ, "a")
    assert programs._keeper is not None
    programs._keeper.kill()
    programs._keeper.wait(10)
    second = programs.on_pipe(["sleep", mark], str(tmp_path), os.environ, "b")
    programs.close()
    assert until(lambda: not alive(f"sleep {mark}"))
    first.close()
    second.close()


def test_what_ps_says_is_read_where_there_is_no_proc() -> None:
    child = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], shell_keeper.VARIABLE: "t0k3n.t1"})
    try:
        found = {one.pid: one for one in shell_keeper.parsed(shell_keeper._listed("axeww"))}
        assert found[child.pid].parent == os.getpid()
        assert b"CLEW_SHELL=t0k3n.t1" in found[child.pid].words
        assert os.getpid() in found
    finally:
        child.kill()
        child.wait()
    assert list(shell_keeper.parsed(b"1 0 1 Z gone\nno line\n\n2 1 2 Ss+ \xff\xfe A=b\n")) == [
        shell_keeper.Process(2, 1, 2, 0, b"\xff\xfe A=b")
    ]


# ---------------------------------------------------------------------- how programs end


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 3", "exited 3"), ("kill -SEGV $$", "ended by SIGSEGV"), ("no-such-program-here", "exited 127")],
)
def test_how_a_program_ended_is_told(command: str, status: str, here: Session) -> None:
    terminal = here.spawn(command)
    assert until(lambda: terminal.exit)
    assert f"t1 {status} · {command}" in here.call("terminal_list").text


def test_a_program_that_ended_is_told_though_another_holds_its_terminal(here: Session, mark: str) -> None:
    terminal = here.spawn(f"trap '' HUP; nohup sleep {mark} & sleep 0.1; exit 4")
    assert until(lambda: terminal.exit)
    assert terminal.exit is not None and terminal.exit.code == 4
    terminal.kill()
    assert alive(f"sleep {mark}") == []
    assert terminal.state == "exited"


def test_names_and_ids(here: Session) -> None:
    first, second, third = here.spawn("sleep 600", "web"), here.spawn("true"), here.spawn("sleep 600", "数据库")
    assert [(one.id, one.name) for one in here.shells.all()] == [("t1", "web"), ("t2", "t2"), ("t3", "数据库")]
    assert here.shells.find("web") is first and here.shells.find("t3") is third
    for bad in ("t9", "a b", "-x", "x" * 41, "a\nb"):
        with pytest.raises(UsageError):
            here.shells.spawn("x", ["true"], str(here.root), os.environ, bad)
    with pytest.raises(Conflict):
        here.shells.spawn("x", ["true"], str(here.root), os.environ, "web")
    with pytest.raises(NotFound, match="no terminal `t9`"):
        here.shells.find("t9")
    first.kill()
    fourth = here.spawn("sleep 600", "web")
    assert fourth.id == "t4" and here.shells.find("web") is fourth and here.shells.find("t1") is first
    assert second is here.shells.find("t2")


def test_too_many_terminals_are_refused_and_ended_ones_forgotten(
    here: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.adapters.shells.MOST_RUNNING", 3)
    monkeypatch.setattr("clew.adapters.shells._MOST_KNOWN", 5)
    for _ in range(4):
        terminal = here.spawn("true")
        assert until(lambda terminal=terminal: terminal.exit)
    for _ in range(3):
        here.spawn("sleep 600")
    with pytest.raises(OverBudget):
        here.shells.spawn("x", ["true"], str(here.root), os.environ)
    assert [one.id for one in here.shells.all()] == ["t3", "t4", "t5", "t6", "t7"]


# ---------------------------------------------------------------------- output


def memory() -> int:
    """Bytes of this process that are in memory."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("size", ["40M", pytest.param("1G", marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_a_flood_neither_fills_memory_nor_stalls(size: str, here: Session) -> None:
    before = memory()
    terminal = here.spawn(f"yes 'a line of some length, as a log has it' | head -c {size}; echo; echo done")
    slowest, last = 0.0, time.monotonic()
    tick = threading.Event()
    while terminal.exit is None:
        tick.wait(0.005)
        slowest, last = max(slowest, time.monotonic() - last), time.monotonic()
    grown = memory() - before
    assert grown < 50e6, f"{grown / 1e6:.0f} MB more"
    assert slowest < 1.0
    assert terminal.end > int(size[:-1]) * (1 << (20 if size.endswith("M") else 30))
    assert terminal.end - terminal.start <= KEPT + (1 << 20)
    since = time.monotonic()
    assert terminal.snapshot().rows[-1] == "done"
    assert time.monotonic() - since < 3.0


@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(1, 60))
def test_a_ring_keeps_the_end_and_goes_on_counting(pieces: list[bytes], kept: int) -> None:
    ring = Ring(kept)
    whole = b""
    for piece in pieces:
        ring.add(piece)
        ring.shorten(kept)
        whole += piece
        assert ring.end == len(whole) and ring.lines == whole.count(b"\n")
        assert ring.piece(0, ring.end) == whole[ring.start :]
        assert ring.end - ring.start <= kept
        for offset in range(ring.start, ring.end + 1):
            start = ring.line_start(offset, 10)
            assert ring.start <= start <= offset
            assert b"\n" not in whole[start:offset]


def test_a_program_that_does_not_read_does_not_hold_the_writer(here: Session) -> None:
    terminal = here.spawn("stty raw -echo; echo ready; sleep 600")
    assert says(terminal, "ready")
    since = time.monotonic()
    taken = terminal.write(b"x" * 1_000_000, patience=0.3)
    assert 0 < taken < 1_000_000
    assert time.monotonic() - since < 5


def test_questions_of_programs_to_their_terminal_are_answered(here: Session) -> None:
    ask = "stty raw -echo; printf 'abc\\033[6n'; head -c 6 | od -An -c; printf '\\033[c'; head -c 5 | od -An -c"
    terminal = here.spawn(ask)
    assert until(lambda: terminal.exit)
    said = terminal.piece(0, terminal.end).decode()
    assert "033   [   1   ;   4   R" in said and "033   [   ?   6   c" in said


def test_a_new_size_reaches_the_program_and_the_screen(here: Session) -> None:
    terminal = here.spawn("trap 'stty size' WINCH; echo ready; while :; do read -t 1; done")
    assert says(terminal, "ready")
    terminal.resize(90, 20)
    assert says(terminal, "20 90")
    shot = terminal.snapshot()
    assert (shot.columns, shot.lines) == (90, 20)
    with pytest.raises(UsageError):
        terminal.resize(0, 20)


# ---------------------------------------------------------------------- screens


def drawn(data: bytes, columns: int = 20, rows: int = 5) -> list[str]:
    """The rows of a screen after `data`."""
    screen = Screen(columns, rows)
    screen.feed(data)
    return screen.rows()


SCREENS = {
    "wide characters": ("你好ab\r\n", ["你好ab"]),
    "combining characters": ("e\u0301x", ["éx"]),
    "a carriage return": ("10%\r20%", ["20%"]),
    "NUL and bell": ("a\0b\x07c", ["abc"]),
    "the alternate screen": ("$ vim\r\n\x1b[?1049h\x1b[Hfull\x1b[?1049l$ ", ["$ vim", "$"]),
    "inside the alternate screen": ("$ vim\r\n\x1b[?1049h\x1b[Hfull", ["full"]),
    "strings to the terminal": ("a\x1bP+q436f\x1b\\b\x1b]0;title\x07c\x1b_x\x1b\\d", ["abcd"]),
    "sequences that are not known": (
        "a\x1b[>4;2mb\x1b[?4mc\x1b[=0ud\x1b[!pe\x1b[4:3mf\x1b[2 qg\x1b[5;5;5;5Ph",
        ["abcdefgh"],
    ),
    "line drawing": ("\x1b(0lqk\x1b(B", ["┌─┐"]),
    "a repeated character": ("-\x1b[4b|", ["-----|"]),
    "scrolling": ("1\r\n2\r\n3\x1b[1S", ["2", "3"]),
    "132 columns are not taken": ("\x1b[?3hab", ["ab"]),
    "joiners and choosers": ("❤\ufe0fa\u200db", ["❤a\ufffdb"]),
    "a reversal of text": ("a\u202eb", ["a\ufffdb"]),
}


@pytest.mark.parametrize("what", SCREENS)
def test_a_screen_shows(what: str) -> None:
    text, rows = SCREENS[what]
    assert drawn(text.encode()) == rows


@given(st.lists(st.sampled_from(list(SCREENS)), max_size=4), st.lists(st.integers(1, 30), max_size=8))
def test_a_screen_is_the_same_however_the_output_is_cut(names: list[str], cuts: list[int]) -> None:
    data = "".join(SCREENS[name][0] for name in names).encode()
    whole, pieces = Screen(20, 5), Screen(20, 5)
    whole.feed(data)
    at = 0
    for cut in cuts:
        pieces.feed(data[at : at + cut])
        at += cut
    pieces.feed(data[at:])
    if "a repeated character" not in names and "scrolling" not in names:
        assert pieces.rows() == whole.rows()


@given(st.binary(max_size=400), st.integers(2, 30), st.integers(2, 10))
def test_no_output_breaks_a_screen(data: bytes, columns: int, rows: int) -> None:
    screen = Screen(columns, rows)
    screen.feed(b"\x1b[" + data.replace(b" ", b"\x1b["))
    screen.resize(rows * 2, columns)
    screen.feed(data)
    assert len(screen.rows()) <= columns
    assert len(screen.coloured()) <= columns
    assert all("\x1b" not in row for row in screen.rows())


def test_a_screen_goes_on_after_what_the_library_trips_over() -> None:
    assert drawn(b"a\x1b[4Jb\r\n\x1b[?3Kc\r\n\x1b[38;2;1;2md\x1b[1;1;1;1rf") == ["ab", "c", "df"]


def test_piled_marks_take_no_time() -> None:
    since = time.monotonic()
    assert len("".join(drawn(b"a" + "\u0301".encode() * 30_000))) < 10
    assert time.monotonic() - since < 2


def test_colours_are_given_on_request() -> None:
    screen = Screen(20, 3)
    screen.feed(b"\x1b[1;31mred\x1b[0m \x1b[48;5;21mblue\x1b[0m plain")
    assert screen.coloured() == ["\x1b[0;1;31mred\x1b[0m \x1b[0;48;2;0;0;255mblue\x1b[0m plain"]
