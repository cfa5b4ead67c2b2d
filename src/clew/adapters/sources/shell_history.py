"""The last commands of the user's shell. Off until the user switches it on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.text.printable import counted, printable
from clew.core.text.redact import redact
from clew.system import is_own, open_regular

_TAIL = 256 * 1024
_MOST_CHARACTERS = 300
_FILES = {"bash": (".bash_history",), "zsh": (".zsh_history", ".histfile"), "fish": ()}


class ShellHistory:
    """One fragment with the last commands, oldest first, without secrets."""

    name = "shell_history"

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        enabled: bool = False,
        weight: int = DEFAULT_WEIGHTS["shell_history"],
        commands: int = 30,
    ) -> None:
        self._environ = environ
        self._enabled = enabled
        self._weight = weight
        self._commands = commands

    def collect(self, question: str) -> Sequence[Fragment]:
        """The commands; nothing while switched off, or without a history that belongs to the user."""
        if not self._enabled:
            return ()
        found = ((tail, shell) for path, shell in _candidates(self._environ) if (tail := _tail(path)) is not None)
        tail, shell = next(found, (b"", ""))
        commands = _without_repeats(_parsed(tail, shell))[-self._commands :]
        redacted = redact("\n".join(printable(command, _MOST_CHARACTERS) for command in commands))
        if not redacted.text:
            return ()
        note = f"redacted: {counted(redacted.count, 'secret')}" if redacted.count else ""
        line = f"the last {len(commands)} commands of {shell}"
        return (Fragment(self.name, "shell:history", redacted.text, self._weight, line=line, note=note),)


def _candidates(environ: Mapping[str, str]) -> Iterable[tuple[Path, str]]:
    shell = os.path.basename(environ.get("SHELL", ""))
    shell = shell if shell in _FILES else "bash"
    home = environ.get("HOME", "")
    named = environ.get("HISTFILE", "")
    if "HISTFILE" in environ:
        # Empty or /dev/null is how one keeps a shell from writing a history: no other file is looked for.
        if os.path.isabs(named):
            yield Path(named), shell
    elif os.path.isabs(home):
        for name in _FILES[shell]:
            yield Path(home) / name, shell
        if shell == "fish":
            shared = environ.get("XDG_DATA_HOME", "")
            yield (Path(shared) if os.path.isabs(shared) else Path(home) / ".local/share") / "fish/fish_history", shell


def _tail(path: Path) -> bytes | None:
    """The last bytes of a regular file of this user."""
    try:
        file = open_regular(path, follow=True)
    except (OSError, ValueError):
        return None
    with file:
        status = os.fstat(file.fileno())
        if not is_own(status):
            return None
        start = max(0, status.st_size - _TAIL)
        file.seek(start)
        content = file.read(_TAIL)
    # The first line of a tail may be the end of a longer one.
    return content if start == 0 else content.partition(b"\n")[2]


def _parsed(content: bytes, shell: str) -> list[str]:
    if shell == "fish":
        # fish escapes backslashes and line breaks within a command.
        lines = content.decode("utf-8", "replace").splitlines()
        commands = [line.removeprefix("- cmd: ") for line in lines if line.startswith("- cmd: ")]
        return [re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], command) for command in commands]
    if shell == "zsh":
        text = _unmetafied(content).decode("utf-8", "replace").replace("\\\n", "\0")
        lines = [line.replace("\0", "\n") for line in text.split("\n")]
        return [re.sub(r"^: [0-9]{1,12}:[0-9]{1,9};", "", line) for line in lines if line.strip()]
    lines = content.decode("utf-8", "replace").splitlines()
    # With HISTTIMEFORMAT, a line `#1700000000` stands before each command.
    return [line for line in lines if line.strip() and not re.fullmatch(r"#[0-9]{6,12}", line)]


def _unmetafied(content: bytes) -> bytes:
    """zsh writes some bytes as 0x83 and the byte with its sixth bit flipped."""
    return re.sub(rb"\x83(.)", lambda match: bytes((match[1][0] ^ 32,)), content, flags=re.DOTALL)


def _without_repeats(commands: Sequence[str]) -> list[str]:
    return [command for before, command in zip(("", *commands), commands, strict=False) if command != before]
