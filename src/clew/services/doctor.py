"""Tries the real thing end to end in a scratch folder with a home of its own, and says what works and what does not."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clew.adapters import chunker
from clew.adapters.embedding import StaticTable
from clew.adapters.git import find_repository
from clew.adapters.git_process import HERE, GitCommand, apart, clean_environ, find_program
from clew.adapters.home import Home
from clew.adapters.mode_model import load_mode_model
from clew.adapters.models.catalogue import Catalogue
from clew.adapters.models.keys import keyring_state
from clew.adapters.tokenizers import tokenizer_for
from clew.adapters.workspace import resolve
from clew.core.context.mode import Mode
from clew.errors import ClewError
from clew.services.ask import Answer, Threads, keep, stream_answer
from clew.services.code_index import index_path
from clew.services.context import Gathered, Place, Wish, gather
from clew.stores.exchanges import ExchangeStore

FILES = {
    "README.md": "# Harbour\n\nA service that books berths for ships.\n",
    "src/retry.py": (
        '"""Retries of requests that failed."""\n\n'
        "def retry_with_backoff(call, attempts=5, timeout=30.0):\n"
        '    """Call again after a failure, with a delay that doubles, until the timeout is over."""\n'
        "    for attempt in range(attempts):\n        ...\n"
    ),
    "src/berths.py": (
        '"""Which berth is free."""\n\ndef free_berths(harbour, ship):\n'
        '    """Berths that are long and deep enough for the ship."""\n    return []\n'
    ),
    "docs/deploy.md": "# Deployment\n\nThe service runs in two zones. Roll back with `make rollback`.\n",
}
"""What the scratch repository holds."""
QUESTIONS = {"english": "where does the retry wait before the next attempt?", "chinese": "重试的超时时间在哪里设置？"}
TARGET = "src/retry.py"
FOREIGN = "how do I bake sourdough bread with rye flour and a cold fermentation?"
KNOWN_COUNTS = {"tiktoken is great!": 6, "お誕生日おめでとう": 8, "antidisestablishmentarianism": 6}
"""Tokens of the o200k vocabulary as its maker publishes them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    name: str
    """Stable: `git`, `index`, `english`, …"""
    status: str
    """`ok`; `warn`: Clew works, with less; `fail`: something is broken."""
    what: str
    """What was seen, in one line."""
    cause: str = ""
    fix: str = ""
    seconds: float = 0.0


Check = Callable[[], Finding]


def examine(environ: Mapping[str, str], home: Home, language: str) -> Iterator[Finding]:
    """Findings one by one. Everything happens in a scratch folder, which is gone at the end.

    `home` is the user's own; it is only looked at. Nothing is asked over the network.
    """
    yield _checked("python", _python)
    yield _checked("home", lambda: _home(home))
    scratch = None
    try:
        scratch = Path(tempfile.mkdtemp(prefix="clew-doctor-"))
    except OSError as error:
        yield Finding("index", "fail", "no scratch folder", str(error), "set TMPDIR to a writable folder")
    try:
        if scratch is not None:
            yield from _in_scratch(scratch, environ, language)
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    yield _checked("tokenizer", _tokenizer)
    yield _checked("table", _table)
    yield _checked("modes", _modes)
    yield _checked("grammars", _grammars)
    yield _checked("keyring", lambda: _keyring(environ))
    if scratch is not None:
        left = scratch.exists()
        fix = f"rm -r {scratch}" if left else ""
        yield Finding("tidy", "fail" if left else "ok", str(scratch) if left else "", "" if not left else "busy", fix)


def models(catalogue: Catalogue, chosen: str | None) -> Finding:
    """Whether the model that would answer can be opened. Nothing is sent to it."""
    if chosen is None:
        fix = "set CLEW_MODEL=provider:name; `clew models` lists what is usable"
        return Finding("models", "warn", "the best passages are the answer", "no model is chosen", fix)
    return _checked("models", lambda: Finding("models", "ok", f"{catalogue.open(chosen).name} can be asked"))


def _checked(name: str, check: Check) -> Finding:
    """The finding of a check; what it raises is a failure with its cause."""
    began = time.perf_counter()
    try:
        found = check()
    except ClewError as error:
        found = Finding(name, "fail", "", str(error), error.hint)
    except Exception as error:  # noqa: BLE001 - that it breaks is what a check is there to find
        found = Finding(name, "fail", "", f"{type(error).__name__}: {error}", "CLEW_DEBUG=1 clew doctor; report it")
    return Finding(found.name, found.status, found.what, found.cause, found.fix, time.perf_counter() - began)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("create virtual table t using fts5(x)")
        except sqlite3.OperationalError:
            fix = "use a Python whose SQLite has FTS5, as those of python.org, Debian and uv have"
            return Finding("python", "fail", f"Python {version}", "its SQLite has no full text search", fix)
    return Finding("python", "ok", f"{version}, SQLite {sqlite3.sqlite_version}")


def _home(home: Home) -> Finding:
    for folder in dict.fromkeys((home.data, home.cache)):
        existing = next(part for part in (folder, *folder.parents) if part.exists())
        if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
            fix = f"chmod u+rwx {existing}, or set CLEW_HOME to a folder of yours"
            return Finding("home", "fail", str(folder), f"{existing} is not writable: no history, no index", fix)
        room = shutil.disk_usage(existing).free
        if room < 50 << 20:
            return Finding("home", "warn", str(folder), f"{room >> 20} MB are free", "`clew index clean`")
    return Finding("home", "ok", str(home.data))


# ---------------------------------------------------------------------- in the scratch folder


def _in_scratch(scratch: Path, environ: Mapping[str, str], language: str) -> Iterator[Finding]:
    root, hidden = scratch / "harbour", scratch / "home"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    environ = apart(environ, HERE)
    alone = {**environ, "HOME": str(hidden), "CLEW_HOME": str(hidden), "GIT_CEILING_DIRECTORIES": str(scratch)}
    yield _checked("git", lambda: _git(root, alone))
    home = Home(hidden, hidden, hidden, hidden)
    places: list[Place] = []

    def index() -> Finding:
        git = find_repository(root, alone)
        workspace = resolve(root, home, git)
        places.append(Place(workspace, git, root, alone, index_path(home, workspace.id, workspace.root)))
        found = _asked("berths", places[0], language)
        assert found.freshened is not None
        counts = found.freshened.refreshed
        found.freshened.index.close()
        status = "ok" if counts.total == len(FILES) else "fail"
        cause = "" if status == "ok" else f"of {len(FILES)} files {counts.total} are in the index"
        return Finding("index", status, f"{counts.total} files in {counts.seconds:.2f} s", cause, cause and "report it")

    yield _checked("index", index)
    if not places:
        return
    for name, question in QUESTIONS.items():
        yield _checked(name, lambda name=name, question=question: _finds(name, question, places[0], language))
    yield _checked("abstain", lambda: _abstains(places[0], language))
    yield _checked("budget", lambda: _budget(places[0], language))
    yield _checked("history", lambda: _history(places[0], hidden / "history.db", language))


def _asked(question: str, place: Place, language: str, max_tokens: int = 8000) -> Gathered:
    wish = Wish(question, mode=Mode.RICH, max_tokens=max_tokens, answer=200, language=language)
    return gather(wish, place, (), datetime.now(UTC))


def _git(root: Path, environ: Mapping[str, str]) -> Finding:
    program = find_program(environ)
    if program is None:
        return Finding("git", "warn", "", "git is not installed: no branch, status, history", "install git")
    people = ("AUTHOR", "COMMITTER")
    author = {f"GIT_{who}_{what}": "clew@example.invalid" for who in people for what in ("NAME", "EMAIL")}
    command = GitCommand(program, root, {**clean_environ(environ), **author, "GIT_CONFIG_GLOBAL": os.devnull})
    for arguments in (("init", "-q", "."), ("add", "-A"), ("commit", "-q", "-m", "Book berths")):
        done = command.run(*arguments)
        if not done.good:
            return Finding("git", "fail", "", f"git {arguments[0]}: {done.stderr.strip()}", "git must be 2.31 or later")
    version = command.run("--version").stdout.decode("utf-8", "replace").strip()
    return Finding("git", "ok", version.removeprefix("git version "))


def _finds(name: str, question: str, place: Place, language: str) -> Finding:
    began = time.perf_counter()
    gathered = _asked(question, place, language)
    try:
        answer = Answer()
        for _ in stream_answer(gathered, None, answer, 200):
            pass
    finally:
        _release(gathered)
    cited = [ref.partition(":")[0] for ref in answer.refs]
    if TARGET not in cited:
        return Finding(name, "fail", "", f"`{question}` does not find {TARGET}: {', '.join(cited) or '—'}", "report it")
    return Finding(name, "ok", f"{answer.refs[0]} in {time.perf_counter() - began:.2f} s")


def _abstains(place: Place, language: str) -> Finding:
    gathered = _asked(FOREIGN, place, language)
    _release(gathered)
    if gathered.found:
        return Finding("abstain", "warn", "", "a question about bread finds something in code", "report it")
    return Finding("abstain", "ok", "")


def _budget(place: Place, language: str) -> Finding:
    gathered = _asked(QUESTIONS["english"], place, language, 900)
    _release(gathered)
    report = gathered.snapshot.report
    fits = report.used <= report.prompt
    cause = "" if fits else "the prompt is longer than its budget"
    what = f"{report.used} of {report.prompt} tokens"
    return Finding("budget", "ok" if fits else "fail", what, cause, cause and "report it")


def _history(place: Place, path: Path, language: str) -> Finding:
    mark = "doctor-8c1f"
    with ExchangeStore(path) as store:
        gathered = _asked(QUESTIONS["english"], place, language)
        _release(gathered)
        thread = Threads(store, place.workspace.id, "doctor").current()
        now = datetime.now(UTC)
        kept = keep(store, place.workspace.id, thread, mark, gathered, Answer(mark), now)
        assert kept is not None
        if mark not in [one.question for one in store.last(place.workspace.id, thread, 5)]:
            return Finding("history", "fail", "", "a kept exchange is not there", "report it")
        store.remove(place.workspace.id, [kept.id])
        gone = not store.list(place.workspace.id)
    left = [file.name for file in path.parent.glob("history.db*") if mark.encode() in file.read_bytes()]
    if not gone or left:
        return Finding("history", "fail", "", f"a deleted exchange is still in {', '.join(left)}", "report it")
    return Finding("history", "ok", "")


def _release(gathered: Gathered) -> None:
    if gathered.freshened is not None:
        gathered.freshened.index.close()


# ---------------------------------------------------------------------- parts


def _tokenizer() -> Finding:
    tokenizer = tokenizer_for("")
    if not tokenizer.exact:
        return Finding("tokenizer", "warn", "counts are estimates that err high", "splintr-rs cannot be loaded",
                       "pip install --force-reinstall splintr-rs")  # fmt: skip
    for sentence, right in KNOWN_COUNTS.items():
        if (count := tokenizer.count(sentence)) != right:
            cause = f"`{sentence}` has {right} tokens and is counted as {count}"
            return Finding("tokenizer", "fail", tokenizer.name, cause, "pip install --force-reinstall splintr-rs")
    return Finding("tokenizer", "ok", f"{tokenizer.name}, exact")


def _modes() -> Finding:
    weights = load_mode_model()
    if weights is None:
        cause = "the weights of the mode decision cannot be read"
        return Finding("modes", "warn", "everything is searched", cause, "install clew again")
    return Finding("modes", "ok", f"{len(weights.topics)} kinds of questions")


def _table() -> Finding:
    try:
        table = StaticTable.load()
    except (OSError, ValueError, EOFError) as error:
        return Finding("table", "warn", "", f"cannot be read: {error}", "install clew again")
    rows = table.encode(["retry after a timeout", "超时后重试", "bread and butter"])
    near, far = float(rows[0] @ rows[1]), float(rows[0] @ rows[2])
    if near <= far:
        cause = f"a sentence is no nearer to its translation ({near:.2f}) than to another one ({far:.2f})"
        return Finding("table", "fail", "", cause, "install clew again")
    return Finding("table", "ok", f"{rows.shape[1]} dimensions, translation {near:.2f}, other {far:.2f}")


def _grammars() -> Finding:
    states = {name: chunker.has_grammar(name) for name in chunker.LANGUAGES}
    missing = [name for name, there in states.items() if not there]
    if missing:
        cause = f"cannot be loaded: {', '.join(missing)}; such files are cut by blocks"
        remedy = "pip install --force-reinstall " + " ".join(f"tree-sitter-{name}" for name in missing)
        return Finding("grammars", "warn", f"{len(states) - len(missing)}/{len(states)}", cause, remedy)
    return Finding("grammars", "ok", ", ".join(states))


def _keyring(environ: Mapping[str, str]) -> Finding:
    usable, words = keyring_state(environ)
    if usable:
        return Finding("keyring", "ok", words)
    return Finding("keyring", "warn", "", words, "keep keys in variables, for instance ANTHROPIC_API_KEY")
