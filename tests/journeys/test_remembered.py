"""Memory in the context of a question, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import clew, commit, write
from tests.scripted_server import serving

from clew.services.memory_source import asks_for_memory

RETRY = 'def retry(n):\n    """Retry a call n times."""\n    for i in range(n): pass\n'
MOORED = "Two ropes at the bow, one astern."
LIMIT = "We retry three times, never more: the gateway bans us after four."


@pytest.fixture
def yard(home: Path, tmp_path: Path) -> Path:
    """A project with a decision about it."""
    root = write(tmp_path / "yard", {"retry.py": RETRY})
    commit(root)
    words = ("--name", "Retry limit", "--type", "decision", "--when", "how often do we retry a call?")
    clew("note", LIMIT, *words, cwd=root)
    return root


def kept(root: Path, *words: str) -> list[dict[str, object]]:
    """What memory gave to a context."""
    report = json.loads(clew("context", "--json", *words, cwd=root).out)["report"]
    return [one for one in report["kept"] if one["source"] == "memory"]


@pytest.mark.requirement("R-08", "P-02", "W-14")
def test_a_note_that_fits_is_hinted_to_the_model_as_a_fact_with_its_reference(yard: Path) -> None:
    with serving() as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-test", "CLEW_MODEL": "openai:gpt-5-mini"}
        assert clew("ask", "how often do we retry a call?", cwd=yard, env=env).status == 0
        sent = json.dumps(server.posts()[0].json, ensure_ascii=False)
    assert "Retry limit — We retry three times" in sent and "clew://memory/mem_" in sent
    (line,) = kept(yard, "how often do we retry a call?")
    assert (line["form"], line["anchor"]) == ("line", True)
    opened = clew("open", str(line["ref"]), cwd=yard)
    assert LIMIT in opened.out


@pytest.mark.requirement("W-06", "P-02")
@pytest.mark.parametrize("question", ["what did we decide about retries?", "我们之前关于重试次数是怎么决定的？"])
def test_who_asks_what_was_decided_gets_the_note_itself(yard: Path, question: str) -> None:
    asked = clew("ask", "--new", question, cwd=yard)
    assert asked.out.startswith("clew://memory/mem_") and LIMIT in asked.out
    assert [one["form"] for one in kept(yard, question)] == ["body"]


@pytest.mark.requirement("W-06", "P-02")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--description", "How the ferry is moored in a storm"), MOORED),
        (("--tag", "ferry"), MOORED),
        (("--when", "the ferry drags its anchor"), MOORED),
        (("--description", f"The ferry: {MOORED}"), ""),
        (("--description", f"The ferry: {MOORED}"), "# Ropes"),
    ],
)
def test_a_note_answers_also_by_what_stands_above_its_text(
    yard: Path, home: Path, words: tuple[str, str], text: str
) -> None:
    ref = clew("note", "-", "--name", "Ropes", *words, cwd=yard, stdin=text or "to be taken out").out.strip()
    if not text:
        (path,) = home.rglob("ropes.md")
        path.write_text(path.read_text(encoding="utf-8").replace("to be taken out\n", ""), encoding="utf-8")
    asked = clew("ask", "--new", "what did we decide about the ferry?", cwd=yard)
    assert asked.out.startswith(ref) and MOORED in asked.out


@pytest.mark.requirement("W-06", "P-02")
def test_what_was_noted_keeps_its_room_before_files_that_are_merely_like_the_question(yard: Path) -> None:
    row = 'def release_job_{}():\n    """The release job decides about step {}."""\n    return "release job"\n'
    write(yard, {f"release/job_{at}.py": row.format(at, at) for at in range(40)})
    text = "The release job runs on Thursdays at 10:00 and takes forty minutes, " + "with a pause after each ship, " * 9
    clew("note", text, "--name", "Release job", cwd=yard)
    question = "What did we decide about the release job?"
    report = clew("context", "--json", "--max-tokens", "1500", question, cwd=yard).json["report"]
    assert any(one["source"] == "related" and one["cause"] == "budget" for one in report["trimmed"]), "room is short"
    assert [one["form"] for one in report["kept"] if one["source"] == "memory"] == ["body"]


@pytest.fixture
def crew_yard(yard: Path) -> Path:
    """A project with notes that answer questions which sound like ones about git, or like general knowledge."""
    for name, text in (
        ("Staging restart", "The staging server is restarted every Friday at 18:00 UTC."),
        ("Reviews", "Releases need one review and green tests."),
        ("Database choice", "We chose SQLite over Postgres because one file needs no server and backups are a copy."),
        ("Branch names", "A branch is called after its ticket, for instance CL-12-cranes."),
    ):
        clew("note", text, "--name", name, cwd=yard)
    return yard


@pytest.mark.requirement("P-06", "P-15", "R-08")
@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("When is staging restarted?", "every Friday at 18:00 UTC."),
        ("how many reviews does a release need?", "one review and green tests."),
        ("why SQLite and not postgres?", "one file needs no server"),
    ],
)
def test_a_note_that_comes_to_mind_answers_what_sounds_like_a_question_for_something_else(
    crew_yard: Path, question: str, note: str
) -> None:
    asked = clew("ask", "--new", question, cwd=crew_yard)
    reference, text = asked.out.splitlines()
    assert reference.startswith("clew://memory/mem_") and note in text and text.startswith("  ")
    assert "a note came to mind" in asked.err and "git" not in asked.err
    (line,) = kept(crew_yard, question)
    assert (line["form"], line["anchor"]) == ("line", True), "a model gets the hint, and no body"
    assert kept(crew_yard, "--mode", "minimal", question) == [], "the user's word"


@pytest.mark.requirement("P-06", "R-08")
def test_a_note_stands_before_facts_of_git_where_git_is_named(crew_yard: Path) -> None:
    told = clew("ask", "--new", "what do we call a branch here?", cwd=crew_yard).out
    assert told.startswith("clew://memory/mem_") and "called after its ticket" in told
    assert "clew://" not in clew("ask", "--new", "which branch am I on?", cwd=crew_yard).out


@pytest.mark.requirement("P-06")
def test_a_question_that_needs_no_project_gets_no_hint(yard: Path) -> None:
    assert kept(yard, "what is the capital of France?") == []


@pytest.mark.requirement("P-10")
def test_a_project_can_keep_notes_out_of_its_questions(yard: Path) -> None:
    (yard / ".clew.yaml").write_text("memory_scope: none\n", encoding="utf-8")
    assert kept(yard, "what did we decide about retries?") == []


@pytest.mark.requirement("P-10")
def test_a_project_can_keep_the_user_s_own_notes_out_of_its_questions(yard: Path) -> None:
    clew("note", "We retry at night only.", "--name", "Night", "--personal", cwd=yard)
    question = "what did we decide about retries?"
    own = {str(one["ref"]).partition("#")[0] for one in kept(yard, question)}
    (yard / ".clew.yaml").write_text("memory_scope: workspace\n", encoding="utf-8")
    narrowed = {str(one["ref"]).partition("#")[0] for one in kept(yard, question)}
    assert (len(own), len(narrowed)) == (2, 1) and narrowed < own


@pytest.mark.requirement("W-01")
def test_a_note_that_does_not_hold_any_more_stays_out(yard: Path, home: Path) -> None:
    (path,) = home.rglob("retry-limit.md")
    path.write_text(path.read_text(encoding="utf-8").replace("status: active", "status: deprecated"), encoding="utf-8")
    assert kept(yard, "what did we decide about retries?") == []
    assert kept(yard, "how often do we retry a call?") == []


@pytest.fixture
def full_yard(yard: Path) -> Path:
    """A project with notes of which no file says anything."""
    for name, text, when in (
        ("Celery stays", "We chose Celery over Dramatiq in January.", "which task queue do we use"),
        ("退款审批", "退款超过五百元要主管审批。", "退款要谁审批"),
        ("Rotation of keys", "Keys of partners rotate every 90 days.", "rotate a key"),
    ):
        clew("note", text, "--name", name, "--type", "decision", "--when", when, cwd=yard)
    return yard


@pytest.mark.requirement("P-15")
@pytest.mark.parametrize(
    ("question", "note", "line"),
    [
        ("which task queue do we use here, and why not dramatiq?", "Celery stays", "only notes found"),
        ("退款要谁审批？", "退款审批", "只找到笔记"),
    ],
)
def test_a_prompt_never_says_that_nothing_was_found_above_a_note(
    full_yard: Path, question: str, note: str, line: str
) -> None:
    shown = clew("context", "--json", question, cwd=full_yard).json
    prompt = json.dumps(shown, ensure_ascii=False)
    assert note in prompt and "Nothing in the workspace" not in prompt
    assert "No file here was found to bear on this question; what was noted about it stands below." in prompt
    assert (shown["report"]["nothing_found"], shown["report"]["only_notes"]) == (False, True)
    asked = clew("ask", "--new", question, cwd=full_yard, env={"CLEW_LANG": "zh" if "谁" in question else "en"})
    assert note in asked.out and "retry.py" not in asked.out
    assert line in asked.err and "nothing here matches" not in asked.err


@pytest.mark.requirement("W-06", "P-15")
@pytest.mark.parametrize("question", ["what have we decided about kubernetes?", "我们对 kubernetes 有什么约定"])
def test_who_asks_for_what_was_never_noted_is_told_so(full_yard: Path, question: str) -> None:
    shown = clew("context", "--json", question, cwd=full_yard).json
    assert [one for one in shown["report"]["kept"] if one["source"] == "memory"] == []
    assert shown["report"]["nothing_found"]
    assert "clew://" not in clew("ask", "--new", question, cwd=full_yard).out


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("question", ["我们之前对退款金额有什么约定", "what did we decide about refunds?"])
def test_only_notes_that_speak_of_what_is_asked_are_read(full_yard: Path, question: str) -> None:
    shown = json.dumps(clew("context", "--json", question, cwd=full_yard).json, ensure_ascii=False)
    assert "退款超过五百元" in shown
    assert LIMIT not in shown and "Dramatiq" not in shown and "90 days" not in shown


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("why did we choose celery?", True),
        ("is there a note about staging?", True),
        ("remember what we said about rounding?", True),
        ("团队约定的提交格式是什么", True),
        ("where is the log written?", False),
        ("why does the form not remember the user?", False),
        ("how much memory does the index take?", False),
        ("记住密码功能在哪实现", False),
        ("日志里为什么没有请求 id", False),
    ],
)
def test_logs_and_memory_of_programs_are_not_what_was_noted(question: str, asks: bool) -> None:
    assert asks_for_memory(question) is asks
