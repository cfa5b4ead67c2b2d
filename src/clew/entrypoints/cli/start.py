"""The door of `clew`: answers `--version` and `--help` without loading anything, and hands the rest to `main`.

Click alone takes longer to import than the interpreter to start. Help is a text that `tools/reference.py` writes and a
test compares with what click would print.
"""

from __future__ import annotations

import os
import sys

HELP = ("--help", "-h")
BRIEF = ("recall",)
"""Commands that somebody waits for again and again, with every message of theirs."""
_CONFIG = (".config/clew/config.yaml", "Library/Application Support/clew/config.yaml")
_LOCALE = ("CLEW_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def main() -> None:
    """Run the command line and exit."""
    words = sys.argv[1:]
    if words == ["--version"]:
        from clew._version import __version__

        sys.exit(_printed(f"clew {__version__}\n"))
    if len(words) < 2 and (words[0] in HELP if words else not _on_terminal()) and _plain_english():
        text = _help_text()
        if text:
            sys.exit(_printed(text))
    if words and words[0] in BRIEF:
        _run_briefly()
    from clew.entrypoints.cli.main import main as run

    run()


def _on_terminal() -> bool:
    """Whether a person types and reads: then `clew` alone is the agent, else help."""
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):
        return False


def _run_briefly() -> None:
    from clew.entrypoints.cli.brief import leave, live_briefly

    live_briefly(os.environ)
    from clew.entrypoints.cli.main import main as run

    try:
        run()
    except SystemExit as stop:
        leave(stop.code)


def _plain_english() -> bool:
    """Whether help is wanted in English, at the usual width: nothing that could say otherwise is set."""
    environ = os.environ
    if any("zh" in environ.get(name, "").lower() for name in _LOCALE) or os.name == "nt":
        return False
    if "_CLEW_COMPLETE" in environ:
        # A shell asks for completions, not a person for help.
        return False
    if home := environ.get("CLEW_HOME", ""):
        places = [os.path.join(home, "config.yaml")]
    elif base := environ.get("XDG_CONFIG_HOME", ""):
        places = [os.path.join(base, "clew", "config.yaml")]
    else:
        places = [os.path.join(environ.get("HOME", ""), name) for name in _CONFIG]
    # The language may be set in the user's own configuration.
    if any(os.path.lexists(place) for place in places):
        return False
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns >= 80
    except (OSError, ValueError, AttributeError):
        return True


def _help_text() -> str:
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "data", "help.txt")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _printed(text: str) -> int:
    """Write the text; the exit status."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (OSError, AttributeError) as error:
        # No stream at all stands for one that whoever started us has closed.
        reason = getattr(error, "strerror", None) or "Bad file descriptor"
        try:
            sys.stderr.write(f"error: the output could not be written: {reason}\n")
            # Nothing is left to be written at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        except (OSError, AttributeError):
            pass
        return 1
    return 0
