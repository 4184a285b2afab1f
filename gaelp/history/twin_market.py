"""A twin of logged campaigns: the market of training, run on a copy of the account, many times side by side."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import DataError
from gaelp.history.twin_pacing import BudgetPacing
from gaelp.history.twin_world import twin_spec, twin_world
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.market import Market, seeds_from
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action, Brief, Observation, Outcome

__all__ = ["Charge", "TwinMarket", "posterior_draws"]

Charge = Callable[[Ints32, Ints], Floats]  # impressions and bids for one, (R x N, S) each -> what they cost in micros


def posterior_draws(estimates: SegmentEstimates, copies: int, rng: np.random.Generator) -> list[SegmentEstimates]:
    """So many draws of what the log leaves unknown about the campaigns."""
    return [estimates.draw(rng) for _ in range(copies)]


class TwinMarket:
    """R copies of N logged campaigns, in rows r x N + n; the platform's pacing of budgets included.

    Bidders see budgets as logged. What they bid is for an impression; `impression_bids` converts bids for a click.
    """

    def __init__(
        self,
        spec: MarketSpec,
        personas: PersonaTable,
        estimates: SegmentEstimates,
        draws: Sequence[SegmentEstimates],
        *,
        days: int,
        start_hour_of_week: int,
        seed: int,
        objective: Objective = VALUE,
        charge: Charge | None = None,
    ) -> None:
        """`spec` is the calibrated market; each of the `draws` is one copy of the campaigns.

        `charge` says what an hour's impressions cost where that is known better than by the market; budgets are held
        against it.
        """
        if not draws:
            raise DataError("saw no draw of the estimates; allowed: at least one. Use posterior_draws.")
        self.estimates, self.copies = estimates, len(draws)
        own = twin_spec(spec, estimates, days)
        self.market = Market(own, personas, (), objective)
        seeds = seeds_from(seed, self.copies * len(estimates.campaign_names))
        self.market.launch(twin_world(own, personas, draws, estimates, seeds, start_hour_of_week), seeds)
        self._pacing = BudgetPacing(estimates, self.copies, start_hour_of_week, own.hours)
        self._budget_micros = np.tile(np.minimum(estimates.daily_budget_micros, 1e15).astype(np.int64), self.copies)
        self._day_spend = np.zeros_like(self._budget_micros)
        self._spend = np.zeros_like(self._budget_micros)
        # What a bid buys differs between draws; bidders keep to the units of the estimates.
        self._bid_factor = np.concatenate([each.bid_scale / estimates.bid_scale for each in draws])
        self._own_pace = np.ones(len(seeds), np.float32)
        self._charge = charge
        self.brief = self._make_brief()

    @property
    def hours(self) -> int:
        """Length of the window."""
        return self.market.hours

    @property
    def done(self) -> bool:
        """Whether the window is over."""
        return self.market.done

    def impression_bids(self, click_bid_micros: Floats | Ints) -> Ints:
        """Bids for an impression, (R x N, S), of bids for a click, (N, S); below 2 micros for a click: no bid."""
        bids = np.where(self.estimates.present & (click_bid_micros >= 2), click_bid_micros, 0)
        return np.tile(np.rint(bids * self.estimates.bid_scale).astype(np.int64), (self.copies, 1))

    def observe(self) -> Observation:
        """What a bidder sees now, budgets as the advertiser set them."""
        observed = self.market.observe()
        factor_log = np.log(self._bid_factor).astype(np.float32)
        return replace(
            observed,
            bid_log=observed.bid_log - factor_log,
            price_level_log=observed.price_level_log - factor_log,
            price_signal_log=observed.price_signal_log - factor_log,
            left_micros=np.maximum(self.brief.budget_micros - self._spend, 0),
            day_left_micros=np.maximum(self._budget_micros - self._day_spend, 0),
            pace=self._own_pace,
        )

    def step(self, action: Action) -> tuple[Observation, Outcome]:
        """Run one hour: the bidder's action, and the share of auctions that the platform lets each budget enter."""
        hour = self.market.hour
        self._own_pace = self._asked_pace(action)
        share = self._pacing.share(hour)
        entered = np.asarray(np.clip(self._own_pace, 0, 1) * share, np.float32)
        bids = np.rint(action.bid_micros * self._bid_factor).astype(np.int64)
        _, outcome = self.market.step(replace(action, bid_micros=bids, pace=entered))
        cost = self._cost_micros(action.bid_micros).sum(axis=1)
        self._pacing.learn(hour, entered, cost)
        self._spend += cost
        self._day_spend = self._day_spend + cost if (hour + 1) % self.brief.hours_per_day else np.zeros_like(cost)
        return self.observe(), outcome

    def _cost_micros(self, bid_micros: Ints) -> Ints:
        """What the hour cost, (R x N, S)."""
        state = self.market.state
        if self._charge is None:
            return state.cost_micros
        return np.rint(self._charge(state.impressions, bid_micros)).astype(np.int64)

    def _asked_pace(self, action: Action) -> Floats32:
        return np.ones(self.market.campaigns, np.float32) if action.pace is None else action.pace.copy()

    def _make_brief(self) -> Brief:
        return replace(
            self.market.brief,
            budget_micros=self._budget_micros * self.market.spec.days,
            daily_cap_micros=self._budget_micros,
        )
