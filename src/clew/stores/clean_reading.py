"""Documents as they may leave their files: what a person wrote by hand may hold a secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from clew.core.memory.document import Document, read_document
from clew.core.text.placeholders import placeholders_quoted

PLAIN: Final = re.compile(
    r"(?:[A-Za-z]{1,20}|\d{1,8}|[0-9a-f]{1,16}|[\u4e00-\u9fff]{1,40})"
    r"(?:[-_. ](?:[A-Za-z]{1,20}|\d{1,8}|[0-9a-f]{1,16}|[\u4e00-\u9fff]{1,40}))*"
)
"""Names of files that are no secret, whatever their folder: looking at those spares a tenth of a second in 5,000."""


def without_secrets(path: str, text: str, redact: Callable[[str], str]) -> Document:
    """The document that a file holds, without the secrets of its front matter; the body, and the digest of the whole,
    are those of the file. An id that holds a secret is none, and a problem. `redact` may raise.
    """
    document = read_document(path, text)
    name = document.name if "name" in document.lines else redact(document.name)
    lines = text.splitlines(keepends=True)
    # Without its fences: a `<private>` that has no end must not take the body with it.
    inner = "".join(lines[1 : max(document.body_line - 2, 1)])
    clean = redact(inner)
    if clean == inner:
        return document if name == document.name else replace(document, name=name)
    rest = "".join(lines[document.body_line - 2 :])
    shown = "".join((lines[0], clean, "" if clean.endswith("\n") else "\n", rest))
    seen = read_document(path, placeholders_quoted(shown))
    return replace(
        seen,
        name=redact(seen.name),
        # What the redactor took out may have held the lines below it: whether a document holds is the file's word.
        id=seen.id or (document.id if redact(f"id: {document.id}") == f"id: {document.id}" else ""),
        status=document.status,
        type=document.type,
        scope=document.scope,
        created=document.created,
        updated=document.updated,
        expires=document.expires,
        superseded_by=redact(document.superseded_by),
        body=document.body,
        body_line=document.body_line,
        digest=document.digest,
        size=document.size,
    )
