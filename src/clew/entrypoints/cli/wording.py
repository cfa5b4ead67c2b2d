"""Chinese wording of messages and hints, by their English form; `{}` stands for what an error fills in."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from clew.entrypoints.cli.acp_zh import ACP
from clew.entrypoints.cli.deeds_zh import REASONS
from clew.entrypoints.cli.facts_zh import FACTS
from clew.entrypoints.cli.handoff_zh import HANDOFF
from clew.entrypoints.cli.mcp_zh import MCP
from clew.entrypoints.cli.memory_zh import MEMORY
from clew.entrypoints.cli.models_zh import MODELS
from clew.entrypoints.cli.notes_zh import NOTES
from clew.entrypoints.cli.purge_zh import PURGE
from clew.entrypoints.cli.recall_zh import RECALL
from clew.entrypoints.cli.run_zh import RUN
from clew.entrypoints.cli.servers_zh import SERVERS
from clew.entrypoints.cli.sync_zh import SYNC
from clew.entrypoints.cli.terminal_zh import TERMINAL_ERRORS

CHINESE: dict[str, str] = (
    ACP
    | REASONS
    | FACTS
    | HANDOFF
    | MCP
    | MEMORY
    | MODELS
    | NOTES
    | PURGE
    | RECALL
    | SERVERS
    | RUN
    | SYNC
    | TERMINAL_ERRORS
    | {
        "`{}` is no repository that git can read: `git status` says what is wrong": "git 无法读取 `{}`：`git status` 会说明原因",
        "No home folder is known for this user": "找不到此用户的主目录",
        "set CLEW_HOME to a folder that Clew may write to": "把 CLEW_HOME 设为 Clew 可以写入的目录",
        "HOME is `{}`, which is not an absolute path": "HOME 为 `{}`，不是绝对路径",
        "CLEW_HOME is `{}`, which is not an absolute path": "CLEW_HOME 为 `{}`，不是绝对路径",
        "set it to a path that begins with `/`": "请设为以 `/` 开头的路径",
        "`{}` is no date": "`{}` 不是日期",
        "write it as 2026-06-15": "写作 2026-06-15",
        "no notes in {}": "{} 中没有记忆",
        "the folder holds `memories/*.md` and `messages.jsonl`": "目录中应有 `memories/*.md` 和 `messages.jsonl`",
        '{}: "turns" must be a list': '{}："turns" 必须是列表',
        '{}: "role" must be user or assistant, not {}': '{}："role" 必须是 user 或 assistant，不是 {}',
        '"{}" must be a list of ids, not {}': '"{}" 必须是编号列表，不是 {}',
        "the weights of recall cannot be read": "无法读取回忆所用的权重",
        "no note {}": "没有记忆 {}",
        "name it as the hint did": "按提示中的写法指明",
        "no record of hints is open": "没有打开提示记录",
        "give `seen`": "请提供 `seen`",
        "cannot use {}: {}": "无法使用 {}：{}",
        "no hint is shown until this file can be written": "在该文件可写之前不会显示任何提示",
        "the folder of the cache must be writable": "缓存目录必须可写",
        "the cache must be writable": "缓存必须可写",
        "there is no provider {}": "没有名为 {} 的模型提供方",
        "known: {}; `endpoints` in the settings adds any that speaks OpenAI's protocol": "已知：{}；设置中的 `endpoints` 可加入任何兼容 OpenAI 协议的服务",
        "{}: names no model": "{}：没有写明模型",
        "a model is named as provider:name, for instance openai:gpt-5-mini or ollama:qwen3": "模型写作 provider:name，例如 openai:gpt-5-mini 或 ollama:qwen3",
        "did you mean {}:{}?": "是否指 {}:{}？",
        "did you mean {}?": "是否指 {}？",
        "did you mean `{}`?": "是否指 `{}`？",
        "did you mean `clew {}`?": "是否指 `clew {}`？",
        "known: {}": "可用：{}",
        "`{}` names no provider": "`{}` 没有写明提供方",
        "the client library for {} is not installed": "没有安装 {} 所需的客户端库",
        "ask again": "请重新提问",
        "the embedded model cannot run: {}": "内置模型无法运行：{}",
        "{} cannot run: the package {} is not installed": "{} 无法运行：没有安装 {}",
        "there is no model file {}": "没有模型文件 {}",
        "embedded:FILE names a .gguf file": "embedded:FILE 应指向 .gguf 文件",
        "{}: the model stopped without an answer": "{}：模型没有给出回答就停止了",
        "{}: the prompt has {} tokens, and the model takes {}": "{}：提示词有 {} 个 token，模型最多接受 {}",
        "lower `max_tokens`, attach less, or choose a model with a larger window": "降低 `max_tokens`、减少附件，或选择上下文更大的模型",
        "{} cannot be run: {}": "{} 无法运行：{}",
        "is {} a GGUF model?": "{} 是 GGUF 模型吗？",
        "{}:{} needs a key, and there is none": "{}:{} 需要密钥，但没有找到",
        "set {}, or keep it in the system keyring: `keyring set clew {}`": "设置 {}，或存入系统密钥环：`keyring set clew {}`",
        "{} is no usable URL": "{} 不是可用的 URL",
        "it begins with `http://` or `https://`, and holds no password": "应以 `http://` 或 `https://` 开头，且不含密码",
        "{}: the answer was cut off: {}": "{}：回答中断：{}",
        "what came is kept; ask again for the whole answer": "已收到的部分已保存；重新提问可得到完整回答",
        "{}: the provider has no such model{}": "{}：提供方没有这个模型{}",
        "{}: the prompt is longer than the model takes{}": "{}：提示词超过模型的上限{}",
        "{}: nothing came for {} s": "{}：{} 秒内没有任何响应",
        "try again, or allow more time: `timeout` in the settings": "请重试，或在设置中增大 `timeout`",
        "{}: the provider closed the connection{}": "{}：提供方关闭了连接{}",
        "try again": "请重试",
        "{}: {} redirects elsewhere ({}), and the key does not go along": "{}：{} 重定向到别处（{}），密钥不会随之发送",
        "set the final address as the base URL": "请把最终地址设为 base URL",
        "{}: {} cannot be reached{}": "{}：无法连接 {}{}",
        "{}: the quota or credit is used up{}{}": "{}：额度已用完{}{}",
        "look at the plan and the billing of the account, or choose another model": "请查看账户的套餐与账单，或选择其他模型",
        "{}: too many requests{}{}": "{}：请求过多{}{}",
        "{}, or choose another model": "{}，或选择其他模型",
        "{}: the provider failed{}{}": "{}：提供方出错{}{}",
        "try again, or choose another model": "请重试，或选择其他模型",
        "{}: the provider declined to answer this": "{}：提供方拒绝回答",
        "ask differently, or another model": "换一种问法，或换一个模型",
        "{}: the provider rejected the request{}{}": "{}：提供方拒绝了请求{}{}",
        "the provider says what it minds; another model may take the request": "提供方说明了原因；其他模型或许可以接受",
        "{}: what came back is no answer of a model{}": "{}：返回的内容不是模型的回答{}",
        "{} holds something that is no key": "{} 的内容不是密钥",
        "a key is one word of plain characters": "密钥是一个由普通字符组成的词",
        "allow a longer answer: `answer_tokens` in the settings": "在设置中增大 `answer_tokens` 以允许更长的回答",
        "{}: the provider's filter ended the answer": "{}：回答被提供方的过滤器终止",
        "ask differently": "换一种问法",
        "{}: the answer is empty": "{}：回答为空",
        "ask again, or choose another model": "请重新提问，或选择其他模型",
        "`{}` has {}, more than the {} that are read": "`{}` 有 {}，超过可读取的 {}",
        "cut out the part that matters": "请截取相关的部分",
        "`{}` cannot be read: {}": "无法读取 `{}`：{}",
        "`{}` is {}, not a file": "`{}` 不是文件（{}）",
        "name a file with text in it": "请指定文本文件",
        "`{}` is no file name": "`{}` 不是文件名",
        "There is no file `{}`": "没有文件 `{}`",
        "`{}` may not be read: permission denied": "无权读取 `{}`",
        "check the file's permissions": "请检查文件权限",
        "`{}` is a symbolic link that leads in a circle": "`{}` 是循环的符号链接",
        "name the file itself": "请指定文件本身",
        "A file name is too long": "文件名过长",
        "text goes in through standard input: `… | clew ask`": "文本请通过标准输入传入：`… | clew ask`",
        "The files given have {}, more than the {} that are read: {}{}": "所给文件共 {}，超过可读取的 {}：{}{}",
        "name fewer files, or only the part that matters: `sed -n 1,200p FILE | clew ask …`": "减少文件，或只给相关部分：`sed -n 1,200p FILE | clew ask …`",
        "`--no-context` and `--mode {}` contradict each other": "`--no-context` 与 `--mode {}` 互相矛盾",
        "leave one of them out": "请去掉其中一个",
        "a file name is empty": "有一个文件名为空",
        "`.` stands for the current folder": "`.` 表示当前文件夹",
        "`{}` is a URL, and Clew fetches nothing": "`{}` 是 URL，Clew 不会下载任何内容",
        "curl -s {} | clew ask …": "curl -s {} | clew ask …",
        "ignored files must be named one by one": "被忽略的文件须逐个指定",
        "`{}` stands for {} files, at most {} are read": "`{}` 对应 {} 个文件，最多读取 {} 个",
        "name a smaller folder, or ask without it: related files are found by themselves": "请指定更小的目录，或直接提问：相关文件会自动找到",
        "`{}` is a pattern that leads out of this folder": "`{}` 超出了当前目录",
        "leave out the quotes, so that the shell expands it": "去掉引号，让 shell 展开",
        "`-` stands for standard input, which is not given": "`-` 表示标准输入，但没有提供",
        "Standard input has more than the {} that may still be read": "标准输入超过还可读取的 {}",
        "send the part that matters: `… | tail -n 200 | clew ask …`": "只传入相关部分：`… | tail -n 200 | clew ask …`",
        "`{}` grew while it was read": "读取时 `{}` 仍在增长",
        "`{}` gives more than {}": "`{}` 的内容超过 {}",
        "send the part that matters": "请只传入相关部分",
        "`{}` is binary ({})": "`{}` 是二进制文件（{}）",
        "convert it to text first": "请先转换为文本",
        "`{}` is not a pattern: {}": "`{}` 不是有效的模式：{}",
        "`{}` is a folder outside of the workspace": "`{}` 是工作区之外的目录",
        "name its files, or run clew in that folder": "请逐个指定其中的文件，或在该目录运行 clew",
        "`{}` is not a regular file": "`{}` 不是普通文件",
        "`{}` is gone": "`{}` 已不存在",
        "There is no folder `{}`": "没有目录 `{}`",
        "{}: `alias` must be a table": "{}：`alias` 必须是表",
        "begin it with a line `[alias]`": "请以 `[alias]` 一行开头",
        "{}: `{}` is no id of a workspace": "{}：`{}` 不是工作区 id",
        "small letters, digits and hyphens": "只能用小写字母、数字和连字符",
        "{}: the file is not UTF-8": "{}：文件不是 UTF-8",
        "save it as UTF-8": "请保存为 UTF-8",
        'write lines such as `"github.com/a/b" = "b-0123456789"`': '请写成 `"github.com/a/b" = "b-0123456789"` 的形式',
        "{}:{}: not valid YAML: {}": "{}:{}：YAML 无效：{}",
        "check indentation, colons and quotes there": "请检查该处的缩进、冒号和引号",
        "{}: the file is UTF-16": "{}：文件是 UTF-16",
        "{}: the file is binary": "{}：文件是二进制",
        "a configuration file is YAML text": "配置文件是 YAML 文本",
        "{}:{}: the file holds {} where settings belong": "{}:{}：此处应为设置，文件中却是{}",
        "one value": "单个值",
        "Bad file descriptor": "文件描述符无效",
        "write lines such as `max_tokens: 8000`": "请写成 `max_tokens: 8000` 的形式",
        "{}:{}: aliases and anchors (`*`, `&`) are not read": "{}:{}：不支持别名与锚（`*`、`&`）",
        "write the value out": "请直接写出值",
        "{}:{}: tags (`!`) are not read": "{}:{}：不支持标签（`!`）",
        "write the plain value": "请写普通的值",
        "{}:{}: nested more than {} levels deep": "{}:{}：嵌套超过 {} 层",
        "{}: the file has more than {}": "{}：文件超过 {}",
        "a configuration file is a few lines long": "配置文件只有几行",
        "{}:{}: the file is not UTF-8": "{}:{}：文件不是 UTF-8",
        "{}:{}: a second document begins": "{}:{}：出现了第二个文档",
        "keep one document, no `---`": "只保留一个文档，不要 `---`",
        "{}:{}: a key must be a word": "{}:{}：键必须是一个词",
        "{}:{}: `{}` is set twice, first in line {}": "{}:{}：`{}` 设置了两次，首次在第 {} 行",
        "keep one of them": "请只保留一个",
        "the current folder does not exist any more": "当前目录已不存在",
        "change to another folder": "请切换到其他目录",
        "{} the budget of {} tokens ({})": "{} {} token 的预算（{}）",
        "the question and the instructions alone exceed": "仅问题与指令就超出了",
        "the explicit context alone exceeds": "仅明确给出的上下文就超出了",
        "the reference lines of the anchors exceed": "锚点的引用行超出了",
        "question and instructions: {}": "问题与指令：{}",
        "reference lines of {} anchors: {}": "{} 个锚点的引用行：{}",
        "kept free for the answer: {}": "为回答保留：{}",
        "shorten the question": "请缩短问题",
        "attach less, or only the lines that matter": "请减少附件，或只附上相关的行",
        "name fewer files and anchors": "请少指定一些文件和锚点",
        "name a file in it": "请指定其中的文件",
        "`{}`: {}": "`{}`：{}",
        "{}, or raise the budget (max_tokens) to at least {}": "{}，或把预算（max_tokens）提高到至少 {}",
        "a budget of {} tokens leaves no room for a prompt beside {} tokens of answer": "{} token 的预算在留出 {} token 的回答后已无提示词的空间",
        "raise the budget (max_tokens) or reserve less for the answer": "提高预算（max_tokens），或为回答少留一些",
        "unknown style {}": "没有风格 {}",
        "use one of {}, or auto": "请用 {} 之一，或 auto",
        "there is no question": "没有问题",
        'clew ask "why does the retry test time out?"': 'clew ask "重试的测试为什么超时？"',
        "there is no setting `{}`": "没有设置项 `{}`",
        "{} is there already": "{} 已存在",
        "`clew init --force` replaces it": "`clew init --force` 可替换它",
        "{} cannot be written: {}": "无法写入 {}：{}",
        "check that the folder is writable and the disk is not full": "请检查目录可写且磁盘未满",
        "there is no exchange {} in this workspace": "此工作区没有问答 {}",
        "`clew history --all` lists them": "`clew history --all` 可列出全部",
        "this deletes exchanges, and there is no terminal to ask on": "此操作会删除问答，而没有终端可供确认",
        "add --yes": "请加上 --yes",
        "there is no command `{}`": "没有命令 `{}`",
        "`clew --help` lists the commands": "`clew --help` 可列出命令",
        "to ask a question: {}": "提问请用：{}",
        "`{} --help`": "`{} --help`",
        "there is no folder {}": "没有目录 {}",
        "there is no mode `{}`": "没有模式 `{}`",
        "minimal, lean or rich": "minimal、lean 或 rich",
        "the index {}: {}": "索引 {}：{}",
        "try again, or run `clew index rebuild`": "请重试，或运行 `clew index rebuild`",
        "`{}` lies outside of the workspace": "`{}` 在工作区之外",
        "the workspace is {}": "工作区是 {}",
        "there is no `{}` in this workspace": "此工作区没有 `{}`",
        "there is no `{}`": "没有 `{}`",
        "there is no commit `{}`": "没有提交 `{}`",
        "`clew open git:commits` lists the last ones": "`clew open git:commits` 可列出最近的提交",
        "there is no `{}` here": "这里没有 `{}`",
        "there is no reference": "没有给出引用",
        "for instance: {}": "例如：{}",
        "a reference is {}": "引用的形式：{}",
        "did you mean {}": "是否指 {}",
        "the last one is exchange:{}": "最后一条是 exchange:{}",
        "nothing has been asked in this workspace": "此工作区还没有提过问题",
        "open it in a browser": "请用浏览器打开",
        "`{}` is a folder": "`{}` 是目录",
        "it holds {}": "其中有 {}",
        "it is empty": "它是空的",
        "open it with a program of its own": "请用相应的程序打开",
        "`{}` has {} lines, and no line {}{}": "`{}` 有 {} 行，没有第 {}{} 行",
        "clew open {}": "clew open {}",
        "`{}`: there is no git repository here": "`{}`：这里不是 git 仓库",
        "run `git init`": "请运行 `git init`",
        "`{}` is empty: the repository has too few commits": "`{}` 为空：仓库的提交太少",
        "`clew open git:branch`": "`clew open git:branch`",
        "`{}`: nothing to show": "`{}`：没有可显示的内容",
        "`clew open git:status` lists the changes": "`clew open git:status` 可列出改动",
        "this folder is watched already{}": "此目录已有监视进程{}",
        "one watcher serves all questions": "一个监视进程即可服务所有提问",
        "cannot listen at {}: {}": "无法在 {} 监听：{}",
        "set CLEW_HOME to a writable folder": "把 CLEW_HOME 设为可写的目录",
        "{}: the file is a link that leads out of the workspace": "{}：该文件是指向工作区之外的链接",
        "put the file itself there": "请放置文件本身",
        "{}: a project file may not set `{}`": "{}：项目文件不能设置 `{}`",
        "set it in {}, or with a flag": "请在 {} 中设置，或用命令行选项",
        "remove the line": "请删除该行",
        "{}: there is no setting `{}`": "{}：没有设置项 `{}`",
        "There is no setting `{}`": "没有设置项 `{}`",
        "{}: `{}` must be {}, not {}": "{}：`{}` 必须是 {}，而不是 {}",
        "`clew config` shows each setting and where its value comes from": "`clew config` 会列出每个设置及其来源",
        "keep those that matter": "请只保留重要的",
        "settings are flat": "设置项不嵌套",
        "such as `src/**/*.py`": "例如 `src/**/*.py`",
        "paths count from the folder you are in": "路径从当前目录算起",
        "name one that is there": "请指定存在的目录",
        "try again, or name another file": "请重试，或指定其他文件",
        "{}: `{}` knows no `{}`": "{}：`{}` 中没有 `{}`",
        "{}: `{}` has {} items, at most {} are read": "{}：`{}` 有 {} 项，最多读取 {} 项",
        "{}: an anchor has no `path`": "{}：有一个 anchor 没有 `path`",
        "write `- path: docs/*.md`": "请写成 `- path: docs/*.md`",
        "{}: the anchor `{}` leads out of the workspace": "{}：anchor `{}` 超出了工作区",
        "name a path below the workspace root": "请指定工作区内的路径",
        "{}: the URL contains a user name or password": "{}：URL 中含有用户名或密码",
        "keys belong in the key variables": "密钥应放在相应的环境变量中",
        "{}: `{}` is no URL": "{}：`{}` 不是 URL",
        "it begins with `http://` or `https://`, then a host": "应以 `http://` 或 `https://` 开头，然后是主机名",
        "{}: `{}` is no name of a provider": "{}：`{}` 不是提供方的名称",
        "for instance `openai: https://llm.example.com/v1`": "例如 `openai: https://llm.example.com/v1`",
        "{} has format {}; this version knows formats up to {}": "{} 的格式为 {}；此版本只支持到 {}",
        "upgrade clew, or set CLEW_HOME to another folder": "请升级 clew，或把 CLEW_HOME 设为其他目录",
        "{} was in use by another process for {} seconds": "{} 被其他进程占用了 {} 秒",
        "{} cannot be opened: {}": "无法打开 {}：{}",
        "{} is damaged and cannot be moved aside: {}": "{} 已损坏，且无法移开：{}",
        "move {} away": "请移走 {}",
        "the index {} cannot be written: {}": "无法写入索引 {}：{}",
        "run `clew index rebuild`": "请运行 `clew index rebuild`",
        "the index {} is in use": "索引 {} 正在使用中",
        "try again in a moment": "请稍后重试",
        "the disk is full: the index could not be written": "磁盘已满：无法写入索引",
        "free some space, or set CLEW_HOME elsewhere": "请释放空间，或把 CLEW_HOME 设到别处",
        "the index {} cannot be opened: {}": "无法打开索引 {}：{}",
        "the index {} cannot be made: {}": "无法建立索引 {}：{}",
        "out of memory": "内存不足",
        "attach less, or lower max_tokens": "减少附件，或降低 max_tokens",
        "the output could not be written: {}": "无法写出结果：{}",
        "unexpected {}: {}": "意外错误 {}：{}",
        "the Python package {} cannot be loaded": "无法加载 Python 包 {}",
        "a part of Clew itself cannot be read: {}": "无法读取 Clew 自身的文件：{}",
        "the table of word vectors cannot be read: likeness did not count": "无法读取词向量表：未计入语义相近程度",
        "the weights of the mode decision cannot be read": "无法读取模式判断的权重",
        "cannot be read: {}": "无法读取：{}",
        "everything is searched": "搜索全部内容",
        "{} kinds of questions": "{} 类问题",
        "run it again with CLEW_DEBUG=1 and report what it prints": "请加上 CLEW_DEBUG=1 重新运行，并报告其输出",
        "the pattern matches no file": "没有匹配的文件",
        "install clew again": "请重新安装 clew",
        "scripted: names no script": "scripted：没有写明脚本",
        "scripted:FILE names a JSON file": "scripted:FILE 应指向 JSON 文件",
        "… | clew ask QUESTION -": "… | clew ask 问题 -",
        "{}: left out, it usually holds secrets; name it to give it redacted": "{}：已略过，它通常含有机密；逐个指定时会隐去机密后提供",
        "no file here speaks of {}": "这里没有文件提到：{}",
        "{}: withheld, it usually holds secrets; to give it redacted, attach it: clew ask QUESTION {}": "{}：未提供，它通常含有机密；若要隐去机密后提供，请附上它：clew ask 问题 {}",
        "{}: left out, it is binary": "{}：已略过，它是二进制文件",
        "{}: left out, {}": "{}：已略过，{}",
        "{} usually holds secrets: {} were removed before it was given": "{} 通常含有机密：提供前已隐去 {} 处",
        "{} usually holds secrets: 1 was removed before it was given": "{} 通常含有机密：提供前已隐去 1 处",
        "only the first {} files were read": "只读取了前 {} 个文件",
        "a bare repository has no files of its own": "裸仓库没有自己的文件",
        "the walk stopped after {} directory entries": "遍历 {} 个目录项后停止",
        "the history of exchanges was damaged; it was kept as {}, and a new one started": "问答历史已损坏；已保留为 {}，并新建了一份",
        "{}: `shell_history: true` has no effect; only {} can switch it on": "{}：`shell_history: true` 无效；只有 {} 可以打开它",
        "the index could not be kept, and this took longer for it: {}": "索引无法保存，因此这次较慢：{}",
        "{} documents or folders of memory could not be read; `clew memory check` tells which": "{} 个记忆文档或文件夹无法读取；`clew memory check` 会指出是哪些",
        "what you rejected did not count this time: {}": "这次没有考虑你拒绝过的提示：{}",
        "the name of the file holds a secret, so it is neither searched nor hinted": "文件名含有机密，因此既不会被搜索，也不会被提示",
        "exchange:{} is not what was kept: its text is damaged, and it enters no prompt; `clew history remove {}` deletes it": "exchange:{} 与保存时不同：文本已损坏，不会进入提示词；`clew history remove {}` 可删除它",
        "{} still holds what was deleted, and cannot be removed: {}": "{} 仍含有已删除的内容，且无法移除：{}",
        "remove {}": "请移除 {}",
        "another process reads the history; deleted text leaves the disk when it is done": "另一个进程正在读取历史；待其结束后，已删除的文本才会从磁盘上消失",
        "no key: set {}": "没有密钥：请设置 {}",
        "no key, which this address may not need": "没有密钥，此地址或许不需要",
        "no Ollama answers at {}": "{} 没有 Ollama 响应",
        "Ollama runs and has no model: `ollama pull NAME` fetches one": "Ollama 正在运行，但没有模型：`ollama pull NAME` 可下载",
        "a prompt beyond OLLAMA_CONTEXT_LENGTH of the server is shortened there without a word": "超过服务端 OLLAMA_CONTEXT_LENGTH 的提示词会被它悄悄截短",
        "offline; small: it shows that everything works": "离线；模型很小，仅用于验证一切正常",
        "no model is chosen": "没有选择模型",
        "set CLEW_MODEL=provider:name; `clew models` lists what is usable": "设置 CLEW_MODEL=provider:name；`clew models` 可列出可用的模型",
        "no system keyring that is unlocked": "没有已解锁的系统密钥环",
        "keep keys in variables, for instance ANTHROPIC_API_KEY": "把密钥放在环境变量中，例如 ANTHROPIC_API_KEY",
        "git is not installed: no branch, status, history": "没有安装 git：没有分支、状态和历史",
        "install git": "请安装 git",
        "its SQLite has no full text search": "其 SQLite 没有全文检索",
        "{} is not writable: no history, no index": "{} 不可写：没有历史，也没有索引",
        "chmod u+rwx {}, or set CLEW_HOME to a folder of yours": "chmod u+rwx {}，或把 CLEW_HOME 设为你自己的目录",
        "{} MB are free": "剩余 {} MB",
        "report it": "请报告此问题",
        "set TMPDIR to a writable folder": "把 TMPDIR 设为可写的目录",
        "the provider closed the connection{}": "提供方关闭了连接{}",
        "the provider failed{}": "提供方出错{}",
        "too many requests{}": "请求过多{}",
        "nothing came for {} s": "{} 秒内没有任何响应",
        "{}: the provider refused the key{}{}": "{}：提供方拒绝了密钥{}{}",
        "{}: the provider wants a key{}{}": "{}：提供方需要密钥{}{}",
        "check that the key may use this model; {}": "请确认该密钥可以使用此模型；{}",
        "check that the key is complete and valid; {}": "请确认密钥完整且有效；{}",
        "`keyring set clew {}` replaces it": "`keyring set clew {}` 可替换它",
        "it is in {}": "它在 {} 中",
        "set {}": "请设置 {}",
        "try again in {} s": "请在 {} 秒后重试",
        "try again in a while": "请过一会儿重试",
        "it has {}": "它有 {}",
        "`ollama pull {}` fetches it; `ollama list` shows what is there": "`ollama pull {}` 可下载它；`ollama list` 可查看已有的模型",
        "check the name, and that {} is the right address": "请检查名称，并确认 {} 是正确的地址",
        "is {} the right address?": "{} 是正确的地址吗？",
        "is {} the right address? Most end in /v1": "{} 是正确的地址吗？大多数以 /v1 结尾",
        "is the address right, and is there a connection?": "地址是否正确，网络是否连通？",
        "is Ollama running? `ollama serve` starts it; OLLAMA_HOST names another address": "Ollama 在运行吗？`ollama serve` 可启动它；OLLAMA_HOST 可指定其他地址",
        "the stream ended before the answer was complete": "回答完成之前数据流就结束了",
        "{}: all {} tokens of the answer were used up before any text came": "{}：回答的 {} 个 token 在出现任何文本之前就用完了",
        "{}: the answer ended at its limit of {} tokens": "{}：回答达到 {} token 的上限而结束",
        "the system keyring": "系统密钥环",
        "pip install 'clew[local]' adds it": "pip install 'clew[local]' 可安装它",
        "the package {} is not installed": "没有安装 {}",
        "git distrusts the owner of this repository: `git config --global --add safe.directory …`": "git 不信任此仓库的所有者：`git config --global --add safe.directory …`",
        "git is not installed: branch, status and history are left out": "没有安装 git：不含分支、状态和历史",
        "git is older than 2.31: branch, status and history are left out": "git 早于 2.31：不含分支、状态和历史",
        "the repository's work tree is configured to lie elsewhere: git is left out": "仓库的工作区被配置在别处：不使用 git",
        "the repository defines too many filters: git is left out": "仓库定义了过多的过滤器：不使用 git",
        "git cannot read the repository's configuration": "git 无法读取仓库的配置",
        "git cannot read the repository here": "git 无法读取此处的仓库",
        "git did not answer: {}": "git 没有响应：{}",
        "a folder": "目录",
        "a named pipe": "命名管道",
        "a socket": "套接字",
        "a device": "设备",
        "text": "文本",
        "a list": "列表",
        "keys": "键",
        "one line of at most {} visible characters": "一行，最多 {} 个可见字符",
        "a whole number from {} to {}": "{} 到 {} 的整数",
        "a number from {} to {}": "{} 到 {} 的数",
        "`true` or `false`": "`true` 或 `false`",
        "a list of `path` and `weight`": "由 `path` 和 `weight` 组成的列表",
        "a list of `source: weight`": "`来源: 权重` 的列表",
        "a list of `provider: URL`": "`提供方: URL` 的列表",
        "write each item on a line of its own that begins with `- `": "每项单独一行，以 `- ` 开头",
        "put it in quotes: {}": "请加上引号：{}",
        "a character that YAML does not allow": "含有 YAML 不允许的字符",
    }
)
"""English form to Chinese form, with as many `{}`; they keep their order."""


def translated(text: str, language: str) -> str:
    """`text` in Chinese where `language` is `zh` and its form is known; as it is otherwise.

    What fills a gap is put into Chinese as well, unless it stands in quotes there: then it is a name. Of several
    forms the one that begins first is meant, then the most specific one.
    """
    if language != "zh" or not text:
        return text
    if text in CHINESE:
        return CHINESE[text]
    found = [(one, match) for one in _patterns() if (match := one.pattern.fullmatch(text))]
    if not found:
        # Several things said in a row.
        parts = text.split("; ")
        chinese = [translated(part, language) for part in parts] if len(parts) > 1 else parts
        return text if chinese == parts else "；".join(chinese)
    form, match = min(found, key=lambda one: len(one[1][1]) if one[0].opens else 0)
    gaps = zip(match.groups(), form.quoted, strict=True)
    return form.chinese.format(*(gap if quoted else _filling(gap) for gap, quoted in gaps))


def _filling(gap: str) -> str:
    mark = {": ": "：", "; ": "；"}.get(gap[:2], "")
    words = gap[2:] if mark else gap
    chinese = translated(words, "zh")
    return gap if chinese == words else mark + chinese


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    opens: bool
    """It begins with a gap."""
    quoted: tuple[bool, ...]
    """For each gap, whether it stands in quotes."""
    chinese: str


@cache
def _patterns() -> tuple[_Form, ...]:
    """Forms with a gap, the most specific first."""
    forms = sorted((form for form in CHINESE if "{}" in form), key=lambda form: -len(form.replace("{}", "")))
    return tuple(
        _Form(
            re.compile("(.*?)".join(map(re.escape, form.split("{}"))), re.DOTALL),
            form.startswith("{}"),
            tuple(before.endswith(("`", "'", '"')) for before in form.split("{}")[:-1]),
            CHINESE[form],
        )
        for form in forms
    )
