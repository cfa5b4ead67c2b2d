"""No ghosts: whatever happened to a repository, a question gets the prompt that a new home would give it.

One home lives through everything, with its index and its cache as they came about. After each operation its prompt is
compared, byte for byte, with that of a home made for this one question.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.command import HARBOUR, clew, commit, write
from tests.watching import vouched, watching

from clew.app import App
from clew.core.context.fragment import Exchange
from clew.core.context.mode import Mode
from clew.errors import ClewError
from clew.services.ask import earlier
from clew.services.context import Gathered, gather
from clew.stores.cache import FORMAT, SearchCache
from clew.stores.exchanges import ExchangeStore

CLOCK = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
LATER = 7200.0
"""Seconds ahead of the machine's clock: seen from there, every file has come to rest."""
WORDS = ("cache", "retry", "timeout", "berth", "harbour", "token", "parse", "index", "delay", "queue", "ship", "ledger")
QUESTIONS = (
    "how does the cache choose its key?",
    "why does the retry wait before the next attempt?",
    "where is `parse_token` defined?",
    "what does src/retry.py do with a timeout?",
    "what is the difference between the cache.py here and queue.py?",
    "and what about the delay then?",
    "what did I just change?",
    "重试的超时时间是多少？",
    "which branch am I on?",
    "how is this repository laid out?",
    "how do I bake bread with rye?",
    "ship ledger queue",
    "explain berth_index",
)
FOLLOWED = ("why does the queue stall?", "where is the ledger written?", "fix src/cache.py: KeyError in parse")
IGNORES = ("docs/\n", "*.md\n", "lib/*\n!lib/keep.py\n", "", "src/deep/\n")
PROJECT = (
    "",
    "max_tokens: 2000\n",
    "ignore: ['docs/']\n",
    "anchors:\n  - path: 'src/*.py'\n",
    "weights: {related: 20}\n",
    "style: newcomer\n",
    "context: true\nignore: ['*.py']\n",
    "project: port\n",
)
USER = ("", "language: zh\n", "weights: {git: 90, tree: 85}\n", "max_tokens: 3000\n")


@dataclass
class World:
    """A repository that things happen to, with the home that lives through them."""

    root: Path
    homes: Path
    dice: random.Random
    question: str = QUESTIONS[1]
    mode: Mode | None = None
    max_tokens: int | None = None
    later: float = LATER
    steps: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    watched: bool = False
    """A watcher keeps the index of the living home fresh."""

    def __post_init__(self) -> None:
        self.living = self.homes / "living"
        self.living.mkdir(parents=True)

    # -- asking

    def asked(self, home: Path, exchanges: tuple[Exchange, ...], *, cached: bool = True) -> Gathered | str:
        """What a question gives in one home: everything, or the message of an error."""
        home.mkdir(exist_ok=True)
        config = self.living / "config.yaml"
        if config.exists() and home != self.living:
            shutil.copy(config, home / "config.yaml")
        flags = {"max_tokens": self.max_tokens, "cache": cached}
        app = App(os.environ | {"CLEW_HOME": str(home)}, self.root, flags)
        now = self.later
        try:
            # One index for all that happens, also where another first commit would make it another workspace.
            place = replace(app.place, index=home / "index.db", now=lambda: time.time() + now, watcher=None)
            place = replace(place, searches=home / "index.searches" if cached else None)
            wish = app.wish(self.question, (), None, self.mode)
            if self.watched and home == self.living:
                place = replace(place, watcher=home / "watch.sock")
                vouched(place, wish.ignore)
            found = gather(wish, place, exchanges, CLOCK)
            self.outcomes["watched"] += found.freshened is not None and found.freshened.watched
            return found
        except ClewError as error:
            return f"{type(error).__name__}: {error}"

    def exchanges(self) -> tuple[Exchange, ...]:
        """The history of the living home."""
        with ExchangeStore(self.living / "history.db") as store:
            return earlier(store, "w", "t")

    def check(self, done: list[str]) -> None:
        """The living home, asked twice, says what a new home says."""
        exchanges = self.exchanges()
        first, again = self.asked(self.living, exchanges), self.asked(self.living, exchanges)
        fresh_home = self.homes / f"fresh{self.steps}"
        fresh = self.asked(fresh_home, exchanges, cached=False)
        shutil.rmtree(fresh_home)
        self.steps += 1
        for found in (first, again):
            self.outcomes[found.cache if isinstance(found, Gathered) else "error"] += 1
            assert text_of(found) == text_of(fresh), done[-12:]
            assert seen_of(found) == seen_of(fresh), done[-12:]

    # -- what happens

    def files(self) -> list[Path]:
        """Regular files outside `.git`."""
        return sorted(
            path
            for path in self.root.rglob("*")
            if ".git" not in path.relative_to(self.root).parts[:1] and path.is_file() and not path.is_symlink()
        )

    def sources(self) -> list[Path]:
        """Files that are not there to configure."""
        return [path for path in self.files() if not path.name.startswith(".")]

    def git(self, *arguments: str) -> None:
        """Run git, whether it succeeds or not."""
        subprocess.run(["git", *arguments], cwd=self.root, check=False, capture_output=True)

    def text(self) -> str:
        """A source file about some of the words."""
        pick = self.dice.choice
        parts = [f'"""The {pick(WORDS)} and the {pick(WORDS)}."""\n']
        for _ in range(self.dice.randint(1, 4)):
            name = f"{pick(WORDS)}_{pick(WORDS)}"
            parts.append(
                f"\n\ndef {name}({pick(WORDS)}):\n    # {pick(WORDS)} {pick(WORDS)}\n    return {pick(WORDS)}\n"
            )
        return "".join(parts)

    def place(self) -> Path:
        """Where a new file may go."""
        folder = self.dice.choice(["src", "lib", "docs", "tests", "src/deep", "."])
        end = ".md" if folder == "docs" else ".py"
        return self.root / folder / f"{self.dice.choice(WORDS)}{self.dice.choice(['', '_2', '_x'])}{end}"


def text_of(found: Gathered | str) -> str:
    return found if isinstance(found, str) else found.snapshot.text()


def seen_of(found: Gathered | str) -> object:
    """All else that a question shows."""
    if isinstance(found, str):
        return found
    related = found.related
    searched = related and (
        related.files, [(p.file, p.first, p.last, p.symbol, p.score) for p in related.passages], related.probability,
        related.symbols, related.paths, related.unknown, related.commits, related.query,
    )  # fmt: skip
    return found.snapshot.report.to_json(), found.reason, found.found, found.decision, searched


def happenings(world: World) -> dict[str, Callable[[], None]]:
    """Everything that people and programs do to a repository and to Clew."""
    root, dice = world.root, world.dice

    def some() -> Path:
        found = world.sources()
        return dice.choice(found) if found else put(world.place(), world.text())

    def put(path: Path, text: str) -> Path:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return path

    def create() -> None:
        put(world.place(), world.text())

    def edit() -> None:
        put(some(), world.text())

    def edit_under_the_same_stamp() -> None:
        path = some()
        old, text = path.stat(), path.read_text(encoding="utf-8")
        one, other = dice.sample([word for word in WORDS if len(word) == 5], 2)
        put(path, text.replace(one, "\0").replace(other, one).replace("\0", other))
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def append() -> None:
        with some().open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef {dice.choice(WORDS)}_{dice.choice(WORDS)}():\n    pass\n")

    def empty() -> None:
        put(some(), "")

    def delete() -> None:
        some().unlink()

    def rename() -> None:
        target = world.place()
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            some().rename(target)

    def copy() -> None:
        put(world.place(), some().read_text(encoding="utf-8"))

    def swap() -> None:
        one, other, spare = some(), some(), root / "spare"
        if one != other:
            one.rename(spare)
            other.rename(one)
            spare.rename(other)

    def replace_by_link() -> None:
        path, target = some(), some()
        path.unlink()
        path.symlink_to(target)

    def replace_by_folder() -> None:
        path = some()
        path.unlink()
        put(path / "inner.py", world.text())

    def remove_folder() -> None:
        shutil.rmtree(root / dice.choice(["docs", "src/deep", "lib"]), ignore_errors=True)

    def touch() -> None:
        some().touch()

    def set_clock_back() -> None:
        then = time.time() - 10.0 ** dice.randint(1, 8)
        os.utime(some(), (then, then))

    def set_clock_ahead() -> None:
        then = time.time() + dice.choice([5.0, 600.0, 10.0**8])
        os.utime(some(), (then, then))

    def chmod() -> None:
        some().chmod(dice.choice([0o600, 0o644, 0o755]))

    def ignore() -> None:
        put(root / dice.choice([".gitignore", ".ignore", ".clewignore", "src/.gitignore"]), dice.choice(IGNORES))

    def exclude() -> None:
        put(root / ".git/info/exclude", dice.choice(IGNORES))

    def project_file() -> None:
        put(root / ".clew.yaml", dice.choice(PROJECT))

    def user_file() -> None:
        put(world.living / "config.yaml", dice.choice(USER))

    def branch() -> None:
        world.git("checkout", "-q", "-b", f"{dice.choice(WORDS)}-{dice.randrange(100)}")

    def switch() -> None:
        done = subprocess.run(["git", "branch", "--format=%(refname:short)"], cwd=root, capture_output=True, check=True)
        names = done.stdout.decode().split()
        world.git("checkout", "-q", *dice.choice([(), ("-f",)]), dice.choice(names or ["main"]))

    def detach() -> None:
        world.git("checkout", "-q", "--detach", dice.choice(["HEAD", "HEAD~1"]))

    def orphan() -> None:
        world.git("checkout", "-q", "--orphan", f"orphan-{dice.randrange(1000)}")

    def stage() -> None:
        world.git("add", str(some()))

    def stage_all() -> None:
        world.git("add", "-A")

    def unstage() -> None:
        world.git("reset", "-q")

    def make_commit() -> None:
        world.git("add", "-A")
        day = f"2025-0{dice.randint(1, 9)}-01T00:00:00Z"
        message = f"{dice.choice(['Mend', 'Add', 'Drop'])} the {dice.choice(WORDS)} of the {dice.choice(WORDS)}"
        world.git("commit", "-q", "--allow-empty", "--date", day, "-m", message)

    def amend() -> None:
        world.git("commit", "-q", "-a", "--amend", "--allow-empty", "-m", f"Amend the {dice.choice(WORDS)}")

    def stash() -> None:
        world.git("stash", "-q", *dice.choice([(), ("-u",)]))

    def pop() -> None:
        world.git("stash", "pop", "-q")

    def reset_hard() -> None:
        world.git("reset", "-q", "--hard", dice.choice(["HEAD", "HEAD~1", "HEAD~2"]))

    def merge() -> None:
        done = subprocess.run(["git", "branch", "--format=%(refname:short)"], cwd=root, capture_output=True, check=True)
        world.git("merge", "-q", "-X", "ours", "-m", "Merge", dice.choice(done.stdout.decode().split() or ["main"]))

    def clean() -> None:
        world.git("checkout", "-q", "-f", "main")
        world.git("clean", "-q", "-f", "-d")

    def ask_otherwise() -> None:
        world.question = dice.choice(QUESTIONS)

    def switch_mode() -> None:
        world.mode = dice.choice([None, None, *Mode])

    def other_budget() -> None:
        world.max_tokens = dice.choice([None, 1200, 4000, 32_000])

    def answer() -> None:
        question = dice.choice(FOLLOWED)
        with ExchangeStore(world.living / "history.db") as store:
            store.add("w", "t", question=question, answer=world.text(), mode="rich", at="2026-01-01T00:00:00Z",
                      anchor=dice.random() < 0.5)  # fmt: skip

    def forget_answer() -> None:
        with ExchangeStore(world.living / "history.db") as store:
            numbers = [one.id for one in store.list("w")]
            store.remove("w", dice.sample(numbers, min(len(numbers), 3)))

    def clock() -> None:
        world.later = dice.choice([LATER, LATER, 0.0, -LATER])

    def lose_the_index() -> None:
        for side in ("", "-wal", "-shm"):
            (world.living / f"index.db{side}").unlink(missing_ok=True)

    return {one.__name__: one for one in (
        create, edit, edit_under_the_same_stamp, append, empty, delete, rename, copy, swap, replace_by_link,
        replace_by_folder, remove_folder, touch, set_clock_back, set_clock_ahead, chmod, ignore, exclude, project_file,
        user_file, branch, switch, detach, orphan, stage, stage_all, unstage, make_commit, amend, stash, pop,
        reset_hard, merge, clean, ask_otherwise, switch_mode, other_budget, answer, forget_answer, clock,
        lose_the_index,
    )}  # fmt: skip


OFTEN = ("create", "edit", "edit_under_the_same_stamp", "make_commit", "ask_otherwise", "clean")
"""Without these a long run ends in an empty tree and one question."""


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """A repository with two branches."""
    world = World(tmp_path / "port", tmp_path / "homes", random.Random(0))
    write(world.root, HARBOUR)
    commit(world.root)
    return world


def settle(world: World) -> None:
    """Fill a tree: many files of few words, so that many scores are equal."""
    happen = happenings(world)
    for _ in range(25):
        happen["create"]()
    happen["make_commit"]()
    happen["branch"]()
    for name in ("edit", "copy", "delete", "make_commit"):
        happen[name]()
    world.git("checkout", "-q", "main")


def live(world: World, seed: int, steps: int) -> None:
    world.dice = random.Random(seed)
    settle(world)
    happen = happenings(world)
    names = (*happen, *OFTEN * 3)
    done: list[str] = [f"seed {seed}"]
    while world.steps < steps:
        name = world.dice.choice(names)
        done.append(name)
        happen[name]()
        world.check(done)
        if world.later <= 0:
            # From a clock that is not ahead every file looks young, and a cache is never asked: not for long.
            world.later = world.dice.choice([world.later, LATER])
        if world.steps % 25 == 0:
            # A time far ahead keeps a file young for ever.
            for path in world.sources():
                path.touch()
            world.mode = None


@pytest.mark.requirement("P-09", "Q-07")
def test_sixty_operations_leave_no_ghost(world: World) -> None:
    live(world, 4, 60)
    assert world.outcomes["hit"] >= 20, world.outcomes


@pytest.mark.slow
@pytest.mark.requirement("P-09", "Q-07")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_operations_leave_no_ghost(world: World, seed: int) -> None:
    live(world, seed, 334)
    assert world.outcomes["hit"] >= 100, world.outcomes


def live_watched(world: World, seed: int, steps: int) -> None:
    """Live through everything while a watcher looks on: a question walks no tree, and takes the watcher's word."""
    place = replace(
        App(os.environ | {"CLEW_HOME": str(world.living)}, world.root, {}).place,
        index=world.living / "index.db", watcher=world.living / "watch.sock",
    )  # fmt: skip
    with watching(place, now=lambda: time.time() + world.later):
        world.watched = True
        live(world, seed, steps)
    # Every step asks twice where a watcher may answer. On a busy machine its word comes too late now and then.
    assert world.outcomes["watched"] >= 1.5 * steps, world.outcomes


@pytest.mark.requirement("P-09", "P-11", "Q-07")
def test_sixty_operations_under_a_watcher_leave_no_ghost(world: World) -> None:
    live_watched(world, 5, 60)
    assert world.outcomes["hit"] >= 20, world.outcomes


@pytest.mark.slow
@pytest.mark.requirement("P-09", "P-11", "Q-07")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_operations_under_a_watcher_leave_no_ghost(world: World, seed: int) -> None:
    live_watched(world, seed, 334)
    assert world.outcomes["hit"] >= 100, world.outcomes


# ---------------------------------------------------------------------- histories that come about in another way


def long_history(root: Path, numbers: range) -> None:
    """Commits one by one, each of its own file, without a work tree being looked at."""
    parts = [] if numbers.start == 0 else ["from refs/heads/main^0\n"]
    stream = ""
    for number in numbers:
        message, path = f"Mend the {WORDS[number % 12]} of the {WORDS[number // 12 % 12]}", f"old/{number % 97}.txt"
        stream += f"commit refs/heads/main\ncommitter T <t@example.invalid> {1_600_000_000 + number // 3} +0000\n"
        stream += f"data {len(message)}\n{message}\n" + ("".join(parts) if number == numbers.start else "")
        stream += f"M 644 inline {path}\ndata {len(str(number))}\n{number}\n\n"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream.encode(), check=True, capture_output=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=root, check=True, capture_output=True)


@pytest.mark.requirement("P-09")
def test_a_history_that_outgrows_the_index_is_cut_where_a_new_index_cuts_it(world: World) -> None:
    shutil.rmtree(world.root)
    world.root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=world.root, check=True)
    world.question = "mend the retry of the timeout"
    for numbers in (range(1995), range(1995, 2050)):
        long_history(world.root, numbers)
        world.check([str(numbers)])


@pytest.mark.requirement("P-09")
def test_equal_files_come_in_the_order_of_their_paths_whichever_was_there_first(world: World) -> None:
    text = "def stall_of_the_quay():\n    return 1\n"
    world.question = "where is the stall of the quay?"
    for name in ("m", "z", "a"):
        write(world.root, {f"src/{name}.py": text, f"lib/{name}.py": text})
        world.check([name])
    found = world.asked(world.living, ())
    assert isinstance(found, Gathered) and found.related is not None
    paths = [file.path for file in found.related.files[:6]]
    assert paths == sorted(paths) and len(paths) == 6


@pytest.mark.requirement("P-09")
def test_symbols_that_differ_in_case_come_in_the_same_order(world: World) -> None:
    world.question = "where is `stall_quay` and `Stall_Quay` and `STALL_QUAY`?"
    for number, name in enumerate(("stall_quay", "STALL_QUAY", "Stall_Quay")):
        write(world.root, {f"src/{9 - number}.py": f"def {name}():\n    return 1\n"})
        world.check([name])


@pytest.mark.requirement("P-09")
def test_files_of_one_name_come_in_the_order_of_their_paths(world: World) -> None:
    world.question = "what does quay.py do?"
    for folder in ("src", "tests", "lib", "docs"):
        write(world.root, {f"{folder}/quay.py": f"def {folder}_quay():\n    return 1\n"})
        world.check([folder])


@pytest.mark.requirement("P-09")
def test_a_folder_that_is_no_repository_any_more_has_no_history(world: World) -> None:
    world.check(["with"])
    shutil.rmtree(world.root / ".git")
    world.check(["without"])


@pytest.mark.requirement("P-09")
def test_a_file_with_an_old_time_that_was_written_a_moment_ago_is_not_trusted(world: World) -> None:
    world.later = 0.0
    for path in world.files():
        os.utime(path, (1, 1))
    world.check([])
    assert (world.outcomes["off"], world.outcomes["hit"], world.outcomes["miss"]) == (2, 0, 0)


# ---------------------------------------------------------------------- the cache itself


def hits(world: World) -> bool:
    found = world.asked(world.living, ())
    assert isinstance(found, Gathered)
    return found.cache == "hit"


@pytest.mark.requirement("P-09")
def test_a_mode_switch_drops_what_the_other_mode_kept(world: World) -> None:
    world.mode = Mode.RICH
    assert not hits(world)
    assert hits(world)
    world.mode = Mode.LEAN
    assert not hits(world)
    assert SearchCache(world.living / "index.searches").count() == 1
    world.mode = Mode.RICH
    assert not hits(world)


@pytest.mark.requirement("P-09")
def test_a_switch_to_a_kept_search_drops_as_well(tmp_path: Path) -> None:
    kept = SearchCache(tmp_path / "index.searches")
    kept.keep("a", "rich", {"n": 1})
    kept.keep("b", "rich", {"n": 2})
    kept.drop_mode("rich")
    assert kept.count() == 2
    kept.drop_mode("lean")
    assert kept.count() == 0


def heard(world: World, *exchanges: Exchange) -> str:
    """Whether a question in a conversation was found in the cache; what it gives is what a new home gives."""
    found = world.asked(world.living, exchanges)
    fresh = world.asked(world.homes / "new", exchanges, cached=False)
    assert isinstance(found, Gathered) and isinstance(fresh, Gathered)
    assert (text_of(found), seen_of(found)) == (text_of(fresh), seen_of(fresh))
    assert all(one.answer in text_of(found) for one in exchanges)
    return found.cache


@pytest.mark.requirement("P-09")
def test_a_question_asked_again_in_a_conversation_is_found_in_the_cache(world: World) -> None:
    before = Exchange(1, "which berth is free for a ship?", "The one at the quay.", "rich", "2026-01-01T00:00:00Z")
    itself = Exchange(2, world.question, "Until the delay is over.", "rich", "2026-01-01T00:01:00Z")
    assert [heard(world, before), heard(world, before), heard(world, before, itself)] == ["miss", "hit", "hit"]


@pytest.mark.requirement("P-09")
def test_a_follow_up_is_found_in_the_cache_as_long_as_it_follows_the_same_question(world: World) -> None:
    world.question = "and what about the delay then?"
    before = Exchange(1, "which berth is free for a ship?", "The one at the quay.", "rich", "2026-01-01T00:00:00Z")
    assert [heard(world, before), heard(world, before)] == ["miss", "hit"]
    assert heard(world, replace(before, answer="None is.")) == "hit"
    assert heard(world, replace(before, question="what makes the retry give up?")) == "miss"
    assert heard(world, before, replace(before, id=2, question="how is it deployed?")) == "miss"
    assert heard(world) == "hit"  # it follows nothing: the search for its own words, which was made first


@pytest.mark.requirement("P-09")
def test_no_text_of_any_file_is_kept(world: World) -> None:
    assert not hits(world)
    content = (world.living / "index.searches").read_bytes()
    assert b"src/retry.py" in content
    assert b"delay that doubles" not in content and world.question.encode() not in content
    assert (world.living / "index.searches").stat().st_mode & 0o077 == 0


def scribble(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def tear(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.index(b"src/retry.py")
    content[at : at + 12] = b"src/rEtry.py"
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def swap_for_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def swap_for_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def of_a_later_version(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma user_version = {FORMAT + 1}")


def of_another_form(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        name = connection.execute("select key from kept").fetchone()[0]
    SearchCache(path).keep(name, "rich", {"files": [["src/retry.py"]]})


DAMAGES = {one.__name__: one for one in (scribble, tear, cut, swap_for_folder, swap_for_link, of_a_later_version,
                                         of_another_form)}  # fmt: skip


@pytest.mark.requirement("P-09")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_changes_nothing_in_the_answer(world: World, damage: str) -> None:
    world.mode = Mode.RICH
    assert not hits(world)
    DAMAGES[damage](world.living / "index.searches")
    assert not hits(world)
    world.check([damage])
    left_alone = damage in ("swap_for_folder", "swap_for_link", "of_a_later_version")
    assert hits(world) is not left_alone
    if damage == "of_a_later_version":
        with contextlib.closing(sqlite3.connect(world.living / "index.searches")) as connection:
            assert connection.execute("pragma user_version").fetchone() == (FORMAT + 1,)


@pytest.mark.requirement("P-09")
def test_a_cache_in_use_changes_nothing_in_the_answer(world: World) -> None:
    assert not hits(world)
    with contextlib.closing(sqlite3.connect(world.living / "index.searches", isolation_level=None)) as other:
        other.execute("begin exclusive")
        assert not hits(world)
        world.check(["in use"])
        other.execute("rollback")
    assert hits(world)


@pytest.mark.requirement("P-09")
def test_a_cache_that_cannot_be_written_changes_nothing_in_the_answer(world: World, tmp_path: Path) -> None:
    nowhere = SearchCache(tmp_path / "no folder" / "index.searches")
    nowhere.keep("a", "rich", 1)
    assert nowhere.get("a") is None and nowhere.count() == 0
    assert not hits(world)
    with contextlib.closing(sqlite3.connect(world.living / "index.searches")) as connection:
        pages = connection.execute("pragma page_count").fetchone()[0]
    full = Full(world.living / "index.searches", pages)
    full.keep("b", "rich", "x" * 100_000)
    assert full.get("b") is None
    assert hits(world)


class Full(SearchCache):
    """A cache whose file may not grow, as on a full disk."""

    def __init__(self, path: Path, pages: int) -> None:
        super().__init__(path)
        self._pages = pages

    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        connection.execute(f"pragma max_page_count = {self._pages}")
        return connection


@pytest.mark.requirement("P-09")
def test_the_cache_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    kept = SearchCache(tmp_path / "index.searches", most_entries=5, most_bytes=1000)
    for number in range(20):
        kept.keep(f"k{number}", "rich", number)
    assert [number for number in range(20) if kept.get(f"k{number}") is not None] == [15, 16, 17, 18, 19]
    kept.keep("large", "rich", "x" * 997)
    assert kept.get("large") == "x" * 997 and kept.count() == 1
    kept.keep("too large", "rich", "x" * 1000)
    assert kept.get("too large") is None and kept.count() == 1


# ---------------------------------------------------------------------- through the real process


def told(root: Path, home: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[str, str]:
    """The prompt, without the time of day, and what was said of the cache."""
    found = clew("ask", "-v", "--debug", "--new", *arguments, QUESTIONS[1], cwd=root,
                 env={"CLEW_HOME": str(home)} | (env or {}))  # fmt: skip
    assert found.status == 0, found.err
    said = re.search(r"(?m)^cache: (\w+)$", found.err)
    return re.sub(r"(?m)^.*\btime \d{4}-.*$", "", found.out), said[1] if said else ""


@pytest.mark.requirement("P-09")
def test_a_hit_in_a_real_process_shows_what_a_new_home_shows(world: World) -> None:
    home, deadline, said = world.homes / "real", time.monotonic() + 60, list[str]()
    while not said or (said[-1] != "hit" and time.monotonic() < deadline):
        # The files were written a moment ago: the cache is off until they have come to rest.
        prompt, outcome = told(world.root, home)
        said.append(outcome)
    assert said[0] == "off" and said[-2:] == ["miss", "hit"], said
    assert told(world.root, home, "--no-cache") == (prompt, "off")
    assert told(world.root, home, env={"CLEW_NO_CACHE": "1"}) == (prompt, "off")
    assert told(world.root, world.homes / "other")[0] == prompt
    (world.root / "src/retry.py").write_text("def retry_after_the_wait():\n    pass\n", encoding="utf-8")
    changed, outcome = told(world.root, home)
    assert outcome == "off" and changed != prompt and changed == told(world.root, world.homes / "third")[0]
