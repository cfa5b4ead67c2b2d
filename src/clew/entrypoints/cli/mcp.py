"""`clew mcp`."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.entrypoints.cli.stopping import Terminated
from clew.entrypoints.cli.texts import say

if TYPE_CHECKING:
    from clew.app import App
    from clew.entrypoints.mcp.desk import MemoryDesk

_DRAIN_SECONDS = 10.0


@click.command(
    "mcp",
    epilog="""\b
Examples:
  claude mcp add clew -- clew mcp
  codex mcp add clew -- clew mcp
  clew mcp --http --port 8765""",
)
@click.option("--http", "over_http", is_flag=True, help="Serve HTTP on this machine instead of stdin and stdout.")
@click.option("--host", metavar="HOST", help="With --http: 127.0.0.1, localhost or ::1.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="With --http: 0 takes a free one.  [default: 0]")
@click.option("--token-file", metavar="FILE", help="With --http: a file with the token, instead of Clew's own.")
@click.option("--workspace", metavar="DIR", help="The project of clients that name no roots.  [default: this folder]")
def mcp(over_http: bool, host: str | None, port: int | None, token_file: str | None, workspace: str | None) -> None:
    """Serve memory to agents over the Model Context Protocol.

    Four tools: memory_recall, memory_open, memory_note, memory_log. The project is the first root of the client that
    is a repository, else DIR. HTTP wants the token that the file named on stderr holds.
    """
    from clew.errors import UsageError

    folder = _folder(workspace)
    if not over_http:
        if host is not None or port is not None or token_file is not None:
            raise UsageError("--host, --port and --token-file belong to --http", hint="clew mcp --http")
        _serve_stdio(folder)
        return
    from clew.entrypoints.mcp.http import LOOPBACK

    if host is not None and host not in LOOPBACK:
        raise UsageError(f"`{host}` is not this machine", hint=f"one of: {', '.join(LOOPBACK)}")
    _serve_http(folder, host or "127.0.0.1", port or 0, token_file)


def _folder(workspace: str | None) -> Path:
    from clew.core.text.printable import printable
    from clew.errors import NotFound

    try:
        folder = Path.cwd() if workspace is None else Path(workspace).expanduser().absolute()
    except FileNotFoundError as error:
        raise NotFound("the current folder does not exist any more", hint="change to another folder") from error
    if not folder.is_dir():
        raise NotFound(f"There is no folder `{printable(str(folder))}`", hint="name the folder of a project")
    return folder


def _serve_stdio(folder: Path) -> None:
    from clew.entrypoints.mcp.stdio import serve_stdio
    from clew.errors import UsageError

    if sys.stdin is None:
        raise UsageError("stdin is closed", hint="agents start this command themselves; or use --http")
    if sys.stdin.isatty():
        from clew.app import App

        click.echo(say("mcp.waiting", App.here().locale), err=True)
    desk, name = _desk(folder)
    with contextlib.closing(desk):
        _end(serve_stdio(desk, name()))


def _serve_http(folder: Path, host: str, port: int, token_file: str | None) -> None:
    from clew.core.text.printable import printable
    from clew.entrypoints.mcp.ending import run_until_stopped
    from clew.entrypoints.mcp.http import Door
    from clew.entrypoints.mcp.token import own_token, read_token
    from clew.errors import UsageError

    app = _application()(folder)
    path = Path(token_file).expanduser().absolute() if token_file else app.home.state / "mcp.token"
    token = read_token(path) if token_file else own_token(path)
    desk, name = _desk(folder)
    try:
        door = Door(desk, host, port, token, name)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used: {error.strerror}", hint="--port 0 takes a free one") from error
    click.echo(say("mcp.serving", app.locale, door.url, printable(str(path))), err=True)
    with contextlib.closing(desk), door:
        number = run_until_stopped(lambda: door.serve_forever(poll_interval=0.2))
        door.shutdown()
        door.drain(_DRAIN_SECONDS)
    _end(number)


def _end(number: int) -> None:
    """End as whoever is stopped by this signal does; 0 is none."""
    if number:
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _application() -> Callable[[Path], App]:
    """Makes the application for a folder, anew for each call: a branch changes while a server runs."""

    def made(folder: Path) -> App:
        from clew.app import App, environment

        return App(environment(), folder, {})

    return made


def _desk(folder: Path) -> tuple[MemoryDesk, Callable[[], str]]:
    """Who serves the tools, and what makes the names of sessions in the audit trail."""
    import secrets

    from clew.entrypoints.mcp.desk import MemoryDesk

    return MemoryDesk(_application(), folder), lambda: f"mcp-{secrets.token_hex(4)}"
