"""Commented templates for a team's own labelled questions."""

from __future__ import annotations

from typing import Final

TEMPLATES: Final[dict[str, str]] = {
    "context": """\
# Questions about your own work, one JSON object a line. Lines that begin with # are skipped.
#
#   question   what somebody would ask
#   workspace  the folder it is asked in, relative to this file (default: the folder of this file)
#   needs      what the context must hold: paths, or pieces of single lines
#   reference  a good answer, for people; it is not compared
#
# Take questions that were really asked, and write down what answered them before you look at what Clew finds.
# Twenty questions tell more than two; one or two of them up or down is noise.
#
#   clew eval context FILE                      a table with the worst questions
#   clew eval context FILE --min hit_rate=0.8   exit status 1 when it falls short, for CI
#
{"id": "readme", "question": "how do I run the tests?", "workspace": ".", "needs": ["README.md"], "reference": ""}
""",
    "modes": """\
# Questions with the amount of context that they need, one JSON object a line. Lines that begin with # are skipped.
#
#   query     the question as it is typed
#   ideal     minimal: everything needed is in the question
#             lean: one fact answers it (branch, status, last commit, platform, names of files)
#             rich: it depends on the contents of files, the diff, the exchange before it, or an error just seen
#   explicit  true where a file or text was attached
#   lang      en, zh or mixed
#
#   clew eval modes FILE --min accuracy=0.9
#
{"id": "1", "query": "what is a closure?", "ideal": "minimal", "lang": "en", "explicit": false}
{"id": "2", "query": "which branch am I on?", "ideal": "lean", "lang": "en", "explicit": false}
{"id": "3", "query": "why does the retry test time out?", "ideal": "rich", "lang": "en", "explicit": false}
""",
    "ask": """\
# Questions about repositories at fixed commits, one JSON object a line. Lines that begin with # are skipped.
#
#   repo      owner/name or name: a git directory below the folder that --repos names
#   commit    the state that is asked
#   kind      any word, for a table by kind; absent: nothing in the repository answers it
#   needs     the smallest set of passages that answer: path, and text, an exact part of one line of it
#
#   clew eval ask FILE --repos DIR --min covered=0.6
#
{"id": "1", "repo": "owner/name", "commit": "HEAD", "question": "where is the cache keyed?", "lang": "en", \
"kind": "where", "needs": [{"path": "src/cache.py", "text": "def key("}], "reference": ""}
""",
}
"""By evaluation: a file that it reads as it is."""
