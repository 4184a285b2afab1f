"""Daily budgets are averages: some days go far beyond them, none beyond the platform's limit, and neither do months."""

from dataclasses import replace
from datetime import date

import numpy as np

from gaelp.bench.sandbox_bidders import new_trial
from gaelp.sandbox.auctions.account_calendar import AccountCalendar
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.spec import load_sandbox_spec

DAY = 1440
SPEC = load_sandbox_spec()
CAMPAIGNS, DAYS = 8, 60  # until 5 November: October is whole, and the clocks change


def costs_by_day(*, pauses: bool) -> tuple[list[ServedCampaign], np.ndarray]:
    """Cost of each campaign on each day of the account; with pauses, all stop for an hour every afternoon."""
    exchange, calendar = Exchange(SPEC), AccountCalendar(SPEC.start, SPEC.zone)
    served = [new_trial(exchange, number).campaign for number in range(1, CAMPAIGNS + 1)]
    for campaign in served:
        exchange.serve(campaign)
    costs = np.zeros((CAMPAIGNS, DAYS), np.int64)
    for n in range(DAYS):
        day = calendar.day(date.fromordinal(date(2026, 9, 7).toordinal() + n))
        for enabled, tick in [(False, day.ticks[15]), (True, day.ticks[16])] if pauses else []:
            add(costs[:, n], exchange, int(tick))
            for campaign in served:
                exchange.serve(replace(campaign, enabled=enabled))
        add(costs[:, n], exchange, int(day.ticks[-1]))
    return served, costs


def add(costs: np.ndarray, exchange: Exchange, tick: int) -> None:
    clicks = exchange.advance(tick).clicks
    np.add.at(costs, clicks["campaign"] - 1, clicks["cost_micros"])


def check_limits(served: list[ServedCampaign], costs: np.ndarray) -> None:
    budgets = np.array([campaign.daily_micros for campaign in served])
    assert (costs <= 2 * budgets[:, None]).all()
    september, october = costs[:, :24], costs[:, 24:55]
    assert (september.sum(1) <= budgets * 3040 // 100).all()
    assert (october.sum(1) <= budgets * 3040 // 100).all()


def test_over_480_account_days_some_pass_one_and_a_half_budgets_and_none_two():
    served, costs = costs_by_day(pauses=False)
    check_limits(served, costs)
    budgets = np.array([campaign.daily_micros for campaign in served])
    assert (costs > 1.5 * budgets[:, None]).sum() >= 5
    assert 0.9 < costs[:, 24:55].sum() / (31 * budgets.sum()) <= 30.4 / 31


def test_clicks_after_a_pause_stay_inside_the_limits_too():
    check_limits(*costs_by_day(pauses=True))
