"""A document of memory: one Markdown file with front matter, as it is read, with what is wrong with it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from typing import Final

from clew.core.text.frontmatter import UNCLOSED, Front, Problem, Value, parse

TYPES: Final = ("preference", "decision", "procedure", "gotcha", "reference", "profile", "note")
STATUSES: Final = ("active", "superseded", "deprecated", "deleted")
SCOPES: Final = ("user", "project")
TIERS: Final = {"notes": "note", "logs": "log", "reflections": "reflection", "handoff": "handoff"}
"""Folder of a workspace -> tier. The folder `user` at the top is the tier `user`."""
KEYS: Final = (
    "id", "name", "description", "type", "scope", "branch", "status", "tags", "when", "created", "updated",
    "supersedes", "superseded_by", "expires", "aliases", "source", "source_digest", "imported",
)  # fmt: skip
"""Keys that mean something. `aliases` are ids that it had before two documents of one day became it; the last three say
where an imported document came from."""
HANDOFF_KEYS: Final = ("workspace", "trigger", "session", "window", "thread", "written")
"""Keys that mean something in a ledger as well."""
MOST_NAME: Final = 80
"""Characters of a name in a hint."""
MOST_DESCRIPTION: Final = 240
"""Characters of a description in a hint."""
MOST_CHARACTERS: Final = 200_000
"""Of a document."""
PREFIX: Final = "clew://memory/"
"""Of a reference to a document by its id."""
ARCHIVE: Final = "archive"
"""A folder of this name, anywhere, holds what is kept but is no memory any more."""

_COPY: Final = re.compile(r"(?P<stem>.+)\.conflict-(?P<hash>[0-9a-f]{7,12})(?:-\d+)?(?P<ending>\.[^./]+)?")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ].*)?")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says. Where a value is missing or unknown, the field holds what stands in for it."""

    path: str
    """Below the memory root, with `/`."""
    tier: str
    """user, note, log, reflection or handoff; empty for a file that lies elsewhere."""
    workspace: str = ""
    """Empty for the tier `user`."""
    id: str = ""
    """Empty where the file gives none."""
    name: str = ""
    """As written, else the first heading, else the file's name."""
    description: str = ""
    type: str = "note"
    scope: str = "project"
    branch: str = ""
    status: str = "active"
    tags: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    """Phrases that say in which situation it should come to mind."""
    created: date | None = None
    updated: date | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    expires: date | None = None
    """The last day on which it holds."""
    aliases: tuple[str, ...] = ()
    """Ids that it had before; they open it as well."""
    source: str = ""
    """The file that it was imported from."""
    source_digest: str = ""
    """`digest_of` the source when it was imported."""
    imported: str = ""
    """`digest_of` the body as it was imported."""
    body: str = ""
    body_line: int = 1
    """The line of the file that the body begins in, counted from 1."""
    digest: str = ""
    """`digest_of` the whole text."""
    problems: tuple[Problem, ...] = ()
    lines: dict[str, int] = field(default_factory=dict, compare=False, hash=False)
    """The line of each key of the front matter, known or not."""
    size: int = 0
    """Characters of the whole text."""
    readable: bool = True
    """False where the file could not be read; then `problems` says why, and the rest is empty."""

    @property
    def unclosed(self) -> bool:
        """Whether its front matter has no end, so that nothing is known of it but text."""
        return any(problem.what == UNCLOSED for problem in self.problems)

    @property
    def hint_name(self) -> str:
        """The name on one line, without control characters, capped."""
        return clean_line(self.name, MOST_NAME)

    @property
    def hint_description(self) -> str:
        """The description on one line, without control characters, capped. Empty: no hint."""
        return clean_description(self.description)

    @property
    def ref(self) -> str:
        """The reference that opens it; empty without an id."""
        return reference_of(self.id) if self.id else ""

    def stale(self, today: date) -> str:
        """Why this must not come to mind any more; empty while it holds."""
        return why_stale(self.superseded_by, self.status, self.expires, today)


def why_stale(superseded_by: str, status: str, expires: date | None, today: date | None) -> str:
    """Why what says this of itself does not hold any more; empty while it does. Without a day, nothing has expired."""
    if superseded_by:
        return f"superseded by {clean_line(superseded_by, MOST_NAME)}"
    if status != "active":
        return status
    if expires is not None and today is not None and expires < today:
        return f"expired on {expires.isoformat()}"
    return ""


def reference_of(id_: str) -> str:
    """What opens the document of an id."""
    return f"{PREFIX}{id_}"


def bare_id(ref: str) -> str:
    """The id, or whatever else names a document, in a reference to it or to lines of it."""
    return ref.strip().partition("#")[0].removeprefix(PREFIX)


def id_of_day(tier: str, workspace: str, day: date) -> str:
    """The id of a log or the like, of which a workspace has one a day: the same on every machine."""
    return f"mem_{digest_of(f'{tier}/{workspace}/{day.isoformat()}')[:12]}"


def is_made(id_: str) -> bool:
    """Whether an id is one that Clew makes."""
    return bool(re.fullmatch(r"mem_[0-9a-f]{12}", id_))


def read_document(path: str, text: str) -> Document:
    """The document that a file holds; `path` is below the memory root, with `/`. Raises nothing."""
    tier, workspace = tier_of(path) or ("", "")
    front = parse(text)
    reading = _Reading(front, list(front.problems))
    if len(text) > MOST_CHARACTERS:
        what = f"the document has {len(text):,} characters, more than the {MOST_CHARACTERS:,} that are kept up"
        reading.problems.append(Problem(1, what, "split it into several"))
    document = Document(
        path=path,
        tier=tier,
        workspace=workspace,
        id=_id(reading),
        name=reading.text("name") or _title(front.body) or _stem(path),
        description=reading.text("description"),
        type=reading.one_of("type", TYPES, "note"),
        scope=reading.one_of("scope", SCOPES, "user" if tier == "user" else "project"),
        branch=reading.text("branch"),
        # What is not known to be active must not come to mind.
        status=reading.one_of("status", STATUSES, "deprecated") if reading.text("status") else "active",
        tags=tuple(dict.fromkeys(map(clean_tag, reading.several("tags")))),
        when=reading.several("when"),
        created=reading.day("created"),
        updated=reading.day("updated"),
        supersedes=reading.several("supersedes"),
        superseded_by=", ".join(reading.several("superseded_by")),
        expires=reading.day("expires"),
        aliases=reading.several("aliases"),
        source=reading.text("source"),
        source_digest=reading.text("source_digest"),
        imported=reading.text("imported"),
        body=front.body,
        body_line=front.body_line,
        digest=digest_of(text),
        lines=front.lines,
        size=len(text),
    )
    return replace(document, problems=tuple(sorted(reading.problems, key=lambda problem: problem.line)))


def unreadable(path: str, what: str, hint: str = "") -> Document:
    """Stands for a file that could not be read."""
    tier, workspace = tier_of(path) or ("", "")
    problems = (Problem(1, what, hint),)
    return Document(path, tier, workspace, name=_stem(path), status="deprecated", problems=problems, readable=False)


def tier_of(path: str) -> tuple[str, str] | None:
    """Tier and workspace of a path below the memory root; None where no document belongs.

    Hidden files, files that are not `.md` and everything below a folder `archive` are no documents.
    """
    parts = path.split("/")
    if any(not part or part.startswith(".") for part in parts) or not parts[-1].lower().endswith(".md"):
        return None
    if ARCHIVE in parts[:-1]:
        return None
    if parts[0] == "user" and len(parts) >= 2:
        return "user", ""
    if parts[0] == "workspaces" and len(parts) >= 4 and parts[2] in TIERS:
        return TIERS[parts[2]], parts[1]
    return None


def document_of(path: str) -> str:
    """The document that a sync put the conflict copy `NAME.conflict-HASH.md` beside; empty for another file."""
    if ".conflict-" not in path:
        return ""
    folder, _, name = path.rpartition("/")
    match = _COPY.fullmatch(name)
    return f"{folder}/{match['stem']}{match['ending'] or ''}".lstrip("/") if match else ""


def digest_of(text: str) -> str:
    """32 hex digits of a text. A text that is the same byte for byte in UTF-8 has the same."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def clean_line(text: str, most: int) -> str:
    """`text` on one line: runs of blanks are one blank, what is invisible is gone, at most `most` characters."""
    if len(text) > 20 * most:
        text = text[: 20 * most]
    spaced = "".join(" " if char.isspace() else char for char in text)
    seen = "".join(char for char in spaced if unicodedata.category(char) not in _HIDDEN)
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def clean_description(text: str) -> str:
    """A description as a hint shows it."""
    return clean_line(text, MOST_DESCRIPTION)


def clean_tag(text: str) -> str:
    """A tag: lower case, no `#`, blanks as `-`, no empty parts between `/`."""
    # What stands for a secret is known by its capitals.
    line = clean_line(text, MOST_NAME).lower().replace("[redacted", "[REDACTED").lstrip("#")
    return "/".join(part for part in (piece.strip(" -") for piece in line.split("/")) if part).replace(" ", "-")


def nearest(text: str, known: tuple[str, ...]) -> str:
    """The known word that `text` was most likely meant to be; empty where none is near."""
    found = get_close_matches(text.casefold()[:MOST_NAME], known, n=1, cutoff=0.6)
    return found[0] if found else ""


def _id(reading: _Reading) -> str:
    given = reading.text("id")
    if given and not re.fullmatch(r"[\w.-]{1,80}", given):
        what = "the id has characters other than letters, digits, `.`, `_` and `-`, or is over 80 long"
        reading.report("id", what, "`clew memory check --fix` gives it another")
        return ""
    return given


def _title(body: str) -> str:
    found = _HEADING.search(body[:4000])
    return clean_line(found[1], MOST_NAME) if found else ""


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


@dataclass(slots=True)
class _Reading:
    """Values of a front matter as the fields want them. What does not fit is reported once, here."""

    front: Front
    problems: list[Problem]

    def report(self, key: str, what: str, hint: str) -> None:
        self.problems.append(Problem(self.front.lines.get(key, 1), what, hint))

    def text(self, key: str) -> str:
        """One line of text, or nothing."""
        value = self.front.values.get(key)
        if isinstance(value, dict) or (isinstance(value, list) and any(not isinstance(one, str) for one in value)):
            self.report(key, f"`{key}` is not a text", f"write `{key}: …` in one line")
            return ""
        joined = ", ".join(str(one) for one in value) if isinstance(value, list) else value or ""
        return joined.strip()

    def several(self, key: str) -> tuple[str, ...]:
        """Texts: a list, or one text; of tags also words parted by commas."""
        value: Value = self.front.values.get(key)
        if value is None:
            return ()
        if isinstance(value, dict):
            self.report(key, f"`{key}` is not a list", f"write `{key}: [one, another]`")
            return ()
        if isinstance(value, str):
            items = re.split(r"[,，、]", value) if key != "when" else value.splitlines()
        else:
            items = [one for one in value if isinstance(one, str)]
            if len(items) < len(value):
                hint = "put each of them in quotes"
                self.report(key, f"`{key}` holds something that is no text and is left out", hint)
        return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))

    def one_of(self, key: str, known: tuple[str, ...], otherwise: str) -> str:
        """One of the known words; the nearest one, or `otherwise`, is reported."""
        given = self.text(key)
        if not given or given.lower() in known:
            return given.lower() or otherwise
        near = nearest(given, known)
        shown = clean_line(given, 40)
        self.report(key, f"`{key}` is `{shown}`, read as `{near or otherwise}`", f"known: {', '.join(known)}")
        return near or otherwise

    def day(self, key: str) -> date | None:
        """A day, written YYYY-MM-DD, with or without a time behind it."""
        given = self.text(key)
        if not given:
            return None
        match = _DATE.fullmatch(given)
        try:
            if match:
                return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            pass
        shown = clean_line(given, 40)
        self.report(key, f"`{key}` is `{shown}`, which is no day", "write it as 2026-05-31")
        return None
