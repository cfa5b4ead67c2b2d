"""What the user allowed a project to start: one line for each yes, by digest, in the user's own folder."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from clew.errors import NotFound, StoreError, StoreTooNew
from clew.stores.durable import make_folder, read_bytes, translated
from clew.system import open_file

FORMAT: Final = 1
_MOST: Final = 4 << 20


class _Yes(msgspec.Struct):
    digest: str
    server: str
    at: str
    format: int = FORMAT


class Approvals:
    """The file `mcp-servers.jsonl`. Lines are only added; what cannot be read allows nothing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mcp-servers.jsonl"

    def holds(self, digest: str) -> bool:
        """Whether the user said yes to this. Raises StoreTooNew where a newer Clew wrote the file."""
        try:
            content = read_bytes(self.path, _MOST, self.path.name)
        except NotFound:
            return False
        found = False
        for raw in content.splitlines():
            try:
                line = msgspec.json.decode(raw, type=_Yes)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # torn by a death
            if line.format > FORMAT:
                raise StoreTooNew(f"{self.path.name} was written by a newer Clew", hint="install that version")
            found = found or line.digest == digest
        return found

    def add(self, digest: str, server: str, now: datetime) -> None:
        """Remember a yes. Raises StoreError."""
        line = msgspec.json.encode(_Yes(digest, server, now.isoformat(timespec="seconds"), FORMAT))
        make_folder(self.path.parent)
        try:
            descriptor = open_file(self.path, "append", follow=True)
            try:
                # A line of its own, also behind one that a death tore; one write, so that lines do not mix.
                if os.write(descriptor, b"\n" + line + b"\n") != len(line) + 2:
                    raise StoreError(f"`{self.path.name}` cannot be written", hint="make room, then try again")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise translated(error, self.path.name, "written") from error
