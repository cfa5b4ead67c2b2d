"""Documents of memory as texts: what is read from them, what is wrong across them, and how new ones are written."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import count

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clew.core.memory.check import check, mends
from clew.core.memory.document import Document, clean_description, clean_tag, digest_of, read_document, tier_of
from clew.core.memory.edit import (
    Draft,
    appended,
    draft_text,
    first_sentence,
    imported_text,
    is_edited_here,
    log_entry,
    refreshed_text,
    slug,
)
from clew.core.text.frontmatter import edit, parse

pytestmark = pytest.mark.requirement("W-01")

TODAY = date(2026, 6, 1)


def note(name: str, *lines: str, folder: str = "workspaces/w/notes", body: str = "Text.\n") -> Document:
    return read_document(f"{folder}/{name}.md", "\n".join(["---", *lines, "---", "", body]))


def kinds(*documents: Document, **options: object) -> list[tuple[str, int, str]]:
    found = check(documents, today=TODAY, **options)  # type: ignore[arg-type]
    assert all(finding.hint for finding in found)
    return [(finding.path.rpartition("/")[2], finding.line, finding.kind) for finding in found]


def test_a_document_is_what_its_front_matter_says() -> None:
    found = note(
        "a", "id: mem_1", 'name: "A: b"', "description: what it tells", "type: Gotcha", "scope: user", "branch: x/y",
        "tags: [Two Words, '#One', one]", "when:", "  - 部署失败", '  - "it fails, again"', "created: 2025-07-30",
        'updated: "2026-01-02T10:00:00Z"', "supersedes: mem_0", "expires: 2026-06-01",
    )  # fmt: skip
    assert (found.id, found.name, found.type, found.scope, found.branch) == ("mem_1", "A: b", "gotcha", "user", "x/y")
    assert (found.tier, found.workspace, found.status) == ("note", "w", "active")
    assert found.tags == ("two-words", "one") and found.when == ("部署失败", "it fails, again")
    assert (found.created, found.updated) == (date(2025, 7, 30), date(2026, 1, 2))
    assert found.supersedes == ("mem_0",) and not found.superseded_by and not found.problems
    assert found.body == "\nText.\n" and found.body_line == 17 and found.ref == "clew://memory/mem_1"
    assert found.lines["when"] == 9


def test_what_is_missing_has_a_stand_in() -> None:
    bare = read_document("user/my-way.md", "# How I work\n\nText.\n")
    assert (bare.id, bare.name, bare.type, bare.scope, bare.status) == ("", "How I work", "note", "user", "active")
    assert read_document("user/my-way.md", "").name == "my-way" and not bare.problems


@pytest.mark.parametrize(
    ("line", "field", "value", "word"),
    [
        ("type: gotchas", "type", "gotcha", "`gotcha`"),
        ("type: 注意", "type", "note", "`note`"),
        ("status: depricated", "status", "deprecated", "`deprecated`"),
        ("status: whatever", "status", "deprecated", "`deprecated`"),
        ("scope: projct", "scope", "project", "`project`"),
        ("created: yesterday", "created", None, "no day"),
        ("expires: 2026-02-30", "expires", None, "no day"),
        ("tags: {a: b}", "tags", (), "not a list"),
        ("when: [a, [b]]", "when", ("a",), "no text"),
        ("name: {a: b}", "name", "a", "not a text"),
        ("id: ../x", "id", "", "characters"),
    ],
)
def test_an_unknown_value_falls_back_and_is_reported_with_its_line(
    line: str, field: str, value: object, word: str
) -> None:
    found = note("a", "created: 2026-01-01" if "created" not in line else "type: note", line)
    assert getattr(found, field) == value
    (problem,) = found.problems
    assert problem.line == 3 and word in problem.what and problem.hint


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["expires: 2026-06-01"], ""),
        (["expires: 2026-05-31"], "expired on 2026-05-31"),
        (["status: deleted"], "deleted"),
        (["status: superseded", "superseded_by: mem_2"], "superseded by mem_2"),
        (["superseded_by: mem_2"], "superseded by mem_2"),
        (["status: Active"], ""),
    ],
)
def test_a_document_that_no_longer_holds_says_why(lines: list[str], reason: str) -> None:
    assert note("a", *lines).stale(TODAY) == reason


@pytest.mark.requirement("R-10")
@given(st.text() | st.sampled_from(["a\nb", "a\x1b[2Jb", "a\u202eb", "a\u2028b", "x" * 5000, "\ud800", " a  b "]))
def test_a_hint_is_one_line_without_control_characters(text: str) -> None:
    line = clean_description(text)
    assert len(line) <= 240 and line == line.strip() and clean_description(line) == line
    assert line.isprintable()


@given(st.text(), st.text())
def test_reading_a_document_never_fails(head: str, body: str) -> None:
    text = f"---\n{head}\n---\n{body}"
    assert read_document("user/a.md", text).digest == digest_of(text)


@pytest.mark.parametrize(
    ("path", "tier"),
    [
        ("user/a.md", ("user", "")), ("user/b/a.MD", ("user", "")), ("workspaces/w/notes/a.md", ("note", "w")),
        ("workspaces/w/logs/2026-01-01.md", ("log", "w")), ("workspaces/w/handoff/x/PLAN.md", ("handoff", "w")),
        ("workspaces/超时/reflections/a.md", ("reflection", "超时")),
        ("a.md", None), ("user/a.txt", None), ("workspaces/w/a.md", None), ("workspaces/w/other/a.md", None),
        ("user/../a.md", None), ("/user/a.md", None), ("user/.a.md", None), ("user//a.md", None),
        ("workspaces/w/notes/archive/a.md", None), ("workspaces/../notes/a.md", None), ("", None),
    ],
)  # fmt: skip
def test_the_folder_says_the_tier(path: str, tier: tuple[str, str] | None) -> None:
    assert tier_of(path) == tier


# ---------------------------------------------------------------------- across documents

FINE = ("description: d",)


def test_a_folder_without_mistakes_has_no_findings() -> None:
    old = note("old", "id: m1", *FINE, "status: superseded", "superseded_by: m2")
    new = note("new", "id: m2", *FINE, "supersedes: [m1]")
    assert kinds(old, new, indexed={old.path: "m1"}) == []
    assert mends([old, new], str) == {}


def test_each_mistake_is_found_at_its_line() -> None:
    assert kinds(note("a", *FINE)) == [("a.md", 1, "no-id")]
    assert kinds(note("a", *FINE, "id: a b")) == [("a.md", 3, "no-id")]
    assert kinds(note("a", *FINE, "id: x"), note("b", "id: x", *FINE)) == [
        ("a.md", 3, "same-id"),
        ("b.md", 2, "same-id"),
    ]
    assert kinds(note("a", "id: x")) == [("a.md", 1, "no-description")]
    assert kinds(note("a", "id: x", "description:")) == [("a.md", 3, "no-description")]
    assert kinds(note("a", "id: x", *FINE, "expires: 2026-01-01")) == [("a.md", 4, "expired")]
    assert kinds(note("a", "id: x", *FINE, "Status: active")) == [("a.md", 4, "key")]
    assert kinds(note("a", "id: x", *FINE, f"name: {'x' * 81}")) == [("a.md", 4, "long")]
    assert kinds(note("a", "id: x", *FINE, "scope: user")) == [("a.md", 4, "place")]
    assert kinds(note("a", "id: x", *FINE, "scope: project", folder="user")) == [("a.md", 4, "place")]
    assert kinds(note("a", "id: x", *FINE, "supersedes: gone")) == [("a.md", 4, "dangling")]
    assert kinds(note("a", "id: y", *FINE), indexed={"workspaces/w/notes/a.md": "x"}) == [("a.md", 2, "new-id")]
    assert kinds(note("a", *FINE), indexed={"workspaces/w/notes/a.md": "x"}) == [("a.md", 1, "new-id")]
    assert kinds(note("a", "id: x", *FINE, "id: y")) == [("a.md", 4, "front")]
    assert kinds(note("a", "id: x", *FINE, body="x" * 200_001))[0] == ("a.md", 1, "front")


def test_both_paths_of_an_id_are_named_and_the_nearest_key() -> None:
    first, second = note("a", "id: x", *FINE), note("b", "id: x", *FINE, "superceded_by: z")
    found = check([first, second], today=TODAY)
    assert second.path in found[0].what and first.path in found[1].what
    assert found[2].kind == "key" and "superseded_by" in found[2].hint


def test_a_circle_of_supersessions_is_found_however_long_it_is() -> None:
    ring = [
        note(f"n{n}", f"id: m{n}", *FINE, f"superseded_by: m{(n + 1) % 3}", f"supersedes: m{(n - 1) % 3}")
        for n in range(3)
    ]
    tail = note("t", "id: t", *FINE, "supersedes: [m0]")
    assert [kind for _, _, kind in kinds(*ring)] == ["cycle"] * 3
    assert ("t.md", 2, "cycle") not in kinds(*ring, tail)
    chain = [
        note(f"n{n}", f"id: m{n}", *FINE, f"superseded_by: m{n + 1}", *([f"supersedes: m{n - 1}"] if n else []))
        for n in range(9)
    ]
    assert [kind for _, _, kind in kinds(*chain)] == ["dangling"]
    itself = note("a", "id: x", *FINE, "supersedes: x")
    assert [kind for _, _, kind in kinds(itself)] == ["cycle"]


def test_what_can_be_mended_is_mended_and_nothing_else_is_touched() -> None:
    texts = {
        "user/a.md": "---\r\n# mine\r\ndescription: d   # why\r\n---\r\nText.",
        "workspaces/w/notes/old.md": "---\nid: m1\ndescription: 'd'\n---\n",
        "workspaces/w/notes/new.md": "---\nid: m2\ndescription: d\nsupersedes: m1\n---\n",
        "workspaces/w/notes/third.md": "---\nid: m3\ndescription: d\nsuperseded_by: m2\n---\n",
        "user/plain.md": "No front matter\n",
    }
    documents = [read_document(path, text) for path, text in texts.items()]
    wrong = check(documents, today=TODAY)
    numbers = count(1)
    changes = mends(documents, lambda: f"mem_{next(numbers)}")
    assert {finding.path for finding in wrong if finding.mends} == changes.keys()
    after = {path: edit(text, changes.get(path, {})) for path, text in texts.items()}
    assert not [f for f in check([read_document(p, t) for p, t in after.items()], today=TODAY) if f.mends]
    assert after["user/a.md"] == texts["user/a.md"].replace("why\r\n", "why\r\nid: mem_1\r\n")
    assert after["user/plain.md"] == "---\nid: mem_2\n---\nNo front matter\n"
    assert (
        after["workspaces/w/notes/old.md"]
        == "---\nid: m1\ndescription: 'd'\nsuperseded_by: m2\nstatus: superseded\n---\n"
    )
    assert read_document("user/x.md", after["workspaces/w/notes/new.md"]).supersedes == ("m1", "m3")


# ---------------------------------------------------------------------- new texts


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_a_draft_reads_back_as_it_was_given_also_for_other_readers(name: str, body: str, when: list[str]) -> None:
    draft = Draft(name, body, description=name, when=tuple(when), tags=("A b",), expires=TODAY)
    text = draft_text(draft, id="mem_1", tier="note", today=TODAY)
    found = read_document("user/a.md", text)
    assert not found.problems and found.id == "mem_1" and found.tags == ("a-b",) and found.expires == TODAY
    assert body.strip("\r\n") in found.body
    assert found.description == clean_description(name).strip()
    block = yaml.safe_load(text[4:].partition("\n---\n")[0])
    assert block["created"] == TODAY and (block.get("description") or "") == found.description


@given(st.text())
def test_a_file_name_is_safe_everywhere(name: str) -> None:
    stem = slug(name)
    assert stem and len(stem) <= 70 and len(stem.encode()) <= 190
    assert tier_of(f"user/{stem}.md") == ("user", "")
    assert not set(stem) & set('/\\:*?"<>|. \0') and stem == stem.strip("-")


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("No releases on Friday!", "no-releases-on-friday"), ("发布前的检查：清单", "发布前的检查-清单"),
        ("CON", "con-note"),
        ("..", "note"), ("Ünï/../x", "uni-x"), ("ガ", "ガ"), ("lpt1", "lpt1-note"), ("a.", "a"), ("", "note"),
    ],
)  # fmt: skip
def test_names_of_any_script_become_file_names(name: str, stem: str) -> None:
    assert slug(name) == stem


def test_an_appended_text_takes_the_line_ends_of_the_file() -> None:
    assert appended("a\r\nb", "c\nd") == "a\r\nb\r\nc\r\nd\r\n"
    assert appended("", "c") == "c\n" and appended("a\n", "c\n") == "a\nc\n"


def test_headings_of_an_entry_stand_below_that_of_the_entry() -> None:
    assert log_entry("did\n# h\n", datetime(2026, 1, 1, 9, 5, tzinfo=UTC), "x\ny") == "\n## 09:05 x y\n\ndid\n### h\n"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("# T\n\n- First thing. Second.", "First thing."), ("![p](x)\n\n> 先看日志。再说。", "先看日志。"),
        ("```\ncode\n```\n\nText over\ntwo lines\n\nmore", "Text over two lines"), ("# Only a title\n", ""), ("", ""),
        ("See [[Other note|it]] first! Then.", "See [[Other note|it]] first!"),
    ],
)  # fmt: skip
def test_the_first_sentence_describes(body: str, sentence: str) -> None:
    assert first_sentence(body) == sentence


def test_an_imported_file_keeps_its_text_and_gets_what_is_missing() -> None:
    original = "\ufeff---\r\ntitle: My title # c\r\naliases: [x]\r\nstatus: evergreen\r\n---\r\nSee [[B]]. More.\r\n"
    text = imported_text("Team/Ops Stuff/a.md", original, source="/n/a.md", digest="d", id="mem_1", today=TODAY)
    found = read_document("user/a.md", text)
    assert (found.id, found.name, found.description) == ("mem_1", "My title", "See [[B]].")
    assert found.tags == ("team", "ops-stuff") and found.source == "/n/a.md" and found.status == "active"
    assert found.body == "See [[B]]. More.\r\n" and "aliases: [x]\r\n" in text and not is_edited_here(found)
    again = refreshed_text(edit(text, {"tags": ["mine"]}), original.replace("More", "Less"), digest="e")
    newer = read_document("user/a.md", again)
    assert newer.tags == ("mine",) and "Less" in newer.body and newer.source_digest == "e" and not is_edited_here(newer)
    assert is_edited_here(read_document("user/a.md", again + "by hand"))


def test_a_tag_is_lower_case_without_blanks() -> None:
    assert [clean_tag(tag) for tag in ("#Ops Stuff", "a//b/", " - ", "部署")] == ["ops-stuff", "a/b", "", "部署"]
    assert parse("---\ntags: a, b\n---\n").values["tags"] == "a, b"
    assert note("a", "tags: a, b").tags == ("a", "b")
