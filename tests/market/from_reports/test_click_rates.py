import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.market.from_reports import predicted_click_rate


@given(rate=st.floats(1e-4, 0.5), impressions=st.integers(0, 10**6), share=st.floats(0, 1))
def test_the_rate_lies_between_the_first_estimate_and_what_was_reported(rate, impressions, share):
    clicks = int(impressions * share)
    predicted = float(predicted_click_rate(rate, clicks, impressions))
    low, high = sorted((rate, clicks / impressions if impressions else rate))
    assert low * (1 - 1e-9) <= predicted <= high * (1 + 1e-9)


def test_nothing_reported_leaves_the_estimate_and_much_replaces_it():
    assert predicted_click_rate(0.02, 0, 0) == pytest.approx(0.02)
    assert predicted_click_rate(0.02, 50_000, 10**6) == pytest.approx(0.05, rel=1e-3)
    assert predicted_click_rate(0.02, 20, 500) == pytest.approx(40 / 1500)


@pytest.mark.parametrize("rate", [0.0, 1.0, np.nan])
def test_an_impossible_estimate_is_refused(rate):
    with pytest.raises(DataError, match="allowed: above 0, below 1"):
        predicted_click_rate(rate, 1, 10)
