"""End what a session started, also when the session itself was killed. Runs as a script of its own too.

As a script it imports the standard library only and starts in a few hundredths of a second:

* `keep TOKEN`: reads `+PID` and `-PID`, the leaders of groups, from standard input. The session holds the other end
  of that pipe; when it closes, for whatever reason, everything that bears the token is ended.
* `launch PROGRAM ARGUMENT…`: makes the terminal on its standard input its own, then becomes the program. A fork
  without exec inside a process with threads may hang, so that nothing of this is done between the two.

What belongs to a session is found by three traces: the group or session of a leader, descent, and a variable that
each program inherits. The last one also finds what left its group and lost its parents.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

VARIABLE = "CLEW_SHELL"
"""Holds `TOKEN.NAME` in each program that a session starts."""
KEEPER = "keeper"
"""Value of the variable in a keeper, which no other session may end as its descendant."""
GRACE = 1.0
"""Seconds between asking and killing after the session has gone."""
_LAST = 3.0
"""Seconds in which killing is tried again, for programs that fork faster than they are found."""
_LINUX = sys.platform == "linux"


class Process(NamedTuple):
    """One live process; a zombie is none."""

    pid: int
    parent: int
    group: int
    session: int
    """0 where the system does not tell."""
    words: bytes
    """Command and environment where one call tells them for all; else empty."""


def processes() -> list[Process]:
    """All live processes that can be seen."""
    return list(_from_proc() if _LINUX else parsed(_listed("-AEww")))


def _from_proc() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            head, _, rest = _read(f"/proc/{name}/stat").rpartition(b")")
            fields = rest.split(maxsplit=4)
            if head and len(fields) == 5 and fields[0] not in b"ZX":
                yield Process(int(name), int(fields[1]), int(fields[2]), int(fields[3]), b"")


def _listed(*flags: str) -> bytes:
    """What ps says, one process a line, its environment behind its command."""
    return _columns("pid=,ppid=,pgid=,stat=,command=", *flags)


def _columns(columns: str, *flags: str) -> bytes:
    import subprocess  # noqa: PLC0415  # slow to import, and Linux does without

    line = ["/bin/ps", *flags, "-o", columns]
    try:
        return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return b""


def parsed(listing: bytes) -> Iterator[Process]:
    """Processes of a listing with the columns pid, parent, group, state, command and environment."""
    for line in listing.splitlines():
        fields = line.split(maxsplit=4)
        if len(fields) == 5 and all(field.isdigit() for field in fields[:3]) and fields[3][:1] not in b"ZX":
            yield Process(int(fields[0]), int(fields[1]), int(fields[2]), 0, fields[4])


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # gone by now, or somebody else's


def _bears(process: Process, value: str) -> bool:
    """Whether the variable of a process begins with `value`; an end of it is told by the caller, as `NAME\\0`."""
    wanted = f"{VARIABLE}={value}".encode()
    if _LINUX:
        return b"\0" + wanted in b"\0" + _read(f"/proc/{process.pid}/environ")
    return b" " + wanted.replace(b"\0", b" ") in b" " + process.words + b" "


def belonging(value: str, leaders: Collection[int], *, strays: bool = True) -> set[int]:
    """Ids of live processes that bear `value`, are in a group or session of `leaders`, or descend from such.

    Without `strays` only those in the groups.
    """
    everything = processes()
    if not strays:
        return {process.pid for process in everything if process.group in leaders}
    own = {one.pid for one in everything if one.group in leaders or one.session in leaders or _bears(one, value)}
    found = set(own)
    while more := {one.pid for one in everything if one.parent in found} - found:
        found |= more
    keepers = {one.pid for one in everything if one.pid in found - own and _bears(one, KEEPER)}
    return found - keepers - {os.getpid()}


def resident(pids: Collection[int]) -> int:
    """Bytes of real memory that processes use together; what they share counts for each."""
    if not pids:
        return 0
    if _LINUX:
        pages = (_read(f"/proc/{pid}/statm").split()[1:2] for pid in pids)
        return sum(int(one[0]) for one in pages if one) * os.sysconf("SC_PAGE_SIZE")
    rows = _columns("rss=", "-p", ",".join(map(str, pids)))
    return sum(int(row) for row in rows.split() if row.isdigit()) << 10


def end(value: str, leaders: Collection[int], grace: float, *, strays: bool = True) -> int:
    """Ask all that belong to end, kill what is left after `grace` seconds. How many there were at first."""
    asked: set[int] = set()
    deadline = time.monotonic() + grace
    pause = 0.005
    left = first = belonging(value, leaders, strays=strays)
    while left and time.monotonic() < deadline:
        for pid in sorted(left - asked, key=lambda pid: pid not in leaders):  # a shell tells of what died before it
            # An interactive shell heeds the first, most programs both; a stopped one must go on to heed any.
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
                _send(pid, number)
        asked |= left
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
        left = belonging(value, leaders, strays=strays)
    deadline = time.monotonic() + _LAST
    while left and time.monotonic() < deadline:
        for pid in sorted(left, key=lambda pid: pid not in leaders):
            _send(pid, signal.SIGKILL)
        time.sleep(0.005)
        left = belonging(value, leaders, strays=strays)
    return len(first)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def keep(token: str) -> None:
    """Wait until the session is gone, then end what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    leaders: set[int] = set()
    for line in sys.stdin:
        if not line.endswith("\n"):
            break  # cut off: half a number is another's
        (leaders.add if line[0] == "+" else leaders.discard)(int(line[1:]))
    for _ in range(3):
        # A program may be on its way between fork and exec, when it bears nothing yet.
        if end(f"{token}.", leaders, GRACE):
            time.sleep(0.05)


def launch(argv: list[str]) -> None:
    """Become `argv` as the leader of a session with the terminal on standard input."""
    import fcntl  # noqa: PLC0415  # not there on Windows
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(sys.argv[2])
    else:
        launch(sys.argv[2:])
