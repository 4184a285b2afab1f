"""Compare a policy with a reference campaign by campaign: successes, ruined campaigns, and leads in fifty groups.

A mean hides where a policy fails. Campaigns are therefore also sorted by what the advertiser knew at launch, and cut
into ten slices of equal size by each of five properties: a policy that fails for one kind of campaign fails in a slice.
"""

from collections.abc import Iterator

import numpy as np

from gaelp.arrays import Bools, Floats
from gaelp.market.view import Brief

__all__ = [
    "GROUPED_BY",
    "RUINED_BELOW",
    "SLICES",
    "SUCCESS_FROM",
    "group_leads",
    "launch_properties",
    "ruined",
    "succeeded",
]

SUCCESS_FROM = 0.97  # of the reference's outcome: luck alone moves single campaigns by a few percent
RUINED_BELOW = 0.7
GROUPED_BY = ("budget share", "price", "volume", "conversion value", "start in the week")
SLICES = 10  # by each property: fifty groups
_LEAST_SCALE = 0.1  # of the mean outcome: a campaign in which the reference earned about nothing divides by this


def launch_properties(brief: Brief) -> Floats:
    """What an advertiser knows of each campaign at launch, (N, 5), in the order of GROUPED_BY."""
    properties = (
        brief.budget_share,
        brief.price_forecast_log.mean(axis=1),
        brief.volume_forecast.mean(axis=1),
        brief.conversion_value_micros,
        brief.start_hour_of_week,
    )
    return np.stack([np.asarray(values, dtype=np.float64) for values in properties], axis=1)


def succeeded(reward: Floats, reference: Floats) -> Bools:
    """Whether each campaign brought at least 0.97 of what it brought the reference, (N,)."""
    return reward >= reference - (1 - SUCCESS_FROM) * _scale(reference)


def ruined(reward: Floats, reference: Floats) -> Bools:
    """Whether each campaign brought less than 0.7 of what it brought the reference, (N,)."""
    return reward < reference - (1 - RUINED_BELOW) * _scale(reference)


def _scale(reference: Floats) -> Floats:
    """What a shortfall is relative to, (N,): the reference's outcome, unless it is close to zero."""
    return np.maximum(np.abs(reference), _LEAST_SCALE * abs(float(reference.mean())))


def group_leads(reward: Floats, reference: Floats, launch: Floats) -> dict[str, float]:
    """The lead over the reference in each group of campaigns, by its name, such as `price, 10 of 10`."""
    least = _LEAST_SCALE * abs(float(reference.mean()))
    leads = {}
    for name, rows in _groups(launch):
        base = max(abs(float(reference[rows].mean())), least)
        leads[name] = float((reward[rows] - reference[rows]).mean()) / base
    return leads


def _groups(launch: Floats) -> Iterator[tuple[str, np.ndarray]]:
    """The rows of each group; equal values keep the order of the episodes. Fewer than ten campaigns, fewer groups."""
    for number, name in enumerate(GROUPED_BY):
        order = np.argsort(launch[:, number], kind="stable")
        for place, rows in enumerate(np.array_split(order, SLICES), 1):
            if len(rows):
                yield f"{name}, {place} of {SLICES}", rows
