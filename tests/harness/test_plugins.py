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


BROKEN = """
import sys
from parrots import Parrot
from trueup.harness.agents import Capabilities, PromptedAgent

def agent(**more):
    return type("Agent", (Parrot,), {"name": "odd", **more})

Number = agent(name=5)
Listed = agent(name=["odd"])
Empty = agent(name="")
Prefixed = agent(name="acp:odd")
Blank = agent(name="odd one")
Mapped = agent(capabilities={"resume": True})
Program = agent(program=7)
Install = agent(install=None)
Vendors = agent(vendors=["openai"])
Reserved = agent(name="auto")
Needy = agent(__init__=lambda self: None)

class Raising:
    def __get__(self, owner, kind):
        raise RuntimeError("no name today")

Nameless = agent(name=Raising())
"""
QUITS = "import sys\nsys.exit('this plugin has had enough')\n"
LOOPS = "def f():\n    return f()\nf()\n"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("quits:Agent", "SystemExit: this plugin has had enough"),
        ("loops:Agent", "RecursionError"),
        ("syntax:Agent", "SyntaxError"),
        ("broken:Number", "name"),
        ("broken:Listed", "name"),
        ("broken:Empty", "name"),
        ("broken:Prefixed", "name"),
        ("broken:Blank", "name"),
        ("broken:Nameless", "no name today"),
        ("broken:Reserved", "there is an agent 'auto' already"),
        ("broken:Mapped", "capabilities"),
        ("broken:Program", "program"),
        ("broken:Install", "install"),
        ("broken:Vendors", "vendors"),
        ("broken:Needy", "TypeError"),
        ("broken", "broken is no subclass of"),
        ("no value at all!", "left out"),
    ],
)
def test_whatever_is_wrong_with_a_plugin_is_the_plugins(distribution, value, complaint):
    folder = distribution(odd=value, parrot="parrots:Parrot")
    for name, text in {"quits": QUITS, "loops": LOOPS, "syntax": "def (", "broken": BROKEN}.items():
        (folder / f"{name}.py").write_text(text)
    try:
        names = harness_names({"HOME": str(folder)}, folder)
        (said,) = plugin_complaints()
    finally:
        sys.modules.pop("broken", None)
    assert {"parrot", "opencode", "claude-code"} <= set(names)
    assert "odd" not in names
    assert said.startswith("plugin 'odd' of parrots is left out: ")
    assert complaint in said


def test_of_two_plugins_with_one_name_the_first_is_there(distribution):
    folder = distribution(one="parrots:Parrot", two="parrots:Parrot")
    assert harness_names({"HOME": str(folder)}, folder).count("parrot") == 1
    assert plugin_complaints() == ("plugin 'two' of parrots is left out: there is an agent 'parrot' already",)
