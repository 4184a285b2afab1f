import json


def test_the_exchange_is_measured_with_everything_on(gaelp):
    found = json.loads(gaelp("bench", "sandbox", "--quick", "--json").stdout)
    assert found["auctions_per_s"] > 0
    assert (found["campaigns"], found["ad_groups"], found["rivals"]) == (10, 8, 12)
    assert found["snapshot_growth"] < 1.5
