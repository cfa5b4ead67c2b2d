"""Q-04 and Q-24: evidence turns of conversations, and the search over many passages, with floors on the same texts."""

from __future__ import annotations

import ast
import contextlib
import os
import random
import re
import resource
import sqlite3
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import Options, shown, table
from clew.core.text.redact import redact
from clew.core.text.together import Redactor
from clew.services.eval.locomo import evaluate_locomo, evidence, read_conversations
from clew.services.memory_search import MemorySearch
from clew.services.relevance import load_table
from clew.stores.documents import Documents
from clew.stores.memory_index import MemoryIndex
from clew.stores.memory_reading import Filter
from clew.stores.memory_writing import Loaded

_WORD = re.compile(r"\w+")
_OF_DOCUMENT = 50
"""Passages of one document."""
_QUESTIONS = 200


def q04(options: Options) -> None:
    """Evidence turns of LoCoMo against plain BM25 over the turns."""
    path = options.file("locomo.dev.json")
    result = evaluate_locomo(path)
    floor: list[tuple[float, float]] = []
    for conversation in read_conversations(path):
        pieces = [piece for session in conversation.sessions for piece in session.pieces]
        with contextlib.closing(plain([piece.text for piece in pieces], "porter unicode61")) as db:
            for row in conversation.questions:
                if gold := set(evidence(row)):
                    found = [pieces[at - 1].reference for at in asked(db, str(row["question"]), 10)]
                    floor.append((len(gold & set(found[:5])) / len(gold), len(gold & set(found)) / len(gold)))
    rows = [["Clew", f"{result.recall['5']:.3f}", f"{result.recall['10']:.3f}", f"{result.p50_ms:.0f} ms",
             f"{result.p95_ms:.0f} ms"]]  # fmt: skip
    rows += [
        [f"Clew, {name}", f"{part['recall']['5']:.3f}", f"{part['recall']['10']:.3f}", "", ""]
        for name, part in result.per_category.items()
    ]
    mean = [statistics.mean(values) for values in zip(*floor, strict=True)]
    rows += [["FTS5 porter, OR of all words", f"{mean[0]:.3f}", f"{mean[1]:.3f}", "", ""],
             ["bar", "0.700", "0.790", "", "30 ms"]]  # fmt: skip
    table(f"Q-04 {result.n} questions, {result.turns} turns", ["way", "@5", "@10", "p50", "p95"], rows)


def q24(options: Options) -> None:
    """Ingest and search of many passages of notes; floors: FTS5 as it comes, a scan."""
    draw = random.Random(24)
    root = options.scratch / "q24-memory"
    texts = _written(root, options.passages, draw)
    size = sum(path.stat().st_size for path in root.rglob("*.md"))
    documents = Documents(root, redact=Redactor(b"measured"))
    began = time.perf_counter()
    for path in root.rglob("*.md"):
        redact(path.read_text(encoding="utf-8"))
    cleaning = time.perf_counter() - began
    database = options.scratch / "q24.db"
    database.unlink(missing_ok=True)
    questions = [" ".join(draw.sample(_long_words(draw.choice(texts)), 4)) for _ in range(_QUESTIONS)]
    with MemoryIndex.open(database) as index:
        processor = time.process_time()
        ingest = _timed(lambda: _refresh(index, documents))
        processor = time.process_time() - processor
        same = _timed(lambda: _refresh(index, documents))
        for path in root.rglob("*.md"):
            os.utime(path, (1, 1))
        touched = _timed(lambda: _refresh(index, documents))
        lexical = _searches(MemorySearch(index, encode=None), questions)
        embedding = load_table()
        assert embedding is not None
        vectors = _timed(lambda: index.embed(embedding.encode))
        both = _searches(MemorySearch(index), questions)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        recall = _recall(index, questions[:50], embedding.encode)
        passages = index.numbers()[0]
    table(f"Q-24 ingest of {passages:,} passages, {size / 1e6:.1f} MB", ["part", "time", "rate", "bar"], [
        ["redacted and indexed", shown(ingest), f"{size / 1e6 / ingest:.1f} MB/s", "2 MB/s"],
        ["the same, time of the processor", shown(processor), f"{size / 1e6 / processor:.1f} MB/s", ""],
        ["redaction alone", shown(cleaning), f"{size / 1e6 / cleaning:.1f} MB/s", ""],
        ["unchanged", shown(same), f"{size / 1e6 / same:.0f} MB/s", "20 MB/s"],
        ["touched, text the same", shown(touched), f"{size / 1e6 / touched:.0f} MB/s", "20 MB/s"],
        ["vectors, in the background", shown(vectors), f"{passages / vectors:.0f} passages/s", ""],
        ["size of the index", f"{database.stat().st_size / 1e6:.0f} MB", "", ""],
        ["most memory so far, questions included", f"{memory / 1e6:.0f} MB", "", "600 MB"],
    ])  # fmt: skip
    began = time.perf_counter()
    db = plain(texts, "unicode61")
    building = time.perf_counter() - began
    by_words = [_timed(lambda question=question: asked(db, question, 10)) for question in questions]
    db.close()
    scan = [_timed(lambda question=question: _scanned(texts, question)) for question in questions[:20]]
    table(f"Q-24 search, {len(questions)} questions", ["way", "p50", "p95", "recall@10 of exact vectors"], [
        ["Clew, words and vectors", *_quantiles(both), f"{recall:.2f}"],
        ["Clew, words alone", *_quantiles(lexical), ""],
        [f"FTS5 unicode61, OR (built in {shown(building)})", *_quantiles(by_words), ""],
        ["scan with `in`", *_quantiles(scan), ""],
        ["bar, at a million", "", "50 ms", "0.90"],
    ])  # fmt: skip


def _refresh(index: MemoryIndex, documents: Documents) -> None:
    index.refresh(documents.walk(), lambda path, known: Loaded(documents.read_whole(path, known)))


def _searches(search: MemorySearch, questions: Sequence[str]) -> list[float]:
    search.find(questions[0])
    return [_timed(lambda question=question: search.find(question)) for question in questions]


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _quantiles(seconds: Sequence[float]) -> tuple[str, str]:
    ordered = sorted(seconds)
    return shown(statistics.median(ordered)), shown(ordered[int(0.95 * (len(ordered) - 1))])


def _recall(index: MemoryIndex, questions: Sequence[str], encode: Callable[[Sequence[str]], np.ndarray]) -> float:
    """Share of the ten passages nearest by float vectors among the ten that the index gives."""
    vectors = encode(questions)
    best: list[list[tuple[float, int]]] = [[] for _ in questions]
    for document in index.listed(Filter()):
        passages = index.passages_of(document.id)
        rows = encode([f"{document.name}\n{one.heading}\n{one.text}" for one in passages])
        for own, cosines in zip(best, vectors @ rows.T, strict=True):
            own += [(float(cosine), one.id) for cosine, one in zip(cosines, passages, strict=True)]
            own.sort(reverse=True)
            del own[10:]
    shares = [
        len({row for _, row in own} & {row for row, _ in index.likest(vector, Filter(), 10)}) / 10
        for own, vector in zip(best, vectors, strict=True)
    ]
    return statistics.mean(shares)


def _written(root: Path, count: int, draw: random.Random) -> list[str]:
    """Documents with about `count` passages of sentences from docstrings; the texts of the passages."""
    known = list(dict.fromkeys(sentences()))
    texts: list[str] = []
    for number in range(0, count, _OF_DOCUMENT):
        path = root / f"workspaces/w{number // 5000}/notes/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        own = [" ".join(draw.sample(known, draw.randint(2, 5))) for _ in range(min(_OF_DOCUMENT, count - number))]
        head = f"---\nid: mem_{number:012}\nname: note {number}\ndescription: {draw.choice(known)[:80]!r}\n---\n"
        path.write_text(head + "".join(f"## {at}\n\n{text}\n\n" for at, text in enumerate(own)), encoding="utf-8")
        texts += own
    return texts


def sentences() -> Iterator[str]:
    """Of the docstrings of the standard library."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        with contextlib.suppress(SyntaxError, UnicodeDecodeError):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    flat = " ".join((ast.get_docstring(node) or "").split())
                    yield from (one for one in re.split(r"(?<=[.!?]) ", flat) if 30 < len(one) < 300)


def _long_words(text: str) -> list[str]:
    words = [word for word in _WORD.findall(text) if len(word) > 3]
    return words if len(words) > 3 else [*words, "value", "given", "string", "return"]


def plain(texts: Sequence[str], tokenizer: str) -> sqlite3.Connection:
    """A full-text index of SQLite as it comes, in memory."""
    db = sqlite3.connect(":memory:")
    db.execute(f"create virtual table texts using fts5(body, tokenize='{tokenizer}')")
    db.executemany("insert into texts (body) values (?)", ((text,) for text in texts))
    return db


def asked(db: sqlite3.Connection, question: str, most: int) -> list[int]:
    """The rows that BM25 ranks first for any word of a question, counted from 1."""
    either = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
    query = "select rowid from texts where texts match ? order by rank limit ?"
    return [row[0] for row in db.execute(query, (either, most))]


def _scanned(texts: Sequence[str], question: str) -> list[str]:
    words = question.lower().split()
    ranked = sorted(texts, key=lambda text: -sum(word in text.lower() for word in words))
    return ranked[:10]
