"""A secret that slipped through, planted by hand in every place, and a purge that leaves no byte of it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import ARGV, clew, environ, git, write

from clew.core.text.traces import marks_of, traces_of
from clew.stores.exchanges import ExchangeStore
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


def purged(harbour: Path, *more: str, secret: str = SECRET, **options: object) -> object:
    return clew("purge", "--secret", "--yes", *more, cwd=harbour, stdin=secret + "\n", **options)  # type: ignore[arg-type]


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
    assert [row["kind"] for row in listed][0] == "purge" and {"berth"} <= {row.get("query") for row in listed}
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
