"""The simulated campaigns are what they claim: seeded, within the platform's limit, profitable, and broken as asked."""

import numpy as np
import pytest

from gaelp.bench.campaign_months import FAULTS, simulate, with_fault

DAYS = 14


@pytest.fixture(scope="module")
def healthy():
    return simulate(60, DAYS, np.random.default_rng(1))


def by_day(array):
    return array.reshape(len(array), -1, 24).sum(axis=2)


def test_the_same_seed_gives_the_same_campaigns(healthy):
    again = simulate(60, DAYS, np.random.default_rng(1))
    assert all(np.array_equal(getattr(healthy, name), getattr(again, name)) for name in vars(healthy))


def test_a_day_never_costs_more_than_twice_its_budget(healthy):
    for world in (healthy, with_fault("ten_times_the_bid", healthy, 100, np.random.default_rng(2))):
        assert (by_day(world.spend_micros) <= 2 * world.budget_micros[:, None]).all()


def test_healthy_campaigns_earn_money_together(healthy):
    value = (healthy.conversions.sum(axis=1) * healthy.value_micros).sum()
    assert value > healthy.spend_micros.sum()


def test_most_of_the_plan_is_spent(healthy):
    assert 0.8 < healthy.spend_micros.sum() / healthy.planned_micros.sum() < 1.2


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_changes_nothing_before_its_hour_and_something_after(healthy, name):
    faulty = with_fault(name, healthy, 150, np.random.default_rng(2))
    arrays = ("spend_micros", "impressions", "clicks", "conversions")
    assert all(
        np.allclose(getattr(faulty, array)[:, :150], getattr(healthy, array)[:, :150], atol=1) for array in arrays
    )
    assert any(
        not np.array_equal(getattr(faulty, array)[:, 150:], getattr(healthy, array)[:, 150:]) for array in arrays
    )


def test_each_fault_is_the_one_it_is_named_after(healthy):
    def after(name, array):
        broken = with_fault(name, healthy, 150, np.random.default_rng(2))
        return getattr(broken, array)[:, 150:].sum() / getattr(healthy, array)[:, 150:].sum()

    assert after("tracking_outage", "conversions") == 0
    assert after("pacing_stuck_shut", "spend_micros") == 0
    assert after("pacing_stuck_open", "spend_micros") > 1.5
    assert after("click_fraud", "impressions") == pytest.approx(0.2, abs=0.01)
    assert after("click_fraud", "spend_micros") == 1
    assert after("click_fraud", "conversions") == pytest.approx(0.2, abs=0.05)
    assert after("ten_times_the_bid", "spend_micros") > 1.5
