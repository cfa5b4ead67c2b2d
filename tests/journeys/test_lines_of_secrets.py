"""A secret of several lines becomes one placeholder, and each line below keeps the number that it has in its file."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import clew, write

from clew.core.text.redact_lines import lines_kept

KEY = "PRIVATE " + "KEY"


def key_of(seed: int) -> str:
    body = base64.b64encode(random.Random(seed).randbytes(400)).decode()
    rows = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {KEY}-----\n{rows}\n-----END {KEY}-----\n"


@pytest.mark.requirement("W-09", "W-06")
def test_a_hit_below_a_key_has_the_line_of_its_file_and_opens_it(home: Path, harbour: Path) -> None:
    said = "The crane of berth fortytwo is painted turquoise."
    note = (
        f"---\nid: mem_0123456789ab\nname: Keys\n---\n# Keys\n\n{key_of(1)}\n# Two\n\n{key_of(2)}\n# Cranes\n\n{said}\n"
    )
    write(home / "clew", {"memory/user/key.md": note})
    line = note.split("\n").index(said) + 1
    (hit,) = json.loads(clew("memory", "search", "turquoise crane", "--json", cwd=harbour).out)["hits"]
    assert hit["last"] == line
    opened = clew("open", f"clew://memory/mem_0123456789ab#L{line}", cwd=harbour)
    assert opened.out.strip() == said


@pytest.mark.requirement("W-09")
def test_a_file_with_a_key_opens_at_the_line_that_is_asked_for(home: Path, harbour: Path) -> None:
    write(harbour, {"deploy.py": f'KEY = """{key_of(3)}"""\n\n\ndef deploy() -> None: ...\n'})
    line = (harbour / "deploy.py").read_text().split("\n").index("def deploy() -> None: ...") + 1
    assert "def deploy() -> None: ..." in clew("open", f"deploy.py:{line}", cwd=harbour).out


@given(st.lists(st.tuples(st.text("ab \n", max_size=8), st.text("xy\n", min_size=1, max_size=9)), max_size=4))
def test_no_line_break_is_lost_and_what_stays_stands_in_its_line(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{kept}{taken}" for kept, taken in parts) + "\nlast"
    clean = "".join(f"{kept}[REDACTED:secret:3f9a]" for kept, _ in parts) + "\nlast"
    out = lines_kept(text, clean)
    assert out.count("\n") == max(text.count("\n"), clean.count("\n"))
    assert re.sub(r"\n+", "", out) == re.sub(r"\n+", "", clean)
