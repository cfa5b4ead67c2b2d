"""What the user allowed a project to start."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.errors import StoreTooNew
from clew.stores.approvals import Approvals

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.mark.requirement("Q-46")
def test_only_what_was_allowed_is_allowed_also_behind_a_torn_line(tmp_path: Path) -> None:
    made = Approvals(tmp_path / "data")
    assert not made.holds("a" * 64)
    made.add("a" * 64, "one", NOW)
    made.path.write_bytes(made.path.read_bytes() + b'{"digest": "' + b"b" * 64)
    assert not made.holds("b" * 64)
    made.add("c" * 64, "two", NOW)
    assert [Approvals(tmp_path / "data").holds(letter * 64) for letter in "abc"] == [True, False, True]
    assert made.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("F-08", "Q-46")
def test_a_file_of_a_newer_version_allows_nothing_and_is_said(tmp_path: Path) -> None:
    made = Approvals(tmp_path)
    made.add("a" * 64, "one", NOW)
    newer = f'{{"digest": "{"b" * 64}", "server": "two", "at": "2026", "format": 2}}\n'
    made.path.write_bytes(made.path.read_bytes() + newer.encode())
    with pytest.raises(StoreTooNew):
        made.holds("a" * 64)
