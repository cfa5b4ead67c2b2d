"""`clew completion`."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

_WHERE = {
    "bash": 'eval "$(clew completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(clew completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "clew completion fish > ~/.config/fish/completions/clew.fish",
}


@click.command(epilog="\b\nExamples:\n" + "\n".join(f"  {line}" for line in _WHERE.values()))
@click.argument("shell", type=click.Choice(list(_WHERE)))
def completion(shell: str) -> None:
    """Print the completion script for a shell. Nothing is installed: your own start-up file decides."""
    from clew.entrypoints.cli.main import cli  # the whole command tree, which is loaded by now

    kind = get_completion_class(shell)
    assert kind is not None
    # Not the method of the bash class, which starts a bash to ask for its version.
    click.echo(ShellComplete.source(kind(cli, {}, "clew", "_CLEW_COMPLETE")))
