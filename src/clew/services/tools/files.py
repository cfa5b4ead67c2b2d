"""The tools `read`, `write_file` and `edit_file`.

A `FileDesk` remembers, for the window of the model, what each file held when the model last read or wrote it. A file
that is to be changed is read again at that moment; where it is not the same any more, nothing is done, and the model
gets what it says now. What is allowed and what a call would do is told by `effect`, and looked at again by the call.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, assert_never

from msgspec import Meta

from clew.adapters.regular import kind_of, size_words
from clew.core.agent.bounded import MOST_BYTES, MOST_LINES, bound
from clew.core.agent.edits import (
    Ambiguous,
    Edit,
    Edited,
    Lines,
    Missed,
    Overlap,
    Plain,
    Replace,
    Unfit,
    apply,
    rewritten,
)
from clew.core.agent.effects import Effect
from clew.core.text.printable import counted, visible
from clew.errors import ClewError, OverBudget, Refused
from clew.services.tools.clean import Cleaner, marks, placeholder
from clew.services.tools.on_disk import Encoding, TextFile, current_umask, digest_of, load, save
from clew.services.tools.places import Place, Places
from clew.services.tools.reading import folder, folder_limit, huge, numbered, window
from clew.services.tools.tool import Reply, Signal, Tool, define

_NUMBERED = re.compile(r"^\d+\| ", re.MULTILINE)
_AROUND = 20
"""Lines on either side of an edit, of a file that is too long to be shown as a whole."""
_DIFF_LINES, _DIFF_BYTES = 120, 8 * 1024
"""Of the diff that the model gets."""
_STEERING = frozenset({".mcp.json", ".clew.yaml", ".ctxmode.yaml"})
"""Files that say which programs Clew starts and what it sends where."""


@dataclass(frozen=True, slots=True)
class Read:
    """Arguments of `read`."""

    path: str
    offset: Annotated[int, Meta(description="first line")] = 1
    limit: int = MOST_LINES


@dataclass(frozen=True, slots=True)
class Write:
    """Arguments of `write_file`."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class OneEdit:
    """One of the edits of `edit_file`."""

    new: str
    old: str = ""
    all: bool = False
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class EditFile:
    """Arguments of `edit_file`."""

    path: str
    edits: list[OneEdit]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A change that may be made."""

    place: Place
    before: TextFile | None
    content: bytes
    done: Edited
    text: str
    """After the change."""
    notes: tuple[str, ...] = ()


class _NotNow(Exception):
    """Carries the reply to a call that is refused."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.reply = Reply(text, failed=True)


@dataclass
class FileDesk:
    """Reads and changes files of a workspace for one model.

    `redact` and `strictly` (for files of secrets) give a text without its secrets; without `redact` all is shown.
    What lies in the folders `free` may be read unasked. `after_write` may say something about a file that was written.
    """

    root: Path
    cwd: Path
    redact: Callable[[str], str] | None = None
    strictly: Callable[[str], str] | None = None
    free: Sequence[Path] = ()
    after_write: Callable[[Path], str] | None = None
    turn: Callable[[], int] = field(default_factory=lambda: itertools.count(1).__next__)
    """Numbers the answers of the model whose calls are carried out; unless it is given, each call is one."""
    places: Places = field(init=False)
    cleaner: Cleaner = field(init=False)
    _seen: dict[Path, tuple[str, int]] = field(init=False, default_factory=dict)
    """Digest of what the model was shown of each file, and in which turn; 0 where it wrote that itself."""
    _earlier: set[Path] = field(init=False, default_factory=set[Path])
    """What earlier runs and windows knew."""
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _new_mode: int = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.root, self.cwd, self.free)
        self.cleaner = Cleaner(self.redact, self.strictly)
        self._new_mode = 0o666 & ~current_umask()

    def tools(self) -> tuple[Tool[Any], ...]:
        """`read`, `write_file`, `edit_file`."""
        return (
            define(
                "read",
                "Numbered lines of a file, or the names in a folder, from disk now.",
                Read,
                self._read,
                self._reads,
            ),
            define(
                "write_file",
                "Create a file, or replace a whole one that you have read.",
                Write,
                lambda given, effect, _: self._carried_out(self._writing, given, effect),
                lambda given: self._announced("write", self._writing, given),
                alone=True,
            ),
            define(
                "edit_file",
                "Change a file that you have read: all edits or none, each to the file as it is now. `new` replaces"
                " `old` (exact text, unique unless `all`), or else lines `first` to `last` (last = first-1: insert).",
                EditFile,
                lambda given, effect, _: self._carried_out(self._editing, given, effect),
                lambda given: self._announced("edit", self._editing, given),
                alone=True,
            ),
        )

    def forget(self) -> None:
        """A new window begins: the model knows no file any more."""
        with self._lock:
            self._earlier.update(self._seen)
            self._seen.clear()

    def _knows(self, path: Path, digest: str, turn: int) -> None:
        """The model is shown this state of a file (a real path), or has written it."""
        with self._lock:
            known, _ = self._seen.get(path, ("", 0))
            if known != digest or not turn:
                self._seen[path] = digest, turn

    # ------------------------------------------------------------------ read

    def _reads(self, given: Read) -> Effect | Reply:
        try:
            place = self.places.find(given.path)
        except ClewError as error:
            return Reply(str(error), failed=True)
        return Effect("read", f"read {place.shown}", "", place.subject, (str(place.real),), not place.free)

    def _read(self, given: Read, effect: Effect, signal: Signal) -> Reply:
        try:
            place = self._as_announced(given.path, effect)
            text = self._shown(place, max(given.offset, 1), max(given.limit, 1), signal)
            lines = len(_NUMBERED.findall(text))
            return Reply(text, view=counted(lines, "line") if lines else "")
        except _NotNow as error:
            return error.reply
        except ClewError as error:
            return Reply(str(error), failed=True)

    def _shown(self, place: Place, offset: int, limit: int, signal: Signal) -> str:
        status = self.places.status(place)
        if stat.S_ISDIR(status.st_mode):
            return folder(place.real, place.shown, offset, folder_limit(limit))
        if kind := kind_of(status.st_mode):
            raise Refused(f"{place.shown} is {kind}, not a file")
        try:
            found = load(place.real, place.shown)
        except OverBudget:
            return huge(place.real, place.shown, self.cleaner, offset, limit, signal)
        except Refused as error:
            raise Refused(f"{error}, {size_words(status.st_size)}" if "binary" in str(error) else str(error)) from error
        text = window(place.shown, Plain(found.text).lines(), self.cleaner, offset, limit, _note(found.encoding))
        self._knows(place.real, found.digest, self.turn())
        return text

    # ------------------------------------------------------------------ changes

    def _announced(self, verb: str, planning: Callable[[Any], _Plan], given: Write | EditFile) -> Effect | Reply:
        try:
            plan = planning(given)
        except _NotNow as error:
            return error.reply
        except ClewError as error:
            return Reply(_nothing(str(error)), failed=True)
        place = plan.place
        asked = place.outside or _steers(place.subject)
        title = f"{verb} {place.shown}"
        return Effect("edit", title, _patch(place, plan), place.subject, (str(place.real),), asked)

    def _carried_out(self, planning: Callable[[Any], _Plan], given: Write | EditFile, effect: Effect) -> Reply:
        try:
            self._as_announced(given.path, effect)
            plan = planning(given)
            place, before = plan.place, plan.before
            save(place.real, plan.content, seen=before, mode=self._new_mode, shown=place.shown)
        except _NotNow as error:
            return error.reply
        except ClewError as error:
            return Reply(_nothing(str(error)), failed=True)
        self._knows(place.real, digest_of(plan.content), 0)
        diff = self._clean_diff(plan)
        shown = bound(diff, lines=_DIFF_LINES, size=_DIFF_BYTES, keep="both").text
        head = f"{place.shown}: +{plan.done.added} -{plan.done.removed}"
        if before is None:
            head, shown = f"{place.shown}: created, {counted(plan.done.added, 'line')}", ""
        notes = list(plan.notes)
        if before is not None and before.links > 1:
            notes.append(f"It had {before.links} names (hard links); the others keep the old text.")
        findings = self.after_write(place.real) if self.after_write else ""
        text = "\n".join(part for part in (head, *notes, shown.rstrip("\n"), findings) if part)
        return Reply(text, view=_header(place, plan) + diff, changed=(str(place.real),))

    def _writing(self, given: Write) -> _Plan:
        place = self._writable(given.path)
        _demand_whole(given.content)
        before = self._before(place)
        if before is None:
            done = rewritten("", given.content)
            content = done.text.encode()
            hidden = marks(given.content)
            self._demand_not_shown(hidden)
            notes = (f"It holds the marks {', '.join(sorted(hidden))} themselves.",) if hidden and self.redact else ()
            return _Plan(place, None, content, done, done.text, notes)
        self._demand_known(place, before, lambda: (1, MOST_LINES))
        done = rewritten(before.text, given.content.removeprefix("\ufeff") if before.encoding.mark else given.content)
        self._demand_no_marks(place, before, given.content)
        return self._planned(place, before, done)

    def _editing(self, given: EditFile) -> _Plan:
        place = self._writable(given.path)
        edits = _edits(given)
        before = self._before(place)
        if before is None:
            raise _NotNow(self.places.missing(place) + " write_file creates a file.")
        done = apply(before.text, edits)
        self._demand_known(place, before, lambda: _lines_meant(before, edits, done))
        for edit in given.edits:
            _demand_whole(edit.new)
            self._demand_no_marks(place, before, edit.new, edit.old)
        if not isinstance(done, Edited):
            raise _NotNow(self._why_not(place, before, done, given))
        return self._planned(place, before, done)

    def _planned(self, place: Place, before: TextFile, done: Edited) -> _Plan:
        self._demand_not_shown(marks(done.text) - marks(before.text))
        self._demand_secrets_kept(place, before, done)
        try:
            content = before.encoding.bytes_of(done.text)
        except UnicodeEncodeError as error:
            char = done.text[error.start]
            raise _NotNow(
                _nothing(f"{place.shown} is written in {before.encoding.shown}, which has no {char!r}")
            ) from None
        if content == before.content:
            raise _NotNow(f"Nothing would change: {place.shown} says that already.")
        return _Plan(place, before, content, done, done.text)

    # ------------------------------------------------------------------ what must hold

    def _as_announced(self, path: str, effect: Effect) -> Place:
        """The place, which is still the one that was allowed."""
        place = self.places.find(path)
        if effect.paths != (str(place.real),):
            raise _NotNow(_nothing(f"{place.shown} leads elsewhere than a moment ago"))
        return place

    def _writable(self, path: str) -> Place:
        place = self.places.find(path)
        if place.led_out:
            raise _NotNow(
                _nothing(f"{path} is a link that leads out of the workspace, to {place.shown}; name that path itself")
            )
        return place

    def _before(self, place: Place) -> TextFile | None:
        try:
            status = os.lstat(place.real)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(f"{place.shown} cannot be read: {error.strerror}") from error
        if kind := kind_of(status.st_mode):
            raise Refused(f"{place.shown} is {kind}, not a file")
        return load(place.real, place.shown)

    def _demand_known(self, place: Place, before: TextFile, meant: Callable[[], tuple[int, int]]) -> None:
        """Raises _NotNow, with what the file says, where the model does not know this state of it."""
        if not before.content:
            return
        now = self.turn()
        with self._lock:
            known, turn = self._seen.get(place.real, (None, 0))
        if known == before.digest and turn < now:
            return
        if known == before.digest:
            # Whoever makes several calls at once has not seen what the first of them was answered.
            raise _NotNow(_nothing(f"what {place.shown} says now was shown in this same answer: look at it first"))
        if place.free:
            self._knows(place.real, before.digest, now)
        happened = "was not read yet" if known is None else "has changed since you read it"
        if known is None and place.real in self._earlier:
            happened = "was read earlier, but a new run or window begins without what earlier ones read"
        if not place.free:
            # What lies outside is only shown to a model whose user was asked.
            raise _NotNow(_nothing(f"{place.shown} {happened}: read it first"))
        lines = Plain(before.text).lines()
        first, last = (1, len(lines)) if len(before.text) <= MOST_BYTES and len(lines) <= MOST_LINES else meant()
        shown = window(place.shown, lines, self.cleaner, first, last - first + 1, _note(before.encoding))
        raise _NotNow(_nothing(f"{place.shown} {happened}") + f" It counts as read now:\n{shown}")

    def _demand_no_marks(self, place: Place, before: TextFile, new: str, old: str = "") -> None:
        """Raises _NotNow for a mark that stands for a secret and not for itself: it would take the secret's place."""
        plain = Plain(before.text)
        hidden = marks(new) | (set() if old.replace("\r\n", "\n") in plain.text else marks(old))
        if self.redact is None or not hidden:
            return
        clean = "\n".join(self.cleaner.sight(place.shown, plain.lines()).all())
        masked = (marks(clean) & hidden) - marks(before.text)
        if masked:
            raise _NotNow(
                _nothing(f"{sorted(masked)[0]} stands for a secret that you are not shown")
                + " Edit around it: name only text or lines without the mark."
            )

    def _demand_not_shown(self, new: set[str]) -> None:
        """Raises _NotNow for a mark that stood for a secret in what the model was shown."""
        if masked := new & self.cleaner.shown:
            raise _NotNow(
                _nothing(f"{sorted(masked)[0]} stands for a secret that you are not shown")
                + " Leave a place for the secret, and ask the user to fill it in."
            )

    def _demand_secrets_kept(self, place: Place, before: TextFile, done: Edited) -> None:
        """Raises _NotNow where lines go that hold secrets while something shaped like a mark comes."""
        gone, come = _changed_lines(done.diff)
        raw = Plain(before.text).lines()
        known = {raw[number - 1].strip() for number in gone}
        mark = next((found for row in come if row.strip() not in known and (found := placeholder(row))), "")
        if self.redact is None or not mark or not gone:
            return
        clean = self.cleaner.sight(place.shown, raw).all()
        if any(clean[number - 1] != visible(raw[number - 1]) for number in gone):
            raise _NotNow(
                _nothing(f"{mark} would take the place of a secret that you are not shown")
                + " Edit other lines, or ask the user to change that one."
            )

    # ------------------------------------------------------------------ words

    def _why_not(
        self, place: Place, before: TextFile, done: Missed | Ambiguous | Overlap | Unfit, given: EditFile
    ) -> str:
        which = f"edit {getattr(done, 'number', 0)}: " if len(given.edits) > 1 else ""
        match done:
            case Ambiguous(lines=lines):
                places = list(dict.fromkeys(lines))
                listed = ", ".join(map(str, places[:20])) + (", …" if len(places) > 20 else "")
                why = f"`old` is there {len(lines)} times, at lines {listed}: take more text along, or set `all`"
            case Overlap(number=number, other=other):
                which, why = "", f"edits {number} and {other} speak of the same place"
            case Unfit(reason=reason):
                why = reason
            case Missed(number=number, closest=closest, similarity=similarity):
                why = "`old` is not there"
                if "\ufffd" in given.edits[number - 1].old and "\ufffd" not in before.text:
                    why += " (\ufffd stands for characters that cannot be shown: name the lines instead)"
                if closest:
                    only = "only white space differs" if similarity == 1 else f"{similarity:.0%} alike"
                    first, last = closest[0][0], closest[-1][0]
                    lines = Plain(before.text).lines()
                    shown = self.cleaner.sight(place.shown, lines).lines(first - 1, last)
                    rows = numbered(shown, first, last - first + 1)
                    why += f"; closest ({only}):\n" + "\n".join(rows)
            case _:
                assert_never(done)
        return _nothing(f"{place.shown}: {which}{why}", "" if isinstance(done, Missed) else ".")

    def _clean_diff(self, plan: _Plan) -> str:
        """The diff as the model may see it: secrets are found in the whole texts, not in the hunks."""
        old = Plain(plan.before.text if plan.before else "").lines()
        new = Plain(plan.text).lines()
        shown = plan.place.shown
        was, now = self.cleaner.sight(shown, old), self.cleaner.sight(shown, new)
        clean_old: dict[int, str] = {}
        clean_new: dict[int, str] = {}
        rows: list[str] = []
        at = new_at = 0
        for row in plan.done.diff.split("\n"):
            match row[:1]:
                case "@":
                    (at, length), (new_at, new_length) = (_span(part) for part in row.split()[1:3])
                    clean_old = dict(enumerate(was.lines(at - 1, at - 1 + length), at))
                    clean_new = dict(enumerate(now.lines(new_at - 1, new_at - 1 + new_length), new_at))
                    rows.append(row)
                case "-" | " ":
                    rows.append(row[0] + clean_old[at])
                    at += 1
                    new_at += row[0] == " "
                case "+":
                    rows.append("+" + clean_new[new_at])
                    new_at += 1
                case _:
                    rows.append(row)
        return "\n".join(rows)


def _steers(subject: str) -> bool:
    """Whether a path is one by which programs run: in the folder of git, or a file that Clew obeys. It is asked for
    like what lies outside. Some file systems make no difference between small and capital letters."""
    parts = [part.casefold() for part in Path(subject).parts]
    return ".git" in parts or bool(parts and parts[-1] in _STEERING)


def _changed_lines(diff: str) -> tuple[list[int], list[str]]:
    """Numbers of the old lines that go, and the new ones that come."""
    gone: list[int] = []
    come: list[str] = []
    at = 0
    for row in diff.split("\n"):
        match row[:1]:
            case "@":
                at, _ = _span(row.split()[1])
            case "-":
                gone.append(at)
                at += 1
            case " ":
                at += 1
            case "+":
                come.append(row[1:])
            case _:
                pass
    return gone, come


def _span(part: str) -> tuple[int, int]:
    """First line and number of lines of `-3,5` or `+3` in the head of a hunk."""
    first, _, length = part[1:].partition(",")
    return int(first), int(length or 1)


def _nothing(why: str, end: str = ".") -> str:
    return f"Nothing was changed. {why.rstrip('.')}{end}" if end else f"Nothing was changed. {why}"


def _note(encoding: Encoding) -> str:
    return f"read as {encoding.shown}" if encoding.shown else ""


def _demand_whole(text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise _NotNow(_nothing("The text has half of a character (a lone surrogate)"))


def _edits(given: EditFile) -> list[Edit]:
    if not given.edits:
        raise _NotNow(_nothing("There are no edits"))
    edits: list[Edit] = []
    for number, one in enumerate(given.edits, 1):
        if bool(one.old) == bool(one.first or one.last):
            raise _NotNow(_nothing(f"edit {number}: give either `old` or `first` and `last`"))
        edits.append(Replace(one.old, one.new, one.all) if one.old else Lines(one.first, one.last, one.new))
    return edits


def _lines_meant(before: TextFile, edits: Sequence[Edit], done: object) -> tuple[int, int]:
    """The lines around the first edit, or what is like it."""
    plain = Plain(before.text)
    total = len(plain.starts)
    match edits[0]:
        case Lines(first=first):
            line = first
        case Replace(old=old):
            place = plain.text.find(old.replace("\r\n", "\n"))
            line = plain.line(place) if place >= 0 else 1
            if place < 0 and isinstance(done, Missed) and done.closest and done.number == 1:
                line = done.closest[0][0]
    line = min(max(line, 1), total)
    return max(line - _AROUND, 1), min(line + _AROUND, total)


def _header(place: Place, plan: _Plan) -> str:
    name = place.subject.lstrip("/")
    return f"--- {'/dev/null' if plan.before is None else f'a/{name}'}\n+++ b/{name}\n"


def _patch(place: Place, plan: _Plan) -> str:
    """Exactly what will happen, for the person who is asked; only what could steer a terminal is replaced."""
    return _header(place, plan) + visible(plan.done.diff)
