"""What the user gave: files, folders, patterns and standard input. Never guessed away, never cut."""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clew.adapters.regular import PATHS, read_regular, size_words
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.ports import Tree
from clew.core.text.content import read_text
from clew.core.text.printable import counted, printable
from clew.core.text.redact import is_secret_path, redact
from clew.core.text.wildcards import from_shell
from clew.errors import NotFound, OverBudget, Refused, UsageError
from clew.system import open_regular

MOST_BYTES = 16 << 20
"""All that is given together. No model takes more, and no more is read."""
_MOST_FILES = 2000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Attached:
    """What was given, in the order given, each once, and what the user should be told."""

    fragments: tuple[Fragment, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    """A file to be read: named itself, or found in a folder or by a pattern."""

    path: Path
    ref: str
    size: int
    inside: str | None = None
    """Path within the tree, for a file that was found and not named."""


class Explicit:
    """Reads what the user named. `-` is standard input; without it, `stdin` comes first.

    A file may lie anywhere when it is named itself, also behind a symbolic link. Folders and patterns take what `tree`
    gives, so ignore rules hold there, and files of secrets are left out. A file of secrets that is named itself is
    redacted unless `redact_secrets` is off.
    """

    name = "explicit"

    def __init__(
        self,
        names: Sequence[str],
        *,
        cwd: Path,
        root: Path,
        tree: Tree | None = None,
        stdin: BinaryIO | None = None,
        weight: int = DEFAULT_WEIGHTS["explicit"],
        most_bytes: int = MOST_BYTES,
        redact_secrets: bool = True,
    ) -> None:
        self._names = names
        self._cwd = cwd
        self._root = Path(os.path.realpath(root))
        self._tree = tree
        self._stdin = stdin
        self._weight = weight
        self._most = most_bytes
        self._redacts = redact_secrets
        self._attached: Attached | None = None

    def collect(self, question: str) -> Sequence[Fragment]:
        """The fragments of `attach`."""
        return self.attach().fragments

    def attach(self) -> Attached:
        """Everything that was given. Reads once; a second call gives the same.

        Raises NotFound, Refused, UsageError (a URL, binary content), or OverBudget with the sizes.
        """
        if self._attached is None:
            self._attached = self._read()
        return self._attached

    def _read(self) -> Attached:
        notices: list[str] = []
        pieces: list[list[_Item] | None] = []
        names = list(dict.fromkeys("-" if name == "/dev/stdin" else name for name in self._names))
        if self._stdin is not None and "-" not in names:
            names.insert(0, "-")
        for name in names:
            pieces.append(None if name == "-" else self._items(name))
        self._demand_room([item for items in pieces for item in items or ()])
        fragments: dict[str, Fragment] = {}
        left = self._most
        for items in pieces:
            for item in [None] if items is None else items:
                if item is not None and item.ref in fragments:
                    continue
                content = self._from_stdin(left) if item is None else self._content(item, left, notices)
                left -= len(content or b"")
                fragment = None if content is None else self._fragment(item, content, notices)
                if fragment is not None:
                    fragments[fragment.ref] = fragment
        return Attached(tuple(fragments.values()), tuple(notices))

    def _items(self, name: str) -> list[_Item]:
        shown = printable(name, 200)
        if not name.strip():
            # `"$FILE"` with nothing in it would otherwise stand for the whole current folder.
            raise UsageError("a file name is empty", hint="`.` stands for the current folder")
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name):
            raise UsageError(f"`{shown}` is a URL, and Clew fetches nothing", hint=f"curl -s {shown} | clew ask …")
        path = self._cwd / name
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            if not isinstance(error, PermissionError) and not os.path.lexists(path):
                if any(char in name for char in "*?["):
                    return self._found(name, _pattern(self._relative_pattern(name)), "the pattern matches no file")
                raise NotFound(f"There is no file `{shown}`", hint=_near(path, os.path.dirname(name))) from error
            # Let the reader say what is wrong with it.
            return [_Item(path, shown, 0)]
        if stat.S_ISDIR(status.st_mode):
            inside = _inside(os.path.realpath(path), self._root)
            if inside is None:
                raise Refused(
                    f"`{shown}` is a folder outside of the workspace", hint="name its files, or run clew in that folder"
                )
            prefix = re.escape(inside + "/") if inside else ""
            return self._found(name, re.compile(prefix + ".*", re.DOTALL), "the folder holds no file that may be read")
        return [_Item(path, self._ref(path), status.st_size)]

    def _found(self, name: str, pattern: re.Pattern[str], otherwise: str) -> list[_Item]:
        """Files of the tree whose path matches. Raises NotFound when there are none."""
        entries = () if self._tree is None else self._tree.entries()
        found = [entry for entry in entries if pattern.fullmatch(entry.path)]
        if not found:
            raise NotFound(f"`{printable(name, 200)}`: {otherwise}", hint="ignored files must be named one by one")
        if len(found) > _MOST_FILES:
            raise OverBudget(
                f"`{printable(name, 200)}` stands for {len(found):,} files, at most {_MOST_FILES:,} are read",
                hint="name a smaller folder, or ask without it: related files are found by themselves",
                files=len(found),
            )
        found.sort(key=lambda entry: entry.path)
        return [_Item(self._root / e.path, printable(e.path), e.size, inside=e.path) for e in found]

    def _relative_pattern(self, name: str) -> str:
        """A pattern relative to the current folder as one relative to the root."""
        base = _inside(os.path.realpath(self._cwd), self._root)
        whole = os.path.normpath(os.path.join("/", base or "", name)) if base is not None else ""
        if os.path.isabs(name) or not whole or os.path.normpath(name).startswith(".."):
            raise Refused(
                f"`{printable(name, 200)}` is a pattern that leads out of this folder",
                hint="leave out the quotes, so that the shell expands it",
            )
        return whole.lstrip("/")

    def _ref(self, path: Path) -> str:
        # The folder is resolved and the name is not: a link is shown under the name that the user gave.
        whole = os.path.join(os.path.realpath(path.parent), path.name)
        return printable(_inside(whole, self._root) or whole)

    def _demand_room(self, items: Sequence[_Item]) -> None:
        sizes = {item.ref: item.size for item in items}
        if sum(sizes.values()) <= self._most:
            return
        # Pictures and the like in a folder are left out later on, so they do not count.
        sizes = {item.ref: item.size for item in items if item.inside is None or not _looks_binary(item.path)}
        total = sum(sizes.values())
        if total <= self._most:
            return
        largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:5]
        listed = ", ".join(f"{ref} {size_words(size)}" for ref, size in largest)
        more = f", … {len(sizes) - 5} more" if len(sizes) > 5 else ""
        raise OverBudget(
            f"The files given have {size_words(total)}, more than the {size_words(self._most)} that are read: "
            f"{listed}{more}",
            hint="name fewer files, or only the part that matters: `sed -n 1,200p FILE | clew ask …`",
            size=total,
            limit=self._most,
        )

    def _from_stdin(self, left: int) -> bytes | None:
        if self._stdin is None:
            raise UsageError("`-` stands for standard input, which is not given", hint="… | clew ask QUESTION -")
        content = _bounded(self._stdin, left)
        if len(content) > left:
            raise OverBudget(
                f"Standard input has more than the {size_words(left)} that may still be read",
                hint="send the part that matters: `… | tail -n 200 | clew ask …`",
                size=len(content),
                limit=left,
            )
        return content if content.strip() else None

    def _content(self, item: _Item, left: int, notices: list[str]) -> bytes | None:
        """The bytes of a file; None, with a notice, for a found one that is not for reading."""
        if item.inside is None:
            if re.fullmatch(r"/dev/fd/[0-9]+|/proc/self/fd/[0-9]+", str(item.path)):
                # `<(command)` of a shell is a pipe under such a name, and is meant to be read.
                return self._from_pipe(item, left)
            return read_regular(item.path, left, shown=item.ref)
        if is_secret_path(item.inside):
            notices.append(f"{item.ref}: left out, it usually holds secrets; name it to give it redacted")
            return None
        assert self._tree is not None
        if item.size > left and _looks_binary(item.path):
            notices.append(f"{item.ref}: left out, it is binary")
            return None
        try:
            content = self._tree.read(item.inside)
        except (NotFound, Refused) as error:
            notices.append(f"{item.ref}: left out, {error}")
            return None
        if len(content) > left:
            raise OverBudget(f"`{item.ref}` grew while it was read", hint="ask again", size=len(content), limit=left)
        if read_text(content) is None:
            notices.append(f"{item.ref}: left out, it is binary")
            return None
        return content

    def _from_pipe(self, item: _Item, left: int) -> bytes:
        try:
            with item.path.open("rb") as pipe:
                content = _bounded(pipe, left)
        except OSError as error:
            raise Refused(f"`{item.ref}` cannot be read: {error.strerror}", hint="check its rights") from error
        if len(content) > left:
            raise OverBudget(f"`{item.ref}` gives more than {size_words(left)}", hint="send the part that matters")
        return content

    def _fragment(self, item: _Item | None, content: bytes, notices: list[str]) -> Fragment:
        ref = "stdin" if item is None else item.ref
        decoded = read_text(content)
        if decoded is None:
            raise UsageError(f"`{ref}` is binary ({size_words(len(content))})", hint="convert it to text first")
        text, note = decoded
        notes = [note] if note else []
        secret = item is not None and (is_secret_path(str(item.path)) or is_secret_path(os.path.realpath(item.path)))
        if secret and self._redacts:
            redacted = redact(text, strict=True)
            text = redacted.text
            notes.append(f"redacted: {counted(redacted.count, 'secret')}")
            if redacted.count == 1:
                notices.append(f"{ref} usually holds secrets: 1 was removed before it was given")
            else:
                notices.append(f"{ref} usually holds secrets: {redacted.count} were removed before it was given")
        rows = text.removesuffix("\n").count("\n") + 1 if text else 0
        line = "" if item is None else f"{ref}, {rows} lines, {size_words(len(content))}"
        return Fragment(
            self.name,
            ref,
            text.removesuffix("\n").removesuffix("\r"),
            self._weight,
            anchor=item is not None,
            explicit=True,
            line=line,
            note=", ".join(notes),
            group="" if item is None else ref,
        )


def _bounded(stream: BinaryIO, limit: int) -> bytes:
    """At most `limit` bytes and one more, piece by piece: a pipe of a gigabyte takes no more memory than that."""
    parts: list[bytes] = []
    size = 0
    while size <= limit and (part := stream.read(min(_CHUNK, limit + 1 - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _looks_binary(path: Path) -> bool:
    """Whether the head of a file holds a NUL byte. A link or anything else that is no file does not."""
    try:
        with open_regular(path) as file:
            return b"\0" in file.read(8192)
    except OSError:
        return False


def _inside(path: str, root: Path) -> str | None:
    """A real path relative to the root, with forward slashes, `` for the root itself; None outside."""
    top = str(root)
    if path == top:
        return ""
    return path[len(top.rstrip("/")) + 1 :] if path.startswith(top.rstrip("/") + "/") else None


def _pattern(pattern: str) -> re.Pattern[str]:
    try:
        return from_shell(pattern)
    except re.error as error:
        raise UsageError(
            f"`{printable(pattern, 200)}` is not a pattern: {error}", hint="such as `src/**/*.py`"
        ) from error


def _near(path: Path, folder: str) -> str:
    """The nearest name beside a path that is not there, with the folder as the user wrote it."""
    try:
        with os.scandir(path.parent) as listing:
            names = [entry.name for entry, _ in zip(listing, range(2000), strict=False)]
    except (OSError, ValueError):
        return f"there is no folder `{printable(str(path.parent.name), 100)}` either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean `{printable(os.path.join(folder, near[0]), 200)}`?" if near else PATHS
