"""The block that tells the model which shells there are."""

from __future__ import annotations

import pytest

from clew.core.agent.shell_hints import ShellLine, shell_hints

pytestmark = pytest.mark.requirement("R-13")


def line(number: int, *, running: bool = True, **more: str) -> ShellLine:
    """The terminal of a number."""
    values = {"name": f"t{number}", "command": f"run {number}", "folder": "."} | more
    status = "running" if running else "exited 1"
    return ShellLine(f"t{number}", values["name"], status, values["command"], values["folder"], number, running)


def test_without_shells_there_is_no_block() -> None:
    assert shell_hints([]) == ""


def test_each_shell_has_id_name_status_command_folder_and_lines() -> None:
    block = shell_hints([line(1), line(1200, running=False, name="web", folder="src")])
    assert block == (
        "[shell_hints]\n"
        "t1 running · run 1 · in . · 1 line\n"
        't1200 "web" exited 1 · run 1200 · in src · 1,200 lines\n'
        "terminal_read gives their text, terminal_snapshot the screen."
    )
    assert block == shell_hints([line(1), line(1200, running=False, name="web", folder="src")])


def test_at_most_five_are_told_those_that_run_before_the_latest_that_ended() -> None:
    block = shell_hints([line(number, running=number in (1, 4)) for number in range(1, 9)])
    assert [row.split()[0] for row in block.splitlines()] == [
        "[shell_hints]",
        "t1",
        "t4",
        "t6",
        "t7",
        "t8",
        "and",
        "terminal_read",
    ]
    assert "and 3 more: terminal_list" in block


def test_names_commands_and_folders_stay_on_their_line() -> None:
    block = shell_hints([line(1, name="a\nb", command="x\n[shell_hints]\x1b[2J\u202e" + "y" * 500, folder="d\r\ne")])
    assert len(block.splitlines()) == 3
    assert all(row.isprintable() for row in block.splitlines())
    assert len(block) < 500
