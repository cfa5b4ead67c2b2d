"""The walk of a work tree: what is ignored, what is passed over, and that nothing can hold it up."""

from __future__ import annotations

import os
import random
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from clew.adapters.sources.files import MOST_FILES, WorkTree
from clew.errors import NotFound, Refused


def put(root: Path, *paths: str, text: str = "x\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def listed(root: Path, *ignore: str) -> list[str]:
    return sorted(entry.path for entry in WorkTree(root, ignore).entries())


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


# ---------------------------------------------------------------------- ignore rules


def test_an_ignore_file_speaks_for_its_folder_and_below(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "src/a.log", "src/deep/a.log", "src/build/x.py", "build/x.py", "keep.py")
    put(tmp_path / "src", ".gitignore", text="*.log\n/build/\n")
    assert listed(tmp_path) == ["a.log", "build/x.py", "keep.py", "src/.gitignore"]


def test_a_deeper_rule_takes_back_what_a_higher_one_ignores(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="*.log\nout/\n")
    put(tmp_path, "a.log", "src/a.log", "src/b.log", "out/kept.py")
    put(tmp_path / "src", ".gitignore", text="!a.log\n")
    put(tmp_path / "out", ".gitignore", text="!kept.py\n")
    # Like git: below an ignored folder nothing can be taken back.
    assert listed(tmp_path) == [".gitignore", "src/.gitignore", "src/a.log"]


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".clewignore"])
def test_each_kind_of_ignore_file_counts(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, text="secret/\n*.tmp\n")
    put(tmp_path, "secret/a.py", "b.tmp", "c.py")
    assert listed(tmp_path) == sorted([name, "c.py"])


def test_the_exclude_file_of_the_repository_counts(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "-q")
    put(tmp_path / ".git" / "info", "exclude", text="local/\n")
    put(tmp_path, "local/a.py", "b.py")
    assert listed(tmp_path) == ["b.py"]


def test_the_exclude_file_counts_in_a_linked_work_tree_as_well(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "-q", "main")
    main = tmp_path / "main"
    git(main, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", "../linked")
    (main / ".git/info/exclude").write_text("hidden.txt\n", encoding="utf-8")
    put(tmp_path / "linked", "hidden.txt", "shown.txt")
    assert listed(tmp_path / "linked") == ["shown.txt"]


@pytest.mark.parametrize("link", ["gitdir: /nonexistent", "gitdir: .", "\x00", ""])
def test_a_git_file_that_leads_nowhere_changes_nothing(tmp_path: Path, link: str) -> None:
    put(tmp_path, "a.txt")
    put(tmp_path, ".git", text=link)
    assert listed(tmp_path) == ["a.txt"]


def test_the_inside_of_a_bare_repository_is_no_source(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "a.txt")
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert listed(tmp_path) == ["a.txt"]
    tree = WorkTree(tmp_path / "bare")
    assert list(tree.entries()) == []
    assert tree.left_out == "a bare repository has no files of its own"


def test_configuration_has_the_last_word(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="*.log\n!docs/\n")
    put(tmp_path, "a.log", "docs/a.md", "src/a.py", "src/b.py")
    put(tmp_path / "src", ".gitignore", text="!b.py\n")
    assert listed(tmp_path, "docs/", "!*.log", "src/b.py") == [".gitignore", "a.log", "src/.gitignore", "src/a.py"]


RULES = ["*.log", "!keep.log", "/top.txt", "dir/", "dir/*", "!dir/in.txt", "**/deep", "a/**/z.py", "x[ab].py",
         r"\#hash", "#note", "sp ace.txt", "*.py[co]", "/*/only", "!/dir/"]  # fmt: skip
PATHS = ["a.log", "keep.log", "top.txt", "sub/top.txt", "dir/in.txt", "dir/out.txt", "sub/dir/in.txt", "one/deep/f.py",
         "a/z.py", "a/b/z.py", "a/b/c/z.py", "xa.py", "xc.py", "#hash", "sp ace.txt", "m.pyc", "sub/only",
         "only"]  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [
        RULES,
        RULES[:5],
        RULES[4:9],
        ["*", "!*/", "!*.py"],
        ["/*", "!/a"],
        ["dir", "!dir"],
        ["*", "!*/", "!a/b/*"],
        ["dir/", "!in.txt"],
        ["a/**", "!a/b/", "!a/b/**"],
        ["deep/"],
        ["**/b/**"],
        ["sub/**", "!sub/dir"],
        ["a/**/"],
    ],
)
def test_rules_mean_what_they_mean_to_git(tmp_path: Path, home: Path, rules: list[str]) -> None:
    git(tmp_path, "init", "-q")
    put(tmp_path, *PATHS)
    put(tmp_path, ".gitignore", text="\n".join(rules) + "\n")
    found = git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    assert listed(tmp_path) == sorted(path for path in found if path)


@pytest.mark.parametrize("seed", range(20))
def test_rules_thrown_together_mean_what_they_mean_to_git(tmp_path: Path, home: Path, seed: int) -> None:
    dice = random.Random(seed)
    pieces = ["a", "b", "ab", "*", "**", "*.py", "?", "[ab]", "[!a]", "a*", "*b*a*"]

    def rules() -> str:
        lines = [
            dice.choice(["", "", "!"]) + dice.choice(["", "", "/"])
            + "/".join(dice.choices(pieces, k=dice.randint(1, 3))) + dice.choice(["", "", "/"])
            for _ in range(dice.randint(1, 5))
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    git(tmp_path, "init", "-q")
    for _ in range(25):
        folders = dice.choices(["a", "b", "ab", "c"], k=dice.randint(0, 3))
        put(tmp_path, "/".join([*folders, dice.choice(["a.py", "b.txt", "c.txt"])]))
    put(tmp_path, ".gitignore", text=rules())
    put(tmp_path, "a/.gitignore", text=rules())
    found = git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    assert listed(tmp_path) == sorted(path for path in found if path)


@pytest.mark.parametrize("bad", ["[z-a]", "[a--b]", "x\\", "[[x]", "[a&&b]"])
def test_a_line_that_is_no_pattern_leaves_the_other_lines_standing(tmp_path: Path, bad: str) -> None:
    put(tmp_path, "kept.txt", "secret.txt")
    put(tmp_path, ".gitignore", text=f"{bad}\nsecret.txt\n")
    assert listed(tmp_path, bad) == [".gitignore", "kept.txt"]


@pytest.mark.requirement("Q-46")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("rule", ["*a" * 30 + "b", "**/a/" * 30 + "b", "/" + "**/*a*a/" * 15 + "b", "a*" * 40 + "[b]"])
def test_no_rule_takes_long_to_match(tmp_path: Path, rule: str) -> None:
    deep = "a/" * 60 + "a.txt"
    put(tmp_path, "a" * 200, deep)
    put(tmp_path, ".gitignore", text=f"{rule}\n")
    assert listed(tmp_path, rule) == [".gitignore", deep, "a" * 200]


def test_an_ignore_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "outside.txt", text="a.txt\n")
    put(tmp_path, "tree/a.txt")
    (tmp_path / "tree/.gitignore").symlink_to(tmp_path / "outside.txt")
    assert listed(tmp_path / "tree") == ["a.txt"]


# ---------------------------------------------------------------------- what is passed over


def test_a_question_from_a_subfolder_sees_the_same_tree(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, ".gitignore", text="/sub/gone.py\n")
    put(tmp_path, "sub/gone.py", "sub/kept.py", "top.py")
    monkeypatch.chdir(tmp_path / "sub")
    assert listed(tmp_path) == [".gitignore", "sub/kept.py", "top.py"]


def test_repositories_inside_and_environments_are_left_alone(tmp_path: Path, home: Path) -> None:
    git(tmp_path, "init", "-q")
    put(tmp_path, "a.py", "inner/b.py", "linked/c.py", "env/lib/d.py", "node_modules/e.js", "__pycache__/f.py")
    git(tmp_path / "inner", "init", "-q")
    put(tmp_path, "linked/.git", text="gitdir: ../elsewhere\n")
    put(tmp_path, "env/pyvenv.cfg")
    assert listed(tmp_path) == ["a.py"]


def test_a_folder_of_repositories_is_walked_whole(tmp_path: Path, home: Path) -> None:
    put(tmp_path, "one/a.py", "two/b.py")
    git(tmp_path / "one", "init", "-q")
    assert listed(tmp_path) == ["one/a.py", "two/b.py"]


@pytest.mark.requirement("Q-46")
def test_links_are_not_followed_and_loops_do_not_hang(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "outside"
    put(root, "a/b.py")
    put(outside, "secret.py")
    (root / "a" / "loop").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "away").symlink_to(outside)
    (root / "file.py").symlink_to(outside / "secret.py")
    assert listed(root) == ["a/b.py"]
    with pytest.raises(Refused):
        WorkTree(root).read("file.py")


@pytest.mark.requirement("Q-46")
def test_pipes_and_sockets_are_passed_over_and_strange_names_are_not(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "文件.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / os.fsdecode(b"bad\xff.py")).write_text("x\n", encoding="utf-8")
    assert listed(tmp_path) == ["a.py", os.fsdecode(b"bad\xff.py"), "文件.py"]
    with pytest.raises(Refused, match="not a regular file"):
        WorkTree(tmp_path).read("pipe.py")


@pytest.mark.requirement("Q-46")
def test_an_ignore_file_that_is_a_pipe_or_huge_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "sub/b.py")
    os.mkfifo(tmp_path / ".gitignore")
    put(tmp_path / "sub", ".gitignore", text="b.py\n" * 100_000)
    assert listed(tmp_path) == ["a.py", "sub/.gitignore", "sub/b.py"]


@pytest.mark.requirement("Q-46")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    try:
        assert listed(tmp_path) == ["a.py"]
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert listed(tmp_path / "gone") == []


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    tree = WorkTree(tmp_path)
    assert tree.read("a.py") == b"x\n"
    with pytest.raises(NotFound, match="is gone"):
        tree.read("b.py")
    with pytest.raises(Refused):
        tree.read(".")


def test_a_stamp_tells_any_change_of_a_file(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    tree, file = WorkTree(tmp_path), tmp_path / "a.py"
    seen = [tree.stamp("a.py")]
    file.write_text("y\n", encoding="utf-8")
    os.utime(file, (1, 1))
    seen.append(tree.stamp("a.py"))
    put(tmp_path, "b.py")
    os.utime(tmp_path / "b.py", (1, 1))
    (tmp_path / "b.py").replace(file)
    seen.append(tree.stamp("a.py"))
    file.unlink()
    assert len(set(seen)) == 3 and tree.stamp("a.py") is None and tree.entry("a.py") is None


# ---------------------------------------------------------------------- bounds


def test_a_bound_cuts_at_the_same_file_every_time_and_says_so(tmp_path: Path) -> None:
    put(tmp_path, *(f"{folder}/{number}.py" for folder in "cab" for number in range(4)), "z.py")
    tree = WorkTree(tmp_path, most_files=6)
    first = [entry.path for entry in tree.entries()]
    assert first == ["z.py", "a/0.py", "a/1.py", "a/2.py", "a/3.py", "b/0.py"]
    assert tree.left_out == "only the first 6 files were read"
    assert [entry.path for entry in tree.entries()] == first
    (tmp_path / "z.py").unlink()
    assert [entry.path for entry in WorkTree(tmp_path, most_files=12).entries()][-1] == "c/3.py"


@pytest.mark.requirement("Q-46")
def test_ignored_files_count_for_the_bound_of_the_walk_and_the_cut_goes_by_name(tmp_path: Path) -> None:
    put(tmp_path, *(f"flat/{number:02}.{ending}" for ending in ("py", "log") for number in range(20)), "z/later.py")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    tree = WorkTree(tmp_path, most_visited=13)
    # Three entries lie at the top; of the folder, eleven more are looked at, every second of them a log.
    assert [entry.path for entry in tree.entries()] == [".gitignore", *(f"flat/{number:02}.py" for number in range(5))]
    assert tree.left_out == "the walk stopped after 13 directory entries"


@pytest.mark.slow
@pytest.mark.requirement("Q-25", "Q-46")
def test_a_folder_of_very_many_files_takes_memory_for_those_that_are_looked_at_only(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    for number in range(250_000):
        (tmp_path / "flat" / f"{number * 7919 % 250_000:06}").touch()
    (tmp_path / "flat" / "pyvenv.cfg").touch()
    kept = tmp_path / "flat" / "pyvenv.cfg"
    tree = WorkTree(tmp_path, most_visited=1000)
    # A name that tells what a folder is counts wherever it stands among the others.
    assert not list(tree.entries())
    kept.unlink()
    tracemalloc.start()
    found = [entry.path for entry in tree.entries()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [f"flat/{number:06}" for number in range(1000)]
    assert tree.left_out == "the walk stopped after 1000 directory entries"
    assert peak < 30e6


@pytest.mark.slow
@pytest.mark.requirement("Q-46")
def test_a_very_large_tree_is_bounded(tmp_path: Path) -> None:
    for folder in range(70):
        (tmp_path / f"d{folder:02}").mkdir()
        for number in range(1000):
            (tmp_path / f"d{folder:02}" / f"f{number:03}").touch()
    tree = WorkTree(tmp_path)
    assert sum(1 for _ in tree.entries()) == MOST_FILES
    assert str(MOST_FILES) in tree.left_out
