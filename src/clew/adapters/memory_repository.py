"""The memory root as a git repository, by plumbing alone.

What is committed are the bytes of the files and what is checked out is written by Clew itself, so no filter, hook,
attribute or line-end rule of any repository takes part. Trees are built in an index of Clew's own; the one that people
use follows, where it can. Whoever commits holds a lock, across processes; the system gives it up when one dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from clew.adapters.git_process import HERE, GitCommand, apart, clean_environ, demand_fields, find_program
from clew.core.memory.entering import LONG, MOST_BYTES, REGULAR, STRANGE, clashes, why_left_out
from clew.core.text.printable import printable
from clew.errors import NotFound, Refused, StoreBusy, StoreError
from clew.system import is_own, open_file, open_regular, wait_for_lock

PRIVATE: Final = "clew"
"""The folder within `.git` for the lock, the index and the list of what is still to be committed."""
MERGING: Final = "merging"
"""A file in that folder: a sync is writing to the memory, or was killed while it did."""
UNSEEN: Final = (".lock", ".clew-write.tmp", "*.tmp", "*~", ".*.swp", ".DS_Store")
"""Names, as gitignore has them, that are never committed: locks, and what is being written."""
_LEFT_OUT: Final = "left-out"
_BEHIND: Final = "behind"
"""HEAD is moving, and the index that people use does not follow yet."""
_ATTRIBUTES: Final = (
    "# Notes are the bytes that they are, whatever a .gitattributes says that came from elsewhere.\n"
    "* -text -filter -ident !eol !working-tree-encoding !merge !diff\n"
)
_FEW: Final = 50
"""Files that are named, or handed to git, one by one."""
_SETTINGS: Final = (
    "i18n.commitEncoding=UTF-8",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.bare=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_UNDER_WAY: Final = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file in a tree."""

    mode: str
    """`100644` or `100755` for a file; others (links, repositories) are kept in the tree and never written out."""
    id: str
    size: int = field(default=0, compare=False)
    """Bytes, where they were asked for."""

    @property
    def regular(self) -> bool:
        """Whether it is a file with bytes."""
        return self.mode in REGULAR


class MemoryRepository:
    """The repository in a folder that has one. Raises NotFound without git, Refused, StoreBusy and StoreError."""

    def __init__(self, root: Path, environ: Mapping[str, str], around: Path = HERE) -> None:
        program = find_program(environ := apart(environ, around), around=around)
        if program is None:
            raise NotFound("git is not installed", hint="install git; memory works without it")
        self.root = root
        self.folder = root / ".git"
        self._demand_own()
        own = {
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(root),
            "GIT_INDEX_FILE": str(self.folder / PRIVATE / "index"),
        }
        self.environ = clean_environ(environ) | own
        self.command = GitCommand(program, root, self.environ, seconds=60.0)
        self._author: dict[str, str] | None = None

    # ------------------------------------------------------------------ running git

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        codes: Sequence[int] = (0,),
        environ: Mapping[str, str] | None = None,
        bare: bool = False,
    ) -> bytes:
        """The output of a local command; with `bare`, without the settings that harden it.

        Raises StoreError, or StoreBusy where a lock of git stands in the way.
        """
        program, *line = self.command.argv(arguments)
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        try:
            done = subprocess.run(
                [program, *arguments] if bare else [program, *settings, *line],
                cwd=self.root,
                env={**self.environ, **(environ or {})},
                input=given,
                capture_output=True,
                timeout=self.command.seconds,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise StoreBusy(f"git {arguments[0]} takes too long", hint="try again") from None
        except (OSError, ValueError) as error:  # or git gave a NUL that became an argument
            raise StoreError(f"git {arguments[0]}: {error}", hint="check the disk") from error
        if done.returncode in codes:
            return done.stdout
        said = printable(" ".join(done.stderr.decode("utf-8", "replace").split()), 300)
        if "File exists" in said and ".lock" in said:
            hint = "if no git runs there, delete that file; nothing is lost"
            raise StoreBusy(f"a lock of git stands in the way: {named_lock(said)}", hint=hint)
        raise StoreError(
            f"git {arguments[0]}: {said or done.returncode}", hint=f"`git -C {self.root} fsck` looks closer"
        )

    def line(self, *arguments: str, codes: Sequence[int] = (0, 1)) -> str:
        """One line that a command gives; empty where it says no by status 1."""
        return os.fsdecode(self.run(*arguments, codes=codes)).replace("\0", "?").strip()

    def setting(self, name: str) -> str:
        """The user's value of a setting of git; empty where there is none. Reading it runs nothing."""
        return os.fsdecode(self.run("config", "--get", name, codes=(0, 1), bare=True)).strip()

    @contextlib.contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the lock for commits. Raises StoreBusy after `seconds`, StoreError where it cannot be made."""
        folder = self.folder / PRIVATE
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = open_file(folder / "lock", "make")
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}", hint="check its rights") from error
        try:
            wait_for(descriptor, seconds, "another process is committing to this memory")
            # Only who holds the lock uses this index: a lock of it was left by a git that was killed.
            with contextlib.suppress(OSError):
                os.unlink(folder / "index.lock")
            self._catch_up()
            yield
        finally:
            os.close(descriptor)

    # ------------------------------------------------------------------ reading

    def head(self) -> str:
        """The commit that HEAD stands for; empty before the first."""
        return self.line("rev-parse", "-q", "--verify", "HEAD^{commit}")

    def branch(self) -> str:
        """The branch that is checked out; empty where HEAD is detached."""
        return self.line("symbolic-ref", "-q", "HEAD").removeprefix("refs/heads/")

    def resolve(self, ref: str) -> str:
        """The commit of a full name of a ref; empty where there is none."""
        return self.line("rev-parse", "-q", "--verify", f"{ref}^{{commit}}")

    def under_way(self) -> str:
        """What a person has begun and not ended: `merge`, `rebase`, …; empty for nothing."""
        return next((word for name, word in _UNDER_WAY.items() if (self.folder / name).exists()), "")

    def base(self, ours: str, theirs: str) -> str:
        """The commit that two lines of history come from; empty where they have none in common."""
        return self.line("merge-base", ours, theirs)

    def tree(self, commit: str, paths: Sequence[str] = (), unsafe: list[str] | None = None) -> dict[str, Leaf]:
        """Files of a commit by path, with their sizes: all, or those at some paths. Empty for an empty name.

        Paths that no folder may hold are left out and put on the list `unsafe`; without one, Refused is raised.
        """
        if not commit:
            return {}
        found: dict[str, Leaf] = {}
        for row in self.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *paths).split(b"\0"):
            if row:
                head, _, name = row.partition(b"\t")
                mode, _, ident, size = demand_fields(head, 4, none="-")
                found[os.fsdecode(name)] = Leaf(mode, ident, int(size) if size.isdigit() else 0)
        bad = [path for path in found if not is_safe(path)]
        if bad and unsafe is None:
            raise Refused(f"a commit holds a file named `{printable(bad[0], 80)}`", hint="no folder may hold that name")
        for path in bad:
            del found[path]
        if unsafe is not None:
            unsafe += bad
        return found

    def read(self, leaf: Leaf) -> bytes:
        """The bytes of a file of a tree."""
        return self.run("cat-file", "blob", leaf.id)

    def untracked(self, commit: str) -> list[str]:
        """Files in the folder that a commit does not have, without those that `.gitignore` names."""
        self._read_tree(commit)
        excludes = [f"--exclude={name}" for name in UNSEEN]
        names = self.run("ls-files", "-z", "--others", "--exclude-standard", *excludes).split(b"\0")
        # A folder with a repository of its own ends with a slash.
        return [os.fsdecode(name) for name in names if name and not name.endswith(b"/")]

    def on_disk(self, path: str) -> bytes | None:
        """The bytes of a file in the folder; None where there is none, or none that is committed (a link, too long)."""
        place = self.root / path
        try:
            if not is_safe(path) or os.path.realpath(place.parent) != os.path.join(
                os.path.realpath(self.root), *path.split("/")[:-1]
            ):
                return None
            file = open_regular(place)
        except (OSError, ValueError):
            return None
        with file:
            return None if os.fstat(file.fileno()).st_size > MOST_BYTES else file.read(MOST_BYTES)

    def id_of(self, content: bytes, like: str) -> str:
        """The id that git gives these bytes, in the kind of hash that the id `like` is of."""
        kind = "sha256" if len(like) == 64 else "sha1"
        return hashlib.new(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()

    # ------------------------------------------------------------------ writing

    def store(self, content: bytes) -> str:
        """Keep bytes. Their id."""
        return os.fsdecode(self.run("hash-object", "-w", "--no-filters", "--stdin", given=content)).strip("\0\n ")

    def changes(
        self, commit: str, paths: Iterable[str] | None = None, *, own: dict[str, str] | None = None
    ) -> dict[str, Leaf | None]:
        """What differs from a commit in the folder, with the bytes kept already; None for what is gone.

        Without `paths` all that belongs to memory is looked at; `own` gets the notes whose names keep them out, each
        with the reason.
        """
        named = None if paths is None else [path for path in dict.fromkeys(paths) if is_safe(path)]
        # A longer list would be more than a command line takes.
        tree = self.tree(commit, named if named and len(named) <= _FEW else ())
        looked = self._belonging(tree, self.untracked(commit), {} if own is None else own) if named is None else named
        found: dict[str, Leaf | None] = {}
        ids: dict[str, str] = {}
        new: dict[str, bytes] = {}
        size = 0
        for path in looked:
            leaf = tree.get(path)
            if leaf and not leaf.regular:
                continue
            content = self.on_disk(path)
            if content is None:
                # Only what is really gone: not what is a link now, cannot be read or has become too long.
                if leaf and leaf.size <= MOST_BYTES and not os.path.lexists(self.root / path):
                    found[path] = None
            elif leaf is None or self.id_of(content, leaf.id) != leaf.id:
                new[path] = content
                size += len(content)
                if size > MOST_BYTES:
                    ids |= self._store_all(new)
                    new, size = {}, 0
        ids |= self._store_all(new)
        return found | {path: Leaf(tree[path].mode if path in tree else "100644", ids[path]) for path in ids}

    def _belonging(self, tree: Mapping[str, Leaf], untracked: Iterable[str], own: dict[str, str]) -> list[str]:
        """Paths that are compared with the folder: not those that stay out of it on this machine, or out of memory."""
        reasons = {path: why_left_out(path) for path in dict.fromkeys((*tree, *untracked))}
        for path, reason in reasons.items():
            note = path.endswith(".md") and path.startswith(("user/", "workspaces/"))
            if note and reason in (STRANGE, LONG) and self.on_disk(path) is not None:
                own[path] = reason
        out = self.out_by_clash([path for path, reason in reasons.items() if not reason])
        return [path for path, reason in reasons.items() if not reason and path not in out]

    # ------------------------------------------------------------------ what stays out

    def out_by_clash(self, paths: Sequence[str]) -> dict[str, str]:
        """Paths that are not in the folder because it holds another of nearly their name, each with that one."""
        if not clashes(paths):
            return {}
        listed = self.left_out()
        there = self.exactly_there(paths)
        met = clashes(paths, there)
        return {
            path: met.get(path, "")
            for path in paths
            if path not in there and (path in listed if listed is not None else path in met)
        }

    def exactly_there(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths that the folder holds in this very spelling."""
        names: dict[str, set[str]] = {}

        def lists(folder: str, name: str) -> bool:
            if folder not in names:
                try:
                    names[folder] = set(os.listdir(self.root / folder))
                except (OSError, ValueError):
                    names[folder] = set()
            return name in names[folder]

        found: set[str] = set()
        for path in paths:
            parts = path.split("/")
            if all(lists("/".join(parts[:at]), part) for at, part in enumerate(parts)):
                found.add(path)
        return found

    def left_out(self) -> set[str] | None:
        """Paths that the last sync kept out of the folder for their spelling; None where that is not known."""
        try:
            content = (self.folder / PRIVATE / _LEFT_OUT).read_bytes()
        except OSError:
            return None
        return {os.fsdecode(path) for path in content.split(b"\0") if path}

    def leave_out(self, paths: Iterable[str]) -> None:
        """Note which paths are kept out of the folder for their spelling. Raises StoreError."""
        place = self.folder / PRIVATE / _LEFT_OUT
        beside = place.with_name(f"{_LEFT_OUT}.new")
        try:
            beside.write_bytes(b"\0".join(os.fsencode(path) for path in sorted(paths)))
            os.replace(beside, place)
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror}", hint="check its rights") from error

    def hide(self, paths: Iterable[str]) -> None:
        """Let the index that people use not miss files that are kept out of the folder. Where it is locked, it does."""
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if given:
            with contextlib.suppress(StoreError, StoreBusy):
                self.run(
                    "update-index", "-z", "--skip-worktree", "--stdin",
                    given=given, environ={"GIT_INDEX_FILE": str(self.folder / "index")},
                )  # fmt: skip

    def disregard_attributes(self) -> None:
        """Let no `.gitattributes` of the remote count here, where the user has no attributes of their own."""
        place = self.folder / "info" / "attributes"
        with contextlib.suppress(OSError):
            place.parent.mkdir(exist_ok=True)
            descriptor = open_file(place, "new")
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(_ATTRIBUTES)

    # ------------------------------------------------------------------ commits

    def _store_all(self, contents: Mapping[str, bytes]) -> dict[str, str]:
        """Keep the bytes of files. Many at once are read by git itself, where they still are what was read here."""
        if len(contents) <= _FEW:
            return {path: self.store(content) for path, content in contents.items()}
        plain = [path for path in contents if "\n" not in path]
        given = b"".join(os.fsencode(self.root / path) + b"\n" for path in plain)
        try:
            ids = os.fsdecode(self.run("hash-object", "-w", "--no-filters", "--stdin-paths", given=given)).split()
        except StoreError:
            ids = []  # one of them has gone meanwhile
        kept = dict(zip(plain, ids, strict=False))
        return {
            path: kept[path] if path in kept and self.id_of(content, kept[path]) == kept[path] else self.store(content)
            for path, content in contents.items()
        }

    def commit(self, changes: Mapping[str, Leaf | None], message: str, parents: Sequence[str], *, base: str) -> str:
        """A commit of the files of the commit `base` with changes. Nothing points to it yet. Empty for no change."""
        self._read_tree(base)
        self.run("update-index", "--replace", "-z", "--index-info", given=self._index_rows(changes, base))
        tree = self.line("write-tree")
        if len(parents) < 2 and base and tree == self.line("rev-parse", f"{base}^{{tree}}"):
            return ""
        line = [part for parent in parents for part in ("-p", parent)]
        given = message.encode("utf-8", "replace")
        made = self.run("commit-tree", tree, *line, "-F", "-", given=given, environ=self._signed())
        return os.fsdecode(made).replace("\0", "?").strip()

    def move_head(self, new: str, old: str, message: str, changes: Mapping[str, Leaf | None]) -> None:
        """Let HEAD's branch point to a commit, if it still points to `old`. Raises StoreBusy where it does not."""
        nothing = "0" * len(new)
        behind = self.folder / PRIVATE / _BEHIND
        with contextlib.suppress(OSError):
            behind.touch(0o600)
        try:
            self.run("update-ref", "-m", printable(f"clew: {message}", 120), "HEAD", new, old or nothing)
        except StoreBusy:
            raise
        except StoreError as error:
            if self.head() != old:
                raise StoreBusy("another git has committed meanwhile", hint="try again") from error
            raise
        self.follow(changes, new)
        behind.unlink(missing_ok=True)

    def _catch_up(self) -> None:
        """Where one was killed between a commit and the index that people use, bring that along now."""
        behind = self.folder / PRIVATE / _BEHIND
        if not behind.exists():
            return
        with contextlib.suppress(StoreError, Refused, OSError):
            head = self.head()
            theirs = {"GIT_INDEX_FILE": str(self.folder / "index")}
            names = self.run("diff-index", "--cached", "--name-only", "-z", head, environ=theirs) if head else b""
            tree = self.tree(head)
            changes = {path: tree.get(path) for path in map(os.fsdecode, names.split(b"\0")) if path}
            # What a person has staged meanwhile stays staged: there the folder differs.
            self.follow({path: leaf for path, leaf in changes.items() if self._is_as(path, leaf)}, head)
            behind.unlink(missing_ok=True)

    def _is_as(self, path: str, leaf: Leaf | None) -> bool:
        now = self.on_disk(path)
        if leaf is None:
            return not os.path.lexists(self.root / path)
        return now is not None and self.id_of(now, leaf.id) == leaf.id

    def follow(self, changes: Mapping[str, Leaf | None], commit: str) -> None:
        """Bring the index that people use along. Where it is locked, `git status` shows more than there is."""
        index = self.folder / "index"
        theirs = {"GIT_INDEX_FILE": str(index)}
        with contextlib.suppress(StoreError):
            if index.exists():
                rows = self._index_rows(changes, commit)
                self.run("update-index", "--replace", "-z", "--index-info", given=rows, environ=theirs)
            else:
                self.run("read-tree", commit, environ=theirs)

    def _read_tree(self, commit: str) -> None:
        self.run("read-tree", *([commit] if commit else ["--empty"]))

    def _index_rows(self, changes: Mapping[str, Leaf | None], like: str) -> bytes:
        nothing = "0" * (len(like) or 40)
        gone = [f"0 {nothing}\t{path}" for path, leaf in changes.items() if leaf is None]
        kept = [f"{leaf.mode} {leaf.id}\t{path}" for path, leaf in changes.items() if leaf is not None]
        return b"".join(os.fsencode(row) + b"\0" for row in (*gone, *kept))

    def _signed(self) -> dict[str, str]:
        """Who commits: the user of git's configuration, else Clew."""
        if self._author is None:
            name, mail = self.setting("user.name"), self.setting("user.email")
            known = (name, mail) if name and mail else ("Clew", "clew@localhost")
            self._author = {
                f"GIT_{role}_{part}": value
                for role in ("AUTHOR", "COMMITTER")
                for part, value in zip(("NAME", "EMAIL"), known, strict=True)
            }
        return self._author

    def _demand_own(self) -> None:
        try:
            status = os.lstat(self.folder)
        except OSError as error:
            raise NotFound("the memory root is no git repository", hint="`clew sync init` makes it one") from error
        if not stat.S_ISDIR(status.st_mode) or not is_own(status):
            raise Refused(f"`{self.folder}` is no folder of your own", hint="move it away, then `clew sync init`")


def is_safe(path: str) -> bool:
    """Whether a path of a tree stays below the folder and out of its repository."""
    parts = path.split("/")
    return "\0" not in path and not any(
        part in ("", ".", "..") or part.lower().rstrip(". ") in (".git", "git~1") for part in parts
    )


def wait_for(descriptor: int, seconds: float, said: str) -> None:
    """Lock a file. Raises StoreBusy with what is said after some seconds."""
    if not wait_for_lock(descriptor, seconds):
        raise StoreBusy(said, hint="everything is kept here; try again")


def named_lock(said: str) -> str:
    """The file of a lock that a message of git names."""
    found = re.search(r"'([^']*\.lock)'", said)
    return found[1] if found else said
