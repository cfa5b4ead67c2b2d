"""What every file of SQLite needs: a log that others switch on too, a look at damage, an end with its side files."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Final

BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
"""Codes that say that another process has the file."""
_PAUSE: Final = 0.005
"""Seconds between two tries."""


def switch_to_wal(connection: sqlite3.Connection, seconds: float) -> None:
    """Let the file have a write-ahead log. SQLite does not wait here where another process is switching, so this does.

    Raises sqlite3.OperationalError when `seconds` are over, and for anything else at once.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is at fault: no database, broken pages, or text that is none, which SQLite calls operational."""
    return isinstance(error, sqlite3.DatabaseError) and (
        not isinstance(error, sqlite3.OperationalError) or "decode to UTF-8" in str(error)
    )


def remove(path: Path) -> int:
    """Delete a file with its side files; the number of bytes freed."""
    freed = 0
    for side in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + side)
        with contextlib.suppress(FileNotFoundError):
            freed += file.stat().st_size
            file.unlink()
    return freed
