"""`clew`: the command group, its lazy loading, and the one place where errors become messages and exit statuses."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from clew._version import __version__
from clew.entrypoints.cli.stopping import heed_termination, stop_status
from clew.errors import ClewError

COMMANDS = {
    "run": ("clew.entrypoints.cli.run", "run", "Let the agent do a piece of work, without a terminal."),
    "resume": ("clew.entrypoints.cli.resume", "resume", "Go on with a session at the terminal."),
    "session": ("clew.entrypoints.cli.session", "session", "List, show and export the agent's sessions."),
    "ask": ("clew.entrypoints.cli.ask", "ask", "Answer a question from the right context of this folder."),
    "context": ("clew.entrypoints.cli.ask", "context", "Print the assembled prompt, for use with any other tool."),
    "history": ("clew.entrypoints.cli.history", "history", "List or delete earlier exchanges."),
    "open": ("clew.entrypoints.cli.open", "open_", "Show what a reference points to."),
    "note": ("clew.entrypoints.cli.note", "note", "Keep a note."),
    "log": ("clew.entrypoints.cli.log", "log", "Add an entry to today's log."),
    "memory": ("clew.entrypoints.cli.memory", "memory", "List, search, edit and check what is remembered."),
    "recall": ("clew.entrypoints.cli.recall", "recall", "Show what comes to mind for a message."),
    "handoff": ("clew.entrypoints.cli.handoff", "handoff", "Show what the window before left for the next."),
    "plan": ("clew.entrypoints.cli.handoff", "plan", "Show the plan, its versions and what changed."),
    "models": (
        "clew.entrypoints.cli.models",
        "models",
        "List the models that are usable here, and why others are not.",
    ),
    "config": ("clew.entrypoints.cli.config", "config", "Show each setting and where its value comes from."),
    "init": ("clew.entrypoints.cli.config", "init", "Write a commented .clew.yaml."),
    "index": ("clew.entrypoints.cli.index", "index", "Show, rebuild or delete the code index."),
    "watch": ("clew.entrypoints.cli.index", "watch", "Keep the index fresh while files change."),
    "eval": ("clew.entrypoints.cli.eval", "eval_", "Measure on labelled files."),
    "audit": ("clew.entrypoints.cli.audit", "audit", "Show what memory did and did not do, and why."),
    "mcp": ("clew.entrypoints.cli.mcp", "mcp", "Serve memory to agents over MCP."),
    "acp": ("clew.entrypoints.cli.acp", "acp", "Put the agent into an editor over ACP."),
    "purge": ("clew.entrypoints.cli.purge", "purge", "Remove a secret, or what came from one source."),
    "sync": ("clew.entrypoints.cli.sync", "sync", "Exchange memory with its remote."),
    "prefix": ("clew.entrypoints.cli.run", "prefix", "Tell how much of each dumped request was sent before."),
    "doctor": ("clew.entrypoints.cli.doctor", "doctor", "Try the real thing end to end, and say what works."),
    "completion": ("clew.entrypoints.cli.completion", "completion", "Print the completion script for a shell."),
}
"""Name, module, attribute, and the one line that `clew --help` shows without loading the module."""
CLOSED_PIPE = 141


class ClosedPipe(Exception):
    """Whoever read our output has gone."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from its module."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. A closed pipe is raised as ClosedPipe, which click gives no status of its own."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands from COMMANDS alone: completion must not load every module."""
        if not incomplete or incomplete[0].isalnum():
            return [
                CompletionItem(name, help=line)
                for name, (_, _, line) in COMMANDS.items()
                if name.startswith(incomplete)
            ]
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from COMMANDS alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with the nearest name where there is no such command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # only needed where the command is wrong

            near = difflib.get_close_matches(args[0], COMMANDS, 1, 0.5)
            hint = f"did you mean `clew {near[0]}`?" if near else "`clew --help` lists the commands"
            quoted = f'clew ask "{" ".join(args)}"' if len(args) == 1 and " " in args[0] else ""
            from clew.errors import UsageError

            raise UsageError(
                f"there is no command `{args[0]}`", hint=f"to ask a question: {quoted}" if quoted else hint
            )
        return super().resolve_command(ctx, args)


EPILOG = """\b
Examples:
  clew ask "why does the retry test time out?"
  git diff | clew ask "what does this break?"
  clew context "how is the cache keyed?" | pbcopy"""


@click.group(
    cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, message="clew %(version)s")
def cli() -> None:
    """Context that does not rot: decides what a model reads, and says why."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Errors go to stderr, with a hint, and decide the exit status."""
    if sys.stdout is None:
        # Closed by whoever started us. What is written then fails, where it would otherwise vanish without a word.
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    wanted = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"}.intersection(wanted):
        _choose_language()
    heed_termination()
    status = _run(wanted)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        status = _unwritten(error, wanted)
    # The interpreter would search all that is loaded for garbage before the system takes it back: a second and more.
    gc.freeze()
    sys.exit(status)


def _choose_language() -> None:
    """Let click write help in the user's language."""
    from clew.app import environment, user_language  # only needed where help is shown

    if user_language(environment()) == "zh":
        from clew.entrypoints.cli.help_zh import ChineseFormatter

        click.Context.formatter_class = ChineseFormatter


def _run(wanted: list[str]) -> int:
    """The exit status of one command."""
    try:
        # What a command ends with by `ctx.exit` comes back as a number; a command itself gives None.
        result = cli.main(args=wanted, prog_name="clew", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        tell("", "", wanted, "Interrupted")
        return stop_status(error)
    except click.exceptions.NoArgsIsHelpError as error:
        if not wanted and _on_terminal():
            return _talked()
        _choose_language()
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        return 0
    except click.UsageError as error:
        # An option without its value knows no command.
        named = " ".join(["clew", *(word for word in wanted[:1] if word[:1].isalpha())])
        hint = f"`{error.ctx.command_path if error.ctx else named} --help`"
        tell(" ".join(error.format_message().split()), hint, wanted, "UsageError")
        return 2
    except click.ClickException as error:
        tell(error.format_message(), "", wanted, type(error).__name__)
        return error.exit_code
    except ClewError as error:
        tell(str(error), error.hint, wanted, error.code)
        return error.exit_status
    except MemoryError:
        tell("out of memory", "attach less, or lower max_tokens", wanted, "OutOfMemory")
        return 1
    except ImportError as error:
        _trace()
        package = error.name.partition(".")[0] if error.name else str(error)
        tell(f"the Python package {package} cannot be loaded", "install clew again", wanted, "Incomplete")
        return 1
    except ClosedPipe:
        _drop_output()
        return CLOSED_PIPE
    except OSError as error:
        return _unwritten(error, wanted)
    except Exception as error:
        return _unexpected(error, wanted)


def _on_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _talked() -> int:
    """The status of `clew` alone, on a terminal: the agent."""
    from clew.app import App  # heavy, as below
    from clew.entrypoints.cli.resume import talk

    try:
        return talk(App.here(), list)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        tell("", "", (), "Interrupted")
        return stop_status(error)
    except ClewError as error:
        tell(str(error), error.hint, (), error.code)
        return error.exit_status
    except OSError as error:
        return _unwritten(error, ())
    except Exception as error:
        return _unexpected(error, ())


def tell(message: str, hint: str, arguments: Sequence[str], code: str) -> None:
    """An error, on stderr: two lines, or one JSON object where JSON was asked for. No message: interrupted."""
    from clew.app import environment, user_language  # only needed where something went wrong
    from clew.core.text.printable import printable
    from clew.entrypoints.cli.style import error_color, folded, json_line
    from clew.entrypoints.cli.texts import say
    from clew.entrypoints.cli.wording import translated

    language = user_language(environment())
    # Names of files and words of servers stand in messages: none of them may steer the terminal.
    message, hint = translated(printable(message), language), translated(printable(hint), language)
    with contextlib.suppress(OSError):
        if "--json" in arguments:
            click.echo(json_line({"error": code, "message": message, "hint": hint}), err=True)
        elif not message:
            click.echo(say("interrupted", language), err=True)
        else:
            colored = error_color()
            red = click.style(say("error", language), fg="red", bold=True) if colored else say("error", language)
            told = folded(say("error", language) + message).removeprefix(say("error", language))
            click.echo(red + told, err=True, color=colored)
            if hint:
                blue = click.style(say("hint", language), fg="cyan") if colored else say("hint", language)
                told = folded(say("hint", language) + hint).removeprefix(say("hint", language))
                click.echo(blue + told, err=True, color=colored)


def _unwritten(error: OSError, arguments: Sequence[str]) -> int:
    """The status after the output could not be written, or after anything else that the system refused."""
    if isinstance(error, BrokenPipeError) or error.errno == errno.EPIPE:
        # Whoever read our output has gone; nothing may be written at exit either.
        _drop_output()
        return CLOSED_PIPE
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF):
        tell(f"the output could not be written: {error.strerror}", "", arguments, "OutputError")
        _drop_output()
        return 1
    if error.filename is not None and _is_ours(error.filename):
        _trace()
        lost = f"a part of Clew itself cannot be read: {error.filename}"
        tell(lost, "install clew again", arguments, "Incomplete")
        return 1
    return _unexpected(error, arguments)


def _is_ours(name: object) -> bool:
    """Whether a path lies in the package, which comes whole or not at all."""
    package = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "data")
    return str(name).startswith(package + os.sep)


def _drop_output() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _trace() -> None:
    """Where it went wrong, for those who ask for it."""
    from clew.app import environment  # the only reader of the environment

    if environment().get("CLEW_DEBUG"):
        import traceback

        traceback.print_exc()


def _unexpected(error: Exception, arguments: Sequence[str]) -> int:
    _trace()
    tell(
        f"unexpected {type(error).__name__}: {error}",
        "run it again with CLEW_DEBUG=1 and report what it prints",
        arguments,
        "Unexpected",
    )
    return 1


if __name__ == "__main__":
    main()
