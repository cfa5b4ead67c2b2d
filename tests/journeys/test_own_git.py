"""Which git Clew runs unasked: none that lies in the workspace; one that answers oddly is one that does not answer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.agents import calls, says, world
from tests.command import clew, write

from clew.services.tools.grepping import ripgrep

GIT = shutil.which("git") or "git"


def _program(path: Path, text: str) -> Path:
    write(path.parent, {path.name: f"#!/bin/sh\n{text}\n"})
    path.chmod(0o755)
    return path


def _first(folder: Path) -> dict[str, str | None]:
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.requirement("R-17")
@pytest.mark.parametrize("way", ["folder", "subfolder", "link to the folder", "link to the file", "dots"])
def test_a_git_of_the_workspace_is_never_run_though_path_leads_to_it(
    harbour: Path, home: Path, tmp_path: Path, way: str
) -> None:
    mark = tmp_path / "ran"
    trap = _program(harbour / "bin" / "git", f'echo "$0" >> "{mark}"; exec {GIT} "$@"')
    for other in ("git-remote-file", "ssh", "rg", "claude", "codex", "gpg"):
        shutil.copy(trap, trap.parent / other)
    places = {"dots": harbour / "src" / ".." / "bin"}
    if way == "link to the folder":
        (tmp_path / "away").symlink_to(trap.parent)
        places[way] = tmp_path / "away"
    elif way == "link to the file":
        (tmp_path / "away").mkdir()
        (tmp_path / "away" / "git").symlink_to(trap)
        places[way] = tmp_path / "away"
    path = _first(places.get(way, trap.parent))
    cwd = harbour / "src" if way == "subfolder" else harbour
    clew("sync", "init", cwd=cwd, env=path)
    assert (home / "clew" / "memory" / ".git").exists() or (home / "clew" / "data" / "memory" / ".git").exists()
    assert "branch main" in clew("context", "which branch is this?", cwd=cwd, env=path).out
    assert clew("note", "Berth 7 is closed.", cwd=cwd, env=path).status == 0
    clew("doctor", cwd=cwd, env=path)
    clew("models", cwd=cwd, env=path)
    assert not mark.exists(), mark.read_text(encoding="utf-8")[:500]


@pytest.mark.requirement("R-17")
def test_the_agent_runs_no_git_and_no_ripgrep_of_the_workspace(
    harbour: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    for name in ("git", "rg"):
        _program(harbour / ".venv" / "bin" / name, f'echo "$0" >> "{mark}"; exit 1')
    monkeypatch.setenv("PATH", f"{harbour / '.venv' / 'bin'}:{os.environ['PATH']}")
    # No ripgrep beside this Python.
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    found = ripgrep(os.environ, harbour)
    assert found is None or not found.is_relative_to(harbour)
    with world(harbour, home) as here, here.talk() as talk:
        talk.run("look", calls(("grep", {"pattern": "attempts"})), says("Done."))
    assert not mark.exists(), mark.read_text(encoding="utf-8")[:500]


ODD = {
    "nothing": "exit 0",
    "one word": "echo hello",
    "many words": "echo hello world; echo a; echo b; echo c; echo d",
    "NUL": r"printf '\0\0a\0\n\0\n\0'",
    "no text": r"printf '\377\376\n\377\n\377\n\377'",
    "a failure": "echo hello; exit 3",
    "paths": "echo true; echo true; echo false; echo relative",
    "half of a path": r"printf 'false\ntrue\nfalse\n/a\0b\n'",
}


@pytest.mark.parametrize("odd", ODD)
def test_a_git_that_answers_oddly_is_one_that_does_not_answer(
    harbour: Path, home: Path, tmp_path: Path, odd: str
) -> None:
    path = _first(_program(tmp_path / "odd" / "git", ODD[odd]).parent)
    clew("sync", "init", cwd=harbour)
    for command in (("context", "why does the retry time out?"), ("note", "Berth 7 is closed."), ("doctor",)):
        done = clew(*command, cwd=harbour, env=path)
        assert "unexpected" not in done.err + done.out, done.err
        assert "Traceback" not in done.err, done.err
        assert done.status == 0 or command == ("doctor",), done.err
    done = clew(
        "purge", "--secret-file", write(tmp_path, {"s": "hunter2hunter2"}) / "s", "--dry-run", cwd=harbour, env=path
    )
    assert "unexpected" not in done.err + done.out, done.err


@pytest.mark.parametrize(
    "part",
    ["status", "log", "for-each-ref", "ls-tree", "config", "hash-object", "commit-tree", "--show-toplevel", "--verify"],
)  # fmt: skip
@pytest.mark.parametrize("odd", ["NUL"])
def test_one_odd_answer_among_good_ones_breaks_nothing(
    harbour: Path, home: Path, tmp_path: Path, part: str, odd: str
) -> None:
    odds = f'for one in "$@"; do if [ "$one" = "{part}" ]; then {ODD[odd]}; exit 0; fi; done; exec {GIT} "$@"'
    path = _first(_program(tmp_path / "odd" / "git", odds).parent)
    write(harbour, {"src/retry.py": "changed = True\n", "new.py": "x = 1\n"})
    clew("sync", "init", cwd=harbour)
    clew("note", "Berth 6 is closed.", cwd=harbour)
    for command in (("context", "what changed in retry.py since the last commit?"), ("note", "Berth 7 is closed.")):
        done = clew(*command, cwd=harbour, env=path)
        assert "unexpected" not in done.err + done.out, done.err
