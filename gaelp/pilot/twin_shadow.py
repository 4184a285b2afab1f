"""The shadow days in the market of training: copies of the watched campaigns, same bids, same hours, same lag."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats32, Ints, Ints32
from gaelp.history.logged_bidders import KnownSegments
from gaelp.history.twin_market import TwinMarket
from gaelp.history.twin_sales import SaleEvents, TwinSales
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.campaign_rows import take
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action
from gaelp.pilot.controller import CampaignHours, Controller
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.policy_inputs import inputs_of
from gaelp.types import SegmentBelief

__all__ = ["TwinDays", "TwinInputs", "play_bids", "twin_inputs"]

DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class TwinDays:
    """What the bids of T hours bring R copies of N campaigns, in rows r x N + n."""

    copies: int
    impressions: Ints32  # (T, R x N, S) this and the next two
    clicks: Ints32
    cost_micros: Ints
    sales: SaleEvents
    sale_value_micros: Ints  # (R x N,)

    def figures(self, now: int, lag_hours: int) -> HourFigures:
        """What is reported at the start of hour `now` of hours that ended `lag_hours` before."""
        until = max(now - lag_hours, 0)
        known = self.sales.some((self.sales.hour < until) & (self.sales.hour + self.sales.wait < now))
        conversions = np.zeros((until, *self.impressions.shape[1:]))
        np.add.at(conversions, (known.hour, known.row, known.segment), known.count)
        value = conversions * self.sale_value_micros[None, :, None]
        return HourFigures(
            0,
            self.impressions[:until].astype(np.int64),
            self.clicks[:until].astype(np.int64),
            conversions,
            self.cost_micros[:until],
            np.rint(value).astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class TwinInputs:
    """What the policy saw of R copies; a copy of each kind of mean keeps memory small."""

    by_hour: Floats32  # (T, R, N, features) mean over segments
    by_segment: Floats32  # (R, N, S, features) mean over hours
    sample: Floats32  # (rows, features) single rows of some copies


def play_bids(
    spec: MarketSpec,
    personas: PersonaTable,
    estimates: SegmentEstimates,
    draws: Sequence[SegmentEstimates],
    bid_micros: Ints,
    *,
    start_hour_of_week: int,
    seed: int,
) -> TwinDays:
    """Play bids for a click, (T, N, S), in a market fitted to the log; each draw of the estimates is a copy."""
    hours = len(bid_micros)
    twin = TwinMarket(
        spec,
        personas,
        estimates,
        draws,
        days=-(-hours // DAY_HOURS),
        start_hour_of_week=start_hour_of_week,
        seed=seed,
    )
    sales, state = TwinSales(twin), twin.market.state
    shape = (hours, *state.impressions.shape)
    impressions, clicks, cost = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int64)
    for hour in range(hours):
        sales.note()
        twin.step(Action(twin.impression_bids(bid_micros[hour])))
        sales.add(hour)
        state = twin.market.state
        impressions[hour], clicks[hour], cost[hour] = state.impressions, state.clicks, state.cost_micros
    value = np.concatenate([np.rint(draw.conversion_value_micros).astype(np.int64) for draw in draws])
    return TwinDays(len(draws), impressions, clicks, cost, sales.events(), value)


def twin_inputs(
    policy: Bidder,
    market: Market,
    known: KnownSegments,
    reference_bid_micros: Ints,
    rules: BidRules,
    days: TwinDays,
    bid_micros: Ints,
    *,
    lag_hours: int,
) -> TwinInputs:
    """Drive the policy along the copies' reports, as it was driven along those of the platform."""
    hours, campaigns = len(bid_micros), len(reference_bid_micros)
    rows = np.tile(np.arange(campaigns), days.copies)
    controller = Controller(
        policy,
        _tiled(known, rows),
        reference_bid_micros[rows],
        market,
        rules,
        runs=CampaignHours.same(len(rows), hours),
    )
    shape = (days.copies, campaigns)
    by_hour, total, sample = [], None, []
    for hour in range(hours):
        controller.report(days.figures(hour, lag_hours))
        decision = controller.decide()
        inputs = inputs_of(controller.brief, decision)
        controller.pass_hour(bid_micros[hour][rows])
        by_hour.append(_segment_means(inputs, bid_micros[hour][rows] > 0).reshape(*shape, -1))
        total = inputs if total is None else total + inputs
        sample.append(inputs[:campaigns].reshape(-1, inputs.shape[-1]))
    if total is None:
        raise ValueError("no hour to play")
    by_segment = (total / hours).reshape(*shape, *total.shape[1:])
    return TwinInputs(np.stack(by_hour), by_segment.astype(np.float32), np.concatenate(sample))


def _segment_means(inputs: Floats32, there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats32:
    """Means over the segments with a bid, (n, features)."""
    weight = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.einsum("nsf,ns->nf", inputs, weight), np.float32)


def _tiled(known: KnownSegments, rows: Ints) -> KnownSegments:
    belief = SegmentBelief(known.belief.value_log[rows], known.belief.value_log_sd[rows])
    return KnownSegments(take(known.brief, rows), belief, known.click_rate[rows], known.paid_factor[rows])
