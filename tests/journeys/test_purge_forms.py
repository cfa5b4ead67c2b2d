"""What Clew makes of a secret is purged as well, and what is no source is said to be none."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.command import clew, git, write
from tests.journeys.test_purge import SECRET as PLANTED
from tests.journeys.test_purge import sources, with_remote
from tests.journeys.test_secrets_of_fields import holders

from clew.stores.exchanges import ExchangeStore

pytestmark = pytest.mark.requirement("W-09")

SECRET = "VioletKangaroo_77!xY"


def test_a_tag_that_clew_wrote_in_small_letters_is_purged_with_its_history(home: Path, harbour: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    done = clew("note", f"Uses {SECRET}.", "--name", "Deploy", "--tag", SECRET, "--when", SECRET, cwd=harbour)
    assert done.status == 0, done.err
    (note,) = (home / "clew/memory").rglob("deploy.md")
    assert SECRET.lower() in note.read_text()
    assert clew("memory", "set", "Deploy", "type=gotcha", cwd=harbour).status == 0
    purged = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert purged.status == 0 and "0 left" in purged.err, purged.err
    assert holders(home / "clew", SECRET) == []
    front = yaml.safe_load(note.read_text().split("---")[1])
    assert all(one.startswith("[REDACTED:secret:") for one in (*front["tags"], *front["when"]))
    assert "no YAML" not in clew("memory", "check", cwd=harbour).out


def test_a_list_whose_words_needed_no_quotes_is_still_one_after_a_purge(home: Path, harbour: Path) -> None:
    secret = "violetkangaroo77"
    head = f"---\nid: mem_0123456789ab\nname: {secret}\ntags: [{secret}, ops]\nwhen:\n- {secret}\n- say {secret}\n---\n"
    note = write(home / "clew/memory", {"user/a.md": head + "Berths.\n"}) / "user/a.md"
    purged = clew("purge", "--secret", "--yes", cwd=harbour, stdin=secret)
    assert purged.status == 0, purged.err
    front = yaml.safe_load(note.read_text().split("---")[1])
    assert all(isinstance(one, str) for one in (front["name"], *front["tags"], *front["when"])), front
    assert len(front["tags"]) == 2 and "no YAML" not in clew("memory", "check", cwd=harbour).out


@pytest.mark.parametrize(
    ("secret", "made"),
    [
        ("Violet Kangaroo 77", "violet-kangaroo-77"),
        ("Violet&Kangaroo.77", "violet-kangaroo-77"),
        ("Víolet Kángaroo 77", "violet-kangaroo-77"),
        ("#Violet/ Kangaroo", "violet/kangaroo"),
    ],
)
def test_what_a_secret_became_in_a_tag_or_a_name_is_found_in_texts_too(
    home: Path, harbour: Path, secret: str, made: str
) -> None:
    assert clew("note", "It hops.", "--name", f"On {secret}", "--tag", secret, cwd=harbour).status == 0
    write(home / "clew/memory", {"user/a.md": f"See workspaces/w/notes/on-{made}.md, tag {made}.\n"})
    purged = clew("purge", "--secret", "--yes", cwd=harbour, stdin=secret)
    assert purged.status == 0 and "0 left" in purged.err, purged.err
    assert holders(home / "clew", made, secret) == []


def test_a_name_of_a_file_that_ends_within_the_secret_gets_another(home: Path, harbour: Path) -> None:
    name = "The harbour master of the outer berths calls it by the word " + SECRET
    assert clew("note", "It hops.", "--name", name[:110], cwd=harbour).status == 0
    short = "The harbour master of the outer berths calls it word " + SECRET
    assert clew("note", "It hops twice.", "--name", short, cwd=harbour).status == 0
    assert list((home / "clew/memory").rglob("*violetk*.md")), "the name is cut within the secret"
    purged = clew("purge", "--secret", "--yes", cwd=harbour, stdin=SECRET)
    assert purged.status == 0, purged.err
    assert holders(home / "clew", "violetk") == []


# ---------------------------------------------------------------------- by source


def test_a_document_is_purged_by_its_name_and_its_path_without_an_ending(home: Path, harbour: Path) -> None:
    for name in ("Berths", "Ropes"):
        assert clew("note", f"{name} have telling numbers.", "--name", name, cwd=harbour).status == 0
    assert clew("memory", "search", "telling numbers", cwd=harbour).status == 0
    done = clew("purge", "--source", "berths", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    assert [path.name for path in (home / "clew/memory").rglob("*.md")] == ["ropes.md"]
    assert holders(home / "clew", "Berths have telling") == []
    (left,) = (home / "clew/memory").rglob("ropes.md")
    path = left.relative_to(home / "clew/memory").with_suffix("").as_posix()
    assert clew("purge", "--source", path, "--yes", cwd=harbour).status == 0 and not left.exists()


def test_a_name_that_means_several_is_refused_and_all_are_named(home: Path, harbour: Path) -> None:
    for way in ((), ("--replace",)):
        assert clew("note", f"Berths {way}.", "--name", "Berths", *way, cwd=harbour).status == 0
    notes = sorted((home / "clew/memory").rglob("*.md"))
    done = clew("purge", "--source", "Berths", "--yes", cwd=harbour)
    assert done.status == 2 and "hint:" in done.err
    assert len(notes) == 2 and all(path.name in done.err and path.exists() for path in notes)


def test_a_name_that_is_a_note_and_an_attached_file_is_refused(home: Path, harbour: Path) -> None:
    assert clew("note", "How often.", "--name", "src/retry.py", cwd=harbour).status == 0
    (note,) = (home / "clew/memory").rglob("*.md")
    own = note.relative_to(home / "clew/memory").parts[1]
    with ExchangeStore(home / "clew/history.db") as store:
        store.add(own, "t", question="why", answer="a", mode="rich", at="x", refs=["src/retry.py:4"])
    done = clew("purge", "--source", "src/retry.py", "--yes", cwd=harbour)
    assert done.status == 2 and note.name in done.err and "`src/retry.py`" in done.err and note.exists()


@pytest.mark.parametrize("ways", [("--yes",), ("--dry-run",), ("--yes", "--json")])
@pytest.mark.parametrize(
    "ref",
    [
        "clew://memory/mem_000", "mem_0123", "clew://memory/mem_012345678", "mem_000000000000", "session:nope",
        "session:../x", "exchange:99", "workspace:nope", "No such note", "no/such/file.py", "user/none.md",
        "clew://session/nope",
    ],
)  # fmt: skip
def test_what_is_no_source_is_an_error_and_nothing_is_changed(
    home: Path, harbour: Path, ref: str, ways: tuple[str, ...]
) -> None:
    data = sources(home, harbour)
    clew("memory", "search", "harbour gate", cwd=harbour)
    before = sorted(path for path in data.rglob("*") if ".git" not in path.parts)
    done = clew("purge", "--source", ref, *ways, cwd=harbour)
    assert done.status == 2 and "hint" in done.err and " left" not in done.err, done.out + done.err
    assert set(before) <= set(data.rglob("*"))


def test_a_document_with_an_id_of_its_own_is_purged_by_it(home: Path, harbour: Path) -> None:
    write(home / "clew/memory", {"workspaces/other/notes/a.md": "---\nid: crane-1\nname: Crane\n---\nIt stops at 7.\n"})
    assert clew("purge", "--source", "Crane", "--yes", cwd=harbour).status == 2
    done = clew("purge", "--source", "crane-1", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    assert [*(home / "clew/memory").rglob("a.md")] == []


def test_a_session_goes_with_its_transcript(home: Path, harbour: Path) -> None:
    data = write(home / "clew", {
        "sessions/20260301-090000-0001ab.jsonl": '{"one": "telling numbers"}\n',
        "sessions/20260301-090000-0002ab.jsonl": '{"one": "others"}\n',
    })  # fmt: skip
    assert clew("purge", "--source", "session:20260301-090000-0001a", "--yes", cwd=harbour).status == 2
    done = clew("purge", "--source", "session:20260301-090000-0001ab", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    assert [path.name for path in (data / "sessions").iterdir()] == ["20260301-090000-0002ab.jsonl"]


def test_a_dry_run_says_what_would_be_replaced_on_the_remote(home: Path, harbour: Path) -> None:
    _, _, remote = with_remote(home)
    none = clew("purge", "--push-rewritten", "--dry-run", cwd=harbour)
    assert none.status == 0 and "no history from before" in none.err
    assert clew("purge", "--secret", "--yes", cwd=harbour, stdin=PLANTED).status == 0
    before = git(remote, "rev-parse", "main")
    done = clew("purge", "--push-rewritten", "--dry-run", cwd=harbour)
    assert done.status == 0 and "would be replaced on the remote" in done.err and "main" in done.err
    assert git(remote, "rev-parse", "main") == before
