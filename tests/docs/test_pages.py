"""The pages hold together: links lead somewhere, every page is reached, and examples marked `run` run."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clew

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "changelog.d" / "README.md"])
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """The page without its code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> list[str]:
    """Targets of the links of a page that do not leave the repository."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Names of the headings of a page as links use them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    queue = [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        queue += [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
    lost = [str(page.relative_to(ROOT)) for page in PAGES if page not in seen and page.name != "AGENTS.md"]
    assert not lost, f"no link leads to {lost}"


@pytest.mark.requirement("Q-62")
def test_the_readme_shows_the_two_commands() -> None:
    commands = [
        line.split("#")[0].strip()
        for _, block in FENCE.findall((ROOT / "README.md").read_text("utf-8"))
        for line in block.splitlines()
    ]
    assert {"make run", "make test"} <= set(commands)


EXAMPLES = [
    pytest.param(info.split()[0], block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, (info, block) in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), 1)
    if info.split()[1:] == ["run"]
]
"""Blocks opened by "```sh run" or "```python run"."""


@pytest.mark.parametrize(("language", "block"), EXAMPLES)
def test_an_example_marked_run_runs(language: str, block: str, tmp_path: Path, home: Path) -> None:
    if "clew " in block and importlib.util.find_spec("clew.entrypoints.cli.main") is None:
        pytest.skip("there is no command yet")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    shutil.copy(ROOT / "README.md", project)
    subprocess.run(["git", "add", "."], cwd=project, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Begin"], cwd=project, check=True)
    command = {"sh": ["sh", "-eu", "-c", block], "python": [sys.executable, "-c", block]}[language]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=project,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("F-04")
def test_the_guide_to_python_names_every_public_name() -> None:
    page = (DOCS / "guides" / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert named == set(clew.__all__)
    assert "docs/guides/python.md" in (ROOT / "README.md").read_text(encoding="utf-8")
