"""Which folder a client works in: its roots, else what the server was started with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clew.entrypoints.mcp.session import Roots


@dataclass(frozen=True, slots=True)
class Choice:
    """The folder whose memory is meant."""

    folder: Path
    why: str = ""
    """To be said where somebody could have expected another one; empty else."""


def choose(roots: Roots, otherwise: Path) -> Choice:
    """The first root that is a repository, else the first that is a folder here, else `otherwise`."""
    if not roots.answered:
        return Choice(otherwise, "the client did not say which folders it works in")
    folders = [folder for uri in roots.uris if (folder := folder_of(uri)) is not None]
    if not folders:
        named = len(roots.uris)
        return Choice(otherwise, f"none of the {named} roots of the client is a folder here" if named else "")
    if len(folders) == 1:
        return Choice(folders[0])
    repository = next((folder for folder in folders if _is_repository(folder)), None)
    if repository is None:
        return Choice(folders[0], f"the first of {len(folders)} roots; none is a repository")
    return Choice(repository, f"the first of {len(folders)} roots that is a repository")


def folder_of(uri: str) -> Path | None:
    """The folder of a `file:` URI on this machine; None for anything else."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    try:
        return Path(path) if path.startswith("/") and os.path.isdir(path) else None
    except ValueError:  # a NUL
        return None


def _is_repository(folder: Path) -> bool:
    return any(os.path.lexists(one / ".git") for one in (folder, *folder.parents))
