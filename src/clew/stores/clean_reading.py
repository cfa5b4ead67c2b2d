"""Documents as they may leave their files: what a person wrote by hand may hold a secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from clew.core.memory.document import Document, read_document
from clew.core.text.placeholders import placeholders_quoted
from clew.core.text.redact_lines import lines_kept
from clew.core.text.together import may_share, together

PLAIN: Final = re.compile(
    r"(?:[A-Za-z]{1,20}|\d{1,8}|[0-9a-f]{1,16}|[\u4e00-\u9fff]{1,40})"
    r"(?:[-_. ](?:[A-Za-z]{1,20}|\d{1,8}|[0-9a-f]{1,16}|[\u4e00-\u9fff]{1,40}))*"
)
"""Names of files that are no secret, whatever their folder: looking at those spares a tenth of a second in 5,000."""


def without_secrets(path: str, text: str, redact: Callable[[str], str], *, whole: bool = False) -> Document:
    """The document that a file holds, without the secrets of its front matter, of which its body may reveal some; the
    digest of the whole is that of the file. So is the body, unless `whole`: then it is clean as well, with its lines.

    An id that holds a secret is none, and a problem. `redact` may raise.
    """
    document = read_document(path, text)
    # Without a line of its own the name comes from the body, or from the name of the file.
    apart = "" if "name" in document.lines else document.name
    lines = text.splitlines(keepends=True)
    # Without its fences: a `<private>` that has no end must not take the body with it.
    inner = "".join(lines[1 : max(document.body_line - 2, 1)])
    body = document.body if whole or may_share(f"{inner}\n{apart}", document.body) else ""
    clean, name, clean_body = together(redact, inner, apart, body)
    if clean != inner:
        document = _seen(document, lines, clean, redact)
    if apart and name != apart:
        document = replace(document, name=name)
    return replace(document, body=lines_kept(body, clean_body)) if whole and clean_body != body else document


def _seen(document: Document, lines: list[str], clean: str, redact: Callable[[str], str]) -> Document:
    """The document as its front matter says without secrets: `clean` stands for the lines between the fences."""
    rest = "".join(lines[document.body_line - 2 :])
    shown = "".join((lines[0], clean, "" if clean.endswith("\n") else "\n", rest))
    seen = read_document(document.path, placeholders_quoted(shown))
    own, newer, inner = f"id: {document.id}", document.superseded_by, "".join(lines[1 : document.body_line - 2])
    clean_own, clean_newer, *_ = together(redact, own, newer, inner, document.body)
    return replace(
        seen,
        name=redact(seen.name),
        # What the redactor took out may have held the lines below it: whether a document holds is the file's word.
        id=seen.id or (document.id if clean_own == own else ""),
        status=document.status,
        type=document.type,
        scope=document.scope,
        created=document.created,
        updated=document.updated,
        expires=document.expires,
        superseded_by=clean_newer,
        body=document.body,
        body_line=document.body_line,
        digest=document.digest,
        size=document.size,
    )
