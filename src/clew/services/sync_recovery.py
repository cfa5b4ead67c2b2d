"""What a sync is about to do to the folder, on a list, so that one that was killed halfway is ended by the next.

The list stands in `.git/clew/merging` from before the first file is written until HEAD has moved: one line with both
commits and all files, then one line before and one after each file. Whoever finds it holds the lock of the repository,
so nobody is at work on it any more.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from clew.adapters.memory_repository import MERGING, PRIVATE, Leaf, MemoryRepository
from clew.errors import ClewError, StoreError
from clew.services.sync_documents import free_path, id_in
from clew.services.sync_folder import change_file, holding, in_the_way, take_run_right, write_file
from clew.services.sync_merge import both, copy_name

_BEGUN: Final = "begun"
_DONE: Final = "done"
_SAME: Final = "same"


@dataclass(frozen=True, slots=True)
class Step:
    """One file that is to become another."""

    path: str
    was: Leaf | None
    now: Leaf | None


@dataclass(slots=True)
class Plan:
    """What is to be done between two commits, and how far it has come."""

    old: str
    """HEAD before; empty for none."""
    new: str
    """HEAD afterwards."""
    steps: list[Step]
    marks: dict[int, str] = field(default_factory=dict[int, str])
    """By number of the step: `begun`, `done`, or `same` where nothing was to do."""


def carry_out(root: Path, repository: MemoryRepository, plan: Plan) -> list[str]:
    """Write the files of a plan. Paths that had to be changed.

    Raises Conflict or StoreError, and all files are as before then. The list stays until `forget`.
    """
    _note(repository, plan)
    changed: list[str] = []
    try:
        for number, step in enumerate(plan.steps):
            content = repository.read(step.now) if step.now else None
            with holding(root, step.path):
                _mark(repository, plan, number, _BEGUN)
                written = change_file(root, repository, step.path, step.was, content)
                changed += [step.path] if written else []
                if step.was and step.now and step.was.mode != step.now.mode:
                    take_run_right(root, step.path)
                _mark(repository, plan, number, _DONE if written else _SAME)
    except ClewError:
        take_back(root, repository, plan)
        raise
    return changed


def forget(repository: MemoryRepository) -> None:
    """HEAD has moved: nothing is under way any more."""
    with contextlib.suppress(OSError):
        os.unlink(_place(repository))


def finish(repository: MemoryRepository) -> None:
    """End what a sync that was killed had begun. The caller holds the lock of the repository.

    What people wrote meanwhile stays: over what was written already it is a change of theirs, over what was not it is
    merged, and where that does not go, the text of the other side is put beside it. Raises StoreError, StoreBusy.
    """
    if not os.path.lexists(_place(repository)):
        return
    plan = _listed(repository)
    if plan is None:
        forget(repository)
        return
    head = repository.head()
    if head != plan.new:
        known = bool(repository.resolve(plan.new))
        if known and head and repository.base(plan.new, head) == plan.new:
            # It had moved, and somebody has gone on: what they took back without knowing is in the folder still.
            forget(repository)
            return
        if head != plan.old or not known:
            # Somebody else has gone on from the old commit: the next sync merges anew.
            take_back(repository.root, repository, plan)
            return
        for number, step in enumerate(plan.steps):
            with holding(repository.root, step.path):
                _end(repository, plan, number, step)
    before, after = repository.tree(plan.old), repository.tree(plan.new)
    changes = {path: after.get(path) for path in {*before, *after} if before.get(path) != after.get(path)}
    if head == plan.new:
        repository.follow(changes, plan.new)
    else:
        repository.move_head(plan.new, plan.old, "end of a merge that was cut short", changes)
    forget(repository)


def _end(repository: MemoryRepository, plan: Plan, number: int, step: Step) -> None:
    """Bring one file to its end, whatever is in it now."""
    root, path = repository.root, step.path
    now, there = repository.on_disk(path), os.path.lexists(root / path)
    content = repository.read(step.now) if step.now else None
    if now == content and (there or content is None):
        return
    untouched = not there if step.was is None else now is not None and repository.id_of(now, step.was.id) == step.was.id
    mark = plan.marks.get(number, "")
    if mark in (_DONE, _SAME) or (mark == _BEGUN and not untouched and _follows(repository, step, now)):
        # Changed after it was written: a change to what it is to be.
        return
    _mark(repository, plan, number, _BEGUN)
    if untouched:
        change_file(root, repository, path, step.was, content)
    elif step.now is not None and content is not None:
        _bring_together(repository, plan, step, now, content)
    _mark(repository, plan, number, _DONE)


def _bring_together(repository: MemoryRepository, plan: Plan, step: Step, now: bytes | None, content: bytes) -> None:
    """What a person wrote over the old text, and what a sync was to write over it."""
    assert step.now is not None
    root, path = repository.root, step.path
    if now is None:
        if not os.path.lexists(root / path):
            # Deleted here, changed there: it stays.
            write_file(root, path, content, None, lambda _: in_the_way(path))
        return
    mine = Leaf(step.now.mode, repository.store(now))
    merged = both(repository, path, step.was, mine, step.now)
    if merged is not None:
        write_file(root, path, repository.read(merged), now, lambda _: in_the_way(path))
        return
    ids = id_in(now), id_in(content)
    # Of two documents that happen to have one name, neither is a version of the other.
    name = free_path if all(ids) and ids[0] != ids[1] else partial(copy_name, commit=plan.new)
    copy = name(path, is_taken=lambda name: os.path.lexists(root / name))
    write_file(root, copy, content, None, lambda _: in_the_way(copy))


def _follows(repository: MemoryRepository, step: Step, now: bytes | None) -> bool:
    """Whether a text was made from the new one: all that the new one added is in it."""
    if step.now is None:
        return True
    if now is None:
        return False
    added = set(repository.read(step.now).splitlines())
    added -= set(repository.read(step.was).splitlines()) if step.was else set()
    return added <= set(now.splitlines())


def take_back(root: Path, repository: MemoryRepository, plan: Plan) -> None:
    """Undo what was done of a plan, as HEAD did not move: what was written goes, unless somebody has changed it."""
    for number, step in reversed(list(enumerate(plan.steps))):
        mark = plan.marks.get(number)
        # Of one that was only begun it is not known who wrote it. Only where there was a text before is that put back.
        if mark == _DONE or (mark == _BEGUN and step.was):
            with contextlib.suppress(ClewError), holding(root, step.path):
                content = repository.read(step.was) if step.was else None
                change_file(root, repository, step.path, step.now, content)
    forget(repository)


# ---------------------------------------------------------------------- the list


def _place(repository: MemoryRepository) -> Path:
    return repository.folder / PRIVATE / MERGING


def _note(repository: MemoryRepository, plan: Plan) -> None:
    """Put the whole plan on the disk before anything is done. Raises StoreError."""
    rows = [[os.fsencode(step.path).hex(), _written(step.was), _written(step.now)] for step in plan.steps]
    line = json.dumps({"format": 1, "old": plan.old, "new": plan.new, "steps": rows}) + "\n"
    place = _place(repository)
    beside = place.with_name(f"{MERGING}.new")
    try:
        with open(beside, "w", encoding="ascii") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except OSError as error:
        raise StoreError(f"{place} cannot be written: {error.strerror}", hint="check its rights") from error


def _mark(repository: MemoryRepository, plan: Plan, number: int, word: str) -> None:
    plan.marks[number] = word
    try:
        with open(_place(repository), "a", encoding="ascii") as file:
            file.write(f"{number} {word}\n")
    except OSError as error:
        raise StoreError(
            f"{_place(repository)} cannot be written: {error.strerror}", hint="check its rights"
        ) from error


def _listed(repository: MemoryRepository) -> Plan | None:
    """The plan that was left; None where there is none, or none that can be understood."""
    try:
        first, _, rest = _place(repository).read_text("ascii").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        row: Any = json.loads(first)
        steps = [Step(os.fsdecode(bytes.fromhex(path)), _leaf(was), _leaf(now)) for path, was, now in row["steps"]]
        plan = Plan(str(row["old"]), str(row["new"]), steps)
    except (ValueError, KeyError, TypeError):
        return None
    for line in rest.splitlines():
        number, _, word = line.partition(" ")
        if number.isdigit() and word in (_BEGUN, _DONE, _SAME):
            plan.marks[int(number)] = word
    return plan


def _written(leaf: Leaf | None) -> list[str] | None:
    return [leaf.mode, leaf.id] if leaf else None


def _leaf(row: list[str] | None) -> Leaf | None:
    return Leaf(str(row[0]), str(row[1])) if row else None


def steps_of(changes: Mapping[str, Leaf | None], before: Mapping[str, Leaf]) -> list[Step]:
    """Files to change, those that go first: they may make room for a folder of their name."""
    paths = sorted(changes, key=lambda path: (changes[path] is not None, path))
    return [Step(path, before.get(path), changes[path]) for path in paths]
