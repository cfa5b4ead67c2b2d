"""How rare terms are in code at large: the share of chunks that hold each term, over the projects of projects.txt.

    python background.py REPOS      write src/clew/data/background.tsv

A term counts when two projects hold it, or one in more than SHARE of its chunks (a project's own words would else look
as if they were common). No project adds more than MOST, so that one that repeats a licence does not decide.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.core.index.confidence import MOST_RARE
from clew.services.eval.repositories import Repositories

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "src" / "clew" / "data" / "background.tsv"
SHARE = 0.01
MOST = 0.05
_HOST = re.compile(r"\.(?:com|dev|io|net|org)$")
"""Names of hosts are no words."""
_HEAD = "# How rare terms are in code at large: term, -ln of the mean share of chunks. Made by training/ranking."


def shares(repositories: Repositories, projects: Iterable[tuple[str, str]]) -> list[dict[str, float]]:
    """By project, the share of its chunks that hold each term."""
    found: list[dict[str, float]] = []
    for name, commit in projects:
        with repositories.state(name, commit) as (freshened, _):
            chunks = freshened.index.counts()["chunks"]
            found.append({term: count / chunks for term, count in freshened.index.vocabulary()})
        print(f"{name}: {chunks} chunks, {len(found[-1])} terms", flush=True)
    return found


def rarity(projects: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """-ln of the mean share, by term, smoothed so that an unknown term gets MOST_RARE."""
    least = math.exp(-MOST_RARE)
    values: defaultdict[str, list[float]] = defaultdict(list)
    for project in projects:
        for term, share in project.items():
            values[term].append(share)
    found: dict[str, float] = {}
    for term, own in values.items():
        if (len(own) > 1 or max(own) > SHARE) and not _HOST.search(term):
            mean = sum(min(share, MOST) for share in own) / len(projects)
            found[term] = round(-math.log(mean + least), 1)
    return found


def main() -> None:
    """Write the shipped table."""
    lines = (HERE / "projects.txt").read_text(encoding="utf-8").splitlines()
    projects = [(name, commit) for name, _, commit in (line.partition(" ") for line in lines)]
    with tempfile.TemporaryDirectory() as scratch:
        found = rarity(shares(Repositories(Path(sys.argv[1]), Path(scratch), dict(os.environ)), projects))
    rows = [f"{term}\t{value}" for term, value in sorted(found.items()) if "\t" not in term]
    TARGET.write_text("\n".join([_HEAD, *rows]) + "\n", encoding="utf-8")
    print(f"{len(rows)} terms")


if __name__ == "__main__":
    main()
