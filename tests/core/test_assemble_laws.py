"""Laws of the assembler over random fragments, sizes, modes and budgets, counted with several tokenizers (Q-06)."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import groupby

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.drawn import fragments, many, modes, texts

from clew.adapters.tokenizers import tokenizer_for
from clew.core.context.assemble import assemble
from clew.core.context.budget import PER_MESSAGE, PER_PROMPT, Budget
from clew.core.context.candidates import RECENT_SOURCE
from clew.core.context.fences import clean, reference_line
from clew.core.context.fragment import SIDE_SOURCES, Fragment
from clew.core.context.layers import Frame, Snapshot, question_frame
from clew.core.ports import Tokenizer
from clew.errors import OverBudget


class Letters:
    """One token a character; sums add up."""

    name = "letters"
    exact = True

    def count(self, text: str) -> int:
        return len(text)


class Runs(Letters):
    """One token for each run of one character, which no sum of parts predicts, and a fee for each fence in a text."""

    name = "runs"

    def count(self, text: str) -> int:
        return sum(1 for _ in groupby(text)) + 3 * text.count("\n<fragment") ** 2


MODELS = {"gpt-4o": True, "gpt-4": True, "qwen3": True, "claude-sonnet-4-5": False, "some-local-model": False}
"""Models, and whether their tokenizer is exact."""


@cache
def tokenizer_named(name: str) -> Tokenizer:
    return {"letters": Letters, "runs": Runs}[name]() if name in ("letters", "runs") else tokenizer_for(name)


tokenizers = st.sampled_from(["letters", "runs", *MODELS]).map(tokenizer_named)
budgets = st.builds(
    Budget, st.integers(300, 1200) | st.integers(300, 30_000), st.sampled_from([0, 50, 250]), tokenizers
)
frames = st.sampled_from([question_frame("Be brief."), Frame()])


def assembled(
    question: str, given_fragments: list[Fragment], mode: str, budget: Budget, frame: Frame, asked: frozenset[str]
) -> Snapshot:
    """The prompt; an example whose required parts alone exceed the budget proves nothing."""
    try:
        return assemble(question, given_fragments, mode, budget, frame, side_asked=asked)
    except OverBudget as error:
        needed = error.facts["needed"]
        assert isinstance(needed, int)
        assert needed > budget.total
        return assemble(question, given_fragments, mode, replace(budget, total=needed), frame, side_asked=asked)


asked_for = st.frozensets(st.sampled_from(sorted(SIDE_SOURCES)))


@pytest.mark.parametrize(("model", "exact"), MODELS.items())
def test_the_tokenizers_of_these_laws_are_those_of_models(model, exact):
    assert tokenizer_named(model).exact is exact


@pytest.mark.requirement("P-07")
@given(texts, many, modes, budgets, frames, asked_for)
def test_the_prompt_as_sent_never_exceeds_its_budget(question, parts, mode, budget, frame, asked):
    try:
        snapshot = assemble(question, parts, mode, budget, frame, side_asked=asked)
    except OverBudget:
        return
    messages = snapshot.messages()
    count = budget.tokenizer.count
    overhead = PER_MESSAGE * len(messages) + PER_PROMPT
    blocks = [block for message in messages for block in message.blocks]
    assert sum(map(count, blocks)) + overhead <= budget.total - budget.answer
    assert count("\n\n".join(blocks)) + overhead <= budget.total - budget.answer
    assert count(snapshot.text()) + overhead <= snapshot.report.used <= snapshot.report.prompt


@pytest.mark.requirement("P-04")
@given(texts, many, modes, budgets, frames, asked_for)
def test_explicit_fragments_are_never_cut_or_left_out(question, parts, mode, budget, frame, asked):
    snapshot = assembled(question, parts, mode, budget, frame, asked)
    for part in parts:
        if part.explicit:
            assert clean(part.text) in snapshot.text()
    kept = [(kept.ref, kept.form) for kept in snapshot.report.kept if kept.explicit]
    assert {form for _, form in kept} <= {"body"}
    assert {ref for ref, _ in kept} == {part.ref for part in parts if part.explicit}


@pytest.mark.requirement("P-05")
@given(texts, many, st.sampled_from(["lean", "rich"]), budgets, frames, asked_for)
def test_every_anchor_keeps_its_reference_line(question, parts, mode, budget, frame, asked):
    snapshot = assembled(question, parts, mode, budget, frame, asked)
    for part in parts:
        if not part.anchor:
            continue
        shown_whole = part.source == RECENT_SOURCE and clean(part.text) in snapshot.text()
        assert shown_whole or f"\n{reference_line(part)}\n" in snapshot.text()


@pytest.mark.requirement("P-07")
@given(texts, many, modes, budgets, frames, asked_for)
def test_side_information_stays_within_a_tenth_unless_asked_for(question, parts, mode, budget, frame, asked):
    snapshot = assembled(question, parts, mode, budget, frame, asked)
    limited = SIDE_SOURCES - asked
    spent = [kept for kept in snapshot.report.kept if kept.source in limited and not kept.explicit]
    beyond_lines = [kept for kept in spent if kept.form != "line" or not kept.anchor]
    if beyond_lines:
        assert sum(kept.tokens for kept in spent) <= snapshot.report.prompt // 10


@pytest.mark.requirement("P-07")
@given(texts, many, st.integers(400, 6000))
@example("", [Fragment("related", "a", "a" * 500, 80), Fragment("git", "b", "b" * 300, 60)], 720)
def test_nothing_of_lower_weight_takes_the_room_of_a_higher_one(question, parts, total):
    snapshot = assembled(question, parts, "rich", Budget(total, 50, Letters()), Frame(), frozenset())
    report = snapshot.report
    weight = {part.ref: part.weight for part in parts}
    assume(len(weight) == len(parts))
    anchors = {part.ref for part in parts if part.anchor}
    heading = len(Frame().context) + len(Frame().recent) + 40
    for lost in report.trimmed:
        if lost.cause != "budget" or lost.line_kept:
            continue
        lower = [kept for kept in report.kept if not kept.explicit and kept.ref not in anchors]
        lower_tokens = sum(kept.tokens for kept in lower if weight.get(kept.ref, 100) < weight[lost.ref])
        assert lost.tokens > report.prompt - report.used + lower_tokens - heading


@pytest.mark.requirement("P-08")
@given(texts, many, modes, budgets, frames, asked_for)
def test_the_report_adds_up_and_accounts_for_every_fragment(question, parts, mode, budget, frame, asked):
    snapshot = assembled(question, parts, mode, budget, frame, asked)
    report = snapshot.report
    assert report.frame + sum(use.tokens for use in report.sources) == report.used
    assert report.used == replace(budget, total=report.total).measure(snapshot.messages())
    assert sum(use.fragments for use in report.sources) == len(report.kept)
    for use in report.sources:
        assert use.tokens == sum(kept.tokens for kept in report.kept if kept.source == use.source)
    told = {re.sub(r"-\d+$", "", item.ref) for item in (*report.kept, *report.trimmed)}
    for part in parts:
        if part.text.strip() or (part.anchor and mode != "minimal"):
            assert re.sub(r"-\d+$", "", part.ref) in told


@pytest.mark.requirement("P-15")
@given(texts, many, modes, budgets, asked_for)
def test_fences_can_be_read_back_whatever_the_texts_hold(question, parts, mode, budget, asked):
    snapshot = assembled(question, parts, mode, budget, question_frame(), asked)
    read: list[str] = []
    for layer in snapshot.layers:
        if layer.name not in ("recent_chat", "context"):
            continue
        block = layer.blocks[0]
        found = re.search(r"^<(?:fragment|facts) ([0-9a-f]{8})[ >]", block, re.MULTILINE)
        if not found:
            continue
        mark = found[1]
        pieces = re.findall(rf"^<fragment {mark} ([^\n]*)>\n(.*?)^</fragment {mark}>$", block, re.DOTALL | re.MULTILINE)
        facts = re.findall(rf"^<facts {mark}>\n(.*?)\n</facts {mark}>$", block, re.DOTALL | re.MULTILINE)
        assert block.count(mark) == 2 * len(pieces) + 2 * len(facts)
        assert not any(mark in clean(part.text) + part.ref + part.note + question for part in parts)
        read += [body.removesuffix("\n") for _, body in pieces]
    whole = sorted(clean(part.text) for part in parts)
    cut = [kept for kept in snapshot.report.kept if kept.form == "part"]
    for body in read:
        assert body in whole or (cut and any(text.startswith(body) for text in whole))


@pytest.mark.requirement("P-08")
@given(texts, many, modes, budgets, frames, asked_for)
def test_pieces_are_what_the_layers_show_in_their_order(question, parts, mode, budget, frame, asked):
    snapshot = assembled(question, parts, mode, budget, frame, asked)
    text = {layer.name: "\n\n".join(layer.blocks) for layer in snapshot.layers}
    at = dict.fromkeys(text, 0)
    for piece in snapshot.pieces:
        found = text[piece.layer].index(piece.text, at[piece.layer])
        at[piece.layer] = found + len(piece.text)
        assert piece.form == "line" or clean(piece.fragment.text) in piece.text
    assert {(piece.fragment.ref, piece.fragment.source) for piece in snapshot.pieces} == {
        (kept.ref, kept.source) for kept in snapshot.report.kept
    }
    assert [piece.form for piece in snapshot.pieces].count("part") == [
        kept.form for kept in snapshot.report.kept
    ].count("part")


@given(texts, many, modes, budgets, frames, asked_for)
def test_the_same_input_gives_the_same_bytes(question, parts, mode, budget, frame, asked):
    first, second = (assembled(question, parts, mode, budget, frame, asked) for _ in range(2))
    assert first == second


ROOM = Budget(10_000_000, 100, Letters())


@pytest.mark.requirement("P-13")
@given(texts, texts, many, fragments(), st.sampled_from(["lean", "rich"]))
def test_another_question_or_more_context_leaves_earlier_layers_alone(question, other, parts, more, mode):
    assume(more.source != RECENT_SOURCE or more.explicit)
    before = assemble(question, parts, mode, ROOM, question_frame("Be brief.")).layers
    after = assemble(other, [*parts, more], mode, ROOM, question_frame("Explain.")).layers
    stable = [layer for layer in before if layer.name in ("system_core", "recent_chat")]
    assert list(after[: len(stable)]) == stable


@given(many, st.integers(300, 3000))
def test_a_cut_body_is_a_run_of_whole_lines_from_the_start(parts, total):
    snapshot = assembled("?", parts, "rich", Budget(total, 50, Letters()), Frame(), frozenset())
    for kept in snapshot.report.kept:
        if kept.form == "part":
            said = re.search(r"(\d+) of (\d+) lines", kept.note)
            assert said
            rows = int(said[1])
            sources = [part for part in parts if part.cuttable and part.source == kept.source]
            assert any(
                f"\n{clean(chr(10).join(part.text.split(chr(10))[:rows]))}\n</" in snapshot.text() for part in sources
            )
