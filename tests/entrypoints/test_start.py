"""The door of the command line: what it answers by itself is what the whole would answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew._version import __version__


def run(*words: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {"PATH", "PYTHONPATH", "HYPOTHESIS_STORAGE_DIRECTORY"}
    environ = {name: value for name, value in os.environ.items() if name in kept}
    environ |= {"HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "80"}
    environ |= more
    return subprocess.run(
        [sys.executable, "-m", "clew", *words], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def whole(*words: str, home: Path) -> str:
    """What the whole command line prints, with the door left out."""
    code = f"from clew.entrypoints.cli.main import main; main({list(words)!r})"
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "80"}
    if "PYTHONPATH" in os.environ:
        environ["PYTHONPATH"] = os.environ["PYTHONPATH"]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize("words", [(), ("-h",), ("--help",)])
def test_the_help_at_the_door_is_the_help_of_the_whole(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, home=tmp_path)
    assert done.returncode == 0
    assert done.stdout == whole("--help", home=tmp_path)


def test_the_version_at_the_door_is_that_of_the_package(tmp_path: Path) -> None:
    done = run("--version", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"clew {__version__}\n")
    assert whole("--version", home=tmp_path) == done.stdout


@pytest.mark.requirement("F-05")
@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "CLEW_LANG"])
def test_who_speaks_chinese_gets_help_in_chinese(name: str, tmp_path: Path) -> None:
    value = "zh" if name == "CLEW_LANG" else "zh_CN.UTF-8"
    done = run("--help", home=tmp_path, **{name: value})
    assert done.returncode == 0
    assert "用法" in done.stdout


@pytest.mark.requirement("Q-20")
def test_version_and_help_load_neither_click_nor_anything_heavy(tmp_path: Path) -> None:
    for words in (["--version"], ["--help"]):
        code = f"import sys; sys.argv = ['clew', *{words!r}]\nfrom clew.entrypoints.cli import start\n"
        code += "try: start.main()\nexcept SystemExit: pass\n"
        code += "print(sorted({'click', 'numpy', 'yaml', 'rich', 'sqlite3'} & sys.modules.keys()), file=sys.stderr)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert done.stderr.strip().splitlines()[-1] == "[]"


@pytest.mark.requirement("F-05")
@pytest.mark.parametrize("variable", ["CLEW_HOME", "XDG_CONFIG_HOME", "HOME"])
def test_the_language_of_the_users_configuration_holds_at_the_door(variable: str, tmp_path: Path) -> None:
    folder = {"CLEW_HOME": "", "XDG_CONFIG_HOME": "clew", "HOME": ".config/clew"}[variable]
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    assert "Usage" in run("--help", home=tmp_path, **{variable: str(tmp_path)}).stdout
    (tmp_path / folder / "config.yaml").write_text("language: zh\n", encoding="utf-8")
    assert "用法" in run("--help", home=tmp_path, **{variable: str(tmp_path)}).stdout


@pytest.mark.requirement("F-01")
def test_a_shell_that_asks_for_completions_gets_no_help(tmp_path: Path) -> None:
    done = run(home=tmp_path, _CLEW_COMPLETE="bash_source")
    assert "complete" in done.stdout
    assert "Usage" not in done.stdout
