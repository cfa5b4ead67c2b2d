"""Death, failure and crowding at every step of a write: old or new text, never a torn or a missing one.

As a program, this file is the victim (see `tests/faults.py`).
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.faults import BY_RENAMING, IN_PLACE, ROOT, play, program, say, suffered

from clew.core.memory.document import digest_of
from clew.core.memory.edit import Draft
from clew.errors import ClewError, Conflict, StoreError
from clew.stores.documents import Documents
from clew.stores.durable import LOCK, TEMPORARY

TODAY = date(2026, 6, 1)
NOW = datetime(2026, 6, 1, 14, 5, tzinfo=UTC)
NOTES = "workspaces/w/notes"
BEFORE = {
    f"{NOTES}/a.md": "---\nid: a\ndescription: d\n---\nold\n",
    f"{NOTES}/b.md": "---\r\nid: b\r\n---\r\nolder",
    "workspaces/w/logs/2026-06-02.md": "---\nid: l\n---\n",
}
OPERATIONS: dict[str, Callable[[Documents], object]] = {
    "replace": lambda it: it.replace(f"{NOTES}/a.md", "new\n" * 5000, expect=digest_of(BEFORE[f"{NOTES}/a.md"])),
    "append": lambda it: it.append(f"{NOTES}/b.md", "more"),
    "create": lambda it: it.create(Draft("A", "text", "d"), workspace="w", today=TODAY, id="c"),
    "create in a new workspace": lambda it: it.create(Draft("A", "text", "d"), workspace="v", today=TODAY, id="c"),
    "first entry of a log": lambda it: it.log("w", "did it", at=NOW),
    "next entry of a log": lambda it: it.log("w", "did it", at=NOW.replace(day=2)),
    "fields": lambda it: it.set_fields(f"{NOTES}/b.md", {"status": "deprecated", "tags": ["x"]}),
    "supersede": lambda it: it.supersede(f"{NOTES}/a.md", f"{NOTES}/b.md", today=TODAY),
    "archive": lambda it: it.archive(f"{NOTES}/a.md"),
}
BY_HAND = "---\nid: h\n---\nby hand\n"
_rename = os.rename


def opened(root: Path) -> Documents:
    return Documents(root, redact=lambda text: text, lock_seconds=1, new_id=lambda: "fresh")


def refused(door: Callable[[], object]) -> str:
    """What a door says that does not open; empty where it opens, or says nothing of use."""
    try:
        door()
    except StoreError as error:
        return str(error) if error.hint else ""
    return ""


def files(root: Path) -> dict[str, str]:
    """All files but locks."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


# ---------------------------------------------------------------------- the victim


def by_hand(root: Path, code: int) -> None:
    """Save the notes with another text: in place, or as editors do that write a new file and rename it."""
    for name in ("a", "b"):
        path = root / NOTES / f"{name}.md"
        if code == IN_PLACE:
            path.write_bytes(BY_HAND.encode())
            continue
        path.with_suffix(".new").write_bytes(BY_HAND.encode())
        _rename(path.with_suffix(".new"), path)


def prepared(root: Path) -> None:
    for path, text in BEFORE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def carried_out(root: Path, operation: str) -> int:
    """How an operation ended that was not killed: 0 well, 3 or 4 with an error that has a hint, or has none."""
    try:
        OPERATIONS[operation](opened(root))
    except ClewError as error:
        return 3 if error.hint and str(error) else 4
    return 0


def demand_whole(root: Path, after: dict[str, str]) -> None:
    """Each file says what it said before or what it is to say; none is lost."""
    found = files(root)
    for path in BEFORE.keys() | after.keys():
        allowed = {BEFORE.get(path), after.get(path)}
        assert found.get(path) in allowed, (root.name, path, found.get(path))
    # What moves is at one of its places.
    texts = set(found.values())
    assert all(text in texts for path, text in BEFORE.items() if path not in after)
    assert {path for path in found if not path.endswith(TEMPORARY)} <= BEFORE.keys() | after.keys()


@pytest.mark.requirement("Q-40")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_step_a_write_leaves_the_old_or_the_new_text_and_no_lock(tmp_path: Path, operation: str) -> None:
    ends = suffered(__name__, tmp_path, operation, 0)
    whole, last = ends[-1]
    assert last == 0 and len(ends) > 10 and all(end == -signal.SIGKILL for _, end in ends[:-1])
    after = files(whole)
    assert after != BEFORE
    states = set[str]()
    for root, _ in ends[:-1]:
        demand_whole(root, after)
        states.add(json.dumps({path: text for path, text in files(root).items() if not path.endswith(TEMPORARY)}))
        documents = opened(root)
        documents.create(Draft("After", "text", "d"), workspace="w", today=TODAY)
        documents.log("w", "after", at=NOW.replace(day=2))
        written = {path for path in files(root) if path.startswith(NOTES)}
        assert not any(path.endswith(TEMPORARY) for path in written)
    # Some died before the change and some after it.
    assert len(states) >= 2


@pytest.mark.requirement("Q-42")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_call_that_fails_is_told_and_leaves_the_old_or_the_new_text_and_nothing_else(
    tmp_path: Path, operation: str, code: int
) -> None:
    OPERATIONS[operation](opened(shutil.copytree(base(tmp_path / "base"), tmp_path / "whole")))
    after = files(tmp_path / "whole")
    ends = suffered(__name__, tmp_path, operation, code)
    assert {end for _, end in ends} <= {0, 2, 3} and len(ends) > 10
    for root, end in ends:
        demand_whole(root, after)
        # Where it passed all the same, it was a call that is not needed.
        assert end == 3 or files(root) == after


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("way", [IN_PLACE, BY_RENAMING])
@pytest.mark.parametrize("operation", ["replace", "append", "fields"])
def test_an_edit_by_hand_at_any_step_of_a_write_is_not_lost(tmp_path: Path, operation: str, way: int) -> None:
    ends = suffered(__name__, tmp_path, operation, way)
    path = f"{NOTES}/{'a' if operation == 'replace' else 'b'}.md"
    for root, end in ends[:-1]:
        found = files(root)[path]
        if operation == "fields":
            assert "by hand\n" in found and "id: h\n" in found
        else:
            assert found.startswith(BY_HAND), (root.name, end)
        assert not (root / NOTES / TEMPORARY).exists()
    assert {end for _, end in ends} == {0, 2, 3}


def base(root: Path) -> Path:
    prepared(root)
    return root


# ---------------------------------------------------------------------- a crowd


def crowd(root: Path, name: str, each: str) -> None:
    """Append and replace in turn; print what was written."""
    documents = Documents(root, redact=lambda text: text)
    path = f"{NOTES}/a.md"
    for number in range(int(each)):
        mark = f"{name}-{number}"
        if number % 2:
            documents.append(path, f"appended {mark}")
            say(f"appended {mark}")
            continue
        # The digest first: what is written in between makes the text newer than it, never older.
        digest = documents.read(path).digest
        read = documents.read_text(path)
        try:
            documents.replace(path, f"replaced {mark}\n{read}", expect=digest)
            say(f"replaced {mark}")
        except Conflict:
            say(f"conflict {mark}")


@pytest.mark.requirement("Q-41")
@pytest.mark.parametrize("each", [20, pytest.param(125, marks=pytest.mark.slow)])
def test_eight_processes_append_and_replace_a_note_and_nothing_is_lost(tmp_path: Path, each: int) -> None:
    root = base(tmp_path / "memory")
    command = [*program(__name__), "crowd", str(root)]
    running = [
        subprocess.Popen(
            [*command, str(name), str(each)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        for name in range(8)
    ]
    told: list[str] = []
    for process in running:
        out, err = process.communicate(timeout=250)
        assert process.returncode == 0, err
        told += out.splitlines()
    assert len(told) == 8 * each
    written = sorted(line for line in told if not line.startswith("conflict"))
    text = (root / f"{NOTES}/a.md").read_text()
    found = sorted(line for line in text.splitlines() if line.startswith(("appended", "replaced")))
    assert found == written
    assert sum(line.startswith("appended") for line in written) == 8 * (each // 2)
    # All versions but the first grew out of another one; the first is still in there, too.
    assert text.count("id: a\n") == 1 and "replaced" in text
    assert files(root).keys() == BEFORE.keys()


# ---------------------------------------------------------------------- no room, no right


def small_disk(root: Path) -> None:
    """Fill a small disk, make room, write again; then find it read-only. Raises where something is not as it should."""
    documents = opened(root)
    kept: dict[str, str] = {}
    words = ""
    for number in range(1000):
        draft = Draft(f"n{number}", "x" * 9000, "d")
        if words := refused(lambda draft=draft: documents.create(draft, workspace="w", today=TODAY)):
            break
        kept = files(root)
    assert "no room" in words and kept and files(root) == kept
    path = min(kept)
    digest = documents.read(path).digest
    assert "no room" in refused(lambda: documents.replace(path, "y" * 30_000, expect=digest))
    assert files(root) == kept
    os.unlink(root / max(kept))
    assert documents.append(path, "more").written
    before = files(root)
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
    assert "read-only" in refused(lambda: documents.append(path, "more"))
    assert "read-only" in refused(lambda: documents.create(Draft("x", "y"), workspace="new", today=TODAY))
    assert "read-only" in refused(lambda: documents.archive(path))
    assert files(root) == before and len(list(documents.walk())) == len(before)
    say("all is well")


@pytest.mark.requirement("Q-42")
def test_a_full_disk_and_a_read_only_one_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: a small disk cannot be mounted")
    mounted = 'mount -t tmpfs -o size=64k none "$1" || exit 77; exec "$2" "$3" "$4" disk "$1"'
    command = ["unshare", "-rm", "sh", "-c", mounted, "sh", str(root), *program(__name__)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount a small disk")
    assert done.stdout == "all is well\n", done.stderr


def limited(root: Path) -> None:
    """Write a file that is longer than this process may write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    assert "no room" in refused(lambda: opened(root).append(f"{NOTES}/a.md", "x" * 6000))
    say("all is well")


@pytest.mark.requirement("Q-42")
def test_where_a_process_may_write_no_more_the_old_text_stays(tmp_path: Path) -> None:
    root = base(tmp_path / "memory")
    command = [*program(__name__), "limited", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert done.stdout == "all is well\n", done.stderr
    assert files(root) == BEFORE


if __name__ == "__main__":
    play(prepared, carried_out, by_hand, crowd=crowd, disk=small_disk, limited=limited)
