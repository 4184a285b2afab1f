import json


def test_the_market_is_measured_in_steps_and_bytes(gaelp):
    found = json.loads(gaelp("bench", "market", "--market", "calm", "--quick", "--json").stdout)
    assert found["campaign_steps_per_s"] > found["env_steps_per_s"] > 0
    assert found["bytes_per_campaign"] > 0
    assert found["ratio_to_rtbgym"] is None
