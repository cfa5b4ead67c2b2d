"""What is wrong across all documents, and what of it can be mended without touching what a person wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from clew.core.memory.document import HANDOFF_KEYS, KEYS, MOST_DESCRIPTION, MOST_NAME, Document, clean_line, nearest
from clew.core.text.frontmatter import UNCLOSED
from clew.core.text.scalars import Given


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at a line of a file, counted from 1."""

    path: str
    line: int
    what: str
    hint: str
    kind: str
    """Stable: unreadable, front, no-id, same-id, new-id, dangling, one-sided, cycle, expired, no-description, key,
    long, place, conflict (two versions after a sync; only the files beside the documents tell)."""
    mends: bool = False
    """Whether `mends` has a change for it."""


def check(
    documents: Sequence[Document], *, today: date, indexed: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """All findings, by path and line. `indexed` gives the id that a path had when it was indexed."""
    readable = _sound(documents)
    before = _before(readable, indexed or {})
    found = [
        *(finding for document in documents for finding in _alone(document, today, before)),
        *_identities(readable, indexed or {}, before),
        *_links(readable),
        *_cycles(readable),
    ]
    return tuple(sorted(found, key=lambda finding: (finding.path, finding.line, finding.kind, finding.what)))


def mends(
    documents: Sequence[Document], new_id: Callable[[], str], indexed: Mapping[str, str] | None = None
) -> dict[str, Mapping[str, Given]]:
    """By path, the changes to front matter that mend what can be mended: an id, the other side of a link.

    `new_id` gives an id that no document has. A document that lost the id it had when it was indexed gets that again.
    One whose front matter has no end is left alone: only a person knows where it ends.
    """
    readable = _sound(documents)
    changes: defaultdict[str, dict[str, Given]] = defaultdict(dict)
    before = _before(readable, indexed or {})
    for document in readable:
        if not document.id:
            changes[document.path]["id"] = before.get(document.path) or new_id()
    by_id = _by_id(readable)
    for old, new in _half_links(readable, by_id):
        side, key, known, id = (
            (old, "superseded_by", _successors(old), new.id)
            if new.id not in _successors(old)
            else (new, "supersedes", new.supersedes, old.id)
        )
        given = changes[side.path].get(key)
        ids = (*(given if isinstance(given, tuple) else known), id)
        changes[side.path][key] = ids
        if key == "superseded_by" and old.status == "active":
            changes[side.path]["status"] = "superseded"
    return {path: {key: _single(value) for key, value in one.items()} for path, one in changes.items()}


def _sound(documents: Sequence[Document]) -> list[Document]:
    """Those of which it is known what they say of themselves."""
    return [document for document in documents if document.readable and not document.unclosed]


def _before(documents: Sequence[Document], indexed: Mapping[str, str]) -> dict[str, str]:
    """By path, the ids that documents without one had when they were indexed, where no other document has them now."""
    taken = {document.id for document in documents}
    lost = [document.path for document in documents if not document.id and indexed.get(document.path)]
    return {path: indexed[path] for path in lost if indexed[path] not in taken}


def _single(value: Given) -> Given:
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


def _alone(document: Document, today: date, before: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with one document, whatever the others say. `before` as in `_before`."""
    path, lines = document.path, document.lines
    if document.unclosed:
        # All else that could be said follows from it.
        (problem,) = (one for one in document.problems if one.what == UNCLOSED)
        hint = "end the block with a line `---`; `--fix` does not touch the file"
        yield Finding(path, problem.line, problem.what, hint, "front")
        return
    bad = "" if document.id or path in before else "the document has no id, so nothing can point to it"
    kind = "front" if document.readable else "unreadable"
    for problem in document.problems:
        if document.readable and not document.id and problem.line == lines.get("id"):
            bad = bad and problem.what
        else:
            yield Finding(path, problem.line, problem.what, problem.hint, kind)
    if not document.readable:
        return
    if bad:
        hint = "`--fix` gives it another" if "id" in lines else "`--fix` gives it one"
        yield Finding(path, lines.get("id", 1), bad, hint, "no-id", mends=True)
    active = document.status == "active"
    if active and not document.description and document.tier in ("user", "note"):
        what, hint = "without a description it is never hinted", "add `description:`, one line that says what it tells"
        yield Finding(path, lines.get("description", 1), what, hint, "no-description")
    if active and document.expires is not None and document.expires < today:
        what = f"it expired on {document.expires.isoformat()} and is no longer hinted"
        hint = "take out `expires`, give a later day, or set `status: deprecated`"
        yield Finding(path, lines.get("expires", 1), what, hint, "expired")
    own = HANDOFF_KEYS if document.tier == "handoff" else ()
    for key in lines.keys() - {*KEYS, *own}:
        near = nearest(key, KEYS)
        if near or not document.source:
            hint = f"did you mean `{near}`?" if near else f"known: {', '.join(KEYS)}"
            yield Finding(path, lines[key], f"the key `{clean_line(key, 40)}` means nothing", hint, "key")
    for key, text, most in (
        ("name", document.name, MOST_NAME),
        ("description", document.description, MOST_DESCRIPTION),
    ):
        if len(text) > most:
            what = f"`{key}` has {len(text):,} characters; a hint shows {most}"
            yield Finding(path, lines.get(key, 1), what, "say the rest in the text below", "long")
    if document.tier == "user" and document.scope == "project":
        what = "it lies among what holds everywhere, with `scope: project`"
        hint = "set `scope: user`, or move the file to the notes of a workspace"
        yield Finding(path, lines.get("scope", 1), what, hint, "place")
    if document.tier not in ("", "user") and document.scope == "user":
        what, hint = "it lies in one workspace, with `scope: user`", "set `scope: project`, or move the file to `user/`"
        yield Finding(path, lines.get("scope", 1), what, hint, "place")


def _identities(
    documents: Sequence[Document], indexed: Mapping[str, str], lost: Mapping[str, str]
) -> Iterator[Finding]:
    for id, same in _by_id(documents).items():
        for document in same if len(same) > 1 else ():
            others = ", ".join(f"`{other.path}`" for other in same[:10] if other is not document)
            what, hint = f"the id `{id}` is also that of {others}", "give one of them another id, or delete it"
            yield Finding(document.path, document.lines.get("id", 1), what, hint, "same-id")
    for document in documents:
        before = lost.get(document.path) or (indexed.get(document.path) if document.id else "")
        if before and before != document.id:
            what = f"the id was `{before}` when it was indexed; references to that find nothing"
            hint = f"set `id: {before}` again, unless another document is meant to be here now"
            if document.path in lost:
                hint = f"`--fix` sets `id: {before}` again"
            yield Finding(document.path, document.lines.get("id", 1), what, hint, "new-id", mends=document.path in lost)


def _links(documents: Sequence[Document]) -> Iterator[Finding]:
    by_id = _by_id(documents)
    for document in documents:
        for key, ids in (("supersedes", document.supersedes), ("superseded_by", _successors(document))):
            for id in ids:
                if id not in by_id:
                    what = f"`{key}` names `{clean_line(id, 80)}`, and there is no such document"
                    hint = "correct the id, or take the key out"
                    yield Finding(document.path, document.lines.get(key, 1), what, hint, "dangling")
    for old, new in _half_links(documents, by_id):
        hint = "`--fix` writes both sides"
        if new.id not in _successors(old):
            what = f"`{new.path}` supersedes it, and it does not say so"
            yield Finding(old.path, old.lines.get("superseded_by", 1), what, hint, "one-sided", mends=True)
        else:
            what = f"`{old.path}` says it was superseded by this, and this does not say so"
            yield Finding(new.path, new.lines.get("supersedes", 1), what, hint, "one-sided", mends=True)


def _cycles(documents: Sequence[Document]) -> Iterator[Finding]:
    """A document that takes its own place, over however many others."""
    by_id = _by_id(documents)
    circling = _circling(_newer(documents))
    for id in sorted(circling & by_id.keys()):
        for document in by_id[id]:
            line = document.lines.get("superseded_by", document.lines.get("supersedes", 1))
            hint = "take out the link that is wrong"
            yield Finding(document.path, line, "it supersedes itself, over others or directly", hint, "cycle")


def _newer(documents: Sequence[Document]) -> dict[str, set[str]]:
    """By id, the ids of what takes its place, whichever side says so."""
    newer: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        newer[document.id].update(_successors(document))
        for id in document.supersedes:
            newer[id].add(document.id)
    return dict(newer)


def _circling(newer: Mapping[str, set[str]]) -> set[str]:
    """Ids that can be reached from themselves; ends are taken off from both sides first, again and again."""
    left = {id: {one for one in ids if one in newer} for id, ids in newer.items() if id}
    while True:
        pointed = {one for ids in left.values() for one in ids}
        kept = {id: ids & left.keys() for id, ids in left.items() if id in pointed and ids & left.keys()}
        if len(kept) == len(left):
            return {id for id in left if _reaches(left, id, id)}
        left = kept


def _reaches(newer: Mapping[str, set[str]], start: str, goal: str) -> bool:
    """Whether one step or more lead from `start` to `goal`."""
    queue, seen = list(newer.get(start, ())), set[str]()
    while queue:
        id = queue.pop()
        if id == goal:
            return True
        if id not in seen:
            seen.add(id)
            queue += newer.get(id, ())
    return False


def _successors(document: Document) -> tuple[str, ...]:
    return tuple(document.superseded_by.split(", ")) if document.superseded_by else ()


def _by_id(documents: Sequence[Document]) -> dict[str, list[Document]]:
    found: defaultdict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if document.id:
            found[document.id].append(document)
    return dict(found)


def _half_links(documents: Sequence[Document], by_id: Mapping[str, list[Document]]) -> list[tuple[Document, Document]]:
    """Pairs (old, new) of which only one side names the other. Ids that stand twice are left alone, and so are links
    of a circle: which of them is wrong only a person knows, and both sides of all would leave nothing that holds."""
    unique = {id: same[0] for id, same in by_id.items() if len(same) == 1}
    pairs: list[tuple[Document, Document]] = []
    for document in documents:
        if unique.get(document.id) is not document:
            continue
        for id in document.supersedes:
            old = unique.get(id)
            if old is not None and old is not document and document.id not in _successors(old):
                pairs.append((old, document))
        for id in _successors(document):
            new = unique.get(id)
            if new is not None and new is not document and document.id not in new.supersedes:
                pairs.append((document, new))
    newer = _newer(documents)
    circling = _circling(newer) if pairs else set[str]()
    return [
        (old, new)
        for old, new in pairs
        if not (old.id in circling and new.id in circling and _reaches(newer, new.id, old.id))
    ]
