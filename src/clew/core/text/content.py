"""What the bytes of a file say: text or binary, written by a person or by a program."""

from __future__ import annotations


def decode(content: bytes) -> str | None:
    """Text of a file; None for binary. UTF-8 (BOM dropped), UTF-16 with BOM, else UTF-8 with replacement marks."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    if b"\0" in content[:8192]:
        return None
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def generated(text: str) -> bool:
    """Whether the head of a file says that a program wrote it, or its lines are as long as only a program writes."""
    head = text[:1500]
    if ("DO NOT EDIT" in head and "enerated" in head) or "@generated" in head:
        return True
    return len(text) > 20_000 and text.count("\n") < len(text) / 1000
