"""The key of this installation: it turns a removed secret into four digits that are the same wherever it stood."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from clew.system import open_file

_BYTES: Final = 32


def installation_key(path: Path) -> bytes:
    """The key in a file that only the user can read, made when it is missing; the first of several processes wins.

    Empty where it can neither be read nor made: placeholders then carry no digits.
    """
    try:
        return _read(path) or _made(path)
    except OSError:
        return b""


def _read(path: Path) -> bytes:
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return b""
    # What a full disk cut short is no key.
    return found if len(found) == _BYTES else b""


def _made(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = open_file(draft, "new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(descriptor)
        if path.exists() and not _read(path):
            os.replace(draft, path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        return _read(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
