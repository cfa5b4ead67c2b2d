"""What edits and the tool `diagnostics` say, with a scripted server and with real programs."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import converters, types
from tests.command import write
from tests.examined import Session, executable, scripted, session
from tests.shell_session import SECRET, alive, fresh_seconds, until

from clew.adapters.lsp import Bounds
from clew.adapters.programs import PosixPrograms
from clew.core.agent.permissions import Rule
from clew.errors import StoreError

pytestmark = pytest.mark.requirement("R-14")

CLEAN = "package main\n\nfunc main() {}\n"


# ---------------------------------------------------------------------- what an edit is told


@pytest.mark.requirement("R-12")
@pytest.mark.parametrize("mode", ["plain", "unversioned", "pull"])
def test_an_edit_says_what_it_brought_and_what_it_mended(mode: str, tmp_path: Path) -> None:
    with session(tmp_path, mode=mode) as here:
        assert here.put("a.go", CLEAN + "// BAD one\n") == (
            "diagnostics: 1 error, all that is found in this file\na.go:4:4 error scripted no-bad bad: // BAD one"
        )
        assert here.edit("a.go", "package main\n", "package main\n// fine\n// BAD two\n") == (
            "diagnostics: 1 new (1 error), 1 as before\na.go:3:4 error scripted no-bad bad: // BAD two"
        )
        assert here.edit("a.go", "// BAD two\n", "") == "diagnostics: none new, 1 fixed, 1 as before"
        assert here.edit("a.go", "// BAD one", "// good") == "diagnostics: none new, 1 fixed"
        assert here.edit("a.go", "// good", "// better") == "diagnostics: none"


def test_what_moved_with_its_line_is_not_new(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        here.put("a.go", "// BAD\n// BAD\n" + CLEAN)
        assert here.edit("a.go", "package main", "// one\n\n\npackage main") == "diagnostics: none new, 2 as before"
        assert here.edit("a.go", "// one", "// BAD") == (
            "diagnostics: 1 new (1 error), 2 as before\na.go:3:4 error scripted no-bad bad: // BAD"
        )


def test_what_a_server_says_of_an_older_text_does_not_count(tmp_path: Path) -> None:
    with session(tmp_path, mode="late", name="basedpyright-langserver") as here:
        for number in range(3):
            assert here.put("a.py", f"x = {number}\n") == "diagnostics: none"
        assert here.put("a.py", "BAD\n") == ("diagnostics: 1 new (1 error)\na.py:1:1 error scripted no-bad bad: BAD")


def test_a_file_is_looked_at_again_when_another_one_was_changed(tmp_path: Path) -> None:
    with session(tmp_path, mode="dependent", name="basedpyright-langserver") as here:
        here.put("one.py", "")
        here.put("two.py", "")
        here.put("one.py", "# BREAKS\n")
        assert here.diagnose("two.py") == (
            "1 error in 1 file (basedpyright)\ntwo.py:1:3 error scripted no-bad bad: # BREAKS"
        )


def test_columns_are_counted_in_characters(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        assert "a.go:1:6 error" in here.put("a.go", "// 😀 BAD\n")


def test_a_file_that_a_server_floods_with_findings_is_told_in_twenty_lines(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        lines = here.put("a.go", "".join(f"// BAD {number}\n" for number in range(3000))).splitlines()
        assert lines[0] == "diagnostics: 2,000 errors, all that is found in this file"
        assert len(lines) == 22
        assert lines[-1] == "… and 1,980 more (1,980 errors)"


def test_findings_show_no_secrets_and_steer_no_terminal(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        said = here.put("a.go", f"// BAD {SECRET} \u202e \x1b]0;x\x07\n")
        assert SECRET not in said and "[REDACTED]" in said
        assert said.splitlines()[1].isprintable()
        assert SECRET not in here.diagnose("a.go")


def test_a_file_of_a_kind_that_nothing_looks_at_gets_no_words(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        assert here.put("a.txt", "BAD\n") == ""
        assert here.diagnose("a.txt") == "a.txt: no language server is known for such files"


# ---------------------------------------------------------------------- what is missing, and what is off


def test_a_missing_server_is_said_once_by_edits_and_each_time_by_the_tool(tmp_path: Path) -> None:
    missing = "no language server for Go is installed (`gopls`)"
    with session(tmp_path) as here:
        assert here.put("a.go", CLEAN) == f"diagnostics: {missing}"
        assert here.put("b.go", CLEAN) == ""
        for _ in range(2):
            assert here.diagnose("b.go") == missing


def test_a_checker_goes_beside_a_server_or_stands_for_it(tmp_path: Path) -> None:
    report = "a.go:3:1: expected declaration, found oops"
    with session(tmp_path) as here:
        executable(here.bin / "gofmt", f"#!/bin/sh\necho '{report}' >&2\nexit 2\n")
        said = here.put("a.go", "package main\n\noops\n")
        assert "a.go:3:1 error gofmt expected declaration, found oops" in said
        assert "no language server for Go is installed" in said
        scripted(here.bin, "gopls", "plain", here.log)
        assert here.edit("a.go", "oops", "oops BAD").splitlines()[1:] == [
            "a.go:3:1 error gofmt expected declaration, found oops",
            "a.go:3:6 error scripted no-bad bad: oops BAD",
        ]


@pytest.mark.parametrize(
    "said", ["[1]", '{"comments": [1]}', '{"comments": [{"message": 5}]}', "{}", "[" * 90_000, "no JSON", ""]
)
def test_a_checker_that_says_what_nobody_understands_has_failed_and_the_file_is_written(
    said: str, tmp_path: Path
) -> None:
    with session(tmp_path) as here:
        write(tmp_path, {"said": said})
        executable(here.bin / "shellcheck", f"#!/bin/sh\n/bin/cat {tmp_path / 'said'}\n")
        assert "shellcheck failed" in here.put("a.sh", "echo\n")
        assert (here.root / "a.sh").read_text() == "echo\n"


def test_checkers_of_several_files_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for another one: in a row, the first would wait in vain."""
    gate = tmp_path / "gate"
    waits = f"""#!/bin/sh
if [ -d {gate} ]; then
    : > {gate}/$$
    while [ "$(/bin/ls {gate} | /usr/bin/wc -l)" -lt 2 ]; do /bin/sleep 0.05; done
fi
echo '{{"comments": []}}'
"""
    with session(tmp_path) as here:
        executable(here.bin / "shellcheck", waits)
        for name in ("a.sh", "b.sh"):
            here.put(name, "echo\n")
        gate.mkdir()
        assert here.diagnose().startswith("none in 2 files (shellcheck)")


def test_of_two_programs_of_one_name_each_is_ended_alone(tmp_path: Path) -> None:
    programs = PosixPrograms()
    one, other = (programs.on_pipes(["cat"], str(tmp_path), os.environ, "lsp-cat") for _ in range(2))
    try:
        assert one.end(5) == 1
        assert other.poll() is None
        other.write(b"still here\n", 5)
        assert until(lambda: other.read(100, 0.1) == b"still here\n")
    finally:
        for each in (one, other):
            each.end(0)
            each.close()
        programs.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the system's own list of open files")
def test_a_program_that_finds_no_pipe_is_refused_and_leaves_none_open(tmp_path: Path) -> None:
    programs = PosixPrograms()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    top = max(map(int, os.listdir("/proc/self/fd")))
    filling = [os.open(os.devnull, os.O_RDONLY)]
    while filling[-1] <= top:  # no hole may be left below: the limit is one of numbers
        filling.append(os.open(os.devnull, os.O_RDONLY))
    opened = os.listdir("/proc/self/fd")
    try:
        for room in range(6):
            resource.setrlimit(resource.RLIMIT_NOFILE, (filling[-1] + 1 + room, hard))
            with pytest.raises(StoreError, match="could not be started"):
                programs.on_pipes(["cat"], str(tmp_path), os.environ, "lsp-cat")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.listdir("/proc/self/fd") == opened
    programs.close()
    for one in filling:
        os.close(one)


@pytest.mark.parametrize("chosen", [{"*": "off"}, {"go": "off"}])
def test_what_the_user_switched_off_is_not_started(chosen: dict[str, str], tmp_path: Path) -> None:
    with session(tmp_path, mode="plain", chosen=chosen) as here:
        assert here.put("a.go", "// BAD\n") == ""
        assert here.diagnose("a.go") == "a.go: switched off in the settings (`lsp`)"
        assert here.told() == []


def test_a_server_that_the_user_names_takes_the_place_of_the_usual_one(tmp_path: Path) -> None:
    mine = scripted(tmp_path / "elsewhere", "my server", "plain", tmp_path / "log")
    with session(tmp_path, mode="dies", chosen={"go": f"'{mine}'"}) as here:
        assert "error scripted no-bad" in here.put("a.go", "// BAD\n")


# ---------------------------------------------------------------------- servers that fail


def test_a_server_that_hangs_holds_an_edit_for_three_seconds_and_is_ended(tmp_path: Path) -> None:
    with session(tmp_path, mode="hangs", bounds=Bounds(start=4.5)) as here:
        since = time.monotonic()
        assert here.put("a.go", CLEAN) == "diagnostics: gopls is still starting"
        assert time.monotonic() - since < 3.9
        assert here.diagnose("a.go") == "gopls did not start within 4.5 s"
        assert time.monotonic() - since < 7
        since = time.monotonic()
        assert here.edit("a.go", "main()", "mine()") == "diagnostics: gopls did not start within 4.5 s"
        assert here.edit("a.go", "mine()", "main()") == ""
        assert time.monotonic() - since < 1


def test_a_server_without_an_answer_is_waited_for_as_long_as_a_request_may_take(tmp_path: Path) -> None:
    with session(tmp_path, mode="silent", bounds=Bounds(request=1.0)) as here:
        since = time.monotonic()
        for name in "abcdefgh":
            (here.root / f"{name}.go").write_text(CLEAN)
            here.findings._touched[here.root / f"{name}.go"] = None
        assert here.diagnose() == "gopls has not answered yet"
        assert time.monotonic() - since < 3


DEATHS = {
    "dies": "gopls ended with status 3: no toolchain is installed",
    "garbage": "gopls does not speak the protocol: its answer has no head",
}


@pytest.mark.parametrize("mode", DEATHS)
def test_a_server_that_cannot_work_is_said_with_its_reason(mode: str, tmp_path: Path) -> None:
    with session(tmp_path, mode=mode) as here:
        assert here.put("a.go", CLEAN) == f"diagnostics: {DEATHS[mode]}"
        assert here.put("b.go", CLEAN) == ""
        assert here.diagnose("b.go") == DEATHS[mode]


def test_a_server_that_died_at_work_is_started_again_twice(tmp_path: Path) -> None:
    with session(tmp_path, mode="dies-later") as here:
        assert here.put("a.go", "// BAD\n").startswith("diagnostics: 1 error")
        assert here.put("a.go", "// DIE\n") == "diagnostics: gopls ended with status 7"
        for _ in range(2):
            assert here.put("a.go", "// BAD\n") == "diagnostics: none new, 1 as before"
            assert here.put("a.go", "// DIE\n") == ""
        assert here.put("a.go", "// BAD\n") == ""
        assert here.diagnose("a.go") == "gopls ended with status 7"
        assert len(here.told("initialize")) == 3
        assert here.diagnose("a.go", start=True).startswith("1 error")


def test_a_server_that_eats_memory_is_ended_and_said(tmp_path: Path) -> None:
    with session(tmp_path, mode="eats", bounds=Bounds(memory=300_000_000)) as here:
        here.put("a.go", CLEAN)
        said = here.diagnose("a.go")
        assert said.startswith("gopls was ended: it used ") and said.endswith(" of memory, and may use 300 MB")
        assert here.diagnose("a.go") == said
        assert until(lambda: not running(here))


def test_a_server_that_floods_is_ended(tmp_path: Path) -> None:
    with session(tmp_path, mode="floods", bounds=Bounds(flood=8_000_000)) as here:
        here.put("a.go", CLEAN)
        assert here.diagnose("a.go") == "gopls was ended: it says more than 8 MB in ten seconds"
        assert until(lambda: not running(here))


def test_a_server_that_is_not_needed_is_ended_and_comes_back(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain", bounds=Bounds(idle=0.5)) as here:
        here.put("a.go", "// BAD\n")
        assert until(lambda: not running(here))
        assert here.edit("a.go", "BAD", "good") == "diagnostics: none new, 1 fixed"


def running(here: Session) -> list[str]:
    """Processes of the scripted server of a session."""
    listing = subprocess.run(["ps", "axww", "-o", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if str(here.log) in line and line[0] != "Z"]


# ---------------------------------------------------------------------- the protocol


def test_what_a_server_is_told_is_what_the_protocol_knows(tmp_path: Path) -> None:
    with session(tmp_path, mode="pull") as here:
        here.put("a b.go", "// BAD\n")
        here.edit("a b.go", "BAD", "good")
        converter = converters.get_converter()
        kinds: dict[str, type] = {
            "initialize": types.InitializeRequest,
            "initialized": types.InitializedNotification,
            "workspace/didChangeConfiguration": types.DidChangeConfigurationNotification,
            "textDocument/didOpen": types.DidOpenTextDocumentNotification,
            "textDocument/didChange": types.DidChangeTextDocumentNotification,
            "textDocument/didSave": types.DidSaveTextDocumentNotification,
            "textDocument/diagnostic": types.DocumentDiagnosticRequest,
        }
        seen = {one["method"]: converter.structure(one, kinds[one["method"]]) for one in here.told() if "method" in one}
        assert seen.keys() == kinds.keys()
        opened = seen["textDocument/didOpen"].params.text_document
        assert (opened.uri, opened.language_id) == ((here.root / "a b.go").as_uri(), "go")
        assert seen["initialize"].params.process_id == os.getpid()


def test_a_server_gets_its_settings_and_no_say_in_files(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain", name="yaml-language-server") as here:
        here.put("a.yaml", "a: BAD\n")
        assert until(lambda: len([one for one in here.told() if "method" not in one]) == 3)
        replies = {one["id"]: one for one in here.told() if "method" not in one}
        assert replies["mine"]["result"][0] == {"enable": False}
        assert replies["edit"]["result"]["applied"] is False
        assert replies["odd"]["error"]["code"] == -32601


def test_eight_files_are_looked_at_side_by_side(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        said: dict[str, str] = {}
        for name in "abcdefgh":
            (here.root / f"{name}.go").write_text(f"// BAD {name}\n")
        threads = [
            threading.Thread(target=lambda name=name: said.update({name: here.diagnose(f"{name}.go")}))
            for name in "abcdefgh"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert said == {
            name: f"1 error in 1 file (gopls)\n{name}.go:1:4 error scripted no-bad bad: // BAD {name}"
            for name in "abcdefgh"
        }
        assert len(here.told("initialize")) == 1


def test_without_a_path_all_files_of_the_session_are_looked_at_as_they_are_now(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        assert here.diagnose() == "No file was changed in this session yet: name one."
        for name in ("b/c.go", "a.go", "d.go"):
            here.put(name, CLEAN)
        (here.root / "a.go").write_text("// BAD by a command\n")
        (here.root / "d.go").unlink()
        assert here.diagnose() == "1 error in 2 files (gopls)\na.go:1:4 error scripted no-bad bad: // BAD by a command"
        assert here.diagnose("b") == "none in 1 file (gopls)"


def test_a_file_outside_of_the_workspace_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "out.go").write_text("// BAD\n")
    with session(tmp_path, mode="plain") as here:
        reply = here.call("diagnostics", path="../out.go")
        assert reply.failed and "outside of the workspace" in reply.text
        assert here.told() == []


# ---------------------------------------------------------------------- nothing of a workspace runs unasked


PLACES = (".venv/bin", "node_modules/.bin", "sub/.venv/bin")


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize("place", PLACES)
def test_a_server_in_the_workspace_is_started_after_a_yes(place: str, tmp_path: Path) -> None:
    with session(tmp_path) as here:
        scripted(here.root / place, "gopls", "plain", here.log)
        said = here.put("sub/a.go", "// BAD\n")
        assert said == (
            f"diagnostics: `{place}/gopls` was not started: it lies in the workspace; with `start` the user is asked"
        )
        assert here.put("sub/a.go", "// BAD 2\n") == ""
        assert "was not started" in here.diagnose("sub/a.go") and here.told() == []
        assert here.asked[-1].kind == "read"
        assert here.diagnose("sub/a.go", start=True).startswith("1 error")
        assert (here.asked[-1].kind, here.asked[-1].subject) == ("command", f"{place}/gopls")
        assert here.edit("sub/a.go", "BAD", "good") == "diagnostics: none new, 1 fixed"


@pytest.mark.requirement("Q-46")
def test_a_folder_of_path_in_the_workspace_and_a_link_into_it_count_as_the_workspace(tmp_path: Path) -> None:
    inside = scripted(tmp_path / "work" / "tools", "gopls", "plain", tmp_path / "log")
    with session(tmp_path, environ={"PATH": str(inside.parent)}) as here:
        assert "`tools/gopls` was not started" in here.put("a.go", CLEAN)
    (tmp_path / "bin" / "gopls").symlink_to(inside)
    with session(tmp_path) as here:
        assert "was not started: it lies in the workspace" in here.put("a.go", CLEAN + "\n")
        assert here.told() == []


@pytest.mark.requirement("Q-46", "R-17")
def test_a_server_that_runs_what_a_workspace_holds_needs_a_yes_wherever_it_lies(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain", name="rust-analyzer") as here:
        said = here.put("a.rs", "// BAD\n")
        assert "`rust-analyzer` was not started: it runs what the workspace holds: cargo" in said
        assert here.told() == []
    named: list[dict[str, Any]] = [
        {"yes": True}, {"rules": [Rule("command", "rust-analyzer")]}, {"chosen": {"rust": "rust-analyzer"}},
    ]  # fmt: skip
    for allowed in named:
        with session(tmp_path, mode="plain", name="rust-analyzer", **allowed) as here:
            assert here.put("a.rs", f"// BAD {allowed}\n").startswith("diagnostics: 1 error")


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize("config", ["", '{"venvPath": ".", "venv": ".venv"}', '{"venvPath": ".", "venv": "broken"}'])
def test_the_python_of_a_workspace_is_not_run_to_look_at_its_files(config: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    text = f'#!/bin/sh\necho ran >> {marker}\nexec {sys.executable} "$@"\n'
    root = tmp_path / "work"
    for name in (".venv", "broken"):
        executable(root / name / "bin" / "python", text)
        executable(root / name / "bin" / "python3", text)
    packages = root / ".venv" / "lib" / "python3.11" / "site-packages" / "dep"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text("def f() -> int: ...\n")
    if config:
        (root / "pyrightconfig.json").write_text(config)
    environ = {"VIRTUAL_ENV": str(root / ".venv"), "PYTHONPATH": str(root)}
    with session(tmp_path, own=True, bounds=Bounds(), environ=environ) as here:
        here.put("a.py", "import dep\n\nx: str = dep.f()\n")
        assert "reportAssignmentType" in here.diagnose("a.py")
    assert not marker.exists()


# ---------------------------------------------------------------------- real programs


def test_basedpyright_and_ruff_say_what_they_find(tmp_path: Path) -> None:
    with session(tmp_path, own=True, bounds=Bounds()) as here:
        here.put("a.py", 'import os\n\nname: int = "😀"; other: int = "b"\n')
        said = here.diagnose("a.py").splitlines()
        assert said[0] == "2 errors, 1 warning in 1 file (basedpyright, ruff)"
        assert said[1].startswith("a.py:3:13 error basedpyright reportAssignmentType Type \"Literal['😀']\" is not")
        assert said[2].startswith("a.py:3:31 error basedpyright reportAssignmentType")
        assert any(line.startswith("a.py:1:8 warning ruff F401 `os` imported but unused") for line in said)
        text = here.edit("a.py", '"😀"', "1")
        assert text.startswith("diagnostics: none new, 1 fixed, 2 as before"), text


def test_an_edit_in_one_file_is_seen_in_another(tmp_path: Path) -> None:
    with session(tmp_path, own=True, bounds=Bounds()) as here:
        here.put("one.py", "def f() -> int:\n    return 1\n")
        here.put("two.py", "import one\n\nx: int = one.f()\n")
        assert here.diagnose() == "none in 2 files (basedpyright, ruff)"
        here.put("one.py", 'def f() -> str:\n    return ""\n')
        assert "two.py:3:10 error basedpyright reportAssignmentType" in here.diagnose()


def test_a_configuration_that_wants_mistakes_mended_changes_nothing(tmp_path: Path) -> None:
    with session(tmp_path, own=True, chosen={"python": "/nowhere/server"}) as here:
        (here.root / "ruff.toml").write_text("fix = true\nunsafe-fixes = true\n")
        assert "F401" in here.put("a.py", "import os\n")
        assert (here.root / "a.py").read_text() == "import os\n"
        assert sorted(one.name for one in here.root.iterdir()) == ["a.py", "ruff.toml"]


# ---------------------------------------------------------------------- nothing is left

PARENT = """
import sys, threading
from pathlib import Path
from tests.examined import session

with session(Path(sys.argv[1]), mode="child", more=(sys.argv[2],)) as here:
    said = here.put("a.go", "// BAD\\n")
    print(said.splitlines()[0], flush=True)
    threading.Event().wait()
"""


def test_nothing_is_left_of_a_server_whose_session_was_killed(tmp_path: Path) -> None:
    mark = fresh_seconds()
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), mark],
        stdout=subprocess.PIPE,
        cwd=root,
        env=os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{os.environ['PYTHONPATH']}"},
    )
    log = str(tmp_path / "log")
    try:
        assert parent.stdout and parent.stdout.readline().startswith(b"diagnostics: 1 error")
        assert alive(f"/bin/sleep {mark}") and alive(f"{sys.executable} {root}/tests/scripted_lsp.py child {log}")
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate(timeout=10)
    assert until(lambda: not alive(f"/bin/sleep {mark}"))
    assert until(lambda: not alive(f"{sys.executable} {root}/tests/scripted_lsp.py child {log}"))


def test_nothing_is_left_of_a_server_when_its_session_ends(tmp_path: Path) -> None:
    mark = fresh_seconds()
    with session(tmp_path, mode="child", more=(mark,)) as here:
        here.put("a.go", CLEAN)
        assert alive(f"/bin/sleep {mark}")
    assert not alive(f"/bin/sleep {mark}") and not running(here)


@pytest.mark.requirement("Q-46")
def test_what_is_no_file_of_text_is_not_looked_at(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        os.mkfifo(here.root / "pipe.go")
        (here.root / "binary.go").write_bytes(b"a\0b")
        (tmp_path / "out.go").write_text("// BAD\n")
        (here.root / "link.go").symlink_to(tmp_path / "out.go")
        with (here.root / "huge.go").open("wb") as file:
            file.truncate(1 << 30)
        (here.root / "long.go").write_text("// long\n" * 300_000)
        for name, words in {
            "pipe.go": "a named pipe", "binary.go": "binary", "link.go": "outside of the workspace",
            "huge.go": "huge.go", "long.go": "too long", "none.go": "There is no none.go",
        }.items():  # fmt: skip
            reply = here.call("diagnostics", path=name)
            assert words in reply.text and "scripted" not in reply.text, reply
        assert here.told() == []


def test_bytes_that_are_no_text_do_not_stop_a_look(tmp_path: Path) -> None:
    with session(tmp_path, mode="plain") as here:
        (here.root / "a.go").write_bytes(b"// caf\xe9 BAD \xff\xfe\n// BAD \xc3\n" + "// 你好 BAD\n".encode())
        assert here.diagnose("a.go").startswith("3 errors in 1 file")
