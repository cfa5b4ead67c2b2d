"""Trees beyond every bound, through the real process: it ends, and says what it did not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import HARBOUR, clew, write

QUESTION = "what does `retry_with_backoff` wait for?"


@pytest.fixture
def monorepo(home: Path, tmp_path: Path) -> Path:
    """A small project at the top, and 70,000 files below it."""
    root = write(tmp_path / "monorepo", HARBOUR)
    for folder in range(700):
        place = root / "zz" / f"f{folder:03}"
        place.mkdir(parents=True)
        for number in range(100):
            (place / f"m{number:02}.txt").write_text(f"quay {number}\n", encoding="ascii")
    return root


@pytest.mark.slow
@pytest.mark.requirement("P-01", "P-03", "Q-46")
def test_every_command_about_a_tree_beyond_the_bound_says_so(monorepo: Path) -> None:
    said = "only the first 60000 files were read"
    cold = clew("context", QUESTION, cwd=monorepo, timeout=300)
    assert cold.status == 0 and "src/retry.py" in cold.out
    assert said in cold.err
    warm = clew("ask", QUESTION, cwd=monorepo, timeout=60)
    assert warm.status == 0 and "src/retry.py" in warm.out
    assert said in warm.err
    status = clew("index", "status", cwd=monorepo, timeout=60)
    assert status.status == 0 and said in status.err
    told = clew("index", "status", "--json", cwd=monorepo, timeout=60).json
    assert (told["files"], told["fresh"], told["notice"]) == (60_000, True, said)
    chinese = clew("index", "status", cwd=monorepo, timeout=60, env={"CLEW_LANG": "zh"})
    assert "只读取了前 60000 个文件" in chinese.err
