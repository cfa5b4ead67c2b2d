"""What a yes for good would allow: the rule that is offered beside a question."""

from __future__ import annotations

import shlex
from typing import Final

from clew.core.agent.effects import Effect
from clew.core.agent.permissions import Rule, verdict

_WITH_VERB: Final = frozenset(
    "apt brew bun bundle cargo composer conda deno docker dotnet gh git go gradle helm hg jj just kubectl make mix mvn "
    "nix npm nx pdm pip pip3 pipx pnpm poetry podman rake rustup svn systemctl terraform tox turbo uv yarn".split()
)
"""Programs whose first word says what they do."""
_ANYTHING: Final = frozenset(
    "ash awk bash chmod chown cp csh curl dash dd doas env eval exec fish find install kill ln mv node nohup parallel "
    "perl php python python3 rm rmdir rsync ruby scp sed sh ssh sudo su tee time timeout wget xargs zsh".split()
)
"""Programs that can do anything: only the very same command is offered as a rule."""


def rule_for(effect: Effect) -> Rule | None:
    """The rule that allows this and what is like it; None where no rule can, as outside of the workspace."""
    if effect.outside or not effect.subject:
        return None
    for pattern in (_pattern(effect), effect.subject):
        rule = Rule(effect.kind, pattern)
        if pattern and pattern != "*" and verdict(effect, [rule], yes=False) == "allow":
            return rule
    return None


def _pattern(effect: Effect) -> str:
    if effect.kind == "edit":
        folder, _, _ = effect.subject.rpartition("/")
        return f"{folder}/**" if folder else effect.subject
    if effect.kind != "command":
        return effect.subject
    try:
        words = shlex.split(effect.subject)
    except ValueError:
        return ""
    if not words or "=" in words[0] or words[0].rpartition("/")[2] in _ANYTHING:
        if len(words) > 2 and words[1] == "-m" and words[0].startswith("python"):
            return " ".join([*words[:3], "*"])
        return ""
    if words[0] in _WITH_VERB:
        return f"{words[0]} {words[1]} *" if len(words) > 1 and not words[1].startswith("-") else ""
    return f"{words[0]} *"
