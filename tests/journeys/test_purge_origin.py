"""All that came from one source goes: what a session, a workspace, an exchange or a document left elsewhere, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents import World, calls, of_sub_agent, says, world
from tests.command import clew, git, script, write
from tests.journeys.test_purge_derived import kept
from tests.journeys.test_purge_forms import holders
from tests.scripted_server import Asked, Turn

from clew.stores.durable import locked
from clew.stores.seen import Seen

pytestmark = pytest.mark.requirement("W-09")

ASKED = "sort out the zebracrane; why does the retry time out?"
NOTE = ("note", "Retries are capped at five.", "--name", "Retry cap", "--when", "the retry times out")


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


def step(asked: Asked) -> int:
    return sum(message["role"] == "assistant" for message in asked.json["messages"])


def works(asked: Asked) -> Turn:
    """An agent that runs a command with a long output, delegates, and keeps a note; its sub-agent runs one as well."""
    if of_sub_agent(asked):
        return says("The zebracrane is on pier 9.") if step(asked) else calls(("shell", {"command": "cat long.txt"}))
    if step(asked) == 0:
        return calls(("shell", {"command": "cat long.txt"}), ("delegate", {"task": "Where is it?", "context": "Look."}))
    if step(asked) == 1:
        return calls(("memory_note", {"name": "Crane", "text": "It is painted on Mondays."}))
    return says("Done with the zebracrane. Next: paint it.")


def worked(here: World) -> str:
    """A session of the agent with all that it leaves. Its id."""
    assert here.inside("sync", "init").status == 0
    here.inside(*NOTE)
    write(here.repository, {"long.txt": "zebraoutput\n" * 6_000})
    write(here.home / "clew", {"typed.jsonl": "".join(f"{json.dumps(one)}\n" for one in (ASKED, "/help"))})
    here.run(ASKED, "--yes", play=works)
    here.inside("session", "search", "zebracrane")
    here.inside("sync")
    return next(path.stem for path in here.sessions() if '"delegated"' not in path.read_text().split("\n")[0])


def purged(here: World, ref: str, *ways: str) -> Any:
    done = here.inside("purge", "--source", ref, "--yes", "--json", *ways)
    assert done.status == 0, done.out + done.err
    assert done.json["left"] == []
    return done.json


def test_a_session_goes_with_its_outputs_sub_agents_ledger_and_lines_of_the_trail(here: World) -> None:
    id_ = worked(here)
    data = here.home / "clew"
    for word in ("zebracrane", "zebraoutput"):
        assert word in kept(here.home)
    assert len(list((data / "sessions").glob("*/shell-1.txt"))) == 2
    other = write(data, {"sessions/20260301-090000-0002ab.jsonl": '{"type":"session","id":"x"}\n'})
    report = purged(here, f"session:{id_}")
    assert [path.name for path in (other / "sessions").iterdir()] == ["20260301-090000-0002ab.jsonl"]
    assert list((data / "memory").rglob("handoff/*.md")) == []
    assert Seen(data / "hints.db").shown(id_) == ()
    assert (data / "typed.jsonl").read_text() == '"/help"\n'
    left = kept(here.home)
    assert "zebraoutput" not in left and id_ not in left and ASKED[:20] not in left
    # What the agent kept as notes stays, and is named.
    names = sorted(Path(path).stem for path in report["mentioned"])
    assert names == ["crane", "where-is-it"]
    (note,) = (data / "memory").rglob("where-is-it.md")
    assert holders(data, "zebracrane") == [note.relative_to(data).as_posix(), "git: b'zebracrane'"]
    assert "paint" in left and "Retry cap" in left
    assert git(data / "memory", "status", "--porcelain") == ""
    assert here.inside("purge", "--source", f"session:{id_}", "--yes").status == 2


def test_a_workspace_goes_with_its_sessions(here: World) -> None:
    worked(here)
    data = here.home / "clew"
    other = {"type": "session", "id": "20260301-090000-0002ab", "workspace": "elsewhere", "at": "x"}
    write(data, {f"sessions/{other['id']}.jsonl": json.dumps(other) + "\n", f"sessions/{other['id']}/a.txt": "a\n"})
    (own,) = [path.name for path in (data / "memory/workspaces").iterdir()]
    purged(here, f"workspace:{own}")
    assert sorted(path.name for path in (data / "sessions").iterdir()) == [other["id"], f"{other['id']}.jsonl"]
    left = kept(here.home)
    for word in ("zebracrane", "zebraoutput", "Retry cap", "paint", "capped", own):
        assert word not in left, word
    with Seen(data / "hints.db")._transaction(writes=False) as rows:
        assert rows.execute("select count(*) from shown").fetchone()[0] == 0


def test_a_session_that_is_in_use_is_told_as_left(here: World) -> None:
    id_ = worked(here)
    folder = here.home / "clew/sessions" / id_
    with locked(folder, 1):
        done = here.inside("purge", "--source", f"session:{id_}", "--yes")
    assert done.status == 1 and "2 left" in done.err and (folder / "shell-1.txt").exists()
    assert purged(here, f"session:{id_}") and not folder.exists()


def test_a_session_that_was_forked_is_named_by_its_fork_and_outputs_are_no_links_to_elsewhere(here: World) -> None:
    id_ = worked(here)
    data = here.home / "clew"
    outside = here.home / "outside.txt"
    outside.write_text("mine\n")
    (data / "sessions" / id_ / "link.txt").symlink_to(outside)
    fork = {"type": "session", "id": "20260301-090000-0002ab", "workspace": "w", "at": "x", "forked": f"{id_}#1"}
    write(data, {f"sessions/{fork['id']}.jsonl": json.dumps(fork) + "\n"})
    report = purged(here, f"session:{id_}")
    assert fork["id"] in {Path(path).stem for path in report["mentioned"]}
    assert outside.read_text() == "mine\n" and not (data / "sessions" / id_).exists()


# ---------------------------------------------------------------------- exchanges


def test_the_question_of_an_exchange_goes_from_the_trail_and_from_what_was_typed(home: Path, harbour: Path) -> None:
    model = script(home / "model.json", "The walrus is in zone two.", "Berth seven.")
    assert clew(*NOTE, cwd=harbour).status == 0
    question = "where is the walrusgate;\n why does the retry time out?"
    for one, thread in ((question, "one"), ("which berth is free?", "two")):
        assert clew("ask", one, "--model", model, cwd=harbour, env={"CLEW_THREAD": thread}).status == 0
    typed = write(home / "clew", {"typed.jsonl": f"{json.dumps(question)}\n{json.dumps('/help')}\n"}) / "typed.jsonl"
    assert clew("recall", question, "--reject", "Retry cap", cwd=harbour).status == 0
    assert clew("recall", "is it six?", "--reject", "Retry cap", cwd=harbour).status == 0
    trail = next((home / "clew/audit").iterdir())
    assert "walrusgate" in trail.read_text()
    done = clew("purge", "--source", "exchange:1", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    assert holders(home / "clew", "walrusgate") == []
    assert "which berth is free?" in trail.read_text() and "Retry cap" in trail.read_text()
    assert typed.read_text() == '"/help"\n'
    assert [one.said for one in Seen(home / "clew/hints.db").rejected()] == ["is it six?"]


# ---------------------------------------------------------------------- messages of git


def test_a_document_goes_from_the_messages_of_the_history_and_names_of_others_stay(home: Path, harbour: Path) -> None:
    assert clew("sync", "init", cwd=harbour).status == 0
    for name in ("Gannet plan", "Gannet plan of last year", "Pier"):
        assert clew("note", f"{name} has numbers.", "--name", name, cwd=harbour).status == 0
    clew("sync", cwd=harbour)
    memory = home / "clew/memory"
    git(memory, "commit", "-q", "--allow-empty", "-m", "Tidy up the gannet plan, and the pier")
    git(memory, "tag", "-a", "-m", "As the Gannet  plan was", "v1")
    assert "Gannet plan" in git(memory, "log", "--all", "--format=%B")
    done = clew("purge", "--source", "Gannet plan", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    said = git(memory, "log", "--all", "--format=%B")
    assert "new note `[REDACTED:document]`" in said and "new note `Gannet plan of last year`" in said
    assert "Tidy up the [REDACTED:document], and the pier" in said and "new note `Pier`" in said
    objects = git(memory, "cat-file", "--batch-all-objects", "--batch").replace("Gannet plan of last year", "")
    assert "gannet plan" not in " ".join(objects.lower().split())
    assert git(memory, "status", "--porcelain") == ""
    assert clew("purge", "--source", "Pier", "--yes", cwd=harbour).status == 0
    assert "and the pier" in git(memory, "log", "--all", "--format=%B")


def test_a_ledger_is_purged_by_its_reference_and_the_trail_does_not_name_it(home: Path, harbour: Path) -> None:
    assert clew("handoff", "save", "Goal: paint the zebracrane", cwd=harbour).status == 0
    (ledger,) = (home / "clew/memory").rglob("handoff/*.md")
    assert ledger.stem in next((home / "clew/audit").iterdir()).read_text()
    done = clew("purge", "--source", f"clew://handoff/{ledger.stem}", "--yes", cwd=harbour)
    assert done.status == 0 and "0 left" in done.err, done.err
    assert holders(home / "clew", ledger.stem, "zebracrane") == []


def test_a_ledger_that_shares_only_its_form_with_one_that_is_purged_is_not_named(home: Path, harbour: Path) -> None:
    for thread, text in (("a", "Next: polish the zebracrane"), ("b", "Next: build two bridges")):
        assert clew("handoff", "save", text, cwd=harbour, env={"CLEW_THREAD": thread}).status == 0
    (ledger,) = (one for one in (home / "clew/memory").rglob("handoff/*.md") if "zebracrane" in one.read_text())
    found = clew("purge", "--source", f"clew://handoff/{ledger.stem}", "--yes", "--json", cwd=harbour).json
    assert found["mentioned"] == [] and found["left"] == []


def test_what_was_put_aside_of_a_document_goes_with_it(home: Path, harbour: Path) -> None:
    text = "---\nid: mem_0123456789ab\nname: Berths\n---\nBerths have numbers.\n"
    data = write(home / "clew", {"memory/user/a.md": text, "kept/berths-0123.md": text, "kept/other-1.md": "Mine.\n"})
    assert clew("purge", "--source", "mem_0123456789ab", "--yes", cwd=harbour).status == 0
    assert [path.name for path in (data / "kept").iterdir()] == ["other-1.md"]
