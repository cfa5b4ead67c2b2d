"""Opens references: what Clew cites can be looked at. Shown as a model would see it: without secrets."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clew.adapters.git import Git, NoRepository
from clew.adapters.regular import read_regular, size_words
from clew.adapters.sources.environment import Environment
from clew.adapters.sources.files import WorkTree
from clew.adapters.sources.git_state import COMMIT, DIFF, STATUS, GitState
from clew.adapters.sources.tree import DirectoryTree
from clew.core.context.fragment import Exchange
from clew.core.handoff.references import SESSION, is_reference
from clew.core.memory.document import PREFIX
from clew.core.text.content import decode
from clew.core.text.printable import printable, unescaped
from clew.core.text.redact import is_secret_path, redact
from clew.core.text.redact_lines import lines_kept
from clew.errors import NotFound, Refused, StoreError, UsageError
from clew.services.code_index import freshen
from clew.services.context import Place
from clew.services.passages import MAP_REF, listed_files
from clew.services.relevance import Finder, load_ranking
from clew.services.words import load_glossary

if TYPE_CHECKING:
    from clew.services.memory import Memory, OpenedDocument
    from clew.stores.transcripts import Transcripts

MOST_BYTES = 16 << 20
"""A longer file is not opened."""
FORMS = (
    "path", "path:line", "path:10-42", "clew://memory/ID", "clew://plan", "clew://session/ID#3", "a note's name",
    "exchange:3", STATUS, "a commit's hash",
)  # fmt: skip
"""What a reference may look like."""
GIT_REFERENCES = ("git:branch", STATUS, "git:last-commit", "git:commits")
_RANGE = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?(?::\d+)?", re.DOTALL)
_MADE = re.compile(r"mem_[0-9a-f]{12}(?:#.*)?")
TREE_REF, ENVIRONMENT = "tree", "environment:"
_MOST_TREE_LINES, _MOST_TREE_NAMES = 2000, 40
_PASSING = {
    "stdin": "give it again: `… | clew ask QUESTION`",
    "shell:history": "your shell's own `history` lists it",
}
"""References of what Clew was given and does not keep, with where it is."""
_HASH = re.compile(r"[0-9a-fA-F]{4,40}")


@dataclass(frozen=True, slots=True)
class Opened:
    """What a reference points to."""

    ref: str
    """The reference in its plain form."""
    kind: str
    """`file`, `memory`, `session`, `exchange`, `git`, `commit`, `tree`, `environment` or `related`."""
    text: str
    """Without a trailing line break."""
    first: int = 0
    """Number of the first line; 0 where lines have no numbers."""
    lines: int = 0
    """Lines of the whole file."""
    redacted: int = 0
    """Secrets that were taken out; of a document of memory 1, however many there were."""
    path: str = ""
    """The file of a document of memory, in full."""
    stale: str = ""
    """Why a document of memory does not hold any more; empty while it does."""


def open_reference(
    ref: str, place: Place, exchanges: Sequence[Exchange], memory: Callable[[], Memory] | None = None,
    sessions: Callable[[], Transcripts] | None = None,
) -> Opened:  # fmt: skip
    """The text behind a reference. `exchanges` are those of the workspace, `memory` opens its memory, `sessions` those
    of the agent.

    Raises NotFound with near names, Refused (outside of the workspace, not a file, binary), UsageError (no reference).
    """
    # Only blanks around it that a shell's quotes keep: other white space may belong to a name.
    ref = ref.strip(" \n")
    if not ref or "\0" in ref:
        raise UsageError("there is no reference", hint="for instance: " + ", ".join(FORMS))
    if ref.startswith("exchange:"):
        return _exchange(ref, exchanges)
    if ref.startswith("git:"):
        return _git(ref, place.git)
    if ref in _PASSING:
        raise NotFound(f"`{ref}` is not kept: it stood in one prompt only", hint=_PASSING[ref])
    if ref == MAP_REF:
        return _best_files(place, exchanges)
    if (ref == TREE_REF or ref.startswith(ENVIRONMENT)) and (opened := _side(ref, place)) is not None:
        return opened
    if memory is not None and (ref.startswith(PREFIX) or _MADE.fullmatch(ref)):
        return _document(ref, memory())
    if memory is not None and is_reference(ref):
        return _handed(ref, memory())
    if sessions is not None and ref.startswith(SESSION):
        return _session(ref, sessions())
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", ref):
        raise UsageError(f"`{printable(ref, 200)}` is a URL, and Clew fetches nothing", hint="open it in a browser")
    # A file may be named `notes:7`: what is there as it stands goes first.
    for name in unescaped(ref):
        if (path := _existing(name, place)) is not None:
            return _file(name, path, place, 1, None)
    if match := _RANGE.fullmatch(ref):
        for name in unescaped(match["path"]):
            if (path := _existing(name, place)) is not None:
                first = int(match["first"])
                return _file(name, path, place, first, int(match["last"] or first))
    if isinstance(place.git, Git) and _HASH.fullmatch(ref) and (commit := place.git.resolve(ref)):
        return _commit(commit, place.git)
    if os.path.isabs(ref) or ref.split("/")[0] in ("..", "~"):
        raise _outside(ref, place)
    if memory is not None and (found := _named(ref, memory)) is not None:
        return found
    raise _nothing(match["path"] if (match := _RANGE.fullmatch(ref)) else ref, place)


def _named(ref: str, memory: Callable[[], Memory]) -> Opened | None:
    """The document of memory that goes by this path, name or beginning of an id; None where there is none.

    Raises NotFound where there are several, or not the lines that are asked for.
    """
    bare, _, lines = ref.partition("#")
    if not bare.strip():
        return None
    try:
        found = memory().find(bare)
    except NotFound as error:
        if error.facts:
            raise
        return None
    except StoreError:
        # What is looked for may be a file that is not there: then that is to be said.
        return None
    return _document(f"{found.path}#{lines}", memory())


def _existing(name: str, place: Place) -> Path | None:
    """The file or folder of that name, below the root as references are written, else below the current folder."""
    for base in (place.workspace.root, place.cwd):
        path = base / name
        try:
            if os.path.lexists(path):
                return path
        except (OSError, ValueError):
            continue
    return None


def _file(name: str, path: Path, place: Place, first: int, last: int | None) -> Opened:
    root, real = os.path.realpath(place.workspace.root), os.path.realpath(path)
    shown = printable(name, 200)
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise _outside(name, place)
    if path.is_dir():
        raise Refused(f"`{shown}` is a folder", hint=_inside(path))
    content = read_regular(path, MOST_BYTES, shown=shown)
    text = decode(content)
    if text is None:
        raise Refused(f"`{shown}` is binary ({size_words(len(content))})", hint="open it with a program of its own")
    ref = printable(os.path.relpath(os.path.join(os.path.realpath(path.parent), path.name), root))
    clean = redact(text, strict=is_secret_path(ref) or is_secret_path(real))
    lines = lines_kept(text, clean.text).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if last is None:
        return Opened(ref, "file", "\n".join(lines), 1, len(lines), clean.count)
    if not 1 <= first <= max(len(lines), 1) or last < first:
        raise NotFound(
            f"`{shown}` has {len(lines)} lines, and no line {first}{'' if last == first else f'-{last}'}",
            hint=f"clew open {shown}",
        )
    last = min(last, len(lines))
    part = f"{ref}:{first}" + ("" if last == first else f"-{last}")
    return Opened(part, "file", "\n".join(lines[first - 1 : last]), first, len(lines), clean.count)


def _outside(name: str, place: Place) -> Refused:
    root = printable(str(place.workspace.root))
    return Refused(f"`{printable(name, 200)}` lies outside of the workspace", hint=f"the workspace is {root}")


def _session(ref: str, transcripts: Transcripts) -> Opened:
    """A session of the agent, one of its runs, or a step of it."""
    from clew.services.sessions import exported, spot  # noqa: PLC0415 -- heavy; few references are of this kind

    plain, read = spot(transcripts, ref)
    clean = redact(exported(read).rstrip("\n"))
    return Opened(plain, "session", clean.text, redacted=clean.count)


def _handed(ref: str, memory: Memory) -> Opened:
    """A ledger, or a plan as it is or was."""
    from clew.services.handoff import Handoff  # noqa: PLC0415 -- heavy; few references are of this kind

    return _shown(Handoff(memory).open(ref), memory, ref.partition("#")[0])


def _document(ref: str, memory: Memory) -> Opened:
    found = memory.open(ref)
    return _shown(found, memory, found.document.ref or found.document.path)


def _shown(found: OpenedDocument, memory: Memory, bare: str) -> Opened:
    document = found.document
    whole = (found.first, found.last) == (1, found.lines)
    lines = "" if whole else f"#L{found.first}" + ("" if found.first == found.last else f"-{found.last}")
    return Opened(
        ref=f"{bare}{lines}",
        kind="memory",
        text=found.text,
        first=found.first,
        lines=found.lines,
        redacted=int(found.redacted),
        path=str(memory.documents.root / document.path),
        stale=found.stale,
    )


def _side(ref: str, place: Place) -> Opened | None:
    """The map of the tree, or a fact about the machine; None where there is no such fact."""
    root = place.workspace.root
    if ref == TREE_REF:
        drawn = DirectoryTree(
            WorkTree(root).entries(), most_lines=_MOST_TREE_LINES, most_names=_MOST_TREE_NAMES
        ).collect("")
        return Opened(ref, TREE_REF, drawn[0].text if drawn else "")
    now = datetime.fromtimestamp(place.now()).astimezone()
    facts = {one.ref: one.text for one in Environment(place.environ, place.cwd, root, clock=lambda: now).collect("")}
    return Opened(ref, "environment", facts[ref]) if ref in facts else None


def _best_files(place: Place, exchanges: Sequence[Exchange]) -> Opened:
    """The list of best files for the question that was asked last: it is found anew, for the files as they are now."""
    if not exchanges:
        raise NotFound("nothing has been asked in this workspace", hint="`clew context QUESTION` names the best files")
    freshened = freshen(place.index, WorkTree(place.workspace.root), place.git, None, place.watcher, place.now)
    with freshened.index as index:
        related = Finder(index, load_ranking(), load_glossary()).find(exchanges[-1].question)
    rows = [f"exchange:{exchanges[-1].id}: {printable(exchanges[-1].question, 200)}", *listed_files(related)]
    return Opened(MAP_REF, "related", redact("\n".join(rows)).text)


def _exchange(ref: str, exchanges: Sequence[Exchange]) -> Opened:
    number = ref.removeprefix("exchange:")
    for one in exchanges:
        if str(one.id) == number:
            return Opened(ref, "exchange", f"{one.question}\n\n{one.answer}".rstrip("\n"))
    near = f"the last one is exchange:{exchanges[-1].id}" if exchanges else "nothing has been asked in this workspace"
    raise NotFound(f"there is no `{printable(ref, 60)}` in this workspace", hint=near)


def _git(ref: str, git: Git | NoRepository) -> Opened:
    if isinstance(git, NoRepository):
        if git.reason == "no git":
            raise _no_git(ref)
        raise NotFound(f"`{printable(ref, 60)}`: there is no git repository here", hint=git.detail or "run `git init`")
    found = {fragment.ref: fragment for fragment in GitState(git).collect("")}
    if ref in found:
        return Opened(ref, "git", found[ref].text or found[ref].line)
    if ref in GIT_REFERENCES:
        raise NotFound(f"`{ref}` is empty: the repository has too few commits", hint="`clew open git:branch`")
    if ref.startswith(COMMIT):
        names = unescaped(ref.removeprefix(COMMIT))
        shown = next((one for name in names if (one := GitState(git).opened(f"{COMMIT}{name}"))), None)
        if shown is not None:
            return Opened(ref, "git", shown.text or shown.line)
        raise NotFound(f"`{printable(ref, 200)}`: nothing to show", hint="`clew open git:commits` lists the last ones")
    if ref.startswith(DIFF):
        shown = unescaped(ref.removeprefix(DIFF)) if not is_secret_path(ref) else ()
        cut = next((diff for path in shown if (diff := git.diff(path)) and diff[0]), None)
        if cut:
            clean = redact(cut[0].rstrip("\n"))
            return Opened(ref, "git", clean.text, redacted=clean.count)
        raise NotFound(f"`{printable(ref, 200)}`: nothing to show", hint="`clew open git:status` lists the changes")
    raise NotFound(f"there is no `{printable(ref, 60)}`", hint=_near(ref, (*GIT_REFERENCES, f"{DIFF}PATH")))


def _commit(commit: str, git: Git) -> Opened:
    for one in git.commits(1, commit):
        head = f"commit {one.id}\nAuthor: {printable(one.author)}\nDate: {one.at}"
        files = "\n".join(printable(path) for path in one.files)
        text = "\n\n".join(filter(None, (head, printable(one.subject), one.body.strip("\n"), files)))
        clean = redact(text)
        return Opened(one.id[:10], "commit", clean.text, redacted=clean.count)
    raise NotFound(f"there is no commit `{printable(commit, 60)}`", hint="`clew open git:commits` lists the last ones")


def _no_git(ref: str) -> NotFound:
    return NotFound(f"`{printable(ref, 60)}` is only known to git, which is not installed", hint="install git")


def _nothing(name: str, place: Place) -> NotFound:
    shown = printable(name, 200)
    if _HASH.fullmatch(name) and isinstance(place.git, NoRepository) and place.git.reason == "no git":
        return _no_git(name)
    if name.startswith("-"):
        return NotFound(f"there is no `{shown}` here", hint="for instance: " + ", ".join(FORMS))
    paths = [entry.path for entry in WorkTree(place.workspace.root).entries()]
    wanted = os.path.basename(name).lower()
    same = [path for path in paths if os.path.basename(path).lower() == wanted]
    if same:
        return NotFound(f"there is no `{shown}` here", hint="did you mean " + _listed(same) + "?")
    names = {os.path.basename(path): path for path in reversed(paths)}
    near = difflib.get_close_matches(os.path.basename(name), names, 3, 0.7)
    near_paths = [names[one] for one in near] or difflib.get_close_matches(name, paths[:20_000], 3, 0.7)
    hint = f"did you mean {_listed(near_paths)}?" if near_paths else "a reference is " + ", ".join(FORMS)
    return NotFound(f"there is no `{shown}` here", hint=hint)


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"`{printable(path)}`" for path in paths[:3])


def _near(name: str, names: Iterable[str]) -> str:
    known = list(names)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(known)


def _inside(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError:
        return "name a file in it"
    listed = ", ".join(printable(name, 60) for name in names[:8])
    return f"it holds {listed}{', …' if len(names) > 8 else ''}" if names else "it is empty"
