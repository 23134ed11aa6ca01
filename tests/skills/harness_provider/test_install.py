"""A skill that the agent is to find by itself: where it is put, and whether the agent used it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_recordings import RECORDED
from skill_desk import ARGV, WORDS, argv_told, script
from trueup.core.errors import InputError, Kind
from trueup.skills._harness_provider._activation import is_activated
from trueup.skills._harness_provider._install import install
from trueup.skills._model import ProviderError, SkillRef, ToolEvent

HERON = SkillRef("heron", "/skills/heron", WORDS)


@pytest.mark.parametrize(("platform", "place"), [("claude-code", ".claude/skills"), ("codex", ".agents/skills")])
async def test_the_folder_is_put_where_the_harness_looks(desk, platform, place):
    Path(desk.skill.path, "scripts").mkdir()
    Path(desk.skill.path, "scripts", "wade.sh").write_text("echo wading\n")
    Path(desk.skill.path, "scripts", "wade.sh").chmod(0o755)
    turn = await desk.respond(script("say Done."), platform=platform, delivery="install")
    copy = desk.folder / place / "heron"
    assert WORDS in (copy / "SKILL.md").read_text()
    assert os.access(copy / "scripts" / "wade.sh", os.X_OK)
    assert (turn.activated, turn.notes) == (False, ())


async def test_it_is_told_no_system_prompt_and_what_the_user_says_as_it_is(desk):
    turn = await desk.respond(script(ARGV, "say Done."), platform="codex", delivery="install")
    assert not any("developer_instructions" in word for word in argv_told(turn))


async def test_claude_is_told_to_look_in_the_folder_and_nowhere_else(desk):
    with_skill = await desk.respond(script(ARGV, "say Done."), delivery="install")
    without = await desk.respond(script(ARGV, "say Done."), delivery="install", skill=None)
    assert "--setting-sources=project" in argv_told(with_skill)
    assert argv_told(with_skill) == argv_told(without)


async def test_the_arm_without_the_skill_has_none_in_its_folder(desk):
    turn = await desk.respond(script("say Done."), delivery="install", skill=None)
    assert list(desk.folder.iterdir()) == []
    assert turn.activated is None


async def test_codex_is_kept_from_each_skill_of_the_user(desk):
    linked = desk.write_skill(desk.home / "elsewhere" / "heron")
    for place in (".codex/skills/birds/egret", ".agents/skills/heron"):
        desk.write_skill(desk.home / place)
    (desk.home / ".codex" / "skills" / "heron").symlink_to(linked.path)
    turn = await desk.respond(script(ARGV, "say Done."), platform="codex", delivery="install", skill=None)
    [off] = [word for word in argv_told(turn) if word.startswith("skills.config=")]
    for place in (".codex/skills/birds/egret", ".codex/skills/heron", ".agents/skills/heron"):
        assert f'{{path="{desk.home}/{place}/SKILL.md",enabled=false}}' in off


async def test_a_skill_is_put_there_once_and_stays_as_the_agent_left_it(desk):
    file = ".claude/skills/heron/SKILL.md"
    first = await desk.respond(script(f"shell echo more >> {file}", "say One."), delivery="install")
    await desk.respond("go", first.message, script("say Two."), delivery="install", session=first.session_id)
    assert (desk.folder / file).read_text().endswith("more\n")


async def test_the_agent_is_seen_to_use_it_or_to_leave_it_alone(desk):
    used = await desk.respond(script('tool Skill {"skill": "heron"}', "say Done."), delivery="install")
    read = await desk.respond(script("read .claude/skills/heron/SKILL.md", "say Done."), delivery="install")
    missed = await desk.respond(script("read .claude/skills/egret/SKILL.md", "say Done."), delivery="install")
    assert (used.activated, read.activated, missed.activated) == (True, True, False)


def called(name: str, kind: str, given: dict[str, object], output: str = "", ok: bool = True) -> list[ToolEvent]:
    call = ToolEvent(kind="tool_call", name=name, tool_kind=kind, input=given, id="1")
    return [call, ToolEvent(kind="tool_result", name=name, tool_kind=kind, output=output, ok=ok, id="1")]


@pytest.mark.parametrize(
    ("kind", "given", "output", "expected"),
    [
        ("read", "/cell/.agents/skills/heron/SKILL.md", "", True),
        ("shell", "sed -n '1,200p' /cell/.agents/skills/heron/SKILL.md", "", True),
        ("shell", "cd .agents/skills/heron && cat SKILL.md", "", True),
        ("shell", "cat .agents/skills/*/*.md", f"---\nname: heron\n---\n{WORDS}\n", True),
        ("read", ".agents/skills/egret/SKILL.md", "", False),
        ("shell", "ls -R .agents/skills", "heron:\nSKILL.md\n", False),
        ("write", ".agents/skills/heron/SKILL.md", "", False),
        ("shell", "echo herons", "herons", False),
    ],
)
def test_reading_its_words_is_activation_and_nothing_less(kind, given, output, expected):
    assert is_activated(HERON, called("tool", kind, {"it": given}, output)) is expected


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("activate_skill", {"name": "heron"}, True),
        ("skill", {"name": "heron"}, True),
        ("Skill", {"skill": "birds:heron"}, True),
        ("skills__load_skill", {"name": "heron"}, True),
        ("Skill", {"skill": "heron-watching"}, False),
        ("TodoWrite", {"todos": [{"content": "use heron/SKILL.md"}]}, False),
    ],
)
def test_every_harness_has_its_own_word_for_it(name, given, expected):
    assert is_activated(HERON, called(name, "other", given)) is expected


def test_a_call_that_failed_activated_nothing():
    assert not is_activated(HERON, called("Skill", "other", {"skill": "heron"}, "Unknown skill", ok=False))


def test_links_inside_stay_links_and_those_that_lead_out_still_lead_there(desk, tmp_path):
    folder = Path(desk.skill.path)
    (tmp_path / "skills" / "shared.md").write_text("shared")
    (folder / "shared.md").symlink_to("../shared.md")
    (folder / "again.md").symlink_to("SKILL.md")
    (folder / "loop").symlink_to(".")
    (folder / "knot").symlink_to("knot")
    copy = install(desk.skill, desk.folder / ".claude" / "skills")
    assert (copy / "shared.md").read_text() == "shared"
    assert ((copy / "again.md").readlink(), (copy / "loop").readlink()) == (Path("SKILL.md"), Path())
    assert (copy / "knot").is_symlink()


def test_what_stood_there_gives_way(desk):
    place = desk.folder / ".claude" / "skills"
    (place / "heron" / "old").mkdir(parents=True)
    copy = install(desk.skill, place)
    assert sorted(file.name for file in copy.iterdir()) == ["SKILL.md"]


@pytest.mark.parametrize("delivery", ["system", "install"])
async def test_opencode_is_told_to_offer_no_skill_of_the_user(desk, delivery):
    desk.add_program("opencode", f'echo "$OPENCODE_CONFIG_CONTENT" > "$HOME/told"; cat {RECORDED}/opencode/ok.jsonl')
    await desk.respond("hi", platform="opencode", delivery=delivery, skill=None)
    assert json.loads((desk.home / "told").read_text())["permission"]["skill"] == {"*": "deny"}


@pytest.mark.parametrize("arm", ["with", "without"])
async def test_a_folder_below_other_skills_is_no_place_for_a_cell(desk, tmp_path, arm):
    skill = desk.skill if arm == "with" else None
    desk.write_skill(tmp_path / ".claude" / "skills" / "egret")
    with pytest.raises(ProviderError, match="would also see the skills in .*: set TMPDIR"):
        await desk.respond(script("say Done."), delivery="install", skill=skill)
    (desk.folder / ".git").mkdir()
    assert (await desk.respond(script("say Done."), delivery="install", skill=skill)).message == "Done."


async def test_the_home_is_no_such_folder(desk):
    cell = desk.home / "tmp" / "cell"
    cell.mkdir(parents=True)
    desk.write_skill(desk.home / ".claude" / "skills" / "heron")
    assert (await desk.respond(script("say Done."), delivery="install", folder=cell)).message == "Done."


def test_what_cannot_be_copied_is_said(desk):
    os.mkfifo(Path(desk.skill.path, "pipe"))
    with pytest.raises(InputError, match="skill heron cannot be copied .* is a named pipe"):
        install(desk.skill, desk.folder / "place")


@pytest.mark.parametrize("place", [".config/opencode/skills", ".claude/skills", ".agents/skills"])
async def test_opencode_does_not_take_a_skill_of_the_user_for_that_of_the_folder(desk, place):
    desk.add_program("opencode", "exit 7")
    own = desk.write_skill(desk.home / place / "heron").path
    with pytest.raises(ProviderError, match=f"may use {own} instead") as raised:
        await desk.respond("hi", platform="opencode", delivery="install")
    assert raised.value.kind is Kind.INPUT
