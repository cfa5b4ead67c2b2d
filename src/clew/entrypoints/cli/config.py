"""`clew config` and `clew init`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from clew.app import App
from clew.core.agent.servers import ServerEntry
from clew.core.text.printable import printable
from clew.entrypoints.cli.files_zh import commented
from clew.entrypoints.cli.style import apply_color, aside, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import NotFound, Refused, StoreError
from clew.settings import PROJECT_FILES, init_file
from clew.settings_keys import KEYS, nearest


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  clew config
  clew config get max_tokens
  clew config path
  clew config --json""",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def config(ctx: click.Context, as_json: bool) -> None:
    """Show each setting and where its value comes from.

    A flag beats the environment, the environment the project's file, that the user's file, that the default.
    """
    if ctx.invoked_subcommand is not None:
        return
    app = App.here()
    apply_color(app)
    loaded = app.loaded
    for notice in loaded.notices:
        aside(say("note", app.language) + translated(printable(notice), app.language))
    if as_json:
        rows = {name: {"value": plain(one.value), "origin": one.origin} for name, one in loaded.origins.items()}
        line(json_line({"settings": rows, "files": list(map(str, loaded.files))}))
        return
    width = max(map(len, KEYS))
    for name in KEYS:
        one = loaded.origins[name]
        origin = pale(f"({one.origin})") if one.origin == "default" else f"({one.origin})"
        line(f"{name:<{width}}  {shown(one.value)}  {origin}")


@config.command("get")
@click.argument("key", shell_complete=lambda _c, _p, start: [name for name in KEYS if name.startswith(start)])
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def get(key: str, as_json: bool) -> None:
    """Print the value of one setting and nothing else."""
    if key not in KEYS:
        raise NotFound(f"there is no setting `{printable(key, 60)}`", hint=nearest(key, KEYS))
    one = App.here().loaded.origins[key]
    if as_json:
        line(json_line({"key": key, "value": plain(one.value), "origin": one.origin}))
    else:
        line(shown(one.value))


@config.command("path")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def path(as_json: bool) -> None:
    """Print the files that settings are read from: the project's, then the user's."""
    app = App.here()
    files = {"project": _project_file(app.workspace.root), "user": app.home.config_file}
    if as_json:
        rows = {name: {"path": str(file), "exists": file.is_file()} for name, file in files.items()}
        line(json_line(rows))
        return
    # Not from the settings: this command must answer also where a file is broken.
    for name, file in files.items():
        missing = "" if file.is_file() else f"  ({say('config.missing', app.locale)})"
        line(f"{say(f'config.{name}', app.locale)}  {printable(str(file))}{missing}")


@click.command(
    epilog="""\b
Examples:
  clew init
  clew init --force"""
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def init(force: bool, as_json: bool) -> None:
    """Write a commented .clew.yaml at the top of this workspace, every setting with its default.

    It asks nothing, and never touches a file that is there unless --force is given.
    """
    app = App.here()
    target = app.workspace.root / PROJECT_FILES[0]
    existing = [name for name in PROJECT_FILES if os.path.lexists(app.workspace.root / name)]
    if existing and not force:
        raise Refused(f"{existing[0]} is there already", hint="`clew init --force` replaces it", path=str(target))
    write_whole(target, commented(init_file(), app.locale))
    if as_json:
        line(json_line({"path": str(target), "replaced": PROJECT_FILES[0] in existing}))
        return
    name = "init.replaced" if PROJECT_FILES[0] in existing else "init.wrote"
    line(say(name, app.locale, printable(str(target))))


def write_whole(target: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it. Raises StoreError."""
    name = ""
    try:
        descriptor, name = tempfile.mkstemp(prefix=target.name, dir=target.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise StoreError(
            f"{printable(str(target))} cannot be written: {error.strerror}",
            hint="check that the folder is writable and the disk is not full",
        ) from error


def plain(value: Any) -> Any:
    """A value of the settings as JSON knows it; what may hold a key is left out."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        value = {name: one.shown if isinstance(one, ServerEntry) else one for name, one in pairs.items()}
    return msgspec.to_builtins(value)


def shown(value: Any) -> str:
    """A value on one line: text and numbers as they are, everything else as JSON."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return json.dumps(plain(value), ensure_ascii=False)


def _project_file(root: Path) -> Path:
    return next((root / name for name in PROJECT_FILES if os.path.lexists(root / name)), root / PROJECT_FILES[0])
