"""What agents pay for the tools: a bar that holds, and a start that does not wait for memory."""

from __future__ import annotations

import json

import pytest

from clew.adapters.tokenizers import tokenizer_for
from clew.entrypoints.mcp.tools import INSTRUCTIONS, listed

BAR = 1_500


@pytest.mark.requirement("Q-27", "F-06")
def test_tools_and_instructions_stay_below_the_bar() -> None:
    tokenizer = tokenizer_for("gpt-4o")
    assert tokenizer.exact and "o200k" in tokenizer.name
    tools = json.dumps(listed(), ensure_ascii=False, separators=(",", ":"))
    assert 500 < tokenizer.count(tools) + tokenizer.count(INSTRUCTIONS) <= BAR
