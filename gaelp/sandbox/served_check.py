"""Refuse a campaign that the exchange cannot serve, with what is allowed."""

import math

from gaelp.errors import BadInput
from gaelp.sandbox.serving import DEVICES, ServedCampaign, ServedGroup, TargetCpa, TargetRoas
from gaelp.sandbox.topics import TOPICS

__all__ = ["MOST_MICROS", "check_served"]

MOST_MICROS = 10**15  # of a bid or budget: a thousand million units of a currency
_WEEK_HOURS = 168
_MOST_FACTOR = 100.0


def check_served(campaign: ServedCampaign) -> None:
    """Raise BadInput unless the campaign can be served."""
    name = f"campaign {campaign.id}"
    _require(campaign.product != "", f"{name} sells no product: give the host and path of its landing page")
    budgets = [budget for budget in (campaign.daily_micros, campaign.total_micros) if budget is not None]
    _require(len(budgets) == 1, f"{name} has {len(budgets)} budgets; allowed: a daily or a total one")
    _require_amount(budgets[0], f"the budget of {name}")
    _require(
        0 <= campaign.users_from <= campaign.users_to <= 1,
        f"{name} serves users from {campaign.users_from} to {campaign.users_to}; allowed: 0 to 1, rising",
    )
    if isinstance(campaign.strategy, TargetCpa):
        _require_amount(campaign.strategy.micros, f"the target CPA of {name}", least=1)
    if isinstance(campaign.strategy, TargetRoas):
        ratio = campaign.strategy.ratio
        _require(0.01 <= ratio <= 1000, f"the target ROAS of {name} is {ratio}; allowed: 0.01 to 1000")
    ids = [group.id for group in campaign.groups]
    _require(len(set(ids)) == len(ids), f"{name} has ad groups {ids}: give each an id of its own")
    for group in campaign.groups:
        _check_group(group, f"ad group {group.id} of {name}")


def _check_group(group: ServedGroup, name: str) -> None:
    _require_amount(group.bid_micros, f"the bid of {name}")
    _require(
        all(0 <= topic < TOPICS for topic in group.topics),
        f"{name} has topics {group.topics}; allowed: 0 to {TOPICS - 1}",
    )
    _require(len(group.device_factors) == len(DEVICES), f"{name} has {len(group.device_factors)} device factors, not 2")
    _require(
        len(group.hour_factors) in (0, _WEEK_HOURS),
        f"{name} has {len(group.hour_factors)} hour factors; allowed: none, or {_WEEK_HOURS} from Monday 0:00",
    )
    for factor in (*group.device_factors, *group.hour_factors, group.appeal):
        _require(
            math.isfinite(factor) and 0 <= factor <= _MOST_FACTOR,
            f"{name} has a factor or appeal of {factor}; allowed: 0 to {_MOST_FACTOR:g}",
        )


def _require_amount(micros: int, what: str, least: int = 0) -> None:
    _require(least <= micros <= MOST_MICROS, f"{what} is {micros} micros; allowed: {least} to {MOST_MICROS}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BadInput(message)
