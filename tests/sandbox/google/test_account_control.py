"""A suspended account: nothing serves, nothing can be changed, everything can be read."""

import pytest
from google.ads.googleads.errors import GoogleAdsException

from gaelp.errors import BadInput
from gaelp.sandbox.google.account_control import set_suspended

IMPRESSIONS = "SELECT metrics.impressions FROM customer"


def test_a_suspended_account_does_not_serve_until_it_is_reinstated(sandbox, script):
    script.add_serving_campaign()
    sandbox.advance(days=1)
    set_suspended(sandbox.world, script.account, suspended=True)
    sandbox.advance(hours=5)
    before = script.rows(IMPRESSIONS)[0].metrics.impressions
    assert before > 0
    sandbox.advance(days=1)
    assert script.rows(IMPRESSIONS)[0].metrics.impressions == before
    row = script.rows("SELECT customer.status, campaign.serving_status FROM campaign")[0]
    assert (row.customer.status.name, row.campaign.serving_status.name) == ("SUSPENDED", "SUSPENDED")
    with pytest.raises(GoogleAdsException) as raised:
        script.add_budget("New")
    error = raised.value.failure.errors[0].error_code.authorization_error.name
    assert error == "ACTION_NOT_PERMITTED_FOR_SUSPENDED_ACCOUNT"
    set_suspended(sandbox.world, script.account, suspended=False)
    sandbox.advance(days=1)
    assert script.rows(IMPRESSIONS)[0].metrics.impressions > before
    script.add_budget("New")


def test_an_account_that_does_not_exist_cannot_be_suspended(sandbox):
    with pytest.raises(BadInput, match="this sandbox has"):
        set_suspended(sandbox.world, "1", suspended=True)
