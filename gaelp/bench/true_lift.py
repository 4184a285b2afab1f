"""What a policy is truly worth on the local ad platform: the same world again, with other bids than the incumbent's.

Campaigns, budgets, searches and the random factors on bids are those of the history. The value of clicks is their
expected value, so what is left of chance is who searches and clicks, and most of that is common to both runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import join_events
from gaelp.sandbox.incumbent import SynthesisSpec, draw_actions, incumbent_campaigns
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.topics import TOPICS

__all__ = ["TrueDollars", "true_dollars", "true_lifts"]

_WEEK_HOURS, _HOUR_TICKS = 168, 60


@dataclass(frozen=True, slots=True)
class TrueDollars:
    """Of all campaigns of an account together."""

    value_micros: float  # expected, of all billed clicks
    spend_micros: int  # without what was credited

    @property
    def value_per_dollar(self) -> float:
        """Expected value over spend."""
        return self.value_micros / self.spend_micros


def true_lifts(
    spec: SynthesisSpec, world: SandboxSpec, shifts: Mapping[str, Floats], *, weeks: int
) -> dict[str, float]:
    """True lift in value per dollar of each policy over the incumbent, in the first weeks of the history."""
    drawn = [
        np.stack([draw_actions(spec, number, hour, TOPICS) for hour in range(weeks * _WEEK_HOURS)])
        for number in range(spec.campaigns)
    ]
    reference = true_dollars(spec, world, drawn).value_per_dollar
    return {
        name: true_dollars(spec, world, [actions + shift for actions in drawn]).value_per_dollar / reference - 1
        for name, shift in shifts.items()
    }


def true_dollars(spec: SynthesisSpec, world: SandboxSpec, actions: Sequence[Floats]) -> TrueDollars:
    """Bid exp(action) times the incumbent's usual bids; for each campaign whole weeks of shape (hours, groups)."""
    exchange = Exchange(world)
    campaigns = incumbent_campaigns(spec, world, exchange.price_levels)
    bids = [campaign.bids_micros(own) for campaign, own in zip(campaigns, actions, strict=True)]
    parts = []
    for first in range(0, len(bids[0]), _WEEK_HOURS):  # a world begins on a Monday
        for campaign, own in zip(campaigns, bids, strict=True):
            exchange.serve(campaign.with_schedule(own[first : first + _WEEK_HOURS], np.arange(_WEEK_HOURS)))
        parts.append(exchange.advance((first + _WEEK_HOURS) * _HOUR_TICKS))
    events = join_events(parts)
    spend = int(events.hours["cost_micros"].sum()) - int(events.credits["cost_micros"].sum())
    return TrueDollars(sum(exchange.expected_value_micros(each.served.id) for each in campaigns), spend)
