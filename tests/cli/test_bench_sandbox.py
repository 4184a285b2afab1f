import json


def test_auctions_history_and_api_calls_are_measured_with_everything_on(gaelp):
    answer = gaelp("bench", "sandbox", "--quick", "--json")
    figures = json.loads(answer.stdout)
    assert figures["auctions_per_s"] > 0
    assert (figures["campaigns"], figures["ad_groups"], figures["rivals"]) == (10, 8, 12)
    assert figures["snapshot_growth"] < 1.1
    assert (figures["synthesize_weeks"], figures["synthesize_campaigns"]) == (1, 2)
    assert figures["synthesize_rows"] > 1000
    assert figures["synthesize_seconds"] > 0
    assert figures["api_calls"] == 100
    assert 0 < figures["api_p50_ms"] <= figures["api_p99_ms"]
    assert figures["api_calls_per_s"] > 0
    assert "calls/s" in answer.stderr
