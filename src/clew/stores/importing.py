"""Take over a folder of existing Markdown as notes. The folder is only read; a plan says what would become of it.

Each note says in its front matter which file it came from and what that said then. So a second import does nothing for
files that are unchanged, brings over those that are not, and leaves alone what was edited by hand here since.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal

from clew.core.memory.document import MOST_CHARACTERS, Document, digest_of, read_document
from clew.core.memory.edit import imported_text, is_edited_here, refreshed_text
from clew.core.text.printable import printable
from clew.errors import ClewError, Conflict, NotFound
from clew.stores.documents import Documents, Receipt, folder_of
from clew.stores.durable import read_bytes

Action = Literal["new", "changed", "same", "edited", "left out"]
"""`edited`: the source changed, and so did the note here; nothing is done. `left out`: `reason` says why."""
_MOST_DEPTH: Final = 16
_TOLD: Final = 50
"""Files from one report of progress to the next."""
_MOST_BYTES: Final = 4 * MOST_CHARACTERS


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one file."""

    file: str
    """Relative to the imported folder, with `/`."""
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


def import_folder(
    documents: Documents,
    folder: Path,
    *,
    tier: str = "note",
    workspace: str = "",
    today: date,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The plan for a folder of Markdown. Raises NotFound where there is no such folder; writes nothing anywhere.

    `progress` is told of documents of memory that were read, then of files of the folder, and of how many there are.
    """
    place = folder_of(tier, workspace)
    source = Path(os.path.realpath(folder))
    if not source.is_dir():
        raise NotFound(f"there is no folder `{printable(str(folder))}`", hint="name a folder with Markdown files")
    present = tuple(documents.read_all(progress))
    there = {document.source: document for document in present if document.source}
    taken = {document.id for document in present}
    own = os.path.realpath(documents.root)
    files = list(_files(source, "", own, 0))
    steps: list[Step] = []
    for file, reason in files:
        out = Step(file, "left out", reason=reason)
        steps.append(out if reason else _step(documents, source, file, there, taken, today, place))
        if progress is not None and (len(steps) % _TOLD == 0 or len(steps) == len(files)):
            progress(len(steps), len(files))
    return Plan(source, tier, workspace, tuple(steps))


def carry_out(documents: Documents, plan: Plan) -> Iterator[tuple[Step, Receipt]]:
    """Write what the plan says, one note at a time; what was written stays when a later one fails.

    A note that was edited since the plan was made is left as it is, and given without having been written.
    """
    for step in plan.steps:
        if step.action == "new":
            yield step, documents.add(step.text, name=step.name, tier=plan.tier, workspace=plan.workspace)
        elif step.action == "changed":
            try:
                yield step, documents.replace(step.path, step.text, expect=step.digest)
            except Conflict:
                document = documents.read(step.path)
                yield step, Receipt(step.path, document.digest, 0, 0, document.id, written=False)


def _step(
    documents: Documents,
    source: Path,
    file: str,
    there: dict[str, Document],
    taken: set[str],
    today: date,
    place: str,
) -> Step:
    """What becomes of a file. An id that it has is kept, with the links that name it, unless it is in `taken`."""
    origin = f"{source.as_posix()}/{file}"
    before = there.get(origin)
    try:
        raw = read_bytes(source / file, _MOST_BYTES, printable(file)).decode("utf-8")
        digest = digest_of(raw)
        if before is not None and before.source_digest == digest:
            return Step(file, "same", path=before.path)
        clean = documents.redact(raw)
        if before is None:
            own = read_document(file, clean).id
            id = documents.new_id() if not own or own in taken else own
            taken.add(id)
            text = imported_text(file, clean, source=origin, digest=digest, id=id, today=today)
        else:
            text = refreshed_text(documents.read_text(before.path), clean, digest=digest)
    except UnicodeDecodeError:
        return Step(file, "left out", reason="it is not UTF-8")
    except ClewError as error:
        return Step(file, "left out", reason=str(error))
    if before is not None and is_edited_here(before):
        reason = "the file changed, and so did the note here; bring one into the other by hand"
        return Step(file, "edited", before.name, before.path, reason=reason)
    if len(text) > MOST_CHARACTERS:
        return Step(file, "left out", reason=f"it has over {MOST_CHARACTERS:,} characters")
    if before is not None:
        return Step(file, "changed", before.name, before.path, text, before.digest, redacted=clean != raw)
    name = read_document(f"{place}/{file.rpartition('/')[2]}", text).name
    return Step(file, "new", name, text=text, redacted=clean != raw)


def _files(folder: Path, below: str, own: str, depth: int) -> Iterator[tuple[str, str]]:
    """(file, "") for each Markdown file, (name, why not) for what could not be followed; by folder and name.

    Hidden files and folders are left out without a word, as is the memory root itself.
    """
    try:
        entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
    except OSError as error:
        yield below or ".", f"the folder cannot be read: {error.strerror or error}"
        return
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or os.path.realpath(entry.path) == own:
            continue
        markdown = entry.name.lower().endswith((".md", ".markdown"))
        if entry.is_symlink():
            if markdown or entry.is_dir():
                yield printable(path), "it is a link"
        elif entry.is_dir():
            if depth < _MOST_DEPTH:
                yield from _files(folder, path, own, depth + 1)
            else:
                yield printable(path), "the folder lies too deep"
        elif markdown:
            encodable = path.encode("utf-8", "ignore").decode() == path
            yield (path, "") if encodable else (printable(path), "the name of the file is not UTF-8")
