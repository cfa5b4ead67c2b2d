"""Chinese comments of the files that `clew init` and `clew eval init` write, line by line."""

# ruff: noqa: E501 - a line and its wording stand side by side

from __future__ import annotations

COMMENTS: dict[str, str] = {
    # -- .clew.yaml
    "Settings of this project for Clew, shared by everybody who works on it.": "此项目的 Clew 设置，由所有参与者共用。",
    "Every line that begins with `#` and a name is a setting with its default: remove the `#` to change it.": "以 `#` 加名称开头的每一行都是一个设置及其默认值：去掉 `#` 即可修改。",
    "What concerns only you (model, endpoints, language, redaction) belongs in your own config.yaml: see `clew config`.": "只与你有关的设置（模型、地址、语言、隐去机密）写在你自己的 config.yaml 里：见 `clew config`。",
    "Name of the project in reports. Default: the name of the repository.": "报告中的项目名称。默认：仓库名。",
    "Tokens of one prompt with the room for its answer, 500 to 1,000,000.": "一次提示词连同回答空间的 token 数，500 到 1,000,000。",
    "Tokens kept free for the answer. Default: a tenth of max_tokens, at least 256 and at most 4096.": "为回答保留的 token 数。默认：max_tokens 的十分之一，最少 256，最多 4096。",
    "How answers are written: auto, code, writing or newcomer.": "回答的风格：auto、code、writing 或 newcomer。",
    "Files that a context always names, and how heavy their contents weigh (0 to 100). For instance:": "上下文总会列出的文件及其内容的权重（0 到 100）。例如：",
    "Files that Clew never reads by itself, in the format of .gitignore, in addition to .gitignore. For instance:": "除 .gitignore 之外，Clew 从不自行读取的文件，格式同 .gitignore。例如：",
    "Shell history as context. A project can only switch it off; it is off until the user switches it on.": "以 shell 历史作为上下文。项目只能关闭它；在用户打开之前它是关闭的。",
    "Weight of each source of context, 0 to 100: when room is short, the lightest goes first.": "各上下文来源的权重，0 到 100：空间不足时，最轻的先去掉。",
    "Whether context is gathered at all.": "是否收集上下文。",
    "Whether outcomes of searches are kept until something changes.": "是否保留搜索结果，直到有变化为止。",
    "Notes that may enter a context: all, workspace (this project's only) or none. A project can only narrow it.": "可进入上下文的笔记：all（全部）、workspace（仅此项目的）或 none（无）。项目只能收窄范围。",
    # -- questions of `clew eval`
    "Questions about your own work, one JSON object a line. Lines that begin with # are skipped.": "关于你自己工作的问题，每行一个 JSON 对象。以 # 开头的行会被跳过。",
    "question   what somebody would ask": "question   会有人问的问题",
    "workspace  the folder it is asked in, relative to this file (default: the folder of this file)": "workspace  提问所在的目录，相对于此文件（默认：此文件所在的目录）",
    "needs      what the context must hold: paths, or pieces of single lines": "needs      上下文必须含有的内容：路径，或单行中的片段",
    "reference  a good answer, for people; it is not compared": "reference  供人参考的好答案；不参与比较",
    "Take questions that were really asked, and write down what answered them before you look at what Clew finds.": "请用真正问过的问题，并在查看 Clew 的结果之前写下答案所在。",
    "Twenty questions tell more than two; one or two of them up or down is noise.": "二十个问题比两个更能说明问题；相差一两个只是噪声。",
    "clew eval context FILE                      a table with the worst questions": "clew eval context FILE                      列出最差问题的表格",
    "clew eval context FILE --min hit_rate=0.8   exit status 1 when it falls short, for CI": "clew eval context FILE --min hit_rate=0.8   未达标时退出状态为 1，用于 CI",
    "Questions with the amount of context that they need, one JSON object a line. Lines that begin with # are skipped.": "问题及其所需上下文的多少，每行一个 JSON 对象。以 # 开头的行会被跳过。",
    "query     the question as it is typed": "query     所输入的问题",
    "ideal     minimal: everything needed is in the question": "ideal     minimal：所需的一切都在问题中",
    "lean: one fact answers it (branch, status, last commit, platform, names of files)": "lean：一个事实即可回答（分支、状态、最近提交、平台、文件名）",
    "rich: it depends on the contents of files, the diff, the exchange before it, or an error just seen": "rich：取决于文件内容、差异、之前的问答或刚出现的错误",
    "explicit  true where a file or text was attached": "explicit  附有文件或文本时为 true",
    "lang      en, zh or mixed": "lang      en、zh 或 mixed",
    "Questions about repositories at fixed commits, one JSON object a line. Lines that begin with # are skipped.": "关于固定提交处仓库的问题，每行一个 JSON 对象。以 # 开头的行会被跳过。",
    "repo      owner/name or name: a git directory below the folder that --repos names": "repo      owner/name 或 name：--repos 所指目录下的 git 目录",
    "commit    the state that is asked": "commit    提问所针对的状态",
    "kind      any word, for a table by kind; absent: nothing in the repository answers it": "kind      任意词，用于分类统计；absent：仓库中没有答案",
    "needs     the smallest set of passages that answer: path, and text, an exact part of one line of it": "needs     足以回答的最少段落：path，以及 text，即其中一行的原文片段",
}
"""Words of a comment, without `#` and the blanks before them, to Chinese. Examples of settings stay as they are."""


def commented(text: str, language: str) -> str:
    """A file with its comments in `language`; settings, examples and commands stay as they are."""
    if language != "zh":
        return text
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    words = line.lstrip("# ")
    known = COMMENTS.get(words) if line.startswith("#") else None
    return line if known is None else line[: len(line) - len(words)] + known
