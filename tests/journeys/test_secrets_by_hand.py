"""What a person wrote into a file by hand stays there, and whoever reads it gets it without secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests import agents
from tests.command import clew, script, write
from tests.journeys.test_secrets_of_fields import holders, says
from tests.wire.lines import talking

from clew.stores.documents import Documents
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_writing import Loaded

pytestmark = pytest.mark.requirement("W-09")

WORD = "Rw61mmTTc3y"
ID = "mem_0123456789ab"


def note(head: str, body: str) -> str:
    return f"---\nid: {ID}\n{head}---\n\n{body}\n"


FIELDS = {
    "the text": note(
        f"name: Pump {WORD}\ndescription: Start the pump with {WORD}\ntags: [{WORD.lower()}, ops]\n"
        f"when:\n- how do I start the pump with {WORD}\n",
        f"The pump password is {WORD}",
    ),
    "a key that means nothing": note(
        f"name: Pump\ndescription: Start the pump\nhint: the pump password is {WORD}\n",
        f"# Pump\n\nStart the pump with {WORD}.",
    ),
    "a heading that is its name": note(
        "description: Start the pump\n", f"# Pump {WORD}\n\nThe pump password is {WORD}"
    ),
    "a word of signs": note(
        f"name: Pump\ndescription: Start the pump with {WORD}-a!b\ntags: [{WORD.lower()}_a-b]\n",
        f"The pump password is {WORD}-a!b",
    ),
}  # fmt: skip


@pytest.mark.parametrize("revealing", FIELDS)
def test_what_one_part_of_a_file_reveals_is_shown_kept_and_sent_in_none(
    home: Path, harbour: Path, tmp_path: Path, revealing: str
) -> None:
    # A memory in which nothing is kept yet beside the file.
    data = home / "clew"
    write(data / "memory/user", {"pump.md": FIELDS[revealing]})
    question = "how do I start the pump"
    asked = ("ask", question, "--model", script(tmp_path / "model.json", "So it is."), "--json")
    done = [
        clew(*words, cwd=harbour)
        for words in (
            ("memory", "list"), ("memory", "list", "--json"), ("memory", "check"), ("recall", question),
            ("memory", "search", question), ("memory", "search", question, "--json"), ("open", f"clew://memory/{ID}"),
            asked,
            ("memory", "check", "--json"),
        )
    ]  # fmt: skip
    with talking(harbour) as server:
        server.initialize()
        told = json.dumps([server.call("memory_recall", {"query": question}), server.call("memory_open", {"ref": ID})])
    with agents.world(harbour, home) as agent:
        play = [agents.calls(("memory_open", {"ref": ID}), ("memory_recall", {"query": question})), agents.says("So.")]
        done.append(agent.run(question, play=play))
        sent = b"".join(one.body for one in agent.asked()).decode()
    assert "Pump" in sent and WORD.lower() not in sent.lower()
    assert [says(one, WORD) for one in done] == [[]] * len(done)
    assert WORD.lower() not in told.lower()
    # The file is not rewritten by reading, and nothing else holds it.
    assert (data / "memory/user/pump.md").read_text() == FIELDS[revealing]
    assert holders(data, WORD) == ["memory/user/pump.md"]


def test_what_an_older_clew_kept_of_a_file_is_made_anew(home: Path, harbour: Path) -> None:
    data = home / "clew"
    write(data / "memory/user", {"pump.md": FIELDS["the text"]})
    index = data / "index/memory.db"
    index.parent.mkdir(parents=True)
    with MemoryIndex.open(index, variant="static-4") as old:
        documents = Documents(data / "memory", redact=str)
        old.refresh(documents.walk(), lambda path, _: Loaded(documents.read_whole(path)))
    assert clew("recall", "how do I start the pump", cwd=harbour).status == 0
    for name in ("notes.json", "documents.json"):
        kept = data / "recall" / name
        text = kept.read_text().replace('"format":5', '"format":4')
        kept.write_text(re.sub(r"\[REDACTED[^\]]*\]", WORD, text))
    assert {"index/memory.db", "recall/notes.json"} < set(holders(data, WORD))
    for words in (("recall",), ("memory", "search")):
        done = clew(*words, "how do I start the pump", cwd=harbour)
        assert done.status == 0 and says(done, WORD) == [] and ID in done.out
    assert holders(data, WORD) == ["memory/user/pump.md"]
