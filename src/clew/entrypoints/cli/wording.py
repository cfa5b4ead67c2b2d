"""Chinese wording of messages and hints, by their English form; `{}` stands for what an error fills in."""

from __future__ import annotations

import re
from functools import cache

CHINESE: dict[str, str] = {}
"""English form to Chinese form, with as many `{}`; they keep their order."""


def translated(text: str, language: str) -> str:
    """`text` in Chinese where `language` is `zh` and its form is known; as it is otherwise."""
    if language != "zh" or not text:
        return text
    if text in CHINESE:
        return CHINESE[text]
    for pattern, chinese in _patterns():
        if match := pattern.fullmatch(text):
            return chinese.format(*match.groups())
    return text


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Forms with a gap, the most specific first."""
    forms = sorted((form for form in CHINESE if "{}" in form), key=lambda form: -len(form.replace("{}", "")))
    return tuple(
        (re.compile("(.*?)".join(map(re.escape, form.split("{}"))), re.DOTALL), CHINESE[form]) for form in forms
    )
