"""The tools `glob` and `grep`: names and lines of the files of the workspace, with its ignore rules.

Which files there are is told by the same walk that the rest of Clew goes: ignored ones are left out unless the folder
or file that is named is itself ignored, links are not followed, and the order is that of the paths, so that the same
question has the same answer. (Newest first would put a touched file in front of each list, and change what was sent.)
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.adapters.regular import kind_of, read_regular, size_words
from clew.adapters.sources.files import WorkTree
from clew.core.agent.bounded import MOST_BYTES, cut_line
from clew.core.agent.effects import Effect
from clew.core.text.printable import counted, printable, visible
from clew.core.text.redact import is_secret_path
from clew.core.text.wildcards import from_shell
from clew.errors import ClewError, Refused
from clew.services.tools.clean import Cleaner
from clew.services.tools.grepping import FileEnd, Grep, Row, Stopped, ripgrep
from clew.services.tools.places import Place, Places
from clew.services.tools.plain_grep import MOST_BYTES as MOST_SEARCHED
from clew.services.tools.plain_grep import Request
from clew.services.tools.tool import Reply, Signal, Tool, define

SECONDS = 20.0
_MOST_NAMES = 200
_MOST_MATCHES = 200
"""Lines that match, of mode `content`; files of the other modes are bounded by their number."""
_MOST_FILES = 500
_LINE = 500
"""Bytes of a line that are shown."""
_LOOKED_AT = 20_000
"""Characters of a line in which secrets are looked for."""
_MOST_CONTEXT = 20
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 100


@dataclass(frozen=True, slots=True)
class GlobFiles:
    """Arguments of `glob`."""

    pattern: str
    path: str = "."


@dataclass(frozen=True, slots=True)
class GrepFiles:
    """Arguments of `grep`."""

    pattern: str
    path: str = "."
    glob: Annotated[str, Meta(description="only files like this")] = ""
    mode: Literal["content", "files", "count"] = "content"
    context: int = 0
    ignore_case: bool = False
    literal: bool = False


_SOUGHT = Path("rg")


@dataclass
class Search:
    """Finds files and lines. `program` is ripgrep; None makes Python search instead."""

    root: Path
    cwd: Path
    redact: Callable[[str], str] | None = None
    strictly: Callable[[str], str] | None = None
    free: Sequence[Path] = ()
    ignore: Sequence[str] = ()
    program: Path | None = _SOUGHT
    seconds: float = SECONDS
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where ripgrep is looked for, beside the folder of this Python."""
    places: Places = field(init=False)
    cleaner: Cleaner = field(init=False)

    def __post_init__(self) -> None:
        if self.program is _SOUGHT:
            self.program = ripgrep(self.environ, self.root)
        self.places = Places(self.root, self.cwd, self.free)
        self.cleaner = Cleaner(self.redact, self.strictly)

    @property
    def notice(self) -> str:
        """What is worse here than it could be; empty for nothing."""
        return "" if self.program else "ripgrep is missing: `grep` searches by itself, and takes longer"

    def tools(self) -> tuple[Tool[Any], ...]:
        """`glob`, `grep`."""
        return (
            define(
                "glob",
                "Paths of files by pattern (`*.py`, `src/**/*.{ts,tsx}`), in the order of paths, without ignored ones.",
                GlobFiles,
                lambda given, effect, _: self._answered(lambda: self._glob(given, effect)),
                self._effect_of_glob,
            ),
            define(
                "grep",
                "Lines of files that match a regular expression, without ignored files.",
                GrepFiles,
                lambda given, effect, signal: self._answered(lambda: self._grep(given, effect, signal)),
                lambda given: self._effect(f"grep {printable(given.pattern, 80)}", given.path),
            ),
        )

    def _answered(self, work: Callable[[], str]) -> Reply:
        try:
            return Reply(work())
        except ClewError as error:
            return Reply(str(error), failed=True)

    def _effect(self, what: str, path: str) -> Effect | Reply:
        try:
            place = self.places.find(path)
        except ClewError as error:
            return Reply(str(error), failed=True)
        return Effect("read", f"{what} in {place.shown}", "", place.subject, (str(place.real),), not place.free)

    def _effect_of_glob(self, given: GlobFiles) -> Effect | Reply:
        return self._effect(f"glob {printable(given.pattern, 80)}", _moved(given).path)

    def _place(self, path: str, effect: Effect) -> Place:
        place = self.places.find(path)
        if effect.paths != (str(place.real),):
            raise Refused(f"{place.shown} leads elsewhere than a moment ago")
        return place

    # ------------------------------------------------------------------ names

    def _glob(self, given: GlobFiles, effect: Effect) -> str:
        moved = _moved(given)
        place = self._place(moved.path, effect)
        files = self._files(place, moved.pattern)
        paths = [self.places.shown(os.path.join(files.folder, name)) for name in files.names]
        if not paths:
            return f"no file matches {printable(given.pattern, 200)} in {place.shown}" + files.note
        rows = paths[:_MOST_NAMES]
        if len(paths) > len(rows):
            rows.append(f"[{len(paths) - len(rows):,} more of {len(paths):,}: narrow the pattern or the path]")
        return "\n".join(rows) + files.note

    def _files(self, place: Place, pattern: str) -> _Files:
        """The files in a place (or the file itself) whose path matches. Raises NotFound, Refused (no pattern)."""
        matches = _matcher(pattern)
        status = self.places.status(place)
        if kind_of(status.st_mode) != "a folder":
            if kind := kind_of(status.st_mode):
                raise Refused(f"{place.shown} is {kind}, not a file")
            # What Python reads is read as a whole.
            long = self.program is None and status.st_size > MOST_SEARCHED
            name = place.real.name
            return _Files(place.real.parent, [name], frozenset({name} if long else ()))
        tree = WorkTree(self.places.root, self.ignore)
        start = "" if place.subject == "." else place.subject + "/"
        found = [] if place.outside else [e for e in tree.entries() if e.path.startswith(start)]
        if not found and (start or place.outside):
            # The folder itself is ignored, or lies elsewhere: who names it wants it.
            tree, start = WorkTree(place.real, self.ignore), ""
            found = list(tree.entries())
        found = [entry for entry in found if matches(entry.path[len(start) :])]
        long = [entry for entry in found if entry.size > MOST_SEARCHED]
        notes = [tree.left_out] if tree.left_out else []
        names = sorted((entry.path[len(start) :] for entry in found), key=lambda path: path.split("/"))
        note = "".join(f"\n[{one}]" for one in notes)
        return _Files(place.real, names, frozenset(entry.path[len(start) :] for entry in long), note)

    # ------------------------------------------------------------------ lines

    def _grep(self, given: GrepFiles, effect: Effect, signal: Signal) -> str:
        place = self._place(given.path, effect)
        if not given.pattern:
            raise Refused("the pattern is empty")
        context = min(max(given.context, 0), _MOST_CONTEXT) if given.mode == "content" else 0
        deadline = time.monotonic() + self.seconds
        files = self._files(place, given.glob)
        names = [name for name in files.names if name not in files.long]
        request = Request(given.pattern, names, given.literal, given.ignore_case, context)
        grep = Grep(self.program, files.folder, signal, deadline)
        try:
            grep.demand_pattern(request)
        except Stopped as error:
            raise Refused(f"stopped: {error}") from error
        found = self._found(grep.events(request, ends_only=given.mode != "content"), files.folder, given.mode)
        note = files.note
        if files.long:
            listed = ", ".join(printable(name) for name in sorted(files.long)[:3])
            note += f"\n[{counted(len(files.long), 'file')} over {size_words(MOST_SEARCHED)} not searched: {listed}]"
        if not found.lines:
            return f"no match in {counted(len(names), 'file')}{found.note}{note}"
        return "\n".join(found.lines) + found.note + note

    def _found(self, events: Iterator[Row | FileEnd], folder: Path, mode: str) -> _Found:
        """What is shown of the events, until there is no room for more."""
        found = _Found([])
        rows: list[Row] = []
        matches = pending = files = size = 0
        try:
            for event in events:
                if isinstance(event, Row):
                    rows.append(event)
                    pending += event.start >= 0
                    if matches + pending >= _MOST_MATCHES:
                        # The rest of this file is not looked at, so it has to be asked whether it is text.
                        rows = [] if _is_binary(folder / event.path) else rows
                        raise Stopped(f"the first {_MOST_MATCHES} matches; narrow the pattern, or use mode=files")
                    continue
                if event.binary or not event.count:
                    rows, pending = [], 0
                    continue
                files += 1
                shown = self.places.shown(os.path.join(folder, event.path))
                if mode == "content":
                    lines = [shown, *self._shown_rows(folder / event.path, rows)]
                else:
                    lines = [shown if mode == "files" else f"{shown}: {event.count}"]
                matches += pending
                rows, pending = [], 0
                size += sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
                found.lines += lines
                if files >= _MOST_FILES:
                    raise Stopped(f"the first {_MOST_FILES} files; narrow the pattern")
                if size > MOST_BYTES:
                    raise Stopped(f"more than {size_words(MOST_BYTES)}; narrow the pattern, or use mode=files")
        except Stopped as error:
            if rows:
                path = folder / rows[0].path
                found.lines += [self.places.shown(str(path)), *self._shown_rows(path, rows)]
            found.note = f"\n[stopped: {error}]"
        return found

    def _shown_rows(self, path: Path, rows: Sequence[Row]) -> list[str]:
        begins = [max(row.start - _LOOKED_AT // 2, 0) for row in rows]
        raw = [row.text[begin : begin + _LOOKED_AT] for row, begin in zip(rows, begins, strict=True)]
        clean = self._clean(path, rows, begins, raw)
        shown: list[str] = []
        for row, begin, was, line in zip(rows, begins, raw, clean, strict=True):
            # Where something was taken out, places are not the same any more.
            around = max(row.start - begin, 0) if len(line) == len(was) else 0
            behind = len(row.text) - begin - len(was)
            text = cut_line(line, _LINE, around=around, before=begin, behind=behind)
            number = str(row.number) if row.number else "?"
            shown.append(f"{number}: {text}" if row.start >= 0 else f"{number}- {text}")
        return shown

    def _clean(self, path: Path, rows: Sequence[Row], begins: Sequence[int], raw: list[str]) -> list[str]:
        """The lines without secrets. Where only the whole file shows what is one, the whole file is looked at."""
        text = [one.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for one in raw]
        if self.redact is None:
            return [visible(one) for one in text]
        shown = self.places.shown(str(path))
        whole = _whole_lines(path) if is_secret_path(shown) or self._may_hide(path) else None
        if whole is not None and all(0 < row.number <= len(whole) for row in rows):
            clean = self.cleaner.sight(shown, whole).all()
            parts = zip(rows, begins, strict=True)
            return [clean[row.number - 1][begin : begin + _LOOKED_AT] for row, begin in parts]
        return self.cleaner.sight(shown, text).all()

    def _may_hide(self, path: Path) -> bool:
        try:
            content = read_regular(path, MOST_SEARCHED)
        except ClewError:
            return False
        return b"PRIVATE KEY" in content or b"<private>" in content


@dataclass
class _Found:
    lines: list[str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Files:
    """Files in a folder, in the order of their paths."""

    folder: Path
    names: list[str]
    long: frozenset[str] = frozenset()
    """Those that are too long to be searched unasked."""
    note: str = ""


def _whole_lines(path: Path) -> list[str] | None:
    try:
        content = read_regular(path, MOST_SEARCHED)
    except ClewError:
        return None
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(8192)
    except OSError:
        return True
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _moved(given: GlobFiles) -> GlobFiles:
    """A pattern that begins with fixed folders elsewhere as a path and a pattern within it."""
    if not given.pattern.startswith(("/", "..", "~/")):
        return replace(given, pattern=given.pattern.removeprefix("./"))
    parts = given.pattern.split("/")
    fixed = next((at for at, part in enumerate(parts[:-1]) if re.search(r"[*?\[{]", part)), len(parts) - 1)
    return GlobFiles("/".join(parts[fixed:]), os.path.join(given.path, "/".join(parts[:fixed]) or "/"))


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches; a pattern without a slash is about names. Raises Refused."""
    if not pattern:
        return lambda path: True
    try:
        wanted = [from_shell(one) for one in _alternatives(pattern.removeprefix("./").lstrip("/"))]
    except re.error as error:
        raise Refused(f"{printable(pattern, 200)} is no pattern: {error}") from error
    if "/" in pattern:
        return lambda path: any(one.fullmatch(path) for one in wanted)
    return lambda path: any(one.fullmatch(path.rpartition("/")[2]) for one in wanted)


def _alternatives(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`. Raises Refused for too many."""
    done: list[str] = []
    queue = [pattern]
    while queue:
        one = queue.pop(0)
        if found := _BRACES.search(one):
            queue += [one[: found.start()] + part + one[found.end() :] for part in found[1].split(",")]
        else:
            done.append(one)
        if len(done) + len(queue) > _MOST_ALTERNATIVES:
            raise Refused(f"{printable(pattern, 200)} has too many alternatives")
    return done
