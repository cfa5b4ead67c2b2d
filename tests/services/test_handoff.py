"""Handing over, in a real folder: ledgers by rule and by hand, plans and their versions, the hint, the gate, git."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.command import git, write

from clew.adapters.memory_git import MemoryGit
from clew.core.handoff.events import Asked, Event, Replied, Used
from clew.errors import Conflict, NotFound, OverBudget, Refused, UsageError
from clew.services.handoff import Handoff, Window
from clew.services.memory import Memory
from clew.stores.audit import Audit
from clew.stores.documents import Documents

SECRET = "s3cret"
EVENTS: tuple[Event, ...] = (
    Asked(f"Lock the crane in a storm. Goal: no lift from wind force 7 on, by Friday. The password is {SECRET}."),
    Used("edit_file", {"path": "crane/lock.py", "new_string": "FORCE = 7"}, ok=True),
    Used("shell", {"command": "pytest tests"}, f"FAILED test_lock - {SECRET} leaked"),
    Replied("Next: the test of the lock."),
)


@dataclass
class Yard:
    """A memory whose clock and branch a test sets."""

    root: Path
    at: datetime = datetime(2026, 6, 1, 14, 5, tzinfo=UTC)
    branch: str = "main"

    def handoff(self) -> Handoff:
        def redact(text: str) -> str:
            if "uncleanable" in text:
                raise Refused("it cannot be cleaned", hint="take the secret out")
            return text.replace(SECRET, "[REDACTED:test]")

        memory = Memory(
            documents=Documents(self.root / "memory", redact=redact, lock_seconds=1),
            index_path=self.root / "memory.db",
            audit=Audit(self.root / "audit", redact),
            git=MemoryGit(self.root / "memory", os.environ),
            workspace="w",
            clock=lambda: self.at,
            branch=self.branch,
        )
        return Handoff(memory)

    def later(self, **time: float) -> None:
        self.at += timedelta(**time)

    @property
    def folder(self) -> Path:
        return self.root / "memory" / "workspaces" / "w" / "handoff"

    def names(self, pattern: str = "*.md") -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob(pattern))


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


# ---------------------------------------------------------------------- ledgers


@pytest.mark.requirement("W-02", "W-04")
def test_a_window_has_one_ledger_that_is_refreshed_and_the_next_window_takes_its_place(yard: Yard) -> None:
    first = yard.handoff().keep(EVENTS, Window("s"), trigger="run")
    assert first.action == "created" and yard.names() == ["2026-06-01-1405-lock-the-crane-in-a-storm.md"]
    yard.later(minutes=9)
    again = yard.handoff().keep(
        (*EVENTS, Used("shell", {"command": "pytest tests"}, "3 passed")), Window("s"), trigger="run"
    )
    assert (again.action, again.ref) == ("refreshed", first.ref) and len(yard.names()) == 1
    text = (yard.folder / yard.names()[0]).read_text()
    assert "passed: `pytest tests`" in text and "fails:" not in text and "updated: 2026-06-01T14:14:00" in text
    assert (
        yard.handoff()
        .keep((*EVENTS, Used("shell", {"command": "pytest tests"}, "3 passed")), Window("s"), trigger="end")
        .action
        == "unchanged"
    )
    second = yard.handoff().keep([Asked("Go on with the siren."), Used("read")], Window("s", 2), trigger="compact")
    old, new = yard.handoff().files.open(first.ref[15:])[0], yard.handoff().files.open(second.ref[15:])[0]
    assert (old.status, old.superseded_by, new.supersedes, new.window) == ("superseded", new.id, old.id, 2)
    assert "no lift from wind force 7 on" in new.sections.goal, "what still holds goes along"
    assert yard.handoff().open(first.ref).stale == f"superseded by {new.id}"
    yard.handoff().write_plan("- [ ] one")
    assert yard.handoff().memory.check() == ((), ()), "nothing of this is wrong in the eyes of `clew memory check`"


@pytest.mark.requirement("W-02")
def test_a_ledger_supersedes_within_its_branch_and_its_thread_of_sessions_only(yard: Yard) -> None:
    def kept(window: Window) -> str:
        return yard.handoff().keep(EVENTS, window, trigger="end").ref

    first = kept(Window("a"))
    other = kept(Window("b"))
    assert other == f"{first}-2", "a name that is taken gets a number"
    yard.branch = "storm"
    elsewhere = kept(Window("a"))
    yard.branch = "main"
    third = kept(Window("c", thread="a"))
    status = {one.ref: one.holds for one in yard.handoff().ledgers()}
    assert status == {first: False, other: True, elsewhere: True, third: True}
    assert yard.handoff().newest(Window("b")).ref == other  # type: ignore[union-attr]
    assert yard.handoff().newest(Window("d", thread="a")).ref == third  # type: ignore[union-attr]
    yard.branch = "nowhere"
    assert yard.handoff().newest() is None


@pytest.mark.requirement("W-02")
def test_ledgers_move_to_the_archive_after_ninety_days_but_not_the_last_word(yard: Yard) -> None:
    old = yard.handoff().keep(EVENTS, Window("a"), trigger="end")
    yard.branch = "storm"
    last = yard.handoff().keep(EVENTS, Window("a"), trigger="end")
    yard.branch = "main"
    yard.later(days=89)
    yard.handoff().keep(EVENTS, Window("b"), trigger="end")
    assert not yard.names("archive/*")
    yard.later(days=2)
    done = yard.handoff().keep(EVENTS, Window("c"), trigger="end")
    assert (
        yard.names("archive/*") == [f"archive/{old.ref[15:]}.md"]
        and done.kept is not None
        and len(done.kept.retired) == 2
    )
    assert last.ref in [one.ref for one in yard.handoff().ledgers()]
    assert "no lift" in yard.handoff().open(old.ref).text, "its reference still opens"


@pytest.mark.requirement("W-02", "W-04")
def test_an_edit_by_hand_stays_and_what_was_taken_out_does_not_come_back(yard: Yard) -> None:
    yard.handoff().keep(EVENTS, Window("s"), trigger="run")
    (path,) = yard.folder.glob("*.md")
    text = (
        path.read_bytes()
        .replace(b"- Next: the test of the lock.\n", b"- Next: ask the tower\n")
        .replace(b"\n", b"\r\n")
    )
    path.write_bytes(text)
    yard.later(minutes=9)
    assert (
        yard.handoff().keep((*EVENTS, Used("shell", {"command": "make"}, "ok")), Window("s"), trigger="run").action
        == "refreshed"
    )
    now = path.read_bytes()
    assert b"ask the tower\r\n" in now and b"- Next: the test" not in now and b"passed: `make`\r\n" in now
    assert b"\n" not in now.replace(b"\r\n", b"")


@pytest.mark.requirement("W-04", "W-10")
def test_by_rule_nothing_is_written_for_small_talk_or_without_tools_or_a_moment_later(yard: Yard) -> None:
    for events in ([Asked("what is a crane?"), Replied("A machine.")], [Asked("hi!"), Used("read")], []):
        done = yard.handoff().keep(events, Window("s"), trigger="run")
        assert done.action == "withheld" and done.reason
    assert not yard.folder.exists()
    yard.handoff().keep(EVENTS, Window("s"), trigger="fill")
    more = (*EVENTS, Used("shell", {"command": "make"}, "ok"))
    assert yard.handoff().keep(more, Window("s"), trigger="milestone").reason == "written a moment ago"
    assert yard.handoff().keep(more, Window("t"), trigger="milestone").action == "created", (
        "a cool-down is of one session"
    )
    assert yard.handoff().keep(more, Window("s"), trigger="compact").action == "refreshed", (
        "the last call is let through"
    )
    reasons = [one.reason for one in yard.handoff().memory.audit.entries()]
    assert "no handoff: no tool was used" in reasons and any(one.startswith("handoff by compact") for one in reasons)


@pytest.mark.requirement("W-09", "W-04")
def test_no_secret_reaches_a_ledger_a_plan_an_archive_or_a_hint(yard: Yard) -> None:
    handoff = yard.handoff()
    assert handoff.keep(EVENTS, Window("s"), trigger="end").kept.receipt.redacted  # type: ignore[union-attr]
    handoff.save(f"and {SECRET}", Window("s"))
    handoff.write_plan(f"- [ ] use {SECRET}")
    plan = yard.folder / "PLAN.md"
    plan.write_text(f"{plan.read_text()}by hand {SECRET}\n")
    assert SECRET not in handoff.hint().text and SECRET not in handoff.open("clew://plan").text
    handoff.write_plan("- [ ] else")
    kept = [path for path in yard.root.rglob("*") if path.is_file()]
    assert len(kept) > 4 and not [path for path in kept if SECRET.encode() in path.read_bytes()]
    with pytest.raises(Refused):
        handoff.save("uncleanable", Window("s"))


@pytest.mark.requirement("W-04")
def test_a_text_goes_where_its_headings_say_and_replacing_keeps_the_version_before(yard: Yard) -> None:
    handoff = yard.handoff()
    handoff.save("## 目标\n- 周五前完成\n## 下一步\n- 锁定吊车", Window("s"), name="吊车")
    assert (
        yard.names() == ["2026-06-01-1405-吊车.md"] and "## 目标与决定" in (yard.folder / yard.names()[0]).read_text()
    )
    done = handoff.save("## Next\n- ask the tower", Window("s"), mode="replace")
    ledger = handoff.ledgers()[0]
    assert (ledger.sections.goal, ledger.sections.progress) == ("- 周五前完成", "- ask the tower")
    assert done.kept is not None and "锁定吊车" in (yard.root / "memory" / done.kept.archived).read_text()
    for text, error in ((" ", UsageError), ("x" * 8_001, OverBudget)):
        with pytest.raises(error):
            handoff.save(text, Window("s"))


# ---------------------------------------------------------------------- plans


@pytest.mark.requirement("W-03")
def test_each_version_of_a_plan_is_kept_in_order_and_compared(yard: Yard) -> None:
    handoff = yard.handoff()
    with pytest.raises(NotFound):
        handoff.plan_difference()
    for text in ("- [ ] one", "- [x] one\n- [ ] two", "- [x] one\n- [x] two"):
        handoff.write_plan(text)
    yard.later(days=-1)
    handoff.write_plan("- [x] one\n- [x] two\n- [ ] three")
    names = [version.name for version in handoff.plan_versions()]
    assert names == ["PLAN-2026-06-01-140500", "PLAN-2026-06-01-140500-2", "PLAN-2026-06-01-140500-3", "PLAN"]
    assert [len(version.text.split("- [")) for version in handoff.plan_versions()] == [2, 3, 3, 4], (
        "the clock was set back"
    )
    told = {
        (a, b): [one.change for one in handoff.plan_difference(a, b).steps]
        for a, b in (("", ""), ("1", "2"), ("1", "PLAN"))
    }
    assert told == {("", ""): ["added"], ("1", "2"): ["done", "added"], ("1", "PLAN"): ["done", "added", "added"]}
    assert (
        handoff.write_plan("- [x] one\n- [x] two\n- [ ] three").action == "unchanged"
        and len(handoff.plan_versions()) == 4
    )
    assert handoff.open("clew://plan/PLAN-2026-06-01-140500#L8").text == "- [ ] one"
    for wrong in ("9", "PLAN-2025", "../x"):
        with pytest.raises(NotFound):
            handoff.plan_difference(wrong)


@pytest.mark.requirement("W-03", "W-04")
def test_a_plan_that_changed_since_it_was_read_is_not_overwritten(yard: Yard) -> None:
    handoff = yard.handoff()
    handoff.write_plan("- [ ] one")
    digest = handoff.plan().digest  # type: ignore[union-attr]
    handoff.write_plan("- [ ] of somebody else")
    with pytest.raises(Conflict):
        handoff.write_plan("- [ ] mine", expect=digest)
    assert "of somebody else" in handoff.plan().text and len(handoff.plan_versions()) == 2  # type: ignore[union-attr]
    (yard.folder / "PLAN.md").unlink()
    with pytest.raises(Conflict):
        handoff.write_plan("- [ ] mine", expect=digest)


@pytest.mark.requirement("W-03")
def test_a_branch_may_have_a_plan_of_its_own_also_where_two_have_one_slug(yard: Yard) -> None:
    yard.handoff().write_plan("- [ ] of all")
    for branch in ("storm/one", "storm-one"):
        yard.branch = branch
        assert "of all" in yard.handoff().plan().text  # type: ignore[union-attr]
        yard.handoff().write_plan(f"- [ ] of {branch}", own=True)
        yard.handoff().write_plan(f"- [x] of {branch}")
        assert f"[x] of {branch}" in yard.handoff().plan().text  # type: ignore[union-attr]
        assert [one.branch for one in yard.handoff().plan_versions()] == [branch, branch]
    yard.branch = "main"
    assert "of all" in yard.handoff().plan().text  # type: ignore[union-attr]
    assert yard.names("PLAN.md") == ["PLAN.md", "branches/storm-one-2/PLAN.md", "branches/storm-one/PLAN.md"]
    assert len(yard.names("archive/branches/*/PLAN-*.md")) == 2


# ---------------------------------------------------------------------- the next window


@pytest.mark.requirement("W-05", "W-12", "W-14")
def test_the_next_window_is_told_plan_and_ledger_and_its_answer_is_compared(yard: Yard) -> None:
    handoff = yard.handoff()
    assert handoff.hint().text == ""
    handoff.write_plan("- [ ] test of the lock\n- [ ] a siren for the crew")
    ref = handoff.keep(EVENTS, Window("s"), trigger="end").ref
    made = handoff.hint(Window("s", 2))
    assert made.references == ("clew://plan", ref) and made.bytes <= 4_096
    assert "no lift from wind force 7 on, by Friday." in made.text and "a siren for the crew" in made.text
    assert all(handoff.open(one).text for one in made.references)
    (entry,) = (one for one in handoff.memory.audit.entries() if one.kind == "injection")
    assert entry.refs == made.references
    found = handoff.drifted("Next: the test of the lock.")
    assert [step.text for step in found.missing] == ["a siren for the crew"] and not found.contradicted


@pytest.mark.requirement("W-05", "W-12")
def test_the_next_window_is_told_which_files_others_changed_meanwhile(yard: Yard, tmp_path: Path) -> None:
    handoff = yard.handoff()
    work = write(tmp_path / "work", {"crane/lock.py": "FORCE = 7\n", "crane/old.py": "FORCE = 5\n"})
    edits = [Used("edit_file", {"path": path, "new_string": "FORCE = 7"}) for path in ("crane/old.py", "crane/lock.py")]
    handoff.keep(
        [*EVENTS[:1], *edits, Used("edit_file", {"path": "../out.py", "new_string": "x"})], Window("s"), trigger="end"
    )
    for path in ("crane/lock.py", "crane/old.py"):
        os.utime(work / path, (yard.at.timestamp(), yard.at.timestamp()))
    same = handoff.hint(Window("t"), root=work).text
    assert "somebody else" not in same and "`crane/lock.py`" in same
    (work / "crane/old.py").unlink()
    write(work, {"crane/lock.py": "FORCE = 8\n"})
    os.utime(work / "crane/lock.py", (yard.at.timestamp() + 60, yard.at.timestamp() + 60))
    text = handoff.hint(Window("t"), root=work).text
    assert "removed by somebody else: `crane/old.py`" in text and "`crane/lock.py` (FORCE = 8)" in text
    assert "FORCE = 7" not in text and "somebody else: `../out.py`" not in text
    assert "somebody else" not in handoff.hint(Window("t")).text, "the ledger itself is not touched"


@pytest.mark.requirement("W-05", "R-10")
def test_what_is_handed_over_is_searched_and_never_comes_to_mind_by_itself(yard: Yard) -> None:
    handoff = yard.handoff()
    handoff.write_plan("- [ ] a siren for the crew")
    handoff.keep(EVENTS, Window("s"), trigger="end")
    found = handoff.memory.recall("from which wind force on is there no lift?", scope="handoff")
    assert found.hits and {hit.tier for hit in found.hits} == {"handoff"}
    assert not handoff.memory.recall("siren", scope="notes").hits


@pytest.mark.requirement("W-17")
def test_what_is_handed_over_is_committed_where_memory_is_a_repository(yard: Yard) -> None:
    handoff = yard.handoff()
    handoff.write_plan("- [ ] one")
    root = yard.root / "memory"
    git(root, "init", "-q", "-b", "main")
    handoff = yard.handoff()
    handoff.write_plan("- [x] one")
    handoff.keep(EVENTS, Window("s"), trigger="end")
    handoff.memory.close()
    listed = git(root, "ls-files").splitlines()
    assert len([name for name in listed if "/handoff/" in name and name.endswith(".md")]) == 3
    assert not git(root, "status", "--porcelain", "--", "workspaces/w/handoff").strip()


BROKEN: dict[str, Callable[[Path], object]] = {
    "a file that is no UTF-8": lambda folder: (folder / "y.md").write_bytes(b"---\nid: \xff\n"),
    "an empty file": lambda folder: (folder / "y.md").write_text(""),
    "a folder named like a ledger": lambda folder: (folder / "y.md").mkdir(),
    "a link that leads out": lambda folder: (folder / "y.md").symlink_to("/etc/hostname"),
    "front matter that is never closed": lambda folder: (folder / "y.md").write_text("---\nid: a\nsession: s\n"),
}


@pytest.mark.requirement("W-02", "Q-42")
@pytest.mark.parametrize("what", BROKEN)
def test_what_somebody_put_into_the_folder_stops_nothing(yard: Yard, what: str) -> None:
    write(yard.folder, {"PLAN.md": "# no front matter\r\n- [ ] one\r\n"})
    BROKEN[what](yard.folder)
    handoff = yard.handoff()
    assert handoff.keep(EVENTS, Window("s"), trigger="end").action == "created"
    assert "one" in handoff.hint().text and "no lift" in handoff.hint().text
    handoff.write_plan("# no front matter\n- [x] one")
    assert (yard.folder / "PLAN.md").read_bytes().count(b"\r\n") > 3
    assert (yard.folder / "y.md").exists() or what == "a link that leads out"
