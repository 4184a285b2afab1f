"""ad_group_simulation: what other bids would have brought."""


def test_the_bid_simulator_shows_more_clicks_for_higher_bids(script, sandbox):
    script.add_serving_campaign()
    sandbox.advance(days=8, hours=4)
    rows = script.rows(
        "SELECT ad_group_simulation.ad_group_id, ad_group_simulation.cpc_bid_point_list.points,"
        " ad_group_simulation.start_date FROM ad_group_simulation WHERE ad_group_simulation.type = 'CPC_BID'"
    )
    points = rows[0].ad_group_simulation.cpc_bid_point_list.points
    bids = [point.cpc_bid_micros for point in points]
    assert bids == sorted(bids)
    assert 2_000_000 in bids
    assert points[-1].impressions > points[0].impressions
    assert points[-1].cost_micros > points[0].cost_micros


def test_a_group_that_does_not_serve_has_no_simulation(sandbox, script):
    script.add_ad_group(script.add_campaign(script.add_budget()))
    assert script.rows("SELECT ad_group_simulation.cpc_bid_point_list.points FROM ad_group_simulation") == []
