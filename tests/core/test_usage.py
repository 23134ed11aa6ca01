"""Usage: unknown is not zero."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from trueup.core.usage import Usage

amounts = st.none() | st.integers(min_value=0, max_value=10**9)
usages = st.builds(Usage, input_tokens=amounts, output_tokens=amounts, cost_usd=amounts, incomplete=st.booleans())


def test_known_parts_add_up_and_the_sum_says_that_a_part_was_unknown():
    total = Usage(input_tokens=10) + Usage(input_tokens=5, output_tokens=3)
    assert (total.input_tokens, total.output_tokens, total.incomplete) == (15, 3, True)


def test_what_nobody_reported_stays_unknown_and_is_not_incomplete():
    total = Usage(input_tokens=1) + Usage(input_tokens=2)
    assert (total.input_tokens, total.cost_usd, total.incomplete) == (3, None, False)


def test_no_calls_are_a_known_zero():
    assert Usage.total([]).cost_usd == 0


def test_an_estimate_is_kept_apart_from_what_a_vendor_reported():
    total = Usage(cost_usd=1.0) + Usage(estimated_cost_usd=0.5)
    assert (total.cost_usd, total.estimated_cost_usd, total.incomplete) == (1.0, 0.5, True)


def test_tokens_that_were_estimated_are_in_no_other_field_and_none_of_them_is_a_known_zero():
    total = Usage(input_tokens=5, output_tokens=1) + Usage(input_tokens=7, output_tokens=2, estimated_tokens=40)
    assert (total.input_tokens, total.output_tokens, total.estimated_tokens) == (12, 3, 40)
    assert not total.incomplete


def test_unknown_amounts_are_absent_on_the_wire():
    assert msgspec.to_builtins(Usage(input_tokens=7)) == {"input_tokens": 7}


@given(usages, usages, usages)
def test_the_order_of_calls_does_not_matter(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
