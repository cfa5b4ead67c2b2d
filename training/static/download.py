"""Fetch the packages of sources.toml into a scratch directory with the ordinary pip and npm clients."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def download(scratch: Path) -> list[str]:
    """Fill scratch/pypi and scratch/npm; return the names that could not be fetched (the build goes on without)."""
    wanted = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))
    missing: list[str] = []
    for registry, names in wanted.items():
        target = scratch / registry
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            mark = target / (name.replace("/", "+") + ".done")
            if mark.exists():
                continue
            command = (
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", ".", name]
                if registry == "pypi"
                else ["npm", "pack", "--silent", name]
            )
            got = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
            if got.returncode:
                missing.append(f"{registry}:{name}")
            else:
                mark.touch()
    return missing


if __name__ == "__main__":
    print("not fetched:", download(Path(sys.argv[1])) or "none")
