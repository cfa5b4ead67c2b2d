"""Chinese wording of `clew acp`."""

# ruff: noqa: E501 - a text and its wording stand side by side

from __future__ import annotations

ACP_HELP: dict[str, str] = {
    "Put the agent into an editor over ACP.": "通过 ACP 把智能体接入编辑器。",
    "Put the agent into an editor over the Agent Client Protocol.": "通过 Agent Client Protocol 把智能体接入编辑器。",
    "An editor such as Zed or Neovim starts this command and talks to it over stdin and stdout. Each of its sessions works in the folder that the editor names; what needs a yes is asked there.": "Zed、Neovim 等编辑器启动此命令，并通过 stdin 和 stdout 与之通信。每个会话在编辑器指定的目录中工作；需要同意的操作在编辑器中询问。",
}
"""Help texts, by their English form."""

ACP: dict[str, str] = {
    "an editor starts this command itself": "此命令由编辑器自行启动",
    "stdin and stdout must be pipes": "stdin 和 stdout 必须是管道",
    "an editor starts this command itself, with pipes": "此命令由编辑器通过管道自行启动",
    "the session {} belongs to another folder": "会话 {} 属于另一个目录",
    "open {} in the editor": "请在编辑器中打开 {}",
    "MCP servers of the editor are not used: {}": "不使用编辑器的 MCP 服务器：{}",
    "the run failed": "运行失败",
    "Allow": "允许",
    "Always allow in this session": "在此会话中始终允许",
    "Refuse": "拒绝",
    "OUTSIDE the workspace": "在工作区之外",
    "Notes that came to mind": "想起的记忆",
    "The request is sent again": "正在重新发送请求",
    "A fresh window": "新的窗口",
    "What is said differs from what was handed over": "所说的与交接的内容不一致",
}
"""Messages and hints, by their English form."""
