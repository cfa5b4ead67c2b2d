"""`clew ask` and `clew context`."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, BinaryIO

import click

from clew.app import App
from clew.core.context.mode import Mode
from clew.core.ports import Model
from clew.entrypoints.cli.progress import bar
from clew.errors import ModelError, UsageError
from clew.services.ask import Answer, Threads, earlier, keep, stream_answer
from clew.services.context import Gathered, Wish, gather

NO_MODEL = {
    "en": "no model is configured: these are the best passages. Set one with CLEW_MODEL=provider:name (`clew models`)",
    "zh": "没有配置模型：以上是最相关的段落。用 CLEW_MODEL=provider:name 设置模型（`clew models`）",
}
NOTHING = {"en": "Nothing in this folder matches the question.", "zh": "这个目录里没有与问题相关的内容。"}
NOT_NEEDED = {
    "en": "The question needs nothing from this folder, and no model is configured to answer it.",
    "zh": "这个问题不需要此目录中的内容，而且没有配置可以回答的模型。",
}


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that both commands share."""
    for option in (
        click.argument("question", required=False),
        click.argument("files", nargs=-1, metavar="[FILE]..."),
        click.option("--no-context", is_flag=True, help="Gather no context; attached files still go along."),
        click.option("--mode", type=click.Choice([mode.value for mode in Mode]), help="Decide the mode yourself."),
        click.option("--max-tokens", type=int, metavar="N", help="Tokens of the prompt and its answer."),
        click.option("--style", type=click.Choice(["auto", "code", "writing", "newcomer"]), help="How to answer."),
        click.option("--model", metavar="PROVIDER:NAME", help="The model; its tokenizer counts.  [env: CLEW_MODEL]"),
        click.option("--new", is_flag=True, help="Start afresh: earlier exchanges stay out."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
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
    app, wish, model = _prepared(given)
    language = app.language
    with app.exchanges() as store:
        threads = Threads(store, app.workspace.id, app.terminal)
        thread = threads.fresh() if given["new"] else threads.current()
        gathered = _gather(app, wish, earlier(store, app.workspace.id, thread))
        for notice in (*app.loaded.notices, *store.notices, *gathered.notices):
            click.echo(f"note: {notice}", err=True)
        if not quiet and not given["as_json"]:
            click.echo(gathered.snapshot.report.one_line(language, gathered.reason), err=True)
        if debug:
            click.echo(gathered.snapshot.text(), err=not preview)
        if preview:
            _preview(gathered, as_json=given["as_json"], quiet=debug)
            return
        answer = Answer()
        stopped: BaseException | None = None
        try:
            for piece in stream_answer(gathered, model, answer, wish.answer):
                if not given["as_json"]:
                    click.echo(piece, nl=False)
                    sys.stdout.flush()
        except (ModelError, KeyboardInterrupt) as error:
            stopped = error
        if answer.text and not answer.text.endswith("\n") and not given["as_json"]:
            click.echo()
        if wish.question:
            keep(store, app.workspace.id, thread, wish.question, gathered, answer, datetime.now().astimezone())
        _close(gathered, answer, stopped, language, as_json=given["as_json"], verbose=verbose)


@click.command(
    epilog="""\b
Examples:
  clew context "how is the cache keyed?" | pbcopy
  clew context "what breaks if I rename this?" src/app.py --max-tokens 16000"""
)
@_options
def context(**given: Any) -> None:
    """Print the assembled prompt for QUESTION, for use with any other tool. The report goes to stderr."""
    app, wish, _ = _prepared(given)
    with app.exchanges() as store:
        threads = Threads(store, app.workspace.id, app.terminal)
        thread = threads.fresh() if given["new"] else threads.current()
        gathered = _gather(app, wish, earlier(store, app.workspace.id, thread))
    for notice in (*app.loaded.notices, *gathered.notices):
        click.echo(f"note: {notice}", err=True)
    report = gathered.snapshot.report
    if given["as_json"]:
        messages = [{"role": m.role, "blocks": list(m.blocks)} for m in gathered.snapshot.messages()]
        click.echo(json.dumps({"prompt": gathered.snapshot.text(), "messages": messages, "report": report.to_json()},
                              ensure_ascii=False))  # fmt: skip
        return
    click.echo(report.one_line(app.language, gathered.reason), err=True)
    click.echo(gathered.snapshot.text())


def _prepared(given: dict[str, Any]) -> tuple[App, Wish, Model | None]:
    flags = {"max_tokens": given["max_tokens"], "style": given["style"], "model": given["model"]}
    if given["no_context"]:
        flags["context"] = False
    app = App.here({key: value for key, value in flags.items() if value is not None})
    settings = app.loaded.settings
    stdin = _piped()
    question = given["question"] or ""
    if not question.strip() and not given["files"] and stdin is None:
        raise UsageError("there is no question", hint='clew ask "why does the retry test time out?"')
    model = app.catalogue.open(settings.model) if settings.model else None
    wish = Wish(
        question=question,
        names=tuple(given["files"]),
        stdin=stdin,
        context=settings.context,
        mode=Mode(given["mode"]) if given["mode"] else None,
        model=settings.model or "",
        max_tokens=settings.max_tokens,
        answer=settings.answer_room,
        style=settings.style,
        language=app.language,
        weights=settings.weights,
        anchors=tuple((anchor.path, anchor.weight) for anchor in settings.anchors),
        ignore=settings.ignore,
        shell_history=settings.shell_history,
    )
    return app, wish, model


def _gather(app: App, wish: Wish, exchanges: Any) -> Gathered:
    with bar(app.language) as progress:
        return gather(wish, app.place, exchanges, datetime.now().astimezone(), progress)


def _piped() -> BinaryIO | None:
    """Standard input where something is piped or redirected into it; an empty one counts as none."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        import os
        import select
        import stat

        if sys.stdin.isatty():
            return None
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISREG(mode):
            return sys.stdin.buffer if os.fstat(sys.stdin.fileno()).st_size else None
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            # A pipe that nobody writes to (a service, an editor) must not make the command wait for ever.
            ready = select.select([sys.stdin], [], [], 0.2)[0]
            if ready and sys.stdin.buffer.peek(1):
                return sys.stdin.buffer
    return None


def _preview(gathered: Gathered, *, as_json: bool, quiet: bool) -> None:
    report = gathered.snapshot.report
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False))
    elif not quiet:
        for line in report_lines(gathered):
            click.echo(line)


def report_lines(gathered: Gathered) -> Iterator[str]:
    """The report as a table: what is in, source by source, then what is not and why."""
    report = gathered.snapshot.report
    for kept in report.kept:
        form = "" if kept.form == "body" else f" [{kept.form}]"
        note = f"  ({kept.note})" if kept.note else ""
        yield f"{kept.tokens:>7}  {kept.source:<12} {kept.ref}{form}{note}"
    yield f"{report.frame:>7}  {'frame':<12} instructions, question"
    yield f"{report.used:>7}  {'total':<12} of {report.prompt} for the prompt, {report.answer} kept for the answer"
    for trimmed in report.trimmed:
        if trimmed.cause != "duplicate":
            yield f"{'—':>7}  {trimmed.source:<12} {trimmed.ref}: left out, {trimmed.cause} ({trimmed.tokens} tokens)"


def _close(
    gathered: Gathered, answer: Answer, stopped: BaseException | None, language: str, *, as_json: bool, verbose: bool
) -> None:
    if stopped is None and not answer.text:
        text = NOTHING if not gathered.found else NOT_NEEDED if not answer.model else None
        if text is not None and not as_json:
            click.echo(text[language])
    if as_json:
        usage = answer.usage
        click.echo(json.dumps({
            "answer": answer.text, "model": answer.model or None, "refs": list(answer.refs), "cut": answer.cut,
            "found": gathered.found,
            "usage": None if usage is None else {"input": usage.input, "cached": usage.cached, "output": usage.output},
            "report": gathered.snapshot.report.to_json(),
        }, ensure_ascii=False))  # fmt: skip
    if verbose:
        for line in report_lines(gathered):
            click.echo(line, err=True)
        if answer.usage is not None:
            usage = answer.usage
            click.echo(f"usage: {usage.input} in ({usage.cached or 0} cached), {usage.output} out", err=True)
    if not answer.model and answer.text and not as_json:
        click.echo(f"note: {NO_MODEL[language]}", err=True)
    if stopped is not None:
        raise stopped
