"""`clew doctor`."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import click

from clew.adapters.models.catalogue import Catalogue
from clew.app import App
from clew.entrypoints.cli.style import apply_color, aside, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import ClewError
from clew.services.doctor import Finding, examine, models

_WIDTH = {"en": 5, "zh": 2}
"""Characters of the longest state."""
_COLOR = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(
    epilog="""\b
Examples:
  clew doctor
  clew doctor --json"""
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def doctor(as_json: bool) -> None:
    """Try the real thing end to end, and say what works.

    Asks questions in a scratch folder with a home of its own, which are gone afterwards. Your files are not touched
    and nothing goes over the network. The status is 1 when something fails.
    """
    app = App.here()
    found: list[Finding] = []
    language = app.locale
    for finding in _findings(app):
        found.append(finding)
        if not as_json:
            _print(finding, language)
    counts = Counter(one.status for one in found)
    if as_json:
        line(json_line({"ok": not counts["fail"], "findings": [asdict(one) for one in found]}))
    else:
        aside(say("doctor.summary", language, counts["ok"], counts["warn"], counts["fail"]))
    if counts["fail"]:
        click.get_current_context().exit(1)


def _findings(app: App) -> Iterator[Finding]:
    try:
        settings = app.loaded.settings
        apply_color(app)
        files = ", ".join(map(str, app.loaded.files))
        yield Finding("configuration", "ok", files)
    except ClewError as error:
        settings = None
        yield Finding("configuration", "fail", "", str(error), error.hint)
    yield from examine(app.environ, app.home, app.locale)
    if settings is not None:
        catalogue = Catalogue(
            app.environ, default=settings.model, endpoints=settings.endpoints, timeout=settings.timeout
        )
        yield models(catalogue, settings.model)
    yield _terminal()


def _terminal() -> Finding:
    encoding = (sys.stdout.encoding or "").lower()
    columns = shutil.get_terminal_size().columns
    if not sys.stdout.isatty():
        return Finding("terminal", "ok", f"none: stdout is a pipe or a file, {encoding}")
    if columns < 60:
        return Finding("terminal", "warn", f"{columns} columns", "tables need 60 columns", "make the window wider")
    return Finding("terminal", "ok", f"{columns} columns, {encoding}")


def _print(one: Finding, language: str) -> None:
    state = click.style(say(f"doctor.{one.status}", language).ljust(_WIDTH[language]), fg=_COLOR[one.status])
    what = f"  {pale(translated(one.what, language))}" if one.what else ""
    line(f"{state}  {say(f'doctor.{one.name}', language)}{what}")
    if one.cause:
        line(f"    {say('doctor.cause', language, translated(one.cause, language))}")
    if one.fix:
        line(f"    {say('doctor.fix', language, translated(one.fix, language))}")
