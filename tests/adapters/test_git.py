"""Git is asked, never trusted: a repository's configuration starts nothing, and every state has a value."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from tests.command import AS_ADA, git

from clew.adapters.git import Change, Git, NoRepository, find_repository
from clew.errors import NotFound, OverBudget


def opened(folder: Path, **environ: str) -> Git:
    found = find_repository(folder, {**AS_ADA, **environ})
    assert isinstance(found, Git), found
    return found


def reason(folder: Path, **environ: str) -> str:
    found = find_repository(folder, {**AS_ADA, **environ})
    assert isinstance(found, NoRepository)
    return found.reason


def test_a_repository_is_found_from_any_folder_inside(repo: Path) -> None:
    (repo / "deep" / "er").mkdir(parents=True)
    for folder in (repo, repo / "deep" / "er", repo / ".git", repo / ".git" / "objects"):
        found = opened(folder).repository
        assert (found.root, found.git_dir, found.bare) == (repo, repo / ".git", False)


def test_a_plain_folder_has_no_repository(tmp_path: Path) -> None:
    assert reason(tmp_path) == "none"


@pytest.mark.requirement("F-08")
def test_without_git_there_is_a_value_and_a_sentence(repo: Path, tmp_path: Path) -> None:
    found = find_repository(repo, {**AS_ADA, "PATH": str(tmp_path / "nothing")})
    assert isinstance(found, NoRepository)
    assert found.reason == "no git"
    assert "not installed" in found.detail


@pytest.mark.requirement("Q-46")
def test_a_git_that_lies_in_the_repository_is_not_run(repo: Path) -> None:
    trap(repo / "git", repo.parent / "ran")
    with contextlib.chdir(repo):
        assert reason(repo, PATH=".:") == "no git"
    assert not (repo.parent / "ran").exists()


def test_variables_of_a_hook_do_not_redirect(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    found = opened(repo, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_INDEX_FILE="/nonexistent")
    assert found.repository.root == repo


def test_work_trees_share_the_common_folder(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    found = opened(tmp_path / "side")
    assert found.repository.root == tmp_path / "side"
    assert found.repository.common_dir == repo / ".git"
    assert found.repository.git_dir == repo / ".git" / "worktrees" / "side"
    assert found.head().branch == "side"


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "inner")
    found = opened(outer / "inner")
    assert found.repository.root == outer / "inner"
    assert found.remote_url() == str(repo)
    assert opened(outer).repository.root == outer


def test_a_bare_repository_has_no_root_and_no_status(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    found = opened(tmp_path / "bare.git")
    assert (found.repository.root, found.repository.bare) == (None, True)
    assert found.status() is None
    assert found.head().branch == "main"
    assert [commit.subject for commit in found.commits(5)] == ["Begin"]


def test_an_unborn_branch_has_a_name_and_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "fresh")
    (tmp_path / "new.txt").write_text("x\n", encoding="utf-8")
    git(tmp_path, "add", "new.txt")
    found = opened(tmp_path)
    head = found.head()
    assert (head.branch, head.commit) == ("fresh", None)
    assert list(found.commits(5)) == []
    assert found.root_commit() is None
    status = found.status()
    assert status is not None
    assert status.changes == (Change("new.txt", "A", "."),)
    diff = found.diff("new.txt")
    assert diff is not None
    assert "+x" in diff[0]


def test_a_detached_head_has_a_commit_and_no_branch(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    head = opened(repo).head()
    assert (head.branch, head.commit) == (None, git(repo, "rev-parse", "HEAD"))


def test_a_merge_and_a_rebase_in_progress_are_named(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "feature/x")
    (repo / "a.txt").write_text("feature\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "Feature")
    git(repo, "checkout", "-q", "main")
    (repo / "a.txt").write_text("main\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "Main")
    git(repo, "merge", "feature/x", ok=False)
    found = opened(repo)
    assert found.head().operation == "merge"
    status = found.status()
    assert status is not None
    assert [(change.path, change.conflict) for change in status.changes] == [("a.txt", True)]
    git(repo, "merge", "--abort")
    git(repo, "checkout", "-q", "feature/x")
    git(repo, "rebase", "main", ok=False)
    head = found.head()
    assert (head.operation, head.rebasing, head.branch) == ("rebase", "feature/x", None)


def test_a_shallow_clone_is_told_and_has_no_root_commit(repo: Path, tmp_path: Path) -> None:
    (repo / "a.txt").write_text("two\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "Second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    found = opened(tmp_path / "shallow")
    assert found.repository.shallow
    assert found.root_commit() is None
    assert opened(repo).root_commit() == git(repo, "rev-list", "--max-parents=0", "HEAD")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_somebody_else_is_a_value_with_a_way_out(repo: Path) -> None:
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)
    found = find_repository(repo, AS_ADA)
    assert isinstance(found, NoRepository)
    assert found.reason == "dubious"
    assert "safe.directory" in found.detail


NAMES = [
    "plain.txt",
    "with space",
    "new\nline",
    "tab\t",
    'quo"te',
    "中文.md",
    "-dash",
    ":(top)x",
    "bad\udcff\udcfe",
    "*",
]


@pytest.mark.requirement("Q-46")
def test_any_file_name_survives(repo: Path) -> None:
    for name in NAMES:
        (repo / name).write_text("x\n", encoding="utf-8")
    found = opened(repo)
    status = found.status()
    assert status is not None
    assert {change.path for change in status.changes} == set(NAMES)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Names")
    (commit,) = found.commits(1)
    assert set(commit.files) == set(NAMES)
    assert {file.path for file in found.tree("HEAD")} == {*NAMES, "a.txt"}
    for name in NAMES:
        (repo / name).write_text("changed\n", encoding="utf-8")
        diff = found.diff(name)
        assert diff is not None
        assert diff[0].count("+changed") == 1


def test_status_tells_staged_from_unstaged_and_follows_a_rename(repo: Path) -> None:
    (repo / "b.txt").write_text("b\n" * 50, encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Add b")
    git(repo, "mv", "b.txt", "c.txt")
    (repo / "a.txt").write_text("edited\n", encoding="utf-8")
    (repo / "folder").mkdir()
    for number in range(30):
        (repo / "folder" / f"{number}").write_text("x", encoding="utf-8")
    status = opened(repo).status()
    assert status is not None
    assert status.changes == (
        Change("a.txt", ".", "M"),
        Change("c.txt", "R", ".", was="b.txt"),
        Change("folder/", "?", "?"),
    )
    assert status.complete
    cut = opened(repo).status(limit=1)
    assert cut is not None
    assert (len(cut.changes), cut.complete) == (1, False)


def test_status_counts_against_the_upstream(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), str(tmp_path / "clone"))
    (tmp_path / "clone" / "a.txt").write_text("more\n", encoding="utf-8")
    git(tmp_path / "clone", "commit", "-q", "-am", "Ahead")
    status = opened(tmp_path / "clone").status()
    assert status is not None
    assert (status.upstream, status.ahead, status.behind) == ("origin/main", 1, 0)


def test_commits_keep_subject_body_date_and_files(repo: Path) -> None:
    for number in range(5):
        (repo / f"{number}.txt").write_text("x", encoding="utf-8")
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", f"Step {number}")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Nothing")
    commits = list(opened(repo).commits(100))
    assert [commit.subject for commit in commits] == ["Nothing", *(f"Step {n}" for n in (4, 3, 2, 1, 0)), "Begin"]
    assert [commit.files for commit in commits[:2]] == [(), ("4.txt",)]
    last = commits[-1]
    assert (last.body, last.author, last.at) == ("Why it began.\nSecond line.", "Ada", "2026-01-02T03:04:05+01:00")
    assert (last.parents, last.files) == ((), ("a.txt",))
    assert len(list(opened(repo).commits(2))) == 2


def test_a_commit_with_many_files_is_bounded(repo: Path) -> None:
    for number in range(60):
        (repo / f"f{number:02}").write_text("x", encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Many")
    first, second = opened(repo).commits(2, most_files=10)
    assert first.files == tuple(f"f{number:02}" for number in range(10))
    assert second.files == ("a.txt",)


def test_a_reader_that_stops_early_leaves_no_process_behind(repo: Path) -> None:
    for number in range(5):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"{number}")
    commits = opened(repo).commits(100)
    assert next(commits).subject == "4"
    commits.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("revision", ["--output=/tmp/x", "nowhere", "", "HEAD\0", "-h", "HEAD:a.txt"])
def test_a_revision_that_is_none_is_none(repo: Path, revision: str) -> None:
    assert opened(repo).resolve(revision) is None


def test_branches_come_with_their_last_use(repo: Path) -> None:
    git(repo, "branch", "feature/äö")
    branches = opened(repo).branches()
    assert {branch.name for branch in branches} == {"main", "feature/äö"}
    assert {branch.commit for branch in branches} == {git(repo, "rev-parse", "HEAD")}
    assert branches[0].upstream is None


def test_the_index_digest_changes_with_what_is_staged(repo: Path) -> None:
    found = opened(repo)
    before = found.index_digest()
    assert before == found.index_digest()
    (repo / "b.txt").write_text("b", encoding="utf-8")
    assert before == found.index_digest()
    git(repo, "add", "b.txt")
    assert before != found.index_digest()


def test_asking_writes_nothing(repo: Path) -> None:
    os.utime(repo / "a.txt", (1, 1))
    index = (repo / ".git" / "index").read_bytes()
    found = opened(repo)
    found.status()
    found.diff("a.txt")
    assert (repo / ".git" / "index").read_bytes() == index


def test_blobs_are_read_by_id_within_a_bound(repo: Path) -> None:
    (repo / "big").write_bytes(b"\0\n" * 100_000)
    (repo / "empty").write_bytes(b"")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Big")
    found = opened(repo)
    files = {file.path: file for file in found.tree("HEAD")}
    assert {path: file.size for path, file in files.items()} == {"a.txt": 4, "big": 200_000, "empty": 0}
    with found.blobs() as blobs:
        assert blobs.read(files["a.txt"].blob) == b"one\n"
        with pytest.raises(OverBudget):
            blobs.read(files["big"].blob, limit=1000)
        with pytest.raises(NotFound):
            blobs.read("0" * 40)
        with pytest.raises(NotFound):
            blobs.read("x\ny")
        with pytest.raises(NotFound):
            blobs.read(git(repo, "rev-parse", "HEAD"))
        assert blobs.read(files["big"].blob) == b"\0\n" * 100_000
        assert blobs.read(files["empty"].blob) == b""
        assert blobs.read(files["a.txt"].blob) == b"one\n"


def test_a_long_diff_says_that_it_was_cut(repo: Path) -> None:
    (repo / "a.txt").write_text("line\n" * 10_000, encoding="utf-8")
    diff = opened(repo).diff("a.txt", limit=1000)
    assert diff is not None
    assert (len(diff[0]), diff[1]) == (1000, True)
    assert opened(repo).diff("unknown") == ("", False)


def test_origin_is_preferred_among_remotes(repo: Path) -> None:
    git(repo, "remote", "add", "backup", "https://b.example/x")
    assert opened(repo).remote_url() == "https://b.example/x"
    git(repo, "remote", "add", "origin", "https://a.example/x")
    assert opened(repo).repository.remotes == (("origin", "https://a.example/x"), ("backup", "https://b.example/x"))


def trap(path: Path, mark: Path) -> str:
    path.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.requirement("Q-46")
def test_the_configuration_of_a_malicious_repository_runs_nothing(repo: Path) -> None:
    mark = repo.parent / "ran"
    evil = trap(repo.parent / "evil", mark)
    (repo / ".gitattributes").write_text("*.txt filter=ev diff=ev\n*.md filter=a=b\n*.rst filter=p\n", encoding="utf-8")
    for name in ("b.md", "c.rst"):
        (repo / name).write_text("x\n", encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Bait")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "pager.status",
        "pager.log",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "diff.ev.textconv",
        "diff.ev.command",
        "filter.ev.clean",
        "filter.ev.smudge",
        "filter.a=b.clean",
        "filter.p.process",
        "gpg.program",
        "alias.status",
        "uploadpack.packObjectsHook",
    ):
        git(repo, "config", key, evil)
    git(repo, "config", "filter.ev.required", "true")
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "core.hooksPath", str(repo / "hooks"))
    (repo / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        trap(repo / "hooks" / hook, mark)
    for name in ("a.txt", "b.md", "c.rst"):
        (repo / name).write_text("edited, same size?\n", encoding="utf-8")
    git(repo, "status", ok=False)
    assert mark.exists(), "the bait does not work"
    mark.unlink()

    found = opened(repo)
    found.head()
    status = found.status()
    assert status is not None
    assert {change.path for change in status.changes} >= {"a.txt", "b.md", "c.rst"}
    assert len(list(found.commits(5))) == 2
    assert found.diff("a.txt") is not None
    assert found.diff("b.md") is not None
    list(found.tree("HEAD"))
    found.branches()
    found.root_commit()
    with found.blobs() as blobs:
        blobs.read(next(found.tree("HEAD")).blob)
    assert not mark.exists()


@pytest.mark.requirement("Q-46")
def test_a_repository_whose_work_tree_lies_elsewhere_is_left_alone(repo: Path) -> None:
    git(repo, "config", "core.worktree", str(repo.parent))
    assert reason(repo) == "strange"
    outside = repo.parent / "outside"
    outside.mkdir()
    git(repo, "config", "core.worktree", str(outside))
    assert reason(repo) in ("strange", "none")


@pytest.mark.requirement("F-06")
def test_a_partial_clone_fetches_nothing(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", str(tmp_path / "partial"))
    found = opened(tmp_path / "partial")
    files = list(found.tree("HEAD"))
    with found.blobs() as blobs, pytest.raises(NotFound):
        blobs.read(git(repo, "rev-parse", "HEAD:a.txt"))
    assert all(file.size == 0 for file in files)


def test_a_git_that_hangs_is_stopped(repo: Path, tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text("#!/bin/sh\nsleep 60\n", encoding="utf-8")
    (fake / "git").chmod(0o755)
    before = time.monotonic()
    found = find_repository(repo, {**AS_ADA, "PATH": f"{fake}:{AS_ADA['PATH']}"}, seconds=0.3)
    assert isinstance(found, NoRepository)
    assert found.reason == "failed"
    assert time.monotonic() - before < 10


def test_a_git_that_is_too_old_is_told(repo: Path, tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text(
        "#!/bin/sh\necho 'unknown option: --config-env=core.askPass=X' >&2\nexit 129\n", encoding="utf-8"
    )
    (fake / "git").chmod(0o755)
    assert reason(repo, PATH=f"{fake}:{AS_ADA['PATH']}") == "too old"


def test_a_broken_repository_is_a_value(repo: Path) -> None:
    (repo / ".git" / "config").write_text("[broken\n", encoding="utf-8")
    assert reason(repo) == "failed"


def test_a_folder_that_is_gone_is_a_value(tmp_path: Path) -> None:
    assert reason(tmp_path / "gone") == "failed"
