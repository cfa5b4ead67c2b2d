"""Chinese wording of what is said about documents of memory and their index."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

from clew.entrypoints.cli.documents_zh import DOCUMENTS

MEMORY: dict[str, str] = DOCUMENTS | {
    "the document has no id, so nothing can point to it": "文档没有 id，因此无法被引用",
    "it expired on {} and is no longer hinted": "它已于 {} 过期，不再提示",
    "it lies among what holds everywhere, with `scope: project`": "它位于通用内容之中，却带有 `scope: project`",
    "`{}` has {} characters; a hint shows {}": "`{}` 有 {} 个字符；提示只显示 {} 个",
    "the id was `{}` when it was indexed; references to that find nothing": "建立索引时 id 为 `{}`；对它的引用已找不到内容",
    "`{}` supersedes it, and it does not say so": "`{}` 取代了它，而它没有说明",
    "`{}` says it was superseded by this, and this does not say so": "`{}` 称被它取代，而它没有说明",
    "`{}` names `{}`, and there is no such document": "`{}` 指向 `{}`，而没有这个文档",
    "`--fix` gives it one": "`--fix` 会为它生成一个",
    "`--fix` gives it another": "`--fix` 会为它换一个",
    "take out `expires`, give a later day, or set `status: deprecated`": "去掉 `expires`、改为更晚的日期，或设为 `status: deprecated`",
    "`--fix` writes both sides": "`--fix` 会写好两侧",
    "take out the link that is wrong": "请去掉错误的链接",
    "correct the id, or take the key out": "请更正 id，或去掉该键",
    "the key `{}` means nothing": "键 `{}` 没有含义",
    "say the rest in the text below": "其余内容请写在下面的正文中",
    "it supersedes itself, over others or directly": "它直接或经由其他文档取代了自己",
    "it is a link out of the memory, so nothing behind it is read": "它是指向记忆目录之外的链接，其中内容不会被读取",
    "put the files themselves there": "请把文件本身放到那里",
    "a file is where a folder belongs": "该处应为目录，却是文件",
    "`{}` is not mended: {}": "`{}` 未修复：{}",
    "the front matter has over {} characters and is not edited": "文件头超过 {} 个字符，不作修改",
    "move long text below the front matter": "请把长文本移到文件头之下",
    "a key of the front matter has 1 to {} characters": "文件头的键须为 1 到 {} 个字符",
    "choose a shorter one": "请换一个较短的",
    "the index {} was written by a newer Clew (format {}, this one knows {})": "索引 {} 由更新版本的 Clew 写入（格式 {}，此版本支持到 {}）",
    "update Clew, or run `clew index rebuild` to make the index again for this version": "请升级 Clew，或运行 `clew index rebuild` 为此版本重新建立索引",
    "{} holds no question with evidence": "{} 中没有带证据的问题",
    "the file must look like {}": "文件须形如 {}",
    "{} gives one sample_id twice": "{} 中有重复的 sample_id",
    "give each conversation an id of its own": "请为每段对话使用各自的 id",
    "{} is no conversation with questions": "{} 不是带问题的对话",
    "`locomo10.json` of snap-research/locomo is one": "例如 snap-research/locomo 的 `locomo10.json`",
    "{}: {} is no list of turns": "{}：{} 不是话轮列表",
}
"""As `wording.CHINESE`, which takes them in."""
