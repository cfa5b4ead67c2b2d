"""The token that a client of the HTTP face shows."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from clew.core.text.printable import printable
from clew.errors import Refused, StoreError, UsageError
from clew.system import open_file

_TOKEN = re.compile(r"[\x21-\x7e]{16,512}")


def own_token(path: Path) -> str:
    """The token of this installation, made when it is first asked for. Raises StoreError, Refused, UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = open_file(path, "new")
    except FileExistsError:
        return read_token(path)
    except OSError as error:
        raise StoreError(
            f"{printable(str(path))} cannot be written: {error.strerror}", hint="check its rights"
        ) from error
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def read_token(path: Path) -> str:
    """The token in a file that nobody but its owner may read. Raises UsageError, Refused."""
    shown = printable(str(path))
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(1_025)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror}", hint="name a file with the token") from error
    if stat.S_IMODE(mode) & 0o077:
        raise Refused(f"others may read {shown}", hint=f"chmod 600 {shown}")
    token = content.decode("utf-8", "replace").strip()
    if not _TOKEN.fullmatch(token):
        raise UsageError(f"{shown} holds no token", hint="one line of 16 to 512 letters, digits and signs")
    return token
