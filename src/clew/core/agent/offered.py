"""What a yes for good would allow: the rule that is offered beside a question.

Only few programs are known to do nothing but what their names say, whatever they are given; they are listed here, and
some of them with the options for which that is true. Of all others a yes for good allows the very same command.
"""

from __future__ import annotations

import shlex
from typing import Final

from clew.core.agent.effects import Effect
from clew.core.agent.permissions import Rule, verdict

_READING: Final = frozenset(
    "basename cat cksum cmp comm cut df dirname du echo egrep fgrep grep head ls md5sum nl nproc paste pwd "
    "readlink realpath sha1sum sha256sum sha512sum stat tac tail tr true uname wc whoami".split()
)
"""Programs that neither write nor start another, whatever their arguments are."""
_PYTEST: Final = (
    r"-[qvxsl]+|-[kmn]|-n\d+|-r[fEsxXpPwaAN]+|--(lf|ff|nf|sw|last-failed|failed-first|new-first|stepwise|exitfirst|"
    r"verbose|quiet|showlocals|no-header|no-summary|collect-only|co|no-cov|fixtures|markers|strict-markers|"
    r"(tb|maxfail|durations|color|capture|deselect|cov|numprocesses|dist|show-capture)(=.*)?)"
)
_GIT_SHOWN: Final = (
    r"@.*|--|-\d+|-[npSGUwbziRMCsL]|-[nUMC]\d+%?|-[SG].*|-L.*|--(stat|shortstat|numstat|summary|oneline|graph|all|"
    r"decorate|reverse|follow|merges|no-merges|first-parent|name-only|name-status|cached|staged|merge-base|patch|"
    r"no-patch|no-ext-diff|no-textconv|no-color|word-diff|check|quiet|exit-code|raw|minimal|patience|histogram|"
    r"ignore-all-space|ignore-space-change|ignore-blank-lines|find-renames|no-renames|branches|tags|remotes|"
    r"(stat|decorate|date|since|until|after|before|author|committer|grep|format|pretty|max-count|skip|unified|"
    r"word-diff|diff-filter|find-renames|abbrev|color)=.*)"
)
_GO: Final = (
    r"-(v|race|short|cover|json|failfast|benchmem|x|n)|--|-(run|skip|bench|count|timeout|parallel|tags|p|cpu|list|"
    r"benchtime|shuffle)(=.*)?"
)
_CARGO: Final = (
    r"-[vqp]|-vv|-j\d*|--|--(all|workspace|all-features|no-default-features|all-targets|lib|bins|tests|examples|doc|"
    r"release|locked|offline|frozen|no-run|no-fail-fast|nocapture|ignored|include-ignored|exact|show-output|verbose|"
    r"quiet|(package|features|test|bin|example|exclude|jobs|test-threads|skip|color)(=.*)?)"
)
_WITH: Final = {
    "pytest": _PYTEST,
    "python -m pytest": _PYTEST,
    "python3 -m pytest": _PYTEST,
    "git status": r"-[suvbz]+|--|--(short|long|branch|porcelain|verbose|ignored|show-stash|porcelain=.*|ignored=.*|"
    r"untracked-files=.*)",
    "git diff": _GIT_SHOWN,
    "git log": _GIT_SHOWN,
    "git show": _GIT_SHOWN,
    "go test": _GO,
    "go vet": r"-(v|json|tags|tags=.*)",
    "cargo test": _CARGO,
    "cargo check": _CARGO,
    "cargo build": _CARGO,
}
"""Commands and the options (a pattern of the whole word) with which they run no more than the project's own code and
write nothing of their own choice. `--output=`, `--ext-diff`, `-exec`, `--config`, `-p` and the like are not there."""


def rule_for(effect: Effect) -> Rule | None:
    """The rule that allows this and what is like it; None where no rule can, as outside of the workspace."""
    if effect.outside or effect.reaches or not effect.subject:
        return None
    for rule in (_rule(effect), Rule(effect.kind, effect.subject, exact=True)):
        if rule and rule.pattern != "*" and verdict(effect, [rule], yes=False) == "allow":
            return rule
    return None


def _rule(effect: Effect) -> Rule | None:
    if effect.kind == "edit":
        folder, _, _ = effect.subject.rpartition("/")
        return Rule("edit", f"{folder}/**") if folder else None
    if effect.kind != "command":
        return None
    try:
        words = shlex.split(effect.subject)
    except ValueError:
        return None
    if words and words[0] in _READING:
        return Rule("command", f"{words[0]} *")
    for count in (1, 2, 3):
        begin = " ".join(words[:count])
        if options := _WITH.get(begin):
            return Rule("command", f"{begin} *", options)
    return None
