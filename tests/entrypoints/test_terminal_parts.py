"""Parts of the terminal that are easier to corner alone: blocks of Markdown, how they are laid out, the history."""

from __future__ import annotations

import itertools
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.entrypoints.cli.deeds import again
from clew.entrypoints.cli.prose import width
from clew.entrypoints.cli.terminal.blocks import LONG, Blocks, Part
from clew.entrypoints.cli.terminal.commands import outcome, without_front_matter
from clew.entrypoints.cli.terminal.paint import CODES, Paint
from clew.stores.typed import MOST, Typed

LINE = st.sampled_from(
    [
        "",
        "words here",
        "- item",
        "  more of it",
        "1. first",
        "```python",
        "```",
        "~~~",
        "x = 1",
        "# head",
        "| a | b |",
        "中文",
    ]
)
MARKDOWN = st.lists(LINE, max_size=30).map("\n".join)


def blocks(text: str, *cuts: int) -> list[str]:
    """The blocks of a text that comes in pieces."""
    ends = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    made = Blocks()
    found = [one for start, end in itertools.pairwise(ends) for one in made.feed(text[start:end])]
    return [one for one in (*found, made.end()) if one]


@given(MARKDOWN)
def test_blocks_lose_no_line(text: str) -> None:
    kept = [line for block in blocks(text) for line in block.split("\n") if line.strip()]
    assert kept == [line for line in text.split("\n") if line.strip()]


@given(MARKDOWN, st.lists(st.integers(0, 500), max_size=8))
def test_it_does_not_matter_where_the_pieces_are_cut(text: str, cuts: list[int]) -> None:
    assert blocks(text, *cuts) == blocks(text)


def test_one_answer_leaves_nothing_for_the_next() -> None:
    made = Blocks()
    made.feed("You said hello")
    assert made.end() == "You said hello"
    made.feed("Done.")
    assert made.end() == "Done."


def test_a_list_and_fenced_code_stay_whole_whatever_blank_lines_they_have() -> None:
    text = "before\n\n- one\n\n  more\n\n- two\n\nafter\n\n```\na\n\nb\n```\nend\n"
    assert blocks(text) == ["before", "- one\n\n  more\n\n- two", "after", "```\na\n\nb\n```", "end"]


@given(st.sampled_from(["{}", "- item {}", "{}. item", "> {}", "- item {}\n  more"]), st.integers(0, 400))
def test_of_a_long_block_the_lines_are_given_as_they_come_and_none_twice(form: str, count: int) -> None:
    rows = [row for at in range(count) for row in form.format(at).split("\n")]
    made, found = Blocks(), []
    for row in rows:
        found += made.feed(row + "\n")
        assert made.tail.count("\n") <= 2 * LONG
    found.append(made.end())
    assert [row for one in found for row in one.split("\n") if row] == rows
    assert [isinstance(one, Part) for one in found if one] == [
        bool(at) for at in range(len([one for one in found if one]))
    ]


@pytest.mark.parametrize("before", ["", "words\n", "- item\n"])
def test_long_code_and_long_tables_come_in_parts_that_look_like_one(before: str) -> None:
    code = before + "```python\n" + "".join(f"value_{at} = {at}\n\n" for at in range(300)) + "```\n"
    parts = blocks(code, *range(0, len(code), 7))
    assert len(parts) > 5 and not any(isinstance(one, Part) for one in parts)
    assert all(one.count("```") == 2 for one in parts)
    rows = [row for one in parts for row in one.split("\n") if row.startswith("value")]
    assert rows == [f"value_{at} = {at}" for at in range(300)]
    table = "| a | b |\n|---|---|\n" + "".join(f"| {at} | x |\n" for at in range(300))
    parts = blocks(table + "\nafter\n")
    assert parts[-1] == "after" and not isinstance(parts[-1], Part)
    assert all(one.startswith("| a | b |\n|---|---|\n| ") for one in parts[:-1])
    assert "".join(one.removeprefix("| a | b |\n|---|---|\n") + "\n" for one in parts[:-1]).count("\n") == 300


def test_lines_of_an_answer_end_where_they_ended_and_no_character_is_lost_where_they_are_broken() -> None:
    text = (
        "one **line\nand** another\n2. not a list, but a line that is much longer than the terminal is wide\n- x\n  y"
    )
    rows = CODES.sub("", Paint(40, colored=True).markdown(text)).split("\n")
    assert rows[:2] == ["one line", "and another"]
    assert " ".join(rows[2:4]) == "2. not a list, but a line that is much longer than the terminal is wide"
    assert [row.strip() for row in rows[-3:-1]] == ["• x", "y"]


def test_code_has_colours_that_are_read_on_a_dark_and_on_a_light_background() -> None:
    code = (
        '```python\n@cached\nclass A:\n    """Text."""\n\n    def b(self) -> int:\n        return len("x") + 1  # why'
    )
    codes = {
        part for found in CODES.findall(Paint(80, depth="truecolor").markdown(code)) for part in found[2:-1].split(";")
    }
    assert codes & {"35", "32"}
    assert not codes & {"38", "48", "33", "34", "37", "30", *map(str, range(90, 108))}


@given(st.text(st.sampled_from("ab 港口泊位，。（）*`_[]#-"), min_size=1, max_size=400), st.sampled_from([40, 80, 120]))
def test_no_row_is_wider_than_the_terminal_and_no_character_is_lost(text: str, columns: int) -> None:
    shown = Paint(columns, colored=True).markdown("x " + text)
    rows = [CODES.sub("", row) for row in shown.split("\n")]
    assert max(width(row) for row in rows) <= columns
    assert sum(row.count("港") for row in rows) == text.count("港")


def test_what_looks_like_html_is_text() -> None:
    shown = CODES.sub("", Paint(80).markdown("A Vec<T> and <b>bold</b>.\n\n<div>\nin a block\n</div>\n"))
    assert "Vec<T> and <b>bold</b>" in shown and "<div>" in shown and "in a block" in shown


def test_a_row_has_no_blanks_at_its_end_that_a_narrower_terminal_would_break() -> None:
    shown = Paint(80, colored=True).markdown("```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert not any(re.search(r" $", CODES.sub("", row)) for row in shown.split("\n"))


def test_what_was_typed_is_kept_privately_without_secrets_and_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "new" / "typed.jsonl"
    typed = Typed(path, lambda text: text.replace("hunter2", "[REDACTED]"))
    assert typed.lines() == []
    for text in ("one", "two\nlines", "password hunter2", "one", "", "x" * 30_000):
        typed.add(text)
    assert typed.lines() == ["one", "password [REDACTED]", "two\nlines"]
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("ab") as file:
        file.write(b'{"torn\n\xff\n')
    assert typed.lines()[0] == "one"


def test_the_history_is_shortened_to_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_text("".join(f'"line {number}"\n' for number in range(2 * MOST + 10)))
    typed = Typed(path, str)
    assert typed.lines()[0] == f"line {2 * MOST + 9}"
    assert len(path.read_text().splitlines()) == MOST
    assert Typed(path, str).lines()[-1] == f"line {MOST + 10}"


def test_without_colour_nothing_but_text_is_written() -> None:
    paint = Paint(80, colored=False)
    assert "\x1b" not in paint.markdown("# a\n\n**b** `c`\n\n```python\nx = 1\n```\n") + paint.diff("+a\n-b\n")[0]


def test_a_request_that_is_sent_again_says_when_also_where_that_is_at_once() -> None:
    told = [again("busy", wait, "en") for wait in (0, 0.04, 0.5, 2, 31.6)]
    assert told == [
        "busy; again now", "busy; again now", "busy; again in 0.5 s", "busy; again in 2 s", "busy; again in 32 s",
    ]  # fmt: skip
    assert again("m: too many requests (429)", 0, "zh") == "m：请求过多 (429)；立即重试"


def test_keys_of_a_file_are_left_out_and_its_rules_stay() -> None:
    text = "  # Head\n  \n  ---\n  end\n  ---\n"
    assert without_front_matter(f"  ---\n  id: x\n  ---\n  \n{text}") == text
    assert without_front_matter(text) == text


def test_commands_that_are_typed_at_once_leave_the_streams_as_they_were() -> None:
    own, usual = (sys.stdout, sys.stderr), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda _: outcome(["--version"], colored=False), range(64)))
        assert (sys.stdout, sys.stderr) == own
    finally:
        sys.setswitchinterval(usual)
        sys.stdout, sys.stderr = own
    assert {one.strip() for one in told} == {told[0].strip()}
    assert "clew" in told[0]
