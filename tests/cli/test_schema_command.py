"""`trueup schema` as a user calls it."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest


@pytest.mark.parametrize(
    ("name", "title", "good", "bad"),
    [
        (
            "case",
            "trueup skill test case",
            {"skill": "s", "input": "i", "evals": [{"type": "activated"}]},
            {"skill": "s"},
        ),
        ("config", "trueup skill test configuration", {"models": ["haiku"]}, {"modles": ["haiku"]}),
        ("report", "trueup skill test report", None, {"passed": True}),
    ],
)
async def test_a_schema_tells_good_from_bad(trueup, name, title, good, bad):
    schema = json.loads((await trueup("schema", name)).stdout.text)
    validator = jsonschema_rs.validator_for(schema)
    assert schema["title"] == title
    assert good is None or validator.is_valid(good)
    assert not validator.is_valid(bad)
