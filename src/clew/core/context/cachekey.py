"""The key under which the outcome of a search is kept: a digest over everything that may change the outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

VERSION: Final = 2
"""Raised whenever the same search may find otherwise, or what is kept of it changes its form."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What was asked, and how it is to be treated."""

    root: str
    """Folder of the workspace."""
    question: str
    max_tokens: int
    answer: int
    """Tokens kept free for the answer."""
    tokenizer: str
    settings: Mapping[str, object]
    """Resolved settings of user, project, environment and flags, as plain values."""
    mode: str
    """Mode that the user asked for; `auto` where the question decides."""
    attached: bool
    """Something was attached, which decides the mode."""


@dataclass(frozen=True, slots=True)
class KeyParts:
    """What a kept search depends on (P-09). Two searches with one part different never share a key.

    Some parts cannot change the outcome of today's search, such as the budget; they are here so that it may depend on
    them one day without a ghost.
    """

    asking: Asking
    branch: str
    head: str
    """Commit, with what bounds the history that can be seen from it."""
    git_index: str
    """Digest of git's index file; empty without one."""
    files: str
    """Digest over path, size, mtime, ctime and inode of every file."""
    memory: str
    """State of the notes that may enter the context."""
    assembler: int
    """VERSION of the assembler."""
    ranking: str
    """Digest of the fitted weights."""
    embedding: str
    """Fingerprint of the table of word vectors."""
    words: Mapping[str, str]
    """Digest of each word list: glossary, thesaurus, background."""
    index: str
    """Formats of the index and of what shapes its rows."""
    program: str
    """Version of Clew."""
    searched: str = ""
    """The text that is searched for."""
    exchanges: str = ""
    """What the search took from earlier exchanges, word for word; empty where it took nothing. Whatever else they say
    does not reach a search: it stands in the prompt, which is assembled afresh each time."""


def cache_key(parts: KeyParts) -> str:
    """32 hexadecimal digits over the canonical JSON of all parts and VERSION."""
    text = json.dumps({"version": VERSION, **asdict(parts)}, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()
