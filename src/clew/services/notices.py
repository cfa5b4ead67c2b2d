"""What searches and hints say when they could not do all of their work, and did the rest."""

from __future__ import annotations

from typing import Final

from clew.errors import StoreError

WITHOUT_TABLE: Final = "the table of word vectors cannot be read: likeness did not count"


def unkept(error: StoreError) -> str:
    """The notice of an index that lives in memory for one question."""
    return f"the index could not be kept, and this took longer for it: {error}"


def unread_notice(count: int) -> str:
    """The notice of documents, and folders of them, that nobody could read."""
    return f"{count} documents or folders of memory could not be read; `clew memory check` tells which"
