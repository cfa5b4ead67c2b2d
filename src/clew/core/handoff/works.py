"""What tools did in a window: files that were changed, commands that failed or passed last."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from clew.core.handoff.continuation import Elements
from clew.core.handoff.cues import BAD_LINE, CODE_LINE, GOOD_LINE, READS, RUNNERS, TAKES_BACK, WRITES
from clew.core.handoff.events import Altered, Used
from clew.core.handoff.force import Later
from clew.core.handoff.sentences import cut, size

_MOST_FILES: Final = 8
_MOST_FAILING: Final = 4
_MOST_PASSING: Final = 2
_MOST_ALTERED: Final = 6
_FAILURES: Final = 3
"""Lines of the output of a failing command."""
_MOST_GIST: Final = 160
"""Bytes of what was written, where that is short enough to be told."""
_MOST_SCANNED: Final = 60
"""Lines of what was written whose values count as said."""
_PATCHES: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (?P<path>.+)$", re.MULTILINE)
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_WORDS: Final = {
    "fails": ("fails: ", "失败："),
    "passed": ("passed: ", "通过："),
    "changed": ("changed: ", "已改动："),
    "altered": ("changed by somebody else: ", "被他人改动："),
    "gone": ("no longer there, removed by somebody else: ", "已不存在，被他人删除："),
}
OWN_WORDS: Final = tuple(form for forms in _WORDS.values() for form in forms)
"""How the lines begin that `Works.told` gives."""
_TOLD: Final = re.compile(r"`(?P<command>[^`]+)`(?: — .*)?")


@dataclass(frozen=True, slots=True)
class _Run:
    """A command and how it ended."""

    program: str
    targets: tuple[str, ...]
    ok: bool
    told: str

    def settles(self, earlier: _Run) -> bool:
        """Whether this run, which came later, says the same thing anew: the same program on the same, or on more."""
        if self.program != earlier.program:
            return False
        if self.targets == earlier.targets or not self.targets:
            return True
        return any(
            one.startswith(other) or other.startswith(one)
            for one in map(_stem, self.targets)
            for other in map(_stem, earlier.targets)
        )


@dataclass(slots=True)
class Works:
    """Hears of tools one by one."""

    tools: int = 0
    _files: dict[str, str] = field(default_factory=dict[str, str])
    _written: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """By path and shape, lines with numbers as they were written last."""
    _runs: list[_Run] = field(default_factory=list[_Run])
    _altered: dict[str, str] = field(default_factory=dict[str, str])

    def hear(self, used: Used, later: Later, at: int) -> None:
        """A further tool. What it writes, `later` is told."""
        self.tools += 1
        name = used.tool.casefold()
        path = used.arguments.get("file_path") or used.arguments.get("path") or ""
        patched = next((text for text in used.arguments.values() if _PATCHES.search(text)), "")
        if patched:
            if used.ok is not False:
                for file, removed, given in _patch(patched):
                    self._remember(file, removed)
                    self._wrote(file, "\n".join(given), later, at)
        elif name in WRITES and path:
            if used.ok is not False:
                self._remember(path, used.arguments.get("old_string", "").splitlines())
                given = used.arguments.get("new_string") or used.arguments.get("content") or ""
                self._wrote(path, given, later, at)
        elif name not in READS:
            self._ran(" ".join((used.arguments.get("command") or used.tool).split()), used)

    def altered(self, event: Altered, later: Later, at: int) -> None:
        """A file that somebody else changed. What it says now, `later` is told."""
        path = event.path
        self._files.pop(path, None)
        if event.gone:
            self._altered[path] = "gone"
            later.say(f"{path} is gone", at)
            return
        self._altered[path] = cut(" ".join(event.text.split()), _MOST_GIST)
        for row in event.text.splitlines()[:_MOST_SCANNED]:
            later.say(row, at)

    def still_failing(self, told: str) -> bool:
        """Take over what an earlier ledger says of a run; True where that failed. It stands until the run passes."""
        word = next((form for key in ("fails", "passed") for form in _WORDS[key] if told.startswith(form)), "")
        match = _TOLD.fullmatch(told.removeprefix(word)) if word in _WORDS["fails"] else None
        if match:
            words = _words(match["command"])
            self._runs.append(_Run(" ".join(words[:2]), tuple(words[2:6]), ok=False, told=match[0]))
        return match is not None

    def changed_before(self, paths: list[str]) -> None:
        """Files that an earlier ledger says were changed: they are named on, without what was written."""
        for path in paths[-_MOST_FILES // 2 :]:
            self._files.setdefault(path, "")

    def take_back(self) -> None:
        """The last change to a file was taken back: what it said does not hold."""
        if self._files:
            self._files[next(reversed(self._files))] = ""

    def told(self, column: int) -> list[str]:
        """What there is to know, what fails first. `column` chooses the language."""
        words = {key: forms[column] for key, forms in _WORDS.items()}
        failing = [words["fails"] + run.told for run in self._runs if not run.ok][-_MOST_FAILING:]
        passing = [words["passed"] + run.told for run in self._runs if run.ok][-_MOST_PASSING:]
        names = [f"`{path}`{f' ({gist})' if gist else ''}" for path, gist in self._files.items()][-_MOST_FILES:]
        changed = [words["changed"] + "; ".join(names)] if names else []
        altered = [
            f"{words['gone']}`{path}`" if how == "gone" else f"{words['altered']}`{path}`{f' ({how})' if how else ''}"
            for path, how in self._altered.items()
        ]
        return [*failing, *changed, *altered[-_MOST_ALTERED:], *passing]

    def _wrote(self, path: str, given: str, later: Later, at: int) -> None:
        line = " ".join(given.split())
        self._files.pop(path, None)
        self._files[path] = cut(line, _MOST_GIST) if 0 < size(line) <= _MOST_GIST else ""
        lines = [row for row in given.splitlines()[:_MOST_SCANNED] if row.strip()]
        known = self._written.get(path, {})
        for row in lines:
            later.write(row, at)
            for old, new in _replaced_numbers(known.get(_shape(row), row), row):
                later.say(f"from {old} to {new}: {row.strip()}", at)
        self._remember(path, lines)

    def _remember(self, path: str, lines: list[str]) -> None:
        known = self._written.setdefault(path, {})
        for row in lines[:_MOST_SCANNED]:
            if "#" in (shape := _shape(row)):
                known[shape] = row

    def _ran(self, command: str, used: Used) -> None:
        if taken := TAKES_BACK.search(command):
            for path in taken["paths"].split():
                self._files.pop(path, None)
        bad = _failures(used.output)
        ok = used.ok if used.ok is not None else not bad
        if ok and not RUNNERS.search(command):
            return
        why = "" if ok else f" — {cut('; '.join(bad) or _last(used.output), 260)}"
        words = _words(command)
        run = _Run(" ".join(words[:2]), tuple(words[2:6]), ok, f"`{cut(command, 120)}`{why}")
        self._runs = [one for one in self._runs if not run.settles(one)] + [run]


def _patch(text: str) -> list[tuple[str, list[str], list[str]]]:
    """The files of a patch of the form `*** Update File: PATH`, with the lines that it takes out and puts in."""
    found: list[tuple[str, list[str], list[str]]] = []
    for line in text.splitlines():
        if match := _PATCHES.match(line):
            found.append((match["path"].strip(), [], []))
        elif found and line[:1] in "+-":
            _, removed, given = found[-1]
            (given if line[0] == "+" else removed).append(line[1:])
    return found


def changed_files(state: Elements) -> list[str]:
    """Paths that the lines of a ledger say were changed, those that were changed last at the end."""
    found: list[str] = []
    for line in state.state:
        word = next((form for form in _WORDS["changed"] if line.startswith(form)), "")
        found += re.findall(r"(?:^|; )`([^`]+)`", line.removeprefix(word)) if word else []
    return found


def _shape(row: str) -> str:
    """A line of a file without its numbers: what is the same but for them has the same."""
    return " ".join(_NUMBER.sub("#", row).split())


def _replaced_numbers(before: str, row: str) -> list[tuple[str, str]]:
    """Numbers that a line had before, each with the other one that it has now."""
    was, now = _NUMBER.findall(before), _NUMBER.findall(row)
    return [(old, new) for old, new in zip(was, now, strict=False) if old != new]


def _failures(output: str) -> list[str]:
    """The lines of an output that tell of a failure, at most a few, each once; below the name of a failing test also
    what it says."""
    lines = output.splitlines()
    found: list[str] = []
    for at, line in enumerate(lines):
        if BAD_LINE.search(line) and not GOOD_LINE.search(line) and not CODE_LINE.search(line):
            found.append(" ".join(line.split()))
            if (
                re.match(r"-+ FAIL|FAILED?\b|[✗✘×]", line.strip())
                and lines[at + 1 : at + 2]
                and lines[at + 1][:1].isspace()
            ):
                found.append(" ".join(lines[at + 1].split()))
    return list(dict.fromkeys(found))[:_FAILURES]


def _last(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def _words(command: str) -> list[str]:
    """The words of a command that say what runs on what: without options, redirections and what follows a pipe."""
    bare = re.sub(r"\s*[|>].*", "", command)
    return [word for word in bare.split() if not word.startswith("-") and "=" not in word]


def _stem(target: str) -> str:
    return target.removeprefix("./").removesuffix("...").rstrip("/")
