"""The code index: what it holds is what a fresh one would hold, whatever happened on the way."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.adapters import chunker
from clew.adapters.git import Git, find_repository
from clew.adapters.sources.files import WorkTree
from clew.core.ports import Entry
from clew.core.text.content import decode, generated
from clew.errors import NotFound, Refused, StoreError
from clew.services.code_index import VARIANT, add_commits, freshen, index_status, open_index
from clew.stores.index import TICK, CodeIndex, Commit, Refreshed
from clew.stores.sqlite_file import remove

OLD = 1_000_000_000.0
"""Seconds: a time at which nothing is young any more."""


class Files:
    """A tree in memory: (text, stamp) by path. A path in `vanished` is listed and cannot be read."""

    def __init__(self, files: dict[str, tuple[bytes, str]], mtime: float = OLD) -> None:
        self.files = files
        self.mtime = mtime
        self.vanished: set[str] = set()
        self.reads: list[str] = []

    def entries(self) -> Iterator[Entry]:
        for path, (content, stamp) in self.files.items():
            yield Entry(path, len(content), stamp, self.mtime)

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        if path in self.vanished:
            raise NotFound(f"`{path}` is gone")
        return self.files[path][0]


def refresh(path: Path, tree: Files | WorkTree, now: float | None = None) -> Refreshed:
    with open_index(path) as index:
        if now is None:
            return index.refresh(tree, chunker.outline)
        return index.refresh(tree, chunker.outline, now=lambda: now)


def contents(path: Path, *, stamps: bool = True) -> dict[str, list[tuple[object, ...]]]:
    """All rows, with paths and lines in the place of ids."""
    db = sqlite3.connect(path)
    stamp = "stamp" if stamps else "''"
    queries = {
        "files": f"select path, size, {stamp}, hex(digest), kind, lines from files",
        "chunks": "select path, first, last, symbol, length from chunks join files on files.id = file",
        "symbols": "select path, name, folded, line, last from symbols join files on files.id = file",
        "terms": "select path, chunks.first, body, head from chunk_terms join chunks on chunks.id = chunk_terms.rowid "
        "join files on files.id = file",
        "names": "select files.path, names, file_terms.path from file_terms join files on files.id = file_terms.rowid",
        "vocabulary": "select term, doc, cnt from chunk_vocabulary",
        "orphans": "select count(*) from chunks where file not in (select id from files)",
        "orphan terms": "select count(*) from chunk_terms where rowid not in (select id from chunks)",
        "orphan names": "select count(*) from file_terms where rowid not in (select id from files)",
    }
    found = {name: sorted(db.execute(query)) for name, query in queries.items()}
    db.execute("insert into chunk_terms(chunk_terms) values ('integrity-check')")
    db.execute("insert into file_terms(file_terms) values ('integrity-check')")
    assert list(db.execute("pragma integrity_check")) == [("ok",)]
    db.close()
    return found


# ---------------------------------------------------------------------- incremental = rebuilt

PATHS = st.sampled_from(
    ["a.py", "b.py", "src/c.go", "src/d.ts", "README.md", "t/test_a.py", "x.csv", ".env", "k/id_rsa", "g.py", "文.md"]
)
PIECES = st.sampled_from([
    "def alpha(x):\n    return beta(x)\n\n\n", "class Gamma:\n    def delta(self):\n        pass\n\n",
    "func Epsilon() int {\n\treturn 1\n}\n", "# Heading\n\nText about caches.\n\n", "\n" * 30, "value = 1\n" * 70,
    "// @generated\n", "\0binary", "缓存的键\n", "\r\n", "x" * 2000 + "\n",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=5).map("".join)
STEPS = st.lists(st.tuples(PATHS, st.none() | TEXTS), min_size=1, max_size=6)


@pytest.mark.requirement("P-09")
@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=1, max_size=5))
def test_an_index_kept_up_to_date_equals_one_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, str | None]]]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    tree = Files({})
    for number, step in enumerate(steps):
        for at, (path, text) in enumerate(step):
            if text is None:
                tree.files.pop(path, None)
            else:
                tree.files[path] = text.encode(), f"{number}:{at}"
        kept = refresh(folder / "kept.db", tree, OLD + 100)
    fresh = refresh(folder / "fresh.db", tree, OLD + 100)
    assert contents(folder / "kept.db") == contents(folder / "fresh.db")
    assert kept.digest == fresh.digest


@pytest.mark.requirement("P-09")
def test_the_history_that_grew_equals_the_one_read_at_once(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)

    def commit(message: str, *more: str) -> None:
        (root / "a.txt").write_text(message, encoding="utf-8")
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        subprocess.run(["git", "commit", "-q", "-m", message, *more], cwd=root, check=True)

    def rows(path: Path) -> list[tuple[object, ...]]:
        db = sqlite3.connect(path)
        found = sorted(db.execute(
            "select sha, at, subject, words, path from commits join commit_terms on commit_terms.rowid = commits.id "
            "left join commit_files on commit_id = commits.id"
        ))  # fmt: skip
        db.close()
        return found

    git = find_repository(root, os.environ)
    assert isinstance(git, Git)
    for number, (message, more) in enumerate([("one", []), ("two", []), ("two again", ["--amend"]), ("three", [])]):
        commit(message, *more)
        fresh = tmp_path / f"fresh{number}.db"
        for path in (tmp_path / "kept.db", fresh):
            with open_index(path) as index:
                add_commits(index, git)
        assert rows(tmp_path / "kept.db") == rows(fresh)
    assert {row[2] for row in rows(tmp_path / "kept.db")} == {"one", "two again", "three"}


# ---------------------------------------------------------------------- freshness


@pytest.mark.requirement("P-09")
def test_a_file_written_again_within_the_tick_of_the_clock_is_read_again(tmp_path: Path) -> None:
    tree = Files({"a.py": (b"def one(): pass\n", "same")}, mtime=OLD)
    path = tmp_path / "index.db"
    assert refresh(path, tree, OLD + 0.5).changed == 1
    tree.files["a.py"] = (b"def two(): pass\n", "same")
    assert refresh(path, tree, OLD + 1).changed == 1
    with open_index(path) as index:
        assert index.symbols(["two"]) and not index.symbols(["one"])
    # Read when it was old enough, it is not read any more.
    assert refresh(path, tree, OLD + TICK + 1).read == 1
    assert refresh(path, tree, OLD + TICK + 2).read == 0


@pytest.mark.requirement("P-09")
def test_a_real_file_with_its_size_and_time_put_back_is_seen(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    file = root / "a.py"
    file.write_text("def one(): pass\n", encoding="utf-8")
    os.utime(file, (OLD, OLD))
    path = tmp_path / "index.db"
    refresh(path, WorkTree(root))
    before = file.stat()
    file.write_text("def two(): pass\n", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert refresh(path, WorkTree(root)).changed == 1
    with open_index(path) as index:
        assert index.symbols(["two"])


def test_nothing_is_read_where_nothing_changed(tmp_path: Path) -> None:
    tree = Files({f"{number}.py": (b"x = 1\n", "s") for number in range(20)})
    refresh(tmp_path / "index.db", tree, OLD + 10)
    tree.reads.clear()
    done = refresh(tmp_path / "index.db", tree, OLD + 20)
    assert (done.total, done.read, done.changed, done.gone, tree.reads) == (20, 0, 0, 0, [])


def test_a_new_stamp_on_the_same_text_changes_no_row(tmp_path: Path) -> None:
    tree = Files({"a.py": (b"def one(): pass\n", "s1")})
    refresh(tmp_path / "index.db", tree, OLD + 10)
    before = contents(tmp_path / "index.db", stamps=False)
    tree.files["a.py"] = (b"def one(): pass\n", "s2")
    done = refresh(tmp_path / "index.db", tree, OLD + 20)
    assert (done.read, done.changed) == (1, 0)
    assert contents(tmp_path / "index.db", stamps=False) == before
    assert refresh(tmp_path / "index.db", tree, OLD + 30).read == 0


@pytest.mark.requirement("P-09")
def test_a_file_that_vanishes_while_it_is_indexed_is_left_out_and_tried_again(tmp_path: Path) -> None:
    tree = Files({"a.py": (b"def one(): pass\n", "s1"), "b.py": (b"def two(): pass\n", "s1")})
    tree.vanished.add("a.py")
    path = tmp_path / "index.db"
    refresh(path, tree, OLD + 10)
    with open_index(path) as index:
        assert [row.path for row in index.files().values()] == ["b.py"]
    tree.vanished.clear()
    refresh(path, tree, OLD + 20)
    with open_index(path) as index:
        assert index.symbols(["one"])


# ---------------------------------------------------------------------- what is not read


@pytest.mark.requirement("Q-46")
def test_files_of_secrets_data_and_large_files_are_known_by_path_and_never_read(tmp_path: Path) -> None:
    secret = [".env", "deploy/.env.production", "k/id_ed25519", "server.key", ".npmrc", "credentials.json", ".netrc"]
    data = ["a.png", "b.csv", "package-lock.json", "node.min.js", "vendor/x.go"]
    tree = Files(dict.fromkeys([*secret, *data], (b"TOKEN=quokka\n", "s")))
    tree.files["huge.py"] = (b"# quokka\n" * 150_000, "s")
    tree.files["src/ok.py"] = (b"x = 1\n", "s")
    refresh(tmp_path / "index.db", tree, OLD + 10)
    assert tree.reads == ["src/ok.py"]
    with open_index(tmp_path / "index.db") as index:
        assert {row.path for row in index.files().values()} == set(tree.files)
        assert index.frequencies(["quokka"]) == {}
    assert b"quokka" not in (tmp_path / "index.db").read_bytes()


@pytest.mark.requirement("W-09", "Q-05")
def test_a_token_in_the_name_of_a_file_or_in_a_commit_is_not_kept(tmp_path: Path) -> None:
    token = "ghp" + "_" + "".join(random.Random(5).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH23456789", k=36))
    tree = Files({f"notes/{token}.md": (b"quokka\n", "s"), "notes/a.md": (b"wombat\n", "s")})
    path = tmp_path / "index.db"
    first = refresh(path, tree, OLD + 10)
    assert (first.total, first.read) == (1, 1)
    assert refresh(path, tree, OLD + 20).read == 0
    with open_index(path) as index:
        assert [row.path for row in index.files().values()] == ["notes/a.md"]
        assert index.difference(tree) == (0, 0)
        message = f"Take {token} out"
        index.add_history([Commit("c1", 1, message, (f"notes/{token}.md", "notes/a.md"))], "c1", replace=True)
    assert not any(token[8:].encode() in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [b"\0\1\2quokka", b"// Code generated by quokka. DO NOT EDIT.\nfunc quokka() {}\n", b"var a = quokka;" * 2000],
    ids=["binary", "generated", "long lines"],
)
def test_what_no_person_wrote_is_known_by_path_only(tmp_path: Path, text: bytes) -> None:
    refresh(tmp_path / "index.db", Files({"a.go": (text, "s")}), OLD + 10)
    with open_index(tmp_path / "index.db") as index:
        (row,) = index.files().values()
        assert (row.path, row.kind.value, row.lines) == ("a.go", "data", 0)
        assert index.frequencies(["quokka"]) == {}


def test_text_is_read_in_the_encodings_that_editors_write() -> None:
    assert decode("\ufeffa\r\nb\rc".encode()) == "a\nb\nc"
    assert decode("ä".encode("utf-16")) == "ä"
    assert decode("ä".encode("latin-1")) == "\ufffd"
    assert decode(b"a\0b") is None
    assert not generated("x = 1\n" * 10_000)


@pytest.mark.requirement("Q-46")
def test_indexing_writes_nothing_into_the_repository(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")

    def listed() -> list[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*"))

    before = listed()
    with freshen(tmp_path / "index.db", WorkTree(root), find_repository(root, os.environ)).index:
        pass
    assert listed() == before


# ---------------------------------------------------------------------- accidents

KILLED = """
import os, signal, sys
from pathlib import Path
from clew.adapters import chunker
from clew.adapters.sources.files import WorkTree
from clew.services.code_index import open_index
from clew.stores import index as store

store.BATCH = 5
left = int(sys.argv[3])
take = store.CodeIndex._take

def dying(self, *arguments):
    global left
    left -= 1
    done = take(self, *arguments)
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

store.CodeIndex._take = dying
with open_index(Path(sys.argv[2])) as index:
    index.refresh(WorkTree(Path(sys.argv[1])), chunker.outline)
"""


@pytest.mark.requirement("Q-40")
@pytest.mark.parametrize("after", [1, 4, 5, 6, 13])
def test_killed_while_indexing_it_goes_on_where_it_was(tmp_path: Path, after: int) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for number in range(14):
        (root / f"f{number:02}.py").write_text(f"def name{number}(): pass\n", encoding="utf-8")
    path = tmp_path / "index.db"
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), str(path), str(after)], check=False)
    assert done.returncode == -signal.SIGKILL
    again = refresh(path, WorkTree(root))
    assert again.changed == 14 - (after - 1) // 5 * 5
    refresh(tmp_path / "fresh.db", WorkTree(root))
    assert contents(path) == contents(tmp_path / "fresh.db")


REFRESHES = """
import sys
from pathlib import Path
from clew.adapters import chunker
from clew.adapters.sources.files import WorkTree
from clew.services.code_index import open_index

sys.stdin.readline()
for _ in range(3):
    with open_index(Path(sys.argv[2])) as index:
        index.refresh(WorkTree(Path(sys.argv[1])), chunker.outline)
"""


@pytest.mark.requirement("Q-40")
def test_processes_that_refresh_at_once_leave_one_right_index(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for number in range(60):
        (root / f"f{number:02}.py").write_text(f"def name{number}(): pass\n" * 20, encoding="utf-8")
    path = tmp_path / "index.db"
    command = [sys.executable, "-c", REFRESHES, str(root), str(path)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        process.communicate("go\n", timeout=120)
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    refresh(tmp_path / "fresh.db", WorkTree(root))
    assert contents(path) == contents(tmp_path / "fresh.db")


@pytest.mark.requirement("Q-40")
@pytest.mark.parametrize("damage", ["no database", "cut", "pages", "pages read late", "empty", "zeros"])
def test_a_damaged_index_is_made_again(tmp_path: Path, damage: str) -> None:
    tree = Files({f"{number}.py": (f"def name{number}(): pass\n".encode() * 30, "s") for number in range(40)})
    path = tmp_path / "index.db"
    refresh(path, tree, OLD + 10)
    whole = path.read_bytes()
    dice = random.Random(7)
    db = sqlite3.connect(path)
    ((meta,),) = db.execute("select rootpage from sqlite_master where name = 'meta'")
    db.close()
    torn, late = bytearray(whole), bytearray(whole)
    for page in range(1, len(whole) // 4096):
        noise = dice.randbytes(4096)
        torn[page * 4096 : page * 4096 + 4096] = noise
        if page + 1 != meta:  # what is read when an index is opened stays whole
            late[page * 4096 : page * 4096 + 4096] = noise
    path.write_bytes({
        "no database": b"this is text, and no database\n" * 1000, "cut": whole[: len(whole) // 2],
        "pages": bytes(torn), "pages read late": bytes(late), "empty": b"", "zeros": bytes(len(whole)),
    }[damage])  # fmt: skip
    tree.files["0.py"] = (b"def quokka(): pass\n", "s2")
    refresh(path, tree, OLD + 20)
    with open_index(path) as index:
        assert index.symbols(["quokka"])
    refresh(tmp_path / "fresh.db", tree, OLD + 20)
    assert contents(path) == contents(tmp_path / "fresh.db")


@pytest.mark.requirement("Q-40")
def test_an_index_with_text_that_is_none_is_made_again(tmp_path: Path) -> None:
    tree = Files({f"{number}.py": (f"def name{number}(): pass\n".encode(), "s") for number in range(5)})
    path = tmp_path / "index.db"
    refresh(path, tree, OLD + 10)
    db = sqlite3.connect(path)
    db.execute("update files set path = cast(x'332eff' as text) where path = '3.py'")
    db.commit()
    db.close()
    refresh(path, tree, OLD + 20)
    refresh(tmp_path / "fresh.db", tree, OLD + 20)
    assert contents(path) == contents(tmp_path / "fresh.db")


def test_an_index_is_for_its_owner_only(tmp_path: Path) -> None:
    refresh(tmp_path / "index.db", Files({"a.py": (b"x = 1\n", "s")}), OLD + 10)
    assert [oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == ["0o600"]


@pytest.mark.requirement("Q-40")
@pytest.mark.parametrize("variant", ["0:chunks-0", "99:chunks-99", ""])
def test_an_index_of_an_older_or_newer_format_is_made_again(tmp_path: Path, variant: str) -> None:
    tree = Files({"a.py": (b"def one(): pass\n", "s")})
    path = tmp_path / "index.db"
    refresh(path, tree, OLD + 10)
    db = sqlite3.connect(path)
    db.execute("update meta set value = ? where key = 'variant'", (variant,))
    db.execute("delete from symbols")
    db.commit()
    db.close()
    assert not index_status(path, WorkTree(tmp_path), find_repository(tmp_path, os.environ)).exists
    assert refresh(path, tree, OLD + 20).changed == 1
    with open_index(path) as index:
        assert index.symbols(["one"])


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError) as raised:
        CodeIndex.open(tmp_path / "file" / "index.db", variant=VARIANT)
    assert "CLEW_HOME" in raised.value.hint


def test_removing_an_index_takes_its_side_files_and_counts_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with open_index(path) as index:
        index.refresh(Files({"a.py": (b"x = 1\n", "s")}), chunker.outline)
        names = sorted(file.name for file in tmp_path.iterdir())
        assert names == ["index.db", "index.db-shm", "index.db-wal"]
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert remove(path) == size
    assert list(tmp_path.iterdir()) == []
    assert remove(path) == 0


def test_the_status_tells_what_is_behind_and_changes_nothing(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for name in "abc":
        (root / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
    path, none = tmp_path / "index.db", find_repository(root, os.environ)
    assert not index_status(path, WorkTree(root), none).exists
    assert not path.exists()
    refresh(path, WorkTree(root))
    assert index_status(path, WorkTree(root), none).fresh
    (root / "a.py").write_text("x = 22\n", encoding="utf-8")
    (root / "b.py").unlink()
    (root / "d.py").write_text("y = 1\n", encoding="utf-8")
    for _ in range(2):
        found = index_status(path, WorkTree(root), none)
        assert (found.fresh, found.stale, found.gone, found.files) == (False, 2, 1, 3)


@pytest.mark.requirement("Q-46")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_left_out(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    (root / "a.py").chmod(0)
    with pytest.raises(Refused):
        WorkTree(root).read("a.py")
    refresh(tmp_path / "index.db", WorkTree(root))
    with open_index(tmp_path / "index.db") as index:
        assert index.files() == {}
