"""What notes and files hold reaches people and models so that nothing in it can steer, hide or look like another."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import clew, on_terminal
from tests.wire.lines import talking, text_of

from clew.core.text.printable import steering, visible
from clew.entrypoints.cli.style import json_line

STEERING = "\x1b]52;c;b3duZWQ=\x07 \x9b31m \u202egnp.exe\u202c \u2066x\u2069 \u2028 \x08\x7f \U000e0041\U000e007f"
TEXT = f"Cranes stop above nine metres a second {STEERING} of wind, said the harbour master.\n"
HARMFUL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\U000e0000-\U000e007f]"
    "|\x1b(?!\\[[0-9]{0,2}m)"
)
QUERY = "when do cranes stop for wind?"
TERMINAL = {"TERM": "xterm-256color", "NO_COLOR": None}


@pytest.fixture
def kept(home: Path, harbour: Path) -> str:
    """A note that a person wrote by hand, with a body that steers. Its reference."""
    saved = clew("note", "A first word.", "--name", "Crane limit", "--json", cwd=harbour).json
    note = Path(saved["path"])
    text = note.read_text(encoding="utf-8").replace("A first word.\n", TEXT)
    note.write_text(text.replace("description: ", "when: ['stop the cranes \x1b[2J\u202e']\ndescription: "), "utf-8")
    return saved["ref"]


@pytest.mark.requirement("F-02", "W-06", "W-07")
def test_a_model_gets_what_steers_visibly_replaced(kept: str, harbour: Path) -> None:
    with talking(harbour) as server:
        server.initialize()
        for name, arguments in (("memory_open", {"ref": kept}), ("memory_recall", {"query": QUERY})):
            result = server.call(name, arguments)
            for said in (text_of(result), json.dumps(result["structuredContent"], ensure_ascii=False)):
                assert "Cranes stop above nine metres a second" in said and "harbour master" in said
                assert not HARMFUL.search(said.replace("\\n", " ")) and "\x1b" not in said
                assert "\ufffd]52;c;b3duZWQ=\ufffd" in said and "\ufffdgnp.exe\ufffd" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("open", "REF"),
        ("memory", "search", QUERY),
        ("memory", "list"),
        ("recall", "-v", f"we have to {QUERY} \u202e\x1b[2J"),
        ("audit",),
        ("memory", "check"),
        ("open", "REF", "--json"),
        ("memory", "search", QUERY, "--json"),
        ("memory", "list", "--json"),
        ("recall", "--json", f"we have to {QUERY} \u202e\x1b[2J"),
        ("audit", "--json"),
        ("memory", "check", "--json"),
    ],
    ids=" ".join,
)
@pytest.mark.requirement("W-06")
def test_neither_a_pipe_nor_a_terminal_is_steered(kept: str, harbour: Path, arguments: tuple[str, ...]) -> None:
    clew("memory", "search", f"cranes \u202e\x1b[2J {QUERY}", cwd=harbour)
    words = tuple(kept if word == "REF" else word for word in arguments)
    piped = clew(*words, cwd=harbour)
    said = on_terminal(*words, cwd=harbour, env=TERMINAL).decode("utf-8").replace("\r\n", "\n")
    assert piped.status in (0, 1) and piped.out and said
    for text in (piped.out, piped.err, said):
        found = HARMFUL.search(text)
        assert not found, repr(text[max(found.start() - 60, 0) : found.end() + 20])
    assert "\x1b" not in piped.out + piped.err


def test_what_is_opened_raw_or_as_json_is_the_exact_text(kept: str, harbour: Path) -> None:
    told = clew("open", kept, cwd=harbour)
    assert "harbour master" in told.out and "--raw" in told.err and "\ufffd" in told.out
    assert TEXT.strip() in clew("open", "--raw", kept, cwd=harbour).out
    assert TEXT.strip() in clew("open", "--json", kept, cwd=harbour).json["text"]


@pytest.mark.requirement("W-06")
def test_a_note_in_the_context_of_a_question_steers_nothing(kept: str, harbour: Path) -> None:
    prompt = clew("context", "what did we decide: when do cranes stop for wind?", cwd=harbour).out
    assert "Cranes stop above nine metres a second" in prompt
    assert not HARMFUL.search(prompt)


@given(st.text(st.sampled_from(STEERING + "\r\n\t a中é😀\u200d\ud800\ufff9") | st.characters(), max_size=60))
def test_a_visible_text_is_as_long_and_says_the_rest_as_it_was(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text) and visible(shown) == shown and steering(shown) == 0
    assert all(one == other or other == "\ufffd" for one, other in zip(text, shown, strict=True))
    assert sum(one != other for one, other in zip(text, shown, strict=True)) == steering(text)
    assert not HARMFUL.search(shown) and text.count("\n") == shown.count("\n")
    shown.encode("utf-8")
    line = json_line({"text": text})
    assert json.loads(line) == {"text": text} and not HARMFUL.search(line)
    line.encode("utf-8")
