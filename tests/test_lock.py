"""The locks pin everything that pyproject.toml asks for, by hash, and name no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {
    "requirements.lock": [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]],
    "requirements-local.lock": PROJECT["project"]["optional-dependencies"]["local"],
}


def entries(name: str) -> list[tuple[Requirement, int]]:
    """Each pinned release with the number of its hashes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    return [(Requirement(line.split("--hash")[0].strip()), line.count("--hash=sha256:")) for line in text.splitlines()]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_address_and_no_index(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links|file:", text)


@pytest.mark.parametrize("name", LOCKS)
def test_each_release_is_pinned_by_version_and_hash(name: str) -> None:
    for requirement, hashes in entries(name):
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes, f"{requirement} has no hash"


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_has_what_the_project_asks_for(name: str) -> None:
    pinned: dict[str, list[Version]] = {}
    for requirement, _ in entries(name):
        version = Version(str(requirement.specifier).removeprefix("=="))
        pinned.setdefault(canonicalize_name(requirement.name), []).append(version)
    for wanted in map(Requirement, LOCKS[name]):
        versions = pinned.get(canonicalize_name(wanted.name), [])
        assert versions, f"{wanted} is not in {name}: run `make lock`"
        assert all(version in wanted.specifier for version in versions), f"{name} pins {versions}, not {wanted}"
