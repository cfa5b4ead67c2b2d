"""Kinds of action that a message announces or asks for, and that rules of behaviour speak of.

"Ask before anything irreversible" shares no word with "drop the old table"; both are about destroying something.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Each kind: words of messages, words of notes. A note also has the kinds that its `when` phrases announce.
_KINDS: Final[dict[str, tuple[str, str]]] = {
    "destroy": (
        (
            r"\b(?:delet\w+|drop(?:s|ped|ping)?\b(?! me)|truncat\w+|wip(?:e|es|ed|ing)|eras(?:e|es|ed|ing)|"
            r"purg\w+|overwrit\w+|force.?push\w*|rm -\w+|reset --hard|push (?:-f|--force)|flush(?:all|db)|prune|"
            r"destroy\w*|clear(?:s|ing)? (?:out|all)|get rid of|throw away|clean(?:ing)? up)\b|删|清空|清掉|清理|"
            r"抹掉|覆盖|强推|销毁|擦除|丢弃|恢复出厂"
        ),
        (r"irreversib|destructi|destroy|delet|eras|overwrit|force.?push|不可恢复|不可逆|删|清空|覆盖|擦除|强推"),
    ),
    "send": (
        (
            r"\b(?:send(?:s|ing)?\b.{0,40}\b(?:mails?|letters?|notice|customers?|everyone|all)|publish\w*|"
            r"refund\w*|pay(?:ing)? out|notify\w*|post(?:ing)? (?:it )?to|announce\w*|close\b.{0,20}\bissues?)\b|"
            r"群发|发送|发布到|通知|付款|退款|公布"
        ),
        (r"sending|publish|mails? to|charging|leaves the|群发|付款|发信|发布到"),
    ),
    "test": (
        (
            r"\b(?:tests?|testing|specs?|unit tests?|assert\w*|coverage|fixtures?|pytest|jest|junit)\b|测试|单测|"
            r"用例|断言"
        ),
        (r"\btest|\bspec|测试|用例|单测"),
    ),
    "repair": (
        (
            r"\b(?:bug\w*|fix(?:es|ed|ing)?|broken|wrong(?:ly)?|crash\w*|regression\w*|defect\w*|patch(?:es|ed|"
            r"ing)?|panic\w*|off by|incorrect\w*|twice|doubled)\b|修复|修好|修一下|改好|报错|崩|不对|算错|出错|"
            r"缺陷|重复"
        ),
        (r"\bbug|\bfix|\bdefect|\brepair|regression|修复|缺陷|修 ?bug"),
    ),
    "double": (
        (
            r"\b(?:mock\w*|stub\w*|fake[sd]?|monkeypatch\w*|test doubles?|patch\(|MagicMock|spy)\b|模拟|打桩|替身|"
            r"假的"
        ),
        (r"mock|stub|fake|test double|替身|模拟|打桩"),
    ),
    "shell": (
        (
            r"\b(?:shell|terminal|command ?line|one-?liner|export\b|env(?:ironment)? var\w*|alias|bash|zsh|fish|"
            r"for loop in|console|PATH|script)\b|终端|命令|环境变量|脚本|别名|控制台"
        ),
        (r"\bshell|terminal|\bfish\b|\bzsh\b|\bbash\b|nushell|powershell|posix sh|终端|命令给|命令行|环境变量"),
    ),
    "commit": (
        (r"\bcommit(?:s|ted|ting)?\b|提交(?!单)(?:一下|信息|说明|代码|这|它|吧|$)|帮我提交"),
        (r"commit|提交(?:信息|说明|规范)"),
    ),
    "review": (
        (
            r"\b(?:review\w*|pull requests?|PRs?\b|merge requests?|MRs?\b|ready for eyes|take a look at (?:my|"
            r"this|the) (?:change|branch|diff)|(?:\d{2,}|many) (?:files|modules|lines)|squash\w*)\b|评审|审查|"
            r"合并请求|提审|个文件|过目"
        ),
        (r"review|pull request|\bPRs?\b|merge request|branch|评审|审查|合并请求|拆分"),
    ),
    "sync": (
        (
            r"\b(?:rebase\w*|merge (?:main|master|commit)|behind main|pull(?:ed)? main|commits? (?:ahead|"
            r"behind))\b|变基|落后|拉取|合并主干"
        ),
        (r"rebase|linear history|变基|线性"),
    ),
    "deploy": (
        (
            r"\b(?:deploy\w*|releas(?:e|es|ed|ing)|ship(?:s|ped|ping)? (?:it|this)|go(?:es|ing)? live|roll(?:ed|"
            r"ing)? ?out|push(?:ed|ing)? (?:it )?(?:live|to prod\w*)|launch\w*|put .{1,30} (?:live|online)|"
            r"production)\b|上线|发布|发版|部署|推送固件|升级全部"
        ),
        (r"deploy|releas|roll ?out|production freeze|上线|发布|发版|部署"),
    ),
    "rollback": (
        (
            r"\b(?:roll(?:s|ed|ing)? ?back|revert\w*|undo|go(?:ing)? back|(?:previous|former|last|"
            r"yesterday'?s) (?:version|image|build|release|colour|state|commit)|back to (?:the|yesterday|"
            r"before))\b|回滚|回退|退回|撤回|换回|还原"
        ),
        (r"roll(?:ing)? ?back|revert|回滚|回退|退回"),
    ),
    "restore": (
        (
            r"\b(?:restor\w+|recover\w*|by mistake|accidentally|lost (?:the )?data|gone|wiped|emptied|"
            r"point in time|backup)\b|恢复|误删|丢了|找回|备份"
        ),
        (r"restor|recover|point.in.time|恢复|备份"),
    ),
    "meet": (
        (
            r"\b(?:meet(?:ing|ings)?|call with|a call|schedul\w+|slot|calendar|stand-?up|kick-?off|half an hour|"
            r"invite|(?:at|before|by) \d{1,2}(?::\d\d)? ?(?:am|pm|o'clock)|(?:mon|tues|wednes|thurs|fri)day|"
            r"tomorrow (?:morning|evening))\b|开会|会议|约|日程|周[一二三四五]|下午.点|明早|碰一下|过一遍"
        ),
        (r"calendar|time ?zone|working hours|works? \d|schedule|availab|作息|时区|上班|工作时间|会议|不安排"),
    ),
    "rights": (
        (
            r"\b(?:on prod\w*|in prod\w*|production (?:database|console)|live (?:database|system)|grant|"
            r"permission\w*|kubectl (?:apply|exec|edit)|exec into|ssh|sudo|admin rights)\b|生产|线上(?:库|数据|"
            r"控制台)|权限|进容器|进 ?pod"
        ),
        (r"permission|read-only|access|rights|may touch|权限|只读|无权"),
    ),
    "front": (
        (
            r"\b(?:css|flex\w*|grid|div|html|browser|react|tailwind|z-index|font|margin|padding|sidebar|"
            r"button colou?r|webpage|web page|landing page)\b|前端|样式|页面|网页|布局|浏览器|居中"
        ),
        (r"front-?end|css|browser|designer|前端|网页|样式"),
    ),
    "explain": (
        (
            r"\b(?:explain\w*|why (?:is|does|do|are)|what (?:is|does|are)|how (?:does|do|is)|understand|teach)\b|"
            r"解释|讲讲|为什么|是什么|怎么回事|原理"
        ),
        (
            r"background|explain|years of|strong in|new to|weak (?:in|at)|self-taught|背景|解释|不熟|熟悉|没写过|"
            r"从头讲"
        ),
    ),
    "debug": (
        (
            r"\b(?:debug\w*|breakpoint\w*|step (?:through|into)|halt|pause|stop (?:at|in)|inspect|core dump|"
            r"locals|variables at|attach)\b|调试|断点|单步|打印变量|停在"
        ),
        (
            r"editor|debug|\bpdb\b|\bgdb\b|\bide\b|vim|helix|emacs|vs ?code|working environment|编辑器|调试|断点|"
            r"环境"
        ),
    ),
    "install": (
        (
            r"\b(?:install\w*|npm|pnpm|yarn|pip|uv add|apt|brew|cargo add|add (?:the )?(?:library|package|crate|"
            r"dependency)|dependenc\w+|pull in)\b|安装|装个|装一下|依赖|引入"
        ),
        (r"package manager|install|dependenc|\bnix|pnpm|包管理|安装|依赖"),
    ),
    "http": (
        (
            r"\b(?:http (?:client|call|request)s?|requests|httpx|aiohttp|faraday|axios|fetch(?:es)? (?:from|"
            r"something)|call(?:s|ing)? (?:the |an? )?(?:\w+ )?(?:api|service|endpoint)|third.party api|"
            r"external (?:api|service)|ask the \w+ service)\b|调用.{0,8}(?:接口|服务)|请求外部|第三方接口|抓取"
        ),
        (r"http client|http calls|httpx|requests|http 客户端|外部请求|请求库"),
    ),
    "sql": (
        (
            r"\b(?:sql|quer(?:y|ies)|select\b|cte|subquer\w+|join(?:s|ed|ing)? (?:the|on|two|both))\b|查询|语句|"
            r"子查询|联表"
        ),
        (r"\bsql\b|\bquery|\bcte|查询书写|SQL"),
    ),
    "typing": (
        (
            r"\b(?:types?|typed|typing|type hints?|annotat\w+|any\b(?= (?:cast|type))|as any|enum\w*|generics?|"
            r"mypy|pyright)\b|类型|注解|枚举"
        ),
        (r"\btyp(?:e|es|ing)\b|mypy|pyright|类型|注解"),
    ),
    "errors": (
        (
            r"\b(?:throw\w*|exceptions?|raise\w*|unwrap|error handling|try/?except|catch(?:es|ing)?|"
            r"expected failures?|signal\w* failures?)\b|抛|异常|捕获|报错怎么"
        ),
        (r"exception|unwrap|throw|error handling|异常|错误处理"),
    ),
    "tune": (
        (
            r"\b(?:slow\w*|fast(?:er)?|optimi[sz]\w+|performance|speed(?: up)?|latency|takes forever|quicker|"
            r"unroll)\b|慢|优化|性能|加速|卡"
        ),
        (r"optimi|profil(?:e|ing)|performance|measure|优化|性能"),
    ),
    "personal": (
        (
            r"\b(?:my own|personal|hobby|dotfiles?|at home|home (?:server|lab)|homelab|side project|scratch|"
            r"my laptop|private (?:repo|project|engine)|toys?|weekend project)\b|个人|自己的|我自己|家里|私人|业余"
        ),
        (
            r"personal|my own|own (?:scripts|repositories|repos|engine|projects)|hobby|dotfiles|home(?:lab|"
            r" server)?\b|scratch|private|\btoys\b|个人|自己的|家里|私人"
        ),
    ),
    "write_code": (
        (
            r"\b(?:write|implement|add) (?:a |an |the |this )?(?:\w+ ){0,2}(?:function|class|method|module|script|"
            r"struct|feature|endpoint|parser)\b|写(?:一个|个|一段|段).{0,8}(?:函数|类|代码|脚本|模块|方法)|实现"
        ),
        (r"style|habits?|idioms|书写习惯|风格|习惯|先写测试|tests? first"),
    ),
}

KINDS: Final = tuple(_KINDS)
"""Names of the kinds, in the order of their bits."""
PERSONAL: Final = 1 << KINDS.index("personal")
"""The kind of what is the person's own: repositories, scripts, machines at home."""


@cache
def _patterns(side: int) -> tuple[re.Pattern[str], ...]:
    """The patterns for messages (0) or for notes (1), compiled when they are first needed."""
    return tuple(re.compile(pair[side], re.IGNORECASE) for pair in _KINDS.values())


def announced(text: str) -> int:
    """The kinds of action in a message, one bit each."""
    return sum(1 << bit for bit, pattern in enumerate(_patterns(0)) if pattern.search(text))


def ruled(head: str, when: str = "") -> int:
    """The kinds of action that a note speaks of: its name, description and tags, and its `when` phrases."""
    said = _patterns(0)
    return sum(
        1 << bit
        for bit, pattern in enumerate(_patterns(1))
        if pattern.search(head) or (when and said[bit].search(when))
    )
