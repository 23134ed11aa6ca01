"""A contract from an intent, written by a model and validated before anyone sees it."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from trueup.core.errors import GenerationError, Kind, TrueupError
from trueup.core.json_text import json_objects
from trueup.core.protocols import Generate, Prompt
from trueup.core.usage import Usage

from ._model import Contract
from ._problems import PLACEHOLDER_NAME

_TEMPLATE = """\
Write an outcome contract for a coding task: a few shell commands whose success shows that the task is done. They
are run at the root of a fresh git checkout of the repository, without a terminal, after somebody else did the work.

The task:
{intent}

The repository:
{summary}

Answer with JSON only: one object, no prose around it, no markdown fences. Its shape:
{{
  "description": "what is true when the task is done, in one sentence",
  "checks": [
    {{"name": "{placeholder}", "command": "a shell command", "expect_exit_zero": true,
     "output_contains": null, "timeout_secs": 120}}
  ]
}}

Rules:
- Give 1 to 5 checks. Each verifies the task itself and not the toolchain: `cargo --version` or `node -v` prove
  nothing about a change.
- At least one check exercises the new behaviour: it runs the program or the test that the change affects.
- Names are unique, descriptive and in snake_case, and never the placeholder `{placeholder}`.
- Every command runs without questions and without a terminal, ends by itself (no watcher, no server), and gives the
  same result each time. Prefer the build and test commands that the repository already has.
- Exit code 0 is usually enough. Use `output_contains` only for a text that you are certain will be printed exactly
  so; otherwise leave it null. Invent no example output.
- No git push, no network, no sudo, nothing that damages anything outside the checkout.
- `timeout_secs` are seconds that a build or test run realistically needs.
"""

# Asking again changes nothing about these.
_HOPELESS = frozenset({Kind.AUTH, Kind.QUOTA, Kind.MODEL_NOT_FOUND, Kind.INPUT})

_REPAIR = "\nYour last answer FAILED validation. Mend every one of these problems:\n{problems}\n"


class Derivation(Struct, frozen=True):
    """A valid contract, how many answers it took, and what they used."""

    contract: Contract
    attempts: int
    usage: Usage


async def derive(generate: Generate, intent: str, summary: str, max_attempts: int = 3) -> Derivation:
    """Ask for a contract until one is valid; each repair prompt lists all problems of the last answer."""
    attempts = max(1, max_attempts)
    problems: list[str] = []
    failure = ""
    used: list[Usage] = []
    for attempt in range(1, attempts + 1):
        try:
            reply = await generate(Prompt(contract_prompt(intent, summary, problems)))
        except TrueupError as error:
            if error.kind in _HOPELESS:
                raise
            # The problems stay: the next answer must still mend what the last one got wrong.
            failure = f"the model could not be asked: {error}"
            if isinstance(error, GenerationError) and error.usage is not None:
                used.append(error.usage)
            continue
        used.append(reply.usage)
        found = _read_contract(reply.text)
        problems = found if isinstance(found, list) else found.validate()
        if isinstance(found, Contract) and not problems:
            return Derivation(found, attempt, Usage.total(used))
        failure = "; ".join(problems)
    raise GenerationError(f"no valid contract after {attempts} attempts: {failure}")


def contract_prompt(intent: str, summary: str, problems: list[str]) -> str:
    """What a model is asked; `problems` are those of its last answer."""
    prompt = _TEMPLATE.format(intent=intent.strip(), summary=summary.strip(), placeholder=PLACEHOLDER_NAME)
    if problems:
        prompt += _REPAIR.format(problems="\n".join(f"- {problem}" for problem in problems))
    return prompt


def _read_contract(text: str) -> Contract | list[str]:
    """The first object in a text that decodes as a contract, or what is wrong with what was there."""
    complaint = None
    for candidate in json_objects(text):
        try:
            return msgspec.convert(candidate, Contract)
        except msgspec.ValidationError as error:
            complaint = complaint or f"the JSON is not a contract: {error}"
    return [complaint or "the answer holds no JSON object; give the object and nothing else"]
