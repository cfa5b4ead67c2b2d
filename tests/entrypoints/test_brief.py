"""Commands that live for one message: they end in time, and like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import clew, write

CALM = "no hint: there are no notes with a description yet\n"


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    """A project without memory; `home` is that of the user."""
    return write(tmp_path / "project", {"a.py": "x = 1\n"})


@pytest.mark.requirement("R-10")
def test_what_takes_longer_than_its_deadline_says_nothing_and_succeeds(folder: Path) -> None:
    found = clew("recall", "--deadline", "0.01", "may we lift?", cwd=folder)
    assert (found.status, found.out, found.err) == (0, "", "")


def test_a_deadline_that_is_met_changes_nothing(folder: Path) -> None:
    found = clew("recall", "--deadline", "100", "may we lift?", cwd=folder)
    assert (found.status, found.out, found.err) == (0, "", CALM)


@pytest.mark.parametrize("wrong", ["0", "-1", "soon", "inf"])
def test_a_deadline_is_a_time_to_come(wrong: str, folder: Path) -> None:
    found = clew("recall", "--deadline", wrong, "may we lift?", cwd=folder)
    assert found.status == 2
    assert "--deadline" in found.err


def test_an_error_keeps_its_message_and_its_status(folder: Path) -> None:
    found = clew("recall", "--reject", "mem_0123456789ab", "may we lift?", cwd=folder)
    assert found.status == 2
    assert found.err.startswith("error: memory holds no notes")
