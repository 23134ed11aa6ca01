"""Two versions of a skill, compared by case."""

from __future__ import annotations

from random import Random

import pytest

from trueup.skills._stats import Conclusion, Trial, adjusted, compare
from trueup.skills._stats._comparison import mcnemar


def trials(passes_by_case, platform="p"):
    return [
        Trial(case=str(case), platform=platform, model="m", passed=bool(passed))
        for case, passes in enumerate(passes_by_case)
        for passed in (passes if isinstance(passes, list) else [passes])
    ]


@pytest.mark.parametrize(
    ("improved", "worsened", "p_value"),
    # By R: binom.test(improved, improved + worsened)$p.value
    [(0, 0, 1), (1, 0, 1), (5, 0, 0.0625), (6, 0, 0.03125), (10, 2, 0.03857422), (3, 3, 1), (2, 9, 0.06542969)],
)
def test_the_test_is_mcnemars_exact_one(improved, worsened, p_value):
    assert mcnemar(improved, worsened) == pytest.approx(p_value)


def test_ten_thousand_cases_are_tested_exactly():
    assert mcnemar(5000, 5000) == 1
    assert mcnemar(5300, 4700) == pytest.approx(2.1e-9, rel=0.05)


def test_what_turned_green_in_twenty_cases_is_better():
    found = compare(trials([0] * 20), trials([1] * 15 + [0] * 5))
    assert found.conclusion is Conclusion.BETTER
    assert (found.improved, found.worsened, found.difference) == (15, 0, 0.75)
    assert 0.5 < found.low < 0.75 < found.high < 1


def test_what_turned_red_is_worse():
    assert compare(trials([1] * 12), trials([0] * 12)).conclusion is Conclusion.WORSE


def test_three_cases_show_nothing_even_if_all_turn_green_in_fifty_repeats():
    found = compare(trials([[0] * 50] * 3), trials([[1] * 50] * 3))
    assert found.difference == 1
    assert found.conclusion is Conclusion.INCONCLUSIVE
    assert found.detectable is None


def test_no_difference_is_inconclusive_and_says_what_could_have_been_shown():
    found = compare(trials([1, 0] * 10), trials([1, 0] * 10))
    assert (found.difference, found.p_value, found.conclusion) == (0, 1, Conclusion.INCONCLUSIVE)
    assert found.low < 0 < found.high
    assert found.detectable == pytest.approx(6 / 20)


def test_more_cases_can_show_smaller_differences():
    chance = Random(1)
    found = [
        compare(trials([chance.random() < 0.5 for _ in range(n)]), trials([chance.random() < 0.5 for _ in range(n)]))
        for n in (20, 200, 2000)
    ]
    assert [each.detectable for each in found] == sorted((each.detectable for each in found), reverse=True)
    assert found[-1].detectable < 0.08


def test_the_smallest_effect_is_found_about_four_times_of_five():
    chance = Random(3)
    before = [chance.random() < 0.5 for _ in range(200)]
    detectable = compare(trials(before), trials([chance.random() < 0.5 for _ in range(200)])).detectable
    seen = 0
    for _ in range(40):
        first = [chance.random() < 0.5 - detectable / 2 for _ in range(200)]
        second = [chance.random() < 0.5 + detectable / 2 for _ in range(200)]
        seen += compare(trials(first), trials(second)).conclusion is Conclusion.BETTER
    assert 24 <= seen <= 39


def test_only_what_both_have_is_compared():
    found = compare([*trials([0, 0]), *trials([1, 1], platform="q")], trials([1]))
    assert (found.cases, found.rate_before, found.rate_after) == (1, 0, 1)
    assert compare(trials([1]), trials([1], platform="q")) is None


def test_a_case_on_two_platforms_is_one_case():
    both = compare(
        [*trials([0] * 4), *trials([0] * 4, platform="q")], [*trials([1] * 4), *trials([1] * 4, platform="q")]
    )
    assert (both.cases, both.improved) == (4, 4)
    assert both.conclusion is Conclusion.INCONCLUSIVE


def test_of_many_comparisons_none_is_significant_by_luck():
    lucky = compare(trials([0] * 6 + [1] * 6), trials([1] * 12))
    assert lucky.conclusion is Conclusion.BETTER
    assert [each.conclusion for each in adjusted([lucky] * 1)] == [Conclusion.BETTER]
    nothing = compare(trials([1] * 12), trials([1] * 12))
    corrected = adjusted([nothing, lucky, nothing, nothing])
    assert corrected[1].p_value == pytest.approx(4 * lucky.p_value)
    assert corrected[1].conclusion is Conclusion.INCONCLUSIVE


def test_what_was_shown_could_have_been_shown():
    found = compare(trials([[1, 0, 0]] * 7), trials([[1, 1, 0]] * 6 + [[1, 0, 0]]))
    assert found.conclusion is Conclusion.BETTER
    assert found.detectable <= found.difference


def test_few_cases_that_fell_far_and_many_that_rose_a_little_show_nothing():
    before = [[0] * 10] * 30 + [[1] * 10] * 12
    after = [[1] + [0] * 9] * 30 + [[0] * 10] * 12
    found = compare(trials(before), trials(after))
    assert found.high < 0
    assert found.improved > found.worsened
    assert found.p_value < 0.05
    assert found.conclusion is Conclusion.INCONCLUSIVE


@pytest.mark.parametrize("cases", [4, 8])
def test_the_interval_of_a_difference_covers_it_about_as_often_as_it_says(cases):
    chance, times, covered = Random(5), 150, 0
    for _ in range(times):
        rates = [chance.uniform(0.1, 0.7) for _ in range(cases)]
        first, second = ([[chance.random() < rate + by for _ in range(5)] for rate in rates] for by in (0, 0.2))
        found = compare(trials(first), trials(second))
        covered += found.low <= 0.2 <= found.high
    assert covered >= 0.92 * times


def test_two_versions_that_are_the_same_are_told_apart_no_oftener_than_by_chance():
    chance, told_apart = Random(11), 0
    for _ in range(100):
        rates = [chance.random() for _ in range(20)]
        first, second = ([[chance.random() < rate for _ in range(3)] for rate in rates] for _ in range(2))
        told_apart += compare(trials(first), trials(second)).conclusion is not Conclusion.INCONCLUSIVE
    assert told_apart <= 8
