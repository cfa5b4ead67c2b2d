"""Ask every labelled question as Clew does, and keep the numbers that its models weigh.

    python collect.py REPOS OUT [questions|changes]

REPOS holds git directories (`owner+name/repo`). OUT gets indexes, and files.pkl, passages.pkl, asked.pkl (questions)
and changes.pkl (bug-fix commits) for fit.py. What the passages look like depends on how files are ranked, and the
confidence on both: the project of a question takes no part in the weights that are used for its own examples. Each
question with an answer is also asked by a fragment, so that short questions are not taken for strange ones.
"""

from __future__ import annotations

import os
import pickle
import random
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from choices import Array, Asked, Choice
from commits import read_changes
from fit import fit_files, fit_passages
from questions import Question, read_questions

from clew.adapters.tokenizers import tokenizer_for
from clew.core.index import query
from clew.core.index.passages import CHUNK_FEATURES, Passage, passage_rows, passages
from clew.core.index.rank import FEATURES, order, rows
from clew.core.text.terms import query_terms
from clew.services.eval.repositories import Repositories
from clew.services.passages import read_lines
from clew.services.relevance import SHOWN_FILES, Finder, Matched, Task, load_ranking
from clew.services.words import load_glossary

MOST_CANDIDATES = 400
ELSEWHERE = 4
"""Other projects that each question is put to as well."""
FRAGMENT_WORDS = (4, 7)
LEAST_CLAUSE = 5
SEED = 3
HEADER_TOKENS = 20
"""Of a passage beside its text: the path and the lines."""
_NO_TOKENS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Seen:
    """One question as the finder sees it."""

    question: str
    matched: Matched
    vectors: dict[int, list[float]]


def see(finder: Finder, question: str, task: Task) -> Seen:
    """The evidence, and the numbers of every candidate."""
    words = query_terms(question)
    matched = finder.match(words, question, task)
    return Seen(question, matched, rows(matched.scored, finder.facts, query.intent(words, question)))


def file_choice(finder: Finder, seen: Seen, repo: str, lang: str, gold: frozenset[str]) -> Choice:
    """The candidates with the most evidence, and all that are needed."""
    vectors = seen.vectors
    ids = sorted(vectors, key=lambda file: (-sum(vectors[file][:6]), file))
    kept = ids[:MOST_CANDIDATES] + [file for file in ids[MOST_CANDIDATES:] if finder.files[file].path in gold]
    places = {finder.files[file].path: at for at, file in enumerate(kept)}
    needs = tuple((places[path],) if path in places else () for path in sorted(gold))
    x = np.array([vectors[file] for file in kept], dtype=np.float64).reshape(-1, len(FEATURES))
    return Choice(repo, lang, FEATURES, x, needs, _NO_TOKENS)


def ranked_files(seen: Seen, weights: Array) -> list[tuple[int, float]]:
    """The files that are shown, with their scores."""
    return order(seen.vectors, dict(zip(FEATURES, weights.tolist(), strict=True)))[:SHOWN_FILES]


def passage_choice(finder: Finder, seen: Seen, asked: Question, weights: Array) -> Choice:
    """The chunks of the best files."""
    files = finder.outlined(ranked_files(seen, weights))
    scored = seen.matched.scored
    found = passage_rows(files, scored.chunks, scored.chunk_covered, seen.matched.near)
    count = tokenizer_for("").count
    x: list[tuple[float, ...]] = []
    spans: list[tuple[str, int, int]] = []
    tokens: list[int] = []
    for file in files:
        path = finder.files[file.file].path
        for row, (chunk, first, last, symbol) in zip(found[file.file], file.chunks, strict=True):
            x.append(row)
            spans.append((path, first, last))
            text = finder.text(Passage(chunk, file.file, first, last, symbol, 0.0)) if finder.text else ""
            tokens.append(count(text) + HEADER_TOKENS)
    needs = tuple(
        tuple(at for at, (where, first, last) in enumerate(spans) if where == path and first <= line <= last)
        for path, line in asked.needs
    )
    numbers = np.array(x, dtype=np.float64).reshape(-1, len(CHUNK_FEATURES))
    return Choice(asked.repo, asked.lang, CHUNK_FEATURES, numbers, needs, np.array(tokens, dtype=np.int64))


def fragment(text: str, chance: random.Random) -> str:
    """A few neighbouring words of a question, as people type them into a search box; some clause of a Chinese one."""
    if any(ord(char) > 0x2E7F for char in text):
        clauses = [clause for clause in re.split(r"[，。？！,?]", text) if len(clause) >= LEAST_CLAUSE]
        return chance.choice(clauses) if clauses else text
    words, count = text.split(), chance.randint(*FRAGMENT_WORDS)
    start = chance.randint(0, max(len(words) - count, 0))
    return " ".join(words[start : start + count])


def asked_once(finder: Finder, asked: Question, text: str, own: bool, files: Array, chunks: Array) -> Asked:
    """The numbers of the confidence for a question, or a fragment of it, put to the finder's project."""
    seen = see(finder, text, "question")
    top, scored = ranked_files(seen, files), seen.matched.scored
    weights = dict(zip(CHUNK_FEATURES, chunks.tolist(), strict=True))
    shown = passages(finder.outlined(top), scored.chunks, scored.chunk_covered, seen.matched.near, weights)
    answered = own and bool(asked.needs)
    first = {finder.files[file].path for file, _ in top[:5]}
    numbers = tuple(finder.confidence(text, seen.matched, top, shown))
    return Asked(asked.repo, numbers, answered, not own, text != asked.text, answered and asked.gold <= first)


class Collection:
    """All examples of one folder of repositories."""

    def __init__(self, repos: Path, out: Path) -> None:
        self.repos, self.out = repos, out
        self.repositories = Repositories(repos, out / "indexes", dict(os.environ))

    @contextmanager
    def finder(self, repo: str, commit: str) -> Iterator[Finder]:
        """The finder of one state."""
        with self.repositories.state(repo, commit) as (freshened, _):
            read = read_lines(freshened.tree)
            finder = Finder(freshened.index, load_ranking(), load_glossary())
            finder.text = lambda one: "\n".join(read(finder.files[one.file].path)[one.first - 1 : one.last])
            yield finder

    def keep(self, name: str, examples: Sequence[Choice] | Sequence[Asked]) -> None:
        """Write examples for fit.py."""
        (self.out / f"{name}.pkl").write_bytes(pickle.dumps(list(examples)))
        print(f"{name}: {len(examples)}", flush=True)

    def changes(self) -> None:
        """The bug-fix commits, each seen from the state before it."""
        found: list[Choice] = []
        for change in read_changes(self.repos):
            with self.finder(change.repo, change.parent) as finder:
                seen = see(finder, change.words, "change")
                found.append(file_choice(finder, seen, change.repo, "en", change.gold))
        self.keep("changes", found)

    def questions(self) -> None:
        """The questions: files, then passages, then confidence."""
        questions = read_questions()
        states = list(dict.fromkeys((one.repo, one.commit) for one in questions))
        answered = [one for one in questions if one.needs]
        repos = sorted({repo for repo, _ in states})
        files: list[Choice] = []
        for state in states:
            with self.finder(*state) as finder:
                own = [one for one in answered if (one.repo, one.commit) == state]
                files += [
                    file_choice(finder, see(finder, q.text, "question"), q.repo, q.lang, q.gold) for q in own
                ]  # fmt: skip
        self.keep("files", files)
        file_weights = {repo: fit_files([one for one in files if one.repo != repo]) for repo in repos}
        shown: list[Choice] = []
        for state in states:
            with self.finder(*state) as finder:
                own = [one for one in answered if (one.repo, one.commit) == state]
                shown += [
                    passage_choice(finder, see(finder, q.text, "question"), q, file_weights[q.repo]) for q in own
                ]  # fmt: skip
        self.keep("passages", shown)
        chunk_weights = {repo: fit_passages([one for one in shown if one.repo != repo]) for repo in repos}
        chance = random.Random(SEED)
        others = {q.id: chance.sample([s for s in states if s[0] != q.repo], ELSEWHERE) for q in answered}
        short = {q.id: fragment(q.text, chance) for q in answered}
        asked: list[Asked] = []
        for state in states:
            with self.finder(*state) as finder:
                for q in questions:
                    own = (q.repo, q.commit) == state
                    if not own and state not in others.get(q.id, ()):
                        continue
                    for text in (q.text, short[q.id]) if q.needs else (q.text,):
                        asked.append(asked_once(finder, q, text, own, file_weights[q.repo], chunk_weights[q.repo]))
        self.keep("asked", asked)


def main() -> None:
    """Collect what was named, or everything."""
    repos, out, *which = sys.argv[1:]
    collection = Collection(Path(repos), Path(out))
    Path(out).mkdir(parents=True, exist_ok=True)
    for name in which or ("questions", "changes"):
        {"questions": collection.questions, "changes": collection.changes}[name]()


if __name__ == "__main__":
    main()
