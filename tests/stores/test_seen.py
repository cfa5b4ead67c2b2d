"""The record of hints: claimed before they are shown, across processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from clew.core.memory.window import Shown
from clew.errors import StoreError
from clew.stores.seen import Rejected, Seen, said_digest


@pytest.mark.requirement("R-08")
def test_a_hint_returns_in_the_eleventh_run_and_a_silent_match_does_not_delay_it(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.db")
    granted = [run for run in range(1, 25) if seen.claim("s", run, ["a"])]
    assert granted == [1, 12, 23]
    assert seen.claim("other session", 2, ["a"]) == ("a",)


@pytest.mark.requirement("R-09")
def test_the_assistant_gets_no_hint_that_this_run_has_seen(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.db")
    assert seen.claim("s", 3, ["a", "b"]) == ("a", "b")
    assert seen.claim("s", 3, ["b", "c"], "assistant") == ("c",)
    assert seen.claim("s", 3, ["c"], "assistant") == ()
    assert seen.claim("s", 4, ["c"], "assistant") == ("c",)


CLAIMS = """
import sys
from pathlib import Path
from clew.stores.seen import Seen
seen = Seen(Path(sys.argv[1]))
sys.stdin.readline()
for run in range(1, 41):
    for id_ in seen.claim("s", run, ["a", "b"]):
        print(id_, run)
"""


@pytest.mark.requirement("R-08")
def test_two_processes_of_one_session_never_show_a_hint_twice_in_a_window(tmp_path: Path) -> None:
    path = tmp_path / "seen.db"
    Seen(path).claim("s", -100, ["x"])
    both = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    lines = [line for one in both for line in one.communicate(timeout=60)[0].splitlines()]
    assert all(one.returncode == 0 for one in both)
    for id_ in "ab":
        runs = sorted(int(line.split()[1]) for line in lines if line.startswith(id_))
        assert runs, lines
        assert all(later - sooner > 10 for sooner, later in pairwise(runs)), runs


def test_the_record_names_what_was_shown(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.db")
    assert seen.shown("s") == ()
    seen.claim("s", 7, ["b"])
    assert seen.shown("s") == (Shown("b", 7),)


def test_rejections_are_kept_once_and_taken_back(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.db")
    assert seen.accept("a") == 0
    for text in ("Drop the table", "drop  the table", "another"):
        seen.reject(Rejected("a", said_digest(text), text, {"static": b"\1"}))
    assert [one.said for one in seen.rejected(["a"])] == ["drop  the table", "another"]
    assert seen.accept("a", said_digest("DROP the table")) == 1
    assert [one.vectors for one in seen.rejected()] == [{"static": b"\1"}]
    assert seen.accept("a") == 1
    assert seen.rejected() == ()


def test_a_record_of_a_later_format_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "seen.db"
    Seen(path).claim("s", 1, ["a"])
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 9")
    connection.close()
    with pytest.raises(StoreError, match="newer"):
        Seen(path).claim("s", 1, ["b"])


def test_the_record_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    Seen(tmp_path / "seen.db").claim("s", 1, ["a"])
    assert (tmp_path / "seen.db").stat().st_mode & 0o077 == 0
