"""Peers beside Clew in one table, from one run: time and size in Django, ranked files on a sample of labelled items."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.floors import WholeFiles
from benchmarks.measure import CLEW, Missing, Options, Spread, count_files, django, run, shown, table
from benchmarks.peers import PEERS, Peers, clean, question_words, timed
from clew.adapters.sources.commit_tree import CommitTree
from clew.adapters.tokenizers import tokenizer_for
from clew.core.index.kinds import Kind, kind
from clew.services.eval.ask import evaluate_ask
from clew.services.eval.locate import evaluate_locate
from clew.services.eval.repositories import Repositories

QUESTION = "how does the ORM compile a query with joins to SQL?"
BUDGET = 8000
_SLOW_RUNS = 5
_COUNTED_AS = "gpt-4o"
"""Whose tokenizer counts every output alike."""


def beside22(options: Options) -> None:
    """Q-22 with peers: time and tokens for one question in Django 5.2, or below `--root`."""
    peers = _peers(options)
    root = options.root or _copy(django(options), options.scratch / "django-of-peers")
    home, out = options.scratch / "home-of-peers", options.scratch / "repomix.out"
    ask = [*CLEW, "context", QUESTION, "--max-tokens", str(BUDGET)]
    rows = [_row("clew context, no index yet", _cold(ask, root, home), run(ask, home=home, cwd=root, keep=True).output)]
    warm = Spread(tuple(run(ask, home=home, cwd=root).seconds for _ in range(options.runs)))
    rows.append(_row("clew context, index there", warm, run(ask, home=home, cwd=root, keep=True).output))
    words = [part for word in question_words(QUESTION) for part in ("-e", word)]
    wanted: list[tuple[str, str, Sequence[str], bool, int]] = [
        ("rg", "rg -c -i -F -e WORD …", ["-c", "-i", "-F", *words, "."], False, options.runs),
        ("rg", "rg -n -i -F -e WORD …", ["-n", "-i", "-F", *words, "."], False, options.runs),
        ("redcon", "redcon plan QUESTION", ["plan", QUESTION, "--out-prefix", str(out)], False, _SLOW_RUNS),
        ("redcon", "redcon pack --max-tokens 8000, nothing kept", _pack(out), True, _SLOW_RUNS),
        ("redcon", "redcon pack --max-tokens 8000, again", _pack(out), False, _SLOW_RUNS),
        ("repomix", "repomix --compress, the whole tree", ["--compress", "--quiet", "-o", str(out)], False, _SLOW_RUNS),
    ]
    for name, shown_as, arguments, fresh, runs in wanted:
        if not peers.has(name):
            rows.append([shown_as, "not installed", ""])
            continue
        command = [*peers.command(name), *arguments]
        spread = timed(command, root, runs, fresh=fresh)
        text = "" if "plan" in arguments else run(command, home=home, cwd=root, keep=True).output
        rows.append(_row(shown_as, spread, out.read_text("utf-8", "replace") if name == "repomix" else text))
    rows.insert(2, ["BM25 over whole files, index made in memory", *_floor(root)])
    clean(root)
    out.unlink(missing_ok=True)
    heads = ["command", "whole process", f"tokens as {_COUNTED_AS} counts"]
    table(f"Q-22 beside peers: {count_files(root):,} files, one question, budget {BUDGET:,} tokens", heads, rows)


def beside02(options: Options) -> None:
    """Q-02 with peers, on a sample of the labelled commits."""
    peers = _peers(options)
    with _sample(options, "locate.dev.jsonl", lambda row: True) as (path, rows):
        states = Repositories(options.repositories(), options.scratch / "eval", os.environ)
        result = evaluate_locate(path, states)
        ranked: dict[str, Mapping[str, Sequence[str]]] = {"Clew": {item.id: item.ranked for item in result.items}}
        found = _ranked_by_peers(peers, options, states, rows, "parent", "query", sources_only=True)
    ranked |= found
    lines: list[list[str]] = []
    for name, own in ranked.items():
        recalls = [
            sum(len(set(row["gold"]) & set(own[row["id"]][:depth])) / len(set(row["gold"])) for row in rows) / len(rows)
            for depth in (1, 5, 10)
        ]
        lines.append([name, *(f"{recall:.2f}" for recall in recalls)])
    table(f"Q-02 beside peers: {len(rows)} commits, source files only", ["way", "R@1", "R@5", "R@10"], lines)


def beside11(options: Options) -> None:
    """Q-11 with peers, on a sample of the labelled questions that have an answer."""
    peers = _peers(options)
    with _sample(options, "ask.dev.jsonl", lambda row: bool(row["needs"])) as (path, rows):
        states = Repositories(options.repositories(), options.scratch / "eval", os.environ)
        result = evaluate_ask(path, states, datetime.now().astimezone())
        found = _ranked_by_peers(peers, options, states, rows, "commit", "question", sources_only=False)
    hits: dict[str, dict[str, bool]] = {"Clew": {item.id: item.files_at_5 for item in result.items}}
    for name, own in found.items():
        hits[name] = {row["id"]: {need["path"] for need in row["needs"]} <= set(own[row["id"]][:5]) for row in rows}
    lines = [
        [name, *(_share([own[row["id"]] for row in rows if lang in ("", row["lang"])]) for lang in ("", "en", "zh"))]
        for name, own in hits.items()
    ]
    heads = ["way", "all needed files in the first five", "English", "Chinese"]
    table(f"Q-11 beside peers: {len(rows)} questions", heads, lines)


def _share(hits: Sequence[bool]) -> str:
    return f"{sum(hits) / len(hits):.2f}" if hits else ""


def _peers(options: Options) -> Peers:
    if options.peers is None:
        raise Missing("--peers DIR, which `python -m benchmarks peers --into DIR` fills")
    found = Peers(options.peers.absolute())
    for name in PEERS:
        if not found.has(name):
            print(f"{name}: skipped, not installed below {options.peers}")
    return found


def _copy(root: Path, copy: Path) -> Path:
    """A clone: some peers write into the tree that they read."""
    if not copy.is_dir():
        subprocess.run(["git", "clone", "-q", str(root), str(copy)], check=True)
    return copy


def _pack(out: Path) -> list[str]:
    return ["pack", QUESTION, "--max-tokens", str(BUDGET), "--format", "context-only", "--out-prefix", str(out)]


def _cold(command: Sequence[str], root: Path, home: Path) -> Spread:
    seconds: list[float] = []
    for _ in range(_SLOW_RUNS):
        shutil.rmtree(home, ignore_errors=True)
        seconds.append(run(command, home=home, cwd=root).seconds)
    return Spread(tuple(seconds))


def _row(name: str, took: Spread | str, text: str) -> list[str]:
    return [name, str(took), f"{tokenizer_for(_COUNTED_AS).count(text):,}" if text and isinstance(took, Spread) else ""]


def _floor(root: Path) -> tuple[str, str]:
    seconds: list[float] = []
    for _ in range(_SLOW_RUNS):
        command = [CLEW[0], "-m", "benchmarks.floors", str(root), QUESTION]
        seconds.append(run(command, home=root, cwd=Path(__file__).resolve().parent.parent).seconds)
    return str(Spread(tuple(seconds))), "names only"


@contextmanager
def _sample(
    options: Options, name: str, usable: Callable[[dict[str, Any]], bool]
) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """A file with items of a labelled file at even distances, and the items. Languages may alternate there."""
    lines = [line for line in options.file(name).read_text(encoding="utf-8").splitlines() if line.strip()]
    lines = [line for line in lines if usable(json.loads(line))]
    size = min(options.sample, len(lines))
    kept = [lines[at * len(lines) // size] for at in range(size)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
        yield path, [json.loads(line) for line in kept]


def _ranked_by_peers(
    peers: Peers, options: Options, states: Repositories, rows: Sequence[dict[str, Any]], commit: str, question: str,
    *, sources_only: bool,
) -> dict[str, dict[str, list[str]]]:  # fmt: skip
    """Ranked files of each way for each item, in a checkout of its state."""
    ways: dict[str, Callable[[str, Path, int], list[str]]] = {}
    if peers.has("rg"):
        ways["ripgrep, files by number of matched words"] = peers.rg_files
    if peers.has("redcon"):
        ways["redcon plan"] = peers.redcon_files
    found: dict[str, dict[str, list[str]]] = {name: {} for name in ("BM25 over whole files", *ways)}
    took: dict[str, list[float]] = {name: [] for name in ways}
    floors: dict[str, WholeFiles] = {}
    for row in rows:
        git = states.git(row["repo"])
        with CommitTree(git, row[commit]) as tree:
            floor = floors.setdefault(row["repo"], WholeFiles())
            floor.bring(tree)
            present = {one.path for one in tree.entries() if not sources_only or kind(one.path) is Kind.SOURCE}
        with _checkout(options, row["repo"], row[commit]) as root:
            ranked = {"BM25 over whole files": floor.ranked(row[question], 1000)}
            for name, way in ways.items():
                began = time.perf_counter()
                ranked[name] = way(row[question], root, 1000)
                took[name].append(time.perf_counter() - began)
        for name, paths in ranked.items():
            found[name][row["id"]] = [path for path in paths if path in present][:10]
    for name, seconds in took.items():
        print(f"{name}: {shown(sorted(seconds)[len(seconds) // 2])} a question in the middle")
    return found


@contextmanager
def _checkout(options: Options, repo: str, commit: str) -> Iterator[Path]:
    """A work tree of a state with its history, in the scratch folder."""
    folder = options.repositories() / repo.replace("/", "+")
    source = folder / "repo" if (folder / "repo").is_dir() else folder
    root = options.scratch / "checkouts" / repo.replace("/", "+")
    if not root.is_dir():
        subprocess.run(["git", "clone", "-q", "-s", "-n", str(source), str(root)], check=True)
    # A partial mirror lacks blobs of large files: `checkout` would give up there, these steps go on.
    for command in (["update-ref", "--no-deref", "HEAD", commit], ["read-tree", commit], ["clean", "-fdxq"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    subprocess.run(["git", "checkout-index", "-a", "-f", "-q"], cwd=root, check=False, stderr=subprocess.DEVNULL)
    yield root
    clean(root)
