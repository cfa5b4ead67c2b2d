"""`clew eval`: measure on labelled files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import click

from clew.app import App
from clew.entrypoints.cli.files_zh import commented
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.style import aside, json_line, padded, width
from clew.entrypoints.cli.texts import TEXTS, say
from clew.entrypoints.cli.wording import translated
from clew.errors import UsageError
from clew.services.eval.template import TEMPLATES

WORST = 10
"""Items that a table shows."""
FILE = click.Path(path_type=Path)


@click.group(
    "eval",
    epilog="\b\nExamples:\n  clew eval init team.jsonl --for context\n  clew eval context team.jsonl",
)
def eval_() -> None:
    """Measure on labelled files.

    Each measurement prints a table with the worst items, or with --json one object. `clew eval init` writes a
    commented template for your own questions.
    """


def _measured(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.argument("file", type=FILE),
        click.option("--min", "least", multiple=True, metavar="METRIC=VALUE",
                     help="Exit status 1 where a figure is lower; dots lead into it: recall.5=0.9. Repeatable."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    ):  # fmt: skip
        command = option(command)
    return command


def _on_repositories(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--repos", type=FILE, required=True, metavar="DIR",
                     help="Git directories: owner+name/repo, owner+name, owner/name or name; bare or not."),
        click.option("--scratch", type=FILE, metavar="DIR", help="Where indexes are kept.  [default: the cache]"),
    ):  # fmt: skip
        command = option(command)
    return command


@eval_.command(epilog="\b\nExample:\n  clew eval modes questions.jsonl --min accuracy=0.9")
@_measured
def modes(file: Path, least: Sequence[str], as_json: bool) -> None:
    """How often the mode decision agrees with labelled questions."""
    from clew.services.eval.modes import COSTS, evaluate_modes

    language, bounds = App.here().locale, _bounds(least)
    result = evaluate_modes(file)
    costs = {(ideal.value, got.value): cost for (ideal, got), cost in COSTS.items()}
    wrong = [item for item in result.items if item.got != item.ideal]
    wrong.sort(key=lambda item: -costs.get((item.ideal, item.got), 0))
    rows = [(item.id, f"{item.ideal} → {item.got}", item.reason) for item in wrong]
    heads = ("eval.id", "eval.decided", "eval.reason")
    _close(asdict(result), bounds, rows, heads, language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval ask questions.jsonl --repos ~/src --min covered=0.6")
@_measured
@_on_repositories
@click.option("--budget", type=click.IntRange(500), default=8000, show_default=True, metavar="N",
              help="Tokens of the prompt and its answer.")  # fmt: skip
@click.option("--elsewhere", is_flag=True, help="Also put each question to another repository: absent_told.")
def ask(
    file: Path, least: Sequence[str], as_json: bool, repos: Path, scratch: Path | None, budget: int, elsewhere: bool
) -> None:
    """How often the context of a question about a repository holds the passages that answer it."""
    from clew.services.eval.ask import ABSENT, evaluate_ask
    from clew.services.eval.repositories import Repositories

    app, bounds = App.here(), _bounds(least)
    states = Repositories(repos, scratch or app.home.cache / "eval", app.environ)
    with bar(app.language, _items(app.language)) as progress:
        result = evaluate_ask(
            file, states, datetime.now().astimezone(), budget=budget, elsewhere=elsewhere, progress=progress
        )
    _tell(result.notices, app.language)
    bad = [item for item in result.items if (item.found if item.kind == ABSENT else not item.covered)]
    bad.sort(key=lambda item: (item.need_share, item.files_at_5))
    unmatched, present = say("eval.unmatched", app.language), say("eval.found", app.language)
    rows = [
        (item.id, item.mode, unmatched if not item.found else item.missing[0] if item.missing else present)
        for item in bad
    ]
    heads = ("eval.id", "eval.mode", "eval.first-missing")
    _close(asdict(result), bounds, rows, heads, app.language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval locate commits.jsonl --repos ~/src --min recall.5=0.88")
@_measured
@_on_repositories
def locate(file: Path, least: Sequence[str], as_json: bool, repos: Path, scratch: Path | None) -> None:
    """Whether the words of a commit lead to the files that it changed."""
    from clew.services.eval.locate import evaluate_locate
    from clew.services.eval.repositories import Repositories

    app, bounds = App.here(), _bounds(least)
    states = Repositories(repos, scratch or app.home.cache / "eval", app.environ)
    with bar(app.language, _items(app.language)) as progress:
        result = evaluate_locate(file, states, progress)
    _tell(result.notices, app.language)
    bad = sorted((item for item in result.items if item.recall(5) < 1), key=lambda item: item.recall(10))
    rows = [(item.id, f"{item.recall(5):.2f}", ", ".join(item.gold), ", ".join(item.ranked[:2])) for item in bad]
    heads = ("eval.id", "eval.in-five", "eval.changed", "eval.first-two")
    _close(asdict(result), bounds, rows, heads, app.language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval locomo locomo10.json --min recall.10=0.79")
@_measured
def locomo(file: Path, least: Sequence[str], as_json: bool) -> None:
    """Whether the search finds the turns of long conversations that hold what a question asks for.

    FILE is in the format of the LoCoMo benchmark; it is read and not kept.
    """
    from clew.services.eval.locomo import evaluate_locomo

    app, bounds = App.here(), _bounds(least)
    with bar(app.language, _items(app.language)) as progress:
        result = evaluate_locomo(file, progress)
    bad = sorted((item for item in result.items if item.recall(10) < 1), key=lambda item: item.recall(25))
    rows = [(item.id, item.category, item.question, ", ".join(item.gold)) for item in bad]
    heads = ("eval.id", "eval.category", "eval.question", "eval.evidence")
    _close(asdict(result), bounds, rows, heads, app.language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval context questions.jsonl --min hit_rate=0.8")
@_measured
@click.option("--budget", type=click.IntRange(500), metavar="N", help="Tokens of the prompt and its answer.")
def context(file: Path, least: Sequence[str], as_json: bool, budget: int | None) -> None:
    """Hit rate and redundancy of the context of your own questions, in the folders they are asked in."""
    from clew.services.context import Wish, gather
    from clew.services.eval.context import evaluate_context

    here, bounds, clock = App.here(), _bounds(least), datetime.now().astimezone()

    def gathered(question: str, folder: Path) -> Any:
        app = App(here.environ, folder, {} if budget is None else {"max_tokens": budget})
        settings = app.loaded.settings
        wish = Wish(
            question, context=True, model=settings.model or "", max_tokens=settings.max_tokens,
            answer=settings.answer_room, style=settings.style, language=app.language, weights=settings.weights,
            anchors=tuple((anchor.path, anchor.weight) for anchor in settings.anchors), ignore=settings.ignore,
            shell_history=settings.shell_history,
        )  # fmt: skip
        return gather(wish, app.place, (), clock)

    with bar(here.language, _items(here.language)) as progress:
        result = evaluate_context(file, gathered, progress)
    bad = sorted((item for item in result.items if not item.hit), key=lambda item: -len(item.missing))
    rows = [(item.id, item.mode, item.question, ", ".join(item.missing)) for item in bad]
    heads = ("eval.id", "eval.mode", "eval.question", "eval.missing")
    _close(asdict(result), bounds, rows, heads, here.language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval redact secrets.jsonl --output redacted.jsonl --min gone=0.95")
@_measured
@click.option("--output", type=FILE, metavar="OUT", help='Write a line {"id", "output"} for each text.')
def redact(file: Path, least: Sequence[str], as_json: bool, output: Path | None) -> None:
    """How many secrets of labelled texts are gone, and what else went with them."""
    from clew.services.eval.redact import evaluate_redact

    language, bounds = App.here().locale, _bounds(least)
    result = evaluate_redact(file, output)
    bad = sorted((item for item in result.items if item.left or item.alarm), key=lambda item: -len(item.left))
    rows = [(item.id, ", ".join(item.left), ", ".join(item.removed)) for item in bad]
    heads = ("eval.id", "eval.left", "eval.removed")
    _close(asdict(result), bounds, rows, heads, language, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval recall notes/ --memories memories_when --min messages.precision=0.8")
@_measured
@click.option("--memories", default="memories", show_default=True, metavar="NAME", help="Folder of the notes in it.")
@click.option("--today", metavar="DATE", help="The day that decides what has expired: 2026-06-15.  [default: today]")
@click.option("--engine", type=click.Choice(["best", "e5", "static"]), default="best", show_default=True,
              help="Which embedding judges.")  # fmt: skip
def recall(file: Path, least: Sequence[str], as_json: bool, memories: str, today: str | None, engine: str) -> None:
    """Which notes of a folder come to mind for labelled messages and conversations.

    FILE is a folder with `memories/*.md`, `messages.jsonl` and, if there are any, `conversations.jsonl`.
    """
    from clew.services.eval.recall import evaluate_recall

    app, bounds = App.here(), _bounds(least)
    day = today or datetime.now().astimezone().date().isoformat()
    names = ("e5", "static") if engine == "best" else (engine,)
    with bar(app.locale, _items(app.locale)) as progress:
        result = evaluate_recall(file, day, memories=memories, engines=names, progress=progress)
    bad = [item for item in result.items if item.wrong or item.missed]
    bad.sort(key=lambda item: (-len(item.harmful), -len(item.wrong), -len(item.missed)))
    rows = [(item.id, item.text, ", ".join(item.wrong), ", ".join(item.missed)) for item in bad]
    heads = ("eval.id", "eval.message", "eval.wrong", "eval.missed")
    _close(asdict(result), bounds, rows, heads, app.locale, as_json=as_json)


@eval_.command(epilog="\b\nExample:\n  clew eval stories stories/ --min hint=0.85 --min either=0.92")
@_measured
def stories(file: Path, least: Sequence[str], as_json: bool) -> None:
    """What the next window knows of stories that go over several windows: in its hint, or one recall away.

    FILE is a folder with a JSON file for each story. No model is called.
    """
    from clew.services.eval.stories import evaluate_stories

    app, bounds = App.here(), _bounds(least)
    with bar(app.locale, _items(app.locale)) as progress:
        result = evaluate_stories(file, progress)
    bad = sorted((item for item in result.items if item.missing), key=lambda item: -len(item.missing))
    rows = [(item.story, item.where, item.ask, ", ".join(item.missing)) for item in bad]
    _close(
        asdict(result),
        bounds,
        rows,
        ("eval.id", "eval.where", "eval.question", "eval.missing"),
        app.locale,
        as_json=as_json,
    )


@eval_.command(epilog="\b\nExample:\n  clew eval init team-questions.jsonl --for context")
@click.argument("file", type=FILE, default="questions.jsonl")
@click.option("--for", "purpose", type=click.Choice(list(TEMPLATES)), default="context", show_default=True,
              help="Which measurement it is for.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def init(file: Path, purpose: str, force: bool, as_json: bool) -> None:
    """Write a commented template for your own questions to FILE (default questions.jsonl)."""
    language, replaced = App.here().locale, file.is_file()
    try:
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(commented(TEMPLATES[purpose], language))
    except FileExistsError:
        raise UsageError(f"{file} is there already", hint="name another file, or use --force") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", hint="name another file") from error
    if as_json:
        row = {"path": str(file.absolute()), "for": purpose, "replaced": replaced}
        click.echo(json_line(row))
        return
    click.echo(say("eval.wrote", language, file, purpose, file))


def _bounds(least: Sequence[str]) -> list[tuple[str, float]]:
    """Read before anything is measured, so that a slip costs no time."""
    bounds: list[tuple[str, float]] = []
    for given in least:
        name, _, value = given.partition("=")
        try:
            bounds.append((name.strip(), float(value)))
        except ValueError:
            raise UsageError(f"`--min {given}` is not METRIC=VALUE", hint="--min recall.5=0.88") from None
    return bounds


def _close(
    result: Mapping[str, Any],
    bounds: Sequence[tuple[str, float]],
    rows: Sequence[Sequence[str]],
    heads: Sequence[str],
    language: str,
    *,
    as_json: bool,
) -> None:
    """Print the result; `heads` are ids of texts. Exit status 1 where it falls short of a bound.

    Raises UsageError for a metric that is none.
    """
    measured = [(name, _figure(result, name), value) for name, value in bounds]
    if as_json:
        click.echo(json_line(result))
    else:
        for line in _table(result, rows, [say(head, language) for head in heads], language):
            click.echo(line)
    short = [(name, f"{got:g}", f"{value:g}") for name, got, value in measured if got < value]
    for one in short:
        click.echo(say("eval.below", language, *one), err=True)
    if short:
        raise SystemExit(1)


def _figure(result: Mapping[str, Any], name: str) -> float:
    found: Any = result
    rest = name
    while isinstance(found, Mapping) and rest:
        inner = cast("Mapping[str, Any]", found)
        # Names of repositories hold dots themselves.
        key = next((key for key in inner if rest == key or rest.startswith(f"{key}.")), None)
        if key is None:
            raise UsageError(f"`{name}` is not measured here", hint=f"one of {', '.join(_names(result))}")
        found, rest = inner[key], rest[len(key) + 1 :]
    if rest or isinstance(found, bool) or not isinstance(found, int | float):
        raise UsageError(f"`{name}` is no figure", hint=f"one of {', '.join(_names(result))}")
    return float(found)


def _names(result: Mapping[str, Any], before: str = "") -> Iterable[str]:
    for key, value in result.items():
        if isinstance(value, Mapping):
            yield from _names(cast("Mapping[str, Any]", value), f"{before}{key}.")
        elif isinstance(value, int | float):
            yield f"{before}{key}"


def _table(
    result: Mapping[str, Any], rows: Sequence[Sequence[str]], heads: Sequence[str], language: str
) -> Iterable[str]:
    plain = [(name, f"{value:g}") for name, value in result.items() if isinstance(value, int | float)]
    yield from _aligned(plain)
    for name, value in result.items():
        if isinstance(value, Mapping):
            yield ""
            yield from _split(name, cast("Mapping[str, Any]", value))
    if rows:
        counts, many = (len(rows), len(result["items"])), len(rows) > WORST
        yield ""
        yield say("eval.worst", language, *counts, WORST) if many else say("eval.short", language, *counts)
        yield from _aligned([heads, *rows[:WORST]])


def _split(name: str, parts: Mapping[str, Any]) -> Iterable[str]:
    """A line for each part, a column for each figure; one line where the figures are not split any further."""
    if not all(isinstance(part, Mapping) for part in parts.values()):
        parts = {"": parts}
    flat = {part: {column: _figure(figures, column) for column in _names(figures)} for part, figures in parts.items()}
    columns = list(dict.fromkeys(column for figures in flat.values() for column in figures))
    cells = [[part, *(f"{figures[column]:g}" for column in columns)] for part, figures in flat.items()]
    return _aligned([[name, *columns], *cells])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    shown = [[_short(cell) for cell in row] for row in rows]
    widths = [max(width(row[at]) for row in shown) for at in range(len(shown[0]))] if shown else []
    for row in shown:
        yield "  ".join(padded(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip()


def _short(cell: str) -> str:
    flat = " ".join(cell.split())
    return flat if len(flat) <= 72 else flat[:71] + "…"


def _tell(notices: Sequence[str], language: str) -> None:
    for notice in notices:
        aside(say("note", language) + translated(notice, language))


def _items(language: str) -> str:
    """What a bar says, with its two places for numbers."""
    return TEXTS["eval.items"][language == "zh"]
