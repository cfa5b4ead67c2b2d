"""Edits of the agent that die, fail, meet other writers or a full disk: the old or the new text, and nothing else.

As a program, this file is the victim (see `tests/faults.py`).
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.faults import BY_RENAMING, IN_PLACE, ROOT, play, program, say, suffered
from tests.tooling import Calls

from clew.services.tools.files import FileDesk
from clew.stores.durable import TEMPORARY

BEFORE = "".join(f"line {number}\r\n" for number in range(2000))
BY_HAND = "by hand\n"
_rename = os.rename


def opened(root: Path) -> Calls:
    return Calls(FileDesk(root, root).tools())


def prepared(root: Path) -> None:
    (root / "src").mkdir(parents=True)
    (root / "src/a.txt").write_bytes(BEFORE.encode())
    (root / "src/a.txt").chmod(0o640)


def carried_out(root: Path, operation: str) -> int:
    """How a call ended that was not killed: 0 where it succeeded, 3 where it says why not."""
    call = opened(root)
    if operation == "create":
        reply = call("write_file", path="new/folder/b.txt", content="new\n" * 3000)
    else:
        if call("read", path="src/a.txt").failed:
            return 3
        new = {"write_file": {"content": "new\n"}, "edit_file": {"edits": [{"first": 2, "last": 1999, "new": "new"}]}}
        reply = call(operation, path="src/a.txt", **new[operation])
    return 3 if reply.failed else 0


def by_hand(root: Path, code: int) -> None:
    """Save the file with another text: in place, or as editors do that write a new file and rename it."""
    path = root / "src/a.txt"
    if code == IN_PLACE:
        path.write_text(BY_HAND)
        return
    (root / "by hand").write_text(BY_HAND)
    _rename(root / "by hand", path)


def files(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


OPERATIONS = ("edit_file", "write_file", "create")
AFTER = {
    "edit_file": {"src/a.txt": "line 0\r\nnew\r\nline 1999\r\n"},
    "write_file": {"src/a.txt": "new\r\n"},
    "create": {"src/a.txt": BEFORE, "new/folder/b.txt": "new\n" * 3000},
}


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_call_of_a_write_the_old_or_the_new_text_is_there(tmp_path: Path, operation: str) -> None:
    ends = suffered(__name__, tmp_path, operation, 0)
    assert files(ends[-1][0]) == AFTER[operation] and ends[-1][1] == 0
    assert len(ends) > 10 and all(end == -signal.SIGKILL for _, end in ends[:-1])
    states = [files(root) for root, _ in ends]
    whole = [{path: text for path, text in one.items() if not path.endswith(TEMPORARY)} for one in states]
    assert all(one in ({"src/a.txt": BEFORE}, AFTER[operation]) for one in whole)
    # Some died before the change and some after it.
    assert whole[0] == {"src/a.txt": BEFORE} and AFTER[operation] in whole[:-1]
    # What the dead left beside the file is gone with the next write there, and holds up nobody.
    for root, _ in ends[:-1]:
        call = opened(root)
        call.good("read", path="src/a.txt")
        call.good("edit_file", path="src/a.txt", edits=[{"first": 1, "last": 0, "new": "after"}])
        assert not (root / "src" / TEMPORARY).exists()
        assert (root / "src/a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_call_that_fails_is_told_and_leaves_nothing_half_done(tmp_path: Path, operation: str, code: int) -> None:
    ends = suffered(__name__, tmp_path, operation, code)
    assert {end for _, end in ends} <= {0, 2, 3} and len(ends) > 5
    for root, end in ends:
        found = {path: text for path, text in files(root).items() if not path.endswith(TEMPORARY)}
        assert found in ({"src/a.txt": BEFORE}, AFTER[operation])
        # Where it passed all the same, it was a call that is not needed.
        assert end == 3 or found == AFTER[operation]


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("way", [IN_PLACE, BY_RENAMING])
@pytest.mark.parametrize("operation", ["edit_file", "write_file"])
def test_a_save_by_the_user_at_any_call_of_a_write_is_not_lost(tmp_path: Path, operation: str, way: int) -> None:
    ends = suffered(__name__, tmp_path, operation, way)
    assert {end for _, end in ends} == {0, 2, 3} or {end for _, end in ends} == {0, 3}
    for root, _ in ends[:-1]:
        # Before the first call the model has not read: then it reads what the user saved, and may write over that.
        known = operation == "write_file" and root.name == "1"
        assert files(root) == {"src/a.txt": "new\n" if known else BY_HAND}, root.name


# ---------------------------------------------------------------------- a crowd


def crowd(root: Path, name: str, each: str) -> None:
    """Edit one line of a file that all edit; after a refusal, the text that it gave counts as read."""
    call = opened(root)
    done = 0
    for _ in range(10_000):
        if done == int(each):
            say("done")
            return
        new = {"first": 1, "last": 0, "new": f"{name} {done}"}
        done += not call("edit_file", path="shared.txt", edits=[new]).failed


@pytest.mark.requirement("R-12")
def test_eight_processes_edit_a_file_and_no_edit_is_lost(tmp_path: Path) -> None:
    (tmp_path / "shared.txt").write_text("end\n")
    command = [*program(__name__), "crowd", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(name), "20"], cwd=ROOT, **pipes) for name in range(8)]
    for process in running:
        out, err = process.communicate(timeout=250)
        assert out == "done\n", err
    lines = (tmp_path / "shared.txt").read_text().splitlines()
    assert sorted(lines) == sorted([*(f"{name} {number}" for name in range(8) for number in range(20)), "end"])
    for name in range(8):
        assert [line for line in lines if line.startswith(f"{name} ")] == [f"{name} {at}" for at in range(19, -1, -1)]
    assert [path.name for path in tmp_path.iterdir()] == ["shared.txt"]


# ---------------------------------------------------------------------- no room, no right


def small_disk(root: Path) -> None:
    """Fill a small disk, make room, write again; then find it read-only. Raises where something is not as it should."""
    call = opened(root)
    call.good("write_file", path="a.txt", content="x\n" * 5000)
    kept = files(root)
    for number in range(100):
        reply = call("write_file", path=f"deep/n{number}.txt", content="y\n" * 5000)
        if reply.failed:
            assert "there is no room left" in reply.text, reply.text
            break
        kept = files(root)
    assert files(root) == kept and len(kept) > 2
    edit = [{"first": 1, "last": 0, "new": "z\n" * 5000}]
    assert "there is no room left" in call.refused("edit_file", path="a.txt", edits=edit)
    assert files(root) == kept
    os.unlink(root / max(kept))
    call.good("edit_file", path="a.txt", edits=[{"first": 1, "last": 1, "new": "short"}])
    kept = files(root)
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
    assert "read-only" in call.refused("edit_file", path="a.txt", edits=[{"first": 1, "last": 1, "new": "other"}])
    assert "read-only" in call.refused("write_file", path="new/b.txt", content="b")
    assert files(root) == kept and call.good("read", path="a.txt", limit=1).endswith("1| short")
    say("all is well")


@pytest.mark.requirement("R-12")
def test_a_full_disk_and_a_read_only_one_keep_what_is_there(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: a small disk cannot be mounted")
    mounted = 'mount -t tmpfs -o size=128k none "$1" || exit 77; shift; exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mounted, "sh", str(root), *program(__name__), "disk", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount a small disk")
    assert done.stdout == "all is well\n", done.stderr


def without_rights(root: Path) -> None:
    """As a user who may not write into a folder: a file there stays, is read, and the reason is told."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    call = opened(root)
    call.good("read", path="locked/a.txt")
    reply = call.refused("edit_file", path="locked/a.txt", edits=[{"old": "x", "new": "y"}])
    assert "permission denied for its folder" in reply, reply
    assert "permission denied" in call.refused("write_file", path="locked/new/b.txt", content="x")
    assert "Permission denied" in call.refused("read", path="closed/a.txt")
    assert "permission denied" in call.refused("read", path="secret.txt").lower()
    say("all is well")


@pytest.mark.requirement("R-12")
def test_in_a_folder_that_may_not_be_written_an_edit_is_refused_with_the_reason() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("locked/a.txt", "closed/a.txt", "secret.txt"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text("x\n")
            (root / name).chmod(0o666)
        (root / "secret.txt").chmod(0)
        (root / "closed").chmod(0)
        (root / "locked").chmod(0o555)
        root.chmod(0o755)
        command = [*program(__name__), "rights", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
        (root / "closed").chmod(0o755)
        (root / "locked").chmod(0o755)
        (root / "secret.txt").chmod(0o644)
        assert done.stdout == "all is well\n", done.stderr
        assert files(root)["locked/a.txt"] == "x\n"


if __name__ == "__main__":
    play(prepared, carried_out, by_hand, crowd=crowd, disk=small_disk, rights=without_rights)
