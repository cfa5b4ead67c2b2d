"""Chinese wording of `clew mcp`. Its tools speak English: what they say is for models."""

# ruff: noqa: E501 - a text and its wording stand side by side

from __future__ import annotations

MCP_HELP: dict[str, str] = {
    "Serve memory to agents over MCP.": "通过 MCP 把记忆提供给智能体。",
    "Serve memory to agents over the Model Context Protocol.": "通过 Model Context Protocol 把记忆提供给各种智能体。",
    "Four tools: memory_recall, memory_open, memory_note, memory_log. The project is the first root of the client that is a repository, else DIR. HTTP wants the token that the file named on stderr holds.": "四个工具：memory_recall、memory_open、memory_note、memory_log。项目为客户端各根目录中第一个仓库，否则为 DIR。HTTP 需要令牌，它在 stderr 所示的文件中。",
    "Serve HTTP on this machine instead of stdin and stdout.": "在本机提供 HTTP，而不是使用 stdin 和 stdout。",
    "With --http: 127.0.0.1, localhost or ::1.": "与 --http 连用：127.0.0.1、localhost 或 ::1。",
    "With --http: 0 takes a free one.": "与 --http 连用：0 表示任选一个空闲端口。",
    "With --http: a file with the token, instead of Clew's own.": "与 --http 连用：含令牌的文件，代替 Clew 自己的令牌。",
    "The project of clients that name no roots.": "客户端未给出根目录时所用的项目。",
}
"""Help texts, by their English form."""

MCP: dict[str, str] = {
    "--host, --port and --token-file belong to --http": "--host、--port 和 --token-file 须与 --http 连用",
    "stdin is closed": "stdin 已关闭",
    "agents start this command themselves; or use --http": "此命令由智能体自行启动；也可使用 --http",
    "`{}` is not this machine": "`{}` 不是本机",
    "port {} cannot be used: {}": "无法使用端口 {}：{}",
    "--port 0 takes a free one": "--port 0 会任选一个空闲端口",
    "name the folder of a project": "请给出一个项目的目录",
    "{} cannot be read: {}": "无法读取 {}：{}",
    "name a file with the token": "请给出含令牌的文件",
    "others may read {}": "其他人可以读取 {}",
    "{} holds no token": "{} 中没有令牌",
    "keep it with kind=note, or say it with memory_log": "请用 kind=note 保存，或用 memory_log 记录",
    "`{}` was called wrongly: {}": "`{}` 调用有误：{}",
    "text only": "仅限文本",
    "one line of 16 to 512 letters, digits and signs": "一行 16 到 512 个字母、数字或符号",
}
"""Messages and hints, by their English form."""
