"""Settings come from five places, and a repository's own file can never reach out of the repository."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.adapters.home import find_home
from clew.adapters.yaml_file import parse_yaml
from clew.core.context.fragment import DEFAULT_WEIGHTS
from clew.errors import ClewError, ConfigError, Refused
from clew.settings import Anchor, Loaded, Settings, init_file, interface_language, load_settings
from clew.settings_keys import KEYS, PROTECTED


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def load(
    root: Path, project: str = "", user: str = "", /, flags: dict[str, object] | None = None, **env: str
) -> Loaded:
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    if user:
        (home / "config.yaml").write_text(user, encoding="utf-8")
    if project:
        (root / ".clew.yaml").write_text(project, encoding="utf-8")
    return load_settings({"CLEW_HOME": str(home), **env}, root, flags or {})


def test_without_any_file_every_value_is_the_default(root: Path) -> None:
    loaded = load(root)
    assert loaded.settings == Settings()
    assert {setting.origin for setting in loaded.origins.values()} == {"default"}
    assert loaded.settings.max_tokens == 8000
    assert loaded.settings.shell_history is False
    assert loaded.settings.weights == DEFAULT_WEIGHTS


@pytest.mark.requirement("P-10")
def test_flag_beats_environment_beats_project_beats_user_beats_default(root: Path) -> None:
    user, project = "style: code\n", "# shared\nstyle: writing\n"
    steps = [
        (load(root, "", user), "code", f"{root.parent}/home/config.yaml:1"),
        (load(root, project, user), "writing", ".clew.yaml:2"),
        (load(root, project, user, CLEW_STYLE="newcomer"), "newcomer", "CLEW_STYLE"),
        (load(root, project, user, flags={"style": "auto"}, CLEW_STYLE="newcomer"), "auto", "flag"),
    ]
    for loaded, value, origin in steps:
        assert loaded.settings.style == value
        assert (loaded.origins["style"].value, loaded.origins["style"].origin) == (value, origin)


def test_a_flag_that_was_not_given_changes_nothing(root: Path) -> None:
    assert load(root, "max_tokens: 900\n", flags={"max_tokens": None}).settings.max_tokens == 900


@pytest.mark.requirement("P-10")
def test_the_older_project_file_is_read_only_when_the_other_is_absent(root: Path) -> None:
    (root / ".ctxmode.yaml").write_text(
        "project: my-service\nmax_tokens: 4000\nanchors:\n  - path: README.md\n    weight: 90\n"
        "  - path: src/**/*.py\n    weight: 70\nignore:\n  - vendor\n  - generated\nshell_history: false\n",
        encoding="utf-8",
    )
    loaded = load(root)
    assert loaded.settings.project == "my-service"
    assert loaded.settings.anchors == (Anchor("README.md", 90), Anchor("src/**/*.py", 70))
    assert loaded.settings.ignore == ("vendor", "generated")
    assert loaded.origins["max_tokens"].origin == ".ctxmode.yaml:2"
    assert load(root, "max_tokens: 900\n").settings.project is None


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize(
    ("text", "place", "says", "hint"),
    [
        ("max_token: 900\n", ".clew.yaml:1", "max_token", "did you mean `max_tokens`?"),
        ("\nShell-History: no\n", ".clew.yaml:2", "Shell-History", "did you mean `shell_history`?"),
        ("zebra: 1\n", ".clew.yaml:1", "zebra", "anchors"),
        ("max_tokens: lots\n", ".clew.yaml:1", "a whole number from 500 to 1,000,000, not `lots`", ""),
        ("max_tokens: true\n", ".clew.yaml:1", "a whole number", ""),
        ("max_tokens: 499\n", ".clew.yaml:1", "500", ""),
        ("max_tokens: 1000001\n", ".clew.yaml:1", "1,000,000", ""),
        ("max_tokens: 800.5\n", ".clew.yaml:1", "a whole number", ""),
        ("max_tokens: " + "9" * 9000 + "\n", ".clew.yaml:1", "a whole number", ""),
        ("style: cod\n", ".clew.yaml:1", "`newcomer`", "did you mean `code`?"),
        ("style: [code]\n", ".clew.yaml:1", "not a list", ""),
        ("project: 12\n", ".clew.yaml:1", "text", 'project: "12"'),
        ("shell_history: maybe\n", ".clew.yaml:1", "`true` or `false`", ""),
        ("shell_history: 1\n", ".clew.yaml:1", "`true` or `false`", ""),
        ("ignore: vendor\n", ".clew.yaml:1", "a list", "- "),
        ("ignore:\n  - a\n  - [b]\n", ".clew.yaml:3", "text", ""),
        ("anchors:\n  - path: a\n    wieght: 3\n", ".clew.yaml:3", "wieght", "did you mean `weight`?"),
        ("anchors:\n  - path: a\n    weight: 101\n", ".clew.yaml:3", "from 0 to 100", ""),
        ("anchors:\n  - weight: 10\n", ".clew.yaml:2", "no `path`", ""),
        ("weights:\n  gti: 3\n", ".clew.yaml:2", "gti", "did you mean `git`?"),
        ("weights: 3\n", ".clew.yaml:1", "source: weight", ""),
        ('project: "a\\eb"\n', ".clew.yaml:1", "visible", ""),
        ("memory_scope: everything\n", ".clew.yaml:1", "`workspace`", ""),
    ],
)
def test_a_bad_line_is_named_with_its_file_and_the_nearest_valid_key(
    root: Path, text: str, place: str, says: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(root, text)
    assert str(caught.value).startswith(place + ":")
    assert says in str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.exit_status == 2


@pytest.mark.requirement("P-10")
@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize(
    "line",
    [
        "endpoints: {openai: http://evil.example/v1}",
        "model: agent:claude",
        "api_key: abc",
        "API-Key: abc",
        "commands: [rm -rf /]",
        "hooks: {start: evil}",
        "mcpServers: {x: {command: evil}}",
        "mcp_servers: {x: {command: evil}}",
        "lsp: {python: evil}",
        "lsp: off",
        "servers: []",
        "permissions: {shell: allow}",
        "memory_root: /etc",
        "memory: {root: /etc}",
        "redact: false",
        "redaction: off",
        "base_url: http://evil.example",
        "proxy: http://evil.example",
        "env: {A: b}",
    ],
)
def test_a_project_file_cannot_reach_out_of_the_repository(root: Path, line: str) -> None:
    with pytest.raises(Refused) as caught:
        load(root, f"project: x\n{line}\n")
    assert str(caught.value).startswith(".clew.yaml:2: a project file may not set `")
    assert caught.value.exit_status == 2


@pytest.mark.requirement("Q-46")
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../other/*", "a/../../b", "~/.ssh/id_rsa", "C:\\secrets", "a\\..\\..\\b"]
)
def test_an_anchor_cannot_lead_out_of_the_workspace(root: Path, path: str) -> None:
    with pytest.raises(Refused, match=r"\.clew\.yaml:2: .*leads out of the workspace"):
        load(root, f"anchors:\n  - path: '{path}'\n")
    with pytest.raises(ConfigError, match="leads out of the workspace"):
        load(root, "{}\n", f"anchors:\n  - path: '{path}'\n")


@pytest.mark.requirement("P-02")
@pytest.mark.requirement("P-10")
def test_a_project_file_can_switch_shell_history_off_but_not_on(root: Path) -> None:
    switched_on = load(root, "shell_history: true\n")
    assert switched_on.settings.shell_history is False
    assert switched_on.origins["shell_history"].origin == "default"
    assert ".clew.yaml:1" in switched_on.notices[0]
    assert load(root, "shell_history: false\n", "shell_history: true\n").settings.shell_history is False
    both = load(root, "shell_history: true\n")
    assert both.settings.shell_history is True
    assert both.origins["shell_history"].origin.endswith("config.yaml:1")
    assert both.notices == ()


def test_a_project_file_can_only_narrow_the_memory_scope(root: Path) -> None:
    assert load(root, "memory_scope: workspace\n").settings.memory_scope == "workspace"
    assert load(root, "memory_scope: all\n", "memory_scope: none\n").settings.memory_scope == "none"
    assert load(root, "memory_scope: none\n", "memory_scope: workspace\n").settings.memory_scope == "none"


def test_ignore_patterns_add_up_and_a_project_cannot_take_back_those_of_the_user(root: Path) -> None:
    loaded = load(root, "ignore: ['!private/', gen/]\n", "ignore:\n  - private/\n", flags={"ignore": ("x",)})
    assert loaded.settings.ignore == ("!private/", "gen/", "private/", "x")
    assert loaded.origins["ignore"].origin.endswith("config.yaml:1, .clew.yaml:1, flag")


def test_weights_change_one_by_one(root: Path) -> None:
    weights = load(root, "weights: {tree: 5}\n", "weights: {tree: 50, git: 61}\n").settings.weights
    assert weights == {**DEFAULT_WEIGHTS, "tree": 5, "git": 61}


@pytest.mark.requirement("P-06")
@pytest.mark.parametrize(("value", "context"), [("1", False), ("yes", False), ("x", False), ("0", True), ("", True)])
def test_a_variable_switches_context_off(root: Path, value: str, context: bool) -> None:
    assert load(root, CLEW_NO_CONTEXT=value).settings.context is context
    assert load(root, flags={"context": False}).settings.context is False


@pytest.mark.requirement("P-14")
@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("127.0.0.1:9999", "http://127.0.0.1:9999"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("https://box/ollama/", "https://box/ollama"),
        ("http://[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_host_variable_of_ollama_becomes_a_url(root: Path, value: str, url: str) -> None:
    loaded = load(root, OLLAMA_HOST=value)
    assert loaded.settings.endpoints == {"ollama": url}
    assert loaded.origins["endpoints"].origin == "OLLAMA_HOST"


@pytest.mark.requirement("P-14")
def test_endpoint_variables_stand_beside_those_of_the_user(root: Path) -> None:
    user = "endpoints:\n  mine: https://llm.example.com/v1/\n  openai: https://a.example\n"
    loaded = load(root, "", user, OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    assert loaded.settings.endpoints == {"mine": "https://llm.example.com/v1", "openai": "http://127.0.0.1:1/v1"}


@pytest.mark.requirement("R-14")
@pytest.mark.parametrize(
    ("user", "variable", "value"),
    [
        ("", "", {}),
        ("lsp: off", "", {"*": "off"}),
        ("lsp: on", "", {}),
        ("lsp:\n  go: gopls -remote=auto\n  python: off\n  rust:\n", "", {"go": "gopls -remote=auto", "python": "off"}),
        ("lsp: {go: off}", "off", {"*": "off"}),
        ("lsp: off", "on", {}),
    ],
)
def test_the_user_names_language_servers_or_switches_them_off(
    root: Path, user: str, variable: str, value: dict[str, str]
) -> None:
    environ = {"CLEW_LSP": variable} if variable else dict[str, str]()
    assert load(root, "", user, None, **environ).settings.lsp == value


@pytest.mark.parametrize(
    ("user", "says", "hint"),
    [
        ("lsp:\n  pyton: x\n", "config.yaml:2: `lsp` knows no `pyton`", "did you mean `python`?"),
        ("lsp: 3\n", "config.yaml:1: `lsp` must be `on`, `off`, or a table of `language: command`, not `3`", ""),
        ('lsp:\n  go: "\'"\n', "config.yaml:2: `go` must be a command, or `off`, not", ""),
        ("lsp:\n  go: [gopls]\n", "config.yaml:2: `go` must be text, not a list", ""),
    ],
)
def test_a_language_server_that_is_none_is_named_with_its_line(root: Path, user: str, says: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(root, "", user)
    assert says in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("url", ["ftp://a", "nonsense", "http://", "http://a:99999999", "file:///etc/passwd"])
def test_an_endpoint_that_is_no_url_is_refused(root: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"ANTHROPIC_BASE_URL: .*no URL"):
        load(root, ANTHROPIC_BASE_URL=url)


def test_a_password_in_an_endpoint_is_refused_and_not_repeated(root: Path) -> None:
    for url in ("https://me:hunter22@a.example", "https//me:hunter22@a.example"):
        with pytest.raises(ConfigError) as caught:
            load(root, OPENAI_BASE_URL=url)
        assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("CLEW_MAX_TOKENS", "8k"), ("CLEW_STYLE", "x"), ("CLEW_LANG", "fr"), ("CLEW_TIMEOUT", "0"), ("CLEW_COLOR", "red")],
)
def test_a_bad_variable_is_named(root: Path, variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{variable}: "):
        load(root, flags=None, **{variable: value})


def test_variables_are_bare_text(root: Path) -> None:
    loaded = load(root, CLEW_PROJECT="2024", CLEW_SHELL_HISTORY="1", CLEW_TIMEOUT="30", NO_COLOR="1", CLEW_MODEL="a:b")
    settings = loaded.settings
    assert (settings.project, settings.shell_history, settings.timeout) == ("2024", True, 30.0)
    assert (settings.color, settings.model) == ("never", "a:b")
    assert load(root, NO_COLOR="1", CLEW_COLOR="always").settings.color == "always"


def test_a_flag_without_a_setting_is_an_error(root: Path) -> None:
    with pytest.raises(ConfigError, match="no setting `max_token`"):
        load(root, flags={"max_token": 5})
    with pytest.raises(ConfigError, match=r"^--max-tokens: "):
        load(root, flags={"max_tokens": 5})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"max_tokens: [\n", ".clew.yaml:2: not valid YAML"),
        (b"max_tokens: 1\n\tstyle: code\n", ".clew.yaml:2: not valid YAML"),
        (b"a\0b: 1\n", "binary"),
        (b"\x7fELF\x02\x01\x00", "binary"),
        ("max_tokens: 900\n".encode("utf-16"), "UTF-16"),
        (b"project: ok\nstyle: \xff\xfe\n", ".clew.yaml:2: the file is not UTF-8"),
        (b"style: code\n" + b"# filler\n" * 40_000, "more than 256 KB"),
        (b"style: code\nproject: x\nstyle: code\n", ".clew.yaml:3: `style` is set twice, first in line 1"),
        (b"anchors:\n- path: a\n  path: b\n", ".clew.yaml:3: `path` is set twice"),
        (b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", ".clew.yaml:1: aliases and anchors"),
        (b"project: !!python/object/apply:os.system ['touch x']\n", ".clew.yaml:1: tags"),
        (b"ignore: " + b"[" * 100_000 + b"\n", ".clew.yaml:1: not valid YAML"),
        (b"ignore: " + b"[" * 50 + b"]" * 50 + b"\n", ".clew.yaml:1: nested more than 20 levels deep"),
        (b"style: code\n---\nstyle: code\n", ".clew.yaml:2: a second document"),
        (b"- style\n", ".clew.yaml:1: the file holds a list where settings belong"),
        (b"just words\n", "holds one value where settings belong"),
        (b"? [a, b]\n: 1\n", "a key must be a word"),
        (b"project: a\x07b\n", ".clew.yaml:1: not valid YAML"),
    ],
)
@pytest.mark.requirement("Q-46")
def test_a_broken_or_hostile_file_gets_a_clear_error(root: Path, content: bytes, says: str) -> None:
    (root / ".clew.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert says in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"---\n", b"{}\n", b"\n\n", b"\xef\xbb\xbf", b"style:\n"])
def test_an_empty_file_sets_nothing(root: Path, content: bytes) -> None:
    (root / ".clew.yaml").write_bytes(content)
    assert load(root).settings == Settings()


def test_byte_order_mark_and_windows_line_ends_are_read(root: Path) -> None:
    (root / ".clew.yaml").write_bytes(b"\xef\xbb\xbfstyle: code\r\nmax_tokens: 9_000\r\nignore:\r\n  - a\r\n")
    loaded = load(root)
    assert (loaded.settings.style, loaded.settings.max_tokens, loaded.settings.ignore) == ("code", 9000, ("a",))
    assert loaded.origins["max_tokens"].origin == ".clew.yaml:2"


@pytest.mark.requirement("Q-46")
@pytest.mark.timeout(10)
def test_a_project_file_that_is_no_file_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / ".clew.yaml")
    with pytest.raises(Refused, match="a named pipe"):
        load(root)
    (root / ".clew.yaml").unlink()
    (root / ".clew.yaml").mkdir()
    with pytest.raises(Refused, match="a folder"):
        load(root)


@pytest.mark.requirement("Q-46")
def test_a_project_file_that_links_out_of_the_workspace_is_not_read(root: Path) -> None:
    (root.parent / "outside.yaml").write_text("style: code\n", encoding="utf-8")
    (root / ".clew.yaml").symlink_to(root.parent / "outside.yaml")
    with pytest.raises(Refused, match="leads out of the workspace"):
        load(root)
    (root / ".clew.yaml").unlink()
    (root / "inside.yaml").write_text("style: code\n", encoding="utf-8")
    (root / ".clew.yaml").symlink_to("inside.yaml")
    assert load(root).settings.style == "code"


@given(st.binary(max_size=400))
def test_no_content_of_a_file_raises_anything_but_our_own_errors(content: bytes) -> None:
    with contextlib.suppress(ClewError):
        parse_yaml(content.decode("utf-8", "replace"), "x")


def test_every_setting_is_documented_and_has_a_reader() -> None:
    assert [field.name for field in dataclasses.fields(Settings)] == list(KEYS)
    source = Path(__file__).parents[2].joinpath("src/clew/settings.py").read_text(encoding="utf-8")
    for name in KEYS:
        declared = source.index(f"\n    {name}: ")
        assert source[source.index("\n", declared + 1) :].lstrip().startswith('"""'), name


@pytest.mark.requirement("P-10")
def test_the_template_parses_and_its_lines_are_the_defaults(root: Path) -> None:
    template = init_file()
    assert load(root, template).settings == Settings()
    switched_on = re.sub(r"(?m)^#(?=\S|  \w+: \d)", "", template)
    names = {name for name, _, _ in parse_yaml(switched_on, ".clew.yaml").pairs}
    assert names == KEYS.keys() - PROTECTED
    loaded = load(root, switched_on)
    assert dataclasses.replace(loaded.settings, project=None) == Settings()


def test_the_room_for_the_answer_is_a_tenth_within_bounds() -> None:
    rooms = {tokens: Settings(max_tokens=tokens).answer_room for tokens in (500, 8000, 1_000_000)}
    assert rooms == {500: 256, 8000: 800, 1_000_000: 4096}
    assert Settings(max_tokens=8000, answer_tokens=100_000).answer_room == 4000


@pytest.mark.requirement("Q-42")
def test_without_home_the_password_database_or_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert find_home({}).config.is_absolute()
    for wrong in ("", "relative", "~"):
        with pytest.raises(ConfigError, match=f"HOME is `{wrong}`, which is not an absolute path") as caught:
            find_home({"HOME": wrong})
        assert "CLEW_HOME" in caught.value.hint
    with pytest.raises(ConfigError, match="absolute"):
        find_home({"CLEW_HOME": "relative/place"})


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    home = find_home({"CLEW_HOME": str(tmp_path)})
    assert {home.config, home.data, home.cache, home.state} == {tmp_path}
    assert home.config_file == tmp_path / "config.yaml"


@pytest.mark.requirement("F-05")
@pytest.mark.parametrize(
    ("setting", "environ", "language"),
    [
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LANG": "de_DE"}, "en"),
        ("auto", {}, "en"),
        ("zh", {"LANG": "en_US"}, "zh"),
    ],
)
def test_the_language_follows_the_setting_then_the_locale(setting: str, environ: dict[str, str], language: str) -> None:
    assert interface_language(Settings(language=setting), environ) == language


def test_a_locale_is_accepted_as_language(root: Path) -> None:
    assert load(root, CLEW_LANG="zh_CN.UTF-8").settings.language == "zh"
