"""How documents come about and change, as texts: new notes, entries of a log, names of files, imported notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from clew.core.memory.document import (
    MOST_DESCRIPTION,
    MOST_NAME,
    Document,
    clean_line,
    clean_tag,
    digest_of,
    id_of_day,
    read_document,
)
from clew.core.text.frontmatter import edit, parse, written
from clew.core.text.scalars import Given

MOST_APPENDED: Final = 8_000
"""Characters of one append."""
_MOST_SLUG: Final = 60
_LEAST_FORM: Final = 5
"""Letters and digits of a form of a text that is looked for."""
_MOST_WORDS: Final = 9
_MOST_FIRST: Final = 56
"""Words and characters of a name that is made from a text."""
_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Draft:
    """What a new document is made from."""

    name: str
    body: str
    description: str = ""
    type: str = "note"
    scope: str = ""
    """Empty: `user` for the tier user, `project` else."""
    branch: str = ""
    tags: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    expires: date | None = None


def draft_text(draft: Draft, *, id: str, tier: str, today: date) -> str:
    """The text of the file that a draft becomes: front matter, a blank line, the body, a final line end."""
    values: dict[str, Given] = {
        "id": id,
        "name": clean_line(draft.name, MOST_NAME),
        "description": clean_line(draft.description, MOST_DESCRIPTION) or None,
        "type": draft.type,
        "scope": draft.scope or ("user" if tier == "user" else "project"),
        "branch": draft.branch or None,
        "status": "active",
        "tags": tuple(filter(None, map(clean_tag, draft.tags))) or None,
        "when": tuple(filter(None, (clean_line(phrase, MOST_DESCRIPTION) for phrase in draft.when))) or None,
        "created": today,
        "updated": today,
        "supersedes": draft.supersedes or None,
        "expires": draft.expires,
    }
    body = draft.body.strip("\r\n")
    return f"{written(values)}\n{body}\n" if body else written(values)


def log_text(workspace: str, day: date) -> str:
    """The head of a new daily log."""
    id = id_of_day("log", workspace, day)
    values: dict[str, Given] = {"id": id, "name": f"Log of {day.isoformat()}", "type": "note", "scope": "project"}
    return f"{written(values | {'created': day})}\n# {day.isoformat()} · {clean_line(workspace, MOST_NAME)}\n"


def log_entry(text: str, at: datetime, heading: str = "") -> str:
    """An entry of a log: a heading with the time, then the text. Headings in the text are one level below it."""
    title = clean_line(heading, MOST_NAME)
    body = re.sub(r"(?m)^(#{1,4})(?=[ \t])", r"##\1", text.strip("\r\n"))
    return f"\n## {at:%H:%M}{f' {title}' if title else ''}\n\n{body}\n"


def appended(text: str, addition: str) -> str:
    """`text` with `addition` below it, in the line ends of `text`; a last line without an end gets one."""
    match = re.search(r"\r\n|\n|\r", text)
    end = match[0] if match else "\n"
    lines = addition.replace("\r\n", "\n").replace("\r", "\n")
    if not lines.endswith("\n"):
        lines += "\n"
    between = end if text and text != "\ufeff" and not text.endswith(("\n", "\r")) else ""
    return text + between + lines.replace("\n", end)


def with_body(text: str, body: str) -> str:
    """`text` with its front matter as it is and another body."""
    return text[: len(text) - len(parse(text).body)] + body


def superseding(old: Document, new: Document) -> tuple[Mapping[str, Given], Mapping[str, Given]]:
    """The changes to the front matter of both when `new` takes the place of `old`."""
    older: dict[str, Given] = {"status": "superseded", "superseded_by": new.id}
    links = tuple(dict.fromkeys((*new.supersedes, old.id)))
    return older, {"supersedes": links[0] if len(links) == 1 else links}


def released(old: Document, newer: str) -> Mapping[str, Given]:
    """The changes to the front matter of a document that `newer` (an id) did not supersede after all; none where it
    does not say so."""
    before = tuple(old.superseded_by.split(", "))
    left = tuple(one for one in before if one != newer)
    if left == before:
        return {}
    if left:
        return {"superseded_by": left[0] if len(left) == 1 else left}
    back: dict[str, Given] = {"superseded_by": None}
    return back | {"status": "active"} if old.status == "superseded" else back


def distinct(name: str, taken: Iterable[str]) -> str:
    """`name` as a note can be called that is none of `taken`, whatever their case: ` (2)` and so on make it another."""
    known = {clean_line(one, MOST_NAME).casefold() for one in taken}
    found = clean_line(name, MOST_NAME)
    number = 1
    while found.casefold() in known:
        number += 1
        tail = f" ({number})"
        found = clean_line(name, MOST_NAME - len(tail)) + tail
    return found


def first_words(text: str) -> str:
    """A name for a note that was given none: its first heading or item, or the beginning of its first sentence."""
    heading = re.match(r"\s*#{1,6}[ \t]+(.+)", text) or re.match(r"\s*(?:[-*+]|\d+[.)])[ \t]+(.+)", text)
    line = heading[1] if heading else first_sentence(text) or " ".join(text.split())
    words = clean_line(line, MOST_NAME).rstrip(" #.!?…。！？；;:：,，、").split()
    while len(words) > 1 and (len(words) > _MOST_WORDS or len(" ".join(words)) > _MOST_FIRST):
        words.pop()
    name = " ".join(words)
    if len(name) > _MOST_FIRST:
        # Words without blanks between them: up to a comma where one is near.
        parts = re.match(rf".{{6,{_MOST_FIRST - 1}}}?(?=[，、；：,;:])", name)
        name = parts[0] if parts else name[:_MOST_FIRST]
    return name.rstrip(" ,;:，、；：-–—") or "note"


def slug(name: str) -> str:
    """A file name without ending for a name: lower case, words joined by `-`, scripts other than Latin as they are.

    At most 60 characters and 180 bytes; never a name that Windows reserves, never hidden, never empty.
    """
    folded = unicodedata.normalize("NFC", "".join(map(_plain, unicodedata.normalize("NFKC", name[:400]).lower())))
    words = re.findall(r"[^\W_]+", folded)
    text = "-".join(words)[:_MOST_SLUG]
    while len(text.encode("utf-8", "replace")) > 3 * _MOST_SLUG:
        text = text[:-1]
    text = text.strip("-") or "note"
    return f"{text}-note" if text in _RESERVED else text


def forms_of(text: str) -> tuple[str, ...]:
    """What Clew makes of a text besides itself: as a tag, in small letters, as the name of a file."""
    low = text.lower()
    forms = (low, re.sub(r"\s+", "-", low), clean_tag(text), slug(text) if len(text) <= _MOST_SLUG else "")
    # A form of a few letters stands in any text.
    return tuple(dict.fromkeys(one for one in forms if one != text and sum(map(str.isalnum, one)) >= _LEAST_FORM))


def _plain(char: str) -> str:
    """A Latin letter without its accent; any other character as it is."""
    if char.isascii() or not unicodedata.name(char, "").startswith("LATIN"):
        return char if unicodedata.category(char) != "Cs" else " "
    return unicodedata.normalize("NFD", char)[0]


# ---------------------------------------------------------------------- import


def imported_text(path: str, original: str, *, source: str, digest: str, id: str, today: date) -> str:
    """The note that a file of another collection becomes: its text as it is, with what is missing in its front matter.

    `path` is relative to the folder that is imported, with `/`; `source` names the file for good, `digest` is that of
    its text. Folders become tags.
    """
    found = read_document(path, original)
    front = parse(original)
    folders = path.split("/")[:-1]
    tags = tuple(dict.fromkeys(filter(None, (*found.tags, *(clean_tag(part) for part in folders)))))
    title = _text(front.values.get("title"))
    name = clean_line(_text(front.values.get("name")) or title or found.name, MOST_NAME)
    said = found.description or _text(front.values.get("summary")) or first_sentence(found.body)
    changes: dict[str, Given] = {
        "id": id,
        "name": name,
        "description": clean_line(said, MOST_DESCRIPTION) or None,
        "tags": tags or None,
        "created": found.created or today,
        "updated": found.updated or found.created or today,
        "source": source,
        "source_digest": digest,
        "imported": digest_of(found.body),
    }
    kept = {key: value for key, value in changes.items() if not (key in ("created", "updated") and key in front.values)}
    # What is no type, status or scope of a note means something else there.
    reported = {problem.line for problem in found.problems}
    for key in ("type", "status", "scope"):
        if front.lines.get(key) in reported:
            kept[key] = {"type": "note", "status": "active", "scope": "project"}[key]
    return edit(original, kept)


def refreshed_text(current: str, original: str, *, digest: str) -> str:
    """An imported note after its source has changed: the new body under the front matter that stands here.

    A description that was made from the old body is made anew; one that a person wrote stays.
    """
    before, body = parse(current), parse(original).body
    changes: dict[str, Given] = {"source_digest": digest, "imported": digest_of(body)}
    if said := first_sentence(body):
        made = clean_line(first_sentence(before.body), MOST_DESCRIPTION)
        if made and _text(before.values.get("description")) == made != said:
            changes["description"] = clean_line(said, MOST_DESCRIPTION)
    return edit(with_body(current, body), changes)


def is_edited_here(document: Document) -> bool:
    """Whether the body of an imported document is not the one that was imported."""
    return digest_of(document.body) != document.imported


def first_sentence(body: str) -> str:
    """The first sentence of the first paragraph; no heading, list mark, code or picture."""
    text = _FENCE.sub("", body[:20_000].replace("\r\n", "\n").replace("\r", "\n"))
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [line.strip() for line in paragraph.splitlines()]
        words = " ".join(line for line in lines if line and not re.match(r"#{1,6} |[-=*_]{3,}$|!\[|\||<|```|~~~", line))
        words = re.sub(r"^(?:[-*+>]|\d+[.)])\s+", "", words)
        if words:
            return clean_line(_SENTENCE_END.split(words)[0], MOST_DESCRIPTION)
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
