"""What a provider is sent never exceeds the budget: counted on the request as it came over the wire (Q-06)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import clew, commit, write
from tests.drawn import many, modes, texts
from tests.scripted_server import ScriptedServer, serving

from clew.adapters.models.catalogue import Catalogue
from clew.adapters.tokenizers import tokenizer_for
from clew.core.context.assemble import assemble
from clew.core.context.budget import PER_MESSAGE, PER_PROMPT, Budget
from clew.core.context.candidates import RECENT_SOURCE
from clew.core.context.fences import clean, reference_line
from clew.core.context.fragment import Fragment
from clew.core.context.layers import question_frame
from clew.errors import OverBudget

MODELS = ("openai:gpt-5-mini", "openai:gpt-4", "anthropic:claude-sonnet-5", "ollama:qwen3:8b", "mine:some-model")
JOINER = "\u200d"
"""Stands inside of control tokens where a model would take them from a text."""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    """One server for all examples."""
    with serving() as running:
        yield running


def environment(server: ScriptedServer) -> dict[str, str]:
    """What makes every provider that server."""
    return {
        "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "OLLAMA_HOST": server.url,
        "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-test", "MINE_API_KEY": "mine",
    }  # fmt: skip


def blocks_of(content: Any) -> list[str]:
    """The texts of one message, as they stand in the request."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content or ()]


def messages_in(body: Any) -> list[list[str]]:
    """The texts of all messages of a request; Anthropic has the system message beside the others."""
    system = [blocks_of(body["system"])] if body.get("system") else []
    return [*system, *(blocks_of(message["content"]) for message in body["messages"])]


def tokens_of(body: Any, model: str) -> int:
    """Tokens of a request, with what a chat template adds, however the server joins the blocks of a message."""
    count, sent = tokenizer_for(model).count, messages_in(body)
    overhead = PER_MESSAGE * len(sent) + PER_PROMPT
    blocks = [block for message in sent for block in message]
    joined = [sum(count(between.join(message)) for message in sent) for between in ("", "\n", "\n\n")]
    return max(sum(map(count, blocks)), *joined) + overhead


def room_in(body: Any) -> int:
    """Tokens that the request leaves to the answer."""
    return int(body.get("max_completion_tokens") or body["max_tokens"])


@pytest.mark.requirement("Q-06", "P-07")
@given(texts.filter(str.strip), many, modes, st.integers(300, 1200) | st.integers(300, 30_000), st.sampled_from(MODELS))
def test_no_request_exceeds_its_budget_and_all_that_must_be_in_is_in(
    server: ScriptedServer, question: str, parts: list[Fragment], mode: str, total: int, model: str
) -> None:
    room, tokenizer, frame = 50, tokenizer_for(model), question_frame("Be brief.")
    try:
        snapshot = assemble(question, parts, mode, Budget(total, room, tokenizer), frame)
    except OverBudget as error:
        total = int(str(error.facts["needed"]))
        snapshot = assemble(question, parts, mode, Budget(total, room, tokenizer), frame)
    catalogue = Catalogue(environment(server), endpoints={"mine": f"{server.url}/v1"})
    list(catalogue.open(model).stream(snapshot.messages(), limit=room))
    body = server.posts()[-1].json
    assert room_in(body) == room
    assert tokens_of(body, model) + room <= total
    sent = "\n\n".join(block for message in messages_in(body) for block in message).replace(JOINER, "")
    for part in parts:
        text = clean(part.text).replace(JOINER, "")
        if part.explicit:
            assert text in sent
        if part.anchor and mode != "minimal":
            shown_whole = part.source == RECENT_SOURCE and text in sent
            assert shown_whole or f"\n{reference_line(part)}\n".replace(JOINER, "") in sent


QUAY = {f"src/quay{n}.py": f"def quay_{n}(ship):\n    return ship.length * {n}\n" * 9 for n in range(30)}


@pytest.mark.requirement("Q-06", "P-04", "P-05", "P-07")
@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "anthropic:claude-sonnet-5", "ollama:qwen3:8b"])
@pytest.mark.parametrize("total", [1500, 4000])
def test_a_question_about_a_repository_stays_within_its_budget_on_the_wire(
    home: Path, tmp_path: Path, server: ScriptedServer, model: str, total: int
) -> None:
    root = write(tmp_path / "harbour", QUAY | {".clew.yaml": "anchors:\n  - path: 'src/quay1*.py'\n"})
    commit(root)
    question = "what does `quay_3` in src/quay7.py return for a ship?"
    asked = clew("ask", "--model", model, "--max-tokens", str(total), question, "src/quay2.py", cwd=root,
                 env=environment(server))  # fmt: skip
    assert asked.status == 0, asked.err
    body = server.posts()[-1].json
    assert tokens_of(body, model) + room_in(body) <= total
    sent = "\n\n".join(block for message in messages_in(body) for block in message)
    assert QUAY["src/quay2.py"].strip() in sent
    for name in ("src/quay7.py", *(path for path in QUAY if path.startswith("src/quay1"))):
        assert f"\n- {name} (18 lines, " in sent
