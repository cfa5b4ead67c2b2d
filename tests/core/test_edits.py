"""Edits of a text: what they promise for all texts, and how each refusal reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from clew.core.agent.bounded import Keep, bound, cut_line
from clew.core.agent.edits import (
    Ambiguous,
    Edited,
    Lines,
    Missed,
    Overlap,
    Replace,
    Unfit,
    apply,
    rewritten,
)

pytestmark = pytest.mark.requirement("R-12")

TEXTS = st.text(st.sampled_from("ab \té中\n"), max_size=60)
MIXED = st.lists(st.sampled_from(["a", "b", "", "中 x"]).flatmap(lambda t: st.sampled_from([f"{t}\n", f"{t}\r\n"])))
ENDS = st.sampled_from(["\n", "\r\n"])


def edited(text: str, *edits: Replace | Lines) -> Edited:
    done = apply(text, edits)
    assert isinstance(done, Edited), done
    return done


@given(TEXTS | MIXED.map("".join))
def test_no_edits_change_nothing(text: str) -> None:
    assert apply(text, []) == Edited(text, "")


@given(TEXTS, st.data(), ENDS)
def test_bytes_outside_of_a_replaced_text_never_change(text: str, data: st.DataObject, end: str) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    # Without any line end in the text, nothing tells which one it would have.
    new = data.draw(TEXTS) if "\n" in text else "new"
    raw = text.replace("\n", end)
    done = apply(raw, [Replace(old, new)])
    # How often it is there, also over itself.
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    if len(places) > 1:
        assert isinstance(done, Ambiguous) and len(done.lines) == len(places)
        return
    assert isinstance(done, Edited)
    assert done.text == (text[:start] + new + text[start + len(old) :]).replace("\n", end)


@given(TEXTS, st.data(), ENDS)
def test_a_replacement_and_the_one_back_give_the_text_as_it_was(text: str, data: st.DataObject, end: str) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    raw = text.replace("\n", end)
    mark = data.draw(st.sampled_from(["Q", "Q\nQ", "Q\n\n"]))
    done = apply(raw, [Replace(old, mark)])
    if isinstance(done, Edited) and end in raw.replace(old.replace("\n", end), ""):
        # Where a line end is left, it tells what the ends of this text are.
        assert edited(done.text, Replace(mark, old)).text == raw


@given(MIXED, st.data())
def test_of_mixed_line_ends_none_changes_outside_of_the_lines_named(lines: list[str], data: st.DataObject) -> None:
    assume(lines)
    first = data.draw(st.integers(1, len(lines) + 1))
    last = data.draw(st.integers(first - 1, len(lines)))
    body = data.draw(st.lists(st.sampled_from(["N", "M", ""]), max_size=3))
    done = edited("".join(lines), Lines(first, last, "".join(f"{line}\n" for line in body)))
    head, tail = "".join(lines[: first - 1]), "".join(lines[last:])
    assert done.text.startswith(head) and done.text.endswith(tail)
    inside = done.text[len(head) : len(done.text) - len(tail)]
    assert inside.replace("\r\n", "\n") == "".join(f"{line}\n" for line in body)


@given(st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=1, max_size=30), st.data(), st.booleans())
def test_several_edits_are_all_applied_to_the_text_as_it_was(lines: list[str], data: st.DataObject, open: bool) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(1, len(lines)), max_size=5)), reverse=True)
    text = "\n".join(lines) + "\n" * (not open)
    assume(not open or lines[-1])
    done = edited(text, *(Lines(number, number, f"new {number}") for number in chosen))
    expected = [f"new {number}" if number in chosen else line for number, line in enumerate(lines, 1)]
    assert done.text == "\n".join(expected) + "\n" * (not open)


@given(TEXTS | MIXED.map("".join), TEXTS)
@example("a\nb\nc\nd\ne\nf\ng\nh\ni", "a\nX\nc\nd\ne\nf\ng\nh\ni")
@example("", "a")
@example("a", "")
def test_a_diff_applied_as_a_patch_gives_the_new_text(before: str, after: str) -> None:
    done = rewritten(before, after)
    old = before.replace("\r\n", "\n")
    assert patched(old, done.diff) == done.text.replace("\r\n", "\n")
    lines = [line for line in done.diff.splitlines() if line[:1] in "+-"]
    assert done.added == sum(line[0] == "+" for line in lines) and done.removed == len(lines) - done.added


def patched(text: str, diff: str) -> str:
    """What a unified diff makes of a text, held strictly: numbers and context have to fit."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    made: list[str] = []
    place = 0
    rows = diff.split("\n")[:-1]
    for row, following in zip(rows, [*rows[1:], ""], strict=False):
        line = row[1:] + "\n" * (not following.startswith("\\"))
        if head := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", row):
            start = int(head[1]) - (head[2] != "0")
            made += old[place:start]
            place = start
            assert len(made) == int(head[3]) - (head[4] != "0")
        elif not row.startswith("\\"):
            if row[0] in " -":
                assert old[place] == line
                place += 1
            if row[0] in " +":
                made.append(line)
    return "".join([*made, *old[place:]])


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch here")
def test_the_program_patch_takes_the_diff(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(1, 200)]
    (tmp_path / "a.txt").write_text("".join(lines))
    done = edited("".join(lines), Lines(3, 5, "x"), Replace("line 100\n", ""), Lines(199, 199, "end\nmore"))
    header = "--- a/a.txt\n+++ b/a.txt\n"
    ran = subprocess.run(["patch", "-p1"], input=header + done.diff, text=True, cwd=tmp_path, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "a.txt").read_text() == done.text
    assert done.diff.count("@@ -") == 3 and "@@ -1,8 +1,6 @@" in done.diff


# ---------------------------------------------------------------------- refusals


def test_an_edit_that_is_not_found_names_the_closest_lines_and_nothing_is_applied() -> None:
    text = "def one():\n    return 1\n\n\ndef two(value):\n    return value + 2\n"
    found = apply(text, [Replace("def one", "def uno"), Replace("def two(val):\n    return val + 2\n", "x")])
    assert isinstance(found, Missed) and found.number == 2
    assert found.closest == ((5, "def two(value):"), (6, "    return value + 2")) and 0.8 < found.similarity < 1


def test_where_only_white_space_differs_the_similarity_is_one() -> None:
    found = apply("if x:\n\tgo( 1 )\n", [Replace("if x:\n    go(1)", "y")])
    assert found == Missed(1, ((1, "if x:"), (2, "\tgo( 1 )")), 1.0)


def test_nothing_alike_names_no_lines() -> None:
    assert apply("alpha\nbeta\n", [Replace("1234 5678", "x")]) == Missed(1)
    assert apply("", [Replace("a", "x")]) == Missed(1)


def test_a_text_that_is_there_twice_is_ambiguous_also_over_itself_and_all_replaces_each() -> None:
    assert apply("x = 1\ny\nx = 1\n", [Replace("x = 1", "z")]) == Ambiguous(1, (1, 3))
    assert apply("aaa", [Replace("aa", "b")]) == Ambiguous(1, (1, 1))
    assert edited("x\ny\nx\n", Replace("x", "z", all=True)).text == "z\ny\nz\n"


def test_overlapping_edits_are_refused_and_neighbours_are_not() -> None:
    text = "a\nb\nc\nd\n"
    assert apply(text, [Lines(2, 3, "x"), Replace("c\nd", "y")]) == Overlap(1, 2)
    assert apply(text, [Lines(2, 1, "x"), Lines(2, 1, "y")]) == Overlap(1, 2)
    assert edited(text, Lines(3, 3, "C"), Lines(2, 2, "B"), Lines(2, 1, "in front")).text == "a\nin front\nB\nC\nd\n"


@pytest.mark.parametrize("edit", [Lines(0, 1, "x"), Lines(2, 4, "x"), Lines(5, 4, "x"), Lines(3, 1, "x")])
def test_lines_that_are_not_there_are_unfit(edit: Lines) -> None:
    assert isinstance(apply("a\nb\nc\n", [edit]), Unfit)


def test_lines_are_put_in_taken_out_and_added_at_the_end() -> None:
    assert edited("a\nb\n", Lines(3, 2, "c")).text == "a\nb\nc\n"
    assert edited("a\nb", Lines(3, 2, "c\n")).text == "a\nb\nc"
    assert edited("a\nb", Lines(2, 2, "c\n")).text == "a\nc"
    assert edited("a\nb\nc\n", Lines(2, 2, "")).text == "a\nc\n"
    assert edited("a\nb\nc\n", Lines(2, 2, "\n")).text == "a\n\nc\n"
    assert edited("", Lines(1, 0, "a")).text == "a\n"
    assert edited("a\rb\rc", Lines(2, 2, "x\ny")).text == "a\rx\ry\rc"


def test_old_text_with_either_line_end_is_found_and_the_rest_of_a_mixed_text_stays() -> None:
    text = "one\r\ntwo\nthree\r\nfour\n"
    assert edited(text, Replace("one\ntwo\nthree", "one\nTWO\nthree")).text == "one\r\nTWO\nthree\r\nfour\n"
    assert edited(text, Replace("two\r\nthree\r\n", "two\r\n3\r\n")).text == "one\r\ntwo\n3\r\nfour\n"
    assert edited(text, Replace("three\n", "3\nand a half\n")).text == "one\r\ntwo\n3\r\nand a half\r\nfour\n"


def test_a_whole_text_takes_the_line_ends_of_the_one_before_unless_it_has_its_own() -> None:
    assert rewritten("a\r\nb\r\n", "c\nd\n").text == "c\r\nd\r\n"
    assert rewritten("a\nb\n", "c\r\nd\r\n").text == "c\r\nd\r\n"
    assert rewritten("", "c\nd").text == "c\nd"


def test_edits_far_apart_in_a_long_text_take_no_time() -> None:
    text = "".join(f"line {number} of many\n" for number in range(100_000))
    done = edited(text, Lines(1, 1, "x"), Lines(100_000, 100_000, "y"), Replace("line 50000 of", "here"))
    assert done.diff.count("@@ -") == 3 and (done.added, done.removed) == (3, 3)
    missed = apply(text, [Replace("line 77777 of many\nlane 77778 of many\n", "z")])
    assert isinstance(missed, Missed) and missed.closest[0] == (77_778, "line 77777 of many")


# ---------------------------------------------------------------------- bounds


@given(TEXTS, st.integers(1, 10), st.integers(8, 60), st.sampled_from(["head", "tail", "both"]))
def test_a_bounded_text_keeps_its_limits_and_says_which_lines_are_missing(
    text: str, lines: int, size: int, keep: Keep
) -> None:
    found = bound(text, lines=lines, size=size, keep=keep)
    whole = text.split("\n")[: -1 if text.endswith("\n") else None]
    shown = found.text.split("\n")[: -1 if found.text.endswith("\n") else None]
    if found.left_out is None:
        assert len(whole) <= max(lines, 2) and (found.text == text or "left out]" in found.text)
        return
    first, last = found.left_out
    assert len(shown) - 1 == len(whole) - (last - first + 1) <= max(lines, 2)
    assert (first == 1) == (keep == "tail") and (last == len(whole)) == (keep == "head")
    assert f"lines {first}-{last} of {len(whole)} left out" in found.text


def test_head_and_tail_are_kept_and_the_limit_that_was_met_is_named() -> None:
    text = "".join(f"{number}\n" for number in range(1, 101))
    found = bound(text, lines=5, keep="both")
    assert found.text == "1\n2\n3\n[lines 4-98 of 100 left out: more than 5 lines]\n99\n100\n"
    assert "more than 50 bytes" in bound(text, size=50).text
    assert bound(text).text == text and not bound(text).cut


def test_one_long_line_is_cut_with_a_note() -> None:
    found = bound("x" * 100_000, size=1000)
    assert not found.cut and found.text == "x" * 1000 + " …[99,000 more characters of this line left out]"
    assert cut_line("é" * 100, 51).startswith("é" * 25 + " …[75 more")
    assert "NEEDLE" in cut_line("a" * 5000 + "NEEDLE" + "b" * 5000, 400, around=5000)
