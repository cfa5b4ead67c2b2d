"""Promises and tests are bound both ways: each promise has a test or is said to be open; each named id exists.

`promises_open.txt` starts with `open: N of M`: ids it lists, ids in all. An id stands there while no test proves it,
or, with words that say what is missing, while its tests prove a part. It only shrinks: ids leave it, none comes back.
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


def recorded(text: str) -> tuple[int, int] | None:
    """The two numbers in the head of the open list: ids open, ids in all."""
    match = re.search(r"^open: (\d+) of (\d+)$", text, re.MULTILINE)
    return (int(match[1]), int(match[2])) if match else None


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
    numbers = (len(listed(text)), len(PROMISES))
    assert recorded(text) == numbers, f"the head must say `open: {numbers[0]} of {numbers[1]}`"


def grown(newer: str, older: str) -> list[str]:
    """Ids that are open in the newer version and were not in the older, beyond the promises made since."""
    now, before = recorded(newer), recorded(older)
    if now is None or before is None:
        return []
    more = sorted(listed(newer).keys() - listed(older).keys())
    return more if len(more) > now[1] - before[1] else []


def test_an_id_that_comes_back_is_seen_and_a_new_promise_is_not() -> None:
    older = "open: 1 of 3\nP-01\n"
    assert grown("open: 2 of 3\nP-01\nP-02\n", older) == ["P-02"]
    assert grown("open: 1 of 3\nP-02\n", older) == ["P-02"]
    assert grown("open: 2 of 4\nP-01\nP-04\n", older) == []
    assert grown("open: 0 of 3\n", older) == []


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
        assert not grown(newer, older)


def test_ids_are_read_from_decorators_and_module_marks() -> None:
    text = (
        'pytestmark = pytest.mark.requirement("P-01")\n'
        '@pytest.mark.requirement("P-02", "P-03")\n'
        "def test_x(): ...\n"
        '# @pytest.mark.requirement("P-04")\n'
    )
    assert named_ids(text) == {"P-01", "P-02", "P-03"}
