"""The decision which notes to mention, and which stay silent because they were shown lately."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.memory.actions import KINDS, announced, ruled
from clew.core.memory.document import MOST_DESCRIPTION
from clew.core.memory.evidence import ENOUGH, Message, concepts, filled
from clew.core.memory.recall import Linear, Note, Scored, choose, hint
from clew.core.memory.shape import forms
from clew.core.memory.shelf import Postings, Texts, days, term_key, text_bag
from clew.core.memory.window import WINDOW, Shown, suppressed
from clew.core.text.terms import query_terms
from clew.services.words import load_glossary, load_thesaurus


def scored(id_: str, logit: float, first: float = 1.0) -> Scored:
    return Scored(id_, logit, logit - first, within=1.5, later=1.0)


@pytest.mark.requirement("R-10")
def test_below_the_threshold_nothing_is_said() -> None:
    choice = choose([scored("a", 0.9), scored("b", 0.5)])
    assert (choice.ids, choice.silence) == ((), "below")
    assert choose([]).silence == "nothing"


@pytest.mark.requirement("R-08")
def test_three_hints_at_most_and_none_far_below_the_best() -> None:
    assert choose([scored(name, 3.0) for name in "abcd"]).ids == ("a", "b", "c")
    assert choose([scored("a", 5.0), scored("b", 3.6), scored("c", 3.4)]).ids == ("a", "b")


@pytest.mark.requirement("R-08")
def test_a_blocked_note_gives_its_place_to_no_weaker_one() -> None:
    ranked = [scored("a", 3.0), scored("b", 2.9), scored("c", 2.8), scored("d", 2.7)]
    assert choose(ranked, blocked=frozenset("a")).ids == ("b", "c")
    assert choose([scored("a", 5.0), scored("b", 2.0)], blocked=frozenset("a")) == choose(
        [scored("a", 5.0)], blocked=frozenset("a")
    )


@pytest.mark.requirement("R-10")
@given(st.text(max_size=900))
def test_a_hint_is_one_line_without_control_characters_whatever_a_note_says(text: str) -> None:
    made = hint("mem_1", text, text)
    for said in (made.name, made.description):
        assert said == said.strip() and len(said.splitlines()) <= 1
        assert not any(ord(char) < 32 or char in "\u202e\u200b\u2028\x7f" for char in said)
    assert len(made.description) <= MOST_DESCRIPTION


@pytest.mark.requirement("R-10")
def test_only_active_notes_with_a_description_may_be_hints() -> None:
    good = Note("mem_1", "name", "says what it is about")
    assert good.hintable
    for bad in (
        Note("mem_1", "name", " "),
        Note("mem_1", "name", "old", status="superseded"),
        Note("mem_1", "name", "old", superseded_by="mem_2"),
        Note("mem_1", "name", "gone", status="deleted"),
    ):
        assert not bad.hintable


@pytest.mark.requirement("R-08")
def test_the_window_is_ten_runs_long_and_ends_with_the_eleventh() -> None:
    shown = [Shown("a", 5)]
    assert [run for run in range(5, 20) if "a" not in suppressed(shown, run)] == list(range(5 + WINDOW + 1, 20))


@pytest.mark.requirement("R-09")
def test_for_the_assistant_only_what_was_seen_in_this_run_is_left_out() -> None:
    shown = [Shown("a", 5), Shown("b", 6)]
    assert suppressed(shown, 6, "assistant") == {"b"}


@given(st.lists(st.integers(1, 60), max_size=40))
def test_no_sequence_of_matches_shows_a_note_twice_within_the_window(runs: list[int]) -> None:
    shown: list[Shown] = []
    for run in runs:
        if "a" not in suppressed(shown, run):
            shown.append(Shown("a", run))
    at = sorted(one.run for one in shown)
    assert all(later - sooner > WINDOW for sooner, later in pairwise(at))


def kinds(bits: int) -> set[str]:
    return {name for bit, name in enumerate(KINDS) if bits >> bit & 1}


def test_a_message_about_destroying_meets_a_rule_about_the_irreversible() -> None:
    rule = kinds(ruled("Ask before anything irreversible"))
    for said in ("drop the old table", "接下来清空这张表", "rm -rf build"):
        assert "destroy" in rule & kinds(announced(said)), said
    assert "destroy" not in kinds(announced("show me the table"))


def test_the_manner_of_a_message_tells_rewording_from_announcing() -> None:
    assert forms("Put this into polite German: the room is free")["rewording"] == 1.0
    assert forms("I'll run the migration now")["announces"] == 1.0
    assert forms("which notes apply")["announces"] == 0.0


def test_a_question_whether_something_may_be_done_is_not_taken_for_one_of_general_knowledge() -> None:
    assert forms("今天能发版吗？")["impersonal"] == forms("可以合并了吗")["impersonal"] == 0.0
    assert forms("能解释一下什么是闭包吗")["impersonal"] == forms("闭包是什么")["impersonal"] == 1.0


def test_a_chinese_word_and_its_translations_are_one_thing_and_moments_are_none() -> None:
    words = load_glossary(), load_thesaurus()
    found = concepts(query_terms("今天能发版吗"), "今天能发版吗", *words)
    assert [{term for term, _ in one} & {"发版", "releas"} for one in found] == [{"发版", "releas"}]
    assert concepts(query_terms("now, today"), "now, today", *words) == []
    assert not Message("风这么大还吊吗").bare and Message("为什么").bare


@given(st.lists(st.floats(-1, 1, width=16), max_size=40), st.lists(st.floats(-1, 1, width=16), min_size=1))
def test_a_small_store_is_filled_up_with_usual_notes_and_a_large_one_is_left_alone(own: list, usual: list) -> None:
    usual.sort()
    pool = filled(np.array(own, np.float32), usual)
    assert len(pool) == max(ENOUGH, len(own))
    np.testing.assert_array_equal(pool[: len(own)], np.array(own, np.float32))
    assert all(usual[0] - 1e-6 <= one <= usual[-1] + 1e-6 for one in pool[len(own) :].tolist())
    assert len(filled(np.array(own, np.float32), ())) == len(own)


def test_how_far_chances_fall_by_size_lies_between_the_measured_sizes() -> None:
    one = Linear(0.0, {}, 1.0, 1.0, 1.5, ((2, -1.0), (8, 1.0), (50, 0.0)))
    assert [one.fall(count) for count in (1, 2, 4, 8, 50, 9_000)] == pytest.approx([-1, -1, 0, 1, 0, 0])
    assert Linear(0.0, {}, 1.0, 1.0, 1.5).fall(3) == 0.0


def test_a_chinese_note_carries_its_translation_as_a_term() -> None:
    bag = text_bag(Note("mem_1", "缓存", "只清某个租户的缓存"), load_glossary())
    assert term_key("cach") in bag


bags = st.lists(st.dictionaries(st.integers(0, 30), st.floats(0.5, 9, width=16), max_size=6), min_size=1, max_size=8)


@given(bags, bags, st.data())
def test_merged_postings_are_those_of_all_notes_made_at_once(old: list, new: list, data: st.DataObject) -> None:
    """Old notes keep, change or lose their place; new ones fill the rest."""
    kept = data.draw(st.lists(st.sampled_from(range(len(old))), unique=True))
    whole: list = [None] * (len(kept) + len(new))
    order = data.draw(st.permutations(range(len(whole))))
    moved = np.full(len(old), -1, np.int32)
    for at, place in zip(kept, order, strict=False):
        moved[at] = place
        whole[place] = old[at]
    places = np.array(sorted(order[len(kept) :]), np.int32)
    for place, bag in zip(places, new, strict=True):
        whole[place] = bag
    merged = Postings.of(old).merged(moved, Postings.of(new), places, len(whole))
    fresh = Postings.of(whole)
    np.testing.assert_array_equal(merged.keys, fresh.keys)
    np.testing.assert_array_equal(merged.starts, fresh.starts)
    np.testing.assert_allclose(merged.lengths, fresh.lengths)
    for start, stop in zip(fresh.starts[:-1], fresh.starts[1:], strict=True):
        one = dict(zip(merged.notes[start:stop].tolist(), merged.counts[start:stop].tolist(), strict=True))
        assert one == dict(zip(fresh.notes[start:stop].tolist(), fresh.counts[start:stop].tolist(), strict=True))


def test_long_bodies_are_cut_into_pieces_under_the_name() -> None:
    texts = Texts.of(Note("mem_1", "Name", "says", body="One sentence that is rather long indeed. " * 40))
    assert 1 < len(texts.chunks) <= 12
    assert all(chunk.startswith("Name. ") for chunk in texts.chunks)


def test_what_is_no_date_never_expires() -> None:
    assert days("2026-06-15") < days("2026-06-16") < days("soon")
