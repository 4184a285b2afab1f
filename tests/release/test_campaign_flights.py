"""Campaign success: long enough stretches, each judged by its return and by the control beside it."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from gaelp.gates import load_gate
from gaelp.release.campaign_flights import FlightRules, cut_flights, success_rate
from gaelp.release.pairs import ReleaseDays, cut_pairs


@pytest.fixture(scope="module")
def rate_of(release_cases):
    def rate(days, spend_micros=release_cases.FLIGHTS.spend_micros):
        return success_rate(
            cut_flights(days, cut_pairs(days, release_cases.RULES), FlightRules(spend_micros=spend_micros))
        )

    return rate


def test_a_good_agent_succeeds_in_every_flight(rate_of, release_cases):
    rate = rate_of(release_cases.release_days())
    assert (rate.value, rate.campaigns, rate.failed) == (1.0, release_cases.CAMPAIGNS, ())
    days_treated = release_cases.DAYS // 2 + release_cases.FULL_DAYS
    assert rate.flights == release_cases.CAMPAIGNS * (days_treated * release_cases.SPEND_MICROS // 200_000_000)


def test_every_flight_of_a_campaign_that_returns_less_than_it_costs_fails(rate_of, release_cases):
    by_campaign = np.where(np.arange(release_cases.CAMPAIGNS) == 5, 0.4, 1.0)
    rate = rate_of(release_cases.release_days(by_campaign=by_campaign))
    assert rate.failed == (5,)
    assert rate.value == pytest.approx(1 - 1 / release_cases.CAMPAIGNS)


def test_a_flight_that_lost_money_fails_though_its_campaign_returned_more_than_it_cost(rate_of, release_cases):
    late = np.ones((release_cases.DAYS + release_cases.FULL_DAYS, release_cases.CAMPAIGNS))
    late[40:, 0] = 0.3
    good = release_cases.release_days(lift=0.0, returns=1.9)
    days = ReleaseDays(np.rint(good.value_micros * late).astype(np.int64), good.spend_micros, good.treated)
    assert days.value_micros[days.treated[:, 0], 0].sum() > days.spend_micros[days.treated[:, 0], 0].sum()
    rate = rate_of(days, 500_000_000)
    assert rate.failed == (0,)
    assert rate.value == pytest.approx(1 - 1 / rate.flights)


def test_a_campaign_that_earns_less_than_its_control_fails_though_it_makes_a_profit(rate_of, release_cases):
    by_campaign = np.where(np.arange(release_cases.CAMPAIGNS) < 2, 0.6, 1.0)
    days = release_cases.release_days(lift=0.0, returns=2.0, by_campaign=by_campaign)
    assert rate_of(days, 250_000_000).failed == (0, 1)


def test_one_bad_day_fails_no_flight(rate_of, release_cases):
    once = np.ones((release_cases.DAYS + release_cases.FULL_DAYS, release_cases.CAMPAIGNS))
    once[10:12] = 0.0
    assert rate_of(release_cases.release_days(by_pair=once)).value == 1.0


def test_a_campaign_that_never_spent_enough_has_no_flight_and_what_is_left_over_joins_the_last(rate_of, release_cases):
    days = release_cases.release_days(days=20, full_days=0)  # ten treated days of a campaign
    assert rate_of(days, 11 * release_cases.SPEND_MICROS).value is None
    assert rate_of(days, 6 * release_cases.SPEND_MICROS).flights == release_cases.CAMPAIGNS


def test_luck_of_sales_does_not_move_the_ends_of_flights(rate_of, release_cases):
    rng = np.random.default_rng(2)
    shape = (release_cases.DAYS + release_cases.FULL_DAYS, release_cases.CAMPAIGNS)
    counts = {rate_of(release_cases.release_days(by_pair=rng.gamma(1, 1, shape))).flights for _ in range(5)}
    assert len(counts) == 1


def test_no_days_give_no_rate(rate_of):
    empty = ReleaseDays(*(np.zeros((0, 3), kind) for kind in (np.int64, np.int64, np.bool_)))
    assert rate_of(empty).flights == 0


def test_the_gate_states_what_its_sample_can_show():
    [rule] = [rule for rule in load_gate("scale").criteria if rule.metric == "campaign_success_rate"]
    least = next(won for won in range(101) if binomtest(won, 100).proportion_ci(0.95, "wilson").low >= rule.threshold)
    passes = {truth: round(100 * binom.sf(least - 1, 100, truth)) for truth in (0.97, 0.91)}
    assert (rule.minimum_sample, least, passes) == (100, 96, {0.97: 82, 0.91: 5})
    assert "96 of 100 must succeed (Wilson); a true 97% passes in 82%, 91% in 5%" in rule.why
    assert pytest.approx(1 / 3, abs=0.02) == 0.97**35
