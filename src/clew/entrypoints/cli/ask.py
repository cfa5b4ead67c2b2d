"""`clew ask` and `clew context`."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from io import BufferedReader
from typing import Any, BinaryIO, cast

import click
from click.shell_completion import CompletionItem

from clew.adapters.git import Git
from clew.adapters.sources.git_state import missing_git
from clew.app import App
from clew.core.context.fragment import Exchange
from clew.core.context.mode import Mode
from clew.core.ports import Model
from clew.core.text.printable import counted, printable
from clew.entrypoints.cli.page import Page, space
from clew.entrypoints.cli.progress import bar
from clew.entrypoints.cli.remembering import tell_place
from clew.entrypoints.cli.stopping import stop_status, undisturbed
from clew.entrypoints.cli.style import apply_color, aside, data, folded, json_line, line, pale
from clew.entrypoints.cli.texts import say
from clew.entrypoints.cli.wording import translated
from clew.errors import ModelError, ModelKeyMissing, StoreError, StoreTooNew, UsageError
from clew.services.ask import Answer, Threads, earlier, keep, stream_answer
from clew.services.context import Gathered, Wish, gather
from clew.services.notices import WITHOUT_TABLE
from clew.services.relevance import lacks_table
from clew.stores.exchanges import ExchangeStore

Stopped = ModelError | KeyboardInterrupt | OSError
"""What may end an answer early: the model, the user, or that nobody reads it any more."""
_PATIENCE = 30.0
"""Seconds that a pipe on standard input may stay silent before the question is asked without it, which is said."""
_QUIET_WAIT = 1.0
"""Seconds before the user is told what is waited for."""


def _providers(_ctx: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """What a name of a model may begin with."""
    known = ("anthropic:", "openai:", "ollama:", "claude", "codex", "opencode", "pi", "embedded")
    return [name for name in known if name.startswith(start)]


def _files(_ctx: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(start, type="file")]


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Arguments and options that both commands share, in the order in which they are read."""
    # A decorator that is applied later stands further in front.
    for option in reversed(
        (
            click.argument("question", required=False),
            click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=_files),
            click.option("--no-context", is_flag=True, help="Gather no context; attached files still go along."),
            click.option("--no-cache", is_flag=True, help="Search anew, also where nothing has changed since."),
            click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Decide the mode yourself."),
            click.option("--max-tokens", type=int, metavar="N", help="Tokens of the prompt and its answer."),
            click.option("--style", type=click.Choice(["auto", "code", "writing", "newcomer"]), help="How to answer."),
            click.option(
                "--model",
                metavar="PROVIDER:NAME",
                shell_complete=_providers,
                help="The model; its tokenizer counts.  [env: CLEW_MODEL]",
            ),
            click.option("--new", is_flag=True, help="Start afresh: earlier exchanges stay out."),
            click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
        )
    ):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Examples:
  clew ask "why does the retry test time out?"
  clew ask "is this safe?" src/app.py 'tests/**/*.py'
  git diff | clew ask "what does this break?"
  clew ask --preview "how is the cache keyed?\""""
)
@_options
@click.option("--preview", is_flag=True, help="Show what would be sent, and stop.")
@click.option("--debug", is_flag=True, help="Print the whole prompt exactly as it is sent.")
@click.option("-v", "--verbose", is_flag=True, help="Also say what every source took and what the model used.")
@click.option("-q", "--quiet", is_flag=True, help="No report line.")
def ask(preview: bool, debug: bool, verbose: bool, quiet: bool, **given: Any) -> None:
    """Answer QUESTION from the right context of this folder.

    Text on stdin and FILEs are explicit context: they always go along, whole. The report on stderr says what was used.
    Without a model the best passages are the answer.
    """
    app, wish, model = _prepared(given, asks=not preview)
    language, as_json = app.language, given["as_json"]
    with _history(app) as store:
        thread = _thread(app, store, new=given["new"])
        gathered = _gather(app, wish, earlier(store, app.workspace.id, thread) if store else ())
        _notices(app, *(store.notices if store else ()), *_without_git(app, wish), *_without_table(), *gathered.notices)
        if not quiet and not as_json:
            aside(pale(folded(gathered.snapshot.report.one_line(language, gathered.reason))))
        if preview:
            if debug:
                data(gathered.snapshot.text(), err=as_json)
            _preview(gathered, language, as_json=as_json, quiet=debug)
            return
        answer = Answer()
        _injected(app, wish, gathered, "the prompt" if model else "an answer without a model")
        try:
            if debug:
                with contextlib.suppress(OSError):
                    data(gathered.snapshot.text(), err=True)
            stopped = _stream(gathered, model, answer, wish.answer, as_json=as_json)
        finally:
            # Kept before another word is printed: whoever reads us may have gone, and the terminal with it.
            with undisturbed():
                told = _kept(app, store, thread, wish, gathered, answer)
    if told:
        aside(told)
    _close(gathered, answer, stopped, language, as_json=as_json, verbose=verbose)


@click.command(
    epilog="""\b
Examples:
  clew context "how is the cache keyed?" | pbcopy
  clew context "what breaks if I rename this?" src/app.py --max-tokens 16000"""
)
@_options
def context(**given: Any) -> None:
    """Print the assembled prompt for QUESTION, for use with any other tool. The report goes to stderr."""
    app, wish, _ = _prepared(given, asks=False)
    with _history(app) as store:
        thread = _thread(app, store, new=given["new"])
        gathered = _gather(app, wish, earlier(store, app.workspace.id, thread) if store else ())
        _notices(app, *(store.notices if store else ()), *_without_git(app, wish), *_without_table(), *gathered.notices)
    _injected(app, wish, gathered, "the prompt that `clew context` prints")
    report = gathered.snapshot.report
    if given["as_json"]:
        messages = [{"role": m.role, "blocks": list(m.blocks)} for m in gathered.snapshot.messages()]
        row = {"prompt": gathered.snapshot.text(), "messages": messages, "report": report.to_json()}
        line(json_line(row))
        return
    aside(pale(folded(report.one_line(app.language, gathered.reason))))
    data(gathered.snapshot.text())


def _prepared(given: dict[str, Any], *, asks: bool) -> tuple[App, Wish, Model | None]:
    """What a command needs. Where no model is asked, its key may be missing: its tokens are counted without."""
    flags = {"max_tokens": given["max_tokens"], "style": given["style"], "model": given["model"]}
    if given["no_context"]:
        if given["mode"] not in (None, Mode.MINIMAL.value):
            raise UsageError(
                f"`--no-context` and `--mode {given['mode']}` contradict each other", hint="leave one of them out"
            )
        flags["context"] = False
    if given["no_cache"]:
        flags["cache"] = False
    app = App.here({key: value for key, value in flags.items() if value is not None})
    # The settings and the model go first: nobody should wait for a pipe to learn of a slip of the pen.
    apply_color(app)
    model = None
    try:
        model = app.model()
    except ModelKeyMissing:
        if asks:
            raise
    question = (given["question"] or "").strip()
    stdin = _piped(app.language, asked=bool(question), named="-" in given["files"])
    if not question and not given["files"] and stdin is None:
        raise UsageError("there is no question", hint='clew ask "why does the retry test time out?"')
    mode = Mode(given["mode"]) if given["mode"] else None
    if app.loaded.settings.memory_scope != "none":
        tell_place(app)
    return app, app.wish(question, given["files"], stdin, mode), model


def _kept(app: App, store: ExchangeStore | None, thread: str, wish: Wish, gathered: Gathered, answer: Answer) -> str:
    """Keep the exchange. Why that could not be, as a line for the user: the answer is there, so it is no failure."""
    if store is None:
        return ""
    try:
        keep(store, app.workspace.id, thread, wish.question, gathered, answer, datetime.now().astimezone())
    except StoreError as error:
        return say("note", app.language) + say("ask.not-kept", app.language, translated(str(error), app.language))
    return ""


def _injected(app: App, wish: Wish, gathered: Gathered, where: str) -> None:
    """Leave in the trail which notes go along."""
    kept = [one for one in gathered.snapshot.report.kept if one.source == "memory"]
    if kept:
        lines = sum(one.form == "line" for one in kept)
        reason = f"into {where}: {counted(lines, 'hint')}, {counted(len(kept) - lines, 'passage')}"
        refs = tuple(one.ref for one in kept)
        app.audit.write("injection", refs=refs, query=wish.question, workspace=app.workspace.id, reason=reason)


def _gather(app: App, wish: Wish, exchanges: Sequence[Exchange]) -> Gathered:
    with bar(app.language) as progress:
        return gather(wish, app.place, exchanges, datetime.now().astimezone(), progress)


@contextlib.contextmanager
def _history(app: App) -> Iterator[ExchangeStore | None]:
    """The history, or None, with a note, where it cannot be opened: a question needs no history."""
    try:
        store = app.exchanges()
    except StoreError as error:
        language, why, hint = app.language, translated(str(error), app.language), translated(error.hint, app.language)
        newer = isinstance(error, StoreTooNew)
        aside(say("note", language) + say("ask.newer-history" if newer else "ask.not-kept", language, why, hint))
        yield None
        return
    with store:
        yield store


def _thread(app: App, store: ExchangeStore | None, *, new: bool) -> str:
    if store is None:
        return app.terminal
    threads = Threads(store, app.workspace.id, app.terminal)
    return threads.fresh() if new else threads.current()


def _notices(app: App, *notices: str) -> None:
    for notice in (*app.loaded.notices, *notices):
        aside(say("note", app.language) + translated(printable(notice), app.language))


def _without_table() -> tuple[str, ...]:
    """That likeness of meaning did not count, where it should have."""
    return (WITHOUT_TABLE,) if lacks_table() else ()


def _without_git(app: App, wish: Wish) -> tuple[str, ...]:
    """Why git was not asked, where there is a repository whose state is missing now."""
    git = app.git
    if isinstance(git, Git) or not wish.context:
        return ()
    broken = any(os.path.lexists(one / ".git") for one in (app.cwd, *app.cwd.parents))
    if git.reason in ("none", "no git"):
        return (missing_git(git, app.cwd),) if broken else ()
    return (git.detail,) if git.detail else ()


def _stream(gathered: Gathered, model: Model | None, answer: Answer, limit: int, *, as_json: bool) -> Stopped | None:
    """Print the answer as it comes. What stopped it is given back, not raised: what came is to be kept first.

    Where nobody reads it any more, passages are still gathered to the end; a model is not asked for more.
    """
    stopped: Stopped | None = None
    page = Page(quoted=model is None)
    # Closed whatever happens: the program behind a model would outlive an interrupt that comes while a piece is shown.
    with contextlib.closing(stream_answer(gathered, model, answer, limit)) as pieces:
        try:
            for piece in pieces:
                if not as_json:
                    page.show(piece)
            page.end()
        except (ModelError, KeyboardInterrupt, OSError) as error:
            stopped = error
        if isinstance(stopped, OSError) and model is None:
            for _ in pieces:
                pass
    if isinstance(stopped, OSError):
        return stopped
    try:
        if stopped is not None:
            page.end()
        if answer.text and not answer.text.endswith("\n") and not as_json:
            click.echo()
    except OSError as error:
        return stopped or error
    return stopped


def _piped(language: str, *, asked: bool, named: bool) -> BinaryIO | None:
    """Standard input where something is piped or redirected into it; an empty one counts as none.

    What is piped in is never guessed away, so a slow program is waited for. A service or an editor may however have
    left a pipe open that nobody writes to: after _PATIENCE a question is asked without it. `-` waits for ever.
    """
    if sys.stdin is None:
        return None
    if named:
        return sys.stdin.buffer
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode):
        return sys.stdin.buffer if os.fstat(descriptor).st_size else None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    if not select.select([descriptor], [], [], _QUIET_WAIT)[0]:
        aside(say("note", language) + say("ask.waiting", language))
        if not select.select([descriptor], [], [], _PATIENCE if asked else None)[0]:
            aside(say("note", language) + say("ask.silent", language, f"{_PATIENCE:.0f}"))
            return None
    stdin = cast("BufferedReader", sys.stdin.buffer)
    return stdin if stdin.peek(1) else None


def _preview(gathered: Gathered, language: str, *, as_json: bool, quiet: bool) -> None:
    report = gathered.snapshot.report
    if as_json:
        line(json_line(report.to_json()))
    elif not quiet:
        space()
        for row in report_lines(gathered, language):
            line(row)


def report_lines(gathered: Gathered, language: str) -> Iterator[str]:
    """The report as a table: what is in, source by source, then what is not and why."""
    report = gathered.snapshot.report
    for kept in report.kept:
        form = "" if kept.form == "body" else f" [{kept.form}]"
        note = f"  ({printable(kept.note)})" if kept.note else ""
        yield f"{kept.tokens:>7}  {kept.source:<12} {printable(kept.ref)}{form}{note}"
    yield f"{report.frame:>7}  {'frame':<12} {say('report.frame', language)}"
    yield f"{report.used:>7}  {'total':<12} {say('report.total', language, report.prompt, report.answer)}"
    lost = [trimmed for trimmed in report.trimmed if trimmed.cause != "duplicate"]
    if lost:
        yield pale(f"{'—':>7}  {say('report.left-out', language)}")
    for trimmed in lost:
        why = say(f"cause.{trimmed.cause}", language)
        yield pale(f"{trimmed.tokens:>7}  {trimmed.source:<12} {printable(trimmed.ref)}  ({why})")


def _close(
    gathered: Gathered, answer: Answer, stopped: BaseException | None, language: str, *, as_json: bool, verbose: bool
) -> None:
    """What follows the answer: what it lacks, what it used. Raises what stopped it."""
    if isinstance(stopped, OSError):
        raise stopped
    if as_json:
        usage = answer.usage
        line(json_line({
            "answer": answer.text, "model": answer.model or None, "refs": list(answer.refs), "cut": answer.cut,
            "found": gathered.found,
            "usage": None if usage is None else {"input": usage.input, "cached": usage.cached, "output": usage.output},
            "report": gathered.snapshot.report.to_json(),
        }))  # fmt: skip
    elif stopped is None and not answer.text and not answer.model:
        explicit = any(kept.explicit for kept in gathered.snapshot.report.kept)
        missing = "ask.nothing" if not gathered.found else "ask.attached" if explicit else "ask.not-needed"
        page = Page(quoted=False)
        page.show(say(missing, language) + "\n")
        page.end()
    if verbose:
        aside(say("ask.cache", language, gathered.cache))
        for row in report_lines(gathered, language):
            aside(row)
        if answer.model:
            aside(say("ask.answered", language, answer.model))
        if answer.usage is not None:
            usage = answer.usage
            numbers = ("?" if one is None else one for one in (usage.input, usage.cached, usage.output))
            aside(say("ask.usage", language, *numbers))
    if not answer.model and answer.text and not as_json:
        space()
        aside(folded(say("note", language) + say("ask.no-model", language)))
    if isinstance(stopped, KeyboardInterrupt) and answer.text:
        aside(say("ask.partial", language))
        raise click.exceptions.Exit(stop_status(stopped))
    if stopped is not None:
        raise stopped
