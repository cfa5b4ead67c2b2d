"""Memory as people and agents use it: what is written is redacted, read back, audited and kept by git; what is asked is
searched in an index that mirrors the files.

One value of `Memory` serves one workspace. Every face (commands, tools, hooks) goes through it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from clew.adapters.memory_git import MemoryGit
from clew.core.memory.check import Finding, check, mends
from clew.core.memory.document import (
    MOST_NAME,
    TYPES,
    Document,
    clean_line,
    nearest,
    read_document,
    reference_of,
)
from clew.core.memory.edit import Draft, distinct, first_sentence, first_words
from clew.core.text.printable import printable
from clew.core.text.redact_lines import lines_kept
from clew.core.text.scalars import Given
from clew.core.text.together import revealed, together, without
from clew.errors import ClewError, NotFound, Refused, UsageError
from clew.services.memory_known import Behind, Known, same, several
from clew.services.memory_search import BUDGET, SCOPES, VARIANT, Found, joined, rebuild, search_memory
from clew.services.sync_conflicts import Copy, conflicts
from clew.stores.audit import Audit
from clew.stores.clean_writing import clean_draft
from clew.stores.documents import Documents, Receipt
from clew.stores.importing import Plan, Step, carry_out, import_folder
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter
from clew.stores.sqlite_file import remove

if TYPE_CHECKING:
    from clew.services.session_search import SessionSearch

_TELL_APART: Final = (
    "`clew memory set PATH name=NAME` gives one another name, `clew memory set PATH supersedes=PATH` lets one take the "
    "place of the other"
)
_LINES = re.compile(r"L?(\d{1,7})(?:-L?(\d{1,7}))?")


@dataclass(frozen=True, slots=True)
class NoteWish:
    """A note as somebody wants it kept."""

    text: str
    name: str
    description: str = ""
    """Empty: the first sentence of the text, or the beginning of it where the name is that sentence."""
    type: str = "note"
    when: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    personal: bool = False
    """Belongs to the user, in every project."""
    mode: Literal["append", "replace"] = "append"
    """Where a note of that name is there: `append` adds to it, `replace` supersedes it by a new one."""
    branch: str = ""
    expires: date | None = None
    derived: bool = False
    """The name was made from the text, and means no note that is there: others may begin in the same way."""
    revealed: frozenset[str] | None = field(default=None, repr=False)
    """Where secrets were taken out of it: the values that it called so, which a document that it goes to may hold."""

    asked: str = field(default="", repr=False)
    """The name as it was given, where a secret was taken out of it: the note that is meant may still be called so."""

    @property
    def gone(self) -> frozenset[str]:
        """The values that are to be in nothing that is written."""
        return self.revealed or frozenset()


@dataclass(frozen=True, slots=True)
class Saved:
    """What is on the disk now; it was read again."""

    action: Literal["created", "appended", "superseded", "unchanged", "edited"]
    ref: str
    receipt: Receipt
    replaced: str = ""
    """The reference of the note that this one supersedes."""
    audited: bool = True
    """False where the audit trail could not be written."""


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """A document, or some of its lines, behind a reference."""

    document: Document
    first: int
    last: int
    text: str
    """Without secrets."""
    stale: str
    """Why it does not hold any more; empty while it does."""
    lines: int
    """Of the whole document."""
    redacted: bool
    """Whether secrets were taken out of `text`."""


@dataclass(slots=True)
class Memory:
    """The memory of one workspace and of its user."""

    documents: Documents
    index_path: Path
    audit: Audit
    git: MemoryGit
    workspace: str
    """Its id."""
    clock: Callable[[], datetime]
    branch: str = ""
    """The branch at hand; notes of other branches stay out of answers."""
    session: str = ""
    notices: list[str] = field(default_factory=list[str])
    follow: Callable[[Sequence[str]], object] | None = None
    """Makes hints know what was written: it gets the paths."""
    wrote: list[str] = field(default_factory=list[str])
    """Paths that were written since this was opened or closed."""
    progress: Callable[[int, int], None] | None = None
    """Told of files that were read and of how many there are to read; what it raises ends that work."""
    sessions: SessionSearch | None = None
    """Searches the agent's sessions, for the scopes `sessions` and `all`; None: they are left out."""
    personal: bool = True
    """Whether documents of the user, beside those of the workspace, are found and opened."""

    # ------------------------------------------------------------------ writing

    def note(self, wish: NoteWish) -> Saved:
        """Keep a note. Raises UsageError for what is missing or unknown, NotFound where several notes of that name
        hold, and what Documents raises."""
        wish = self._clean(wish)
        self._demand(wish)
        for patient in (False, True):
            try:
                # Between the look at what holds and the writing nobody else may write: else two would hold.
                with self.documents.hold(*self._place(wish)):
                    return self._kept(wish, patient=patient)
            except Behind:
                # Others would wait for the lock while files are read that they have nothing to do with.
                self._known.freshened(self.progress)
        raise AssertionError

    def _kept(self, wish: NoteWish, *, patient: bool) -> Saved:
        """As `note`, for who holds the lock. Raises Behind unless `patient`."""
        if wish.derived:
            wish, there = self._told_apart(wish, patient=patient)
        else:
            there = self._named(wish, patient=patient)
        if there is None:
            return self._create(wish)
        if wish.mode == "replace":
            return self._replace(there, wish)
        return self._append(there, wish)

    def log(self, text: str, heading: str = "") -> Saved:
        """An entry in today's log of the workspace."""
        if not text.strip():
            raise UsageError("there is nothing to log", hint='for instance: clew log "moved the tests to tox"')
        at = self.clock()
        receipt = self.documents.log(self.workspace, text, at=at, heading=heading)
        return self._saved("appended", receipt, f"entry in the log of {at:%Y-%m-%d}")

    def edit(self, ref: str, change: Callable[[str], str]) -> Saved:
        """Let `change` make another text of a document. Raises Conflict where it was changed in between, and UsageError
        where the text would be gone, or the id would be gone, changed, or that of another document."""
        document = self.find(ref)
        text = self.documents.read_text(document.path)
        new = change(text)
        if new == text:
            return Saved("unchanged", document.ref or document.path, self._receipt(document))
        after = read_document(document.path, new)
        if not after.body.strip() and (document.body.strip() or not new.strip()):
            hint = f"nothing was changed; to give it up: clew memory forget {document.id or document.path}"
            raise UsageError("the document would say nothing", hint=hint)
        self._known.demand_id(document, after, self.progress)
        receipt = self.documents.replace(document.path, new, expect=document.digest)
        return self._saved("edited", receipt, "edited")

    def set_fields(self, ref: str, changes: Mapping[str, Given]) -> Saved:
        """Set keys of the front matter, nothing else. Raises UsageError for a name that is too long."""
        if isinstance(name := changes.get("name"), str):
            self._demand_short(name)
        document = self.find(ref)
        receipt = self.documents.set_fields(document.path, {**changes, "updated": self._today()})
        return self._saved("edited", receipt, "set " + ", ".join(changes))

    def supersede(self, old: str, new: str) -> Saved:
        """Let the document `new` take the place of `old`; both say so. Raises NotFound, Refused."""
        older, newer = self.find(old), self.find(new)
        first, second = self.documents.supersede(older.path, newer.path, today=self._today())
        self.git.commit((first.path,), f"superseded by {newer.id}", batch=True)
        saved = self._saved("superseded", second, f"supersedes {older.ref}")
        return replace(saved, replaced=older.ref)

    def release(self, ref: str) -> Saved:
        """Take back that a document superseded others: they hold again, unless something else ended them. Unchanged
        where it superseded none."""
        newer = self.find(ref)
        if "supersedes" not in newer.lines:
            return Saved("unchanged", newer.ref or newer.path, self._receipt(newer))
        # First the older ones: should the process die before the link is gone, the same command goes on with it.
        for older in self._known.of_ids(newer.supersedes, self.progress) if newer.id else ():
            receipt = self.documents.release(older.path, newer.id, today=self._today())
            if receipt.written:
                self._saved("edited", receipt, f"no longer superseded by {newer.ref}")
        receipt = self.documents.set_fields(newer.path, {"supersedes": None, "updated": self._today()})
        return self._saved("edited", receipt, "supersedes nothing any more")

    def take_over(self, folder: Path, *, personal: bool = False) -> Plan:
        """What an import of a folder of Markdown would do; nothing is written."""
        tier, workspace = ("user", "") if personal else ("note", self.workspace)
        return import_folder(
            self.documents, folder, tier=tier, workspace=workspace, today=self._today(), progress=self.progress
        )  # fmt: skip

    def carry_out(self, plan: Plan) -> Iterator[tuple[Step, Receipt]]:
        """Write what the plan says, note by note."""
        for step, receipt in carry_out(self.documents, plan):
            self.audit.write("write", reason=f"imported {step.file}", refs=(_ref(receipt),), workspace=self.workspace)
            self.git.commit((receipt.path,), f"import {step.file}", batch=True)
            self.wrote.append(receipt.path)
            yield step, receipt

    # ------------------------------------------------------------------ reading

    def recall(self, query: str, *, scope: str = "all", budget: int = BUDGET, chosen: Filter | None = None) -> Found:
        """Search the memory of this workspace and of the user. A miss is recorded in the audit. Raises UsageError."""
        if scope not in SCOPES:
            hint = f"one of: {', '.join(SCOPES)}"
            raise UsageError(f"there is no scope `{printable(scope, 40)}`", hint=hint)
        if not query.strip():
            raise UsageError("there is nothing to look for", hint="give a question or some words")
        chosen = chosen or self.own()
        said = None
        if self.sessions is not None and scope in ("sessions", "all") and not (chosen.types or chosen.tags):
            self.sessions.progress = self.progress
            said = self.sessions.find(query, chosen=chosen, budget=budget if scope == "sessions" else budget // 3)
        if said is not None and scope == "sessions":
            found = said
        else:
            room = budget if said is None or said.miss else budget - budget // 3
            found = search_memory(
                self.index_path, self.documents, query, scope=scope, chosen=chosen, today=self._today(), budget=room,
                progress=self.progress,
            )  # fmt: skip
            found = found if said is None else joined(found, said)
        self.notices.extend(found.notices)
        self._record(query, found)
        return found

    def own(self, *, personal: bool = True) -> Filter:
        """This workspace and, unless `personal` is off, the user, on the branch at hand."""
        return Filter(
            workspaces=("", self.workspace) if personal and self.personal else (self.workspace,),
            branches=(self.branch,) if self.branch else (),
        )

    def open(self, ref: str) -> OpenedDocument:
        """What a reference points to. Raises NotFound, UsageError."""
        bare, _, place = ref.strip().partition("#")
        document = self.find(bare)
        text = self.documents.read_text(document.path)
        (clean,) = together(self.documents.redact, text)
        lines = lines_kept(text, clean).replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        first, last = _range(place, len(lines))
        shown = "\n".join(lines[first - 1 : last])
        return OpenedDocument(document, first, last, shown, document.stale(self._today()), len(lines), clean != text)

    def find(self, ref: str) -> Document:
        """The document of a reference, an id, a path below the memory root, or a name. Raises NotFound.

        Of several with one name the one that holds is meant, then the one of the branch at hand.
        """
        found = self._known.find(ref, self._is_near, self._narrowed, self.progress)
        if not self.personal and found.tier == "user":
            raise NotFound(f"`{printable(ref, 80)}` belongs to the user", hint="only the main agent reads it")
        return found

    def listing(self, *, everything: bool = False) -> list[Document]:
        """Documents of this workspace and of the user (or of all workspaces), by path."""
        found = self.documents.read_all(self.progress)
        return [one for one in found if everything or self._is_near(one)]

    def check(self, *, fix: bool = False) -> tuple[tuple[Finding, ...], tuple[Receipt, ...]]:
        """What is wrong with the documents, after what can be mended was mended (`fix`)."""
        mended: list[Receipt] = []
        if fix:
            everything, before = list(self.documents.read_all(self.progress)), self._known.ids_indexed()
            for path, changes in mends(everything, self.documents.new_id, before).items():
                try:
                    receipt = self.documents.set_fields(path, changes)
                except ClewError as error:
                    self.notices.append(f"`{path}` is not mended: {error}")
                    continue
                mended.append(receipt)
                self._saved("edited", receipt, "mended " + ", ".join(changes))
        documents = list(self.documents.read_all(self.progress))
        found = check(documents, today=self._today(), indexed=self._known.ids_indexed())
        return (*map(_undecided, conflicts(self.documents.root)), *found), tuple(mended)

    @property
    def _known(self) -> Known:
        return Known(self.documents, self.index_path)

    def _called(self, is_meant: Callable[[str], bool], wish: NoteWish, *, patient: bool) -> list[Document]:
        """Notes that hold in the place of the wish, by name. Raises Behind unless `patient`."""
        today = self._today()
        found = self._known.called(is_meant, *self._place(wish), progress=self.progress, patient=patient)
        return [one for one in found if not one.stale(today)]

    def _named(self, wish: NoteWish, *, patient: bool) -> Document | None:
        """The note of the wished name that holds for the wished branch. Raises NotFound where there are several."""
        # As it would be written: no longer than a name may be.
        wanted = clean_line(wish.name, MOST_NAME)
        names = [wanted, *([clean_line(wish.asked, MOST_NAME)] if wish.asked else [])]
        alike = self._called(lambda called: any(same(called, name) for name in names), wish, patient=patient)
        found = [one for one in alike if one.branch == wish.branch]
        if len(found) > 1:
            # Whichever is taken, the other goes on being said.
            raise several(wanted, found, _TELL_APART)
        return found[0] if found else None

    def _told_apart(self, wish: NoteWish, *, patient: bool) -> tuple[NoteWish, Document | None]:
        """The wish under a name that no note has, or with the note that says the very same already."""
        name, text = wish.name, wish.text.strip()
        begun = " ".join(name.casefold().split())
        alike = self._called(lambda called: called.casefold().startswith(begun), wish, patient=patient)
        for one in alike:
            if one.branch == wish.branch and one.body.strip() == text:
                return wish, one
        return replace(wish, name=distinct(name, (one.name for one in alike))), None

    def rebuild(self) -> dict[str, int]:
        """Delete the index and make it anew: how many `documents` and `passages` it holds. Raises StoreError."""
        rebuild(self.index_path, self.documents, self.progress)
        if self.sessions is not None:
            with contextlib.suppress(OSError):
                remove(self.sessions.path)
        with MemoryIndex.open(self.index_path, variant=VARIANT) as index:
            return index.counts()

    def close(self) -> None:
        """Commit what waits for its commit, and prepare hints from what was written."""
        self.git.close()
        if self.wrote and self.follow is not None:
            # What cannot be kept in the cache is prepared when it is needed.
            with contextlib.suppress(ClewError):
                self.follow(tuple(self.wrote))
        self.wrote.clear()
        self.notices.extend(self.git.notices)
        self.git.notices.clear()

    # ------------------------------------------------------------------ inside

    def _clean(self, wish: NoteWish) -> NoteWish:
        """The wish without secrets: what one of its fields reveals is gone from all, and from a name made of them."""
        draft = replace(self._draft(wish), description=wish.description)
        clean = clean_draft(draft, self.documents.redact)
        if clean == draft:
            return wish
        name = first_words(clean.body) if wish.derived else clean.name
        told = revealed(self.documents.redact, draft.name, draft.body, draft.description, *draft.tags, *draft.when)
        return replace(
            wish, text=clean.body, name=name, description=clean.description, when=clean.when, tags=clean.tags,
            revealed=told, asked="" if wish.derived or clean.name == draft.name else draft.name,
        )  # fmt: skip

    def _demand(self, wish: NoteWish) -> None:
        if not wish.text.strip():
            raise UsageError("the note says nothing", hint="give its text")
        if not wish.name.strip():
            raise UsageError("the note has no name", hint="a few words that tell it from others")
        if not wish.derived:
            self._demand_short(wish.name)
        if wish.derived and wish.mode == "replace":
            raise UsageError("which note to replace is not said", hint="give its name: --name NAME")
        if wish.type not in TYPES:
            close = nearest(wish.type, TYPES)
            hint = f"did you mean `{close}`? " if close else ""
            raise UsageError(f"there is no type `{printable(wish.type, 40)}`", hint=f"{hint}one of: {', '.join(TYPES)}")

    def _demand_short(self, name: str) -> None:
        if len(clean_line(self.documents.redact(name), 4 * MOST_NAME)) > MOST_NAME:
            told = f"the name is longer than {MOST_NAME} characters"
            raise UsageError(told, hint="a few words that tell it from others; the text says the rest")

    def _draft(self, wish: NoteWish, supersedes: Sequence[str] = ()) -> Draft:
        return Draft(
            name=wish.name,
            body=wish.text,
            description=wish.description or _told(wish),
            type=wish.type,
            branch=wish.branch,
            tags=wish.tags,
            when=wish.when,
            supersedes=tuple(supersedes),
            expires=wish.expires,
        )

    def _place(self, wish: NoteWish) -> tuple[str, str]:
        """Tier and workspace of what is wished."""
        return ("user", "") if wish.personal else ("note", self.workspace)

    def _create(self, wish: NoteWish, supersedes: Sequence[str] = ()) -> Saved:
        tier, workspace = self._place(wish)
        draft = self._draft(wish, supersedes)
        receipt = self.documents.create(draft, tier=tier, workspace=workspace, today=self._today(), gone=wish.gone)
        receipt = replace(receipt, redacted=receipt.redacted or wish.revealed is not None)
        return self._saved("created", receipt, f"new note `{wish.name}`")

    def _append(self, there: Document, wish: NoteWish) -> Saved:
        changes: dict[str, Given] = {}
        if more := tuple(phrase for phrase in wish.when if phrase not in there.when):
            changes["when"] = (*there.when, *more)
        if more := tuple(tag for tag in wish.tags if tag not in there.tags):
            changes["tags"] = (*there.tags, *more)
        if wish.description and wish.description != there.description:
            changes["description"] = wish.description
        if wish.type not in ("note", there.type):
            changes["type"] = wish.type
        if wish.expires is not None and wish.expires != there.expires:
            changes["expires"] = wish.expires
        said = wish.text.strip() in there.body
        receipt = self.documents.set_fields(there.path, {}, gone=wish.gone) if said else self.documents.append(
            there.path, wish.text, gone=wish.gone
        )  # fmt: skip
        if said and not changes and not receipt.written:
            return Saved("unchanged", there.ref or there.path, self._receipt(there))
        final = self.documents.set_fields(there.path, {**changes, "updated": self._today()}, gone=wish.gone)
        joined = replace(
            final, line=receipt.line, older=receipt.older or final.older,
            redacted=receipt.redacted or final.redacted or wish.revealed is not None,
        )  # fmt: skip
        return self._saved("appended", joined, self._told(f"added to `{there.name}`", wish))

    def _replace(self, there: Document, wish: NoteWish) -> Saved:
        if there.body.strip() == wish.text.strip() and not wish.when and not wish.description:
            return Saved("unchanged", there.ref or there.path, self._receipt(there))
        if not there.id:
            raise Refused(f"`{there.path}` has no id", hint="`clew memory check --fix` gives it one")
        # What brings the old note to mind must bring the new one.
        when, tags = wish.when or there.when, wish.tags or there.tags
        wish = replace(wish, when=when, tags=tags, type=there.type if wish.type == "note" else wish.type)
        self.documents.demand_writable(there.path)
        # Should the process die before the old one says so too, `check` finds the open side.
        created = self._create(wish, (there.id,))
        old, receipt = self.documents.supersede(there.path, created.receipt.path, today=self._today(), gone=wish.gone)
        receipt = replace(receipt, redacted=created.receipt.redacted, older=old.older)
        saved = self._saved("superseded", receipt, f"`{wish.name}` supersedes {there.ref}")
        return Saved("superseded", saved.ref, receipt, there.ref, saved.audited)

    def _told(self, why: str, wish: NoteWish) -> str:
        """What is said of a write, without what it revealed."""
        return without(self.documents.redact, why, wish.gone)

    def _saved(
        self, action: Literal["created", "appended", "superseded", "edited"], receipt: Receipt, why: str
    ) -> Saved:
        reason = f"{why}; secrets were removed" if receipt.redacted else why
        audited = self.audit.write(
            "write", reason=reason, refs=(_ref(receipt),), workspace=self.workspace, session=self.session,
            numbers={"bytes": receipt.size},
        )  # fmt: skip
        self.git.commit((receipt.path,), self.documents.redact(why), batch=True)
        self.wrote.append(receipt.path)
        return Saved(action, _ref(receipt), receipt, audited=audited)

    def _record(self, query: str, found: Found) -> None:
        kind = "miss" if found.miss else "recall"
        searched = found.searched
        self.audit.write(
            kind, reason=f"searched {searched.scope}", query=query,
            refs=tuple(hit.reference for hit in found.hits[:10]),
            workspace=self.workspace, session=self.session,
            numbers={"documents": searched.documents, "passages": searched.passages, "hits": len(found.hits)},
        )  # fmt: skip

    def _narrowed(self, found: list[Document]) -> list[Document]:
        for wanted in (lambda one: not one.stale(self._today()), lambda one: one.branch in ("", self.branch)):
            if len(found) > 1:
                found = [one for one in found if wanted(one)] or found
        return found

    def _is_near(self, document: Document) -> bool:
        return document.workspace == self.workspace or (self.personal and not document.workspace)

    def _today(self) -> date:
        return self.clock().date()

    def _receipt(self, document: Document) -> Receipt:
        text = self.documents.read_text(document.path)
        size = len(text.encode("utf-8", "surrogateescape"))
        return Receipt(document.path, document.digest, size, len(text.splitlines()), document.id, written=False)


def _told(wish: NoteWish) -> str:
    """The description of a note that was given none: its first sentence, or more where the name says that already."""
    first = first_sentence(wish.text)
    return wish.text if same(first.rstrip(".!?。！？"), wish.name) else first


def _undecided(conflict: Copy) -> Finding:
    """A document with two versions, as what `check` finds."""
    what = f"another version of it lies beside it, as `{printable(conflict.copy.rpartition('/')[2])}`"
    hint = "`clew sync --show` shows both, `clew sync --resolve` ends it"
    return Finding(conflict.path, 1, what, hint, "conflict")


def _ref(receipt: Receipt) -> str:
    return reference_of(receipt.id) if receipt.id else receipt.path


def _range(place: str, lines: int) -> tuple[int, int]:
    """First and last line of `L12` or `L12-20`, within the document. Raises UsageError, NotFound."""
    if not place:
        return 1, lines
    match = _LINES.fullmatch(place)
    if match is None:
        raise UsageError(f"`#{printable(place, 40)}` names no lines", hint="for instance #L12 or #L12-20")
    first = int(match[1])
    last = int(match[2] or first)
    if first < 1 or first > lines or last < first:
        raise NotFound(f"there are no lines {first} to {last}: it has {lines}", hint="leave out what follows `#`")
    return first, min(last, lines)
