"""Files that a user names to be written."""

from __future__ import annotations

from pathlib import Path

from clew.errors import UsageError


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already", hint="name another file") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="name another file") from error
