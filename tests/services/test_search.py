"""`glob` and `grep` through their calls, on real files, with ripgrep and without."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.tooling import KEY, TOKEN, Calls, clean, put

from clew.services.tools.grepping import ripgrep
from clew.services.tools.search import Search

pytestmark = pytest.mark.requirement("R-11")

WAYS = ("ripgrep", "python")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work tree"
    folder.mkdir()
    return folder


def opened(root: Path, way: str, seconds: float = 20.0) -> Calls:
    program = None if way == "python" else ripgrep(os.environ)
    assert program or way == "python"
    return Calls(Search(root, root, clean, program=program, seconds=seconds).tools())


@pytest.fixture(params=WAYS)
def call(request: pytest.FixtureRequest, root: Path) -> Calls:
    return opened(root, request.param)


# ---------------------------------------------------------------------- glob


def test_names_are_given_in_the_order_of_paths_without_ignored_ones(root: Path) -> None:
    for name in ("b.py", "a/z.py", "a/deep/er/y.ts", "a.py", ".hidden/x.py", "build/out.py", "node_modules/m/i.py"):
        put(root, name)
    put(root, ".gitignore", "build/\n")
    call = opened(root, "python")
    assert call.good("glob", pattern="*.py").split("\n") == [".hidden/x.py", "a/z.py", "a.py", "b.py"]
    assert call.good("glob", pattern="a/*.py") == "a/z.py"
    assert call.good("glob", pattern="**/*.{ts,tsx}") == "a/deep/er/y.ts"
    assert call.good("glob", pattern="./a/**") == "a/deep/er/y.ts\na/z.py"
    assert call.good("glob", pattern="*.py", path="a") == "a/z.py"
    assert call.good("glob", pattern=f"{root}/a/**/*.ts") == "a/deep/er/y.ts"
    # Who names an ignored folder wants it.
    assert call.good("glob", pattern="*.py", path="build") == "build/out.py"
    assert call.good("glob", pattern="*.rs") == "no file matches *.rs in ."
    assert "is no pattern" in call.refused("glob", pattern="[z-a]")
    assert "too many alternatives" in call.refused("glob", pattern="{a,b}" * 12)
    assert call.refused("glob", pattern="*", path="nowhere") == "There is no nowhere."


def test_of_many_names_the_first_are_given_and_how_many_more_there_are(root: Path) -> None:
    for number in range(250):
        put(root, f"{number:03}.txt")
    rows = opened(root, "python").good("glob", pattern="*.txt").split("\n")
    assert len(rows) == 201 and rows[199] == "199.txt"
    assert rows[200] == "[50 more of 250: narrow the pattern or the path]"


def test_paths_are_relative_to_the_current_folder_and_what_lies_outside_is_asked(root: Path, tmp_path: Path) -> None:
    put(root, "src/a.py", "x\n")
    put(root, "lib/b.py", "x\n")
    put(tmp_path, "other/c.py", "x\n")
    call = Calls(Search(root, root / "src", clean).tools())
    assert call.good("glob", pattern="*.py") == "a.py"
    assert call.good("glob", pattern="../lib/*.py") == "../lib/b.py"
    assert call.asked("glob", pattern=f"{tmp_path}/other/*").outside
    assert call.asked("grep", pattern="x", path=str(tmp_path)).outside
    inside = call.asked("grep", pattern="x", path="..")
    assert not inside.outside and inside.title == "grep x in .." and inside.kind == "read"
    assert call.good("grep", pattern="x", path=str(tmp_path / "other")) == f"{tmp_path}/other/c.py\n1: x"


# ---------------------------------------------------------------------- grep


def test_matches_are_given_by_file_with_the_lines_around_them(call: Calls, root: Path) -> None:
    put(root, "b.txt", "one\ntwo\nthree\nfour\n")
    put(root, "a/x.txt", "TWO two\r\nend")
    assert call.good("grep", pattern="two") == "a/x.txt\n1: TWO two\nb.txt\n2: two"
    assert call.good("grep", pattern="two", context=1, path="b.txt") == "b.txt\n1- one\n2: two\n3- three"
    assert call.good("grep", pattern="^two$", mode="files", ignore_case=True) == "b.txt"
    assert call.good("grep", pattern="t", mode="count") == "a/x.txt: 1\nb.txt: 2"
    assert call.good("grep", pattern="two$", glob="a/**") == "a/x.txt\n1: TWO two"
    assert call.good("grep", pattern="o", glob="*.md") == "no match in 0 files"
    assert call.good("grep", pattern="nowhere") == "no match in 2 files"


def test_patterns_that_look_like_options_or_are_none(call: Calls, root: Path) -> None:
    put(root, "-v", "--files -e x(y\n")
    assert call.good("grep", pattern="--files") == "-v\n1: --files -e x(y"
    assert call.good("grep", pattern="-e", path="-v", mode="count") == "-v: 1"
    assert call.good("grep", pattern="x(y", literal=True) == "-v\n1: --files -e x(y"
    assert "the pattern is no regular expression: " in call.refused("grep", pattern="x(y")
    assert "holds no line end" in call.refused("grep", pattern="a\nb")
    assert "empty" in call.refused("grep", pattern="")
    assert call.refused("grep", pattern="x", path="gone") == "There is no gone."
    assert call.good("grep", pattern="(?<=-)e") == "-v\n1: --files -e x(y"


def test_binary_files_links_and_pipes_are_passed_over(call: Calls, root: Path, tmp_path: Path) -> None:
    put(root, "text", "needle\n")
    put(root, "early", b"\0needle\n")
    put(root, "late", b"needle\n" + b"x\n" * 50_000 + b"\0needle\n")
    put(root, "wide", b"\xff\xfe" + "needle wide\n".encode("utf-16-le"))
    put(root, "latin", "needle caf\xe9\n".encode("latin-1"))
    put(root, "marked", b"\xef\xbb\xbfneedle marked\n")
    put(tmp_path, "outside/secret", "needle outside\n")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "linked").symlink_to(tmp_path / "outside/secret")
    os.mkfifo(root / "pipe")
    for mode in ("files", "count"):
        found = call.good("grep", pattern="needle", mode=mode).split("\n")
        assert [row.removesuffix(": 1") for row in found] == ["latin", "marked", "text", "wide"]
    assert call.good("grep", pattern="^needle m") == "marked\n1: needle marked"
    assert "latin\n1: needle caf\ufffd\n" in call.good("grep", pattern="needle")
    assert "pipe is a named pipe" in call.refused("grep", pattern="x", path="pipe")
    assert call.asked("grep", pattern="x", path="link").outside


def test_long_lines_are_cut_around_the_match(call: Calls, root: Path) -> None:
    put(root, "min.js", "a" * 50_000 + "needle" + "b" * 50_000 + "\nneedle\n")
    rows = call.good("grep", pattern="needle").split("\n")
    assert "needle" in rows[1] and len(rows[1]) < 620 and "characters left out" in rows[1]
    assert rows[2] == "2: needle"


@pytest.mark.timeout(60)
def test_a_line_without_end_is_told_without_being_held(root: Path) -> None:
    put(root, "one line", b"x" * 30_000_000 + b"needle")
    put(root, "z", "needle\n")
    call = opened(root, "ripgrep")
    text = call.good("grep", pattern="needle")
    assert text.startswith("one line\n?: ") and text.endswith("z\n1: needle") and len(text) < 2000


def test_many_matches_are_bounded_and_it_is_said(call: Calls, root: Path) -> None:
    for number in range(30):
        put(root, f"{number:02}.txt", "needle\n" * 20)
    text = call.good("grep", pattern="needle")
    assert text.count(": needle") == 200 and text.endswith(
        "[stopped: the first 200 matches; narrow the pattern, or use mode=files]"
    )
    assert len(call.good("grep", pattern="needle", mode="count").split("\n")) == 30
    put(root, "00.txt", ("needle " + "y" * 490 + "\n") * 199)
    assert len(call.good("grep", pattern="needle")) < 120_000


def test_names_that_are_no_utf_8_are_shown_and_searched(call: Calls, root: Path) -> None:
    path = os.path.join(os.fsencode(root), b"caf\xe9.txt")
    Path(os.fsdecode(path)).write_text("needle\n")
    assert call.good("grep", pattern="needle") == "caf\\xe9.txt\n1: needle"
    assert call.good("glob", pattern="*.txt") == "caf\\xe9.txt"


def test_secrets_in_lines_do_not_reach_the_model(call: Calls, root: Path) -> None:
    put(root, "a.py", f'token = "{TOKEN}"\n')
    put(root, ".env", "COLOUR=verywarm17\n")
    put(root, "key.txt", KEY)
    assert TOKEN not in call.good("grep", pattern="token")
    assert "verywarm17" not in call.good("grep", pattern="COLOUR")
    text = call.good("grep", pattern="MIIE", path="key.txt")
    assert "MIIEow" not in text and "2: [REDACTED:private-key" in text


@pytest.mark.timeout(60)
def test_an_interruption_and_the_end_of_time_stop_a_search(root: Path) -> None:
    put(root, "a.txt", "a" * 5000 + "b\n")
    # Takes longer than anybody waits, in Python's own way of matching.
    call = opened(root, "python", seconds=1.0)
    start = time.monotonic()
    assert call.good("grep", pattern="^(a+)+$").endswith("[stopped: out of time]")
    assert time.monotonic() - start < 10
    call = opened(root, "python", seconds=50.0)
    threading.Timer(1.0, call.signal.event.set).start()
    start = time.monotonic()
    assert "[stopped: interrupted]" in call.good("grep", pattern="^(a+)+$")
    assert time.monotonic() - start < 10
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(root) not in shown


def test_a_path_that_leads_elsewhere_after_it_was_allowed_is_refused(root: Path, tmp_path: Path) -> None:
    put(root, "inside/a", "x\n")
    put(tmp_path, "outside/a", "x\n")
    (root / "link").symlink_to("inside")
    call = opened(root, "python")
    tool = call.tools["grep"]
    given = tool.read({"pattern": "x", "path": "link"})
    effect = call.asked("grep", pattern="x", path="link")
    (root / "link").unlink()
    (root / "link").symlink_to(tmp_path / "outside")
    assert "leads elsewhere" in tool.run(given, effect, call.signal).text


# ---------------------------------------------------------------------- two ways, one answer

QUESTIONS: tuple[dict[str, object], ...] = (
    {"pattern": "def test_a"},
    {"pattern": r"\bclass\s+\w+", "mode": "count"},
    {"pattern": "REFUSED", "ignore_case": True, "mode": "files"},
    {"pattern": "[a-z]+\\(", "glob": "*.py", "mode": "count"},
    {"pattern": "x = [", "literal": True, "context": 2},
    {"pattern": "中|é", "context": 1},
    {"pattern": "return$", "path": "services", "context": 3},
    {"pattern": "^$", "mode": "count", "glob": "**/test_*.{py,txt}"},
    {"pattern": "fix(?!ture)", "mode": "content"},
)


@pytest.mark.requirement("F-08")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: str(one["pattern"]))
def test_without_ripgrep_a_search_has_the_same_answer(question: dict[str, object]) -> None:
    tests = Path(__file__).resolve().parent.parent
    with_it, without = (opened(tests, way).good("grep", **question) for way in WAYS)
    assert with_it == without and "no match" not in with_it


@pytest.mark.requirement("F-08")
def test_without_ripgrep_that_is_said_and_searching_works(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "a", "needle\n")
    search = Search(root, root, program=None)
    assert "ripgrep is missing" in search.notice and Search(root, root).notice == ""
    assert Calls(search.tools()).good("grep", pattern="needle") == "a\n1: needle"
    broken = Search(root, root, program=root / "gone")
    assert "cannot be run" in Calls(broken.tools()).refused("grep", pattern="needle")
    monkeypatch.setenv("PATH", str(root))
    assert ripgrep(os.environ) is None or ripgrep(os.environ) != shutil.which("rg")


def test_a_folder_named_like_the_program_is_not_run(root: Path) -> None:
    put(root, "clew/__init__.py", "raise SystemExit(7)\n")
    put(root, "json.py", "raise SystemExit(7)\n")
    assert re.match(r"clew/__init__.py\n1: raise", opened(root, "python").good("grep", pattern="raise"))
