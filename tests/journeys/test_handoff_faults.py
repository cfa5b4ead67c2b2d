"""Death, failure and crowding while plans and ledgers are written: no version of a plan is lost, no ledger is torn.

As a program, this file is the victim (see `tests/faults.py`).
"""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.faults import BY_RENAMING, IN_PLACE, ROOT, program, say, suffered, victim

from clew.core.handoff.ledger import Ledger, Sections, read_ledger
from clew.core.memory.document import digest_of
from clew.errors import ClewError
from clew.stores.documents import Documents
from clew.stores.durable import LOCK, TEMPORARY
from clew.stores.handoff import Handoffs

NOW = datetime(2026, 6, 1, 14, 5, tzinfo=UTC)
HANDOFF = "workspaces/w/handoff"
PLAN = f"{HANDOFF}/PLAN.md"
FIRST = f"{HANDOFF}/2026-05-31-0900-first.md"
OLD_PLAN = "---\nid: p\n---\n\n# Plan\n\n- [ ] one\n"
OLD_LEDGER = "---\nid: l\nsession: s\nstatus: active\nupdated: 2026-05-31T09:00:00+00:00\n---\n\n## State\n\n- old\n"
BY_HAND = "---\nid: p\n---\n\n# By hand\n"
LEDGER = Ledger(session="s", trigger="fill", sections=Sections(state="- new", progress="- Next: the crane\n" * 400))


def next_window(it: Handoffs) -> object:
    ledger = Ledger(session="s", window=2, trigger="compact", sections=Sections(state="- second"))
    return it.save(ledger, at=NOW, name="second")


OPERATIONS: dict[str, Callable[[Handoffs], object]] = {
    "replace the plan": lambda it: it.write_plan("# Plan\n\n- [x] one\n" * 400, at=NOW),
    "append to the plan": lambda it: it.write_plan("- [ ] two", at=NOW, append=True),
    "first plan of a branch": lambda it: it.write_plan("# Plan of a branch", at=NOW, branch="x", own=True),
    "refresh the ledger": lambda it: it.save(LEDGER, at=NOW, name="first"),
    "the next ledger": next_window,
}


def opened(root: Path) -> Handoffs:
    ids = iter(("fresh", "fresher", "freshest"))
    return Handoffs(Documents(root, redact=lambda text: text, lock_seconds=1, new_id=lambda: next(ids)), "w")


def prepared(root: Path) -> None:
    (root / HANDOFF).mkdir(parents=True)
    (root / PLAN).write_text(OLD_PLAN)
    (root / FIRST).write_text(OLD_LEDGER)


def refusal(act: Callable[[], object]) -> ClewError | None:
    """The error that something ends with; None where it ends well."""
    try:
        act()
    except ClewError as error:
        return error
    return None


def outcome(root: Path, operation: str) -> int:
    """How an operation ended that was not killed: 0 well, 3 or 4 with an error that has a hint, or has none."""
    error = refusal(lambda: OPERATIONS[operation](opened(root)))
    if error is None:
        return 0
    return 3 if str(error) and error.hint else 4


def by_hand(root: Path, code: int) -> None:
    """Save the plan with another text: in place, or as editors do that write a new file and rename it."""
    path = root / PLAN
    if code == IN_PLACE:
        path.write_bytes(BY_HAND.encode())
        return
    path.with_suffix(".new").write_bytes(BY_HAND.encode())
    path.with_suffix(".new").replace(path)


def files(root: Path) -> dict[str, str]:
    """All files but locks and what is half written."""
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in (LOCK, TEMPORARY)
    }


def versions(root: Path) -> list[str]:
    """All versions of the plan that are in the archive."""
    return [text for path, text in files(root).items() if path.startswith(f"{HANDOFF}/archive/PLAN-")]


@pytest.mark.requirement("Q-40", "W-03")
@pytest.mark.parametrize("operation", ["replace the plan", "append to the plan"])
def test_killed_at_any_step_a_plan_is_old_or_new_and_the_old_one_is_in_the_archive_once(
    tmp_path: Path, operation: str
) -> None:
    ends = suffered(__name__, tmp_path, operation, 0)
    whole, last = ends[-1]
    assert last == 0 and len(ends) > 10 and all(end == -signal.SIGKILL for _, end in ends[:-1])
    new = files(whole)[PLAN]
    assert new != OLD_PLAN and versions(whole) == [OLD_PLAN]
    seen = set[str]()
    for root, _ in ends[:-1]:
        plan = files(root)[PLAN]
        seen.add(plan)
        assert plan == OLD_PLAN or (plan == new and versions(root) == [OLD_PLAN]), root.name
        opened(root).write_plan("# Later", at=NOW + timedelta(seconds=1))
        assert "# Later" in files(root)[PLAN]
        # The old version is there once, however far the process came that died.
        assert versions(root) == ([OLD_PLAN] if plan == OLD_PLAN else [OLD_PLAN, new]), root.name
    assert seen == {OLD_PLAN, new}


@pytest.mark.requirement("Q-40", "W-02")
@pytest.mark.parametrize("operation", ["refresh the ledger", "the next ledger", "first plan of a branch"])
def test_killed_at_any_step_a_ledger_is_whole_and_one_of_them_holds(tmp_path: Path, operation: str) -> None:
    ends = suffered(__name__, tmp_path, operation, 0)
    whole, last = ends[-1]
    assert last == 0 and len(ends) > 10 and all(end == -signal.SIGKILL for _, end in ends[:-1])
    after = files(whole)
    for root, _ in ends[:-1]:
        found = files(root)
        for path, text in found.items():
            assert text in (after[path], {PLAN: OLD_PLAN, FIRST: OLD_LEDGER}.get(path)), (root.name, path)
        assert any(one.holds for one in opened(root).ledgers())
        OPERATIONS[operation](opened(root))
        # Whoever comes next finds one last word, though a process died that was writing it.
        (last_word,) = (one for one in opened(root).ledgers() if one.holds)
        assert last_word == opened(whole).open(last_word.stem)[0]


@pytest.mark.requirement("Q-42", "W-03")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_a_call_that_fails_is_told_and_no_plan_is_lost(tmp_path: Path, code: int) -> None:
    ends = suffered(__name__, tmp_path, "replace the plan", code)
    assert {end for _, end in ends} <= {0, 2, 3} and len(ends) > 10
    for root, end in ends:
        plan = files(root)[PLAN]
        assert plan == OLD_PLAN or OLD_PLAN in versions(root)
        assert end == 3 or plan != OLD_PLAN


@pytest.mark.requirement("W-03", "W-04")
@pytest.mark.parametrize("way", [IN_PLACE, BY_RENAMING])
def test_a_plan_that_is_edited_by_hand_at_any_step_of_a_write_is_kept(tmp_path: Path, way: int) -> None:
    ends = suffered(__name__, tmp_path, "replace the plan", way)
    assert {end for _, end in ends} == {0, 2, 3}
    for root, end in ends[:-1]:
        # What was edited after the plan was replaced stands there now, and no success is claimed.
        assert files(root)[PLAN] == BY_HAND or (end == 2 and BY_HAND in versions(root)), (root.name, end)


# ---------------------------------------------------------------------- a crowd


def crowd(root: Path, name: str, each: int) -> None:
    """Append to the plan, replace it, and add to a ledger in turn; print what was written."""
    handoffs = Handoffs(Documents(root, redact=lambda text: text, lock_seconds=120), "w")
    ledger = Ledger(session="s", trigger="tool")
    for number in range(each):
        mark = f"{name}-{number}"
        if number % 3 == 0:
            kept = handoffs.write_plan(f"- [ ] appended {mark}", at=NOW, append=True)
            say(f"plan {kept.receipt.digest}")
        elif number % 3 == 1:
            kept = handoffs.write_plan(f"# Plan\n\n- [ ] replaced {mark}", at=NOW)
            say(f"plan {kept.receipt.digest}")
        else:
            added = Ledger(session="s", trigger="tool", sections=Sections(state=f"- added {mark}"))
            handoffs.save(added, at=NOW, name="first", mode="append")
            say(f"ledger {mark}")
    assert ledger.holds


def at_once(calls: list[list[str]]) -> list[str]:
    """What processes print that are started one right after the other; all must end well."""
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([*program(__name__), *call], cwd=ROOT, text=True, stdout=pipe, stderr=pipe) for call in calls
    ]
    ended = [(*one.communicate(timeout=280), one.returncode) for one in started]
    assert not [err for _, err, status in ended if status]
    return [line for out, _, _ in ended for line in out.splitlines()]


@pytest.mark.requirement("Q-41", "W-03")
@pytest.mark.parametrize("each", [12, pytest.param(126, marks=pytest.mark.slow)])
def test_eight_processes_write_plan_and_ledger_and_every_version_is_there(tmp_path: Path, each: int) -> None:
    root = tmp_path / "memory"
    prepared(root)
    told = at_once([["crowd", str(root), str(name), str(each)] for name in range(8)])
    assert len(told) == 8 * each
    written = [line.removeprefix("plan ") for line in told if line.startswith("plan ")]
    kept = [digest_of(text) for text in (*versions(root), files(root)[PLAN])]
    # Each one that was written, and the first, once: none is overwritten and none is put away twice.
    assert sorted(kept) == sorted([*written, digest_of(OLD_PLAN)])
    ledger = read_ledger("first", files(root)[FIRST])
    marks = sorted(line.removeprefix("ledger ") for line in told if line.startswith("ledger "))
    found = sorted(line.removeprefix("- added ") for line in ledger.sections.state.splitlines() if "added" in line)
    assert found == marks and "- old" in ledger.sections.state


if __name__ == "__main__":
    what, place, name, number = sys.argv[1:]
    if what == "crowd":
        crowd(Path(place), name, int(number))
    else:
        act = partial(outcome, operation=name)
        victim(Path(place), int(number), prepared, act, partial(by_hand, code=int(number)))
