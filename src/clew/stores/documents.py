"""Documents of memory on the disk: Markdown files that people own and edit, and that Clew writes in one step.

Whoever writes holds the lock of the workspace (or of `user`), across processes. An editor holds no lock: therefore the
file is compared with what was read right before it is replaced. A receipt is only given for bytes that were read
again. What a person wrote in a file is never reformatted, and not redacted either; all that Clew adds to it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Final

from clew.core.memory.document import (
    ARCHIVE,
    MOST_CHARACTERS,
    TIERS,
    Document,
    digest_of,
    document_of,
    read_document,
    tier_of,
)
from clew.core.memory.document import unreadable as unreadable_document
from clew.core.memory.edit import (
    MOST_APPENDED,
    Draft,
    appended,
    draft_text,
    log_entry,
    log_text,
    released,
    slug,
    superseding,
)
from clew.core.text.frontmatter import edit
from clew.core.text.printable import printable, storable
from clew.core.text.scalars import Given
from clew.core.text.together import revealed, together
from clew.errors import ClewError, Conflict, NotFound, OverBudget, Refused
from clew.stores.clean_reading import PLAIN as _PLAIN
from clew.stores.clean_reading import without_secrets
from clew.stores.clean_writing import beside, clean_document, clean_draft, clean_values, cleared, revealed_by
from clew.stores.document_files import is_tier, leads_out, stat_of
from clew.stores.durable import locked, make_folder, move, put, read_bytes, translated
from clew.system import open_folder

LOCK_SECONDS: Final = 10.0
"""How long to wait for another process that writes to the same workspace."""
MOST_BYTES: Final = 2_000_000
"""Of a file that is read."""
_MOST_DEPTH: Final = 16
_TOLD: Final = 100
"""Files from one report of progress to the next."""
_TRIES: Final = 5
"""How often a change that fits any version is made again after a hand edit in between."""
Values = frozenset[str]
NONE: Final[Values] = frozenset()
_Made = tuple[str, str]
"""The text of a document after a change, and what it would be had nothing been taken out of what was given."""
_Make = Callable[[str], _Made]
_FOLDERS: Final = {tier: folder for folder, tier in TIERS.items()}


@dataclass(frozen=True, slots=True)
class Stat:
    """A file as the folder lists it. Any edit changes one of these, unless its writer sets the clock back."""

    path: str
    """Below the memory root, with `/`."""
    size: int
    """Bytes."""
    mtime_ns: int
    inode: int
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is on the disk now: the bytes were read again and are these."""

    path: str
    digest: str
    """`digest_of` the text."""
    size: int
    """Bytes."""
    lines: int
    id: str = ""
    line: int = 1
    """The line that what was added begins in."""
    redacted: bool = False
    """Whether something was taken out of what was given."""
    older: bool = False
    """Whether what was given revealed a secret that other lines of the document had; it is gone from them."""
    written: bool = True
    """False where the file said that already."""


class Documents:
    """The documents below a memory root. Paths are relative to it, with `/`.

    Every method may raise Refused (a path that leads out, a text that cannot be cleaned, a file that is no UTF-8),
    NotFound, OverBudget (limits of size), StoreBusy (the lock) and StoreError (the disk); `redact` may raise as well.
    """

    def __init__(
        self,
        root: Path,
        *,
        redact: Callable[[str], str],
        lock_seconds: float = LOCK_SECONDS,
        new_id: Callable[[], str] = lambda: f"mem_{secrets.token_hex(6)}",
    ) -> None:
        """Nothing is made before something is written. `redact` gives a text without its secrets, or raises."""
        self.root = root
        self.redact = redact
        self.new_id = new_id
        self._lock_seconds = lock_seconds
        self._held = threading.local()

    # ------------------------------------------------------------------ reading

    def walk(self, missed: set[str] | None = None, below: str = "") -> Iterator[Stat]:
        """All files that hold documents, by folder and name, or those `below` a folder of a tier. Left out are
        archives, hidden files, and the copies that a sync puts beside a document for its user to decide. `missed` gets
        what cannot be reached."""
        for path, found in self._scan(below):
            if isinstance(found, Document):
                (set[str]() if missed is None else missed).add(path)
            else:
                yield Stat(path, found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)

    def looks(self, missed: set[str] | None = None) -> dict[str, str]:
        """By path, in the order of `walk`, what changes when a file does: as `walk`, for those who only compare."""
        return {one.path: f"{one.size} {one.mtime_ns} {one.inode} {one.ctime_ns}" for one in self.walk(missed)}

    def read(self, path: str) -> Document:
        """The document at a path: what its front matter says comes without secrets, its body as it is."""
        return without_secrets(path, self.read_text(path), self.redact)

    def read_whole(self, path: str, known: str = "") -> Document:
        """As `read`, with a body without secrets as well. Where the text still has the digest `known`, only that."""
        text = self.read_text(path)
        if known and digest_of(text) == known:
            return Document(path, "", digest=known)
        return without_secrets(path, text, self.redact, whole=True)

    def read_text(self, path: str) -> str:
        """The text of a file as it is, line ends included. Raises Refused where it is no UTF-8."""
        return self._text(path, read_bytes(self._real(path), MOST_BYTES, printable(path)))

    def read_all(self, progress: Callable[[int, int], None] | None = None) -> Iterator[Document]:
        """All documents; a file that cannot be read is one that is not `readable` and says why.

        `progress` is told of files that were read and of how many there are; what it raises ends the work.
        """
        found = list(self._scan())
        for number, (path, one) in enumerate(found, 1):
            if isinstance(one, Document):
                yield one
            else:
                yield from self.read_these((path,))
            _tell(progress, number, len(found))

    def read_these(
        self, paths: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> Iterator[Document]:
        """The documents at some paths, as `read_all` gives them; those that are gone are left out."""
        for number, path in enumerate(paths, 1):
            try:
                yield self.read(path)
            except NotFound:
                pass
            except ClewError as error:
                yield unreadable_document(path, str(error), error.hint)
            _tell(progress, number, len(paths))

    # ------------------------------------------------------------------ writing

    def hold(self, tier: str = "note", workspace: str = "") -> contextlib.AbstractContextManager[None]:
        """Nobody else writes to the workspace (or to `user`) while this is open: what was read there still holds.

        Whoever holds it may write there as usual, and hold it again.
        """
        return self._locked(f"{folder_of(tier, workspace)}/x.md")

    def create(
        self, draft: Draft, *, tier: str = "note", workspace: str = "", today: date, id: str = "", gone: Values = NONE
    ) -> Receipt:
        """A new document under a name made from its own; `-2` and so on where that is taken. It holds none of the
        values `gone`."""
        clean = clean_draft(draft, self.redact)
        text = draft_text(clean, id=id or self.new_id(), tier=tier, today=today)
        receipt = self.add(cleared(text, gone, self.redact), name=clean.name, tier=tier, workspace=workspace)
        return replace(receipt, redacted=receipt.redacted or clean != draft)

    def add(self, text: str, *, name: str, tier: str = "note", workspace: str = "") -> Receipt:
        """A new document with this text. `name` gives the name of the file."""
        folder = folder_of(tier, workspace)
        stem = slug(together(self.redact, name, text)[0])
        clean = self._clean(text)
        with self._locked(f"{folder}/x.md"):
            for number in count(1):
                path = f"{folder}/{stem if number == 1 else f'{stem}-{number}'}.md"
                if os.path.lexists(self.root / path):
                    continue
                with contextlib.suppress(FileExistsError):
                    return self._put(path, clean, seen=None, given=storable(text))
        raise AssertionError

    def replace(self, path: str, text: str, *, expect: str, gone: Values = NONE) -> Receipt:
        """Another text for a document that still has the digest `expect`, without what the text before reveals, nor any
        of the values `gone`. Raises Conflict where it has another digest."""
        clean = self._clean(text)

        def make(current: str) -> _Made:
            return cleared(clean, revealed(self.redact, current), self.redact), storable(text)

        return self._change(path, make, expect=expect, gone=gone)

    def append(self, path: str, text: str, *, gone: Values = NONE) -> Receipt:
        """`text` at the end of a document, on lines of its own, in the file's line ends. What it calls a secret goes
        from all of the document, and so do the values `gone`."""
        _demand_addition(text)

        def make(current: str) -> _Made:
            clean = beside(current, text, self.redact)
            return appended(current, clean), appended(current, storable(text))

        return self._change(path, make, added=True, gone=gone | revealed(self.redact, text))

    def log(self, workspace: str, text: str, *, at: datetime, heading: str = "") -> Receipt:
        """An entry in the log of the day of `at`, with its time; the log is made with its first entry."""
        _demand_addition(text)
        given = log_entry(storable(text), at, heading)

        def make(current: str) -> _Made:
            _, clean, title = together(self.redact, current, storable(text), heading)
            return appended(current, log_entry(clean, at, title)), appended(current, given)

        path = f"{folder_of('log', workspace)}/{at:%Y-%m-%d}.md"
        with self._locked(path):
            if not os.path.lexists(self._real(path)):
                head = log_text(workspace, at.date())
                with contextlib.suppress(FileExistsError):
                    receipt = self._put(path, make(head)[0], seen=None, given=head + given)
                    return replace(receipt, line=_lines(head) + 2)
            receipt = self._changed(path, make, added=True, gone=revealed(self.redact, text, heading))
            return replace(receipt, line=receipt.line + 1)

    def set_fields(self, path: str, changes: Mapping[str, Given], *, expect: str = "", gone: Values = NONE) -> Receipt:
        """Keys of the front matter set, or taken out where the value is None. All other lines stay byte for byte, but
        for what a value calls a secret, and the values `gone`."""

        def make(current: str) -> _Made:
            return edit(current, clean_values(changes, self.redact, current)), edit(current, changes)

        return self._change(path, make, expect=expect, gone=gone | revealed_by(changes, self.redact))

    def supersede(self, old: str, new: str, *, today: date, gone: Values = NONE) -> tuple[Receipt, Receipt]:
        """The document `new` takes the place of `old`, and both say so, without any of the values `gone`. The receipts
        of old and new.

        The newer one is written first: should the process die in between, `check` finds the open side, and mends it.
        """
        self._demand_there(old)
        self._demand_there(new)
        with contextlib.ExitStack() as stack:
            for folder in sorted({self._lock_folder(old), self._lock_folder(new)}):
                stack.enter_context(self._holding(folder))
            older, newer = self.read(old), self.read(new)
            if not older.id or not newer.id:
                lacking = newer if older.id else older
                raise Refused(f"`{lacking.path}` has no id", hint="`clew memory check --fix` gives it one")
            if older.id == newer.id or newer.superseded_by:
                what = "itself" if older.id == newer.id else f"`{newer.id}`, which is superseded by another"
                raise Refused(f"`{older.id}` cannot be superseded by {what}", hint="name the document that holds now")
            in_old, in_new = superseding(older, newer)
            second = self._changed(new, _as_given(lambda text: edit(text, {**in_new, "updated": today})), gone=gone)
            first = self._changed(old, _as_given(lambda text: edit(text, {**in_old, "updated": today})), gone=gone)
        return first, second

    def release(self, path: str, newer: str, *, today: date) -> Receipt:
        """The document does not say any more that `newer` (an id) superseded it, and holds again where none else did;
        not written where it does not say so."""

        def make(text: str) -> str:
            changes = released(read_document(path, text), newer)
            return edit(text, {**changes, "updated": today}) if changes else text

        return self._change(path, _as_given(make))

    def archive(self, path: str) -> Receipt:
        """The document moved to `archive/` beside it, where it is kept and no memory any more."""
        self._demand_there(path)
        with self._locked(path):
            real = self._real(path)
            content = read_bytes(real, MOST_BYTES, printable(path))
            folder = real.parent / ARCHIVE
            make_folder(folder)
            stem, ending = os.path.splitext(real.name)
            names = (f"{stem}{'' if number == 1 else f'-{number}'}{ending}" for number in count(1))
            target = next(folder / name for name in names if not os.path.lexists(folder / name))
            move(real, target, printable(path))
            moved = f"{path.rpartition('/')[0]}/{ARCHIVE}/{target.name}"
            return _receipt(moved, read_bytes(target, len(content) + 1, printable(moved)), self.redact)

    # ------------------------------------------------------------------ paths

    def _real(self, path: str) -> Path:
        """Where a path leads, links followed. Raises Refused unless that is a document below the root."""
        if "\0" in path or tier_of(path) is None:
            hint = "documents are `user/*.md` and `workspaces/NAME/notes/*.md`, beside logs, reflections and handoff"
            raise Refused(f"`{printable(path, 120)}` is no path of a document", hint=hint)
        try:
            root, real = os.path.realpath(self.root), os.path.realpath(self.root / path)
        except (OSError, ValueError) as error:
            raise translated(error, printable(path), "read") from error
        if not real.startswith(root.rstrip("/") + "/"):
            raise Refused(f"`{printable(path)}` leads out of the memory root", hint="put the file itself there")
        return Path(real)

    def _demand_there(self, path: str) -> None:
        """Raise NotFound before a lock, and folders for it, are made for nothing."""
        if not os.path.exists(self._real(path)):
            raise translated(FileNotFoundError(errno.ENOENT, ""), printable(path), "read")

    def _lock_folder(self, path: str) -> Path:
        """The folder whose lock guards a path: that of the workspace, or `user`. A link counts where it leads."""
        real = self._real(path)
        inside = Path(os.path.relpath(real, os.path.realpath(self.root))).parts
        return Path(os.path.realpath(self.root), *inside[: 2 if inside[0] == "workspaces" else 1][: len(inside) - 1])

    def _locked(self, path: str) -> contextlib.AbstractContextManager[None]:
        return self._holding(self._lock_folder(path))

    @contextlib.contextmanager
    def _holding(self, folder: Path) -> Iterator[None]:
        """The lock of a folder; a thread that has it goes on, since it would only wait for itself."""
        if not hasattr(self._held, "folders"):
            self._held.folders = set[Path]()
        folders: set[Path] = self._held.folders
        if folder in folders:
            yield
            return
        with locked(folder, self._lock_seconds):
            folders.add(folder)
            try:
                yield
            finally:
                folders.discard(folder)

    def _scan(self, below: str = "") -> Iterator[tuple[str, os.stat_result | Document]]:
        """Files of the tiers by path, and what stands for those that cannot be reached."""
        root = os.path.realpath(self.root)
        if below and os.path.realpath(os.path.join(root, below)) != os.path.join(root, below):
            # A link is on the way: what is met elsewhere is not met here.
            yield from (one for one in self._scan() if one[0].startswith(f"{below}/"))
            return
        queue = [(below, below.count("/") + 1 if below else 0)]
        while queue:
            folder, depth = queue.pop()
            with contextlib.ExitStack() as stack:
                try:
                    # Relative to its open folder, a file is found without a walk through its whole path.
                    opened = open_folder(os.path.join(root, folder))
                    stack.callback(os.close, opened)
                    with os.scandir(opened) as found:
                        entries = sorted(found, key=attrgetter("name"))
                except FileNotFoundError:
                    continue
                except OSError as error:
                    failure = translated(error, printable(folder or root), "read")
                    if not folder:
                        raise failure from error
                    yield folder, unreadable_document(folder, str(failure), failure.hint)
                    continue
                folders: list[tuple[str, int]] = []
                # Which tier a document belongs to is a matter of its folder: asked once, and not for every file.
                prefix, holds = f"{folder}/" if folder else "", is_tier(folder)
                for entry in entries:
                    name = entry.name
                    path = prefix + name
                    if not _PLAIN.fullmatch(name) and (clean := self.redact(name)) != name:
                        if not name.startswith(".") and name != ARCHIVE and (entry.is_dir() or holds):
                            what = "the name of the file holds a secret, so it is neither searched nor hinted"
                            yield prefix + clean, unreadable_document(printable(prefix + clean), what, "rename it")
                        continue
                    if name.startswith(".") or name == ARCHIVE:
                        continue
                    if entry.is_symlink() and not self._inside(path, root):
                        meant = is_tier(path) or (holds and name[-3:].lower() == ".md")
                        if meant and leads_out(path, root):
                            what = "it is a link out of the memory, so nothing behind it is read"
                            yield path, unreadable_document(path, what, "put the files themselves there")
                        continue
                    if entry.is_dir():
                        folders.append((path, depth + 1))
                    elif not holds and is_tier(path):
                        yield path, unreadable_document(path, "a file is where a folder belongs", "move that file away")
                    elif holds and name[-3:].lower() == ".md" and not document_of(path):
                        yield path, stat_of(path, entry)
            queue += [one for one in reversed(folders) if one[1] <= _MOST_DEPTH]

    def _inside(self, path: str, root: str) -> bool:
        """Whether to go on with a link: to what is in the root, and is not met anyway."""
        real = os.path.realpath(os.path.join(root, path))
        inside = os.path.relpath(real, root)
        if inside == "." or inside.startswith(".."):
            return False
        top = inside.split(os.sep)
        return not (top[0] == "user" or (top[0] == "workspaces" and (len(top) < 3 or top[2] in TIERS)))

    # ------------------------------------------------------------------ texts

    def _text(self, path: str, content: bytes) -> str:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise Refused(f"`{printable(path)}` is not UTF-8, in line {line}", hint="save it as UTF-8") from error

    def _clean(self, text: str) -> str:
        clean = clean_document(text, self.redact)
        _demand(len(clean), MOST_CHARACTERS, "a document", "split it into several")
        return clean

    # ------------------------------------------------------------------ one write

    def _change(self, path: str, make: _Make, *, expect: str = "", added: bool = False, gone: Values = NONE) -> Receipt:
        self._demand_there(path)
        with self._locked(path):
            return self._changed(path, make, expect=expect, added=added, gone=gone)

    def _changed(
        self, path: str, make: _Make, *, expect: str = "", added: bool = False, gone: Values = NONE
    ) -> Receipt:
        """Put what `make` gives for the present text in its place, without the values `gone`; again after a hand edit,
        unless one is expected."""
        for tries in count(1):
            content = read_bytes(self._real(path), MOST_BYTES, printable(path))
            current = self._text(path, content)
            if expect and digest_of(current) != expect:
                raise _conflict(path, expect, digest_of(current))
            made, given = make(current)
            text = cleared(made, gone, self.redact)
            if text == current:
                return replace(_receipt(path, content, self.redact), written=False, redacted=text != given)
            _demand(len(text), MOST_CHARACTERS, "a document", "begin another one")
            try:
                receipt = self._put(path, text, seen=content, given=given)
            except Conflict:
                if expect or tries >= _TRIES:
                    raise
                continue
            return replace(receipt, line=_lines(current) + 1 if added else 1, older=text != made)
        raise AssertionError

    def demand_writable(self, path: str) -> None:
        """Raise Refused where a document is protected against writing."""
        real = self._real(path)
        if os.path.exists(real) and not os.access(real, os.W_OK):
            hint = "allow writing to it, or make another document"
            raise Refused(f"`{printable(path)}` is write-protected", hint=hint)

    def _put(self, path: str, text: str, *, seen: bytes | None, given: str) -> Receipt:
        """Write a text over `seen`, or, where that is None, to a free name (FileExistsError where it is taken)."""
        real, shown = self._real(path), printable(path)
        make_folder(real.parent)
        mode = 0o600
        if seen is not None:
            mode = stat.S_IMODE(os.stat(real).st_mode)
            self.demand_writable(path)

        def changed(now: bytes) -> Conflict:
            return _conflict(path, _digest(seen or b""), _digest(now))

        content = text.encode("utf-8")
        put(real, content, mode=mode, seen=seen, changed=changed, shown=shown)
        return replace(_receipt(path, content, self.redact), redacted=text != given)


def _as_given(make: Callable[[str], str]) -> _Make:
    """For a change in which there is nothing to take out."""

    def made(text: str) -> _Made:
        return (changed := make(text)), changed

    return made


def _tell(progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if progress is not None and (done % _TOLD == 0 or done == total):
        progress(done, total)


def folder_of(tier: str, workspace: str = "") -> str:
    """The folder of a tier, below the memory root. Raises Refused for a workspace that is no plain name."""
    if tier == "user":
        return "user"
    folder = f"workspaces/{workspace}/{_FOLDERS[tier]}"
    if not workspace or len(workspace) > 100 or "\0" in workspace or tier_of(f"{folder}/x.md") != (tier, workspace):
        hint = "a workspace is named by letters, digits and `-`"
        raise Refused(f"`{printable(workspace, 80)}` is no name of a workspace", hint=hint)
    return folder


def _receipt(path: str, content: bytes, redact: Callable[[str], str]) -> Receipt:
    text = content.decode("utf-8", "replace")
    return Receipt(path, digest_of(text), len(content), _lines(text), without_secrets(path, text, redact).id)


def _lines(text: str) -> int:
    """Number of lines; a last one without an end counts."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return ends.count("\n") + (not ends.endswith("\n") and bool(ends))


def _digest(content: bytes) -> str:
    return digest_of(content.decode("utf-8", "surrogateescape"))


def _demand_addition(text: str) -> None:
    _demand(len(text), MOST_APPENDED, "one append", "say less, or make a note of it")
    if not text.strip():
        raise Refused("there is nothing to append", hint="give a text")


def _demand(length: int, most: int, what: str, hint: str) -> None:
    if length > most:
        raise OverBudget(f"{what} has at most {most:,} characters, this has {length:,}", hint=hint, limit=most)


def _conflict(path: str, expected: str, found: str) -> Conflict:
    return Conflict(
        f"`{printable(path)}` has changed since it was read: {expected[:12]} then, {found[:12]} now",
        hint="read it again, and make the change in what it says now",
        path=path,
        expected=expected,
        found=found,
    )
