"""Findings in a run of the agent: in results of tools, never in a layer; nothing of a repository runs unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, last_user, says, told, world
from tests.examined import scripted

from clew.core.agent.permissions import Permit

pytestmark = pytest.mark.requirement("R-14")

BAD = {"path": "src/new.go", "content": "package main\n// BAD\n"}


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


@pytest.fixture
def log(here: World, tmp_path: Path) -> Path:
    """A machine with a language server for Go; what that is told."""
    program = scripted(tmp_path / "programs", "gopls", "plain", tmp_path / "log")
    here.environment["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return tmp_path / "log"


@pytest.mark.requirement("R-12")
def test_findings_are_in_results_of_tools_and_never_in_a_layer(here: World, log: Path) -> None:
    here.run("write it", "--yes", play=[calls(("write_file", BAD)), calls(("diagnostics", {})), says("There it is.")])
    first, edited, looked = here.asked()
    line = "src/new.go:2:4 error scripted no-bad bad: // BAD"
    assert last_user(edited)[0].endswith(f"diagnostics: 1 error, all that is found in this file\n{line}")
    assert last_user(looked) == [f"1 error in 1 file (gopls)\n{line}"]
    here.run("go on", "--continue", play=[calls(("diagnostics", {})), says("Still wrong.")])
    again, answered = here.asked()[3:]
    for request in (first, again):
        assert "bad:" not in told(request, system=True)
    # The files that were changed are known also to a session that goes on later.
    assert last_user(answered) == [f"1 error in 1 file (gopls)\n{line}"]


@pytest.mark.requirement("Q-46", "R-17")
def test_a_server_of_the_repository_is_started_only_when_the_user_says_yes(here: World, tmp_path: Path) -> None:
    log = tmp_path / "log"
    scripted(here.repository / ".venv" / "bin", "gopls", "plain", log)
    looks = calls(("diagnostics", {"path": "src/new.go", "start": True}))
    (here.repository / "src" / "new.go").write_text(BAD["content"])
    with here.talk() as talk:
        talk.session.around.yes = False
        talk.run("look", looks, says("No."))
        assert (talk.asked[-1].title, talk.asked[-1].kind) == ("start .venv/bin/gopls", "command")
        assert (
            "refused: the user does not allow `start .venv/bin/gopls`" in last_user(here.asked()[-1])[0]
            and not log.exists()
        )
        talk.answers.append(Permit(True))
        talk.run("look again", looks, says("Yes."))
        assert last_user(here.asked()[-1])[0].startswith("1 error in 1 file (gopls)")


def test_the_setting_switches_servers_off(here: World, log: Path) -> None:
    here.environment["CLEW_LSP"] = "off"
    here.run("write it", "--yes", play=[calls(("write_file", BAD)), says("There it is.")])
    assert "diagnostics" not in last_user(here.asked()[-1])[0]
    assert not log.exists()
