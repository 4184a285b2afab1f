"""How open clicks and exposure fade from hour to hour: one definition for the market and for platform reports."""

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints32
from gaelp.market.compiled import inlined

__all__ = ["fade", "mature"]


@inlined
def mature(
    first: int,
    last: int,
    clicks: Ints32,
    open_share: Floats32,
    shares: Floats,
    kept: Floats32,
    parts: Floats32,
    maturing: Floats32,
) -> None:
    """Add a block's clicks to those that may still convert, part by part of the delay, and let an hour pass."""
    new, open_now = clicks[first:last].reshape(-1), open_share[first:last].reshape(-1)
    total = maturing[first:last].reshape(-1)
    if len(parts) == 0:
        left = kept[0, first:last].reshape(-1)
        for i in range(len(new)):
            opened = np.float32(total[i] + float(new[i]) * float(open_now[i]))
            total[i] = opened * left[i]
    else:
        total[:] = 0.0
    for k in range(len(parts)):
        left, part, share = kept[k, first:last].reshape(-1), parts[k, first:last].reshape(-1), np.float32(shares[k])
        for i in range(len(new)):
            part[i] = (part[i] + open_now[i] * share * np.float32(new[i])) * left[i]
            total[i] += part[i]


@inlined
def fade(kept: Floats32, impressions: Ints32, audience: Floats32, exposure: Floats32) -> None:
    """Forget some of the exposure and add the hour's; all rows are flat."""
    for i in range(len(exposure)):
        faded = exposure[i] * kept[i]
        exposure[i] = float(faded) + float(impressions[i]) / float(audience[i])
