"""`clew eval locomo`: evidence turns of conversations in the authors' format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import clew

from clew.errors import NotFound, UsageError
from clew.services.eval.locomo import evaluate_locomo

CONVERSATION = {
    "sample_id": "c1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi Ben, what did you do with the old boat?"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Sold it last week. The new owner keeps bees."},
            {"speaker": "Ann", "dia_id": "D1:3", "text": "Look at this!", "blip_caption": "a photo of a red kite"},
            {"speaker": "Ben", "dia_id": "D1:4", "text": "Nice."},
        ],
        "session_2_date_time": "9:05 am on 17 July, 2023",
        "session_2": [
            {"speaker": "Ben", "dia_id": "D2:1", "text": "I bought a piano and practise scales every evening."},
            {"speaker": "Ann", "dia_id": "D2:2", "text": "Lovely, I went to the dentist."},
        ],
    },
    "qa": [
        {"question": "Who has Ben's boat now?", "evidence": ["D1:2"], "category": 4},
        {"question": "Which instrument does Ben practise?", "evidence": ["D2:1"], "category": 4},
        {"question": "What picture did Ann share?", "evidence": ["D1:3; D1:4"], "category": 1},
        {"question": "Where did Ann go in July 2023?", "evidence": ["D2:2"], "category": 2},
        {"question": "What is not said?", "evidence": [], "category": 5},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([CONVERSATION, CONVERSATION | {"sample_id": "c2"}]), encoding="utf-8")
    return path


@pytest.mark.requirement("Q-04")
def test_the_figures_are_the_shares_of_evidence_turns(file: Path) -> None:
    result = evaluate_locomo(file)
    assert (result.n, result.turns, result.skipped) == (8, 12, 2)
    assert result.recall["5"] == pytest.approx(sum(item.recall(5) for item in result.items) / 8, abs=1e-4)
    assert result.recall["25"] == 1.0
    assert {name: part["n"] for name, part in result.per_category.items()} == {
        "multi-hop": 2, "single-hop": 4, "temporal": 2,
    }  # fmt: skip
    assert list(result.per_conversation) == ["c1", "c2"]
    first = {item.id: item for item in result.items}
    assert first["c1/2"].gold == ("D1:3", "D1:4")
    assert first["c1/1"].ranked[0] == "D2:1"
    assert first["c1/3"].ranked[0] == "D2:2"
    assert set(first["c1/0"].ranked) <= {"D1:1", "D1:2", "D1:3", "D1:4", "D2:1", "D2:2"}


def test_a_bound_that_is_missed_ends_with_one_and_json_is_one_object(file: Path) -> None:
    done = clew("eval", "locomo", file, "--json", "--min", "recall.25=1", cwd=file.parent)
    assert (done.status, done.json["n"]) == (0, 8)
    missed = clew("eval", "locomo", file, "--min", "recall.5=1.1", cwd=file.parent)
    assert missed.status == 1
    assert "recall.5" in missed.err


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "[1]", '{"conversation": {}, "qa": 1}', '[{"conversation": {"session_1": 3}, "qa": []}]'],
)
def test_a_file_of_another_kind_is_refused_with_its_shape(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        evaluate_locomo(path)
    assert "dia_id" in refused.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no-such"):
        evaluate_locomo(tmp_path / "no-such.json")


@pytest.mark.slow
@pytest.mark.requirement("Q-04")
def test_the_evidence_of_long_conversations_is_found(shared_data: Path) -> None:
    result = evaluate_locomo(shared_data / "locomo.dev.json")
    assert result.recall["5"] >= 0.74
    assert result.recall["10"] >= 0.81
