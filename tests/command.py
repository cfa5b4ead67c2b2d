"""Runs the real command in a process of its own, as a user would, in folders that a test makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

ARGV = (sys.executable, "-m", "clew")

AS_ADA = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05+01:00",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+01:00",
}
"""All that git is told of the world where a test names who commits, and when."""

HARBOUR = {
    "README.md": "# Harbour\n\nBooks berths for ships. Start it with `make run`.\n",
    "src/retry.py": (
        '"""Retries of requests that failed."""\n\n\n'
        "def retry_with_backoff(call, attempts=5, timeout=30.0):\n"
        '    """Call again after a failure, with a delay that doubles, until the timeout is over."""\n'
        "    for attempt in range(attempts):\n"
        "        delay = 2**attempt\n"
        "        yield delay\n"
    ),
    "src/berths.py": (
        '"""Which berth is free."""\n\n\ndef free_berths(harbour, ship):\n'
        '    """Berths that are long and deep enough for the ship."""\n'
        "    return [berth for berth in harbour.berths if berth.length >= ship.length]\n"
    ),
    "docs/deploy.md": "# Deployment\n\nThe service runs in two zones. Roll back with `make rollback`.\n",
    "docs/重试机制.md": "# 重试机制\n\n请求超时后会重试，最多五次，每次等待的时间加倍。\n",
}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, read."""
        return json.loads(self.out)


def clew(
    *arguments: str | os.PathLike[str],
    cwd: Path,
    stdin: str | bytes = b"",
    env: Mapping[str, str | None] | None = None,
    timeout: float = 120,
    **more: Any,
) -> Done:
    """Run `clew ARGUMENTS` and wait. `env` is laid over the environment of the test; None takes a name out."""
    done = subprocess.run(
        [*ARGV, *(os.fspath(argument) for argument in arguments)],
        cwd=cwd,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        env=environ(env or {}),
        capture_output=True,
        timeout=timeout,
        check=False,
        **more,
    )
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def on_terminal(*arguments: str, cwd: Path, env: Mapping[str, str | None] | None = None) -> bytes:
    """What a command writes to a terminal that it has for itself."""
    main, side = os.openpty()
    child = subprocess.Popen([*ARGV, *arguments], cwd=cwd, env=environ(env or {}), stdin=side, stdout=side, stderr=side)
    os.close(side)
    said = b""
    try:
        while piece := os.read(main, 4096):
            said += piece
    except OSError:
        pass  # Linux tells the end of a terminal in this way.
    finally:
        os.close(main)
    child.wait(timeout=60)
    return said


def environ(changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of the test with changes."""
    kept = {name: value for name, value in os.environ.items() if changes.get(name, "") is not None}
    return kept | {name: value for name, value in changes.items() if value is not None}


def command_tree(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, with the words that call them."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from command_tree(below, *path, name)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make the files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def git(folder: Path, *arguments: str, ok: bool = True) -> str:
    """Run git as Ada, with no settings but the repository's. What it printed, without blanks around it."""
    done = subprocess.run(["git", *arguments], cwd=folder, env=AS_ADA, capture_output=True, check=False)
    assert not ok or done.returncode == 0, done.stderr
    return os.fsdecode(done.stdout).strip()


def commit(root: Path, message: str = "Book berths") -> str:
    """Put a folder under git, all of it in one commit. Its hash."""
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", message)):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def script(path: Path, *replies: str | dict[str, object]) -> str:
    """A scripted model; give the result to --model."""
    path.write_text(json.dumps({"replies": list(replies)}), encoding="utf-8")
    return f"scripted:{path}"
