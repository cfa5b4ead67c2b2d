"""Run git so that the configuration of a foreign repository starts nothing, asks nothing and fetches nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.errors import NotFound, OverBudget, StoreError

_MARKS = (".git", ".clew.yaml", ".ctxmode.yaml")
"""What a project has in its top folder."""
HERE = Path(os.curdir)
"""The current folder, whichever that is at the time."""
_STARTED = ("git", "ssh", "gpg")
"""Programs that are started for memory and for facts about a repository."""
_SYSTEM = frozenset({"/bin", "/usr/bin"})
_EMPTY = "CLEW_GIT_EMPTY"
_MOST_STDERR = 4096
_CHUNK = 1 << 16

_HARDENED = (
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "credential.helper=",
    "diff.autoRefreshIndex=false",
    "diff.external=",
    "diff.renameLimit=200",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "color.ui=false",
)
"""Keys with which a repository could name a program, or change the form of what is read here."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a git command gave. `status` is None when it was stopped: out of time, or longer than the limit."""

    stdout: bytes
    stderr: str
    status: int | None
    cut: bool = False
    """The output was longer than the limit; `stdout` is its beginning."""

    @property
    def good(self) -> bool:
        """The command ended by itself and with success."""
        return self.status == 0


@dataclass(frozen=True, slots=True)
class GitCommand:
    """A git program, the folder it runs in and its clean environment."""

    program: str
    folder: Path
    environ: Mapping[str, str]
    overrides: tuple[str, ...] = ()
    """Further keys that are emptied, for instance `filter.evil.clean`."""
    seconds: float = 10.0
    """How long a command may keep silent before it is stopped."""

    def run(self, *arguments: str, limit: int = 32 << 20) -> Output:
        """The whole output, at most `limit` bytes."""
        stream = GitStream(self, arguments)
        parts: list[bytes] = []
        size = 0
        with contextlib.closing(stream.chunks()) as chunks:
            for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return Output(b"".join(parts)[:limit], stream.stderr, stream.status, cut=size > limit)

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """The command line. A git before 2.31 does not know `--config-env` and fails, which is how it is told."""
        line = [self.program, "--no-pager", "--no-optional-locks", "--literal-pathspecs"]
        for setting in _HARDENED:
            line += ["-c", setting]
        for key in ("core.askPass", *self.overrides):
            line.append(f"--config-env={key}={_EMPTY}")
        return [*line, *arguments]

    def start(self, arguments: Sequence[str], *, stdin: bool = False) -> subprocess.Popen[bytes]:
        """The running command, in a process group of its own. Raises OSError."""
        if any("\0" in one for one in arguments):
            # From an odd answer of an earlier call: no name, no commit.
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return subprocess.Popen(
            self.argv(arguments),
            cwd=self.folder,
            env=dict(self.environ),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if stdin else subprocess.PIPE,
            start_new_session=True,
        )


class GitStream:
    """One command whose output is read piece by piece."""

    def __init__(self, command: GitCommand, arguments: Sequence[str]) -> None:
        self._command = command
        self._arguments = arguments
        self.stderr = ""
        self.status: int | None = None
        """Exit status; None while it runs, when it was stopped, or when it could not be started."""

    def chunks(self) -> Generator[bytes, None, None]:
        """Pieces of the output. Closing the iterator stops the command. Time of the caller does not count."""
        try:
            process = self._command.start(self._arguments)
        except OSError as error:
            self.stderr = str(error)
            return
        try:
            yield from self._read(process)
        finally:
            stop(process)

    def _read(self, process: subprocess.Popen[bytes]) -> Generator[bytes, None, None]:
        assert process.stdout and process.stderr
        errors = bytearray()
        left = self._command.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                before = time.monotonic()
                ready = selector.select(left)
                left -= time.monotonic() - before
                if not ready or left <= 0:
                    self.stderr = "out of time"
                    return
                for key, _ in ready:
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is process.stdout:
                        left = self._command.seconds
                        yield chunk
                    elif len(errors) < _MOST_STDERR:
                        errors += chunk
        self.stderr = errors.decode("utf-8", "replace")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.status = process.wait(timeout=max(left, 0.1))


class BlobReader:
    """Reads blobs through one `git cat-file --batch`, started with the first read. For one thread at a time."""

    def __init__(self, command: GitCommand) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    def __enter__(self) -> BlobReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, blob: str, limit: int = 8 << 20) -> bytes:
        """The bytes of a blob by its id. Raises NotFound; OverBudget when it has more than `limit` bytes."""
        if not blob.isalnum():
            raise NotFound("That is no id of a blob")
        try:
            head = self._ask(blob)
            if len(head) != 3 or head[1] != b"blob":
                if len(head) == 3:
                    self.close()
                raise NotFound(f"There is no blob {blob[:12]}")
            if not head[2].isdigit():
                raise EOFError
            size = int(head[2])
            if size > limit:
                # Ending the process costs less than reading what nobody wants.
                self.close()
                raise OverBudget(f"Blob {blob[:12]} has {size:,} bytes, more than {limit:,}", size=size, limit=limit)
            self._fill(size + 1)
        except (OSError, EOFError) as error:
            self.close()
            raise NotFound(f"Blob {blob[:12]} cannot be read") from error
        content = bytes(self._buffer[:size])
        del self._buffer[: size + 1]
        return content

    def close(self) -> None:
        """End the process. Safe to call twice; the next read starts another."""
        if self._process is not None:
            stop(self._process)
            self._process = None
        self._buffer.clear()

    def _ask(self, blob: str) -> list[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._command.start(["cat-file", "--batch"], stdin=True)
        assert self._process.stdin
        self._process.stdin.write(blob.encode() + b"\n")
        self._process.stdin.flush()
        while b"\n" not in self._buffer:
            self._fill(len(self._buffer) + 1)
        head, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return head.split()

    def _fill(self, size: int) -> None:
        assert self._process and self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while len(self._buffer) < size:
                if not selector.select(self._command.seconds):
                    raise EOFError
                chunk = os.read(self._process.stdout.fileno(), _CHUNK)
                if not chunk:
                    raise EOFError
                self._buffer += chunk


def demand_fields(row: bytes, count: int, *, none: str = "") -> list[str]:
    """The words of a row that must have so many, the last a number or `none`. Raises StoreError."""
    fields = row.decode("ascii", "replace").split()
    if len(fields) != count or not (fields[-1].isdecimal() or fields[-1] == none):
        raise StoreError("git does not answer as git does", hint="look at which git is first on PATH")
    return fields


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process with all it started, and close its pipes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def find_program(environ: Mapping[str, str], name: str = "git", *, around: Path | None = None) -> str | None:
    """The program on the absolute folders of PATH: a relative one could lie in the repository itself.

    With `around`, the first that does not lie in the workspace around that folder, nor is a link to what does.
    """
    top = workspace_top(around, environ) if around else None
    for folder in _folders(environ, top):
        found = shutil.which(name, path=folder)
        if found and not (top and Path(os.path.realpath(found)).is_relative_to(top)):
            return found
    return None


def apart(environ: Mapping[str, str], around: Path) -> dict[str, str]:
    """The environment with a PATH that leads nowhere into the workspace around a folder: what runs unasked, and what
    that starts, must not come from there."""
    return {**environ, "PATH": os.pathsep.join(_folders(environ, workspace_top(around, environ)))}


def workspace_top(folder: Path, environ: Mapping[str, str]) -> Path | None:
    """The outermost folder, but the home and those above it, that holds `folder` and looks like a project, so that a
    submodule does not trust what holds it; else the folder itself. None for `/`, which holds everything."""
    try:
        real = Path(os.path.realpath(folder))
    except FileNotFoundError:
        return None  # the current folder is gone, and nothing lies in it
    home = Path(os.path.realpath(environ.get("HOME") or "/"))
    marked = [one for one in (real, *real.parents) if any(os.path.lexists(one / mark) for mark in _MARKS)]
    within = [one for one in marked if not home.is_relative_to(one)]
    top = within[-1] if within else marked[0] if marked else real
    return top if top != top.parent else None


def _folders(environ: Mapping[str, str], top: Path | None) -> list[str]:
    """The absolute folders of PATH that do not lie in `top`, as written, where they lead, or by links in them."""

    def is_apart(folder: str) -> bool:
        if top is None or folder in _SYSTEM:
            return True
        names = [os.path.normpath(folder), *(os.path.realpath(os.path.join(folder, one)) for one in ("", *_STARTED))]
        return not any(Path(name).is_relative_to(top) for name in names)

    every = environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in every if os.path.isabs(folder) and is_apart(folder)]


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: without GIT_* (a hook's would redirect it), never asking, never paging, in English."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") and name != "LANGUAGE"}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "false",
        "SSH_ASKPASS": "false",
        "LC_ALL": "C",
        _EMPTY: "",
    }
