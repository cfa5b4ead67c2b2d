"""Turn what a terminal shows into a picture for the docs.

    tmux capture-pane -e -p -t PANE | python tools/picture.py --columns 80 --theme dark > docs/pictures/ask-dark.svg

Reads text with colour codes on stdin, writes an SVG on stdout. The picture names no address and fetches no font: it
takes a monospace font of the reader and sets each run of text to the width of its cells, so that columns and Chinese
characters, two cells wide, stand where the terminal put them.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

CELL = 8.4
"""Width of a cell, for glyphs of SIZE."""
SIZE = 14
LINE = 19
PAD = 16
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"
WIDE_SIZE = 16
"""Of characters that are two cells wide: at SIZE there would be gaps between them."""
DIM = 0.66
"""Share of the foreground in dimmed text; the rest is the background."""

Triple = tuple[int, int, int]


def _triples(colors: str) -> list[Triple]:
    return [(int(c[:2], 16), int(c[2:4], 16), int(c[4:], 16)) for c in colors.split()]


def _theme(ground: str, ink: str, normal: str, bright: str) -> TerminalTheme:
    back, front = _triples(f"{ground} {ink}")
    return TerminalTheme(back, front, _triples(normal), _triples(bright))


THEMES = {
    "light": _theme(
        "ffffff",
        "1f2328",
        "24292f cf222e 116329 7d4e00 0969da 8250df 1b7c83 6e7781",
        "57606a a40e26 1a7f37 633c01 218bff a475f9 3192aa 8c959f",
    ),
    "dark": _theme(
        "0d1117",
        "e6edf3",
        "484f58 ff7b72 3fb950 d29922 58a6ff bc8cff 39c5cf b1bac4",
        "6e7681 ffa198 56d364 e3b341 79c0ff d2a8ff 56d4dd ffffff",
    ),
}
"""Background, foreground, then the eight colours and their bright twins."""
EDGES = {"light": "d1d9e0", "dark": "30363d"}


def main() -> None:
    """Read a capture, write its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=80, help="width of the terminal, in cells")
    parser.add_argument("--theme", choices=sorted(THEMES), default="light")
    parser.add_argument("--title", default="A terminal", help="what is shown, for who cannot see it")
    given = parser.parse_args()
    sys.stdout.write(picture(sys.stdin.read(), given.columns, given.theme, given.title))


def picture(text: str, columns: int, theme: str, title: str = "A terminal") -> str:
    """The SVG of a terminal of so many `columns` that shows `text`; `theme` is a key of THEMES."""
    console = Console(width=columns, color_system="truecolor", force_terminal=True, legacy_windows=False)
    # Decoded as one text: a style may begin in one line and end in another.
    rows = [list(line.render(console)) for line in Text.from_ansi(text.rstrip("\n ")).split("\n")]
    width, height = columns * CELL + 2 * PAD, len(rows) * LINE + 2 * PAD
    colors = THEMES[theme]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" '
        f'viewBox="0 0 {width:g} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1}" rx="8" fill="{colors.background_color.hex}" '
        f'stroke="#{EDGES[theme]}"/>',
        f'<g font-family="{FONTS}" font-size="{SIZE}" fill="{colors.foreground_color.hex}">',
    ]
    for number, row in enumerate(rows):
        top = PAD + number * LINE
        column = 0
        for part, style in _runs(row):
            cells = cell_len(part)
            out += _drawn(part, style, colors, (PAD + column * CELL, top, cells * CELL))
            column += cells
    return "\n".join([*out, "</g>", "</svg>", ""])


def _runs(row: list[Segment]) -> Iterator[tuple[str, Style]]:
    """Pieces of one style whose characters all take the same number of cells; several blanks are a piece of their own.

    A reader may draw many blanks as one, and stretch the rest over their room.
    """
    for segment in row:
        for part in re.split("( {2,})", segment.text):
            for _, characters in itertools.groupby(part, key=cell_len):
                yield "".join(characters), segment.style or Style()


def _drawn(part: str, style: Style, colors: TerminalTheme, box: tuple[float, float, float]) -> Iterator[str]:
    """The elements of one run; `box` is its left edge, its top and its width."""
    left, top, width = box
    ink = colors.foreground_color if style.color is None else style.color.get_truecolor(colors)
    ground = colors.background_color if style.bgcolor is None else style.bgcolor.get_truecolor(colors, foreground=False)
    if style.reverse:
        ink, ground = ground, ink
    if style.dim:
        ink = type(ink)(*(round(DIM * a + (1 - DIM) * b) for a, b in zip(ink, ground, strict=True)))
    if ground != colors.background_color:
        yield f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{LINE}" fill="{ground.hex}"/>'
    text = part.strip(" ")
    if not text:
        return
    left += (len(part) - len(part.lstrip(" "))) * CELL
    look = f' font-size="{WIDE_SIZE}"' if cell_len(text) > len(text) else ""
    look += "" if ink == colors.foreground_color else f' fill="{ink.hex}"'
    look += ' font-weight="bold"' if style.bold else ""
    look += ' font-style="italic"' if style.italic else ""
    look += ' text-decoration="underline"' if style.underline else ""
    yield (
        f'<text x="{left:g}" y="{top + LINE - 5}" textLength="{cell_len(text) * CELL:g}"{look}>{escape(text)}</text>'
    )


if __name__ == "__main__":
    main()
