"""Agents that other distributions bring: a folder on the path of Python is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent_recordings import request
from trueup.core.errors import InputError
from trueup.harness import find_harness, harness_names, plugin_complaints
from trueup.harness._plugins import plugins

PLUGIN = """
from trueup.harness.agents import Capabilities, Listening, PromptedAgent
from trueup.harness import Invocation
import msgspec

class Said(msgspec.Struct, tag_field="type", tag="done"):
    text: str

class Ear(Listening):
    decoder = msgspec.json.Decoder(Said)

    def hear(self, record):
        self.text, self.succeeded = record.text, True
        return []

class Parrot(PromptedAgent):
    name = "parrot"
    program = "parrot"
    install = "find one in the woods"
    capabilities = Capabilities()

    def put(self, request):
        return Invocation(argv=(self._program,), stdin=request.prompt.encode())

    def converse(self, request):
        return Ear(request)

class Thief(Parrot):
    name = "opencode"

class Half(PromptedAgent):
    name = "half"
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Installs a distribution by its folders, as pip would leave them."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(**entries: str) -> Path:
        (tmp_path / "parrots.py").write_text(PLUGIN)
        info = tmp_path / "parrots-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[trueup.harnesses]\n{lines}")
        plugins.cache_clear()
        return tmp_path

    yield install
    plugins.cache_clear()
    sys.modules.pop("parrots", None)


async def test_a_plugins_agent_is_one_like_the_others(distribution, tmp_path):
    folder = distribution(parrot="parrots:Parrot")
    environ = {"PATH": str(folder), "HOME": str(folder)}
    assert "parrot" in harness_names(environ, folder)
    found = await find_harness("parrot", environ, folder).probe()
    assert (found.installed, found.note) == (False, "no `parrot` on PATH; find one in the woods")
    assert plugin_complaints() == ()


def test_what_a_plugins_agent_cannot_do_is_refused_too(distribution, tmp_path):
    distribution(parrot="parrots:Parrot")
    with pytest.raises(InputError, match="parrot cannot do what is asked of it: it cannot go on with a session"):
        plugins().agents["parrot"]().invoke(request(resume="x"), asks=False)


def test_a_broken_plugin_is_named_and_the_others_are_there(distribution, tmp_path):
    folder = distribution(
        broken="parrots:Missing",
        gone="no_such_module:Agent",
        half="parrots:Half",
        parrot="parrots:Parrot",
        text="parrots:PLUGIN",
        thief="parrots:Thief",
    )
    names = harness_names({"HOME": str(folder)}, folder)
    assert "parrot" in names
    assert names.count("opencode") == 1
    said = plugin_complaints()
    assert [each.split("'")[1] for each in said] == ["broken", "gone", "half", "text", "thief"]
    assert all("of parrots is left out: " in each for each in said)
    assert "No module named 'no_such_module'" in said[1]
    assert "does not say program" in said[2]
    assert "there is an agent 'opencode' already" in said[4]


def test_an_agent_that_only_a_broken_plugin_knows_is_told_of_with_the_reason(distribution, tmp_path):
    folder = distribution(gone="no_such_module:Agent")
    with pytest.raises(
        InputError, match=r"unknown agent 'gone'(.|\n)*plugin 'gone' of parrots is left out: ModuleNotF"
    ):
        find_harness("gone", {"HOME": str(folder)}, folder)
