"""What every test stands on: an empty home, no network, strict warnings, and a line that says what was left out."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from tests.command import HARBOUR, commit, git, write

ROOT = Path(__file__).resolve().parent.parent
GUARD = ROOT / "tests" / "guard"

if "sitecustomize" not in sys.modules or not hasattr(sys.modules["sitecustomize"], "refuse_network"):
    # This process started before PYTHONPATH named the guard. Another sitecustomize has done its work by now.
    sys.modules.pop("sitecustomize", None)
    sys.path.insert(0, str(GUARD))
    importlib.import_module("sitecustomize")
    sys.path.remove(str(GUARD))
guard = sys.modules["sitecustomize"]

PRIVATE = ("ANTHROPIC_", "CLEW_", "CLAUDE", "CODEX_", "GEMINI_", "GIT_", "GOOGLE_", "HF_", "OLLAMA_", "OPENAI_", "XDG_")
KEPT = ("CLEW_SHARED_DATA", "CLEW_SHARED_REPOS", "CLEW_TEST_DATABASE_URL")

hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    max_examples=200,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("dev", deadline=None, max_examples=50)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


# ---------------------------------------------------------------------- isolation


def isolate(home: Path) -> dict[str, str | None]:
    """Changes to the environment that make `home` the only trace of a user; None stands for a removal."""
    changes: dict[str, str | None] = {
        name: None
        for name in os.environ
        if name not in KEPT
        and (name.startswith(PRIVATE) or name.endswith(("_API_KEY", "_BASE_URL", "_PROXY", "_proxy")))
    }
    paths = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(GUARD)]
    return changes | {
        "HOME": str(home),
        "CLEW_HOME": str(home / "clew"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.invalid",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.invalid",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYTHONPATH": os.pathsep.join([str(GUARD), *paths]),
    }


def pytest_configure(config: pytest.Config) -> None:
    """No test sees the developer's home, keys or settings, whether it asks for `home` or not."""
    folder = tempfile.mkdtemp(prefix="clew-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    for name, value in isolate(Path(folder)).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for one test: HOME, CLEW_HOME (`home / "clew"`), settings, git identity, no keys."""
    folder = tmp_path_factory.mktemp("home")
    for name, value in isolate(folder).items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit by Ada, of one file, in a folder with a blank in its name."""
    root = write(tmp_path / "My Repo", {"a.txt": "one\n"})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Begin\n\nWhy it began.\nSecond line.")
    return root


@pytest.fixture
def harbour(home: Path, tmp_path: Path) -> Path:
    """A small repository that questions are asked about."""
    root = write(tmp_path / "harbour", HARBOUR)
    commit(root)
    return root


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Fail the test that tried to leave this machine, also where the code under test swallowed the refusal."""
    guard.attempts.clear()
    yield
    assert not guard.attempts, f"only loopback is allowed in tests: {guard.attempts}"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the measurement data: CLEW_SHARED_DATA, else ../shared/data beside the checkout, else a skip."""
    named = os.environ.get("CLEW_SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"CLEW_SHARED_DATA names {named}, which is no folder")
    pytest.skip("no measurement data here (CLEW_SHARED_DATA names its folder)")


# ---------------------------------------------------------------------- what was left out

left_out: Counter[str] = Counter()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count by reason. With several workers each one deselects the same tests."""
    for item in items:
        left_out["slow" if item.get_closest_marker("slow") else "not asked for"] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its counts to the process that prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take the counts of a worker; all workers collect the same tests, so the largest count is the count."""
    for reason, count in getattr(node, "workeroutput", {}).get("left_out", {}).items():
        left_out[reason] = max(left_out[reason], count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what did not run, and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        longrepr = report.longrepr
        reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    parts = [f"{count} skipped ({reason})" for reason, count in reasons.most_common()]
    if left_out["slow"]:
        parts.insert(0, f"{left_out['slow']} slow (`make test-all` runs them)")
    if left_out["not asked for"]:
        parts.append(f"{left_out['not asked for']} not asked for")
    terminalreporter.write_line("left out: " + ("; ".join(parts) if parts else "nothing"))
