"""The twin of logged campaigns: it wins and pays what the log did, and keeps to budgets as the platform does."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.twin_market import TwinMarket, posterior_draws
from gaelp.market.view import Action


def build(account, personas, estimates, *, copies=4, days=7, seed=3, charge=None):
    draws = posterior_draws(estimates, copies, np.random.default_rng(1))
    return TwinMarket(
        account.spec, personas, estimates, draws, days=days, start_hour_of_week=0, seed=seed, charge=charge
    )


def play(twin, factor=1.0):
    """Bid the usual bids for every hour; returns spend by day, (D, R x N)."""
    spend = np.zeros((twin.hours, twin.market.campaigns))
    bids = twin.impression_bids(factor * twin.estimates.usual_bid_micros)
    for hour in range(twin.hours):
        twin.step(Action(bids))
        spend[hour] = twin.market.state.cost_micros.sum(axis=1)
    return spend.reshape(-1, 24, twin.market.campaigns).sum(axis=1)


def test_campaign_short_of_money_spends_its_budget_on_average_and_is_not_stopped_in_the_morning(
    account, personas, with_budgets
):
    spend = play(build(account, personas, with_budgets))
    campaigns = len(with_budgets.campaign_names)
    poor = spend.reshape(len(spend), -1, campaigns)[:, :, 0]
    assert poor.mean() == pytest.approx(with_budgets.daily_budget_micros[0], rel=0.1)
    assert (poor > with_budgets.daily_budget_micros[0]).any()


def test_budgets_are_held_against_what_is_known_of_costs_better_than_by_the_market(account, personas, with_budgets):
    each_micros = 30_000.0

    def charge(impressions, _bids):
        shown.append(impressions.sum(axis=1))
        return impressions * each_micros

    shown = []
    play(build(account, personas, with_budgets, charge=charge))
    spend = each_micros * np.reshape(shown, (7, 24, -1, len(with_budgets.campaign_names))).sum(axis=1)
    assert spend[..., 0].mean() == pytest.approx(with_budgets.daily_budget_micros[0], rel=0.15)


def test_campaign_with_money_left_is_not_held_back(account, personas, with_budgets):
    poor, free = (play(build(account, personas, each)) for each in (with_budgets, account.estimates))
    campaigns = len(with_budgets.campaign_names)
    others = np.arange(poor.shape[1]) % campaigns != 0
    assert (poor[:, others] == free[:, others]).all()


def test_bidder_sees_budgets_as_logged_while_the_platform_overdelivers(account, personas, with_budgets):
    twin = build(account, personas, with_budgets)
    assert (twin.brief.daily_cap_micros[:5] == with_budgets.daily_budget_micros).all()
    bids = twin.impression_bids(with_budgets.usual_bid_micros)
    for _ in range(23):
        seen, _ = twin.step(Action(bids))
    spent = twin.market.state.total_cost_micros.sum(axis=1)
    assert (seen.day_left_micros == np.maximum(twin.brief.daily_cap_micros - spent, 0)).all()
    assert (seen.pace == 1).all()


def test_same_seed_and_draws_give_the_same_twin_and_no_bid_wins_nothing(account, personas):
    first, second = (play(build(account, personas, account.estimates)) for _ in range(2))
    assert (first == second).all()
    assert play(build(account, personas, account.estimates), factor=0.0).sum() == 0


def test_draws_differ_in_what_a_bid_buys(account, personas):
    spend = play(build(account, personas, account.estimates, copies=12)).sum(axis=0).reshape(12, -1)
    assert (spend.std(axis=0) > 0.005 * spend.mean(axis=0)).all()


def test_window_of_no_days_and_twin_without_draws_are_refused(account, personas):
    with pytest.raises(DataError, match="0 days; allowed: 1 to 60"):
        build(account, personas, account.estimates, days=0)
    with pytest.raises(DataError, match="at least one"):
        build(account, personas, account.estimates, copies=0)
