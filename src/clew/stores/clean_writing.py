"""What is to be written to documents, without its secrets: what one field reveals goes from all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import date

from clew.core.memory.edit import Draft
from clew.core.text.placeholders import placeholders_quoted
from clew.core.text.printable import storable
from clew.core.text.scalars import Given
from clew.core.text.together import revealed, together, without

Redact = Callable[[str], str]


def clean_document(text: str, redact: Redact) -> str:
    """The text of a whole document; what stands for a secret in its front matter is in quotes."""
    (clean,) = together(redact, storable(text))
    return placeholders_quoted(clean)


def cleared(text: str, values: Collection[str], redact: Redact) -> str:
    """The text of a document without values that something else revealed; only lines that hold one are touched."""
    clean = without(redact, text, values)
    return text if clean == text else placeholders_quoted(clean)


def beside(there: str, text: str, redact: Redact) -> str:
    """What is added to a document that says `there`: what either reveals is not in it."""
    return together(redact, there, storable(text))[1]


def revealed_by(changes: Mapping[str, Given], redact: Redact) -> frozenset[str]:
    """The values that values of a front matter call secrets."""
    return revealed(redact, *(text for value in changes.values() for text in _texts(value)))


def clean_draft(draft: Draft, redact: Redact) -> Draft:
    """What a new document is made from."""
    name, body, description, *more = together(
        redact, draft.name, draft.body, draft.description, *draft.tags, *draft.when
    )
    tags, when = more[: len(draft.tags)], more[len(draft.tags) :]
    return replace(draft, name=name, body=body, description=description, tags=tuple(tags), when=tuple(when))


def clean_values(changes: Mapping[str, Given], redact: Redact, beside: str = "") -> dict[str, Given]:
    """Values of the front matter of a document that says `beside`."""
    made = iter(together(redact, beside, *(text for value in changes.values() for text in _texts(value)))[1:])
    return {
        key: value if value is None or isinstance(value, date)
        else next(made) if isinstance(value, str) else tuple(next(made) for _ in value)
        for key, value in changes.items()
    }  # fmt: skip


def _texts(value: Given) -> tuple[str, ...]:
    if value is None or isinstance(value, date):
        return ()
    return (value,) if isinstance(value, str) else tuple(value)
