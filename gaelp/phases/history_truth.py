"""What bidders truly bring on a history of the local ad platform: its sealed days are run again with each of them.

Only a made history can be run again. No gate reads these figures: they show how far off the estimates are, and what the
platform's own automated bidding would have done, which no log of other bids can tell.
"""

from collections.abc import Mapping

import numpy as np

from gaelp.config.settings import Settings
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.history.split_windows import Splits
from gaelp.phases.history_figures import TrueResult
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.history_rerun import LOGGED, HourBidder, RerunWindow, automated, rerun_history, shifted
from gaelp.sandbox.history_specs import history_specs
from gaelp.sandbox.incumbent import IncumbentCampaign, incumbent_campaigns
from gaelp.sandbox.serving import TargetRoas

__all__ = ["run_again"]

TARGET_RATIO = 1.2  # value for each unit spent: what docs/sandbox.md compares
_HOUR_US = 3_600_000_000


def run_again(
    settings: Settings, splits: Splits, logged: LoggedDecisions, policies: Mapping[str, LoggedPolicy]
) -> tuple[TrueResult, ...]:
    """The policies and the platform's own bidding, where the history was made here; else nothing."""
    if settings.history.synthesize is None:
        return ()
    spec, world = history_specs(settings.history.synthesize, settings.run.seed)
    campaigns = incumbent_campaigns(spec, world, Exchange(world).price_levels)
    own: dict[str, HourBidder] = {f"target ROAS {TARGET_RATIO:g}": automated(TargetRoas(TARGET_RATIO))}
    bidders = {key: shifted(_by_hour(logged, policy, campaigns)) for key, policy in policies.items()}
    window = RerunWindow(spec, world, splits.sealed.first_day, splits.sealed.last_day)
    outcomes = rerun_history(window, bidders | own)
    usual = outcomes.pop(LOGGED)
    return tuple(
        TrueResult(
            key=key,
            is_automated=key in own,
            value_per_dollar=outcome.value_per_dollar,
            lift=outcome.value_per_dollar / usual.value_per_dollar - 1,
            spend_share=outcome.spend_micros / max(usual.spend_micros, 1),
        )
        for key, outcome in outcomes.items()
    )


def _by_hour(
    logged: LoggedDecisions, policy: LoggedPolicy, campaigns: tuple[IncumbentCampaign, ...]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Log factors on the logged bids, (hours, campaigns, groups); 0 where the log has no row."""
    number = {campaign.name: place for place, campaign in enumerate(campaigns)}
    groups = {segment: place for place, segment in enumerate(campaigns[0].segments)}
    hour = logged.hour_start.astype(np.int64) // _HOUR_US
    hour = hour - hour.min()
    shift = np.zeros((int(hour.max()) + 1, len(campaigns), len(groups)))
    campaign = np.array([number[name] for name in logged.campaign_names])[logged.campaign]
    segment = np.array([groups[name] for name in logged.segment_names])[logged.segment]
    shift[hour, campaign, segment] = policy.shift
    return shift
