"""The plan: steps are read as people write them, and two plans are compared by their steps."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from clew.core.handoff.plan import difference, lines_of_difference, read_plan

pytestmark = pytest.mark.requirement("W-03")

PLAN = """---
id: p
---
# Crane

1. [x] measure the wind
2. [ ] retry with a pause
   - [ ] jitter
- [-] a second crane
- ~~a third crane~~ never
Why: the tower is slow.

```
- [ ] not a step
```
"""


def test_steps_and_remarks_are_told_apart() -> None:
    plan = read_plan(PLAN)
    told = [(step.text, step.done, step.dropped, step.line, step.level) for step in plan.steps]
    assert told == [
        ("measure the wind", True, False, 6, 0),
        ("retry with a pause", False, False, 7, 0),
        ("jitter", False, False, 8, 1),
        ("a second crane", False, True, 9, 0),
    ]
    assert [step.text for step in plan.steps if step.open] == ["retry with a pause", "jitter"]
    assert plan.title == "Crane" and plan.next is not None and plan.next.text == "retry with a pause"
    assert plan.remarks == ("~~a third crane~~ never", "Why: the tower is slow.", "[ ] not a step")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. one\n2) two\n3、三", ["one", "two", "三"]),
        ("- just\n- remarks", []),
        ("* [X] one\n+ [✓] two\n- [ ]\n- [ ] ", ["one", "two"]),
        ("# 计划\r\n1. [x] 夜班\r\n5. [删] 请假系统 —— 不做了\r\n", ["夜班", "请假系统 —— 不做了"]),
        ("", []),
    ],
)
def test_lists_of_many_kinds_are_steps(text: str, steps: list[str]) -> None:
    assert [step.text for step in read_plan(text).steps] == steps


def test_a_difference_says_what_became_of_each_step() -> None:
    now = """# Crane
- [x] retry with a pause
- [ ] measure the wind
- [ ] jitter of at most 20 ms
- [ ] a siren
"""
    found = [
        (one.change, one.step.text, one.before.text if one.before else "")
        for one in difference(read_plan(PLAN), read_plan(now))
    ]
    assert found == [
        ("done", "retry with a pause", "retry with a pause"),
        ("reopened", "measure the wind", "measure the wind"),
        ("added", "jitter of at most 20 ms", ""),
        ("added", "a siren", ""),
        ("removed", "jitter", "jitter"),
    ]
    reworded = difference(
        read_plan("- [ ] retry twice with a short pause"), read_plan("- [ ] retry with a short pause")
    )
    assert [(one.change, one.before and one.before.text) for one in reworded] == [
        ("reworded", "retry twice with a short pause")
    ]
    assert lines_of_difference("a\nb", "a\nc") == ["- b", "+ c"]


@hypothesis.given(st.text(max_size=300))
def test_any_text_is_a_plan_and_differs_in_nothing_from_itself(text: str) -> None:
    plan = read_plan(text)
    assert difference(plan, plan) == ()
    assert all(0 < step.line <= text.count("\n") + text.count("\r") + 20 for step in plan.steps)


STEPS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=6, unique_by=lambda one: one[0])


@hypothesis.given(STEPS, STEPS)
def test_a_difference_accounts_for_every_step(before: list[tuple[str, bool]], after: list[tuple[str, bool]]) -> None:
    def text(steps: list[tuple[str, bool]]) -> str:
        return "\n".join(f"- [{'x' if done else ' '}] step {name * 4} of the crane" for name, done in steps)

    one, other = read_plan(text(before)), read_plan(text(after))
    found = difference(one, other)
    added = sum(item.change == "added" for item in found)
    removed = sum(item.change == "removed" for item in found)
    assert len(other.steps) - len(one.steps) == added - removed
    assert {item.step.text for item in found if item.change != "removed"} <= {step.text for step in other.steps}
