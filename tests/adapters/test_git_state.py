"""The state of a repository as facts of one line, with more behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import AS_ADA, git

from clew.adapters.git import find_repository
from clew.adapters.sources.git_state import GitState
from clew.core.context.fragment import Fragment


def collected(
    folder: Path, *, wants_diff: bool = False, diff_bytes: int = 32_000, weight: int = 60
) -> dict[str, Fragment]:
    found = find_repository(folder, AS_ADA)
    source = GitState(found, wants_diff=wants_diff, diff_bytes=diff_bytes, weight=weight)
    return {fragment.ref: fragment for fragment in source.collect("question")}


@pytest.mark.requirement("P-02")
@pytest.mark.requirement("P-05")
def test_branch_status_and_last_commit_are_anchors_with_a_fact_each(repo: Path) -> None:
    found = collected(repo, weight=61)
    commit = git(repo, "rev-parse", "HEAD")[:10]
    assert {ref: fragment.line for ref, fragment in found.items()} == {
        "git:branch": f"branch main at {commit}",
        "git:status": "work tree clean",
        "git:last-commit": f"last commit {commit} of 2026-01-02: Begin, by Ada",
    }
    assert all(fragment.anchor and fragment.weight == 61 and fragment.source == "git" for fragment in found.values())
    assert found["git:last-commit"].text.endswith("Begin, by Ada\nWhy it began.\nSecond line.\nfiles: a.txt")


def test_changes_are_counted_and_listed(repo: Path) -> None:
    (repo / "a.txt").write_text("two\n", encoding="utf-8")
    (repo / "b.txt").write_text("b\n", encoding="utf-8")
    git(repo, "add", "b.txt")
    (repo / "new\nline").write_text("c\n", encoding="utf-8")
    status = collected(repo)["git:status"]
    assert status.line == "1 staged, 1 changed but not staged, 1 untracked"
    assert status.text.splitlines()[1:] == ["changed: a.txt", "added, staged: b.txt", "untracked: new\\nline"]


def test_a_long_list_of_changes_says_how_many_are_shown(repo: Path) -> None:
    for number in range(70):
        (repo / f"{number:02}.txt").write_text("x", encoding="utf-8")
    status = collected(repo)["git:status"]
    assert status.line == "70 untracked"
    assert status.text.splitlines()[-1] == "… 50 of 70 shown"


def test_recent_commits_are_one_line_each(repo: Path) -> None:
    for number in range(15):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"Step {number}")
    commits = collected(repo)["git:commits"]
    assert commits.line == "the last 10 commits"
    assert not commits.anchor
    assert [line.rsplit(": ", 1)[1] for line in commits.text.splitlines()] == [f"Step {n}" for n in range(14, 4, -1)]


def test_states_without_a_branch_or_a_commit_are_told(repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    assert collected(repo)["git:branch"].line.startswith("no branch (detached) at ")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "start")
    found = collected(fresh)
    assert found["git:branch"].line == "branch start, no commit yet"
    assert set(found) == {"git:branch", "git:status"}


def test_the_upstream_and_a_merge_in_progress_are_told(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "clone")
    clone = tmp_path / "clone"
    assert collected(clone)["git:branch"].line.endswith(", level with origin/main")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Ahead")
    (clone / ".git" / "MERGE_HEAD").write_text(git(clone, "rev-parse", "HEAD") + "\n", encoding="utf-8")
    assert collected(clone)["git:branch"].line.endswith(", merge in progress, 1 ahead with origin/main")


def test_changes_are_shown_only_when_wanted_and_one_file_a_fragment(repo: Path) -> None:
    (repo / "b.txt").write_text("b\n", encoding="utf-8")
    git(repo, "add", ".")
    (repo / "a.txt").write_text("two\n", encoding="utf-8")
    (repo / "untracked").write_text("x\n", encoding="utf-8")
    assert not [ref for ref in collected(repo) if ref.startswith("git:diff")]
    diffs = {ref: fragment for ref, fragment in collected(repo, wants_diff=True).items() if ref.startswith("git:diff")}
    assert set(diffs) == {"git:diff:a.txt", "git:diff:b.txt"}
    assert "-one\n+two" in diffs["git:diff:a.txt"].text
    assert diffs["git:diff:a.txt"].line == "uncommitted changes of a.txt"


def test_a_long_change_is_cut_and_says_so(repo: Path) -> None:
    (repo / "a.txt").write_text("line\n" * 5000, encoding="utf-8")
    diff = collected(repo, wants_diff=True, diff_bytes=1000)["git:diff:a.txt"]
    assert len(diff.text) <= 1000
    assert diff.note == "cut after 1,000 bytes"


@pytest.mark.requirement("Q-46")
def test_secrets_in_changes_and_messages_do_not_get_out(repo: Path) -> None:
    token = "ghp" + "_" + "aB3" * 12
    (repo / ".env").write_text("A=1\n", encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", f"Use {token}\n\nand {token} again")
    (repo / ".env").write_text("PASSWORD=hunter2222\n", encoding="utf-8")
    (repo / "a.txt").write_text(f"token {token}\n", encoding="utf-8")
    found = collected(repo, wants_diff=True)
    assert found["git:diff:.env"].text == ""
    assert "it holds secrets" in found["git:diff:.env"].line
    assert found["git:diff:a.txt"].note == "redacted: 1 secret"
    for fragment in found.values():
        assert token not in fragment.text + fragment.line
        assert "hunter2222" not in fragment.text


@pytest.mark.requirement("Q-46")
def test_messages_cannot_break_their_line_or_steer_a_terminal(repo: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "Evil \x1b[31m\u202e subject\n\nbody \x1b]0;x\x07")
    for fragment in collected(repo).values():
        assert fragment.line.isprintable()
        assert all(line.isprintable() for line in fragment.text.splitlines())


@pytest.mark.requirement("F-08")
def test_without_git_or_repository_there_is_nothing_and_the_first_says_why(repo: Path, tmp_path: Path) -> None:
    assert collected(tmp_path) == {}
    source = GitState(find_repository(repo, {**AS_ADA, "PATH": str(tmp_path)}))
    assert source.collect("question") == ()
    assert "git is not installed" in source.notice
    assert GitState(find_repository(tmp_path, AS_ADA)).notice == ""
