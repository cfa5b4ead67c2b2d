"""The agent in the Python API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, last_user, says, told, world

import clew
from clew.errors import ModelUnknown, NotFound, StoreBusy, UsageError

EDIT = ("edit_file", {"path": "src/retry.py", "edits": [{"old": "timeout=30.0", "new": "timeout=60.0"}]})
READ = ("read", {"path": "src/retry.py"})


@pytest.fixture
def here(harbour: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world(harbour, home) as made:
        for name, value in made.model.items():
            monkeypatch.setenv(name, value)
        yield made
        made.check()


@pytest.mark.requirement("F-04")
def test_an_agent_works_in_a_folder_and_asks_the_program_what_it_may(here: World) -> None:
    here.server.turns = [calls(READ), calls(EDIT), says("Raised.")]
    asked: list[clew.Effect] = []
    kinds: list[str] = []

    def permit(effect: clew.Effect) -> clew.Permit:
        asked.append(effect)
        return clew.Permit(True)

    def tell(event: object) -> None:
        kinds.append(type(event).__name__)

    with clew.Agent(here.repository, permit=permit, tell=tell) as agent:
        record = agent.run("raise the timeout")
    assert isinstance(record, clew.RunRecord)
    assert (record.outcome, record.final, record.changed) == ("finished", "Raised.", ("src/retry.py",))
    assert [effect.title for effect in asked] == ["edit src/retry.py"]
    assert "+def retry_with_backoff(call, attempts=5, timeout=60.0):" in asked[0].preview
    assert (kinds[0], kinds[-1]) == ("RunStarted", "RunEnded")


@pytest.mark.requirement("F-04")
def test_without_rules_or_an_answer_it_may_only_read(here: World) -> None:
    here.server.turns = [calls(READ), calls(EDIT), says("I may not.")]
    with clew.Agent(here.repository) as agent:
        agent.run("raise the timeout")
    assert "`yes`, `allow` or `permit` would have allowed it" in last_user(here.asked()[-1])[0]


@pytest.mark.requirement("F-04")
def test_a_session_goes_on_by_its_id_or_as_the_latest_and_is_held_once(here: World) -> None:
    here.server.turns = [says("one"), says("two"), says("three")]
    with clew.Agent(here.repository) as agent:
        agent.run("first")
        id_ = agent.id
        with pytest.raises(StoreBusy), clew.Agent(here.repository, session=id_):
            pass
    with clew.Agent(here.repository, session=id_[:12]) as agent:
        agent.run("second")
    with clew.Agent(here.repository, session="latest") as agent:
        assert agent.id == id_
        agent.run("third")
    assert "[run 2; finished]" in told(here.asked()[-1])


@pytest.mark.requirement("F-04")
def test_what_cannot_be_is_an_error_with_a_hint(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="with` block"):
        clew.Agent(here.repository).run("hello")
    with pytest.raises(NotFound), clew.Agent(here.repository / "nowhere"):
        pass
    with pytest.raises(UsageError, match="no rule"), clew.Agent(here.repository, allow=["all"]):
        pass
    with pytest.raises(NotFound, match="no session"), clew.Agent(here.repository, session="2020"):
        pass
    monkeypatch.delenv("CLEW_MODEL")
    with pytest.raises(ModelUnknown, match="needs a model"), clew.Agent(here.repository):
        pass
    assert "CLEW_MODEL" not in os.environ
