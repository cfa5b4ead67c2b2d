"""How many tokens a prompt may take, and what a prompt takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clew.core.ports import Message, Tokenizer
from clew.errors import UsageError

PER_MESSAGE: Final = 4
"""Tokens that a chat template adds to each message: start mark, role, separator, end mark."""
PER_PROMPT: Final = 3
"""Tokens with which a chat template opens the answer."""
SIDE_SHARE: Final = 10
"""Side information takes at most one part in this many of the prompt."""
BLOCK_BREAK: Final = "\n\n"
"""Between blocks where they are joined into one text."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Room for one prompt and its answer, in tokens of one tokenizer. Raises UsageError if no prompt room is left."""

    total: int
    """Prompt and answer together."""
    answer: int
    """Kept free for the answer."""
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        if self.answer < 0 or self.total <= self.answer:
            raise UsageError(
                f"a budget of {self.total} tokens leaves no room for a prompt beside {self.answer} tokens of answer",
                hint="raise the budget (max_tokens) or reserve less for the answer",
            )

    @property
    def prompt(self) -> int:
        """Tokens that the prompt may take."""
        return self.total - self.answer

    @property
    def side(self) -> int:
        """Tokens that side information may take together."""
        return self.prompt // SIDE_SHARE

    def measure(self, messages: Sequence[Message]) -> int:
        """Tokens of the messages as they are sent.

        Some providers send blocks one by one, some join them with a blank line, and byte-pair counts do not add up:
        the greater of the two counts holds for both. PER_MESSAGE and PER_PROMPT come on top.
        """
        blocks = [block for message in messages for block in message.blocks]
        apart = sum(self.tokenizer.count(block) for block in blocks)
        joined = self.tokenizer.count(BLOCK_BREAK.join(blocks))
        return max(apart, joined) + PER_MESSAGE * len(messages) + PER_PROMPT
