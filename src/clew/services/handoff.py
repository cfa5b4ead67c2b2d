"""What one window hands to the next, as people, models and hosts use it: ledgers, the plan, the continuation hint.

Each write is redacted, read again, audited and kept by git like a note. A model is never called.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from clew.core.handoff.account import Account, account
from clew.core.handoff.continuation import MOST_BYTES, Continuation, cited, continuation, elements, first_sentence
from clew.core.handoff.drift import Drift, drift
from clew.core.handoff.events import Altered, Asked, Event
from clew.core.handoff.gate import Trigger, Wish, may_write
from clew.core.handoff.ledger import Language, Ledger, Sections, age, is_chinese, newest, of_window, sections_of
from clew.core.handoff.plan import Difference, Plan, difference, lines_of_difference, read_plan
from clew.core.handoff.references import HANDOFF, PLAN, reference
from clew.core.handoff.works import changed_files
from clew.core.memory.document import read_document
from clew.core.memory.edit import first_words
from clew.core.text.content import decode
from clew.core.text.printable import printable
from clew.core.text.together import revealed, together
from clew.errors import NotFound, UsageError
from clew.services.memory import Memory, OpenedDocument
from clew.stores.handoff import Handoffs, Kept, PlanVersion

_PLACE: Final = re.compile(r"L?(\d{1,7})(?:-L?(\d{1,7}))?")
_NAME: Final = "Handoff"
_GRACE: Final = 1.0
"""Seconds."""
_MOST_LOOKED: Final = 100_000
"""Bytes of a file whose text is looked at."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which window is at work."""

    session: str
    """The host's id of its session."""
    number: int = 1
    """Which window of the session, counted from 1: one more after each compaction."""
    thread: str = ""
    """The first of the sessions that go on from one another; empty: this one is the first."""


@dataclass(frozen=True, slots=True)
class Handed:
    """What is on the disk now, and was read again; or why nothing was written."""

    action: Literal["created", "refreshed", "replaced", "unchanged", "withheld"]
    ref: str = ""
    kept: Kept | None = None
    """None where nothing was written."""
    reason: str = ""
    """Why nothing was written."""
    audited: bool = True
    """False where the audit trail could not be written."""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """Two versions of a plan, compared."""

    before: PlanVersion
    after: PlanVersion
    steps: tuple[Difference, ...]
    lines: tuple[str, ...]
    """Changed lines, with `-` and `+`, without secrets."""


@dataclass(slots=True)
class Handoff:
    """The handoffs of one workspace, beside its other memory."""

    memory: Memory

    @property
    def files(self) -> Handoffs:
        """The folder on the disk."""
        return Handoffs(self.memory.documents, self.memory.workspace)

    # ------------------------------------------------------------------ ledgers

    def ledgers(self) -> list[Ledger]:
        """All that are not in the archive, the latest first."""
        return sorted(self.files.ledgers(), key=age, reverse=True)

    def newest(self, window: Window | None = None) -> Ledger | None:
        """The ledger that a window goes on from, on the branch at hand."""
        session, thread = (window.session, window.thread) if window is not None else ("", "")
        return newest(self.files.ledgers(), branch=self.memory.branch, session=session, thread=thread)

    def save(
        self,
        text: str,
        window: Window,
        *,
        name: str = "",
        trigger: Trigger = "tool",
        mode: Literal["append", "replace"] = "append",
        language: Language | None = None,
    ) -> Handed:
        """Hand over a text: sections by their headings, in either language; without any it is the state.

        It goes into the ledger of the window, if there is one: `append` adds to its sections, `replace` replaces those
        that are given, and the version before goes to the archive. Raises UsageError, and what Documents raises.
        """
        if not text.strip():
            raise UsageError(
                "there is nothing to hand over", hint='for instance: clew handoff save "Next: the retries"'
            )
        gone = revealed(self.memory.documents.redact, text, name)
        said, name = together(self.memory.documents.redact, text, name)
        sections = sections_of(said)
        told = first_sentence(sections.progress) or first_sentence(sections.goal) or first_sentence(sections.state)
        ledger = self._ledger(window, trigger, sections)
        kept = self.files.save(
            ledger,
            at=self.memory.clock(),
            name=name or first_words(told or said),
            description=told,
            language=language or ("zh" if is_chinese([text]) else "en"),
            mode=mode,
            gone=gone,
        )
        receipt = replace(kept.receipt, redacted=kept.receipt.redacted or (said != text and kept.receipt.written))
        return self._done(replace(kept, receipt=receipt), f"handoff by {trigger}")

    def keep(self, events: Sequence[Event], window: Window, *, trigger: Trigger) -> Handed:
        """Write or refresh the ledger of a window by rule, from all that happened in it so far, where the gate lets
        it pass. Raises what Documents raises; nothing is said to be saved then."""
        at, ledgers = self.memory.clock(), self.files.ledgers()
        branch = self.memory.branch
        own = of_window(ledgers, window.session, window.number, branch)
        told = self._account(events, window, own, ledgers)
        last = own.updated if own is not None and own.trigger not in ("tool", "user") else None
        wish = Wish(trigger, at, _like(last, at), told.tools, told.asked)
        answer = may_write(wish)
        if not answer.allowed:
            audited = self.memory.audit.write(
                "exclusion",
                reason=f"no handoff: {answer.reason}",
                workspace=self.memory.workspace,
                session=window.session,
            )
            return Handed("withheld", reason=answer.reason, audited=audited)
        if told.sections.empty:
            return Handed("withheld", reason="nothing happened that a later window could need")
        ledger = self._ledger(window, trigger, told.sections)
        kept = self.files.save(
            ledger,
            at=at,
            name=first_words(told.title or _NAME),
            description=cited(first_sentence(told.sections.progress) or first_sentence(told.sections.goal))[0],
            language=_language(events),
        )
        return self._done(kept, f"handoff by {trigger}")

    def _account(
        self, events: Sequence[Event], window: Window, own: Ledger | None, ledgers: Sequence[Ledger]
    ) -> Account:
        branch = self.memory.branch
        if own is not None:
            before = next((one for one in ledgers if one.id and one.id == own.supersedes), None)
            # What it stands on was superseded by the ledger of this very window: that is no reason against it.
            before = replace(before, status="active", superseded_by="") if before is not None else None
        else:
            thread = window.thread or window.session
            near = [one for one in ledgers if (one.thread or one.session) == thread]
            before = newest(near, branch=branch)
        plan = self.files.plan(branch)
        return account(
            events, before=before, plan=plan_of(plan) if plan is not None else None,
            plan_is_newer=_is_newer(plan, before), branch=branch, language=_language(events),
        )  # fmt: skip

    def _ledger(self, window: Window, trigger: Trigger, sections: Sections) -> Ledger:
        return replace(
            Ledger(),
            branch=self.memory.branch,
            trigger=trigger,
            session=window.session,
            window=window.number,
            thread=window.thread,
            sections=sections,
        )

    # ------------------------------------------------------------------ the next window

    def hint(self, window: Window | None = None, *, most: int = MOST_BYTES, root: Path | None = None) -> Continuation:
        """The continuation hint for a window, without secrets; its text is empty where there is nothing to go on from.
        With `root`, the folder that is worked in, it also tells of files that others changed since the ledger was
        written. That it was made is audited as an injection."""
        ledger, plan = self.newest(window), self.plan()
        if ledger is not None and root is not None and (since := altered(ledger, root)):
            told = account(
                since, before=ledger, plan=plan_of(plan) if plan else None, plan_is_newer=_is_newer(plan, ledger),
                branch=ledger.branch, language=_of_ledger(ledger),
            )  # fmt: skip
            ledger = replace(ledger, sections=told.sections)
        made = self.hint_of(plan, ledger, most=most)
        if made.text:
            self.memory.audit.write(
                "injection", reason="continuation", refs=made.references, workspace=self.memory.workspace,
                session=window.session if window is not None else "", numbers={"bytes": made.bytes},
            )  # fmt: skip
        return made

    def hint_of(self, plan: PlanVersion | None, ledger: Ledger | None, *, most: int = MOST_BYTES) -> Continuation:
        """The hint from one plan and one ledger."""
        clean = replace(ledger, sections=self.sections(ledger)) if ledger is not None else None
        texts = [plan.text] if plan is not None else []
        texts += list(clean.sections.by_name().values()) if clean is not None else []
        return continuation(
            read_plan(self._clean(plan.text)) if plan is not None else None,
            clean,
            most=most,
            language="zh" if is_chinese(texts) else "en",
            plan_is_newer=_is_newer(plan, ledger),
        )

    def drifted(self, restatement: str, window: Window | None = None) -> Drift:
        """What a model says about the work, against plan and ledger."""
        plan = self.plan()
        return drift(restatement, read_plan(plan.text) if plan is not None else None, self.newest(window))

    # ------------------------------------------------------------------ the plan

    def plan(self) -> PlanVersion | None:
        """The plan of the branch at hand, else that of the workspace."""
        return self.files.plan(self.memory.branch)

    def plan_versions(self) -> list[PlanVersion]:
        """All versions of that plan, oldest first, the present one last."""
        return self.files.plan_versions(self.memory.branch)

    def write_plan(
        self, text: str, *, mode: Literal["append", "replace"] = "replace", expect: str = "", own: bool = False
    ) -> Handed:
        """Another text for the plan; the version before goes to the archive first. `own`: the branch at hand gets a
        plan of its own. Raises UsageError, Conflict, and what Documents raises."""
        if not text.strip():
            raise UsageError("the plan would say nothing", hint="give its text; `clew plan edit` opens an editor")
        if own and not self.memory.branch:
            raise UsageError("there is no branch here", hint="leave out --branch: the plan is that of the project")
        kept = self.files.write_plan(
            text, at=self.memory.clock(), branch=self.memory.branch, own=own, expect=expect, append=mode == "append"
        )
        return self._done(kept, "plan")

    def plan_difference(self, one: str = "", other: str = "") -> PlanDifference:
        """Two versions compared, named as `plan log` numbers or names them; without names the last two. With one name
        that version and the present one. Raises NotFound."""
        versions = self.plan_versions()
        if not versions:
            raise NotFound("there is no plan yet", hint="`clew plan edit` begins one")
        if not one and len(versions) < 2:
            raise NotFound("the plan has only one version", hint="`clew plan` shows it")
        before = _version(versions, one) if one else versions[-2]
        after = _version(versions, other) if other else versions[-1]
        old, new = self._clean(before.text), self._clean(after.text)
        return PlanDifference(
            before, after, difference(read_plan(old), read_plan(new)), tuple(lines_of_difference(old, new))
        )

    # ------------------------------------------------------------------ references

    def open(self, ref: str) -> OpenedDocument:
        """What `clew://handoff/…`, `clew://plan` or `clew://plan/…` points to, or some lines of it. Raises NotFound."""
        bare, _, place = ref.strip().partition("#")
        if bare.startswith(HANDOFF):
            _, path, text = self.files.open(bare.removeprefix(HANDOFF))
        else:
            name = bare.removeprefix(PLAN).strip("/")
            versions = self.plan_versions() if name else [one for one in (self.plan(),) if one is not None]
            if not versions:
                raise NotFound("there is no plan yet", hint="`clew plan edit` begins one")
            version = _version(versions, name) if name else versions[-1]
            path, text = version.path, version.text
        clean = self._clean(text)
        document = replace(read_document(path, clean), path=path)
        lines = clean.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        first, last = _lines(place, len(lines))
        shown = "\n".join(lines[first - 1 : last])
        stale = document.stale(self.memory.clock().date())
        return OpenedDocument(document, first, last, shown, stale, len(lines), clean != text)

    def sections(self, ledger: Ledger) -> Sections:
        """What a ledger says, without secrets: what one section reveals is in none of them."""
        given = ledger.sections.by_name()
        clean = together(self.memory.documents.redact, *given.values())
        return Sections(**dict(zip(given, clean, strict=True)))

    def _clean(self, text: str) -> str:
        return together(self.memory.documents.redact, text)[0]

    def _done(self, kept: Kept, why: str) -> Handed:
        receipt, memory = kept.receipt, self.memory
        ref = reference(receipt.path)
        if kept.action == "unchanged":
            return Handed("unchanged", ref, kept)
        if kept.superseded:
            why += f", takes the place of {reference(kept.superseded)}"
        audited = memory.audit.write(
            "write", reason=f"{why}; secrets were removed" if receipt.redacted else why,
            refs=tuple(filter(None, (ref, kept.archived))), workspace=memory.workspace, session=memory.session,
            numbers={"bytes": receipt.size},
        )  # fmt: skip
        memory.git.commit(kept.paths, memory.documents.redact(why), batch=True)
        memory.wrote.extend(filter(None, (receipt.path, kept.superseded)))
        return Handed(kept.action, ref, kept, audited=audited)


def altered(ledger: Ledger, root: Path) -> list[Event]:
    """Files that a ledger says were changed in its window, as far as somebody else has changed or removed them since;
    and beside those that are gone, what is new. Only files below `root` are looked at."""
    moment, found, gone = ledger.updated or ledger.created, list[Event](), list[Path]()
    if moment is None:
        return found
    for name in changed_files(elements(ledger)):
        path = root / name
        try:
            if not path.resolve().is_relative_to(root.resolve()):
                continue
            status = path.stat()
            # A second of grace: what a tool wrote last was not changed by somebody else.
            if status.st_mtime > moment.timestamp() + _GRACE and status.st_size <= _MOST_LOOKED:
                found.append(Altered(name, decode(path.read_bytes()) or ""))
        except FileNotFoundError:
            found.append(Altered(name, gone=True))
            gone.append(path.parent)
        except (OSError, ValueError):
            continue
    told = {event.path for event in found if isinstance(event, Altered)}
    for path in (one for folder in dict.fromkeys(gone) for one in _beside(folder, moment.timestamp() + _GRACE)):
        name = path.relative_to(root).as_posix()
        with contextlib.suppress(OSError):
            if name not in told and path.stat().st_size <= _MOST_LOOKED:
                found.append(Altered(name, decode(path.read_bytes()) or ""))
    return found


def _beside(folder: Path, moment: float, most: int = 3) -> list[Path]:
    """Files of a folder that are newer than a moment, the newest first: what is gone may have got another name."""
    try:
        found = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return []
    return [Path(path) for changed, path in sorted(found, reverse=True) if changed > moment][:most]


def _is_newer(plan: PlanVersion | None, ledger: Ledger | None) -> bool:
    """Whether a plan was changed after a ledger, also by hand."""
    if plan is None or plan.at is None or ledger is None:
        return True
    changed = _like(ledger.updated, plan.at)
    return changed is None or plan.at >= changed


def plan_of(version: PlanVersion | None) -> Plan:
    """What a version says; an empty plan where there is none."""
    return read_plan(version.text) if version is not None else Plan()


def _version(versions: Sequence[PlanVersion], name: str) -> PlanVersion:
    """The version that a number of `clew plan log` (1 is the oldest), a name, or the beginning of its time means."""
    if name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(versions) and len(name) < 5:
        return versions[int(name) - 1]
    wanted = name.removesuffix(".md").rpartition("/")[2]
    exact = [one for one in versions if one.name == wanted]
    close = exact or [one for one in versions if one.name.startswith((wanted, f"PLAN-{wanted}"))]
    if len(close) != 1 and not exact:
        shown, hint = printable(name, 60), "`clew plan log` numbers them"
        if close:
            raise NotFound(f"`{shown}` is more than one version of the plan", hint=hint)
        raise NotFound(f"`{shown}` is no version of the plan", hint=hint)
    return close[0]


def _lines(place: str, count: int) -> tuple[int, int]:
    match = _PLACE.fullmatch(place) if place else None
    if place and match is None:
        raise UsageError(f"`#{printable(place, 40)}` names no lines", hint="for instance #L12 or #L12-20")
    if match is None:
        return 1, count
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last or first > count:
        raise NotFound(f"there are no lines {first} to {last}: it has {count}", hint="leave out what follows `#`")
    return first, min(last, count)


def _of_ledger(ledger: Ledger) -> Language:
    return "zh" if is_chinese(ledger.sections.by_name().values()) else "en"


def _language(events: Sequence[Event]) -> Language:
    return "zh" if is_chinese([event.text for event in events if isinstance(event, Asked)]) else "en"


def _like(moment: datetime | None, other: datetime) -> datetime | None:
    """A time that can be compared with another: one without a zone is of the same zone."""
    if moment is not None and moment.tzinfo is None and other.tzinfo is not None:
        return moment.replace(tzinfo=other.tzinfo)
    return moment
