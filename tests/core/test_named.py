from __future__ import annotations

import pytest

from clew.core.index.named import parse_products, product_terms, proper_terms
from clew.core.text.terms import terms

PRODUCTS = parse_products("# names\n\nshells: nushell zsh\norganisers: trello socket.io\n")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("where's the nushell completion script?", ["nushell"]),
        ("怎么把 issue 和 Trello 看板双向同步？", ["trello"]),
        ("does it speak socket.io?", ["socket.io"]),
        ("where is the completion script?", []),
        ("", []),
    ],
)
def test_known_products_are_found_however_they_are_written(question: str, named: list[str]) -> None:
    assert {name.lower() for name in product_terms(question, PRODUCTS).values()} == set(named)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("how do I connect it to Microsoft Teams?", ["microsoft", "teams"]),
        ("Where is it? Nothing works.", []),
        ("怎么接入 kafka 消息？", ["kafka"]),
        ("which class does the RetryPolicy use", ["RetryPolicy"]),
        ("can I use it?", []),
    ],
)
def test_a_capital_inside_a_sentence_and_latin_inside_chinese_are_names(question: str, named: list[str]) -> None:
    assert proper_terms(question) == {terms(name)[0] for name in named}
