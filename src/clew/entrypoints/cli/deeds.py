"""What the agent would do, does and did, in the words of the user. The model reads the English ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from clew.core.agent.effects import Effect
from clew.entrypoints.cli.deeds_zh import DEEDS, LABELS, OUTCOMES, WHYS
from clew.entrypoints.cli.texts import TEXTS, say
from clew.entrypoints.cli.wording import translated

_SUB: Final = "sub-agent: "
_TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "deeds": DEEDS, "labels": LABELS, "whys": WHYS, "outcomes": OUTCOMES,
}  # fmt: skip
_GAP: Final = re.compile(r"(\{#?\})")
_SEVERAL: Final = 10.0
"""Seconds from which on tenths say nothing."""


def deed(title: str, language: str) -> str:
    """The title of an effect."""
    if language != "zh":
        return title
    if title.startswith(_SUB):
        return f"子智能体：{deed(title.removeprefix(_SUB), language)}"
    return _put(title, "deeds")


def preview(effect: Effect, language: str) -> str:
    """What will happen: labels and reasons of Clew's own are in the user's language, all else is as it is."""
    rows = effect.preview.split("\n")
    if language != "zh":
        return effect.preview
    if effect.remembered:
        return "\n".join(_put(row, "labels") for row in rows)
    if effect.kind == "command" and effect.title.startswith("start ") and len(rows) > 1:
        rows[-1] = _put(rows[-1], "whys")
    return "\n".join(rows)


def outcome_of(text: str, language: str) -> str:
    """What became of a call, on one line."""
    if language != "zh":
        return text
    if found := re.fullmatch(r"refused: the user does not allow `(.*?)`(?:: (.*))?", text):
        title, reason = found.groups()
        form = OUTCOMES[f"refused: the user does not allow `{{}}`{': {}' if reason else ''}"]
        return form.format(deed(title, language), *([translated(reason, language)] if reason else []))
    parts = [_put(part, "outcomes") for part in text.split(" · ")]
    return text if parts == text.split(" · ") and len(parts) > 1 else translated(" · ".join(parts), language)


def signs(reason: str, language: str) -> str:
    """What brought a note to mind."""
    if language != "zh":
        return reason
    found = (TEXTS.get(f"recall.sign.{one}", (one, one)) for one in reason.split(", "))
    return "、".join(chinese for _, chinese in found)


def again(reason: str, wait: float, language: str) -> str:
    """Why a request is sent again, and when."""
    told = translated(reason, language)
    if wait < 0.05:
        return say("run.retry-now", language, told)
    seconds = f"{wait:.0f}" if wait >= _SEVERAL else f"{wait:.1f}".removesuffix(".0")
    return say("run.retry", language, told, seconds)


def _put(text: str, table: str) -> str:
    """`text` in Chinese where a form of the table fits it: the one with the most words of its own."""
    for pattern, chinese in _forms(table):
        if found := pattern.fullmatch(text):
            gaps = [_put(gap, table) for gap in found.groups()] if table in ("whys", "outcomes") else found.groups()
            return chinese.format(*gaps)
    return text


@cache
def _forms(table: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    def pattern(form: str) -> re.Pattern[str]:
        parts = [{"{}": "(.*?)", "{#}": r"([\d,.]+)"}.get(part, re.escape(part)) for part in _GAP.split(form)]
        return re.compile("".join(parts), re.DOTALL)

    forms = sorted(_TABLES[table].items(), key=lambda one: -len(_GAP.sub("", one[0])))
    return tuple((pattern(form), chinese) for form, chinese in forms)
