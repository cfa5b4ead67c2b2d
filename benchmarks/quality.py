"""Q-01, Q-02, Q-11: what Clew's evaluation reaches on labelled files, and what the floors reach on the same ones."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.floors import WholeFiles, marker_mode
from benchmarks.measure import Options, shown, table
from clew.adapters.sources.commit_tree import CommitTree
from clew.core.index.kinds import Kind, kind
from clew.services.eval.ask import evaluate_ask
from clew.services.eval.locate import evaluate_locate
from clew.services.eval.modes import evaluate_modes
from clew.services.eval.repositories import Repositories


def q01(options: Options) -> None:
    """The mode decision against the rule by marker words and against always rich."""
    path = options.file("modes.dev.jsonl")
    result = evaluate_modes(path)
    rows = _rows(path)
    ideal = [row["ideal"] for row in rows]
    marked = [marker_mode(row["query"], explicit=bool(row.get("explicit"))) for row in rows]

    def accuracy(got: Sequence[str]) -> str:
        return f"{sum(a == b for a, b in zip(got, ideal, strict=True)) / len(ideal):.2f}"

    table("Q-01 mode decision", ["way", "accuracy", "macro F1", "cost", "rich as minimal"], [
        ["Clew", f"{result.accuracy:.2f}", f"{result.macro_f1:.2f}", str(result.cost), str(result.rich_as_minimal)],
        ["marker words", accuracy(marked), "", "", "0"],
        ["always rich", accuracy(["rich"] * len(rows)), "", "", "0"],
    ])  # fmt: skip
    table("by mode", ["mode", "precision", "recall"], [
        [mode, f"{rates['precision']:.2f}", f"{rates['recall']:.2f}"] for mode, rates in result.per_class.items()
    ])  # fmt: skip


def q02(options: Options) -> None:
    """Files of bug-fix commits against the newest files and against BM25 over files."""
    path = options.file("locate.dev.jsonl")
    states = Repositories(options.repositories(), options.scratch / "eval", os.environ)
    result = evaluate_locate(path, states)
    gold = {row["id"]: row for row in _rows(path)}
    floors: dict[str, list[tuple[set[str], list[str]]]] = {"BM25 over files": [], "newest files": []}
    index: dict[str, WholeFiles] = {}
    for item in result.items:
        row = gold[item.id]
        git = states.git(item.repo)
        with CommitTree(git, row["parent"]) as tree:
            files = index.setdefault(item.repo, WholeFiles())
            files.bring(tree)
            # Only files of source can be right: the floors may rank nothing else.
            present = {entry.path for entry in tree.entries() if kind(entry.path) is Kind.SOURCE}
        ranked = [path for path in files.ranked(row["query"], 1000) if path in present]
        floors["BM25 over files"].append((set(row["gold"]), ranked[:10]))
        touched = (path for commit in git.commits(60, row["parent"], merges=False) for path in commit.files)
        newest = [path for path in dict.fromkeys(touched) if path in present]
        floors["newest files"].append((set(row["gold"]), newest[:10]))

    def recall(found: Sequence[tuple[set[str], list[str]]], depth: int) -> str:
        return f"{sum(len(gold & set(ranked[:depth])) / len(gold) for gold, ranked in found) / len(found):.2f}"

    title = f"Q-02 related files of {result.n} commits ({result.skipped} skipped)"
    table(title, ["way", "R@1", "R@5", "R@10", "median"], [
        ["Clew", *(f"{result.recall[depth]:.2f}" for depth in ("1", "5", "10")), shown(result.median_ms / 1000)],
        *([way, *(recall(found, depth) for depth in (1, 5, 10)), ""] for way, found in floors.items()),
    ])  # fmt: skip
    table("Clew by repository", ["repository", "R@1", "R@5", "R@10", "median"], [
        [repo, *(f"{own['recall'][depth]:.2f}" for depth in ("1", "5", "10")), shown(own["median_ms"] / 1000)]
        for repo, own in result.per_repo.items()
    ])  # fmt: skip


def q11(options: Options) -> None:
    """Natural questions against BM25 over files."""
    path = options.file("ask.dev.jsonl")
    states = Repositories(options.repositories(), options.scratch / "eval", os.environ)
    result = evaluate_ask(path, states, datetime.now().astimezone(), elsewhere=True)
    hits: dict[str, list[bool]] = {}
    index: dict[tuple[str, str], WholeFiles] = {}
    for row in _rows(path):
        needed = {need["path"] for need in row["needs"]}
        if not needed:
            continue
        state = row["repo"], row["commit"]
        if state not in index:
            index[state] = WholeFiles()
            with CommitTree(states.git(row["repo"]), row["commit"]) as tree:
                index[state].bring(tree)
        hits.setdefault(row["lang"], []).append(needed <= set(index[state].ranked(row["question"], 5)))
    every = [hit for own in hits.values() for hit in own]
    none = [""] * 3
    told = "" if result.absent_told is None else f"{result.absent_told:.2f}"
    table(
        f"Q-11 {result.n} questions in 8,000 tokens ({result.skipped} skipped)",
        ["way", "files at 5", "covered", "needs shown", "absent said", "foreign told", "tokens"],
        [
            ["Clew", f"{result.files_at_5:.2f}", f"{result.covered:.2f}", f"{result.need_share:.2f}",
             f"{result.absent_right:.2f}", told, f"{result.tokens_mean:.0f}"],
            *([f"Clew, {lang}", f"{own['files_at_5']:.2f}", f"{own['covered']:.2f}", f"{own['need_share']:.2f}", *none]
              for lang, own in result.per_lang.items()),
            ["BM25 over files", f"{sum(every) / len(every):.2f}", "", "", *none],
            *([f"BM25 over files, {lang}", f"{sum(own) / len(own):.2f}", "", "", *none]
              for lang, own in sorted(hits.items())),
        ],
    )  # fmt: skip


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
