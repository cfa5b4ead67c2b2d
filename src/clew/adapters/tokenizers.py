"""Which tokenizer counts for which model: exact vocabularies where one ships, the fitted estimate otherwise."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from clew.core.ports import Tokenizer
from clew.core.text.tokens import Estimate

_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"

_PIECE = 1_000_000
"""Characters handed to the vocabulary at once; bounds the memory that one call takes."""

_OPENAI: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|o1|o3|o4)(?![0-9a-z])"), "o200k"),
    (re.compile(r"(gpt-4|gpt-3\.5|gpt-35)(?![0-9a-z.])"), "cl100k"),
)
_OPEN_WEIGHTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"gpt-oss(?![0-9a-z])"), "o200k"),
    (re.compile(r"llama-?3([.-][123])?(?![0-9.])"), "llama3"),
    (re.compile(r"qwen-?(2\.5|3)(-coder)?(?![0-9.a-z-])"), "qwen3"),
)
"""Families whose vocabulary is known for certain. A distilled or renamed model gets the estimate."""

_VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base", "llama3": "llama3", "qwen3": "qwen3"}

_CLAUDE_BEFORE_4_7 = re.compile(r"claude-([0-3]|instant|(opus|sonnet|haiku)-(3|4)(-[0-6])?(-20[0-9]{6}|-latest)?$)")
_CLAUDE_MARGINS = (135, 170)
"""Percent of the fitted sum. Claude's vocabulary is not published. Reports put Claude 3 to 4.6 at 16 to 30 % above
o200k, and Anthropic puts later models at up to 1.35 times that."""

_JOINER = "\u200d"
_CONTROL = re.compile(
    r"<(?=\|[^\s<>|]{1,64}\|>|｜[^\s<>｜]{1,64}｜>|\|[a-z_]{1,32}>|[a-z_]{1,32}\|>|(?:start|end)_of_turn>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS)\]|\|[a-z]{1,32}\|\]|e~\[)"
    r"|\](?=~)"
)
"""Where a joiner is put into what an open-weight model is sent, so that no text closes the user's turn: `<|im_start|>`,
`<｜User｜>`, `<turn|>`, `[INST]`, `[|user|]`, `]~b]`. It may find more than is joined, never less."""


class Vocabulary:
    """Counts exactly, with a vocabulary of the `splintr` package. Special tokens inside a text count as plain text."""

    def __init__(self, name: str, bpe: Any) -> None:
        self.name = name
        self.exact = True
        self._bpe = bpe

    def count(self, text: str) -> int:
        """Return the number of tokens. A lone surrogate counts as the replacement character.

        Texts beyond a million characters are counted in pieces; each border may add a token.
        """
        if len(text) <= _PIECE:
            return len(self._encode(text))
        return sum(len(self._encode(text[at : at + _PIECE])) for at in range(0, len(text), _PIECE))

    def _encode(self, text: str) -> list[int]:
        try:
            return self._bpe.encode_ordinary(text)
        except UnicodeEncodeError:
            return self._bpe.encode_ordinary(_SURROGATE.sub(_REPLACEMENT, text))


class Joined:
    """Counts what an open-weight model is sent: texts with a joiner inside of whatever may be a control token."""

    def __init__(self, plain: Tokenizer) -> None:
        self.name = plain.name
        self.exact = plain.exact
        self._plain = plain

    def count(self, text: str) -> int:
        """Return the number of tokens, joiners included; never fewer than are sent."""
        return self._plain.count(joined(text))


def joined(text: str) -> str:
    """The text with a joiner inside of whatever an open-weight model may take for a control token."""
    return _CONTROL.sub(lambda match: match[0] + _JOINER, text)


def tokenizer_for(model_name: str) -> Tokenizer:
    """Return the tokenizer for `provider:model`, where an agent CLI may be the provider.

    Exact for OpenAI models of known vocabulary and for some open-weight families; the estimate for Anthropic, for the
    embedded default and for everything unknown. Without a model (an empty name) it is o200k: the number that the user
    sees is then an exact count, of the most widely used vocabulary, rather than a guess about an unknown one.
    Where the package with the vocabularies is missing, everything gets the estimate.
    """
    name = model_name.strip().lower()
    if not name:
        return _vocabulary("o200k")
    provider, colon, model = name.partition(":")
    if not colon:
        provider, model = "", name
    if name == "codex" or provider == "codex":
        provider, model = "openai", model if colon else "gpt-5"
    elif provider in ("pi", "opencode"):
        # These name a model with its provider: `pi:openai/gpt-5`.
        provider = model.partition("/")[0] if "/" in model else provider
    model = model.rpartition("/")[2]
    if provider in ("anthropic", "claude") or model.startswith("claude"):
        return _claude(model)
    families = _OPEN_WEIGHTS if provider == "ollama" else (*_OPENAI, *_OPEN_WEIGHTS)
    known = next((vocabulary for pattern, vocabulary in families if pattern.match(model)), "")
    if not known or provider not in ("", "openai", "compatible", "ollama"):
        return Joined(Estimate())
    # OpenAI's own models are sent every text as it is.
    own = provider in ("", "openai") and not model.startswith("gpt-oss") and known in ("o200k", "cl100k")
    return _vocabulary(known) if own else Joined(_vocabulary(known))


def _claude(model: str) -> Tokenizer:
    margin = _CLAUDE_MARGINS[0 if _CLAUDE_BEFORE_4_7.match(model) else 1]
    return Estimate(name=f"estimate-{margin}", margin=margin)


@cache
def _vocabulary(name: str) -> Tokenizer:
    try:
        # Imported here: the package maps 37 MB and is not needed to answer `--help`.
        import splintr  # noqa: PLC0415

        return Vocabulary(name, splintr.Tokenizer.from_pretrained(_VOCABULARIES[name]))
    except (ImportError, ValueError, OSError):
        return Estimate()
