"""Text of others cannot act on a terminal."""

from __future__ import annotations

import pytest

from trueup.core.text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("over\rwritten", "over\\rwritten"),
        ("\x7f\x9b2J", "\\x7f\\x9b2J"),
        ("\u202egnp.exe\u2069", "\\u202egnp.exe\\u2069"),
        ("pa\u200bss \u200f\ufeff", "pa\\u200bss \\u200f\\ufeff"),
        ("👩\u200d🔬 नमस्\u200cते", "👩\u200d🔬 नमस्\u200cते"),
        ("a\tb\nü 🙂\xa0", "a\tb\nü 🙂\xa0"),
    ],
)
def test_what_acts_is_escaped_and_what_is_read_stays(text, shown):
    assert visible(text) == shown
