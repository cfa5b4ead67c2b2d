"""Completion of the input line: commands behind `/`, paths behind `@`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clew.core.text.printable import printable

_PATH: Final = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_MOST: Final = 40
_PASSED_OVER: Final = frozenset({".git", "__pycache__", "node_modules", ".venv"})


class Names(Completer):
    """Completes commands with their arguments, and paths below the current folder."""

    def __init__(
        self,
        folder: Path,
        commands: Callable[[], Sequence[tuple[str, str]]],
        arguments: Callable[[str], Sequence[tuple[str, str]]],
    ) -> None:
        self.folder = folder
        self.commands = commands
        self.arguments = arguments

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What the text before the cursor may become."""
        text = document.text_before_cursor
        if text.startswith("/") and "\n" not in text:
            name, blank, rest = text.partition(" ")
            if not blank:
                for command, told in self.commands():
                    if command.startswith(name):
                        yield Completion(command, -len(name), display_meta=told)
                return
            for value, told in self.arguments(name):
                if value.startswith(rest):
                    yield Completion(value, -len(rest), display_meta=told)
        if found := _PATH.search(text):
            yield from self._paths(found[1])

    def _paths(self, start: str) -> Iterable[Completion]:
        place, _, begin = start.rpartition("/")
        folder = self.folder / os.path.expanduser(place) if place else Path("/") if "/" in start else self.folder
        try:
            with os.scandir(folder) as entries:
                found = sorted((one.name, one.is_dir()) for one in entries)
        except (OSError, ValueError):
            return
        count = 0
        for name, is_folder in found:
            hidden = name.startswith(".") and not begin.startswith(".")
            if not name.startswith(begin) or hidden or name in _PASSED_OVER or printable(name) != name or " " in name:
                continue
            yield Completion(name + "/" * is_folder, -len(begin))
            count += 1
            if count == _MOST:
                return
