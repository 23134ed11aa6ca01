"""What only tests and verifying scripts use is theirs; what the product uses as well is the product."""

from __future__ import annotations

import pytest

from trueup.contract import Check, Contract
from trueup.contract._protection import Protection

PRODUCT = ["calc.py", "cli.py"]


def protection(command: str, files: dict[str, str], description: str = "d") -> Protection:
    task = Contract(description=description, checks=[Check(name="check0", command=command)])
    return Protection.of(task, [*PRODUCT, *files], files.get)


HELPED = {
    "scripts/check.py": "import calc, helpers\n",
    "scripts/helpers.py": "from compare import same\n",
    "scripts/compare.py": "def same(a, b): return a == b\n",
    "tests/test_calc.py": "import calc\nfrom asserts import same\n",
    "asserts.py": "def same(case, a, b): case.assertEqual(a, b)\n",
    "test/calc.test.js": "const { same } = require('../lib/assertions');\n",
    "lib/assertions.js": "exports.same = (a, b) => a === b\n",
}


@pytest.mark.parametrize("path", ["scripts/helpers.py", "scripts/compare.py", "asserts.py", "lib/assertions.js"])
def test_a_helper_of_the_tests_is_protected(path):
    judged = protection("python3 scripts/check.py", files=HELPED)
    assert str(judged.covers(path)).startswith("used by ")
    assert judged.covers("calc.py") is None


def test_a_helper_that_the_product_uses_or_a_test_is_about_is_the_product():
    used = protection("pytest", files={**HELPED, "calc.py": "from asserts import same\n"})
    tested = protection("pytest", files={**HELPED, "tests/test_asserts.py": "import asserts\n"})
    assert (used.covers("asserts.py"), tested.covers("asserts.py")) == (None, None)


READS = (
    "import json\nimport calc\nfor a, b, want in json.load(open('cases.json')):\n    assert calc.add(a, b) == want\n"
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cases.json", READS),
        ("data/sums.txt", READS.replace("'cases.json'", "'data/sums.txt'")),
        ("data/sums.txt", READS.replace("'cases.json'", "Path('data') / 'sums.txt'")),
        ("cases.json", READS.replace("import calc\n", "")),
    ],
)
def test_data_that_only_a_test_reads_is_protected(path, text):
    files = {"tests/test_calc.py": text, path: "[[2, 3, 5]]\n"}
    assert str(protection("pytest", files=files).covers(path)) == "used by tests/test_calc.py"


@pytest.mark.parametrize(
    ("files", "description"),
    [
        ({"calc.py": "import json\nRATES = json.load(open('rates.json'))\n"}, "d"),
        ({"calc.py": "RATES = load('rates')\n"}, "d"),
        ({}, "Mend the rates in rates.json"),
        ({"tests/test_rates.py": "import calc\nassert calc.load('rates.json')\n"}, "d"),
        ({"tests/test_calc.py": "import json\nassert json.load(open('rates.json'))['EUR'] == 1\n"}, "d"),
    ],
)
def test_data_that_the_product_reads_or_that_is_what_was_asked_for_is_free(files, description):
    files = {"tests/test_calc.py": READS.replace("cases.json", "rates.json"), "rates.json": "{}", **files}
    assert protection("pytest", files, description).covers("rates.json") is None
