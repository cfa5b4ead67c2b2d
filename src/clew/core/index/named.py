"""Which words of a question name something: a product, a protocol, a language, a person's own thing."""

from __future__ import annotations

import re
from collections.abc import Set

from clew.core.text.terms import is_function_word, terms

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[.+#-][A-Za-z0-9]+)*")
_CLAUSE_END = re.compile(r"[.!?:;。！？：；\n]\s*$")
_HAN = re.compile(r"[一-鿿]")


def parse_products(text: str) -> frozenset[str]:
    """Names in lower case from lines of `group: name name …`; empty lines and `#` comments are skipped."""
    lines = (line.partition(":")[2] for line in text.splitlines() if not line.startswith("#"))
    return frozenset(name for line in lines for name in line.split())


def product_terms(question: str, products: Set[str]) -> dict[str, str]:
    """The words that are known names, as written, by their index terms."""
    words = (match[0] for match in _WORD.finditer(question))
    return {term: word for word in words if word.lower() in products for term in terms(word)[:1]}


def proper_terms(question: str) -> frozenset[str]:
    """Index terms of the words that are written as names: with a capital inside a sentence, or in Latin letters
    inside a Chinese one."""
    chinese = bool(_HAN.search(question))
    found: set[str] = set()
    for match in _WORD.finditer(question):
        word, before = match[0], question[: match.start()]
        starts = not before.strip() or bool(_CLAUSE_END.search(before))
        if len(word) > 1 and (chinese or (word[0].isupper() and not starts) or word[1:].lower() != word[1:]):
            found.update(term for term in terms(word)[:1] if not is_function_word(term))
    return frozenset(found)
