"""Questions about git itself: what the last commits hold, and what is said where git has nothing to tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import HARBOUR, clew, commit, git, write

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def moved(harbour: Path) -> Path:
    """The harbour after three more commits; the last one changes a file of two."""
    for number in (1, 2):
        write(harbour, {f"docs/quay{number}.md": f"# Quay {number}\n"})
        commit(harbour, f"Describe quay {number}")
    write(harbour, {"src/retry.py": HARBOUR["src/retry.py"].replace("attempts=5", "attempts=7"),
                    "deploy.sh": f"export TOKEN={TOKEN}\n", ".env": "PASSWORD=hunter2hunter2\n"})  # fmt: skip
    commit(harbour, "Try seven times\n\nFive were too few in the storm.")
    return harbour


@pytest.mark.requirement("P-02", "P-05", "P-06")
@pytest.mark.parametrize(
    "question",
    ["what did the last commit change?", "show the last commit", "上一个提交改了什么？", "explain my latest commit"],
)
def test_the_last_commit_is_answered_with_its_message_its_files_and_its_changes(moved: Path, question: str) -> None:
    found = clew("ask", "--json", question, cwd=moved).json
    for said in (
        "Try seven times",
        "Five were too few in the storm.",
        "src/retry.py",
        "+def retry_with_backoff(call, ",
    ):
        assert said in found["answer"]
    assert "attempts=7" in found["answer"] and "Describe quay" not in found["answer"]
    assert TOKEN not in found["answer"] and "hunter2" not in found["answer"]
    report = found["report"]
    assert report["mode"] == "rich" and not [kept for kept in report["kept"] if kept["source"] == "related"]
    prompt = clew("context", question, cwd=moved).out
    assert "attempts=7" in prompt and TOKEN not in prompt and "hunter2" not in prompt


@pytest.mark.requirement("P-02", "P-06")
@pytest.mark.parametrize("question", ["git log 最近改了什么", "what changed recently?", "summarise the last 3 commits"])
def test_recent_commits_are_all_answered(moved: Path, question: str) -> None:
    answer = clew("ask", "--json", question, cwd=moved).json["answer"]
    assert all(said in answer for said in ("Try seven times", "Describe quay 2", "Describe quay 1", "attempts=7"))


@pytest.mark.requirement("P-02", "P-04")
def test_what_is_cited_of_commits_can_be_opened(moved: Path) -> None:
    refs = [
        kept["ref"]
        for kept in clew("ask", "--json", "show the last 2 commits", cwd=moved).json["report"]["kept"]
        if kept["source"] == "git"
    ]
    cited = [ref for ref in refs if ref.startswith("git:commit:")]
    assert [ref for ref in cited if ref.endswith(":src/retry.py")] and [ref for ref in cited if ref.count(":") == 2]
    for ref in (*cited, "git:last-commit"):
        opened = clew("open", ref, cwd=moved)
        assert opened.status == 0 and opened.out.strip(), opened.err
        assert TOKEN not in opened.out and "hunter2" not in opened.out
    assert clew("open", "git:commit:0000000:src/retry.py", cwd=moved).status == 2


@pytest.mark.requirement("P-02")
def test_a_merge_is_told_with_what_it_brought(moved: Path) -> None:
    git(moved, "checkout", "-q", "-b", "side", "HEAD~1")
    write(moved, {"docs/side.md": "# Zinnober\n"})
    commit(moved, "Aside")
    git(moved, "checkout", "-q", "main")
    git(moved, "merge", "-q", "--no-ff", "-m", "Bring both together", "side")
    answer = clew("ask", "--json", "what did the last commit change?", cwd=moved).json["answer"]
    assert "Bring both together" in answer and "+# Zinnober" in answer


@pytest.mark.requirement("P-02", "P-07")
def test_a_huge_commit_is_bounded(harbour: Path) -> None:
    write(harbour, {f"data/part{number}.txt": f"row {number}\n" * 5000 for number in range(60)})
    commit(harbour, "Add rows")
    report = clew("ask", "--json", "what did the last commit change?", cwd=harbour).json["report"]
    assert report["used"] <= report["prompt"]
    assert 0 < len([kept for kept in report["kept"] if kept["ref"].startswith("git:commit:")]) <= 20


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize("question", ["what was my last commit message?", "who made the latest commit here?"])
def test_a_fact_about_the_last_commit_stays_a_fact(moved: Path, question: str) -> None:
    report = clew("ask", "--json", question, cwd=moved).json["report"]
    assert report["mode"] == "lean" and "git:last-commit" in [kept["ref"] for kept in report["kept"]]


# ---------------------------------------------------------------------- no git, or a broken one

BROKEN = {
    "none": {},
    "garbage": {".git/HEAD": "garbage\n", ".git/config": "", ".git/objects/a": "", ".git/refs/a": ""},
    "nowhere": {".git": "gitdir: /nowhere/at/all\n"},
}
SAYS = {
    "none": "there is no git repository here: `git init`",
    "garbage": ".git` is no repository",
    "nowhere": ".git` is",
}


@pytest.mark.requirement("P-01", "F-08")
@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize(
    "question",
    ["what branch am I on?", "what did I change?", "what did the last commit change?", "当前在哪个分支？"],
)
def test_without_a_working_repository_a_question_to_git_is_told_so(
    home: Path, tmp_path: Path, kind: str, question: str
) -> None:
    root = write(tmp_path / "plain", HARBOUR | BROKEN[kind])
    found = clew("ask", question, cwd=root)
    assert found.status == 0 and found.out.count("\n") == 1
    assert found.out.startswith("- no git: ") and SAYS[kind] in found.out
    assert "no git: " in clew("context", question, cwd=root).out
    # A broken one is told beside every question, none at all beside no other.
    other = clew("ask", "where does the retry wait?", cwd=root)
    assert ("is no repository that git can read" in other.err) == (kind != "none") and "no git" not in other.out


@pytest.mark.requirement("P-01", "F-08")
def test_a_repository_without_a_commit_says_that_there_is_none(home: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "young", HARBOUR)
    git(root, "init", "-q", "-b", "main")
    assert "branch main, no commit yet" in clew("ask", "what did the last commit change?", cwd=root).out
