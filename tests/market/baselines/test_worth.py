"""Values relative to the average impression, and the whole bids they call for."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.auction_log import AuctionLog
from gaelp.market.baselines.worth import AverageValue, PriorValues, bid_for, mean_price_micros, prior_value_log
from gaelp.market.landscape import build_landscapes
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay
from gaelp.market.spec import LandscapeSpec, PriceComponent
from gaelp.market.view import Brief

LANDSCAPE = LandscapeSpec(name="one", mixture=(PriceComponent(weight=1, log_mean=0, log_sd=0.5),))


@pytest.fixture
def replay() -> AuctionReplay:
    log = AuctionLog(np.array([10, 20]), np.zeros(2, dtype=np.int8), np.array([0.2, 0.4]), None, 1)
    history = PriceHistory(np.array([0, 6, 4]), clicks=1, micros_per_unit=1)
    return AuctionReplay(log, history, episode_auctions=2, budget_micros=30, click_value_micros=1000)


def with_segments(brief: Brief, volume: list[float], level_log: list[float]) -> Brief:
    return replace(
        brief,
        persona=np.zeros((1, len(volume)), dtype=np.int32),
        volume_forecast=np.array([volume], dtype=np.float32),
        price_forecast_log=np.array([level_log], dtype=np.float32),
    )


def test_known_values_are_passed_on_and_the_average_stands_in_for_unknown_ones(replay: AuctionReplay) -> None:
    source = PriorValues()
    source.begin(replay.brief)
    known, spread = source.log_value(replay.reset())
    assert np.exp(known) == pytest.approx(np.array([[200.0]]))
    assert not spread.any()
    unknown, _ = source.log_value(replace(replay.reset(), known_value_log=None))
    assert np.exp(unknown) == pytest.approx(np.array([[0.1 * 1000]]))
    assert np.exp(prior_value_log(replay.brief)) == pytest.approx(np.array([[100.0]]))


def test_the_fixed_average_is_the_one_known_at_launch(replay: AuctionReplay) -> None:
    average = AverageValue(replay.brief, learned=False)
    for _ in range(2):
        assert average.relative(np.log([[50.0]])) == pytest.approx(np.array([[0.5]]))


def test_the_learned_average_of_several_segments_is_their_mean_by_volume(replay: AuctionReplay) -> None:
    average = AverageValue(with_segments(replay.brief, [3, 1], [0, 0]), learned=True)
    relative = average.relative(np.log([[20.0, 100.0]]))
    assert relative == pytest.approx(np.array([[20, 100]]) / 40)


def test_the_learned_average_of_one_segment_is_its_mean_so_far(replay: AuctionReplay) -> None:
    average = AverageValue(replace(replay.brief, hours=np.full(4, 20)), learned=True)
    assert average.relative(np.log([[300.0]])) == pytest.approx(300 / ((100 + 300) / 2))
    assert average.relative(np.log([[50.0]])) == pytest.approx(50 / ((100 + 300 + 50) / 3))


def test_the_mean_price_weighs_segments_by_volume(replay: AuctionReplay) -> None:
    brief = with_segments(replay.brief, [3, 1], [np.log(10), np.log(30)])
    assert mean_price_micros(brief, brief.price_forecast_log) == pytest.approx([15.0])


def test_second_price_bids_are_the_worth_in_whole_micros(replay: AuctionReplay) -> None:
    bids = bid_for(replay.brief, replay.reset(), np.array([[12.9]]))
    assert bids.tolist() == [[12]]
    assert bids.dtype == np.int64


def test_a_whole_worth_survives_its_logarithm(replay: AuctionReplay) -> None:
    whole = np.arange(1, 5001, dtype=np.float64)[:, None]
    assert (np.floor(np.exp(np.log(whole))) < whole).any()
    assert (bid_for(replay.brief, replay.reset(), np.exp(np.log(whole))) == whole).all()


def test_first_price_bids_are_below_the_worth_and_nothing_for_nothing(replay: AuctionReplay) -> None:
    brief = replace(replay.brief, first_price=True, landscapes=build_landscapes([LANDSCAPE], first_price=True))
    obs = replace(replay.reset(), price_level_log=np.full((1, 1), np.log(1000), dtype=np.float32))
    [[bid]] = bid_for(brief, obs, np.array([[1500.0]])).tolist()
    assert 0 < bid < 1400
    assert bid_for(brief, obs, np.array([[0.0]])).tolist() == [[0]]
