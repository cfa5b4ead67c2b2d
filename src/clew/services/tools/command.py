"""What commands of the agent have in common: folder, environment, shell, and the bounds of what a model reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew.adapters.git_process import find_program
from clew.core.text.printable import printable
from clew.errors import ClewError, UsageError
from clew.services.tools.reach import reached
from clew.services.tools.tool import Reply

MOST_LINES = 2_000
MOST_BYTES = 50_000
MARGIN = 8 << 10
"""Bytes on both sides of what is shown that are looked at for secrets which the edge cuts."""

_PROVIDERS = (
    "ANTHROPIC|AZURE_OPENAI|CEREBRAS|CLAUDE|CODEX|COHERE|CO|DASHSCOPE|DEEPSEEK|FIREWORKS|GEMINI|GOOGLE|GROQ|HF|HUGGINGFACE|"
    "MISTRAL|MOONSHOT|NVIDIA|OLLAMA|OPENAI|OPENROUTER|PERPLEXITY|REPLICATE|TOGETHER|VOYAGE|XAI|ZAI|ZHIPUAI"
)
_WITHHELD = re.compile(rf"CLEW_.*|(?:{_PROVIDERS})_(?:API_KEY|API_TOKEN|AUTH_TOKEN|OAUTH_TOKEN|TOKEN|ADMIN_KEY)")
_COLOUR = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "COLORTERM", "LS_COLORS", "COLUMNS", "LINES"})


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where commands run and what may come of them."""

    root: Path
    """The workspace, absolute and without links."""
    environ: Mapping[str, str]
    """The environment of programs, from `command_environ`."""
    redact: Callable[[str], str]
    """Takes secrets out of what a model reads."""

    def folder(self, cwd: str) -> tuple[Path, bool]:
        """The folder that is meant, and whether it is outside the workspace. Raises UsageError."""
        if "\0" in cwd:
            raise UsageError("a folder's name cannot hold a NUL", hint="name a folder of the workspace")
        found = Path(os.path.realpath(self.root / cwd))
        return found, not found.is_relative_to(self.root)

    def reached(self, command: str, folder: Path) -> tuple[str, ...]:
        """Paths outside the workspace that a command names when it runs in `folder`, as far as its words tell."""
        return reached(command, folder, self.root, self.environ)

    def shown(self, folder: Path) -> str:
        """A folder as models and people read it."""
        inside = folder.is_relative_to(self.root)
        return printable(str(folder.relative_to(self.root) if inside else folder))


def command_environ(
    environ: Mapping[str, str], *, secrets: Collection[str] = (), hand_on: Collection[str] = ()
) -> dict[str, str]:
    """The environment for programs that a model starts.

    Clew's own variables and the keys of model providers stay behind, and `secrets`, the variables of further
    providers; what the user's configuration names in `hand_on` is given all the same.
    """
    return {
        name: value
        for name, value in environ.items()
        if name in hand_on or not (name in secrets or _WITHHELD.fullmatch(name))
    }


def quiet_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which programs use no colour and no pager and ask nothing."""
    kept = {name: value for name, value in environ.items() if name not in _COLOUR}
    return kept | {
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }


def screen_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for programs on a terminal."""
    return {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")} | {
        "TERM": "xterm-256color"
    }


def shell_argv(command: str, environ: Mapping[str, str]) -> list[str]:
    """The program that runs a command: bash, else sh. Without a command the user's own shell."""
    shell = find_program(environ, "bash") or find_program(environ, "sh") or "/bin/sh"
    if command:
        return [shell, "-c", command]
    own = environ.get("SHELL", "")
    return [own if os.path.isabs(own) and os.access(own, os.X_OK) else shell]


def checked(text: str) -> None:
    """Raise UsageError where a text cannot be given to a program."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("a command cannot hold a NUL or half of a pair", hint="leave these characters out")


def told(text: str) -> str:
    """A command for the person who is asked: lines as they are, nothing that could steer or hide."""
    return "\n".join(printable(line) for line in text.split("\n"))


def refusal(error: ClewError) -> Reply:
    """An error as the model reads it."""
    return Reply(f"{printable(str(error))}; {printable(error.hint)}" if error.hint else printable(str(error)), True)


def redacted(redact: Callable[[str], str], before: str, body: str, after: str) -> str:
    """`body` without secrets. Where an edge cuts through one, the text around it is shown with it."""
    shown = redact(body)
    whole = redact(before + body + after)
    return shown if whole == redact(before) + shown + redact(after) else whole


def size(number: int) -> str:
    """Bytes for reading: `512 bytes`, `3.4 MB`."""
    if number < 1_000:
        return f"{number} byte{'' if number == 1 else 's'}"
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number / 1e3:.1f} KB"
