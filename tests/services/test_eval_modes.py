"""The measurement of the mode decision on labelled files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.errors import NotFound, UsageError
from clew.services.eval.modes import evaluate_modes

RIGHT = [
    {"id": "a", "query": "what is a closure", "lang": "en", "explicit": False, "ideal": "minimal"},
    {"id": "b", "query": "现在在哪条分支上", "lang": "zh", "explicit": False, "ideal": "lean"},
    {"id": "c", "query": "add a dark mode toggle", "lang": "en", "explicit": False, "ideal": "rich"},
    {"id": "d", "query": "translate it", "lang": "en", "explicit": True, "ideal": "rich"},
]


def labelled(folder: Path, rows: list[dict[str, object]]) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.requirement("P-12")
def test_right_answers_give_full_marks_and_no_cost(tmp_path: Path) -> None:
    result = evaluate_modes(labelled(tmp_path, [dict(row) for row in RIGHT]))
    assert (result.n, result.accuracy, result.macro_f1, result.cost) == (4, 1.0, 1.0, 0)
    assert result.per_class["lean"] == {"precision": 1.0, "recall": 1.0}
    assert {lang: figures["n"] for lang, figures in result.per_lang.items()} == {"en": 3, "zh": 1}
    assert [(item.id, item.got) for item in result.items] == [
        ("a", "minimal"),
        ("b", "lean"),
        ("c", "rich"),
        ("d", "rich"),
    ]
    assert result.items[3].reason == "files or text are attached"


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize(
    ("at", "ideal", "cost"),
    [(0, "rich", 4), (0, "lean", 2), (1, "minimal", 1), (1, "rich", 2), (2, "minimal", 2), (2, "lean", 1)],
)
def test_a_wrong_mode_costs_what_the_label_says(tmp_path: Path, at: int, ideal: str, cost: int) -> None:
    rows = [dict(row) for row in RIGHT]
    rows[at]["ideal"] = ideal
    result = evaluate_modes(labelled(tmp_path, rows))
    assert (result.accuracy, result.cost) == (0.75, cost)
    assert result.rich_as_minimal == (cost == 4)


@pytest.mark.requirement("P-12")
def test_precision_and_recall_count_per_mode(tmp_path: Path) -> None:
    rows = [dict(row) for row in RIGHT]
    rows[0]["ideal"] = "lean"
    result = evaluate_modes(labelled(tmp_path, rows))
    assert result.per_class == {
        "minimal": {"precision": 0.0, "recall": 0.0},
        "lean": {"precision": 1.0, "recall": 0.5},
        "rich": {"precision": 1.0, "recall": 1.0},
    }
    assert result.macro_f1 == round((0 + 2 / 3 + 1) / 3, 4)


@pytest.mark.requirement("P-12")
def test_comments_and_blank_lines_of_a_template_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('# ours\n\n{"id": "1", "query": "good morning", "ideal": "minimal"}\r\n', encoding="utf-8")
    assert evaluate_modes(path).n == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{oops", "questions.jsonl:2 is not JSON"),
        ("[1]", "questions.jsonl:2 is not a JSON object"),
        ('{"query": "", "ideal": "rich"}', '"query" must be'),
        ('{"query": "x", "ideal": "full"}', "must be one of minimal, lean, rich, not 'full'"),
        ('{"query": "x", "ideal": ["rich"]}', "must be one of"),
        ('{"query": "x", "ideal": "rich", "explicit": "no"}', "true or false"),
    ],
)
def test_a_line_that_is_no_labelled_question_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(RIGHT[0]) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        evaluate_modes(path)
    assert said in str(raised.value)
    assert raised.value.hint


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("# nothing yet\n", encoding="utf-8")
    with pytest.raises(UsageError, match="holds no question"):
        evaluate_modes(path)


def test_a_missing_file_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as raised:
        evaluate_modes(tmp_path / "none.jsonl")
    assert "clew eval init" in raised.value.hint


@pytest.mark.requirement("Q-01")
def test_the_shipped_weights_reach_the_bar(shared_data: Path) -> None:
    result = evaluate_modes(shared_data / "modes.dev.jsonl")
    assert result.accuracy >= 0.89
    assert all(rate >= 0.80 for rates in result.per_class.values() for rate in rates.values())
    assert result.rich_as_minimal <= 3
