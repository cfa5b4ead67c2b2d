"""The audit trail: many writers, damage, rotation, what is chosen, and what never gets in."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.command import ARGV, clew

from clew.core.memory.audit import MOST_LINE, Choice, Entry, bounded, line_of, moment, read_line, stamp
from clew.core.text.redact import redact
from clew.errors import UsageError
from clew.stores.audit import Audit

pytestmark = pytest.mark.requirement("W-15")

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKEN = "ghp_" + "a1B2c3D4" * 4 + "e5F6"


def clean(text: str) -> str:
    return redact(text).text


def at(moments: list[datetime]) -> Callable[[], datetime]:
    """A clock that gives these moments, the last one for ever."""
    return lambda: moments.pop(0) if len(moments) > 1 else moments[0]


def trail(folder: Path, *moments: datetime, most_bytes: int = 8 << 20) -> Audit:
    return Audit(folder, clean, clock=at(list(moments or (NOON,))), most_bytes=most_bytes)


def reasons(audit: Audit, choice: Choice | None = None, *, newest_first: bool = True) -> list[str]:
    return [entry.reason for entry in audit.entries(choice, newest_first=newest_first)]


def test_an_entry_comes_back_as_it_was_written(tmp_path: Path) -> None:
    audit = trail(tmp_path / "audit")
    assert audit.write(
        "hint", reason="scores 0.8", refs=["clew://memory/mem_0123456789ab"], query="how do I deploy", workspace="w",
        session="s", run="r", numbers={"score": 0.8125, "shown": 2},
    )  # fmt: skip
    (entry,) = audit.entries()
    assert entry == Entry(
        "2026-03-01T12:00:00.000Z", "hint", "scores 0.8", ("clew://memory/mem_0123456789ab",), "how do I deploy", "w",
        "s", "r", {"score": 0.8125, "shown": 2.0},
    )  # fmt: skip
    file = tmp_path / "audit" / "2026-03.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(file.read_text("utf-8").splitlines()[0]) == {"clew_audit": 1}


def test_no_secret_gets_in_and_a_query_is_kept_only_in_part(tmp_path: Path) -> None:
    audit = trail(tmp_path)
    long = "why " * 38 + f"{TOKEN} " + "and then " * 400
    audit.write("miss", reason=f"key {TOKEN}", refs=[f"x {TOKEN}"], query=long, session=f"token={TOKEN}")
    kept = (tmp_path / "2026-03.jsonl").read_text("utf-8")
    # Neither whole nor cut in the middle, as the query is cut within it.
    assert TOKEN not in kept and "ghp_" not in kept
    (entry,) = audit.entries()
    assert len(entry.query) <= 160 and entry.query.startswith("why why") and "REDACTED" in entry.reason


def test_a_redactor_that_fails_keeps_the_entry_out_and_the_caller_going(tmp_path: Path) -> None:
    def broken(text: str) -> str:
        raise RuntimeError(text)

    audit = Audit(tmp_path, broken)
    assert audit.write("miss", query="secret") is False
    assert not list(tmp_path.glob("*"))


def test_what_cannot_be_written_is_told_and_never_raised(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert trail(tmp_path / "file").write("hint") is False
    (tmp_path / "audit" / "2026-03.jsonl").mkdir(parents=True)
    assert trail(tmp_path / "audit").write("hint") is False
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "2026-03.jsonl").symlink_to(tmp_path / "target")
    assert trail(tmp_path / "linked").write("hint") is False
    assert not (tmp_path / "target").exists()
    assert list(trail(tmp_path / "missing").entries()) == []


WRITER = """
import sys
from pathlib import Path
from clew.stores.audit import Audit
audit = Audit(Path(sys.argv[1]), lambda text: text, most_bytes=int(sys.argv[3]))
for number in range(int(sys.argv[4])):
    assert audit.write("write", reason=f"{sys.argv[2]}-{number} " + "x" * (number % 300))
"""


def test_eight_processes_write_at_once_and_each_line_is_there_once(tmp_path: Path) -> None:
    args = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [subprocess.Popen([*args, str(number), "30000", "150"]) for number in range(8)]
    assert [one.wait(60) for one in running] == [0] * 8
    reading = trail(tmp_path).entries()
    found = [entry.reason.split()[0] for entry in reading]
    assert sorted(found) == sorted(f"{writer}-{number}" for writer in range(8) for number in range(150))
    assert reading.damaged == 0 and len(list(tmp_path.glob("*.jsonl"))) > 3
    # Within one process the order is that of its writes.
    assert [one for one in found if one.startswith("3-")] == [f"3-{number}" for number in reversed(range(150))]


def test_writers_that_are_killed_leave_at_most_a_damaged_line_each(tmp_path: Path) -> None:
    args = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [subprocess.Popen([*args, str(number), "8000000", "1000000"]) for number in range(4)]
    while not (tmp_path.exists() and sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) > 100_000):
        os.sched_yield()
    for one in running:
        one.kill()
        one.wait()
    assert trail(tmp_path, datetime.now(UTC)).write("hint", reason="afterwards")
    reading = trail(tmp_path).entries()
    found = [entry.reason for entry in reading]
    assert found[0] == "afterwards" and reading.damaged <= 4 and len(found) > 100


def test_a_line_that_was_cut_short_is_counted_and_the_next_one_is_whole(tmp_path: Path) -> None:
    audit = trail(tmp_path)
    audit.write("hint", reason="first")
    file = tmp_path / "2026-03.jsonl"
    with file.open("ab") as end:
        end.write(b'{"time": "2026-03-01T12:0')
    audit.write("hint", reason="second")
    for newest_first in (True, False):
        reading = audit.entries(newest_first=newest_first)
        found = [entry.reason for entry in reading]
        assert (found if not newest_first else found[::-1]) == ["first", "second"]
        assert reading.damaged == 1


FULL = """
import resource, sys
from pathlib import Path
from clew.stores.audit import Audit
audit = Audit(Path(sys.argv[1]), lambda text: text)
assert audit.write("hint", reason="first")
size = next(Path(sys.argv[1]).iterdir()).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
assert audit.write("hint", reason="cut") is False
assert audit.write("hint", reason="refused") is False
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert audit.write("hint", reason="last")
"""


@pytest.mark.requirement("Q-42")
def test_a_disk_without_room_costs_only_what_did_not_fit(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=True)
    reading = trail(tmp_path).entries()
    assert [entry.reason for entry in reading] == ["last", "first"] and reading.damaged == 1


@pytest.mark.parametrize("newest_first", [True, False])
def test_damage_of_every_kind_is_passed_over(tmp_path: Path, newest_first: bool) -> None:
    audit = trail(tmp_path)
    audit.write("hint", reason="before")
    with (tmp_path / "2026-03.jsonl").open("ab") as end:
        end.write(b"\x00" * 300_000 + b"\n[1]\n\n" + b"[" * 5000 + b"\n\xff\xfe\n" + b'{"kind": "hint"}\n')
    audit.write("hint", reason="after")
    reading = audit.entries(newest_first=newest_first)
    assert sorted(entry.reason for entry in reading) == ["after", "before"]
    assert reading.damaged == 5


def test_a_month_and_a_size_begin_another_file(tmp_path: Path) -> None:
    audit = trail(tmp_path, NOON, NOON, NOON, NOON + timedelta(days=31), most_bytes=250)
    for number in range(4):
        audit.write("write", reason=f"{number} " + "x" * 100)
    assert {path.name for path in tmp_path.iterdir()} == {
        "2026-03.jsonl", "2026-03.2.jsonl", "2026-03.3.jsonl", "2026-04.jsonl",
    }  # fmt: skip
    assert [one[0] for one in reasons(audit)] == ["3", "2", "1", "0"]
    assert [one[0] for one in reasons(audit, newest_first=False)] == ["0", "1", "2", "3"]
    assert [one[0] for one in reasons(audit, Choice(since="2026-04-01T00:00:00.000Z"))] == ["3"]
    # A file of another month is not even opened.
    (tmp_path / "2026-04.jsonl").write_bytes(b"rubbish\n")
    reading = audit.entries(Choice(until="2026-03-31T00:00:00.000Z"))
    assert len(list(reading)) == 3 and reading.damaged == 0


def test_a_newer_form_is_read_as_far_as_it_is_understood_and_never_added_to(tmp_path: Path) -> None:
    newer = '{"clew_audit": 2}\n{"time": "2026-03-01T11:00:00.000Z", "kind": "dream", "reason": "new", "mood": [1]}\n'
    (tmp_path / "2026-03.jsonl").write_text(newer)
    audit = trail(tmp_path)
    assert audit.write("hint", reason="old")
    assert (tmp_path / "2026-03.jsonl").read_text() == newer
    reading = audit.entries()
    assert [(entry.kind, entry.reason) for entry in reading] == [("hint", "old"), ("dream", "new")]
    assert reading.newer and reading.damaged == 0


def test_entries_are_chosen_by_kind_workspace_time_and_text(tmp_path: Path) -> None:
    audit = trail(tmp_path, NOON, NOON + timedelta(minutes=1), NOON + timedelta(minutes=2))
    audit.write("miss", reason="a", query="How to DEPLOY", workspace="one")
    audit.write("hint", reason="b", refs=["deploy.md"], workspace="two")
    audit.write("write", reason="c")
    assert reasons(audit, Choice(kinds=frozenset({"miss", "write"}))) == ["c", "a"]
    # What belongs to the user belongs to every workspace.
    assert reasons(audit, Choice(workspace="one")) == ["c", "a"]
    assert reasons(audit, Choice(text="deploy")) == ["b", "a"]
    later = stamp(NOON + timedelta(minutes=1))
    assert reasons(audit, Choice(since=later)) == ["c", "b"] and reasons(audit, Choice(until=later)) == ["a"]


texts = st.text(max_size=300)


@given(kind=texts, reason=texts, query=texts, refs=st.lists(texts, max_size=30), name=texts,
       numbers=st.dictionaries(texts, st.floats(), max_size=30))  # fmt: skip
def test_every_entry_is_one_bounded_line_that_reads_back(
    kind: str, reason: str, query: str, refs: list[str], name: str, numbers: dict[str, float]
) -> None:
    entry = Entry(stamp(NOON), kind, reason * 9, tuple(refs), query * 9, name, name, name, numbers)
    kept = bounded(entry, clean)
    line = line_of(kept).encode("utf-8", "replace")
    assert line.count(b"\n") == 1 and len(line) <= MOST_LINE
    back = read_line(line)
    assert isinstance(back, Entry)
    assert (back.kind, back.reason, back.refs, back.query, back.run) == (
        kept.kind, kept.reason, kept.refs, kept.query, kept.run,
    )  # fmt: skip


def test_times_are_read_as_people_write_them() -> None:
    assert moment("2d", NOON) == "2026-02-27T12:00:00.000Z"
    assert moment(" 90M ", NOON) == "2026-03-01T10:30:00.000Z"
    assert moment("2026-02-01", NOON) == "2026-02-01T00:00:00.000Z"
    assert moment("2026-02-01T10:00+02:00", NOON) == "2026-02-01T08:00:00.000Z"
    for wrong in ("", "yesterday", "2 parsecs", "2026-13-01", "999999w"):
        with pytest.raises(UsageError, match="no time"):
            moment(wrong, NOON)


# ---------------------------------------------------------------------- the command


def test_the_command_shows_what_was_missed_and_why(home: Path, harbour: Path) -> None:
    audit = Audit(home / "clew" / "audit", clean)
    audit.write("hint", reason="shown", refs=["clew://memory/mem_0123456789ab"])
    audit.write("miss", reason="nothing came near: 0.12", query="how do we roll back", workspace="elsewhere")
    found = clew("audit", cwd=harbour)
    assert found.status == 0 and found.out.count("\n") == 1
    assert "mem_0123456789ab" in found.out and found.out.rstrip().endswith("shown")
    missed = clew("audit", "--misses", "--all", "--since", "1d", cwd=harbour)
    assert "how do we roll" in missed.out and "elsewhere: nothing came near: 0.12" in missed.out
    assert "shown" not in missed.out
    assert "clew audit --all" in clew("audit", "--misses", cwd=harbour).err
    assert clew("audit", "--all", "--workspace", "x", cwd=harbour).status == 2
    assert clew("audit", "--since", "soon", cwd=harbour).status == 2


def test_json_is_one_array_and_damage_is_told_on_stderr(home: Path, harbour: Path) -> None:
    audit = Audit(home / "clew" / "audit", clean)
    assert clew("audit", "--json", cwd=harbour).json == []
    for number in range(3):
        audit.write("write", reason=str(number))
    file = next((home / "clew" / "audit").iterdir())
    file.write_bytes(file.read_bytes() + b"{torn")
    found = clew("audit", "--json", "--limit", "0", cwd=harbour)
    assert [row["reason"] for row in found.json] == ["2", "1", "0"]
    assert "damaged lines, left out: 1" in found.err
    limited = clew("audit", "--json", "--limit", "2", cwd=harbour)
    assert len(limited.json) == 2 and "--limit 0" in limited.err


def test_a_line_fits_a_terminal_of_eighty_columns(home: Path, harbour: Path) -> None:
    audit = Audit(home / "clew" / "audit", clean)
    audit.write(
        "exclusion", reason="已过期，因此没有提示 " * 9, refs=["clew://memory/mem_0123456789ab", "clew://memory/mem_b"]
    )
    reader, writer = pty.openpty()
    with subprocess.Popen([*ARGV, "audit"], cwd=harbour, stdout=writer, env={**os.environ, "COLUMNS": "80"}) as process:
        os.close(writer)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(reader, 4096):
                shown += part
    os.close(reader)
    assert process.returncode == 0
    (line,) = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert "exclusion" in line and "mem_0123456789… +1" in line and line.endswith("…")
    assert sum(2 if char >= "\u4e00" or char == "，" else 1 for char in line) <= 80
