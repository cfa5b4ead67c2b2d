"""Takes a secret, or all that came from one source, out of everything that Clew keeps, and looks whether it is gone.

First what people own (documents, settings), then databases and the trail, then the history of the memory root, then
what is derived. Each step can be done again, so a purge that was killed is ended by the next. What is said to be gone
was searched for once more, in all bytes below Clew's folders and in every object of git.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from clew.adapters.home import Home
from clew.adapters.memory_git import MemoryGit
from clew.adapters.memory_remote import MemoryRemote
from clew.adapters.memory_repository import MemoryRepository
from clew.adapters.memory_rewrite import HistoryRewrite, Rewritten, Rules, push_rewritten, read_marker
from clew.core.memory.derived import MESSAGE, derived_parts
from clew.core.memory.edit import forms_of
from clew.core.text.placeholders import placeholders_quoted
from clew.core.text.redact_find import placeholder
from clew.core.text.traces import LEAST, MOST, Traces, marks_of, traces_of
from clew.errors import ClewError, NotFound, Refused, UsageError
from clew.services.sync_folder import lock_folder
from clew.stores.durable import locked
from clew.stores.exchanges import ExchangeStore
from clew.stores.installation_key import installation_key
from clew.stores.purging import Found, Layout, clean, delete, empty_free_pages, files, is_database, leftovers, rename
from clew.stores.purging import search as search_files
from clew.stores.seen import Seen

_LOCK_SECONDS: Final = 10.0
_ALONE_SECONDS: Final = 120.0
_PASSES: Final = 3
"""How often what was found is cleaned: somebody may write meanwhile, and a damaged file is moved aside."""
_PROGRAMS: Final = (".claude", ".codex", ".gemini", ".local/share/opencode")
_SHELLS: Final = (".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history")
_EDITORS: Final = (
    ".vim/swap", ".vim/undo", ".vim/backup", ".local/state/nvim", ".local/share/nvim/swap", ".emacs.d/backups",
    ".emacs.d/auto-save-list", ".config/Code/User/History", ".config/Cursor/User/History",
)  # fmt: skip
_ALWAYS: Final = ("clones", "backups", "disk", "exports", "projects", "models", "servers")

Lock = Callable[[Path], contextlib.AbstractContextManager[None]]
Told = Callable[[Path], None]


@dataclass(slots=True)
class Report:
    """What was found, what became of it, and what a purge does not reach."""

    found: list[Found] = field(default_factory=list[Found])
    left: list[Found] = field(default_factory=list[Found])
    """What is still there after it was looked for again in all bytes."""
    mentioned: list[str] = field(default_factory=list[str])
    """Files that still say the same as what was removed, or name it: they did not come from it."""
    beyond: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What a purge cannot reach: a word for it, and a name or path, if there is one."""
    history: Rewritten = field(default_factory=Rewritten)
    done: bool = False
    """Whether anything was done at all."""

    @property
    def count(self) -> int:
        """Traces that were found."""
        return sum(one.count for one in self.found)


class Purge:
    """One purge of one user's folders. Raises Refused where they are too wide to be Clew's alone."""

    def __init__(self, home: Home, git: MemoryGit, environ: Mapping[str, str], *, told: Told = lambda _: None) -> None:
        self.home = home
        self.git = git
        self.environ = environ
        self.told = told
        self.layout = layout_of(home, git.root)

    # ------------------------------------------------------------------ a secret

    def find(self, secret: str) -> Report:
        """Where a secret is. Nothing is changed. Raises UsageError for one that is too short or too long."""
        return self._report(traces_of_secret(demand_usable(secret)))

    def find_marks(self, digits: str) -> Report:
        """Where placeholders with these digits are. Raises UsageError."""
        if not re.fullmatch(r"[0-9a-f]{4}", digits):
            raise UsageError("a placeholder has four digits", hint="such as 3f9a in `[REDACTED:github-pat:3f9a]`")
        return self._report(marks_of(digits))

    def remove(self, secret: str) -> Report:
        """Take a secret out of everything, and look for it again. Raises UsageError, Refused, StoreBusy, StoreError.

        What could not be cleaned is in `left`, with its reason.
        """
        secret = demand_usable(secret)
        traces = traces_of_secret(secret)
        mark = placeholder("secret", secret, installation_key(self.home.data / "redaction.key"))
        with self.alone(), self.held() as repository:
            report = after = self._report(traces)
            done: dict[str, Found] = {}
            for _ in range(_PASSES):
                fresh = [one for one in after.found if not _is_given_up(one, done)]
                if repository is not None and any(self._is_inside(one) for one in fresh):
                    rename_refs(repository, traces, mark)
                done |= self._clean_files([one for one in fresh if not self._is_inside(one)], traces, mark)
                if repository is not None and any(one.kind == "git" for one in fresh):
                    rewritten = rewrite_history(repository, self.rules(traces, mark))
                    report.history = rewritten if rewritten.refs else report.history
                done |= self._clean_files([one for one in fresh if self._is_inside(one)], traces, mark)
                if any(one.kind in ("document", "git", "name") for one in fresh):
                    self.drop_derived()
                self.finish()
                after = self._report(traces)
                if all(_is_given_up(one, done) for one in after.found):
                    break
        report.found = [_outcome(one, done) for one in report.found]
        report.left = [
            replace(one, reason=done[one.path].reason if one.path in done else one.reason) for one in after.found
        ]
        report.done = True
        report.beyond = self.beyond()
        return report

    def _report(self, traces: Traces) -> Report:
        found = [*search_files(self.layout, traces, told=self.told), *self._history(traces)]
        return Report(found=found, beyond=self.beyond())

    def _clean_files(self, found: Sequence[Found], traces: Traces, mark: str) -> dict[str, Found]:
        """Clean files, and give those another name whose name holds it; objects of git are left out."""
        own: dict[str, Callable[[Path], int]] = {
            "history.db": lambda path: _in_history(path, _texts("history", traces, mark)),
            "hints.db": lambda path: Seen(path).purge(change=_texts("hints", traces, mark)),
        }
        own_files = [one for one in found if one.kind != "git" or self._is_inside(one)]
        # Names of folders last, the deepest first: paths stay right until then.
        return {
            one.path: self._clean_one(one, traces, mark, own)
            for one in sorted(own_files, key=lambda one: (one.kind == "name", -one.path.count("/")))
        }

    def _clean_one(self, one: Found, traces: Traces, mark: str, own: Mapping[str, Callable[[Path], int]]) -> Found:
        if one.kind == "name" and self.layout.kind(Path(one.path)) == "index":
            with contextlib.suppress(OSError):
                delete(Path(one.path))
            return replace(one, action="deleted")
        if self._is_inside(one) and not os.path.lexists(one.path):
            return replace(one, action="replaced")
        if one.kind == "git" and os.path.basename(one.path) == "packed-refs":
            return replace(one, reason="the name of a branch or tag; rename it with git")
        if one.kind == "name" and self._is_inside(one):
            return replace(one, reason="git gave it this name, such as that of a branch; rename it with git")
        if one.kind == "name":
            return rename(one, lambda name: self._other_name(name, mark), self.lock)
        return clean(
            one, self.layout, traces, mark, own=own, lock=self.lock,
            text=lambda content, kind, place: without(content, kind, place, traces, mark),
        )  # fmt: skip

    def _is_inside(self, one: Found) -> bool:
        return Path(one.path).is_relative_to(self.layout.memory / ".git")

    def rules(self, traces: Traces, mark: str) -> Rules:
        """How a history loses a secret."""
        return Rules(
            blob=lambda content, path: without(content, "document", path, traces, mark),
            name=lambda name: self._other_name(name, mark) if traces.in_name(name) else name,
            text=lambda content: without(content, MESSAGE, "", traces, mark),
        )

    def _other_name(self, name: str, mark: str) -> str:
        """A name for a file or folder whose own one holds a secret, the same wherever and whenever it is renamed."""
        key = installation_key(self.home.data / "redaction.key")
        return _without_name(name, f"{_digits(mark)}-{_digits(placeholder('name', name, key))}")

    def _history(self, traces: Traces) -> list[Found]:
        """The objects of git with traces, by the path of a file, or by kind."""
        folder = str(self.layout.memory / ".git")
        try:
            repository = self.git.repository() if self.git.there else None
        except ClewError as error:
            return [Found(folder, "git", reason=f"cannot be read: {error}")]
        if repository is None:
            return []
        try:
            rewrite = HistoryRewrite(repository)
            paths, counts = rewrite.paths(), dict[str, int]()
            for ident, kind, content in rewrite.objects():
                named = paths.get(ident, "") if kind == "blob" else kind
                if kind == "tree":
                    count = sum(traces.in_name(os.fsdecode(name)) for name in tree_names(content, len(ident) // 2))
                else:
                    made = derived_parts("document" if kind == "blob" else MESSAGE, named, content)
                    count = len(traces.spans(content, derived=made))
                if count:
                    counts[named] = counts.get(named, 0) + count
        except ClewError as error:
            return [Found(folder, "git", reason=f"cannot be read: {error}")]
        return [Found(f"{folder}: {name or '?'}", "git", count) for name, count in sorted(counts.items())]

    # ------------------------------------------------------------------ what all purges share

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One purge at a time; half-written files of one that was killed are taken away."""
        with locked(self.home.state / "purge", _ALONE_SECONDS):
            for path in leftovers(self.layout):
                with contextlib.suppress(OSError):
                    delete(path)
            yield

    @contextlib.contextmanager
    def held(self) -> Iterator[MemoryRepository | None]:
        """The repository of memory, locked, with all that waited committed; None where there is none.

        Raises StoreBusy, Refused where a sync, or anything of git, is under way.
        """
        if not self.git.there:
            yield None
            return
        try:
            repository = self.git.repository()
        except NotFound:
            yield None  # without git; what it holds is told as left
            return
        with repository.held(_LOCK_SECONDS):
            HistoryRewrite(repository).demand_settled()
            self.git.settle_within(repository)
            yield repository

    def lock(self, path: Path) -> contextlib.AbstractContextManager[None]:
        """The lock of a file: that of its workspace for what lies below the memory root."""
        root = self.layout.memory
        if not path.is_relative_to(root) or path.is_relative_to(root / ".git"):
            return contextlib.nullcontext()
        return locked(lock_folder(root, path.relative_to(root).as_posix()), _LOCK_SECONDS)

    def drop_derived(self) -> None:
        """Delete what is made from documents; it is made anew when it is needed."""
        for name in ("memory.db", "sessions.db"):
            with contextlib.suppress(OSError):
                delete(self.home.cache / "index" / name)
        shutil.rmtree(self.home.cache / "recall", ignore_errors=True)

    def finish(self) -> None:
        """Leave nothing in free pages and logs of the databases that stay."""
        for path in files(self.layout):
            with contextlib.suppress(OSError, sqlite3.Error):
                if self.layout.kind(path) != "index" and is_database(path):
                    empty_free_pages(path)

    def beyond(self) -> list[tuple[str, str]]:
        """What no purge reaches; files and folders of other programs only where they exist."""
        found: list[tuple[str, str]] = []
        with contextlib.suppress(ClewError):
            if self.git.there and (url := MemoryRemote(self.git.repository()).url):
                stale = bool(read_marker(self.git.repository()))
                found.append(("remote-stale" if stale else "remote", re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url)))
        if home := self.environ.get("HOME"):
            found += [("program", path) for name in _PROGRAMS if os.path.isdir(path := os.path.join(home, name))]
            found += [("editor", path) for name in _EDITORS if os.path.isdir(path := os.path.join(home, name))]
            named = self.environ.get("HISTFILE")
            shells = [os.path.join(home, name) for name in _SHELLS] + ([named] if named else [])
            found += [("shell", path) for path in dict.fromkeys(shells) if os.path.isfile(path)]
        for path in files(self.layout):
            with contextlib.suppress(OSError):
                if os.lstat(path).st_nlink > 1 and not path.is_relative_to(self.layout.memory / ".git"):
                    found.append(("hard-link", str(path)))
        return [*found, *((word, "") for word in _ALWAYS)]

    def to_push(self) -> list[str]:
        """The branches whose old history the remote still has. Raises NotFound."""
        return sorted(filter(None, read_marker(self.git.repository())))

    def push(self) -> list[str]:
        """Replace the old history on the remote. The branches. Raises NotFound, Refused, StoreBusy, StoreError."""
        repository = self.git.repository()
        with repository.held(_LOCK_SECONDS):
            return push_rewritten(repository, MemoryRemote(repository).replace)


def rewrite_history(repository: MemoryRepository, rules: Rules) -> Rewritten:
    """Rewrite all refs, then prune what was before. The caller holds the lock."""
    rewrite = HistoryRewrite(repository)
    done = rewrite.rewrite(rules)
    rewrite.prune()
    return done


def rename_refs(repository: MemoryRepository, traces: Traces, mark: str) -> None:
    """Give branches, tags and other refs whose name holds a secret another one. The caller holds the lock.

    Raises StoreError.
    """
    rows = repository.run("for-each-ref", "--format=%(refname)%00%(objectname)").split(b"\n")
    known = dict(os.fsdecode(row).split("\0", 1) for row in rows if row)
    taken = set(known)
    for ref, ident in known.items():
        if not traces.in_name(ref):
            continue
        kind, parts = ref.split("/", 2)[:2], ref.split("/")[2:]
        clean = [_without_name(part, _digits(mark)) if traces.in_name(part) else part for part in parts]
        base = "/".join([*kind, *(clean if clean != parts else [_without_name(ref, _digits(mark))])])
        new = next(
            name for number in itertools.count(1) if (name := base if number == 1 else f"{base}-{number}") not in taken
        )
        taken.add(new)
        if kind[1] == "heads":
            # With its log, its settings and HEAD.
            repository.run("branch", "-m", ref.removeprefix("refs/heads/"), new.removeprefix("refs/heads/"))
        else:
            repository.run("update-ref", new, ident)
            repository.run("update-ref", "-d", ref)


def layout_of(home: Home, memory: Path) -> Layout:
    """The folders of a user, links followed once. Raises Refused where one of them holds more than what is Clew's."""
    wanted = dict.fromkeys(
        Path(os.path.realpath(path)) for path in (home.config, home.data, home.cache, home.state, memory)
    )
    user = Path(os.path.realpath(os.path.expanduser("~")))
    if wide := next((path for path in wanted if user.is_relative_to(path)), None):
        raise Refused(
            f"`{wide}` holds more than what is Clew's, and nothing else may be rewritten",
            hint="set CLEW_HOME to a folder of its own",
        )
    roots = tuple(path for path in wanted if not any(path != other and path.is_relative_to(other) for other in wanted))
    cache = Path(os.path.realpath(home.cache))
    return Layout(roots, Path(os.path.realpath(memory)), tuple(cache / name for name in ("index", "recall", "eval")))


def traces_of_secret(secret: str) -> Traces:
    """The traces of a secret, and of all that Clew makes of one when it keeps it."""
    return traces_of(secret, forms_of(secret.strip()))


def demand_usable(secret: str) -> str:
    """The secret without blanks around it. Raises UsageError."""
    said = secret.strip()
    if len(said) < LEAST:
        raise UsageError(
            f"a secret of fewer than {LEAST} characters would take ordinary words with it",
            hint="name what it came from: `clew purge --source REF`",
        )
    if len(said) > MOST:
        raise UsageError(f"the secret has over {MOST} characters", hint="give a part of it that stands for all")
    if said.startswith("[REDACTED") or said in "[REDACTED:secret]":
        raise UsageError("that is a placeholder, and no secret", hint="`--secret-hash` lists placeholders")
    return said


def without(content: bytes, kind: str, path: str, traces: Traces, mark: str) -> bytes:
    """The bytes of a file of a kind without traces. In the front matter of a document a value stays one."""
    new, count = traces.without(content, mark, derived=derived_parts(kind, path, content))
    if not count or not path.lower().endswith(".md"):
        return new
    return placeholders_quoted(new.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _digits(mark: str) -> str:
    """The digits of a placeholder."""
    return mark.rpartition(":")[2].rstrip("]")


def _without_name(name: str, digits: str) -> str:
    """A name that says nothing but digits; its ending stays."""
    return f"redacted-{digits}{os.path.splitext(name)[1] if name.lower().endswith(('.md', '.jsonl')) else ''}"


def shown(text: str, traces: Traces) -> str:
    """A path or a message without what it must not show."""
    parts = re.split(r"([/`])", text)
    return "".join(part if len(part) < 2 or not traces.in_name(part) else "[REDACTED:secret]" for part in parts)


def tree_names(content: bytes, width: int) -> Iterator[bytes]:
    """The names in a tree of git; `width` is the length of an id in bytes."""
    at = 0
    while at < len(content):
        gap, end = content.index(b" ", at), content.index(b"\0", at)
        yield content[gap + 1 : end]
        at = end + 1 + width


def _texts(kind: str, traces: Traces, mark: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        content, count = traces.without(raw, mark, derived=derived_parts(kind, "", raw))
        return content.decode("utf-8", "replace") if count else text

    return change


def _in_history(path: Path, change: Callable[[str], str]) -> int:
    with ExchangeStore(path) as store:
        return store.purge((), change)


def _is_given_up(one: Found, done: Mapping[str, Found]) -> bool:
    """Whether there is a reason why a place cannot be cleaned now."""
    return bool(one.reason or (one.path in done and done[one.path].reason))


def _outcome(one: Found, done: Mapping[str, Found]) -> Found:
    if one.kind == "git" and ": " in one.path:
        return replace(one, action="replaced")
    return done.get(one.path, replace(one, action="deleted") if one.kind == "index" else one)
