"""The economics of the exchange: better bidders earn more, and the figures are those of a small search advertiser."""

import pytest

from gaelp.bench.sandbox_economics import measure_economics
from gaelp.sandbox.spec import load_sandbox_spec


@pytest.mark.slow
def test_bidders_are_ordered_and_the_incumbent_is_a_plausible_advertiser():
    rows = {row.bidder: row for row in measure_economics(load_sandbox_spec(), campaigns=24, days=14)}
    usual = rows["incumbent"]
    assert 1.0 < usual.cost_per_click < 1.4
    assert 0.045 < usual.click_rate < 0.06
    assert 0.05 < usual.conversion_rate < 0.07
    assert 16 < usual.cost_per_conversion < 25
    scaled, best = rows["incumbent, scaled until its budget lasts"], rows["oracle"]
    assert rows["random"].roi < usual.roi < scaled.roi < best.roi
    assert rows["target ROAS 1.2"].profit_per_day > usual.profit_per_day
    assert best.profit_per_day > max(row.profit_per_day for name, row in rows.items() if name != "oracle")
