"""What the measurements share: running commands many times, tables, a work tree to measure in."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

DJANGO = "Django==5.2"
CLEW = (sys.executable, "-m", "clew")


@dataclass(frozen=True, slots=True)
class Options:
    """What a measurement was given."""

    scratch: Path
    """Where indexes, downloads and environments may lie."""
    data: Path | None = None
    """The folder of labelled data."""
    repos: Path | None = None
    """Git directories for the labelled data."""
    runs: int = 20
    peers: Path | None = None
    """The folder that `python -m benchmarks peers` filled."""
    files: int = 0
    """Files of the huge tree of Q-25; 0 leaves it out."""
    shape: str = "wide"
    """Shape of the huge tree."""
    root: Path | None = None
    """A repository to measure the peers in, where Django is too large for one."""
    sample: int = 40
    """Labelled items that the peers are asked, at most."""
    passages: int = 10_000
    """Of the memory of Q-24."""
    documents: int = 10_000
    """Of the memory of Q-21."""

    def file(self, name: str) -> Path:
        """A labelled file. Raises Missing."""
        if self.data is None or not (self.data / name).is_file():
            raise Missing(f"--data DIR with {name}")
        return self.data / name

    def repositories(self) -> Path:
        """The folder of git directories. Raises Missing."""
        if self.repos is None:
            raise Missing("--repos DIR with the repositories of the labelled data")
        return self.repos


class Missing(Exception):
    """A measurement was not given what it needs"""


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds of several runs."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle."""
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        low, high = min(self.seconds), max(self.seconds)
        return f"{shown(self.median)}  ({shown(low)} to {shown(high)}, {len(self.seconds)} runs)"


def shown(seconds: float) -> str:
    """Seconds as people read them."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


_LAUNCHER = """
import os, sys
child = os.fork()
if not child:
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as out:
    out.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
"""A child counts the memory of whoever forked it as its own peak: a small process has to start it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a command."""

    seconds: float
    status: int
    output: str = ""


def run(command: Sequence[str], *, home: Path, cwd: Path, keep: bool = False, patience: float | None = None) -> Ran:
    """Run a command to its end with a home of its own. Its output goes nowhere unless it is kept.

    Raises subprocess.TimeoutExpired where it takes longer than `patience` seconds; it is killed then.
    """
    out = PIPE if keep else DEVNULL
    began = time.perf_counter()
    process = Popen(command, cwd=cwd, env=environment(home), stdin=DEVNULL, stdout=out, stderr=out)
    output = process.stdout.read().decode("utf-8", "replace") if process.stdout else ""
    errors = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
    try:
        status = process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    seconds = time.perf_counter() - began
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return Ran(seconds, status, output + errors)


def peak(command: Sequence[str], *, home: Path, cwd: Path, after: Callable[[Popen[bytes]], None] | None = None) -> int:
    """Bytes of memory that a command takes at most. `after` is called while it runs, with its launcher.

    Raises RuntimeError where the command fails.
    """
    with tempfile.NamedTemporaryFile() as file:
        launched = [sys.executable, "-S", "-c", _LAUNCHER, file.name, *command]
        process = Popen(launched, cwd=cwd, env=environment(home), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
        if after is not None:
            after(process)
        errors = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
        if process.wait():
            raise RuntimeError(f"{' '.join(command)[:200]} ended with {process.returncode}: {errors[-400:]}")
        if process.stderr:
            process.stderr.close()
        return int(Path(file.name).read_text(encoding="ascii")) * (1 if sys.platform == "darwin" else 1024)


def environment(home: Path) -> dict[str, str]:
    """The environment of a measured command: a home of its own, no settings of the user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    return {**kept, "CLEW_HOME": str(home), "NO_COLOR": "1"}


def spread(command: Sequence[str], runs: int, *, home: Path, cwd: Path) -> Spread:
    """Run a command again and again, after one run that does not count. Raises RuntimeError where it fails."""
    first = run(command, home=home, cwd=cwd, keep=True)
    if first.status:
        raise RuntimeError(f"{' '.join(command)} ended with {first.status}: {first.output[-400:]}")
    return Spread(tuple(run(command, home=home, cwd=cwd).seconds for _ in range(runs)))


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    print(f"\n{title}\n")
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    for row in (heads, ["-" * width for width in widths], *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def django(options: Options) -> Path:
    """Django 5.2 under git in the scratch folder: its sdist, downloaded by pip the first time."""
    root = options.scratch / "django"
    if (root / ".git").is_dir():
        return root
    downloads = options.scratch / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary", ":all:",
         "-d", str(downloads), DJANGO],
        check=True,
    )  # fmt: skip
    archive = next(downloads.glob("[dD]jango-5.2*.tar.gz"))
    unpacked = options.scratch / "unpacked"
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    next(unpacked.iterdir()).rename(root)
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "Django 5.2"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def count_files(root: Path) -> int:
    """Files that git tracks."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True)
    return done.stdout.count(b"\0")
