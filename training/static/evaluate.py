"""Measure a text encoder: recall@3 on annotated notes, and the way from Chinese to English words of developers."""

from __future__ import annotations

import json
import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import e5
import numpy as np
from corpus import Corpus

from clew.adapters.embedding import Segmenter, StaticTable, is_chinese

Array = np.ndarray[Any, Any]
Encoder = Callable[[Sequence[str]], Array]
PAIRS = Path(__file__).with_name("wordpairs.tsv")
TODAY = date(2026, 6, 15)


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """Notes with front matter of `key: value` lines, values as JSON where quoted."""
    notes: list[dict[str, Any]] = []
    for path in sorted((folder / "memories").glob("*.md")):
        _, head, body = path.read_text(encoding="utf-8").split("---", 2)
        note: dict[str, Any] = {"body": body.strip()}
        for line in head.strip().splitlines():
            key, _, value = line.partition(":")
            note[key] = json.loads(value) if value.strip().startswith('"') else value.strip()
        notes.append(note)
    return notes


def recall_at_3(folder: Path, query: Encoder, passage: Encoder) -> dict[str, float]:
    """Share of relevant notes in the first three: cosine of the head plus cosine of all; stale notes left out."""
    notes = [
        n
        for n in read_notes(folder)
        if "superseded_by" not in n and not ("expires" in n and date.fromisoformat(n["expires"]) <= TODAY)
    ]
    messages = [json.loads(line) for line in (folder / "messages.jsonl").read_text(encoding="utf-8").splitlines()]
    heads = [f"{n['name']}. {n['description']}" for n in notes]
    whole = [f"{head}. {note['body']}" for head, note in zip(heads, notes, strict=True)]
    score = query([m["text"] for m in messages]) @ (passage(heads) + passage(whole)).T
    found: dict[str, list[float]] = {}
    for message, row in zip(messages, score, strict=True):
        if message["relevant"]:
            top = {notes[i]["id"] for i in np.argsort(-row, kind="stable")[:3]}
            value = len(top & set(message["relevant"])) / len(message["relevant"])
            kinds = ["all", "cross" if "cross_language" in message["traits"] else "same"]
            for kind in kinds + ["no_overlap"] * ("no_overlap" in message["traits"]):
                found.setdefault(kind, []).append(value)
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def word_precision(encode: Encoder, vocabulary: Sequence[str]) -> dict[str, float]:
    """precision@1 and @5 of Chinese to English over `vocabulary` plus the expected words."""
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    gold = [set(row[1].split("|")) for row in rows]
    words = sorted(set(vocabulary).union(*gold))
    order = np.argsort(-(encode([row[0] for row in rows]) @ encode(words).T), axis=1)
    hit = [[words[i] in gold[n] for i in order[n, :5]] for n in range(len(rows))]
    return {"p@1": float(np.mean([h[0] for h in hit])), "p@5": float(np.mean([any(h) for h in hit]))}


def identifier_parts(names: Counter[str], splitter: Segmenter, limit: int = 5_000) -> list[str]:
    """The most frequent parts of names that code defines."""
    parts: Counter[str] = Counter()
    for name in names:
        parts.update(set(splitter.words(name.replace("_", " "))))
    return [word for word, _ in parts.most_common() if 3 <= len(word) <= 20][:limit]


def centred_teacher(scratch: Path, found: Corpus, prefix: str) -> Encoder:
    """The teacher minus its language means, taken from 600 pairs."""
    teacher = e5.Teacher(e5.read_weights(e5.model_file()), scratch / "e5.onnx")
    pairs = random.Random(3).sample(sorted(found.pairs), 600)
    means = np.stack([teacher.encode([pair[side] for pair in pairs], prefix).mean(0) for side in (0, 1)])

    def encode(texts: Sequence[str]) -> Array:
        rows = teacher.encode(texts, prefix) - means[[int(is_chinese(text)) for text in texts]]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return encode


def main() -> None:
    """python evaluate.py RECALL_FOLDER SCRATCH: figures for the shipped table and for its teacher."""
    folder, scratch = map(Path, sys.argv[1:3])
    found: Corpus = pickle.loads((scratch / "corpus.pickle").read_bytes())  # a file that build.py wrote
    table = StaticTable.load()
    words = identifier_parts(found.names, table.segmenter)
    query, passage = (centred_teacher(scratch, found, prefix) for prefix in ("query: ", "passage: "))
    print("table  ", recall_at_3(folder, table.encode, table.encode), word_precision(table.word_vectors, words))
    print("teacher", recall_at_3(folder, query, passage), word_precision(query, words))


if __name__ == "__main__":
    main()
