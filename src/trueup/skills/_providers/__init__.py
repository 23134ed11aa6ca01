"""Who answers in a skill test: a program by a protocol, the `oneharness` program, or a model as the judge.

All of them ask in the words of `_prompts` and read verdicts by `_verdict`. trueup's own harness layer is a provider
too and has a room part of its own.
"""

from ._api_judge import ApiJudgeProvider, verdict_schema
from ._choose import provider_for
from ._command import CommandProvider
from ._oneharness import OneharnessProvider
from ._prompts import PROMPTS_FINGERPRINT, judge_prompt, latest_user_message, respond_prompt, user_prompt
from ._split import SplitProvider
from ._verdict import parse_verdict

__all__ = [
    "PROMPTS_FINGERPRINT",
    "ApiJudgeProvider",
    "CommandProvider",
    "OneharnessProvider",
    "SplitProvider",
    "judge_prompt",
    "latest_user_message",
    "parse_verdict",
    "provider_for",
    "respond_prompt",
    "user_prompt",
    "verdict_schema",
]
