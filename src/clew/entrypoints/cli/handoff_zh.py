"""What `clew handoff` and `clew plan` say: texts in English and Chinese, Chinese of errors and of help."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

HANDOFF_TEXTS: dict[str, tuple[str, str]] = {
    "handoff.none": (
        "nothing has been handed over here yet: `clew handoff save`",
        "这里还没有任何交接：`clew handoff save`",
    ),
    "handoff.elsewhere": (
        "nothing has been handed over on this branch; on others: {}. `clew handoff --list` shows all",
        "当前分支还没有交接；其他分支有：{}。用 `clew handoff --list` 查看全部",
    ),
    "handoff.size": ("bytes: {}; items that found no room or do not hold: {}", "字节：{}；放不下或已失效的条目：{}"),
    "handoff.created": ("saved: {}", "已保存：{}"),
    "handoff.refreshed": ("saved, the ledger of this window: {}", "已保存到本窗口的交接：{}"),
    "handoff.replaced": ("saved: {}", "已保存：{}"),
    "handoff.archived": ("the version before is kept: {}", "之前的版本已保留：{}"),
    "plan.none": ("there is no plan yet: `clew plan edit` begins one", "还没有计划：用 `clew plan edit` 开始"),
    "plan.same": ("no difference", "没有差别"),
    "plan.added": ("added", "新增"),
    "plan.done": ("done", "完成"),
    "plan.reopened": ("reopened", "重新打开"),
    "plan.reworded": ("reworded", "改写"),
    "plan.removed": ("removed", "去掉"),
}

HANDOFF: dict[str, str] = {
    "there is nothing to hand over": "没有可交接的内容",
    'for instance: clew handoff save "Next: the retries"': '例如：clew handoff save "下一步：重试"',
    "the plan would say nothing": "计划将没有任何内容",
    "give its text; `clew plan edit` opens an editor": "请提供内容；`clew plan edit` 会打开编辑器",
    "give its text": "请提供内容",
    "say less": "请减少内容",
    "leave out --branch: the plan is that of the project": "去掉 --branch：使用项目的计划",
    "there is no plan yet": "还没有计划",
    "`clew plan edit` begins one": "用 `clew plan edit` 开始",
    "the plan has only one version": "计划只有一个版本",
    "`clew plan` shows it": "用 `clew plan` 查看",
    "`{}` is more than one version of the plan": "`{}` 对应计划的多个版本",
    "`{}` is no version of the plan": "`{}` 不是计划的版本",
    "`clew plan log` numbers them": "`clew plan log` 会列出编号",
    "`{}` is no name of a ledger": "`{}` 不是交接的名称",
    "there is no ledger `{}`": "没有交接 `{}`",
    "`clew handoff --list` names them": "用 `clew handoff --list` 列出",
    "`{}` has changed since it was read": "`{}` 在读取之后已被改动",
    "`{}` is gone": "`{}` 已不存在",
    "it was there when it was read": "读取时它还在",
    "`{}` was made by somebody else meanwhile": "其间他人已创建 `{}`",
    "`{}` cannot be read: {}": "无法读取 `{}`：{}",
    "check the rights of the memory root": "请检查记忆目录的权限",
    "options of `clew handoff` do not go with a command": "`clew handoff` 的选项不能与子命令同用",
    "put --json behind `save`": "把 --json 放在 `save` 之后",
    "options of `clew plan` do not go with a command": "`clew plan` 的选项不能与子命令同用",
    "put --json behind the command": "把 --json 放在子命令之后",
    "--list and --hint exclude each other": "--list 与 --hint 不能同时使用",
}

HANDOFF_HELP: dict[str, str] = {
    "Show what the window before left for the next.": "显示上一窗口留给下一窗口的交接。",
    "Show the plan, its versions and what changed.": "显示计划、其各个版本及变化。",
    "Show what the window before left for the next: its newest ledger, on the branch at hand.": "显示上一窗口留给下一窗口的内容：当前分支上最新的交接。",
    "A ledger is Markdown that you may edit: state, goal and decisions, what was tried and why it failed, progress and next step. Each window has one, and the next one takes its place.": "交接是可以自行修改的 Markdown：任务状态、目标与决定、已试方案与失败原因、进度与下一步。每个窗口有一篇，由下一篇取代。",
    "All ledgers that are not in the archive, the latest first.": "未归档的全部交接，最新的在前。",
    "What a new window would be told, at most 4,096 bytes.": "新窗口会得知的内容，最多 4,096 字节。",
    "Hand over a text to the next window.": "把一段文字交给下一窗口。",
    "Open the plan in your editor: VISUAL, else EDITOR.": "在编辑器中打开计划：VISUAL，否则 EDITOR。",
    "Hand over a text to the next window. TEXT comes from standard input with `-` or a pipe.": "把一段文字交给下一窗口。TEXT 为 `-` 或使用管道时来自标准输入。",
    "Headings such as `## State`, `## Goal and decisions`, `## Tried`, `## Next step` say what belongs where; without any the text is the state. It is added to the ledger of this terminal, which is made with the first text.": "`## 任务状态`、`## 目标与决定`、`## 已试方案`、`## 下一步` 等标题说明各部分的归属；没有标题时全部作为状态。内容追加到此终端的交接；第一次写入时创建。",
    "What it is about; else its first words.": "主题；默认取开头几个词。",
    "Replace the sections that are given; the version before is archived.": "替换所给的部分；之前的版本会归档。",
    "Show the plan: one Markdown text for people and model, with steps such as `- [ ] retry with a pause`.": "显示计划：一份供人和模型阅读的 Markdown，步骤写作 `- [ ] 间隔后重试`。",
    "A branch may have a plan of its own: `clew plan edit --branch`. Each version that was replaced is kept.": "分支可以有自己的计划：`clew plan edit --branch`。每个被替换的版本都会保留。",
    "Show what became of the steps between two versions: A, else the one before the present; and B, else the present.": "显示两个版本之间步骤的变化：A 默认为上一版本，B 默认为当前版本。",
    "A version is a number or a name of `clew plan log`, or the beginning of its time.": "版本可用 `clew plan log` 中的编号或名称，或其时间的开头指明。",
    "List all versions of the plan with their numbers, the oldest first, and what became of the steps in each.": "列出计划的全部版本及编号，最早的在前，并说明各版本中步骤的变化。",
    "The branch at hand gets a plan of its own, if it has none.": "当前分支若没有自己的计划，就为它建立一份。",
    "Open the plan in your editor: VISUAL, else EDITOR. The version before goes to the archive.": "在编辑器中打开计划：VISUAL，否则 EDITOR。之前的版本会归档。",
    "Where somebody else changed the plan meanwhile, nothing is overwritten: your text is kept in a file that is named. Secrets are taken out before anything is written.": "如果其间他人改动了计划，不会覆盖任何内容：你的文本会保存在指明的文件中。写入之前会移除机密。",
}
