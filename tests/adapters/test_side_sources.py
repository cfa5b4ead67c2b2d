"""Side information: the map of folders, facts about the machine, and the shell's history when it is switched on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.adapters.sources.environment import Environment
from clew.adapters.sources.files import WorkTree
from clew.adapters.sources.shell_history import ShellHistory
from clew.adapters.sources.tree import DirectoryTree
from clew.core.ports import Entry


class _Paths:
    """A tree of names only."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def entries(self) -> Iterator[Entry]:
        return (Entry(path, 1, "x") for path in self._paths)

    def read(self, path: str) -> bytes:
        raise AssertionError("the map reads no contents")


@pytest.mark.requirement("P-02")
def test_the_map_shows_folders_with_their_files_and_no_contents() -> None:
    (fragment,) = DirectoryTree(
        _Paths("README.md", "src/app/main.py", "src/app/core/x.py", "docs/a.md", "docs/b.md").entries()
    ).collect("q")
    assert fragment.text == "./: README.md\n  docs/: a.md, b.md\n  src/app/: main.py\n    core/: x.py"
    assert (fragment.source, fragment.ref, fragment.weight) == ("tree", "tree", 30)
    assert fragment.line == "5 files in 5 folders"
    assert fragment.note == ""


def test_the_map_of_a_real_tree_obeys_its_ignore_rules(tmp_path: Path) -> None:
    for name in ("a.py", "b.log", ".gitignore"):
        (tmp_path / name).write_text("*.log\n", encoding="utf-8")
    (fragment,) = DirectoryTree(WorkTree(tmp_path).entries()).collect("q")
    assert "a.py" in fragment.text
    assert "b.log" not in fragment.text


def test_a_large_map_shows_shallow_folders_first_and_says_what_is_below() -> None:
    paths = [
        f"top{a}/mid{b}/low{c}/file{d}.py" for a in range(4) for b in range(4) for c in range(4) for d in range(30)
    ]
    paths += [f"top{a}/x.py" for a in range(4)] + [f"top{a}/mid{b}/y.py" for a in range(4) for b in range(4)]
    (fragment,) = DirectoryTree(_Paths(*paths).entries(), most_lines=10).collect("q")
    lines = fragment.text.splitlines()
    assert len(lines) == 10
    assert fragment.note == "10 of 85 folders"
    assert [line for line in lines if line.startswith("  top")] == [
        "  top0/: x.py",
        *(f"  top{number}/ (485 files below): x.py" for number in (1, 2, 3)),
    ]
    (wide,) = DirectoryTree(_Paths(*(f"f{number:03}" for number in range(100))).entries(), most_names=3).collect("q")
    assert wide.text == "./: f000, f001, f002, … 97 more"


def test_an_empty_tree_has_no_map() -> None:
    assert DirectoryTree(_Paths().entries()).collect("q") == ()


@pytest.mark.requirement("Q-46")
def test_hostile_names_stay_on_their_line_and_depth_is_bounded() -> None:
    (fragment,) = DirectoryTree(
        _Paths("a\nb/c\x1b[0m", "/".join("d" * 1 for _ in range(3000)) + "/x").entries()
    ).collect("q")
    assert all(line.isprintable() for line in fragment.text.splitlines())
    assert "a\\nb/: c\\x1b[0m" in fragment.text
    assert len(fragment.text) < 1000


@given(st.lists(st.from_regex(r"[ab](/[abc]){0,6}", fullmatch=True), unique=True, max_size=60), st.integers(1, 20))
def test_the_map_never_has_more_lines_than_asked_for(paths: list[str], most: int) -> None:
    for fragment in DirectoryTree(_Paths(*paths).entries(), most_lines=most).collect("q"):
        assert len(fragment.text.splitlines()) <= most
        assert fragment.line.startswith(f"{len(paths)} files")


def facts(tmp_path: Path, at: datetime | None = None, **environ: str) -> dict[str, str]:
    source = Environment(environ, tmp_path, tmp_path, clock=(lambda: at) if at else None)
    found = {fragment.ref: fragment for fragment in source.collect("q")}
    assert all(f.source == "environment" and f.weight == 10 and f.text == f.line for f in found.values())
    return {ref.removeprefix("environment:"): fragment.line for ref, fragment in found.items()}


@pytest.mark.requirement("P-02")
def test_facts_are_one_line_each(tmp_path: Path) -> None:
    found = facts(tmp_path, SHELL="/usr/bin/zsh")
    assert found["shell"] == "shell zsh"
    assert found["cwd"] == f"current folder {tmp_path}"
    assert found["platform"].startswith("operating system ")
    assert "clock" not in found


def test_the_clock_is_the_one_given_with_its_zone(tmp_path: Path) -> None:
    zone = timezone(timedelta(hours=5, minutes=30), "IST")
    assert (
        facts(tmp_path, datetime(2026, 3, 4, 5, 6, tzinfo=zone))["clock"]
        == "time 2026-03-04 05:06, Wednesday, UTC+05:30 (IST)"
    )
    assert (
        facts(tmp_path, datetime(2026, 3, 4, 5, 6, tzinfo=UTC))["clock"]
        == "time 2026-03-04 05:06, Wednesday, UTC+00:00"
    )


@pytest.mark.requirement("Q-46")
def test_versions_are_read_from_files_and_no_program_is_started(tmp_path: Path) -> None:
    programs = tmp_path / "node" / "v20.11.1" / "bin"
    go = tmp_path / "go" / "bin"
    for folder in (programs, go):
        folder.mkdir(parents=True)
    for program in (programs / "node", go / "go", programs / "java"):
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / "go" / "VERSION").write_text("go1.22.3\ntime x\n", encoding="utf-8")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /x\nversion = 3.12.4\n", encoding="utf-8")
    # A program that only a relative PATH leads to could be the repository's own, and is not even named.
    (tmp_path / "rustc").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "rustc").chmod(0o755)
    with contextlib.chdir(tmp_path):
        found = facts(tmp_path, PATH=f".:{programs}:{go}")
    assert found["runtimes"] == (
        "Python 3.12.4 in a virtual environment, Node.js 20.11.1, Go 1.22.3, Java (version not read)"
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.requirement("Q-42")
@pytest.mark.timeout(10)
def test_an_empty_environment_still_has_facts(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    os.mkfifo(tmp_path / ".venv" / "pyvenv.cfg")
    assert set(facts(tmp_path)) == {"platform", "cwd"}


def history(tmp_path: Path, *, enabled: bool = True, **environ: str) -> str:
    found = ShellHistory({"HOME": str(tmp_path), **environ}, enabled=enabled).collect("q")
    return found[0].text if found else ""


@pytest.mark.requirement("P-02")
def test_history_is_off_until_it_is_switched_on(tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text("make test\n", encoding="utf-8")
    assert ShellHistory({"HOME": str(tmp_path)}).collect("q") == ()
    (fragment,) = ShellHistory({"HOME": str(tmp_path)}, enabled=True).collect("q")
    assert (fragment.source, fragment.weight, fragment.text) == ("shell_history", 50, "make test")
    assert fragment.line == "the last 1 commands of bash"


def test_histories_of_bash_zsh_and_fish_are_read(tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text("#1700000000\nls\n#1700000001\ngit status\n#comment\n", encoding="utf-8")
    assert history(tmp_path, SHELL="/bin/bash") == "ls\ngit status\n#comment"
    content = b": 1700000000:0;echo one\\\ntwo\n: 1700000001:12;echo " + b"\xe4\x83\xa9\xad" + b"\nplain\n"
    (tmp_path / ".zsh_history").write_bytes(content)
    # zsh keeps the byte 0x89 as 0x83 0xa9.
    assert history(tmp_path, SHELL="/bin/zsh") == "echo one\\ntwo\necho \u426d\nplain"
    fish = tmp_path / ".local/share/fish"
    fish.mkdir(parents=True)
    (fish / "fish_history").write_text(
        "- cmd: echo a\\nb \\\\ c\n  when: 1\n  paths:\n    - x\n- cmd: ls\n", encoding="utf-8"
    )
    assert history(tmp_path, SHELL="/usr/bin/fish") == "echo a\\nb \\ c\nls"


def test_only_the_last_commands_are_read_without_repeats(tmp_path: Path) -> None:
    commands = [f"command {number}" for number in range(100_000)] + ["again"] * 50
    (tmp_path / ".bash_history").write_text("\n".join(commands) + "\n" + "y" * 1000 + "\n", encoding="utf-8")
    lines = history(tmp_path).splitlines()
    assert len(lines) == 30
    assert lines[-2] == "again"
    assert lines[-3] == "command 99999"
    assert len(lines[-1]) == 300
    assert lines[-1].endswith("…")


def test_a_history_that_is_switched_off_in_the_shell_stays_off(tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text("old\n", encoding="utf-8")
    (tmp_path / "mine").write_text("mine\n", encoding="utf-8")
    assert history(tmp_path, HISTFILE="/dev/null") == ""
    assert history(tmp_path, HISTFILE="") == ""
    assert history(tmp_path, HISTFILE=str(tmp_path / "mine")) == "mine"


@pytest.mark.requirement("Q-46")
@pytest.mark.timeout(10)
def test_a_history_that_is_no_file_of_the_user_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".bash_history")
    before = time.monotonic()
    assert history(tmp_path) == ""
    assert time.monotonic() - before < 5
    assert history(tmp_path / "nowhere") == ""
    assert ShellHistory({}, enabled=True).collect("q") == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")
def test_a_history_of_somebody_else_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text("theirs\n", encoding="utf-8")
    os.chown(tmp_path / ".bash_history", 12345, 12345)
    assert history(tmp_path) == ""


def test_secrets_are_removed_from_the_history(tmp_path: Path) -> None:
    secret = "q7Zk" * 4
    commands = [
        f"export API_TOKEN={secret}",
        f"curl -u me:{secret} https://x.test",
        f"mysql -u root -p{secret} db",
        "ls",
    ]
    (tmp_path / ".bash_history").write_text("\n".join(commands), encoding="utf-8")
    (fragment,) = ShellHistory({"HOME": str(tmp_path)}, enabled=True).collect("q")
    assert secret not in fragment.text
    assert fragment.text.endswith("ls")
    assert fragment.note == "redacted: 3 secrets"
