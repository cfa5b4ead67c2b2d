"""What one write to memory costs, in a small memory and in a large one."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.hints import cost, make_project
from benchmarks.measure import CLEW, Options, Spread, environment, run, shown, table
from benchmarks.memory import sentences
from clew.app import App
from clew.errors import StoreBusy
from clew.services.memory import NoteWish

_SIZES = (100, 1_000, 10_000)
_OTHERS = 9
"""Workspaces beside the one at hand, which has half of the notes."""
_FLOOR = """
import os, sys
folder = sys.argv[1]
name = os.path.join(folder, "note")
file = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
os.write(file, b"The crane stops at wind force 7.\\n" * 8)
os.fsync(file)
os.close(file)
os.rename(name + ".tmp", name)
above = os.open(folder, os.O_RDONLY)
os.fsync(above)
"""
"""The floor: a file, on the disk for good, and nothing known of any other."""


def write(options: Options) -> None:
    """One write to a memory of 100, 1,000 and 10,000 notes; floor: a process that writes a file with fsync."""
    rows: list[list[str]] = []
    costs: list[list[str]] = []
    for size in _SIZES:
        home = options.scratch / f"write-home-{size}"
        cwd = options.scratch / "write-project"
        make_project(cwd)
        app = App(environment(home), cwd, {})
        filled(app.home.data / "memory", app.workspace.id, size, random.Random(size))
        texts = _texts(size)
        began = time.perf_counter()
        first = run([*CLEW, "note", next(texts)], home=home, cwd=cwd, keep=True)
        if first.status:
            raise RuntimeError(f"clew note ended with {first.status}: {first.output[-400:]}")
        _settled(app)
        index = time.perf_counter() - began
        noted, logged = (
            cost([*CLEW, command], [next(texts) for _ in range(options.runs + 1)], options.runs, home, cwd)
            for command in ("note", "log")
        )
        again = _in_one_process(app, texts, options.runs)
        _settled(app)
        costs += [[f"clew note, {size:,} notes", *noted.row], [f"clew log, {size:,} notes", *logged.row]]
        rows.append([f"{size:,}", shown(first.seconds), shown(index), str(again)])
    floor = options.scratch / "write-floor"
    floor.mkdir(exist_ok=True)
    for name, command in (
        ("floor: a file written, fsync of it and its folder", [sys.executable, "-c", _FLOOR, str(floor)]),
        ("clew log --help", [*CLEW, "log", "--help"]),
    ):
        costs.append([name, *cost(command, [""] * (options.runs + 1), options.runs, floor, floor).row])
    costs.append(["goal at 10,000 notes, idle machine", "500 ms", "", ""])
    rows.append(["goal", "", "", "150 ms"])
    table("One write to memory, a process each", ["what", "whole process", "processor", "peak"], costs)
    heads = ["notes", "first write, no index yet", "until all is prepared", "again in one process"]
    table("Around it", heads, rows)


def filled(root: Path, here: str, size: int, draw: random.Random) -> None:
    """Notes of 200 to 2,000 characters: half of them in the workspace `here`, a twentieth the user's own."""
    known = list(dict.fromkeys(sentences()))
    for number in range(size):
        place = f"workspaces/{here if number % 2 else f'w{number % _OTHERS}'}/notes" if number % 20 else "user"
        path = root / place / f"note-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text, long = draw.choice(known), draw.randint(200, 1_900)
        while len(text) < long:
            text += "\n\n" + draw.choice(known)
        path.write_text(
            f"---\nid: mem_{number:012x}\nname: note {number} on {' '.join(draw.choice(known).split()[:5])!r}\n"
            f"description: {text[:120]!r}\ntags: [t{number % 50}]\n"
            f"when:\n  - {draw.choice(known)[:80]!r}\n---\n\n{text}\n",
            encoding="utf-8",
        )


def _texts(seed: int) -> Iterator[str]:
    draw, known = random.Random(seed + 1), list(dict.fromkeys(sentences()))
    return (f"Number {number}. {' '.join(draw.sample(known, 2))}" for number in count())


def _in_one_process(app: App, texts: Iterator[str], runs: int) -> Spread:
    """Notes by name, each by a memory that is opened anew, as the server for agents does."""
    seconds: list[float] = []
    for number in range(runs + 1):
        began = time.perf_counter()
        app.memory().note(NoteWish(next(texts), f"One of many {number} {os.getpid()}"))
        seconds.append(time.perf_counter() - began)
    return Spread(tuple(seconds[1:]))


def _settled(app: App) -> None:
    """Wait for what follows a write, and do what is left of it."""
    # Where one process works and another waits, all of it gets done as well.
    with contextlib.suppress(StoreBusy):
        app.afterwards().run()
