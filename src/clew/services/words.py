"""The shipped words: what a term means in English, what an everyday word may be called. Each is read once a process."""

from __future__ import annotations

from functools import cache
from importlib import resources

from clew.core.text.glossary import Glossary
from clew.core.text.thesaurus import Thesaurus


@cache
def load_glossary() -> Glossary:
    """Chinese terms with their English ones."""
    return Glossary.parse(_shipped("glossary.tsv"))


@cache
def load_thesaurus() -> Thesaurus:
    """Everyday words with their names in code."""
    return Thesaurus.parse(_shipped("thesaurus.tsv"))


def _shipped(name: str) -> str:
    return resources.files("clew").joinpath("data", name).read_text(encoding="utf-8")
