"""What Clew prints as a reference opens what it was printed for; notes go by name and by the beginning of an id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.command import Done, clew, write
from tests.wire.lines import talking, text_of

CRANE = "The crane stops at wind force 7."


def said(done: Done) -> str:
    """What a command printed; it must have worked."""
    assert done.status == 0, done.err
    return done.out.strip()


def kept(root: Path, text: str, name: str, *more: str) -> tuple[str, Path]:
    """A new note: its id and its file."""
    row = clew("note", text, "--name", name, "--json", *more, cwd=root).json
    return row["id"], Path(row["path"])


@pytest.mark.requirement("W-06", "W-14")
def test_an_id_that_two_documents_have_is_never_given_as_a_reference(home: Path, harbour: Path) -> None:
    id_, path = kept(harbour, CRANE, "Crane")
    copy = path.with_name("crane-copy.md")
    copy.write_text(path.read_text("utf-8").replace(CRANE, "The crane on the copy of the quay stops at 8."), "utf-8")
    assert "more than one document" in clew("open", id_, cwd=harbour).err
    refs = [hit["reference"] for hit in clew("memory", "search", "crane stops", "--json", cwd=harbour).json["hits"]]
    rows = clew("memory", "list", "--json", cwd=harbour).json
    listed = [line.split()[0] for line in said(clew("memory", "list", cwd=harbour)).splitlines()]
    assert len({*refs}) == len(rows) == len(listed) == 2
    for ref in (*refs, *(row["ref"] for row in rows), *listed):
        assert id_ not in ref and "stops at" in said(clew("open", ref, cwd=harbour)), ref
    with talking(harbour) as server:
        server.initialize()
        found = server.call("memory_recall", {"query": "crane stops"})["structuredContent"]["hits"]
        for hit in found:
            assert "stops at" in text_of(server.call("memory_open", {"ref": hit["ref"]}))
    # Once they differ, both are cited by their ids again.
    copy.write_text(copy.read_text("utf-8").replace(id_, "mem_00000000aaaa"), "utf-8")
    refs = [hit["reference"] for hit in clew("memory", "search", "crane stops", "--json", cwd=harbour).json["hits"]]
    assert {ref.partition("#")[0] for ref in refs} == {f"clew://memory/{id_}", "clew://memory/mem_00000000aaaa"}


@pytest.mark.requirement("W-14")
def test_an_id_that_was_copied_into_another_workspace_opens_the_note_of_this_one(
    home: Path, harbour: Path, repo: Path
) -> None:
    id_, path = kept(harbour, CRANE, "Crane")
    _, other = kept(repo, "A note of another project.", "Other")
    write(other.parent, {"crane.md": path.read_text("utf-8").replace(CRANE, "Here it stops at 5.")})
    assert CRANE in said(clew("open", id_, cwd=harbour)) and "at 5" in said(clew("open", id_, cwd=repo))


@pytest.mark.requirement("W-14")
def test_a_note_goes_by_its_name_and_by_the_beginning_of_its_id(home: Path, harbour: Path) -> None:
    when = "may we lift in this wind?"
    id_, _ = kept(harbour, CRANE, "Crane in the wind", "--when", when)
    for ref in ("Crane in the wind", "crane  IN the wind", id_[:8], f"clew://memory/{id_[:8]}", id_):
        assert CRANE in said(clew("open", ref, cwd=harbour)), ref
    assert said(clew("open", "Crane in the wind#L1", cwd=harbour)) == "---"
    assert clew("open", "Crane in the wind#L999", cwd=harbour).status == 2
    with talking(harbour) as server:
        server.initialize()
        for ref in ("Crane in the wind", id_[:8]):
            assert CRANE in text_of(server.call("memory_open", {"ref": ref}))
    said(clew("memory", "set", id_[:8], "tags=wind", cwd=harbour))
    editor = write(harbour, {"edit.sh": "#!/bin/sh\necho 'And at night.' >> \"$1\"\n"}) / "edit.sh"
    editor.chmod(0o755)
    said(clew("memory", "edit", "Crane in the wind", cwd=harbour, env={"EDITOR": str(editor), "VISUAL": None}))
    assert "And at night." in said(clew("open", id_, cwd=harbour))
    assert [one["id"] for one in clew("recall", "--json", when, cwd=harbour).json["hints"]] == [id_]
    assert id_ in clew("recall", "--reject", "Crane in the wind", when, cwd=harbour).err
    assert not clew("recall", "--json", when, cwd=harbour).json["hints"]
    assert clew("recall", "--accept", id_[:8], when, "--json", cwd=harbour).json == {
        "accepted": f"clew://memory/{id_}", "count": 1,
    }  # fmt: skip
    # A file of that name goes first, and what is nothing at all is said as before.
    write(harbour, {"Crane in the wind": "a file\n"})
    assert said(clew("open", "Crane in the wind", cwd=harbour)) == "a file"
    assert "there is no `Crain`" in clew("open", "Crain", cwd=harbour).err


@pytest.mark.parametrize(
    "arguments",
    [("open",), ("memory", "edit"), ("memory", "forget"), ("recall", "may we lift?", "--reject")],
    ids=" ".join,
)
def test_where_several_are_meant_the_candidates_are_named_and_nothing_is_done(
    home: Path, harbour: Path, arguments: tuple[str, ...]
) -> None:
    _, path = kept(harbour, CRANE, "Crane")
    text = re.sub(r"id: mem_\w+", "id: mem_abcdef000001", path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    other = path.with_name("other.md")
    other.write_text(text.replace("mem_abcdef000001", "mem_abcdef000002"), "utf-8")
    before = [path.read_bytes(), other.read_bytes()]
    for ref in ("Crane", "mem_abcdef"):
        done = clew(*arguments, ref, cwd=harbour, env={"EDITOR": "true", "VISUAL": None})
        assert done.status == 2 and "more than one document" in done.err
        assert "crane.md" in done.err and "other.md" in done.err
    assert [path.read_bytes(), other.read_bytes()] == before


# ---------------------------------------------------------------------- what a check says


@pytest.mark.requirement("W-01")
def test_one_bad_id_is_one_finding_and_is_mended(home: Path, harbour: Path) -> None:
    _, path = kept(harbour, CRANE, "Crane")
    path = path.with_name("by-hand.md")
    path.write_text("---\nid: not an id!\nname: Wind\ndescription: About wind.\n---\nIt blows.\n", "utf-8")
    found = clew("memory", "check", "--json", cwd=harbour).json["findings"]
    assert [(one["kind"], one["mends"]) for one in found] == [("no-id", True)]
    assert "characters other than" in found[0]["what"] and "`--fix` gives it another" in found[0]["hint"]
    assert clew("memory", "check", "--fix", cwd=harbour).status == 0
    assert re.search(r"^id: mem_[0-9a-f]{12}$", path.read_text("utf-8"), re.MULTILINE)
    assert path.read_text("utf-8").endswith("\nname: Wind\ndescription: About wind.\n---\nIt blows.\n")


@pytest.mark.requirement("W-01")
def test_an_id_that_got_lost_is_given_back_so_that_references_go_on(home: Path, harbour: Path) -> None:
    id_, path = kept(harbour, CRANE, "Crane")
    clew("memory", "search", "crane", cwd=harbour)
    path.write_text(path.read_text("utf-8").replace(f"id: {id_}\n", ""), "utf-8")
    found = clew("memory", "check", "--json", cwd=harbour).json["findings"]
    assert [(one["kind"], one["mends"]) for one in found] == [("new-id", True)] and id_ in found[0]["hint"]
    assert clew("memory", "check", "--fix", cwd=harbour).status == 0
    assert CRANE in said(clew("open", id_, cwd=harbour))


@pytest.mark.requirement("W-01")
def test_front_matter_without_an_end_is_one_finding_and_no_mending_touches_it(home: Path, harbour: Path) -> None:
    _, path = kept(harbour, CRANE, "Crane")
    whole = path.read_text("utf-8")
    clew("memory", "search", "crane", cwd=harbour)
    broken = whole.replace("---\n\n", "\n", 1)
    assert broken.count("---") == 1
    path.write_text(broken, "utf-8")
    found = clew("memory", "check", "--json", cwd=harbour).json["findings"]
    assert [one["kind"] for one in found] == ["front"] and "`--fix` does not touch the file" in found[0]["hint"]
    fixed = clew("memory", "check", "--fix", cwd=harbour)
    assert fixed.status == 1 and "mended" not in fixed.err and path.read_text("utf-8") == broken
    path.write_text(whole, "utf-8")
    assert clew("memory", "check", cwd=harbour).status == 0


@pytest.mark.requirement("W-06")
def test_a_hit_in_a_log_names_its_day_once(home: Path, harbour: Path) -> None:
    clew("log", "moved the tests to tox", "--heading", "Testing", cwd=harbour)
    head = said(clew("memory", "search", "tests tox", "--scope", "logs", cwd=harbour)).splitlines()[0]
    assert len(re.findall(r"\d{4}-\d\d-\d\d", head)) == 1 and head.endswith("Testing")
    with talking(harbour) as server:
        server.initialize()
        (line,) = [
            row for row in text_of(server.call("memory_recall", {"query": "tests tox"})).splitlines() if row[:2] == "- "
        ]
    assert len(re.findall(r"\d{4}-\d\d-\d\d", line)) == 1 and line.endswith("Testing")
