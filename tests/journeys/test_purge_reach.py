"""How far a purge reaches: names of branches, copies of editors, protected files, links, locks, and a full disk."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import ARGV, clew, environ, git, write

from clew.errors import StoreBusy
from clew.stores.audit import rewrite

pytestmark = pytest.mark.requirement("W-09")

SECRET = "violet77umbrella"
NOTE = "---\nid: mem_0123456789ab\nname: Deploy\n---\nThe word is {}.\n"


def without_rights() -> None:
    """What is asked of the system in the child: the rights of files hold for root as well."""
    libc = ctypes.CDLL(None)
    for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP


def test_branches_and_tags_that_are_named_after_it_get_other_names(home: Path, harbour: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    memory = home / "clew/memory"
    write(memory, {"user/a.md": NOTE.format(SECRET)})
    git(memory, "add", "-A")
    git(memory, "commit", "-q", "-m", f"Keep {SECRET}")
    git(memory, "branch", f"topic-{SECRET}")
    git(memory, "branch", f"redacted/{SECRET}/x")
    git(memory, "tag", f"t-{SECRET}")
    git(memory, "pack-refs", "--all")
    git(memory, "checkout", "-q", "-b", f"now-{SECRET}")
    done = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert done.status == 0, done.err
    git(memory, "fsck", "--no-dangling")
    names = git(memory, "for-each-ref", "--format=%(refname)").split()
    assert len(names) == 5 and not any(SECRET in name for name in names)
    assert SECRET not in git(memory, "log", "--all", "--format=%B") + git(memory, "branch", "--show-current")
    assert git(memory, "status", "--porcelain") == ""


def test_copies_that_an_editor_left_are_cleaned_and_open_ones_named(home: Path, harbour: Path) -> None:
    user = home / "clew/memory/user"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    heads = {pid: b"b0VIM 9.0\0" + bytes(14) + pid.to_bytes(4, "little") for pid in (dead.pid, os.getpid())}
    write(home / "clew", {f"memory/user/{name}": NOTE.format(SECRET) for name in ("a.md", "a.md~", "#a.md#", "#b.md#")})
    (user / ".#b.md").symlink_to(f"ada@host.{os.getpid()}:1")
    (user / ".a.md.swp").write_bytes(heads[dead.pid] + SECRET.encode())
    (user / ".c.md.swp").write_bytes(heads[os.getpid()] + SECRET.encode())
    (home / ".vim/undo").mkdir(parents=True)
    done = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert done.status == 1 and "2 left" in done.err
    left = {path.name for path in user.iterdir() if not path.is_symlink() and SECRET.encode() in path.read_bytes()}
    assert left == {"#b.md#", ".c.md.swp"}
    assert (user / ".a.md.swp").stat().st_size == len(heads[dead.pid]) + len(SECRET)
    assert str(home / ".vim/undo") in done.err


def test_a_note_that_is_protected_against_writing_is_cleaned_and_stays_protected(home: Path, harbour: Path) -> None:
    write(home / "clew", {"memory/user/a.md": NOTE.format(SECRET)})
    note = home / "clew/memory/user/a.md"
    note.chmod(0o400)
    done = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET, preexec_fn=without_rights)
    assert done.status == 0, done.err
    assert SECRET not in note.read_text() and note.stat().st_mode & 0o777 == 0o400


def test_a_note_that_is_protected_against_writing_is_not_replaced_by_half(home: Path, harbour: Path) -> None:
    assert clew("note", "Lift until six.", "--name", "Lifting", cwd=harbour).status == 0
    (old,) = (home / "clew/memory").rglob("lifting*.md")
    before = old.read_text()
    old.chmod(0o400)
    more = ("--name", "Lifting", "--replace")
    done = clew("note", "Lift until seven.", *more, cwd=harbour, preexec_fn=without_rights)
    assert done.status == 2 and "write-protected" in done.err and "hint:" in done.err
    assert [path.read_text() for path in old.parent.glob("*.md")] == [before]
    old.chmod(0o600)
    assert clew("note", "Lift until seven.", *more, cwd=harbour).status == 0
    assert len([*old.parent.glob("*.md")]) == 2


def test_a_link_to_a_file_elsewhere_is_named_and_that_file_is_not_touched(home: Path, harbour: Path) -> None:
    outside = home / "elsewhere.md"
    outside.write_text(NOTE.format(SECRET))
    write(home / "clew", {"memory/user/b.md": "y\n"})
    (home / "clew/memory/user/a.md").symlink_to(outside)
    done = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert done.status == 1 and str(outside) in done.err
    assert SECRET in outside.read_text()


def test_a_trail_that_is_held_is_waited_for_so_long_and_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "2026-03.jsonl"
    path.write_bytes(b"one\n")
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(StoreBusy, match=r"2026-03\.jsonl") as raised:
            rewrite(path, lambda old: old + b"two\n", seconds=0.05)
        assert time.monotonic() - began < 20
        assert raised.value.hint and path.read_bytes() == b"one\n"
    assert rewrite(path, lambda old: old + b"two\n", seconds=0.05)


def test_on_a_disk_that_is_full_a_purge_loses_nothing(home: Path, harbour: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace here: unshare -rm")
    data, kept = home / "clew", home / "kept"
    notes = {f"memory/user/n{number}.md": NOTE.format(SECRET) + "A berth. " * 400 for number in range(9)}
    write(kept, {**notes, "audit/2026-03.jsonl": f'{{"v":1}}\n{{"time":"2026-03-01T00:00:00Z","reason":"{SECRET}"}}\n'})
    data.mkdir(exist_ok=True)
    purge = f"{' '.join(ARGV)} purge --secret --yes"
    script = (
        f"mount -t tmpfs -o size=128k none {data} && cp -r {kept}/. {data} && "
        f"dd if=/dev/zero of={data}/filler bs=1k count=400 2>/dev/null; "
        f"echo {SECRET} | {purge}; echo full=$?; cp -r {data} {home}/after; rm {data}/filler; "
        f"echo {SECRET} | {purge}; echo room=$?; rm -rf {home}/last; cp -r {data} {home}/last"
    )
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script], cwd=harbour, env=environ({}), capture_output=True, text=True, check=False
    )
    assert "full=1" in done.stdout and "room=0" in done.stdout, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    for name, text in notes.items():
        marked = text.split(SECRET)
        for state in ("after", "last"):
            found = (home / state / name).read_text()
            assert found == text or (found.startswith(marked[0]) and found.endswith(marked[1]))
    assert not [path for path in (home / "last").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
