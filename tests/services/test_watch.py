"""Watching: the watcher and the stat pass see the same changes, and a question trusts only a watcher it can."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.watching import socket_of, vouched, watching

from clew.adapters import chunker
from clew.adapters.git import find_repository
from clew.adapters.home import Home
from clew.adapters.rendezvous import Reply, Request, ask_watcher, listen
from clew.adapters.sources.files import WorkTree
from clew.adapters.workspace import resolve
from clew.errors import Refused
from clew.services.code_index import freshen, open_index, sync_request, watcher_path
from clew.services.context import Gathered, Place, Wish, gather
from clew.services.watch import Watcher

CLOCK = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@pytest.fixture
def work(tmp_path: Path, home: Path) -> Path:
    """A repository with two branches, some folders and an ignored one."""
    root = tmp_path / "work"
    for path, text in {
        "app/cache.py": "def key(name):\n    return name\n",
        "app/retry.py": "def retry(times):\n    return times\n",
        "docs/guide.md": "# Guide\n\nThe cache is keyed by name.\n",
        "lib/deep/er/tool.py": "class Tool:\n    pass\n",
        ".gitignore": "build/\n*.log\n",
    }.items():
        put(root / path, text)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "First")
    git(root, "checkout", "-q", "-b", "other")
    put(root / "app/other.py", "def only_on_other():\n    return 1\n")
    (root / "docs/guide.md").unlink()
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Other")
    git(root, "checkout", "-q", "main")
    return root


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def place_of(root: Path, home: Path, name: str = "index") -> Place:
    found = find_repository(root, os.environ)
    folders = Home(home, home, home, home)
    index = home / f"{name}-0123456789ab.db"
    return Place(resolve(root, folders, found), found, root, {}, index, watcher_path(folders, index))


def looked_at(root: Path, index: Path, ignore: tuple[str, ...] = ()) -> str:
    """The digest by a stat pass, in an index of its own."""
    with open_index(index) as own:
        return own.refresh(WorkTree(root, ignore), chunker.outline).digest


def asked(place: Place, question: str = "how is the cache keyed?") -> Gathered:
    return gather(Wish(question), place, (), CLOCK)


# ---------------------------------------------------------------------- the same changes


def operations(root: Path, dice: random.Random) -> dict[str, Callable[[], None]]:
    """What people and programs do to a work tree."""

    def files() -> list[Path]:
        return sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and ".git/" not in str(p))

    def folders() -> list[Path]:
        return sorted(p for p in root.iterdir() if p.is_dir() and not p.is_symlink() and p.name != ".git")

    def new_name() -> str:
        folder = dice.choice(["app", "lib/deep", "new/one/two", "build", "docs", "fresh"])
        return f"{folder}/{dice.choice('abcde')}.{dice.choice(['py', 'md', 'log', 'txt'])}"

    def edit() -> None:
        if found := files():
            put(dice.choice(found), f"def edited_{dice.randrange(99)}():\n    return {dice.randrange(10**6)}\n")

    def same_size_and_time() -> None:
        if found := [p for p in files() if p.suffix == ".py"]:
            path = dice.choice(found)
            before, text = path.stat(), path.read_text(encoding="utf-8")
            path.write_text(text.swapcase(), encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def replaced() -> None:
        if found := files():
            path = dice.choice(found)
            put(path.with_name("swap.tmp"), "replaced = 1\n")
            path.with_name("swap.tmp").replace(path)

    def delete() -> None:
        if found := files():
            dice.choice(found).unlink()

    def rename() -> None:
        if found := files():
            target = root / new_name()
            target.parent.mkdir(parents=True, exist_ok=True)
            dice.choice(found).replace(target)

    def rename_folder() -> None:
        if found := folders():
            target = root / f"moved{dice.randrange(10**6)}"
            dice.choice(found).rename(target)

    def remove_folder() -> None:
        if found := folders():
            shutil.rmtree(dice.choice(found))

    def ignore() -> None:
        pattern = dice.choice(["*.md", "app/", "!*.log", "deep", "build/"])
        folder = dice.choice([root, *folders()])
        put(folder / dice.choice([".gitignore", ".ignore"]), pattern + "\n")

    def exclude() -> None:
        put(root / ".git/info/exclude", dice.choice(["lib/\n", "*.txt\n", ""]))

    def switch() -> None:
        git(root, "checkout", "-q", "-f", dice.choice(["main", "other"]))

    def nested() -> None:
        if found := folders():
            folder = dice.choice(found)
            put(folder / dice.choice([".git/HEAD", "pyvenv.cfg"]), "x\n")

    def link() -> None:
        with contextlib.suppress(FileExistsError):
            (root / f"link{dice.randrange(5)}").symlink_to(dice.choice(["app", "nowhere", "."]))

    def create() -> None:
        path = root / new_name()
        with contextlib.suppress(NotADirectoryError, FileExistsError):
            put(path, f"def created_{dice.randrange(99)}(): pass\n")

    def mode() -> None:
        if found := files():
            dice.choice(found).chmod(dice.choice([0o600, 0o644, 0o755]))

    return {one.__name__: one for one in (edit, same_size_and_time, replaced, delete, rename, rename_folder, create,
                                          remove_folder, ignore, exclude, switch, nested, link, mode)}  # fmt: skip


@pytest.mark.requirement("P-11", "P-09")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_watcher_and_the_stat_pass_see_the_same_changes(work: Path, home: Path, seed: int) -> None:
    dice = random.Random(seed)
    watched, plain = place_of(work, home), place_of(work, home, "plain")
    plain = Place(plain.workspace, plain.git, plain.cwd, plain.environ, home / "plain.db", None)
    done: list[str] = []
    with watching(watched):
        for round_ in range(40):
            for _ in range(dice.choice([1, 1, 2, 5])):
                name, operation = dice.choice(list(operations(work, dice).items()))
                done.append(name)
                operation()
            reply = vouched(watched)
            assert reply.digest == looked_at(work, plain.index), done
            if round_ % 4 == 0:
                fresh = home / f"fresh{round_}.db"
                one, two = asked(watched), asked(Place(plain.workspace, plain.git, work, {}, fresh, None))
                assert one.snapshot.text() == two.snapshot.text(), done


@pytest.mark.requirement("P-11")
def test_a_question_that_a_watcher_vouches_for_looks_at_no_file(work: Path, home: Path) -> None:
    place = place_of(work, home)

    class Unwalked(WorkTree):
        def entries(self) -> Iterator:  # pyright: ignore[reportMissingTypeArgument]
            raise AssertionError("walked")

    with watching(place):
        put(work / "app/cache.py", "def key_of_quokka(): pass\n")
        vouched(place)
        for _ in range(50):
            try:
                freshened = freshen(place.index, Unwalked(work), place.git, None, place.watcher)
            except AssertionError:
                continue  # no answer in time on a busy machine
            with freshened.index as index:
                assert freshened.watched
                assert index.symbols(["key_of_quokka"])
                assert [entry.path for entry in freshened.tree.entries()][:2] == [".gitignore", "app/cache.py"]
            return
    pytest.fail("no question was answered by the watcher")


@pytest.mark.requirement("P-11")
def test_configured_patterns_reach_the_watcher_with_the_question(work: Path, home: Path) -> None:
    place = place_of(work, home)
    with watching(place):
        assert vouched(place, ("docs/",)).digest == looked_at(work, home / "plain.db", ("docs/",))
        assert vouched(place).digest == looked_at(work, home / "plain.db")


@pytest.mark.requirement("P-11")
def test_an_index_that_was_deleted_is_made_again_by_the_watcher(work: Path, home: Path) -> None:
    place = place_of(work, home)
    with watching(place):
        for side in ("", "-wal", "-shm"):
            place.index.with_name(place.index.name + side).unlink(missing_ok=True)
        digest = vouched(place).digest
        with open_index(place.index) as index:
            assert index.digest() == digest
            assert index.counts()["files"] == 5


# ---------------------------------------------------------------------- trust


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("change", ["root", "variant"])
def test_a_watcher_of_something_else_vouches_for_nothing(work: Path, home: Path, change: str) -> None:
    place = place_of(work, home)
    right = sync_request(WorkTree(work))
    wrong = Request(str(home), right.variant, ()) if change == "root" else Request(right.root, "chunks-0", ())
    with watching(place):
        assert ask_watcher(socket_of(place), wrong, patience=10) == Reply("")


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize(
    "answer",
    [b"", b"\n", b"[]\n", b'{"digest": 7, "total": 1, "notice": ""}\n', b'{"digest": "x"}\n', b"\xff\n", b"x" * 600000],
    ids=["nothing", "empty", "a list", "a number", "half", "no text", "endless"],
)  # fmt: skip
def test_an_answer_of_no_use_leads_to_the_stat_pass(work: Path, home: Path, answer: bytes) -> None:
    place = place_of(work, home)
    with freshen(place.index, WorkTree(work), place.git).index:
        pass
    put(work / "app/cache.py", "def key_of_quokka(): pass\n")
    path = socket_of(place)
    path.parent.mkdir(parents=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    freshened = freshen(place.index, WorkTree(work), place.git, None, path)
    thread.join()
    server.close()
    with freshened.index as index:
        assert not freshened.watched
        assert index.symbols(["key_of_quokka"])


@pytest.mark.requirement("P-11")
def test_a_digest_that_the_index_does_not_hold_is_not_believed(work: Path, home: Path) -> None:
    place = place_of(work, home)
    listener = listen(socket_of(place))
    assert not isinstance(listener, int)

    def serve() -> None:
        while (got := listener.accept(10)) is None:
            pass
        listener.reply(got[0], Reply("0" * 32, 5))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    freshened = freshen(place.index, WorkTree(work), place.git, None, place.watcher)
    thread.join()
    listener.close()
    with freshened.index:
        assert (freshened.watched, freshened.refreshed.total) == (False, 5)


@pytest.mark.requirement("P-11")
def test_a_dead_socket_costs_nothing(work: Path, home: Path) -> None:
    place = place_of(work, home)
    path = socket_of(place)
    path.parent.mkdir(parents=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.close()
    assert ask_watcher(path, sync_request(WorkTree(work))) is None
    with watching(place):
        assert vouched(place).total == 5


@pytest.mark.requirement("P-11")
def test_where_the_path_is_too_long_for_a_socket_a_token_guards_loopback(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 30) / "watch.sock"
    listener = listen(path)
    assert not isinstance(listener, int)
    assert not path.exists()
    port = path.with_suffix(".port")
    assert port.stat().st_mode & 0o777 == 0o600
    answers: list[object] = []

    def serve() -> None:
        for _ in range(2):
            while (got := listener.accept(0.2)) is None and len(answers) < 1:
                pass
            if got is not None:
                listener.reply(got[0], Reply("abc", 3, "words"))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    right = port.read_text(encoding="ascii")
    port.write_text(right.split()[0] + " " + "0" * 32, encoding="ascii")
    assert ask_watcher(path, Request("/", "v", ()), patience=10) is None
    port.write_text(right, encoding="ascii")
    answers.append(ask_watcher(path, Request("/", "v", ()), patience=10))
    thread.join()
    listener.close()
    assert answers == [Reply("abc", 3, "words")]
    assert list(path.parent.iterdir()) == []


# ---------------------------------------------------------------------- one watcher, and its end


@pytest.mark.requirement("P-11")
def test_a_second_watcher_of_a_tree_says_so_and_ends(work: Path, home: Path) -> None:
    place = place_of(work, home)
    with watching(place):
        with pytest.raises(Refused, match=f"watched already \\(process {os.getpid()}\\)"):
            Watcher(WorkTree(work), place.index, socket_of(place), lambda *_: None)
        assert vouched(place).total == 5
    assert list(socket_of(place).parent.iterdir()) == []


@pytest.mark.requirement("P-11")
def test_a_folder_that_goes_and_comes_back_is_watched_again(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.services.watch.POLL", 0.1)
    place = place_of(work, home)
    with watching(place) as said:
        work.rename(work.with_name("away"))
        wait_for(lambda: "no-events" in said)
        reply = ask_watcher(socket_of(place), sync_request(WorkTree(work)), patience=10)
        assert reply == Reply("")
        work.with_name("away").rename(work)
        wait_for(lambda: said[-1] in ("events", "refresh") and "events" in said)
        put(work / "app/back.py", "def back(): pass\n")
        assert vouched(place).digest == looked_at(work, home / "plain.db")


@pytest.mark.requirement("P-11")
def test_without_events_stat_passes_go_on_and_it_is_said(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError("limit of watches reached")

    monkeypatch.setattr("clew.services.watch.Events", none)
    monkeypatch.setattr("clew.services.watch.POLL", 0.05)
    place = place_of(work, home)
    with watching(place) as said:
        assert said[0] == "no-events"
        put(work / "app/cache.py", "def key_of_quokka(): pass\n")
        wait_for(lambda: "refresh" in said)
        assert ask_watcher(socket_of(place), sync_request(WorkTree(work)), patience=10) == Reply("")


def wait_for(true: Callable[[], bool]) -> None:
    """Until something is so: by events, not by guessing how long it takes."""
    tick = threading.Event()
    for _ in range(3000):
        if true():
            return
        tick.wait(0.01)
    pytest.fail("it never came to be")


@pytest.mark.requirement("P-11")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal_the_command_leaves_nothing(work: Path, home: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "clew", "watch"]
    process = subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "5 files" in process.stderr.readline()
    folder = home / "clew" / "watch"
    assert sorted(path.suffix for path in folder.iterdir()) == [".lock", ".marks", ".sock"]
    second = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stdout) == (2, "")
    assert f"watched already (process {process.pid})" in second.stderr
    show = [*command[:-1], "index", "status", "--json"]
    status = subprocess.run(show, cwd=work, capture_output=True, text=True, check=True)
    assert json.loads(status.stdout)["watched"] is True
    process.send_signal(how)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
    assert list(folder.iterdir()) == []


@pytest.mark.requirement("P-11")
def test_a_killed_watcher_does_not_keep_the_next_one_away(work: Path, home: Path) -> None:
    command = [sys.executable, "-m", "clew", "watch"]
    for how in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
        process = subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "5 files" in process.stderr.readline()
        process.send_signal(how)
        process.wait(30)
        process.stderr.close()
    assert list((home / "clew" / "watch").iterdir()) == []


@pytest.mark.requirement("P-11")
def test_nothing_is_written_into_the_watched_folder(work: Path, home: Path) -> None:
    def listed() -> list[str]:
        return sorted(str(path) for path in work.rglob("*"))

    place, before = place_of(work, home), listed()
    with watching(place):
        for _ in range(3):
            vouched(place)
    assert listed() == before
