from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.adapters.memory_git import MemoryGit
from clew.core.memory.edit import first_words
from clew.core.text.redact import redact
from clew.errors import NotFound, UsageError
from clew.services.memory import Memory, NoteWish
from clew.stores.audit import Audit, Choice
from clew.stores.documents import Documents

NOON = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Callable[[str], Memory]:
    """The memory of a workspace, all in one folder."""

    def clean(text: str) -> str:
        return redact(text, b"k" * 32).text

    def of(workspace: str) -> Memory:
        root = tmp_path / "memory"
        return Memory(
            Documents(root, redact=clean), tmp_path / "memory.db", Audit(tmp_path / "audit", clean),
            MemoryGit(root, {}), workspace, clock=lambda: NOON,
        )  # fmt: skip

    return of


@pytest.mark.requirement("W-01", "W-04", "W-06")
def test_a_note_is_found_by_what_it_says_and_opened_by_its_reference(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    saved = harbour.note(NoteWish("The crane stops at wind force 7. Ask the tower first.", "Crane in the wind"))
    assert saved.action == "created" and saved.receipt.path == "workspaces/harbour-1/notes/crane-in-the-wind.md"
    hit = harbour.recall("when does the crane stop?").hits[0]
    assert hit.reference.startswith(saved.ref) and "wind force 7" in hit.snippet
    opened = harbour.open(hit.reference)
    assert "wind force 7" in opened.text and not opened.stale
    assert harbour.find("Crane in the wind").description == "The crane stops at wind force 7."


@pytest.mark.requirement("W-01")
def test_appending_keeps_the_note_and_replacing_supersedes_it(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    first = harbour.note(NoteWish("Retries: five.", "Retries", when=("a call fails",)))
    again = harbour.note(NoteWish("With a pause of 2 s.", "retries", when=("a call is repeated",)))
    assert (again.action, again.ref) == ("appended", first.ref)
    assert harbour.find(first.ref).when == ("a call fails", "a call is repeated")
    third = harbour.note(NoteWish("Retries: three.", "Retries", mode="replace"))
    assert (third.action, third.replaced) == ("superseded", first.ref)
    assert harbour.open(first.ref).stale == f"superseded by {third.ref.removeprefix('clew://memory/')}"
    assert "five" in harbour.open(first.ref).text
    found = harbour.recall("how many retries?").hits
    assert found[0].reference.startswith(third.ref)


@pytest.mark.requirement("W-06", "W-15")
def test_a_miss_says_what_was_searched_and_stands_in_the_audit(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    harbour.note(NoteWish("The crane stops at wind force 7.", "Crane"))
    found = harbour.recall("sourdough bread", scope="notes")
    assert found.miss and (found.searched.scope, found.searched.documents) == ("notes", 1)
    entry = next(iter(harbour.audit.entries(Choice(kinds=frozenset({"miss"})))))
    assert (entry.query, entry.workspace) == ("sourdough bread", "harbour-1")


@pytest.mark.requirement("W-01", "W-06")
def test_notes_of_another_project_stay_out_and_those_of_the_user_are_everywhere(
    memory: Callable[[str], Memory],
) -> None:
    harbour, mill = memory("harbour-1"), memory("mill-2")
    harbour.note(NoteWish("Deploy with the blue button.", "Deploy"))
    mill.note(NoteWish("Deploy with the red lever.", "Deploy"))
    mill.note(NoteWish("Never deploy on a Friday.", "Friday", personal=True))
    shown = " ".join(hit.snippet for hit in harbour.recall("how do I deploy?").hits)
    assert "blue" in shown and "Friday" in shown and "red" not in shown


@pytest.mark.requirement("W-09")
def test_a_secret_reaches_neither_note_nor_index_nor_audit(memory: Callable[[str], Memory], tmp_path: Path) -> None:
    harbour = memory("harbour-1")
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    saved = harbour.note(NoteWish(f"The token of the bot is {secret}.", f"Bot {secret}"))
    harbour.log(f"used {secret}")
    harbour.recall(f"bot {secret}")
    assert saved.receipt.redacted
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3 and not [path for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.requirement("W-17")
def test_the_copy_that_a_sync_puts_beside_a_note_is_no_note(memory: Callable[[str], Memory], tmp_path: Path) -> None:
    harbour = memory("harbour-1")
    path = tmp_path / "memory" / harbour.note(NoteWish("The crane stops at wind force 7.", "Crane")).receipt.path
    path.with_name("crane.conflict-0a1b2c3.md").write_bytes(path.read_bytes().replace(b"7", b"9"))
    assert [one.name for one in harbour.listing()] == ["Crane"]
    assert [one.kind for one in harbour.check()[0]] == ["conflict"]
    assert len(harbour.recall("crane").hits) == 1


def test_what_is_missing_or_unknown_is_named_with_what_to_do(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    for wish in (NoteWish(" ", "x"), NoteWish("x", " "), NoteWish("x", "x", type="desision")):
        with pytest.raises(UsageError) as told:
            harbour.note(wish)
        assert told.value.hint
    with pytest.raises(UsageError, match="no scope"):
        harbour.recall("x", scope="everything")
    with pytest.raises(NotFound):
        harbour.open("clew://memory/mem_000000000000")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The crane stops at wind force 7. Ask the tower.", "The crane stops at wind force 7"),
        ("# Crane in the wind\n\nIt stops.", "Crane in the wind"),
        ("- one thing\n- another", "one thing"),
        ("风力七级时起重机停用，先问塔台。之后再说。", "风力七级时起重机停用，先问塔台"),
        ("???", "note"),
        ("```\nmake run\n```", "``` make run ```"),
        ("one two three four five six seven eight nine ten eleven", "one two three four five six seven eight nine"),
    ],
)
def test_a_note_without_a_name_is_called_by_its_first_words(text: str, name: str) -> None:
    assert first_words(text) == name


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("is_indexed", [False, True])
def test_texts_that_begin_alike_and_have_no_name_become_notes_of_their_own(
    memory: Callable[[str], Memory], is_indexed: bool
) -> None:
    harbour = memory("harbour-1")
    begin = "The crane on the north quay of the old harbour stops when the wind"
    texts = [f"{begin} blows from the {side}." for side in ("north", "south", "east")]
    saved = []
    for text in texts:
        saved.append(harbour.note(NoteWish(text, first_words(text), derived=True)))
        if is_indexed:
            harbour.recall("crane")
    assert [one.action for one in saved] == ["created"] * 3
    notes = [harbour.find(one.ref) for one in saved]
    assert [note.body.strip() for note in notes] == texts
    first = first_words(texts[0])
    assert [note.name for note in notes] == [first, f"{first} (2)", f"{first} (3)"]
    stem = notes[0].path.removesuffix(".md")
    assert [note.path for note in notes[1:]] == [f"{stem}-2.md", f"{stem}-3.md"]
    again = harbour.note(NoteWish(texts[1], first, derived=True, when=("it blows",)))
    assert (again.action, again.ref) == ("appended", saved[1].ref) and len(harbour.listing()) == 3
    assert harbour.note(NoteWish(texts[2], first, derived=True)).action == "unchanged"
    assert harbour.note(NoteWish("Ask the tower.", first)).ref == saved[0].ref, "a name that is given means its note"


@pytest.mark.requirement("W-01")
def test_a_name_is_compared_whole_and_one_that_is_too_long_is_refused(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    name = "n" * 79
    ref = harbour.note(NoteWish("One.", f"{name}1")).ref
    assert harbour.note(NoteWish("Two.", f"{name}2")).action == "created"
    assert harbour.note(NoteWish("Three.", f"{name}1")).ref == ref
    with pytest.raises(UsageError, match="longer than 80 characters") as told:
        harbour.note(NoteWish("Four.", f"{name}12"))
    assert told.value.hint and len(harbour.listing()) == 2
    with pytest.raises(UsageError, match="which note to replace"):
        harbour.note(NoteWish("Five.", "Five", mode="replace", derived=True))


@given(st.text(max_size=300))
def test_first_words_are_one_short_line_whatever_the_text(text: str) -> None:
    name = first_words(text)
    assert name.strip() == name and 0 < len(name) <= 80 and name.isprintable()


@pytest.mark.requirement("W-01", "W-14")
def test_an_id_is_found_with_and_without_an_index_also_after_a_hand_edit(memory: Callable[[str], Memory]) -> None:
    harbour = memory("harbour-1")
    ref = harbour.note(NoteWish("The crane stops at wind force 7.", "Crane")).ref
    assert harbour.find(ref).name == "Crane"
    harbour.recall("crane")
    path = harbour.documents.root / harbour.find(ref).path
    path.write_text(path.read_text(encoding="utf-8").replace(ref[14:], "mine"), encoding="utf-8")
    with pytest.raises(NotFound):
        harbour.find(ref)
    assert harbour.find("clew://memory/mine").name == "Crane"
    path.rename(path.with_name("moved.md"))
    assert harbour.find("mine").path.endswith("moved.md")
    assert harbour.note(NoteWish("And more.", "crane")).action == "appended"


@pytest.mark.requirement("W-01")
def test_of_several_notes_with_one_name_the_one_that_holds_is_meant(memory: Callable[[str], Memory]) -> None:
    harbour, mill = memory("harbour-1"), memory("mill-2")
    old = harbour.note(NoteWish("Five.", "Retries"))
    new = harbour.note(NoteWish("Three.", "Retries", mode="replace"))
    mill.note(NoteWish("None.", "Retries"))
    assert harbour.find("retries").ref == new.ref != old.ref
    other = harbour.note(NoteWish("Two.", "Fewer retries"))
    assert harbour.supersede(new.ref, other.ref).replaced == new.ref
    assert harbour.open(new.ref).stale.endswith(other.ref[14:])


@pytest.mark.requirement("W-01", "W-04")
@pytest.mark.parametrize("size", [2, 3])
def test_a_circle_of_supersessions_is_told_and_not_mended(memory: Callable[[str], Memory], size: int) -> None:
    harbour = memory("harbour-1")
    notes = [harbour.note(NoteWish(f"Text {number}.", f"Note {number}")) for number in range(size)]
    for number, one in enumerate(notes):
        harbour.set_fields(one.ref, {"supersedes": notes[number - 1].receipt.id})
    # A link that hangs on the circle is mended all the same.
    last = harbour.note(NoteWish("The last word.", "Last"))
    harbour.set_fields(last.ref, {"supersedes": notes[0].receipt.id})
    before = [harbour.documents.read_text(one.receipt.path) for one in notes]
    found, mended = harbour.check(fix=True)
    assert [one.kind for one in found] == ["cycle"] * size and not any(one.mends for one in found)
    assert [one.path for one in mended] == [notes[0].receipt.path]
    assert harbour.find(notes[0].ref).superseded_by == last.receipt.id
    assert [harbour.documents.read_text(one.receipt.path) for one in notes[1:]] == before[1:]
    assert all(harbour.find(one.ref).status == "active" for one in notes[1:])


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("others", [(), ("mem_other",)], ids=["alone", "beside another"])
def test_a_supersession_that_is_taken_back_leaves_both_notes_as_they_were(
    memory: Callable[[str], Memory], others: tuple[str, ...]
) -> None:
    harbour = memory("harbour-1")
    old = harbour.note(NoteWish("Retries: five.", "Retries"))
    new = harbour.note(NoteWish("The quay is closed.", "Quay"))
    before = [harbour.documents.read_text(one.receipt.path) for one in (old, new)]
    harbour.supersede(old.ref, new.ref)
    if others:
        harbour.set_fields(old.ref, {"superseded_by": (new.receipt.id, *others)})
    assert harbour.release(new.ref).action == "edited"
    first, second = harbour.find(old.ref), harbour.find(new.ref)
    assert not second.supersedes and harbour.documents.read_text(second.path) == before[1]
    if others:
        assert (first.superseded_by, first.status) == ("mem_other", "superseded")
    else:
        assert harbour.documents.read_text(first.path) == before[0]
    assert harbour.release(new.ref).action == harbour.release(old.ref).action == "unchanged"
