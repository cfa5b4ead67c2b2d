"""Ledgers and plans on the disk: one ledger for each window, refreshed in place, and plans whose every version is kept.

All of it lies in the handoff folder of a workspace and is written as other documents are: under the lock of the
workspace, in one step, redacted, and read again. What replaces a plan is written only once the plan that it replaces
is in the archive.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final, Literal

from clew.core.handoff.gate import MOST_APPENDED, MOST_CHARACTERS
from clew.core.handoff.ledger import (
    Language,
    Ledger,
    Sections,
    added,
    ledger_text,
    newest,
    of_window,
    read_ledger,
    refreshed,
)
from clew.core.memory.document import ARCHIVE, digest_of, document_of
from clew.core.memory.edit import appended, slug, with_body
from clew.core.text.frontmatter import edit, parse, written
from clew.core.text.printable import printable, storable
from clew.core.text.scalars import Given
from clew.core.text.together import revealed, together
from clew.errors import ClewError, Conflict, NotFound, OverBudget, Refused, StoreError, UsageError
from clew.stores.clean_writing import clean_document, cleared
from clew.stores.documents import MOST_BYTES, NONE, Documents, Receipt, Values, folder_of
from clew.stores.durable import make_folder, put, read_bytes

PLAN: Final = "PLAN.md"
BRANCHES: Final = "branches"
KEPT_DAYS: Final = 90
"""Days after which a ledger that was not touched moves to the archive."""
_TRIES: Final = 5
"""How often a change is made again after a hand edit in between."""
_VERSION: Final = re.compile(r"PLAN-(\d{4}-\d{2}-\d{2}-\d{6})(?:-(\d+))?\.md")
_STAMP: Final = "%Y-%m-%d-%H%M%S"
_DATED: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(\d{2})(\d{2}))?\b")
Mode = Literal["own", "replace", "append"]
"""`own`: lines by Clew's rules, which take back those of the last time; the others: what somebody asked for."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A ledger or a plan as it stands on the disk now."""

    action: Literal["created", "refreshed", "replaced", "unchanged"]
    receipt: Receipt
    superseded: str = ""
    """Path of the ledger whose place this one takes."""
    archived: str = ""
    """Path of the version that was put into the archive."""
    retired: tuple[str, ...] = ()
    """Old ledgers that were moved to the archive: where each was, then where it is."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that changed."""
        return tuple(filter(None, (self.receipt.path, self.superseded, self.archived, *self.retired)))


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """A plan, now or once."""

    name: str
    """`PLAN` or `PLAN-TIME`."""
    path: str
    """Below the memory root."""
    text: str
    at: datetime | None
    """When it was last changed by hand or otherwise; of a version in the archive, when another took its place."""
    branch: str = ""
    """The branch that has a plan of its own; empty for that of the workspace."""

    @property
    def digest(self) -> str:
        """What tells it from other versions."""
        return digest_of(self.text)


@dataclass(frozen=True, slots=True)
class Handoffs:
    """The handoff folder of one workspace. Raises what Documents raises."""

    documents: Documents
    workspace: str
    """Its id."""

    @property
    def folder(self) -> str:
        """Below the memory root, with `/`."""
        return folder_of("handoff", self.workspace)

    # ------------------------------------------------------------------ ledgers

    def ledgers(self) -> list[Ledger]:
        """All that are not in the archive, by name. What cannot be read is left out."""
        found: list[Ledger] = []
        for name in self._names(self.folder):
            if name != PLAN and not document_of(f"{self.folder}/{name}"):
                with contextlib.suppress(ClewError):
                    found.append(self._ledger(name))
        return found

    def open(self, stem: str) -> tuple[Ledger, str, str]:
        """The ledger of a name, also from the archive; its path and its text. Raises NotFound, Refused."""
        name = f"{stem.removesuffix('.md')}.md"
        if "/" in name or name.startswith(".") or "\0" in name:
            raise Refused(f"`{printable(stem, 80)}` is no name of a ledger", hint="`clew handoff --list` names them")
        for folder in (self.folder, f"{self.folder}/{ARCHIVE}"):
            with contextlib.suppress(NotFound):
                text = self._read(f"{folder}/{name}")
                return self._dated(read_ledger(name[:-3], text), f"{folder}/{name}"), f"{folder}/{name}", text
        raise NotFound(f"there is no ledger `{printable(stem, 80)}`", hint="`clew handoff --list` names them")

    def save(
        self,
        ledger: Ledger,
        *,
        at: datetime,
        name: str,
        description: str = "",
        language: Language = "en",
        mode: Mode = "own",
        gone: Values = NONE,
    ) -> Kept:
        """Write what `ledger` says about its window: into the ledger that the window has, else into a new one, which
        takes the place of the one before it on its branch and thread. Then old ledgers are put away. What it calls a
        secret, and the values `gone`, are in none of the lines that the ledger had."""
        self._demand(ledger.sections, mode)
        given = ledger.sections.by_name()
        gone |= revealed(self.documents.redact, name, description, *given.values())
        name, description, *said = together(self.documents.redact, name, description, *given.values())
        redacted = said != list(given.values())
        ledger = replace(ledger, sections=Sections(**dict(zip(given, said, strict=True))))
        with self.documents.hold("handoff", self.workspace):
            there = self.ledgers()
            own = of_window(there, ledger.session, ledger.window, ledger.branch)
            if own is None:
                kept = self._create(ledger, there, at, name, description, language, mode)
            else:
                kept = self._refresh(own, ledger, at, description, language, mode, gone)
                kept = replace(kept, superseded=self._link(own, there, at))
            receipt = replace(kept.receipt, redacted=kept.receipt.redacted or (redacted and kept.receipt.written))
            return replace(kept, receipt=receipt, retired=self._retire(at))

    def _link(self, own: Ledger, there: list[Ledger], at: datetime) -> str:
        """Let the ledger before say that this one takes its place, where a process died before it wrote that."""
        old = next((one for one in there if one.holds and one.id and one.id == own.supersedes), None)
        if old is None:
            return ""
        path = f"{self.folder}/{old.stem}.md"
        self.documents.supersede(path, f"{self.folder}/{own.stem}.md", today=at.replace(microsecond=0))
        return path

    def _create(
        self,
        ledger: Ledger,
        there: list[Ledger],
        at: datetime,
        name: str,
        description: str,
        language: Language,
        mode: Mode,
    ) -> Kept:
        thread = ledger.thread or ledger.session
        near = [
            one for one in there if one.holds and one.branch == ledger.branch and (one.thread or one.session) == thread
        ]
        before = newest(near, branch=ledger.branch)
        if before is not None and not before.id:
            path = f"{self.folder}/{before.stem}.md"
            self.documents.set_fields(path, {"id": self.documents.new_id()})
            before = self._ledger(f"{before.stem}.md")
        # By its lines as they will stand there Clew knows again what it wrote.
        made = replace(
            ledger,
            id=self.documents.new_id(),
            workspace=self.workspace,
            thread=thread,
            supersedes=before.id if before is not None else "",
            created=at.replace(microsecond=0),
            updated=at.replace(microsecond=0),
        )
        text = ledger_text(made, name=name, description=description, language=language, own=mode == "own")
        stem = f"{at:%Y-%m-%d-%H%M}-{slug(name)}"
        receipt = self.documents.add(text, name=stem, tier="handoff", workspace=self.workspace)
        if before is None:
            return Kept("created", receipt)
        old = f"{self.folder}/{before.stem}.md"
        # Should the process die in between, the new one says whose place it takes, and is the newer of the two.
        _, new = self.documents.supersede(old, receipt.path, today=at.replace(microsecond=0))
        return Kept("created", replace(new, redacted=receipt.redacted), superseded=old)

    def _refresh(
        self,
        own: Ledger,
        ledger: Ledger,
        at: datetime,
        description: str,
        language: Language,
        mode: Mode,
        gone: Values,
    ) -> Kept:
        path = f"{self.folder}/{own.stem}.md"
        changes: dict[str, Given] = {"updated": at.replace(microsecond=0), "trigger": ledger.trigger or None}
        if mode == "own" and description:
            changes["description"] = description
        archived = ""
        for tries in count(1):
            text = self.documents.read_text(path)
            if mode == "append":
                new = added(text, ledger.sections, changes, language=language)
            else:
                own_lines = mode == "own"
                new = refreshed(text, ledger.sections, changes, language=language, own=own_lines)
            if cleared(new, gone, self.documents.redact) == text:
                return Kept("unchanged", _as_it_is(path, text))
            if mode == "replace":
                archived = self._put_away(text, f"{own.stem}-", self.folder, at, gone)
            try:
                receipt = self.documents.replace(path, new, expect=digest_of(text), gone=gone)
            except Conflict:
                if tries >= _TRIES:
                    raise
                continue
            return Kept("refreshed", receipt, archived=archived)
        raise AssertionError

    def _retire(self, at: datetime) -> tuple[str, ...]:
        """Move ledgers to the archive that nobody has touched for KEPT_DAYS, but never the last word on a branch."""
        there = self.ledgers()
        last = {branch: newest(there, branch=branch) for branch in {one.branch for one in there}}
        moved: list[str] = []
        for one in there:
            changed = one.updated or one.created
            if changed is None or one is last[one.branch] or at - _aware(changed, at) <= timedelta(days=KEPT_DAYS):
                continue
            path = f"{self.folder}/{one.stem}.md"
            moved += [path, self.documents.archive(path).path]
        return tuple(moved)

    def _ledger(self, name: str) -> Ledger:
        path = f"{self.folder}/{name}"
        return self._dated(read_ledger(name[:-3], self.documents.read_text(path)), path)

    def _dated(self, ledger: Ledger, path: str) -> Ledger:
        """A ledger that does not say when it was changed gets the day in its name, or the time of its file."""
        if ledger.updated or ledger.created:
            return ledger
        match = _DATED.match(ledger.stem)
        with contextlib.suppress(ValueError):
            if match:
                return replace(
                    ledger, updated=datetime.fromisoformat(f"{match[1]}T{match[2] or '00'}:{match[3] or '00'}")
                )
        with contextlib.suppress(OSError):
            return replace(
                ledger, updated=datetime.fromtimestamp(os.stat(self.documents.root / path).st_mtime).astimezone()
            )
        return ledger

    def _demand(self, sections: Sections, mode: Mode) -> None:
        length = sum(len(text) for text in sections.by_name().values())
        most = MOST_APPENDED if mode == "append" else MOST_CHARACTERS
        if length > most:
            what = "one append" if mode == "append" else "a document"
            raise OverBudget(
                f"{what} has at most {most:,} characters, this has {length:,}", hint="say less", limit=most
            )
        if sections.empty:
            raise Refused("there is nothing to hand over", hint="give a text")

    # ------------------------------------------------------------------ the plan

    def plan_path(self, branch: str = "", *, own: bool = False) -> str:
        """Where the plan of a branch lies: in a folder of its own if it has one there, or with `own` is to get one,
        else where the plan of the workspace lies."""
        if branch:
            for number in count(1):
                name = slug(branch) if number == 1 else f"{slug(branch)}-{number}"
                path = f"{self.folder}/{BRANCHES}/{name}/{PLAN}"
                if not os.path.lexists(self.documents.root / path):
                    if own:
                        return path
                    break
                # Two branches may have one slug; a plan that names none is taken for that of the first.
                named = parse(self.documents.read_text(path)).values.get("branch")
                if named in (None, "", branch):
                    return path
        return f"{self.folder}/{PLAN}"

    def plan(self, branch: str = "") -> PlanVersion | None:
        """The plan of a branch as it is now, or that of the workspace where the branch has none of its own."""
        path = self.plan_path(branch)
        try:
            text = self.documents.read_text(path)
        except NotFound:
            return None
        at = datetime.fromtimestamp(os.stat(self.documents.root / path).st_mtime).astimezone()
        return PlanVersion(PLAN[:-3], path, text, at, branch if f"/{BRANCHES}/" in path else "")

    def plan_versions(self, branch: str = "") -> list[PlanVersion]:
        """Earlier versions of the plan that `plan` gives, oldest first, then that one."""
        path = self.plan_path(branch)
        folder = self._archive_of(path)
        own = branch if f"/{BRANCHES}/" in path else ""
        found: list[tuple[datetime, int, PlanVersion]] = []
        for name in self._names(folder):
            if match := _VERSION.fullmatch(name):
                with contextlib.suppress(ClewError, ValueError):
                    at = datetime.strptime(match[1], _STAMP).astimezone()
                    version = PlanVersion(name[:-3], f"{folder}/{name}", self._read(f"{folder}/{name}"), at, own)
                    found.append((at, int(match[2] or 1), version))
        found.sort(key=lambda one: one[:2])
        now = self.plan(branch)
        return [one for _, _, one in found] + ([now] if now is not None else [])

    def write_plan(
        self, text: str, *, at: datetime, branch: str = "", own: bool = False, expect: str = "", append: bool = False
    ) -> Kept:
        """Put another text in the place of the plan, once that is in the archive; or the first one where there is none.

        A text without front matter goes below the one that is there. With `expect`, the digest of the text that the
        change was made from, Conflict is raised where the plan says something else by now. Raises UsageError where the
        text has an id that is not the plan's, or another document's.
        """
        if not text.strip():
            raise Refused("the plan would say nothing", hint="give its text")
        if append and len(text) > MOST_APPENDED:
            told = f"one append has at most {MOST_APPENDED:,} characters, this has {len(text):,}"
            raise OverBudget(told, hint="say less", limit=MOST_APPENDED)
        clean, gone = clean_document(text, self.documents.redact), revealed(self.documents.redact, text)
        with self.documents.hold("handoff", self.workspace):
            for tries in count(1):
                path = self.plan_path(branch, own=own)
                try:
                    kept = self._written(
                        path, clean, at, branch if f"/{BRANCHES}/" in path else "", expect, gone, append=append
                    )
                except (Conflict, FileExistsError) as error:
                    if expect or tries >= _TRIES:
                        raise error if isinstance(error, Conflict) else _taken(path) from error
                    continue
                return replace(kept, receipt=replace(kept.receipt, redacted=clean != storable(text)))
        raise AssertionError

    def _written(
        self, path: str, text: str, at: datetime, branch: str, expect: str, gone: Values, *, append: bool
    ) -> Kept:
        moment = at.replace(microsecond=0)
        given = parse(text).values
        try:
            current = self.documents.read_text(path)
        except NotFound:
            if expect:
                raise Conflict(
                    f"`{printable(path)}` is gone", hint="it was there when it was read", path=path
                ) from None
            self._demand_id(given, None)
            head: dict[str, Given] = {"id": self.documents.new_id(), "name": "Plan", "branch": branch or None}
            head |= {"created": moment, "updated": moment}
            changes = {key: value for key, value in head.items() if key not in given}
            made = edit(text, changes) if given else f"{written(changes)}\n{text.strip(chr(10))}\n"
            return Kept("created", self._new_file(path, made))
        if not append:
            self._demand_id(given, parse(current).values.get("id"))
        if expect and digest_of(current) != expect:
            told = f"`{printable(path)}` has changed since it was read"
            raise Conflict(told, hint="read it again, and make the change in what it says now", path=path)
        made = _replaced(current, text, append=append)
        if cleared(made, gone, self.documents.redact) == current:
            return Kept("unchanged", _as_it_is(path, current))
        made = edit(made, {"updated": moment})
        archived = self._put_away(current, "PLAN-", os.path.dirname(path), at, gone)
        receipt = self.documents.replace(path, made, expect=digest_of(current), gone=gone)
        return Kept("replaced", receipt, archived=archived)

    def _demand_id(self, given: Mapping[str, object], before: object) -> None:
        """Raise UsageError where a plan with the id `before`, or none, is to get one that takes references away."""
        wanted = given.get("id")
        if wanted in (None, "", before):
            return
        if before:
            hint = f"leave the line `id: {before}` between the lines `---` at its top"
            raise UsageError("the document would have another id, and references to it would find nothing", hint=hint)
        if any(one.id == wanted for one in self.documents.read_all()):
            hint = "take out the line `id:` at its top"
            raise UsageError(f"another document has the id `{wanted}`, and references would find either", hint=hint)

    # ------------------------------------------------------------------ the archive

    def _archive_of(self, path: str) -> str:
        inside = os.path.dirname(path).removeprefix(self.folder)
        return f"{self.folder}/{ARCHIVE}{inside}"

    def _put_away(self, text: str, prefix: str, folder: str, at: datetime, gone: Values) -> str:
        """A copy of a version in the archive, without the values `gone`, and its path. One that is there already,
        since a process died before it wrote the next version, is not put there again. Names are in the order of the
        versions, also where the clock was set back."""
        place = self._archive_of(f"{folder}/x")
        text = cleared(clean_document(text, self.documents.redact), gone, self.documents.redact)
        form = re.compile(re.escape(prefix) + r"(\d{4}-\d{2}-\d{2}-\d{6})(?:-(\d+))?\.md")
        there = sorted(
            (match[1], int(match[2] or 1), name) for name in self._names(place) if (match := form.fullmatch(name))
        )
        stamp, number = at.strftime(_STAMP), 1
        if there:
            last, last_number, name = there[-1]
            with contextlib.suppress(ClewError):
                if self._read(f"{place}/{name}") == text:
                    return ""
            if last >= stamp:
                stamp, number = last, last_number + 1
        while True:
            path = f"{place}/{prefix}{stamp}{'' if number == 1 else f'-{number}'}.md"
            with contextlib.suppress(FileExistsError):
                self._new_file(path, text)
                return path
            number += 1

    def _new_file(self, path: str, text: str) -> Receipt:
        """A file under exactly this name. Raises FileExistsError, OverBudget, Refused, StoreError."""
        clean = clean_document(text, self.documents.redact)
        if len(clean) > MOST_CHARACTERS:
            told = f"a document has at most {MOST_CHARACTERS:,} characters, this has {len(clean):,}"
            raise OverBudget(told, hint="split it into several", limit=MOST_CHARACTERS)
        real = self._real(path)
        make_folder(real.parent)
        put(real, clean.encode("utf-8", "replace"), mode=0o600, seen=None, changed=_never, shown=printable(path))
        return replace(_as_it_is(path, clean), written=True, redacted=clean != storable(text))

    def _read(self, path: str) -> str:
        """The text of a file of the folder or of its archive."""
        content = read_bytes(self._real(path), MOST_BYTES, printable(path))
        return content.decode("utf-8", "replace")

    def _real(self, path: str) -> Path:
        root, real = os.path.realpath(self.documents.root), os.path.realpath(self.documents.root / path)
        if not real.startswith(root.rstrip("/") + "/"):
            raise Refused(f"`{printable(path)}` leads out of the memory root", hint="put the file itself there")
        return Path(real)

    def _names(self, folder: str) -> Iterator[str]:
        """Names of the Markdown files of a folder that are not hidden, in order; none where there is no folder."""
        try:
            names = sorted(os.listdir(self._real(folder)))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            told = f"`{printable(folder)}` cannot be read: {error.strerror}"
            raise StoreError(told, hint="check the rights of the memory root") from error
        yield from (name for name in names if name.endswith(".md") and not name.startswith("."))


def _replaced(current: str, text: str, *, append: bool) -> str:
    """The text of a plan after a change, with the front matter that it had unless the new text has its own."""
    if append:
        return appended(current, text if current.endswith("\n\n") else f"\n{text}")
    front = parse(text)
    if front.present:
        known = parse(current).values.get("id")
        return text if "id" in front.values or not isinstance(known, str) else edit(text, {"id": known})
    end = "\r\n" if "\r\n" in current else "\n"
    body = text.replace("\r\n", "\n").strip("\n").replace("\n", end)
    old = parse(current)
    between = end if old.present else ""
    if old.body.strip() == body.strip():
        return current
    return with_body(current, f"{between}{body}{end}")


def _as_it_is(path: str, text: str) -> Receipt:
    """The receipt of a file that says `text` already."""
    lines = text.count("\n") + (bool(text) and not text.endswith("\n"))
    size = len(text.encode("utf-8", "replace"))
    return Receipt(path, digest_of(text), size, lines, read_ledger("", text).id, written=False)


def _aware(moment: datetime, like: datetime) -> datetime:
    """A time that can be compared with `like`; one without a zone is of the same zone."""
    return moment if moment.tzinfo or not like.tzinfo else moment.replace(tzinfo=like.tzinfo)


def _never(_found: bytes) -> ClewError:
    raise AssertionError


def _taken(path: str) -> Conflict:
    return Conflict(f"`{printable(path)}` was made by somebody else meanwhile", hint="try again", path=path)
