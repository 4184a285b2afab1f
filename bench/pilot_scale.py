"""Measure a pilot's decisions without API time: how long one hour takes for many campaigns, and the memory it needs."""

import argparse
import json
import resource
import time

import numpy as np

from gaelp.config.objective import Objective
from gaelp.history.logged_bidders import KnownSegments
from gaelp.market.baselines.tuned import load_tuned_file
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.from_reports import BidRules, brief_from_estimates
from gaelp.pilot.controller import CampaignHours, Controller
from gaelp.pilot.known_hours import HourFigures
from gaelp.types import SegmentBelief

SEGMENTS, REVISED_HOURS = 8, 192


def controller_of(campaigns: int, hours: int) -> Controller:
    """Campaigns of a market, driven by a tuned rule; half of them began a day later."""
    market = build_market(load_market_spec("shop"), load_persona_table("personas"), Objective(kind="profit"))
    rng, shape = np.random.default_rng(1), (campaigns, SEGMENTS)
    brief = brief_from_estimates(
        market,
        volume_per_hour=rng.uniform(2, 20, shape),
        price_level_log=np.log(rng.uniform(30_000, 90_000, shape)),
        conversion_value_micros=np.full(campaigns, 20_000_000),
        daily_budget_micros=np.full(campaigns, 25_000_000),
        start_hour_of_week=np.zeros(campaigns, np.int64),
    )
    belief = SegmentBelief(np.full(shape, np.log(60_000.0)), np.full(shape, 0.3))
    known = KnownSegments(brief, belief, np.full(shape, 0.05), np.ones(shape))
    runs = CampaignHours(np.arange(campaigns) % 2 * 24, np.full(campaigns, hours))
    policy = load_tuned_file("shop-profit").build("mpc")
    reference = np.full(shape, 1_200_000)
    return Controller(policy, known, reference, market, BidRules(), runs=runs, revised_hours=REVISED_HOURS)


class DrawnHours:
    """Figures of all hours, of which some cells are revised every hour."""

    def __init__(self, hours: int, campaigns: int) -> None:
        self._rng = np.random.default_rng(2)
        shape = (hours, campaigns, SEGMENTS)
        self._impressions = self._rng.poisson(3, shape)
        self._clicks = self._rng.binomial(self._impressions, 0.05)
        self._sales = np.zeros(shape)

    def known(self, first: int, until: int) -> HourFigures:
        """What is known of some hours; a hundredth of the clicks gets its sale between two looks."""
        clicks = self._clicks[first:until]
        self._sales[first:until] += self._rng.binomial(clicks, 0.01)
        sales = self._sales[first:until].copy()
        value = (sales * 20_000_000).astype(np.int64)
        return HourFigures(first, self._impressions[first:until], clicks, sales, clicks * 900_000, value)


def measure(campaigns: int, hours: int) -> dict[str, float]:
    """Milliseconds of an hour's report, decision and state, and the process's peak memory."""
    controller, drawn = controller_of(campaigns, hours), DrawnHours(hours, campaigns)
    bids = np.full((campaigns, SEGMENTS), 1_200_000)
    milliseconds: dict[str, list[float]] = {"report": [], "decide": [], "state": [], "whole": []}
    for hour in range(hours):
        figures = drawn.known(max(hour - 3 - REVISED_HOURS, 0), max(hour - 3, 0))
        began = time.perf_counter()
        controller.report(figures)
        reported = time.perf_counter()
        controller.decide()
        decided = time.perf_counter()
        controller.state()
        ended = time.perf_counter()
        controller.pass_hour(bids)
        if hour >= 8:  # compiled by then
            for name, span in (
                ("report", reported - began),
                ("decide", decided - reported),
                ("state", ended - decided),
                ("whole", ended - began),
            ):
                milliseconds[name].append(1000 * span)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    quantiles = {f"{name}_p99_ms": round(float(np.quantile(times, 0.99)), 2) for name, times in milliseconds.items()}
    return {"campaigns": campaigns, "hours": hours, **quantiles, "peak_mb": round(peak_mb, 1)}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=50)
    parser.add_argument("--hours", type=int, default=200)
    given = parser.parse_args()
    print(json.dumps(measure(given.campaigns, given.hours)))  # noqa: T201 - the figures


if __name__ == "__main__":
    main()
