"""What Clew asks git: where a repository is and what state it is in. Nothing is ever written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from clew.adapters.git_process import BlobReader, GitCommand, GitStream, apart, clean_environ, find_program
from clew.core.text.content import read_text

Reason = Literal["no git", "too old", "none", "dubious", "strange", "failed"]
"""`none`: no repository here. `dubious`: git distrusts its owner. `strange`: its work tree is not where it lies."""

_MOST_DRIVERS = 200
_NUMBER = re.compile(rb"[+-]?\d{1,9}")
_MOST_TOKEN = 1 << 20
_SHOWN = (
    "show", "--format=", "--diff-merges=first-parent", "--no-show-signature", "--no-ext-diff", "--no-textconv",
    "--no-renames", "--no-relative", "--ignore-submodules=dirty",
)  # fmt: skip
"""How the changes of one commit are asked for."""
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True, slots=True)
class NoRepository:
    """Why there is no repository to ask."""

    reason: Reason
    detail: str = ""
    """One line for the user; empty where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository lies."""

    root: Path | None
    """Top of the work tree; None for a bare repository."""
    git_dir: Path
    """Of this work tree."""
    common_dir: Path
    """Shared by all work trees."""
    bare: bool
    shallow: bool
    remotes: tuple[tuple[str, str], ...]
    """Name and URL as configured, `origin` first, then by name."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is checked out."""

    branch: str | None
    """Short name; None when detached. An unborn branch has a name and no commit."""
    commit: str | None
    operation: str | None = None
    """What is in progress: `rebase`, `merge`, `cherry-pick`, `revert`, `bisect`."""
    rebasing: str | None = None
    """The branch that is being rebased."""


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs. `staged` and `unstaged` are git's letters, `.` for unchanged, `?` for untracked."""

    path: str
    staged: str
    unstaged: str
    was: str | None = None
    """The former path of a renamed file."""
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """Index and work tree against HEAD."""

    changes: tuple[Change, ...]
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    complete: bool = True
    """False when there were more changes than asked for, or git ran out of time."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the files it touched."""

    id: str
    parents: tuple[str, ...]
    at: str
    """Author date, ISO 8601 with the author's time zone."""
    author: str
    subject: str
    body: str
    files: tuple[str, ...]
    """Paths, at most as many as asked for; none for a merge."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A local branch."""

    name: str
    commit: str
    at: str
    """Date of its last commit, ISO 8601."""
    upstream: str | None


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file in the tree of a commit."""

    path: str
    blob: str
    size: int
    """Bytes; 0 where a partial clone lacks the blob."""


class Git:
    """A repository that can be asked. Paths are relative to its root, as Python's file system strings.

    No method raises for what git says: a question without an answer gives None or nothing.
    """

    def __init__(self, command: GitCommand, repository: Repository) -> None:
        self._command = command
        self.repository = repository

    def head(self) -> Head:
        """Branch, commit and operation in progress."""
        found = self._command.run("symbolic-ref", "--quiet", "HEAD")
        branch = _line(found.stdout).removeprefix("refs/heads/") if found.good else None
        git_dir = self.repository.git_dir
        operation = next((word for name, word in _OPERATIONS if (git_dir / name).exists()), None)
        rebasing = None
        if operation == "rebase":
            rebasing = _small(git_dir / "rebase-merge" / "head-name") or _small(git_dir / "rebase-apply" / "head-name")
        return Head(branch, self.resolve("HEAD"), operation, rebasing.removeprefix("refs/heads/") if rebasing else None)

    def resolve(self, revision: str) -> str | None:
        """The id of the commit that a revision names."""
        if "\0" in revision:
            return None
        found = self._command.run("rev-parse", "--quiet", "--verify", "--end-of-options", revision + "^{commit}")
        return _line(found.stdout) if found.good else None

    def index_digest(self) -> str | None:
        """A digest that changes whenever the index file does; None without an index."""
        try:
            with (self.repository.git_dir / "index").open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except OSError:
            return None

    def status(self, limit: int = 10_000) -> Status | None:
        """Changed and untracked paths, at most `limit`; untracked folders count as one. None in a bare repository."""
        if self.repository.root is None:
            return None
        stream = GitStream(
            self._command,
            ("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty"),
        )
        changes: list[Change] = []
        upstream, ahead, behind, cut = None, 0, 0, False
        with contextlib.closing(_tokens(stream)) as tokens:
            for token in tokens:
                if token.startswith(b"# branch.upstream "):
                    upstream = os.fsdecode(token[18:])
                elif token.startswith(b"# branch.ab "):
                    counts = [abs(int(number)) for number in token[12:].split() if _NUMBER.fullmatch(number)]
                    ahead, behind = counts if len(counts) == 2 else (0, 0)
                elif token[:2] in (b"1 ", b"2 ", b"u ", b"? "):
                    was = next(tokens, b"") if token[:1] == b"2" else None
                    if len(changes) == limit:
                        cut = True
                        break
                    if change := _change(token, was):
                        changes.append(change)
        if not changes and not cut and stream.status != 0:
            return None
        return Status(tuple(changes), upstream, ahead, behind, complete=stream.status == 0 and not cut)

    def commits(
        self, count: int, revision: str = "HEAD", *, merges: bool = True, most_files: int = 1000
    ) -> Iterator[Commit]:
        """The last `count` commits, newest first, as git finds them. An unborn branch has none."""
        # Bodies and names are free text: only a mark that nobody could know tells where a commit begins.
        mark = secrets.token_hex(16)
        form = "%x00".join((mark, "%H", "%P", "%aI", "%an", "%s", "%b", ""))
        arguments = ["log", "-z", f"--max-count={count}", f"--format={form}", "--name-only", "--no-renames"]
        arguments += ["--diff-merges=off", "--no-show-signature", "--no-mailmap", "--no-ext-diff", "--no-textconv"]
        arguments += [] if merges else ["--no-merges"]
        stream = GitStream(self._command, [*arguments, "--ignore-submodules=dirty", "--end-of-options", revision, "--"])
        fields: list[bytes] = []
        with contextlib.closing(_tokens(stream)) as tokens:
            for token in tokens:
                if token == mark.encode() and fields:
                    if len(fields) >= 7:
                        yield _commit(fields)
                    fields = []
                # Seven fields and an empty one stand before the names.
                if len(fields) < 8 + most_files:
                    fields.append(token)
            if len(fields) >= 7 and fields[0] == mark.encode():
                yield _commit(fields)

    def commit_ids(self, count: int, revision: str) -> list[str]:
        """Ids of the last `count` commits without merges, in the order of `commits`."""
        arguments = ("rev-list", f"--max-count={count}", "--no-merges", "--end-of-options", revision, "--")
        found = self._command.run(*arguments)
        return found.stdout.decode("ascii", "replace").split() if found.good else []

    def history_bounds(self) -> str:
        """A digest of what cuts the history off or alters it: grafts, replacements; empty where nothing does."""
        common, parts = self.repository.common_dir, list[bytes]()
        for name in ("shallow", "info/grafts"):
            with contextlib.suppress(OSError):
                parts.append((common / name).read_bytes())
        with contextlib.suppress(OSError):
            parts += sorted(os.fsencode(entry.name) for entry in os.scandir(common / "refs" / "replace"))
        return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest() if parts else ""

    def branches(self, limit: int = 200) -> tuple[Branch, ...]:
        """Local branches, the last used first."""
        form = "%00".join(("%(refname:short)", "%(objectname)", "%(committerdate:iso-strict)", "%(upstream:short)", ""))
        found = self._command.run(
            "for-each-ref", f"--count={limit}", "--sort=-committerdate", f"--format={form}", "refs/heads/"
        )
        parts = os.fsdecode(found.stdout).split("\0") if found.good else []
        rows = [parts[start : start + 4] for start in range(0, len(parts) - 4, 4)]
        return tuple(Branch(name.lstrip("\n"), commit, at, upstream or None) for name, commit, at, upstream in rows)

    def remote_url(self) -> str | None:
        """The URL of `origin`, else of the first remote by name."""
        return self.repository.remotes[0][1] if self.repository.remotes else None

    def root_commit(self) -> str | None:
        """The first commit of the main line, the same in every complete clone; None in a shallow one."""
        start = self._main()
        if start is None:
            return None
        found = self._patient().run("rev-list", "--first-parent", "--max-parents=0", start)
        return _line(found.stdout) or None if found.good else None

    def second_commit(self) -> str:
        """The commit after the first on the main line; empty where there is none, or in a shallow clone."""
        start = self._main()
        found = self._patient().run("rev-list", "--first-parent", "--reverse", start) if start else None
        lines = found.stdout.split(b"\n", 2) if found and found.good else []
        return lines[1].decode("ascii", "replace") if len(lines) > 2 else ""

    def is_kin(self, other: Path) -> bool:
        """Whether the repository at another folder has more than a first commit in common with this one.

        So it is as well where one holds all of the other, was cloned from it, or where that cannot be found out.
        """
        found = find_repository(other, self._command.environ)
        if not isinstance(found, Git):
            return True
        if os.path.realpath(found.repository.common_dir) == os.path.realpath(self.repository.common_dir):
            return True
        for one, origin in ((self, found), (found, self)):
            places = {
                os.path.realpath(place) for place in (origin.repository.root, origin.repository.common_dir) if place
            }
            if any(os.path.realpath(url.removeprefix("file://")) in places for _, url in one.repository.remotes):
                return True
        mine, theirs = self._history(), found._history()
        if not mine or not theirs:
            return True
        both = mine & theirs
        return len(both) > 1 or both in (mine, theirs)

    def _history(self) -> frozenset[bytes]:
        """Ids of the commits that branches, tags and HEAD lead to; none where they cannot be had."""
        names = ("--branches", "--tags", "--remotes", *(["HEAD"] if self.resolve("HEAD") else []))
        found = self._patient().run("rev-list", *names)
        return frozenset(found.stdout.split()) if found.good and not found.cut else frozenset()

    def _patient(self) -> GitCommand:
        return replace(self._command, seconds=max(60.0, self._command.seconds))

    def _main(self) -> str | None:
        """The end of the main line; None in a shallow clone."""
        if self.repository.shallow:
            return None
        names = (
            "refs/heads/main",
            "refs/heads/master",
            "refs/remotes/origin/main",
            "refs/remotes/origin/master",
            "HEAD",
        )
        return next((commit for name in names if (commit := self.resolve(name))), None)

    def tree(self, commit: str) -> Iterator[TreeFile]:
        """Regular files of a commit in the order of git, without links and submodules."""
        arguments = ("ls-tree", "-r", "-z", "--long", "--full-tree", "--end-of-options", commit)
        with contextlib.closing(_tokens(GitStream(self._command, arguments))) as tokens:
            for token in tokens:
                head, _, name = token.partition(b"\t")
                fields = head.split()
                if len(fields) == 4 and fields[0] in (b"100644", b"100755", b"100664"):
                    size = int(fields[3]) if fields[3].isdigit() else 0
                    yield TreeFile(os.fsdecode(name), fields[2].decode("ascii", "replace"), size)

    def blobs(self) -> BlobReader:
        """A reader for the contents of blobs. Close it."""
        return BlobReader(self._command)

    def diff(self, path: str, limit: int = 64_000) -> tuple[str, bool] | None:
        """The uncommitted changes of one tracked file against HEAD, and whether they were cut at `limit` bytes.

        On an unborn branch, what is staged.
        """
        against = ["HEAD"] if self.resolve("HEAD") else ["--cached"]
        arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative", "--unified=3"]
        arguments += ["--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty", *against, "--", path]
        found = self._command.run(*arguments, limit=limit)
        if not found.good and not found.cut:
            return None
        # Whole lines tell the encoding: half a character at the end would make the others look like no text at all.
        whole = found.stdout[: found.stdout.rfind(b"\n") + 1] if found.cut else found.stdout
        text = read_text(whole)
        if text is None or not text.note:
            return found.stdout.decode("utf-8", "replace"), found.cut
        return text.text, found.cut

    def commit_files(self, commit: str, most: int = 1000) -> tuple[str, ...]:
        """Paths that a commit changed against its first parent, at most `most`; of a root commit all."""
        stream = GitStream(self._command, (*_SHOWN, "--name-only", "-z", "--end-of-options", commit, "--"))
        with contextlib.closing(_tokens(stream)) as tokens:
            return tuple(os.fsdecode(token) for token, _ in zip(filter(None, tokens), range(most), strict=False))

    def commit_diff(self, commit: str, path: str, limit: int = 64_000) -> tuple[str, bool] | None:
        """What a commit changed in one file against its first parent, and whether it was cut at `limit` bytes."""
        arguments = (
            *_SHOWN,
            "--unified=3",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--end-of-options",
            commit,
            "--",
            path,
        )
        found = self._command.run(*arguments, limit=limit)
        if not found.good and not found.cut:
            return None
        return found.stdout.decode("utf-8", "replace").lstrip("\n"), found.cut


def find_repository(cwd: Path, environ: Mapping[str, str], *, seconds: float = 10.0) -> Git | NoRepository:
    """The repository that holds `cwd`: of a work tree, a linked work tree, a submodule or a bare repository."""
    program = find_program(environ, around=cwd)
    if program is None:
        return NoRepository("no git", "git is not installed: branch, status and history are left out")
    command = GitCommand(program, cwd, clean_environ(apart(environ, cwd)), seconds=seconds)
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository", "--absolute-git-dir")
    found = command.run("rev-parse", *asked)
    if not found.good:
        return _without(found.stderr, found.status)
    bare, inside, shallow, name = [*found.stdout.split(b"\n", 3), b"", b"", b""][:4]
    git_dir = Path(os.fsdecode(name.removesuffix(b"\n")))
    if not {bare, inside, shallow} <= {b"true", b"false"} or not git_dir.is_absolute() or b"\0" in name:
        return NoRepository("failed", "git does not answer as git does: branch, status and history are left out")
    if bare == b"true":
        return _opened(command, Repository(None, git_dir, git_dir, True, shallow == b"true", ()))
    if inside != b"true":
        # Inside the folder of the repository itself: its work tree, if it has one around it.
        if git_dir.name != ".git":
            return NoRepository("none")
        command = replace(command, folder=git_dir.parent)
    top = command.run("rev-parse", "--show-toplevel")
    root = Path(os.fsdecode(top.stdout.removesuffix(b"\n")))
    if not top.good or b"\0" in top.stdout or not _belongs(root, git_dir):
        return NoRepository("strange", "the repository's work tree is configured to lie elsewhere: git is left out")
    shared = _small(git_dir / "commondir")
    common = Path(os.path.realpath(git_dir / shared)) if shared else git_dir
    return _opened(replace(command, folder=root), Repository(root, git_dir, common, False, shallow == b"true", ()))


def _opened(command: GitCommand, repository: Repository) -> Git | NoRepository:
    """Read the configuration once: remotes, and the filters that the repository itself defines, to be emptied."""
    found = command.run("config", "--list", "-z", "--show-scope")
    if not found.good:
        return NoRepository("failed", "git cannot read the repository's configuration")
    remotes: dict[str, str] = {}
    drivers: set[str] = set()
    tokens = found.stdout.split(b"\0")
    for scope, entry in zip(tokens[::2], tokens[1::2], strict=False):
        key, _, value = os.fsdecode(entry).partition("\n")
        if scope not in (b"local", b"worktree"):
            continue
        section, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if section == "filter" and name:
            drivers.add(name)
        elif section == "remote" and variable == "url" and name:
            remotes.setdefault(name, value)
    if len(drivers) > _MOST_DRIVERS:
        return NoRepository("strange", "the repository defines too many filters: git is left out")
    # A filter runs when git compares a file, so it would run with `status`; those of the user stay.
    emptied = (
        f"filter.{name}.{part}" for name in sorted(drivers) for part in ("clean", "smudge", "process", "required")
    )
    ordered = sorted(remotes.items(), key=lambda remote: (remote[0] != "origin", remote[0]))
    return Git(replace(command, overrides=tuple(emptied)), replace(repository, remotes=tuple(ordered)))


def _without(stderr: str, status: int | None) -> NoRepository:
    if "dubious ownership" in stderr:
        return NoRepository(
            "dubious", "git distrusts the owner of this repository: `git config --global --add safe.directory …`"
        )
    if "--config-env" in stderr:
        return NoRepository("too old", "git is older than 2.31: branch, status and history are left out")
    if status is None:
        return NoRepository("failed", f"git did not answer: {stderr.splitlines()[0] if stderr else 'unknown'}")
    if "not a git repository" in stderr or "cannot use bare repository" in stderr:
        return NoRepository("none")
    return NoRepository("failed", "git cannot read the repository here")


def _belongs(root: Path, git_dir: Path) -> bool:
    """Whether `.git` below `root` is or names `git_dir`: configuration could point at any folder of the user."""
    entry = root / ".git"
    if entry.is_dir():
        return os.path.realpath(entry) == os.path.realpath(git_dir)
    named = _small(entry)
    return bool(named) and os.path.realpath(root / named.removeprefix("gitdir:").strip()) == os.path.realpath(git_dir)


def _small(path: Path) -> str:
    """First line of a small file of git's own; empty without one."""
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(4096)).split("\n", 1)[0].strip()
    except OSError:
        return ""


def _line(output: bytes) -> str:
    return os.fsdecode(output).split("\n", 1)[0]


def _tokens(stream: GitStream) -> Generator[bytes, None, None]:
    """Pieces of the output between NUL bytes. A piece longer than a megabyte is cut."""
    pending = b""
    with contextlib.closing(stream.chunks()) as chunks:
        for chunk in chunks:
            *whole, last = (pending + chunk).split(b"\0")
            yield from whole
            pending = last[:_MOST_TOKEN]
    if pending and stream.status == 0:
        yield pending


def _change(token: bytes, was: bytes | None) -> Change | None:
    kind = token[:1]
    if kind == b"?":
        return Change(os.fsdecode(token[2:]), "?", "?")
    # Fields before the path: 8 for ordinary changes, 9 for renames, 10 for conflicts.
    fields = token.split(b" ", {b"1": 8, b"2": 9, b"u": 10}[kind])
    if len(fields) < 3 or len(letters := fields[1].decode("ascii", "replace")) != 2:
        return None
    staged, unstaged, former = *letters, None if was is None else os.fsdecode(was)
    return Change(os.fsdecode(fields[-1]), staged, unstaged, former, conflict=kind == b"u")


def _text(field: bytes) -> str:
    """Words of a commit. git knows only of encodings that the commit names."""
    found = read_text(field)
    return found.text if found else field.decode("utf-8", "replace")


def _commit(fields: list[bytes]) -> Commit:
    ident, parents, at, author, subject, body = map(_text, fields[1:7])
    names = [os.fsdecode(name) for name in fields[8:]]
    if names:
        names[0] = names[0].removeprefix("\n")
    return Commit(ident, tuple(parents.split()), at, author, subject, body.strip("\n"), tuple(names))
