"""Documents on the disk: what people wrote stays, what changed meanwhile is not overwritten, what is said was read."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.command import write

from clew.core.memory.check import check, mends
from clew.core.memory.document import digest_of, read_document
from clew.core.memory.edit import Draft
from clew.errors import ClewError, Conflict, NotFound, OverBudget, Refused, StoreBusy
from clew.stores.documents import Documents, folder_of
from clew.stores.durable import LOCK, TEMPORARY
from clew.stores.importing import carry_out, import_folder

pytestmark = pytest.mark.requirement("W-01")

TODAY = date(2026, 6, 1)
NOW = datetime(2026, 6, 1, 14, 5, tzinfo=UTC)
NOTES = "workspaces/w/notes"


def without_secrets(text: str) -> str:
    if "uncleanable" in text:
        raise Refused("it cannot be cleaned", hint="take the secret out")
    return text.replace("s3cret", "[REDACTED:test]")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def documents(root: Path) -> Documents:
    return Documents(root, redact=without_secrets, lock_seconds=0.2)


def draft(name: str = "A note", body: str = "Text.", **traits: object) -> Draft:
    return Draft(name, body, description="What it tells", **traits)  # type: ignore[arg-type]


def files(folder: Path) -> dict[str, bytes]:
    """All files but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


# ---------------------------------------------------------------------- reading and making


def test_a_note_is_made_read_and_listed(documents: Documents, root: Path) -> None:
    receipt = documents.create(draft(tags=("Ops",), when=("deploying",)), workspace="w", today=TODAY)
    found = documents.read(receipt.path)
    content = (root / receipt.path).read_bytes()
    assert receipt.path == f"{NOTES}/a-note.md" and receipt.id == found.id and found.id.startswith("mem_")
    assert (receipt.digest, receipt.size, receipt.lines) == (found.digest, len(content), content.count(b"\n"))
    assert digest_of(content.decode()) == receipt.digest and not receipt.redacted
    assert (found.name, found.tags, found.when, found.created) == ("A note", ("ops",), ("deploying",), TODAY)
    assert [one.path for one in documents.walk()] == [receipt.path]
    assert stat.S_IMODE((root / receipt.path).stat().st_mode) == 0o600
    assert check(tuple(documents.read_all()), today=TODAY) == ()


def test_names_that_meet_get_numbers_and_nothing_is_overwritten(documents: Documents, root: Path) -> None:
    write(root, {"user/超时.md": "mine"})
    paths = [documents.create(draft("超时", str(n)), tier="user", today=TODAY).path for n in range(3)]
    assert paths == ["user/超时-2.md", "user/超时-3.md", "user/超时-4.md"]
    assert (root / "user/超时.md").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "a\0b", "CON", "x" * 999, "\ud800", ""]
)
def test_no_name_leads_out_of_its_folder(documents: Documents, root: Path, name: str) -> None:
    path = documents.create(draft(name), workspace="w", today=TODAY).path
    assert Path(root / path).parent == root / NOTES and documents.read(path).id


@pytest.mark.parametrize("workspace", ["", ".", "..", "a/b", "../x", ".git", "a\0", "x" * 101])
def test_no_name_of_a_workspace_leads_out(documents: Documents, workspace: str) -> None:
    with pytest.raises(Refused):
        documents.create(draft(), workspace=workspace, today=TODAY)
    with pytest.raises(Refused):
        folder_of("note", workspace)


PATHS = ["../x.md", "/etc/x.md", "user/../../x.md", "user/x.txt", "x.md", "", "user/.x.md", "user/a\0.md", "user//x.md"]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_none_of_a_document_is_refused_by_every_door(documents: Documents, path: str) -> None:
    doors: list[Callable[[], object]] = [
        lambda: documents.read(path),
        lambda: documents.read_text(path),
        lambda: documents.append(path, "x"),
        lambda: documents.replace(path, "x", expect="y"),
        lambda: documents.set_fields(path, {"id": "x"}),
        lambda: documents.archive(path),
        lambda: documents.supersede(path, path, today=TODAY),
    ]
    for door in doors:
        with pytest.raises(Refused) as caught:
            door()
        assert caught.value.hint


def test_what_is_not_there_is_said_and_no_folder_is_made_for_it(documents: Documents, root: Path) -> None:
    assert list(documents.walk()) == [] and list(documents.read_all()) == []
    for door in (documents.read, documents.archive, lambda path: documents.append(path, "x")):
        with pytest.raises(NotFound, match=r"user/x\.md"):
            door("user/x.md")
    assert not root.exists()


def test_only_documents_are_walked(documents: Documents, root: Path) -> None:
    write(
        root,
        {
            "user/a.md": "", "user/deep/b.MD": "", "user/c.txt": "", "user/.d.md": "", "user/archive/e.md": "",
            "README.md": "", "workspaces/w/notes/f.md": "", "workspaces/w/x.md": "", ".git/user/g.md": "",
            "workspaces/w/logs/2026-01-01.md": "", "workspaces/v/handoff/PLAN.md": "",
        },
    )  # fmt: skip
    assert sorted(one.path for one in documents.walk()) == [
        "user/a.md", "user/deep/b.MD", "workspaces/v/handoff/PLAN.md", "workspaces/w/logs/2026-01-01.md",
        "workspaces/w/notes/f.md",
    ]  # fmt: skip


def test_an_edit_in_an_editor_shows_in_the_listing(documents: Documents, root: Path) -> None:
    path = documents.create(draft(), workspace="w", today=TODAY).path
    before = list(documents.walk())
    other = root / NOTES / "other"
    other.write_bytes((root / path).read_bytes().replace(b"Text", b"Tuxt"))
    os.utime(other, ns=(before[0].mtime_ns, before[0].mtime_ns))
    os.rename(other, root / path)
    (after,) = documents.walk()
    assert (after.size, after.mtime_ns) == (before[0].size, before[0].mtime_ns) and after != before[0]


def test_a_file_that_cannot_be_read_is_reported_and_stops_nothing(documents: Documents, root: Path) -> None:
    write(root, {"user/a.md": "---\nid: a\ndescription: d\n---\n", "user/b.md": "x" * 2_000_001})
    (root / "user/c.md").write_bytes("---\nname: 超\n".encode("gb18030"))
    os.mkfifo(root / "user/d.md")
    os.symlink("e.md", root / "user/e.md")
    (root / "user" / os.fsdecode(b"f\xff.md")).write_bytes(b"")
    found = {finding.path: finding for finding in check(tuple(documents.read_all()), today=TODAY)}
    assert {path: finding.kind for path, finding in found.items()} == {
        "user/b.md": "unreadable", "user/c.md": "unreadable", "user/d.md": "unreadable", "user/f\\xff.md": "unreadable",
    }  # fmt: skip
    assert "not UTF-8" in found["user/c.md"].what and all(finding.hint for finding in found.values())
    assert mends(tuple(documents.read_all()), documents.new_id) == {}
    with pytest.raises(Refused, match="not UTF-8"):
        documents.append("user/c.md", "more")


# ---------------------------------------------------------------------- writing


@pytest.mark.requirement("W-04")
def test_a_text_is_replaced_only_where_it_is_the_one_that_was_read(documents: Documents, root: Path) -> None:
    path = documents.create(draft(), workspace="w", today=TODAY).path
    read = documents.read(path)
    (root / path).write_text("by hand")
    with pytest.raises(Conflict) as caught:
        documents.replace(path, "mine", expect=read.digest)
    assert caught.value.facts["expected"] == read.digest and caught.value.facts["found"] == digest_of("by hand")
    assert read.digest[:12] in str(caught.value) and caught.value.hint
    assert (root / path).read_text() == "by hand"
    receipt = documents.replace(path, "mine", expect=digest_of("by hand"))
    assert (root / path).read_text() == "mine" and receipt.digest == digest_of("mine")


def test_fields_are_set_without_touching_another_line(documents: Documents, root: Path) -> None:
    text = "\ufeff---\r\n# mine\r\nid: 'x' # by hand\r\nstatus:   active\r\ntags: [ a,b ]\r\n---\r\nBody s3cret"
    (root / "user").mkdir(parents=True)
    (root / "user/a.md").write_bytes(text.encode())
    receipt = documents.set_fields("user/a.md", {"status": "deprecated", "name": "the s3cret", "updated": TODAY})
    expected = text.replace("status:   active", "status:   deprecated").replace(
        "b ]\r\n", 'b ]\r\nname: "the [REDACTED:test]"\r\nupdated: 2026-06-01\r\n'
    )
    assert (root / "user/a.md").read_bytes() == expected.encode() and receipt.redacted
    assert not documents.set_fields("user/a.md", {"status": "deprecated"}).written
    with pytest.raises(Conflict):
        documents.set_fields("user/a.md", {"status": "active"}, expect="0" * 32)


def test_an_appended_text_stands_on_its_own_lines_and_the_receipt_says_where(documents: Documents, root: Path) -> None:
    write(root, {"user/a.md": "one\ntwo"})
    receipt = documents.append("user/a.md", "three s3cret\nfour")
    assert (root / "user/a.md").read_text() == "one\ntwo\nthree [REDACTED:test]\nfour\n"
    assert (receipt.line, receipt.lines, receipt.redacted) == (3, 4, True)


def test_the_log_of_a_day_begins_with_its_first_entry(documents: Documents, root: Path) -> None:
    first = documents.log("w", "Fixed it.", at=NOW, heading="Deploy")
    second = documents.log("w", "# Then\nmore s3cret", at=NOW.replace(hour=15))
    text = (root / "workspaces/w/logs/2026-06-01.md").read_text()
    assert first.path == second.path == "workspaces/w/logs/2026-06-01.md" and first.id == second.id
    lines = text.splitlines()
    assert lines[first.line - 1] == "## 14:05 Deploy" and lines[second.line - 1] == "## 15:05"
    assert lines[-2:] == ["### Then", "more [REDACTED:test]"] and second.redacted and not first.redacted
    assert read_document(first.path, text).tier == "log" and not check(tuple(documents.read_all()), today=TODAY)


@pytest.mark.requirement("W-04")
def test_secrets_go_before_anything_is_written_and_what_cannot_be_cleaned_is_refused(
    documents: Documents, root: Path
) -> None:
    receipt = documents.create(draft("The s3cret", "s3cret", when=("s3cret",)), workspace="w", today=TODAY)
    assert receipt.redacted and b"s3cret" not in b"".join(files(root).values()) and "s3cret" not in receipt.path
    before = files(root)
    for door in (
        lambda: documents.create(draft("x", "uncleanable"), workspace="w", today=TODAY),
        lambda: documents.append(receipt.path, "uncleanable"),
        lambda: documents.replace(receipt.path, "uncleanable", expect=receipt.digest),
        lambda: documents.log("w", "uncleanable", at=NOW),
    ):
        with pytest.raises(Refused):
            door()
    assert files(root) == before


@pytest.mark.requirement("W-04")
def test_the_limits_of_size_are_exact_and_said(documents: Documents, root: Path) -> None:
    write(root, {"user/a.md": "a\n"})
    documents.append("user/a.md", "超" * 8_000)
    with pytest.raises(OverBudget, match="8,000"):
        documents.append("user/a.md", "超" * 8_001)
    with pytest.raises(OverBudget, match="8,000"):
        documents.log("w", "x" * 8_001, at=NOW)
    documents.replace("user/a.md", "x" * 199_998, expect=documents.read("user/a.md").digest)
    with pytest.raises(OverBudget, match="200,000"):
        documents.append("user/a.md", "yy")
    with pytest.raises(OverBudget, match="200,000"):
        documents.replace("user/a.md", "x" * 200_001, expect=digest_of("x" * 199_998))
    with pytest.raises(OverBudget, match="200,000"):
        documents.create(draft("n", "x" * 200_000), workspace="w", today=TODAY)
    with pytest.raises(Refused):
        documents.append("user/a.md", " \n")
    assert (root / "user/a.md").read_text() == "x" * 199_998


def test_both_sides_of_a_supersession_are_written(documents: Documents, root: Path) -> None:
    old = documents.create(draft("Old"), workspace="w", today=TODAY)
    new = documents.create(draft("New"), tier="user", today=TODAY)
    documents.supersede(old.path, new.path, today=TODAY)
    assert documents.read(old.path).stale(TODAY) == f"superseded by {new.id}"
    assert documents.read(new.path).supersedes == (old.id,) and not documents.read(new.path).stale(TODAY)
    third = documents.create(draft("Third"), workspace="w", today=TODAY)
    documents.supersede(third.path, new.path, today=TODAY)
    assert documents.read(new.path).supersedes == (old.id, third.id)
    with pytest.raises(Refused):
        documents.supersede(new.path, old.path, today=TODAY)
    with pytest.raises(Refused):
        documents.supersede(new.path, new.path, today=TODAY)
    assert not check(tuple(documents.read_all()), today=TODAY)


def test_what_goes_to_the_archive_is_kept_there_and_no_memory_any_more(documents: Documents, root: Path) -> None:
    for expected in ("archive/a-note.md", "archive/a-note-2.md"):
        receipt = documents.create(draft(), workspace="w", today=TODAY)
        content = (root / receipt.path).read_bytes()
        moved = documents.archive(receipt.path)
        assert moved.path == f"{NOTES}/{expected}" and moved.digest == receipt.digest
        assert (root / moved.path).read_bytes() == content
    assert list(documents.walk()) == []


def test_mode_and_links_inside_stay_and_a_link_that_leads_out_is_refused(
    documents: Documents, root: Path, tmp_path: Path
) -> None:
    write(root, {"shared/a.md": "a\n"})
    write(tmp_path, {"outside/o.md": "o\n"})
    (root / "user").mkdir()
    os.chmod(root / "shared/a.md", 0o640)
    os.symlink("../shared/a.md", root / "user/a.md")
    os.symlink(tmp_path / "outside/o.md", root / "user/o.md")
    os.symlink(tmp_path / "outside", root / "user/folder")
    documents.append("user/a.md", "b")
    assert (root / "user/a.md").is_symlink() and (root / "shared/a.md").read_text() == "a\nb\n"
    assert stat.S_IMODE((root / "shared/a.md").stat().st_mode) == 0o640
    for path in ("user/o.md", "user/folder/o.md", "user/folder/new.md"):
        with pytest.raises(Refused, match="leads out"):
            documents.append(path, "b")
    assert (tmp_path / "outside/o.md").read_text() == "o\n"
    assert [one.path for one in documents.walk()] == ["user/a.md"]


# ---------------------------------------------------------------------- locks and disks

HOLD = """
import sys
from pathlib import Path
from clew.stores.durable import locked
with locked(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_of_another_process_is_waited_for_and_named_and_freed_by_its_death(
    documents: Documents, root: Path
) -> None:
    receipt = documents.create(draft(), workspace="w", today=TODAY)
    command = [sys.executable, "-c", HOLD, str(root / "workspaces/w")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match=f"process {holder.pid} ") as caught:
            documents.append(receipt.path, "x")
        assert caught.value.hint and caught.value.retry
        documents.create(draft(), tier="user", today=TODAY)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert documents.append(receipt.path, "x").written


def test_threads_wait_for_each_other(root: Path) -> None:
    write(root, {"user/a.md": ""})
    documents = Documents(root, redact=lambda text: text)
    threads = [threading.Thread(target=documents.append, args=("user/a.md", f"t{number}")) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((root / "user/a.md").read_text().split()) == sorted(f"t{number}" for number in range(12))


def test_what_a_killed_process_left_is_taken_away_by_the_next_write(documents: Documents, root: Path) -> None:
    write(root, {f"user/{TEMPORARY}": "torn", "user/a.md": "a\n"})
    documents.append("user/a.md", "b")
    assert files(root) == {"user/a.md": b"a\nb\n"}


@pytest.mark.requirement("Q-42")
def test_a_root_that_is_a_file_is_said(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.write_text("")
    documents = Documents(root, redact=str)
    with pytest.raises(ClewError) as caught:
        documents.create(draft(), workspace="w", today=TODAY)
    assert caught.value.hint
    with pytest.raises(ClewError):
        list(documents.walk())


# ---------------------------------------------------------------------- import


def vault(folder: Path) -> Path:
    return write(
        folder,
        {
            "Deploy.md": "# How we deploy\n\nFirst freeze. Then go. [[Other note]]\n",
            "Ops/Redis/一览.md": "---\ntitle: 两套 Redis\ntags: [infra]\n---\n先看日志。再说。s3cret\n",
            "with-id.md": "---\nid: m7\nname: Kept\n---\nText.\n",
            "image.png": "", ".obsidian/a.md": "", "huge.md": "x" * 300_000, "bad.md": "uncleanable",
        },
    )  # fmt: skip


def test_a_folder_of_markdown_becomes_notes_and_is_not_touched(
    documents: Documents, root: Path, tmp_path: Path
) -> None:
    folder = vault(tmp_path / "vault")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    os.symlink("Deploy.md", folder / "link.md")
    before = {path: (content, (folder / path).stat().st_mtime_ns) for path, content in files(folder).items()}
    plan = import_folder(documents, folder, workspace="w", today=TODAY)
    assert not root.exists()
    assert {step.file: step.reason for step in plan.steps if step.action == "left out"} == {
        "bad.md": "it cannot be cleaned", "huge.md": "it has over 200,000 characters",
        "latin.md": "it is not UTF-8", "link.md": "it is a link",
    }  # fmt: skip
    receipts = {step.file: receipt for step, receipt in carry_out(documents, plan)}
    notes = {file: documents.read(receipt.path) for file, receipt in receipts.items()}
    assert receipts.keys() == {"Deploy.md", "Ops/Redis/一览.md", "with-id.md"}
    assert notes["Deploy.md"].name == "How we deploy" and notes["Deploy.md"].description == "First freeze."
    assert "[[Other note]]" in notes["Deploy.md"].body
    redis = notes["Ops/Redis/一览.md"]
    assert (redis.name, redis.tags) == ("两套 Redis", ("infra", "ops", "redis")) and "s3cret" not in redis.body
    assert redis.path == f"{NOTES}/两套-redis.md" and redis.source == f"{folder.resolve()}/Ops/Redis/一览.md"
    assert notes["with-id.md"].id == "m7"
    after = {path: (content, (folder / path).stat().st_mtime_ns) for path, content in files(folder).items()}
    assert after == before


def test_a_second_import_brings_over_what_changed_unless_it_was_edited_here(
    documents: Documents, root: Path, tmp_path: Path
) -> None:
    folder = vault(tmp_path / "vault")
    again = lambda: import_folder(documents, folder, workspace="w", today=TODAY)  # noqa: E731
    made = {step.file: receipt.path for step, receipt in carry_out(documents, again())}
    untouched = files(root)
    assert again().count("same") == 3 and not list(carry_out(documents, again())) and files(root) == untouched
    documents.set_fields(made["Deploy.md"], {"tags": ["mine"]})
    documents.append(made["with-id.md"], "by hand")
    write(folder, {"Deploy.md": "# How we deploy\n\nNo freeze.\n", "with-id.md": "---\nid: m7\n---\nNew.\n"})
    plan = again()
    assert {step.file: step.action for step in plan.steps if step.action != "left out"} == {
        "Deploy.md": "changed", "Ops/Redis/一览.md": "same", "with-id.md": "edited",
    }  # fmt: skip
    assert [step.file for step, receipt in carry_out(documents, plan) if receipt.written] == ["Deploy.md"]
    deploy = documents.read(made["Deploy.md"])
    assert deploy.tags == ("mine",) and "No freeze." in deploy.body
    assert "by hand" in documents.read(made["with-id.md"]).body
    assert again().count("same") == 2


def test_a_note_edited_after_the_plan_was_made_stays(documents: Documents, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault")
    made = dict(carry_out(documents, import_folder(documents, folder, workspace="w", today=TODAY)))
    write(folder, {"Deploy.md": "New."})
    plan = import_folder(documents, folder, workspace="w", today=TODAY)
    path = next(receipt.path for step, receipt in made.items() if step.file == "Deploy.md")
    documents.append(path, "by hand")
    ((_, receipt),) = carry_out(documents, plan)
    assert not receipt.written and "by hand" in documents.read(path).body


def test_a_folder_that_is_not_there_cannot_be_imported(documents: Documents, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        import_folder(documents, tmp_path / "nothing", workspace="w", today=TODAY)
