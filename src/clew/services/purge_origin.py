"""How what came from a source is known: by references, ids, sessions, and by what was asked or said there."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from clew.adapters.memory_rewrite import HistoryRewrite
from clew.core.handoff.references import HANDOFF, SESSION, reference
from clew.core.memory.audit import Entry, query_of, read_line
from clew.core.memory.document import bare_id, document_of, read_document
from clew.core.memory.told import Told
from clew.core.text.frontmatter import parse
from clew.errors import ClewError
from clew.services.memory_known import same
from clew.services.purge import Purge
from clew.stores.exchanges import ExchangeStore
from clew.stores.purging import files

_NOTHING: Final = Told((), ())
Goes = Callable[[bytes], bool]
"""Whether a line of a file came from a source."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a reference names, and what is known to belong to it."""

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
    sessions: frozenset[str] = field(default_factory=frozenset[str])
    """Sessions that go, with those of their sub-agents."""
    said: frozenset[tuple[str, str]] = field(default_factory=frozenset[tuple[str, str]])
    """Workspace and beginning of all that was asked in the exchanges, and said in the sessions, that go."""
    wrote: frozenset[str] = field(default_factory=frozenset[str])
    """References of what was kept in these sessions."""
    told: Told = _NOTHING
    """Names of the documents that go."""

    def is_named_by(self, ref: str) -> bool:
        """Whether a reference leads to it, or into it."""
        bare = bare_id(ref)
        if bare in self.ids or bare in self.paths or document_of(bare) in self.paths:
            return True
        if ref.startswith(SESSION):
            return ref.removeprefix(SESSION).partition("#")[0] in self.sessions
        if ref.startswith(HANDOFF):
            return ref.partition("#")[0] in map(reference, self.paths)
        if self.kind == "exchange":
            return ref == f"exchange:{self.value}"
        return self.kind == "file" and re.fullmatch(re.escape(self.value) + r"(?::\d+(?:-\d+)?)?", ref) is not None

    def takes_entry(self, entry: Entry) -> bool:
        """Whether a line of the trail came from it."""
        if entry.session in self.sessions or (self.kind == "workspace" and entry.workspace == self.value):
            return True
        if not entry.session and (entry.workspace, entry.query) in self.said:
            return True
        here = self.kind not in ("exchange", "file") or entry.workspace in ("", self.workspace)
        return here and any(map(self.is_named_by, entry.refs))

    def takes_exchange(self, workspace: str, thread: str, number: int, refs: tuple[str, ...]) -> bool:
        """Whether an exchange came from it."""
        if thread in self.sessions or (self.kind == "workspace" and workspace == self.value):
            return True
        if self.kind in ("exchange", "file") and workspace != self.workspace:
            return False
        return (self.kind == "exchange" and str(number) == self.value) or any(map(self.is_named_by, refs))

    def takes_file(self, path: str, content: bytes) -> bool:
        """Whether a file of memory, now or in its history, came from it."""
        if self.kind == "workspace":
            return path.startswith(f"workspaces/{self.value}/")
        if self.kind == "session":
            return "handoff" in path.split("/") and self._is_ledger(content)
        if self.kind != "document":
            return False
        if path in self.paths or document_of(path) in self.paths:
            return True
        return path.lower().endswith(".md") and b"id:" in content and id_of(content) in self.ids

    def _is_ledger(self, content: bytes) -> bool:
        """Whether a ledger is of one of the sessions."""
        named = any(one.encode() in content for one in self.sessions)
        return named and str(_front(content).get("session") or "") in self.sessions


def known(purge: Purge, source: Source) -> Source:
    """The source with its sessions, the documents that go with it, and what was said there."""
    source = replace(source, sessions=_sessions(purge, source))
    source = _with_documents(purge, source)
    said = frozenset((*_asked(purge, source), *_talked(purge, source)))
    return replace(source, said=said, wrote=frozenset(_written(purge, source)))


def id_of(content: bytes) -> str:
    """The id in the front matter of a document; empty where it has none."""
    return str(_front(content).get("id") or "")


def memory_files(purge: Purge) -> Iterator[tuple[str, bytes]]:
    """Path below the root, and content, of all files of memory but those of git and locks."""
    root = purge.layout.memory
    for path in files(purge.layout):
        if path.is_relative_to(root) and purge.layout.kind(path) in ("document", "temporary"):
            with contextlib.suppress(OSError):
                yield path.relative_to(root).as_posix(), path.read_bytes()


def exchanges_in(store: ExchangeStore, source: Source) -> list[int]:
    """Numbers of the exchanges that came from a source. Raises StoreError."""
    return [
        one.id for workspace, thread, one in store.everything()
        if source.takes_exchange(workspace, thread, one.id, tuple(one.refs))
    ]  # fmt: skip


def entries_of(source: Source) -> Goes:
    """Tells lines of the trail that came from a source."""

    def goes(row: bytes) -> bool:
        entry = read_line(row) if row.strip() else None
        return isinstance(entry, Entry) and entry.kind != "purge" and source.takes_entry(entry)

    return goes


def said_in(source: Source) -> Callable[[str], bool]:
    """Tells messages that were said in what goes."""
    said = {query for _, query in source.said} - {""}
    return lambda text: query_of(text) in said


def typed_in(source: Source) -> Goes:
    """Tells lines that were typed in what goes."""
    goes = said_in(source)
    return lambda row: bool(row.strip()) and goes(_text(row))


def _sessions(purge: Purge, source: Source) -> frozenset[str]:
    if source.kind not in ("session", "workspace"):
        return frozenset()
    heads = {path.stem: _head(path) for path in (purge.home.data / "sessions").glob("*.jsonl")}
    if source.kind == "workspace":
        return frozenset(id_ for id_, head in heads.items() if head.get("workspace") == source.value)
    found = {source.value}
    while more := {id_ for id_, head in heads.items() if head.get("delegated") in found} - found:
        found |= more
    return frozenset(found)


def _with_documents(purge: Purge, source: Source) -> Source:
    """The source with ids, paths and names of the documents that go, as they are and as they were."""
    if source.kind not in ("document", "session", "workspace"):
        return source
    now = list(memory_files(purge))
    going = [(path, content) for path, content in (*now, *_versions(purge)) if source.takes_file(path, content)]
    documents = [read_document(path, content.decode("utf-8", "replace")) for path, content in going]
    ids = source.ids | {one.id for one in documents}
    paths = source.paths | {document_of(path) or path for path, _ in going if path}
    stay = [_name(path, content) for path, content in now if not source.takes_file(path, content)]
    own = {one.name for one in documents if not any(same(one.name, name) for name in stay)}
    refs = [*ids, *paths, *(reference(path) for path in paths if "handoff" in path.split("/"))]
    refs = [one for one in (*refs, *(path.removesuffix(".md") for path in paths)) if not one.startswith("clew://plan")]
    return replace(source, ids=frozenset(ids - {""}), paths=frozenset(paths), told=Told(own, refs))


def _versions(purge: Purge) -> Iterator[tuple[str, bytes]]:
    """Path and content of all versions of documents in git; none where it cannot be read: that is told as left."""
    with contextlib.suppress(ClewError):
        if purge.git.there:
            rewrite = HistoryRewrite(purge.git.repository())
            paths = rewrite.paths()
            for ident, _, content in rewrite.objects(("blob",)):
                yield paths.get(ident, ""), content


def _asked(purge: Purge, source: Source) -> Iterator[tuple[str, str]]:
    """Workspace and question of the exchanges that go."""
    path = purge.home.data / "history.db"
    with contextlib.suppress(ClewError):
        if path.exists():
            with ExchangeStore(path) as store:
                for workspace, thread, one in store.everything():
                    if source.takes_exchange(workspace, thread, one.id, tuple(one.refs)):
                        yield workspace, query_of(one.question)


def _talked(purge: Purge, source: Source) -> Iterator[tuple[str, str]]:
    """Workspace and text of all that stands in the sessions that go: any of it may have been looked for."""
    for id_ in source.sessions:
        path = purge.home.data / "sessions" / f"{id_}.jsonl"
        workspace = str(_head(path).get("workspace", ""))
        with contextlib.suppress(OSError):
            for row in path.read_bytes().split(b"\n"):
                with contextlib.suppress(ValueError, RecursionError):
                    yield from ((workspace, query_of(text)) for text in _texts(json.loads(row)) if text.strip())


def _written(purge: Purge, source: Source) -> Iterator[str]:
    """References of what the trail says was written in the sessions that go."""
    for path in (purge.home.data / "audit").glob("*.jsonl"):
        with contextlib.suppress(OSError):
            for row in path.read_bytes().split(b"\n"):
                entry = read_line(row) if row.strip() else None
                if isinstance(entry, Entry) and entry.kind == "write" and entry.session in source.sessions:
                    yield from entry.refs


def _head(transcript: Path) -> dict[str, Any]:
    """The first line of a transcript; nothing where it cannot be read."""
    with contextlib.suppress(OSError, ValueError), open(transcript, "rb") as file:
        found = json.loads(file.readline())
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return {}


def _name(path: str, content: bytes) -> str:
    return read_document(path, content.decode("utf-8", "replace")).name


def _text(row: bytes) -> str:
    with contextlib.suppress(ValueError, RecursionError):
        return str(json.loads(row))
    return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _texts(one)


def _front(content: bytes) -> dict[str, Any]:
    return dict(parse(content.decode("utf-8", "replace")).values)
