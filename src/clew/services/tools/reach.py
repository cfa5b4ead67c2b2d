"""Which paths outside of the workspace the words of a command name, as far as words can tell."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_HARMLESS = re.compile(r"/dev/(null|zero|full|u?random|tty|std(in|out|err)|fd(/\d+)?)/?")
_JOINS = "();<>|&\n"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_WILD = re.compile(r"[*?\[{]")
_GLUED = re.compile(r"-[A-Za-z](?=[/.~])")
"""An option with its value behind it, as in `-I../include`."""
_OPENING = frozenset("! { do elif else if then time until while".split())
"""Words of the shell behind which a program's name stands."""
_ASSIGNED = re.compile(r"\w+\+?=")
_DEPTH = 3


def reached(command: str, folder: Path, root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The paths outside of `root` that a command names when it runs in `folder`, without links, each once.

    Best effort: what a program does by itself, or makes of other words, is not seen. The name of the program, devices
    such as /dev/null, and links of the workspace to programs are no such paths.
    """
    if not folder.is_relative_to(root):
        return ()
    found: dict[str, None] = {}
    sight = _Sight(folder, root, environ)
    for place, word in _words(command, sight.folder):
        for piece in _pieces(word):
            if path := sight.leads_to(place, piece):
                found[path] = None
    return tuple(found)


def _split(command: str) -> list[str]:
    """Words and signs between commands, as a shell does."""
    lexer = shlex.shlex(command.replace("`", " $( "), posix=True, punctuation_chars=_JOINS)
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t\r", ""
    found: list[str] = []
    try:
        found.extend(lexer)
    except ValueError:
        # A quote is not closed: the shell will refuse it, or read on in a way that is not known here.
        return re.split(r"[\s'\"]+", command)
    return found


def _words(command: str, folder: Path, depth: int = 0) -> Iterator[tuple[Path, str]]:
    """The words that are no names of programs, each with the folder that it is said in."""
    begins, before, program = True, "", ""
    tokens = _split(command)
    place = _entered(tokens, folder)
    for at, token in enumerate(tokens):
        if token and not token.strip(_JOINS):
            begins = begins if "<" in token or ">" in token else True
            before = token
            continue
        redirects = "<" in before or ">" in before
        here = folder if at < 2 else place
        if ("$(" in token or before == "-c" or program == "eval") and depth < _DEPTH:
            yield from _words(token.replace("$(", "\n"), here, depth + 1)
        if redirects or not begins or _ASSIGNED.match(token):
            yield here, token
        elif token not in _OPENING:
            begins, program = False, token
        before = token


def _entered(tokens: list[str], folder: Path) -> Path:
    """The folder of what follows: `cd sub && …` at the beginning leads there."""
    if len(tokens) > 3 and tokens[0] == "cd" and tokens[2] == "&&" and not tokens[1].startswith(("-", "~", "$")):
        entered = Path(os.path.realpath(folder / tokens[1]))
        if entered.is_dir():
            return entered
    return folder


def _pieces(word: str) -> Iterator[str]:
    """What may be a path in a word: all of it, and parts behind `=`, `:`, `,` and behind an option's letter."""
    parts = re.split("[=:,]", word)
    # `:/` is the top of the repository to git.
    apart = parts[2:] if word.startswith(":/") and parts[1] == "/" else parts
    for piece in dict.fromkeys((word, *apart)):
        yield _GLUED.sub("", piece, count=1)


@dataclass(frozen=True, slots=True)
class _Sight:
    folder: Path
    root: Path
    environ: Mapping[str, str]

    def leads_to(self, place: Path, word: str) -> str:
        """The path outside that a word names; empty where it names none."""
        if not word or "\0" in word:
            return ""
        word = _VARIABLE.sub(lambda found: self._value(found[1] or found[2], place), word)
        if word == "~" or word.startswith("~/"):
            word = self.environ.get("HOME", "") + word[1:]
        elif word.startswith("~"):
            word = os.path.expanduser(word)
        if _HARMLESS.fullmatch(word):
            return ""
        written = os.path.join(place, _steady(word))
        try:
            real = os.path.realpath(written)
            if Path(real).is_relative_to(self.root) or not _exists(real):
                return ""
            inside = Path(os.path.normpath(written)).is_relative_to(self.root)
            # The Python of a virtual environment is a link to one elsewhere.
            if inside and os.path.isfile(real) and os.access(real, os.X_OK):
                return ""
        except (OSError, ValueError):
            return ""
        return real

    def _value(self, name: str, place: Path) -> str:
        return str(place) if name == "PWD" else self.environ.get(name, "")


def _steady(word: str) -> str:
    """A path up to its first part with a wildcard; directly below `/`, the first name that it stands for."""
    if not _WILD.search(word):
        return word
    parts = word.split("/")
    at = next(number for number, part in enumerate(parts) if _WILD.search(part))
    if word.startswith("/") and not any(parts[:at]):
        pattern = re.sub(r"\{.*", "*", parts[at])
        with contextlib.suppress(OSError):
            return "/" + next((name for name in sorted(os.listdir("/")) if fnmatch.fnmatch(name, pattern)), parts[at])
    return "/".join(parts[:at])


def _exists(real: str) -> bool:
    """Whether a path is there, or could be made in a folder that is there; `/re/d` is rather no path."""
    if os.path.lexists(real):
        return True
    first = Path(real).parts[:2]
    return os.path.lexists(os.path.join(*first))
