"""`clew mcp` over stdio: what the tools do, and what they say where they cannot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.command import clew, git, write
from tests.wire.lines import Lines, talking, text_of

NOTE = {
    "text": "Deploy with `make ship`, never by hand.", "name": "Deploying", "type": "procedure",
    "when": ["how do we deploy", "上线"],
}  # fmt: skip


def notes(home: Path) -> list[Path]:
    """Files of notes, of whatever workspace."""
    return sorted((home / "clew" / "memory").rglob("notes/*.md"))


# ---------------------------------------------------------------------- what is offered


@pytest.mark.requirement("W-07", "F-02")
def test_there_are_exactly_four_tools_each_with_schemas_and_annotations(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        begun = server.initialize()
        assert begun["capabilities"]["tools"] == {"listChanged": False}
        assert all(name in begun["instructions"] for name in ("memory_recall", "memory_note", "memory_log"))
        tools = server.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["memory_recall", "memory_open", "memory_note", "memory_log"]
    for tool in tools:
        assert tool["title"] and tool["description"]
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        hints = tool["annotations"]
        assert hints["openWorldHint"] is False and hints["destructiveHint"] is False
        assert hints["readOnlyHint"] is (tool["name"] in ("memory_recall", "memory_open"))
    inputs = {tool["name"]: tool["inputSchema"]["properties"] for tool in tools}
    scopes = {"notes", "logs", "reflections", "handoff", "sessions", "all"}
    assert set(inputs["memory_recall"]["scope"]["enum"]) == scopes
    note = inputs["memory_note"]
    assert set(note["kind"]["enum"]) == {"note", "handoff", "plan"}
    assert set(note["mode"]["enum"]) == {"append", "replace"}
    assert {"name", "description", "type", "when", "text"} <= note.keys()
    assert "phrases" in note["when"]["description"] and "language" in note["when"]["description"]


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25"), ("", "2025-11-25")],
)
def test_the_revision_of_the_protocol_is_the_clients_or_the_newest(
    home: Path, repo: Path, asked: str, agreed: str
) -> None:
    with talking(repo) as server:
        params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        assert server.ask("initialize", params)["result"]["protocolVersion"] == agreed


# ---------------------------------------------------------------------- what the tools do


@pytest.mark.requirement("W-04", "W-06", "W-07", "W-14")
def test_a_note_is_on_the_disk_found_again_and_opened_by_its_reference(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        saved = server.call("memory_note", NOTE)
        (path,) = notes(home)
        assert NOTE["text"] in path.read_text(encoding="utf-8") and "上线" in path.read_text(encoding="utf-8")
        facts = saved["structuredContent"]
        assert facts["saved"] is True and facts["action"] == "created"
        assert text_of(saved) == facts["message"] and facts["ref"] in facts["message"]
        found = server.call("memory_recall", {"query": "how do we deploy?"})
        (hit,) = found["structuredContent"]["hits"]
        assert hit["ref"].startswith(facts["ref"]) and "make ship" in hit["text"]
        assert hit["ref"] in text_of(found) and "> Deploy with" in text_of(found)
        opened = server.call("memory_open", {"ref": hit["ref"]})
        assert opened["structuredContent"]["text"] == NOTE["text"]
        whole = server.call("memory_open", {"ref": facts["ref"]})
        assert "when:" in whole["structuredContent"]["text"]


@pytest.mark.requirement("W-07")
def test_a_correction_supersedes_and_what_it_replaced_says_so(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        first = server.call("memory_note", NOTE)["structuredContent"]["ref"]
        corrected = {**NOTE, "text": "Deploy with `make release`.", "mode": "replace"}
        second = server.call("memory_note", corrected)["structuredContent"]
        assert second["action"] == "superseded" and second["ref"] != first
        opened = server.call("memory_open", {"ref": first})
        assert "superseded" in opened["structuredContent"]["stale"] and "DOES NOT HOLD" in text_of(opened)
        added = server.call("memory_note", {**NOTE, "text": "Ask Ada first.", "mode": "append"})["structuredContent"]
        assert (added["action"], added["ref"]) == ("appended", second["ref"])


@pytest.mark.requirement("W-06", "W-15")
def test_a_miss_says_what_was_searched_and_is_in_the_audit_trail(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        server.call("memory_note", NOTE)
        missed = server.call("memory_recall", {"query": "zeppelin mooring", "scope": "logs"})
    facts = missed["structuredContent"]
    assert missed["isError"] is False and facts["found"] is False and facts["hits"] == []
    assert facts["searched"]["scope"] == "logs"
    assert "Nothing found in logs" in text_of(missed) and "zeppelin" in text_of(missed)
    trail = clew("audit", "--misses", "--json", cwd=repo)
    assert trail.status == 0 and "zeppelin mooring" in trail.out


@pytest.mark.requirement("W-06", "F-08")
@pytest.mark.parametrize("query", ["how do we deploy?", "what does a mooring cost?"], ids=["found", "missed"])
def test_what_a_search_could_not_do_is_told_in_words_and_in_fields(home: Path, repo: Path, query: str) -> None:
    with talking(repo) as server:
        server.initialize()
        server.call("memory_note", NOTE)
        assert server.call("memory_recall", {"query": query})["structuredContent"]["notices"] == []
    (index,) = home.rglob("index/memory.db")
    shutil.rmtree(index.parent)
    write(index.parent.parent, {"index": "a file where the folder should be"})
    with talking(repo) as server:
        server.initialize()
        result = server.call("memory_recall", {"query": query})
        assert result["structuredContent"]["found"] is (query == "how do we deploy?")
        (notice,) = result["structuredContent"]["notices"]
        assert "the index could not be kept" in notice and f"note: {notice}" in text_of(result)
        # What a miss looked at is said all the same.
        assert "1 documents" in result["structuredContent"]["message"]


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("scope", ["handoff", "sessions"])
def test_scopes_that_nothing_writes_to_yet_say_that_they_are_empty(home: Path, repo: Path, scope: str) -> None:
    with talking(repo) as server:
        server.initialize()
        found = server.call("memory_recall", {"query": "what was open", "scope": scope})
    assert found["isError"] is False and f"`{scope}` is empty" in text_of(found)


@pytest.mark.requirement("W-02", "W-03", "W-07", "W-14")
def test_a_model_hands_over_keeps_a_plan_and_finds_and_opens_both(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        first = server.call("memory_note", {"kind": "plan", "text": "# Plan\n- [ ] measure the berths"})
        again = server.call("memory_note", {"kind": "plan", "text": "# Plan\n- [x] measure the berths\n- [ ] paint"})
        more = server.call("memory_note", {"kind": "plan", "text": "- [ ] rest", "mode": "append"})
        told = {"kind": "handoff", "text": "## Tried\n- chalk, which the rain took\n## Next step\n- paint with tar"}
        handed = server.call("memory_note", told)
        added = server.call("memory_note", {"kind": "handoff", "text": "## Next step\n- then rest"})
        found = server.call("memory_recall", {"query": "why not chalk?", "scope": "handoff"})
        plan = server.call("memory_open", {"ref": "clew://plan"})
        ledger = server.call("memory_open", {"ref": handed["structuredContent"]["ref"]})
        cited = server.call("memory_open", {"ref": found["structuredContent"]["hits"][0]["ref"]})
    results = [one["structuredContent"] for one in (first, again, more, handed, added)]
    assert [one["action"] for one in results] == ["created", "replaced", "replaced", "created", "refreshed"]
    assert {one["ref"] for one in results[:3]} == {"clew://plan"} and results[3]["ref"] == results[4]["ref"]
    assert "archive" in results[1]["message"] and "read back" in results[3]["message"]
    assert "[x] measure the berths\n- [ ] paint\n\n- [ ] rest" in plan["structuredContent"]["text"]
    assert all(text in ledger["structuredContent"]["text"] for text in ("the rain took", "with tar", "then rest"))
    assert "the rain took" in text_of(found) and "the rain took" in text_of(cited)
    assert len(list((home / "clew" / "memory").rglob("archive/PLAN-*.md"))) == 2


@pytest.mark.requirement("W-04")
def test_what_is_handed_over_keeps_to_its_limits_and_without_a_text_nothing_is_written(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        for kind in ("handoff", "plan"):
            long = server.call("memory_note", {"kind": kind, "text": "word " * 1_700, "mode": "append"})
            empty = server.call("memory_note", {"kind": kind, "text": " "})
            assert long["isError"] is empty["isError"] is True
            assert "8,000" in text_of(long) and "hint: " in text_of(empty)
        missing = server.call("memory_open", {"ref": "clew://plan"})
    assert missing["isError"] is True and "there is no plan yet" in text_of(missing)
    assert not list((home / "clew").rglob("*.md"))


@pytest.mark.requirement("W-06")
def test_an_answer_keeps_to_its_budget_and_names_the_rest(home: Path, repo: Path) -> None:
    with talking(repo) as server:
        server.initialize()
        for number in range(12):
            told = f"Berth {number} takes ships. " + "Harbour masters measure berths by hand. " * 20
            server.call("memory_note", {"text": told, "name": f"Berth {number}", "when": [f"berth {number}"]})
        small = server.call("memory_recall", {"query": "which berths take ships?", "budget": 900})
        large = server.call("memory_recall", {"query": "which berths take ships?", "budget": 30_000})
    assert len(text_of(small).encode()) < 2_000 < len(text_of(large).encode())
    assert small["structuredContent"]["left_out"] > 0 and "more; narrow" in text_of(small)


def test_secrets_are_taken_out_before_anything_is_kept(home: Path, repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    with talking(repo) as server:
        server.initialize()
        saved = server.call("memory_log", {"text": f"The token is {secret}."})
    assert "Secrets were taken out" in saved["structuredContent"]["message"]
    everything = [path.read_bytes() for path in (home / "clew").rglob("*") if path.is_file()]
    assert everything and not any(secret.encode() in content for content in everything)


@pytest.mark.requirement("W-14")
def test_any_reference_opens_files_lines_exchanges_and_git(home: Path, harbour: Path) -> None:
    clew("ask", "what does retry do?", cwd=harbour)
    with talking(harbour) as server:
        server.initialize()

        def opened(ref: str) -> Any:
            return server.call("memory_open", {"ref": ref})["structuredContent"]

        assert opened("src/retry.py:4-5")["text"].startswith("def retry_with_backoff")
        assert opened("src/retry.py:4-5")["ref"] == "src/retry.py:4-5"
        assert "# Harbour" in opened("README.md")["text"]
        assert "what does retry do?" in opened("exchange:1")["text"]
        assert "Book berths" in opened("git:last-commit")["text"]
        assert "Book berths" in opened(git(harbour, "rev-parse", "HEAD"))["text"]


def test_a_long_text_is_cut_at_a_line_and_says_how_to_go_on(home: Path, repo: Path) -> None:
    write(repo, {"long.txt": "".join(f"line {number} of a long file\n" for number in range(1, 5_001))})
    with talking(repo) as server:
        server.initialize()
        first = server.call("memory_open", {"ref": "long.txt"})
        facts = first["structuredContent"]
        assert len(text_of(first)) < 25_000 and facts["lines"] == 5_000
        last = facts["text"].splitlines()[-1]
        rest = server.call("memory_open", {"ref": facts["more"]})["structuredContent"]
    number = int(last.split()[1])
    assert last.endswith("file") and rest["text"].startswith(f"line {number + 1} of")


# ---------------------------------------------------------------------- where it works


@pytest.mark.requirement("F-02")
def test_the_first_root_that_is_a_repository_is_the_project_and_a_change_of_roots_counts(
    home: Path, repo: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain folder"
    plain.mkdir()
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    with talking(tmp_path) as server:
        server.initialize(roots={"listChanged": True})
        said = rooted(server, [plain.as_uri(), repo.as_uri(), other.as_uri()], NOTE)
        assert "project My Repo; the first of 3 roots that is a repository" in said["message"]
        assert said["workspace"].startswith("repo-")
        # The roots are known now, and are not asked for again until they change.
        again = server.call("memory_log", {"text": "a day at the harbour"})
        assert again["structuredContent"]["workspace"] == said["workspace"]
        server.send({"method": "notifications/roots/list_changed"})
        moved = rooted(server, [other.as_uri()], NOTE)
        assert "project other)" in moved["message"] and moved["workspace"] != said["workspace"]
        server.send({"method": "notifications/roots/list_changed"})
        lost = rooted(server, ["https://example.com/x", "file:///no/such/folder"], NOTE)
        assert "none of the 2 roots of the client is a folder here" in lost["message"]
    assert len(notes(home)) == 3


def rooted(server: Lines, uris: list[str], note: dict[str, Any]) -> dict[str, Any]:
    """The fields of a call of `memory_note`, while which the server asks for the roots."""
    ident = server.begin_call("memory_note", note)
    asked = server.next()
    assert asked["method"] == "roots/list"
    server.send({"id": asked["id"], "result": {"roots": [{"uri": uri} for uri in uris]}})
    return server.answer(ident)["result"]["structuredContent"]


def test_without_roots_the_project_is_that_of_the_option_else_of_the_folder(
    home: Path, repo: Path, tmp_path: Path
) -> None:
    for cwd, options in ((tmp_path, ("--workspace", str(repo))), (repo, ())):
        with talking(cwd, *options) as server:
            server.initialize()
            assert "project My Repo" in text_of(server.call("memory_log", {"text": "here"}))


def test_a_client_that_does_not_name_its_roots_in_time_is_served_in_the_folder(
    home: Path, repo: Path, tmp_path: Path
) -> None:
    with talking(repo) as server:
        server.initialize(roots={})
        saved = server.call("memory_log", {"text": "here"})
        assert "the client did not say which folders it works in" in text_of(saved)
        (asked,) = server.seen
        # It is not waited for again, but heard when it speaks at last.
        other = tmp_path / "other"
        other.mkdir()
        server.send({"id": asked["id"], "result": {"roots": [{"uri": other.as_uri()}]}})
        assert "project other)" in text_of(server.call("memory_log", {"text": "there"}))


@pytest.mark.requirement("F-02")
def test_two_servers_serve_one_project_at_once(home: Path, repo: Path) -> None:
    with talking(repo) as one, talking(repo) as two:
        one.initialize()
        two.initialize()
        ref = one.call("memory_note", NOTE)["structuredContent"]["ref"]
        found = two.call("memory_recall", {"query": "how do we deploy?"})["structuredContent"]
        assert found["hits"][0]["ref"].startswith(ref)
        assert two.end() == one.end() == 0


# ---------------------------------------------------------------------- long work


@pytest.mark.requirement("F-02")
def test_a_first_index_tells_how_far_it_is(home: Path, repo: Path) -> None:
    fill(home, repo, 300)
    with talking(repo) as server:
        server.initialize()
        found = server.call("memory_recall", {"query": "berth 7"}, _meta={"progressToken": "p1"})
        assert found["structuredContent"]["found"]
    told = [one["params"] for one in server.seen if one.get("method") == "notifications/progress"]
    assert len(told) > 1 and {one["progressToken"] for one in told} == {"p1"}
    steps = [one["progress"] for one in told]
    assert steps == sorted(set(steps)) and told[-1]["progress"] == told[-1]["total"] > 300


@pytest.mark.requirement("F-02")
def test_what_is_cancelled_gets_no_answer_and_the_rest_does(home: Path, repo: Path) -> None:
    fill(home, repo, 600)
    with talking(repo) as server:
        server.initialize()
        ident = server.begin_call("memory_recall", {"query": "berth 7"}, _meta={"progressToken": 1})
        while server.next().get("method") != "notifications/progress":
            pass
        server.send({"method": "notifications/cancelled", "params": {"requestId": ident, "reason": "enough"}})
        assert server.ask("ping")["result"] == {}
        assert server.call("memory_recall", {"query": "berth 8"})["structuredContent"]["found"]
        assert server.end() == 0
        assert not [one for one in server.seen if one.get("id") == ident]


def fill(home: Path, repo: Path, count: int) -> None:
    """Notes in the project's folder, as a person would copy them there."""
    with talking(repo) as server:
        server.initialize()
        ident = server.call("memory_log", {"text": "the first day"})["structuredContent"]["workspace"]
    folder = home / "clew" / "memory" / "workspaces" / ident / "notes"
    body = "Ships are measured twice, by two people, before they get a berth. " * 30
    write(folder, {f"berth-{n}.md": f"# Berth {n}\n\nBerth {n} is free. {body}\n" for n in range(count)})


@pytest.mark.requirement("W-06")
def test_a_note_is_recalled_by_its_name_and_by_its_cues(home: Path, repo: Path) -> None:
    shelf = {"text": "The stuff sits in the cupboard.", "name": "Crockery shelf", "when": ["the tea pot is missing"]}
    with talking(repo) as server:
        server.initialize()
        ref = server.call("memory_note", shelf)["structuredContent"]["ref"]
        for query in ("crockery shelf", "where is the tea pot?"):
            (hit,) = server.call("memory_recall", {"query": query})["structuredContent"]["hits"]
            assert hit["ref"].startswith(f"{ref}#L") and "cupboard" in hit["text"]


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_a_note_whose_name_two_notes_have_is_refused_with_both_named(home: Path, repo: Path, mode: str) -> None:
    with talking(repo) as server:
        server.initialize()
        server.call("memory_note", NOTE)
        (path,) = notes(home)
        text = path.read_text(encoding="utf-8")
        id_ = text.partition("id: ")[2].split("\n")[0]
        twin = path.with_name("deploying-2.md")
        twin.write_text(text.replace(id_, "mem_0123456789ab"), encoding="utf-8")
        refused = server.call("memory_note", {**NOTE, "text": "Deploy with `make release`.", "mode": mode})
    assert refused["isError"] is True
    assert all(part in text_of(refused) for part in ("more than one document", "deploying.md", "deploying-2.md", "set"))
    assert notes(home) == [twin, path] and "release" not in path.read_text("utf-8") + twin.read_text("utf-8")
