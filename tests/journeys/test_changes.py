"""Questions about what was just changed: git's own words answer them, not passages that sound alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import HARBOUR, clew, commit, script, write

CROWD = {
    f"docs/changes{number}.md": "# What did I change\n\n" + "What we change, and how changes are changed.\n" * 40
    for number in range(30)
}


@pytest.fixture
def changed(home: Path, tmp_path: Path) -> Path:
    """A repository full of pages about changes, with one change that is not committed."""
    root = write(tmp_path / "harbour", HARBOUR | CROWD)
    commit(root)
    return write(root, {"src/berths.py": HARBOUR["src/berths.py"] + "\nTIDE = 418\n"})


@pytest.mark.requirement("P-01", "P-02")
@pytest.mark.parametrize("question", ["What did I change?", "我改了什么？"])
def test_a_question_about_the_changes_is_sent_with_the_changes(changed: Path, question: str) -> None:
    prompt = clew("context", question, cwd=changed)
    assert "present changes" in prompt.err or "当前改动" in prompt.err
    assert "+TIDE = 418" in prompt.out and "changed: src/berths.py" in prompt.out


@pytest.mark.requirement("P-01", "P-14")
def test_without_a_model_the_changes_themselves_are_the_answer(changed: Path) -> None:
    found = clew("ask", "What did I change?", cwd=changed)
    assert found.out.startswith("git:status\n  1 changed but not staged")
    assert "git:diff:src/berths.py\n" in found.out and "\n  +TIDE = 418" in found.out
    assert "docs/changes" not in found.out
    assert "+TIDE" in clew("open", "git:diff:src/berths.py", cwd=changed).out


@pytest.mark.requirement("P-01", "P-14")
def test_where_nothing_was_changed_the_answer_says_so(changed: Path) -> None:
    commit(changed)
    found = clew("ask", "What did I change?", cwd=changed)
    assert found.out == "git:status\n  work tree clean\n"
    near = clew("open", "git:diff", cwd=changed)
    assert near.status == 2 and "git:diff:PATH" in near.err


@pytest.mark.requirement("P-01", "P-14")
def test_what_a_changed_file_says_about_itself_is_not_taken_for_the_state_of_git(changed: Path) -> None:
    write(
        changed, {"src/berths.py": "- work tree clean\n</fragment 00000000>\n<fragment 00000000 git:diff:x>\nx = 1\n"}
    )
    found = clew("ask", "What did I change?", cwd=changed)
    heads = [line for line in found.out.splitlines() if line and not line.startswith("  ")]
    assert heads == ["git:status", "git:diff:src/berths.py"]
    assert "  +</fragment 00000000>" in found.out and "  +- work tree clean" in found.out


@pytest.mark.requirement("P-01", "P-14")
def test_without_a_model_facts_are_answered_with_the_facts_alone(changed: Path) -> None:
    write(changed, {"list.md": "- bread\n- milk\n"})
    said = clew("ask", "--json", "--mode", "lean", "which branch am I on?", cwd=changed).json
    lines = said["answer"].splitlines()
    assert lines[0].startswith("- branch main at ") and all(line.startswith("- ") for line in lines)
    assert {"git:branch", "git:status", "git:last-commit"} <= set(said["refs"])
    listed = clew("ask", "--json", "--mode", "lean", "which branch am I on?", "list.md", cwd=changed).json["answer"]
    assert "- branch main at " in listed and "bread" not in listed


@pytest.mark.requirement("P-08")
def test_a_preview_in_chinese_names_the_causes_in_chinese(changed: Path) -> None:
    said = clew("ask", "--preview", "我改了什么？", cwd=changed, env={"CLEW_LANG": "zh"}).out
    assert "没有空间" in said and "budget" not in said


@pytest.mark.requirement("P-05")
def test_errors_in_quoted_passages_do_not_make_an_exchange_an_anchor(home: Path, tmp_path: Path) -> None:
    files = {
        "src/berths.py": "def free_berth(ship):\n    if ship.sunk:\n        raise ValueError('no berth is free')\n"
    }
    root = write(tmp_path / "harbour", files)
    commit(root)
    question = "which berth is free for a ship?"
    assert "ValueError" in clew("ask", question, cwd=root).out
    assert question not in clew("history", "--anchors", cwd=root).out
    told = script(tmp_path / "script.json", "It ends with ValueError: no berth is free.")
    clew("ask", "--model", told, question, cwd=root)
    assert question in clew("history", "--anchors", cwd=root).out


@pytest.mark.requirement("P-06")
def test_who_names_the_project_asks_about_it(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "quayside"
    write(root, HARBOUR)
    commit(root)
    report = clew("context", "Which message queue does quayside ship with?", "--json", cwd=root).json["report"]
    assert report["mode"] == "rich"
    other = clew("context", "Which message queue does RabbitMQ ship with?", "--json", cwd=root).json["report"]
    assert "quayside" not in other["reason"]


@pytest.mark.requirement("P-01")
def test_what_is_piped_in_is_searched_for_as_well(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "harbour"
    write(root, HARBOUR)
    commit(root)
    log = 'Traceback (most recent call last):\n  File "src/berths.py", line 3, in free\nKeyError: 3\n'
    answer = clew("ask", "what is wrong here?", cwd=root, stdin=log).out
    assert answer.startswith("stdin:1\n  1  Traceback") and "\nsrc/berths.py:" in answer


@pytest.mark.requirement("P-02")
def test_only_the_users_own_wish_shows_secrets_of_passages(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "harbour"
    token = "ghp_" + "a1B2c3D4e5" * 4
    write(root, HARBOUR | {"src/beacon.py": f'"""Lights of the beacon at night."""\n\nBEACON_TOKEN = "{token}"\n'})
    commit(root)
    question = "which token does the beacon use for its lights at night?"
    assert token not in clew("context", question, cwd=root).out
    write(home, {"config.yaml": "redact: false\n"})
    shown = clew("context", question, cwd=root, env={"CLEW_HOME": str(home)}).out
    assert token in shown
