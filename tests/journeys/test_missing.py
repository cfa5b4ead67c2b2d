"""Each row of `docs/concepts/what-may-be-missing.md`: a thing is taken away, the rest works, and the notice comes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents import says, world
from tests.command import ARGV, Done, clew, environ, script, write
from tests.examined import session
from tests.tooling import Calls

from clew.services.tools.grepping import ripgrep
from clew.services.tools.search import Search

pytestmark = pytest.mark.requirement("F-08")

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "what-may-be-missing.md"
PACKAGE = Path(__file__).parents[2] / "src" / "clew"
QUESTION = "where does the retry wait before the next attempt?"
MODEL = {"CLEW_MODEL": "openai:gpt-5-mini", "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

Case = Callable[[Path, Path], Done]
CASES: dict[str, Case] = {}
"""What a row says is missing, to a function of a repository and a home: it tries what still works, and gives the run
in which the notice comes."""


def table() -> dict[str, tuple[str, str]]:
    """Rows of the page: what is missing, to what still works and what is said."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    assert all(len(row) == 3 for row in cells)
    return {name.strip(): (works, said) for name, works, said in cells}


def case(name: str) -> Callable[[Case], Case]:
    """Bind a function to the row `name`."""

    def bound(function: Case) -> Case:
        CASES[name] = function
        return function

    return bound


def test_each_row_has_its_test_and_each_test_its_row() -> None:
    assert table().keys() == CASES.keys()


@pytest.mark.parametrize("name", table())
def test_without_it_the_rest_works_and_the_notice_comes(name: str, harbour: Path, home: Path) -> None:
    _, said = table()[name]
    done = CASES[name](harbour, home)
    assert "Traceback" not in done.err and "unexpected" not in done.err
    words = [text for text in re.findall(r"`([^`]+)`", said) if text != "clew doctor"]
    assert [text for text in words if text not in done.err + done.out] == [], done.err
    if said == "nothing":
        assert not [line for line in done.err.splitlines() if re.match("note: (?!no model)|error: ", line)], done.err
    else:
        assert words


# ---------------------------------------------------------------------- ways to take things away


def answers(done: Done) -> Done:
    """The question was answered from the files."""
    assert done.status == 0 and "src/retry.py:" in done.out, done.err
    return done


def fails(done: Done, status: int) -> Done:
    """It ended with a status, and nothing on stdout."""
    assert (done.status, done.out) == (status, "")
    return done


HIDDEN = """
import sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
from clew.entrypoints.cli.main import main
main(sys.argv[1:])
"""
"""A command in a Python that lacks packages: an import of a name bound to None raises ModuleNotFoundError."""


def lacking(packages: str, *arguments: str, cwd: Path, env: dict[str, str | None] | None = None) -> Done:
    """Run a command without Python packages, separated by commas."""
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, packages, *arguments], cwd=cwd, env=environ(env or {}), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def incomplete(home: Path, missing: str) -> dict[str, str | None]:
    """An environment in which the package lacks a file or a folder of its own."""
    copy = home / "incomplete"
    shutil.copytree(PACKAGE, copy / "clew", ignore=shutil.ignore_patterns("__pycache__"))
    gone = copy / "clew" / missing
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()
    return {"PYTHONPATH": os.pathsep.join([str(copy), os.environ["PYTHONPATH"]])}


def history(home: Path, *statements: str) -> Path:
    """Change the history on the disk."""
    path = home / "clew" / "history.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def rest(harbour: Path, env: dict[str, str]) -> None:
    """A prompt can be put together, and questions without the model are answered."""
    prompt = clew("context", QUESTION, cwd=harbour, env=env)
    assert prompt.status == 0 and "def retry_with_backoff" in prompt.out
    answers(clew("ask", QUESTION, cwd=harbour, env={**env, "CLEW_MODEL": None}))


# ---------------------------------------------------------------------- programs, models


@case("git")
def _git(harbour: Path, home: Path) -> Done:
    write(harbour, {".gitignore": "out/\n", "out/retry_notes.py": "# where the retry waits before the next attempt\n"})
    empty = home / "bin"
    empty.mkdir()
    found = answers(clew("ask", QUESTION, cwd=harbour, env={"PATH": str(empty)}))
    assert "retry_notes" not in found.out
    report = clew("ask", "--preview", "--json", "which branch am I on?", cwd=harbour, env={"PATH": str(empty)})
    assert [kept["ref"] for kept in report.json["kept"] if kept["source"] == "git"] == ["git:none"]
    return found


@case("a repository")
def _repository(harbour: Path, home: Path) -> Done:
    shutil.rmtree(harbour / ".git")
    return answers(clew("ask", QUESTION, cwd=harbour))


@case("a model")
def _model(harbour: Path, home: Path) -> Done:
    return answers(clew("ask", QUESTION, cwd=harbour))


@case("the key of a model")
def _key(harbour: Path, home: Path) -> Done:
    rest(harbour, {"CLEW_MODEL": MODEL["CLEW_MODEL"]})
    return fails(clew("ask", QUESTION, cwd=harbour, env={"CLEW_MODEL": MODEL["CLEW_MODEL"]}), 2)


@case("the network")
def _network(harbour: Path, home: Path) -> Done:
    rest(harbour, MODEL)
    return fails(clew("ask", QUESTION, cwd=harbour, env=MODEL), 75)


@case("the client library of a provider")
def _library(harbour: Path, home: Path) -> Done:
    answers(lacking("openai", "ask", QUESTION, cwd=harbour))
    other = script(harbour.parent / "s.json", "Elsewhere.")
    assert lacking("openai", "ask", "--model", other, QUESTION, cwd=harbour).out == "Elsewhere.\n"
    return fails(lacking("openai", "ask", QUESTION, cwd=harbour, env={**MODEL}), 2)


@case("the packages of the extra `local`")
def _local(harbour: Path, home: Path) -> Done:
    answers(lacking("xllamacpp", "ask", QUESTION, cwd=harbour))
    return fails(lacking("xllamacpp", "ask", "--model", "embedded", QUESTION, cwd=harbour), 2)


# ---------------------------------------------------------------------- parts of Clew


@case("the table of word vectors")
def _table(harbour: Path, home: Path) -> Done:
    env = incomplete(home, "data/static")
    answers(clew("ask", "重试的等待时间在哪里？", cwd=harbour, env=env))
    again = clew("doctor", cwd=harbour, env=env)
    assert again.status == 0 and re.search(r"^note +static word table$", again.out, re.MULTILINE)
    return answers(clew("ask", "--no-cache", QUESTION, cwd=harbour, env=env))


@case("the weights of the mode decision")
def _weights(harbour: Path, home: Path) -> Done:
    env = incomplete(home, "data/modes/modes.npz")
    answers(clew("ask", QUESTION, cwd=harbour, env=env))
    assert re.search(r"^note +mode decision ", clew("doctor", cwd=harbour, env=env).out, re.MULTILINE)
    found = clew("ask", "what is a closure?", cwd=harbour, env=env)
    assert found.status == 0 and found.err.startswith("context: rich")
    return found


@case("the vocabulary of a tokenizer")
def _vocabulary(harbour: Path, home: Path) -> Done:
    exact = clew("ask", "--preview", "--json", QUESTION, cwd=harbour).json
    guessed = lacking("splintr", "ask", "--preview", "--json", QUESTION, cwd=harbour)
    assert guessed.status == 0
    rough = Done(0, guessed.out, "").json
    assert rough["used"] <= rough["prompt"] == exact["prompt"]
    sizes = [{kept["ref"]: kept["tokens"] for kept in report["kept"]} for report in (exact, rough)]
    shared = sizes[0].keys() & sizes[1].keys()
    assert shared and sum(sizes[1][ref] for ref in shared) > sum(sizes[0][ref] for ref in shared)
    return lacking("splintr", "doctor", cwd=harbour)


@case("a grammar")
def _grammar(harbour: Path, home: Path) -> Done:
    answers(lacking("tree_sitter_python", "ask", QUESTION, cwd=harbour))
    return lacking("tree_sitter_python", "doctor", cwd=harbour)


@case("another file of the package")
def _part(harbour: Path, home: Path) -> Done:
    env = incomplete(home, "data/glossary.tsv")
    for command in ("history", "config", "models"):
        assert clew(command, cwd=harbour, env=env).status == 0
    return fails(clew("ask", QUESTION, cwd=harbour, env=env), 1)


@case("a Python package")
def _package(harbour: Path, home: Path) -> Done:
    answers(lacking("watchfiles", "ask", QUESTION, cwd=harbour))
    return fails(lacking("watchfiles", "watch", cwd=harbour), 1)


# ---------------------------------------------------------------------- the machine


@case("events of the file system")
def _events(harbour: Path, home: Path) -> Done:
    unshare = shutil.which("unshare")
    refused = f'echo 0 >/proc/sys/user/max_inotify_instances && exec "{sys.executable}" -m clew watch'
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace to take the events away in")
    child = subprocess.Popen([unshare, "-rm", "sh", "-c", refused], cwd=harbour, env=environ({}), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    assert child.stderr is not None
    lines = [child.stderr.readline(), child.stderr.readline()]
    try:
        assert any(line.startswith(f"watching {harbour}") for line in lines), lines
        answers(clew("ask", QUESTION, cwd=harbour))
        (harbour / "src" / "anew.py").write_text("def zinnober(): ...\n", encoding="utf-8")
        assert "src/anew.py" in clew("ask", "what does zinnober do?", cwd=harbour).out
    finally:
        child.terminate()
        out, _ = child.communicate(timeout=60)
    return Done(child.returncode, out, "".join(lines))


@case("a watcher")
def _watcher(harbour: Path, home: Path) -> Done:
    answers(clew("ask", QUESTION, cwd=harbour))
    (harbour / "src" / "anew.py").write_text("def zinnober(): ...\n", encoding="utf-8")
    found = clew("ask", "what does zinnober do?", cwd=harbour)
    assert "src/anew.py" in found.out
    return found


@case("the system keyring")
def _keyring(harbour: Path, home: Path) -> Done:
    rows = lacking("keyring", "models", "--json", cwd=harbour, env={"OPENAI_API_KEY": "sk-test"}).json["models"]
    assert next(row for row in rows if row["name"].startswith("openai"))["usable"]
    return lacking("keyring", "doctor", cwd=harbour)


@case("a terminal")
def _terminal(harbour: Path, home: Path) -> Done:
    found = answers(clew("ask", QUESTION, cwd=harbour, env={"NO_COLOR": None}))
    assert "\x1b" not in found.out + found.err and "\r" not in found.err
    refused = fails(clew("history", "clear", cwd=harbour), 2)
    assert clew("history", "clear", "--yes", cwd=harbour).out == "1 removed\n"
    return refused


NAMES = ("CLEW_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


@case("`HOME`")
def _home(harbour: Path, home: Path) -> Done:
    nowhere: dict[str, str | None] = {**dict.fromkeys(NAMES), "HOME": "rel"}
    answers(clew("ask", QUESTION, cwd=harbour, env={**nowhere, "CLEW_HOME": str(home / "named")}))
    return fails(clew("ask", QUESTION, cwd=harbour, env=nowhere), 2)


@case("a home folder that can be written")
def _sealed(harbour: Path, home: Path) -> Done:
    # Where a file stands in its place, nobody can write, root included.
    write(home, {"file": "x"})
    env = {"CLEW_HOME": str(home / "file" / "clew")}
    found = answers(clew("ask", QUESTION, cwd=harbour, env=env))
    assert (home / "file").read_text(encoding="utf-8") == "x"
    return found


# ---------------------------------------------------------------------- stores


@case("a history that is not of a newer version")
def _newer(harbour: Path, home: Path) -> Done:
    answers(clew("ask", QUESTION, cwd=harbour))
    before = history(home, "pragma user_version = 99").read_bytes()
    found = answers(clew("ask", QUESTION, cwd=harbour))
    fails(clew("history", cwd=harbour), 1)
    assert (home / "clew" / "history.db").read_bytes() == before
    return found


@case("a history of the present format")
def _older(harbour: Path, home: Path) -> Done:
    answers(clew("ask", QUESTION, cwd=harbour))
    history(home, "alter table exchange drop column digest", "pragma user_version = 1")
    found = answers(clew("ask", QUESTION, cwd=harbour))
    copy = home / "clew" / "history.db.format-1"
    assert copy.is_file()
    assert len(clew("history", "--json", cwd=harbour).json["exchanges"]) == 2
    assert clew("history", "remove", "1", cwd=harbour).status == 0 and not copy.exists()
    return found


@case("a whole history")
def _damaged(harbour: Path, home: Path) -> Done:
    write(home / "clew", {"history.db": "no database at all"})
    found = answers(clew("ask", QUESTION, cwd=harbour))
    assert (home / "clew" / "history.db.damaged-1").read_text(encoding="utf-8") == "no database at all"
    assert len(clew("history", "--json", cwd=harbour).json["exchanges"]) == 1
    return found


@case("a whole exchange")
def _exchange(harbour: Path, home: Path) -> Done:
    answers(clew("ask", QUESTION, cwd=harbour))
    history(home, "update exchange set answer = 'zinnober'")
    prompt = clew("context", "and why is that so?", cwd=harbour)
    assert prompt.status == 0 and "zinnober" not in prompt.out
    assert "zinnober" in clew("history", "show", "1", cwd=harbour).out
    assert clew("history", "remove", "1", cwd=harbour).out == "1 removed\n"
    return prompt


@case("ripgrep")
def _ripgrep(harbour: Path, home: Path) -> Done:
    assert ripgrep(os.environ) is not None
    ways = (Search(harbour, harbour, program=program) for program in (ripgrep(os.environ), None))
    expected, found = (Calls(one.tools()).good("grep", pattern="retr(y|ies)", context=1) for one in ways)
    assert found == expected and "src/retry.py\n" in found
    return Done(0, found, "")


@case("a language server")
def _language_server(harbour: Path, home: Path) -> Done:
    with session(harbour.parent / "session") as here:
        first = here.put("a.go", "package main\n")
        assert here.put("b.go", "package main\n") == ""
        assert f"diagnostics: {here.diagnose('a.go')}" == first
        return Done(0, "", first)


@case("an MCP server")
def _server(harbour: Path, home: Path) -> Done:
    program = f'{{command: "{sys.executable}", args: ["-c", "pass"]}}'
    write(home / "clew", {"config.yaml": f"mcp_wait: 30\nmcp_servers: {{harbour: {program}}}\n"})
    with world(harbour, home) as made:
        done = made.run("look around", play=[says("I looked.")])
    assert done.status == 0 and done.out == "I looked.\n"
    return done


@case("an index of the present format")
def _index(harbour: Path, home: Path) -> Done:
    expected = answers(clew("ask", QUESTION, cwd=harbour)).out
    path = next((home / "clew" / "index" / "code").glob("*.db"))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 99")
        connection.execute("delete from files")
        connection.commit()
    found = answers(clew("ask", "--new", QUESTION, cwd=harbour))
    assert found.out == expected
    return found


@case("a whole index")
def _broken(harbour: Path, home: Path) -> Done:
    expected = answers(clew("ask", QUESTION, cwd=harbour)).out
    path = next((home / "clew" / "index" / "code").glob("*.db"))
    path.write_bytes(b"no database at all")
    found = answers(clew("ask", "--new", QUESTION, cwd=harbour))
    assert found.out == expected
    return found


@case("the current folder")
def _folder(harbour: Path, home: Path) -> Done:
    gone = home / "gone"
    gone.mkdir()
    command = ["sh", "-c", 'rmdir "$0"; exec "$@"', str(gone), *ARGV, "ask", QUESTION]
    # Python finds the package where it was, not by a path relative to what is gone.
    done = subprocess.run(command, cwd=gone, env=environ({}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)  # fmt: skip
    return fails(Done(done.returncode, done.stdout, done.stderr), 2)
