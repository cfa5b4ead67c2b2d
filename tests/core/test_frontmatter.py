"""Front matter as people write it: everything is read or reported, and an edit touches nothing but its own lines."""

from __future__ import annotations

import re
import time
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.frontmatter import MOST_CHARACTERS, edit, parse, written
from clew.errors import UsageError

pytestmark = pytest.mark.requirement("W-01")

LINES = (
    "id: mem_1", 'name: "One"', "name: 'it''s'", "tags: [a, b]", "tags:", "- a", "  - b", "\t- c", "# a comment",
    "  # deep", "", "  ", "when: |", "when: |+", "when: >-", "  text: more", "a: b: c", "broken: \"open", "broken: [x",
    "]", "键: 值", "键：值", "key:value", "? q", ": r", "{a: 1}", "&a b: c", "x: &a 1", "y: *a", "1: 2", "null: ~",
    "created: 2025-07-30", "name: One # why", 'name: "One" # why', "---x", "...x", "'q': 1", '"k\\u0041": 1',
    "%YAML 1.2",
    "a:\tb", "C#: x", "name: [a, #b", "  ]", "on: yes", "weird: \u2028 x: y", "nul: \x00", "!t k: v", "k: !!str 5",
    "deep: [[[[{a: [b]}]]]]", "- - x: y", "name:", "'", '"', "name: - a", "e: 😀", "s: \ud800",
)  # fmt: skip
BITS = (
    "a", "b c", "- ", " - ", '"x"', "[a, b]", "~", "#", " # c", ": ", "k:", "é", "1", "a.", "'", " ", ",", "[", "]",
    "超", "...", "...\n", "---", "\n", "\n  ", "|", ">", "{", "}", "?", "!", "%", "@", "\\",
)  # fmt: skip
ENDS = ("\n", "\r\n", "\r")


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Files: with and without a mark, fences, final line end; line ends mixed."""
    fences = draw(
        st.sampled_from([("---", "---"), ("---", "---"), ("---", "..."), ("--- ", "---\t"), ("---", ""), ("", "")])
    )
    lines = [fences[0]] if fences[0] else []
    made = st.lists(st.sampled_from(BITS), max_size=9).map("".join)
    lines += draw(
        st.lists(st.sampled_from(LINES) | made | made.map("key: {}".format) | st.text(max_size=12), max_size=8)
    )
    lines += [fences[1]] if fences[1] else []
    lines += draw(st.lists(st.sampled_from(["body", "---", "", "# Title", "id: not this"]), max_size=4))
    parts = [line + draw(st.sampled_from(ENDS)) for line in lines]
    text = draw(st.sampled_from(["", "", "\ufeff", "\n"])) + "".join(parts)
    return text.rstrip("\r\n") if draw(st.booleans()) else text


keys = st.sampled_from(["id", "name", "tags", "when", "键", "new", "a: b", 'q"', "on", "#", "broken"])
speakable = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\ufffe\uffff"), max_size=30)
words = speakable | st.sampled_from(
    ["yes", "No", "null", "~", "0123", "1e5", "2025-07-30", "a: b", "a #b", "- x", "[x]", "'", '"', "\\", "\n",
     "a\r\nb", " lead", "trail ", "", "@x", "%x", "!x", "&x", "*x", "|", ">", "?", ":", "超时",
     "\x85", "\u2028", "x" * 300]
)  # fmt: skip
given_values = words | st.lists(words, max_size=4) | st.dates()


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)


def plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


@given(texts())
def test_reading_never_fails_and_an_empty_edit_changes_nothing(text: str) -> None:
    front = parse(text)
    assert edit(text, {}) == text
    assert text.endswith(front.body)
    assert all(1 <= problem.line <= max(len(lines_of(text)), 1) for problem in front.problems)
    assert "".join(lines_of(text.removeprefix("\ufeff"))[front.body_line - 1 :]) == front.body


@given(texts(), keys, given_values)
def test_a_key_that_is_set_reads_as_set_and_every_other_line_stays(text: str, key: str, value: object) -> None:
    changed = edit(text, {key: value})  # type: ignore[dict-item]
    before, after = parse(text), parse(changed)
    assert after.values[key] == plain(value)
    assert after.body == before.body
    assert {k: v for k, v in after.values.items() if k != key} == {k: v for k, v in before.values.items() if k != key}
    assert edit(changed, {key: value}) == changed  # type: ignore[dict-item]
    own = [entry for entry in before.entries if entry.key == key]
    old, new = lines_of(text), lines_of(changed)
    if own:
        first, last = own[-1].first - 1, own[-1].last
    elif before.present:
        first = last = before.body_line - 2
    else:
        assert changed.removeprefix("\ufeff").endswith(text.removeprefix("\ufeff"))
        return
    assert new[:first] == old[:first]
    assert new[len(new) - (len(old) - last) :] == old[last:]


@given(texts(), keys)
def test_a_key_that_is_taken_out_is_gone_with_its_lines_and_no_other(text: str, key: str) -> None:
    changed = edit(text, {key: None})
    before, after = parse(text), parse(changed)
    assert key not in after.values
    assert after.body == before.body
    assert {k: v for k, v in before.values.items() if k != key} == after.values
    own = {number for entry in before.entries if entry.key == key for number in range(entry.first, entry.last + 1)}
    kept = [line for number, line in enumerate(lines_of(text), 1) if number not in own]
    # Without line ends: where lines end with CR and LF in turn, two ends may now stand side by side.
    assert [line.rstrip("\r\n") for line in kept if line.strip()] == [
        line.rstrip("\r\n") for line in lines_of(changed) if line.strip()
    ]


@given(st.dictionaries(keys, given_values, min_size=1, max_size=4))
def test_what_is_written_means_the_same_to_another_reader_of_yaml(values: dict[str, object]) -> None:
    block = written(values)  # type: ignore[arg-type]
    assert yaml.safe_load(block.removeprefix("---\n").removesuffix("---\n")) == values
    assert parse(block).values == {key: plain(value) for key, value in values.items()}


FULL = """---
id: mem_0a1b2c3d4e5f   # given by hand
# what it is called
name: "Pins \\"all\\" things"
description: 'it''s pinned'
tags: [build, "two words"]
when:
  - "a lock is out of date"
  - 锁文件过期了
text: |
  first
  second
folded: >
  one
  two
created: 2025-07-30
quoted: "2025-07-30"
empty:
版本: 1.10
---

Body
---
not: front matter
"""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_form_of_a_value_is_read_with_any_line_end(end: str, mark: str) -> None:
    front = parse(mark + FULL.replace("\n", end))
    assert front.values == {
        "id": "mem_0a1b2c3d4e5f", "name": 'Pins "all" things', "description": "it's pinned",
        "tags": ["build", "two words"], "when": ["a lock is out of date", "锁文件过期了"], "text": "first\nsecond\n",
        "folded": "one two\n", "created": "2025-07-30", "quoted": "2025-07-30", "empty": None, "版本": "1.10",
    }  # fmt: skip
    assert not front.problems
    assert front.lines["id"] == 2 and front.lines["when"] == 7 and front.body_line == 21
    assert front.body == end + f"Body{end}---{end}not: front matter{end}"


@pytest.mark.parametrize(
    ("lines", "values", "line", "word"),
    [
        (["a: 1", "a: 2"], {"a": "2"}, 3, "again"),
        (["a: b: c"], {"a": "b: c"}, 2, "no YAML"),
        (["a: @home # x"], {"a": "@home"}, 2, "no YAML"),
        (['a: "open', "b: 1"], {"a": '"open', "b": "1"}, 2, "no YAML"),
        (["a: 1", "loose", "b: 2"], {"a": "1", "b": "2"}, 3, "no key"),
        (["名字：好", "b: 2"], {"b": "2"}, 2, "no key"),
        (["a:", "\t- x", "b: 2"], {"a": ["x"], "b": "2"}, 2, "tab"),
        (["a: &x 1", "b: *x", "c: 3"], {"a": None, "b": None, "c": "3"}, 2, "anchors"),
        (["a: 'x", "  y'"], {"a": "x y"}, 0, ""),
        (["a: [x,", "y]"], {"a": ["x", "y"]}, 0, ""),
        (["a: {b: [c]}"], {"a": {"b": ["c"]}}, 0, ""),
        (["a:", "- x", "loose"], {"a": ["x"]}, 4, "no key"),
        (["a: x", "  - y"], {"a": "x - y"}, 0, ""),
        (['a: "x"', "  y"], {"a": "x"}, 3, "follows"),
    ],
)
def test_a_mistake_costs_no_other_value_and_is_reported_at_its_line(
    lines: list[str], values: dict[str, object], line: int, word: str
) -> None:
    front = parse("\n".join(["---", *lines, "---", "body"]))
    assert front.values == values
    if not word:
        assert not front.problems
    else:
        assert front.problems[0].line == line and word in front.problems[0].what and front.problems[0].hint


@pytest.mark.parametrize(
    "text", ["", "body", "---", "\n\n", "---\n\ntext", "text\n---\nid: x\n---\n", " ---\nid: x\n---\n"]
)
def test_a_text_without_front_matter_is_all_body_and_gets_a_block_when_a_key_is_set(text: str) -> None:
    front = parse(text)
    assert front.body == text and not front.present and not front.problems
    assert edit(text, {"id": "x"}) == f"---\nid: x\n---\n{text}"


def test_a_block_that_is_never_closed_or_begins_late_is_reported() -> None:
    assert "never closed" in parse("---\nid: x\nbody\n").problems[0].what
    late = parse("\n---\nid: x\n---\nbody")
    assert late.values == {"id": "x"} and late.problems[0].line == 1


def test_the_last_key_of_a_block_that_begins_late_can_be_taken_out() -> None:
    assert edit("\n---\nid: x\n---\nbody", {"id": None}) == "---\n---\nbody"


def test_a_value_that_ends_the_yaml_is_text() -> None:
    assert parse("---\nkey:\n  - [a\n...\n").body == ""
    assert parse("---\nkey: - ...\n ---\n---\nbody").values == {"key": "- ... ---"}


def test_style_comment_and_line_end_of_a_changed_line_stay() -> None:
    text = FULL.replace("\n", "\r\n")
    changed = edit(
        text, {"id": "mem_x", "name": "Other", "when": ["one", "b: c"], "tags": ["a"], "created": date(2026, 1, 2)}
    )
    expected = (
        text.replace("mem_0a1b2c3d4e5f", "mem_x")
        .replace('"Pins \\"all\\" things"', '"Other"')
        .replace('  - "a lock is out of date"\r\n  - 锁文件过期了', '  - one\r\n  - "b: c"')
        .replace('[build, "two words"]', "[a]")
        .replace("created: 2025-07-30", "created: 2026-01-02")
    )
    assert changed == expected


def test_a_huge_block_is_read_in_part_in_little_time_and_not_edited() -> None:
    text = "---\nid: x\n" + "".join(f"k{number}: [a, {{b: c}}, '\n" for number in range(9000)) + "---\nbody"
    began = time.process_time()
    front = parse(text)
    assert time.process_time() - began < 5
    assert front.values["id"] == "x" and front.body == "body"
    assert any(f"{MOST_CHARACTERS:,}" in problem.what for problem in front.problems)
    with pytest.raises(UsageError):
        edit(text, {"id": "y"})


@pytest.mark.parametrize("char", [" ", "\t", ":", "#", "'", '"', "[", "a", "- ", "\\", "{"])
def test_no_long_line_takes_more_than_its_share_of_time(char: str) -> None:
    began = time.process_time()
    many = (char * 60_000)[:60_000]
    for text in (f"---\nid{many}\n---\n", f"---\nid: {many}\n---\n", f"---\n{many}\n---\n"):
        edit(text, {"id": "y"})
    assert time.process_time() - began < 10
