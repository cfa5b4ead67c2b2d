"""Which files of a memory's repository may come into its folder, and go out of it: one rule for both directions.

A repository that several machines write to can hold anything: links, repositories, files that steer git, names that
another file system takes for one. What the rule refuses stays in the history and is not written to any folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

MOST_BYTES: Final = 20_000_000
"""Of a file."""
MOST_NAME: Final = 200
"""Bytes of one part of a path in UTF-8: file systems take 255, and a copy of a conflict has a longer name."""
MOST_PATH: Final = 900
"""Bytes of a path."""
TEXTS: Final = frozenset({"README", "README.md", "README.txt", "LICENSE", "LICENSE.md", "LICENSE.txt"})
"""What may stand at the top, beside the folders of memory."""
REGULAR: Final = ("100644", "100755")
"""Modes of git for files with bytes."""

LINK: Final = "it is a link"
REPOSITORY: Final = "it is a repository of its own"
UNKNOWN: Final = "it is no regular file"
STEERS: Final = "it would steer git on this machine"
HIDDEN: Final = "its name is hidden"
OUTSIDE: Final = "no memory lies there"
PASSING: Final = "its name is that of a file that is being written"
STRANGE: Final = "its name is none that every system can hold"
LONG: Final = "its name is too long"
LARGE: Final = "it has over 20,000,000 bytes"

_STEERING: Final = frozenset(
    {".git", "git~1", ".gitattributes", ".gitmodules", ".gitignore", ".gitconfig", ".lfsconfig", ".mailmap"}
)
_TIERS: Final = frozenset({"notes", "logs", "reflections", "handoff", "archive"})
_DEVICES: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)(?:\..*)?", re.IGNORECASE
)
_UNUSABLE: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*\\\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]')
"""What Windows takes in no name, bytes that are no UTF-8, and characters that turn a line around."""
_SHORT: Final = re.compile(r".{1,6}~[0-9]+(?:\..{0,3})?")
"""The name that Windows gives a longer one: `git~1` is `.git`."""


def why_left_out(path: str, mode: str = "100644", size: int = 0) -> str:
    """Why a file of a tree may not come in; empty where it may. `path` is below the root, `mode` is git's."""
    if mode not in REGULAR:
        return {"120000": LINK, "160000": REPOSITORY}.get(mode, UNKNOWN)
    parts = path.split("/")
    # Some file systems do not see these characters, so that `.g<U+200C>it` is `.git` there.
    plain = ["".join(char for char in part if unicodedata.category(char) != "Cf") for part in parts]
    if any(part.lower().rstrip(". ") in _STEERING for part in plain):
        return STEERS
    if any(part.startswith(".") for part in plain):
        return HIDDEN
    if any(map(_is_strange, plain)) or any(map(_UNUSABLE.search, parts)):
        return STRANGE
    if len(path.encode()) > MOST_PATH or any(len(part.encode()) > MOST_NAME for part in parts):
        return LONG
    if not _is_memory(parts):
        return OUTSIDE
    if parts[-1].endswith((".tmp", "~")):
        return PASSING
    return LARGE if size > MOST_BYTES else ""


def clashes(paths: Iterable[str], there: Collection[str] = ()) -> dict[str, str]:
    """Paths that a file system which folds case or accents cannot hold beside others, each with the one it meets.

    Of two such names the one that is `there` already stays, else the first in the order of their bytes.
    """
    wanted = sorted(set(paths), key=lambda path: (path not in there, path))
    spelled: dict[str, str] = {}
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for path in wanted:
        steps = [path[:at] for at, char in enumerate(path) if char == "/"] + [path]
        met = next((key for step in steps if spelled.get(key := folded(step), step) != step), "")
        if met:
            found[path] = first[met]
            continue
        for step in steps:
            spelled.setdefault(folded(step), step)
            first.setdefault(folded(step), path)
    return found


def folded(path: str) -> str:
    """A path as file systems see it that know neither case nor the composition of accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _is_strange(part: str) -> bool:
    return not part or part[-1] in ". " or part[0] == " " or bool(_DEVICES.fullmatch(part) or _SHORT.fullmatch(part))


def _is_memory(parts: list[str]) -> bool:
    if len(parts) == 1:
        return parts[0] in TEXTS
    if parts[0] == "user":
        return True
    return parts[0] == "workspaces" and len(parts) >= 4 and parts[2] in _TIERS
