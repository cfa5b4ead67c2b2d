"""The state of the repository as facts: branch, status, last commits, and changes not yet committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.adapters.git import Change, Commit, Git, Head, NoRepository, Status
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.text.printable import counted, printable
from clew.core.text.redact import is_secret_path, redact

STATUS = "git:status"
"""Reference of the status."""
DIFF = "git:diff:"
"""How references of uncommitted changes begin; the path follows."""
CLEAN = "work tree clean"
"""The status where nothing is changed."""
_MOST_CHANGES = 50
_MOST_FILES = 20
_MOST_BODY_LINES = 20
_MOST_SUBJECT = 160
_ASKED_FOR = 30
"""How much heavier status and changes are when the question asks for them; from the default 60 above related files."""
_WORDS = {"M": "changed", "T": "changed", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "?": "untracked"}


class GitState:
    """Fragments about a repository. Without one there are none, and `notice` may say why."""

    name = "git"

    def __init__(
        self,
        git: Git | NoRepository,
        *,
        weight: int = DEFAULT_WEIGHTS["git"],
        wants_diff: bool = False,
        commits: int = 10,
        diff_files: int = 20,
        diff_bytes: int = 32_000,
    ) -> None:
        """`wants_diff` adds a fragment for each changed file, at most `diff_files` of `diff_bytes` bytes each."""
        self._git = git
        self._weight = weight
        # Where the changes are what is asked for, passages that merely sound like the question must not push them out.
        self._changes_weight = max(weight, min(weight + _ASKED_FOR, 95)) if wants_diff else weight
        self._wants_diff = wants_diff
        self._commits = commits
        self._diff_files = diff_files
        self._diff_bytes = diff_bytes
        self.notice = git.detail if isinstance(git, NoRepository) else ""

    def collect(self, question: str) -> Sequence[Fragment]:
        """Branch, status and last commit as anchors, then recent commits, then changes if they are wanted."""
        git = self._git
        if isinstance(git, NoRepository):
            return ()
        status, commits = git.status(), list(git.commits(self._commits))
        fragments = [self._fact("git:branch", _branch(git.head(), status, git.repository.shallow), 9)]
        if status is not None:
            line = _summary(status)
            listed = "\n".join((f"{line}:", *_listed(status))) if status.changes else line
            fragments.append(self._fact(STATUS, line, 8, listed, self._changes_weight))
        if commits:
            line = f"last commit {_one_line(commits[0])}, by {printable(commits[0].author, 80)}"
            fragments.append(self._fact("git:last-commit", line, 7, "\n".join((line, *_details(commits[0])))))
        if len(commits) > 1:
            text = redact("\n".join(_one_line(commit) for commit in commits)).text
            fragments.append(
                Fragment(
                    self.name, "git:commits", text, self._weight, line=f"the last {len(commits)} commits", relevance=6
                )
            )
        if self._wants_diff and status is not None:
            fragments += self._diffs(git, status)
        return fragments

    def _fact(self, ref: str, line: str, relevance: float, text: str = "", weight: int | None = None) -> Fragment:
        line = redact(line).text
        return Fragment(
            self.name,
            ref,
            redact(text).text if text else line,
            self._weight if weight is None else weight,
            anchor=True,
            line=line,
            relevance=relevance,
        )

    def _diffs(self, git: Git, status: Status) -> Iterator[Fragment]:
        tracked = [change for change in status.changes if change.staged != "?"]
        for order, change in enumerate(tracked[: self._diff_files]):
            path = printable(change.path)
            line = f"uncommitted changes of {path}"
            if is_secret_path(change.path):
                yield Fragment(
                    self.name, f"{DIFF}{path}", "", self._changes_weight, line=f"{line}: not shown, it holds secrets"
                )
                continue
            found = git.diff(change.path, self._diff_bytes)
            if found is None or not found[0]:
                continue
            redacted = redact(found[0].rstrip("\n"))
            notes = [f"cut after {self._diff_bytes:,} bytes"] if found[1] else []
            notes += [f"redacted: {counted(redacted.count, 'secret')}"] if redacted.count else []
            yield Fragment(
                self.name,
                f"{DIFF}{path}",
                redacted.text,
                self._changes_weight,
                line=line,
                relevance=5 - order / 1000,
                note=", ".join(notes),
            )


def _branch(head: Head, status: Status | None, shallow: bool) -> str:
    commit = head.commit[:10] if head.commit else ""
    if head.branch and commit:
        line = f"branch {printable(head.branch, 200)} at {commit}"
    elif head.branch:
        line = f"branch {printable(head.branch, 200)}, no commit yet"
    elif head.rebasing:
        line = f"no branch, at {commit} while {printable(head.rebasing, 200)} is being rebased"
    else:
        line = f"no branch (detached) at {commit}"
    if head.operation and not head.rebasing:
        line += f", {head.operation} in progress"
    if status and status.upstream:
        counts = [f"{status.ahead} ahead"] if status.ahead else []
        counts += [f"{status.behind} behind"] if status.behind else []
        line += f", {' and '.join(counts) or 'level'} with {printable(status.upstream, 200)}"
    return line + (", shallow clone" if shallow else "")


def _summary(status: Status) -> str:
    if not status.changes:
        return CLEAN if status.complete else "status unknown: git took too long"
    counts = {
        "in conflict": sum(change.conflict for change in status.changes),
        "staged": sum(change.staged not in ".?" and not change.conflict for change in status.changes),
        "changed but not staged": sum(change.unstaged not in ".?" and not change.conflict for change in status.changes),
        "untracked": sum(change.staged == "?" for change in status.changes),
    }
    parts = [f"{number:,} {what}" for what, number in counts.items() if number]
    return ("" if status.complete else "at least ") + ", ".join(parts)


def _listed(status: Status) -> Iterator[str]:
    for change in status.changes[:_MOST_CHANGES]:
        was = f" (was {printable(change.was)})" if change.was else ""
        yield f"{_word(change)}: {printable(change.path)}{was}"
    left = len(status.changes) - _MOST_CHANGES
    if left > 0 or not status.complete:
        yield f"… {_MOST_CHANGES} of {'more than ' if not status.complete else ''}{len(status.changes):,} shown"


def _word(change: Change) -> str:
    if change.conflict:
        return "conflict"
    if change.staged not in ".?":
        word = _WORDS.get(change.staged, "changed") + ", staged"
        return word if change.unstaged == "." else word + ", then changed"
    return _WORDS.get(change.unstaged, "changed")


def _one_line(commit: Commit) -> str:
    return f"{commit.id[:10]} of {commit.at[:10]}: {printable(commit.subject, _MOST_SUBJECT)}"


def _details(commit: Commit) -> Iterator[str]:
    lines = commit.body.splitlines()
    for line in lines[:_MOST_BODY_LINES]:
        yield printable(line, 400)
    if len(lines) > _MOST_BODY_LINES:
        yield f"… {_MOST_BODY_LINES} of {len(lines)} lines"
    if commit.files:
        named = ", ".join(printable(path) for path in commit.files[:_MOST_FILES])
        more = len(commit.files) - _MOST_FILES
        yield f"files: {named}" + (f", … {more:,} more" if more > 0 else "")
