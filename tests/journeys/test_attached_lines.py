"""Attached text without a model: the answer quotes the lines of it that matter."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import clew, write

CALM = [f"2026-01-02 03:{number // 60:02}:{number % 60:02} INFO berth {number} is served" for number in range(180)]
SHOUT = "2026-01-02 03:05:01 ERROR quay 7: ConnectionRefusedError: the crane does not answer"


def log(*changes: tuple[int, str]) -> str:
    lines = list(CALM)
    for at, line in changes:
        lines[at - 1] = line
    return "\n".join(lines) + "\n"


@pytest.mark.requirement("P-01", "P-04")
@pytest.mark.parametrize("question", ["What is wrong here?", "这里出了什么问题？"])
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_the_error_in_an_attached_log_is_quoted_with_its_line(harbour: Path, question: str, way: str) -> None:
    text = log((122, SHOUT))
    write(harbour, {"logs/server.log": text})
    if way == "file":
        found = clew("ask", "--json", question, "logs/server.log", cwd=harbour).json
    else:
        found = clew("ask", "--json", question, cwd=harbour, stdin=text).json
    name = "logs/server.log" if way == "file" else "stdin"
    head, *quoted = found["answer"].split("\n\n")[0].splitlines()
    assert head == f"{name}:118" == found["refs"][0]
    assert f"  122  {SHOUT}" in quoted and len(quoted) == 8


@pytest.mark.requirement("P-04")
def test_words_of_the_question_find_their_line_and_the_same_error_is_quoted_once(harbour: Path) -> None:
    repeated = [(at, SHOUT.replace("05:01", f"05:{at % 60:02}")) for at in range(100, 180, 10)]
    write(harbour, {"server.log": log((27, "2026-01-02 INFO the harbourmaster Zinnober came aboard"), *repeated)})
    answer = clew("ask", "--json", "when did the harbourmaster Zinnober come aboard?", "server.log", cwd=harbour).json[
        "answer"
    ]
    assert "  27  2026-01-02 INFO the harbourmaster Zinnober" in answer
    assert answer.count("the crane does not answer") == 1 and "  170  " in answer


@pytest.mark.requirement("P-04")
def test_a_secret_in_a_quoted_line_is_taken_out(harbour: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(harbour, {"server.log": log((10, f"ERROR login with {token} failed"))})
    answer = clew("ask", "--json", "what is wrong?", "server.log", cwd=harbour).json["answer"]
    assert "ERROR login with" in answer and token not in answer


@pytest.mark.requirement("P-04")
def test_source_code_that_speaks_of_errors_is_no_error(harbour: Path) -> None:
    write(harbour, {"src/fails.py": "x = 1\n" * 50 + "raise ConnectionRefusedError\n"})
    found = clew("ask", "is this safe?", "src/fails.py", cwd=harbour)
    assert found.status == 0 and "raise ConnectionRefusedError" not in found.out


@pytest.mark.requirement("P-04")
def test_without_context_the_attached_lines_are_quoted_all_the_same(harbour: Path) -> None:
    write(harbour, {"server.log": log((122, SHOUT))})
    answer = clew("ask", "--json", "--no-context", "what is wrong?", "server.log", cwd=harbour).json["answer"]
    assert SHOUT in answer and "src/" not in answer
