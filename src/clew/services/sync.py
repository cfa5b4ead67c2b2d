"""Bring the memory root and its remote together: commit, fetch, merge, push. Nothing that was committed is ever lost.

The merge is made by paths and by `core.memory.merge`, without git's own: where both sides changed a document in a way
that no rule settles, the local text stays and the other one is put beside it as `NAME.conflict-HASH.md`. What one
side deleted and the other changed stays. Both histories are parents of the merge, and none is rewritten.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from clew.adapters.memory_git import MemoryGit
from clew.adapters.memory_remote import REMOTE, MemoryRemote, check_url
from clew.adapters.memory_repository import PRIVATE, UNSEEN, Leaf, MemoryRepository
from clew.adapters.memory_rewrite import demand_pushed
from clew.core.memory.document import bare_id, read_document
from clew.core.memory.entering import why_left_out
from clew.core.text.frontmatter import parse
from clew.core.text.printable import printable
from clew.errors import Conflict, NotFound, Refused, StoreBusy, StoreError, UsageError
from clew.services.sync_conflicts import Copy, conflicts, exchanged, staying, without_exchanged
from clew.services.sync_folder import change_file, holding, in_the_way, left_out, write_file
from clew.services.sync_merge import merge_trees
from clew.services.sync_recovery import Plan, carry_out, finish, forget, steps_of, take_back
from clew.stores.clean_writing import clean_document
from clew.stores.durable import make_folder

BY_HAND: Final = "Edited by hand"
"""Message of the commit of what was changed without Clew."""
_IGNORED: Final = "# What is never committed: locks, and what is being written.\n" + "".join(
    f"{name}\n" for name in UNSEEN
)
_MEMORY_NAMES: Final = re.compile(
    r"user|workspaces|\.git(?:ignore|attributes|modules)|README.*|LICENSE.*", re.IGNORECASE
)
"""What stands at the top of a memory; a history of its own with anything else in it is no memory."""
_UNSAFE: Final = "no folder may hold that name"
_TRIES: Final = 6
_PUSHES: Final = 10
_MOST_WAIT: Final = 3.0
"""Seconds between two pushes, where others push as well."""
_LOCK_SECONDS: Final = 30.0
_PATIENCE: Final = 120.0
"""Seconds that another sync of the same memory is waited for."""

Secrets = Callable[[str], Mapping[str, int]]
"""Kinds of the secrets in a text, with their numbers."""


def no_secrets(_: str) -> Mapping[str, int]:
    """Look for nothing: what people wrote is committed as it is."""
    return {}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not exchanged."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """A document that has another file name now, as two machines had each made one of that name."""

    path: str
    """Where both lay."""
    now: str


@dataclass(slots=True)
class Synced:
    """What a sync did."""

    by_hand: int = 0
    """Files changed without Clew, committed first."""
    fetched: int = 0
    """Commits that came from the remote."""
    pushed: int = 0
    """Commits that went to the remote."""
    changed: list[str] = field(default_factory=list[str])
    """Paths that are different now on this machine."""
    kept: list[str] = field(default_factory=list[str])
    """Paths that one side deleted and the other changed: they stay."""
    renamed: list[Renamed] = field(default_factory=list[Renamed])
    """Documents that shared their path with another one."""
    conflicts: list[Copy] = field(default_factory=list[Copy])
    """Conflicts that are open, those of earlier syncs as well."""
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    """What came from the remote and is not written to this folder, and notes here that are not committed."""
    commit: str = ""
    """HEAD now."""


# ---------------------------------------------------------------------- beginning


def begin(git: MemoryGit, url: str = "", *, secrets: Secrets = no_secrets) -> bool:
    """Make the memory root a repository, with all that is there in its first commit; name its remote. False if it was.

    Raises NotFound without git, Refused for an address or a file that holds secrets (the repository is there then, and
    the next sync commits), Conflict where another remote is named already.
    """
    address = check_url(url) if url else ""
    new = not git.there
    if new:
        make_folder(git.root)
        _init(git)
    repository = git.repository()
    remote = MemoryRemote(repository)
    if address and remote.url and remote.url != address:
        raise Conflict(
            "the memory has another remote already", hint=f"`git -C {git.root} remote set-url {REMOTE} URL` changes it"
        )
    if address and not remote.url:
        repository.run("remote", "add", REMOTE, address)
    if new:
        ignored = git.root / ".gitignore"
        if not ignored.exists():
            write_file(git.root, ".gitignore", _IGNORED.encode(), None, lambda _: in_the_way(".gitignore"))
        repository.disregard_attributes()
        with repository.held(_LOCK_SECONDS):
            _commit_all(git, repository, "Begin", secrets, also=(".gitignore",))
    return new


def _init(git: MemoryGit) -> None:
    """An empty repository without hooks and templates, whose branch is `main`."""
    folder = git.root / ".git"
    try:
        folder.mkdir(mode=0o700)
        repository = git.repository()
        repository.run("init", "-q", "--template=")
        repository.run("symbolic-ref", "HEAD", "refs/heads/main")
        (folder / "info").mkdir(exist_ok=True)
    except (OSError, StoreError, NotFound) as error:
        # Without a repository in it, the folder would only be in the way.
        with contextlib.suppress(OSError):
            (folder / PRIVATE).rmdir()
        with contextlib.suppress(OSError):
            folder.rmdir()
        if isinstance(error, OSError):
            raise StoreError(f"{folder} cannot be made: {error.strerror}", hint="check its rights") from error
        raise


# ---------------------------------------------------------------------- exchanging


def synchronise(
    git: MemoryGit,
    *,
    join: bool = False,
    secrets: Secrets = no_secrets,
    wait: Callable[[float], None] = time.sleep,
    patience: float = _PATIENCE,
) -> Synced:
    """Commit what is there, fetch, merge and push. With `join`, also a remote with a history of its own.

    Other syncs of this memory are waited for, `patience` seconds at most.
    What people wrote is looked at by `secrets` before it is committed: what is in the history goes out, and stays.

    Raises NotFound (no git, no repository, no such remote), ConfigError (no remote), Refused (a secret, rights, a
    detached HEAD, another history), StoreBusy (something under way, network, other committers), StoreError.
    """
    repository = git.repository()
    branch = repository.branch()
    if not branch:
        raise Refused("the memory root is on no branch", hint=f"`git -C {git.root} switch main` goes back to one")
    demand_pushed(repository)
    remote = MemoryRemote(repository)
    done = Synced()
    repository.disregard_attributes()
    # First of all what is here: should the remote not answer, it is in the history all the same.
    with repository.held(_LOCK_SECONDS):
        own: dict[str, str] = {}
        done.commit, done.by_hand = _commit_all(git, repository, BY_HAND, secrets, own=own)
        done.skipped = [Skipped(path, reason) for path, reason in own.items()]
    with remote.turn(patience):
        demand_pushed(repository)
        for tries in range(_PUSHES):
            if tries:
                wait(random.uniform(0.5, 1.0) * min(0.2 * 2**tries, _MOST_WAIT))
            there, theirs = remote.fetch(branch)
            with repository.held(_LOCK_SECONDS):
                done.commit = _joined(git, repository, theirs, done, join=join, secrets=secrets)
            ahead = _count(repository, theirs, done.commit)
            if not ahead or remote.push(done.commit, there):
                done.pushed = ahead
                break
        else:
            raise StoreBusy("others push to the remote all the time", hint="everything is kept here; try again")
        _tidy(repository, done.commit)
    done.conflicts = conflicts(git.root)
    return done


def _tidy(repository: MemoryRepository, head: str) -> None:
    """Let nobody miss what is left out here, and pack the history when it has grown."""
    reasons = left_out(repository, repository.tree(head))
    absent = reasons.keys() - repository.exactly_there(reasons)
    repository.hide(absent)
    if repository.left_out() is None:
        repository.leave_out(path for path in absent if not why_left_out(path))
    with contextlib.suppress(StoreError):
        repository.run("-c", "gc.auto=6700", "gc", "--auto", "--quiet")


def _commit_all(
    git: MemoryGit,
    repository: MemoryRepository,
    message: str,
    secrets: Secrets,
    *,
    also: Iterable[str] = (),
    own: dict[str, str] | None = None,
) -> tuple[str, int]:
    """Commit what Clew wrote, then what people changed. HEAD then, and the number of files of people."""
    finish(repository)
    head = git.settle_within(repository)
    changes = repository.changes(head, own=own) | repository.changes(head, also)
    before = repository.tree(head) if changes else {}
    changes = without_exchanged(changes, before)
    if not changes:
        return head, 0
    if secrets is not no_secrets:
        for path, leaf in changes.items():
            if leaf is not None:
                _demand_harmless(repository, path, leaf, before.get(path), secrets)
    made = repository.commit(changes, message + "\n", [head] if head else [], base=head)
    if made:
        repository.move_head(made, head, message, changes)
    return made or head, len(changes)


def _demand_harmless(
    repository: MemoryRepository, path: str, leaf: Leaf, before: Leaf | None, secrets: Secrets
) -> None:
    """Raise Refused for a file with a secret that its last version had not."""
    found = secrets(repository.read(leaf).decode("utf-8", "replace"))
    if not found:
        return
    known = secrets(repository.read(before).decode("utf-8", "replace")) if before and before.regular else {}
    if kind := next((kind for kind, number in found.items() if number > known.get(kind, 0)), ""):
        raise Refused(
            f"`{printable(path)}` seems to hold a secret ({kind}), so nothing was committed",
            hint="take it out; `clew sync --anyway` commits it as it is",
        )


def _joined(
    git: MemoryGit, repository: MemoryRepository, theirs: str, done: Synced, *, join: bool, secrets: Secrets
) -> str:
    """Merge a commit of the remote into HEAD and the folder. The commit that HEAD is then."""
    for tries in range(_TRIES):
        ours, by_hand = _commit_all(git, repository, BY_HAND, secrets)
        done.by_hand += 0 if tries else by_hand
        if not theirs or theirs == ours:
            return ours
        base = repository.base(ours, theirs) if ours else ""
        if base == theirs:
            return ours
        if ours and not base:
            _demand_memory(repository, theirs, join)
        unsafe: list[str] = []
        before, there = repository.tree(ours), repository.tree(theirs, unsafe=unsafe)
        merge = merge_trees(repository, repository.tree(base, unsafe=[]), before, there, theirs)
        after = {path: leaf for path, leaf in {**before, **merge.changes}.items() if leaf is not None}
        if base == ours and after == there and not unsafe:
            made = theirs
        else:
            message = f"Merge what others wrote\n\nFrom {theirs}.\n"
            parents = [ours, theirs] if ours else [theirs]
            made = repository.commit(merge.changes, message, parents, base=ours)
        try:
            # The folder first: `finish` ends what a process did that dies in between.
            _enter(git.root, repository, Plan(ours, made, []), merge.changes, before, after, done)
        except (Conflict, StoreBusy):
            # Somebody wrote meanwhile. It is committed, then all is merged again.
            if tries == _TRIES - 1:
                raise
            continue
        done.skipped += [Skipped(path, _UNSAFE) for path in unsafe]
        done.fetched += _count(repository, ours, theirs)
        done.kept += merge.kept
        done.renamed += [Renamed(path, now) for path, now in merge.renamed.items()]
        return made
    raise AssertionError


def _enter(
    root: Path,
    repository: MemoryRepository,
    plan: Plan,
    changes: Mapping[str, Leaf | None],
    before: Mapping[str, Leaf],
    after: Mapping[str, Leaf],
    done: Synced,
) -> None:
    """Bring the folder and HEAD to a merge, without what may not come in. Raises Conflict, StoreBusy, StoreError."""
    reasons = left_out(repository, after)
    outside = {path: leaf for path, leaf in before.items() if why_left_out(path, leaf.mode, leaf.size)}
    parted = repository.left_out() or set()
    wanted = {path: leaf for path, leaf in changes.items() if path not in reasons and (leaf or path not in outside)}
    # What another name kept out comes in where that is gone; what is kept out here is not deleted here either.
    wanted |= {path: after[path] for path in parted if path in after and path not in reasons}
    absent = outside.keys() | (parted - repository.exactly_there(parted))
    wanted = {path: leaf for path, leaf in wanted.items() if leaf or path not in absent}
    known = {path: leaf for path, leaf in before.items() if path not in absent}
    wanted, known = staying(known, after, wanted, exchanged(repository, known))
    plan.steps.extend(steps_of(wanted, known))
    clashing = {path for path in reasons if not why_left_out(path, after[path].mode, after[path].size)}
    repository.leave_out(clashing | parted)
    changed = carry_out(root, repository, plan)
    try:
        repository.move_head(plan.new, plan.old, "merge", changes)
    except StoreError:
        if repository.head() != plan.new:
            take_back(root, repository, plan)
        raise
    forget(repository)
    repository.leave_out(clashing)
    done.changed += [path for path in changed if path not in done.changed]
    for path, reason in reasons.items():
        if changes.get(path) is not None and not _is_same(repository, path, after[path]):
            done.skipped.append(Skipped(path, reason))
    repository.hide(one.path for one in done.skipped if one.path in after)


def _is_same(repository: MemoryRepository, path: str, leaf: Leaf) -> bool:
    now = repository.on_disk(path) if leaf.regular else None
    return now is not None and repository.id_of(now, leaf.id) == leaf.id


def _demand_memory(repository: MemoryRepository, theirs: str, join: bool) -> None:
    """Raise Refused before two histories that know nothing of each other become one."""
    foreign = sorted({path.split("/")[0] for path in repository.tree(theirs, unsafe=[])})
    if strange := next((name for name in foreign if not _MEMORY_NAMES.fullmatch(name)), None):
        raise Refused(
            f"the remote is no memory: it holds `{printable(strange, 60)}`",
            hint="name an empty repository, or a memory",
        )
    if not join:
        raise Refused(
            "the remote has a history of its own", hint="`clew sync --join` brings both together; nothing is lost"
        )


def _count(repository: MemoryRepository, old: str, new: str) -> int:
    """Commits that `new` has and `old` has not."""
    return int(repository.line("rev-list", "--count", new, *([f"^{old}"] if old else []))) if new else 0


# ---------------------------------------------------------------------- conflicts


def texts(root: Path, copy: Copy) -> tuple[str, str]:
    """The local text of a document and that of the other side; a document that is gone is empty."""
    return _text(root / copy.path), _text(root / copy.copy)


def resolve(git: MemoryGit, ref: str, take: str, *, redact: Callable[[str], str], cwd: Path) -> tuple[Copy, str]:
    """End a conflict: the document gets our text, theirs, or that of a file; the copy goes. The copy, and the commit.

    `ref` is a path of the document or the copy, below the memory root, or an id. Everything stays in the history.
    Raises NotFound, UsageError where several copies are meant or the id would be another, Refused, StoreBusy,
    StoreError.
    """
    repository = git.repository()
    copy = _named(git.root, ref)
    ours, theirs = texts(git.root, copy)
    if take == "ours":
        text = ours
    elif take == "theirs":
        text = theirs
    else:
        place = cwd / take
        if not place.is_file():
            raise NotFound(f"There is no file `{printable(take)}`", hint="`--take ours`, `--take theirs`, or a file")
        text = clean_document(_text(place), redact)
        _demand_id(text, ours, theirs)
    with repository.held(_LOCK_SECONDS):
        # Both versions are in the history before one of them goes.
        _commit_all(git, repository, BY_HAND, no_secrets)
        with holding(git.root, copy.path):
            if texts(git.root, copy) != (ours, theirs):
                raise _changed_meanwhile()
            if text != ours:
                seen = ours.encode() if (git.root / copy.path).exists() else None
                write_file(git.root, copy.path, text.encode(), seen, lambda _: _changed_meanwhile())
            was = Leaf("100644", repository.id_of(theirs.encode(), repository.head()))
            change_file(git.root, repository, copy.copy, was, None)
        head = repository.head()
        changes = repository.changes(head, (copy.path, copy.copy))
        message = f"Resolve {printable(copy.path, 120)}: take {take if take in ('ours', 'theirs') else 'another text'}"
        made = repository.commit(changes, message + "\n", [head], base=head)
        if made:
            repository.move_head(made, head, message, changes)
    return copy, made or head


def _demand_id(text: str, *versions: str) -> None:
    """Raise UsageError where references to a document would find nothing once it says `text`."""
    known = [id_ for id_ in (read_document("", one).id for one in versions) if id_]
    if known and read_document("", text).id not in known:
        hint = f"leave the line `id: {known[0]}` between the lines `---` at its top"
        raise UsageError("the document would have another id, and references to it would find nothing", hint=hint)


def _changed_meanwhile() -> Conflict:
    return Conflict("the document has changed meanwhile", hint="look at it again: `clew sync --show`")


def _named(root: Path, ref: str) -> Copy:
    wanted = bare_id(ref)
    with contextlib.suppress(ValueError):
        if os.path.isabs(wanted):
            wanted = Path(wanted).relative_to(root).as_posix()
    found = conflicts(root)
    named = [one for one in found if wanted in (one.copy, one.path)]
    if not named:
        named = [one for one in found if any(parse(text).values.get("id") == wanted for text in texts(root, one))]
    if not named:
        raise NotFound(f"`{printable(ref, 120)}` has no conflict", hint="`clew sync --show` lists them")
    if len(named) > 1:
        raise UsageError(f"`{printable(ref, 120)}` has {len(named)} other versions", hint=f"name one: {named[0].copy}")
    return named[0]


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(
            f"`{printable(str(path))}` cannot be read: {error.strerror}", hint="check its rights"
        ) from error
    except UnicodeDecodeError as error:
        raise Refused(f"`{printable(str(path))}` is not UTF-8", hint="save it as UTF-8") from error


def lines_beside(ours: str, theirs: str) -> Iterator[tuple[str, str, bool]]:
    """Two texts line by line, those that belong together side by side, and whether they differ."""
    mine, other = ours.splitlines(), theirs.splitlines()
    for kind, start, end, first, last in difflib.SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        for at in range(max(end - start, last - first)):
            left = mine[start + at] if start + at < end else ""
            right = other[first + at] if first + at < last else ""
            yield left, right, kind != "equal"
