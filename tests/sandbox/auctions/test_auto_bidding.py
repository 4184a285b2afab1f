"""Automated bidding: goals are met where the budget is ample, the budget is spent where it is not, and it recovers."""

from dataclasses import replace

import pytest

from gaelp.bench.sandbox_bidders import Trial, constant, new_trial
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import ExchangeEvents
from gaelp.sandbox.serving import BiddingStrategy, MaximizeConversions, ServedCampaign, TargetCpa, TargetRoas
from gaelp.sandbox.spec import load_sandbox_spec

SPEC = load_sandbox_spec()
WEEK = 7 * 1440
CAMPAIGNS = 8
AMPLE_MICROS = 500_000_000


def without_bids(trial: Trial, strategy: BiddingStrategy, daily_micros: int) -> ServedCampaign:
    groups = tuple(replace(group, bid_micros=0) for group in trial.campaign.groups)
    return replace(trial.campaign, strategy=strategy, daily_micros=daily_micros, groups=groups)


def flown(strategy: BiddingStrategy, *, ample: bool) -> tuple[ExchangeEvents, float, int]:
    """Weeks five to eight of eight campaigns: their events, the expected value of their clicks, their budgets."""
    exchange = Exchange(SPEC)
    trials = [new_trial(exchange, number) for number in range(1, CAMPAIGNS + 1)]
    for trial in trials:
        exchange.serve(without_bids(trial, strategy, AMPLE_MICROS if ample else trial.budget_micros))
    exchange.advance(4 * WEEK)
    before = sum(exchange.expected_value_micros(trial.campaign.id) for trial in trials)
    events = exchange.advance(8 * WEEK)
    value = sum(exchange.expected_value_micros(trial.campaign.id) for trial in trials) - before
    return events, value, sum(trial.budget_micros for trial in trials) * 28


def cost(events: ExchangeEvents) -> int:
    return int(events.clicks["cost_micros"].sum())


@pytest.mark.parametrize("goal_micros", [pytest.param(12_000_000, marks=pytest.mark.slow), 20_000_000])
def test_a_target_cpa_is_met_on_average(goal_micros):
    events, _, _ = flown(TargetCpa(goal_micros), ample=True)
    assert cost(events) / len(events.conversions) == pytest.approx(goal_micros, rel=0.15)


@pytest.mark.parametrize("goal", [pytest.param(1.0, marks=pytest.mark.slow), 2.0])
def test_a_target_roas_is_met_on_average(goal):
    events, value, _ = flown(TargetRoas(goal), ample=True)
    assert value / cost(events) == pytest.approx(goal, rel=0.12)


@pytest.mark.slow
def test_maximise_conversions_spends_the_budget_and_buys_more_than_a_goal_that_is_not_needed():
    most, _, budgets = flown(MaximizeConversions(), ample=False)
    assert 0.9 < cost(most) / budgets < 1.05
    thrifty, _, _ = flown(TargetCpa(8_000_000), ample=False)
    assert len(most.conversions) > len(thrifty.conversions)


def test_a_campaign_whose_goal_was_out_of_reach_bids_again_when_it_is_raised():
    exchange = Exchange(SPEC)
    trial = new_trial(exchange, 1)
    exchange.serve(without_bids(trial, TargetCpa(500_000), AMPLE_MICROS))
    exchange.advance(WEEK)
    exchange.serve(without_bids(trial, TargetCpa(25_000_000), AMPLE_MICROS))
    assert cost(exchange.advance(3 * WEEK)) > 14 * 5_000_000


def test_automated_bids_buy_clicks_that_are_worth_more_than_those_of_a_constant_bid():
    learned, value, _ = flown(TargetCpa(20_000_000), ample=False)
    exchange = Exchange(SPEC)
    trials = [new_trial(exchange, number) for number in range(1, CAMPAIGNS + 1)]
    for trial in trials:
        exchange.serve(constant(trial))
    clicks = len(exchange.advance(4 * WEEK).clicks)
    plain = sum(exchange.expected_value_micros(trial.campaign.id) for trial in trials) / clicks
    assert value / len(learned.clicks) > 1.05 * plain
