"""Memory as its user meets it: notes, logs, an editor, two work trees, two projects, a backup, a folder taken over."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import ARGV, HARBOUR, Done, clew, commit, environ, git, write

SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def said(done: Done) -> str:
    """The reference that a command gave; it must have worked."""
    assert done.status == 0, done.err
    return done.out.strip()


def editor(tmp_path: Path, code: str) -> dict[str, str | None]:
    """The environment in which the editor is a Python program; `path` is the file that it is given."""
    program = tmp_path / "editor.py"
    head = "import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
    program.write_text(head + code, encoding="utf-8")
    return {"VISUAL": f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}", "EDITOR": "false"}


def notes_of(home: Path) -> list[Path]:
    return sorted((home / "clew" / "memory").rglob("*.md"))


# ---------------------------------------------------------------------- writing


@pytest.mark.requirement("W-01", "W-04", "W-14", "F-01")
def test_a_note_says_where_it_is_after_it_was_read_again_and_opens_by_what_it_said(harbour: Path, home: Path) -> None:
    done = clew("note", "The crane stops at wind force 7. Ask the tower first.", cwd=harbour)
    ref = said(done)
    (path,) = notes_of(home)
    assert "\ndescription: The crane stops at wind force 7. Ask the tower first.\n" in path.read_text(encoding="utf-8")
    assert ref.startswith("clew://memory/mem_") and f"saved as a new note: {path}" in done.err
    assert path.name == "the-crane-stops-at-wind-force-7.md"
    assert f'hint: say when it should come to mind: clew memory set {ref[14:]} when+="…"' in done.err
    for named in (ref, ref.removeprefix("clew://memory/")):
        assert clew("open", named, cwd=harbour).out == path.read_text(encoding="utf-8")
    part = clew("open", f"{ref}#L2-3", "--json", cwd=harbour).json
    assert (part["kind"], part["first"], part["text"].splitlines()[0]) == ("memory", 2, f"id: {ref[14:]}")
    assert clew("open", f"{ref}#L99", cwd=harbour).status == 2


@pytest.mark.requirement("W-01", "F-01")
def test_a_note_is_kept_as_its_options_say(harbour: Path) -> None:
    options = (
        "--name", "Friday freeze", "--type", "decision", "--when", "may I ship on Friday?",
        "--when", "release at night", "--tag", "Deploy", "--description", "No releases on Friday",
        "--branch", "--expires", "2099-12-31",
    )  # fmt: skip
    done = clew("note", "-", *options, "--json", cwd=harbour, stdin="Because nobody is there.\n")
    assert done.json["action"] == "created" and "hint:" not in done.err
    (row,) = clew("memory", "list", "--json", cwd=harbour).json
    wanted = {
        "name": "Friday freeze", "type": "decision", "when": ["may I ship on Friday?", "release at night"],
        "tags": ["deploy"], "description": "No releases on Friday", "branch": "main", "expires": "2099-12-31",
    }  # fmt: skip
    assert {key: row[key] for key in wanted} == wanted
    assert "Because nobody is there." in clew("open", row["id"], cwd=harbour).out


@pytest.mark.requirement("W-01", "F-01")
def test_what_was_said_already_is_not_written_twice_and_a_correction_supersedes(harbour: Path) -> None:
    first = said(clew("note", "Retries: five.", "--name", "Retries", "--when", "a call fails", cwd=harbour))
    again = clew("note", "Retries: five.", "--name", "retries", cwd=harbour)
    assert said(again) == first and "nothing to save" in again.err
    assert said(clew("note", "With a pause of 2 s.", "--name", "Retries", "--type", "decision", cwd=harbour)) == first
    assert clew("memory", "list", "--type", "decision", "--json", cwd=harbour).json[0]["ref"] == first
    third = clew("note", "Retries: three.", "--name", "Retries", "--replace", cwd=harbour)
    assert said(third) != first and f"it takes the place of {first}" in third.err
    assert "hint:" not in third.err, "the phrases of the old note go along"
    old = clew("open", first, cwd=harbour)
    assert "Retries: five." in old.out and f"superseded by {said(third)}" in old.err
    listed = clew("memory", "list", cwd=harbour)
    assert first[14:] not in listed.out and "1 more that do not hold any more" in listed.err
    assert first[14:] in clew("memory", "list", "--stale", cwd=harbour).out
    hits = clew("memory", "search", "how many retries?", "--json", cwd=harbour).json["hits"]
    assert hits[0]["reference"].startswith(said(third)) and hits[-1]["stale"]


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("end", ["status=superseded", "status=deprecated", "expires=2026-01-31"])
def test_what_does_not_hold_is_found_last_also_where_the_question_is_in_its_very_words(harbour: Path, end: str) -> None:
    old = said(clew("note", "Releases need two reviews.", "--name", "Reviews", cwd=harbour))
    new = said(clew("note", "Releases need one review and green tests.", "--name", "Green", cwd=harbour))
    clew("memory", "set", old, end, cwd=harbour)
    for scope in ("all", "notes"):
        found = clew("memory", "search", "Releases need two reviews.", "--scope", scope, "--json", cwd=harbour)
        hits = found.json["hits"]
        assert [one["reference"].partition("#")[0] for one in hits] == [new, old] and hits[1]["stale"]


@pytest.mark.requirement("R-10", "F-01")
def test_a_phrase_that_is_too_short_for_longer_messages_is_told_where_it_is_written(harbour: Path) -> None:
    told = clew("note", "Run make ship.", "--when", "how do I ship?", "--when", "rolling out a release", cwd=harbour)
    assert "note: `how do I ship?` has too few words to be found within a longer message" in told.err
    assert "rolling out" not in told.err
    assert "Run make ship" in clew("recall", "How do I ship", cwd=harbour).out
    again = clew("memory", "set", said(told), "when+=can I?", cwd=harbour)
    assert "`can I?` has too few words" in again.err and "how do I ship" not in again.err
    assert clew("memory", "set", said(told), "when+=", cwd=harbour).status == 2
    assert "Run make ship" in clew("recall", "Can I", cwd=harbour).out


@pytest.mark.requirement("W-01", "W-14")
def test_a_log_grows_by_the_day_and_its_entries_open_by_their_lines(harbour: Path) -> None:
    clew("log", "moved the tests to tox", cwd=harbour)
    ref = said(clew("log", "-", "--heading", "test run", cwd=harbour, stdin="3 passed\n"))
    assert clew("open", ref, cwd=harbour).out.splitlines()[0].endswith(" test run")
    assert clew("open", ref, cwd=harbour).out.splitlines()[-1] == "3 passed"
    hit = clew("memory", "search", "tests tox", "--scope", "logs", "--json", cwd=harbour).json["hits"][0]
    assert "moved the tests" in hit["snippet"]


@pytest.mark.requirement("W-09")
def test_a_secret_is_taken_out_of_all_that_is_written_and_said_so(harbour: Path, home: Path, tmp_path: Path) -> None:
    ref = said(noted := clew("note", f"The token of the bot is {SECRET}.", cwd=harbour))
    clew("log", f"used {SECRET}", cwd=harbour)
    code = f"path.write_text(path.read_text() + 'and again {SECRET}\\n')"
    edited = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, code))
    clew("memory", "set", ref, f"when+=the bot {SECRET}", cwd=harbour)
    clew("memory", "search", f"bot {SECRET}", cwd=harbour)
    for done in (noted, edited):
        assert "secrets were taken out" in done.err
    files = [path for path in (home / "clew").rglob("*") if path.is_file()]
    assert len(files) > 4 and not [path for path in files if SECRET.encode() in path.read_bytes()]


# ---------------------------------------------------------------------- finding


@pytest.mark.requirement("W-06")
def test_a_miss_says_what_was_searched_and_stands_in_the_audit(harbour: Path) -> None:
    clew("note", "The crane stops at wind force 7.", cwd=harbour)
    found = clew("memory", "search", "sourdough", "bread", cwd=harbour)
    assert (found.status, found.out) == (0, "")
    assert "nothing found for: sourdough, bread. Searched: 1 documents, " in found.err
    (entry,) = clew("audit", "--misses", "--json", cwd=harbour).json
    assert entry["query"] == "sourdough bread"


@pytest.mark.requirement("W-06", "F-01")
def test_a_search_is_narrowed_by_type_tag_scope_and_time(harbour: Path, home: Path) -> None:
    said(clew("note", "The crane stops in wind.", "--type", "gotcha", "--tag", "lifting", cwd=harbour))
    old = said(clew("note", "A crane is hired by the hour.", "--name", "Hire", cwd=harbour))
    path = next(path for path in notes_of(home) if path.stem == "hire")
    text = path.read_text(encoding="utf-8").replace("created: 2", "created: 1").replace("updated: 2", "updated: 1")
    path.write_text(text, encoding="utf-8")

    def names(*options: str) -> set[str]:
        found = clew("memory", "search", "crane", *options, "--json", cwd=harbour).json
        return {hit["name"] for hit in found["hits"]}

    assert names() == {"The crane stops in wind", "Hire"}
    assert names("--type", "gotcha") == names("--tag", "#Lifting") == names("--since", "3d") == names() - {"Hire"}
    assert names("--until", "1001-01-01") == set() and names("--until", "1999-12-31") == {"Hire"}
    assert names("--scope", "logs") == set()
    assert said(clew("memory", "set", "Hire", "status=deprecated", cwd=harbour)) == old
    assert "Hire (deprecated)" in clew("memory", "list", "--stale", cwd=harbour).out


@pytest.mark.requirement("W-01")
def test_what_is_forgotten_is_found_no_more_and_comes_back(harbour: Path) -> None:
    ref = said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=harbour))
    done = clew("memory", "forget", "crane", cwd=harbour)
    undo = done.err.partition("to take it back: clew ")[2].split()
    assert clew("memory", "search", "crane", cwd=harbour).out == ""
    assert "it does not hold any more: deleted" in clew("open", ref, cwd=harbour).err
    assert clew(*undo, cwd=harbour).status == 0
    assert ref in clew("memory", "search", "crane", cwd=harbour).out


@pytest.mark.requirement("W-01")
def test_a_key_is_set_and_every_other_byte_stays(harbour: Path, home: Path) -> None:
    clew("note", "x", "--name", "Retries", cwd=harbour)
    (path,) = notes_of(home)
    path.write_bytes(
        b"\xef\xbb\xbf---\r\nid: mine\r\nname:   'Retries'  # as we say\r\nwhen: [a]\r\n---\r\n\r\nFive.\r\n"
    )
    before = path.read_bytes()
    assert said(clew("memory", "set", "mine", "when+=b", "when+=a", cwd=harbour)) == "clew://memory/mine"
    after = path.read_bytes()
    assert b"when: [a, b]\r\n" in after and after.replace(b"[a, b]", b"[a]").startswith(before[:60])
    assert clew("memory", "set", "mine", "when=", cwd=harbour).status == 0
    assert b"when" not in path.read_bytes() and b"name:   'Retries'  # as we say\r\n" in path.read_bytes()
    for wrong in ("colour=red", "type=desision", "expires=soon", "name=", "status+=active", "when"):
        refused = clew("memory", "set", "mine", wrong, cwd=harbour)
        assert refused.status == 2 and "hint:" in refused.err
    new = said(clew("note", "Three.", "--name", "Fewer retries", cwd=harbour))
    done = clew("memory", "set", new, "supersedes=mine", cwd=harbour)
    assert "it takes the place of clew://memory/mine" in done.err
    assert f"superseded by {new}" in clew("open", "clew://memory/mine", cwd=harbour).err


# ---------------------------------------------------------------------- an editor


@pytest.mark.requirement("W-01")
def test_an_editor_changes_a_note_and_what_is_wrong_in_it_is_told(harbour: Path, home: Path, tmp_path: Path) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    code = "path.write_text(path.read_text().replace('five', 'three').replace('type: note', 'type: notte'))"
    done = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, code))
    assert said(done) == ref and "`type` is `notte`" in done.err
    assert "Retries: three." in notes_of(home)[0].read_text(encoding="utf-8")
    same = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, ""))
    assert "nothing to save" in same.err
    failed = clew("memory", "edit", ref, cwd=harbour, env={"VISUAL": "false"})
    assert failed.status == 2 and "nothing was changed" in failed.err


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("left", ["''", "path.read_text().rpartition('Retries: five.')[0]"], ids=["nothing", "no body"])
def test_an_editor_that_empties_a_note_changes_nothing(harbour: Path, home: Path, tmp_path: Path, left: str) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    before = notes_of(home)[0].read_bytes()
    done = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, f"path.write_text({left})"))
    assert done.status == 2 and "would say nothing" in done.err and "saved" not in done.err
    assert f"clew memory forget {ref[14:]}" in done.err and notes_of(home)[0].read_bytes() == before


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("gone", ["'id: '", "'---\\n'"], ids=["the line", "the front matter"])
def test_an_editor_that_takes_out_the_id_is_told_and_its_text_is_kept(
    harbour: Path, home: Path, tmp_path: Path, gone: str
) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    before = notes_of(home)[0].read_bytes()
    code = f"path.write_text(path.read_text().replace({gone}, 'x: ').replace('five', 'three'))"
    done = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, code))
    assert done.status == 2 and f"`id: {ref[14:]}`" in done.err and notes_of(home)[0].read_bytes() == before
    kept = Path(done.err.partition("what you wrote is kept in `")[2].partition("`")[0])
    assert "Retries: three." in kept.read_text(encoding="utf-8")


@pytest.mark.requirement("W-01", "W-04")
def test_an_editor_that_changes_the_id_is_told_and_its_text_is_kept(harbour: Path, home: Path, tmp_path: Path) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    other = said(clew("note", "Waits: ten.", "--name", "Waits", cwd=harbour))
    before = [path.read_bytes() for path in notes_of(home)]
    for id_, why in (("mem_000000000001", "another id"), (other[14:], f"has the id `{other[14:]}`")):
        code = f"path.write_text(path.read_text().replace('{ref[14:]}', '{id_}').replace('five', 'three'))"
        done = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, code))
        assert done.status == 2 and why in done.err and f"`id: {ref[14:]}`" in done.err, done.err
        assert [path.read_bytes() for path in notes_of(home)] == before
        kept = Path(done.err.partition("what you wrote is kept in `")[2].partition("`")[0])
        assert "Retries: three." in kept.read_text(encoding="utf-8")
    assert "five" in clew("open", ref, cwd=harbour).out and "ten" in clew("open", other, cwd=harbour).out


@pytest.mark.requirement("W-01", "W-04")
def test_an_editor_mends_an_id_that_two_documents_have_or_that_one_lacks(
    harbour: Path, home: Path, tmp_path: Path
) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    (path,) = notes_of(home)
    path.with_name("copy.md").write_text(path.read_text().replace("name: Retries", "name: Copy"))
    code = f"path.write_text(path.read_text().replace('{ref[14:]}', 'mem_000000000001'))"
    mended = clew("memory", "edit", "Copy", cwd=harbour, env=editor(tmp_path, code))
    assert said(mended) == "clew://memory/mem_000000000001" and "five" in clew("open", ref, cwd=harbour).out
    path.with_name("bare.md").write_text("---\nname: Bare\n---\n\nNothing.\n")
    taken = "path.write_text(path.read_text().replace('name:', 'id: ID\\nname:', 1))"
    done = clew("memory", "edit", "Bare", cwd=harbour, env=editor(tmp_path, taken.replace("ID", ref[14:])))
    assert done.status == 2 and f"has the id `{ref[14:]}`" in done.err and "memory check --fix" in done.err
    done = clew("memory", "edit", "Bare", cwd=harbour, env=editor(tmp_path, taken.replace("ID", "mem_000000000002")))
    assert said(done) == "clew://memory/mem_000000000002"


@pytest.mark.requirement("W-01")
@pytest.mark.parametrize("words", [("memory", "edit", "Retries"), ("plan", "edit")], ids=["a note", "the plan"])
def test_without_a_terminal_and_an_editor_that_is_named_nothing_waits_for_keys(
    harbour: Path, words: tuple[str, ...]
) -> None:
    assert clew("note", "Retries: five.", "--name", "Retries", cwd=harbour).status == 0
    done = clew(*words, cwd=harbour, env={"VISUAL": None, "EDITOR": None}, timeout=20)
    assert done.status == 2 and "there is no editor" in done.err and "hint: set VISUAL or EDITOR" in done.err


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("other", ["a note by another process", "an editor of its own"])
def test_two_who_edit_at_once_lose_nothing(harbour: Path, home: Path, tmp_path: Path, other: str) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    (path,) = notes_of(home)
    inside = f"import subprocess\nsubprocess.run({[*ARGV, 'note', 'With a pause.', '--name', 'Retries']!r}, check=True)"
    by_hand = f"own = Path({str(path)!r})\nown.write_text(own.read_text() + 'With a pause.\\n')"
    code = (inside if other.startswith("a note") else by_hand) + "\npath.write_text(path.read_text() + 'MINE\\n')"
    done = clew("memory", "edit", ref, cwd=harbour, env=editor(tmp_path, code))
    assert done.status == 2 and "has changed since it was read" in done.err
    kept = Path(done.err.partition("what you wrote is kept in `")[2].partition("`")[0])
    assert "MINE" in kept.read_text(encoding="utf-8") and kept.stat().st_mode & 0o077 == 0
    assert path.read_text(encoding="utf-8").endswith("With a pause.\n")


@pytest.mark.requirement("F-01")
def test_adding_without_a_text_opens_the_editor_on_a_terminal(harbour: Path, tmp_path: Path) -> None:
    code = "text = path.read_text().replace('when:', 'when: [lifting]').replace('name:', 'name: Crane')\n"
    code += "path.write_text(text + 'Stop.')"
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*ARGV, "memory", "add", "--type", "gotcha"],
        cwd=harbour, env=environ(editor(tmp_path, code)), stdin=theirs, capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    (row,) = clew("memory", "list", "--json", cwd=harbour).json
    assert (row["name"], row["type"], row["when"]) == ("Crane", "gotcha", ["lifting"])
    piped = clew("memory", "add", "--name", "Quay", cwd=harbour, stdin="The quay is wet.")
    assert said(piped) and clew("memory", "add", cwd=harbour).status == 2


@pytest.mark.requirement("W-01")
def test_a_hand_edit_counts_at_once_and_a_search_that_runs_meanwhile_breaks_nothing(harbour: Path, home: Path) -> None:
    for number in range(3):
        clew("note", f"Berth {number} is {number} m deep.", "--name", f"Berth {number}", cwd=harbour)
    assert "Berth 1" in clew("memory", "search", "berth", cwd=harbour).out
    path = notes_of(home)[0]
    running = [
        subprocess.Popen(
            [*ARGV, "memory", "search", "how deep is it?", "--json"],
            cwd=harbour, env=environ({}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    saved = 0
    while saved < 40 or any(one.poll() is None for one in running):
        saved += 1
        beside = path.with_name(".swap")
        beside.write_text(f"---\nid: mine\nname: Berth zero\n---\n\nIt is {saved} fathoms deep.\n", encoding="utf-8")
        beside.replace(path)
    for one in running:
        _, told = one.communicate(timeout=60)
        assert one.returncode == 0, told
    hits = clew("memory", "search", "fathoms", "--json", cwd=harbour).json["hits"]
    assert hits[0]["reference"].startswith("clew://memory/mine#L6") and f"is {saved} fathoms" in hits[0]["snippet"]


# ---------------------------------------------------------------------- places


@pytest.mark.requirement("W-01", "W-06")
def test_work_trees_share_notes_and_branches_keep_theirs(harbour: Path, tmp_path: Path) -> None:
    git(harbour, "worktree", "add", "-q", "-b", "storm", str(tmp_path / "storm"))
    everywhere = said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=tmp_path / "storm"))
    here = said(clew("note", "The crane is broken.", "--name", "Crane", "--branch", cwd=tmp_path / "storm"))
    assert here != everywhere
    assert everywhere in clew("memory", "search", "crane", cwd=harbour).out
    assert here not in clew("memory", "search", "crane", cwd=harbour).out
    assert here in clew("memory", "search", "crane", cwd=tmp_path / "storm").out
    (row,) = (line for line in clew("memory", "list", cwd=harbour).out.splitlines() if here[14:] in line)
    assert "Crane (holds on the branch storm only)" in row
    (row,) = (line for line in clew("memory", "list", cwd=tmp_path / "storm").out.splitlines() if here[14:] in line)
    assert "Crane @storm" in row


@pytest.mark.requirement("W-01", "W-06")
def test_a_second_project_with_like_named_things_stays_apart(harbour: Path, tmp_path: Path) -> None:
    mill = write(tmp_path / "mill", HARBOUR | {"mill.txt": "wheat\n"})
    commit(mill, "Grind wheat")
    blue = said(clew("note", "Deploy with the blue button.", "--name", "Deploy", cwd=harbour))
    red = said(clew("note", "Deploy with the red lever.", "--name", "Deploy", cwd=mill))
    mine = said(clew("note", "Never deploy after lunch.", "--name", "Lunch", "--personal", cwd=mill))
    found = clew("memory", "search", "how do I deploy?", cwd=harbour).out
    assert blue in found and mine in found and red not in found
    assert red in clew("memory", "search", "how do I deploy?", "--all", cwd=harbour).out
    assert clew("open", red, cwd=harbour).status == 0
    assert {row["ref"] for row in clew("memory", "list", "--json", cwd=harbour).json} == {blue, mine}
    assert len(clew("memory", "list", "--all", "--json", cwd=harbour).json) == 3
    assert said(clew("memory", "set", "Deploy", "tags=ship", cwd=mill)) == red


@pytest.mark.requirement("W-01")
def test_a_folder_that_gets_a_remote_is_told_where_its_notes_lie(harbour: Path, home: Path) -> None:
    ref = said(clew("note", "The crane stops at wind force 7.", cwd=harbour))
    git(harbour, "remote", "add", "origin", "https://example.com/ada/harbour.git")
    for _ in range(2):
        told = clew("memory", "list", cwd=harbour)
        assert ref[14:] not in told.out and f"below a line [alias] in {home / 'clew' / 'workspaces.toml'}" in told.err
    line = told.err.partition("write ")[2].partition(" below a line")[0]
    write(home / "clew", {"workspaces.toml": f"[alias]\n{line}\n"})
    assert ref[14:] in clew("memory", "list", cwd=harbour).out
    (home / "clew" / "workspaces.toml").unlink()
    clew("note", "A new beginning.", cwd=harbour)
    assert clew("memory", "list", cwd=harbour).err == ""


@pytest.mark.requirement("W-01")
def test_a_backup_that_is_put_back_is_the_memory_again(harbour: Path, home: Path, tmp_path: Path) -> None:
    root = home / "clew" / "memory"
    ref = said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=harbour))
    clew("memory", "search", "crane", cwd=harbour)
    shutil.copytree(root, tmp_path / "backup")
    clew("note", "The crane stops at wind force 5.", "--name", "Crane", "--replace", cwd=harbour)
    assert "force 5" in clew("memory", "search", "crane", cwd=harbour).out
    shutil.rmtree(root)
    assert clew("memory", "search", "crane", cwd=harbour).out == ""
    shutil.copytree(tmp_path / "backup", root)
    found = clew("memory", "search", "crane", cwd=harbour)
    assert ref in found.out and "force 7" in found.out and "force 5" not in found.out
    assert clew("open", ref, cwd=harbour).err == ""


@pytest.mark.requirement("W-01")
@pytest.mark.parametrize("state", ["damaged", "gone", "of a newer Clew"])
def test_the_index_is_made_again_from_the_files(harbour: Path, home: Path, state: str) -> None:
    ref = said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=harbour))
    clew("memory", "search", "crane", cwd=harbour)
    path = home / "clew" / "index" / "memory.db"
    if state == "gone":
        shutil.rmtree(path.parent)
    elif state == "damaged":
        path.write_bytes(b"x" * 9000)
    else:
        with closing(sqlite3.connect(path)) as index, index:
            index.execute("update meta set value = 99 where key = 'format'")
        assert "newer Clew" in clew("memory", "search", "crane", cwd=harbour).err
    assert clew("index", "rebuild", "--json", cwd=harbour).json["memory"]["documents"] == 1
    assert ref in clew("memory", "search", "crane", cwd=harbour).out
    assert "memory: 1 documents, 1 passages" in clew("index", "rebuild", cwd=harbour).out


@pytest.mark.requirement("W-01")
def test_a_folder_is_taken_over_once_and_followed_afterwards(harbour: Path, tmp_path: Path) -> None:
    vault = write(
        tmp_path / "vault", {"crane.md": "# Crane\n\nStops at 7.\n", "ops/deploy.md": "Blue button.\n", "x.txt": "x"}
    )
    before = {path: path.read_bytes() for path in vault.rglob("*.md")}
    planned = clew("memory", "import", str(vault), "--dry-run", cwd=harbour)
    assert "nothing was written; it would be: new 2" in planned.err
    assert clew("memory", "list", "--json", cwd=harbour).json == []
    first = clew("memory", "import", str(vault), "--json", cwd=harbour).json
    assert [(row["file"], row["action"]) for row in first["files"]] == [("crane.md", "new"), ("ops/deploy.md", "new")]
    assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before
    (vault / "crane.md").write_text("# Crane\n\nStops at 6.\n", encoding="utf-8")
    second = clew("memory", "import", str(vault), cwd=harbour)
    assert "new: 0, changed: 1, moved: 0, the same: 1" in second.err and second.out.startswith("changed ")
    assert "Stops at 6." in clew("memory", "search", "crane stops", cwd=harbour).out
    rows = {row["name"]: row for row in clew("memory", "list", "--json", cwd=harbour).json}
    assert rows["Crane"]["description"] == "Stops at 6."
    clew("memory", "set", "Crane", "description=When it stops", cwd=harbour)
    (vault / "crane.md").write_text("# Crane\n\nStops at 5.\n", encoding="utf-8")
    clew("memory", "import", str(vault), cwd=harbour)
    assert clew("memory", "list", cwd=harbour).out.count("When it stops") == 1
    assert clew("memory", "import", str(tmp_path / "nothing"), cwd=harbour).status == 2


@pytest.mark.requirement("W-01", "F-01")
def test_a_check_fails_where_something_is_wrong_and_mends_what_it_can(harbour: Path, home: Path) -> None:
    assert clew("memory", "check", cwd=harbour).status == 0
    write(home / "clew" / "memory", {"user/taste.md": "---\nname: Taste\ndescription: d\ntags [a]\n---\n\nTabs.\n"})
    found = clew("memory", "check", cwd=harbour)
    assert found.status == 1 and "user/taste.md:1: the document has no id" in found.out
    assert "user/taste.md:4: this line belongs to no key" in found.out and "findings: 2" in found.err
    left = clew("memory", "check", "--fix", "--json", cwd=harbour)
    assert left.status == 1 and left.json["mended"] == ["user/taste.md"]
    assert [one["line"] for one in left.json["findings"]] == [4]
    path = home / "clew" / "memory" / "user" / "taste.md"
    clew("memory", "search", "tabs", cwd=harbour)
    path.write_text(
        "\n".join(line for line in path.read_text().splitlines() if "tags" not in line and "id:" not in line)
    )
    assert "references to that find nothing" in clew("memory", "check", cwd=harbour).out
    # The id that it had comes back.
    assert clew("memory", "check", "--fix", cwd=harbour).status == 0


@pytest.mark.requirement("W-01")
def test_every_command_says_where_the_notes_of_a_former_id_lie_until_there_are_notes_here(
    harbour: Path, home: Path
) -> None:
    clew("note", "The crane is locked by hand.", "--name", "crane lock", cwd=harbour)
    git(harbour, "remote", "add", "origin", "https://github.com/ada/harbour")
    commands = (
        ("memory", "list"), ("memory", "search", "crane"), ("recall", "crane"), ("ask", "how is the crane locked?"),
        ("context", "how is the crane locked?"), ("audit",), ("handoff",), ("plan",), ("log", "Looked at the crane."),
        ("memory", "check"),
    )  # fmt: skip
    for command in commands:
        assert "workspaces.toml" in clew(*command, cwd=harbour).err, command
    assert "workspaces.toml" in clew("note", "Berths are numbered.", "--name", "berths", cwd=harbour).err
    assert "workspaces.toml" not in clew("memory", "list", cwd=harbour).err


@pytest.mark.requirement("W-01")
def test_a_document_that_cannot_be_mended_keeps_no_other_from_it(harbour: Path, home: Path) -> None:
    sound = "---\nname: {}\ndescription: d\n---\n\nText.\n"
    write(home / "clew" / "memory", {
        "user/aaa.md": sound.format("aaa"), "user/zzz.md": sound.format("zzz"),
        "user/mmm.md": "---\nname: mmm\ndescription: " + "d " * 40_000 + "\n---\n\nText.\n",
    })  # fmt: skip
    done = clew("memory", "check", "--fix", "--json", cwd=harbour)
    assert done.json["mended"] == ["user/aaa.md", "user/zzz.md"]
    assert "`user/mmm.md` is not mended" in done.err and done.status == 1
    assert any(one["path"] == "user/mmm.md" for one in done.json["findings"])


@pytest.mark.requirement("W-01", "Q-46")
def test_a_folder_that_leads_out_of_the_memory_or_is_none_is_a_finding(harbour: Path, home: Path) -> None:
    clew("note", "The crane is locked by hand.", "--name", "crane", cwd=harbour)
    (notes,) = (home / "clew" / "memory").glob("workspaces/*/notes")
    elsewhere = home / "cloud"
    notes.rename(elsewhere)
    notes.symlink_to(elsewhere)
    found = clew("memory", "check", cwd=harbour)
    assert found.status == 1 and "notes:1: it is a link out of the memory" in found.out
    assert "documents that cannot be read: 1" in clew("memory", "list", cwd=harbour).err
    notes.unlink()
    notes.write_text("a file\n", encoding="utf-8")
    assert "a file is where a folder belongs" in clew("memory", "check", cwd=harbour).out


@pytest.mark.requirement("W-01", "W-14")
def test_a_document_without_an_id_opens_by_its_path(harbour: Path, home: Path) -> None:
    write(home / "clew" / "memory", {"user/taste.md": "# Taste\n\nTabs, never blanks.\n"})
    hit = clew("memory", "search", "tabs", "--json", cwd=harbour).json["hits"][0]
    assert hit["reference"] == "user/taste.md#L1-3"
    assert clew("open", hit["reference"], cwd=harbour).out == "# Taste\n\nTabs, never blanks.\n"


@pytest.mark.requirement("F-01", "Q-20")
def test_references_are_completed_by_id_and_by_name(harbour: Path) -> None:
    ref = said(clew("note", "x", "--name", "Crane in the wind", cwd=harbour))
    env = {"_CLEW_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    for begun in ("mem_", "crane"):
        done = clew(cwd=harbour, env=env | {"COMP_WORDS": f"clew memory edit {begun}"})
        assert done.out.split(",")[-1].strip() == ref[14:]
    done = clew(cwd=harbour, env=env | {"COMP_CWORD": "2", "COMP_WORDS": "clew open mem_"})
    assert ref[14:] in done.out


@pytest.mark.requirement("W-17")
def test_what_was_written_is_committed_when_the_command_ends(harbour: Path, home: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=harbour)
    root = home / "clew" / "memory"
    assert git(root, "status", "--porcelain") == ""
    assert "new note `Crane`" in git(root, "log", "-1", "--format=%s")


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize(
    "arguments",
    [
        ("note",), ("note", " "), ("note", "x", "--expires", "soon"), ("note", "x", "--expires", "2001-01-01"),
        ("note", "x", "--type", "desision"), ("note", "x", "--personal", "--branch"),
        ("note", "x", "--when", ""), ("note", "x", "--when", "is it?", "--when", " ?!"),
        ("log",), ("memory", "edit", "nothing"), ("memory", "forget", "nothing"),
        ("memory", "search", " "), ("memory", "search", "x", "--since", "soon"),
        ("memory", "set", "nothing", "type=note"), ("open", "clew://memory/"), ("open", "mem_000000000000"),
        ("memory", "import", "nothing"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_done_is_told_with_what_can(harbour: Path, home: Path, arguments: tuple[str, ...]) -> None:
    found = clew(*arguments, cwd=harbour)
    assert found.status == 2 and found.err.startswith("error: ") and "\nhint: " in found.err and found.out == ""
    assert notes_of(home) == []
    chinese = clew(*arguments, cwd=harbour, env={"LC_ALL": "zh_CN.UTF-8"})
    assert chinese.err.startswith("错误：") and "\n提示：" in chinese.err
    assert clew("note", "-", cwd=harbour, stdin=b"\0\1").status == 2


@pytest.mark.requirement("W-09")
def test_what_a_hand_edit_left_in_front_matter_and_names_is_shown_nowhere(harbour: Path, home: Path) -> None:
    said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", cwd=harbour))
    (path,) = notes_of(home)
    notes = path.parent
    head = (
        f"id: {SECRET}", "name: Hoist", "description: who may lift the crane in wind", f"type: {SECRET}",
        f"expires: {SECRET}", "tags: [<private>Ada's cat</private>]", f"{SECRET}: x", "when: [lifting in this wind]",
    )  # fmt: skip
    hoist = "---\n" + "\n".join(head) + "\n---\nHoist of the crane: ask Ada.\n"
    write(
        notes,
        {
            "hoist.md": hoist,
            f"{SECRET}.md": "---\nid: mem_aaaaaaaaaaaa\nname: Tower\ndescription: the tower\n---\nTower.\n",
        },
    )
    listed, checked = clew("memory", "list", "--json", cwd=harbour), clew("memory", "check", cwd=harbour)
    assert [row["id"] for row in listed.json if row["name"] == "Hoist"] == [""]
    assert "the id has characters" in checked.out and "the name of the file holds a secret" in checked.out
    for arguments in (
        ("memory", "list"), ("memory", "check", "--json"), ("memory", "search", "hoist crane tower"),
        ("recall", "-v", "may we lift in this wind?"), ("memory", "rebuild"), ("audit",),
    ):  # fmt: skip
        done = clew(*arguments, cwd=harbour)
        for shown in (done, listed, checked):
            assert SECRET not in shown.out + shown.err and "Ada's cat" not in shown.out + shown.err, arguments
    kept = [one for one in home.rglob("*") if one.is_file() and "memory/workspaces" not in one.as_posix()]
    assert not [one for one in kept if SECRET.encode() in one.read_bytes()]
    assert clew("memory", "check", "--fix", cwd=harbour).status == 1
    assert "\nid: mem_" in (notes / "hoist.md").read_text(encoding="utf-8")


@pytest.mark.requirement("F-01")
def test_where_nothing_can_be_kept_search_and_hints_answer_all_the_same(harbour: Path, home: Path) -> None:
    said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", "--when", "lifting in wind", cwd=harbour))
    for folder in {
        next((home / "clew").rglob("memory.db"), home / "clew" / "index" / "x").parent,
        *(home / "clew").rglob("recall"),
    }:
        shutil.rmtree(folder, ignore_errors=True)
        folder.write_text("not a folder", encoding="utf-8")
    for language in ("C.UTF-8", "zh_CN.UTF-8"):
        for arguments in (("memory", "search", "crane wind"), ("recall", "may we go on lifting in wind?")):
            done = clew(*arguments, cwd=harbour, env={"LC_ALL": language})
            assert done.status == 0 and "wind force 7" in done.out, done.err
            told = "索引无法保存" if "zh" in language else "the index could not be kept"
            assert done.err.count(told) == 1


@pytest.mark.requirement("W-15")
@pytest.mark.parametrize("newer", [True, False])
def test_a_record_of_rejections_that_cannot_be_read_is_told(harbour: Path, home: Path, newer: bool) -> None:
    said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", "--when", "lifting in wind", cwd=harbour))
    record = home / "clew" / "hints.db"
    question = ("recall", "may we go on lifting in wind?")
    assert "rejected did not count" not in clew(*question, cwd=harbour).err
    if newer:
        with closing(sqlite3.connect(record)) as connection:
            connection.execute("pragma user_version = 99")
    else:
        record.write_bytes(b"no database at all" * 100)
    done = clew(*question, cwd=harbour)
    assert "wind force 7" in done.out and done.err.count("what you rejected did not count this time: ") == 1


@pytest.mark.requirement("W-09")
def test_a_secret_is_found_by_itself_where_its_placeholder_stands(harbour: Path) -> None:
    ref = said(clew("note", f"The mirror is opened with {SECRET} only.", "--name", "Mirror", cwd=harbour))
    said(clew("note", f"The crane is opened with {SECRET[:-4]}Zz12 only.", "--name", "Crane", cwd=harbour))
    found = clew("memory", "search", SECRET, "--json", cwd=harbour)
    assert found.json["hits"][0]["reference"].startswith(ref)
    assert SECRET not in found.out + found.err


@pytest.mark.requirement("F-01")
def test_what_could_not_be_read_is_counted_by_search_and_recall(harbour: Path, home: Path) -> None:
    said(clew("note", "The crane stops at wind force 7.", "--name", "Crane", "--when", "lifting in wind", cwd=harbour))
    (path,) = notes_of(home)
    big = "---\nid: mem_aaaaaaaaaaaa\nname: Big\ndescription: big\n---\n" + "crane wind\n" * 200_000
    write(path.parent, {"big.md": big, "bad.md": b"\xff\xfe crane"})
    for arguments in (("memory", "search", "crane wind"), ("recall", "may we go on lifting in wind?")) * 2:
        done = clew(*arguments, cwd=harbour)
        assert "wind force 7" in done.out
        assert (
            done.err.count("2 documents or folders of memory could not be read; `clew memory check` tells which") == 1
        )
    checked = clew("memory", "check", cwd=harbour).out
    assert "big.md:1" in checked and "bad.md:1" in checked


# ---------------------------------------------------------------------- what is refused and taken back


@pytest.mark.requirement("W-06")
def test_a_wrong_supersession_is_taken_back_and_the_other_note_holds_again(harbour: Path) -> None:
    old = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    new = said(clew("note", "The quay is closed.", "--name", "Quay", cwd=harbour))
    nothing = clew("memory", "set", new, "supersedes=", cwd=harbour)
    assert said(nothing) == new and "nothing changes" in nothing.err
    said(clew("memory", "set", new, "supersedes=Retries", cwd=harbour))
    assert "superseded by" in clew("open", old, cwd=harbour).err
    assert said(clew("memory", "set", new, "supersedes=", "tags=quay", cwd=harbour)) == new
    rows = {row["name"]: row for row in clew("memory", "list", "--json", cwd=harbour).json}
    assert rows["Retries"]["status"] == "active" and rows["Quay"]["tags"] == ["quay"]
    assert "superseded" not in clew("open", old, cwd=harbour).out + clew("open", old, cwd=harbour).err
    assert clew("memory", "check", cwd=harbour).status == 0


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("written", [False, True], ids=["without the key", "with the key"])
def test_every_key_can_be_given_an_empty_value_without_a_crash(harbour: Path, written: bool) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    said(clew("note", "Retries: four.", "--name", "Old", cwd=harbour))
    if written:
        values = (
            "description=How often", "branch=main", "expires=2099-01-01", "tags=a", "when=it fails", "supersedes=Old",
        )  # fmt: skip
        said(clew("memory", "set", ref, *values, cwd=harbour))
    for key in ("name", "description", "type", "status", "branch", "expires", "tags", "when", "supersedes"):
        done = clew("memory", "set", ref, f"{key}=", cwd=harbour)
        assert done.status == (2 if key in ("name", "type", "status") else 0), (key, done.err)
        assert "unexpected" not in done.err and (done.status == 0) == (done.out.strip() == ref)
    row = next(one for one in clew("memory", "list", "--json", cwd=harbour).json if one["name"] == "Retries")
    assert not any(row[key] for key in ("description", "branch", "expires", "tags", "when"))
    assert "supersedes" not in clew("open", ref, cwd=harbour).out


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize(
    "command",
    [
        ("note", "-", "--name", "lat"), ("log", "-"), ("memory", "add", "-"), ("handoff", "save", "-"),
        ("note", os.fsdecode(b"caf\xe9")), ("log", os.fsdecode(b"caf\xe9")), ("handoff", "save", os.fsdecode(b"\xe9")),
        ("note", "x", "--name", os.fsdecode(b"caf\xe9")), ("note", "x", "--when", os.fsdecode(b"is caf\xe9 open")),
        ("note", "x", "--tag", os.fsdecode(b"caf\xe9")), ("note", "x", "--description", os.fsdecode(b"caf\xe9")),
        ("log", "x", "--heading", os.fsdecode(b"caf\xe9")), ("handoff", "save", "x", "--name", os.fsdecode(b"\xe9")),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text_are_refused_and_nothing_is_saved(
    harbour: Path, home: Path, command: tuple[str, ...]
) -> None:
    done = clew(*command, cwd=harbour, stdin=b"caf\xe9")
    assert done.status == 2 and "is not UTF-8" in done.err and "hint: nothing was saved" in done.err
    assert done.out == "" and notes_of(home) == []


@pytest.mark.requirement("W-06")
def test_what_a_document_says_of_itself_is_never_set_to_what_is_no_text_or_too_long(harbour: Path, home: Path) -> None:
    ref = said(clew("note", "Retries: five.", "--name", "Retries", cwd=harbour))
    before = [path.read_bytes() for path in notes_of(home)]
    for change in ("name=", "description=", "when+=is it ", "tags+="):
        done = clew("memory", "set", ref, change + os.fsdecode(b"caf\xe9"), cwd=harbour)
        assert done.status == 2 and "is not UTF-8" in done.err, change
    long = clew("memory", "set", ref, "name=" + "n" * 81, cwd=harbour)
    assert long.status == 2 and "longer than 80 characters" in long.err
    assert [path.read_bytes() for path in notes_of(home)] == before
    assert said(clew("memory", "set", ref, "name=" + "n" * 80, cwd=harbour)) == ref


@pytest.mark.requirement("W-06")
def test_an_empty_folder_or_reference_is_refused_and_means_nothing_at_hand(harbour: Path, home: Path) -> None:
    said(clew("note", "The crane stops.", "--name", "Crane", "--when", "may we lift in this wind?", cwd=harbour))
    for command in (
        ("memory", "import", ""), ("memory", "import", " "), ("recall", "--reject", "", "may we lift in this wind?"),
        ("recall", "--accept", "", "may we lift in this wind?"), ("recall", "--reject", " ", "may we lift?"),
        ("recall", "--accept", "clew://memory/"), ("recall", "--reject", "", "--accept", "", "may we lift?"),
        ("memory", "forget", ""), ("memory", "edit", ""), ("memory", "set", "", "tags=a"), ("open", ""),
    ):  # fmt: skip
        done = clew(*command, cwd=harbour)
        assert done.status == 2 and "hint:" in done.err and done.out == "", command
    assert len(notes_of(home)) == 1
