"""`from clew import …`: what other tools build on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import clew as command
from tests.command import script

import clew

QUESTION = "where does the retry wait before the next attempt?"


@pytest.mark.requirement("F-04")
def test_context_is_the_prompt_that_the_command_prints(harbour: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_NO_CONTEXT", "1")
    snapshot = clew.context(QUESTION, root=harbour, files=["src/retry.py"], max_tokens=4000)
    printed = command("context", "--max-tokens", "4000", QUESTION, "src/retry.py", cwd=harbour)
    assert snapshot.text() + "\n" == printed.out
    assert snapshot.report.total == 4000


@pytest.mark.requirement("F-04")
def test_context_finds_what_bears_on_the_question_and_keeps_the_budget(harbour: Path) -> None:
    snapshot = clew.context(QUESTION, root=harbour / "docs", max_tokens=2000)
    assert isinstance(snapshot, clew.Snapshot)
    assert any(kept.ref.startswith("src/retry.py") for kept in snapshot.report.kept)
    assert snapshot.report.used <= snapshot.report.prompt < 2000
    assert [message.role for message in snapshot.messages()] == ["system", "user"]


@pytest.mark.requirement("F-04")
def test_ask_answers_from_the_passages_or_from_the_model_that_is_named(harbour: Path) -> None:
    reply = clew.ask(QUESTION, root=harbour)
    assert reply.found and not reply.model and reply.refs[0].startswith("src/retry.py:")
    model = script(harbour.parent / "s.json", "It doubles.")
    reply = clew.ask(QUESTION, root=harbour, model=model)
    assert (reply.text, reply.model) == ("It doubles.", model)


@pytest.mark.requirement("F-04", "P-01")
def test_earlier_exchanges_are_given_not_read(harbour: Path, home: Path) -> None:
    known = clew.Exchange(1, "does the timeout matter?", "Yes: zinnober.", "rich", "2026-01-01T00:00:00Z")
    assert "zinnober" in clew.context("and with 30 seconds?", root=harbour, earlier=[known]).text()
    assert "zinnober" not in clew.context("and with 30 seconds?", root=harbour).text()
    assert not (home / "clew" / "history.db").exists()


@pytest.mark.requirement("F-04")
def test_assemble_needs_no_file(home: Path) -> None:
    budget = clew.Budget(1500, 200, clew.tokenizer_for("openai:gpt-5-mini"))
    given = clew.Fragment("explicit", "note.md", "The tide turns at six.", 100, explicit=True)
    snapshot = clew.assemble("when does the tide turn?", [given], "rich", budget, clew.question_frame())
    assert "The tide turns at six." in snapshot.text()
    assert list(home.iterdir()) == []


@pytest.mark.requirement("F-04")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"root": "/nowhere/at/all"}, "there is no folder"),
        ({"mode": "ritch"}, "there is no mode"),
        ({"model": "nobody:x"}, None),
        ({"max_tokens": 3}, "max_tokens"),
        ({"files": ["nothing.py"]}, "There is no file"),
    ],
)
def test_bad_arguments_raise_clew_errors(harbour: Path, arguments: dict[str, object], error: str | None) -> None:
    given = {"root": harbour, **arguments}
    if error is None:
        assert clew.context(QUESTION, **given).report.exact is False
        with pytest.raises(clew.ClewError, match="there is no provider nobody"):
            clew.ask(QUESTION, **given)
        return
    with pytest.raises(clew.ClewError, match=error):
        clew.context(QUESTION, **given)


@pytest.mark.requirement("F-04")
@pytest.mark.parametrize("function", [clew.context, clew.ask])
def test_an_unknown_keyword_is_named_with_those_that_there_are(harbour: Path, function: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=r"`budget`; there are root, files, mode, max_tokens, model, earlier"):
        function(QUESTION, root=harbour, budget=3)


@pytest.mark.requirement("F-04")
def test_importing_costs_next_to_nothing_and_every_name_says_what_it_is(home: Path) -> None:
    code = (
        "import sys, time; before = set(sys.modules); t = time.perf_counter(); import clew; "
        "print((time.perf_counter() - t) * 1000, sorted(set(sys.modules) - before))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split(" ", 1)
        for _ in range(5)
    ]
    assert min(float(run[0]) for run in runs) < 5.0
    assert runs[0][1].strip() == "['clew']"
    for name in clew.__all__:
        assert (getattr(clew, name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = clew.nonsense  # type: ignore[attr-defined]
