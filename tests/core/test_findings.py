"""Findings in files: order, lines, and what an edit changed of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.agent.findings import SEVERITIES, Finding, Range, column, compared, ordered, rendered, tally

pytestmark = pytest.mark.requirement("R-14")

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=8)
FINDINGS = st.lists(
    st.builds(
        lambda line, message, severity: at(line, message, severity=severity),
        st.integers(1, 8), st.sampled_from(["x", "y"]), st.sampled_from(SEVERITIES),
    ),
    max_size=8,
)  # fmt: skip


def at(line: int, message: str = "x", severity: str = "error", path: str = "a.py", col: int = 1) -> Finding:
    """A finding on a line."""
    return Finding("pyright", severity, path, Range(line, col, line, col + 1), message, "code")  # type: ignore[arg-type]


def test_a_line_has_place_severity_source_code_and_message() -> None:
    one = Finding("ruff", "warning", "src/a b.py", Range(3, 7, 3, 9), "two\n  lines\u202e", "F401")
    assert rendered([one]) == ["src/a b.py:3:7 warning ruff F401 two lines\\u202e"]
    assert rendered([Finding("gofmt", "hint", "a.go", Range(1, 1, 1, 1), "x")]) == ["a.go:1:1 hint gofmt x"]


def test_the_worst_comes_first_and_what_is_said_twice_once() -> None:
    found = [at(9), at(2, severity="hint"), at(1, severity="warning"), at(1, path="b.py"), at(9)]
    assert [(one.severity, one.path, one.range.line) for one in ordered(found)] == [
        ("error", "a.py", 9), ("error", "b.py", 1), ("warning", "a.py", 1), ("hint", "a.py", 2),
    ]  # fmt: skip


def test_at_most_twenty_are_shown_and_the_rest_is_counted() -> None:
    lines = rendered([*(at(number) for number in range(1, 25)), at(1, severity="information"), at(2, severity="hint")])
    assert len(lines) == 21
    assert lines[-1] == "… and 6 more (4 errors, 1 information, 1 hint)"
    assert tally([]) == ""


def test_of_two_that_say_the_same_the_one_that_moved_with_its_line_is_kept() -> None:
    change = compared([at(2)], [at(1), at(3)], "a\nb", "new\na\nb")
    assert [one.range.line for one in change.introduced] == [1]
    assert [one.range.line for one in change.kept] == [3]


def test_a_rewritten_line_that_is_wrong_in_the_same_way_is_not_new() -> None:
    change = compared([at(2)], [at(3)], "a\nb\nc", "a\nB\nB\nc")
    assert not change.introduced and not change.fixed and len(change.kept) == 1


@given(FINDINGS, FINDINGS, LINES, LINES)
def test_each_finding_is_new_or_kept_or_fixed_and_none_is_lost(
    before: list[Finding], after: list[Finding], old: list[str], new: list[str]
) -> None:
    before, after = ordered(before), ordered(after)
    change = compared(before, after, "\n".join(old), "\n".join(new))
    assert ordered([*change.introduced, *change.kept]) == after
    assert len(change.introduced) + len(change.kept) == len(after)
    assert len(change.fixed) + len(change.kept) == len(before)
    assert set(change.fixed) <= set(before)


@given(FINDINGS, LINES)
def test_without_a_change_nothing_is_new(found: list[Finding], lines: list[str]) -> None:
    found, text = ordered(found), "\n".join(lines)
    change = compared(found, found, text, text)
    assert (change.introduced, change.fixed, change.kept) == ((), (), tuple(found))


@given(FINDINGS, LINES, st.integers(0, 3))
def test_lines_put_on_top_move_all_and_make_nothing_new(found: list[Finding], lines: list[str], more: int) -> None:
    found = [one for one in ordered(found) if one.range.line <= len(lines)]
    moved = [at(one.range.line + more, one.message, one.severity) for one in found]
    old = "\n".join(lines)
    assert compared(found, moved, old, "new\n" * more + old).introduced == ()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=12), st.integers(0, 12))
def test_a_column_counts_characters_whatever_units_a_server_counts(line: str, place: int) -> None:
    place = min(place, len(line))
    before = line[:place]
    units = {
        "utf-8": len(before.encode()),
        "utf-16": len(before.encode("utf-16-le")) // 2,
        "utf-32": len(before),
    }
    assert {column(line, number, encoding) for encoding, number in units.items()} == {place + 1}
