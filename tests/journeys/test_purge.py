"""A secret that slipped through, planted by hand in every place, and a purge that leaves no byte of it."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import termios
import threading
import time
import zlib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import ARGV, Done, clew, environ, git, write

from clew.core.text.traces import marks_of, traces_of
from clew.stores.audit import Audit
from clew.stores.exchanges import ExchangeStore
from clew.stores.purging import Layout, search
from clew.stores.seen import Rejected, Seen, said_digest

pytestmark = pytest.mark.requirement("W-09")

SECRET = 'otter/Violet&77-"umbrella'
"""No rule of the redactor knows it."""
NOTE = "workspaces/w/notes/deploy.md"
HEAD = "---\nid: mem_0123456789ab\nname: Deploy\ndescription: {}\ntags: [ops]\n---\n"
CLEAN = "---\nid: mem_ba9876543210\nname: Berths\n---\nA berth is where a ship lies, and it has a number.\n"


def forms(secret: str) -> list[bytes]:
    """What a byte search looks for, written without the code under test."""
    raw = secret.encode()
    found = [raw, quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode(), raw.hex().encode()]
    found += [base64.b64encode(bytes(shift) + raw)[4:-4] for shift in range(3)]
    # Its most telling part, however the rest is broken.
    return [*found, b"Violet&77"]


def left_in(root: Path, secret: str = SECRET) -> dict[str, int]:
    """Files, and objects of git, with any form of the secret in their bytes."""
    wanted = forms(secret)
    found: dict[str, int] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if "objects" in path.parts and len(path.parent.name) == 2:
            content = zlib.decompress(content)
        if count := sum(content.count(one) for one in wanted):
            found[path.relative_to(root).as_posix()] = count
    for folder in root.rglob(".git"):
        command = ["git", "-C", str(folder.parent), "cat-file", "--batch-all-objects", "--batch"]
        content = subprocess.run(command, capture_output=True, check=True).stdout
        if count := sum(content.count(one) for one in wanted):
            found[f"{folder.name} objects"] = count
    return found


def plant_rows(data: Path) -> None:
    """Exchanges, one of them deleted into the free pages, and one that is only in the log of a process that died."""
    with ExchangeStore(data / "history.db") as store:
        store.add("w", "t", question=f"is it {SECRET}?", answer="yes", mode="rich", at="2026-03-01T09:00:00Z")
        store.add("w", "t", question="what is a berth?", answer="a place", mode="rich", at="2026-03-01T09:01:00Z")
        long = store.add("w", "t", question="long", answer=f"{SECRET} " * 3000, mode="rich", at="2026-03-01T09:02:00Z")
    with closing(sqlite3.connect(data / "history.db")) as db:
        db.execute("pragma secure_delete = off")
        db.execute("delete from exchange where id = ?", (long.id,))
        db.commit()
        copy = sqlite3.connect(data / "history.db.format-1")
        with closing(copy):
            copy.execute("create table exchange (id integer primary key, question text, answer text)")
            copy.execute("insert into exchange (question, answer) values (?, 'no')", (SECRET,))
            copy.commit()
    (data / "history.db.damaged-1").write_bytes(b"SQLite format 3\0" + b"\1" * 900 + SECRET.encode() + b"\2" * 900)
    seen = Seen(data / "hints.db")
    seen.claim("s", 1, ["mem_ba9876543210"])
    said = f"use {SECRET} now"
    seen.reject(Rejected("mem_ba9876543210", said_digest(said), said, {"e5": b"\1" * 8}))
    seen.reject(Rejected("mem_ba9876543210", said_digest("other"), "other", {"e5": b"\2" * 8}))
    die = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute('pragma wal_autocheckpoint = 0')\n"
        "db.execute('update exchange set mode = ? where id = 2', (sys.argv[2],))\n"
        "db.commit()\n"
        "db.execute('update exchange set mode = ? where id = 2', ('rich',))\n"
        "db.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", die, str(data / "history.db"), SECRET], check=True)
    assert SECRET.encode() in (data / "history.db-wal").read_bytes()


def plant(home: Path, harbour: Path) -> Path:
    """A home with the secret wherever something is kept. Clew's folder."""
    data = home / "clew"
    assert clew("sync", "init", cwd=harbour).status == 0
    memory = data / "memory"
    write(memory, {NOTE: HEAD.format(SECRET) + f"The word is {SECRET}.\nNothing else.\n", "user/berths.md": CLEAN})
    git(memory, "add", "-A")
    git(memory, "commit", "-q", "-m", f"Keep {SECRET}")
    git(memory, "tag", "-a", "-m", f"tag of {SECRET}", "v1")
    git(memory, "branch", "side")
    write(memory, {NOTE: HEAD.format("none") + "The word is gone.\n"})
    git(memory, "commit", "-q", "-a", "-m", "Take it out")
    git(memory, "commit", "-q", "--allow-empty", "-m", f"dangling {SECRET}")
    git(memory, "reset", "-q", "--hard", "HEAD~1")
    write(
        memory, {NOTE: HEAD.format(SECRET) + f"Say {json.dumps(SECRET)[1:-1]} or {quote(SECRET, safe='')}.\r\nEnd.\n"}
    )
    git(memory, "commit", "-q", "-a", "-m", "Say it again")
    write(memory, {
        "workspaces/w/notes/archive/old.md": f"old {SECRET}\n",
        "workspaces/w/notes/deploy.conflict-0123abc.md": f"theirs {base64.b64encode(SECRET.encode()).decode()}\n",
        "workspaces/w/logs/2026-03-01.md": f"split {SECRET[:9]}\n   {SECRET[9:]}\n",
        "workspaces/w/.clew-write.tmp": f"half {SECRET}",
        "workspaces/w/.lock": f"4711 {SECRET}\n",
        "user/notes.md~": f"editor {SECRET}\n",
        "user/otter-violet-77-umbrella.md": "its name tells\n",
    })  # fmt: skip
    entry = {"time": "2026-03-01T09:00:00.000Z", "kind": "miss", "query": f"where is {SECRET}"}
    cut = {"time": "2026-03-01T09:00:01.000Z", "kind": "miss", "query": f"where is {SECRET[:14]}…"}
    kept = {"time": "2026-03-01T09:00:02.000Z", "kind": "miss", "query": "berth"}
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ({"clew_audit": 1}, entry, cut, kept))
    write(data, {
        "audit/2026-03.jsonl": lines,
        "audit/2026-03.jsonl.new": f"half {SECRET}",
        "kept/deploy-01234567.md": SECRET,
        "config.yaml": f"# {SECRET}\nmax_tokens: 7000\n",
    })  # fmt: skip
    git(harbour, "commit", "-q", "--allow-empty", "-m", f"Rotate {SECRET}")
    assert clew("memory", "search", "the word", cwd=harbour).status == 0
    assert clew("context", f"what rotates {SECRET}?", "--mode", "rich", cwd=harbour).status == 0
    plant_rows(data)
    return data


def purged(harbour: Path, *more: str, secret: str = SECRET, **options: Any) -> Done:
    return clew("purge", "--secret", "--yes", *more, cwd=harbour, stdin=secret + "\n", **options)


def kept_texts(data: Path) -> dict[str, bytes]:
    """Files that never had the secret, and must stay byte for byte."""
    names = ("memory/user/berths.md", "memory/.git/HEAD", "memory/.gitignore", "redaction.key", "known_workspaces.json")
    return {name: (data / name).read_bytes() for name in names}


def test_no_byte_of_a_secret_is_left_anywhere_and_all_else_is_as_it_was(home: Path, harbour: Path) -> None:
    data = plant(home, harbour)
    before, sites = kept_texts(data), left_in(data)
    for part in (
        "history.db",
        "history.db-wal",
        "history.db.format-1",
        "history.db.damaged-1",
        "hints.db",
        ".git objects",
    ):
        assert any(part in name for name in sites), (part, sites)
    done = purged(harbour, "--json")
    assert done.status == 0, done.out + done.err
    assert left_in(data) == {}
    assert done.json["done"] and done.json["left"] == []
    assert SECRET not in done.out + done.err and "Violet" not in done.out + done.err
    kinds = {row["kind"] for row in done.json["found"]}
    assert kinds == {"document", "history", "hints", "audit", "index", "lock", "temporary", "file", "name", "git"}
    assert kept_texts(data) == before
    assert not (data / "memory/user/otter-violet-77-umbrella.md").exists()
    # What stood around it stays: rows with a digest that fits, lines of the trail, values of front matter.
    with ExchangeStore(data / "history.db") as store:
        rows = store.last("w", "t", 9)
        assert not store.notices
    assert [row.question for row in rows][1] == "what is a berth?" and re.fullmatch(
        r"is it \[REDACTED:secret:[0-9a-f]{4}\]\?", rows[0].question
    )
    rejected = Seen(data / "hints.db").rejected()
    assert len(rejected) == 2 and rejected[1].said == "other" and rejected[1].vectors and not rejected[0].vectors
    listed = clew("audit", "--all", "--json", cwd=harbour).json
    assert listed[0]["kind"] == "purge" and {"berth"} <= {row.get("query") for row in listed}
    text = (data / "memory" / NOTE).read_text("utf-8")
    assert re.search(r'^description: "\[REDACTED:secret:[0-9a-f]{4}\]"$', text, re.MULTILINE) and text.endswith(
        "End.\n"
    )
    assert clew("memory", "check", cwd=harbour).status in (0, 1)
    # The second time there is nothing.
    again = purged(harbour, "--json")
    assert again.status == 0 and again.json["found"] == []


def test_the_history_of_memory_is_the_same_but_for_the_secret(home: Path, harbour: Path) -> None:
    data = plant(home, harbour)
    memory = data / "memory"
    before = git(memory, "log", "--format=%an %ae %at %s", "main").splitlines()
    tree = git(memory, "ls-tree", "-r", "main~3").splitlines()
    assert purged(harbour).status == 0
    after = git(memory, "log", "--format=%an %ae %at %s", "main").splitlines()
    mark = re.search(r"\[REDACTED:secret:[0-9a-f]{4}\]", "\n".join(after))
    assert mark and after[-len(before) :] == [line.replace(SECRET, mark[0]) for line in before]
    git(memory, "fsck", "--strict", "--no-dangling")
    assert git(memory, "rev-parse", "v1^{commit}") == git(memory, "rev-parse", "side")
    assert tree[0] in git(memory, "ls-tree", "-r", "side").splitlines()
    assert git(memory, "cat-file", "blob", f"main:{NOTE}").encode() != b"" and git(memory, "reflog") == ""
    # Files that were not committed are still not; those that were are as they were committed.
    assert not [line for line in git(memory, "status", "--short").splitlines() if not line.startswith("??")]


def test_a_dry_run_lists_places_with_lines_and_changes_nothing(home: Path, harbour: Path) -> None:
    data = plant(home, harbour)
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file() and not path.name.endswith("-shm")}
    listed = clew("purge", "--secret", "--dry-run", cwd=harbour, stdin=SECRET)
    assert listed.status == 0 and f"{NOTE}:4,7  " in listed.out and "audit/2026-03.jsonl:2,3  " in listed.out
    assert "Violet" not in listed.out + listed.err and "otter" not in listed.out + listed.err
    # Without a terminal, and without --yes, the same is done.
    assert clew("purge", "--secret", cwd=harbour, stdin=SECRET).out == listed.out
    after = {path: path.read_bytes() for path in data.rglob("*") if path.is_file() and not path.name.endswith("-shm")}
    assert after == before
    for said in ("clones", "backups"):
        assert any(said in line for line in listed.err.splitlines())


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(home: Path, harbour: Path) -> None:
    for arguments in (("--secret", SECRET), ("--secret=" + SECRET,)):
        done = clew("purge", *arguments, "--yes", cwd=harbour)
        assert done.status == 2 and "Violet" not in done.out + done.err
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin="abc").status == 2
    assert clew("purge", "--yes", cwd=harbour).status == 2


def test_a_file_gives_the_secret_and_is_named(home: Path, harbour: Path, tmp_path: Path) -> None:
    write(home / "clew" / "memory", {"user/a.md": f"x {SECRET}\n"})
    write(tmp_path, {"word": SECRET + "\n"})
    done = clew("purge", "--secret-file", tmp_path / "word", "--yes", cwd=harbour)
    assert done.status == 0 and left_in(home / "clew") == {} and str(tmp_path / "word") in done.err
    assert (tmp_path / "word").read_text() == SECRET + "\n"


def test_placeholders_are_listed_by_their_digits(home: Path, harbour: Path) -> None:
    write(
        home / "clew" / "memory", {"user/a.md": "x\ny [REDACTED:github-pat:3f9a]\n", "user/b.md": "[REDACTED:x:3f9b]\n"}
    )
    done = clew("purge", "--secret-hash", "3f9a", "--json", cwd=harbour)
    assert [(Path(row["path"]).name, row["lines"]) for row in done.json["found"]] == [("a.md", [2])]
    assert clew("purge", "--secret-hash", "zz", cwd=harbour).status == 2


# ---------------------------------------------------------------------- death, no room, no right, crowds


def plant_little(data: Path) -> Path:
    """A secret in a document, its history, the exchanges and the trail; quick to make and to purge."""
    memory = write(data / "memory", {NOTE: f"word {SECRET}\n", "user/berths.md": CLEAN})
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", f"Keep {SECRET}")):
        git(memory, *words)
    write(memory, {NOTE: "gone\n"})
    git(memory, "commit", "-q", "-a", "-m", "Take it out")
    write(memory, {NOTE: f"word {SECRET}\n"})
    with ExchangeStore(data / "history.db") as store:
        store.add("w", "t", question=SECRET, answer="yes", mode="rich", at="2026-03-01T09:00:00Z")
    row = {"time": "2026-03-01T09:00:00.000Z", "kind": "miss", "query": SECRET}
    write(data, {".clew-write.tmp": "half"})
    write(data, {"audit/2026-03.jsonl": json.dumps({"clew_audit": 1}) + "\n" + json.dumps(row) + "\n"})
    return data


def test_a_purge_that_is_killed_at_any_step_loses_nothing_and_the_next_one_ends_it(home: Path, tmp_path: Path) -> None:
    first = plant_little(home / "clew")
    template = shutil.copytree(first, tmp_path / "template")

    def run(data: Path, die_at: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, __file__, str(data), str(die_at)], input=SECRET, text=True, capture_output=True,
            env=environ({"CLEW_HOME": str(data), "PYTHONPATH": os.pathsep.join(sys.path)}), check=False,
        )  # fmt: skip

    whole = run(first, 0)
    assert whole.returncode == 0, whole.stderr
    steps = int(whole.stdout.split()[-1])
    assert steps > 60 and left_in(first) == {}
    for at in (4, *range(12, steps, steps // 9), steps):
        data = shutil.copytree(template, tmp_path / f"at-{at}")
        assert run(data, at).returncode == -signal.SIGKILL
        memory = data / "memory"
        assert (memory / "user/berths.md").read_text() == CLEAN and (memory / NOTE).read_text().startswith("word ")
        git(memory, "fsck", "--no-dangling")
        assert git(memory, "show", "HEAD:user/berths.md") == CLEAN.strip()
        with ExchangeStore(data / "history.db") as store:
            assert [row.answer for row in store.last("w", "t", 9)] == ["yes"] and not store.notices
        again = run(data, 0)
        assert again.returncode == 0, (at, again.stderr)
        assert left_in(data) == {}, at
        assert not list(data.rglob("*.new")) and not list(data.rglob("*.tmp"))
        shutil.rmtree(data)


def test_without_room_nothing_is_lost_and_what_is_left_is_said(home: Path, harbour: Path) -> None:
    import resource  # noqa: PLC0415 - not on every system

    data = plant_little(home / "clew")
    before = left_in(data)
    full = purged(harbour, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert full.status == 1 and "Violet" not in full.out + full.err
    assert (data / "memory/user/berths.md").read_text() == CLEAN
    git(data / "memory", "fsck", "--no-dangling")
    assert before.keys() & left_in(data).keys()
    assert purged(harbour).status == 0 and left_in(data) == {}


def test_what_may_not_be_written_is_told_as_left(home: Path, harbour: Path) -> None:
    data = plant_little(home / "clew")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace here: unshare -rm")
    script = (
        f"mount --bind {data}/audit {data}/audit && mount -o remount,ro,bind {data}/audit && "
        f"exec {' '.join(ARGV)} purge --secret --yes --json"
    )
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script], cwd=harbour, env=environ({}), input=SECRET, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert [(Path(row["path"]).name, row["kind"]) for row in report["left"]] == [("2026-03.jsonl", "audit")]
    assert "read-only" in report["left"][0]["reason"]
    assert set(left_in(data)) == {"audit/2026-03.jsonl"}


def test_two_purges_at_once_and_writers_beside_them_end_well(home: Path, harbour: Path) -> None:
    data = plant_little(home / "clew")
    command = [*ARGV, "purge", "--secret", "--yes"]
    both = [
        subprocess.Popen(command, cwd=harbour, env=environ({}), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write(SECRET.encode())
        one.stdin.close()
    noted = [clew("note", f"berth {number} is free", "--name", f"Berth {number}", cwd=harbour) for number in range(3)]
    assert [one.wait() for one in both] == [0, 0] and [one.status for one in noted] == [0, 0, 0]
    assert left_in(data) == {}
    found = clew("audit", "--kind", "write", "--all", "--json", cwd=harbour).json
    assert len(found) >= 3
    assert len(list((data / "memory").rglob("berth-*.md"))) == 3


def test_what_goes_while_it_is_looked_at_is_gone_and_not_called_unreadable(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    for name in ("memory/note.md", "index/memory.db-wal", "history.db-wal", "audit/2026-03.jsonl"):
        write(tmp_path, {name: f"the key is {SECRET}\n"})
    layout = Layout((tmp_path,), memory, (tmp_path / "index",))
    traces = traces_of(SECRET)
    assert len(list(search(layout, traces))) == 4
    # `told` is called with a file that stands in the list, before it is opened: another process may delete it then.
    assert list(search(layout, traces, told=os.unlink)) == []


def test_a_sync_or_merge_that_is_unfinished_refuses_the_purge(home: Path, harbour: Path) -> None:
    data = plant_little(home / "clew")
    (data / "memory/.git/MERGE_HEAD").write_text(git(data / "memory", "rev-parse", "HEAD") + "\n")
    before = left_in(data)
    done = purged(harbour)
    assert done.status != 0 and "merge is under way" in done.err and left_in(data) == before
    (data / "memory/.git/MERGE_HEAD").unlink()
    git(data / "memory", "stash", "-q")
    before = left_in(data)
    done = purged(harbour)
    assert done.status == 2 and "stash" in done.err and left_in(data) == before


def test_who_reads_the_history_meanwhile_is_told_and_nothing_is_called_gone(home: Path, harbour: Path) -> None:
    data = plant_little(home / "clew")
    with closing(sqlite3.connect(data / "history.db", isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select * from exchange").fetchall()
        done = purged(harbour, "--json")
        assert done.status == 1 and done.json["left"][0]["kind"] == "history" and done.json["left"][0]["reason"]
    assert purged(harbour).status == 0 and left_in(data) == {}


def test_what_an_editor_or_another_name_keeps_is_named(home: Path, harbour: Path) -> None:
    data = home / "clew"
    write(data, {"memory/user/.a.md.swp": SECRET, "memory/user/a.md": f"x {SECRET}\n", "memory/user/b.md": "y\n"})
    os.link(data / "memory/user/a.md", home / "elsewhere")
    write(home, {".claude/x": "", ".bash_history": "ls\n"})
    done = purged(harbour)
    assert done.status == 1 and "1 left" in done.err and ".a.md.swp" in done.err
    assert (data / "memory/user/a.md").read_text().startswith("x [REDACTED:secret:")
    assert (home / "elsewhere").read_text() == f"x {SECRET}\n"
    assert str(home / ".claude") in done.err and str(home / ".bash_history") in done.err
    listed = clew("purge", "--secret", cwd=harbour, stdin="elsewhere-else")
    assert "nothing found" in listed.out


def test_an_index_that_keeps_only_words_is_dropped_too(home: Path, harbour: Path) -> None:
    write(harbour, {"src/word.py": f"# the word is {SECRET}\nword = 1\n"})
    assert clew("context", "where is the retry?", "--json", cwd=harbour).status == 0
    index = next((home / "clew/index/code").glob("*.db"))
    assert b"Violet&77" not in index.read_bytes()
    done = purged(harbour, "--json")
    assert done.status == 0 and index.name in {Path(row["path"]).name for row in done.json["found"]}
    assert not index.exists() and SECRET in (harbour / "src/word.py").read_text()


def test_on_a_terminal_it_asks_shows_nothing_of_the_secret_and_removes_it(home: Path, harbour: Path) -> None:
    import pty  # noqa: PLC0415 - not on every system

    data = plant_little(home / "clew")
    child, terminal = pty.fork()
    if not child:
        os.chdir(harbour)
        os.execvpe(ARGV[0], [*ARGV, "purge", "--secret"], environ({}))
    shown = b""

    def until(words: bytes) -> None:
        nonlocal shown
        while words not in shown:
            shown += os.read(terminal, 4096)

    until(b"Secret")
    before = left_in(data)
    # Nothing is typed before the terminal is told not to show it.
    end = time.monotonic() + 20
    while termios.tcgetattr(terminal)[3] & termios.ECHO:
        assert time.monotonic() < end, "what is typed is shown"
    os.write(terminal, SECRET.encode() + b"\n")
    until(b"[y/N]")
    assert left_in(data) == before and f"{NOTE}:1".encode() in shown
    os.write(terminal, b"y\n")
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 4096):
            shown += part
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(terminal)
    assert b"Violet" not in shown and b"0 left" in shown and left_in(data) == {}


def test_without_git_the_history_is_told_as_left(home: Path, harbour: Path) -> None:
    data = plant_little(home / "clew")
    done = purged(harbour, "--json", env={"PATH": str(home)})
    assert done.status == 1 and [row["reason"] for row in done.json["left"]] == ["cannot be read: git is not installed"]
    assert SECRET not in (data / "memory" / NOTE).read_text()
    assert purged(harbour).status == 0 and left_in(data) == {}


def test_folders_that_hold_more_than_what_is_clews_are_left_alone(home: Path, harbour: Path) -> None:
    done = purged(harbour, env={"CLEW_HOME": str(home)})
    assert done.status == 2 and "holds more than" in done.err
    write(home / ".local/share/clew", {"memory/user/a.md": f"x {SECRET}\n"})
    write(home, {"mine.txt": SECRET})
    done = purged(harbour, env={"CLEW_HOME": None})
    assert done.status == 0 and left_in(home) == {"mine.txt": left_in(home)["mine.txt"]}


def test_a_line_that_waits_for_the_trail_while_it_is_rewritten_is_kept(tmp_path: Path) -> None:
    trail = Audit(tmp_path, str, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    assert trail.write("miss", query="one")
    path = tmp_path / "2026-03.jsonl"
    done: list[bool] = []
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer = threading.Thread(target=lambda: done.append(trail.write("miss", query="two")))
        writer.start()
        while not waits_for(path):
            assert writer.is_alive()
        os.replace(write(tmp_path, {"new": path.read_bytes()}) / "new", path)
    writer.join()
    assert done == [True] and [entry.query for entry in trail.entries()] == ["two", "one"]


def waits_for(path: Path) -> bool:
    """Whether this process has a file open twice."""
    opened = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            opened += os.path.samefile(f"/proc/self/fd/{name}", path)
    return opened > 1


# ---------------------------------------------------------------------- the remote


def with_remote(home: Path) -> tuple[Path, Path, Path]:
    """Clew's folder, the memory in it and its remote, which has the same history."""
    data = plant_little(home / "clew")
    memory, remote = data / "memory", home / "remote.git"
    git(home, "init", "-q", "--bare", "-b", "main", str(remote))
    git(memory, "remote", "add", "origin", str(remote))
    git(memory, "push", "-q", "origin", "main")
    git(memory, "fetch", "-q", "origin")
    return data, memory, remote


@pytest.mark.requirement("W-17")
def test_a_remote_keeps_the_secret_until_it_is_replaced_and_no_sync_brings_it_back(home: Path, harbour: Path) -> None:
    data, memory, remote = with_remote(home)
    done = purged(harbour)
    assert done.status == 0 and left_in(data) == {}
    assert str(remote) in done.err and "--push-rewritten" in done.err
    refused = clew("sync", cwd=harbour)
    assert refused.status == 2 and "before a purge" in refused.err and left_in(data) == {}
    assert Path(remote, "refs/heads/main").read_text().strip() != git(memory, "rev-parse", "main")
    assert clew("purge", "--push-rewritten", cwd=harbour).status == 2  # nobody was asked
    pushed = clew("purge", "--push-rewritten", "--yes", cwd=harbour)
    assert pushed.status == 0, pushed.err
    assert git(remote, "rev-parse", "main") == git(memory, "rev-parse", "main")
    assert clew("sync", cwd=harbour).status == 0 and left_in(data) == {}


def test_what_others_pushed_is_not_lost_by_force(home: Path, harbour: Path) -> None:
    data, memory, remote = with_remote(home)
    other = home / "other"
    git(home, "clone", "-q", str(remote), str(other))
    write(other, {"user/new.md": "from another\n"})
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "Another")
    git(other, "push", "-q", "origin", "main")
    tip = git(remote, "rev-parse", "main")
    assert purged(harbour).status == 0
    done = clew("purge", "--push-rewritten", "--yes", cwd=harbour)
    assert done.status != 0 and "others have pushed" in done.err and git(remote, "rev-parse", "main") == tip
    # As the hints say: fetch, purge again, merge what is clean now, push.
    git(memory, "fetch", "-q", "origin")
    assert left_in(data) != {}
    assert purged(harbour).status == 0 and left_in(data) == {}
    done = clew("purge", "--push-rewritten", "--yes", cwd=harbour)
    assert done.status == 2 and "merge origin/main" in done.err
    git(memory, "commit", "-q", "-a", "-m", "By hand")
    git(memory, "merge", "-q", "origin/main", "-m", "Merge")
    assert clew("purge", "--push-rewritten", "--yes", cwd=harbour).status == 0
    assert git(remote, "show", "main:user/new.md") == "from another"
    assert "Violet" not in git(remote, "log", "-p", "main")


# ---------------------------------------------------------------------- by source


def sources(home: Path, harbour: Path) -> Path:
    """Two documents, with copies and history; exchanges, hints and lines of the trail that lead to them and not."""
    data = home / "clew"
    memory = data / "memory"
    text = HEAD.format("d") + "Deployment goes through the second harbour gate.\n"
    write(memory, {NOTE: text, "user/berths.md": CLEAN})
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Begin")):
        git(memory, *words)
    write(memory, {
        "workspaces/w/notes/archive/deploy.md": text,
        "workspaces/w/notes/deploy.conflict-0123abc.md": text,
        "user/quotes.md": "Somebody said: Deployment goes through the second harbour gate.\n",
    })  # fmt: skip
    with ExchangeStore(data / "history.db") as store:
        for at, refs in enumerate((["clew://memory/mem_0123456789ab#L7"], ["src/retry.py:3-8"], ["README.md"])):
            store.add(
                "w", f"t{at}", question=f"question number {at}", answer="a", mode="rich", at="2026-03-01", refs=refs
            )
    seen = Seen(data / "hints.db")
    seen.claim("s1", 1, ["mem_0123456789ab", "mem_ba9876543210"])
    seen.claim("s2", 1, ["mem_ba9876543210"])
    head = {"time": "2026-03-01T09:00:00.000Z", "kind": "hint"}
    rows = [
        head | {"refs": ["mem_0123456789ab"], "session": "s1"}, head | {"refs": ["mem_ba9876543210"], "session": "s2"},
        head | {"refs": ["src/retry.py"], "workspace": "w"}, head | {"workspace": "v", "reason": "other"},
    ]  # fmt: skip
    write(data, {"audit/2026-03.jsonl": "".join(json.dumps(row) + "\n" for row in ({"clew_audit": 1}, *rows))})
    return data


def by_source(harbour: Path, ref: str) -> Any:
    done = clew("purge", "--source", ref, "--yes", "--json", cwd=harbour)
    assert done.status == 0, done.err
    assert done.json["left"] == []
    return done.json


def questions(data: Path) -> list[str]:
    with ExchangeStore(data / "history.db") as store:
        return [one.question[-1] for _, _, one in store.everything()]


def test_all_that_came_from_a_document_goes_and_no_other(home: Path, harbour: Path) -> None:
    data = sources(home, harbour)
    report = by_source(harbour, "clew://memory/mem_0123456789ab")
    assert sorted((data / "memory").rglob("*.md")) == [
        data / "memory/user/berths.md", data / "memory/user/quotes.md",
    ]  # fmt: skip
    assert (data / "memory/user/berths.md").read_text() == CLEAN
    # Said by another document, which stays and is named.
    assert [Path(path).name for path in report["mentioned"]] == ["quotes.md"]
    assert git(data / "memory", "ls-tree", "-r", "--name-only", "HEAD") == "user/berths.md"
    objects = git(data / "memory", "cat-file", "--batch-all-objects", "--batch")
    assert "second harbour gate" not in objects and "A berth is where" in objects
    assert questions(data) == ["1", "2"]
    seen = Seen(data / "hints.db")
    assert [one.id for one in seen.shown("s1")] == ["mem_ba9876543210"]
    lines = (data / "audit/2026-03.jsonl").read_text().splitlines()
    assert len(lines) == 4 and "0123456789ab" not in "".join(lines)
    assert b"question number 0" not in (data / "history.db").read_bytes()
    again = clew("purge", "--source", "mem_0123456789ab", "--yes", cwd=harbour)
    assert again.status == 2 and "hint:" in again.err and "left" not in again.err


def test_a_session_an_exchange_and_a_workspace_go_alone(home: Path, harbour: Path) -> None:
    data = sources(home, harbour)
    by_source(harbour, "session:s1")
    lines = (data / "audit/2026-03.jsonl").read_text()
    assert "s1" not in lines and "s2" in lines and questions(data) == ["0", "1", "2"]
    assert Seen(data / "hints.db").shown("s1") == () and len(Seen(data / "hints.db").shown("s2")) == 1
    by_source(harbour, "session:t1")
    assert questions(data) == ["0", "2"]
    by_source(harbour, "workspace:w")
    assert questions(data) == [] and not (data / "memory/workspaces/w").exists()
    lines = (data / "audit/2026-03.jsonl").read_text()
    assert '"v"' in lines and '"w"' not in lines
    assert git(data / "memory", "ls-tree", "-r", "--name-only", "HEAD") == "user/berths.md"
    assert "second harbour gate" not in git(data / "memory", "cat-file", "--batch-all-objects", "--batch")


def test_a_file_that_was_attached_takes_its_exchanges_of_this_workspace_along(home: Path, harbour: Path) -> None:
    here = clew("context", "where is the retry?", "--json", cwd=harbour)
    assert here.status == 0
    data = sources(home, harbour)
    own = next((data / "index/code").glob("*.db")).stem.rpartition("-")[0]
    with ExchangeStore(data / "history.db") as store:
        store.add(own, "t", question="question number 3", answer="a", mode="rich", at="x", refs=["src/retry.py:4"])
        store.add(own, "t", question="question number 4", answer="a", mode="rich", at="x", refs=["src/retry.py.bak"])
    report = by_source(harbour, "src/retry.py")
    assert questions(data) == ["0", "1", "2", "4"] and {row["kind"] for row in report["found"]} == {"history", "index"}
    assert clew("purge", "--source", "workspace:../x", "--yes", cwd=harbour).status == 2
    with ExchangeStore(data / "history.db") as store:
        number = next(one.id for _, _, one in store.everything() if one.question.endswith("4"))
    by_source(harbour, f"exchange:{number}")
    assert questions(data) == ["0", "1", "2"]


# ---------------------------------------------------------------------- forms


@settings(max_examples=40)
@given(st.text(min_size=5, max_size=40).filter(lambda text: len(text.strip()) >= 5), st.binary(max_size=7), st.data())
def test_every_form_of_any_secret_is_found_and_taken_out(secret: str, before: bytes, data: st.DataObject) -> None:
    said = secret.strip()
    if any(0xD800 <= ord(char) < 0xE000 for char in said):
        return
    raw = said.encode()
    cut = data.draw(st.integers(1, len(said) - 1))
    halves = said[:cut] + "\n  " + said[cut:]
    written = [
        raw, quote(said, safe="").encode(), quote(said).encode(), json.dumps(said)[1:-1].encode(), raw.hex().encode(),
        raw.hex().upper().encode(), json.dumps(said, ensure_ascii=False)[1:-1].encode(), halves.encode(),
        said.encode("utf-16-le"), base64.b64encode(before + raw + b"tail"), base64.urlsafe_b64encode(before + raw),
    ]  # fmt: skip
    traces = traces_of(said)
    for one in written:
        content = b"left " + one + b" right"
        assert traces.spans(content), one
        new, count = traces.without(content, "[R]")
        assert count and not traces.spans(new)
        assert new.startswith(b"left ") and new.endswith(b" right")


def test_text_without_the_secret_is_not_touched() -> None:
    traces = traces_of(SECRET)
    for text in ("otter/Violet&78", "otter Violet 77 umbrella", "", base64.b64encode(b"otter/Vio").decode()):
        assert traces.without(text.encode(), "[R]") == (text.encode(), 0)
    assert traces_of("hunter2!").without(b"x hunter2!y aHVudGVyMiE= hunter2", "[R]")[1] == 2
    assert marks_of("3f9a").spans(b"[REDACTED:x:3f9a] [REDACTED:x:3f9b]") == [(0, 17)]


# ---------------------------------------------------------------------- the victim


def die_at(number: int) -> list[int]:
    """Kill this process at the n-th step that leaves a trace on the disk; 0 only counts."""
    seen = [0]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in ("os.rename", "os.remove", "os.rmdir", "subprocess.Popen", "sqlite3.connect"):
            seen[0] += 1
            if seen[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    return seen


if __name__ == "__main__":
    from clew.adapters.memory_git import MemoryGit
    from clew.app import App
    from clew.services.purge import Purge

    app = App.here()
    engine = Purge(app.home, MemoryGit(app.home.data / "memory", app.environ), app.environ)
    secret = sys.stdin.read()
    steps = die_at(int(sys.argv[2]))
    left = engine.remove(secret).left
    sys.stdout.write(f"{steps[0]}\n")
    sys.exit(bool(left))
