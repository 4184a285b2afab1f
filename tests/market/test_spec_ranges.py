import pytest

from gaelp.market.spec import MarketSpec
from gaelp.market.spec_ranges import ranges_refused, value_at

SPEC = MarketSpec(name="m")
ALLOWED = ("price.common_drift_sd", "budget.share_low", "budget.share_high")


@pytest.mark.parametrize(
    ("ranges", "path", "message"),
    [
        ({"price.common_drift": (0.0, 0.1)}, ("randomise", "price.common_drift"), "Did you mean price.common_drift_sd"),
        ({"price.common_drift_sd": (-1.0, 0.1)}, ("randomise", "price.common_drift_sd", 0), "saw -1; allowed:"),
        ({"price.common_drift_sd": (0.2, 0.1)}, ("randomise", "price.common_drift_sd"), "Swap them"),
    ],
)
def test_a_range_that_cannot_be_drawn_from_is_refused_at_its_key(ranges, path, message):
    [(key, text)] = ranges_refused(SPEC, ranges, allowed=ALLOWED)
    assert key == path
    assert message in text


def test_two_ranges_may_not_cross():
    assert ranges_refused(SPEC, {"budget.share_low": (0.9, 0.95), "budget.share_high": (0.3, 0.4)}, allowed=ALLOWED)
    assert not ranges_refused(SPEC, {"price.common_drift_sd": (0.0, 0.1)}, allowed=ALLOWED)


def test_a_number_is_found_by_its_key_path():
    assert value_at(SPEC, "price.level_micros") == SPEC.price.level_micros
