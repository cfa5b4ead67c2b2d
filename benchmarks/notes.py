"""Q-03 and Q-05: which labelled notes come to mind, and which labelled secrets are gone."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Missing, Options, table
from benchmarks.memory import asked, plain
from clew.services.eval.recall import evaluate_recall, read_notes
from clew.services.eval.redact import evaluate_redact

_TODAY = "2026-06-15"
"""The reference date of the labelled notes."""
_FIRST = 3
_FOUR = re.compile(
    r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|sk-[A-Za-z0-9_-]{20,}"
    r"|(?i:password|secret|token|api_?key)[\"']?\s*[:=]\s*[\"']?([^\s\"',;]{6,})"
)
"""The floor of Q-05: what a project without a redactor usually looks for."""


def q03(options: Options) -> None:
    """Hints for labelled messages, as `clew eval recall`; floor: BM25 over the notes, which never keeps silent."""
    folder = options.file("recall.dev/messages.jsonl").parent
    for name, bar in (
        ("memories", ("0.65", "0.70", "0.40", "5", "5")),
        ("memories_when", ("0.82", "0.80", "0.50", "4", "5")),
    ):
        rows = [["BM25, first three", f"{_floor(folder, name):.2f}", "", "", "", ""]]
        for engine in (("e5", "static"), ("static",)):
            found = evaluate_recall(folder, _TODAY, memories=name, engines=engine).messages
            shares = [f"{found[key]:.2f}" for key in ("recall_at_3", "precision", "emitted_recall")]
            counts = [f"{found[key]:.0f}" for key in ("false_hits", "harmful")]
            rows.append([f"Clew, {' and '.join(engine)}", *shares, *counts])
        heads = ["way", "recall@3", "precision of hints", "recall of hints", "false hits", "harmful"]
        table(f"Q-03 {name}", heads, [*rows, ["bar", *bar]])


def _floor(folder: Path, memories: str) -> float:
    """Recall at three of FTS5 over name, description, body and phrases."""
    notes = read_notes(folder / memories)
    shares: list[float] = []
    texts = ["\n".join((one.name, one.description, one.body, *one.when)) for one in notes]
    with contextlib.closing(plain(texts, "porter unicode61")) as db:
        for line in (folder / "messages.jsonl").read_text(encoding="utf-8").splitlines():
            row: Mapping[str, Any] = json.loads(line)
            if row["relevant"] and re.search(r"\w", row["text"]):
                found = {notes[at - 1].id for at in asked(db, row["text"], _FIRST)}
                shares.append(len(found & {*row["relevant"]}) / len(row["relevant"]))
    return sum(shares) / len(shares)


def q05(options: Options) -> None:
    """Secrets that are gone and texts that stay, as `clew eval redact`; floor: four regular expressions."""
    build = options.file("secrets/build.py")
    subprocess.run([sys.executable, str(build), str(options.scratch)], check=True, stdout=subprocess.DEVNULL)
    rows: list[list[str]] = []
    for name in ("secrets.dev.jsonl", "secrets_chunks.dev.jsonl"):
        path = options.scratch / name
        if not path.is_file():
            raise Missing(f"{name} from {build}")
        found = evaluate_redact(path)
        what = "in pieces" if "chunks" in name else "whole texts"
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        gone = f"{found.gone:.3f} of {found.secrets}"
        rows.append([f"Clew, {what}", gone, str(found.false_alarms), f"{found.kept:.4f}"])
        rows.append([f"four expressions, {what}", *_four(lines), ""])
    table("Q-05 secrets", ["way", "gone", "false alarms", "other text kept"], [*rows, ["bar", "0.95", "2", "0.98"]])


def _four(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The share of secrets that the expressions remove, and texts without any that they change."""
    gone = count = alarms = 0
    for row in lines:
        out = "".join(_FOUR.sub("[REDACTED]", piece) for piece in row.get("chunks") or [row["text"]])
        values = [one["value"] for one in row.get("secrets") or []]
        count += len(values)
        gone += sum(value not in out for value in values)
        alarms += not values and "[REDACTED]" in out
    return [f"{gone / max(1, count):.3f} of {count}", str(alarms)]
