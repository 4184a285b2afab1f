"""What different bidders earn on the exchange: the same campaigns, the same searches, one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gaelp.bench.sandbox_bidders import (
    UNLIMITED_MICROS,
    Trial,
    constant,
    incumbent,
    new_trial,
    oracle,
    randomised,
    scaled,
)
from gaelp.config.base import Frozen
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.serving import MaximizeConversions, ServedCampaign, TargetRoas
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["BidderEconomics", "measure_economics"]

_DAY = 1440
_HISTORY_DAYS = 28  # of the incumbent, before each bidder takes over
_REHEARSAL_DAYS = 14  # the last of them, in which factors are fitted
_BISECTIONS = 9
_LEAST_FACTOR = 0.1

Bids = Callable[[Trial], ServedCampaign]


class BidderEconomics(Frozen):
    """One bidder over all campaigns; value is the expected value of the clicks, which has less noise than sales."""

    bidder: str
    roi: float  # value / spend - 1
    value_per_dollar: float
    value_per_dollar_lift: float  # over the incumbent
    spend_share: float  # of the budgets
    profit_per_day: float  # units of the currency, for each campaign
    cost_per_click: float
    click_rate: float
    conversion_rate: float
    cost_per_conversion: float
    conversions_per_day: float  # for each campaign
    impression_share: float


def measure_economics(
    spec: SandboxSpec, campaigns: int, days: int, report: Callable[[BidderEconomics], None] = lambda _: None
) -> tuple[BidderEconomics, ...]:
    """Every bidder continues the same history of the incumbent with the same budgets; the incumbent comes first."""
    exchange = Exchange(spec)
    trials = [new_trial(exchange, number) for number in range(1, campaigns + 1)]
    for trial in trials:
        exchange.serve(incumbent(trial))
    exchange.advance((_HISTORY_DAYS - _REHEARSAL_DAYS) * _DAY)
    rehearsal = exchange.snapshot()
    exchange.advance(_HISTORY_DAYS * _DAY)
    history = exchange.snapshot()
    rows: list[BidderEconomics] = []
    for name, bids in _bidders(spec, trials, rehearsal).items():
        rows.append(_fly(Exchange.restore(spec, history), trials, days, (name, bids), rows))
        report(rows[-1])
    return tuple(rows)


def _bidders(spec: SandboxSpec, trials: Sequence[Trial], rehearsal: bytes) -> Mapping[str, Bids]:
    lasting = _factors(spec, trials, rehearsal, incumbent)
    best = _factors(spec, trials, rehearsal, oracle)
    return {
        "incumbent": incumbent,
        "incumbent, scaled until its budget lasts": lambda trial: scaled(trial.campaign, lasting[trial.campaign.id]),
        "constant": constant,
        "random": lambda trial: randomised(trial, spec.seed),
        "target ROAS 1.2": lambda trial: replace(trial.campaign, strategy=TargetRoas(1.2)),
        "target ROAS 1.6": lambda trial: replace(trial.campaign, strategy=TargetRoas(1.6)),
        "maximise conversions": lambda trial: replace(trial.campaign, strategy=MaximizeConversions()),
        "oracle": lambda trial: scaled(oracle(trial), best[trial.campaign.id]),
    }


def _factors(spec: SandboxSpec, trials: Sequence[Trial], rehearsal: bytes, bids: Bids) -> dict[int, float]:
    """The largest factor up to 1 on each campaign's bids with which it spends no more than its budget, by bisection."""
    low = {trial.campaign.id: _LEAST_FACTOR for trial in trials}
    high = {trial.campaign.id: 1.0 for trial in trials}
    factors = dict(high)
    for _ in range(_BISECTIONS):
        exchange = Exchange.restore(spec, rehearsal)
        for trial in trials:
            served = scaled(bids(trial), factors[trial.campaign.id])
            exchange.serve(replace(served, daily_micros=UNLIMITED_MICROS))
        clicks = exchange.advance(_HISTORY_DAYS * _DAY).clicks
        for trial in trials:
            number = trial.campaign.id
            spent = int(clicks["cost_micros"][clicks["campaign"] == number].sum())
            (high if spent > trial.budget_micros * _REHEARSAL_DAYS else low)[number] = factors[number]
            factors[number] = (low[number] * high[number]) ** 0.5 if low[number] < 1 else 1.0
    return factors


def _fly(
    exchange: Exchange,
    trials: Sequence[Trial],
    days: int,
    bidder: tuple[str, Bids],
    rows: Sequence[BidderEconomics],
) -> BidderEconomics:
    name, bids = bidder
    before = sum(exchange.expected_value_micros(trial.campaign.id) for trial in trials)
    for trial in trials:
        exchange.serve(bids(trial))
    events = exchange.advance(exchange.tick + days * _DAY)
    value = sum(exchange.expected_value_micros(trial.campaign.id) for trial in trials) - before
    hours, sales, campaign_days = events.hours, len(events.conversions), len(trials) * days
    spend, clicks = int(hours["cost_micros"].sum()), int(hours["clicks"].sum())
    impressions = int(hours["impressions"].sum())
    return BidderEconomics(
        bidder=name,
        roi=value / spend - 1,
        value_per_dollar=value / spend,
        value_per_dollar_lift=value / spend / rows[0].value_per_dollar - 1 if rows else 0.0,
        spend_share=spend / sum(trial.budget_micros * days for trial in trials),
        profit_per_day=(value - spend) / 1e6 / campaign_days,
        cost_per_click=spend / 1e6 / clicks,
        click_rate=clicks / impressions,
        conversion_rate=sales / clicks,
        cost_per_conversion=spend / 1e6 / max(sales, 1),
        conversions_per_day=sales / campaign_days,
        impression_share=impressions / int(hours["eligible"].sum()),
    )
