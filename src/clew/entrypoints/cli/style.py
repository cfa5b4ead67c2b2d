"""Colour: by the setting, NO_COLOR and the terminal. Click takes codes out where a stream shows none."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
from typing import TextIO

import click

from clew.app import App, environment
from clew.core.text.printable import MARKS, STEERS, is_needed, visible
from clew.entrypoints.cli.prose import Prose, width

_FOREIGN = re.compile(f"(\x1b\\[(?:[0-3]|3[0-9]|9[0-7])?m)|[{STEERS}{MARKS}]|\r(?!\n)")
"""What steers a terminal, but for the codes of the colours that Clew gives itself."""
_STEERS = re.compile(f"[{STEERS}{MARKS}]")


def apply_color(app: App) -> None:
    """Let the `color` setting decide for everything that this command prints."""
    context = click.get_current_context(silent=True)
    if context is not None:
        wanted = app.loaded.settings.color
        dumb = environment().get("TERM") == "dumb"
        context.color = True if wanted == "always" else False if wanted == "never" or dumb else None


def shows_color(stream: TextIO | None) -> bool:
    """Whether codes may be written to a stream when no setting is known, as for an error of the settings."""
    environ = environment()
    plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb" or environ.get("CLEW_COLOR") == "never"
    return not plain and (environ.get("CLEW_COLOR") == "always" or (stream is not None and stream.isatty()))


def pale(text: str) -> str:
    """Text that matters less."""
    return click.style(text, dim=True) if text else ""


def error_color() -> bool:
    """`shows_color` for stderr."""
    return shows_color(sys.stderr)


def harmless(text: str, stream: TextIO | None = None) -> str:
    """`text` as it may go to a terminal: nothing in a file or an answer can steer it. In a pipe it stays as it is.

    `stream` is where it goes, stdout if it is not given.
    """
    stream = stream or sys.stdout
    return visible(text) if stream is not None and stream.isatty() else text


def plain_line(text: str) -> str:
    """A line that was styled already, with nothing in it that steers but its colours."""
    return _FOREIGN.sub(_seen, text)


def _seen(found: re.Match[str]) -> str:
    if found[1] or is_needed(found.string, found.start()):
        return found[0]
    return "\ufffd"


def json_line(value: object) -> str:
    """`value` on one line of JSON. What could steer a terminal is written as its code: readers get the same text."""
    return _STEERS.sub(_coded, json.dumps(value, ensure_ascii=False))


def _coded(found: re.Match[str]) -> str:
    if is_needed(found.string, found.start()):
        return found[0]
    # JSON itself lets DEL stand as it is.
    return "\\u007f" if found[0] == "\x7f" else json.dumps(found[0])[1:-1]


def line(text: str = "", *, nl: bool = True) -> None:
    """Print a line that Clew made, colours and all; what stands in it of foreign origin steers no terminal."""
    click.echo(plain_line(text), nl=nl)


def folded(text: str, stream: TextIO | None = None) -> str:
    """A line that a terminal would break in the middle of a word, broken between its words; elsewhere as it is.

    Lines after the first are indented. `stream` is where it goes, stderr if not given.
    """
    stream = stream or sys.stderr
    if stream is None or not stream.isatty():
        return text
    prose = Prose(shutil.get_terminal_size().columns, hang="  ")
    return prose.feed(text) + prose.end()


def padded(text: str, columns: int) -> str:
    """`text` with blanks behind it up to `columns` columns of a terminal; Han characters take two."""
    return text + " " * max(columns - width(text), 0)


def cut(text: str, columns: int) -> str:
    """The beginning of a text that fits, with an ellipsis where something is cut; all of it for no columns."""
    if not columns or width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def aside(text: str) -> None:
    """Print to stderr what is not the answer. Where nobody can take it, the answer is not held up."""
    with contextlib.suppress(OSError):
        click.echo(plain_line(text), err=True)


def data(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print data: in a pipe every byte as it is, on a terminal nothing that steers it."""
    click.echo(harmless(text, sys.stderr if err else None), nl=nl, err=err, color=True)
