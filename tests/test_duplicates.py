"""Nothing is written twice: six lines in a row stand in one place only, or it is said why they stand in two."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src/clew", "tests", "tools", "benchmarks")
RUN = 6
"""Lines that make a duplicate."""
EXPLAINED: dict[tuple[str, str], str] = {
    ("src/clew/adapters/models/endpoints.py", "src/clew/settings_keys.py"): (
        "an address in a variable and one in a file are held to the same, and each refusal names where its own stood"
    ),
}
"""Two files (or one file twice) that share a run, sorted, and why."""


def lines_of(text: str) -> list[tuple[int, str]]:
    """Numbers and texts of the lines that say something: no imports, comments, blank lines, lone brackets."""
    imports = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return [
        (number, " ".join(line.split()))
        for number, line in enumerate(text.splitlines(), 1)
        if number not in imports and not line.lstrip().startswith("#") and re.search(r"\w", line)
    ]


def duplicates(texts: dict[str, str]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """By pair of names, the numbers of the first lines of each run of RUN lines that stands in both."""
    seen: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, text in sorted(texts.items()):
        lines = lines_of(text)
        for at in range(len(lines) - RUN + 1):
            seen[tuple(line for _, line in lines[at : at + RUN])].append((name, lines[at][0]))
    found: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for places in seen.values():
        for (one, first), (other, second) in combinations(places, 2):
            found[one, other].append((first, second))
    return dict(found)


def python_files() -> dict[str, str]:
    """Path and text of each file that is looked at."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.requirement("Q-61")
def test_six_lines_in_a_row_stand_in_one_place_or_it_is_said_why_not() -> None:
    found = duplicates(python_files())
    silent = {pair: places[:3] for pair, places in found.items() if pair not in EXPLAINED}
    assert not silent, f"write it once, or say in EXPLAINED why it stands twice: {silent}"
    assert not EXPLAINED.keys() - found.keys(), "explained, and no duplicate any more"


def test_a_duplicate_is_seen_whatever_stands_between_its_lines_and_however_deep_it_is_indented() -> None:
    body = [f"value_{number} = {number}" for number in range(RUN)]
    once, deep = "\n".join(body), "if True:\n" + "\n\n    # why\n".join(f"    {line}" for line in body)
    assert duplicates({"a.py": once, "b.py": deep}) == {("a.py", "b.py"): [(1, 2)]}
    assert duplicates({"a.py": f"{once}\nother = 1\n{once}"}) == {("a.py", "a.py"): [(1, RUN + 2)]}
    assert duplicates({"a.py": once, "b.py": "\n".join(body[1:])}) == {}
    names = ", ".join(f"name_{number}" for number in range(RUN))
    assert duplicates(dict.fromkeys(("a.py", "b.py"), f"from x import {names}\n")) == {}
