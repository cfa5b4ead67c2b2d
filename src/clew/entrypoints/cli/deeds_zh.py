"""Chinese wording of what tools would do and did, as people are shown it. What fills a gap is data: it stays."""

# ruff: noqa: E501 - a text and its wording stand side by side

from __future__ import annotations

DEEDS: dict[str, str] = {
    "read {}": "读取 {}",
    "write {}": "写入 {}",
    "edit {}": "编辑 {}",
    "grep {} in {}": "搜索 {}，在 {} 中",
    "glob {} in {}": "查找文件 {}，在 {} 中",
    "look for mistakes in {}": "检查错误：{}",
    "look for mistakes in {} files": "检查错误：{} 个文件",
    "run {}": "运行 {}",
    "run {} in a terminal": "在终端中运行 {}",
    "type into {} ({})": "向 {}（{}）输入",
    "end terminal {}": "结束终端 {}",
    "start {}": "启动 {}",
    "keep {}": "记下 {}",
    "begin a fresh window": "开始新的窗口",
    "start a sub-agent: {}": "启动子智能体：{}",
    "call {} of the MCP server {}": "调用 MCP 服务器 {1} 的 {0}",
    "call {} of the MCP server {} (the server says that it only reads)": "调用 MCP 服务器 {1} 的 {0}（服务器称它只读取）",
    "start the MCP server {}, which {} of this project names": "启动 MCP 服务器 {}（由此项目的 {} 列出）",
    "connect to the MCP server {}, which {} of this project names": "连接 MCP 服务器 {}（由此项目的 {} 列出）",
}
"""Titles of effects. A gap may be named by its number where Chinese has another order."""

LABELS: dict[str, str] = {
    "server: {}": "服务器：{}",
    "program: {}": "程序：{}",
    "  argument: {}": "  参数：{}",
    "address: {}": "地址：{}",
    "  variable: {}": "  变量：{}",
    "  header: {}": "  请求头：{}",
}
"""Lines that tell an entry of an MCP server."""

WHYS: dict[str, str] = {
    "# to look for mistakes in files; it lies in the workspace": "# 用来检查文件中的错误；它位于工作区内",
    "# to look for mistakes in files; it runs what the workspace holds: {}": "# 用来检查文件中的错误；它会运行工作区中的内容：{}",
    "# to look for mistakes in files; it lies in the workspace, and it runs what the workspace holds: {}": "# 用来检查文件中的错误；它位于工作区内，并会运行工作区中的内容：{}",
    "cargo, with its build scripts and macros": "cargo，包括其构建脚本和宏",
    "the build script": "构建脚本",
    "plugins that its configuration names": "其配置列出的插件",
    "its own copy of TypeScript, from node_modules": "node_modules 中的 TypeScript",
}
"""Why a question is asked, in the last line of a command that Clew itself would start."""

OUTCOMES: dict[str, str] = {
    "exit {}": "退出码 {}",
    "ended by {}": "被 {} 结束",
    "does not end": "没有结束",
    "stopped after the timeout of {#} s": "{} 秒超时后停止",
    "interrupted by the user after {#} s": "{} 秒后被用户中断",
    "{}; {#} line had come": "{}；已有 {} 行",
    "{}; {#} lines had come": "{}；已有 {} 行",
    "{}; ended {#} left in the background (terminal_spawn is for programs that stay)": "{}；结束了留在后台的 {} 个程序（要留下的程序用 terminal_spawn）",
    "{#} line": "{} 行",
    "{#} lines": "{} 行",
    "{#} s": "{} 秒",
    "{#} found": "找到 {} 条",
    "{#} tool calls": "{} 次工具调用",
    "{#} tool calls; {}": "{} 次工具调用；{}",
    "kept as {}": "已保存为 {}",
    "not kept as a note": "未保存为笔记",
    "not kept as a note: {}": "未保存为笔记：{}",
    "refused: the user does not allow `{}`": "已拒绝：用户不允许 `{}`",
    "refused: the user does not allow `{}`: {}": "已拒绝：用户不允许 `{}`：{}",
}
"""What became of a call, on one line; `{#}` is a number. Several of these stand in a row, with ` · ` between them."""

REASONS: dict[str, str] = {
    "by the user": "由用户中断",
    "the run was interrupted": "运行被中断",
    "{} tokens": "{} token",
    "{} model calls": "调用模型 {} 次",
    "{} windows, one after the other, that were full after {} model calls at most": "连续 {} 个窗口，各自最多调用模型 {} 次就满了",
    "what a step needs does not fit: let it read less at once, or take a model with a larger window": "一步所需的内容放不下：请让它一次少读一些，或换用窗口更大的模型",
    "`clew run --continue` goes on from here; `--steps`, or `steps` in the settings, allows more": "`clew run --continue` 从这里继续；`--steps` 或设置中的 `steps` 可放宽上限",
    "nobody is there to be asked; {} would have allowed it": "没有人可以询问；{} 本可允许它",
    "nobody is there to be asked; only --yes allows a command that names {}": "没有人可以询问；只有 --yes 才允许提及 {} 的命令",
    "nobody is there to be asked, and what lies outside of the workspace, or steers what is run in it, is never done unasked{}": "没有人可以询问，而工作区之外的，或决定其中运行什么的，从不擅自执行{}",
    "only {} could have allowed it": "只有 {} 才能允许",
    "--yes or --allow": "--yes 或 --allow",
    "`yes`, `allow` or `permit`": "`yes`、`allow` 或 `permit`",
    "the editor could not ask: {}": "编辑器无法询问：{}",
    "the handoff could not be saved: {}": "无法保存交接内容：{}",
    "the provider's filter ended the answer": "提供方的过滤器终止了回答",
    "the model answered nothing": "模型没有回答任何内容",
    "the answer ended at its limit of {} tokens": "回答达到 {} token 的上限而结束",
    "the window is {} full; the handoff is written": "窗口已用 {}；已写下交接内容",
    "the window is {} full": "窗口已用 {}",
    "no hints this time: {}": "这次没有记忆提示：{}",
    "what you rejected did not count this time: {}": "这次未考虑你拒绝过的内容：{}",
    "asked for by the user": "用户要求",
    "`{}` is no level of thinking": "`{}` 不是思考程度",
    "`clew run --dump DIR` makes one": "`clew run --dump DIR` 会生成",
    "`clew run --dump DIR` writes them": "`clew run --dump DIR` 会写入",
    "`clew context QUESTION` names the best files": "`clew context QUESTION` 会列出最相关的文件",
    "`clew session list` shows them": "`clew session list` 会列出",
    "the model takes no more": "模型无法接受更多",
}
"""Why a run ended, why something was refused, what a run notices."""
