"""Promises and tests are bound both ways: each promise has a test or is said to be open; each named id exists.

`promises_open.txt` starts with `open: N`, the number of ids it lists. An id stands there while no test proves it, or,
with words that say what is missing, while its tests prove a part. It only shrinks: ids leave it, none comes back.
"""

from __future__ import annotations

import ast
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
OPEN = TESTS / "promises_open.txt"
LINE = re.compile(r"^([A-Z]-\d\d)\b\s*(.*)$")


def listed(text: str) -> dict[str, str]:
    """Id and words of each line that is no comment and no head."""
    return {match[1]: match[2] for line in text.splitlines() if (match := LINE.match(line))}


def recorded(text: str) -> int | None:
    """The number in the head of the open list."""
    match = re.search(r"^open: (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else None


def named_ids(text: str) -> set[str]:
    """Ids in calls of `mark.requirement`, as decorators or in `pytestmark`."""
    return {
        argument.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.requirement")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def files_by_id() -> dict[str, list[str]]:
    """Test files by the id they name."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name in named_ids(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(str(path.relative_to(TESTS)))
    return found


PROMISES = listed((TESTS / "promises.txt").read_text(encoding="utf-8"))


@pytest.mark.requirement("Q-60")
def test_each_promise_has_a_test_or_is_open() -> None:
    missing = sorted(PROMISES.keys() - files_by_id().keys() - listed(OPEN.read_text(encoding="utf-8")).keys())
    assert not missing, f"no test names {missing}"


@pytest.mark.requirement("Q-60")
def test_each_id_that_a_test_names_is_a_promise() -> None:
    unknown = {name: files for name, files in files_by_id().items() if name not in PROMISES}
    assert not unknown


@pytest.mark.requirement("Q-60")
def test_an_open_promise_that_has_tests_says_what_is_missing() -> None:
    tests = files_by_id()
    silent = [name for name, words in listed(OPEN.read_text(encoding="utf-8")).items() if name in tests and not words]
    assert not silent, f"in promises_open.txt, take these out (and lower its number) or say what is missing: {silent}"


@pytest.mark.requirement("Q-60")
def test_the_open_list_knows_only_promises_and_its_own_length() -> None:
    text = OPEN.read_text(encoding="utf-8")
    assert listed(text).keys() <= PROMISES.keys()
    assert recorded(text) == len(listed(text)), f"the head must say `open: {len(listed(text))}`"


def git(*arguments: str) -> str:
    """Output of git in this checkout; empty where it fails."""
    done = subprocess.run(["git", *arguments], cwd=TESTS, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@pytest.mark.requirement("Q-60")
def test_the_open_list_only_shrinks() -> None:
    if not git("rev-parse", "HEAD"):
        pytest.skip("no git history here")
    versions = [OPEN.read_text(encoding="utf-8")]
    for commit in git("log", "-20", "--first-parent", "--format=%H", "--", OPEN.name).split():
        versions.append(git("show", f"{commit}:./{OPEN.name}"))
    for newer, older in pairwise(versions):
        came_back = sorted(listed(newer).keys() - listed(older).keys()) if older else []
        assert not came_back, f"came back: {came_back}"


def test_ids_are_read_from_decorators_and_module_marks() -> None:
    text = (
        'pytestmark = pytest.mark.requirement("P-01")\n'
        '@pytest.mark.requirement("P-02", "P-03")\n'
        "def test_x(): ...\n"
        '# @pytest.mark.requirement("P-04")\n'
    )
    assert named_ids(text) == {"P-01", "P-02", "P-03"}
