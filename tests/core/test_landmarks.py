from __future__ import annotations

import pytest

from clew.core.index.landmarks import landmarks

TREE = (
    "README.md", "LICENSE", "pyproject.toml", "requirements.txt", "docs/index.md", "docs/README.md", "src/app.py",
    "web/package.json", "src/licence_check.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what does this project do?", ("README.md",)),
        ("What is this about?", ("README.md",)),
        ("Explain this repository to a newcomer", ("README.md",)),
        ("这个项目是干什么的?", ("README.md",)),
        ("介绍一下这个仓库", ("README.md",)),
        ("list the dependencies", ("pyproject.toml", "requirements.txt")),
        ("项目有哪些依赖？", ("pyproject.toml", "requirements.txt")),
        ("what licence is this under?", ("LICENSE",)),
        ("what does this function do?", ()),
        ("what are the dependencies of the retry decorator?", ()),
        ("这个函数是干什么的?", ()),
        ("where does the project file get read?", ()),
        ("how does it check the license header?", ()),
        ("", ()),
    ],
)
@pytest.mark.requirement("P-03")
def test_a_question_about_the_whole_is_answered_by_the_file_that_does_so_by_custom(
    question: str, found: tuple[str, ...]
) -> None:
    assert landmarks(question, TREE) == found


def test_where_there_is_no_readme_at_the_top_the_nearest_ones_answer() -> None:
    assert landmarks("what does this project do?", ("a/b/README.md", "a/README.rst", "c/readme.txt")) == (
        "a/README.rst", "c/readme.txt",
    )  # fmt: skip
    assert landmarks("what does this project do?", ("src/a.py",)) == ()
