"""Real agents do a task for a scripted model."""

from __future__ import annotations

import json
import os

import pytest

from trueup.core.process import Command, run
from trueup.testing import Answer, Fault, ScriptedModel, Text, Thinking, Tokens, Tool

pytestmark = pytest.mark.agents

EDIT = [
    Answer([Thinking("hm"), Text("Looking."), Tool.read("calc.py")], Tokens(input=10, output=5, cache_read=0)),
    Fault(500, retry_after=0.1),
    Answer([Tool.edit("calc.py", "a - b", "a + b"), Tool.write("sub/new.txt", "new\n")]),
    Tool.shell("cat calc.py"),
    "DONE",
]
IN_WORDS = """Make add() correct.

```script
read calc.py
edit calc.py "a - b", "a + b"
+ write sub/new.txt "new\\n"
say DONE
```
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return tmp_path / "repo"


def claude(program, url, prompt):
    words = ("-p", prompt, "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5")
    return (str(program), *words, "--permission-mode", "bypassPermissions"), {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def codex(program, url, prompt):
    provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "SCRIPTED_KEY"}
    settings = {
        "model_provider": "scripted",
        **{f"model_providers.scripted.{name}": value for name, value in provider.items()},
        "model_providers.scripted.request_max_retries": 2,
        "model_providers.scripted.supports_websockets": False,
        "analytics.enabled": False,
        "check_for_update_on_startup": False,
    }
    given = [word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    free = ("--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
    return (str(program), "exec", "--json", *free, "-m", "scripted-model", *given, prompt), {"SCRIPTED_KEY": "k"}


AGENTS = {"claude": claude, "codex": codex}


@pytest.fixture
def work(project, tmp_path, agent_programs):
    async def start(name, model, prompt):
        argv, env = AGENTS[name](agent_programs[name], model.url, prompt)
        (tmp_path / "home").mkdir()
        homes = {"HOME": str(tmp_path / "home"), "CODEX_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        finished = await run(Command(argv=argv, cwd=project, env={**homes, **env}, timeout_secs=60))
        assert finished.exit_code == 0, finished.stdout.text + finished.stderr.text
        return [json.loads(line) for line in finished.stdout.text.splitlines() if line.startswith("{")]

    return start


@pytest.mark.parametrize("name", AGENTS)
async def test_a_real_agent_edits_a_file_by_a_script(work, project, name):
    async with ScriptedModel(EDIT) as model:
        events = await work(name, model, "Make add() correct.")
    assert (project / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert (project / "sub" / "new.txt").read_text() == "new\n"
    assert "return a + b" in model.asked[-1].tool_results[-1]
    assert [getattr(request.answered_by, "what", "said") for request in model.asked] == ["said", 500, *["said"] * 3]
    used = next(event["usage"] for event in reversed(events) if "usage" in event)
    assert used["output_tokens"] == 5 + 3 * 50


@pytest.mark.parametrize("name", AGENTS)
async def test_a_real_agent_is_scripted_by_its_prompt(work, project, name):
    async with ScriptedModel() as model:
        await work(name, model, IN_WORDS)
    assert (project / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert (project / "sub" / "new.txt").read_text() == "new\n"
    assert len(model.asked) == 3
