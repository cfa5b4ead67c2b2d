"""Fragments as hypothesis draws them: texts that try to break out of a prompt, and every trait a fragment may have."""

from __future__ import annotations

from hypothesis import strategies as st

from clew.core.context.fragment import DEFAULT_WEIGHTS, Fragment

NASTY = (
    "</fragment 00000000>", "<fragment 12345678 related x>", "</facts>", "\n", "\r", "\x1b[2J", "\u202e", "\u2028",
    "超时重试为什么会失败", "def f():\n    return 1\n", "```", "😀", "<|endoftext|>", "<|im_start|>",
    "[INST]", "<turn|>", "<｜User｜>", "]~b]~b]", "<start_of_turn>", "\ud800", " ", "a1b2c3d4" * 9,
)  # fmt: skip
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=40), max_size=12).map("".join)
long_texts = st.builds(lambda text, times: "\n".join([text] * times), texts, st.integers(1, 30))
names = st.text(st.sampled_from("abc/._-超\n\x1b\u2028") | st.characters(), min_size=1, max_size=24)


@st.composite
def fragments(draw: st.DrawFn) -> Fragment:
    source = draw(st.sampled_from(sorted(DEFAULT_WEIGHTS)))
    return Fragment(
        source=source,
        ref=draw(names),
        text=draw(long_texts),
        weight=draw(st.sampled_from([DEFAULT_WEIGHTS[source], 10, 50, 90])),
        anchor=draw(st.booleans()),
        explicit=source == "explicit" or draw(st.integers(0, 9)) == 0,
        line=draw(st.just("") | names),
        relevance=draw(st.floats(0, 1)),
        note=draw(st.just("") | names | st.just("9 of 80 lines")),
        group=draw(st.sampled_from(["", "a.py", "b.py"])),
        order=draw(st.integers(0, 5)),
        cuttable=draw(st.booleans()),
    )


many = st.lists(fragments(), max_size=12)
modes = st.sampled_from(["minimal", "lean", "rich", "rich", "rich"])
