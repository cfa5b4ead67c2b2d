"""Files whose names or contents are not what most programs expect: bytes that are no UTF-8, controls, encodings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.command import Done, clew, commit, git, on_terminal, script, write

BYTES = os.fsdecode(b"\xff\xfe.md")
STEERING = "z\x1b[31m\x1b]0;own\x07.md"
REVERSED = "gnp\u202e.md"
LINES = 'new\nline\ttab"q.md'
LONG = "a" * 250 + ".md"
ODD = {
    BYTES: r"\xff\xfe.md",
    STEERING: r"z\x1b[31m\x1b]0;own\x07.md",
    REVERSED: r"gnp\u202e.md",
    LINES: r'new\nline\ttab"q.md',
    LONG: LONG,
    r"back\x41.md": r"back\x41.md",
}
"""Names, and how each is shown: with nothing in it that steers a terminal, and so that `clew open` takes it."""
TERMINAL = {"TERM": "xterm", "NO_COLOR": None, "COLUMNS": "200"}
HARMFUL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\\[[0-9]{0,2}m)")


@pytest.fixture
def odd(tmp_path: Path, home: Path) -> Path:
    """A repository whose files all have odd names."""
    root = tmp_path / "odd"
    root.mkdir()
    for number, name in enumerate(ODD):
        (root / name).write_text(f"the zebra handler number {number} feeds\n", encoding="utf-8")
    write(root, {"retry.py": "def retry():\n    pass\n"})
    commit(root, "Feed the zebra")
    return root


def asked(root: Path, *arguments: str) -> Done:
    found = clew(*arguments, cwd=root)
    assert found.status == 0 and "Traceback" not in found.err, found.err
    return found


@pytest.mark.requirement("P-01", "P-03")
def test_a_name_that_is_not_utf_8_in_the_history_ends_no_question(odd: Path) -> None:
    assert "retry.py" in asked(odd, "ask", "where is retry defined?").out
    git(odd, "rm", "-q", "--", BYTES)
    git(odd, "commit", "-qm", "Feed it no more")
    assert "retry.py" in asked(odd, "ask", "--new", "where is retry defined?").out
    assert "fresh" in asked(odd, "index", "status").out


@pytest.mark.requirement("P-03", "W-14")
@pytest.mark.parametrize("name", ODD)
def test_a_file_is_found_and_opened_under_the_name_that_is_shown(odd: Path, name: str) -> None:
    number = list(ODD).index(name)
    prompt = asked(odd, "context", "--no-cache", "which zebra handler feeds?").out
    ref = f"{ODD[name]}:1-1"
    assert f"related {ref}>" in prompt
    opened = asked(odd, "open", ref)
    assert opened.out == f"the zebra handler number {number} feeds\n"
    again = asked(odd, "context", "which zebra handler feeds?")
    assert again.out.splitlines()[-3:] == prompt.splitlines()[-3:]


@pytest.mark.requirement("P-03")
def test_the_index_holds_a_file_whatever_its_name_and_forgets_it_when_it_is_gone(odd: Path) -> None:
    asked(odd, "ask", "which zebra handler feeds?")
    assert asked(odd, "index", "status", "--json").json["files"] == len(ODD) + 1
    (odd / BYTES).unlink()
    assert asked(odd, "index", "status", "--json").json["gone"] == 1
    prompt = asked(odd, "context", "--new", "which zebra handler feeds?").out
    assert f"related {ODD[BYTES]}:" not in prompt and f"related {ODD[STEERING]}:" in prompt
    assert asked(odd, "index", "status", "--json").json["files"] == len(ODD)


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "--preview", "which zebra handler feeds?"),
        ("ask", "-v", "which zebra handler feeds?"),
        ("ask", "--json", "which zebra handler feeds?"),
        ("context", "which zebra handler feeds?"),
        ("context", "--json", "which zebra handler feeds?"),
        ("open", "git:last-commit"),
        ("open", "tree"),
        ("open", ODD[STEERING]),
        ("open", "--json", ODD[REVERSED]),
        ("open", "nothing\x1b[8m\u202ehere.md"),
        ("history",),
        ("index", "status"),
        ("config",),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_nothing_in_a_repository_steers_the_terminal(odd: Path, arguments: tuple[str, ...]) -> None:
    (odd / STEERING).write_text("the zebra \x1b]0;own\x07 handler \u202e feeds \u2066 \x9b31m\n", encoding="utf-8")
    asked(odd, "ask", "which zebra \u202e\x1b[8m handler feeds?")
    said = on_terminal(*arguments, cwd=odd, env=TERMINAL).decode("utf-8").replace("\r\n", "\n")
    assert said and not (found := HARMFUL.search(said)), repr(said[max(found.start() - 60, 0) : found.end() + 20])


@pytest.mark.requirement("F-01")
def test_the_table_of_a_preview_has_one_line_for_each_fragment(odd: Path) -> None:
    rows = asked(odd, "ask", "--preview", "which zebra handler feeds?").out.splitlines()
    assert all(re.match(r" *(?:[0-9—]+)  ", row) for row in rows), rows


@pytest.mark.requirement("P-14")
def test_the_words_of_a_model_steer_no_terminal_and_come_through_a_pipe_as_they_are(odd: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", "It \x1b]0;own\x07is \u202ehere\u2069 \x9b2J.")
    arguments = ("ask", "which zebra handler feeds?", "--model", model)
    assert not HARMFUL.search(on_terminal(*arguments, cwd=odd, env=TERMINAL).decode("utf-8"))
    assert asked(odd, *arguments).out == "It \x1b]0;own\x07is \u202ehere\u2069 \x9b2J.\n"


# ---------------------------------------------------------------------- encodings


ENCODED = {
    "conf.py": ("# 重试次数限制是五次，超过之后放弃\n".encode("gb18030"), "重试次数限制是五次", "read as GB 18030"),
    "limits.txt": ("重试次数限制是五次\n".encode("utf-16"), "重试次数限制是五次", "read as UTF-16"),
    "old.c": (b"/* the retry limit of the caf\xe9 is five */\n", "the caf\ufffd is", "not UTF-8: 1 character replaced"),
}


@pytest.mark.requirement("P-03", "P-04")
@pytest.mark.parametrize("name", ENCODED)
def test_a_file_is_read_in_one_way_whether_attached_collected_or_opened(tmp_path: Path, home: Path, name: str) -> None:
    content, says, note = ENCODED[name]
    root = write(tmp_path / "work", {name: content, "other.py": "x = 1\n"})
    commit(root)
    question = "重试次数限制是多少? what is the retry limit of the caf\u00e9?"
    collected = asked(root, "context", "--mode", "rich", question).out
    attached = asked(root, "context", question, name).out
    for prompt in (collected, attached):
        assert says in prompt and f"({note})" in prompt
    assert says in asked(root, "open", name).out
    write(root, {name: content + content})
    assert says in asked(root, "open", f"git:diff:{name}").out or name == "limits.txt"


# ---------------------------------------------------------------------- what is named and not shown


@pytest.mark.requirement("P-03")
@pytest.mark.parametrize("name", [".env", "id_rsa"])
def test_a_file_of_secrets_is_said_to_be_withheld(tmp_path: Path, home: Path, name: str) -> None:
    root = write(tmp_path / "work", {name: "TOKEN=7c2f90aa41e8d5b6\n", "app.py": "def start():\n    pass\n"})
    found = asked(root, "context", f"what is in {name}?")
    assert f"{name} (withheld: it usually holds secrets)" in found.out
    assert f"{name}: withheld, it usually holds secrets" in found.err and f"clew ask QUESTION {name}" in found.err
    assert "(0 lines" not in found.out and "7c2f90aa41e8d5b6" not in found.out
    attached = asked(root, "context", f"what is in {name}?", name)
    assert "TOKEN=[REDACTED" in attached.out and "1 was removed before it was given" in attached.err
    assert "withheld" not in attached.err


@pytest.mark.requirement("P-03")
def test_what_a_program_wrote_and_licences_do_not_stand_in_for_the_source(tmp_path: Path, home: Path) -> None:
    rule = "the lexer recognises a number by its digits and an exponent\n"
    licence = "Permission is granted to recognise the number of the lexer, digits and exponent.\n" * 30
    root = write(
        tmp_path / "work",
        {
            "src/lexer.l": f"%%\n/* {rule} */\n[0-9]+ return NUMBER;\n",
            "src/lexer.c": f'#line 1 "src/lexer.c"\n\n/* A lexical scanner generated by flex */\n/* {rule} */\n' * 3,
            "src/parser.c": f"/* A Bison parser, made by GNU Bison 3.8.2.  */\n\n/* {rule} */\n",
            "tool.1.prebuilt": rule,
            "src/api.ts": f"// This file is auto-generated by openapi-typescript\n// {rule}",
            "tests/__snapshots__/lexer.ambr": rule,
            "LICENSE": licence,
        },
    )
    commit(root)
    prompt = asked(root, "context", "how does the lexer recognise a number with digits and an exponent?").out
    shown = re.findall(r"^<fragment \w+ related (\S+):\d+-\d+", prompt, re.MULTILINE)
    assert shown[0] == "src/lexer.l"
    written = {"src/lexer.c", "src/parser.c", "tool.1.prebuilt", "src/api.ts", "tests/__snapshots__/lexer.ambr"}
    assert not written & set(shown)
    assert "LICENSE" not in shown
    asks = asked(root, "context", "--new", "which licence does this have, and what does it permit?").out
    assert "related LICENSE:" in asks


# ---------------------------------------------------------------------- references


@pytest.mark.requirement("W-14")
def test_every_reference_of_a_report_can_be_opened(harbour: Path) -> None:
    report = asked(harbour, "ask", "--json", "where does the retry wait before the next attempt?").json["report"]
    refs = [kept["ref"] for kept in report["kept"]]
    assert {"related:files", "tree", "environment:platform"} <= set(refs)
    for ref in refs:
        assert asked(harbour, "open", ref).out.strip(), ref


@pytest.mark.requirement("W-14")
def test_what_was_piped_in_is_said_not_to_be_kept(harbour: Path) -> None:
    found = clew("open", "stdin", cwd=harbour)
    assert found.status == 2 and "`stdin` is not kept" in found.err


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("arguments", [("ask", "where is the retry?"), ("--version",), ("index", "status", "--json")])
def test_a_closed_output_is_no_success(harbour: Path, arguments: tuple[str, ...]) -> None:
    found = clew(*arguments, cwd=harbour, preexec_fn=lambda: os.close(1))
    assert found.status == 1 and "the output could not be written" in found.err
