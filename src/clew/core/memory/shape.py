"""What kind of utterance a message is, whatever it is about: does it need notes at all, does it announce a step?

rewording: all that is needed stands in the message. creative: names, verses, wishes. general: knowledge of the world.
edit: a small change to the lines at hand. report: what was done or seen, with no step that could be stopped.
announces: a step about to be done, which a note could stop. ours: said of what one owns or works on. symptom: something
is not as it should be. code: code or a command stands in it. asks: what is wanted is an action. impersonal: a question
with no sign of anybody's own work.
"""

from __future__ import annotations

import re
from typing import Final

_FORMS: Final[dict[str, str]] = {
    "rewording": (
        r"\b(?:translat\w+|rephrase|rewrite (?:the|this) (?:sentence|paragraph|text|mail)|proofread|paraphrase|"
        r"how (?:do|would|can) (?:you|i|we) say|shorten (?:this|the) (?:sentence|text)|better rhythm|polite(?:r|"
        r"ly)?\b|in(?:to)? (?:polite )?(?:german|french|italian|spanish|portuguese|polish|japanese|korean|chinese|"
        r"english|russian|dutch)\b|(?:german|french|italian|spanish|portuguese|polish|japanese|korean|chinese|"
        r"english|latin) (?:word )?for|spell(?:ed|ing)?|plural of|synonym|sounds? better|grammar|bullet list)\b|"
        r"翻译|译成|润色|改写|换个说法(?!\s*[:：,，])|用.{1,4}语怎么说|英文怎么说|通顺|语病|病句|怎么念|怎么读"
    ),
    "creative": (
        r"\b(?:haiku|poem|joke|rhymes?|limerick|slogan|birthday|wish(?:es)?|story about|name for|names? for|"
        r"variable name|come up with|think of .{0,12}names?|headline)\b|起个名|名字|取名|变量名|写一?首|笑话|诗|"
        r"祝福|标语"
    ),
    "general": (
        r"^(?:so |and |hey,? )?(?:what(?:'s| is| are| does| do) (?:an? |the )?(?!our|my|this|that|wrong|"
        r"with)[\w'. -]+(?: mean| stand| stands| do| in (?:general|theory|short|simple words|one \w+|c|bash|sql|"
        r"rust|go))?\??$|who (?:invented|made|wrote|maintains)|history of|why (?:is it|are they) called|"
        r"(?:explain|describe) (?:an? |the )?[\w -]+ (?:in|to|for) )|\b(?:difference between|versus|vs\.?|"
        r"pros and cons|in general|in theory|for beginners|to a beginner|stands for|what (?:does|"
        r"is) .{1,30} (?:mean|stand for)|what(?:'s| is) new in|release date|how (?:does|do) [\w .-]{1,40} (?:work|"
        r"store|differ)\w*)\b|什么是|是什么意思|有什么区别|区别是|讲讲.{0,14}原理|的原理|解释一下什么|历史|"
        r"是谁发明|科普"
    ),
    "edit": (
        r"\b(?:rename|re-?indent|indentation|trailing (?:spaces|commas?)|blank line|empty line|typos?|docstring|"
        r"type hints? to this|this (?:function|method|variable|loop|object|line|struct|class|file|sentence|code|"
        r"import)s?\b|sort (?:the|these)|align|inline|format (?:this|the)|add a comment|comment (?:this|out)|"
        r"make (?:it|this) (?:a|bold|shorter)|extract (?:a|the)|spelling|split this)\b|改名|重命名|空行|空格|缩进|"
        r"错字|错别字|拼写|注释|格式化|排个?序|这个(?:函数|变量|方法|类|循环|文件|对象)|这行|这段|合成一行|拆成|同一个文件里|"
        r"(?:删|去)掉.{0,8}(?:行|空|注释|导入|分号)|"
        r"(?:delete|remove|drop|dropped|removed|swap|reverse|reorder|capitali[sz]e)\b.{0,28}"
        r"\b(?:lines?|spaces?|sentences?|comments?|includes?|imports?|parameters?|cast|arms?|list|arguments?|headings?|here)\b"
    ),
    "report": (
        r"^(?:all \d* ?(?:tests?|checks?)|no (?:matches|warnings|errors|output)|build |done\b|opened|header|"
        r"imports? |formatt?ing|running the|the (?:file|class|function|controller|import|build|command|component|"
        r"header|variable) |i (?:see|read|have (?:read|opened|looked|gone)|went|walked|compared|fixed the typo|"
        r"removed the unused)|typo)|\b(?:pass(?:es|ed)?\b|nothing (?:stands out|looks odd)|is clear|no problem|"
        r"matches the description|next i (?:look|read|compare|open))|^(?:已经?|全部|正在|没有|测试(?:全部|都)|"
        r"编译|构建|格式化|注释|变量名|命令|两个|依赖|视图|样式)|看完|读完|通过了|没有(?:发现|变化|动)"
    ),
    "announces": (
        r"\b(?:i'?ll|i will|i(?:'m| am) (?:going|about) to|let me|now i|next:|i (?:add|use|put|delete|remove|set|"
        r"take|convert|renumber|enqueue|allocate|publish|erase|wrap|join|overwrite|throw|mock|calculate|fix it|"
        r"simply)\b|running `|dropping|overwriting|adding|committing|cleaning up|accepting|paying|merging|"
        r"deleting)|接下来|接着|下面|现在(?:在|执行|运行|给)|我(?:把|用|给|先|打算|就|来|直接|加)|准备|打算|然后"
    ),
    "ours": (
        r"\b(?:our|ours|we|us|my|mine|here|she|he|they|customers?|users?|somebody|someone|prod(?:uction)?|"
        r"staging)\b|我们|咱们?|我的|这边|客户|顾客|用户|有人|家长|线上|测试服"
    ),
    "symptom": (
        r"\b(?:fails?|failed|failing|broken|wrong|error|errors|still|again|suddenly|since|keeps?|dies|died|killed|"
        r"missing|empty|twice|doubled|double|slow|late|stuck|gone|lost|refused|denied|rejected|stale|off by|"
        r"zero hits|nothing|dark|garbage|doesn'?t|does not|can'?t|cannot|isn'?t|won'?t|never|although|though|"
        r"instead of)\b|\b[45]\d\d\b|报错|失败|不对|不了|没了|没有|还是|又|突然|丢|卡|慢|重复|两次|空的|老是|偶尔|"
        r"异常|崩|挂|不见|不更新|失效|退回|拒绝"
    ),
    "code": (
        r"`|[a-z_]+\(|\b[a-z]+_[a-z_]+\b|[{};]|--[a-z]|::|\b(?:SELECT|UPDATE|DELETE|DROP|INSERT|ALTER|TRUNCATE)\b|"
        r"==|=>"
    ),
    "asks": (
        r"^(?:please |can you |could you |pls |then |now )?(?:add|make|write|put|give|set|run|create|change|swap|"
        r"drop|delete|remove|push|ship|deploy|release|move|send|commit|implement|build|convert|install|log in|"
        r"open|close|fetch|load|show|let|tell|find|plan|log|mock|stub|use)\b|^(?:帮我|请|给|把|加|写|删|改|新加|"
        r"新写|跑|发|装|建|换|用|直接|准备|想)"
    ),
}

FORMS: Final = (*_FORMS, "impersonal")
"""Names of the forms."""
_PATTERNS: Final = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _FORMS.values())
_ASKS: Final = re.compile(
    r"^(?:what|why|how|who|which|when|is|are|does|do|can)\b|\?\s*$|[？吗呢]\s*$|^(?:解释|讲讲|什么|为什么|怎么)|是什么|有哪些|多少",
    re.IGNORECASE,
)
_MAY: Final = re.compile(
    r"^(?:今天|明天|今晚|现在|这会儿|这周|下?周[一二三四五六日天末])?(?:还|就)?(?:能不能|要不要|该不该|能|可以|要|该|需要)"
    r"(?!.*(?:什么|多少|怎么|解释|介绍|翻译)).{2,16}[吗么?？]*$"
)
"""May it be done? Chinese leaves out who does it."""
_CODE: Final = re.compile(_FORMS["code"])


def forms(text: str) -> dict[str, float]:
    """Each form with 1.0 where the message has it, else 0.0."""
    lower = text.strip()
    found = {name: float(pattern.search(lower) is not None) for name, pattern in zip(_FORMS, _PATTERNS, strict=True)}
    found["code"] = float(_CODE.search(lower) is not None)
    asks = _ASKS.search(lower) is not None and _MAY.search(lower) is None
    found["impersonal"] = float(asks and not (found["ours"] or found["code"] or found["symptom"] or found["announces"]))
    return found
