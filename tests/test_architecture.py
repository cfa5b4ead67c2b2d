"""The shape of the code: import contracts, the public names, who may read the environment or ask the system."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "clew"

READS_ENVIRONMENT = {
    "app.py": "the composition root: it reads the environment once and hands it on as a value",
    "entrypoints/cli/start.py": "it decides, before anything is loaded, on plain English help and on threads of numpy",
}
"""Modules of src/clew that may touch os.environ, each with its reason."""

ASKS_THE_SYSTEM = {
    "system.py": "the one place that knows locks, and flags that not every system has",
    "adapters/shell_keeper.py": "a program of its own that runs without the rest of Clew; it takes a terminal",
}
"""Modules of src/clew that may know what only some systems have, each with its reason."""


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts over the package below `source`."""
    paths = os.pathsep.join([str(source), os.environ["PYTHONPATH"]])
    command = [
        str(Path(sys.executable).parent / "lint-imports"),
        "--no-cache",
        "--no-logo",
        "--config",
        str(ROOT / ".importlinter"),
    ]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False, cwd=source
    )


@pytest.mark.requirement("Q-60")
def test_the_import_contracts_hold() -> None:
    done = lint_imports(PACKAGE.parent)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED = {
    "core knows a store": ("core/text/planted.py", "import clew.stores", "entrypoints > app"),
    "a part of the core knows another": (
        "core/index/planted.py",
        "import clew.core.context.fragment",
        "Parts of the core",
    ),
    "also inside a function": (
        "core/index/planted.py",
        "def f():\n    from clew.core.context import fragment",
        "Parts of the core",
    ),
    "core reads files": ("core/context/planted.py", "import os", "no input or output"),
    "one entry point knows another": ("entrypoints/planted.py", "import clew.entrypoints.cli", "Entry points"),
    "a module outside the layers": ("planted.py", "", "not listed as layers"),
}


@pytest.mark.slow
@pytest.mark.requirement("Q-60")
@pytest.mark.parametrize("violation", PLANTED)
def test_a_planted_violation_is_reported(violation: str, tmp_path: Path) -> None:
    path, text, words = PLANTED[violation]
    shutil.copytree(PACKAGE, tmp_path / "clew", ignore=shutil.ignore_patterns("__pycache__", "data"))
    (tmp_path / "clew" / path).write_text(text + "\n", encoding="utf-8")
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    assert words in " ".join(done.stdout.partition("Broken contracts")[2].split()), done.stdout


IN_CORE = {
    "an open file": "text = open('x')",
    "a path": "from pathlib import Path",
    "the clock": "from datetime import datetime\n\nnow = datetime.now(None)",
    "a module of the clock": "from time import monotonic",
    "randomness": "import numpy as np\n\nx = np.random.default_rng()",
    "an array file": "import numpy as np\n\nx = np.load('x')",
    "a random id": "from uuid import uuid4",
}


@pytest.mark.requirement("Q-60")
@pytest.mark.parametrize("case", IN_CORE)
def test_the_linter_keeps_this_out_of_the_core_and_nowhere_else(case: str) -> None:
    ruff = [
        str(Path(sys.executable).parent / "ruff"),
        "check",
        "--no-cache",
        "--output-format",
        "concise",
        "--stdin-filename",
    ]
    said = [
        subprocess.run(
            [*ruff, f"src/clew/{part}/planted.py", "-"],
            input=IN_CORE[case] + "\n",
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        ).stdout
        for part in ("core/text", "adapters")
    ]
    assert [len(re.findall("TID251|PTH123", words)) for words in said] == [1, 0], said


def test_the_public_names_are_exactly_these() -> None:
    import clew  # noqa: PLC0415 - the test is about this import

    lines = (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    names = list(getattr(clew, "__all__", []))
    assert names == pinned
    assert pinned == sorted(pinned)
    for name in names:
        assert getattr(clew, name) is not None


def environment_reads(text: str) -> list[int]:
    """Lines that touch os.environ, os.getenv or a name imported for that."""
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    lines: list[int] = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Attribute | ast.ImportFrom):
            continue
        attribute = isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "os"
        imported = (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and any(alias.name in names for alias in node.names)
        )
        if attribute or imported:
            lines.append(node.lineno)
    return sorted(lines)


def test_only_the_composition_root_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := environment_reads(path.read_text(encoding="utf-8")))
    }
    assert readers.keys() <= READS_ENVIRONMENT.keys(), {k: v for k, v in readers.items() if k not in READS_ENVIRONMENT}
    idle = [
        name for name in READS_ENVIRONMENT if name not in readers and (PACKAGE / name).exists() and name != "app.py"
    ]
    assert not idle, f"exceptions that nothing needs: {idle}"


def test_each_way_to_the_environment_is_seen() -> None:
    text = "import os\nos.environ['A']\nos.getenv('A')\nfrom os import environ\nself.environ\n"
    assert environment_reads(text) == [2, 3, 4]


def system_calls(text: str) -> list[int]:
    """Lines that import the locks of a system, or name a flag of os.open or a call that not every system has."""
    modules = {"fcntl", "msvcrt"}
    names = {"O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_DIRECTORY", "O_BINARY", "fchmod", "getuid"}
    return sorted(
        node.lineno
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Import) and any(alias.name in modules for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module in modules)
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and names & {alias.name for alias in node.names})
        or (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.Constant) and node.value in names)
    )


def test_only_one_module_knows_locks_and_flags_that_not_every_system_has() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := system_calls(path.read_text(encoding="utf-8")))
    }
    assert found.keys() == ASKS_THE_SYSTEM.keys(), found


def test_each_way_to_the_system_is_seen() -> None:
    text = "import fcntl\nimport os\nfrom msvcrt import locking\nos.O_NOFOLLOW\nfrom os import getuid\n"
    assert system_calls(text + "getattr(os, 'O_NOCTTY', 0)\n# os.fchmod\nos.O_RDWR\n") == [1, 3, 4, 5, 6]


WITHOUT = """
import builtins, importlib, pkgutil
import clew.adapters, clew.entrypoints, clew.services, clew.stores, clew.system

missing = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
original = builtins.__import__

def without(name, names=None, *rest):
    # The standard library of this system cannot do without them.
    if name in missing and names and names["__name__"].partition(".")[0] == "clew":
        raise ModuleNotFoundError(f"{names['__name__']} imports {name}")
    return original(name, names, *rest)

builtins.__import__ = without
wanted = ["clew.app"]
for package in (clew.stores, clew.adapters, clew.services, clew.entrypoints):
    wanted += [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
# The keys of the interactive terminal are read by a part of prompt_toolkit that other systems do not have.
wanted = [one for one in wanted if not one.startswith("clew.entrypoints.cli.terminal.")]
for one in wanted:
    importlib.import_module(one)
print(*wanted)
"""


def test_clew_can_be_imported_where_the_modules_of_posix_are_missing() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"clew.entrypoints.cli.main", "clew.adapters.programs", "clew.stores.audit"} <= set(done.stdout.split())
