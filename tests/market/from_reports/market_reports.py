"""Market hours as a platform would report them, and a comparison of observations."""

import numpy as np
import torch

from gaelp.agents.networks import NetworkSpec, mlp
from gaelp.market.baselines.tuned import load_tuned_file
from gaelp.market.from_reports import Observer, ReportedHours, report_model
from gaelp.training.segment_env import ResidualSpec, SegmentFeatures
from gaelp.training.segment_policy import SegmentPolicy

FLOATS = {"rtol": 1e-5, "atol": 1e-5}


def reported(market, **changes):
    """The hour that the market has just run, as one row a campaign."""
    state = market.state
    row = {
        "hour": np.full(market.campaigns, market.hour - 1),
        "impressions": state.impressions.astype(np.int64),
        "clicks": state.clicks.astype(np.int64),
        "conversions": state.conversions.astype(np.float64),
        "cost_micros": state.cost_micros.copy(),
        "opportunities": state.opportunities.astype(np.float64),
    }
    return ReportedHours(**{**row, **changes})


def observer_of(market, **options):
    return Observer(market.brief, report_model(market.spec, market.landscapes), **options)


def assert_same(actual, wanted, *, hour, but=()):
    """Whole numbers are equal, others to rounding."""
    for name in wanted.__slots__:
        ours, theirs = getattr(actual, name), getattr(wanted, name)
        if name in but or name == "known_value_log":
            continue
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), name
        exact = np.issubdtype(theirs.dtype, np.integer)
        compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        compare(ours, theirs, err_msg=f"{name} in hour {hour}", **({} if exact else FLOATS))


def learned(rule):
    """A segment policy with a network of random weights."""
    net = mlp(SegmentFeatures.size(), 1, NetworkSpec(hidden=(32, 32)), generator=torch.Generator().manual_seed(1))
    return SegmentPolicy("learned", rule, ResidualSpec(), torch.no_grad()(lambda rows: torch.tanh(net(rows))))


def build_policy(key):
    """A tuned rule by its key, or a learned policy above the rule mpc."""
    tuned = load_tuned_file("cal")
    return learned(tuned.build("mpc")) if key == "learned" else tuned.build(key)
