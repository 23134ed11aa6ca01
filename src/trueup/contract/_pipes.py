"""The one rule by which a check's pipe differs from bash's `pipefail`."""

from __future__ import annotations

import shlex
from itertools import pairwise

from ._problems import MOST_COMMAND_CHARACTERS

_VERDICT_ON_STAGES = r"""
trueup_stages=("${PIPESTATUS[@]}") trueup_status=0
for trueup_at in "${!trueup_stages[@]}"; do
  case ${trueup_stages[trueup_at]} in
    0) ;;
    141) if [ "$trueup_at" -eq $((${#trueup_stages[@]} - 1)) ]; then trueup_status=141; fi ;;
    *) trueup_status=${trueup_stages[trueup_at]} ;;
  esac
done
exit "$trueup_status"
"""


def forgive_cut_off_stages(line: str) -> str:
    """Let a stage that SIGPIPE ended (status 141) count as a success where a later stage had read enough.

    `seq 1 100000 | grep -q 5` exits with 141 every time under `pipefail`, though nothing is wrong. Only for a line
    that is one pipeline: in a longer one, what follows the pipe was skipped and must not be taken for done.
    """
    return line + _VERDICT_ON_STAGES if _is_one_pipeline(line) else line


def _is_one_pipeline(line: str) -> bool:
    if len(line) > MOST_COMMAND_CHARACTERS:
        return False
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";()&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return False
    operators = {word for word in words if word and set(word) <= set(";()&|\n")}
    starts = {*words[:1], *(after for word, after in pairwise(words) if word == "|")}
    return operators == {"|"} and starts.isdisjoint({"!", "if", "while", "until", "for", "case", "time", "{", "[["})
