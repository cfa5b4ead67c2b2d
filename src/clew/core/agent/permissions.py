"""What may be done unasked (R-17).

Reading is free; the user's own memory is written through its one gate; editing, commands and foreign tools ask, unless
a rule of the user's or `--yes` allows them. A path outside the workspace asks always. A command whose words name one
is covered by no rule, but by `--yes`: a program can reach anything, also unnamed, and who says so knows that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from clew.core.agent.effects import Effect
from clew.core.text.wildcards import ANY, FOLDERS, STAR, compiled
from clew.errors import UsageError

Verdict = Literal["allow", "ask"]
KINDS: Final = ("edit", "command", "server", "agent")
"""What rules can be about."""
_JOINS: Final = re.compile(r"[;&|<>`\n\r]|\$\(|\$\{")
"""What makes one command line more than one command, or lets it write elsewhere."""
_EXPANDS: Final = re.compile(r"[$*?\[{\\]")
_SIGNS: Final = ("-", "+", "@")
"""How a word begins that may be an option, or name a file of options."""

_PIECE: Final = re.compile(r"\*\*/|\*\*|\*|.", re.S)


@dataclass(frozen=True, slots=True)
class Rule:
    """`kind:pattern`: `edit:src/**`, `command:pytest *`, `server:github *`; `edit` alone allows all of its kind.

    A pattern of a command matches a single plain command only: with `;`, `|`, `>` and the like it is asked for.
    """

    kind: str
    pattern: str
    options: str = ""
    """Of a rule that was offered for a command: a pattern of the options with which it holds; with others it is asked.
    Empty: with any, as in each rule that a user wrote."""
    exact: bool = False
    """Offered for the very same and nothing else: a `*` in it is none that stands for others."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.pattern}"


class Person(Protocol):
    """Whoever can be asked."""

    def permit(self, effect: Effect) -> Permit:
        """The answer to one question. Nobody there: refused, with what would allow it."""
        ...


@dataclass(frozen=True, slots=True)
class Permit:
    """An answer to the question whether something may be done."""

    allowed: bool
    reason: str = ""
    """Of a refusal: the user's words, or why nobody could be asked."""
    rule: Rule | None = None
    """Allowed from now on, in this session."""


def nobody(effect: Effect, ways: str, *, asked: str = "") -> Permit:
    """The refusal where there is nobody to be asked. `ways`: what would have allowed it otherwise; `asked`: what allows
    even that which is asked always."""
    if not effect.outside:
        return Permit(False, f"nobody is there to be asked; {ways} would have allowed it")
    only = f"; only {asked} could have allowed it" if asked else ""
    return Permit(
        False,
        "nobody is there to be asked, and what lies outside of the workspace, or steers what is run in it, is never "
        f"done unasked{only}",
    )


def rule_of(text: str) -> Rule:
    """The rule that a text says. Raises UsageError."""
    kind, _, pattern = text.strip().partition(":")
    if kind not in KINDS:
        raise UsageError(f"`{text}` is no rule", hint=f"a rule is kind:pattern; kinds are {', '.join(KINDS)}")
    return Rule(kind, pattern.strip() or "*")


def verdict(effect: Effect, rules: Sequence[Rule], *, yes: bool) -> Verdict:
    """Whether an effect may happen unasked."""
    if effect.outside:
        return "ask"
    if effect.kind in ("read", "memory"):
        return "allow"
    if yes:
        return "allow"
    if not effect.reaches and any(_holds(rule, effect) for rule in rules):
        return "allow"
    return "ask"


def _holds(rule: Rule, effect: Effect) -> bool:
    if rule.kind != effect.kind:
        return False
    if rule.pattern == "*" or (rule.pattern == effect.subject and not rule.options):
        return True
    if rule.exact:
        return False
    if effect.kind == "command":
        return (
            not _JOINS.search(effect.subject)
            and _command_matches(effect.subject, rule.pattern)
            and (not rule.options or _has_only(effect.subject, rule))
        )
    return bool(effect.subject) and _glob(rule.pattern).fullmatch(effect.subject) is not None


def _command_matches(command: str, pattern: str) -> bool:
    """`git log *` holds for `git log` and for `git log -3`; a `*` elsewhere stands for any characters."""
    if pattern.endswith(" *") and command.strip() == pattern[:-2].strip():
        return True
    parts = [part for one in _PIECE.findall(pattern) for part in ([ANY] if one[0] == "*" else [re.escape(one)])]
    return compiled(parts).fullmatch(command.strip()) is not None


def _has_only(command: str, rule: Rule) -> bool:
    """Whether all options are among those of the rule; not so where the shell could make others out of what is written,
    by variables, braces, or names of files."""
    if _EXPANDS.search(command):
        return False
    try:
        words = shlex.split(command)[len(rule.pattern.split()) - 1 :]
    except ValueError:
        return False
    return all(re.fullmatch(rule.options, word) for word in words if word[:1] in _SIGNS)


def _glob(pattern: str) -> re.Pattern[str]:
    wild = {"**/": FOLDERS, "**": ANY, "*": STAR}
    return compiled([wild.get(one) or re.escape(one) for one in _PIECE.findall(pattern)])
