"""How things look: Markdown, diffs, tool calls, as text with the codes of a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
)
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownIt, Paragraph  # pyright: ignore[reportPrivateImportUsage]
from rich.style import Style
from rich.syntax import ANSISyntaxTheme
from rich.text import Text
from rich.theme import Theme

from clew.core.text.printable import visible
from clew.entrypoints.cli.prose import Prose

_THEME: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.link": "cyan underline",
        "markdown.link_url": "cyan underline",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    },
)
_CODE: Final = ANSISyntaxTheme(
    {
        Comment: Style(dim=True),
        Comment.Preproc: Style(color="magenta"),
        Keyword: Style(color="magenta"),
        Keyword.Type: Style(color="cyan"),
        Operator.Word: Style(color="magenta"),
        Name.Builtin: Style(color="cyan"),
        Name.Function: Style(bold=True),
        Name.Class: Style(bold=True),
        Name.Decorator: Style(color="cyan"),
        Name.Exception: Style(color="cyan"),
        Name.Attribute: Style(color="cyan"),
        Name.Tag: Style(color="magenta"),
        Name.Variable: Style(color="red"),
        String: Style(color="green"),
        Number: Style(color="cyan"),
        Generic.Deleted: Style(color="red"),
        Generic.Inserted: Style(color="green"),
        Generic.Heading: Style(bold=True),
        Generic.Subheading: Style(bold=True),
        Error: Style(underline=True),
    }
)
"""Colours of the terminal's own palette that are read on a dark background and on a light one: no bright ones, no
yellow, no blue."""
_NARROWEST: Final = 20
FOLDED: Final = 24
"""Lines of a diff that are shown of an edit that is done."""


class _Paragraph(Paragraph):
    """A paragraph whose lines are broken between words, and between wide characters."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plain = self.text.plain
        prose = Prose(max(options.max_width, _NARROWEST))
        laid = prose.feed(plain) + prose.end()
        # `laid` is the text with line breaks put in, and blanks taken out there: walk through both.
        offsets: list[int] = []
        at = 0
        for row in laid.split("\n")[:-1]:
            at += len(row.lstrip(" "))
            begin = at
            while at < len(plain) and plain[at] in " \n":
                at += 1
            offsets += [begin, at]
        ends = [0, *offsets, len(plain)]
        parts = [self.text[one:other] for one, other in zip(ends[::2], ends[1::2], strict=True)]
        for part in parts:
            part.no_wrap, part.overflow = False, "fold"
            yield part


class _Heading(Heading):
    """A heading where text begins, not in the middle."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "paragraph_open": _Paragraph, "heading_open": _Heading}

    def __init__(self, markup: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = markup
        self.code_theme = _CODE
        # `Vec<T>` is text: what looks like HTML would be left out.
        self.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(markup)
        # A line ends where the model ended it, as it did while the text came.
        for token in self.parsed:
            for part in token.children or ():
                if part.type == "softbreak":
                    part.type = "hardbreak"


@dataclass(slots=True)
class Paint:
    """Lays things out for a terminal of `columns` columns."""

    columns: int = 80
    colored: bool = True
    depth: Literal["standard", "256", "truecolor"] = "standard"

    def markdown(self, text: str) -> str:
        """A finished piece of Markdown, ending with a line break."""
        rows = self._rendered(_Markdown(visible(text))).split("\n")
        filled = [at for at, row in enumerate(rows) if CODES.sub("", row).strip()]
        return "".join(f"{row}\n" for row in rows[filled[0] : filled[-1] + 1]) if filled else ""

    def diff(self, text: str, most: int = 0) -> tuple[str, int]:
        """A diff in colour, at most so many lines (0: all), and how many lines are left out."""
        rows = visible(text).rstrip("\n").split("\n")
        shown = rows[:most] if most and len(rows) > most + 2 else rows
        return "".join(self._diff_row(row) for row in shown), len(rows) - len(shown)

    def lines(self, rows: Iterable[tuple[str, str]]) -> str:
        """Lines of text, each with a style of rich's; what could steer a terminal is made visible."""
        whole = Text("\n").join(Text(visible(text), style) for text, style in rows)
        return self._rendered(whole)

    def parts(self, parts: Sequence[tuple[str, str]], *, hang: int = 2) -> str:
        """One line of several styles, cut at the edge of the terminal."""
        line = Text()
        for text, style in parts:
            line.append(visible(text).replace("\n", " "), style)
        line.truncate(max(self.columns - 1, hang), overflow="ellipsis")
        return self._rendered(line)

    def _diff_row(self, row: str) -> str:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(row[:1], "")
        if row.startswith(("+++", "---")):
            style = "bold"
        return self._rendered(Text(f"  {row}", style or "dim" if row.startswith(" ") else style))

    def _rendered(self, what: object) -> str:
        out = io.StringIO()
        console = Console(
            file=out, force_terminal=True, width=self.columns, theme=_THEME, legacy_windows=False, highlight=False,
            emoji=False, markup=False, color_system=self.depth if self.colored else None, no_color=not self.colored,
            _environ={},
        )  # fmt: skip
        console.print(what, soft_wrap=False)
        text = out.getvalue()
        if not self.colored:
            text = CODES.sub("", text)
        return "".join(_BLANKS.sub(_codes_only, row) + "\n" for row in text.split("\n")[:-1])


CODES: Final = re.compile("\x1b\\[[0-9;]*m")
_BLANKS: Final = re.compile("(?: |\x1b\\[[0-9;]*m)+$")
"""The end of a row: a terminal that gets narrower would break them."""


def _codes_only(found: re.Match[str]) -> str:
    return found[0].replace(" ", "")
