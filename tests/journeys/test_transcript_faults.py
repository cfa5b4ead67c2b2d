"""Transcripts that die or fail at any call of the system: every whole line stays, at most the step in flight is lost.

As a program, this file is the victim (see `tests/faults.py`).
"""

from __future__ import annotations

import errno
import os
import signal
import tempfile
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults import play, suffered

from clew.errors import ClewError, StoreBusy, StoreError, StoreTooNew
from clew.stores.transcripts import Began, Ended, Line, Opened, Replied, Resulted, Transcripts, read_transcript

ID = "20260102-030405-0a1b2c"
AT = "2026-01-02T03:04:05+01:00"
OPENED = Opened(ID, AT, "harbour", "harbour", "/harbour", "/harbour", identity="[session_identity]")
BEFORE: tuple[Line, ...] = (
    OPENED,
    Began(1, AT, "anthropic:x", "first", ("first",)),
    Ended(1, AT, "finished", "one"),
)
STEPS: tuple[Line, ...] = (
    Began(2, AT, "anthropic:x", "second", ("second",)),
    Replied(2, 1, 1, "I look.", calls=(("c1", "read", {"path": "a.py"}),)),
    Resulted(2, 1, (("c1", "read", "x" * 5_000, False),)),
    Replied(2, 2, 1, "Done."),
    Ended(2, AT, "finished", "Done.", calls=1),
)


def store(root: Path) -> Transcripts:
    return Transcripts(root / "sessions", lambda text: text)


def prepared(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "sessions").mkdir()
    with store(root).at(ID) as transcript:
        for line in BEFORE:
            transcript.append(line)


def act(root: Path, operation: str) -> int:
    """Go on with the session, line by line. 3 where an error said why not."""
    try:
        with store(root).at(ID) as transcript:
            for line in STEPS:
                transcript.append(line)
    except ClewError:
        return 3
    return 0


def by_hand(root: Path, code: int) -> None:
    """Nobody edits a transcript."""


def kept(root: Path) -> Sequence[Line]:
    return read_transcript(root / "sessions" / f"{ID}.jsonl").lines


@pytest.mark.requirement("R-16", "Q-40")
def test_killed_at_any_call_a_transcript_keeps_every_step_that_was_complete(tmp_path: Path) -> None:
    ends = suffered(__name__, tmp_path, "go on", 0)
    assert ends[-1][1] == 0
    assert all(end == -signal.SIGKILL for _, end in ends[:-1])
    whole = [*BEFORE, *STEPS]
    counts: set[int] = set()
    for root, _ in ends:
        lines = list(kept(root))
        assert lines == whole[: len(lines)]
        counts.add(len(lines))
        # The next one goes on, and nothing of the torn line is in its way.
        with store(root).at(ID) as transcript:
            transcript.append(Began(9, AT, "anthropic:x", "again", ("again",)))
        assert [*kept(root)][: len(lines)] == lines
        assert kept(root)[-1].run == 9  # type: ignore[union-attr]
    assert counts == set(range(len(BEFORE), len(whole) + 1))


@pytest.mark.requirement("R-16", "Q-42")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO], ids=errno.errorcode.get)
def test_a_call_that_fails_is_told_and_leaves_no_half_line(tmp_path: Path, code: int) -> None:
    ends = suffered(__name__, tmp_path, "go on", code)
    assert {end for _, end in ends} <= {0, 2, 3}
    for root, _ in ends:
        lines = list(kept(root))
        assert lines == [*BEFORE, *STEPS][: len(lines)]
        assert (root / "sessions" / f"{ID}.jsonl").read_bytes().endswith(b"\n")


@pytest.mark.requirement("R-16")
@given(st.integers(0, 400))
def test_cut_at_any_byte_all_lines_before_it_are_read(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        prepared(root)
        act(root, "go on")
        path = root / "sessions" / f"{ID}.jsonl"
        content = path.read_bytes()
        place = len(content) * cut // 400
        path.write_bytes(content[:place])
        whole = content[:place].count(b"\n")
        if whole == 0:
            with pytest.raises(StoreError):
                read_transcript(path)
            return
        read = read_transcript(path)
        assert list(read.lines) == [*BEFORE, *STEPS][: len(read.lines)]
        assert len(read.lines) in (whole, whole + 1)


@pytest.mark.requirement("R-16")
def test_one_process_writes_a_session_and_readers_never_see_half_a_line(tmp_path: Path) -> None:
    prepared(tmp_path / "root")
    root = tmp_path / "root"
    seen: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            found = read_transcript(root / "sessions" / f"{ID}.jsonl")
            seen.append(found.skipped)

    with store(root).at(ID) as transcript:
        with pytest.raises(StoreBusy, match="in use by another process"), store(root).at(ID):
            pass
        reader = threading.Thread(target=read)
        reader.start()
        for number in range(2, 60):
            transcript.append(Began(number, AT, "anthropic:x", "m", ("m" * 20_000,)))
        stop.set()
        reader.join(20)
    assert seen
    assert set(seen) <= {0, 1}


@pytest.mark.requirement("F-08")
def test_a_transcript_of_a_newer_clew_is_refused_and_kept(tmp_path: Path) -> None:
    prepared(tmp_path / "root")
    path = tmp_path / "root" / "sessions" / f"{ID}.jsonl"
    content = path.read_text(encoding="utf-8").replace('"format":1', '"format":2')
    if '"format":2' not in content:
        content = content.replace('"type":"session",', '"type":"session","format":2,', 1)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StoreTooNew):
        store(tmp_path / "root").read(ID)
    assert path.read_text(encoding="utf-8") == content


def test_ids_follow_the_clock_and_sessions_are_listed_by_their_last_use(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    early = datetime(2026, 1, 2, 3, 4, 5, 7_000, UTC)
    with sessions.new(early) as one, sessions.new(early.replace(microsecond=8_000)) as two:
        for transcript in (one, two):
            transcript.append(Opened(transcript.id, AT, "harbour", "harbour", "/h", "/h"))
        assert one.id < two.id
    os.utime(sessions.folder / f"{one.id}.jsonl", (2e9, 2e9))
    assert [summary.id for summary in sessions.list("harbour")] == [one.id, two.id]
    assert list(sessions.list("elsewhere")) == []


if __name__ == "__main__":
    play(prepared, act, by_hand)
