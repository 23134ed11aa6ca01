"""How sure a rate is."""

from __future__ import annotations

import random

import pytest

from trueup.core.rates import wilson


# From tables of Wilson's score interval without a continuity correction.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0, 0.2775),
        (10, 10, 0.7225, 1),
        (1, 1, 0.2065, 1),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_the_interval_is_wilsons(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    chance = random.Random(7)
    covered = 0
    for _ in range(2000):
        low, high = wilson(sum(chance.random() < 0.7 for _ in range(20)), 20)
        covered += low <= 0.7 <= high
    assert 0.93 < covered / 2000 < 0.98


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (2, 1), (-1, 5)])
def test_what_is_no_rate_has_no_interval(successes, trials):
    with pytest.raises(ValueError, match="is no rate"):
        wilson(successes, trials)
