"""Which language servers and checkers there are, which files they are for, and where they lie on this machine.

A program that only reads may be started unasked where it lies on PATH and outside of the workspace. What lies in the
workspace comes with it, and some servers run what a workspace says (`runs`): such are started after a yes.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from clew.adapters.git_process import find_program

_MOST_PACKAGES: Final = 4
"""Folders of packages that a server of Python is told of."""
_NO_NETWORK: Final = {"http": {"proxy": "http://127.0.0.1:9", "proxyStrictSSL": True}}
"""A proxy that nobody is at: such servers fetch schemas that a file names."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language with the ends of its files' names, each with the id that servers know it by."""

    key: str
    """As it is named in the setting `lsp`."""
    shown: str
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A language server that may be there."""

    name: str
    argv: Sequence[str]
    language: str
    roots: Sequence[str]
    """Names of files that lie in the folder that a server works in."""
    runs: str = ""
    """What of a workspace it runs by itself; empty: it only reads."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settle: float = 0.0
    passed_over: Sequence[str] = ()
    """Codes of findings that speak of the server's own trouble."""
    outermost: bool = False
    """It works in the outermost folder with such a file, not in the nearest."""


@dataclass(frozen=True, slots=True)
class CheckerKind:
    """A program that reads one file, says what is wrong with it and ends."""

    name: str
    argv: Sequence[str]
    """The path of the file comes last."""
    language: str
    form: str
    """How its output is read."""
    ends: Sequence[str] = ()
    """Only files with these ends of names; empty: all of the language."""
    within: Sequence[str] = ()
    """Servers that ask it themselves."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A program as it was found."""

    path: str
    inside: bool
    """It lies in the workspace, or leads there."""


LANGUAGES: Final = (
    Language("python", "Python", {".py": "python", ".pyi": "python"}),
    Language("typescript", "TypeScript and JavaScript", {
        ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
        ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
    }),
    Language("go", "Go", {".go": "go"}),
    Language("rust", "Rust", {".rs": "rust"}),
    Language("c", "C and C++", {
        ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    }),
    Language("shell", "shell scripts", {".sh": "shellscript", ".bash": "shellscript"}),
    Language("yaml", "YAML", {".yaml": "yaml", ".yml": "yaml"}),
    Language("json", "JSON", {".json": "json", ".jsonc": "jsonc"}),
    Language("lua", "Lua", {".lua": "lua"}),
    Language("zig", "Zig", {".zig": "zig"}),
)  # fmt: skip

_PYTHON_ROOTS: Final = ("pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_SCRIPT_ROOTS: Final = ("tsconfig.json", "jsconfig.json", "package.json")
_BASED: Final = {"diagnosticMode": "openFilesOnly", "typeCheckingMode": "standard"}
_SCHEMAS: Final = {"yaml": {"schemaStore": {"enable": False}, "validate": True}, **_NO_NETWORK}

_UNLOADED: Final = ("65536", "768")
"""A schema that a file names is not there: they are not fetched."""

SERVERS: Final = (
    ServerKind(
        "basedpyright", ("basedpyright-langserver", "--stdio"), "python", _PYTHON_ROOTS,
        settings={"basedpyright": {"analysis": _BASED}},
    ),
    ServerKind("pyright", ("pyright-langserver", "--stdio"), "python", _PYTHON_ROOTS),
    ServerKind("pylsp", ("pylsp",), "python", _PYTHON_ROOTS, "plugins that its configuration names", settle=0.3),
    ServerKind("ruff", ("ruff", "server"), "python", ("ruff.toml", ".ruff.toml", "pyproject.toml")),
    ServerKind("tsc", ("tsc", "--lsp", "--stdio"), "typescript", _SCRIPT_ROOTS),
    ServerKind(
        "typescript-language-server", ("typescript-language-server", "--stdio"), "typescript",
        _SCRIPT_ROOTS, "its own copy of TypeScript, from node_modules",
        options={"disableAutomaticTypingAcquisition": True}, settle=0.4,
    ),
    ServerKind("gopls", ("gopls",), "go", ("go.work", "go.mod"), settle=0.3),
    ServerKind(
        "rust-analyzer", ("rust-analyzer",), "rust", ("Cargo.toml",), "cargo, with its build scripts and macros",
        settle=0.4, outermost=True,
    ),
    ServerKind("clangd", ("clangd",), "c", ("compile_commands.json", "compile_flags.txt", ".clangd"), settle=0.3),
    ServerKind("bash-language-server", ("bash-language-server", "start"), "shell", (), settle=0.3),
    ServerKind(
        "yaml-language-server", ("yaml-language-server", "--stdio"), "yaml", (), settings=_SCHEMAS, settle=0.3,
        passed_over=_UNLOADED,
    ),
    ServerKind(
        "vscode-json-language-server", ("vscode-json-language-server", "--stdio"), "json", (),
        settings={"json": {"validate": {"enable": True}}, **_NO_NETWORK},
        options={"handledSchemaProtocols": ["file"], "provideFormatter": False}, settle=0.3, passed_over=_UNLOADED,
    ),
    ServerKind(
        "lua-language-server", ("lua-language-server",), "lua", (".luarc.json",),
        "plugins that its configuration names", settle=0.3,
    ),
    ServerKind("zls", ("zls",), "zig", ("build.zig",), "the build script", settle=0.3),
)  # fmt: skip
"""Of those for one language, the first that is there is used."""

CHECKERS: Final = (
    # `fix` may stand in the configuration of a project: a look changes nothing.
    CheckerKind(
        "ruff", ("ruff", "check", "--quiet", "--no-fix", "--no-cache", "--force-exclude", "--output-format", "json"),
        "python", "ruff",
    ),
    CheckerKind(
        "shellcheck", ("shellcheck", "--format", "json1"), "shell", "shellcheck", within=("bash-language-server",)
    ),
    CheckerKind("gofmt", ("gofmt", "-l", "-e"), "go", "gofmt"),
    CheckerKind("node", ("node", "--check"), "typescript", "node", (".js", ".mjs", ".cjs")),
)  # fmt: skip

_OFFLINE: Final = {
    "GOTOOLCHAIN": "local",
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_offline": "true",
    "PIP_NO_INDEX": "1",
    "PYTHONSAFEPATH": "1",
}
"""A server does not fetch what is missing, and Python does not begin with the folder that it is started in."""


def language_of(path: Path) -> tuple[Language, str] | None:
    """The language of a file by its name, with the id that servers know it by."""
    end = path.suffix.lower()
    return next(((one, one.ids[end]) for one in LANGUAGES if end in one.ids), None)


def root_of(kind: ServerKind, path: Path, workspace: Path) -> Path:
    """The folder that a server works in: with one of its files, from the path upwards, or else the workspace."""
    found = [one for one in _upwards(path.parent, workspace) if any((one / name).exists() for name in kind.roots)]
    return (found[-1] if kind.outermost else found[0]) if found else workspace


def installed(name: str, environ: Mapping[str, str], workspace: Path, folder: Path) -> Installed | None:
    """A program: outside of the workspace if it is there, or else from the workspace."""
    if os.path.dirname(name):
        path = os.path.expanduser(name)
        usable = os.path.isabs(path) and os.access(path, os.X_OK)
        return Installed(path, is_inside(path, workspace)) if usable else None
    found: Installed | None = None
    for place in _folders(environ):
        if path := shutil.which(name, path=place):
            if not is_inside(path, workspace):
                return Installed(path, False)
            found = found or Installed(path, True)
    if found:
        return found
    for place in _upwards(folder, workspace):
        for part in (".venv/bin", "venv/bin", "node_modules/.bin"):
            if path := shutil.which(name, path=str(place / part)):
                return Installed(path, True)
    return None


def is_inside(path: str, workspace: Path) -> bool:
    """Whether a path lies in the workspace, as it is written or where it leads."""
    names = {os.path.normpath(path), os.path.realpath(path)}
    return any(Path(one).is_relative_to(workspace) for one in names) or ".." in Path(path).parts


def server_environ(environ: Mapping[str, str], workspace: Path, *, trusted: bool) -> dict[str, str]:
    """The environment of servers and checkers. Unless trusted, nothing of it leads into the workspace."""
    kept = dict(environ) | _OFFLINE
    kept["GOFLAGS"] = f"{environ.get('GOFLAGS', '')} -buildvcs=false".strip()
    if not trusted:
        kept["PATH"] = os.pathsep.join(one for one in _folders(environ) if not is_inside(one, workspace))
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS"):
            kept.pop(name, None)
    return kept


def settings_of(kind: ServerKind, root: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """What a server is told. One for Python learns where packages lie, so that it need not run what lies there.

    Without a named Python, basedpyright runs the one in the folder `.venv` to ask it.
    """
    settings = dict(kind.settings)
    if kind.name in ("basedpyright", "pyright"):
        found = (one for name in (".venv", "venv") for one in (root / name).glob("lib/python3*/site-packages"))
        packages = [str(one) for one in islice(found, _MOST_PACKAGES)]
        settings["python"] = {
            "pythonPath": find_program(environ, "python3") or sys.executable,
            "analysis": {"diagnosticMode": "openFilesOnly", "extraPaths": packages},
        }
        if kind.name == "basedpyright":
            settings["basedpyright"] = {"analysis": {**_BASED, "extraPaths": packages}}
    return settings


def options_of(kind: ServerKind, environ: Mapping[str, str]) -> dict[str, Any]:
    """What a server is told when it starts. The one for TypeScript brings none; without a copy in the workspace, that
    of the command `tsc` is used."""
    options = dict(kind.options)
    if kind.name == "typescript-language-server" and (compiler := find_program(environ, "tsc")):
        library = _library(compiler)
        if library.is_file():
            options["tsserver"] = {"fallbackPath": str(library)}
    return options


def serves(kind: ServerKind | CheckerKind, program: str) -> bool:
    """Whether a program is one that can do this: the compiler of TypeScript is a server from version 7 on."""
    return kind.name != "tsc" or not _library(program).exists()


def _library(compiler: str) -> Path:
    """The server of TypeScript before version 7, which lies beside its compiler."""
    return Path(os.path.realpath(compiler)).parent.parent / "lib" / "tsserver.js"


def _folders(environ: Mapping[str, str]) -> list[str]:
    return [one for one in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(one)]


def _upwards(folder: Path, last: Path) -> Iterator[Path]:
    """A folder and those above it, up to `last`."""
    for one in (folder, *folder.parents):
        if not one.is_relative_to(last):
            return
        yield one
