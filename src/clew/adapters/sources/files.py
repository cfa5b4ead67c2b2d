"""The work tree as a set of files, with ignore rules resolved once from the root."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from clew.adapters.regular import read_regular
from clew.core.ports import Entry
from clew.core.text.printable import printable
from clew.core.text.wildcards import compiled, tokens
from clew.errors import NotFound, Refused, UsageError
from clew.system import NotRegular, open_regular

MOST_FILES = 60_000
"""Files of one work tree beyond this number are left out, and the caller is told."""
MOST_VISITED = 400_000
"""Directory entries looked at before the walk stops."""
MOST_IGNORE_BYTES = 256 * 1024
_MOST_LINK = 8192
_IGNORE_NAMES = (".gitignore", ".ignore", ".clewignore")
_DECIDING = frozenset({*_IGNORE_NAMES, ".git", "pyvenv.cfg"})
_GIT_INSIDE = frozenset({"HEAD", "config", "objects", "refs"})
"""Names that together tell the inside of a repository."""
_TELLING = _DECIDING | _GIT_INSIDE
_SURPLUS = 100_000
"""Entries of one folder that are kept beyond the bound before the last by name are dropped."""
_name = attrgetter("name")
_NEVER = frozenset({
    ".git", ".hg", ".svn", ".jj", "__pycache__", "node_modules", ".venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".gradle", ".terraform", ".DS_Store",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rules:
    """Ignore rules of one directory: paths are relative to `base`."""

    base: str
    patterns: tuple[tuple[re.Pattern[str], bool], ...]
    """Each with whether it ignores; the last line of the file comes first."""


class WorkTree:
    """The files below `root`, read from disk now.

    `ignore` are further patterns in the gitignore format, from configuration. Directories are walked breadth first in
    the order of their names, so that a cut at `most_files`, or at `most_visited` entries looked at, is the same every
    time. Symbolic links are not followed.
    """

    def __init__(
        self, root: Path, ignore: Sequence[str] = (), *, most_files: int = MOST_FILES, most_visited: int = MOST_VISITED
    ) -> None:
        self.root = root
        self.ignore = tuple(ignore)
        self._most = most_files
        self._most_visited = most_visited
        self.left_out = ""
        """After a walk: why files are missing, or an empty string."""

    def entries(self) -> Iterator[Entry]:
        """Regular files that no rule ignores. Unreadable directories are passed over."""
        self.left_out = ""
        top = self._top_rules()
        queue: list[tuple[str, tuple[_Rules, ...]]] = [("", top)]
        given = visited = 0
        is_repository = (self.root / ".git").exists()
        for folder, inherited in queue:
            try:
                listing, names = _listed(self.root / folder if folder else self.root, self._most_visited + 1 - visited)
            except OSError:
                continue
            if names >= _GIT_INSIDE:
                # A bare repository: what it holds is git's own, its configuration may hold keys.
                self.left_out = self.left_out or ("" if folder else "a bare repository has no files of its own")
                continue
            if (folder and is_repository and ".git" in names) or (folder and "pyvenv.cfg" in names):
                continue
            rules = self._extended(folder, inherited, names)
            for entry in listing:
                visited += 1
                if entry.name in _NEVER:
                    continue
                path = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        if not ignored(path + "/", rules):
                            queue.append((path, rules))
                        continue
                    if not entry.is_file(follow_symlinks=False) or ignored(path, rules):
                        continue
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                given += 1
                if given > self._most:
                    self.left_out = f"only the first {self._most} files were read"
                    return
                yield _entry(path, status)
            if visited > self._most_visited:
                self.left_out = f"the walk stopped after {self._most_visited} directory entries"
                return

    def read(self, path: str) -> bytes:
        """The bytes of a regular file inside the root. Raises NotFound, Refused."""
        try:
            file = open_regular(self.root / path)
        except NotRegular as error:
            raise Refused(f"`{printable(path)}` is not a regular file") from error
        except FileNotFoundError as error:
            raise NotFound(f"`{printable(path)}` is gone") from error
        except OSError as error:
            raise Refused(f"`{printable(path)}` cannot be read: {error.strerror}") from error
        with file:
            return file.read()

    def stamp(self, path: str) -> str | None:
        """The stamp of one file now; None where it is gone."""
        try:
            status = os.lstat(self.root / path)
        except (OSError, ValueError):
            return None
        return stamp(status) if stat.S_ISREG(status.st_mode) else None

    def entry(self, path: str) -> Entry | None:
        """One file as it is now, whatever the rules say; None where it is gone or no regular file."""
        try:
            status = os.lstat(self.root / path)
        except (OSError, ValueError):
            return None
        return _entry(path, status) if stat.S_ISREG(status.st_mode) else None

    @staticmethod
    def decides(path: str) -> bool:
        """Whether a file of this name has a say in which other files belong to the tree."""
        return path.rpartition("/")[2] in _DECIDING or path == ".git/info/exclude"

    def outside(self, path: str) -> bool:
        """Whether nothing at this path can matter: it lies below a folder that is never entered."""
        if self.decides(path) or path == ".git/info":
            return False
        return not _NEVER.isdisjoint(path.split("/"))

    def _top_rules(self) -> tuple[_Rules, ...]:
        rules: list[_Rules] = []
        if patterns := _load(_common_dir(self.root / ".git") / "info" / "exclude"):
            rules.append(_Rules("", patterns))
        if self.ignore:
            rules.append(_Rules("", _patterns(self.ignore)))
        return tuple(rules)

    def _extended(self, folder: str, inherited: tuple[_Rules, ...], names: set[str]) -> tuple[_Rules, ...]:
        rules = inherited
        for name in _IGNORE_NAMES:
            if name in names and (patterns := _load(self.root / folder / name)):
                # Configuration comes last: it has the last word over files of the repository.
                own = _Rules(folder + "/" if folder else "", patterns)
                rules = (*rules[:-1], own, rules[-1]) if self.ignore and rules else (*rules, own)
        return rules


def _listed(folder: Path, most: int) -> tuple[list[os.DirEntry[str]], set[str]]:
    """The first `most` entries by name, and which of the telling names are among all of them. Raises OSError.

    A folder may hold millions: no more of them are kept at a time than can be looked at.
    """
    found: list[os.DirEntry[str]] = []
    names: set[str] = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            found.append(entry)
            if entry.name in _TELLING:
                names.add(entry.name)
            if len(found) >= most + _SURPLUS:
                found.sort(key=_name)
                del found[most:]
    found.sort(key=_name)
    return found[:most], names


def stamp(status: os.stat_result) -> str:
    """Size, modification, change time and inode: what tells two states of a file apart without reading it."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def _entry(path: str, status: os.stat_result) -> Entry:
    # A program may set mtime back; ctime then still says that the file was touched a moment ago.
    return Entry(path, status.st_size, stamp(status), max(status.st_mtime, status.st_ctime))


def ignored(path: str, rules: Sequence[_Rules]) -> bool:
    """Whether the last rule that speaks of `path` ignores it. A directory's path ends with a slash.

    Only what a rule says of this very path counts: whoever walks has asked about the directories above it before.
    """
    for rule in reversed(rules):
        relative = path[len(rule.base) :]
        for pattern, ignores in rule.patterns:
            if (match := pattern.search(relative)) is None:
                continue
            if match.lastgroup is None:
                # `a/**` takes the slash of `a/` without the group: it speaks of what is inside only.
                speaks = match.end() < len(relative) or not relative.endswith("/")
            else:
                speaks = any(one.end() == len(relative) for one in pattern.finditer(relative))
            if speaks:
                return ignores
    return False


def _patterns(lines: Sequence[str]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """The rules of an ignore file, last first, as expressions whose only group is the slash behind a directory.

    `GitIgnoreSpec` itself is not used: it ranks rules for directories below others, which git does not.
    """
    found: list[tuple[re.Pattern[str], bool]] = []
    for line in lines:
        # `a/**/` means the directories below `a`, not `a`.
        meant = f"{line.rstrip()}*/" if line.rstrip().endswith("/**/") else line
        try:
            expression, ignores = GitIgnoreSpecPattern.pattern_to_regex(meant)
            if expression is not None and ignores is not None:
                found.append((compiled(tokens(expression)), ignores))
        except (ValueError, re.error):
            continue  # A line that is no pattern matches nothing; the others stand.
    return tuple(reversed(found))


def _common_dir(git: Path) -> Path:
    """The folder that holds `info`. In a linked work tree `.git` is a file that leads there by one or two steps."""
    try:
        if not stat.S_ISREG(os.lstat(git).st_mode):
            return git
        own = git.parent / read_regular(git, _MOST_LINK).decode().removeprefix("gitdir:").strip()
        shared = own / "commondir"
        return own / read_regular(shared, _MOST_LINK).decode().strip() if shared.exists() else own
    except (OSError, ValueError, UsageError):
        return git


def _load(path: Path) -> tuple[tuple[re.Pattern[str], bool], ...]:
    try:
        # As git does, a link is not followed: it may lead out of the work tree.
        if not stat.S_ISREG(os.lstat(path).st_mode) or path.stat().st_size > MOST_IGNORE_BYTES:
            return ()
        return _patterns(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except (OSError, ValueError):
        return ()
