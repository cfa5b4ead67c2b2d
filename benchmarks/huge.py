"""Trees of very many small files, to measure where the bounds of the walk hold."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_BESIDE = 100
"""Folders in a folder, and files in a folder of the wide tree."""
_VERBS = ("open", "close", "merge", "retry", "parse", "render", "resolve", "compile", "encode", "release")
_NOUNS = ("invoice", "session", "cursor", "ticket", "ledger", "socket", "shard", "profile", "basket", "meter")
SHAPES = ("wide", "flat", "ignored")


def grow(root: Path, files: int, shape: str = "wide") -> None:
    """Make a tree of about `files` files below `root`, each a short Python module.

    `wide` has 100 files in each folder and 100 folders in a folder, `flat` one folder with all of them, `ignored` is
    wide but names all files but those of the first folder in its ignore file. It is under git, without a
    commit. A finished tree is not made again. Raises OSError where there is no room.
    """
    done = root.with_name(f"{root.name}.grown")
    if done.is_file() and done.read_text(encoding="ascii") == f"{shape} {files}":
        return
    _room(root, files)
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    if shape == "ignored":
        (root / ".gitignore").write_text("*.py\n!/f00/f00/*.py\n", encoding="ascii")
    for number in range(files):
        folder = root / "all" if shape == "flat" else _folder(root, number // _BESIDE)
        if shape == "flat" or not number % _BESIDE:
            folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"m{number:07}.py", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(handle, _text(number))
        os.close(handle)
    done.write_text(f"{shape} {files}", encoding="ascii")


def _folder(root: Path, number: int) -> Path:
    return root / f"f{number // _BESIDE:02}" / f"f{number % _BESIDE:02}"


def _text(number: int) -> bytes:
    verb, noun = _VERBS[number % 10], _NOUNS[number // 10 % 10]
    return (
        f'"""The {noun} of row {number}."""\n\n\n'
        f"def {verb}_{noun}_{number % 1000}(given, limit={number % 97}):\n"
        f'    """{verb.capitalize()} one {noun} within a limit."""\n'
        f"    return given.{verb}(limit) if given else None\n"
    ).encode("ascii")


def _room(root: Path, files: int) -> None:
    """Raises OSError where the file system has too few free files or bytes: a small file takes a block of 4 KiB."""
    place = os.statvfs(next(one for one in (root, *root.parents) if one.exists()))
    # Some file systems count no inodes: they say 0 of 0.
    if place.f_files and place.f_favail < 1.1 * files:
        raise OSError(f"{root}: {place.f_favail:,} files are free, {files:,} are wanted")
    if place.f_bavail * place.f_frsize < 1.5 * 4096 * files:
        raise OSError(f"{root}: too few bytes are free for {files:,} small files")
