"""The labelled questions of `questions/`: what was asked of which project, and the lines that answer it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("questions")


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a project at a commit. Without needs, nothing there answers it."""

    id: str
    repo: str
    commit: str
    text: str
    lang: str
    needs: tuple[tuple[str, int], ...]
    """(path, line from 1) of what an answer must know."""

    @property
    def gold(self) -> frozenset[str]:
        """Paths of the needed files."""
        return frozenset(path for path, _ in self.needs)


def read_questions(folder: Path = FOLDER) -> list[Question]:
    """All questions, those without an answer among them, in the order of the files."""
    found: list[Question] = []
    for path in [*sorted(folder.glob("ask.*.jsonl")), folder / "absent.jsonl"]:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            needs = tuple((need["path"], need["line"]) for need in row["needs"])
            found.append(Question(row["id"], row["repo"], row["commit"], row["question"], row["lang"], needs))
    return found
