"""A fault of the world instead of its API: everybody clicks on adverts less or more often from an instant on.

Kept with the world's resources, so that it outlives a restart and a replay gives the same events.
"""

from dataclasses import replace

from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.world_call import Resource, WorldCall

__all__ = ["click_factor", "keep_click_factor", "scaled"]

_ACCOUNT, _KIND, _ID = "", "world/click_factor", 1


def click_factor(call: WorldCall) -> float:
    """What every click rate is multiplied by; 1 where nothing is wrong."""
    kept = call.resource(_ACCOUNT, _KIND, _ID)
    return 1.0 if kept is None else float(kept.body)


def keep_click_factor(call: WorldCall, factor: float) -> None:
    """Store another factor."""
    call.put(Resource(_ACCOUNT, _KIND, _ID, "", repr(factor).encode()))


def scaled(campaign: ServedCampaign, factor: float) -> ServedCampaign:
    """The campaign with the click rates of all its ad groups multiplied."""
    if factor == 1.0:
        return campaign
    groups = tuple(replace(group, appeal=group.appeal * factor) for group in campaign.groups)
    return replace(campaign, groups=groups)
