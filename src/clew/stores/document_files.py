"""What the folders below a memory root hold: which of them are for documents, where links lead, how files look."""

from __future__ import annotations

import os

from clew.core.memory.document import Document, tier_of, unreadable
from clew.core.text.printable import printable
from clew.stores.durable import translated


def is_tier(folder: str) -> bool:
    """Whether a folder is one that holds documents."""
    return tier_of(f"{folder}/x.md") is not None


def leads_out(path: str, root: str) -> bool:
    """Whether a link leads to something that is there, outside of the root."""
    real = os.path.realpath(os.path.join(root, path))
    return os.path.exists(real) and os.path.relpath(real, root).split(os.sep)[0] == ".."


def stat_of(path: str, entry: os.DirEntry[str]) -> os.stat_result | Document:
    """How a file looks, or what stands for it where that cannot be told."""
    try:
        if not path.isascii():
            path.encode("utf-8")
        return entry.stat()
    except UnicodeEncodeError:
        return unreadable(printable(path), "the name of the file is not UTF-8", "rename it")
    except OSError as error:
        failure = translated(error, printable(path), "read")
        return unreadable(path, str(failure), failure.hint)
