"""Q-20, Q-22, Q-23, Q-25, Q-26: time, memory and size, beside what is there anyway and beside peers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from benchmarks.huge import grow
from benchmarks.measure import CLEW, Options, Spread, count_files, django, environment, peak, run, shown, spread, table
from clew.adapters import chunker
from clew.adapters.rendezvous import ask_watcher
from clew.adapters.sources.files import WorkTree
from clew.services.code_index import open_index, sync_request

QUESTION = "how does the ORM compile a query with joins to SQL?"
ROOT = Path(__file__).resolve().parent.parent


def q20(options: Options) -> None:
    """Start-up of `--version` and `--help` against a Python that does nothing."""
    clew = str(Path(sys.executable).with_name("clew"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nothing = spread([sys.executable, "-c", "pass"], options.runs, home=folder, cwd=folder)
        rows = [["python -c pass", str(nothing), "1.0"]]
        for arguments in (["--version"], ["--help"], ["ask", "--help"]):
            took = spread([clew, *arguments], options.runs, home=folder, cwd=folder)
            rows.append([f"clew {' '.join(arguments)}", str(took), f"{took.median / nothing.median:.1f}"])
    table("Q-20 start-up (bar: 4 times)", ["command", "whole process", "times"], rows)


def q22(options: Options) -> None:
    """`clew context` in Django: cold, warm, warm with a watcher."""
    root = django(options)
    home = options.scratch / "home"
    command = [*CLEW, "context", QUESTION]
    cold: list[float] = []
    for _ in range(3):
        shutil.rmtree(home, ignore_errors=True)
        cold.append(run(command, home=home, cwd=root).seconds)
    warm = spread(command, options.runs, home=home, cwd=root)
    with _watched(root, home):
        watched = spread(command, options.runs, home=home, cwd=root)
    rows = [
        ["clew context, no index yet", str(Spread(tuple(cold))), "40 s"],
        ["clew context, warm", str(warm), "0.6 s"],
        ["clew context, warm, watched", str(watched), "0.6 s"],
    ]
    table(f"Q-22 {count_files(root):,} files (Django 5.2)", ["command", "whole process", "bar"], rows)


def q23(options: Options) -> None:
    """One changed file in Django, until the index holds it: by the stat pass, and by a watcher."""
    root, home = django(options), options.scratch / "home"
    changed = root / "django" / "utils" / "timezone.py"
    text = changed.read_text(encoding="utf-8")
    passes: list[float] = []
    alone: list[float] = []
    walks: list[float] = []
    asked: list[float] = []
    try:
        with open_index(options.scratch / "q23.db") as index:
            index.refresh(WorkTree(root), chunker.outline)
            for number in range(options.runs):
                changed.write_text(f"{text}\n# change {number}\n", encoding="utf-8")
                began = time.perf_counter()
                entries = list(WorkTree(root).entries())
                walks.append(time.perf_counter() - began)
                passes.append(index.refresh(WorkTree(root), chunker.outline).seconds)
                changed.write_text(f"{text}\n# again {number}\n", encoding="utf-8")
                entry = WorkTree(root).entry("django/utils/timezone.py")
                known = {one.path: one for one in entries} | ({entry.path: entry} if entry else {})
                alone.append(index.refresh(_Known(root, known), chunker.outline).seconds)
        with _watched(root, home) as socket:
            for number in range(options.runs):
                changed.write_text(f"{text}\n# watched {number}\n", encoding="utf-8")
                began = time.perf_counter()
                if ask_watcher(socket, sync_request(WorkTree(root)), patience=10) is not None:
                    asked.append(time.perf_counter() - began)
    finally:
        changed.write_text(text, encoding="utf-8")
    walk = statistics.median(walks)
    table("Q-23 one changed file (bar: 50 ms of index work)", ["part", "time"], [
        ["index work, the list of files given", str(Spread(tuple(alone)))],
        ["walk of the whole tree alone", str(Spread(tuple(walks)))],
        ["refresh with its walk", str(Spread(tuple(passes)))],
        ["refresh less the walk", shown(max(statistics.median(passes) - walk, 0.0))],
        ["answer of a watcher, events waited for", str(Spread(tuple(asked))) if asked else "none in time"],
        ["floor: everything read and cut again", shown(_from_scratch(root, options.scratch))],
    ])  # fmt: skip


class _Known:
    """A tree whose list of files is known."""

    def __init__(self, root: Path, entries: dict) -> None:  # pyright: ignore[reportMissingTypeArgument]
        self._tree = WorkTree(root)
        self._entries = entries

    def entries(self):
        return self._entries.values()

    def read(self, path: str) -> bytes:
        return self._tree.read(path)


def _from_scratch(root: Path, scratch: Path) -> float:
    path = scratch / "scratch.db"
    path.unlink(missing_ok=True)
    with open_index(path) as index:
        seconds = index.refresh(WorkTree(root), chunker.outline).seconds
    path.unlink()
    return seconds


def q25(options: Options) -> None:
    """Peak memory of each command in Django; with `--files N`, memory and time in a tree of so many small files."""
    if options.files:
        _huge(options)
        return
    root = django(options)
    home = options.scratch / "memory-home"
    shutil.rmtree(home, ignore_errors=True)
    small = root / "django" / "utils" / "timezone.py"
    rows = [["python -c pass", _mb(peak([sys.executable, "-c", "pass"], home=home, cwd=root))]]
    commands: list[tuple[str, Sequence[str]]] = [
        ("index rebuild", ["index", "rebuild"]),
        ("context, no index yet", ["context", QUESTION]),
        ("context", ["context", QUESTION]),
        ("context of 100,000 tokens", ["context", QUESTION, "--max-tokens", "100000"]),
        ("context of a long question", ["context", (QUESTION + " ") * 400]),
        ("context with a file", ["context", QUESTION, str(small)]),
        ("ask", ["ask", QUESTION]),
        ("ask --preview --json", ["ask", "--preview", "--json", QUESTION]),
        ("index status", ["index", "status"]),
        ("history", ["history"]),
        ("models", ["models"]),
        ("config", ["config"]),
        ("index clean", ["index", "clean"]),
    ]
    for name, arguments in commands:
        if name == "context, no index yet":
            run([*CLEW, "index", "clean"], home=home, cwd=root)
        rows.append([f"clew {name}", _mb(peak([*CLEW, *arguments], home=home, cwd=root))])

    def ended(process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        process.stderr.readline()
        os.kill(int(next((home / "watch").glob("*.lock")).read_text(encoding="ascii")), signal.SIGTERM)

    rows.append(["clew watch", _mb(peak([*CLEW, "watch"], home=home, cwd=root, after=ended))])
    table("Q-25 peak memory, children included (bar: 600 MB)", ["command", "peak"], rows)


def _huge(options: Options) -> None:
    """What the bounds of the walk leave to pay, and what the user is told."""
    root, home = options.scratch / f"huge-{options.shape}", options.scratch / "huge-home"
    began = time.perf_counter()
    grow(root, options.files, options.shape)
    print(f"tree of {options.files:,} files ({options.shape}) made in {shown(time.perf_counter() - began)}")
    shutil.rmtree(home, ignore_errors=True)
    question = "where is a ticket retried?"
    commands: list[tuple[str, Sequence[str], int]] = [
        ("context, no index yet", ["context", question], 1),
        ("context", ["context", question], 5),
        ("ask", ["ask", question], 5),
        ("ask --preview", ["ask", "--preview", question], 5),
        ("index status", ["index", "status"], 5),
        ("doctor", ["doctor"], 5),
    ]
    rows: list[list[str]] = []
    for name, arguments, runs in commands:
        command = [*CLEW, *arguments]
        memory = peak(command, home=home, cwd=root)
        if runs == 1:
            shutil.rmtree(home)
        took = [run(command, home=home, cwd=root, keep=True) for _ in range(runs)]
        told = next((line for line in took[-1].output.splitlines() if "files were read" in line or "walk" in line), "")
        rows.append([f"clew {name}", str(Spread(tuple(one.seconds for one in took))), _mb(memory), told])
    title = f"Q-25 {options.files:,} files, {options.shape} (bar: 600 MB)"
    table(title, ["command", "whole process", "peak", "told"], rows)


def q26(options: Options) -> None:
    """A fresh environment with plain `clew`: time to install and size."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        place = Path(name) / "venv"
        began = time.perf_counter()
        venv.create(place, with_pip=True)
        made, empty = time.perf_counter() - began, _size(place)
        began = time.perf_counter()
        subprocess.run([str(place / "bin" / "pip"), "install", "-qq", "--no-cache-dir", str(ROOT)], check=True)
        seconds, whole = time.perf_counter() - began, _size(place)
        packages = sorted(
            ((_size(path), path.name) for path in place.glob("lib/python*/site-packages/*") if path.is_dir()),
            reverse=True,
        )
        ran = run([str(place / "bin" / "clew"), "--version"], home=Path(name), cwd=Path(name), keep=True)
    table("Q-26 plain clew in a fresh environment (bar: 400 MB, 90 s)", ["what", "figure"], [
        ["installing, nothing cached", shown(seconds)],
        ["size of what came", _mb(whole - empty)],
        ["floor: an empty environment with pip", f"{_mb(empty)}, {shown(made)}"],
        ["it answers", ran.output.strip()],
    ])  # fmt: skip
    table("largest", ["package", "size"], [[package, _mb(size)] for size, package in packages[:10]])


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _mb(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


@contextlib.contextmanager
def _watched(root: Path, home: Path):
    process = subprocess.Popen([*CLEW, "watch"], cwd=root, env=environment(home), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()
    try:
        yield next((home / "watch").glob("*.sock"))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stderr.close()
