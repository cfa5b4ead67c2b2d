"""What may come into the folder of a memory, by name and kind alone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core.memory import entering
from clew.core.memory.entering import clashes, folded, why_left_out

pytestmark = [pytest.mark.requirement("W-17")]


@pytest.mark.parametrize(
    "path",
    [
        "user/a.md",
        "user/deep/er/注释.md",
        "user/Café au lait.md",
        "user/archive/a.md",
        "user/picture.png",
        "user/a.conflict-0123456.md",
        "workspaces/crane-0123456789/notes/a-2.md",
        "workspaces/w/logs/2026-03-01.md",
        "workspaces/w/reflections/2026-03-01.md",
        "workspaces/w/handoff/2026-03-01-1200-a.md",
        "README.md",
        "user/console.md",
        "user/😀‍🔥.md",
    ],
)
def test_documents_and_what_lies_beside_them_come_in(path: str) -> None:
    assert why_left_out(path) == ""


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("top.txt", entering.OUTSIDE),
        ("hooks/post-checkout", entering.OUTSIDE),
        ("workspaces/w/x.md", entering.OUTSIDE),
        ("workspaces/w/other/x.md", entering.OUTSIDE),
        ("user", entering.OUTSIDE),
        (".gitattributes", entering.STEERS),
        (".gitmodules", entering.STEERS),
        ("user/.GitAttributes", entering.STEERS),
        ("user/.git. /config", entering.STEERS),
        ("user/.g\u200cit/config", entering.STEERS),
        ("GIT~1/config", entering.STEERS),
        ("user/.hidden.md", entering.HIDDEN),
        (".github/workflows/a.yml", entering.HIDDEN),
        ("user/CON.md", entering.STRANGE),
        ("user/aux", entering.STRANGE),
        ("user/COM¹.md", entering.STRANGE),
        ("user/nul.tar.md/a.md", entering.STRANGE),
        ("user/a.md.", entering.STRANGE),
        ("user/a /b.md", entering.STRANGE),
        ("user/ a.md", entering.STRANGE),
        ("user/a:b.md", entering.STRANGE),
        ("user/a\\b.md", entering.STRANGE),
        ("user/a\nb.md", entering.STRANGE),
        ("user/a\u202edm.exe", entering.STRANGE),
        ("user/\udcff.md", entering.STRANGE),
        ("user/notes~1.md", entering.STRANGE),
        ("user//a.md", entering.STRANGE),
        (f"user/{'é' * 101}.md", entering.LONG),
        (f"user/{'/'.join(['a' * 100] * 10)}.md", entering.LONG),
        ("user/a.md~", entering.PASSING),
        ("user/a.tmp", entering.PASSING),
    ],
)
def test_other_names_stay_out_with_a_reason(path: str, reason: str) -> None:
    assert why_left_out(path) == reason


def test_only_files_of_a_bearable_size_come_in() -> None:
    modes = {"120000": entering.LINK, "160000": entering.REPOSITORY, "040000": entering.UNKNOWN, "100755": ""}
    assert {mode: why_left_out("user/a.md", mode) for mode in modes} == modes
    assert why_left_out("user/a.md", size=entering.MOST_BYTES) == ""
    assert why_left_out("user/a.md", size=entering.MOST_BYTES + 1) == entering.LARGE


def test_of_names_that_some_systems_take_for_one_the_first_or_the_present_one_stays() -> None:
    composed, apart = "user/Caf\u00e9.md", "user/Cafe\u0301.md"
    assert clashes(["user/a.md", "user/A.md"]) == {"user/a.md": "user/A.md"}
    assert clashes(["user/a.md", "user/A.md"], {"user/a.md"}) == {"user/A.md": "user/a.md"}
    assert clashes([composed, apart], {composed}) == {apart: composed}
    assert clashes(["user/STRASSE.md", "user/straße.md"]) == {"user/straße.md": "user/STRASSE.md"}
    # A folder of another spelling, and a file where the other has a folder.
    assert clashes(["user/B/x.md", "user/b/y.md"]) == {"user/b/y.md": "user/B/x.md"}
    assert clashes(["user/B", "user/b/y.md"]) == {"user/b/y.md": "user/B"}
    assert clashes(["user/a.md", "user/b.md", "user/B.txt"]) == {}


names = st.text(st.sampled_from("aAéÉe\u0301ß/"), min_size=1, max_size=6)


@given(st.sets(names, max_size=8), st.sets(names, max_size=4))
def test_what_is_left_clashes_with_nothing_and_what_is_there_is_never_moved_for_what_is_not(
    paths: set[str], there: set[str]
) -> None:
    found = clashes(paths, there)
    rest = paths - found.keys()
    assert found.keys() <= paths and set(found.values()) <= rest and not clashes(rest, there)
    assert len({folded(path) for path in rest}) == len(rest)
    assert all(other in there for path, other in found.items() if path in there)
    assert all(folded(unicodedata.normalize("NFD", path).upper()) == folded(path.upper()) for path in paths)
