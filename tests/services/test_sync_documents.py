"""Documents that meet at one path are told apart by their ids, and those that moved are followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command import clew
from tests.memory_machines import Machine, machine, pair, remote_of

pytestmark = [pytest.mark.requirement("W-17"), pytest.mark.usefixtures("home")]

NOTE = "workspaces/w/notes/deploy.md"
SECOND = "workspaces/w/notes/deploy-2.md"
THIRD = "workspaces/w/notes/deploy-3.md"


def note(number: int, text: str = "", created: str = "2026-03-01") -> str:
    """A note with an id and a text of its own."""
    body = "".join(f"{number} line {line}\n" for line in range(9))
    return f"---\nid: mem_{number:012x}\nname: Deploy\ncreated: {created}\n---\n{body}{text}"


def test_two_machines_that_name_a_note_alike_keep_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote, project = remote_of(tmp_path), tmp_path / "crane"
    project.mkdir()
    refs: list[str] = []
    homes = tmp_path / "a", tmp_path / "b"

    def on(place: Path) -> None:
        monkeypatch.setenv("CLEW_HOME", str(place))

    for place, text, when in (
        (homes[0], "Deploy the crane with make release.", "how is the crane deployed to the harbour"),
        (homes[1], "The website goes out with rsync.", "how is the website published"),
    ):
        on(place)
        clew("sync", "init", "--remote", remote, cwd=project)
        saved = clew("note", text, "--name", "Deploy", "--when", when, "--json", cwd=project)
        refs.append(str(saved.json["ref"]))
        assert clew("sync", "--join", cwd=project).status == 0
    on(homes[0])
    assert clew("sync", cwd=project).status == 0
    for place in homes:
        on(place)
        shown = [clew("open", ref, cwd=project).out for ref in refs]
        assert "make release" in shown[0] and "rsync" in shown[1]
        listed = clew("memory", "list", "--json", cwd=project).out
        assert all(ref.rpartition("/")[2] in listed for ref in refs)
        assert refs[0] in clew("recall", "how is the crane deployed to the harbour", cwd=project).out
        assert clew("sync", "--show", "--json", cwd=project).json == {"conflicts": []}


def test_logs_that_two_machines_began_are_one_and_every_reference_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, project = remote_of(tmp_path), tmp_path / "crane"
    project.mkdir()
    homes, refs = (tmp_path / "a", tmp_path / "b", tmp_path / "c"), list[str]()
    for place in homes:
        monkeypatch.setenv("CLEW_HOME", str(place))
        clew("sync", "init", "--remote", remote, cwd=project)
        refs.append(str(clew("log", f"Moved crane {place.name}.", "--json", cwd=project).json["ref"]))
    # The third was begun by a version that gave each log an id of its own.
    (log,) = (homes[2] / "memory" / "workspaces").glob("*/logs/*.md")
    refs[2] = "clew://memory/mem_0000000000ff"
    log.write_text(log.read_text("utf-8").replace(refs[0].rpartition("/")[2].partition("#")[0], "mem_0000000000ff"))
    for place in (*homes, *homes):
        monkeypatch.setenv("CLEW_HOME", str(place))
        assert clew("sync", "--join", cwd=project).status == 0
    for place in homes:
        monkeypatch.setenv("CLEW_HOME", str(place))
        for ref in refs:
            shown = clew("open", ref.partition("#")[0], cwd=project)
            assert all(f"Moved crane {one.name}." in shown.out for one in homes), shown.err
            assert shown.out.count("## ") == 3


def test_an_open_conflict_is_named_by_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pair(tmp_path, {NOTE: note(1, "a\n")})
    one.write(NOTE, note(1, "b\n"))
    two.write(NOTE, note(1, "c\n"))
    one.sync()
    two.sync()
    monkeypatch.setenv("CLEW_HOME", str(two.root.parent))
    checked = clew("memory", "check", "--json", cwd=tmp_path)
    assert checked.status == 1
    assert [(row["path"], row["kind"]) for row in checked.json["findings"] if row["kind"] == "conflict"] == [
        (NOTE, "conflict")
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_which_of_two_documents_keeps_its_file_name_is_the_same_for_everybody(tmp_path: Path, turned: bool) -> None:
    one, two = pair(tmp_path, {})
    first, second = (two, one) if turned else (one, two)
    first.write(NOTE, note(9, created="2026-02-01"))
    second.write(NOTE, note(1))
    one.sync()
    done = two.sync()
    one.sync()
    assert one.files() == two.files() == {NOTE: note(9, created="2026-02-01"), SECOND: note(1)}
    assert [(each.path, each.now) for each in done.renamed] == [(NOTE, SECOND)]
    assert not done.conflicts and not done.kept


def test_what_was_changed_before_its_file_had_to_leave_goes_along(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {})
    one.write(NOTE, note(2))
    two.write(NOTE, note(1))
    one.sync()
    two.sync()
    assert two.text(SECOND) == note(2)
    one.write(NOTE, note(2, "more\n"))
    one.sync()
    two.sync()
    assert one.files() == two.files() == {NOTE: note(1), SECOND: note(2, "more\n")}


@pytest.mark.parametrize("turned", [False, True])
def test_a_document_that_one_moved_and_the_other_changed_is_one(tmp_path: Path, turned: bool) -> None:
    one, two = pair(tmp_path, {NOTE: note(1)})
    moving, changing = (two, one) if turned else (one, two)
    os.rename(moving.root / NOTE, moving.root / "workspaces/w/notes/crane.md")
    changing.write(NOTE, note(1, "more\n"))
    one.sync()
    two.sync()
    one.sync()
    assert one.files() == two.files() == {"workspaces/w/notes/crane.md": note(1, "more\n")}


def test_a_document_that_took_the_place_of_another_one_does_not_take_its_changes(tmp_path: Path) -> None:
    one, two = pair(tmp_path, {NOTE: note(1), SECOND: note(2)})
    one.write(NOTE, note(3))
    two.write(NOTE, note(1, "more\n"))
    one.sync()
    done = two.sync()
    one.sync()
    # The first one was deleted there and changed here: it stays.
    assert one.files() == two.files() == {NOTE: note(1, "more\n"), SECOND: note(2), THIRD: note(3)}
    assert done.kept == [NOTE] and not done.conflicts


def test_three_machines_with_notes_of_one_name_keep_all(tmp_path: Path) -> None:
    remote = remote_of(tmp_path)
    sides: list[Machine] = []
    for number, name in enumerate(("one", "two", "three"), 1):
        side = machine(tmp_path, name, remote)
        side.write(NOTE, note(number))
        side.sync(join=True)
        sides.append(side)
    for side in (*sides, *sides):
        side.sync()
    assert sides[0].files() == sides[1].files() == sides[2].files()
    assert sorted(sides[0].files().values()) == [note(1), note(2), note(3)]
    assert not sides[0].open_conflicts()
