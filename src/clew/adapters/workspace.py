"""Which workspace a folder belongs to: the same for all work trees and clones of a repository, and on every machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import tomllib
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import unquote, urlsplit

from clew.adapters.git import Git, NoRepository
from clew.adapters.home import Home
from clew.adapters.regular import read_regular
from clew.core.text.printable import printable
from clew.errors import ConfigError, NotFound, UsageError
from clew.system import is_own

ALIAS_FILE = "workspaces.toml"
"""In the data folder, edited by hand: a table `[alias]` of what is found (remote, root commit, path or id) to an id."""
KNOWN_FILE = "known_workspaces.json"
"""In the state folder: which id each folder had on this machine. Losing it loses no notes."""

Origin = Literal["remote", "root-commit", "path"]

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_MOST_BYTES = 1 << 20
_MOST_KNOWN = 1000
_FORMAT = 1
_FOLDING_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Hosts that take the path of a repository in any case."""
_USUAL_PORTS = {"http": 80, "https": 443, "git": 9418}
_PROJECT_FILES = (".clew.yaml", ".ctxmode.yaml")


@dataclass(frozen=True, slots=True)
class Collision:
    """The id is already taken by something else on this machine; the user must say whether both are one."""

    known: str
    """What the id stood for."""
    here: str
    """What it would stand for now."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """One project as the user sees it."""

    id: str
    """Lower-case letters, digits and hyphens, at most 80: safe as the name of a folder."""
    name: str
    """For people: the repository's or the folder's name."""
    root: Path
    """Top of this work tree, or the folder. For a bare repository, the repository itself."""
    git: bool
    """Whether git answers here."""
    origin: Origin
    """What the id was made from."""
    key: str
    """What was hashed: `github.com/owner/name`, the id of a commit, or a path."""
    collision: Collision | None = None
    formers: tuple[str, ...] = ()
    """The ids that this folder had before, the latest first: notes may lie there."""
    second: str = ""
    """The commit after the first, where the first is the key and was not known here; it tells twins apart."""
    twin: str = ""
    """The folder of another repository that begins with the same commit and has nothing else in common, while the user
    was not told yet that the notes of both are kept apart."""
    twin_id: str = ""
    """The id of that."""
    maybe: str = ""
    """A folder that is gone and has notes, which this one may be under another name."""
    maybe_id: str = ""
    """The id of that."""


def resolve(cwd: Path, home: Home, git: Git | NoRepository) -> Workspace:
    """The workspace of a folder. Reads the aliases and what is known of this machine; writes nothing.

    Raises ConfigError when the alias file is broken, NotFound when the folder is gone.
    """
    if not cwd.is_dir():
        raise NotFound(f"There is no folder `{printable(str(cwd))}`", hint="name one that is there")
    known = _known(home)
    root = _root(cwd, git)
    before = known.roots.get(os.path.realpath(root))
    if isinstance(git, NoRepository) and git.reason != "none" and before and before in known.keys:
        # Git is there but does not answer: its repository keeps the id that it had.
        return Workspace(before, root.name or "root", root, False, known.origins[before], known.keys[before])
    origin, key = _identity(root, git)
    # Clones of a repository without a remote lie in folders of any name: only the commit tells that they are one.
    slug = "repo" if origin == "root-commit" else _slug(key.rstrip("/").rsplit("/", 1)[-1])
    made = f"{slug}-{_digest(f'{origin}:{key}')}"
    parted = _parted(known, git, root, key, made) if origin == "root-commit" and isinstance(git, Git) else _Parted(made)
    alias = _alias(home, (key, parted.id))
    ident = alias or parted.id
    taken = known.keys.get(ident)
    collision = Collision(taken, key) if taken and taken != key and not alias else None
    formers = () if alias else _formers(known, ident, before if before != ident else None)
    maybe = _maybe(known, home, ident, root) if origin == "path" and not alias and not formers else ""
    twin, twin_id = (parted.twin, made) if parted.twin and not alias else ("", "")
    name = _name(origin, key, root, git)
    return Workspace(
        ident, name, root, isinstance(git, Git), origin, key, collision, formers, parted.second, twin, twin_id,
        maybe, known.roots.get(maybe, ""),
    )  # fmt: skip


def remember(workspace: Workspace, home: Home, *, told: bool = False) -> bool:
    """Note which id this folder has, unless that is known or collides. False when nothing could be written.

    With `told`, also that the user knows of its twin.
    """
    if workspace.collision is not None:
        return False
    known = _known(home)
    root = os.path.realpath(workspace.root)
    place = _place(Path(root)) if workspace.origin == "path" else ""
    as_it_was = known.roots.get(root) == workspace.id and known.places.get(root, "").startswith(place)
    if as_it_was and known.keys.get(workspace.id) and not (told and workspace.twin):
        return True
    if known.newer:
        return False
    known.roots.pop(root, None)
    known.places.pop(root, None)
    if place:
        known.places[root] = place
    known.roots[root] = workspace.id
    known.keys.setdefault(workspace.id, workspace.key)
    known.origins.setdefault(workspace.id, workspace.origin)
    if workspace.second:
        known.seconds.setdefault(workspace.id, workspace.second)
    if told and workspace.twin:
        known.told.add(workspace.id)
    if workspace.formers:
        known.formers[workspace.id] = workspace.formers[0]
    if workspace.maybe_id:
        known.maybes[workspace.id] = workspace.maybe_id
    return _write(home.state / KNOWN_FILE, known)


def add_alias(home: Home, name: str, ident: str) -> bool:
    """Write a line of the alias file. False where that cannot be done, or would not say what is meant."""
    path = home.data / ALIAS_FILE
    if path.is_symlink():
        return False
    line = f'"{name}" = "{ident}"\n'
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8")
    except NotFound:
        text = ""
    except (UsageError, UnicodeDecodeError):
        return False
    head = re.search(r"^[ \t]*\[alias\][ \t]*(?:#.*)?(?:\n|\Z)", text, re.MULTILINE)
    begun = text if not text or text.endswith("\n") else text + "\n"
    wanted = f"{begun}[alias]\n{line}" if head is None else f"{text[: head.end()].rstrip()}\n{line}{text[head.end() :]}"
    try:
        if tomllib.loads(wanted)["alias"][name] != ident:
            return False
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        return False
    return _replace(path, wanted)


def names(home: Home) -> dict[str, str]:
    """For people: what a repository or folder is called, by the id that it has on this machine."""
    known = _known(home)
    found = {ident: printable(os.path.basename(root), 80) for root, ident in known.roots.items()}
    remote = {ident: key.rsplit("/", 1)[-1] for ident, key in known.keys.items() if known.origins[ident] == "remote"}
    return {ident: name for ident, name in (found | remote).items() if name}


@dataclass(frozen=True, slots=True)
class _Parted:
    """The id among those of repositories that begin with the same commit."""

    id: str
    second: str = ""
    twin: str = ""


def _parted(known: _Known, git: Git, root: Path, key: str, made: str) -> _Parted:
    """The id of a repository that is known by its first commit, which a template gives to many.

    Who came first on this machine has the id that all would have. A folder keeps what it had.
    """
    here = os.path.realpath(root)
    kin = {path: ident for path, ident in known.roots.items() if known.keys[ident] == key and path != here}
    first = next((path for path, ident in kin.items() if ident == made), "")
    before = known.roots.get(here)
    if before and known.keys.get(before) == key:
        return _Parted(before, twin=first if before != made and before not in known.told else "")
    second = git.second_commit()
    strangers = False
    for path, ident in kin.items():
        if os.path.isdir(path):
            if git.is_kin(Path(path)):
                return _Parted(ident, second)
            strangers = strangers or ident == made
        elif known.seconds.get(ident) and second:
            # It is gone, or has moved here: what it had tells.
            if known.seconds[ident] == second:
                return _Parted(ident, second)
            strangers = strangers or ident == made
    if not strangers:
        return _Parted(made, second)
    return _Parted(f"repo-{_digest(f'root-commit:{key}:{second}')}", second, first)


def normal_remote(url: str) -> str | None:
    """`host/path` of a remote, the same for every protocol and without credentials; None for a path on this machine."""
    url = url.strip()
    if "://" not in url:
        # host:path, as ssh takes it; one letter before the colon is a drive.
        match = re.fullmatch(r"(?:[^@/\s]+@)?(\[[0-9a-fA-F:]+\]|[^:/\s@]{2,}):(?!:)(\S.*)", url)
        if match is None:
            return None
        url = f"ssh://{match[1]}/{match[2].lstrip('/')}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    scheme = parts.scheme.removeprefix("git+")
    if scheme not in ("http", "https", "ssh", "git") or not host:
        return None
    host = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}.get(host, host)
    path = re.sub(r"/+", "/", unquote(parts.path)).strip("/")
    path = re.sub(r"\.git$", "", path, flags=re.IGNORECASE).strip("/")
    if not path:
        return None
    if host in _FOLDING_HOSTS:
        path = path.lower()
    # The port of ssh is only a way in; that of a web server tells servers apart.
    place = f"{host}:{port}" if port and scheme != "ssh" and port != _USUAL_PORTS.get(scheme) else host
    return f"{place}/{path}"


def _root(cwd: Path, git: Git | NoRepository) -> Path:
    if isinstance(git, Git):
        return git.repository.root or git.repository.git_dir
    real = Path(os.path.realpath(cwd))
    marks = _PROJECT_FILES if git.reason == "none" else (".git", *_PROJECT_FILES)
    device = real.stat().st_dev
    for folder in (real, *real.parents):
        with contextlib.suppress(OSError):
            status = folder.stat()
            # Above a mount or a folder that others own, a file could have been planted for everybody below.
            if folder != real and (not is_own(status) or status.st_dev != device):
                break
            for name in marks:
                if is_own((folder / name).lstat()):
                    return folder
    return cwd


def _identity(root: Path, git: Git | NoRepository) -> tuple[Origin, str]:
    if isinstance(git, Git):
        url = git.remote_url()
        if url and (remote := normal_remote(url)):
            return "remote", remote
        if commit := git.root_commit():
            return "root-commit", commit
        if git.repository.common_dir != git.repository.git_dir:
            # A linked work tree before the first commit: its repository is what all of them share.
            return "path", os.path.realpath(git.repository.common_dir.parent)
    return "path", os.path.realpath(root)


def _place(root: Path) -> str:
    """What a folder keeps when it is renamed; empty where it cannot be looked at."""
    try:
        status = os.stat(root)
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}:"


def _formers(known: _Known, ident: str, former: str | None) -> tuple[str, ...]:
    """All ids before this one, the latest first."""
    found: list[str] = []
    one = former or known.formers.get(ident)
    while one and one != ident and one not in found:
        found.append(one)
        one = known.formers.get(one)
    return tuple(found)


def _maybe(known: _Known, home: Home, ident: str, root: Path) -> str:
    """The folder without a repository that this one may be under another name: it is gone, notes of its id are there,
    and it had the same number on the same disk.

    Systems give the number of a deleted folder to a new one: nobody can be sure.
    """
    place, chosen = _place(root), known.maybes.get(ident)
    if not place or (chosen is None and os.path.realpath(root) in known.roots):
        return ""
    for path, former in reversed(known.roots.items()):
        moved = former != ident and chosen in (None, former) and known.places.get(path, "").startswith(place)
        kept = moved and (home.data / "memory" / "workspaces" / former).is_dir()
        if kept and not any(one == former and os.path.lexists(other) for other, one in known.roots.items()):
            return path
    return ""


def _name(origin: Origin, key: str, root: Path, git: Git | NoRepository) -> str:
    if origin == "remote":
        name = key.rsplit("/", 1)[-1]
    elif isinstance(git, Git) and git.repository.common_dir.name == ".git":
        name = git.repository.common_dir.parent.name
    else:
        name = root.name.removesuffix(".git")
    return printable(name, 80) or "root"


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "folder"


def _digest(key: str) -> str:
    return hashlib.blake2b(os.fsencode(key), digest_size=5).hexdigest()


def _alias(home: Home, names: tuple[str, ...]) -> str | None:
    path = home.data / ALIAS_FILE
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
        table = tomllib.loads(text).get("alias", {})
    except NotFound:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the file is not UTF-8", hint="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}", hint='write lines such as `"github.com/a/b" = "b-0123456789"`') from error
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: `alias` must be a table", hint="begin it with a line `[alias]`")
    aliases = cast("dict[str, Any]", table)
    found = next((aliases[name] for name in names if name in aliases), None)
    if found is not None and not (isinstance(found, str) and _ID.fullmatch(found)):
        raise ConfigError(
            f"{path}: `{printable(str(found), 60)}` is no id of a workspace", hint="small letters, digits and hyphens"
        )
    return found


@dataclass(slots=True)
class _Known:
    keys: dict[str, str]
    """By id: what it stands for."""
    origins: dict[str, Origin]
    roots: dict[str, str]
    """By folder: its id. The last used stand last."""
    seconds: dict[str, str] = field(default_factory=dict[str, str])
    """By id: the commit after the first, of who had it first."""
    told: set[str] = field(default_factory=set[str])
    """Ids of repositories whose twin the user knows of."""
    places: dict[str, str] = field(default_factory=dict[str, str])
    """By folder that is known by its path alone: `DEVICE:INODE:`, which it keeps when it is renamed."""
    formers: dict[str, str] = field(default_factory=dict[str, str])
    """By id: the one that its folder had before."""
    maybes: dict[str, str] = field(default_factory=dict[str, str])
    """By id: the one of the folder that its folder may have been, as it seemed at first sight."""
    newer: bool = False
    """Written by a newer Clew: read what is understood, write nothing."""


def _known(home: Home) -> _Known:
    try:
        found: Any = json.loads(read_regular(home.state / KNOWN_FILE, _MOST_BYTES))
        workspaces: dict[str, dict[str, Any]] = found["workspaces"]
        keys = {ident: str(row["key"]) for ident, row in workspaces.items() if _ID.fullmatch(ident)}
        origins: dict[str, Origin] = {ident: row["origin"] for ident, row in workspaces.items() if ident in keys}
        roots = {root: ident for root, ident in found["roots"].items() if ident in keys}
        seconds = {ident: str(row["second"]) for ident, row in workspaces.items() if ident in keys and "second" in row}
        told = {ident for ident, row in workspaces.items() if row.get("apart") is True}
        places = {root: str(place) for root, place in found.get("places", {}).items() if root in roots}
        formers = {str(ident): str(one) for ident, one in found.get("formers", {}).items() if _ID.fullmatch(str(one))}
        maybes = {str(ident): str(one) for ident, one in found.get("maybes", {}).items() if _ID.fullmatch(str(one))}
        return _Known(keys, origins, roots, seconds, told, places, formers, maybes, newer=found["format"] > _FORMAT)
    except (UsageError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Only a convenience: a damaged file is as good as none.
        return _Known({}, {}, {})


def _write(path: Path, known: _Known) -> bool:
    roots = dict(list(known.roots.items())[-_MOST_KNOWN:])
    rows: dict[str, dict[str, str | bool]] = {}
    for ident in dict.fromkeys(roots.values()):
        rows[ident] = {"key": known.keys[ident], "origin": known.origins[ident]}
        if second := known.seconds.get(ident):
            rows[ident]["second"] = second
        if ident in known.told:
            rows[ident]["apart"] = True
    places = {root: place for root, place in known.places.items() if root in roots}
    kept = {
        "format": _FORMAT, "workspaces": rows, "roots": roots, "places": places,
        "formers": dict(list(known.formers.items())[-_MOST_KNOWN:]),
        "maybes": dict(list(known.maybes.items())[-_MOST_KNOWN:]),
    }  # fmt: skip
    return _replace(path, json.dumps(kept, indent=1))


def _replace(path: Path, text: str) -> bool:
    """Write a file in one step. False where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True
