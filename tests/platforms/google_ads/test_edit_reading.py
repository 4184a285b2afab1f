"""Edits by hand are found with who, when and what; GAELP's own changes are not."""

from datetime import timedelta

import grpc

from gaelp.platforms import Done
from gaelp.platforms.google_ads.operations import Operations
from gaelp.sandbox.google.accounts import CLIENT_HEADER, USER_HEADER


class ByHand(grpc.UnaryUnaryClientInterceptor):
    """Marks calls as made by a person in Google's own interface."""

    def intercept_unary_unary(self, continuation, details, request):
        headers = [
            *(details.metadata or ()),
            (USER_HEADER, "eve@shop.example"),
            (CLIENT_HEADER, "GOOGLE_ADS_WEB_CLIENT"),
        ]
        return continuation(details._replace(metadata=headers), request)


def test_an_edit_by_hand_is_found_with_who_when_and_what(platform, sandbox):
    assert platform.set_budget("spring", 5_000_000, platform.now().date(), key="k1") == Done()
    assert platform.set_bids("spring", {"bread": 300_000}, key="k2") == Done()
    before = sandbox.advance(hours=1)
    hand = sandbox.connect(platform._connection.customer_id)._connection
    hand.__dict__["_channel"] = grpc.intercept_channel(hand._channel, ByHand())
    [row] = hand.search("SELECT campaign_budget.resource_name FROM campaign_budget")
    [group] = hand.search("SELECT ad_group.resource_name FROM ad_group")
    operations = Operations(hand)
    hand.mutate([operations.set_amount(row.campaign_budget.resource_name, 9_000_000)])
    hand.mutate([operations.set_bid(group.ad_group.resource_name, 400_000)])
    edits = platform.read_edits(before - timedelta(minutes=1))
    assert {(edit.campaign, edit.who) for edit in edits} == {("spring", "eve@shop.example")}
    assert [edit.what for edit in edits] == [
        "update of campaign_budget (amount_micros)",
        "update of ad_group (cpc_bid_micros)",
    ]
    assert all(edit.at == before for edit in edits)
    assert platform.read_edits(before + timedelta(minutes=1)) == ()
