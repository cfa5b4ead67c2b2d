"""`clew handoff` and `clew plan` as their user meets them: an editor, another writer, versions, references, Chinese."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from tests.command import clew, git
from tests.wire.lines import talking

SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def editor(tmp_path: Path, code: str) -> dict[str, str | None]:
    """The environment in which the editor is a Python program; `path` is the file that it is given."""
    program = tmp_path / "editor.py"
    head = "import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\ntext = path.read_text()\n"
    program.write_text(head + code, encoding="utf-8")
    return {"VISUAL": f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}", "EDITOR": "false"}


def plan_of(home: Path) -> Path:
    (path,) = (home / "clew" / "memory").glob("workspaces/*/handoff/PLAN.md")
    return path


@pytest.mark.requirement("W-02", "W-04", "W-14")
def test_a_text_is_handed_over_shown_listed_and_opened(harbour: Path, home: Path) -> None:
    nothing = clew("handoff", cwd=harbour)
    assert (nothing.status, nothing.out) == (0, "") and "nothing has been handed over" in nothing.err
    assert clew("handoff", "--json", cwd=harbour).json is None
    saved = clew("handoff", "save", f"Next: lock the crane, {SECRET}", cwd=harbour)
    ref = saved.out.strip()
    assert saved.status == 0 and ref.startswith("clew://handoff/2") and "secrets were taken out" in saved.err
    more = clew(
        "handoff", "save", "--json", cwd=harbour, stdin="## Tried\n- the crane's own gauge: it ices over\n"
    ).json
    assert (more["ref"], more["action"], more["superseded"]) == (ref, "refreshed", "")
    shown = clew("handoff", cwd=harbour)
    assert all(part in shown.out for part in ("Next: lock the crane", "it ices over", "## Goal and decisions"))
    row = clew("handoff", "--json", cwd=harbour).json
    assert (row["ref"], row["trigger"], row["branch"], row["window"]) == (ref, "user", "main", 1)
    assert row["sections"]["tried"] == "- the crane's own gauge: it ices over" and Path(row["path"]).is_file()
    (one,) = clew("handoff", "--list", "--json", cwd=harbour).json
    assert one["ref"] == ref and ref in clew("handoff", "--list", cwd=harbour).out
    opened = clew("open", ref, cwd=harbour)
    assert opened.status == 0 and opened.out == shown.out
    assert "it ices over" in clew("memory", "search", "why not the gauge?", "--scope", "handoff", cwd=harbour).out
    assert "lock the crane" in clew("memory", "list", "--tier", "handoff", cwd=harbour).out
    assert SECRET not in "".join(path.read_text() for path in (home / "clew").rglob("*.md"))
    git(harbour, "switch", "-q", "-c", "storm")
    elsewhere = clew("handoff", cwd=harbour)
    assert elsewhere.out == "" and "on others: main" in elsewhere.err


@pytest.mark.requirement("W-05")
def test_what_a_new_window_would_be_told_is_shown_with_its_size(harbour: Path, tmp_path: Path) -> None:
    assert clew("handoff", "--hint", "--json", cwd=harbour).json["text"] == ""
    clew("handoff", "save", "## Goal\n- Goal: lift by Friday\n## Next\n- Next: the siren", cwd=harbour)
    clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text('- [ ] measure the wind')"))
    made = clew("handoff", "--hint", "--json", cwd=harbour).json
    assert made["bytes"] == len(made["text"].encode()) <= 4_096 and made["references"][0] == "clew://plan"
    shown = clew("handoff", "--hint", cwd=harbour)
    assert "Plan, still open: measure the wind" in shown.out and f"bytes: {made['bytes']}" in shown.err


@pytest.mark.requirement("W-03", "W-14")
def test_a_plan_is_edited_compared_and_every_version_opens(harbour: Path, home: Path, tmp_path: Path) -> None:
    assert "there is no plan yet" in clew("plan", cwd=harbour).err and clew("plan", "--json", cwd=harbour).json is None
    first = clew(
        "plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text(text + '- [ ] wind\\n- [ ] crew\\n')")
    )
    assert first.out == "clew://plan\n" and "saved: " in first.err
    code = "path.write_text(text.replace('[ ] wind', '[x] wind') + '- [ ] siren\\n')"
    row = clew("plan", "edit", "--json", cwd=harbour, env=editor(tmp_path, code)).json
    assert row["action"] == "replaced" and "/handoff/archive/PLAN-" in row["archived"]
    assert "- [x] wind\n- [ ] crew\n- [ ] siren" in clew("plan", cwd=harbour).out
    assert [step["done"] for step in clew("plan", "--json", cwd=harbour).json["steps"]] == [True, False, False]
    told = clew("plan", "diff", cwd=harbour).out
    assert [line.split()[0] for line in told.splitlines()] == ["done", "added"]
    both = clew("plan", "log", "--json", cwd=harbour).json
    assert [one["number"] for one in both] == [1, 2] and both[1]["steps"]["done"] == 1
    assert clew("plan", "diff", "2", "1", "--json", cwd=harbour).json["steps"][0]["change"] == "reopened"
    assert "[ ] wind" in clew("open", f"clew://plan/{both[0]['name']}", cwd=harbour).out
    wrong = clew("plan", "diff", "7", cwd=harbour, env={"LC_ALL": "zh_CN.UTF-8"})
    assert wrong.status == 2 and "不是计划的版本" in wrong.err
    same = clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "pass"))
    assert same.status == 0 and len(list(home.rglob("PLAN-*.md"))) == 1


@pytest.mark.requirement("W-03", "W-04")
def test_nothing_is_lost_where_two_write_the_plan_and_a_plan_is_not_emptied(
    harbour: Path, home: Path, tmp_path: Path
) -> None:
    clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text('- [ ] one\\n')"))
    plan = plan_of(home)
    code = f"Path({str(plan)!r}).write_text('of somebody else')\npath.write_text(text + '- [ ] mine')"
    refused = clew("plan", "edit", cwd=harbour, env=editor(tmp_path, code))
    assert refused.status == 2 and "has changed since it was read" in refused.err and "kept in" in refused.err
    assert plan.read_text() == "of somebody else"
    (kept,) = home.rglob("plan-*.md")
    assert kept.read_text().endswith("- [ ] one\n- [ ] mine")
    empty = clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text('')"))
    assert empty.status == 2 and plan.read_text() == "of somebody else"


@pytest.mark.requirement("W-03", "W-04")
def test_a_plan_keeps_its_id_and_a_first_one_takes_none_of_another_document(
    harbour: Path, home: Path, tmp_path: Path
) -> None:
    ref = clew("note", "Retries: five.", "--name", "Retries", "--json", cwd=harbour).json["id"]
    with talking(harbour) as server:
        server.initialize()
        told = {"text": f"---\nid: {ref}\n---\n- [ ] one\n", "kind": "plan"}
        assert f"another document has the id `{ref}`" in str(server.call("memory_note", told))
    clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text('- [ ] one\\n')"))
    before = plan_of(home).read_text()
    code = f"path.write_text(text.replace('id: mem_', 'id: {ref}x') + 'mine')"
    refused = clew("plan", "edit", cwd=harbour, env=editor(tmp_path, code))
    assert refused.status == 2 and "another id" in refused.err and "kept in" in refused.err, refused.err
    assert plan_of(home).read_text() == before


@pytest.mark.requirement("W-03")
def test_a_branch_gets_a_plan_of_its_own_where_it_is_asked_for(harbour: Path, tmp_path: Path) -> None:
    clew("plan", "edit", cwd=harbour, env=editor(tmp_path, "path.write_text('- [ ] of all\\n')"))
    git(harbour, "switch", "-q", "-c", "fix/storm")
    own = editor(tmp_path, "path.write_text(text + '- [ ] of the storm\\n')")
    assert "/branches/fix-storm/" in clew("plan", "edit", "--branch", "--json", cwd=harbour, env=own).json["path"]
    assert "- [ ] of all\n- [ ] of the storm" in clew("plan", cwd=harbour).out
    git(harbour, "switch", "-q", "main")
    assert "storm" not in clew("plan", cwd=harbour).out
