"""`clew models`."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import click

from clew.adapters.models.catalogue import ModelStatus
from clew.app import App
from clew.entrypoints.cli.style import apply_color, aside, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated

_MOST_NAMES = 20


@click.command(
    epilog="""\b
Examples:
  clew models
  clew models --json
  CLEW_MODEL=ollama:qwen3 clew ask "what is left to do?\""""
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def models(as_json: bool) -> None:
    """List the models that are usable here, and why others are not.

    Nothing is asked over the network but an Ollama server, at the address that is configured for it.
    """
    app = App.here()
    apply_color(app)
    states = app.catalogue.list()
    chosen = app.loaded.origins["model"]
    default = None if chosen.value is None else {"name": chosen.value, "origin": chosen.origin}
    user_file = str(app.home.config_file)
    if as_json:
        rows = [
            {
                "name": one.name, "usable": one.usable, "why": one.why, "key": one.key or None,
                "endpoint": public_url(one.endpoint) or None, "models": list(one.models),
                "default": default is not None and is_default(one, str(default["name"])),
            }
            for one in states
        ]  # fmt: skip
        line(json_line({"default": default, "models": rows}))
        return
    language = app.language
    for one in states:
        marked = default is not None and is_default(one, str(default["name"]))
        for row in _lines(one, language, marked=marked):
            line(row)
    origin = say("models.default", language, chosen.origin) if chosen.value else say("models.unset", language)
    line(f"* {chosen.value or say('models.none', language)}  {pale(f'({origin})')}")
    aside(say("models.choose", language, user_file))


def is_default(state: ModelStatus, chosen: str) -> bool:
    """Whether the chosen model belongs to this row."""
    provider = chosen.partition(":")[0].lower()
    return state.name.partition(":")[0] == ("embedded" if provider == "local" else provider)


def public_url(url: str) -> str:
    """The address without user, password, query and fragment."""
    if not url:
        return ""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def _lines(one: ModelStatus, language: str, *, marked: bool) -> Iterator[str]:
    """The state of a provider, and below it where it is reached and with what key."""
    state = say("models.usable" if one.usable else "models.unusable", language)
    shown = click.style(state, fg="green") if one.usable else pale(state)
    why = pale("  " + translated(one.why, language)) if one.why else ""
    yield f"{'*' if marked else ' '} {one.name:<12} {shown}{why}"
    facts = [public_url(one.endpoint), say("models.key", language, one.key) if one.key else ""]
    if any(facts):
        yield f"{'':<15}{pale(' · '.join(filter(None, facts)))}"
    for name in one.models[:_MOST_NAMES]:
        yield f"{'':<15}{name}"
