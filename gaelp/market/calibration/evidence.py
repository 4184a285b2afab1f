"""Whether a log says enough about a number to overrule the base market: one rule for every statistic."""

from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.number_text import short_number

__all__ = ["ABSENT_SHARE", "FACTOR_MAX", "RANGE_SHARE_MAX", "weighed"]

FACTOR_MAX = 10.0  # how far apart the ends of an interval may be, as a factor
RANGE_SHARE_MAX = 0.6  # how much of all possible values an interval may hold
ABSENT_SHARE = 0.5  # an interval this close to 0, as a share of the base market's value, shows an effect to be absent

# Statistics that cannot leave a range, and how long it is.
_RANGE_LENGTH = {
    "delay.immediate_share": 1.0,
    "price.drift_persistence": 1.0,
    "response.click_rate": 1.0,
    "response.conversion_rate": 1.0,
    "response.price_value_correlation": 2.0,
}


def weighed(path: str, estimate: Fitted, base_value: float) -> Fitted | TooLittle:
    """The estimate where its interval supports it, else why the base market's value stays.

    Supported is an interval that leaves out 0, has ends at most a factor of 10 apart and holds at most 0.6 of the
    possible range; or one with both ends closer to 0 than half of the base market's value: the effect is absent.
    """
    reason = _unsupported(path, estimate, base_value)
    if reason is None:
        return estimate
    value, low, high = (
        short_number(number, 3) for number in (estimate.value, estimate.interval_low, estimate.interval_high)
    )
    reason = f"the log's estimate is {value} (95% interval {low} .. {high}), {reason}"
    return TooLittle(observations=estimate.observations, reason=reason, estimate=estimate)


def _unsupported(path: str, estimate: Fitted, base_value: float) -> str | None:
    low, high = estimate.interval_low, estimate.interval_high
    near, far = sorted((abs(low), abs(high)))
    if base_value != 0 and far <= ABSENT_SHARE * abs(base_value):
        return None
    if low * high <= 0:
        if base_value == 0:
            return "which may be no effect at all"
        return (
            "which shows neither that there is an effect nor that it is at most half of the base market's"
            f" {base_value:.3g}"
        )
    if far > FACTOR_MAX * near:
        return f"whose ends are more than a factor of {FACTOR_MAX:g} apart"
    if high - low > RANGE_SHARE_MAX * _RANGE_LENGTH.get(path, float("inf")):
        return f"which covers more than {RANGE_SHARE_MAX:.0%} of all possible values"
    return None
