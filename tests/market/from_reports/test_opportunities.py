import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.market.from_reports.opportunities import forecast_opportunities, opportunities_from_share


def test_a_share_gives_the_volume_unless_it_is_absent_floored_or_of_nothing():
    possible, error = opportunities_from_share([30, 30, 30, 0], [0.25, 0.0999, np.nan, 0.5])
    np.testing.assert_array_equal(possible, [120, np.nan, np.nan, np.nan])
    assert 0 < error[0] < 1e-3
    assert np.isnan(error[1:]).all()


@given(
    expected=st.floats(0.1, 1e4),
    shown=st.integers(0, 1000),
    known=st.floats(0, 1e5),
    forecast=st.floats(0, 1e5),
)
def test_the_forecast_is_corrected_towards_what_was_known_and_never_below_the_impressions(
    expected, shown, known, forecast
):
    learned = (np.array([100.0]), np.array([known]), np.array([forecast]))
    estimate, error = forecast_opportunities(np.array([expected]), np.array([shown]), learned, (0.3, 0.15))
    corrected = expected * (100 + known) / (100 + forecast)
    assert estimate[0] == pytest.approx(max(corrected, shown))
    assert error[0] >= np.sqrt(0.15)


def test_the_error_falls_as_more_volume_is_known():
    numbers = (np.array([50.0]), np.array([10]))
    errors = [
        float(
            forecast_opportunities(*numbers, (np.array([100.0]), np.full(1, known), np.full(1, known)), (0.3, 0.1))[1][
                0
            ]
        )
        for known in (0.0, 100.0, 1e6)
    ]
    assert errors[0] > errors[1] > errors[2] > np.sqrt(0.1)
