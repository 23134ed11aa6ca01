"""Rates of cases, with the case as the unit."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from trueup.skills._stats import Trial, case_rates, group_rate, pass_all, pass_at


def trials(passes_by_case, platform="p", model="m"):
    return [
        Trial(case=case, platform=platform, model=model, passed=bool(passed))
        for case, passes in passes_by_case.items()
        for passed in passes
    ]


@pytest.mark.parametrize(("passed", "judged", "k"), [(0, 3, 1), (1, 3, 2), (2, 5, 3), (5, 5, 4), (3, 6, 6), (4, 6, 1)])
def test_pass_at_k_and_pass_all_k_are_the_share_of_all_choices_of_k_repeats(passed, judged, k):
    repeats = [True] * passed + [False] * (judged - passed)
    chosen = list(combinations(repeats, k))
    assert pass_at(passed, judged, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_all(passed, judged, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_the_rate_is_the_mean_of_the_cases_rates_however_often_each_was_repeated():
    rate = group_rate(trials({"often": [1] * 98 + [0] * 2, "once": [0]}))
    assert rate.rate == pytest.approx(0.49)
    assert (rate.cases, rate.judged, rate.passed) == (2, 101, 98)


def test_a_hundred_repeats_of_two_cases_are_no_surer_than_two_cases():
    few = group_rate(trials({"a": [1], "b": [0]}))
    many = group_rate(trials({"a": [1] * 100, "b": [0] * 100}))
    assert (many.low, many.high) == (few.low, few.high)
    assert few.low < 0.01
    assert few.high > 0.99


def test_cases_that_all_pass_leave_the_doubt_of_so_few_cases():
    rate = group_rate(trials({name: [1, 1, 1] for name in "abc"}))
    assert (rate.rate, rate.high, rate.method) == (1, 1, "wilson")
    assert rate.low == pytest.approx(0.4385, abs=1e-4)


def test_nothing_judged_is_no_rate():
    assert group_rate([]) is None
    assert case_rates([]) == []


def test_pass_at_k_is_told_for_as_many_repeats_as_there_were():
    rate = group_rate(trials({"a": [1, 0, 1], "b": [0]}))
    assert list(rate.pass_at) == [1, 2, 3]
    assert rate.pass_at[1] == pytest.approx(1 / 3)
    assert rate.pass_at[3] == 1
    assert rate.pass_all[3] == 0


def test_the_rate_of_a_case_is_told_for_each_platform_and_model():
    found = case_rates([*trials({"a": [1, 0]}), *trials({"a": [1]}, platform="q")])
    assert [(each.platform, each.passed, each.judged) for each in found] == [("p", 1, 2), ("q", 1, 1)]
    assert found[0].low == pytest.approx(0.0945, abs=1e-4)


@pytest.mark.parametrize(("cases", "easy", "hard"), [(3, 4, 1), (5, 0.5, 0.5), (10, 9, 0.5), (20, 9, 0.5), (30, 4, 1)])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(cases, easy, hard):
    chance, truth, times = Random(7), easy / (easy + hard), 300
    covered = promised_too_much = 0
    for _ in range(times):
        # Cases differ in how hard they are, and each is repeated ten times.
        rates = [chance.betavariate(easy, hard) for _ in range(cases)]
        rate = group_rate(trials({n: [chance.random() < each for _ in range(10)] for n, each in enumerate(rates)}))
        covered += rate.low <= truth <= rate.high
        promised_too_much += rate.low > truth
    assert covered >= 0.92 * times
    assert promised_too_much <= 0.06 * times


def test_ten_thousand_cases_make_a_rate_sure():
    chance = Random(1)
    some = trials({n: [chance.random() < 0.8 for _ in range(2)] for n in range(10_000)})
    rate = group_rate(some)
    assert 0.78 < rate.low < 0.8 < rate.high < 0.82


def test_the_same_trials_give_the_same_interval():
    some = trials({str(n): [n % 3 == 0, n % 2 == 0] for n in range(20)})
    assert group_rate(some) == group_rate(some)


def test_thousands_of_repeats_are_told_in_a_few_numbers():
    rate = group_rate(trials({"a": [1, 0] * 2500}))
    assert list(rate.pass_at) == [*range(1, 11), 5000]
    assert (rate.pass_at[5000], rate.pass_all[5000]) == (1, 0)
