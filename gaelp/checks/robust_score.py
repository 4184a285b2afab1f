"""How unusual a point is beside those before it, by median and MAD: an odd point does not hide itself."""

from collections.abc import Sequence
from statistics import median

__all__ = ["robust_z"]

_MAD_TO_SIGMA = 1.4826  # a normal distribution's standard deviation over its median absolute deviation


def robust_z(
    before: Sequence[float],
    point: float,
    *,
    minimum_count: int,
    scale_floor: float,
    scale_floor_fraction: float = 0.0,
) -> float | None:
    """How many robust standard deviations `point` lies above the median of the points before it.

    None with fewer than `minimum_count` points. The point is not among `before`: a large one would widen the scale it
    is measured with. The scale is at least `scale_floor` and the fraction of the median, so that a calm history makes
    no alarm of a ripple. All points are finite.
    """
    if len(before) < minimum_count:
        return None
    centre = median(before)
    spread = _MAD_TO_SIGMA * median([abs(earlier - centre) for earlier in before])
    return (point - centre) / max(spread, scale_floor, scale_floor_fraction * abs(centre))
