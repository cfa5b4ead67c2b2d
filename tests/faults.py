"""Death, failure, and an edit by hand at every call of the system that an operation makes.

A test module is the victim as a program: it carries out one operation, again and again on a fresh copy of the same
folder, and at the n-th call it dies, or that call fails, for n = 1, 2, … until the operation passes.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.stores import durable

ROOT = Path(__file__).resolve().parent.parent
IN_PLACE, BY_RENAMING = -1, -2
CALLS = (
    "open",
    "read",
    "write",
    "fsync",
    "fchmod",
    "close",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "ftruncate",
    "pwrite",
)


def say(words: object) -> None:
    """One line to whoever started this program."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def fault(number: int, code: int, edit: Callable[[], object]) -> Callable[[], bool]:
    """Let the call with this number fail with `code`; where that is 0 it is the death of this process, where it is
    negative, somebody edits the note by hand right before it.

    What is returned tells whether there was such a call.
    """
    seen = 0

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal seen
            # A file is closed in any case, whatever closing says.
            seen += not (code and name == "close")
            if seen == number and not (code and name == "close"):
                if code < 0:
                    edit()
                    return original(*arguments, **options)
                if name == "write":
                    original(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                if code:
                    raise OSError(code, os.strerror(code))
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))
    fcntl.flock = counted("flock", fcntl.flock)
    durable._exchange = counted("exchange", durable._exchange)
    return lambda: seen >= number


def victim(
    folder: Path,
    code: int,
    prepare: Callable[[Path], None],
    act: Callable[[Path], int],
    by_hand: Callable[[Path], None],
) -> None:
    """Make `folder/1`, `folder/2`, … and print for each how the operation ended there.

    That is what `act` gives: 0 where it passed (2 where a call failed all the same); 5 for an error of any other kind.
    """
    for number in range(1, 500):
        root = folder / str(number)
        prepare(root)
        child = os.fork()
        if not child:
            reached = fault(number, code, lambda: by_hand(root))  # noqa: B023 - this process makes no other
            try:
                end = act(root) or (2 if reached() else 0)
            except BaseException as error:  # noqa: BLE001 - any other error is what the test looks for
                sys.stderr.write(repr(error))
                end = 5
            os._exit(end)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        say(ended)
        if ended == 0:
            return


def play(
    prepare: Callable[[Path], None],
    act: Callable[[Path, str], int],
    by_hand: Callable[[Path, int], None],
    **others: Callable[..., None],
) -> None:
    """What a test module does as a program: `victim FOLDER OPERATION CODE`, or another part by its name."""
    match sys.argv[1:]:
        case ["victim", folder, operation, code]:
            number = int(code)
            victim(Path(folder), number, prepare, lambda root: act(root, operation), lambda root: by_hand(root, number))
        case [name, folder, *rest]:
            others[name](Path(folder), *rest)


def program(module: str) -> list[str]:
    """How a test module is run as a program, in the folder ROOT."""
    return [sys.executable, "-m", module]


def suffered(module: str, folder: Path, operation: str, code: int) -> list[tuple[Path, int]]:
    """The folders that the victim left, and how the operation ended in each."""
    command = [*program(module), "victim", str(folder), operation, str(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=ROOT)
    assert not done.stderr, done.stderr
    return [(folder / str(number), int(line)) for number, line in enumerate(done.stdout.split(), 1)]
