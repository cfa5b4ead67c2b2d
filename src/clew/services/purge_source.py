"""Takes all that came from one source out of what Clew keeps: a document, an exchange, a session, a file, a workspace.

Documents, exchanges, records of hints and lines of the trail go whole. What is said about them elsewhere, in a document
that somebody else wrote, stays: it is named, and a secret in it is what `clew purge --secret` is for.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from clew.adapters.memory_rewrite import HistoryRewrite, Rules
from clew.adapters.workspace import KNOWN_FILE
from clew.core.handoff.references import HANDOFF, SESSION
from clew.core.memory.document import ARCHIVE, PREFIX, bare_id, document_of, is_made, read_document
from clew.core.text.printable import printable
from clew.core.text.traces import Traces
from clew.errors import ClewError, NotFound, StoreError, UsageError
from clew.services.memory_known import same
from clew.services.purge import Purge, Report, rewrite_history
from clew.services.purge_origin import (
    Goes,
    Source,
    entries_of,
    exchanges_in,
    id_of,
    known,
    memory_files,
    said_in,
    typed_in,
)
from clew.stores.audit import rewrite
from clew.stores.durable import LOCK, locked
from clew.stores.exchanges import ExchangeStore
from clew.stores.purging import Found, delete, files, replace_file
from clew.stores.purging import search as search_files
from clew.stores.seen import Seen

_LEAST_LINE: Final = 24
"""Characters of a line of a removed document that is looked for elsewhere: shorter ones stand in any text."""
_MOST_LINES: Final = 40
_MOST_TOLD: Final = 12
"""Lines that are named for one file."""
_DOCUMENTS: Final = "`clew memory list --all` shows what is there"
_HINTS: Final = {
    "document": _DOCUMENTS, "workspace": _DOCUMENTS, "exchange": "`clew history --all` lists them",
    "session": "`clew session list` shows them; an id is given whole",
    "file": "a document, exchange:3, session:ID, workspace:ID, or a path",
}  # fmt: skip


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
    if wanted.startswith(HANDOFF):
        return _ledger(wanted, purge, workspace)
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
    for path, content in memory_files(purge):
        near = path.startswith(("user/", f"workspaces/{workspace}/"))
        if ARCHIVE in path.split("/") or document_of(path) or not path.lower().endswith(".md"):
            continue
        document = read_document(path, content.decode("utf-8", "replace"))
        if document.id == name:
            return {name: path}
        if near and same(document.name, name):
            found.setdefault(document.id or path, path)
    return found


def _ledger(ref: str, purge: Purge, workspace: str) -> Source:
    """The ledger of a workspace that a reference opens."""
    stem = ref.removeprefix(HANDOFF).partition("#")[0]
    return _document(f"workspaces/{workspace}/handoff/{stem}.md", purge, workspace)


def _document(bare: str, purge: Purge, workspace: str) -> Source:
    ids, paths = set[str](), set[str]()
    known = {path: id_of(content) for path, content in memory_files(purge)}
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
    return _demanded(purge, known(purge, source))


def _demanded(purge: Purge, source: Source) -> Report:
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
        wanted = (*source.sessions, *source.ids, *source.paths)
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
        source = known(purge, source)
        report = _demanded(purge, source)
        patterns = _telling(purge, source)
        done: dict[str, Found] = {}
        for one in report.found:
            if one.kind != "git":
                done[one.path] = _removed(purge, source, one)
        if repository is not None and any(one.kind == "git" for one in report.found):
            report.history = rewrite_history(repository, Rules(
                blob=lambda content, path: None if source.takes_file(path, content) else content,
                message=source.told.without,
            ))  # fmt: skip
        if any(one.kind in ("document", "transcript") for one in report.found) or source.kind == "document":
            purge.drop_derived()
        purge.finish()
    after = _look(purge, source)
    report.found = [done.get(one.path, replace(one, action="deleted")) for one in report.found]
    report.left = [
        replace(one, reason=done[one.path].reason if one.path in done else one.reason) for one in after.found
    ]
    report.done = True
    report.beyond = after.beyond
    report.mentioned = sorted(_mentioned(purge, source, patterns))
    return report


def _found(purge: Purge, source: Source) -> Iterator[Found]:
    """What came from a source, in the order in which it goes: what tells of other things goes after them."""
    layout, home = purge.layout, purge.home
    for path in sorted((home.state / "kept").glob("*.md")):
        with contextlib.suppress(OSError):
            if id_of(path.read_bytes()) in source.ids:
                yield Found(str(path), "document", 1)
    yield from _in_hints(home.data / "hints.db", source)
    for path in sorted((home.data / "audit").glob("*.jsonl")):
        yield from _in_lines(path, "audit", entries_of(source))
    yield from _in_lines(home.data / "typed.jsonl", "typed", typed_in(source))
    if source.kind == "workspace" and _without_workspace(home.state / KNOWN_FILE, source.value) is not None:
        yield Found(str(home.state / KNOWN_FILE), "file", 1)
    for path in files(layout):
        if layout.kind(path) == "index" and _is_made_from(path, source):
            yield Found(str(path), "index", 1)
    yield from _in_exchanges(home.data / "history.db", source)
    for path, content in memory_files(purge):
        if source.takes_file(path, content):
            yield Found(str(layout.memory / path), "document", 1)
    if source.kind == "workspace" and os.path.isdir(layout.memory / "workspaces" / source.value):
        yield Found(str(layout.memory / "workspaces" / source.value), "folder", 1)
    for name in sorted(source.sessions, key=lambda one: one == source.value):
        transcript = home.data / "sessions" / f"{name}.jsonl"
        if transcript.with_suffix("").is_dir():
            yield Found(str(transcript.with_suffix("")), "outputs", 1)
        if transcript.is_file():
            yield Found(str(transcript), "transcript", 1)


def _in_lines(path: Path, kind: str, goes: Goes) -> Iterator[Found]:
    with contextlib.suppress(OSError):
        rows = path.read_bytes().split(b"\n")
        if lines := tuple(at for at, row in enumerate(rows, 1) if goes(row)):
            yield Found(str(path), kind, len(lines), lines[:_MOST_TOLD])


def _in_exchanges(path: Path, source: Source) -> Iterator[Found]:
    if not path.exists():
        return
    try:
        with ExchangeStore(path) as store:
            count = len(exchanges_in(store, source))
        if count:
            yield Found(str(path), "history", count)
    except ClewError as error:
        yield Found(str(path), "history", reason=str(error))


def _without_lines(goes: Goes) -> Callable[[bytes], bytes]:
    return lambda old: b"\n".join(row for row in old.split(b"\n") if not goes(row))


def _in_hints(path: Path, source: Source) -> Iterator[Found]:
    if not path.exists():
        return
    try:
        seen = Seen(path)
        goes, about = said_in(source), seen.about(sorted(source.ids))
        rejected = sum(goes(one.said) and one.note not in source.ids for one in seen.rejected())
        if count := sum(len(seen.shown(one)) for one in source.sessions) + about + rejected:
            yield Found(str(path), "hints", count)
    except StoreError as error:
        yield Found(str(path), "hints", reason=str(error))


def _in_history(purge: Purge, source: Source) -> list[Found]:
    folder = str(purge.layout.memory / ".git")
    if source.kind not in ("document", "session", "workspace") or not purge.git.there:
        return []
    try:
        rewritten = HistoryRewrite(purge.git.repository())
        paths, counts = rewritten.paths(), dict[str, int]()
        for ident, kind, content in rewritten.objects(("blob", "commit", "tag")):
            path = paths.get(ident, "") if kind == "blob" else kind
            message = content.partition(b"\n\n")[2]
            if source.takes_file(path, content) if kind == "blob" else source.told.without(message) != message:
                counts[path] = counts.get(path, 0) + 1
    except ClewError as error:
        return [Found(folder, "git", reason=f"cannot be read: {error}")]
    return [Found(f"{folder}: {path}", "git", count) for path, count in sorted(counts.items())]


def _removed(purge: Purge, source: Source, one: Found) -> Found:
    path = Path(one.path)
    try:
        if one.kind == "history":
            with ExchangeStore(path) as store:
                store.purge(list(exchanges_in(store, source)), str)
            _forget_copies(path)
        elif one.kind == "hints":
            Seen(path).purge(notes=sorted(source.ids), sessions=sorted(source.sessions), goes=said_in(source))
        elif one.kind == "audit":
            rewrite(path, _without_lines(entries_of(source)))
        elif one.kind == "typed":
            replace_file(path, _without_lines(typed_in(source)))
        elif one.kind == "outputs":
            _remove_outputs(path)
        elif one.kind == "transcript":
            with locked(path.with_suffix(""), 0):
                delete(path)
            _remove_outputs(path.with_suffix(""))
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


def _remove_outputs(folder: Path) -> None:
    """Remove the folder of a session, with what tools kept in it. Raises StoreBusy while it is in use, OSError."""
    with locked(folder, 0):
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            elif path.name != LOCK:
                delete(path, blotted=True)
    _remove_folders(folder)


def _remove_folders(top: Path) -> None:
    """Remove a folder of which only locks and empty folders are left. Raises OSError where anything else is there."""
    for folder, _, names in os.walk(top, topdown=False):
        if set(names) <= {LOCK}:
            for name in names:
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _is_made_from(path: Path, source: Source) -> bool:
    """Whether a derived file may hold what came from a source."""
    if path.name.endswith(("-wal", "-shm")):
        return False
    if source.kind == "session":
        return path.suffix == ".searches" or _tells_of(path, source)
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


def _telling(purge: Purge, source: Source) -> tuple[bytes, ...]:
    """Patterns of what says the same as what goes, or names it: telling lines of documents, ids and references."""
    ids = [one for one in source.ids if is_made(one)]
    ids += [source.value] if source.kind == "workspace" else []
    parts = [*map(re.escape, _lines(purge, source)), *map(_whole, (*ids, *source.sessions))]
    return (b"|".join(parts),) if parts else ()


def _mentioned(purge: Purge, source: Source, patterns: tuple[bytes, ...]) -> set[str]:
    """Files that say the same, or name it, and documents that were kept in a session that went: they stay."""
    found = {one.path for one in search_files(purge.layout, Traces(patterns)) if one.kind != "index"}
    wrote = {bare_id(ref) for ref in source.wrote}
    kept = (path for path, content in memory_files(purge) if {path, id_of(content)} & wrote)
    return found | {str(purge.layout.memory / path) for path in kept}


def _lines(purge: Purge, source: Source) -> list[bytes]:
    """Telling lines of the documents that go, to see whether they are said elsewhere; what stands above their text, and
    headings, stand in many."""
    found = dict.fromkeys(
        line.strip()
        for path, content in memory_files(purge)
        if source.takes_file(path, content)
        for line in read_document(path, content.decode("utf-8", "replace")).body.encode().split(b"\n")
        if len(line.strip()) >= _LEAST_LINE and not line.startswith(b"#")
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
