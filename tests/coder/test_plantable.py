"""Where a check must not leave anything behind for the checks after it."""

from __future__ import annotations

from trueup.coder._plantable import plantable
from trueup.contract import Check, Contract

SCRIPT = Contract(description="d", checks=[Check(name="a", command="python3 scripts/check.py", cwd="app")])


def test_modules_of_python_can_be_hidden_from_where_checks_start_and_scripts_lie():
    places = plantable(["scripts/check.py"], SCRIPT)
    assert {"json.py", "app/json.py", "scripts/json.py", "scripts/json/__init__.py"} <= set(places)


def test_a_folder_of_tests_is_looked_at_for_what_runners_read_and_no_more():
    places = plantable(["pkg/tests/test_a.py"], SCRIPT)
    assert "pkg/tests/conftest.py" in places
    assert "pkg/tests/json.py" not in places


def test_a_name_that_python_has_not_is_nobodys_place():
    assert "calc.py" not in plantable(["scripts/check.py"], SCRIPT)
