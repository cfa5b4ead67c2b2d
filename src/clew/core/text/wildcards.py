"""Expressions made from wildcards, so that no choice of wildcards and no name can make matching one take long.

`*a*a*a*b` as an expression tries every way to share a name out among its stars, which takes longer than anybody waits.
Where a star is followed by fixed text and another star, the first place of that text is as good as any later one: the
later star can cover what the earlier one did not. So that place is taken for good (an atomic group), and the same goes
for wildcards over folders. What is left tries each place once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

STAR: Final = "[^/]*"
"""Any part of one name."""
ANY: Final = ".*"
"""Anything, over folders as well."""
FOLDERS: Final = "(?:.*/)?"
"""Any folders with their slashes, or none."""
ABOVE: Final = "(?:.+/)?"
"""Folders in front, or none, in the form of pathspec."""
BETWEEN: Final = "(?:/.+)?"
"""Folders between two names, or none, in the form of pathspec: what follows begins with a slash."""

_DEEP: Final = frozenset({ANY, FOLDERS, ABOVE, BETWEEN})
_LAZY: Final = {STAR: "[^/]*?", ANY: ".*?", FOLDERS: "(?:.*?/)??", ABOVE: "(?:.+?/)??", BETWEEN: "(?:/.+?)??"}
_TOKEN: Final = re.compile(
    r"""(?sx)
      \(\?:\.[*+]/\)\? | \(\?:/\.\+\)\? | \[\^/\]\* | \.\*      # the wildcards above
    | \\. | \[\^?\]?(?:\\.|[^\]\\])*\] | .                      # one character, one set
    """
)


def from_shell(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within a folder, `**` crosses folders, `[…]` is a set; as shells do. Raises re.error."""
    translated: list[str] = []
    for piece in re.finditer(r"(?:\*\*/)+|\*+|\?|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL):
        part = piece[0]
        if part.startswith("**/"):
            translated.append(FOLDERS)
        elif part.startswith("*"):
            translated.append(ANY if part == "**" else STAR)
        elif part == "?":
            translated.append("[^/]")
        elif part.startswith("[") and len(part) > 2:
            inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            translated.append("[^/" + inner[1:] + "]" if inner.startswith("!") else "[" + inner + "]")
        else:
            translated.append(re.escape(part))
    return compiled(translated)


def tokens(expression: str) -> list[str]:
    """The wildcards of an expression and what stands between them, character by character."""
    return _TOKEN.findall(expression)


def compiled(parts: Sequence[str]) -> re.Pattern[str]:
    """The expression of `tame`, ready for use. Raises re.error where a set is none (`[z-a]`)."""
    plain = [_set(part) if len(part) > 2 and part[0] == "[" and part != STAR else part for part in parts]
    return re.compile(tame(plain), re.DOTALL)


def _set(part: str) -> str:
    """A set in which nothing is an operator (`&&`, `||`, `~~`, `--`, `[`), and that takes no slash when negated."""
    start = 2 if part[1] == "^" else 1
    body = re.sub(r"(?<!\\)([\[&~|])", r"\\\1", part[start:-1])
    if body.startswith("--"):
        body = "\\" + body
    return part[:start] + ("/" if start == 2 and "/" not in body else "") + body.replace("--", "-\\-") + "]"


def tame(parts: Sequence[str]) -> str:
    """The expression of wildcards (the names above) and fixed parts that matches the same, each place tried once."""
    plain = [part for place, part in enumerate(parts) if not (part == STAR and place and parts[place - 1] == STAR)]
    deep = [place for place, part in enumerate(plain) if part in _DEEP]
    if not deep:
        return _stars(plain)
    made = _stars(plain[: deep[0]])
    for place, start in enumerate(deep):
        end = deep[place + 1] if place + 1 < len(deep) else len(plain)
        chunk, after = plain[start + 1 : end], plain[end] if end < len(plain) else ""
        # What follows must be able to begin anywhere behind the chunk, or the first place might be the wrong one.
        border = "(?=/)" if after == BETWEEN else ""
        if after and (after in (ANY, BETWEEN) or (after == FOLDERS and (not chunk or chunk[-1] == "/"))):
            made += f"(?>{_LAZY[plain[start]]}{_stars(chunk, _LAZY[STAR])}{border})"
        else:
            made += plain[start] + _stars(chunk)
    return made


def _stars(parts: Sequence[str], last: str = STAR) -> str:
    """Parts without wildcards over folders. A star is settled where another one follows within the same name.

    `last` is how a star is written that none follows: in a group that is taken for good, the least comes first.
    """
    made, start = "", 0
    while start < len(parts):
        if parts[start] != STAR:
            made += parts[start]
            start += 1
            continue
        end = start + 1
        while end < len(parts) and parts[end] != STAR and "/" not in parts[end].removeprefix("[^/"):
            end += 1
        fixed = "".join(parts[start + 1 : end])
        settled = end < len(parts) and parts[end] == STAR
        made += f"(?>{_LAZY[STAR]}{fixed})" if settled else last + fixed
        start = end
    return made
