"""A first project of skill tests, which runs at once, without a model."""

from __future__ import annotations

import os
from pathlib import Path

from trueup.core.errors import InfrastructureError, InputError

CONFIG = """\
# How the cases are run. This provider needs no model: it answers by the markers at the end of the skill. To run the
# skill on real agents, put these in place of the next four lines:
#   provider: {kind: harness}
#   platforms: [claude-code, codex]
provider: {kind: command, command: [trueup, skill, provider]}
platforms: [offline]
models: [offline]
judge_model: offline-judge
max_turns: 8
"""

SKILL = """\
---
name: greeter
description: Greets visitors by title and surname and confirms their appointment. Use it when somebody arrives.
---
# Greeter

1. Look the visitor's appointment up with `calendar find SURNAME`.
2. Greet them in one warm sentence, with title and surname.
3. Ask them to confirm the time. Once they did, say that it is confirmed, and wish them a good day.

<!-- What `trueup skill provider` does in place of a model, which has no use for these lines:
fake-tool: bash calendar find Smith
fake-reply: Good morning, Dr. Smith, and welcome. Is your appointment at 10:30 right?
fake-reply-2: Thank you, Dr. Smith. Your appointment at 10:30 is confirmed; have a good day.
-->
"""

SINGLE_TURN = """\
# One question, one reply. All but the last two evals are looked at by trueup itself, without a judge.
name: greets
skill: ../skills/greeter
input: I am Dr. Jane Smith. I have an appointment this morning.
evals:
- {type: contains, text: Dr. Smith}
- {type: matches, pattern: '\\d{1,2}:\\d{2}', name: says-when}
- {type: tool_called, tool: bash, input: {command: {contains: calendar find}}}
- {type: turns_below, turns: 2}
- {type: boolean, criterion: the reply greets `Dr. Smith` by title and surname, name: polite}
- {type: numeric, criterion: how warm the greeting is, threshold: 7, name: warm}
"""

MULTI_TURN = """\
# A conversation: a simulated user answers until `done_when` holds. `say:` is what the offline provider has them say.
name: confirms
skill: ../skills/greeter
input: Hello, I am Dr. Smith.
user:
  persona: |
    A patient who is in a hurry, and confirms what is right.
    say: Yes, that is right.
  done_when: the appointment `is confirmed`
  max_turns: 4
evals:
- {type: contains, text: confirmed}
- {type: contains, text: good morning, ignore_case: true, message: any}
- {type: turns_below, turns: 4}
- {type: boolean, criterion: the assistant said that the appointment `is confirmed` only after the user agreed}
"""

FILES = {
    "skilltest.yaml": CONFIG,
    "skills/greeter/SKILL.md": SKILL,
    "cases/greets.skilltest.yaml": SINGLE_TURN,
    "cases/confirms.skilltest.yaml": MULTI_TURN,
}


def write_project(folder: Path) -> list[Path]:
    """Write the project into a folder, which is made where it is missing. Where one of its files is, nothing is written."""
    targets = {folder / name: text for name, text in FILES.items()}
    there = [str(target) for target in targets if os.path.lexists(target)]
    if there:
        raise InputError(f"already there, and nothing is overwritten: {', '.join(there)}; choose another folder")
    for target, text in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError as error:
            raise InputError(f"{error.filename}: is already there and no folder; choose another folder") from None
        except NotADirectoryError:
            raise InputError(f"{target.parent}: cannot be made, because a file is in its place") from None
        except OSError as error:
            raise InfrastructureError(f"{target}: cannot be written: {error.strerror}") from None
    return list(targets)
