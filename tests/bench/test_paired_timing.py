"""Market and peer are timed alternately, and the ratio is the median over the pairs."""

import sys

import pytest

from gaelp.bench.market_peers import PEERS
from gaelp.bench.paired_timing import PairedTimings, TimedPair, measure_in_pairs
from gaelp.market.build import build_market, load_market_spec, load_persona_table


@pytest.fixture(scope="module")
def market():
    return build_market(load_market_spec("calm"), load_persona_table("personas"))


def test_the_ratio_is_the_median_so_that_one_odd_turn_does_not_count():
    speeds = [(300.0, 1.0), (310.0, 1.0), (9000.0, 1.0)]
    made = (
        TimedPair(campaign_steps_per_s=ours, env_steps_per_s=ours / 2, peer_steps_per_s=peer) for ours, peer in speeds
    )
    timings = PairedTimings(pairs=tuple(made))
    assert (timings.ratio, timings.env_ratio) == (310, 155)


def test_a_peer_that_is_there_is_measured_every_turn(market, tmp_path, monkeypatch):
    (tmp_path / "peer.py").write_text("print('{\"steps_per_s\": 10}')", encoding="utf-8")
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setitem(PEERS, "mine", ("python", "peer.py"))
    reported = []
    timings = measure_in_pairs(market, 8, "mine", tmp_path, pairs=2, report=reported.append)
    assert list(timings.pairs) == reported
    assert timings.ratio == pytest.approx(sum(pair.campaign_steps_per_s for pair in reported) / 2 / 10)


def test_without_the_peer_there_is_nothing_to_compare(market, tmp_path):
    assert measure_in_pairs(market, 8, "rtbgym", tmp_path, pairs=2, report=lambda _: None) is None
