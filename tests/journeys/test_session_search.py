"""What was said in sessions is found again: by the agent, over MCP, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents import World, calls, last_user, says, told, world
from tests.command import Done
from tests.scripted_server import Asked, Turn
from tests.wire.lines import talking

ANSWER = "The mooring pump stalls because its relay is wired to the wrong fuse."


@pytest.fixture
def here(harbour: Path, home: Path) -> Iterator[World]:
    with world(harbour, home) as made:
        yield made


def found(done: Done) -> list[dict[str, str]]:
    assert done.status == 0, done.err
    return done.json["hits"]


@pytest.mark.requirement("W-08", "W-14")
def test_a_hit_names_session_run_and_step_and_opens_that_spot(here: World) -> None:
    play = [calls(("shell", {"command": "echo fine"}), text="I look at the fuse box."), says(ANSWER)]
    here.run("why does the pump stall?", "--yes", play=play)
    id_ = here.sessions()[-1].stem
    hit = found(here.inside("session", "search", "relay wired to which fuse", "--json"))[0]
    assert hit["reference"] == f"clew://session/{id_}#1.2"
    assert hit["at"][:10] == here.lines()[1]["at"][:10]
    opened = here.inside("open", hit["reference"]).out
    assert ANSWER in opened
    assert "I look at the fuse box." not in opened
    assert here.inside("session", "show", hit["reference"]).out == opened
    whole = here.inside("open", f"clew://session/{id_}#1").out
    assert "I look at the fuse box." in whole
    assert here.inside("open", f"clew://session/{id_}#1.0").out.count("why does the pump stall?") == 1


@pytest.mark.requirement("W-08")
def test_calls_and_failures_are_found_and_outputs_that_were_fine_are_not(here: World) -> None:
    play = [
        calls(("shell", {"command": "echo qua''gga; : zebrafish"}), ("shell", {"command": "echo oka''pi; exit 3"})),
        says("Done."),
    ]
    here.run("try it", "--yes", play=play)
    kept = here.sessions()[-1].read_text(encoding="utf-8")
    assert "quagga" in kept
    assert "okapi" in kept

    def who(word: str) -> set[str]:
        hits = here.inside("session", "search", word, "--json").json["hits"]
        return {hit["speaker"] for hit in hits if word in hit["snippet"]}

    assert who("zebrafish") == {"call"}
    assert who("okapi") == {"result"}
    assert who("quagga") == set()


@pytest.mark.requirement("W-08", "R-06", "R-11")
def test_what_a_record_of_an_earlier_run_leaves_out_is_found_by_the_agent(here: World) -> None:
    filler = "The tide table is long and says nothing of it. " * 120
    message = f"{filler}The harbour master's parrot is called Belisarius. {filler}"
    here.run(message, play=[says("Read.")])
    play = [
        calls(("session_search", {"query": "what is the parrot called"})),
        says("Belisarius."),
    ]
    here.run("how is the bird called?", "--continue", play=play)
    first, second = here.asked()[-2:]
    assert "`session_search` finds them" in told(first)
    assert "Belisarius" not in told(first)
    answer = last_user(second)[0]
    assert "parrot is called Belisarius" in answer
    assert f"clew://session/{here.sessions()[-1].stem}#1.0" in answer


@pytest.mark.requirement("W-08")
def test_a_search_finds_neither_itself_nor_the_message_at_hand_but_what_was_said_before_in_this_run(
    here: World,
) -> None:
    query = "the brass sextant"
    play = [
        calls(("glob", {"pattern": "*.md"}), text="The almanac lies in the chart room."),
        calls(("session_search", {"query": query}), text="I search for the brass sextant."),
        calls(("session_search", {"query": "where is the almanac"})),
        says("Nothing."),
    ]
    here.run("did we ever speak of the brass sextant?", play=play)
    miss, hit = (last_user(asked)[0] for asked in here.asked()[2:4])
    assert miss.startswith("nothing found in sessions: searched 1 documents")
    assert "sextant" in miss
    assert f"clew://session/{here.sessions()[-1].stem}#1.1" in hit
    rows = [json.loads(row) for row in here.inside("audit", "--misses", "--json").out.splitlines()]
    assert [row for row in rows if "sextant" in json.dumps(row)]
    # Another session finds the question and what was said of it, not the search.
    hits = found(here.inside("session", "search", query, "--json"))
    assert {hit["speaker"] for hit in hits if "sextant" in hit["snippet"]} == {"user", "assistant"}
    hits = found(here.inside("session", "search", "where is the almanac", "--json"))
    assert [hit["reference"][-4:] for hit in hits if "almanac" in hit["snippet"]] == ["#1.1"]


@pytest.mark.requirement("W-06", "W-08")
def test_recall_searches_sessions_alone_and_with_all_else(here: World) -> None:
    here.inside("note", "The lantern of the pier is oiled on Mondays.", "--name", "lantern")
    here.run("who oils the lantern?", play=[says("The lantern of the pier is oiled by Ines.")])
    play = [
        calls(("memory_recall", {"query": "the lantern of the pier", "scope": "sessions"})),
        calls(("memory_recall", {"query": "the lantern of the pier", "scope": "all"})),
        calls(("memory_recall", {"query": "the lantern of the pier", "scope": "notes"})),
        calls(("memory_open", {"ref": f"clew://session/{here.sessions()[-1].stem}#1.1"})),
        says("ok"),
    ]
    here.run("who is it?", play=play)
    alone, everything, notes, opened = (last_user(asked)[0] for asked in here.asked()[-4:])
    assert "Ines" in alone
    assert "Mondays" not in alone
    assert "Ines" in everything
    assert "Mondays" in everything
    assert "Mondays" in notes
    assert "Ines" not in notes
    assert "oiled by Ines" in opened


@pytest.mark.requirement("W-06", "W-08")
def test_other_agents_find_and_open_what_was_said_to_clews_own_over_mcp(here: World) -> None:
    here.run("why does the pump stall?", play=[says(ANSWER)])
    ref = f"clew://session/{here.sessions()[-1].stem}#1.1"
    with talking(here.repository) as server:
        server.initialize()
        for scope in ("sessions", "all"):
            given = server.call("memory_recall", {"query": "relay wired to which fuse", "scope": scope})
            assert given["structuredContent"]["hits"][0]["ref"] == ref
        opened = server.call("memory_open", {"ref": ref})
        assert ANSWER in opened["structuredContent"]["text"]
        missed = server.call("memory_recall", {"query": "sextant", "scope": "sessions"})
    assert missed["structuredContent"]["found"] is False
    assert missed["structuredContent"]["searched"]["documents"] == 1


@pytest.mark.requirement("W-08")
def test_a_search_can_be_kept_to_one_session(here: World) -> None:
    for answer in (ANSWER, "The relay of the crane has no fuse."):
        here.run("look at it", play=[says(answer)])
    for path in here.sessions():
        hits = found(here.inside("session", "search", "relay fuse", "--session", path.stem, "--json"))
        assert {hit["reference"].partition("#")[0] for hit in hits} == {f"clew://session/{path.stem}"}


@pytest.mark.requirement("W-08")
def test_what_a_fork_shares_with_its_origin_is_found_once(here: World) -> None:
    here.run("why does the pump stall?", play=[says(ANSWER)])
    here.run("go on", "--continue", "--fork", play=[says("The keel is red.")])
    hits = found(here.inside("session", "search", "relay wired to which fuse", "--json"))
    assert [hit["snippet"] for hit in hits].count(ANSWER) == 1


@pytest.mark.requirement("W-08")
def test_chinese_is_found_by_pairs_of_characters(here: World) -> None:
    here.run("泵为什么停转？", play=[says("继电器接到了错误的保险丝上。")])
    hits = found(here.inside("session", "search", "保险丝接错", "--json"))
    assert "继电器" in hits[0]["snippet"]


@pytest.mark.requirement("W-08")
def test_sessions_of_another_workspace_are_found_with_all_alone(here: World, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    here.run("the pump again", cwd=other, play=[says(ANSWER)])
    assert not found(here.inside("session", "search", "relay fuse", "--json"))
    hits = found(here.inside("session", "search", "relay fuse", "--all", "--json"))
    ref = hits[0]["reference"]
    id_ = ref.removeprefix("clew://session/").partition("#")[0]
    named = ("session", "search", "relay fuse", "--session", id_[:-1], "--json")
    assert "another workspace" in here.inside(*named).err
    assert found(here.inside(*named, "--all"))[0]["reference"] == ref
    here.run("look", play=[calls(("memory_open", {"ref": ref})), says("ok")])
    assert "another workspace" in last_user(here.asked()[-1])[0]
    assert ANSWER in here.inside("open", ref).out


@pytest.mark.requirement("W-08")
def test_a_torn_line_and_one_of_a_newer_clew_cost_nothing_but_themselves(here: World) -> None:
    here.run("one", play=[says("The keel is painted red.")])
    path = here.sessions()[-1]
    with path.open("ab") as file:
        file.write(b'{"type":"dream","run":1}\n\xff\xfe not text\n[1, 2]\n{"type":"run","run":9,"at":"20')
    assert found(here.inside("session", "search", "keel painted", "--json"))
    here.run("two", "--continue", play=[says("The rudder is painted blue.")])
    hits = found(here.inside("session", "search", "rudder painted", "--json"))
    assert hits[0]["reference"].endswith("#2.1")
    rows = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join(rows[1:]) + b"\n")  # no longer says where it began
    here.run("three", play=[says("The mast is painted white.")])
    assert found(here.inside("session", "search", "mast painted", "--json"))


@pytest.mark.requirement("W-08")
def test_what_grows_over_many_shares_is_found_in_each_and_only_its_end_is_read_again(here: World) -> None:
    with here.talk() as talk:
        for number, word in enumerate(("anchor", "bollard", "capstan"), 1):
            big = " ".join(f"w{number}x{at}" for at in range(14_000))
            talk.run("go on", says(f"The {word} is of oak. {big}"))
            hits = found(here.inside("session", "search", f"{word} of oak", "--json"))
            assert hits[0]["reference"].endswith(f"#{number}.1"), word
        path = here.sessions()[-1]
        assert path.stat().st_size > 4 * (128 << 10)
        with path.open("r+b") as file:  # what nobody does: change what stands there
            start = file.read(4_096).index(b"The anchor")
            file.seek(start)
            file.write(b"The sirens")
        talk.run("go on", says("The dinghy is of oak."))
        assert found(here.inside("session", "search", "dinghy of oak", "--json"))[0]["reference"].endswith("#4.1")
        assert "The anchor" in found(here.inside("session", "search", "anchor of oak", "--json"))[0]["snippet"]


@pytest.mark.requirement("W-08")
def test_a_hit_far_into_a_run_has_the_time_at_which_the_run_began(here: World) -> None:
    big = " ".join(f"w{at}" for at in range(40_000))
    here.run("go on", play=[calls(("glob", {"pattern": "*.md"}), text=big), says("The dinghy is of oak.")])
    path = here.sessions()[-1]
    written = here.lines()[1]["at"]
    content = path.read_bytes().replace(
        f'"run":1,"at":"{written}"'.encode(), b'"run":1,"at":"2024-05-06T07:08:09+00:00"'
    )
    assert content.index(b"The dinghy") > 128 << 10
    path.write_bytes(content)
    hit = found(here.inside("session", "search", "dinghy of oak", "--json"))[0]
    assert (hit["reference"][-4:], hit["at"]) == ("#1.2", "2024-05-06T07:08")


@pytest.mark.requirement("W-08")
def test_an_index_that_is_damaged_or_gone_is_made_anew(here: World, home: Path) -> None:
    here.run("one", play=[says(ANSWER)])
    assert found(here.inside("session", "search", "relay fuse", "--json"))
    index = next(home.rglob("sessions.db"))
    index.write_bytes(b"no database at all" * 100)
    assert found(here.inside("session", "search", "relay fuse", "--json"))
    index.unlink()
    assert found(here.inside("session", "search", "relay fuse", "--json"))


def test_a_secret_that_an_older_clew_kept_reaches_neither_index_nor_hit(here: World, home: Path) -> None:
    here.run("one", play=[says(ANSWER)])
    path = here.sessions()[-1]
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path.write_bytes(path.read_bytes().replace(b"the wrong fuse", f"the wrong fuse {secret}".encode()))
    done = here.inside("session", "search", "relay fuse", "--json")
    assert found(done)
    assert secret not in done.out
    assert secret.encode() not in next(home.rglob("sessions.db")).read_bytes()
    assert secret not in here.inside("open", found(done)[0]["reference"]).out


@pytest.mark.requirement("W-09")
def test_what_is_purged_is_neither_found_nor_in_the_index(here: World, home: Path) -> None:
    word = "Bartholomew-4711"
    here.run("one", play=[says(f"The watchman is {word} of the pier.")])
    assert word in found(here.inside("session", "search", "who is the watchman", "--json"))[0]["snippet"]
    assert here.inside("purge", "--secret", "--yes", stdin=word + "\n").status == 0
    hits = found(here.inside("session", "search", "who is the watchman", "--json"))
    assert word not in json.dumps(hits)
    assert not [path for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_a_reference_to_nothing_says_what_there_is(here: World) -> None:
    here.run("one", play=[says("1")])
    id_ = here.sessions()[-1].stem
    for place, told_ in (("#7", "no run 7"), ("#1.9", "no step 9"), ("#L12", "names no run")):
        done = here.inside("open", f"clew://session/{id_}{place}")
        assert done.status != 0
        assert told_ in done.err


# ---------------------------------------------------------------------- procedures


@pytest.mark.requirement("R-15")
def test_a_hint_leads_to_a_procedure_and_opening_it_gives_its_steps(here: World) -> None:
    steps = "1. Close the sluice.\n2. Drain the basin.\n3. Ring the harbour office at extension 4711."
    here.inside("note", steps, "--name", "dry the dock", "--type", "procedure", "--description",
                "How the dock is dried before paint work", "--when", "please dry the dock")  # fmt: skip

    def decide(asked: Asked) -> Turn:
        text = told(asked)
        if "4711" in text:
            return says("I ring 4711.")
        assert "Drain the basin" not in text
        ref = next(word for word in text.split() if word.startswith("clew://memory/"))
        return calls(("memory_open", {"ref": ref}))

    assert here.run("please dry the dock", play=decide).out == "I ring 4711.\n"
    hint = "\n".join(last_user(here.asked()[0]))
    assert "· dry the dock · How the dock is dried before paint work" in hint
    assert steps in last_user(here.asked()[1])[0]


@pytest.mark.requirement("W-08")
def test_a_word_that_means_nothing_finds_nothing(here: World) -> None:
    here.run("there is nothing to do here, is there?", play=[says("I found nothing.")])
    here.run("write x to qq.txt", "--yes", play=[calls(("shell", {"command": "echo zz > qq.txt"})), says("OK, x.")])
    for word in ("qqqqzzzz", "nothingxyz", "xkcdvbnm", "the nothingxyz"):
        assert found(here.inside("session", "search", word, "--json")) == [], word
    assert found(here.inside("session", "search", "nothing", "--json"))
    # A word that the sessions do not have is like one that they have.
    here.run("who pays?", play=[says("The payment provider settles each invoice.")])
    assert found(here.inside("session", "search", "bills", "--json"))
