"""What was typed into the terminal, for the next time: lines of JSON in a private file, without secrets."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from clew.stores.durable import make_folder, translated
from clew.system import open_file, set_mode

MOST: Final = 2_000
"""Lines that are kept."""
_LONGEST: Final = 20_000
"""Characters of one of them."""


class Typed:
    """The history of one user. Several terminals may add to it at once."""

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self.path = path
        self._redact = redact

    def lines(self) -> list[str]:
        """What was typed, newest first, each once; nothing where the file cannot be read."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return []
        found: dict[str, None] = {}
        rows = content.split(b"\n")
        for row in reversed(rows):
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                found[msgspec.json.decode(row, type=str)] = None
        if len(rows) > 2 * MOST:
            self._shorten(list(found)[:MOST])
        return list(found)[:MOST]

    def add(self, text: str) -> None:
        """Keep one more. Raises StoreError."""
        if not text.strip() or len(text) > _LONGEST:
            return
        content = msgspec.json.encode(self._redact(text)) + b"\n"
        try:
            make_folder(self.path.parent)
            descriptor = open_file(self.path, "append")
            try:
                set_mode(descriptor, 0o600)
                os.write(descriptor, content)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise translated(error, self.path.name, "written") from error

    def _shorten(self, newest: list[str]) -> None:
        beside = self.path.with_suffix(".new")
        content = b"".join(msgspec.json.encode(one) + b"\n" for one in reversed(newest))
        with contextlib.suppress(OSError):
            descriptor = open_file(beside, "empty")
            try:
                os.write(descriptor, content)
            finally:
                os.close(descriptor)
            os.replace(beside, self.path)
