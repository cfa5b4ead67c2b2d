"""Bug-fix commits as questions: the words of the commit, the source files that it changed, the state before it.

Only names of commits are kept in `questions/commits.jsonl`; the words are read from the repository. What would give the
answer away is taken out: paths and file names, links, numbers of issues, trailers.

    python commits.py REPOS NAME ENDING [COUNT]    print COUNT random fixes of one project as lines for commits.jsonl
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.core.index.kinds import Kind, kind

FILE = Path(__file__).with_name("questions") / "commits.jsonl"
SEED = 5
MOST_FILES = 4
LEAST_CHARACTERS = 15
HISTORY = 6000
_FIX = re.compile(r"\b(fix|bug|crash|regress|incorrect|wrong|error|fail|broken|leak|handle)", re.I)
_GIVES_AWAY = (
    re.compile(r"(?im)^(signed-off-by|co-authored-by|reviewed-by|change-id|fixes|closes|refs?)[: ].*$"),
    re.compile(r"https?://\S+"),
    re.compile(r"#\d+|GH-\d+|\(\s*\)"),
    re.compile(r"\S+/\S+\.\w+|\b[\w-]+\.(py|ts|go|js|rs|md|rst|toml|json|yml|yaml)\b"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One bug fix."""

    repo: str
    commit: str
    gold: frozenset[str]
    """Source files that it changed."""
    parent: str
    at: int
    """Time of the parent, seconds since the epoch."""
    words: str


def words(message: str) -> str:
    """What a commit message says, without what names files."""
    for pattern in _GIVES_AWAY:
        message = pattern.sub("", message)
    return " ".join(message.split())


def git(repos: Path, repo: str, *arguments: str) -> str:
    """What git prints about a repository below `repos`."""
    folder = repos / repo.replace("/", "+") / "repo"
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def read_changes(repos: Path) -> list[Change]:
    """The commits of commits.jsonl with their words, project by project, oldest first."""
    found: list[Change] = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        parent, message = git(repos, row["repo"], "log", "-1", "--format=%P%x00%B", row["commit"]).split("\0")
        at = int(git(repos, row["repo"], "log", "-1", "--format=%ct", parent))
        found.append(Change(row["repo"], row["commit"], frozenset(row["gold"]), parent, at, words(message)))
    return sorted(found, key=lambda change: (change.repo, change.at))


def fixes(repos: Path, repo: str, ending: str) -> Iterator[dict[str, object]]:
    """Commits that say they mend something and only modify one to MOST_FILES source files, tests and texts aside."""
    form = "--format=%x01%H%x02%P%x02%B%x03"
    log = git(repos, repo, "log", "--no-merges", "--no-renames", "--name-status", "-z", f"-{HISTORY}", form, "HEAD")
    for record in log.split("\x01")[1:]:
        head, _, names = record.partition("\x03")
        commit, _, rest = head.partition("\x02")
        parents, _, message = rest.partition("\x02")
        if not parents or " " in parents or not _FIX.search(message) or len(words(message)) < LEAST_CHARACTERS:
            continue
        fields = [name for name in names.replace("\n", "").split("\0") if name]
        touched = [(s, p) for s, p in zip(fields[::2], fields[1::2], strict=False) if p.endswith(ending)]
        source = [(status, path) for status, path in touched if kind(path) is Kind.SOURCE]
        if 1 <= len(source) <= MOST_FILES and all(status == "M" for status, _ in source):
            yield {"repo": repo, "commit": commit, "gold": [path for _, path in source]}


def main() -> None:
    """Print a sample for one project."""
    repos, repo, ending, *count = sys.argv[1:]
    found = list(fixes(Path(repos), repo, ending))
    random.seed(SEED)
    for row in random.sample(found, min(int(count[0]) if count else 45, len(found))):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
