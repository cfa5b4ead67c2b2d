"""What the commands `note`, `log` and `memory` say: texts in English and Chinese, Chinese of errors and of help."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

NOTES_TEXTS: dict[str, tuple[str, str]] = {
    "note.created": ("saved as a new note: {}", "已存为新笔记：{}"),
    "note.appended": ("saved, added to the note of that name: {}", "已保存，追加到同名笔记：{}"),
    "note.superseded": ("saved: {}", "已保存：{}"),
    "note.unchanged": ("nothing to save, it says that already: {}", "无需保存，内容已在其中：{}"),
    "note.edited": ("saved: {}", "已保存：{}"),
    "note.replaced": (
        "it takes the place of {}, which is kept and no longer hinted",
        "它取代了 {}；后者保留，但不再提示",
    ),
    "note.redacted": ("secrets were taken out before it was written", "写入之前已移除机密"),
    "note.unaudited": ("it is saved, but the audit trail could not be written", "已保存，但无法写入审计记录"),
    "note.when": (
        'say when it should come to mind: clew memory set {} when+="…"',
        '请说明何时应想起它：clew memory set {} when+="…"',
    ),
    "log.appended": ("saved, added to the log: {}", "已保存，追加到日志：{}"),
    "memory.collision": (
        "the id {} stands for {} on this machine, and for {} here: their notes lie together",
        "编号 {} 在本机代表 {}，在此代表 {}：两者的笔记放在一起",
    ),
    "memory.former": (
        "this folder was the workspace {} before, and notes lie there; to go on with them, write {} below [alias] in workspaces.toml of the data folder",
        "此目录之前是工作区 {}，那里有笔记；若要继续使用，请在数据目录的 workspaces.toml 中 [alias] 下写 {}",
    ),
}
"""Id to (English, Chinese), for `texts`."""

NOTES: dict[str, str] = {
    "the note says nothing": "笔记没有内容",
    'for instance: clew note "The crane stops at wind force 7."; `clew memory add` opens an editor': '例如：clew note "风力七级时起重机停用。"；`clew memory add` 会打开编辑器',
    "standard input is too long for memory": "标准输入太长，无法存入记忆",
    "say less, or `clew memory import FOLDER`": "请缩短内容，或用 `clew memory import FOLDER`",
    "standard input is binary": "标准输入是二进制内容",
    "memory holds text": "记忆只存放文本",
    "`{}` is no day": "`{}` 不是日期",
    "there is no branch here": "这里没有分支",
    "leave out --branch: the note holds on all of them": "去掉 --branch：笔记适用于所有分支",
    "{} is over": "{} 已经过去",
    "give a day that is still to come": "请给出尚未到来的日期",
}
"""English form to Chinese form."""

NOTES_HELP: dict[str, str] = {
    "Keep a note.": "记一条笔记。",
    "Keep a note of this project, or with --personal of yours. TEXT comes from standard input with `-` or a pipe.": "为此项目记一条笔记；加 --personal 则属于你个人。用 `-` 或管道时 TEXT 取自标准输入。",
    'Where a note of that name is there, the text is added to it. Secrets are taken out before anything is written. "Saved" is said once the file was read again; its reference goes to stdout.': "已有同名笔记时，内容追加到其中。写入之前会移除机密。重新读取文件确认之后才说“已保存”；引用输出到 stdout。",
    "What it is called; else its first words.": "名称；否则取开头几个词。",
    "The one line that a hint shows; else its first sentence.": "提示中显示的一行；否则取第一句。",
    "What kind of note it is.": "笔记的类型。",
    "A situation in which it should come to mind. Repeatable.": "应当想起它的情形。可重复。",
    "A word to filter by. Repeatable.": "用于筛选的标签。可重复。",
    "It holds for you in every project, not for this one only.": "在每个项目中都对你适用，而不只是此项目。",
    "It holds on the branch at hand only.": "只适用于当前分支。",
    "The last day on which it holds: 2026-05-31.": "有效的最后一天：2026-05-31。",
    "It takes the place of the note of that name, which is kept.": "取代同名笔记；原笔记会保留。",
    "Add an entry to today's log.": "在今天的日志中加一条。",
    "Add an entry to today's log of this project. TEXT comes from standard input with `-` or a pipe.": "在此项目今天的日志中加一条。用 `-` 或管道时 TEXT 取自标准输入。",
    "A log says what was done and when; what should come to mind again is a note.": "日志记录何时做了什么；以后应当想起的内容请记为笔记。",
    "What stands behind the time of the entry.": "条目时间之后的标题。",
}
"""English paragraph to Chinese, for help."""
