"""The state of the repository as facts: branch, status, last commits, and changes not yet committed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from clew.adapters.git import Change, Commit, Git, Head, NoRepository, Status
from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment
from clew.core.text.printable import counted, printable
from clew.core.text.redact import is_secret_path, redact

STATUS = "git:status"
"""Reference of the status."""
DIFF = "git:diff:"
"""How references of uncommitted changes begin; the path follows."""
BRANCH = "git:branch"
"""Reference of the branch."""
LAST_COMMIT = "git:last-commit"
"""Reference of the last commit."""
COMMIT = "git:commit:"
"""How references of what commits hold begin; the hash follows, and after a colon the path of one file's changes."""
MISSING = "git:none"
"""Reference of the fact that git has nothing to tell here."""
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
        wants_commits: int = 0,
        commits: int = 10,
        diff_files: int = 20,
        diff_bytes: int = 32_000,
    ) -> None:
        """`wants_diff` adds a fragment for each changed file, at most `diff_files` of `diff_bytes` bytes each.

        `wants_commits` of the last commits come with their message, their files and a fragment for each changed file,
        within the same bounds for all of them together.
        """
        self._git = git
        self._weight = weight
        # Where the changes are what is asked for, passages that merely sound like the question must not push them out.
        self._changes_weight = max(weight, min(weight + _ASKED_FOR, 95)) if wants_diff or wants_commits else weight
        self._wants_diff = wants_diff
        self._wants_commits = wants_commits
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
        fragments = [self._fact(BRANCH, _branch(git.head(), status, git.repository.shallow), 9)]
        if status is not None:
            line = _summary(status)
            listed = "\n".join((f"{line}:", *_listed(status))) if status.changes else line
            fragments.append(self._fact(STATUS, line, 8, listed, self._changes_weight if self._wants_diff else None))
        if commits:
            line = f"last commit {_one_line(commits[0])}, by {printable(commits[0].author, 80)}"
            last = self._whole(git, commits[0])
            weight = self._changes_weight if self._wants_commits else None
            fragments.append(self._fact(LAST_COMMIT, line, 7, "\n".join((line, *_details(last))), weight))
        if len(commits) > 1:
            text = redact("\n".join(_one_line(commit) for commit in commits)).text
            fragments.append(
                Fragment(
                    self.name, "git:commits", text, self._weight, line=f"the last {len(commits)} commits", relevance=6
                )
            )
        if self._wants_diff and status is not None:
            fragments += self._diffs(git, status)
        if self._wants_commits:
            fragments += self._of_commits(git, commits[: self._wants_commits])
        return fragments

    def opened(self, ref: str) -> Fragment | None:
        """The fragment behind a reference that begins with COMMIT; None where there is no such commit or change."""
        name, _, path = ref.removeprefix(COMMIT).partition(":")
        git = self._git
        if isinstance(git, NoRepository) or not (commit := git.resolve(name)):
            return None
        if path:
            return self._change(git, commit, path, self._diff_bytes, 0.0)
        return next((self._commit(self._whole(git, one), 0.0) for one in git.commits(1, commit)), None)

    def _whole(self, git: Git, commit: Commit) -> Commit:
        """With the files of a merge, which git leaves out."""
        return commit if commit.files else replace(commit, files=git.commit_files(commit.id))

    def _of_commits(self, git: Git, commits: Sequence[Commit]) -> Iterator[Fragment]:
        left, files = self._diff_bytes, self._diff_files
        for order, one in enumerate(commits):
            commit = self._whole(git, one)
            if order:  # The last one is a fact already.
                yield self._commit(commit, 6.0 - order / 100)
            for path in commit.files:
                if files <= 0 or left <= 0:
                    break
                files -= 1
                found = self._change(git, commit.id, path, left, 5.0 - order / 10 + files / 1000)
                if found is not None:
                    left -= len(found.text.encode())
                    yield found

    def _commit(self, commit: Commit, relevance: float) -> Fragment:
        line = f"commit {_one_line(commit)}, by {printable(commit.author, 80)}"
        text = redact("\n".join((line, *_details(commit)))).text
        return Fragment(self.name, f"{COMMIT}{commit.id[:10]}", text, self._changes_weight, relevance=relevance)

    def _change(self, git: Git, commit: str, path: str, limit: int, relevance: float) -> Fragment | None:
        ref, line = f"{COMMIT}{commit[:10]}:{printable(path)}", f"changes of {printable(path)} in commit {commit[:10]}"
        if is_secret_path(path):
            line += ": not shown, it holds secrets"
            return Fragment(self.name, ref, "", self._changes_weight, line=line, relevance=relevance)
        found = git.commit_diff(commit, path, limit)
        if found is None or not found[0]:
            return None
        redacted = redact(found[0].rstrip("\n"))
        notes = [f"cut after {limit:,} bytes"] if found[1] else []
        notes += [f"redacted: {redacted.count} secret{'' if redacted.count == 1 else 's'}"] if redacted.count else []
        return Fragment(
            self.name, ref, redacted.text, self._changes_weight, line=line, relevance=relevance, note=", ".join(notes),
            cuttable=True,
        )  # fmt: skip

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


def missing_git(git: Git | NoRepository, folder: Path) -> str:
    """One line that says why git has nothing to tell in a folder, and what to do; empty where it has."""
    if isinstance(git, Git):
        return ""
    if git.detail:
        return git.detail
    broken = next((one / ".git" for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
    if broken is None:
        return "there is no git repository here: `git init` makes one"
    return f"`{printable(str(broken))}` is no repository that git can read: `git status` says what is wrong"


def missing_fragment(reason: str, weight: int) -> Fragment:
    """The fact that git has nothing to tell, for a question that asks for it."""
    line = redact(f"no git: {reason}").text
    return Fragment("git", MISSING, line, weight, anchor=True, line=line, relevance=9)


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
