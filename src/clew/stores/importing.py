"""Take over a folder of existing Markdown as notes. The folder is only read; a plan says what would become of it.

Each note says in its front matter which file it came from and what that said then. So a second import does nothing for
files that are unchanged, brings over those that are not, and leaves alone what was edited by hand here since.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from clew.core.memory.document import MOST_CHARACTERS, Document, digest_of, read_document
from clew.core.memory.edit import imported_text, is_edited_here, refreshed_text
from clew.core.text.frontmatter import edit
from clew.core.text.placeholders import placeholders_quoted
from clew.core.text.printable import printable
from clew.core.text.together import revealed, together
from clew.errors import ClewError, Conflict, NotFound, Refused
from clew.stores.clean_writing import cleared
from clew.stores.documents import Documents, Receipt, folder_of
from clew.stores.durable import read_bytes

Action = Literal["new", "changed", "moved", "same", "edited", "gone", "left out"]
"""`moved`: the file lies elsewhere now, and maybe changed too. `edited`: the source changed, and so did the note here;
nothing is done. `gone`: the file of a note is not there any more; the note stays. `left out`: `reason` says why."""
_MOST_DEPTH: Final = 16
_TOLD: Final = 50
"""Files from one report of progress to the next."""
_MOST_BYTES: Final = 4 * MOST_CHARACTERS
_AT_ONCE: Final = 25
"""Notes that are written while nobody else may write."""
_BOTH: Final = "the file changed, and so did the note here; bring one into the other by hand"


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one file."""

    file: str
    """Relative to the imported folder, with `/`, without secrets."""
    action: Action
    name: str = ""
    path: str = ""
    """The note that is there already."""
    text: str = ""
    """What the note is to say."""
    digest: str = ""
    """Of the note that is there already."""
    reason: str = ""
    redacted: bool = False
    source: str = ""
    """What a new note says that it came from."""
    failed: bool = False
    """Left out because it could not be read or is too large; not because it is none of what is taken over."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do, file by file."""

    folder: Path
    tier: str
    workspace: str
    steps: tuple[Step, ...]

    def count(self, action: Action) -> int:
        """Files that this becomes of."""
        return sum(step.action == action for step in self.steps)

    @property
    def partly(self) -> bool:
        """Whether a file or folder that was to be taken over could not be."""
        return any(step.failed for step in self.steps)


@dataclass(slots=True)
class _Known:
    """What memory holds, while a plan is made."""

    by_source: dict[str, Document]
    taken: set[str]
    """Ids that no new note may have."""
    lost: dict[str, Document]
    """By id, notes whose file lies no longer where it was when it was taken over."""
    unsaid: tuple[re.Pattern[str], ...] = ()
    """What a path looks like of which a note does not say all, since it holds a secret."""

    @classmethod
    def of(cls, present: Sequence[Document]) -> _Known:
        """From all documents; looks where their sources are."""
        imported = [document for document in present if document.source and document.readable]
        return cls(
            {document.source: document for document in imported},
            {document.id for document in present},
            {document.id: document for document in imported if document.id and _is_gone(document.source)},
            tuple(_looks_like(document.source) for document in imported if "[REDACTED" in document.source),
        )

    def is_at(self, origin: str) -> bool:
        """Whether a note came from this very path, or from one that looks like it."""
        return origin in self.by_source or any(one.fullmatch(origin) for one in self.unsaid)

    def moved_to(self, file: str, digest: str, own: str) -> Document | None:
        """The note of a file that was moved or renamed: it has the id that the file says, or the file says what its
        source said, of several the one whose file had this name. It is lost no more."""
        alike = [one for one in self.lost.values() if one.source_digest == digest]
        alike.sort(key=lambda one: (one.source.rpartition("/")[2] != file.rpartition("/")[2], one.source))
        found = self.lost.get(own) or next(iter(alike), None)
        if found is not None:
            del self.lost[found.id]
        return found


def import_folder(
    documents: Documents,
    folder: Path,
    *,
    tier: str = "note",
    workspace: str = "",
    today: date,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The plan for a folder of Markdown. Raises NotFound where there is no such folder, Refused where it may not be
    reached or is memory; writes nothing anywhere.

    `progress` is told of documents of memory that were read, then of files of the folder, and of how many there are.
    """
    place = folder_of(tier, workspace)
    source = _source(folder)
    _demand_apart(source, Path(os.path.realpath(documents.root)))
    known = _Known.of(tuple(documents.read_all(progress)))
    files = list(_files(source, "", 0))
    # What lies where it was comes first: a copy of it must not be taken for the file itself.
    steps: dict[str, Step] = {}
    files_in_turn = sorted(files, key=lambda one: not known.is_at(f"{source.as_posix()}/{one[0]}"))
    for number, (file, out) in enumerate(files_in_turn, 1):
        left = replace(out, file=documents.redact(out.file)) if out else None
        steps[file] = left or _step(documents, source, file, known, today, place)
        if progress is not None and (number % _TOLD == 0 or number == len(files)):
            progress(number, len(files))
    ordered = [steps[file] for file, _ in files]
    return Plan(source, tier, workspace, (*ordered, *_gone(documents, source, known, ordered)))


def carry_out(documents: Documents, plan: Plan) -> Iterator[tuple[Step, Receipt]]:
    """Write what the plan says, some notes at a time; what was written stays when a later one fails.

    A note that was edited since the plan was made, or that another import made meanwhile, is left as it is, and given
    without having been written.
    """
    work = [step for step in plan.steps if step.action in ("new", "changed", "moved")]
    sources: dict[str, Document | None] = {}
    for at in range(0, len(work), _AT_ONCE):
        done: list[tuple[Step, Receipt]] = []
        failure: ClewError | None = None
        with documents.hold(plan.tier, plan.workspace):
            if any(step.action == "new" for step in work[at : at + _AT_ONCE]):
                _look(documents, folder_of(plan.tier, plan.workspace), sources)
            made = {one.source: one for one in sources.values() if one is not None}
            for step in work[at : at + _AT_ONCE]:
                try:
                    done.append((step, _written(documents, plan, step, made)))
                except ClewError as error:
                    failure = error
                    break
        # Outside of the lock: others need not wait for what is done with a note that is there.
        yield from done
        if failure is not None:
            raise failure


def _written(documents: Documents, plan: Plan, step: Step, made: dict[str, Document]) -> Receipt:
    if step.action == "new":
        twin = made.get(step.source)
        if twin is None:
            return documents.add(step.text, name=step.name, tier=plan.tier, workspace=plan.workspace)
        return Receipt(twin.path, twin.digest, 0, 0, twin.id, written=False)
    try:
        return documents.replace(step.path, step.text, expect=step.digest)
    except Conflict:
        document = documents.read(step.path)
        return Receipt(step.path, document.digest, 0, 0, document.id, written=False)


def _look(documents: Documents, place: str, sources: dict[str, Document | None]) -> None:
    """Bring up to date which documents of a folder were taken over: by path and looks, None where it was not."""
    now = {f"{one.path} {one.inode} {one.mtime_ns} {one.size}": one.path for one in documents.walk(below=place)}
    for key in sources.keys() - now.keys():
        del sources[key]
    for key, path in now.items():
        if key not in sources:
            document = next(iter(documents.read_these((path,))), None)
            sources[key] = document if document is not None and document.source else None


def _source(folder: Path) -> Path:
    source = Path(os.path.realpath(folder))
    shown = printable(str(folder))
    try:
        there = stat.S_ISDIR(os.stat(source).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        there = False
    except OSError as error:
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or str(error)
        raise Refused(f"`{shown}` cannot be read: {reason}", hint="check the rights of the folder") from error
    if not there:
        raise NotFound(f"there is no folder `{shown}`", hint="name a folder with Markdown files")
    return source


def _demand_apart(source: Path, root: Path) -> None:
    """Raise Refused where what would be taken over is memory already: each note would be there twice."""
    if source.is_relative_to(root):
        hint = "what lies in it is known as it is; `clew memory list --all` shows it"
        raise Refused(f"`{printable(str(source))}` is part of the memory at `{printable(str(root))}`", hint=hint)
    if root.is_relative_to(source):
        hint = "name the folders beside it, one by one"
        raise Refused(f"`{printable(str(source))}` holds the memory itself, at `{printable(str(root))}`", hint=hint)


def _is_gone(source: str) -> bool:
    """Whether there is surely nothing at a path; what cannot be reached may be there."""
    try:
        os.lstat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _step(documents: Documents, source: Path, file: str, known: _Known, today: date, place: str) -> Step:
    """What becomes of a file. An id that it has is kept, with the links that name it, unless a note has it already."""
    place_of_file, file = source / file, documents.redact(file)
    try:
        raw = read_bytes(place_of_file, _MOST_BYTES, printable(file)).decode("utf-8")
        digest = digest_of(raw)
        clean, origin = together(documents.redact, raw, place_of_file.as_posix())
        if origin.count("/") == place_of_file.as_posix().count("/"):
            file = "/".join(origin.split("/")[-len(PurePosixPath(file).parts) :])
        clean = placeholders_quoted(clean)
        before = known.by_source.get(origin)
        if before is not None:
            known.lost.pop(before.id, None)
            if before.source_digest == digest:
                return Step(file, "same", path=before.path)
        own = read_document(file, clean).id
        moved = known.moved_to(file, digest, own) if before is None else None
        if moved is not None:
            current = _current(documents, moved, raw, origin)
            return _moved(moved, file, origin, current, clean, digest, redacted=clean != raw)
        if before is None:
            id = documents.new_id() if not own or own in known.taken else own
            known.taken.add(id)
            text = imported_text(file, clean, source=origin, digest=digest, id=id, today=today)
        else:
            text = refreshed_text(_current(documents, before, raw, origin), clean, digest=digest)
    except UnicodeDecodeError:
        return _left_out(file, "it is not UTF-8")
    except ClewError as error:
        return _left_out(file, str(error))
    if before is not None and is_edited_here(before):
        return Step(file, "edited", before.name, before.path, reason=_BOTH)
    if len(text) > MOST_CHARACTERS:
        return _left_out(file, f"it has over {MOST_CHARACTERS:,} characters")
    if before is not None:
        return Step(file, "changed", before.name, before.path, text, before.digest, redacted=clean != raw)
    name = read_document(f"{place}/{file.rpartition('/')[2]}", text).name
    return Step(file, "new", name, text=text, redacted=clean != raw, source=origin)


def _current(documents: Documents, note: Document, raw: str, origin: str) -> str:
    """What a note says now, without what its file calls a secret by now."""
    return cleared(documents.read_text(note.path), revealed(documents.redact, raw, origin), documents.redact)


def _moved(note: Document, file: str, origin: str, current: str, clean: str, digest: str, *, redacted: bool) -> Step:
    """What becomes of the note of a file that lies elsewhere now: it follows, with its text where that changed too."""
    if note.source_digest == digest:
        return Step(file, "moved", note.name, note.path, edit(current, {"source": origin}), note.digest)
    if is_edited_here(note):
        return Step(file, "edited", note.name, note.path, reason=_BOTH)
    text = edit(refreshed_text(current, clean, digest=digest), {"source": origin})
    if len(text) > MOST_CHARACTERS:
        return _left_out(file, f"it has over {MOST_CHARACTERS:,} characters")
    return Step(file, "moved", note.name, note.path, text, note.digest, redacted=redacted)


def _looks_like(source: str) -> re.Pattern[str]:
    """The form of a path with placeholders."""
    return re.compile(".+".join(map(re.escape, re.split(r"\[REDACTED[^\]/]*\]", source))))


def _gone(documents: Documents, source: Path, known: _Known, steps: Sequence[Step]) -> Iterator[Step]:
    """Notes whose file is not in the folder any more, by file, each with the new one that it may have become."""
    within = f"{documents.redact(source.as_posix())}/"
    fresh = [step for step in steps if step.action == "new"]
    for note in sorted(known.lost.values(), key=lambda one: one.source):
        if note.source.startswith(within):
            file = note.source[len(within) :]
            last = file.rpartition("/")[2]
            heir = next((one for one in fresh if one.file.rpartition("/")[2] == last or one.name == note.name), None)
            reason = "the file is gone; the note stays"
            if heir is not None:
                reason = f"the file is gone; the note stays, `{printable(heir.file)}` may be what became of it"
            yield Step(file, "gone", note.name, note.path, reason=reason)


def _left_out(file: str, reason: str) -> Step:
    return Step(file, "left out", reason=reason, failed=True)


def _files(folder: Path, below: str, depth: int) -> Iterator[tuple[str, Step | None]]:
    """(file, None) for each Markdown file, (name, why not) for what could not be followed; by folder and name.

    Hidden files and folders are left out without a word.
    """
    try:
        with os.scandir(folder / below) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        where = printable(below or ".")
        yield where, _left_out(where, f"the folder cannot be read: {error.strerror or error}")
        return
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        shown = printable(path)
        if entry.name.startswith("."):
            continue
        markdown = entry.name.lower().endswith((".md", ".markdown"))
        if entry.is_symlink():
            if markdown or _leads_to_folder(entry):
                yield shown, Step(shown, "left out", reason="it is a link")
        elif entry.is_dir(follow_symlinks=False):
            if depth < _MOST_DEPTH:
                yield from _files(folder, path, depth + 1)
            else:
                yield shown, _left_out(shown, "the folder lies too deep")
        elif markdown and not entry.is_file(follow_symlinks=False):
            yield shown, _left_out(shown, "it is not a regular file")
        elif markdown:
            encodable = path.encode("utf-8", "ignore").decode() == path
            yield (path, None) if encodable else (shown, _left_out(shown, "the name of the file is not UTF-8"))


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    """Whether a link leads to a folder; one that leads nowhere, in a circle or where we may not look does not."""
    try:
        return link.is_dir()
    except OSError:
        return False
