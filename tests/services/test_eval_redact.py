"""The measurement of the redactor on labelled texts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.command import clew
from tests.core.redact_gold import gold, in_chunks

from clew.errors import NotFound, UsageError
from clew.services.eval.redact import evaluate_redact

TOKEN = "gh" + "p_" + "".join(random.Random(1).choices("abcdefghijkmnpqrstuvwxyz23456789", k=36))
UNKNOWN = "plain words that no rule knows"


def labelled(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "secrets.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": f"use {TOKEN} here", "secrets": [{"value": TOKEN, "kind": "pat"}]},
    {"id": "b", "text": f"say {UNKNOWN} here", "secrets": [{"value": UNKNOWN, "kind": "words"}]},
    {"id": "c", "text": "nothing to hide"},
    {"id": "d", "text": f"a token without a label: {TOKEN}", "secrets": []},
    {"id": "e", "text": f"tolerated {TOKEN} here", "tolerated": [TOKEN]},
    {
        "id": "f",
        "chunks": [f"cut {TOKEN[:9]}", f"{TOKEN[9:]} here\n", "next"],
        "secrets": [{"value": TOKEN, "kind": "pat"}],
    },
]


@pytest.mark.requirement("W-09", "Q-05")
def test_the_figures_say_what_is_gone_what_was_touched_and_what_was_lost(tmp_path: Path) -> None:
    result = evaluate_redact(labelled(tmp_path, ROWS), tmp_path / "out.jsonl")
    assert (result.n, result.secrets, result.gone) == (6, 3, 0.6667)
    assert (result.quiet, result.false_alarms) == (0.6667, 1)
    assert result.kept == 1.0
    assert result.per_kind == {"pat": {"n": 2, "gone": 1.0}, "words": {"n": 1, "gone": 0.0}}
    assert result.removed == {"github-pat": 4}
    assert [item.id for item in result.items if item.left or item.alarm] == ["b", "d"]
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in written] == ["a", "b", "c", "d", "e", "f"]
    assert written[0]["output"] == "use [REDACTED:github-pat] here"
    assert "".join(written[5]["output"]) == "cut [REDACTED:github-pat] here\nnext"
    assert len(written[5]["output"]) == 4


def test_other_text_that_went_with_a_secret_is_counted(tmp_path: Path) -> None:
    """The label says that only a part of the token is secret: what was taken besides is lost."""
    row = {"id": "a", "text": f"use {TOKEN} here", "secrets": [{"value": TOKEN[10:], "kind": "pat"}]}
    result = evaluate_redact(labelled(tmp_path, [row]))
    lost = 10
    assert result.items[0].lost == lost
    assert result.kept == round(1 - lost / (len("use  here") + lost), 4)


def test_a_broken_secret_counts_as_gone_only_where_its_pieces_are(tmp_path: Path) -> None:
    parts = ["tulip-one", "meadow-two"]
    row = {"id": "a", "text": "\n+".join(parts), "secrets": [{"value": "\n+".join(parts), "kind": "x", "parts": parts}]}
    assert evaluate_redact(labelled(tmp_path, [row])).gone == 0.0


@pytest.mark.requirement("W-09", "Q-05")
def test_the_bars_hold_on_the_gold_set_whole_and_in_pieces(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("id", "text", "secrets")} for row in gold(4)]
    whole = evaluate_redact(labelled(tmp_path, rows))
    assert whole.gone >= 0.95
    assert whole.false_alarms <= 2
    assert whole.kept >= 0.98
    r = random.Random(4)
    cut = [{"id": row["id"], "chunks": in_chunks(row, r), "secrets": row["secrets"]} for row in rows if row["secrets"]]
    assert evaluate_redact(labelled(tmp_path, cut)).gone >= 0.95


def test_the_command_writes_the_output_and_fails_below_a_bound(tmp_path: Path) -> None:
    path = labelled(tmp_path, ROWS)
    done = clew("eval", "redact", str(path), "--json", "--output", "out.jsonl", "--min", "gone=0.9", cwd=tmp_path)
    assert done.status == 1
    assert json.loads(done.out)["gone"] == 0.6667
    assert "gone" in done.err
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 6
    table = clew("eval", "redact", str(path), cwd=tmp_path)
    assert table.status == 0
    assert "words" in table.out


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "a"}, '"text" must be a text'),
        ({"id": "a", "chunks": "x"}, '"chunks" must be a list of texts'),
        ({"id": "a", "text": "x", "secrets": ["y"]}, '"secrets" must be a list of objects'),
        ({"id": "a", "text": "x", "secrets": [{"kind": "y"}]}, '"value" must be a text'),
    ],
)
def test_a_row_of_another_shape_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        evaluate_redact(labelled(tmp_path, [row]))


def test_a_missing_file_and_an_output_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        evaluate_redact(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="cannot write"):
        evaluate_redact(labelled(tmp_path, ROWS), tmp_path / "no" / "out.jsonl")
