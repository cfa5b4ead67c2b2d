"""`clew doctor` does the real thing, says what is wrong with cause and fix, and leaves nothing behind."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.command import clew, write

from clew.entrypoints.cli.texts import TEXTS

CHECKS = {
    "configuration", "python", "home", "git", "index", "english", "chinese", "abstain", "budget", "history",
    "tokenizer", "table", "modes", "grammars", "keyring", "tidy", "models", "terminal",
}  # fmt: skip


@pytest.mark.requirement("F-08")
def test_doctor_checks_everything_and_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    here = write(tmp_path / "here", {"a.txt": "x\n"})
    found = clew("doctor", "--json", cwd=here, env={"TMPDIR": str(scratch)})
    assert found.status == 0, found.out
    findings = {one["name"]: one for one in found.json["findings"]}
    assert findings.keys() == CHECKS
    for name in (
        "git",
        "index",
        "english",
        "chinese",
        "abstain",
        "budget",
        "history",
        "tokenizer",
        "table",
        "grammars",
    ):
        assert findings[name]["status"] == "ok", findings[name]
    assert "exact" in findings["tokenizer"]["what"] and "rust" in findings["grammars"]["what"]
    assert all(one["fix"] for one in findings.values() if one["status"] != "ok")
    assert list(scratch.iterdir()) == [] and list(home.iterdir()) == []
    assert [path.name for path in here.iterdir()] == ["a.txt"]


@pytest.mark.requirement("F-08")
def test_without_git_doctor_says_so_and_goes_on(home: Path, tmp_path: Path) -> None:
    found = clew("doctor", "--json", cwd=tmp_path, env={"PATH": str(tmp_path)})
    findings = {one["name"]: one for one in found.json["findings"]}
    assert (findings["git"]["status"], findings["git"]["fix"]) == ("warn", "install git")
    assert found.status == 0 and findings["english"]["status"] == "ok"


@pytest.mark.requirement("F-08")
def test_what_is_broken_fails_with_cause_and_fix_and_status_1(home: Path, tmp_path: Path) -> None:
    write(home / "clew", {"config.yaml": "max_tokns: 5\n"})
    found = clew("doctor", cwd=tmp_path)
    assert found.status == 1
    assert re.search(
        r"^FAILS  configuration\n    cause: .*config\.yaml:1.*\n    fix: did you mean `max_tokens`", found.out
    )
    assert "1 failed" in found.err
    assert re.search(r"^ok     index", found.out, re.MULTILINE)


@pytest.mark.requirement("F-08")
def test_a_home_that_is_no_folder_fails(tmp_path: Path, home: Path) -> None:
    write(home, {"file": "x"})
    found = clew("doctor", "--json", cwd=tmp_path, env={"CLEW_HOME": str(home / "file")})
    findings = {one["name"]: one for one in found.json["findings"]}
    assert found.status == 1 and not found.json["ok"]
    assert findings["home"]["status"] == "fail" and "CLEW_HOME" in findings["home"]["fix"]


@pytest.mark.requirement("F-08")
@pytest.mark.parametrize(("package", "check"), [("tree_sitter_go", "grammars"), ("splintr", "tokenizer")])
def test_a_missing_package_is_named_and_the_question_is_still_answered(
    home: Path, tmp_path: Path, package: str, check: str
) -> None:
    write(tmp_path / "shadow", {f"{package}.py": "raise ImportError('gone')\n"})
    found = clew(
        "doctor", "--json", cwd=tmp_path, env={"PYTHONPATH": f"{tmp_path / 'shadow'}:{os.environ['PYTHONPATH']}"}
    )
    findings = {one["name"]: one for one in found.json["findings"]}
    assert findings[check]["status"] == "warn" and "pip install" in findings[check]["fix"]
    assert found.status == 0 and findings["english"]["status"] == "ok", findings


@pytest.mark.requirement("F-05")
def test_every_check_has_a_name_in_both_languages() -> None:
    assert {name.removeprefix("doctor.") for name in TEXTS if name.startswith("doctor.")} >= CHECKS
