"""The pictures of the docs: there, small, about no machine, and with wide characters in their cells."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_small_and_names_no_address_and_no_folder_of_a_machine(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert len(text) < 60_000
    assert not re.search(r"://|url\(|href|@import|<script|/home/|/root|/tmp|/Users/", text)


def test_every_picture_is_shown_and_every_one_shown_is_there() -> None:
    shown: set[Path] = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        found = re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text(encoding="utf-8"))
        shown |= {(page.parent / target).resolve() for target in found}
    assert shown == set(PICTURES)


def test_each_picture_says_in_words_what_it_shows() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for image in re.findall(r"<img [^>]*>", page.read_text(encoding="utf-8")):
            assert re.search(r'alt="[^"]{40,}"', image), page


def test_wide_characters_take_two_cells_and_colours_go_on_in_the_next_line() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "picture.py"), "--columns", "20", "--theme", "dark"]
    seen = "ab 中文 <x>\n\x1b[2mpale\nstill\x1b[0m"
    done = subprocess.run(tool, input=seen, capture_output=True, text=True, encoding="utf-8", check=True)
    drawn = {text.text: text.attrib for text in ET.fromstring(done.stdout).iter(f"{SVG}text")}
    cell = float(drawn["ab"]["textLength"]) / 2
    assert float(drawn["中文"]["textLength"]) == pytest.approx(4 * cell)
    assert float(drawn["<x>"]["x"]) - float(drawn["ab"]["x"]) == pytest.approx(8 * cell)
    assert drawn["pale"]["fill"] == drawn["still"]["fill"]
