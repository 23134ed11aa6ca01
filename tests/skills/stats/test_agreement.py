"""A judge against people."""

from __future__ import annotations

import pytest

from trueup.skills._stats import Rated, agreement_of


def rated(pairs, per_case=1):
    return [
        Rated(case=str(number // per_case), person=person, judge=judge) for number, (person, judge) in enumerate(pairs)
    ]


def test_kappa_is_cohens():
    # The textbook's 20 / 5 / 10 / 15: agreement 0.7, kappa 0.4.
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = agreement_of(rated(pairs)).boolean
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_low < 0.4 < found.kappa_high
    assert (found.false_yes, found.false_no) == (10, 5)
    assert found.bias == pytest.approx(0.1)


def test_a_judge_that_always_says_yes_agrees_often_and_shows_nothing():
    found = agreement_of(rated([(True, True)] * 9 + [(False, True)])).boolean
    assert found.agreement == 0.9
    assert found.kappa == 0


def test_nobody_ever_said_no_so_there_is_no_kappa():
    found = agreement_of(rated([(True, True)] * 5)).boolean
    assert (found.agreement, found.kappa) == (1, None)
    assert found.low == pytest.approx(0.5655, abs=1e-4)


def test_ten_labels_of_one_case_are_one_case():
    found = agreement_of(rated([(True, True), (False, False)] * 5, per_case=10)).boolean
    assert (found.labels, found.cases) == (10, 1)
    assert found.low == pytest.approx(0.2065, abs=1e-4)


def test_scores_have_a_bias_an_error_and_a_weighted_kappa():
    found = agreement_of(rated([(1, 2), (5, 6), (9, 10), (3, 4)])).numeric
    assert (found.bias, found.error) == (1, 1)
    # By the definition: 1 - mean((j - p)^2) / mean over all pairs.
    people, judges = [1, 5, 9, 3], [2, 6, 10, 4]
    chance = sum((j - p) ** 2 for j in judges for p in people) / 16
    assert found.kappa == pytest.approx(1 - 1 / chance)


def test_one_case_shows_nothing_about_others():
    scores = agreement_of(rated([(1, 2), (5, 9)], per_case=2)).numeric
    assert (scores.cases, scores.low, scores.high) == (1, None, None)
    truths = agreement_of(rated([(True, True), (False, True), (False, False)], per_case=3)).boolean
    assert (truths.low, truths.high) == (0, 1)
    assert (truths.kappa_low, truths.kappa_high) == (-1, 1)


def test_yes_and_no_is_kept_apart_from_scores():
    found = agreement_of(rated([(True, True), (7.0, 6.0)]))
    assert found.boolean.labels == found.numeric.labels == 1


def test_no_labels_show_nothing():
    found = agreement_of([])
    assert found.boolean is None
    assert found.numeric is None
