"""A market's numbers, one record per campaign, so that each can have its own: base values and drawn ranges."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Uints
from gaelp.market.compiled import compiled
from gaelp.market.random import keyed, uniform
from gaelp.market.spec import RANDOMISABLE, MarketSpec
from gaelp.market.spec_ranges import value_at

__all__ = ["PARAMETERS", "STREAM_RANDOMISE", "campaign_parameters"]

PARAMETERS = np.dtype([(path.replace(".", "_"), np.float64) for path in RANDOMISABLE])
STREAM_RANDOMISE = 1


def campaign_parameters(spec: MarketSpec, keys: Uints) -> npt.NDArray[np.void]:
    """One record a campaign: the spec's value, or a draw from its range that depends on the campaign's key alone."""
    records = np.empty(len(keys), PARAMETERS)
    for purpose, path in enumerate(RANDOMISABLE):
        low, high = spec.randomise.get(path, (value_at(spec, path),) * 2)
        draws = _uniforms(keys, purpose) if high > low else 0.0
        records[path.replace(".", "_")] = low + (high - low) * draws
    return records


@compiled
def _uniforms(keys: Uints, purpose: int) -> Floats:
    out = np.empty(len(keys))
    for n in range(len(keys)):
        out[n] = uniform(keyed(keys[n], STREAM_RANDOMISE, purpose, 0))
    return out
