"""Two versions of a document made one: what each side added is there, and what nobody may decide is a conflict."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from clew.core.memory.merge import merged
from clew.core.text.frontmatter import parse

pytestmark = pytest.mark.requirement("W-17")

NOTE = "workspaces/w/notes/a.md"
LOG = "workspaces/w/logs/2026-03-01.md"


def never(*_: str) -> None:
    """A line merge that always conflicts."""


def merge(base: str | None, ours: str, theirs: str, path: str = NOTE) -> str | None:
    return merged(path, base, ours, theirs, never)


def head(**values: str) -> str:
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in values.items()) + "---\n"


texts = st.text(alphabet="ab\n-: #é", max_size=40)


@given(path=st.sampled_from([NOTE, LOG]), base=st.none() | texts, ours=texts, theirs=texts)
def test_who_alone_changed_a_text_is_right(path: str, base: str | None, ours: str, theirs: str) -> None:
    assert merge(base, ours, ours, path) == ours
    assert merge(ours, ours, theirs, path) == theirs
    assert merge(theirs, ours, theirs, path) == ours
    both = merge(base, ours, theirs, path)
    assert both is None or isinstance(both, str)


lines = st.lists(st.sampled_from(["one", "two", "three", ""]), max_size=6).map(
    lambda rows: "".join(f"{r}\n" for r in rows)
)


@given(base=lines, ours=lines, theirs=lines)
def test_a_log_holds_the_additions_of_both_in_order(base: str, ours: str, theirs: str) -> None:
    assume(ours.strip() and theirs.strip() and ours != theirs)
    both = merge(base, base + ours, base + theirs, LOG)
    assert both is not None and both.startswith(base + ours) and both.endswith(theirs.lstrip("\n"))


def test_entries_of_one_minute_both_keep_their_heading() -> None:
    begun = head(id="mem_b") + "# Day\n\n## 09:00\n\nboth\n"
    both = merge(None, begun + "\n## 16:20\n\none\n", begun + "\n## 16:20\n\ntwo\n", LOG)
    assert both == begun + "\n## 16:20\n\none\n\n## 16:20\n\ntwo\n"
    assert merge(None, begun, begun + "\n## 16:20\n\ntwo\n", LOG) == begun + "\n## 16:20\n\ntwo\n"


def test_a_log_that_two_began_knows_both_ids() -> None:
    both = merge(None, head(id="mem_b") + "# Day\n\nb\n", head(id="mem_a", aliases="[mem_c]") + "# Day\n\na\n", LOG)
    assert both is not None
    assert parse(both).values == {"id": "mem_a", "aliases": ["mem_c", "mem_b"]}
    again = merge(None, both, head(id="mem_d") + "# Day\n\nd\n", LOG)
    assert again is not None
    assert parse(again).values == {"id": "mem_a", "aliases": ["mem_c", "mem_b", "mem_d"]}


def test_a_log_whose_past_was_edited_conflicts_and_so_does_a_note_with_additions_of_both() -> None:
    assert merge("a\nb\n", "a\nc\n", "a\nb\nd\n", LOG) is None
    assert merge("a\n", "a\nb\n", "a\nc\n", NOTE) is None
    assert merge(None, "a\nb\n", "a\nc\n", NOTE) is None


def test_keys_are_merged_one_by_one_and_the_rest_stays_byte_for_byte() -> None:
    base = head(id="x", updated="2026-03-01", created="2026-02-01", tags="[a, b]", status="active") + "body\n"
    ours = (
        base.replace("2026-03-01", "2026-03-02  # by hand")
        .replace("[a, b]", "[b, c]")
        .replace("2026-02-01", "2026-01-05")
    )
    theirs = base.replace("2026-03-01", "2026-03-09").replace("[a, b]", "[a, b, d]").replace("2026-02-01", "2026-01-04")
    theirs = theirs.replace("active", "superseded").replace("---\nbody", "superseded_by: y\n---\nbody")
    both = merge(base, ours, theirs)
    assert both is not None
    assert parse(both).values == {
        "id": "x", "updated": "2026-03-09", "created": "2026-01-04", "tags": ["b", "c", "d"], "status": "superseded",
        "superseded_by": "y",
    }  # fmt: skip
    assert "# by hand" in both and both.endswith("---\nbody\n")


@pytest.mark.parametrize("key", ["name", "status", "type", "id", "description"])
def test_a_key_that_both_changed_conflicts_unless_a_rule_says(key: str) -> None:
    base, ours, theirs = (head(**{key: value}) + "body\n" for value in ("one", "two", "three"))
    assert merge(base, ours, theirs) is None
    assert merge(base, ours, ours.replace("body", "other")) == ours.replace("body", "other")


def test_a_key_taken_out_on_one_side_goes() -> None:
    base = head(id="x", expires="2026-05-01", updated="2026-03-01") + "body\n"
    ours = base.replace("2026-03-01", "2026-03-02")
    theirs = base.replace("expires: 2026-05-01\n", "").replace("2026-03-01", "2026-03-03")
    assert merge(base, ours, theirs) == head(id="x", updated="2026-03-03") + "body\n"


def test_the_front_matter_of_one_and_the_body_of_the_other_meet() -> None:
    base = head(name="a") + "body\n"
    assert (
        merge(base, base.replace("name: a", "# why\nname: b"), base + "more\n")
        == "---\n# why\nname: b\n---\nbody\nmore\n"
    )
    assert (
        merge(base, base + "more\n", base.replace("name: a", "# why\nname: b"))
        == "---\n# why\nname: b\n---\nbody\nmore\n"
    )
