"""What a pilot takes over from a logged campaign: its segments, their usual bids, and what a conversion is worth."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Ints
from gaelp.errors import BadInput
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.money import Micros

__all__ = ["LoggedCampaign", "by_evidence", "logged_campaign", "usual_bids_micros"]

_CENT_MICROS = 10_000  # bids are whole cents
_SHOWN = 5
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class LoggedCampaign:
    """One logged campaign; bids are for a click, in the order of the segments."""

    name: str
    segments: tuple[str, ...]
    usual_bids_micros: tuple[Micros, ...]
    conversion_value_micros: Micros


def logged_campaign(estimates: SegmentEstimates, name: str) -> LoggedCampaign:
    """A campaign by its name in the log; BadInput names some that there are."""
    if name not in estimates.campaign_names:
        known = ", ".join(estimates.campaign_names[:_SHOWN])
        more = len(estimates.campaign_names) - _SHOWN
        raise BadInput(
            f"{name!r} is not among the logged campaigns; allowed: {known}{f' and {more} more' if more > 0 else ''}."
            " Name one of the history"
        )
    place = estimates.campaign_names.index(name)
    there = np.flatnonzero(estimates.present[place]).tolist()
    return LoggedCampaign(
        name=name,
        segments=tuple(estimates.segment_names[place][segment] for segment in there),
        usual_bids_micros=tuple(usual_bids_micros(estimates)[place, there].tolist()),
        conversion_value_micros=max(round(float(estimates.conversion_value_micros[place])), 1),
    )


def by_evidence(estimates: SegmentEstimates) -> tuple[str, ...]:
    """All logged campaigns, those with the most clicks first: the error of a click rate falls with their number."""
    weight = np.where(estimates.present, 1 / np.maximum(estimates.click_error, _TINY) ** 2, 0.0).sum(axis=1)
    order = np.lexsort((np.array(estimates.campaign_names), -weight))
    return tuple(estimates.campaign_names[place] for place in order.tolist())


def usual_bids_micros(estimates: SegmentEstimates) -> Ints:
    """The usual bids for a click in whole cents, (N, S)."""
    cents = np.maximum(np.rint(estimates.usual_bid_micros / _CENT_MICROS), 1)
    return np.asarray(cents * _CENT_MICROS, np.int64)
