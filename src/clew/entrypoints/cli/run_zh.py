"""What `clew run` and `clew prefix` say to people, in English and Chinese."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

RUN_TEXTS: dict[str, tuple[str, str]] = {
    "run.ended": ("the run {}: {}", "本次运行{}：{}"),
    "run.finished": ("finished", "已完成"),
    "run.aborted": ("was interrupted", "被中断"),
    "run.failed": ("failed", "失败"),
    "run.limit": ("came to its limit", "达到上限"),
    "run.crashed": ("ended with its process", "随进程一起结束"),
    "run.hint": ("hint: {} ({})", "记忆提示：{}（{}）"),
    "run.retry": ("{}; again in {} s", "{}；{} 秒后重试"),
    "run.window": ("a fresh window begins ({})", "开始新的窗口（第 {} 个）"),
    "prefix.sum": (
        "{} requests within runs, {} between; between runs shared on average: {} by byte, {} by block",
        "运行内 {} 个请求，运行之间 {} 个；运行之间平均共享：按字节 {}，按块 {}",
    ),
}

RUN_HELP: dict[str, str] = {
    "Let the agent do a piece of work, without a terminal.": "让智能体完成一项工作，无需终端。",
    "Let the agent do a piece of work in this folder, without asking anything back.": "让智能体在此目录中完成一项工作，期间不作任何询问。",
    "MESSAGE says what; text that is piped in goes along. The final reply goes to stdout, what happens meanwhile to stderr. Edits and commands need --yes or a rule; without, the model is told that they are refused.": "MESSAGE 说明要做什么；通过管道输入的文本会一并带上。最终答复写到 stdout，过程写到 stderr。编辑和命令需要 --yes 或规则；否则模型会得知它们被拒绝。",
    "The model that works.": "用来工作的模型。",
    "Go on with the newest session of this workspace.": "继续此工作区最近的会话。",
    "Go on with this session; the beginning of its id is enough.": "继续这个会话；编号的开头部分即可。",
    "With --continue or --session: go on in a new session.": "与 --continue 或 --session 合用：在新会话中继续。",
    "Allow edits and commands within the workspace without asking.": "允许在工作区内编辑和执行命令，不再询问。",
    "Allow what a rule says: `command:pytest *`. Repeatable.": "允许规则所指的操作：`command:pytest *`。可重复。",
    "Model calls at most.": "最多调用模型的次数。",
    "Write each request as it is sent.": "把每个请求按发送的原样写入文件。",
    "One JSON event per line on stdout, nothing else.": "在 stdout 上每行输出一个 JSON 事件，别无其他。",
    "Only the final reply.": "只输出最终答复。",
    "Tell how much of each dumped request was sent before.": "说明每个转储的请求有多少此前已发送。",
    "Tell how much of each request in DIR was sent before: by byte, by block, and as the provider reports it.": "说明 DIR 中每个请求有多少此前已发送：按字节、按块，以及提供方报告的数值。",
    "Within a run each request should begin with all of the one before; where that ends, the layer is named.": "在一次运行中，每个请求都应以前一个请求的全部内容开头；在何处中断，会指出所在的层。",
    "Print a JSON object.": "输出一个 JSON 对象。",
    "Fail where runs share less than this, on average.": "各次运行平均共享低于此值时以失败结束。",
}

RUN: dict[str, str] = {
    "`on`, `off`, or a table of `language: command`": "`on`、`off`，或 `语言: 命令` 的表",
    "a command, or `off`": "一条命令，或 `off`",
    "{} cannot work as an agent: it calls no tools": "{} 不能作为智能体工作：它不会调用工具",
    "the agent needs a model": "智能体需要一个模型",
    "set CLEW_MODEL=provider:name, for instance anthropic:claude-sonnet-5 or ollama:qwen3; `clew models` shows what is usable here": "请设置 CLEW_MODEL=provider:name，例如 anthropic:claude-sonnet-5 或 ollama:qwen3；`clew models` 会列出此处可用的模型",
    "try another model": "请换一个模型",
    "`{}` is no rule": "`{}` 不是规则",
    "a rule is kind:pattern; kinds are {}": "规则写作 kind:pattern；kind 可为 {}",
    "--session and --continue exclude each other": "--session 与 --continue 不能同时使用",
    "give one of them": "请只给其中一个",
    "--fork needs a session to fork": "--fork 需要一个可供分叉的会话",
    "add --continue, or --session ID": "请加上 --continue 或 --session ID",
    "there is nothing to do": "没有要做的事",
    "`{}` holds no request": "`{}` 中没有请求",
    "there is no folder `{}`": "没有目录 `{}`",
    "`{}` cannot hold dumps: {}": "`{}` 不能存放转储：{}",
    "name another folder": "请换一个目录",
    "leave out --dump": "请去掉 --dump",
    "`{}` is no JSON: {}": "`{}` 不是 JSON：{}",
    "a dump holds requests as they were sent": "转储中存放的是按原样发送的请求",
    "no session was begun in this workspace": "此工作区还没有会话",
    "`clew` or `clew run` begins one": "`clew` 或 `clew run` 会开始一个会话",
    "the session {} has no run {} that ended": "会话 {} 中没有已结束的第 {} 次运行",
    "it has {}": "它有 {} 次",
    "there is no session {}": "没有会话 {}",
    "{} sessions begin with {}": "有 {} 个会话以 {} 开头",
    "{} is the newest of them": "其中最新的是 {}",
    "the session {} is in use by another process": "会话 {} 正由另一个进程使用",
    "`clew resume --fork` goes on from it in a session of its own": "`clew resume --fork` 会从它分出一个新会话继续",
    "the session {} is damaged: it does not say where it began": "会话 {} 已损坏：其中没有开头的记录",
    "the session {} was written by a newer Clew": "会话 {} 由更新版本的 Clew 写入",
    "install that version": "请安装那个版本",
    "`{}` cannot be written: {}": "无法写入 `{}`：{}",
}
