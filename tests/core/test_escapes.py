"""What programs write for a terminal, as plain text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.text.escapes import plain
from clew.core.text.printable import steering

pytestmark = pytest.mark.requirement("R-13")

TEXTS = {
    "plain": ("a b\tc\n你好\n", "a b\tc\n你好\n"),
    "colours": ("\x1b[1;31mred\x1b[m", "red"),
    "ends of lines": ("a\r\nb\r\r\nc", "a\nb\nc"),
    "progress": ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
    "a shorter line over a longer one": ("abcdef\rxy", "xycdef"),
    "erased to its end": ("abcdef\rxy\x1b[K", "xy"),
    "erased as a whole": ("abcdef\x1b[2K\rxy", "xy"),
    "backspaces": ("abc\b\b\bxyz", "xyz"),
    "bold by overstriking": ("N\bNA\bA", "NA"),
    "titles, links and the clipboard": ("\x1b]0;t\x07a\x1b]8;;http://x\x1b\\b\x1b]52;c;eA==\x07c", "abc"),
    "strings to the terminal": ("a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", "abc"),
    "charsets and modes": ("\x1b(B\x1b=\x1b[?25la\x1b>", "a"),
    "a move to another row": ("a\x1b[5;1Hb", "a\nb"),
    "a move to the right": ("a\x1b[3Cb", "a   b"),
    "NUL and bell": ("a\0\x07b", "ab"),
    "an unfinished sequence": ("a\x1b[3", "a"),
    "a string without its end": ("a\x1bPb\nc\x1b]0;d\ne", "ab\nc0;d\ne"),
    "an escape alone": ("a\x1b", "a"),
    "a reversal of text": ("a\u202eb", "a\ufffdb"),
    "an own mark": ("a\ue0f0b\rc", "cb"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_as_plain_text(what: str) -> None:
    raw, text = TEXTS[what]
    assert plain(raw) == text


@given(st.text(st.sampled_from("ab\n\r\b\x1b[]0;12KHCm?P\\\x07\0 \u202e你"), max_size=60))
def test_nothing_that_steers_is_left_and_plain_text_stays(raw: str) -> None:
    text = plain(raw)
    assert steering(text) == 0 and "\r" not in text and "\x1b" not in text
    assert plain(text) == text


@pytest.mark.parametrize(
    "raw",
    [
        "\r",
        "a\r",
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\b",
        "\x1b[2K",
        "a" * 99 + "\r",
        "\x1b[99C",
        "\x1bP\n",
        "\x1b]\n",
        "\r\x1bPx",
        "\ue0f0\r",
    ],
)
def test_no_output_takes_long(raw: str) -> None:
    since = time.monotonic()
    plain(raw * (200_000 // len(raw)))
    assert time.monotonic() - since < 3
