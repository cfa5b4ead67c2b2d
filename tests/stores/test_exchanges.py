"""The history of exchanges on a real disk, with real processes beside it."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.context.fragment import Exchange
from clew.errors import StoreBusy, StoreError, StoreTooNew
from clew.stores.exchanges import FORMAT, ExchangeStore

AT = "2026-03-01T10:00:00Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history" / "exchanges.db"


def add(
    store: ExchangeStore, question: str = "why?", *, thread: str = "t1", workspace: str = "w", anchor: bool = False
):
    return store.add(
        workspace, thread, question=question, answer="because", mode="rich", at=AT, refs=("a.py:1-2",), anchor=anchor
    )


def questions(found: tuple[Exchange, ...]) -> list[str]:
    return [one.question for one in found]


def test_an_exchange_comes_back_as_it_was_after_closing(path):
    with ExchangeStore(path) as store:
        kept = add(store, "为什么\nsrc/a.py 超时?", anchor=True)
    with ExchangeStore(path) as store:
        assert store.last("w", "t1", 5) == (kept,)
    assert kept == Exchange(1, "为什么\nsrc/a.py 超时?", "because", "rich", AT, ("a.py:1-2",), True)


@pytest.mark.requirement("P-05")
def test_the_last_ones_and_the_anchored_ones_come_oldest_first(path):
    with ExchangeStore(path) as store:
        for number in range(30):
            add(store, f"q{number}", anchor=number in (0, 7))
        assert questions(store.last("w", "t1", 3)) == ["q27", "q28", "q29"]
        assert questions(store.anchored("w", "t1")) == ["q0", "q7"]
        assert store.last("w", "t1", 0) == store.last("w", "t1", -1) == ()


def test_two_terminals_and_two_workspaces_do_not_mix(path):
    with ExchangeStore(path) as one, ExchangeStore(path) as two:
        add(one, "first", thread="t1", anchor=True)
        add(two, "second", thread="t2", anchor=True)
        add(two, "third", thread="t1", workspace="other", anchor=True)
        assert questions(one.last("w", "t1", 5)) == questions(one.anchored("w", "t1")) == ["first"]
        assert questions(two.last("w", "t2", 5)) == ["second"]
        assert questions(one.list("w")) == ["first", "second"]
        assert questions(one.list("w", "t2")) == ["second"]
        assert one.threads("w") == ("t2", "t1")


@pytest.mark.requirement("P-05")
def test_one_exchange_can_be_removed_and_its_number_is_not_given_again(path):
    with ExchangeStore(path) as store:
        add(store, "keep", anchor=True)
        doomed = add(store, "the secret plan", anchor=True)
        assert store.remove("other", [doomed.id]) == 0
        assert store.remove("w", [doomed.id, 99]) == 1
        assert store.remove("w", []) == 0
        assert questions(store.anchored("w", "t1")) == ["keep"]
        assert add(store).id == doomed.id + 1


def test_a_removed_text_is_gone_from_the_disk(path):
    with ExchangeStore(path) as store:
        doomed = add(store, "the secret plan")
        store.remove("w", [doomed.id])
    assert not any(b"the secret plan" in file.read_bytes() for file in path.parent.iterdir())


def test_a_thread_or_a_workspace_can_be_cleared(path):
    with ExchangeStore(path) as store:
        for thread in ("t1", "t1", "t2"):
            add(store, thread=thread)
        add(store, workspace="other")
        assert store.clear("w", "t1") == 2
        assert questions(store.list("w")) == ["why?"]
        assert store.clear("w") == 1
        assert store.clear("w") == 0
        assert questions(store.list("other")) == ["why?"]


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_text_can_be_kept(tmp_path_factory, question, answer, refs):
    with ExchangeStore(tmp_path_factory.mktemp("any") / "x.db") as store:
        kept = store.add("w", "t", question=question, answer=answer, mode="lean", at=AT, refs=refs)
        assert store.last("w", "t", 1) == (kept,)
        assert (kept.question, kept.answer, kept.refs) == (question, answer, tuple(refs))


def test_a_lone_surrogate_is_kept_as_a_question_mark(path):
    with ExchangeStore(path) as store:
        assert add(store, "a\udcffb").question == "a?b"


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_only_the_user_can_read_the_file(path):
    with ExchangeStore(path) as store:
        add(store)
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


# ---------------------------------------------------------------------- format


def test_the_store_carries_its_format_number(path):
    ExchangeStore(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("pragma user_version").fetchone() == (FORMAT,)
    assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(path):
    with ExchangeStore(path) as store:
        add(store)
    connection = sqlite3.connect(path)
    connection.execute(f"pragma user_version = {FORMAT + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=f"format {FORMAT + 1}"):
        ExchangeStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir() if "damaged" in file.name] == []


@pytest.mark.requirement("F-08")
def test_opening_a_newer_store_writes_nothing_not_even_what_its_writer_left_in_the_log(path):
    with ExchangeStore(path) as store:
        add(store, "settled")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"pragma user_version = {FORMAT + 1}")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.execute("update exchange set question = 'in the log'")
    kept = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    connection.close()
    # As a process that was killed leaves them.
    for name, content in kept.items():
        path.with_name(name).write_bytes(content)
    with pytest.raises(StoreTooNew):
        ExchangeStore(path)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == kept
    assert len(kept["exchanges.db-wal"]) > 0


FIRST = """
create table exchange (
    id integer primary key autoincrement, workspace text not null, thread text not null, question text not null,
    answer text not null, mode text not null, at text not null, refs text not null, anchor integer not null,
    removed integer not null default 0
) strict;
create index exchange_by_thread on exchange (workspace, thread, id);
create index exchange_by_anchor on exchange (workspace, thread, id) where anchor = 1;
pragma user_version = 1;
"""
"""The tables of format 1."""


def older(path: Path, count: int = 3) -> Path:
    """A file of format 1 with `count` exchanges."""
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.executescript(FIRST)
        connection.executemany(
            "insert into exchange (workspace, thread, question, answer, mode, at, refs, anchor) "
            "values ('w', 't1', ?, '因为 kept', 'rich', ?, '[\"a.py:1\"]', 1)",
            ((f"old {number}", AT) for number in range(count)),
        )
        connection.commit()
    path.chmod(0o600)
    return path


@pytest.mark.requirement("F-08")
def test_a_store_of_the_first_format_is_copied_and_then_read_like_any_other(path):
    with contextlib.closing(sqlite3.connect(older(path))) as connection:
        before = connection.execute("select * from exchange").fetchall()
    with ExchangeStore(path) as store:
        assert questions(store.list("w")) == ["old 0", "old 1", "old 2"]
        assert (
            store.last("w", "t1", 9) == store.anchored("w", "t1") == tuple(
                Exchange(number + 1, f"old {number}", "因为 kept", "rich", AT, ("a.py:1",), anchor=True)
                for number in range(3)
            )
        )  # fmt: skip
        assert add(store, "new").id == 4
        assert store.notices == []
    copy = path.with_name("exchanges.db.format-1")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (1,)
        assert connection.execute("select * from exchange").fetchall() == before
    written = copy.read_bytes()
    with ExchangeStore(path) as store:
        assert questions(store.last("w", "t1", 1)) == ["new"]
    assert copy.read_bytes() == written
    assert sorted(file.name for file in path.parent.iterdir()) == ["exchanges.db", "exchanges.db.format-1"]


@pytest.mark.requirement("F-08", "P-05")
def test_what_is_deleted_for_good_leaves_the_copy_as_well(path):
    with ExchangeStore(older(path)) as store:
        assert store.remove("w", [2]) == 1
    assert not any(b"old 1" in file.read_bytes() for file in path.parent.iterdir())
    assert [file.name for file in path.parent.iterdir()] == ["exchanges.db"]


@pytest.mark.requirement("F-08")
def test_where_no_copy_can_be_made_the_older_file_is_left_as_it_is(path):
    older(path)
    path.with_name("exchanges.db.format-1").mkdir()
    before = path.read_bytes()
    with pytest.raises(StoreError):
        ExchangeStore(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (1,)
        assert len(connection.execute("select * from exchange").fetchall()) == 3
    assert len(before) == len(path.read_bytes())


def test_processes_that_bring_an_older_file_up_to_date_at_once_lose_nothing(path):
    older(path, 500)
    writers = [writer(path, f"t{number}", 3) for number in (7, 8, 9)]
    for process in writers:
        process.communicate(timeout=120)
        assert process.returncode == 0
    with ExchangeStore(path) as store:
        assert len(store.list("w")) == 509 and store.notices == []


# ---------------------------------------------------------------------- damage


@pytest.mark.parametrize("damage", [b"this is no database, it is a letter" * 100, b"\0" * 8192])
def test_a_damaged_file_is_moved_aside_and_said(path, damage):
    path.parent.mkdir()
    path.write_bytes(damage)
    with ExchangeStore(path) as store:
        add(store, "after")
        assert questions(store.list("w")) == ["after"]
        (notice,) = store.notices
    aside = path.with_name("exchanges.db.damaged-1")
    assert aside.read_bytes() == damage
    assert str(aside) in notice


def test_a_second_damaged_file_does_not_replace_the_first(path):
    path.parent.mkdir()
    for number in (1, 2):
        path.write_bytes(b"letter number %d, and much more of it" % number * 50)
        ExchangeStore(path).close()
    assert path.with_name("exchanges.db.damaged-1").read_bytes().startswith(b"letter number 1")
    assert path.with_name("exchanges.db.damaged-2").read_bytes().startswith(b"letter number 2")


def test_damage_that_shows_only_later_is_moved_aside_as_well(path):
    with ExchangeStore(path) as store:
        for number in range(200):
            add(store, f"q{number}" * 50)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    with ExchangeStore(path) as store:
        assert store.list("w") == ()
        assert len(store.notices) == 1
        add(store, "after")
        assert questions(store.list("w")) == ["after"]
    assert path.with_name("exchanges.db.damaged-1").read_bytes() == bytes(content)


def test_a_row_with_damaged_text_takes_no_other_with_it(path):
    with ExchangeStore(path) as store:
        for question in ("one", "two", "three"):
            add(store, question)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "update exchange set answer = cast(x'61ff' as text), refs = '[broken' where question = 'two'"
        )
        connection.commit()
    with ExchangeStore(path) as store:
        assert questions(store.list("w")) == ["one", "two", "three"]
        assert (store.list("w")[1].answer, store.list("w")[1].refs) == ("a\ufffd", ())
        assert questions(store.last("w", "t1", 5)) == ["one", "three"]
        assert [notice.split()[0] for notice in store.notices] == ["exchange:2"]


@pytest.mark.requirement("F-08")
@pytest.mark.parametrize(
    "damage", ["question = 'twa'", "answer = ''", "anchor = 0", "refs = '[]'", "thread = 't1', at = 'x'", "digest = ''"]
)
def test_a_row_that_is_still_text_but_not_what_was_kept_enters_no_prompt(path, damage):
    with ExchangeStore(path) as store:
        for question in ("one", "two", "three"):
            add(store, question, anchor=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"update exchange set {damage} where id = 2")
        connection.commit()
    with ExchangeStore(path) as store:
        assert questions(store.last("w", "t1", 5)) == ["one", "three"]
        assert questions(store.anchored("w", "t1")) == ["one", "three"]
        assert len(store.list("w")) == 3
        (notice,) = store.notices
        assert notice.startswith("exchange:2 ") and "`clew history remove 2`" in notice
        assert store.remove("w", [2]) == 1
    with ExchangeStore(path) as store:
        assert questions(store.list("w")) == ["one", "three"] and store.notices == []


def test_a_new_file_of_another_process_is_not_moved_aside(path):
    with ExchangeStore(path) as store:
        for number in range(200):
            add(store, f"q{number}" * 50)
    path.write_bytes(path.read_bytes()[:8192] + b"\xa5" * 200_000)
    with ExchangeStore(path) as late:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).rename(path.with_name(f"exchanges.db.damaged-1{suffix}"))
        with ExchangeStore(path) as other:
            add(other, "kept")
            assert questions(late.list("w")) == ["kept"]
            assert late.notices == []
            assert not path.with_name("exchanges.db.damaged-2").exists()


def test_a_folder_where_the_file_should_be_is_a_clear_error(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened"):
        ExchangeStore(path)


# ---------------------------------------------------------------------- other processes


def test_a_store_that_stays_locked_is_busy_after_a_bounded_wait(path):
    ExchangeStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    with ExchangeStore(path, busy_seconds=0.05) as store:
        with pytest.raises(StoreBusy, match=r"in use by another process for 0\.05 seconds"):
            add(store)
        assert store.list("w") == ()
        other.execute("rollback")
        add(store)
        assert questions(store.list("w")) == ["why?"]
    other.close()


def test_a_file_that_another_process_is_creating_is_busy_after_a_bounded_wait(path):
    path.parent.mkdir()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    with pytest.raises(StoreBusy):
        ExchangeStore(path, busy_seconds=0.05)
    other.execute("rollback")
    other.execute("begin immediate")
    with pytest.raises(StoreBusy):
        ExchangeStore(path, busy_seconds=0.05)
    other.close()
    ExchangeStore(path).close()


def test_a_write_that_fails_leaves_nothing_behind(path):
    with ExchangeStore(path) as store:
        add(store, "before")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("create trigger t after insert on exchange begin select raise(fail, 'no more room'); end")
        with pytest.raises(StoreError, match="no more room"):
            add(store, "lost")
        other.execute("drop trigger t")
        other.close()
        assert questions(store.list("w")) == ["before"]
        add(store, "after")
        assert questions(store.list("w")) == ["before", "after"]


def test_reading_goes_on_while_another_process_writes(path):
    with ExchangeStore(path) as store:
        add(store, "before")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        other.execute("delete from exchange")
        assert questions(store.last("w", "t1", 5)) == ["before"]
        other.execute("commit")
        other.close()
        assert questions(store.last("w", "t1", 5)) == []


WRITER = """
import sys
from pathlib import Path
from clew.stores.exchanges import ExchangeStore
store = ExchangeStore(Path(sys.argv[1]), busy_seconds=30)
number = 0
while number < int(sys.argv[3]):
    number += 1
    store.add("w", sys.argv[2], question=f"{number}", answer="x" * 3000, mode="rich", at="now")
    print(number, flush=True)
"""


def writer(path: Path, thread: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), thread, str(count)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_was_said_to_be_kept_survives_a_kill(path):
    process = writer(path, "t1", 1_000_000)
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if int(line) >= 20:
                process.send_signal(signal.SIGKILL)
                break
        told = [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait(timeout=60)
    with ExchangeStore(path) as store:
        kept = [int(question) for question in questions(store.list("w"))]
        assert kept == list(range(1, len(kept) + 1))
        assert len(kept) >= max([20, *told])
        assert store.notices == []
        add(store)


def test_several_processes_that_start_on_a_missing_file_lose_nothing(path):
    writers = [writer(path, f"t{number}", 15) for number in range(4)]
    for process in writers:
        process.communicate(timeout=120)
        assert process.returncode == 0
    with ExchangeStore(path) as store:
        assert len(store.list("w")) == 60
        assert all(questions(store.last("w", f"t{n}", 99)) == [str(k) for k in range(1, 16)] for n in range(4))
        assert len({one.id for one in store.list("w")}) == 60
        assert [file.name for file in path.parent.iterdir() if "damaged" in file.name] == []
