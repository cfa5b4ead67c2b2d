"""SQLite's write-ahead log, switched on while other processes do the same."""

from __future__ import annotations

import sqlite3
import time
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
