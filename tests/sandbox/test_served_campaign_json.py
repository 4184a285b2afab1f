"""A campaign is the same after it was stored, whatever its strategy and dates."""

from datetime import date

import pytest

from gaelp.sandbox.served_campaign_json import campaign_from_json, campaign_to_json
from gaelp.sandbox.serving import ManualBids, MaximizeConversions, TargetCpa, TargetRoas


@pytest.mark.parametrize("strategy", [ManualBids(), MaximizeConversions(), TargetCpa(5), TargetRoas(2.1)])
@pytest.mark.parametrize("days", [(None, None), (date(2026, 1, 1), date(2026, 2, 1))])
def test_a_stored_campaign_comes_back_equal(campaign, strategy, days):
    served = campaign(strategy=strategy, first_day=days[0], last_day=days[1], users_to=1 / 3)
    assert campaign_from_json(campaign_to_json(served)) == served
