"""What a policy sees, feature by feature: the inputs of its network, and the bid that it answers."""

import numpy as np

from gaelp.arrays import Floats32
from gaelp.config.objective import Objective, is_value
from gaelp.market.campaign_rows import take
from gaelp.market.features import FeatureMaker
from gaelp.market.spaces import GLOBAL_FEATURES, OBJECTIVE_FEATURES, SEGMENT_FEATURES
from gaelp.market.view import Brief
from gaelp.pilot.controller import Decision

__all__ = ["BID", "input_names", "inputs_of"]

BID = "bid_over_usual"  # log of the bid that the policy answers over the usual one


def input_names(objective: Objective) -> tuple[str, ...]:
    """The features in their order; those of a segment are called `segment_…`."""
    whole = GLOBAL_FEATURES if is_value(objective) else (*GLOBAL_FEATURES, *OBJECTIVE_FEATURES)
    return (*(name for name, _ in whole), *(f"segment_{name}" for name, _ in SEGMENT_FEATURES), BID)


def inputs_of(brief: Brief, decision: Decision) -> Floats32:
    """Of the campaigns that run, (n, S, features); `brief` is that of all campaigns' current flights."""
    own = take(brief, decision.rows)
    return FeatureMaker(own).by_segment(decision.observation, decision.log_factor.astype(np.float32)[None])
