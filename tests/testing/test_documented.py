"""The examples of the documentation hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trueup.core.errors import InputError
from trueup.testing import Fault, ScriptedModel, parse_script
from trueup.testing.agent import find_script

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_in_python_holds(example):
    names = {}
    exec(example, names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        await test()


def test_the_example_in_words_is_a_script():
    prompt = re.search(r"^````text\n(.*?)^````$", PAGE, re.DOTALL | re.MULTILINE)[1]
    steps = parse_script(find_script(prompt))
    assert [len(step.parts) if not isinstance(step, Fault) else step.what for step in steps] == [2, 429, 2, 1, 1]


async def test_a_script_in_words_is_refused_when_it_is_given():
    with pytest.raises(InputError, match="dance"):
        ScriptedModel("dance")
