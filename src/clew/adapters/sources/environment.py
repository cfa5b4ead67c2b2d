"""Facts about the machine and the session: system, shell, runtimes, folder, time. No program is started for them."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from clew.adapters.regular import read_regular
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.text.printable import printable
from clew.errors import UsageError

_MOST_BYTES = 64 * 1024
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){1,3}")


class Environment:
    """One fragment for each fact, all of one line."""

    name = "environment"

    def __init__(
        self,
        environ: Mapping[str, str],
        cwd: Path,
        root: Path,
        *,
        clock: Callable[[], datetime] | None = None,
        weight: int = DEFAULT_WEIGHTS["environment"],
    ) -> None:
        """`clock` gives the time with its zone; without it no time is told, and nothing here changes by itself."""
        self._environ = environ
        self._cwd = cwd
        self._root = root
        self._clock = clock
        self._weight = weight

    def collect(self, question: str) -> Sequence[Fragment]:
        """Platform, shell, runtimes, folder and clock, as far as they are known."""
        facts = {
            "platform": _system(),
            "shell": _shell(self._environ),
            "runtimes": ", ".join(_runtimes(self._environ, self._root)),
            "cwd": self._folder(),
            "clock": _time(self._clock()) if self._clock else "",
        }
        return tuple(
            Fragment(self.name, f"environment:{topic}", fact, self._weight, line=fact, relevance=-order)
            for order, (topic, fact) in enumerate(facts.items())
            if fact
        )

    def _folder(self) -> str:
        cwd, root = printable(str(self._cwd), 400), printable(str(self._root), 400)
        return f"current folder {cwd}" + (f", workspace {root}" if root != cwd else "")


def _system() -> str:
    name = _os_release() or {"Darwin": "macOS"}.get(platform.system(), platform.system())
    release = platform.mac_ver()[0] if platform.system() == "Darwin" else f"({platform.system()} {platform.release()})"
    return f"operating system {name} {release}, {platform.machine()}"


def _os_release() -> str:
    found = re.search(r'(?m)^PRETTY_NAME="?([^"\n]{1,80})"?$', _small(Path("/etc/os-release")))
    return printable(found[1]) if found else ""


def _shell(environ: Mapping[str, str]) -> str:
    name = os.path.basename(environ.get("SHELL", ""))
    return f"shell {printable(name, 40)}" if name else ""


def _time(now: datetime) -> str:
    # The zone's own name may be any text of the system; the offset is always there.
    offset = now.strftime("%z")
    zone = f"UTC{offset[:3]}:{offset[3:5]}" if offset else "local time"
    name = now.tzname() or ""
    named = f" ({printable(name, 40)})" if name and name != "UTC" and not name.startswith("UTC") else ""
    return f"time {now:%Y-%m-%d %H:%M}, {now:%A}, {zone}{named}"


def _runtimes(environ: Mapping[str, str], root: Path) -> Iterator[str]:
    """Name and version of what the project could run with, read from files beside the programs."""
    folders = [folder for folder in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    path = os.pathsep.join(folders)
    if version := _python(environ, root, path):
        yield f"Python {version}"
    readers: tuple[tuple[str, str, Callable[[Path], str]], ...] = (
        ("Node.js", "node", _node),
        ("Go", "go", lambda program: _first_version(program.parent.parent / "VERSION")),
        ("Java", "java", lambda program: _first_version(program.parent.parent / "release")),
        ("Rust", "rustc", _rust),
    )
    for name, program, read in readers:
        found = shutil.which(program, path=path) if path else None
        if found:
            version = read(Path(os.path.realpath(found)))
            yield f"{name} {version}" if version else f"{name} (version not read)"


def _python(environ: Mapping[str, str], root: Path, path: str) -> str:
    for folder in (environ.get("VIRTUAL_ENV", ""), str(root / ".venv"), str(root / "venv")):
        if os.path.isabs(folder):
            found = re.search(
                r"(?m)^version(?:_info)?\s*=\s*([0-9]+(?:\.[0-9]+){1,2})", _small(Path(folder) / "pyvenv.cfg")
            )
            if found:
                return f"{found[1]} in a virtual environment"
    program = shutil.which("python3", path=path) if path else None
    if program is None:
        return ""
    real = os.path.realpath(program)
    named = re.search(r"python(3\.[0-9]+)$", real) or re.search(r"[/-](3\.[0-9]+(?:\.[0-9]+)?)[^/]*/bin/", real)
    return named[1] if named else "3"


def _node(program: Path) -> str:
    if named := re.search(r"/v?([0-9]+\.[0-9]+\.[0-9]+)[^/]*/", str(program)):
        return named[1]
    header = _small(program.parent.parent / "include" / "node" / "node_version.h")
    parts = [re.search(rf"(?m)^#define NODE_{part}_VERSION ([0-9]+)", header) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(part[1] for part in parts if part) if all(parts) else ""


def _rust(program: Path) -> str:
    # A toolchain's folder names its version, `1.81.0-x86_64-…`, or only its channel, `stable-x86_64-…`.
    named = re.search(r"/toolchains/([0-9.]+|stable|beta|nightly)[^/]*/", str(program))
    return named[1] if named else ""


def _first_version(path: Path) -> str:
    found = _VERSION.search(_small(path))
    return found[0] if found else ""


def _small(path: Path) -> str:
    try:
        return read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
    except UsageError:
        return ""
