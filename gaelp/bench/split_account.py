"""An account of campaigns on the exchange whose daily budgets follow a rule; it sees only what the platform reports."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.bench.sandbox_bidders import Trial
from gaelp.release.budget_response import BudgetDays
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import Rows

__all__ = ["SplitAccount"]

_DAY = 1440
_OLD_DAYS = 14  # after which nearly every conversion is reported
_REPORTED_MIN = 0.2  # of a day's conversions: below, the day is not counted yet


class SplitAccount:
    """N campaigns, day by day; bids are the incumbent's, scaled until each budget lasts."""

    def __init__(self, exchange: Exchange, trials: Sequence[Trial]) -> None:
        self._exchange, self._trials = exchange, tuple(trials)
        bids = np.array([[group.bid_micros for group in trial.campaign.groups] for trial in trials], np.int64)
        self._bidder = ScaledIncumbent(bids)
        self.spend: Ints = np.zeros((0, len(trials)), np.int64)  # (D, N)
        self.budgets: Ints = np.zeros((0, len(trials)), np.int64)  # (D, N)
        self._sales: list[Rows] = []

    def copy(self) -> "SplitAccount":
        """Another course of the same account from here on."""
        other = SplitAccount(Exchange.restore(self._exchange.spec, self._exchange.snapshot()), self._trials)
        other._bidder.load_state(self._bidder.state())
        other.spend, other.budgets, other._sales = self.spend.copy(), self.budgets.copy(), list(self._sales)
        return other

    def true_value_micros(self) -> float:
        """Expected value of all clicks so far."""
        return sum(self._exchange.expected_value_micros(trial.campaign.id) for trial in self._trials)

    def run_day(self, daily_micros: Ints) -> None:
        """One day with these budgets, (N,)."""
        bids = self._bidder.bids_micros()
        for trial, own, budget in zip(self._trials, bids.tolist(), daily_micros.tolist(), strict=True):
            groups = zip(trial.campaign.groups, own, strict=True)
            served = tuple(replace(group, bid_micros=bid) for group, bid in groups)
            self._exchange.serve(replace(trial.campaign, groups=served, daily_micros=budget))
        events = self._exchange.advance(self._exchange.tick + _DAY)
        spend = self._by_campaign(events.hours["campaign"], events.hours["cost_micros"])
        self._bidder.end_day(spend, daily_micros, np.ones(len(self._trials), np.bool_))
        self.spend, self.budgets = np.vstack([self.spend, spend]), np.vstack([self.budgets, daily_micros])
        self._sales.append(events.conversions)

    def _by_campaign(self, campaigns: Ints, micros: Ints) -> Ints:
        total = np.zeros(len(self._trials) + 1, np.int64)
        np.add.at(total, campaigns, micros)  # ids are 1 to N
        return total[1:]

    def seen(self, now_micros: Ints, window_days: int) -> BudgetDays:
        """What is reported by now of the newest days; how late sales are is learned from the older days."""
        days, now = len(self.spend), self._exchange.tick
        sales = np.concatenate(self._sales)
        sales = sales[sales["reported_tick"] < now]
        value = np.zeros((days, len(self._trials) + 1))
        np.add.at(value, (sales["click_tick"] // _DAY, sales["campaign"]), sales["value_micros"])
        known = self._known_share(sales)
        mean_sale = np.full(len(self._trials), sales["value_micros"].mean() if len(sales) else 1e6)
        newest = slice(max(days - window_days, 0), days)
        counted = np.repeat((known > _REPORTED_MIN)[:, None], len(self._trials), axis=1)
        return BudgetDays(
            value_micros=value[newest, 1:],
            spend_micros=self.spend[newest],
            daily_micros=self.budgets[newest],
            counted=counted[newest],
            known_share=known[newest],
            sale_micros=np.asarray(mean_sale, np.int64),
            now_micros=now_micros,
        )

    def _known_share(self, sales: Rows) -> Floats:
        """The share of each day's sales that is reported by now, (D,), as it was for days that are old now."""
        days, now = len(self.spend), self._exchange.tick
        old = sales[sales["click_tick"] < now - _OLD_DAYS * _DAY]
        if not len(old):
            return np.ones(days)
        late = old["reported_tick"] - old["click_tick"] // _DAY * _DAY  # since the day of the click began
        age = now - np.arange(days) * _DAY
        return np.asarray((late[None, :] < age[:, None]).mean(axis=1))
