"""The mode decision: what the text says, what evidence moves, and the reason that is given."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import REASONS, Decision, Evidence, Mode, decide, explain

NOTHING = Evidence()


def ask(question: str, evidence: Evidence = NOTHING) -> Decision:
    return decide(question, evidence, load_mode_model())


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("what does 'git stash' do", Mode.MINIMAL),
        ("anything in my stash?", Mode.LEAN),
        ("what did I change in the stash vs main", Mode.RICH),
        ("git stash 是干什么用的", Mode.MINIMAL),
        ("stash 里还有东西没", Mode.LEAN),
        ("stash 里改了哪些逻辑，和 main 差什么", Mode.RICH),
        ("why is the sea salty", Mode.MINIMAL),
        ("why is the invoice total off by a cent", Mode.RICH),
        ("which node version is installed", Mode.LEAN),
        ("本机装的 node 是几", Mode.LEAN),
        ("why?", Mode.RICH),
        ("然后呢", Mode.RICH),
    ],
)
def test_the_text_alone_decides_without_evidence(question: str, mode: Mode) -> None:
    assert ask(question).mode is mode


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    "question",
    [
        "what is the current LTS version of node",
        "is this sentence correct: He suggested me to go",
        "who won the last champions league final",
        "什么是标准误差",
        "这个成语什么意思：沆瀣一气",
        "上一届世界杯冠军是谁",
    ],
)
def test_marker_words_alone_do_not_ask_for_context(question: str) -> None:
    assert ask(question).mode is Mode.MINIMAL


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize("question", ["hi", "2 + 2", "什么是闭包", ""])
def test_an_attachment_makes_every_question_rich(question: str) -> None:
    decision = ask(question, Evidence(explicit=True))
    assert (decision.mode, decision.code) == (Mode.RICH, "attached")


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("explain what you just wrote about closures", "said"),
        ("is your last answer true for python as well", "said"),
        ("你刚才说的闭包是什么", "said"),
        ("闭包这个概念，你上一条回答能翻译成英文吗", "said"),
    ],
)
def test_phrases_for_what_was_said_force_rich(question: str, code: str) -> None:
    decision = ask(question)
    assert (decision.mode, decision.code) == (Mode.RICH, code)


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    "question",
    [
        "explain the visitor pattern in this codebase",
        "what is a semaphore good for in our repo",
        "解释一下本项目里的观察者模式",
        "我们项目里闭包是什么意思",
    ],
)
def test_phrases_for_the_project_rule_out_minimal(question: str) -> None:
    assert ask(question).mode is not Mode.MINIMAL


def test_a_phrase_that_changed_the_mode_is_the_reason() -> None:
    question = "what is a semaphore, in our repo"
    assert ask("what is a semaphore").mode is Mode.MINIMAL
    assert ask(question).reason == 'points at this project ("in our repo")'


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    "question",
    [
        'translate to dutch: "what you just said is wrong"',
        "把“你刚才说的不对”翻成英文",
        "translate to Dutch: the error has been fixed in the current branch",
    ],
)
def test_a_text_to_translate_does_not_point_at_anything(question: str) -> None:
    assert ask(question).mode is Mode.MINIMAL


@pytest.mark.requirement("P-06")
def test_a_symbol_of_the_index_makes_the_question_rich_and_is_the_reason() -> None:
    decision = ask("explain retry_with_backoff", Evidence(symbols=("retry_with_backoff",)))
    assert decision.mode is Mode.RICH
    assert decision.reason == "names `retry_with_backoff`, which is a symbol here"


@pytest.mark.requirement("P-06")
def test_a_path_that_exists_makes_the_question_rich() -> None:
    decision = ask("what is in the hosts file", Evidence(paths=("deploy/hosts",)))
    assert (decision.mode, decision.code, decision.detail) == (Mode.RICH, "path", "deploy/hosts")


def test_a_question_about_pins_stays_lean_although_the_file_exists() -> None:
    assert ask("is README.md pinned", Evidence(paths=("README.md",))).mode is Mode.LEAN


@pytest.mark.requirement("P-06")
def test_branch_names_with_git_words_ask_for_a_git_fact() -> None:
    decision = ask("is spike/login merged", Evidence(branches=("spike/login",)))
    assert (decision.mode, decision.reason) == (Mode.LEAN, "names the branch `spike/login`")


@pytest.mark.requirement("P-06")
def test_a_bare_follow_up_says_that_it_follows_the_last_exchange() -> None:
    decision = ask("and on windows?", Evidence(has_exchange=True))
    assert (decision.mode, decision.reason) == (Mode.RICH, "follows up on the last exchange")


def test_thanks_stay_small_talk_although_there_was_an_exchange() -> None:
    assert ask("thanks a lot!", Evidence(has_exchange=True)).mode is Mode.MINIMAL


@pytest.mark.requirement("P-06")
def test_relevance_tips_a_question_that_the_text_leaves_open() -> None:
    question = "how does a watchdog timer know the firmware hung"
    sure, none = (ask(question, Evidence(relevance=p)) for p in (0.98, 0.02))
    assert sure.scores[Mode.RICH] > ask(question).scores[Mode.RICH] > none.scores[Mode.RICH]


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("what is a closure", "general knowledge: nothing points at this project"),
        ("good morning", "small talk"),
        ("which branch is checked out", "asks for a git fact"),
        ("which shell am I in", "asks about this machine"),
        ("add a dark mode toggle", "asks for a change to this project"),
    ],
)
def test_the_reason_names_what_the_text_is_about(question: str, reason: str) -> None:
    assert ask(question).reason.startswith(reason)


def test_the_words_in_a_reason_stand_in_the_question() -> None:
    decision = ask("Which Branch is checked out?")
    assert decision.detail
    assert decision.detail in "Which Branch is checked out?"


@pytest.mark.requirement("P-06")
def test_every_reason_reads_in_english_and_chinese_with_and_without_a_name() -> None:
    for code in REASONS:
        for detail in ("", "x_y"):
            english, chinese = explain(code, detail), explain(code, detail, "zh-CN")
            assert english.isascii() and not chinese.isascii()
            assert "{}" not in english + chinese and "``" not in english + chinese


def test_every_topic_of_the_model_has_a_reason() -> None:
    model = load_mode_model()
    assert model is not None and set(model.topics) <= set(REASONS)


@given(st.text(max_size=3000), st.booleans(), st.one_of(st.none(), st.floats(0, 1)))
def test_any_text_gets_one_mode_and_scores_that_sum_to_one(
    question: str, before: bool, relevance: float | None
) -> None:
    evidence = Evidence(has_exchange=before, relevance=relevance)
    decision = ask(question, evidence)
    assert sum(decision.scores.values()) == pytest.approx(1, abs=1e-5)
    assert decision.scores[decision.mode] == max(decision.scores.values())
    assert decision.reason and "\n" not in decision.reason
    assert decision == ask(question, evidence)


@pytest.mark.requirement("P-06")
@given(st.text(max_size=200))
def test_evidence_for_rich_never_lowers_its_score(question: str) -> None:
    plain = ask(question + "?").scores[Mode.RICH]
    assert ask(question + "?", Evidence(symbols=("a_b",))).scores[Mode.RICH] >= plain


def test_a_decision_takes_a_few_milliseconds() -> None:
    question = "why does the export fail?\n" + "Traceback (most recent call last):\n  File 'a.py', line 3\n" * 60
    ask(question)
    spent = min(_timed(question) for _ in range(5))
    assert spent < 0.015


def _timed(question: str) -> float:
    started = time.process_time()
    ask(question)
    return time.process_time() - started
