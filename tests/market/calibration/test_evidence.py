import pytest

from gaelp.market.calibration.evidence import weighed
from gaelp.market.calibration.fitted import Fitted, TooLittle

CORRELATION = "response.price_value_correlation"
PERSISTENCE = "price.drift_persistence"
SPREAD = "price.segment_log_sd"
RATE = "response.click_rate"


def found(value, low, high):
    return Fitted(value=value, interval_low=low, interval_high=high, observations=7, goodness=0.0, method="test")


@pytest.mark.parametrize(
    ("path", "estimate", "base"),
    [
        (CORRELATION, found(0.6, 0.2, 0.8), 0.3),
        (CORRELATION, found(-0.6, -0.8, -0.2), 0.3),
        (SPREAD, found(0.4, 0.3, 0.7), 0.0),
        (PERSISTENCE, found(0.83, 0.7, 0.93), 0.97),
        (RATE, found(0.02, 0.005, 0.05), 0.01),
    ],
)
def test_an_interval_that_leaves_out_zero_supports_its_value(path, estimate, base):
    assert weighed(path, estimate, base) is estimate


@pytest.mark.parametrize(
    ("path", "estimate", "base", "why"),
    [
        (CORRELATION, found(0.88, -0.996, 0.996), 0.3, "shows neither that there is an effect nor"),
        (CORRELATION, found(1.0, -1.0, 1.0), 0.0, "which may be no effect at all"),
        (CORRELATION, found(0.1, -0.1, 0.3), 0.3, "shows neither that there is an effect nor"),
        (SPREAD, found(0.05, 0.0, 0.3), 0.4, "nor that it is at most half of the base market's 0.4"),
        (SPREAD, found(0.0, 0.0, 0.0), 0.0, "which may be no effect at all"),
        (SPREAD, found(0.05, 0.01, 0.3), 0.4, "factor of 10"),
        (RATE, found(0.02, 0.001, 0.02), 0.01, "factor of 10"),
        (PERSISTENCE, found(0.7, 0.3, 0.95), 0.97, "60% of all possible values"),
    ],
)
def test_an_interval_that_says_too_little_keeps_the_base_market_and_says_why(path, estimate, base, why):
    kept = weighed(path, estimate, base)
    assert isinstance(kept, TooLittle)
    assert why in kept.reason
    assert f"{estimate.interval_low:.3g} .. {estimate.interval_high:.3g}" in kept.reason
    assert (kept.estimate, kept.observations) == (estimate, 7)


@pytest.mark.parametrize("estimate", [found(0.0, 0.0, 0.14), found(0.02, -0.1, 0.14), found(0.1, 0.001, 0.14)])
def test_an_interval_close_around_zero_shows_that_the_effect_of_the_base_market_is_absent(estimate):
    assert weighed(CORRELATION, estimate, 0.3) is estimate
    assert isinstance(weighed(CORRELATION, estimate, 0.2), TooLittle)
