"""Install into `.wire/` what the tests of tests/wire drive: the clients of tests/wire/package.json, at their versions.

Does nothing while that file is unchanged. Without npm it says so, and the tests that need a client are skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ROOT / "tests" / "wire" / "package.json"
FOLDER = ROOT / ".wire"


def main() -> int:
    """Install; the exit status."""
    wanted = WANTED.read_text(encoding="utf-8")
    stamp = FOLDER / "installed.json"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    if shutil.which("npm") is None:
        print("npm is not installed: tests with real clients are skipped", file=sys.stderr)
        return 0
    FOLDER.mkdir(exist_ok=True)
    stamp.unlink(missing_ok=True)
    (FOLDER / "package.json").write_text(wanted, encoding="utf-8")
    # No lock: it would name the addresses that the packages came from. Versions are exact already.
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error"]
    done = subprocess.run(command, cwd=FOLDER, check=False, timeout=900)
    if done.returncode == 0:
        stamp.write_text(wanted, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
