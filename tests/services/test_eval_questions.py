"""Measurements over repositories: questions, commits, and a team's own questions, with their command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clew.errors import NotFound, UsageError
from clew.services.context import Wish, gather_from
from clew.services.eval.ask import evaluate_ask
from clew.services.eval.locate import evaluate_locate
from clew.services.eval.repositories import Repositories
from clew.services.eval.template import TEMPLATES

CLOCK = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
CACHE = '''"""Cache of answers."""


def cache_key(question, budget):
    """The key under which an answer is cached."""
    return (question, budget)
'''
RETRY = '''"""Retries of requests."""


def retry_delay(attempt):
    """Seconds to wait before the next retry."""
    return 2**attempt
'''


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repos(tmp_path: Path, home: Path) -> Path:
    """`acme/tool` with two commits in the work tree's own form, and `acme/other` bare."""
    folder = tmp_path / "repos"
    tool = folder / "acme+tool"
    for path, text in {
        "src/cache.py": CACHE, "src/retry.py": RETRY, "tests/test_cache.py": "from src.cache import cache_key\n",
        "README.md": "# Tool\n\nA tool that answers questions.\n",
    }.items():  # fmt: skip
        (tool / path).parent.mkdir(parents=True, exist_ok=True)
        (tool / path).write_text(text, encoding="utf-8")
    git(tool, "init", "-q", "-b", "main")
    git(tool, "add", ".")
    git(tool, "commit", "-q", "-m", "First")
    (tool / "src/cache.py").write_text(CACHE.replace("budget)\n", "budget, mode)\n"), encoding="utf-8")
    git(tool, "commit", "-q", "-a", "-m", "Key the cache by mode as well")
    other = folder / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "kettle.py").write_text("def boil(water):\n    return water + 80\n", encoding="utf-8")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "Kettle")
    (folder / "acme").mkdir()
    git(folder, "clone", "-q", "--bare", str(other), str(folder / "acme" / "other"))
    return folder


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("# ours\n" + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def question(**more: Any) -> dict[str, Any]:
    return {
        "id": "q1", "repo": "acme/tool", "commit": "HEAD", "question": "how is the cache_key of an answer made?",
        "lang": "en", "kind": "how", "needs": [{"path": "src/cache.py", "text": "return (question, budget"}], **more,
    }  # fmt: skip


def measured(repos: Path, path: Path, **more: Any) -> Any:
    return evaluate_ask(path, Repositories(repos, repos.parent / "scratch", os.environ), CLOCK, **more)


def clew(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clew", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


# ---------------------------------------------------------------------- ask


@pytest.mark.requirement("Q-11")
def test_a_question_is_covered_when_its_context_shows_the_text_under_its_path(repos: Path, tmp_path: Path) -> None:
    path = lines(
        tmp_path / "q.jsonl",
        question(),
        question(id="elsewhere", needs=[{"path": "src/retry.py", "text": "return (question, budget"}], lang="zh"),
        question(id="half", needs=[*question()["needs"], {"path": "src/gone.py", "text": "never"}]),
    )
    result = measured(repos, path)
    items = {item.id: item for item in result.items}
    assert [(items[name].covered, items[name].need_share) for name in items] == [
        (True, 1.0),
        (False, 0.0),
        (False, 0.5),
    ]
    assert items["half"].missing == ("src/gone.py: never",)
    assert items["q1"].files[0] == "src/cache.py"
    assert [item.files_at_5 for item in result.items] == [True, "src/retry.py" in items["q1"].files, False]
    assert (result.n, result.covered, result.need_share) == (3, 0.3333, 0.5)
    assert {lang: figures["covered"] for lang, figures in result.per_lang.items()} == {"en": 0.5, "zh": 0.0}
    assert 0 < result.tokens_mean <= 8000


@pytest.mark.requirement("Q-11")
def test_the_state_is_that_of_the_commit_and_not_of_the_work_tree(repos: Path, tmp_path: Path) -> None:
    tool = repos / "acme+tool"
    (tool / "src/cache.py").write_text("nothing\n", encoding="utf-8")
    before = sorted(str(path) for path in tool.rglob("*"))
    first = git(tool, "rev-parse", "HEAD~1")
    new = [{"path": "src/cache.py", "text": "budget, mode)"}]
    path = lines(
        tmp_path / "q.jsonl",
        question(needs=new),
        question(id="q2", commit=first, needs=new),
        question(id="q3", commit=first),
    )
    assert [item.covered for item in measured(repos, path).items] == [True, False, True]
    assert sorted(str(path) for path in tool.rglob("*")) == before


@pytest.mark.requirement("Q-11")
def test_facts_about_git_are_those_of_the_commit(repos: Path, tmp_path: Path) -> None:
    first = git(repos / "acme+tool", "rev-parse", "HEAD~1")
    states = Repositories(repos, tmp_path / "scratch", os.environ)
    with states.state("acme/tool", first) as (freshened, place):
        text = gather_from(freshened, Wish("what was the last commit?"), place, (), CLOCK).snapshot.text()
    assert f"last commit {first[:10]}" in text
    assert "Key the cache" not in text
    assert "work tree" not in text and "main" not in text


@pytest.mark.requirement("Q-11")
def test_figures_are_the_same_in_any_order_of_states(repos: Path, tmp_path: Path) -> None:
    first = git(repos / "acme+tool", "rev-parse", "HEAD~1")
    rows = [question(), question(id="q2", commit=first), question(id="q3", repo="acme/other", question="who boils?",
            needs=[{"path": "kettle.py", "text": "water + 80"}])]  # fmt: skip
    there = measured(repos, lines(tmp_path / "a.jsonl", *rows))
    back = measured(repos, lines(tmp_path / "b.jsonl", *reversed(rows)))
    shutil.rmtree(tmp_path / "scratch")
    anew = measured(repos, lines(tmp_path / "c.jsonl", *rows))
    assert there.items == tuple(reversed(back.items)) == anew.items


@pytest.mark.requirement("Q-11")
def test_an_absent_question_is_right_when_it_is_said_that_nothing_matches(repos: Path, tmp_path: Path) -> None:
    odd = "which xylophone quartet rehearses wobbly zeppelin lullabies?"
    path = lines(tmp_path / "q.jsonl", question(), question(id="no", kind="absent", question=odd, needs=[]))
    result = measured(repos, path)
    item = result.items[1]
    assert result.absent_right == float(not item.found)
    assert not item.found
    assert result.covered == 1.0


@pytest.mark.requirement("Q-11")
def test_questions_put_to_another_repository_are_counted_apart(repos: Path, tmp_path: Path) -> None:
    kettle = question(id="k", repo="acme/other", question="how does boil warm the water?",
                      needs=[{"path": "kettle.py", "text": "water + 80"}])  # fmt: skip
    plain = measured(repos, lines(tmp_path / "q.jsonl", question(), kettle))
    both = measured(repos, tmp_path / "q.jsonl", elsewhere=True)
    assert plain.absent_told is None
    assert both.absent_told is not None and 0 <= both.absent_told <= 1
    assert both.items == plain.items


@pytest.mark.requirement("Q-11")
def test_what_is_not_there_is_skipped_and_counted(repos: Path, tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", question(), question(id="a", repo="no/where"), question(id="b", commit="0" * 40))
    result = measured(repos, path)
    assert (result.n, result.skipped) == (1, 2)
    assert any("no repository no/where" in notice for notice in result.notices)
    assert any("has no commit" in notice for notice in result.notices)
    with pytest.raises(NotFound, match="no question could be asked"):
        measured(repos, lines(tmp_path / "n.jsonl", question(repo="no/where")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": ""}, '"question" must be a text'),
        ({"needs": "x"}, '"needs" must be a list'),
        ({"needs": [{"path": "a"}]}, '"text" must be a text'),
        ({"needs": []}, 'only a question of kind "absent"'),
        ({"repo": "../up"}, "no name of a repository"),
    ],
)
def test_a_line_that_is_no_question_is_named(repos: Path, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        measured(repos, lines(tmp_path / "q.jsonl", question(**change)))
    assert said in str(raised.value)


# ---------------------------------------------------------------------- locate


@pytest.mark.requirement("Q-02")
def test_files_of_a_commit_are_looked_for_in_the_state_before_it(repos: Path, tmp_path: Path) -> None:
    parent = git(repos / "acme+tool", "rev-parse", "HEAD~1")
    row = {"id": "c", "repo": "acme/tool", "commit": "x", "parent": parent, "query": "key the cache by mode",
           "gold": ["src/cache.py"]}  # fmt: skip
    path = lines(
        tmp_path / "c.jsonl",
        row,
        row | {"id": "d", "gold": ["src/cache.py", "src/new.py"]},
        row | {"id": "e", "repo": "no/where"},
    )
    result = evaluate_locate(path, Repositories(repos, tmp_path / "scratch", os.environ))
    assert [item.ranked[0] for item in result.items] == ["src/cache.py", "src/cache.py"]
    assert dict(result.recall) == {"1": 0.75, "5": 0.75, "10": 0.75}
    assert result.per_repo["acme/tool"]["n"] == 2
    assert (result.n, result.skipped) == (2, 1)
    assert result.median_ms > 0


@pytest.mark.parametrize("place", ["acme+tool/repo", "acme+tool", "acme/tool", "tool", "tool.git"])
def test_a_repository_is_found_under_each_of_its_names(repos: Path, tmp_path: Path, place: str) -> None:
    folder = tmp_path / "named" / place
    folder.parent.mkdir(parents=True)
    git(tmp_path, "clone", "-q", "--bare", str(repos / "acme+tool"), str(folder))
    found = Repositories(tmp_path / "named", tmp_path / "scratch", os.environ)
    assert found.git("acme/tool").repository.git_dir == folder
    with pytest.raises(NotFound):
        found.git("acme/kettle")
    with pytest.raises(NotFound, match="no folder"):
        Repositories(tmp_path / "none", tmp_path / "scratch", os.environ)


# ---------------------------------------------------------------------- context, and the command line


@pytest.mark.requirement("P-12")
def test_hits_and_redundancy_of_own_questions(repos: Path, tmp_path: Path) -> None:
    tool = repos / "acme+tool"
    path = lines(
        tool / "questions.jsonl",
        {"id": "hit", "question": "how is the cache_key made?", "needs": ["src/cache.py", "return (question, budget"]},
        {"id": "miss", "question": "how is the cache_key made?", "workspace": ".", "needs": ["no such text"]},
    )
    done = clew("eval", "context", str(path), "--json", "--min", "hit_rate=0.6", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "falls short: hit_rate is 0.5, below 0.6\n"
    result = json.loads(done.stdout)
    hit, miss = result["items"]
    assert (result["n"], result["hit_rate"]) == (2, 0.5)
    assert (hit["hit"], miss["hit"], miss["missing"]) == (True, False, ["no such text"])
    assert 0 < hit["redundancy"] < miss["redundancy"] == 1.0
    assert result["redundancy"] == pytest.approx((hit["redundancy"] + 1) / 2, abs=0.01)
    table = clew("eval", "context", str(path), cwd=tmp_path)
    assert table.returncode == 0
    assert "1 of 2 fall short:" in table.stdout
    assert "no such text" in table.stdout


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize("purpose", list(TEMPLATES))
def test_init_writes_a_template_that_its_measurement_reads(repos: Path, tmp_path: Path, purpose: str) -> None:
    done = clew("eval", "init", "own.jsonl", "--for", purpose, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        f"wrote own.jsonl: add your questions, then run `clew eval {purpose} own.jsonl`\n",
    )
    again = clew("eval", "init", "own.jsonl", cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert clew("eval", "init", "own.jsonl", "--for", purpose, "--force", cwd=tmp_path).returncode == 0
    more = ["--repos", str(repos)] if purpose == "ask" else []
    read = clew("eval", purpose, "own.jsonl", "--json", *more, cwd=tmp_path)
    if purpose == "ask":
        assert "no repository owner/name" in read.stderr
    else:
        assert read.returncode == 0
        assert json.loads(read.stdout)["n"] >= 1


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize(
    ("bound", "status", "said"),
    [
        ("accuracy=0.5", 0, ""),
        ("per_lang.en.accuracy=1", 0, ""),
        ("accuracy=1.01", 1, "falls short: accuracy is 1, below 1.01"),
        ("accuracy", 2, "is not METRIC=VALUE"),
        ("nothing=1", 2, "`nothing` is not measured here"),
        ("per_lang=1", 2, "`per_lang` is no figure"),
    ],
)
def test_the_exit_status_follows_the_bounds(tmp_path: Path, home: Path, bound: str, status: int, said: str) -> None:
    path = lines(tmp_path / "m.jsonl", {"id": "1", "query": "what is a closure", "lang": "en", "ideal": "minimal"})
    done = clew("eval", "modes", str(path), "--min", "n=1", "--min", bound, "--json", cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stderr
    if status < 2:
        assert json.loads(done.stdout)["n"] == 1
    else:
        assert done.stdout == ""


@pytest.mark.requirement("P-12", "Q-02", "Q-11")
def test_measurements_of_repositories_print_one_object_or_a_table(repos: Path, tmp_path: Path) -> None:
    ask = lines(tmp_path / "q.jsonl", question(), question(id="x", repo="no/where"))
    parent = git(repos / "acme+tool", "rev-parse", "HEAD~1")
    locate = lines(tmp_path / "c.jsonl", {"id": "c", "repo": "acme/tool", "parent": parent, "query": "retry delay",
                                          "gold": ["README.md", "src/none.py"]})  # fmt: skip
    for name, path, figure in (("ask", ask, "covered"), ("locate", locate, "recall.5")):
        done = clew("eval", name, str(path), "--repos", str(repos), "--json", "--min", f"{figure}=0", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["n"] == 1
        table = clew("eval", name, str(path), "--repos", str(repos), cwd=tmp_path)
        assert table.returncode == 0
        assert "per_repo" in table.stdout
        if name == "ask":
            assert "note: 1 questions skipped: there is no repository no/where" in done.stderr
        else:
            assert "1 of 1 fall short" in table.stdout
    assert list((Path(os.environ["CLEW_HOME"]) / "eval").glob("*.db"))
