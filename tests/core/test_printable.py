"""Characters that nobody sees: left where a script needs them, shown where they part words or hide something."""

from __future__ import annotations

import pytest

from clew.core.text.printable import steering, storable, visible

NEEDED = [
    "می\u200cخواهم",  # Persian: a letter that must not join the next one
    "ه\u200d ",  # an initial form that stands alone
    "क्\u200dष and ক্\u200cষ",  # joined and parted conjuncts
    "ന്\u200d പ",  # a final consonant in the older spelling
    "ភាសា\u200bខ្មែរ",  # Khmer: where a line may break
    "👩\u200d💻 👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f⃣",
    "葛\U000e0100城市",
    "\ufeff# Heading",
]
HIDING = {
    "pass\u200bword": 1,
    "pay\u200dpal": 1,
    "pay\u200cpal": 1,
    "中\u200b文": 1,
    "a\u2060b\u2062c": 2,
    "a\ufeffb": 1,
    "👩\u200d 💻": 1,
    "a\u3164b": 1,
    "a\U000e0101\U000e0102\U000e0103": 3,
    "👍\ufe0f\ufe01\ufe02": 2,
    "\u200b\u200d": 2,
    "می\u200c\u200cخواهم": 1,
}


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("text", NEEDED)
def test_a_sign_without_width_stays_where_its_script_needs_it(text: str) -> None:
    assert visible(text) == text and steering(text) == 0


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("text", HIDING)
def test_a_sign_without_width_is_shown_where_it_hides_something(text: str) -> None:
    shown = visible(text)
    assert shown.count("\ufffd") == steering(text) == HIDING[text] and len(shown) == len(text)


def test_half_of_a_pair_is_one_mark_in_a_file() -> None:
    assert storable("a\ud800b\udfff 👍") == "a\ufffdb\ufffd 👍"
    assert storable("plain é") == "plain é"
