"""What one field of a write reveals is gone from all of them, from names of files, the trail, indexes and hints."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.command import Done, clew, git, write
from tests.wire.lines import talking

pytestmark = pytest.mark.requirement("W-09")

TOKEN = "ghp_" + "x7K2mQ9vR4tY1wZ8nB3cD6fG5hJ0pL2s" + "A4eU"


def holders(data: Path, *words: str) -> list[str]:
    """Files of Clew, and objects of its git, that hold one of the words in any case, in their bytes or names."""
    wanted = [word.lower().encode() for word in words]
    found = [
        path.relative_to(data).as_posix()
        for path in sorted(data.rglob("*"))
        if any(one in path.name.lower().encode() or (path.is_file() and one in path.read_bytes().lower())
               for one in wanted)
    ]  # fmt: skip
    if (data / "memory/.git").exists():
        objects = git(data / "memory", "cat-file", "--batch-all-objects", "--batch").lower()
        objects += git(data / "memory", "log", "--all", "--name-only", "--format=%B").lower()
        found += [f"git: {one!r}" for one in wanted if one.decode() in objects]
    return found


def says(done: Done, *words: str) -> list[str]:
    said = (done.out + done.err).lower()
    return [word for word in words if word.lower() in said]


def test_a_password_that_the_text_of_a_note_reveals_is_gone_from_all_its_fields(home: Path, harbour: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    done = clew(
        "note", "the staging password is Xk39vQz7a", "--name", "Server Xk39vQz7a", "--tag", "Xk39vQz7a",
        "--when", "login with Xk39vQz7a", "--description", "For xk39vqz7a", cwd=harbour,
    )  # fmt: skip
    assert done.status == 0 and "secrets" in done.err, done.err
    clew("recall", "login with the server", cwd=harbour)
    clew("memory", "search", "server login", cwd=harbour)
    assert holders(home / "clew", "Xk39vQz7a") == [] and says(done, "Xk39vQz7a") == []
    assert "no YAML" not in clew("memory", "check", cwd=harbour).out


@pytest.mark.parametrize("field", ["--name", "--description", "--when"])
def test_a_password_that_another_field_reveals_is_gone_from_the_text(home: Path, harbour: Path, field: str) -> None:
    told = "the staging password is Xk39vQz7a"
    fields = {"--name": "Server", field: told}
    done = clew("note", "Xk39vQz7a it is", *(word for pair in fields.items() for word in pair), cwd=harbour)
    assert done.status == 0, done.err
    assert holders(home / "clew", "Xk39vQz7a") == []


def test_a_name_that_is_made_from_a_text_holds_nothing_that_the_text_reveals(home: Path, harbour: Path) -> None:
    done = clew("note", "# Xk39-vQz7a\n\nThe staging password is Xk39-vQz7a.\n", cwd=harbour)
    assert done.status == 0, done.err
    assert holders(home / "clew", "Xk39-vQz7a", "xk39_vqz7a", "xk39 vqz7a") == []


def test_a_note_that_is_there_gets_nothing_that_what_is_added_reveals(home: Path, harbour: Path) -> None:
    assert clew("note", "It hums.", "--name", "NAS", cwd=harbour).status == 0
    more = ("--name", "NAS", "--when", "open Qw81zRtY6u", "--tag", "Qw81zRtY6u", "--description", "by Qw81zRtY6u")
    for way in ((), ("--replace",)):
        done = clew("note", "The NAS password is Qw81zRtY6u", *more, *way, cwd=harbour)
        assert done.status == 0 and "secrets" in done.err, done.err
        assert holders(home / "clew", "Qw81zRtY6u") == []


def test_what_a_model_notes_over_mcp_has_the_password_in_no_field(home: Path, harbour: Path) -> None:
    word = "Qw81zRtY6u"
    with talking(harbour) as server:
        server.initialize()
        told = {"text": f"The NAS password is {word}", "name": f"NAS {word}", "description": f"with {word}"}
        text = server.call("memory_note", told | {"when": [f"log in with {word}", f"open {word}"]})
        told = {"text": f"## Next\nThe NAS password is {word}\n## State\n{word}", "name": f"After {word}"}
        handed = server.call("memory_note", told | {"kind": "handoff"})
    assert word.lower() not in f"{text}{handed}".lower()
    assert holders(home / "clew", word) == []


def test_an_entry_of_the_log_and_its_heading_are_one(home: Path, harbour: Path) -> None:
    done = clew("log", "DB_PASSWORD=Wm20QkLr9x", "--heading", "rotated Wm20QkLr9x", cwd=harbour)
    assert done.status == 0 and "secrets" in done.err, done.err
    assert holders(home / "clew", "Wm20QkLr9x") == []


def test_keys_that_are_set_are_clean_of_what_the_others_and_the_note_reveal(home: Path, harbour: Path) -> None:
    assert clew("note", "Berths.", "--name", "Berths", cwd=harbour).status == 0
    told = ("name=the staging password is Xk39vQz7a", "tags=xk39vqz7a,ops", "when=login with Xk39vQz7a")
    done = clew("memory", "set", "Berths", *told, cwd=harbour)
    assert done.status == 0, done.err
    assert holders(home / "clew", "Xk39vQz7a") == []
    write(home / "clew/memory/user", {"own.md": "---\nid: mem_0123456789ab\n---\nthe password is Kx92mQpL7z\n"})
    done = clew("memory", "set", "mem_0123456789ab", "when=login with Kx92mQpL7z", cwd=harbour)
    assert done.status == 0, done.err
    assert "Kx92mQpL7z" not in (home / "clew/memory/user/own.md").read_text().split("---")[1]


def test_an_edit_is_clean_in_front_and_body_and_stays_yaml(home: Path, harbour: Path) -> None:
    assert clew("note", "Berths.", "--name", "Berths", cwd=harbour).status == 0
    (note,) = (home / "clew/memory").rglob("berths.md")
    head = note.read_text().split("---")[1]
    more = f"tags: [{TOKEN}, ops, xk39vqz7a]\nwhen:\n  - {TOKEN}\n  - 'login {TOKEN}'\naliases: {TOKEN}\n"
    text = f"---{head}{more}---\nThe staging password is Xk39vQz7a.\n"
    given = write(home, {"text.md": text}) / "text.md"
    done = clew("memory", "edit", "Berths", cwd=harbour, env={"VISUAL": f"cp {given}"})
    given.unlink()
    assert done.status == 0, done.err
    assert holders(home / "clew", "Xk39vQz7a", TOKEN) == []
    front = yaml.safe_load(note.read_text().split("---")[1])
    assert all(isinstance(one, str) for one in (*front["tags"], *front["when"], front["aliases"]))
    assert len(front["tags"]) == 3 and front["tags"][1] == "ops"


def test_a_plan_and_a_handoff_have_it_in_no_name_and_no_section(home: Path, harbour: Path) -> None:
    text = "## Goal\nRotate Xk39vQz7a\n\n## Next\nThe staging password is Xk39vQz7a.\n"
    assert clew("handoff", "save", text, cwd=harbour).status == 0
    assert holders(home / "clew", "Xk39vQz7a") == []


def test_an_import_has_it_in_no_field_and_prints_no_name_that_holds_it(
    home: Path, harbour: Path, tmp_path: Path
) -> None:
    vault = write(tmp_path / "vault", {
        "wifi Kx92mQpL7z.md": "The wifi password is Kx92mQpL7z\n",
        f"{TOKEN}/a.md": f"---\naliases: [{TOKEN}]\ntags: [{TOKEN}, x]\n---\nA berth has a number.\n",
        f"b {TOKEN}.md": "Another berth.\n",
    })  # fmt: skip
    first = clew("memory", "import", str(vault), cwd=harbour)
    assert first.status == 0, first.err
    assert says(first, "Kx92mQpL7z", TOKEN) == [] and holders(home / "clew", "Kx92mQpL7z", TOKEN) == []
    for note in (home / "clew/memory").rglob("*.md"):
        front = yaml.safe_load(note.read_text().split("---")[1])
        assert all(isinstance(one, str) for one in (*front.get("tags", ()), *front.get("aliases", ()), front["source"]))
    assert "no YAML" not in clew("memory", "check", cwd=harbour).out
    again = clew("memory", "import", str(vault), "--json", cwd=harbour)
    assert [row["action"] for row in again.json["files"]] == ["same"] * 3, again.out
    (vault / f"b {TOKEN}.md").write_text("Another berth, and a third.\n")
    (vault / "c.md").write_text("A berth has a number.\n")
    third = clew("memory", "import", str(vault), "--json", cwd=harbour)
    assert sorted(row["action"] for row in third.json["files"]) == ["changed", "new", "same", "same"], third.out
    assert says(third, TOKEN) == []


def test_a_token_that_a_person_wrote_into_a_list_is_no_mistake_of_yaml(home: Path, harbour: Path) -> None:
    head = f"---\nid: mem_0123456789ab\nname: Berths\ntags: [{TOKEN}, ops]\nwhen:\n- {TOKEN}\n---\n"
    write(home / "clew/memory/user", {"own.md": head + "A berth has a number.\n"})
    checked = clew("memory", "check", cwd=harbour)
    assert "YAML" not in checked.out and says(checked, TOKEN) == []
