"""Skills on the real Claude Code and codex, and on opencode, gemini and pi, with a scripted model in the place of theirs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from skill_desk import Desk, mocks
from trueup.skills._case import Match, Mock, Stub
from trueup.skills._model import MockCall, Needs
from trueup.testing import ScriptedModel, Text, Tool

pytestmark = pytest.mark.agents

DONE = Text("DONE")
PROGRAMS = {"claude-code": "claude", "codex": "codex"}
MODELS = {
    "claude-code": "claude-sonnet-4-5",
    "codex": "gpt-5",
    "opencode": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "pi": "gpt-5",
}
USES = {
    "claude-code": Tool("Skill", {"skill": "heron"}),
    "codex": Tool.shell("cat .agents/skills/heron/SKILL.md"),
    "gemini": Tool("activate_skill", {"name": "heron"}),
    "pi": Tool.read(".pi/skills/heron/SKILL.md"),
}
# Where each finds skills of its user: the same skill is there too, in other words, and one more.
OF_THE_USER = (
    ".claude/skills",
    ".codex/skills",
    ".agents/skills",
    ".gemini/skills",
    ".pi/agent/skills",
)
IN_FOLDER, AT_HOME, OTHER = "About herons.", "ABOUT-HERONS-AT-HOME", "ABOUT-EGRETS-AT-HOME"


class Scene(Desk):
    """A desk with the real programs."""

    def __init__(self, root: Path, programs: dict[str, Path], more: str = "") -> None:
        super().__init__(root)
        for name, program in programs.items():
            (self.programs / name).symlink_to(program)
        scratch = root / "scratch"
        scratch.mkdir()
        self.environ |= {
            "PATH": f"{self.programs}:{more}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(scratch),
            "CLAUDE_CODE_TMPDIR": str(scratch),
            "GEMINI_API_KEY": "sk-scripted",
        }
        for place in OF_THE_USER:
            for name, words in (("heron", AT_HOME), ("egret", OTHER)):
                folder = self.home / place / name
                folder.mkdir(parents=True)
                (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {words}\n---\nNothing.\n")

    def reach(self, model: ScriptedModel) -> None:
        self.environ |= {
            "ANTHROPIC_BASE_URL": model.url,
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": model.url,
        }

    def bare(self) -> dict[str, object]:
        """What the arm without the skill is asked with."""
        folder = self.folder.parent / "bare"
        folder.mkdir()
        return {"skill": None, "folder": folder}

    async def turn(self, model: ScriptedModel, *said: str, platform: str, **more):
        self.reach(model)
        return await self.respond(*said, platform=platform, model=MODELS[platform], **more)


@pytest.fixture
def scene(tmp_path: Path, agent_programs) -> Scene:
    return Scene(tmp_path, agent_programs)


@pytest.fixture
def other_scene(tmp_path: Path, npm_agents) -> Scene:
    return Scene(tmp_path, {}, os.fspath(npm_agents))


async def offers_and_shows_activation(scene: Scene, platform: str) -> None:
    async with ScriptedModel([USES[platform], DONE, USES[platform], DONE]) as model:
        used = await scene.turn(model, "What of herons?", platform=platform, delivery="install")
        without = await scene.turn(model, "What of herons?", platform=platform, delivery="install", **scene.bare())
        offered, bare_offered = (model.asked[number].raw.decode() for number in (0, 2))
    assert (used.message, used.activated, without.activated) == ("DONE", True, None)
    assert IN_FOLDER in offered
    assert "What of herons?" in model.asked[0].prompt
    assert not any(words in offered for words in (AT_HOME, OTHER))
    assert not any(words in bare_offered for words in (IN_FOLDER, AT_HOME, OTHER))


@pytest.mark.parametrize("platform", ["claude-code", "codex"])
async def test_a_skill_is_offered_and_used_and_unknown_to_the_arm_without_it(scene, platform):
    await offers_and_shows_activation(scene, platform)


@pytest.mark.parametrize("platform", ["claude-code", "codex"])
async def test_a_skill_that_the_model_leaves_alone_is_not_activated(scene, platform):
    async with ScriptedModel([Tool.shell("ls -a"), DONE]) as model:
        turn = await scene.turn(model, "What of herons?", platform=platform, delivery="install")
    assert (turn.message, turn.activated, len(turn.events)) == ("DONE", False, 2)


@pytest.mark.parametrize("platform", ["gemini", "pi"])
async def test_so_it_is_with_other_agents(other_scene, platform):
    await offers_and_shows_activation(other_scene, platform)


async def test_opencode_offers_the_skill_of_the_folder_and_none_of_the_user(other_scene):
    # Of two of one name it takes either, which is refused.
    for place in (".claude", ".agents"):
        shutil.rmtree(other_scene.home / place / "skills" / "heron")
    async with ScriptedModel([DONE]) as model:
        turn = await other_scene.turn(model, "What of herons?", platform="opencode", delivery="install")
        offered = model.asked[0].raw.decode()
    assert turn.activated is False
    assert IN_FOLDER in offered
    assert not any(words in offered for words in (AT_HOME, OTHER))


@pytest.mark.parametrize("platform", ["claude-code", "codex"])
async def test_a_skill_of_200_kb_is_a_system_prompt_also_when_the_session_goes_on(scene, platform):
    long = scene.write_skill(scene.folder.parent / "skills" / "long", "Herons wade, herons wait. " * 8000)
    async with ScriptedModel([Text("ONE"), Text("TWO")]) as model:
        first = await scene.turn(model, "What of herons?", platform=platform, skill=long)
        said = ("What of herons?", first.message, "And egrets?")
        second = await scene.turn(model, *said, platform=platform, skill=long, session=first.session_id)
        began, went_on = model.asked
    assert (first.message, second.message, second.notes) == ("ONE", "TWO", ())
    assert all(long.instructions.strip() in request.raw.decode() for request in (began, went_on))
    assert long.instructions[:50] not in went_on.prompt
    assert went_on.prompt.strip().endswith("And egrets?")


async def test_stubs_answer_in_the_order_of_the_cell_and_nothing_real_runs(scene):
    status = Mock(match=Match(tool="bash", contains="jobctl"), stub=["queued", Stub(output="it's failed", exit_code=3)])
    read = Mock(match=Match(tool="read"), name="config", rewrite={"file_path": str(scene.folder / "fixture.txt")})
    danger = Mock(match=Match(contains="touch bad"), name="danger", deny="not in this house")
    (scene.folder / "fixture.txt").write_text("a fixture")
    ask = Tool.shell("jobctl status > real.txt")
    script = [USES["claude-code"], ask, Tool.read("/prod.txt"), Tool.shell("touch bad"), Text("ONE"), ask, Text("TWO")]
    async with ScriptedModel(script) as model:
        scene.reach(model)
        provider = scene.provider(delivery="install")
        asked = {"platform": "claude-code", "model": MODELS["claude-code"], **mocks(status, read, danger)}
        first = await provider.respond(scene.request("Go.", **asked))
        again = await provider.respond(scene.request("Go.", "ONE", "On.", session=first.session_id, **asked))
        told = [result for request in (model.asked[4], model.asked[6]) for result in request.tool_results]
    assert first.activated is True
    assert sorted(file.name for file in scene.folder.iterdir()) == [".claude", "fixture.txt"]
    assert [call.action for call in first.mock_calls] == ["allow", "stub", "rewrite", "deny"]
    assert first.mock_calls[2] == MockCall(
        tool="Read", input={"file_path": "/prod.txt"}, action="rewrite", rule=1, mock="config"
    )
    assert "queued" in told[1]
    assert "a fixture" in told[2]
    assert "not in this house" in told[3]
    assert "it's failed" in told[-1]
    assert [event.ok for event in again.events if event.kind == "tool_result"] == [False]


async def test_codex_denies_what_a_mock_denies(scene):
    danger = Mock(match=Match(contains="touch bad"), name="danger", deny="no")
    script = [Tool.shell("touch good"), Tool.shell("touch bad"), DONE]
    async with ScriptedModel(script) as model:
        turn = await scene.turn(model, "Go.", platform="codex", **mocks(danger))
    assert sorted(file.name for file in scene.folder.iterdir()) == ["good"]
    assert [(call.action, call.mock) for call in turn.mock_calls] == [("allow", None), ("deny", "danger")]
    assert turn.notes == ("codex: the message of a mock's `deny` is not told to the model",)


async def test_versions_are_those_of_the_programs(scene):
    versions = await scene.provider(delivery="install").prepare(list(PROGRAMS), Needs(activation=True, judge=True))
    assert all(version and version[0].isdigit() for version in versions.values())
