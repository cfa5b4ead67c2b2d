"""Which exchanges stay beside the sliding window, and how they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.context.anchors import (
    ANSWER_CHARACTERS,
    anchor_line,
    error_in,
    exchange_fragment,
    exchange_fragments,
    is_anchor,
    paths_in,
    shorten,
    window,
)
from clew.core.context.fragment import Exchange


def exchange(number: int, question: str = "hello", answer: str = "hi", **more: object) -> Exchange:
    return replace(Exchange(number, question, answer, "rich", "2026-03-01T10:00:00Z"), **more)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    "question",
    [
        "look at src/main.py please",
        "what is in ./run",
        "看一下main.py里的函数",
        "config.toml 里写了什么",
        "who reads /etc/clew/settings",
        "what does the Dockerfile start",
        "why ValueError: bad literal",
        "the job timed out again",
        "worker hangs at night",
        "刚才那个报错怎么回事",
        "程序启动就崩溃",
        "接口超时了",
        "fix it",
        "please refactor the parser",
        "帮我分析一下这段逻辑",
        "把这里重构一下",
        "exit code 1 but nothing is printed",
    ],
)
def test_a_question_with_a_path_an_error_or_a_task_verb_is_an_anchor(question):
    assert is_anchor(question)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    "question",
    [
        "what time is it in Lima",
        "现在几点了",
        "is it and/or in formal English",
        "see https://example.com/src/main.py",
        "how old is Node.js",
        "thanks",
        "谢谢，好的",
        "prefixes in Latin",
        "1/2 + 3/4",
    ],
)
def test_small_talk_is_no_anchor(question):
    assert not is_anchor(question)


def test_an_answer_counts_with_a_named_error_but_not_with_a_path():
    assert is_anchor("and now?", "it raised\nKeyError: 'x'\nin the loop")
    assert not is_anchor("and now?", "see src/main.py:10, nothing failed there")


def test_paths_are_found_once_each_and_in_order():
    assert paths_in("b.py, then src/a.ts, then b.py; not http://x.y/z.py") == ("b.py", "src/a.ts")


def test_an_error_is_told_with_the_rest_of_its_line():
    assert error_in("it said\n  ConnectionError: refused by peer \nand stopped") == "ConnectionError: refused by peer"
    assert error_in("all fine") == ""


@pytest.mark.requirement("P-05")
def test_an_anchor_stays_beside_the_window_after_twenty_others():
    history = [exchange(1, "fix src/a.py", anchor=True), *(exchange(number) for number in range(2, 22))]
    recent, anchored = window(history)
    assert [one.id for one in recent] == [17, 18, 19, 20, 21]
    assert [one.id for one in anchored] == [1]


def test_an_anchor_inside_the_window_is_not_given_twice():
    recent, anchored = window([exchange(1, anchor=True), exchange(2)])
    assert ([one.id for one in recent], anchored) == ([1, 2], ())


def test_a_removed_exchange_is_in_neither_and_takes_no_place():
    history = [exchange(1, anchor=True, removed=True), exchange(2), exchange(3, removed=True), exchange(4)]
    recent, anchored = window(history, size=2)
    assert ([one.id for one in recent], anchored) == ([2, 4], ())


def test_of_too_many_anchors_errors_stay_first_and_then_the_latest():
    history = [exchange(number, "fix it", anchor=True) for number in range(1, 41)]
    history[2] = exchange(3, "why KeyError: 'x'?", anchor=True)
    history[38] = exchange(39, "fix it", anchor=True, mode="minimal")
    _, anchored = window(history, size=0, most=3)
    assert [one.id for one in anchored] == [3, 38, 40]


@given(st.lists(st.builds(exchange, st.integers(1, 60), anchor=st.booleans(), removed=st.booleans()), max_size=40))
def test_the_window_never_loses_an_anchor_below_the_limit(history):
    history = list({one.id: one for one in history}.values())
    recent, anchored = window(history, size=5, most=60)
    kept = {one.id for one in (*recent, *anchored)}
    assert kept >= {one.id for one in history if one.anchor and not one.removed}
    assert len(recent) <= 5
    assert [one.id for one in recent] == sorted(one.id for one in history if not one.removed)[-5:]


@pytest.mark.requirement("P-05")
def test_the_latest_exchange_is_given_as_an_anchor_and_comes_first():
    made = exchange_fragments([exchange(1, "fix src/a.py", anchor=True), exchange(2, "what is a monad", "a burrito")])
    assert [(one.ref, one.anchor) for one in made] == [("exchange:2", True), ("exchange:1", True)]
    assert made[0].relevance > made[1].relevance
    assert exchange_fragments([]) == ()


def test_a_long_answer_is_shown_in_part_and_says_so():
    long = exchange(3, "why", "start " + "word " * 2000 + "KeyError: 'end'")
    shown = exchange_fragment(long)
    assert len(shown.text) < ANSWER_CHARACTERS + 100
    assert "Answered: start" in shown.text
    assert shown.text.endswith("KeyError: 'end'")
    assert f"of {len(long.answer)} characters left out" in shown.text
    assert shown.note.endswith("shortened")
    assert "shortened" not in exchange_fragment(exchange(3)).note


@given(st.text(max_size=300), st.integers(3, 200))
def test_shortening_keeps_start_and_end_and_counts_what_it_leaves_out(text, limit):
    short = shorten(text, limit)
    if len(text) <= limit:
        assert short == text
    else:
        head, rest = short.split("\n[… ", 1) if "\n[… " in short else ("", short[3:])
        gone = int(rest.split(" ", 1)[0])
        tail = rest.split(" characters left out …]\n", 1)[1]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert gone == len(text) - len(head) - len(tail) > 0


def test_the_line_of_an_exchange_names_day_question_and_error_on_one_line():
    line = anchor_line(exchange(9, "why\nis it\tslow", "raised TimeoutError: 30 s\nthere"))
    assert line == "exchange:9 (2026-03-01) why is it slow [TimeoutError: 30 s]"
    assert anchor_line(exchange(9, "why KeyError: 1", at="")) == "exchange:9 why KeyError: 1"
