"""How the answer is laid out on a terminal. In a pipe it stays as it is, byte for byte."""

from __future__ import annotations

import re
import shutil
import sys

import click

from clew.entrypoints.cli.prose import Prose
from clew.entrypoints.cli.style import data, harmless, pale

_HEAD = re.compile(r"\S.*?:\d+(?=$|  \()|git:\S+$")
_LINE = re.compile(r"(  +\d+)(  +)(.*)")
_NARROWEST = 20
"""Columns below which quoted code is not broken between words."""


class Page:
    """Shows an answer that comes in pieces: the words of a model, or `quoted` passages, each piece with whole lines."""

    def __init__(self, *, quoted: bool) -> None:
        self.terminal = sys.stdout is not None and sys.stdout.isatty()
        self.quoted = quoted
        self.columns = shutil.get_terminal_size().columns
        self.prose = Prose(self.columns)
        self.begun = False

    def show(self, piece: str) -> None:
        """Print a piece."""
        if not self.terminal:
            data(piece, nl=False)
            return
        if not self.begun and piece:
            self.begun = True
            space()
        text = harmless(piece)
        if self.quoted:
            text = "\n".join(_marked(line, self.columns) for line in text.split("\n"))
        else:
            text = self.prose.feed(text)
        click.echo(text, nl=False)

    def end(self) -> None:
        """Print what was held back, where the answer ends or is stopped."""
        if self.terminal:
            click.echo(self.prose.end(), nl=False)


def space() -> None:
    """A blank line between the answer and what is said about it, where both go to one terminal."""
    if sys.stdout is not None and sys.stderr is not None and sys.stdout.isatty() and sys.stderr.isatty():
        click.echo(err=True)


def _marked(line: str, columns: int) -> str:
    """A line of a passage: the reference in bold, its number pale, and code that is too long goes on below itself."""
    numbered = _LINE.fullmatch(line)
    if not numbered:
        return _HEAD.sub(lambda head: click.style(head[0], bold=True), line, count=1)
    number, indent, code = numbered.groups()
    left = len(number + indent)
    if columns - left >= _NARROWEST:
        prose = Prose(columns - left)
        code = (prose.feed(code) + prose.end()).replace("\n", "\n" + " " * left)
    return pale(number) + indent + code
