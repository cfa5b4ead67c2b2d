"""What the interactive terminal and `clew session` say, in English and Chinese."""

# ruff: noqa: E501 - a text and its wording stand side by side

from __future__ import annotations

TERMINAL_TEXTS: dict[str, tuple[str, str]] = {
    "term.begin": (
        "Say what is to be done. /help: commands, keys; Esc interrupts; ctrl-d leaves.",
        "请说明要做什么。/help 列出命令和按键；Esc 中断；ctrl-d 退出。",
    ),
    "term.again": ("session {} goes on; runs so far: {}", "继续会话 {}：已有 {} 次运行"),
    "term.forked": ("a session of its own that goes on from {}", "从 {} 分出的新会话"),
    "term.left": ("session {}: `clew resume {}` goes on with it", "会话 {}：用 `clew resume {}` 继续"),
    "term.no-model": (
        "The agent needs a model that can call tools, and none is usable here yet:",
        "智能体需要一个能调用工具的模型，而这里还没有可用的：",
    ),
    "term.need": (
        "Do one of these, then type `clew` again:\n"
        "  export ANTHROPIC_API_KEY=…  CLEW_MODEL=anthropic:claude-sonnet-5\n"
        "  export OPENAI_API_KEY=…     CLEW_MODEL=openai:gpt-5-mini\n"
        "  ollama pull qwen3           export CLEW_MODEL=ollama:qwen3   (nothing leaves this machine)\n"
        "`clew models` tells what is usable here and why the rest is not. Without a model `clew ask` still finds "
        "passages, and notes and hints work.",
        "请选择一种方式，然后再次运行 `clew`：\n"
        "  export ANTHROPIC_API_KEY=…  CLEW_MODEL=anthropic:claude-sonnet-5\n"
        "  export OPENAI_API_KEY=…     CLEW_MODEL=openai:gpt-5-mini\n"
        "  ollama pull qwen3           export CLEW_MODEL=ollama:qwen3   （数据不会离开本机）\n"
        "`clew models` 会说明哪些可用、其余为何不可用。没有模型时，`clew ask` 仍能找到段落，笔记和提示也照常工作。",
    ),
    "term.starting": ("looking for what matters here", "查找相关内容"),
    "term.thinking": ("thinking", "思考中"),
    "term.asking": ("waiting for the model", "等待模型"),
    "term.writing": ("answering", "回答中"),
    "term.stopping": ("stopping", "正在停止"),
    "term.esc": ("Esc interrupts", "Esc 中断"),
    "term.ctrl-c": ("ctrl-c once more leaves", "再按一次 ctrl-c 退出"),
    "term.steers": ("goes to the model with its next request: {}", "将随下一次请求告诉模型：{}"),
    "term.queued": ("queued: {}", "排队中：{}"),
    "term.steered": ("told the model: {}", "已告诉模型：{}"),
    "term.hint": ("hint: {} · {}", "记忆提示：{} · {}"),
    "term.folded": ("… {} more lines: ctrl-o or /last shows all", "……还有 {} 行：ctrl-o 或 /last 显示全部"),
    "term.lines": ("{} lines", "{} 行"),
    "term.seconds": ("{} s", "{} 秒"),
    "term.pasted": ("[{} lines pasted]", "[已粘贴 {} 行]"),
    "term.pasted-again": ("[{} lines pasted, {}]", "[已粘贴 {} 行，{}]"),
    "term.ended-tokens": ("{} tokens in ({} cached), {} out", "输入 {} token（缓存 {}），输出 {}"),
    "term.wrote": ("wrote {}", "已写入 {}"),
    "term.drift": ("the fresh window leaves out: {}", "新窗口没有提到：{}"),
    "term.contradicted": ("the fresh window contradicts: {}", "新窗口与交接内容矛盾：{}"),
    # -- permission
    "permit.ask": ("Allow this?", "允许吗？"),
    "permit.outside": ("OUTSIDE the workspace: {}", "在工作区之外：{}"),
    "permit.yes": ("y once", "y 仅此一次"),
    "permit.keep": ("y yes, also later while its entry is unchanged", "y 允许，条目不变则以后也允许"),
    "permit.typing": (
        "Enter sends your line, ctrl-u puts it aside   Esc no, and stop",
        "回车发送输入行，ctrl-u 暂放一旁   Esc 不允许并停止",
    ),
    "permit.always": ("a always {}", "a 总是允许 {}"),
    "permit.no": ("n no", "n 不允许"),
    "permit.stop": ("Esc no, and stop", "Esc 不允许并停止"),
    "permit.why": (
        "Why not? It goes to the model; Enter alone gives no reason.",
        "为什么不？会告诉模型；直接回车则不说明。",
    ),
    "permit.rule": ("allowed from now on in this session: {}", "本会话从现在起允许：{}"),
    "permit.refused": ("not allowed: {}", "未允许：{}"),
    "session.none": ("no session was begun in this workspace", "此工作区还没有会话"),
    # -- commands
    "cmd.unknown": ("there is no command {}: /help lists them", "没有命令 {}：/help 列出全部"),
    "cmd.busy": ("{} has to wait until the run is over (Esc ends it)", "{} 要等本次运行结束（Esc 可结束它）"),
    "cmd.nothing-sent": ("nothing was sent in this session yet", "本会话还没有发送过内容"),
    "cmd.no-hints": ("no hint was given in this session", "本会话还没有给出过提示"),
    "cmd.reject": ("`/hints reject N`: this one does not help here", "`/hints reject N`：这条在此没有帮助"),
    "cmd.rejected": ("rejected: {}", "已拒绝：{}"),
    "cmd.number": ("{} is no number of a hint: /hints lists them", "{} 不是提示的编号：/hints 列出全部"),
    "cmd.model": ("{} works from now on", "从现在起使用 {}"),
    "cmd.thinking": ("thinking: {} ({})", "思考程度：{}（{}）"),
    "cmd.thinking-alone": (
        "thinking: {}; but {} cannot be told how long to think",
        "思考程度：{}；但 {} 无法指定思考程度",
    ),
    "cmd.models": ("{} is at work; `/model provider:name` changes it", "当前使用 {}；`/model provider:name` 可更换"),
    "cmd.new": (
        "a fresh window: what was said is no longer in it, the handoff is",
        "新的窗口：之前的对话不在其中，交接内容在",
    ),
    "cmd.fork": ("session {} goes on from {}", "会话 {} 从 {} 继续"),
    "cmd.exported": ("exported to {}", "已导出到 {}"),
    "cmd.allow": ("allowed without asking: {}", "无需询问即允许：{}"),
    "cmd.rules": ("no rule yet; for instance `/allow command:pytest *`", "还没有规则；例如 `/allow command:pytest *`"),
    "cmd.yes-on": ("edits and commands within the workspace are not asked for", "工作区内的编辑和命令不再询问"),
    "cmd.yes-off": ("edits and commands are asked for", "编辑和命令都会询问"),
    "cmd.yes": ("`/yes on` or `/yes off`; now: {}", "`/yes on` 或 `/yes off`；当前：{}"),
    "cmd.no-shells": ("no shell is open", "没有打开的终端"),
    "cmd.no-sessions": ("no other session in this workspace", "此工作区没有其他会话"),
    "cmd.no-session": (
        "there is no session {} in the list: /resume shows it",
        "列表中没有第 {} 个会话：/resume 会列出",
    ),
    "cmd.which": ("`/resume N` or `/resume ID` goes on with one", "`/resume N` 或 `/resume ID` 继续其中之一"),
    "cmd.nothing-last": ("there is no output yet", "还没有输出"),
    "cmd.queue": ("`/queue TEXT` is done after this run", "`/queue TEXT` 会在本次运行后执行"),
    "cmd.memory": ("`/memory QUERY` searches what is remembered", "`/memory QUERY` 搜索记忆"),
    "help.keys": ("Keys", "按键"),
    "help.commands": ("Commands", "命令"),
}

COMMANDS_HELP: dict[str, tuple[str, str]] = {
    "/help": ("this list", "本列表"),
    "/context": (
        "what the last run began with, in tokens; `full`: the whole text",
        "上次运行开头的内容及 token；`full`：全文",
    ),
    "/hints": ("hints of this session and why; `reject N`", "本会话的提示及原因；`reject N` 拒绝"),
    "/memory": ("search what is remembered", "搜索记忆"),
    "/plan": ("the plan", "计划"),
    "/handoff": ("what was handed over last", "上一次交接的内容"),
    "/resume": ("list the sessions here; `N` or `ID`: go on with one", "列出会话；`N` 或 `ID`：继续其中之一"),
    "/model": ("which model works; `provider:name` changes it", "当前模型；`provider:name` 更换"),
    "/thinking": (
        "thinking: `off`, `low`, `medium`, `high`, `max` or `auto`",
        "模型思考的程度；`off`、`low`、`medium`、`high`、`max` 或 `auto` 更改",
    ),
    "/new": ("a fresh window; the handoff is written first", "新的窗口；先写交接内容"),
    "/fork": ("go on in a session of its own", "在新会话中继续"),
    "/export": ("write this session as Markdown", "把本会话导出为 Markdown"),
    "/allow": ("allow by rule: `command:pytest *`, `edit:src/**`", "按规则允许：`command:pytest *`、`edit:src/**`"),
    "/yes": ("`on`: ask for nothing within the workspace; `off`", "`on`：工作区内不再询问；`off`"),
    "/shells": ("open shells", "打开的终端"),
    "/last": ("the last folded output, whole (ctrl-o)", "显示上一个折叠的输出（ctrl-o）"),
    "/queue": ("do this after the present run (alt-enter)", "本次运行后再做（alt-enter）"),
    "/quit": ("leave (ctrl-d)", "退出（ctrl-d）"),
}

KEYS_HELP: tuple[tuple[str, str, str], ...] = (
    ("enter", "send; while the agent works: tell it at its next step", "发送；工作中：在下一步告诉智能体"),
    ("alt-enter", "while it works: do it afterwards; else a new line", "工作中：之后再做；否则换行"),
    ("ctrl-j", "a new line (also `\\` at the end of a line, then enter)", "换行（或行末 `\\` 加回车）"),
    ("esc", "interrupt the run; twice: clear the line", "中断运行；按两次：清空输入"),
    ("up, down", "earlier lines; ctrl-r searches", "历史输入；ctrl-r 搜索"),
    ("tab", "complete /commands and @paths", "补全 /命令 和 @路径"),
    ("ctrl-o", "the last folded output, whole", "显示上一个折叠的输出"),
    ("ctrl-u", "at a question: put the line aside until it is answered", "有询问时：暂放输入行，回答后取回"),
    ("ctrl-c", "clear the line, end the run; twice: leave", "清空输入、结束运行；按两次：退出"),
    ("ctrl-d", "leave", "退出"),
)

TERMINAL_HELP: dict[str, str] = {
    "Go on with a session at the terminal.": "在终端继续一个会话。",
    "Go on with a session at the terminal: the newest of this workspace, or the one whose ID is given.": "在终端继续一个会话：此工作区最新的，或给出 ID 的那个。",
    "The beginning of an id is enough; `clew session list` shows them. Its last runs are shown, then you may type.": "ID 的开头即可；`clew session list` 会列出。先显示最近几次运行，然后即可输入。",
    "Go on in a session of its own; the other one stays as it is.": "在新会话中继续；原会话保持不变。",
    "List, show and export the agent's sessions.": "列出、显示和导出智能体的会话。",
    "The sessions of the agent: what was said and done in each run.": "智能体的会话：每次运行说了什么、做了什么。",
    "Sessions of all workspaces.": "所有工作区的会话。",
    "List the sessions of this workspace, newest first.": "列出此工作区的会话，最新的在前。",
    "Only this run.": "只显示这次运行。",
    "Search the sessions of this workspace: what you and the agent said, its tool calls, what failed.": "搜索此工作区的会话：您和智能体说过的话、工具调用、失败之处。",
    "Each hit has a reference that `clew open` takes. Outputs of tools that worked are not searched. A miss says what was searched, and stands in `clew audit --misses`.": "每条结果都有可用 `clew open` 打开的引用。成功的工具输出不在搜索之列。未找到时会说明搜索了什么，并记入 `clew audit --misses`。",
    "Only this session; the beginning of its id is enough.": "只搜索这个会话；编号的开头部分即可。",
    "Show a session: its messages, the tool calls and their results, the final replies.": "显示一个会话：消息、工具调用及结果、最终回复。",
    "Write a session as Markdown, to stdout or into FILE, which must not be there yet.": "把会话写成 Markdown，输出到 stdout 或尚不存在的 FILE。",
    "Long results of tools are shortened; the transcript keeps them.": "过长的工具结果会缩短；完整内容保留在会话记录中。",
}

TERMINAL_ERRORS: dict[str, str] = {
    "this terminal cannot move its cursor (TERM=dumb)": "此终端不能移动光标（TERM=dumb）",
    '`clew run "…"` works here': '这里可以使用 `clew run "…"`',
    "`clew resume` needs a terminal for input and output": "`clew resume` 的输入和输出都需要终端",
    '`clew run "…" --continue`': '`clew run "…" --continue`',
    "name another file": "请指定另一个文件",
    "`#{}` names no run": "`#{}` 不是运行的编号",
    "for instance #3, or #3.5 for its step 5": "例如 #3，或 #3.5 表示其中第 5 步",
    "the run {} of the session {} has no step {}": "第 {} 次运行（会话 {}）没有第 {} 步",
    "it has {}": "共有 {}",
    "the session {} is of another workspace": "会话 {} 属于另一个工作区",
    "`clew open {}` shows it": "`clew open {}` 会显示它",
    "`{}` belongs to the user": "`{}` 属于用户",
    "only the main agent reads it": "只有主智能体可以读取",
    "the session {} has no run {}": "会话 {} 没有第 {} 次运行",
}
