"""The ledger of a window: read however it was edited, refreshed without touching what others wrote."""

from __future__ import annotations

from datetime import UTC, datetime

import hypothesis
import pytest
from hypothesis import strategies as st

from clew.core.handoff.ledger import (
    HEADINGS,
    Ledger,
    Sections,
    added,
    ledger_text,
    mark,
    merged,
    newest,
    of_window,
    read_ledger,
    refreshed,
    sections_of,
)

pytestmark = pytest.mark.requirement("W-02")

AT = datetime(2026, 6, 1, 14, 5, tzinfo=UTC)
SECTIONS = Sections("- red", "- Goal: lift\n- never at night", "- failed: by hand", "- Next: test")
LINE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=30).map(
    lambda text: f"- {' '.join(text.split())}."
)
TEXT = st.lists(LINE, max_size=6, unique=True).map("\n".join)
ALL = st.builds(Sections, state=TEXT, goal=TEXT, tried=TEXT, progress=TEXT)


def written(sections: Sections = SECTIONS, **facts: object) -> str:
    ledger = Ledger(id="mem_1", workspace="w", session="s", created=AT, sections=sections, **facts)  # type: ignore[arg-type]
    return ledger_text(ledger, name="Lift", description="Next: test")


def test_what_is_written_is_read_again() -> None:
    text = written(branch="main", trigger="fill", window=2, supersedes="mem_0")
    found = read_ledger("x", text)
    assert found.sections == SECTIONS and found.problems == () and found.ref == "clew://handoff/x"
    facts = (found.id, found.branch, found.trigger, found.session, found.window, found.supersedes, found.created)
    assert facts == ("mem_1", "main", "fill", "s", 2, "mem_0", AT)
    assert [line for line in text.splitlines() if line.startswith("#")] == [f"## {en}" for en, _ in HEADINGS.values()]


def test_the_headings_may_be_chinese_or_other_words_for_the_same() -> None:
    chinese = ledger_text(Ledger(session="s", sections=SECTIONS), name="n", description="", language="zh")
    assert "## 已试方案与失败原因" in chinese and read_ledger("x", chinese).sections == SECTIONS
    for text in (
        "# Status\na\n### Decisions:\nb\n## Dead ends\nc\n**Next steps**\nd\n",
        "## 现状\na\n## 目标\nb\n## 失败\nc\n## 下一步\nd",
    ):
        assert read_ledger("x", text).sections == Sections("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("", Sections()),
        ("no heading at all", Sections(state="no heading at all")),
        ("above\n\n## State\nbelow", Sections(state="above\n\nbelow")),
        ("## Goal\r\n\r\n- a\r\n\r\n## Other\r\n- b\r\n", Sections(goal="- a\n\n## Other\n- b")),
        ("## Next\na\n## State\nb\n## Next\nc", Sections(state="b", progress="a\n\nc")),
        ("---\nid: [\n---\n## Goal\na", Sections(goal="a")),
        ("```\n## Goal\n```\n", Sections(state="```\n## Goal\n```")),
    ],
)
def test_a_file_that_was_edited_by_hand_is_read_all_the_same(text: str, sections: Sections) -> None:
    assert read_ledger("x", text).sections == sections


def test_a_text_without_headings_says_the_state_and_what_comes_next() -> None:
    assert sections_of("Builds again.\nNext: the tests") == Sections(state="Builds again.", progress="Next: the tests")
    assert sections_of("## Goal\nNext: not this") == Sections(goal="Next: not this")


def test_a_refresh_that_says_the_same_changes_no_byte() -> None:
    for text in (written(), written().replace("\n", "\r\n"), written().replace("## State", "# Status ##")):
        assert refreshed(text, SECTIONS, {"updated": AT}) == text
    mine = written().replace("- red", "- red\n- mine")
    assert refreshed(mine, SECTIONS, {"updated": AT}) == mine


def test_a_refresh_takes_back_only_what_clew_wrote() -> None:
    mine = (
        written()
        .replace("- red", "- red\n- mine")
        .replace("- never at night\n", "")
        .replace("## Tried", "## My own\n\ntext\n\n## Tried")
    )
    now = refreshed(mine, Sections("- green", SECTIONS.goal, "", "- Next: ship"), {"trigger": "fill"})
    found = read_ledger("x", now)
    assert found.sections.state == "- mine\n- green" or found.sections.state == "- green\n- mine"
    assert "never at night" not in found.sections.goal, "what somebody took out does not come back"
    assert "## My own\n\ntext" in now and found.sections.progress == "- Next: ship"
    assert found.sections.tried == "" and "trigger: fill" in now


def test_what_somebody_asked_for_is_not_taken_back_by_a_refresh() -> None:
    asked = refreshed(written(), Sections(progress="- mind the wind"), {}, own=False)
    more = added(asked, Sections(progress="- and the rain\n- mind the wind"), {})
    assert read_ledger("x", more).sections.progress == "- mind the wind\n- and the rain"
    assert read_ledger("x", more).sections.state == SECTIONS.state
    later = read_ledger("x", refreshed(more, SECTIONS, {}))
    assert set(later.sections.progress.splitlines()) == {"- mind the wind", "- and the rain"}


def test_line_ends_of_the_file_are_kept() -> None:
    text = refreshed(written().replace("\n", "\r\n"), Sections("- green\n- more", "- g", "", ""), {"updated": AT})
    assert "- green\r\n- more\r\n" in text and "\n" not in text.replace("\r\n", "")


@hypothesis.given(ALL, ALL)
def test_a_refresh_gives_what_is_said_now_where_nobody_else_wrote(first: Sections, then: Sections) -> None:
    text = refreshed(written(first), then, {})
    wanted = {key: text.strip() for key, text in read_ledger("x", written(then)).sections.by_name().items()}
    assert read_ledger("x", text).sections.by_name() == wanted
    assert refreshed(text, then, {}) == text


@hypothesis.given(
    TEXT,
    st.lists(LINE.map(lambda line: f"{line} mine"), max_size=3, unique=True),
    TEXT,
    st.randoms(use_true_random=False),
)
def test_no_line_of_somebody_else_is_lost(before: str, mine: list[str], then: str, random: object) -> None:
    lines = before.splitlines()
    known = frozenset(mark(line, "state") for line in lines)
    for line in mine:
        lines.insert(random.randint(0, len(lines)), line)  # type: ignore[attr-defined]
    result = merged("\n".join(lines), then, known, "state").splitlines()
    assert [line for line in result if line in mine] == [line for line in lines if line in mine]
    assert [line for line in result if line not in mine] == then.splitlines()


def test_the_ledger_to_go_on_from_is_that_of_the_session_then_the_thread_then_the_branch() -> None:
    def one(stem: str, minute: int, **facts: object) -> Ledger:
        return Ledger(stem=stem, updated=AT.replace(minute=minute), **facts)  # type: ignore[arg-type]

    ledgers = [
        one("mine", 1, session="s", thread="t"),
        one("thread", 2, session="r", thread="t"),
        one("other", 3, session="q", thread="q"),
        one("old", 4, session="s", superseded_by="mem_9"),
        one("elsewhere", 5, session="s", branch="x"),
    ]
    assert getattr(newest(ledgers, session="s"), "stem", "") == "mine"
    assert getattr(newest(ledgers, session="new", thread="t"), "stem", "") == "thread"
    assert getattr(newest(ledgers, session="new"), "stem", "") == "other"
    assert getattr(newest(ledgers, branch="x"), "stem", "") == "elsewhere" and newest(ledgers, branch="y") is None
    assert getattr(of_window(ledgers, "s", 1), "stem", "") == "mine" and of_window(ledgers, "s", 2) is None
