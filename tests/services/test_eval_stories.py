"""`clew eval stories`: a story is replayed, and what its next window knows is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import clew

pytestmark = pytest.mark.requirement("W-05", "W-19")

SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def at(minute: int) -> str:
    return f"2026-06-01T09:{minute:02}:00Z"


def story(**changes: Any) -> dict[str, Any]:
    events = [
        {"t": "user", "text": "Lock the crane from wind force 7 on. Never touch winch/.", "at": at(0)},
        {"t": "tool", "name": "Bash", "input": {"command": "env"}, "result": f"TOKEN={SECRET}", "at": at(1)},
        {
            "t": "tool",
            "name": "Edit",
            "input": {"file_path": "lock.py", "new_string": "FORCE = 7"},
            "result": "ok",
            "at": at(2),
        },
        {"t": "plan", "text": "- [x] measure the wind\\n- [ ] tell the crew", "at": at(3)},
        {"t": "note", "text": "The gauge ices over at minus 4.", "at": at(4)},
        {"t": "user", "text": "Change of plan: lock it from wind force 8 on.", "at": at(5)},
        {"t": "end", "how": "killed", "at": at(6)},
    ]
    asks = [
        {"at_window": 2, "question": "From which force on?", "facts": [{"any": ["wind force 8"]}], "where": "hint"},
        {
            "at_window": 2,
            "question": "What is off limits?",
            "facts": [{"any": ["winch/"]}, {"any": ["nowhere"]}],
            "where": "either",
        },
        {
            "at_window": 2,
            "question": "When does the gauge ice over?",
            "facts": [{"any": ["minus 4"]}],
            "where": "recall",
        },
    ]
    whole = {
        "id": "crane", "lang": "en", "workspace": {"name": "yard", "branch": "main", "files": {"lock.py": "FORCE = 5"}},
        "windows": [{"n": 1, "host": "own", "events": events}], "asks": asks,
        "settled": [{"decision": "the crew is told", "reopened_if": ["do not tell the crew"]}],
        "must_not": [
            {"text": SECRET, "kind": "secret", "from_window": 2},
            {"text": "wind force 7", "new": "force 8", "kind": "stale", "from_window": 2},
        ],
    }  # fmt: skip
    return whole | changes


def test_facts_are_counted_where_they_are_meant_to_be_and_what_must_not_be_is_not_there(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stories"
    folder.mkdir()
    (folder / "crane.json").write_text(json.dumps(story()).replace("\\\\n", "\\n"))
    done = clew("eval", "stories", str(folder), "--json", cwd=tmp_path)
    result = done.json
    assert (result["n_facts"], result["hint"], result["recall"], result["either"]) == (4, 1.0, 1.0, 0.5)
    assert (result["overall"], result["per_lang"]) == (0.75, {"en": 0.75})
    assert (result["secrets"], result["stale"], result["reopened"]) == (0, 0, 0)
    assert 0 < result["hint_bytes_max"] <= 4_096
    assert [item["missing"] for item in result["items"]] == [[], ["nowhere"], []]
    below = clew("eval", "stories", str(folder), "--min", "either=0.9", cwd=tmp_path)
    assert below.status == 1 and "nowhere" in below.out


def test_a_value_that_does_not_hold_and_a_decision_that_is_argued_again_are_counted(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stories"
    folder.mkdir()
    must_not = [{"text": "force 8", "kind": "wrong", "from_window": 2}]
    settled = [{"decision": "x", "reopened_if": ["tell the crew"]}]
    (folder / "crane.json").write_text(json.dumps(story(must_not=must_not, settled=settled)).replace("\\\\n", "\\n"))
    result = clew("eval", "stories", str(folder), "--json", cwd=tmp_path).json
    assert (result["stale"], result["reopened"]) == (1, 1)


def test_a_folder_without_stories_is_told(home: Path, tmp_path: Path) -> None:
    for name, text in (("none", None), ("empty", ""), ("bad", "{}")):
        folder = tmp_path / name
        if text is not None:
            folder.mkdir()
        if text:
            (folder / "x.json").write_text(text)
        done = clew("eval", "stories", str(folder), cwd=tmp_path)
        assert done.status == 2 and "hint: " in done.err


def test_a_file_that_is_no_story_is_named_with_what_it_lacks(home: Path, tmp_path: Path) -> None:
    (tmp_path / "s1.json").write_text(json.dumps({"id": "s1", "windows": []}), encoding="utf-8")
    found = clew("eval", "stories", tmp_path, cwd=tmp_path)
    assert found.status == 2 and "s1.json is no story: it has no '" in found.err and "\nhint: " in found.err
