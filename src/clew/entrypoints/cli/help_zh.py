"""`--help` in Chinese: click lays it out, this puts the words in while it is written."""

# ruff: noqa: E501 - a text and its wording stand side by side

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

import click

from clew.entrypoints.cli.acp_zh import ACP_HELP
from clew.entrypoints.cli.handoff_zh import HANDOFF_HELP
from clew.entrypoints.cli.mcp_zh import MCP_HELP
from clew.entrypoints.cli.notes_zh import NOTES_HELP
from clew.entrypoints.cli.purge_zh import PURGE_HELP
from clew.entrypoints.cli.recall_zh import RECALL_HELP
from clew.entrypoints.cli.run_zh import RUN_HELP
from clew.entrypoints.cli.sync_zh import SYNC_HELP
from clew.entrypoints.cli.terminal_zh import TERMINAL_HELP

HEADINGS = {"Options": "选项", "Commands": "命令", "Arguments": "参数"}
EXTRAS = (
    ("[default: the cache]", "[默认：缓存目录]"), ("[default: this folder]", "[默认：当前目录]"), ("[default: ", "[默认："), ("[env: ", "[环境变量："),
    ("; required]", "；必填]"), ("[required]", "[必填]"), ("Usage: ", "用法："),
)  # fmt: skip
"""What click, or a help text of ours, puts behind the words of an option."""
HELP: dict[str, str] = {
    **ACP_HELP,
    **HANDOFF_HELP,
    **MCP_HELP,
    **NOTES_HELP,
    **PURGE_HELP,
    **RECALL_HELP,
    **RUN_HELP,
    **SYNC_HELP,
    **TERMINAL_HELP,
    "Context that does not rot: decides what a model reads, and says why.": "不会腐坏的上下文：决定模型读什么，并说明理由。",
    "Show the version and exit.": "显示版本并退出。",
    "Show this message and exit.": "显示此说明并退出。",
    "Answer QUESTION from the right context of this folder.": "用此目录中恰当的上下文回答 QUESTION。",
    "Text on stdin and FILEs are explicit context: they always go along, whole. The report on stderr says what was used. Without a model the best passages are the answer.": "标准输入的文本和各 FILE 是明确给出的上下文：总会完整带上。stderr 上的报告说明用了什么。没有模型时，以最相关的段落作答。",
    "Gather no context; attached files still go along.": "不收集上下文；附件仍会带上。",
    "Search anew, also where nothing has changed since.": "重新搜索，即使此后没有任何变化。",
    "Decide the mode yourself.": "自行指定模式。",
    "Tokens of the prompt and its answer.": "提示词与回答合计的 token 数。",
    "How to answer.": "回答的风格。",
    "The model; its tokenizer counts.": "模型；按其分词器计数。",
    "Start afresh: earlier exchanges stay out.": "重新开始：不带入之前的问答。",
    "One JSON object on stdout.": "在 stdout 输出一个 JSON 对象。",
    "Show what would be sent, and stop.": "只显示将要发送的内容。",
    "Print the whole prompt exactly as it is sent.": "原样输出所发送的完整提示词。",
    "Also say what every source took and what the model used.": "同时说明各来源与模型的用量。",
    "No report line.": "不显示报告行。",
    "Print the assembled prompt for QUESTION, for use with any other tool. The report goes to stderr.": "输出为 QUESTION 组装的提示词，供其他工具使用。报告写到 stderr。",
    "List or delete earlier exchanges of this workspace, newest last.": "列出或删除此工作区之前的问答，最新的在最后。",
    "A thread is what one terminal asks, up to `--new`. CLEW_THREAD names a thread of its own.": "一个终端在 `--new` 之前的提问为一个会话。CLEW_THREAD 可另行指定会话。",
    "All threads of this workspace, not only the current one.": "此工作区的全部会话，而不只是当前会话。",
    "Only exchanges that stay in reach however long ago they were.": "只列出无论多久都保留的问答。",
    "Delete all exchanges of the current thread, or with --all of the workspace.": "删除当前会话的全部问答；加 --all 则为整个工作区。",
    "All threads of this workspace.": "此工作区的全部会话。",
    "Do not ask.": "不再询问。",
    "Delete exchanges for good: their text is overwritten on disk.": "彻底删除问答：磁盘上的文本会被覆盖。",
    "Print one exchange: question, answer, and what the answer stood on.": "输出一条问答：问题、回答及其依据。",
    "Show what a reference points to: a file, a note or lines of it, a session, an exchange, a commit, git's state.": "显示引用所指：文件、笔记、其中若干行、会话、问答、提交或 git 状态。",
    "Paths are those of the workspace, as Clew cites them; a note goes by its name as well, or by the beginning of its id. What a model would not be shown, secrets above all, is not shown here either. Each character that could steer a terminal, or that hides, is shown as U+FFFD, in a pipe too, and --json writes its code. On a terminal lines are numbered. A note that does not hold any more says so, and what takes its place.": "路径以工作区为准，与 Clew 的引用一致；笔记也可以用名称或编号的开头指明。不会给模型看的内容（尤其是机密）这里也不显示。可能控制终端或隐藏内容的字符一律显示为 U+FFFD，管道中也是如此；--json 写出其代码。终端上带行号。已不再有效的笔记会说明这一点以及由什么取代。",
    "Into a pipe or a file: control characters as they are.": "输出到管道或文件时，控制字符原样给出。",
    "List the models that are usable here, and why others are not.": "列出此处可用的模型，以及其他模型为何不可用。",
    "Nothing is asked over the network but an Ollama server, at the address that is configured for it.": "除按配置地址询问 Ollama 服务外，不访问网络。",
    "Show each setting and where its value comes from.": "显示每个设置及其来源。",
    "A flag beats the environment, the environment the project's file, that the user's file, that the default.": "优先级：命令行选项 > 环境变量 > 项目文件 > 用户文件 > 默认值。",
    "Print the value of one setting and nothing else.": "只输出一个设置的值。",
    "Print the files that settings are read from: the project's, then the user's.": "输出读取设置的文件：先项目，后用户。",
    "Write a commented .clew.yaml at the top of this workspace, every setting with its default.": "在工作区顶层写入带注释的 .clew.yaml，列出每个设置及其默认值。",
    "It asks nothing, and never touches a file that is there unless --force is given.": "不会提问；除非给出 --force，否则绝不改动已有文件。",
    "Replace a file that is there.": "替换已有的文件。",
    "Show, rebuild or delete the code index.": "查看、重建或删除代码索引。",
    "The index is made from your files and can be deleted at any time; the next question makes it again.": "索引由你的文件生成，随时可以删除；下次提问会重新生成。",
    "Delete the index of this folder.": "删除此目录的索引。",
    "Delete the index of this folder. The next question makes it again.": "删除此目录的索引。下次提问会重新生成。",
    "The indexes of all folders.": "所有目录的索引。",
    "Delete the index of this folder and that of memory, and make them anew.": "删除此目录的索引和记忆的索引，并重新生成。",
    "What the index of this folder holds, and whether it is fresh.": "此目录的索引有什么内容，是否最新。",
    "Keep the index fresh while files change, so that a question looks at no file.": "文件变化时保持索引最新，提问时无须再扫描文件。",
    "Stays in the foreground; Ctrl-C ends it. Without it, each question finds changes itself.": "在前台运行，Ctrl-C 结束。没有它时，每次提问会自行发现变化。",
    "Also say what each refresh did.": "同时说明每次更新做了什么。",
    "Measure on labelled files.": "用带标注的文件进行评测。",
    "Each measurement prints a table with the worst items, or with --json one object. `clew eval init` writes a commented template for your own questions.": "每项评测输出一张列出最差项的表格；加 --json 则输出一个对象。`clew eval init` 会写入带注释的模板，供你填写自己的问题。",
    "How many secrets of labelled texts are gone, and what else went with them.": "标注文本中的机密有多少已被隐去，又误删了多少其他内容。",
    'Write a line {"id", "output"} for each text.': '为每段文本写一行 {"id", "output"}。',
    "Which notes of a folder come to mind for labelled messages and conversations.": "对带标注的消息和对话，会想起目录中的哪些记忆。",
    "FILE is a folder with `memories/*.md`, `messages.jsonl` and, if there are any, `conversations.jsonl`.": (
        "FILE 是一个目录，内有 `memories/*.md`、`messages.jsonl`，以及可选的 `conversations.jsonl`。"
    ),
    "Folder of the notes in it.": "其中存放记忆的文件夹。",
    "The day that decides what has expired: 2026-06-15.": "据以判断是否过期的日期：2026-06-15。",
    "Which embedding judges.": "由哪种向量判断。",
    "How often the mode decision agrees with labelled questions.": "模式判断与标注问题一致的比例。",
    "How often the context of a question about a repository holds the passages that answer it.": "关于仓库的问题，其上下文含有答案段落的比例。",
    "Whether the words of a commit lead to the files that it changed.": "提交说明的文字能否找到它所改动的文件。",
    "Whether the search finds the turns of long conversations that hold what a question asks for.": (
        "在长对话中，检索能否找到回答问题的那些话轮。"
    ),
    "FILE is in the format of the LoCoMo benchmark; it is read and not kept.": (
        "FILE 采用 LoCoMo 基准的格式；只读取，不保存。"
    ),
    "Hit rate and redundancy of the context of your own questions, in the folders they are asked in.": "你自己的问题在其所在目录中，上下文的命中率与冗余度。",
    "Write a commented template for your own questions to FILE (default questions.jsonl).": "把供你填写问题的带注释模板写入 FILE（默认 questions.jsonl）。",
    "Exit status 1 where a figure is lower; dots lead into it: recall.5=0.9. Repeatable.": "指标低于此值时退出状态为 1；用点号深入：recall.5=0.9。可重复。",
    "Git directories: owner+name/repo, owner+name, owner/name or name; bare or not.": "git 目录：owner+name/repo、owner+name、owner/name 或 name；裸仓库与否均可。",
    "Where indexes are kept.": "索引的存放位置。",
    "Also put each question to another repository: absent_told.": "同时把每个问题拿去问另一个仓库：absent_told。",
    "Which measurement it is for.": "用于哪项评测。",
    "Write over a file that is there.": "覆盖已有的文件。",
    "Try the real thing end to end, and say what works.": "从头到尾实际试运行，并说明哪些可用。",
    "Asks questions in a scratch folder with a home of its own, which are gone afterwards. Your files are not touched and nothing goes over the network. The status is 1 when something fails.": "在临时目录和独立的主目录中提问，结束后全部清除。不触碰你的文件，也不访问网络。有失败时退出状态为 1。",
    "Print the completion script for a shell. Nothing is installed: your own start-up file decides.": "输出 shell 的补全脚本。不会安装任何东西：由你自己的启动文件决定。",
    "Answer a question from the right context of this folder.": "用此目录中恰当的上下文回答问题。",
    "Print the assembled prompt, for use with any other tool.": "输出组装好的提示词，供其他工具使用。",
    "List or delete earlier exchanges.": "列出或删除之前的问答。",
    "Show what a reference points to.": "显示引用所指的内容。",
    "Write a commented .clew.yaml.": "写入带注释的 .clew.yaml。",
    "Keep the index fresh while files change.": "文件变化时保持索引最新。",
    "Print the completion script for a shell.": "输出 shell 的补全脚本。",
}
"""English paragraph, on one line, to Chinese."""


class ChineseFormatter(click.HelpFormatter):
    """Writes what it is given in Chinese where a wording is known."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The usage line."""
        super().write_usage(prog, args, "用法：")

    def write_heading(self, heading: str) -> None:
        """`Options`, `Commands`."""
        self.write(f"{'':>{self.current_indent}}{HEADINGS.get(heading, heading)}：\n")

    def write_text(self, text: str) -> None:
        """The help text of a command, or its examples."""
        paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
        super().write_text("\n\n".join(map(_paragraph, paragraphs)))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Options and commands with what they do."""
        super().write_dl([(name, _cell(text)) for name, text in rows], col_max, col_spacing)


def _paragraph(text: str) -> str:
    if text.startswith("\b"):
        return re.sub(r"^(\s*)Examples?:", r"\1示例：", text, count=1, flags=re.MULTILINE)
    return HELP.get(" ".join(text.split()), text)


def _cell(text: str) -> str:
    words, gap, extra = text.partition("  [")
    known = HELP.get(words)
    if known is None and words.endswith("..."):
        # Click cuts the words of a command where the window is narrow.
        known = next((chinese for english, chinese in HELP.items() if english.startswith(words[:-3])), None)
    tail = gap + extra
    for english, chinese in EXTRAS:
        tail = tail.replace(english, chinese)
    return (known or words) + tail
