"""Words by which a sentence of a conversation shows what it is, in English and Chinese: an end, a yes, a failure.

They decide what an account keeps, never what it says: what is kept is kept word for word.
"""

from __future__ import annotations

import re
from typing import Final

from clew.core.text.lazy import lazy_pattern

CLOSING = lazy_pattern(
    r"(?:ok(?:ay)?|fine|good|great|perfect|thanks?|right|alright|well done)?[ ,.!]*(?:"
    r"(?:let'?s )?(?:stop|pause|call it a day|finish|end)(?: here)?(?: (?:for|until) .*)?|that'?s (?:it|all)\b.*|"
    r"enough (?:for|today).*|see you.*|good night.*|until (?:tomorrow|monday).*|"
    r"(?:we )?(?:continue|go on|carry on) tomorrow.*)"
    r"|(?:好的?|行|嗯)?[，,。 ]*(?:今天)?(?:先|就)?(?:到这(?:里|儿)?|停(?:在)?这(?:里|儿)?|这样吧?|收工|下班|休息).*",
    re.IGNORECASE,
)
"""A message that ends the work; whole."""
RESUMING = lazy_pattern(
    r".{0,40}\b(?:carry on|go on|continue|resume|where (?:were|was) (?:you|we)|what now|what'?s next|status|any news|"
    r"where does .{1,30} stand)\b.{0,40}"
    r"|.{0,16}(?:继续|接着来|怎么样了|进展如何|到哪(?:里|儿|一步)?了|下一步呢).{0,8}",
    re.IGNORECASE,
)
"""A message that only takes work up again; whole."""
YES = lazy_pattern(
    r"\s*(?:ok(?:ay)?|yes|yep|yeah|good|right|agreed|fine|sure|do it|do that|go (?:with|for|ahead)|sounds good|perfect|"
    r"beautiful|great|exactly|please do|approved|confirmed)\b"
    r"|\s*(?:就这么|可以|好|行|同意|对|没问题|是的|按你|就用|批准|确认|嗯)",
    re.IGNORECASE,
)
"""How an answer begins that agrees."""
PROPOSES = lazy_pattern(
    r"\b(?:i'?d|i would|should|could|shall|let'?s|propose|suggest\w*|recommend\w*|option|better|plan:|"
    r"instead|switch|use|using|key(?:ed)? (?:on|by)|going with|will)\b"
    r"|[?？]|建议|改(?:为|成|用)|采用|换成|要不要|方案|可以|倾向|不如|用",
    re.IGNORECASE,
)
"""A reply that somebody can agree to."""
TENTATIVE = lazy_pattern(
    r"\b(?:ideas?|maybe|perhaps|what (?:about|if)|how about|could(?:n't)? (?:we|you|it)|my money|"
    r"i (?:think|suspect|guess)|i wonder|probably)\b|^(?:next |then |first )?(?:just )?try\b"
    r"|试试|也许|可能是|会不会|要不(?!要)|我猜|我觉得|怀疑",
    re.IGNORECASE,
)
"""A thought, not a decision."""
FORBIDS = lazy_pattern(
    r"\b(?:never|must(?:n'?t| not)?|do(?:n'?t| not)|only|at most|at least|no(?! longer)|not|untouched|off limits|rule|"
    r"stays?|keep|frozen|forbidden|without)\b|不许|不要|不能|不得|必须|只能|禁止|一律|不准|别|务必|最多|至少|不超过|不动|不碰",
    re.IGNORECASE,
)
"""A rule, or a limit."""
GOAL = lazy_pattern(r"\b(?:goal|objective|aim)\b|目标|目的", re.IGNORECASE)
"""What is wanted in the end."""
QUESTION = lazy_pattern(r"[?？]\s*[\"'”’)）]*$|(?:吗|呢|么)[。？?]?$")
"""How a question ends."""
FAILED = lazy_pattern(
    r"\b(?:dead end|break(?:s|ing)?|broke|fail(?:s|ed|ing)?|does(?:n'?t| not) (?:work|help|fix)|"
    r"did(?:n'?t| not) (?:work|help)|ruled out|not (?:a|the) (?:leak|cause|reason|fix)|revert(?:ed|ing)?|rejected|"
    r"too slow|worse|wrong (?:idea|track|turn)|no (?:difference|effect|gain|improvement)|useless|gave up|given up|"
    r"abandon\w*|instead of|rolled back|backed out|unrelated|still (?:drops|fails|hangs|crashes|slow|wrong)|regress\w*|"
    r"discard\w*|cannot|can'?t be)\b"
    r"|不行|失败|没过|回退|撤回|弃用|放弃|排除|无效|没用|死路|行不通|更糟|更慢|太慢|撤销|还原|否决|出局|不成立|走不通|反而|"
    r"无关|不可行",
    re.IGNORECASE,
)
"""Something that was tried in vain."""
REVERTS = lazy_pattern(
    r"\b(?:revert|restor|roll(?:ed|ing)? back|undo|undid|put back)\w*|撤回|回退|还原|撤销|恢复原", re.IGNORECASE
)
"""A change that is taken back."""
NEXT = lazy_pattern(
    r"\b(?:next(?: step| up)?|then i|i'?ll|i will|let me|now (?:the|for|to)|remaining|"
    r"still (?:open|owed|to do|missing|need)|left to do|todo|to be done|adding|starting|continuing|resuming|tomorrow|"
    r"shall i|should i)\b"
    r"|接下来|下一步|接着|然后|还剩|还差|待办|剩下|明天|现在(?:做|写|开始)|开始(?:做|写)|先(?:做|写|看)|回到|停在|要不要|是否要",
    re.IGNORECASE,
)
"""What is to come."""
FINDS = lazy_pattern(
    r"\d|`|\b(?:because|since|so (?:the|it|we|that)|root cause|real (?:cause|fault|reason)|"
    r"the (?:cause|reason|fault|bug|problem)|means|explains?|turns out|must|needs?|requires?|limit|only|always|never|"
    r"found|measured|decid\w+|chose|chosen|done|green|pass(?:es|ed)?|committed|deployed|ready|works)\b|_|\w\.\w|"
    r"因为|所以|原因|根因|说明|发现|结论|决定|必须|需要|只能|上限|已(?:经)?|全绿|通过|完成|提交|部署|定为|选",
    re.IGNORECASE,
)
"""Something worth knowing later."""
LABEL = lazy_pattern(
    r"^\s*(?:found|note|next(?: step)?s?|result|differences?|发现|下一步|接下来|结果|说明)\s*[:：]\s*", re.IGNORECASE
)
"""A word before a colon that an account says by itself."""
BAD_LINE = lazy_pattern(
    r"\b(?:FAIL(?:ED|URE)?|ERROR|Error|error|fatal|panic|Traceback|undefined|AssertionError|exception|Exception|refused|"
    r"denied|not found|timed? ?out|expected .{0,60}(?:got|but)|mismatch|unresolved|cannot|Permission)\b|[✗✘×]|"
    r"失败|错误|异常|期望|未找到|超时"
)
"""A line of output that tells of a failure."""
GOOD_LINE = lazy_pattern(
    r"\b0 (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed)\s*[:=]\s*0\b|no errors?|without errors?|"
    r"\bnpm warn\b|失败\s*[:：]?\s*0|错误\s*[:：]?\s*0",
    re.IGNORECASE,
)
"""One that only looks like it."""
CODE_LINE = lazy_pattern(
    r"^\s*(?:if |return|func |def |class |import |from |//|#include|\}|\{|throw |raise |catch|except |[+-]?\s*\*)"
    r"|;\s*$|\{\s*$"
)
"""One of a program, which may speak of failures without one."""
RUNNERS = lazy_pattern(
    r"\b(?:test|tests|pytest|tox|jest|vitest|mocha|mvn|gradlew?|go (?:test|build|vet)|cargo|make|cmake|ninja|npm|yarn|"
    r"pnpm|tsc|eslint|ruff|mypy|build|lint|check|deploy|terraform|kubectl|docker|twister|ctest|dotnet|rspec|phpunit|"
    r"flake8|plan|apply|pio|swift|bazel|unittest)\b"
)
"""Commands whose success is worth telling."""
TAKES_BACK = lazy_pattern(r"\bgit (?:checkout|restore)\b(?: --?[\w-]+(?:=\S+)?)*(?P<paths>(?: [\w./*-]+)+)")
"""A command that brings files back to what they were."""
READS: Final = frozenset(
    {"read", "grep", "glob", "ls", "search", "view", "open", "find", "memory_recall", "memory_open"}
)
"""Tools that change nothing and whose failures say nothing."""
WRITES: Final = frozenset(
    {
        "edit", "write", "multiedit", "edit_file", "write_file", "create", "str_replace", "apply_patch", "notebookedit",
        "patch",
    }
)  # fmt: skip
"""Tools that change a file."""
