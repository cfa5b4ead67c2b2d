"""Programs that a session runs, on a terminal of their own or on a pipe, as POSIX systems have it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from clew.adapters import shell_keeper
from clew.core.ports import Exit
from clew.errors import NotFound, StoreError

_PIECE = 512
"""Bytes written to a terminal at once: what is not read stays with us, and the rest of the text can be reported."""
_MOST_ERRORS = 4096
"""Bytes that are kept of what a program writes to its errors."""
_PYTHON = (sys.executable, "-I", "-S", shell_keeper.__file__)


class PosixPrograms:
    """Starts programs and ends them with the session, also when the session is killed.

    A keeper, a process of its own that starts with the first program, ends all when the pipe to it closes.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._leaders: set[int] = set()
        self._numbers = itertools.count(1)

    def on_terminal(
        self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str, size: tuple[int, int]
    ) -> OnTerminal:
        """Start a program on a terminal of `size` (columns, rows). Raises NotFound, StoreError."""
        main, side = _opened(os.openpty)
        try:
            _set_size(main, size)
            os.set_blocking(main, False)
            child = self._start([*_PYTHON, "launch", *argv], folder, environ, name, side, side)
        except BaseException:
            os.close(main)
            raise
        finally:
            os.close(side)
        return OnTerminal(self, child, main, self._value(name))

    def on_pipe(self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str) -> OnPipe:
        """Start a program without input, whose output and errors come together. Raises NotFound, StoreError."""
        ours, theirs = _opened(os.pipe)
        try:
            os.set_blocking(ours, False)
            child = self._start(argv, folder, environ, name, subprocess.DEVNULL, theirs)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return OnPipe(self, child, ours, self._value(name))

    def on_pipes(self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str) -> OnPipes:
        """Start a program that is talked to: input, output and errors apart. Several may have one name. Raises
        NotFound, StoreError."""
        # What ends one of them must not end another one.
        name = f"{name}.{next(self._numbers)}"
        opened: list[int] = []
        try:
            for _ in range(3):
                opened += _opened(os.pipe)
        except StoreError:
            for number in opened:
                os.close(number)
            raise
        theirs_in, ours_in, ours_out, theirs_out, ours_err, theirs_err = opened
        try:
            os.set_blocking(ours_out, False)
            os.set_blocking(ours_in, False)
            child = self._start(argv, folder, environ, name, theirs_in, theirs_out, theirs_err)
        except BaseException:
            for number in (ours_in, ours_out, ours_err):
                os.close(number)
            raise
        finally:
            for number in (theirs_in, theirs_out, theirs_err):
                os.close(number)
        return OnPipes(self, child, ours_out, self._value(name), ours_in, ours_err)

    def close(self) -> None:
        """End everything that was started here, also what its programs started. Safe to call twice."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper.stdin is not None:
            with contextlib.suppress(OSError):
                keeper.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(timeout=15)

    def mark(self, name: str) -> dict[str, str]:
        """The variable for a program that is started elsewhere; whatever bears it ends with the session."""
        with self._lock:
            self._watch()
        return {shell_keeper.VARIABLE: f"{self._token}.{name}"}

    def watch(self, leader: int) -> None:
        """A program that bears such a mark leads a session of its own: all of that ends with this one, too."""
        with self._lock:
            self._leaders.add(leader)
            self._tell(f"+{leader}")

    def end(self, name: str, leader: int, grace: float) -> int:
        """End what bears the mark of `name` or belongs to `leader`; asked at first, killed after `grace` seconds."""
        return shell_keeper.end(self._value(name), (leader,), grace)

    def forget(self, leader: int) -> None:
        """The id of this leader may be another's from now on."""
        with self._lock:
            self._leaders.discard(leader)
            self._tell(f"-{leader}")

    def _value(self, name: str) -> str:
        return f"{self._token}.{name}\0"

    def _start(
        self, argv: Sequence[str], folder: str, environ: Mapping[str, str], name: str, stdin: int, stdout: int,
        stderr: int | None = None,
    ) -> subprocess.Popen[bytes]:  # fmt: skip
        if not os.path.isdir(folder):
            raise NotFound(f"there is no folder {folder}", hint="name a folder that exists")
        with self._lock:
            try:
                self._watch()
                child = subprocess.Popen(
                    list(argv),
                    cwd=folder,
                    env={**environ, shell_keeper.VARIABLE: f"{self._token}.{name}"},
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stdout if stderr is None else stderr,
                    start_new_session=True,
                )
            except OSError as error:
                raise _not_started(error) from error
            self._leaders.add(child.pid)
            self._tell(f"+{child.pid}")
        return child

    def _watch(self) -> None:
        """See that a keeper runs."""
        if self._keeper is not None:
            if self._keeper.poll() is None:
                return
            if self._keeper.stdin is not None:
                with contextlib.suppress(OSError):
                    self._keeper.stdin.close()
        self._keeper = subprocess.Popen(
            [*_PYTHON, "keep", self._token],
            cwd="/",
            env={shell_keeper.VARIABLE: shell_keeper.KEEPER},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for leader in self._leaders:
            self._tell(f"+{leader}")

    def _tell(self, line: str) -> None:
        if self._keeper is not None and self._keeper.stdin is not None:
            # A keeper that somebody ended is replaced with the next start.
            with contextlib.suppress(OSError):
                self._keeper.stdin.write(line.encode() + b"\n")
                self._keeper.stdin.flush()


class OnPipe:
    """A program on a pipe, the leader of a process group and of a session."""

    def __init__(self, programs: PosixPrograms, child: subprocess.Popen[bytes], reads: int, value: str) -> None:
        self._programs = programs
        self._child = child
        self._value = value
        self._reads = reads
        self._woken, self._wakes = os.pipe()
        self._open = True
        self._gone = False
        self._reading = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Id of the program, of its group and of its session."""
        return self._child.pid

    def read(self, limit: int, patience: float | None = None) -> bytes | None:
        """What came, at most `limit` bytes; empty at the end; None when nothing came within `patience` seconds.

        For one thread at a time. The end comes when nobody holds the other end, or after `close`.
        """
        with self._lock:
            if self._gone:
                return b""
            self._reading = True
        try:
            data = self._next(limit, patience)
        finally:
            with self._lock:
                self._reading = False
        if data == b"" or self._gone:
            self._shut()
            return b""
        return data

    def _next(self, limit: int, patience: float | None) -> bytes | None:
        while self._open:
            try:
                return os.read(self._reads, limit)
            except BlockingIOError:
                ready = _ready(self._reads, self._woken, patience)
                if self._gone or not ready:
                    return None
            except OSError as error:
                # Linux tells the end of a terminal in this way.
                if error.errno != errno.EIO:
                    raise
                break
        return b""

    def poll(self) -> Exit | None:
        """How the program ended; None while it runs."""
        with self._lock:
            if self._child.returncode is None and hasattr(os, "waitid"):
                # Not reaped here: as long as it is not, its id names its group and no other.
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                return found and _exit(found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
            code = self._child.poll()
            return None if code is None else _exit(code)

    def end(self, grace: float, *, strays: bool = True) -> int:
        """End the program with its group, and with `strays` also what left the group. How many processes that were.

        They are asked at first and killed after `grace` seconds.
        """
        with self._lock:
            # Once reaped the id may be another's, but hardly at once, when a command's background is looked for.
            reaped = self._child.returncode is not None
            leaders = () if reaped and strays else (self.pid,)
        return shell_keeper.end(self._value, leaders, grace, strays=strays)

    def close(self) -> None:
        """Take no more output. The program must have ended. Safe to call twice, and while another thread reads."""
        with self._lock:
            if self._gone:
                return
            self._gone = True
            reading = self._reading
            if reading:
                os.write(self._wakes, b".")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(timeout=5)
        if not reading:
            self._shut()
        self._programs.forget(self.pid)

    def _shut(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                for number in (self._reads, self._woken, self._wakes):
                    os.close(number)


class OnTerminal(OnPipe):
    """A program on a terminal of its own."""

    def write(self, data: bytes, patience: float) -> int:
        """Type `data`. How many bytes were taken within `patience` seconds: a program may not read."""
        sent = 0
        deadline = time.monotonic() + patience
        while sent < len(data):
            with self._lock:
                if not self._open:
                    break
                try:
                    sent += os.write(self._reads, data[sent : sent + _PIECE])
                    continue
                except BlockingIOError:
                    pass
                except OSError:
                    break
            if time.monotonic() >= deadline:
                break
            time.sleep(0.01)
        return sent

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and tell the program."""
        with self._lock:
            if self._open:
                _set_size(self._reads, (columns, rows))


class OnPipes(OnPipe):
    """A program that is talked to; what it writes to its errors is kept apart."""

    def __init__(
        self, programs: PosixPrograms, child: subprocess.Popen[bytes], reads: int, value: str, writes: int, errors: int
    ) -> None:
        super().__init__(programs, child, reads, value)
        self._writes = writes
        self._writing = threading.Lock()
        self._tail = b""
        self._draining = threading.Thread(target=self._drain, args=(errors,), name="clew-stderr", daemon=True)
        self._draining.start()

    def limit_room(self, most: int) -> None:
        """Give it, and each program that it starts from now on, at most `most` bytes of memory of its own and no image
        of that on disk, where the system can be told so: for what grows faster than it is looked at."""
        if sys.platform == "linux":
            import resource  # noqa: PLC0415 -- not on every platform

            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(self.pid, resource.RLIMIT_CORE, (0, 0))
                resource.prlimit(self.pid, resource.RLIMIT_DATA, (most, most))

    def write(self, data: bytes, patience: float) -> int:
        """Hand over `data`. How many bytes were taken within `patience` seconds; for one thread at a time."""
        sent = 0
        deadline = time.monotonic() + patience
        with self._writing:
            while sent < len(data) and self._writes >= 0:
                try:
                    sent += os.write(self._writes, data[sent : sent + (64 << 10)])
                except BlockingIOError:
                    left = deadline - time.monotonic()
                    poll = select.poll()
                    poll.register(self._writes, select.POLLOUT)
                    if left <= 0 or not poll.poll(left * 1000):
                        break
                except OSError:
                    break
        return sent

    def errors(self, wait: float = 0) -> str:
        """The last that it wrote to its errors; of a program that has ended all, which may take at most `wait` s."""
        if wait:
            self._draining.join(wait)
        return self._tail.decode("utf-8", "replace")

    def memory(self, *, strays: bool = False) -> int:
        """Bytes of real memory that its group uses; with `strays` also what left the group."""
        found = shell_keeper.belonging(self._value, (self.pid,), strays=strays)
        return shell_keeper.resident(found)

    def close(self) -> None:
        """Take no more output and give no more input."""
        with self._writing:
            if self._writes >= 0:
                os.close(self._writes)
                self._writes = -1
        super().close()

    def _drain(self, errors: int) -> None:
        with os.fdopen(errors, "rb", buffering=0) as file:
            while piece := file.read(_MOST_ERRORS):
                self._tail = (self._tail + piece)[-_MOST_ERRORS:]


def _opened(kind: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Both ends of a pipe or of a terminal. Raises StoreError."""
    try:
        return kind()
    except OSError as error:
        raise _not_started(error) from error


def _not_started(error: OSError) -> StoreError:
    return StoreError(f"the program could not be started: {error.strerror}", hint="end programs that are not needed")


def _set_size(terminal: int, size: tuple[int, int]) -> None:
    import termios  # noqa: PLC0415 -- not on every platform

    termios.tcsetwinsize(terminal, (size[1], size[0]))


def _ready(reads: int, woken: int, patience: float | None) -> set[int]:
    poll = select.poll()
    poll.register(reads, select.POLLIN)
    poll.register(woken, select.POLLIN)
    return {number for number, _ in poll.poll(None if patience is None else max(patience, 0) * 1000)}


def _exit(code: int) -> Exit:
    if code >= 0:
        return Exit(code)
    try:
        return Exit(None, signal.Signals(-code).name)
    except ValueError:
        return Exit(None, f"signal {-code}")
