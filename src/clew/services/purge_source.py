"""Takes all that came from one source out of what Clew keeps: a document, an exchange, a session, a file, a workspace.

Documents, exchanges, records of hints and lines of the trail go whole. What is said about them elsewhere, in a document
that somebody else wrote, stays: it is named, and a secret in it is what `clew purge --secret` is for.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from clew.adapters.memory_rewrite import HistoryRewrite, Rules
from clew.adapters.workspace import KNOWN_FILE
from clew.core.handoff.references import SESSION
from clew.core.memory.audit import Entry, read_line
from clew.core.memory.document import ARCHIVE, PREFIX, bare_id, document_of, is_made, read_document
from clew.core.text.frontmatter import parse
from clew.core.text.printable import printable
from clew.core.text.traces import Traces
from clew.errors import ClewError, NotFound, StoreError, UsageError
from clew.services.memory_known import same
from clew.services.purge import Purge, Report, rewrite_history
from clew.stores.audit import rewrite
from clew.stores.exchanges import ExchangeStore
from clew.stores.purging import Found, delete, files, replace_file
from clew.stores.purging import search as search_files
from clew.stores.seen import Seen

_LEAST_LINE: Final = 24
"""Characters of a line of a removed document that is looked for elsewhere: shorter ones stand in any text."""
_MOST_LINES: Final = 40
_DOCUMENTS: Final = "`clew memory list --all` shows what is there"
_HINTS: Final = {
    "document": _DOCUMENTS, "workspace": _DOCUMENTS, "exchange": "`clew history --all` lists them",
    "session": "`clew session list` shows them; an id is given whole",
    "file": "a document, exchange:3, session:ID, workspace:ID, or a path",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What a reference names."""

    kind: str
    """`document`, `exchange`, `session`, `workspace` or `file`."""
    value: str
    """The id, number or path."""
    workspace: str
    """Of the folder that it is asked in: exchanges and files are meant there."""
    ids: frozenset[str] = field(default_factory=frozenset[str])
    """Ids of the documents that go."""
    paths: frozenset[str] = field(default_factory=frozenset[str])
    """Their paths below the memory root."""

    def is_named_by(self, ref: str) -> bool:
        """Whether a reference leads to it, or into it."""
        bare = bare_id(ref)
        if self.kind == "document":
            return bare in self.ids or bare in self.paths
        if self.kind == "exchange":
            return ref == f"exchange:{self.value}"
        return self.kind == "file" and re.fullmatch(re.escape(self.value) + r"(?::\d+(?:-\d+)?)?", ref) is not None

    def takes_entry(self, entry: Entry) -> bool:
        """Whether a line of the trail came from it."""
        if self.kind == "session":
            return entry.session == self.value
        if self.kind == "workspace":
            return entry.workspace == self.value
        here = self.kind == "document" or entry.workspace in ("", self.workspace)
        return here and any(map(self.is_named_by, entry.refs))

    def takes_exchange(self, workspace: str, thread: str, number: int, refs: tuple[str, ...]) -> bool:
        """Whether an exchange came from it."""
        if self.kind == "session":
            return thread == self.value
        if self.kind == "workspace":
            return workspace == self.value
        if self.kind == "exchange":
            return workspace == self.workspace and (str(number) == self.value or any(map(self.is_named_by, refs)))
        return (self.kind == "document" or workspace == self.workspace) and any(map(self.is_named_by, refs))

    def takes_file(self, path: str, content: bytes) -> bool:
        """Whether a file of memory, now or in its history, came from it."""
        if self.kind == "workspace":
            return path.startswith(f"workspaces/{self.value}/")
        if self.kind != "document":
            return False
        if path in self.paths or document_of(path) in self.paths:
            return True
        return path.lower().endswith(".md") and b"id:" in content and _id_of(content) in self.ids


def source_of(ref: str, purge: Purge, workspace: str) -> Source:
    """What is meant by a reference as Clew gives it, or by `session:ID`, `workspace:ID`. Raises UsageError."""
    wanted = ref.strip()
    word, colon, value = wanted.partition(":")
    if wanted.startswith(SESSION):
        word, value = "session", wanted.removeprefix(SESSION)
    if not wanted or "\0" in wanted:
        raise UsageError("there is no source", hint="a document, exchange:3, session:ID, workspace:ID, or a path")
    if colon and word in ("exchange", "session", "workspace") and value:
        if word == "exchange" and not value.isdigit():
            raise UsageError(
                f"`{printable(value, 40)}` is no number of an exchange", hint="`clew history --all` lists them"
            )
        if word == "session" and not re.fullmatch(r"[^/\\]+", value):
            raise UsageError(f"`{printable(value, 60)}` is no id of a session", hint=_HINTS["session"])
        if word == "workspace" and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,79}", value):
            raise UsageError(
                f"`{printable(value, 60)}` is no id of a workspace", hint="small letters, digits and hyphens"
            )
        return Source(word, value, workspace)
    bare = bare_id(wanted)
    root = purge.layout.memory
    with contextlib.suppress(ValueError):
        bare = Path(os.path.realpath(bare)).relative_to(root).as_posix() if os.path.isabs(bare) else bare
    if wanted.startswith(PREFIX) or re.fullmatch(r"mem_[0-9a-f]{12}", bare) or (root / bare).is_file():
        return _document(bare, purge, workspace)
    if bare.startswith(("user/", "workspaces/")) and bare.endswith(".md") and not os.path.exists(bare):
        return _document(bare, purge, workspace)  # its file may be gone, and its history not
    if bare.startswith(("user/", "workspaces/")) and (root / f"{bare}.md").is_file():
        return _document(f"{bare}.md", purge, workspace)
    file = Source("file", os.path.normpath(re.sub(r":\d+(?:-\d+)?\Z", "", wanted)), workspace)
    named = _called(wanted, purge, workspace)
    if not named:
        return file
    if len(named) > 1 or any(one.kind != "index" for one in _found(purge, file)):
        told = ", ".join(f"`{printable(path)}`" for path in (*named.values(), *([file.value] * (len(named) < 2))))
        raise UsageError(f"`{printable(wanted, 80)}` may mean more than one: {told}", hint="name its path, or its id")
    return _document(next(iter(named)), purge, workspace)


def _called(name: str, purge: Purge, workspace: str) -> dict[str, str]:
    """The document of that id, or those of that name, of the workspace and of the user: id, or path, and path."""
    found: dict[str, str] = {}
    for path, content in _memory_files(purge):
        near = path.startswith(("user/", f"workspaces/{workspace}/"))
        if ARCHIVE in path.split("/") or document_of(path) or not path.lower().endswith(".md"):
            continue
        document = read_document(path, content.decode("utf-8", "replace"))
        if document.id == name:
            return {name: path}
        if near and same(document.name, name):
            found.setdefault(document.id or path, path)
    return found


def _document(bare: str, purge: Purge, workspace: str) -> Source:
    ids, paths = set[str](), set[str]()
    known = {path: _id_of(content) for path, content in _memory_files(purge)}
    if bare in known or "/" in bare:
        paths.add(document_of(bare) or bare)
        ids |= {known[bare]} - {""} if bare in known else set()
    else:
        ids.add(bare)
    for path, ident in known.items():
        # An id that a copy was given a second time names one document all the same.
        if ident in ids or document_of(path) in paths:
            paths.add(document_of(path) or path)
    return Source("document", bare, workspace, frozenset(ids), frozenset(paths))


def find_source(purge: Purge, source: Source) -> Report:
    """What came from a source. Nothing is changed. Raises NotFound where nothing did: there is no such source."""
    report = _look(purge, source)
    if not any(one.kind != "index" or _tells_of(Path(one.path), source) for one in report.found):
        raise NotFound(f"nothing here came from `{printable(source.value, 80)}`", hint=_HINTS[source.kind])
    return report


def _tells_of(path: Path, source: Source) -> bool:
    """Whether a derived file is about a source: after a purge that was killed, it may be all that is left."""
    if source.kind == "workspace":
        return path.name.startswith(f"{source.value}-")
    if source.kind == "file":
        return os.path.exists(source.value)
    with contextlib.suppress(OSError):
        content = path.read_bytes()
        wanted = (source.value,) if source.kind == "session" else (*source.ids, *source.paths)
        return any(re.search(_whole(one), content) for one in wanted)
    return False


def _whole(name: str) -> bytes:
    """A name in the bytes of a database; one that Clew did not make may be the beginning of another."""
    found = re.escape(os.fsencode(name))
    return found if is_made(name) or name.endswith(".md") else found + rb"(?![\w-])"


def _look(purge: Purge, source: Source) -> Report:
    return Report(found=[*_found(purge, source), *_in_history(purge, source)], beyond=purge.beyond())


def remove_source(purge: Purge, source: Source) -> Report:
    """Take it out, and look for it again; what is left has its reason.

    Raises NotFound, Refused, StoreBusy, StoreError.
    """
    with purge.alone(), purge.held() as repository:
        report = find_source(purge, source)
        lines = _lines(purge, source)
        done: dict[str, Found] = {}
        for one in report.found:
            if one.kind != "git":
                done[one.path] = _removed(purge, source, one)
        if repository is not None and any(one.kind == "git" for one in report.found):
            report.history = rewrite_history(
                repository, Rules(blob=lambda content, path: None if source.takes_file(path, content) else content)
            )
        if source.kind in ("document", "workspace") or any(one.kind == "transcript" for one in report.found):
            purge.drop_derived()
        purge.finish()
    after = _look(purge, source)
    report.found = [done.get(one.path, replace(one, action="deleted")) for one in report.found]
    report.left = [
        replace(one, reason=done[one.path].reason if one.path in done else one.reason) for one in after.found
    ]
    report.done = True
    report.beyond = after.beyond
    if lines:
        patterns = (b"|".join(re.escape(line) for line in lines),)
        report.mentioned = [one.path for one in search_files(purge.layout, Traces(patterns))]
    return report


def _found(purge: Purge, source: Source) -> Iterator[Found]:
    layout, home = purge.layout, purge.home
    for path, content in _memory_files(purge):
        if source.takes_file(path, content):
            yield Found(str(layout.memory / path), "document", 1)
    if source.kind == "workspace" and os.path.isdir(layout.memory / "workspaces" / source.value):
        yield Found(str(layout.memory / "workspaces" / source.value), "folder", 1)
    history = home.data / "history.db"
    if history.exists():
        try:
            if count := len(_exchanges(history, source)):
                yield Found(str(history), "history", count)
        except ClewError as error:
            yield Found(str(history), "history", reason=str(error))
    if source.kind == "session" and (transcript := home.data / "sessions" / f"{source.value}.jsonl").is_file():
        yield Found(str(transcript), "transcript", 1)
    yield from _in_hints(home.data / "hints.db", source)
    for path in sorted((home.data / "audit").glob("*.jsonl")):
        with contextlib.suppress(OSError):
            rows = path.read_bytes().split(b"\n")
            lines = tuple(at for at, row in enumerate(rows, 1) if _is_from(row, source))
            if lines:
                yield Found(str(path), "audit", len(lines), lines[:12])
    if source.kind == "workspace" and _without_workspace(home.state / KNOWN_FILE, source.value) is not None:
        yield Found(str(home.state / KNOWN_FILE), "file", 1)
    for path in files(layout):
        if layout.kind(path) == "index" and _is_made_from(path, source):
            yield Found(str(path), "index", 1)


def _in_hints(path: Path, source: Source) -> Iterator[Found]:
    if not path.exists() or source.kind not in ("document", "session"):
        return
    try:
        seen = Seen(path)
        count = len(seen.shown(source.value)) if source.kind == "session" else seen.about(sorted(source.ids))
        if count:
            yield Found(str(path), "hints", count)
    except StoreError as error:
        yield Found(str(path), "hints", reason=str(error))


def _in_history(purge: Purge, source: Source) -> list[Found]:
    folder = str(purge.layout.memory / ".git")
    if source.kind not in ("document", "workspace") or not purge.git.there:
        return []
    try:
        rewritten = HistoryRewrite(purge.git.repository())
        paths, counts = rewritten.paths(), dict[str, int]()
        for ident, _, content in rewritten.objects(("blob",)):
            path = paths.get(ident, "")
            if source.takes_file(path, content):
                counts[path] = counts.get(path, 0) + 1
    except ClewError as error:
        return [Found(folder, "git", reason=f"cannot be read: {error}")]
    return [Found(f"{folder}: {path}", "git", count) for path, count in sorted(counts.items())]


def _removed(purge: Purge, source: Source, one: Found) -> Found:
    path = Path(one.path)
    try:
        if one.kind == "history":
            with ExchangeStore(path) as store:
                store.purge(list(_exchanges_in(store, source)), str)
            _forget_copies(path)
        elif one.kind == "hints":
            ids, session = sorted(source.ids), source.value if source.kind == "session" else None
            Seen(path).purge(notes=ids, session=session)
        elif one.kind == "audit":
            rewrite(path, lambda old: b"\n".join(row for row in old.split(b"\n") if not _is_from(row, source)))
        elif one.kind == "file":
            replace_file(path, lambda _: _without_workspace(path, source.value) or b"")
        elif one.kind == "folder":
            _remove_folders(path)
        else:
            with purge.lock(path) if one.kind == "document" else contextlib.nullcontext():
                delete(path)
    except FileNotFoundError:
        pass
    except (OSError, ClewError) as error:
        return replace(one, reason=str(error))
    return replace(one, action="deleted")


def _forget_copies(history: Path) -> None:
    """A copy of an older format goes, as with every exchange that is deleted for good."""
    for copy in history.parent.glob(f"{history.name}.format-*"):
        delete(copy)


def _remove_folders(top: Path) -> None:
    """Remove a folder of which only locks and empty folders are left. Raises OSError where anything else is there."""
    for folder, _, names in os.walk(top, topdown=False):
        if set(names) <= {".lock"}:
            for name in names:
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _exchanges(path: Path, source: Source) -> list[int]:
    with ExchangeStore(path) as store:
        return _exchanges_in(store, source)


def _exchanges_in(store: ExchangeStore, source: Source) -> list[int]:
    return [
        one.id for workspace, thread, one in store.everything()
        if source.takes_exchange(workspace, thread, one.id, tuple(one.refs))
    ]  # fmt: skip


def _is_from(row: bytes, source: Source) -> bool:
    entry = read_line(row) if row.strip() else None
    return isinstance(entry, Entry) and entry.kind != "purge" and source.takes_entry(entry)


def _is_made_from(path: Path, source: Source) -> bool:
    """Whether a derived file may hold what came from a source."""
    if path.name.endswith(("-wal", "-shm")):
        return False
    if source.kind == "session":
        return path.name == "sessions.db" and _tells_of(path, source)
    if source.kind == "document":
        # What was searched for is kept with what was found.
        return path.suffix == ".searches" or path.name == "memory.db" or path.parent.name == "recall"
    if source.kind == "workspace":
        return (
            path.name in ("memory.db", "sessions.db")
            or path.parent.name == "recall"
            or (re.fullmatch(re.escape(source.value) + r"-[0-9a-f]{12}\.(?:db|searches)", path.name) is not None)
        )
    mine = path.name.startswith(f"{source.workspace}-")
    return mine and path.suffix in ((".searches", ".db") if source.kind == "file" else (".searches",))


def _memory_files(purge: Purge) -> Iterator[tuple[str, bytes]]:
    """Path below the root, and content, of all files of memory but those of git and locks."""
    root = purge.layout.memory
    for path in files(purge.layout):
        if path.is_relative_to(root) and purge.layout.kind(path) in ("document", "temporary"):
            with contextlib.suppress(OSError):
                yield path.relative_to(root).as_posix(), path.read_bytes()


def _id_of(content: bytes) -> str:
    return str(parse(content.decode("utf-8", "replace")).values.get("id") or "")


def _lines(purge: Purge, source: Source) -> list[bytes]:
    """Telling lines of the documents that go, to see whether they are said elsewhere."""
    found = dict.fromkeys(
        line.strip()
        for path, content in _memory_files(purge)
        if source.takes_file(path, content)
        for line in content.split(b"\n")
        if len(line.strip()) >= _LEAST_LINE
    )
    return sorted(found, key=len, reverse=True)[:_MOST_LINES]


def _without_workspace(path: Path, workspace: str) -> bytes | None:
    """The list of known folders without those of a workspace; None where it has none."""
    try:
        known: Any = json.loads(path.read_bytes())
        rows, roots = cast("dict[str, Any]", known["workspaces"]), cast("dict[str, str]", known["roots"])
        if workspace not in rows and workspace not in roots.values():
            return None
        known["workspaces"] = {ident: row for ident, row in rows.items() if ident != workspace}
        known["roots"] = {root: ident for root, ident in roots.items() if ident != workspace}
        return json.dumps(known, ensure_ascii=False, indent=1).encode() + b"\n"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
