"""Runs ripgrep, or what stands in for it, over a list of files, and reads what it finds, bounded and interruptible."""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from clew.adapters.git_process import find_program
from clew.core.text.printable import printable
from clew.errors import Refused
from clew.services.tools.plain_grep import Request
from clew.services.tools.tool import Signal

_BATCH_BYTES = 100_000
"""Of file names that one process gets."""
_MOST_LINE = 1 << 20
"""Bytes of one line of output; of a longer one only the file is told."""
_POLL = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file that matches, or that stands near one."""

    path: str
    """As it was given."""
    number: int
    """From 1; 0 where the line is too long to be told."""
    text: str
    """Without its end; bytes that are no UTF-8 as surrogates."""
    start: int = -1
    """The character where the match begins; -1 for a line that only stands near."""


@dataclass(frozen=True, slots=True)
class FileEnd:
    """All of a file was searched."""

    path: str
    count: int
    """Lines that match."""
    binary: bool


class Stopped(Exception):
    """The search was ended before its end; the text says why."""


def ripgrep(environ: Mapping[str, str], around: Path | None = None) -> Path | None:
    """The program: beside this Python, where the package puts it, or on the path, outside of the workspace `around`."""
    beside = Path(sys.executable).parent / "rg"
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    found = find_program(environ, "rg", around=around)
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class Grep:
    """Searches files below a folder. `program` is ripgrep; without it, Python does the same, slower."""

    program: Path | None
    folder: Path
    signal: Signal
    deadline: float
    """On the monotonic clock."""

    def demand_pattern(self, request: Request) -> None:
        """Raises Refused where the expression is none."""
        if "\n" in request.pattern or "\0" in request.pattern:
            raise Refused("a pattern matches within one line: it holds no line end", hint="")
        errors = ""
        with tempfile.TemporaryFile() as told:
            for _ in self._lines(request, [os.devnull] if self.program else [], told):
                pass
            told.seek(0)
            errors = told.read(20_000).decode("utf-8", "replace")
        if found := re.findall(
            r"^PCRE2: error compiling pattern at offset \d+: (.*)|^error: (.*)", errors, re.MULTILINE
        ):
            reason = next((one for one, _ in found if one), found[-1][1])
            raise Refused(f"the pattern is no regular expression: {printable(reason, 300)}", hint="")

    def events(self, request: Request, *, ends_only: bool = False) -> Iterator[Row | FileEnd]:
        """Lines and ends of files (or only those), in the order of the files. Raises Stopped."""
        with tempfile.TemporaryFile() as told:
            for files in _batches(request.files):
                for line in self._lines(request, files, told):
                    if ends_only and not line.startswith((b'{"type":"end"', b'{"type": "end"')):
                        continue
                    if (found := _read(line)) is not None:
                        yield found

    def _command(self, request: Request, files: Sequence[str]) -> tuple[list[str], bytes]:
        if self.program is None:
            told = json.dumps(msgspec.to_builtins(msgspec.structs.replace(request, files=list(files))))
            return [sys.executable, "-P", "-m", "clew.services.tools.plain_grep"], told.encode()
        command = [str(self.program), "--no-config", "--json", "-j1", "--crlf", "--engine=auto"]
        command += ["--ignore-case"] * request.ignore_case + ["--fixed-strings"] * request.literal
        return [*command, f"--context={request.context}", "-e", request.pattern, "--", *files], b""

    def _lines(self, request: Request, files: Sequence[str], told: IO[bytes]) -> Iterator[bytes]:
        """Lines of the output of one process, which is ended with the search."""
        command, given = self._command(request, files)
        with tempfile.TemporaryFile() as asked:
            asked.write(given)
            asked.seek(0)
            try:
                process = subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=told, cwd=self.folder)
            except OSError as error:
                raise Refused(f"{command[0]} cannot be run: {error.strerror}") from error
        assert process.stdout is not None
        try:
            yield from self._output(process.stdout.fileno())
        finally:
            process.kill()
            process.stdout.close()
            process.wait()

    def _output(self, descriptor: int) -> Iterator[bytes]:
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                if self.signal.stopped:
                    raise Stopped("interrupted")
                if time.monotonic() > self.deadline:
                    raise Stopped("out of time")
                if not selector.select(_POLL):
                    continue
                block = os.read(descriptor, 1 << 18)
                if not block:
                    return
                *lines, last = block.split(b"\n")
                if lines:
                    # Of a line that is too long only the head is kept, which is no JSON then.
                    yield rest + lines[0] if len(rest) < _MOST_LINE else rest
                    yield from lines[1:]
                    rest = last
                elif len(rest) < _MOST_LINE:
                    rest += last


def _batches(files: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in files:
        size += len(os.fsencode(name)) + 9
        if batch and size > _BATCH_BYTES:
            yield batch
            batch, size = [], len(os.fsencode(name)) + 9
        batch.append(name)
    if batch:
        yield batch


def _read(line: bytes) -> Row | FileEnd | None:
    try:
        told = cast("dict[str, Any]", json.loads(line))
    except ValueError:
        return _endless(line)
    data = told["data"]
    match told["type"]:
        case "match" | "context":
            text = _text(data["lines"])
            start = -1
            if told["type"] == "match":
                offset = data["submatches"][0]["start"] if data["submatches"] else 0
                start = len(text.encode("utf-8", "surrogateescape")[:offset].decode("utf-8", "surrogateescape"))
            return Row(_text(data["path"]), data["line_number"], text.removesuffix("\n").removesuffix("\r"), start)
        case "end":
            return FileEnd(_text(data["path"]), data["stats"]["matched_lines"], data["binary_offset"] is not None)
        case _:
            return None


def _endless(line: bytes) -> Row | None:
    """The row of a line that is longer than what is kept of the output."""
    head = line[:20_000].decode("utf-8", "replace")
    if not head.startswith('{"type":"match"') or not (found := re.search(r'"path":(\{.*?\})', head)):
        return None
    return Row(_text(json.loads(found[1])), 0, "", 0)


def _text(said: dict[str, str]) -> str:
    if "text" in said:
        return said["text"]
    return b64decode(said["bytes"]).decode("utf-8", "surrogateescape")
