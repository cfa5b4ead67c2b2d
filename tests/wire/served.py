"""`clew mcp --http` in a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.command import ARGV, environ


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens."""

    url: str
    port: int
    token: str
    process: subprocess.Popen[str]


@contextmanager
def served(cwd: Path, *options: str) -> Iterator[Served]:
    """A server on a free port, until the end of the block."""
    process = subprocess.Popen(
        [*ARGV, "mcp", "--http", *options], cwd=cwd, env=environ({}), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        match = re.fullmatch(r"(http://\S+:(\d+)/mcp) · token in (.+)\n", said)
        assert match, said
        yield Served(match[1], int(match[2]), Path(match[3]).read_text(encoding="ascii").strip(), process)
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
