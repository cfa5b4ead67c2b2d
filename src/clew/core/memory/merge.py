"""Two versions of a document that come from a common one, made one again by rule, or found to conflict.

Front matter is merged key by key: what one side changed is taken; of `updated` and `expires` the later, of `created`
the earlier; to `tags` and `when` each side's additions. Logs and reflections, which are only added to, take both
additions. Bodies are merged by lines, by a function that is passed in; what it cannot merge is a conflict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from clew.core.text.frontmatter import Front, Value, edit, parse
from clew.core.text.scalars import Given
from clew.errors import UsageError

LineMerge = Callable[[str, str, str], str | None]
"""Merge base, ours and theirs by lines; None where both changed the same ones."""

_LATER: Final = frozenset({"updated", "expires"})
_LISTS: Final = frozenset({"tags", "when", "aliases"})
_ENTRY: Final = re.compile(r"^## ", re.MULTILINE)
_ADDED_TO: Final = re.compile(r"workspaces/[^/]+/(?:logs|reflections)/")


def merged(path: str, base: str | None, ours: str, theirs: str, merge_lines: LineMerge) -> str | None:
    """The one text of both; None where they conflict. `base` is None where each side made the document itself."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    head = _merged_front(path, base, ours, theirs)
    if head is None:
        return None
    if base is None and _ADDED_TO.match(path):
        head = _with_former_ids(head, ours, theirs)
    old, mine, other = parse(base or "").body, parse(ours).body, parse(theirs).body
    body = _merged_body(path, None if base is None else old, mine, other, merge_lines)
    return None if body is None else _with_body(head, body)


def _merged_body(path: str, base: str | None, ours: str, theirs: str, merge_lines: LineMerge) -> str | None:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if _ADDED_TO.match(path):
        shared = _shared_entries(ours, theirs) if base is None else base
        if shared.endswith("\n") or not shared:
            additions = theirs[len(shared) :] if ours.startswith(shared) and theirs.startswith(shared) else None
            if additions is not None:
                return _ended(ours) + additions.lstrip("\n") if additions else ours
    return None if base is None else merge_lines(base, ours, theirs)


def _with_former_ids(head: str, ours: str, theirs: str) -> str:
    """The text with the id that it has not any more among its aliases, so that references to it go on."""
    ids = [id_ for text in (ours, theirs) if isinstance(id_ := parse(text).values.get("id"), str)]
    kept = parse(head).values
    former = [*_texts(kept.get("aliases")), *sorted(id_ for id_ in ids if id_ != kept.get("id"))]
    try:
        return edit(head, {"aliases": tuple(dict.fromkeys(former))}) if former else head
    except UsageError:
        return head


def _shared_entries(ours: str, theirs: str) -> str:
    """What both begin with, without an entry that goes on in another way on either side: each needs its heading."""
    shared = _shared_lines(ours, theirs)
    if all(re.match(r"\s*(?:#|$)", text[len(shared) :]) for text in (ours, theirs)):
        return shared
    headings = list(_ENTRY.finditer(shared))
    return shared[: headings[-1].start()] if headings else shared


def _shared_lines(ours: str, theirs: str) -> str:
    """The lines that both begin with."""
    count = 0
    for mine, other in zip(ours.splitlines(keepends=True), theirs.splitlines(keepends=True), strict=False):
        if mine != other:
            break
        count += len(mine)
    return ours[:count]


def _ended(text: str) -> str:
    """A text that ends with an empty line, where it ends with a line at all."""
    return text if not text or text.endswith("\n\n") else text + ("\n" if text.endswith("\n") else "\n\n")


def _with_body(text: str, body: str) -> str:
    """A text with another body below its front matter."""
    return text[: len(text) - len(parse(text).body)] + body


def _merged_front(path: str, base: str | None, ours: str, theirs: str) -> str | None:
    """`ours` with the front matter of both; None where they conflict."""
    old, mine, other = parse(base or ""), parse(ours), parse(theirs)
    if _block(mine, ours) == _block(other, theirs) or (base is not None and _block(other, theirs) == _block(old, base)):
        return ours
    if base is not None and _block(mine, ours) == _block(old, base):
        # Taken whole, with the comments and the order of the other side.
        return _with_body(theirs, mine.body)
    changes: dict[str, Given] = {}
    for key in dict.fromkeys((*mine.values, *other.values)):
        ours_now, theirs_now, before = mine.values.get(key), other.values.get(key), old.values.get(key)
        if theirs_now in (ours_now, before) and (base is not None or theirs_now == ours_now):
            continue
        if base is not None and ours_now == before:
            chosen: Value = theirs_now
        else:
            # The log of a day that two machines began: one id goes, as two texts become one.
            ruled = "created" if key == "id" and base is None and _ADDED_TO.match(path) else key
            found = _by_rule(ruled, before, ours_now, theirs_now)
            if found is None:
                return None
            chosen = found
        given = _given(chosen)
        if given is None and chosen is not None:
            return None
        changes[key] = given
    try:
        return edit(ours, changes)
    except UsageError:
        return None


def _block(front: Front, text: str) -> str:
    return text[: len(text) - len(front.body)] if front.present else ""


def _by_rule(key: str, before: Value, ours: Value, theirs: Value) -> Value:
    """What holds of two values that both changed; None where no rule says."""
    if key in _LISTS:
        old, mine, other = _texts(before), _texts(ours), _texts(theirs)
        gone = {one for one in old if one not in mine or one not in other}
        return [one for one in dict.fromkeys((*mine, *other)) if one not in gone]
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return None
    if key in _LATER:
        return max(ours, theirs)
    return min(ours, theirs) if key == "created" else None


def _texts(value: Value) -> Sequence[str]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    return [value] if isinstance(value, str) else []


def _given(value: Value) -> Given:
    """A value as it can be written; None for what cannot, or is nothing."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value) if len(value) == len("2026-01-01") else value
        except ValueError:
            return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return _texts(value)
    return None
