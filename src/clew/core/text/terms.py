"""The terms that Clew indexes and searches for: stems, parts of identifiers, Han characters and pairs.

One analyser serves every index, so a question and a document meet on equal terms whatever store holds them:

- a word gives its lower-case English stem (Snowball): ``Retries`` -> ``retri``;
- an identifier gives the stems of its parts and then itself joined: ``retry_with_backoff`` -> ``retri with backoff
  retry_with_backoff``; without separators the joined form is stemmed like a word, so ``userName`` meets ``username``;
- kebab case joins like snake case (``--max-count`` meets ``max_count``), a dotted name keeps its dots;
- letters beside digits also stay whole: ``utf-8`` and ``utf8`` -> ``utf 8 utf8``;
- a run of Han (or kana, or Hangul) gives every character and every pair of neighbours.

A term is made of word characters, ``_`` and ``.`` only, so a full-text table that stores terms separated by spaces
has to count ``_`` and ``.`` as letters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import cast

from Stemmer import Stemmer  # pyright: ignore[reportUnknownVariableType]

from clew.core.text.lazy import lazy_pattern

_CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"[^\W{_CJK}]"
_LINK = rf"(?:\.{_LETTER}+|-(?:[^\W\d_{_CJK}]{_LETTER}+|\d{{1,3}}(?!{_LETTER})))"
# The classes of other scripts take long to compile: text without them never waits for that.
_TOKEN = lazy_pattern(rf"{_LETTER}+{_LINK}*|[{_CJK}]+")
_ASCII_TOKEN = lazy_pattern(r"\w+(?:\.\w+|-(?:[A-Za-z]\w+|\d{1,3}(?!\w)))*", re.ASCII)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_HUMP = re.compile(r"\d+|[^\W\d_]+")
_HAN_RUN = lazy_pattern(f"[{_HAN}]+")

# Longer tokens are encoded bytes, digests or minified code: nobody asks for a part of them.
_LONGEST_TOKEN = 80
_MOST_PARTS = 12
_LONGEST_STEMMED = 24
_LONGEST_NUMBERED = 5
_MOST_CACHED = 200_000


def stem(word: str) -> str:
    """The stem of one word without separators; very short and very long words stay as they are."""
    return _stems[word.casefold()]


def terms(text: str) -> list[str]:
    """The index terms of ``text`` in order, repetitions included. Accepts any string."""
    return list(chain.from_iterable(map(_terms_by_token.__getitem__, _tokens(_normal(text)))))


def path_terms(path: str) -> list[str]:
    """The terms of a path, extension and joined file name included, without repetition, in order."""
    return list(dict.fromkeys(terms(path.replace("\\", "/"))))


def _tokens(text: str) -> list[str]:
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


class _Stems(dict[str, str]):
    """Stems by lower-case word, each computed once."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_CACHED:
            self.clear()
        result = word
        if 2 < len(word) <= _LONGEST_STEMMED and word.isascii():
            result = _stem_word(word)
        self[word] = result
        return result


class _TermsByToken(dict[str, tuple[str, ...]]):
    """Terms by token, each computed once."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _MOST_CACHED:
            self.clear()
        if _is_cjk(token):
            return _grams(token)
        result = _token_terms(token)
        if len(token) <= _LONGEST_TOKEN:
            self[token] = result
        return result


# One word at a time under the interpreter's lock; the stemmer's own cache would only double `_Stems`.
_stem_word = cast("Callable[[str], str]", Stemmer("english", 0).stemWord)  # pyright: ignore[reportUnknownMemberType]
_stems = _Stems()
_terms_by_token = _TermsByToken()
_CJK_START = lazy_pattern(f"[{_CJK}]")


def _is_cjk(token: str) -> bool:
    return not token.isascii() and _CJK_START.match(token) is not None


def _grams(run: str) -> tuple[str, ...]:
    grams: list[str] = []
    for at, char in enumerate(run):
        if at:
            grams.append(run[at - 1 : at + 1])
        grams.append(char)
    return tuple(grams)


def _token_terms(token: str) -> tuple[str, ...]:
    if token.isalpha() and token.islower():
        return (_stems[token.casefold()],)
    if len(token) > _LONGEST_TOKEN:
        return ()
    names = [name for name in (piece.strip("_-") for piece in token.split(".")) if name]
    found = [term for name in names for term in _name_terms(name)]
    if len(names) > 1:
        # `self.limit` says no more than `limit`.
        own = names[1:] if names[0] in ("self", "cls", "this") else names
        if len(own) > 1:
            found.append(".".join(_joined(name) for name in own))
    return tuple(found)


def _name_terms(name: str) -> list[str]:
    """Terms of an identifier without dots: parts, then letters with their digits, then the joined form."""
    pieces = _pieces(name)
    joined = _joined(name)
    if not pieces:
        return []
    if len(pieces) > _MOST_PARTS:
        return [joined]
    found = [_stems[piece.casefold()] for piece in pieces]
    found.extend(whole for whole in _numbered(pieces) if whole != joined)
    if len(pieces) > 1:
        found.append(joined if "_" in joined else _stems[joined])
    return found


def _pieces(name: str) -> list[str]:
    """Parts at underscores, hyphens, changes of case (ASCII only) and between letters and digits."""
    return (_HUMP if name.isascii() else _FOREIGN_HUMP).findall(name)


def _joined(name: str) -> str:
    return name.replace("-", "_").casefold()


def _numbered(pieces: list[str]) -> list[str]:
    """Short letters and the number right after them, and a single letter after that: ``sha256``, ``http2``, ``k8s``."""
    found: list[str] = []
    for at, (letters, digits) in enumerate(pairwise(pieces)):
        if not digits.isdecimal() or letters.isdecimal() or len(letters) > _LONGEST_NUMBERED:
            continue
        tail = pieces[at + 2] if at + 2 < len(pieces) else ""
        found.append((letters + digits + (tail if len(tail) == 1 and tail.islower() else "")).casefold())
    return found


# --- questions ---------------------------------------------------------------------------------------------------


def _words(block: str) -> list[str]:
    return block.split()


_STOP_WORDS = frozenset(
    stem(word)
    for word in _words("""
    a about after again all also although am an and any anybody anyhow anyone anything anyway are as at be because
    been before being between both but by can cannot could did didn do does doesn doing don done during each either
    else etc ever every few for from further get gets getting give given go goes going gone got had hadn has hasn have
    haven having he hello help her here hers hey hi him his how however i if in instead into is isn it its itself just
    let lets like ll m many may maybe me might more most much must my myself neither no nor not now of off on once one
    only onto or other otherwise our ours out own perhaps please quite rather really s same say says shall she should
    shouldn since so some somebody somehow someone something sometimes somewhere still such sure t take takes tell than
    thank thanks that the their theirs them then there therefore these they thing things this those though through thus
    to too toward under until up upon us use used uses using ve very via want wants was wasn way we well were weren what
    whatever when whenever where whereas wherever whether which while who whoever whole whom whose why will with within
    without won would wouldn yes yet you your yours d doesnt dont isnt cant wont im ive
    codebase happen happens happened implement implemented implements implementing implementation located
    actually basically currently exactly supposed responsible
    """)
)
_PARTICLES = frozenset(_words("in on up out off down"))

_HAN_STOP_WORDS = _words("""
怎么 怎么样 怎样 怎么办 怎么回事 如何 为什么 为何 为啥 干嘛 什么 什么时候 什么地方 啥 哪里 哪儿 哪个 哪些 哪几个
哪一个 哪一步 哪种 哪 在哪 在哪里 在哪儿 谁 多少 几个 多久 多大 多长 会不会 能不能 可不可以 是不是 有没有 要不要
该不该 应不应该 需不需要 行不行 对不对 是否 能否 可否 吗 呢 吧 啊 呀 嘛 么 哦 啦 的 了 着 地 得 之 们 我 你 您 他
她 它 我们 你们 他们 它们 咱们 自己 这 那 这个 那个 这些 那些 这里 那里 这儿 那儿 这样 那样 这么 那么 这种 那种
这边 那边 此 该 其 其他 其它 和 与 或 或者 以及 及 还是 还有 并 并且 而 而且 但 但是 可是 不过 然而 因为 所以
由于 因此 如果 要是 假如 的话 虽然 即使 就算 除了 除非 只有 只要 不管 无论 在 于 从 到 向 往 对 对于 关于 由 把
被 让 使 给 跟 同 按 按照 根据 通过 为 为了 以 用 用来 是 有 没有 没 不 不会 不能 不是 别 很 太 非常 比较 更 最
都 也 还 又 再 就 才 只 已 已经 正在 曾经 刚 刚刚 刚才 现在 目前 当前 时候 的时候 之后 以后 然后 之前 以前 之间
期间 一下 一些 一个 一种 一样 有些 有点 某个 某些 每个 各个 所有 全部 会 能 能够 可以 可能 应该 应当 需要 必须
得要 想 想要 要 请 请问 请教 麻烦 帮 帮我 帮忙 告诉 告诉我 看看 看一下 讲讲 说说 说明一下 解释一下 介绍一下 上 下
里 里面 中 内 外 前 后 时 来 去 做 做的 到底 究竟 其实 真的 大概 一直 总是 经常 有时 有时候 突然 居然 竟然 既然
另外 此外 例如 比如 等等 等 以上 以下 具体 相关 有关 项目 工程 代码 代码里 源码 实现 实现的 地方 东西 事情 情况
负责 位于 位置 属于 于是 随着 之一 其中 也许 而是 进而 反而 才能 认为 加上 之上 之下 马上
""")
# Words that contain a stop word and must not be cut there.
_HAN_WHOLE_WORDS = _words("""
目的 目的地 了解 会话 会议 会员 功能 性能 智能 可能性 能力 能量 对象 对比 对齐 对话 对称 对接 对应 绝对 相对 核对
校对 配对 针对 面对 反对 不同 不变 不可变 不存在 不支持 不兼容 不一致 不安全 不允许 没反应 没响应 要求 重要 主要
摘要 概要 纪要 必要 需求 用户 使用 调用 引用 应用 占用 启用 禁用 停用 复用 重用 通用 作用 作用域 滥用 可用 用途
用法 费用 常用 公用 专用 有效 有效期 有限 有序 所有者 所有权 私有 拥有 共有 含有 是非 在线 存在 内存 内容 内部
内核 内置 内联 内嵌 内网 外部 外键 外观 外网 外壳 前端 前缀 前台 前置 提前 后端 后缀 后台 后退 后置 后门 延后
时间 时区 时钟 时长 时刻 时序 定时 超时 实时 临时 同时 及时 小时 计时 耗时 延时 时间戳 上下文 上传 上限 上线 上游
上级 上报 上锁 上一个 线上 向上 下载 下限 下线 下游 下级 下拉 下标 下划线 下一个 向下 中断 中间 中间件 中文 中心
中止 中转 集中 居中 命中 里程碑 来源 原来 去重 去除 去掉 失去 过去 做法 从属 到达 到期 收到 找到 得到 取得 获得
得分 等待 等级 等价 等于 等号 相等 不等 对等 平等 向量 方向 重定向 定向 双向 单向 反向 正向 转向 面向 导向 趋向
往返 由来 理由 路由 自由 路由器 被动 使能 给定 供给 跟踪 跟随 同步 同一 同名 同意 相同 共同 合同 协同 按钮 按键
按需 按下 根目录 为空 行为 以太网 不用 更新 更改 变更 更换 最大 最小 最新 最近 最终 最后 最高 最低 最长 最多 最少
最佳 最优 还原 归还 返还 又一 再次 就绪 成就 就近 只读 只写 已读 已知 已有 已存在 不足 不动 不稳定 想法 设想 帮助
帮助信息 请求 申请 邀请 地址 地图 地区 本地 地理 落地 基地 着色 总和 求和 饱和 校验和 调和 及格 普及 涉及 触及
并发 并行 合并 并入 等于号 大于 小于 基于 特别 类别 级别 区别 识别 分别 别名 判别 辨别 个别 太大 更好 实现类
代码块 代码片段 代码库 位置参数 项目名 工程师 负责人 很多 较大 多余 多个 多行 多线程 多进程 多语言 多样 会计 机会
函数 参数 不断 能耗 内向 中国 中英文 时态 里程 下午 上午 晚上 早上 网上 地下 一下子 一致 一次 一次性 一行 一律
唯一 统一 逐一 同上
""")
_HAN_STOP = frozenset(_HAN_STOP_WORDS)


@cache
def _han_cut() -> re.Pattern[str]:
    """A word to keep whole, else function words."""
    both = (_HAN_WHOLE_WORDS, _HAN_STOP_WORDS)
    whole, stop = ("|".join(map(re.escape, sorted({*words}, key=len, reverse=True))) for words in both)
    return re.compile(f"({whole})|(?:{stop})+")


_EXTENSIONS = frozenset(
    _words("""
    py pyi pyx ipynb js mjs cjs jsx ts mts cts tsx vue svelte html htm css scss sass less json jsonl json5 yaml yml toml
    ini cfg conf env properties xml svg md mdx rst txt log csv tsv sql db sqlite sqlite3 go mod sum rs c h cc cpp cxx hh
    hpp hxx m mm java kt kts scala groovy gradle cs fs vb swift rb erb gemspec php pl pm lua r jl ex exs erl hrl hs ml
    mli clj cljs el lisp vim sh bash zsh fish ps1 bat cmd tf tfvars proto graphql gql cmake mk make dockerfile lock
    patch diff zip gz tar tgz whl pdf png jpg jpeg gif ico webp wasm so dll dylib exe bin dat pkl parquet onnx gguf pem
    crt key tmpl j2 jinja jinja2 tex bib
    """)
)
_NOT_FILES = frozenset(
    _words("node.js vue.js next.js nuxt.js react.js express.js three.js d3.js socket.io asp.net e.g i.e")
)
_FOLDERS = frozenset(
    _words("""
    src lib libs pkg packages cmd internal tests specs docs scripts bin examples configs crates utils templates
    migrations vendor node_modules dist .github .git .vscode etc usr var tmp opt home proc
    """)
)
_FILES_WITHOUT_EXTENSION = frozenset(
    _words("""
    makefile dockerfile containerfile jenkinsfile vagrantfile procfile rakefile gemfile pipfile brewfile justfile
    caddyfile readme changelog licence license codeowners
    """)
)

_BEFORE = r"(?<![A-Za-z0-9_])"
_QUOTED = re.compile(
    r"```(?:\w*\n)?(.+?)```|`([^`\n]+)`|\"([^\"\n]+)\"|(?<![\w'])'([^'\n]+)'(?!\w)"
    r"|\u201c([^\u201d\n]+)\u201d|\u2018([^\u2019\n]+)\u2019|\u300c([^\u300d\n]+)\u300d"
    r"|\u300e([^\u300f\n]+)\u300f|\u300a([^\u300b\n]+)\u300b",
    re.DOTALL,
)
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_URL = lazy_pattern(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s\u3000-\u9fff\uff00-\uffef]+")
_PATH_LIKE = re.compile(
    r"(?<![A-Za-z0-9_.~@+$*{}\[\]-])[A-Za-z0-9_.~@+$*{}\[\]-]*+(?:[/\\][A-Za-z0-9_.~@+$*{}\[\]-]+)+[/\\]?"
    r"|\.?[A-Za-z0-9_][\w.+-]*",
    re.ASCII,
)
_NAME = re.compile(
    rf"(?P<flag>(?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*)"
    rf"|(?P<name>{_BEFORE}@?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\#)[A-Za-z_][A-Za-z0-9_]*)*)(?P<call>\()?"
)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")
_CODE_NUMBER = re.compile(r"[A-Z]{1,5}\d{3,}")
_WHOLE_NAME = re.compile(r"@?-{0,2}[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|-)[A-Za-z_][\w$]*)*(?:\(\))?", re.ASCII)
_ACRONYMS = frozenset(_words("HTTPS ASCII OAUTH POSIX MYSQL JSONL REGEX CRUD LINUX MACOS YAML TOML README TODO FIXME"))


@dataclass(frozen=True, slots=True)
class Query:
    """What a question asks for, taken apart. Every field is in order of appearance and without repetition."""

    words: tuple[str, ...]
    """Index terms without function words; Han as characters and pairs. What to look up in a full-text index."""
    identifiers: tuple[str, ...]
    """What looks like a name in code, as written: ``max_count``, ``RetryPolicy``, ``app.run``, ``--max-count``."""
    paths: tuple[str, ...]
    """What looks like a path or a file name, as written, line numbers removed."""
    quoted: tuple[str, ...]
    """What stood in quotes or backticks, verbatim."""
    han: tuple[str, ...]
    """Runs of Han characters as written, function words included (see ``glossary`` for their translation)."""
    compounds: tuple[str, ...] = ()
    """Names in the ways the question did not write them: ``file name`` -> ``file_name``, ``filenam``;
    ``max_tokens`` -> ``maxtoken``; ``maxTokens`` -> ``max_tokens``. Look them up with less weight than ``words``."""


def query_terms(question: str) -> Query:
    """Take a question apart. Accepts any string; one without content words gives no ``words``."""
    normal = _normal(question)
    prose = _URL.sub(" ", normal) if "://" in normal else normal
    quoted = [next(filter(None, match.groups()), "").strip() for match in _QUOTED.finditer(question)]
    spans = _path_spans(prose)
    return Query(
        words=tuple(dict.fromkeys(_content(normal))),
        identifiers=tuple(dict.fromkeys(_identifiers(prose, spans))),
        paths=tuple(dict.fromkeys(prose[start:end] for start, end in spans)),
        quoted=tuple(dict.fromkeys(filter(None, quoted))),
        han=() if normal.isascii() else tuple(dict.fromkeys(_HAN_RUN.findall(normal))),
        compounds=tuple(dict.fromkeys(_compounds(prose))),
    )


def is_function_word(term: str) -> bool:
    """Whether an index term (an English stem or a Chinese word) says nothing about what is asked for."""
    return term in _STOP_WORDS or term in _HAN_STOP


def content_runs(han_run: str) -> list[str]:
    """A run of Han without its function words: ``为什么重试会卡住`` -> ``重试``, ``卡住``."""
    return [piece for piece in _han_cut().sub(lambda match: match[1] or " ", han_run).split() if piece]


def _content(text: str) -> list[str]:
    found: list[str] = []
    for token in _tokens(text):
        if not token.isascii() and _HAN_RUN.match(token):
            found.extend(term for run in content_runs(token) for term in _grams(run))
        else:
            found.extend(term for term in _terms_by_token[token] if term not in _STOP_WORDS)
    return found


def _path_spans(text: str) -> list[tuple[int, int]]:
    """Where the paths stand, start and end, in order and apart from each other."""
    found: list[tuple[int, int]] = []
    for match in _PATH_LIKE.finditer(text):
        candidate = match[0].rstrip(".,;:!?)]}" if "[" not in match[0] else ".,;:!?)")
        if _is_path(candidate):
            found.append((match.start(), match.start() + len(candidate)))
    return found


def _is_path(candidate: str) -> bool:
    lowered = candidate.casefold()
    if lowered in _NOT_FILES:
        return False
    segments = [segment for segment in re.split(r"[/\\]", lowered) if segment]
    if not segments:
        return False
    stem_part, dot, extension = segments[-1].rpartition(".")
    named = bool(dot) and extension in _EXTENSIONS and bool(stem_part or len(segments) > 1 or extension == "env")
    if len(segments) == 1 and not re.search(r"[/\\]", candidate):
        dotfile = lowered.startswith(".") and lowered[1:2].isalpha() and len(lowered) > 3
        capital = candidate[:1].isupper() and lowered in _FILES_WITHOUT_EXTENSION
        return named or dotfile or capital
    rooted = lowered.startswith(("./", "../", "~/", "/")) or lowered.endswith(("/", "\\"))
    folder = segments[0] in _FOLDERS and len(segments) > 1
    underscored = len(segments) > 1 and any("_" in segment for segment in segments)
    return named or rooted or folder or underscored or len(segments) > 2


def _identifiers(text: str, path_spans: list[tuple[int, int]]) -> list[str]:
    found: list[tuple[int, str]] = []
    for match in _BACKTICKED.finditer(text):
        name = match[1].strip()
        if _WHOLE_NAME.fullmatch(name) and not _is_path(name):
            found.append((match.start(), name.removesuffix("()").lstrip("@")))
    starts = [start for start, _ in path_spans]
    for match in _NAME.finditer(text):
        before = bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < path_spans[before][1]:
            continue
        name = match["flag"] or match["name"]
        if _is_name(name, flag=match["flag"] is not None, called=match["call"] is not None):
            found.append((match.start(), name.lstrip("@")))
    found.sort(key=lambda item: item[0])
    return [name for _, name in found]


def _is_name(name: str, *, flag: bool, called: bool) -> bool:
    if flag:
        return name.startswith("--") or len(name) == 2
    if name.casefold() in _NOT_FILES:
        return False
    if called or name.startswith(("@", "__")) or "_" in name.strip("_"):
        return len(name.strip("_@")) > 1
    if re.search(r"\.|::|->|#", name):
        return True
    if name.isupper():
        # Short words in capitals are acronyms of prose (HTTP, URL), long ones are names (TIMEOUT, ENOENT).
        return (len(name) > 4 and name not in _ACRONYMS) or _CODE_NUMBER.fullmatch(name) is not None
    return _CAMEL.search(name) is not None


def _compounds(text: str) -> list[str]:
    found: list[str] = []
    for sentence in re.split(r"[^\w\s-]+", text):
        words = [word for word in re.split(r"[\s-]+", sentence) if word]
        for word in words:
            if word.isascii() and 1 < len(pieces := _pieces(word)) <= _MOST_PARTS:
                found += _both_ways(pieces)
        for first, second in pairwise(words):
            left, right = first.casefold(), second.casefold()
            if not (left.isascii() and right.isascii() and left.isalpha() and right.isalpha()):
                continue
            if _stems[left] in _STOP_WORDS or (_stems[right] in _STOP_WORDS and right not in _PARTICLES):
                continue
            if len(left) + len(right) <= _LONGEST_STEMMED:
                found += _both_ways([left, right])
    return found


def _both_ways(pieces: list[str]) -> tuple[str, str]:
    return "_".join(pieces).casefold(), _stems["".join(pieces).casefold()]
