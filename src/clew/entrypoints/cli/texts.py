"""What the command line says to people, by id, in English and Chinese. Errors are in `wording`, data is never here."""

from __future__ import annotations

from clew.entrypoints.cli.handoff_zh import HANDOFF_TEXTS
from clew.entrypoints.cli.notes_zh import NOTES_TEXTS
from clew.entrypoints.cli.purge_zh import PURGE_TEXTS
from clew.entrypoints.cli.recall_zh import RECALL_TEXTS
from clew.entrypoints.cli.run_zh import RUN_TEXTS
from clew.entrypoints.cli.sync_zh import SYNC_TEXTS
from clew.entrypoints.cli.terminal_zh import TERMINAL_TEXTS

TEXTS: dict[str, tuple[str, str]] = {
    **HANDOFF_TEXTS,
    **NOTES_TEXTS,
    **PURGE_TEXTS,
    **RECALL_TEXTS,
    **RUN_TEXTS,
    **SYNC_TEXTS,
    **TERMINAL_TEXTS,
    # -- every command
    "error": ("error: ", "错误："),
    "hint": ("hint: ", "提示："),
    "note": ("note: ", "说明："),
    "interrupted": ("interrupted", "已中断"),
    "ask.partial": ("interrupted: what came so far was kept", "已中断：已收到的部分已保存"),
    # -- ask
    "ask.no-model": (
        "no model is configured: these are the best passages. Set one with CLEW_MODEL=provider:name (`clew models`)",
        "没有配置模型：以上是最相关的段落。用 CLEW_MODEL=provider:name 设置模型（`clew models`）",
    ),
    "ask.nothing": (
        "Nothing in this folder matches the question. `--mode rich` shows the nearest passages all the same.",
        "这个目录里没有与问题相关的内容。加上 `--mode rich` 仍会给出最接近的段落。",
    ),
    "ask.not-needed": (
        "The question seems to need nothing from this folder, and no model is configured to answer it. "
        "`--mode rich` searches all the same.",
        "这个问题似乎不需要此目录中的内容，而且没有配置可以回答的模型。用 `--mode rich` 可照样搜索。",
    ),
    "ask.attached": (
        "No model is configured that could read what you attached. `clew context` prints the prompt for another tool.",
        "没有配置可以阅读附件的模型。`clew context` 会输出完整的提示词，供其他工具使用。",
    ),
    "ask.waiting": (
        "waiting for standard input; `</dev/null` gives none",
        "正在等待标准输入；用 `</dev/null` 表示没有输入",
    ),
    "ask.silent": (
        "nothing came on standard input in {} seconds: it was left out (`-` as FILE waits as long as it takes)",
        "标准输入 {} 秒内没有内容：已忽略（用 `-` 作为 FILE 可一直等待）",
    ),
    "ask.not-kept": ("this exchange could not be kept: {}", "这次问答没有保存：{}"),
    "ask.newer-history": (
        "asked without earlier exchanges, and not kept: {}; {}",
        "此次提问不带入之前的问答，也不会保存：{}；{}",
    ),
    "ask.cache": ("cache: {}", "缓存：{}"),
    "ask.answered": ("answered by {}", "由 {} 回答"),
    "ask.usage": ("usage: {} in ({} cached), {} out", "用量：输入 {}（缓存 {}），输出 {}"),
    "report.frame": ("instructions, question", "指令与问题"),
    "report.total": ("of {} for the prompt, {} kept for the answer", "提示词上限 {}，另为回答保留 {}"),
    "cause.budget": ("budget", "没有空间"),
    "cause.side limit": ("side limit", "附带信息上限"),
    "cause.mode": ("mode", "模式"),
    "report.left-out": ("left out, whole or in part, and why", "省略的内容（全部或部分）及原因"),
    # -- history
    "history.empty": ("no earlier exchange in this thread", "当前会话还没有问答"),
    "history.empty-all": ("no earlier exchange in this workspace", "此工作区还没有问答"),
    "history.unanswered": ("(no answer came)", "（没有得到回答）"),
    "history.no-anchors": ("no exchange is an anchor here", "这里没有被固定的问答"),
    "history.others": (
        "{} more in other threads of this workspace: `clew history --all`",
        "此工作区的其他会话里还有 {} 条：`clew history --all`",
    ),
    "history.thread": ("thread {}", "会话 {}"),
    "history.this": ("this terminal", "当前终端"),
    "history.removed": ("{} removed", "已删除 {} 条"),
    "history.confirm-thread": ("Delete {} exchanges of this thread?", "删除当前会话的 {} 条问答？"),
    "history.confirm-all": ("Delete all {} exchanges of this workspace?", "删除此工作区的全部 {} 条问答？"),
    # -- open
    "open.redacted": ("secrets not shown: {}", "已隐去 {} 处机密"),
    "open.hidden": (
        "control characters shown as �: {}. `--raw` hands them on, into a pipe or a file",
        "有 {} 个控制字符显示为 �。输出到管道或文件时，`--raw` 会原样给出",
    ),
    # -- models
    "models.usable": ("usable", "可用"),
    "models.unusable": ("not usable", "不可用"),
    "models.key": ("key from {}", "密钥来自 {}"),
    "models.default": ("default, from {}", "默认，来自 {}"),
    "models.unset": ("default", "默认"),
    "models.none": ("none: the best passages are the answer", "无：以最相关的段落作答"),
    "models.choose": (
        "choose one with --model provider:name, CLEW_MODEL=provider:name, or `model:` in {}",
        "用 --model provider:name、CLEW_MODEL=provider:name 或 {} 中的 `model:` 选择模型",
    ),
    # -- config, init
    "config.project": ("project", "项目"),
    "config.user": ("user", "用户"),
    "config.missing": ("not there", "不存在"),
    "init.wrote": ("wrote {}: every setting, commented out", "已写入 {}：全部设置，均已注释"),
    "init.replaced": ("replaced {}: every setting, commented out", "已替换 {}：全部设置，均已注释"),
    # -- doctor
    "doctor.ok": ("ok", "正常"),
    "doctor.warn": ("note", "注意"),
    "doctor.fail": ("FAILS", "失败"),
    "doctor.cause": ("cause: {}", "原因：{}"),
    "doctor.fix": ("fix: {}", "解决：{}"),
    "doctor.summary": ("{} ok, {} to note, {} failed", "正常 {} 项，注意 {} 项，失败 {} 项"),
    "doctor.python": ("Python", "Python"),
    "doctor.home": ("home", "数据目录"),
    "doctor.configuration": ("configuration", "配置"),
    "doctor.git": ("git", "git"),
    "doctor.index": ("index", "索引"),
    "doctor.english": ("question in English", "英文提问"),
    "doctor.chinese": ("question in Chinese", "中文提问"),
    "doctor.abstain": ("says when nothing matches", "无关时如实说明"),
    "doctor.budget": ("token budget", "token 预算"),
    "doctor.history": ("exchange kept and deleted", "问答的保存与删除"),
    "doctor.tokenizer": ("tokenizer", "分词器"),
    "doctor.table": ("static word table", "静态词向量表"),
    "doctor.modes": ("mode decision", "模式判断"),
    "doctor.grammars": ("grammars", "语法"),
    "doctor.keyring": ("keyring", "系统密钥环"),
    "doctor.models": ("models", "模型"),
    "doctor.terminal": ("terminal", "终端"),
    "doctor.tidy": ("nothing left behind", "不留痕迹"),
    # -- index, watch
    "index.none": ("no index yet: the next question makes it at {}", "还没有索引：下次提问会在 {} 建立"),
    "index.files": ("files", "文件"),
    "index.chunks": ("chunks", "片段"),
    "index.symbols": ("symbols", "符号"),
    "index.commits": ("commits", "提交"),
    "index.size": ("size", "大小"),
    "index.written": ("written", "写入"),
    "index.state": ("state", "状态"),
    "index.watched": ("watched", "监视"),
    "index.path": ("path", "路径"),
    "index.fresh": ("fresh", "最新"),
    "index.behind": ("behind: {} changed or new, {} gone", "落后：{} 个有变化或新增，{} 个已消失"),
    "index.yes": ("yes", "是"),
    "index.no": ("no", "否"),
    "index.days": ("{} days ago", "{} 天前"),
    "index.hours": ("{} hours ago", "{} 小时前"),
    "index.minutes": ("{} minutes ago", "{} 分钟前"),
    "index.seconds": ("{} seconds ago", "{} 秒前"),
    "index.made": (
        "indexed {} files, {} chunks, {} symbols, {} commits in {} s",
        "已索引 {} 个文件、{} 个片段、{} 个符号、{} 个提交，用时 {} 秒",
    ),
    "index.freed": ("freed {} MB at {}", "已释放 {} MB：{}"),
    "index.nothing": ("there was no index", "没有索引"),
    "watch.start": ("watching {}: {} files", "正在监视 {}：{} 个文件"),
    "watch.no-events": (
        "no events come ({}); looking at all files now and then",
        "收不到文件事件（{}）；改为不时查看所有文件",
    ),
    "watch.events": ("events come again", "又能收到文件事件了"),
    "watch.refresh": ("{} changed, {} gone, {} ms", "{} 个有变化，{} 个已消失，{} 毫秒"),
    # -- eval
    "eval.items": ("{} of {} questions", "{} / {} 个问题"),
    "eval.wrote": (
        "wrote {}: add your questions, then run `clew eval {} {}`",
        "已写入 {}：加入你的问题，然后运行 `clew eval {} {}`",
    ),
    "eval.below": ("falls short: {} is {}, below {}", "未达标：{} 为 {}，低于 {}"),
    "eval.short": ("{} of {} fall short:", "{} / {} 项未达标："),
    "eval.worst": ("{} of {} fall short; the worst {}:", "{} / {} 项未达标；最差的 {} 项："),
    "eval.id": ("id", "编号"),
    "eval.decided": ("ideal → got", "理想 → 实际"),
    "eval.reason": ("reason", "理由"),
    "eval.mode": ("mode", "模式"),
    "eval.first-missing": ("first that is missing", "首个缺失项"),
    "eval.unmatched": ("said nothing matches", "称没有匹配"),
    "eval.found": ("found", "找到了"),
    "eval.in-five": ("in five", "前五命中"),
    "eval.changed": ("changed", "改动的文件"),
    "eval.first-two": ("first two", "前两个"),
    "eval.question": ("question", "问题"),
    "eval.missing": ("missing", "缺失"),
    "eval.message": ("message", "消息"),
    "eval.wrong": ("wrong hints", "错误提示"),
    "eval.missed": ("missed", "漏掉"),
    "eval.category": ("category", "类别"),
    "eval.evidence": ("evidence", "证据"),
    "eval.left": ("still there", "仍然留下"),
    "eval.removed": ("removed", "已隐去"),
    # -- mcp
    "mcp.serving": ("{} · token in {}", "{} · 令牌在 {}"),
    "acp.waiting": (
        "waiting for an editor on stdin (Ctrl-C ends this)",
        "正在 stdin 上等待编辑器（Ctrl-C 结束）",
    ),
    "mcp.waiting": (
        "waiting for a client on stdin; agents start this command themselves",
        "正在 stdin 上等待客户端；此命令由智能体自行启动",
    ),
    # -- progress
    "progress.indexing": ("indexing {} of {} files", "正在索引 {} / {} 个文件"),
    "progress.reading": ("reading {} of {} files", "正在读取 {} / {} 个文件"),
    "progress.exchanging": ("exchanging memory with its remote: {} s", "正在与远程交换记忆：{} 秒"),
}
"""Id to (English, Chinese). Both hold the same number of `{}`."""


def say(name: str, language: str, *values: object) -> str:
    """The text `name` in `en` or `zh`, with its `{}` filled in."""
    return TEXTS[name][language == "zh"].format(*values)
