"""Figures of releases, plain or spoiled, for tests."""

from datetime import date

import numpy as np

from gaelp.gates.lift_test import LiftPlan
from gaelp.release.assignment import treated_days
from gaelp.release.campaign_flights import FlightRules
from gaelp.release.pairs import PairRules, ReleaseDays

CAMPAIGNS, DAYS, FULL_DAYS = 24, 70, 10
SPEND_MICROS = 25_000_000
RULES = PairRules(unit_micros=SPEND_MICROS // 2, age_days_min=0)
TEST = LiftPlan(alpha=0.05, minimum=100, clip_at=8)
FLIGHTS = FlightRules(spend_micros=200_000_000)  # eight days of the treatment
FIRST_DAY = date(2026, 12, 1)


def release_days(*, lift=0.4, returns=1.2, days=DAYS, full_days=FULL_DAYS, percent=50, by_campaign=None, by_pair=None):
    """Every campaign-day of the control returns the same per dollar, the treatment's by `lift` more.

    `by_campaign` (N,) and `by_pair` (D, N) are factors on the treatment's value.
    """
    names = [f"c{number}" for number in range(CAMPAIGNS)]
    treated = treated_days("k", names, [percent] * days + [100] * full_days)
    spend = np.full(treated.shape, SPEND_MICROS)
    value = spend * returns * np.where(treated, 1 + lift, 1.0)
    for factor in (by_campaign, by_pair):
        if factor is not None:
            value = np.where(treated, value * factor, value)
    return ReleaseDays(np.rint(value).astype(np.int64), spend, treated)
