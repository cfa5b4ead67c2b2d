"""The continuation hint: within its bytes, the same for the same, and with the open request word for word."""

from __future__ import annotations

import re

import hypothesis
import pytest
from hypothesis import strategies as st

from clew.core.handoff.continuation import (
    LABELS,
    LEAST_BYTES,
    MOST_BYTES,
    REQUEST_SHARE,
    Continuation,
    continuation,
    elements,
    items,
)
from clew.core.handoff.ledger import Ledger, Sections
from clew.core.handoff.plan import read_plan
from clew.core.handoff.sentences import cut, ends, sentences, size
from clew.core.text.printable import visible

pytestmark = pytest.mark.requirement("W-05")

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=400)
PROSE = st.lists(
    st.sampled_from(
        ["The crane stops at wind 7.", "吊车在七级风停。", "Why? It is old!", "`src/a.py` fails; so what", "x" * 90]
    ),
    max_size=30,
).map("\n- ".join)
LONG = st.integers(20, 120).map(
    lambda count: "\n".join(
        f"- fact {number} 第{number}件事 is known. It is {number}% sure." for number in range(count)
    )
)
"""More than a hint can hold, no two lines alike."""
ANY = st.one_of(TEXT, PROSE, LONG)
LEDGERS = st.builds(
    Ledger,
    stem=st.just("2026-06-01-1405-crane"),
    sections=st.builds(Sections, state=ANY, goal=ANY, tried=ANY, progress=ANY),
)
PLANS = st.one_of(st.none(), ANY.map(read_plan), ANY.map(lambda text: read_plan(f"- [ ] {text}\n- [x] done")))


def ledger(**texts: str) -> Ledger:
    return Ledger(stem="2026-06-01-1405-crane", session="s", sections=Sections(**texts))


def asked(request: str) -> Ledger:
    """A ledger with an open request, as an account writes it."""
    quoted = "\n".join(f"> {line}".rstrip() for line in request.splitlines())
    return ledger(
        goal="- Goal: lift", progress=f"- Next: test\n\nThe user's last open request, word for word:\n\n{quoted}"
    )


# ---------------------------------------------------------------------- laws


@hypothesis.given(PLANS, LEDGERS, st.integers(LEAST_BYTES, MOST_BYTES), st.sampled_from(["en", "zh"]), st.booleans())
def test_a_hint_keeps_to_its_bytes_and_is_the_same_for_the_same(plan, ledger, most, language, newer) -> None:  # type: ignore[no-untyped-def]
    made = continuation(plan, ledger, most=most, language=language, plan_is_newer=newer)
    assert made.bytes == len(made.text.encode()) <= most
    assert made == continuation(plan, ledger, most=most, language=language, plan_is_newer=newer)
    assert made.text == visible(made.text), "nothing in it steers a terminal"
    said = elements(ledger)
    if any((said.goal, said.settled, said.state, said.tried, said.progress, said.next, said.request)):
        assert made.text and ledger.ref in made.references


REQUESTS = st.lists(TEXT.map(lambda text: " ".join(visible(text).split())), min_size=1, max_size=12).map("\n".join)


@hypothesis.given(REQUESTS, PROSE, st.integers(LEAST_BYTES, MOST_BYTES))
def test_the_open_request_stands_there_whole_or_with_its_beginning_and_end(
    request_: str, filler: str, most: int
) -> None:
    source = asked(request_)
    full = Ledger(
        stem=source.stem, sections=Sections(filler, source.sections.goal + filler, filler, source.sections.progress)
    )
    wanted = elements(full).request
    hypothesis.assume(wanted.strip())
    text = continuation(read_plan(f"- [ ] {filler}"), full, most=most).text
    if size(wanted) <= most // REQUEST_SHARE:
        assert wanted in text
    else:
        found = re.search(
            r"\n`{3,}\n(.*?)\n\[… (\d+) characters left out; whole in (\S+) …\]\n(.*?)\n`{3,}", text, re.DOTALL
        )
        assert found and wanted.startswith(found[1]) and wanted.endswith(found[4]) and found[3] == full.ref
        assert len(found[1]) + len(found[4]) + int(found[2]) == len(wanted)


@hypothesis.given(ANY, st.integers(0, 300))
def test_a_cut_is_a_beginning_within_its_bytes(text: str, most: int) -> None:
    short = cut(text, most)
    assert size(short) <= most and text.strip().startswith(short.removesuffix("…").rstrip())
    assert size(ends(text, most, "[…]")) <= max(most, 0) or size(text) <= most


@hypothesis.given(ANY)
def test_no_text_is_lost_between_sentences(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


# ---------------------------------------------------------------------- what is in it


def test_it_says_goal_plan_decisions_state_failures_and_references() -> None:
    made = continuation(
        read_plan("# Plan\n- [x] measure\n- [ ] retry with a pause\n- [-] a second crane\nThe tower stays."),
        ledger(
            state="- fails: `pytest` — 1 failed\n- Terms: tower_guard, 风速",
            goal="- Goal: lift by Friday\n- never at night",
            tried="- failed: a second rope",
            progress="- Next: the siren\n\n> And the horn?",
        ),
    )
    assert made.text.splitlines()[1:] == [
        LABELS["request"][0], "```", "And the horn?", "```", "Goal: lift by Friday", "Next step: the siren",
        "Plan, still open:", "- retry with a pause", "- given up: a second crane", "- The tower stays.",
        "Settled; do not argue it again: never at night", "State: fails: `pytest` — 1 failed",
        "Tried, did not work: failed: a second rope", "Plan, done: measure",
        "Worth searching memory for: tower_guard, 风速",
        "References: clew://plan, clew://handoff/2026-06-01-1405-crane",
    ]  # fmt: skip


def test_what_somebody_wrote_freely_is_taken_up_too() -> None:
    said = elements(ledger(goal="Lift the beam.\nIt is heavy.\n\nNever at night.", state="# All green\nsince noon"))
    assert said.settled == ("Lift the beam. It is heavy.", "Never at night.") and said.state == ("since noon",)
    assert items("1. one\n   more\n2. two\n> quoted") == ["one more", "two"]


def test_a_ledger_that_is_superseded_gives_nothing() -> None:
    old = Ledger(stem="x", superseded_by="mem_1", sections=Sections(state="- at 500 lines"))
    assert continuation(None, old) == Continuation("")
    assert "500" not in continuation(read_plan("- [ ] go on"), old).text
    assert continuation(None, None).text == "" and continuation(read_plan(""), ledger()).text == ""


def test_the_newer_of_plan_and_ledger_is_right_where_they_differ() -> None:
    plan, old = read_plan("- [ ] solver limit changed to 45 seconds"), ledger(goal="- solver limit is 90 seconds")
    assert "90" not in continuation(plan, old, plan_is_newer=True).text
    newer = ledger(goal="- solver limit changed to 90 seconds")
    assert "45" not in continuation(read_plan("- [ ] solver limit 45 seconds"), newer, plan_is_newer=False).text


def test_where_room_is_short_the_plan_ranks_above_the_ledger_and_cuts_are_at_sentences() -> None:
    plan = read_plan("\n".join(f"- [ ] step {number} of the plan is to be done." for number in range(12)))
    many = ledger(
        state="\n".join(
            f"- found: fact {number} is known. It is long and says little more than that." for number in range(60)
        )
    )
    text = continuation(plan, many, most=1_400).text
    assert all(f"step {number} of" in text for number in range(10)) and "fact 0 is known." in text
    body = [line for line in text.splitlines() if line.startswith("- ")]
    assert all(line.endswith((".", "…")) for line in body)


def test_a_sentence_ends_in_chinese_too() -> None:
    text = "吊车在七级风停。塔台先问！然后？" * 20
    assert cut(text, 200).endswith(("。", "！", "？")) and size(cut(text, 200)) > 150
    assert sentences("他说：“停。”然后走了。See e.g. this. 2. point") == [
        "他说：“停。”",
        "然后走了。",
        "See e.g. this.",
        "2. point",
    ]


def test_a_fence_in_the_request_does_not_end_it() -> None:
    request = "Run this:\n```\nrm x\n```\nthen stop"
    text = continuation(None, asked(request)).text
    assert f"\n````\n{request}\n````\n" in text
