"""What `clew recall` says, in English and Chinese, and the Chinese of its help."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

RECALL_TEXTS: dict[str, tuple[str, str]] = {
    "recall.rejected-now": (
        "{} will come to mind less for messages like this one; `clew recall --accept {}` takes that back",
        "{} 今后在类似的消息中会更少被想起；用 `clew recall --accept {}` 可撤销",
    ),
    "recall.rejected": (
        "no hint: {} was rejected for a message like this; `clew recall --accept {}` takes that back",
        "没有提示：{} 曾因类似的消息被拒绝；用 `clew recall --accept {}` 可撤销",
    ),
    "recall.accepted": ("{} rejections of {} taken back", "{} 条对 {} 的拒绝已撤销"),
    "recall.reject": (
        "not helpful? clew recall --reject {} {}",
        "没有帮助？clew recall --reject {} {}",
    ),
    "recall.reject-piped": (
        "not helpful? clew recall --reject {} - with the message on standard input",
        "没有帮助？clew recall --reject {} - 并把该消息交给标准输入",
    ),
    "recall.empty": ("no hint: the message is empty", "没有提示：消息为空"),
    "recall.nothing": ("no hint: there are no notes with a description yet", "没有提示：还没有带描述的笔记"),
    "recall.below": ("no hint: no note fits this message well enough", "没有提示：没有笔记与此消息足够相符"),
    "recall.suppressed": (
        "no hint: what fits was shown within the last 10 runs",
        "没有提示：相符的笔记在最近 10 轮内已提示过",
    ),
    "recall.late": ("no hint: it took too long", "没有提示：耗时过长"),
    "recall.unrecorded": ("no hint: which hints were shown cannot be recorded", "没有提示：无法记录已提示的内容"),
    "recall.withheld": ("no hint: what came to mind does not hold any more", "没有提示：想起的内容已不再有效"),
    "recall.weighed": ("weighed by {}:", "由 {} 评估："),
    "recall.withheld-note": ("{} was withheld: {}", "{} 未提示：{}"),
    "recall.behind": (
        "{} files changed since the notes were prepared; they are being prepared in the background (`clew memory rebuild` shows how far it is)",
        "自笔记整理以来有 {} 个文件改动；正在后台整理（`clew memory rebuild` 会显示进度）",
    ),
    "recall.unaudited": ("the audit trail could not be written", "无法写入审计记录"),
    "rebuild.embedding": ("embedding {} of {} texts", "正在嵌入 {} / {} 段文本"),
    "rebuild.done": ("{} documents indexed, {} texts embedded", "已索引 {} 个文档，嵌入 {} 段文本"),
    "recall.sign.rejected": ("rejected", "已被拒绝"),
    "recall.sign.phrase": ("says its phrase", "说出了它的情形短语"),
    "recall.sign.words": ("shares words", "用词相同"),
    "recall.sign.situation words": ("shares words of its situation", "与其情形用词相同"),
    "recall.sign.situation": ("fits its situation", "符合其情形"),
    "recall.sign.meaning": ("similar meaning", "含义相近"),
    "recall.sign.action": ("same kind of action", "同类操作"),
    "recall.sign.scope": ("belongs here", "属于此处"),
}

RECALL_HELP: dict[str, str] = {
    "Show what comes to mind for a message.": "显示某条消息会让人想起什么。",
    "Show which notes come to mind for a message: at most three, and none where nothing fits.": "显示某条消息会让人想起哪些笔记：最多三条，没有相符的则不提示。",
    "The same engine gives hints to agents. MESSAGE comes from standard input with `-` or a pipe. What was weighed and why lands in `clew audit`.": "给智能体的提示出自同一引擎。用 `-` 或管道时 MESSAGE 取自标准输入。评估了什么、原因为何，都记在 `clew audit` 中。",
    "Show every note that was weighed, with its chance and the reason.": "显示评估过的每条笔记及其可能性和原因。",
    "Who wrote the message.": "消息由谁所写。",
    "A hint of this session is not given again for 10 runs.": "此会话中的提示在 10 轮内不再重复。",
    "The number of the run within the session.": "会话中的轮次编号。",
    "This hint did not help for MESSAGE, nor for one like it.": "此提示对 MESSAGE 及类似消息没有帮助。",
    "Take back what --reject said, for MESSAGE or for all.": "撤销 --reject，针对 MESSAGE 或全部。",
    "Say nothing, with status 0, when it takes longer.": "耗时超出则不作任何提示，退出状态为 0。",
}

RECALL_HELP |= {
    "Make the index of memory again, and prepare the notes for hints.": "重建记忆的索引，并为提示整理笔记。",
    "Both are made from the files and can be deleted at any time. Embedding takes about 0.05 s a text; what was embedded before is taken over, and Ctrl-C keeps what is done.": "二者都由文件生成，可随时删除。每段文本的嵌入约需 0.05 秒；已嵌入的会沿用，Ctrl-C 会保留已完成的部分。",
}

RECALL: dict[str, str] = {
    "run `clew memory rebuild`": "请运行 `clew memory rebuild`",
    "update Clew, or run `clew memory rebuild` to make the index again for this version": "请更新 Clew，或运行 `clew memory rebuild` 为此版本重建索引",
    "rename it": "请重命名",
    "there is no message": "没有消息",
    "a situation (`when`) without a word says nothing": "没有词的情形（`when`）什么也没说",
    'say it in the words of somebody who is in it, for instance: --when "may we lift in this wind?"': '用身处其中的人会说的话来写，例如：--when "may we lift in this wind?"',
    'for instance: clew recall "the deploy hangs"': '例如：clew recall "the deploy hangs"',
    "`--reject` and `--accept` contradict each other": "`--reject` 与 `--accept` 互相矛盾",
    "memory holds no notes that could be hints": "记忆中没有可作提示的笔记",
    "`clew note` keeps one": "用 `clew note` 记一条",
}
