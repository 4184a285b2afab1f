"""What a policy is truly worth on the local ad platform: the same world again, with other bids than the incumbent's.

Campaigns, budgets, searches and the random factors on bids are those of the history. The value of clicks is their
expected value, so what is left of chance is who searches and clicks, and most of that is common to both runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import join_events
from gaelp.sandbox.incumbent import IncumbentCampaign, SynthesisSpec, draw_actions, incumbent_campaigns
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["TrueDollars", "true_dollars", "true_lifts"]

_WEEK_HOURS, _WEEK_TICKS = 168, 7 * 1440


@dataclass(frozen=True, slots=True)
class TrueDollars:
    """Of all campaigns of an account together."""

    value_micros: float  # expected, of all billed clicks
    spend_micros: int  # without what was credited

    @property
    def value_per_dollar(self) -> float:
        """Expected value over spend."""
        return self.value_micros / self.spend_micros


def true_lifts(spec: SynthesisSpec, world: SandboxSpec, shifts: Mapping[str, Floats]) -> dict[str, float]:
    """True lift in value per dollar of each policy over the incumbent, in the weeks of the history."""
    reference = true_dollars(spec, world, np.zeros(1)).value_per_dollar
    return {name: true_dollars(spec, world, shift).value_per_dollar / reference - 1 for name, shift in shifts.items()}


def true_dollars(spec: SynthesisSpec, world: SandboxSpec, shift: Floats) -> TrueDollars:
    """Bid exp(shift) times the incumbent's usual bids with its random factors; `shift` broadcasts to (groups,)."""
    exchange = Exchange(world)
    campaigns = incumbent_campaigns(spec, world, exchange.price_levels)
    parts = []
    for week in range(spec.weeks):
        for number, campaign in enumerate(campaigns):
            exchange.serve(_week_of(spec, campaign, number, week, shift))
        parts.append(exchange.advance((week + 1) * _WEEK_TICKS))
    events = join_events(parts)
    spend = int(events.hours["cost_micros"].sum()) - int(events.credits["cost_micros"].sum())
    return TrueDollars(sum(exchange.expected_value_micros(each.served.id) for each in campaigns), spend)


def _week_of(spec: SynthesisSpec, campaign: IncumbentCampaign, number: int, week: int, shift: Floats) -> ServedCampaign:
    """The campaign with its bids for each hour of the week from Monday on, when a world begins."""
    hours = range(week * _WEEK_HOURS, (week + 1) * _WEEK_HOURS)
    actions = np.stack([draw_actions(spec, number, hour, len(campaign.segments)) for hour in hours])
    return campaign.with_schedule(campaign.bids_micros(actions + shift), np.arange(_WEEK_HOURS))
