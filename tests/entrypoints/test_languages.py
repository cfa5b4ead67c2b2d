"""All that the commands say is there in English and Chinese: texts, help, errors, notices, findings, comments."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from tests.command import clew, command_tree, write

from clew.adapters.language_servers import SERVERS as SERVER_KINDS
from clew.core.agent.effects import Effect
from clew.core.agent.servers import ServerEntry
from clew.entrypoints.cli.deeds import deed, outcome_of, preview, signs
from clew.entrypoints.cli.files_zh import COMMENTS
from clew.entrypoints.cli.help_zh import HELP
from clew.entrypoints.cli.main import COMMANDS, cli
from clew.entrypoints.cli.texts import TEXTS, say
from clew.entrypoints.cli.wording import CHINESE, translated
from clew.services.eval.template import TEMPLATES
from clew.settings import init_file

pytestmark = pytest.mark.requirement("F-05")

PACKAGE = Path(__file__).parents[2] / "src" / "clew"
ZH = {"LC_ALL": "zh_CN.UTF-8", "COLUMNS": "200"}
HAN = re.compile("[\u4e00-\u9fff]")
SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")


def english(text: str) -> list[str]:
    """Lines with three English words in a row, outside of quotes and references."""
    bare = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", text)
    return [line for line in bare.splitlines() if SENTENCE.search(line)]


# ---------------------------------------------------------------------- texts


def test_every_text_is_there_in_both_languages_with_the_same_gaps() -> None:
    for name, (text, chinese) in TEXTS.items():
        assert text and chinese, name
        assert text.count("{}") == chinese.count("{}"), name
        assert not HAN.search(text), name
    same = {name for name, (text, chinese) in TEXTS.items() if text == chinese}
    assert same <= {"doctor.python", "doctor.git"}


def test_every_text_that_the_commands_use_exists_and_none_is_idle() -> None:
    folder = PACKAGE / "entrypoints" / "cli"
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    tables = sources.pop("texts.py")
    assert tables
    used = set(re.findall(r"""["']([a-z]+(?:\.[a-z-]+)?)["']""", "\n".join(sources.values())))
    prefixes = {
        "cause.",
        "doctor.",
        "config.project",
        "config.user",
        "purge.kind.",
        "purge.did.",
        "purge.beyond.",
        "recall.sign.",
    }
    idle = [name for name in TEXTS if name not in used and not any(name.startswith(one) for one in prefixes)]
    assert not idle
    called = set(re.findall(r'say\(\s*"([^"]+)"', "\n".join(sources.values())))
    assert called <= TEXTS.keys()


PLAIN = re.compile(r"^(\W|\{\}|[a-z_.]+$)*$")
"""What needs no twin: no words, or one word that is data."""


def test_no_command_prints_words_of_its_own_beside_the_texts() -> None:
    """Literals handed to a function that prints; the words of errors are looked at below."""
    found: list[str] = []
    for path in sorted((PACKAGE / "entrypoints" / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "click.echo",
                "aside",
                "data",
                "click.confirm",
            ):
                texts = [form for argument in node.args[:1] for form in forms(argument)]
                found += [f"{path.name}: {text}" for text in texts if re.search(r"[A-Za-z]{2,}", text)]
    assert not found


def test_messages_follow_the_locale_and_the_setting(harbour: Path, home: Path) -> None:
    chinese = {"LC_ALL": "zh_CN.UTF-8"}
    asked = clew("ask", "重试的等待时间在哪里？", cwd=harbour, env=chinese)
    assert "上下文：" in asked.err and say("ask.no-model", "zh") in asked.err
    assert clew("askk", cwd=harbour, env=chinese).err.startswith("错误：")
    assert clew("askk", cwd=harbour, env={"LC_ALL": "zh_CN.UTF-8", "CLEW_LANG": "en"}).err.startswith("error: ")
    # What a login usually sets.
    assert clew("askk", cwd=harbour, env={"LC_ALL": None, "LANG": "zh_CN.UTF-8"}).err.startswith("错误：")
    write(home / "clew", {"config.yaml": "language: zh\n"})
    assert clew("askk", cwd=harbour).err.startswith("错误：")
    write(home / "clew", {"config.yaml": "language: [\n"})
    assert clew("config", cwd=harbour, env=chinese).err.startswith("错误：")


# ---------------------------------------------------------------------- help


ALL = dict(command_tree(cli))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a help text, each on one line, without examples."""
    parts = re.split(r"\n\s*\n", text.strip())
    return [" ".join(part.split()) for part in parts if not part.lstrip().startswith("\b")]


def test_the_walk_finds_every_command() -> None:
    assert len(ALL) > 20 and {("eval", "init"), ("index", "clean"), ("history", "show"), ()} <= ALL.keys()


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_help_text_of_a_command_and_its_options_has_a_chinese_twin(path: tuple[str, ...]) -> None:
    command = ALL[path]
    context = click.Context(command)
    texts = paragraphs(command.help or "")
    assert texts, "a command without help"
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            texts.append(parameter.help.partition("  [")[0])
    if len(path) == 1:
        texts.append(COMMANDS[path[0]][2])
    missing = [text for text in texts if text not in HELP]
    assert not missing, "entrypoints/cli/help_zh.py lacks them"
    assert all(HAN.search(HELP[text]) for text in texts)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_chinese_for_those_who_read_chinese(home: Path, tmp_path: Path, path: tuple[str, ...]) -> None:
    found = clew(*path, "--help", cwd=tmp_path, env=ZH)
    assert found.status == 0 and found.err == ""
    assert found.out.startswith("用法：") and "选项：" in found.out
    # The first line is the command itself.
    assert not english(found.out.partition("示例：")[0].partition("\n")[2])


def test_no_wording_of_help_is_idle() -> None:
    texts = {
        text
        for path, command in ALL.items()
        for text in (
            *paragraphs(command.help or ""),
            command.get_short_help_str(1000),
            *(COMMANDS[path[0]][2:] if path else ()),
            *((one.help or "").partition("  [")[0] for one in command.params if isinstance(one, click.Option)),
        )
    }
    assert HELP.keys() - texts <= {"Show the version and exit.", "Show this message and exit."}


# ---------------------------------------------------------------------- errors, hints, notices, findings

KINDS = {
    node.name: ast.get_docstring(node) or ""
    for node in ast.walk(ast.parse((PACKAGE / "errors.py").read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef)
}
"""Every error, with what it says where it is told no more."""
NEVER_SHOWN = ("git_process.py", "services/tools/", "adapters/shells.py", "adapters/programs.py")
"""Errors of blobs that Clew itself named, which nothing hands on; and what tools answer, which a model reads."""
TOO_GENERAL = {"{}: {}", "`{}`: {}", "git {}: {}", "{}; {}", "{}{}", "{}"}
COMMAND = re.compile(r"^(pip install --force|rm -r|`clew[^`]*`$|clew |curl|--min|… \|)")
"""A hint that is something to type."""
TOLD = {
    "NoRepository": slice(1, 2), "Finding": slice(2, 5),
    "ModelStatus": slice(2, 3), "Problem": slice(1, 3), "_wrong": slice(1, 2),
    "Permit": slice(1, 2), "Notice": slice(0, 1), "Retrying": slice(0, 1), "RunEnded": slice(3, 5),
}  # fmt: skip
"""What else is shown: the constructor, and which of its arguments."""


NOTICES = re.compile(r"(notices|trouble)$")
"""What a list is called whose texts the user is told."""


def forms(node: ast.expr, module: ast.Module | None = None, depth: int = 0) -> list[str]:
    """Every text that an expression may give, with `{}` for what is filled in.

    A name stands for all that is bound to it in the module, a call of a function of the module for what it returns.
    """
    again = functools.partial(forms, module=module, depth=depth + 1)
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return again(body) + again(orelse)
        case ast.BoolOp(values=values):
            return [form for value in values for form in again(value)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [one + two for one in again(left) or ["{}"] for two in again(right) or ["{}"]]
        case ast.Call(func=ast.Attribute(value=ast.Dict(values=values), attr="get")):
            return [form for value in values for form in again(value)]
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return [form for value in values for form in again(value)]
        case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value):
            return again(value)
        case ast.Name(id=name) if module is not None and depth < 4:
            assigned = [one for one in ast.walk(module) if isinstance(one, ast.Assign) and len(one.targets) == 1]
            bound = [one.value for one in assigned if ast.unparse(one.targets[0]) == name]
            return [form for value in bound for form in again(value)]
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if (
            module is not None and depth < 4
        ):
            made = [one for one in ast.walk(module) if isinstance(one, ast.FunctionDef) and one.name == name]
            ends = [one.value for function in made for one in ast.walk(function)
                    if isinstance(one, ast.Return) and one.value]  # fmt: skip
            return [form for value in ends for form in again(value)]
        case _:
            return []


def shown(module: ast.Module) -> Iterator[ast.expr]:
    """Expressions of a module whose text reaches the user."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith(".left_out"):
            yield node.value
        if isinstance(node, ast.AugAssign) and NOTICES.search(ast.unparse(node.target)):
            yield node.value
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        kind = called.rpartition(".")[2]
        if kind in KINDS:
            yield from node.args[:1]
            yield from (word.value for word in node.keywords if word.arg == "hint")
        elif called in TOLD:
            yield from node.args[TOLD[called]]
        elif kind in ("append", "extend") and NOTICES.search(called.rpartition(".")[0]):
            yield from node.args


SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_every_message_that_a_user_may_meet_has_a_chinese_wording() -> None:
    missing: dict[str, None] = {}
    for name in SOURCES:
        if any(part in name for part in NEVER_SHOWN):
            continue
        module = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        for text in shown(module):
            for form in forms(text, module):
                if not is_known(form):
                    missing[f"{name}: {form}"] = None
    assert not missing, "entrypoints/cli/wording.py lacks:\n" + "\n".join(missing)


def is_known(form: str) -> bool:
    """Whether a form has its wording, or needs none."""
    plain = form in CHINESE or form in TOO_GENERAL or bool(COMMAND.match(form)) or form.startswith('{"')
    return plain or bool(HAN.search(translated(form, "zh"))) or not re.search(r"[a-z]{2,} [a-z]{2,}", form)


def test_a_message_without_wording_is_seen() -> None:
    module = ast.parse('hint = f"no such {x} in sight"\nraise UsageError("gone for good", hint=hint)')
    found = [form for text in shown(module) for form in forms(text, module)]
    assert found == ["gone for good", "no such {} in sight"]
    assert not any(map(is_known, found))


# ---------------------------------------------------------------------- what the agent does

BEGINS = {"_announced": 0, "_effect": 0}
"""Methods that make a title, and which of their arguments it begins with."""


def titles(module: ast.Module) -> Iterator[str]:
    """Titles of what the tools of a module would do."""
    made = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    begins = [form for node in made if (name := ast.unparse(node.func).rpartition(".")[2]) in BEGINS
              for form in forms(node.args[BEGINS[name]], module)]  # fmt: skip
    for node in made:
        called = ast.unparse(node.func).rpartition(".")[2]
        given = [
            *(node.args[1:2] if called == "Effect" else ()),
            *(one.value for one in node.keywords if one.arg == "title"),
        ]
        for title in given if called in ("Effect", "replace") else ():
            opens = [one.value for one in ast.walk(bound(title, module)) if isinstance(one, ast.FormattedValue)]
            inside = [one for one in ast.walk(module) if isinstance(one, ast.FunctionDef) and node in ast.walk(one)]
            own = ast.Module([*inside[-1:]], [])
            first = (forms(opens[0], own) if opens else []) or begins
            for form in forms(title, module):
                yield from (form.replace("{}", one, 1) for one in first) if form[:3] == "{} " and first else [form]


def bound(node: ast.expr, module: ast.Module) -> ast.expr:
    """What a name stands for; itself where it is none."""
    found = [one.value for one in ast.walk(module) if isinstance(one, ast.Assign)
             and ast.unparse(one.targets[0]) == ast.unparse(node)]  # fmt: skip
    return found[0] if isinstance(node, ast.Name) and found else node


def test_every_title_of_what_the_agent_would_do_has_a_chinese_wording() -> None:
    found = {
        title: name
        for name in SOURCES
        if name.startswith("services/")
        for title in titles(ast.parse((PACKAGE / name).read_text(encoding="utf-8")))
    }
    assert len(found) > 15
    assert not {title: name for title, name in found.items() if not HAN.search(deed(title, "zh"))}
    whole = ast.parse('verb = f"paint {x}"\nEffect("edit", verb)')
    assert [HAN.search(deed(title, "zh")) for title in titles(whole)] == [None]


def test_what_fills_a_title_is_never_translated_and_never_changes_what_is_said() -> None:
    assert deed("run try again", "zh") == "运行 try again"
    assert deed("sub-agent: write a text", "zh") == "子智能体：写入 a text"
    assert deed("call alpha of the MCP server x", "zh") == "调用 MCP 服务器 x 的 alpha"
    assert deed("run rm -r {0}", "zh") == "运行 rm -r {0}"
    assert deed("run ls", "en") == "run ls"


def test_a_question_says_in_chinese_what_is_started_and_why_it_asks() -> None:
    entry = ServerEntry("x", "run", ("one argument: two",), {"A": "b"})
    start = Effect("server", "start the MCP server x", entry.lines(), outside=True)
    assert preview(start, "zh") == "服务器：x\n程序：run\n  参数：one argument: two\n  变量：A=b"
    reached = ServerEntry("x", url="https://x", transport="http", headers={"K": "v"})
    assert not english(preview(replace(start, preview=reached.lines()), "zh"))
    assert not re.search("[a-z]+: ", preview(replace(start, preview=reached.lines()), "zh"))
    for why in (kind.runs for kind in SERVER_KINDS if kind.runs):
        for given in (f"it runs what the workspace holds: {why}", "it lies in the workspace"):
            text = f"x\n# to look for mistakes in files; {given}"
            assert not english(preview(Effect("command", "start x", text), "zh")), why
    shell = Effect("command", "run a", "a\n# to look for mistakes in files; it lies in the workspace")
    assert preview(shell, "zh") == shell.preview


def test_what_became_of_a_call_is_chinese() -> None:
    source = {name: ast.parse((PACKAGE / "services" / name).read_text(encoding="utf-8"))
              for name in ("tools/shell.py", "delegation.py", "tools/memory.py")}  # fmt: skip
    views = [form for module in source.values() for node in ast.walk(module) if isinstance(node, ast.Call)
             for word in node.keywords if word.arg == "view" for form in forms(word.value, module)]  # fmt: skip
    ends = forms(ast.parse("_status(x)", mode="eval").body, source["tools/shell.py"])
    samples = [form.replace("{}", "3") for form in (*views, *ends) if re.search("[a-z]{2}", form)]
    assert len(samples) > 6
    assert not [text for text in samples if not HAN.search(outcome_of(text, "zh"))]
    assert outcome_of("exit 0 · 3 lines · 0.1 s", "zh") == "退出码 0 · 3 行 · 0.1 秒"
    refused = (
        "refused: the user does not allow `run x`: nobody is there to be asked; --yes or --allow would have allowed it"
    )
    assert outcome_of(refused, "zh") == "已拒绝：用户不允许 `运行 x`：没有人可以询问；--yes 或 --allow 本可允许它"


def test_what_brought_a_note_to_mind_is_chinese() -> None:
    assert signs("phrase, situation words", "zh") == "说出了它的情形短语、与其情形用词相同"
    assert signs("phrase", "en") == "phrase" and signs("", "zh") == ""


def test_a_default_message_of_every_error_has_its_wording() -> None:
    assert len(KINDS) > 16
    assert not [name for name, text in KINDS.items() if text not in CHINESE]


def test_a_wording_has_the_gaps_of_its_form_and_the_most_specific_form_wins() -> None:
    for form, chinese in CHINESE.items():
        assert form.count("{}") == chinese.count("{}"), form
        assert HAN.search(chinese) or COMMAND.match(form) or not english(form), form
    assert translated("there is no `src/x.py` here", "zh") == "这里没有 `src/x.py`"
    assert translated("there is no `exchange:9` in this workspace", "zh") == "此工作区没有 `exchange:9`"
    assert translated("there is no `x`", "en") == "there is no `x`"
    assert translated("{braces} stay as they are", "zh") == "{braces} stay as they are"
    assert translated("there is no `{0}` here", "zh") == "这里没有 `{0}`"


def test_what_fills_a_gap_is_chinese_too_but_for_names() -> None:
    cut = "m: the answer was cut off: the provider closed the connection: Connection reset by peer"
    assert translated(cut, "zh") == "m：回答中断：提供方关闭了连接：连接被对方重置"
    assert translated("there is no command `try again`", "zh") == "没有命令 `try again`"
    assert translated("try again in 5 s, or choose another model", "zh") == "请在 5 秒后重试，或选择其他模型"


@pytest.mark.parametrize(
    "arguments",
    [
        ("histry",), ("how does the retry work?",), ("ask",), ("ask", "--modle", "x", "q"), ("ask", "--mo", "x", "q"),
        ("ask", "--mode", "ritch", "q"), ("ask", "--max-tokens", "many", "q"), ("ask", "--mode"),
        ("ask", "--json=1", "q"), ("history", "shwo"), ("history", "remove", "x"), ("history", "remove"),
        ("history", "clear", "more"), ("models", "a", "b"), ("completion",), ("completion", "tcsh"),
        ("eval", "ask", "x"), ("eval", "ask", "x", "--repos", ".", "--budget", "3"),
        ("eval", "modes", "nothing.jsonl"), ("eval", "modes", "README.md"), ("eval", "modes", "x", "--min", "y"),
        ("eval", "init", "README.md"), ("eval", "ask", "README.md", "--repos", "nowhere"),
        ("eval", "locate", "README.md", "--repos", "."), ("eval", "context", "README.md"), ("config", "get", "colour"),
        ("open", "nothing"), ("open", "src"), ("open", "README.md:99"), ("open", "git:x"), ("open", "exchange:1"),
        ("open", "../x"), ("history", "show", "3"), ("ask", "--no-context", "--mode", "rich", "q"),
        ("ask", "q", "nothing.py"), ("ask", "q", "*.nothing"), ("ask", "q", "https://example.com"), ("ask", "q", ""),
        ("ask", "--model", "nobody:x", "q"), ("ask", "--model", "openai", "q"), ("ask", "--model", "openai:x", "q"),
        ("ask", "--model", "scripted:nothing.json", "q"), ("ask", "--model", "embedded:nothing", "q"),
        ("ask", "--max-tokens", "3", "q"), ("ask", "--style", "code", "--max-tokens", "600", "q", "README.md"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_error_is_chinese_with_its_hint_for_those_who_read_chinese(
    harbour: Path, arguments: tuple[str, ...]
) -> None:
    found = clew(*arguments, cwd=harbour, env=ZH)
    if found.status == 0:
        assert arguments[-1] == "README.md"
        return
    assert found.err.startswith("错误：") and found.out == ""
    assert "\n提示：" in found.err and not english(found.err), found.err


@pytest.mark.requirement("P-15")
@pytest.mark.parametrize(
    "text",
    ["max_tokens: 1\n", "timeout: 0\n", "language: fr\n", "redact: maybe\n",
    "max_tokns: 5\n", "max_tokens: many\n", "model: openai:x\n", "anchors: 5\n", "weights: [a]\n",
     "context: 7\n", "ignore: {a: b}\n", "anchors:\n  - weight: 5\n", "anchors:\n  - path: ../x\n", "project: [a]\n",
     "max_tokens: 1\nmax_tokens: 2\n", "a: &b 1\n", "style: oode\n"],
)  # fmt: skip
def test_an_error_of_the_configuration_is_chinese(harbour: Path, text: str) -> None:
    write(harbour, {".clew.yaml": text})
    found = clew("config", cwd=harbour, env=ZH)
    assert found.status == 2 and found.err.startswith("错误：")
    assert "\n提示：" in found.err and not english(found.err), found.err


# ---------------------------------------------------------------------- what the commands print


def test_the_findings_of_doctor_are_chinese_also_where_something_is_wrong(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "shadow", dict.fromkeys(("tree_sitter_go.py", "splintr.py"), "raise ImportError\n"))
    write(home / "clew", {"config.yaml": "max_tokns: 5\n"})
    well = clew("doctor", cwd=tmp_path, env=ZH | {"CLEW_HOME": str(home / "other")})
    ill = clew("doctor", cwd=tmp_path, env=ZH | {"PATH": str(tmp_path), "PYTHONPATH": str(tmp_path / "shadow")})
    assert well.status == 0 and ill.status == 1
    assert "个文件，用时" in well.out and "精确" in well.out and "偏高的估计值" in ill.out
    for found in (well, ill):
        assert not english(found.out) and not english(found.err), found.out


def test_index_and_eval_speak_chinese(harbour: Path) -> None:
    first = clew("index", "status", cwd=harbour, env=ZH)
    made = clew("index", "rebuild", cwd=harbour, env=ZH)
    status = clew("index", "status", cwd=harbour, env=ZH)
    assert first.out.startswith("还没有索引：") and made.out.startswith("已索引 5 个文件、")
    assert re.search(r"^状态  最新$", status.out, re.MULTILINE)
    (harbour / "README.md").unlink()
    assert "个已消失" in clew("index", "status", cwd=harbour, env=ZH).out
    assert clew("index", "clean", cwd=harbour, env=ZH).out.startswith("已释放 ")
    assert clew("index", "clean", cwd=harbour, env=ZH).out == "没有索引\n"
    wrote = clew("eval", "init", "q.jsonl", "--for", "modes", cwd=harbour, env=ZH)
    measured = clew("eval", "modes", "q.jsonl", "--min", "accuracy=2", cwd=harbour, env=ZH)
    assert wrote.out.startswith("已写入 q.jsonl：") and measured.err.startswith("未达标：accuracy 为 ")
    write(harbour, {"c.jsonl": '{"question": "what is a berth?", "needs": ["nothing.py"]}\n'})
    table = clew("eval", "context", "c.jsonl", cwd=harbour, env=ZH)
    assert "1 / 1 项未达标：" in table.out and "缺失" in table.out


def comments(text: str) -> set[str]:
    """The comments of a file that are sentences: no settings, no examples."""
    lines = (line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    return {line for line in lines if re.search(r"[a-z]+,? +[a-z]+", line) and not re.match(r"clew \S+ modes|- ", line)}


def test_the_files_that_are_written_explain_themselves_in_chinese(harbour: Path) -> None:
    texts = [init_file(), *TEMPLATES.values()]
    missing = set[str]().union(*map(comments, texts)) - COMMENTS.keys()
    assert {line for line in missing if not line.startswith("clew eval ")} == set()
    assert clew("init", cwd=harbour, env=ZH).status == 0
    written = (harbour / ".clew.yaml").read_text(encoding="utf-8")
    assert "#max_tokens: 8000" in written and "# 是否收集上下文。" in written
    assert len(written.splitlines()) == len(init_file().splitlines())
    assert clew("config", cwd=harbour, env=ZH).status == 0
    for purpose in TEMPLATES:
        assert clew("eval", "init", f"{purpose}.jsonl", "--for", purpose, cwd=harbour, env=ZH).status == 0
        chinese = (harbour / f"{purpose}.jsonl").read_text(encoding="utf-8")
        rows = [line for line in TEMPLATES[purpose].splitlines() if line.startswith("{")]
        assert [line for line in chinese.splitlines() if line.startswith("{")] == rows
        assert HAN.search(chinese.splitlines()[0])
