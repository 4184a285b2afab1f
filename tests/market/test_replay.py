"""Replay holds each logged auction as it was: who bids enough and can pay wins, and the reward is against hindsight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import ActionError, DataError
from gaelp.market.auction_log import UNKNOWN_PRICE_MICROS, AuctionLog
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay
from gaelp.market.view import Action

HISTORY = PriceHistory(np.array([0, 2, 5, 3, 1, 1, 0, 0, 1]), clicks=2, micros_per_unit=10)
CLICK_VALUE_MICROS = 1_000_000


def log_of(prices: list[int], *, clicks: list[int] | None = None, bids: list[int] | None = None) -> AuctionLog:
    count = len(prices)
    return AuctionLog(
        price_micros=np.array(prices, dtype=np.int64),
        click=np.array(clicks or [0] * count, dtype=np.int8),
        click_probability=np.linspace(0.1, 0.2, count),
        bid_micros=None if bids is None else np.array(bids, dtype=np.int64),
        micros_per_unit=10,
    )


def replay_of(log: AuctionLog, *, auctions: int | None = None, budget: int = 10**6) -> AuctionReplay:
    return AuctionReplay(
        log,
        HISTORY,
        episode_auctions=auctions or len(log),
        budget_micros=budget,
        click_value_micros=CLICK_VALUE_MICROS,
    )


def bids_of(*micros: int) -> Action:
    return Action(np.array(micros, dtype=np.int64)[:, None])


@pytest.mark.parametrize(("bid", "won"), [(29, 0), (30, 1), (31, 1)])
def test_a_bid_wins_at_the_price_and_pays_the_price(bid: int, won: int) -> None:
    obs, outcome = replay_of(log_of([30], clicks=[1])).step(bids_of(bid))
    assert obs.impressions.tolist() == obs.clicks.tolist() == obs.conversions.tolist() == [[won]]
    assert obs.cost_micros.tolist() == [[30 * won]]
    assert obs.left_micros.tolist() == [10**6 - 30 * won]
    assert outcome.value_micros.tolist() == [[0.1 * CLICK_VALUE_MICROS * won]]


@pytest.mark.parametrize(("price", "won"), [(40, 1), (50, 1), (51, 0)])
def test_a_bid_above_the_money_left_counts_as_the_money_left(price: int, won: int) -> None:
    obs, _ = replay_of(log_of([price]), budget=50).step(bids_of(10_000))
    assert obs.total_impressions.tolist() == [[won]]
    assert obs.left_micros.tolist() == [50 - price * won]
    assert obs.in_market.tolist() == [float(won)]


def test_without_money_what_is_free_is_still_won() -> None:
    replay = replay_of(log_of([50, 0, 1]), budget=50)
    for _ in range(3):
        obs, _ = replay.step(bids_of(60))
    assert obs.total_impressions.tolist() == [[2]]
    assert obs.left_micros.tolist() == [0]


def test_a_log_is_cut_into_episodes_that_run_side_by_side_and_the_last_may_be_shorter() -> None:
    replay = replay_of(log_of([10, 20, 30, 40, 50], clicks=[1, 0, 1, 0, 1]), auctions=2, budget=100)
    assert replay.campaigns == 3
    observed = []
    while not replay.done:
        obs, _ = replay.step(bids_of(99, 99, 99))
        observed.append((obs.opportunities[:, 0].tolist(), obs.cost_micros[:, 0].tolist(), obs.clicks[:, 0].tolist()))
    assert observed == [([1, 1, 1], [10, 30, 50], [1, 1, 1]), ([1, 1, 0], [20, 40, 0], [0, 0, 0])]
    assert obs.total_cost_micros[:, 0].tolist() == [30, 70, 50]
    assert obs.left_micros.tolist() == [70, 30, 50]
    assert obs.known_value_log is None


def test_an_episode_may_be_longer_than_the_log() -> None:
    replay = replay_of(log_of([10]), auctions=3)
    while not replay.done:
        obs, _ = replay.step(bids_of(99))
    assert obs.total_impressions.tolist() == [[1]]


@pytest.mark.parametrize(("bid", "flag"), [(50, False), (51, True)])
def test_a_bid_above_the_logged_one_is_flagged(bid: int, flag: bool) -> None:
    _, outcome = replay_of(log_of([30], bids=[50])).step(bids_of(bid))
    assert outcome.unsupported is not None
    assert outcome.unsupported.tolist() == [[flag]]


def test_a_lost_auction_is_never_won_and_only_higher_bids_are_flagged() -> None:
    replay = replay_of(log_of([UNKNOWN_PRICE_MICROS, 30], bids=[50, 50]), auctions=1)
    obs, outcome = replay.step(bids_of(10**12, 40))
    assert obs.impressions.tolist() == [[0], [1]]
    assert outcome.unsupported is not None
    assert outcome.unsupported.tolist() == [[True], [False]]
    assert replay.optimum_micros[0] == 0.0
    assert outcome.reward[0] == 0.0


def test_a_log_without_bids_flags_nothing() -> None:
    _, outcome = replay_of(log_of([30])).step(bids_of(10**9))
    assert outcome.unsupported is None


def test_a_pacing_rate_enters_its_share_of_the_auctions_evenly() -> None:
    replay = replay_of(log_of([10] * 8))
    entered = []
    while not replay.done:
        obs, _ = replay.step(Action(np.array([[99]]), pace=np.array([0.25], dtype=np.float32)))
        entered.append(int(obs.impressions[0, 0]))
    assert entered == [0, 0, 0, 1, 0, 0, 0, 1]


def test_bidding_the_shadow_price_reaches_a_reward_of_one() -> None:
    log = log_of([10, 1000, 10, 1000])
    replay = replay_of(log, budget=20)
    reward = 0.0
    while not replay.done:
        _, outcome = replay.step(bids_of(10))
        reward += float(outcome.reward[0])
    assert reward == pytest.approx(1.0)


def test_the_observation_counts_up_and_reset_starts_afresh() -> None:
    replay = replay_of(log_of([10, 20, 30], clicks=[1, 1, 0]))
    first = replay.reset()
    assert first.known_value_log is not None
    assert np.exp(first.known_value_log) == pytest.approx(np.array([[0.1 * CLICK_VALUE_MICROS]]))
    replay.step(bids_of(15))
    obs, _ = replay.step(bids_of(25))
    assert (obs.hour, obs.total_clicks.item(), obs.total_conversions.item(), obs.total_cost_micros.item()) == (
        2,
        2,
        2,
        30,
    )
    assert obs.bid_log.item() == pytest.approx(np.log(25))
    assert first.left_micros.tolist() == [10**6]
    again = replay.reset()
    assert (again.hour, again.total_clicks.item(), again.left_micros.item()) == (0, 0, 10**6)


def test_the_brief_tells_what_the_history_tells() -> None:
    brief = replay_of(log_of([10] * 5), auctions=2, budget=500).brief
    assert (brief.hours.tolist(), brief.hours_per_day, brief.campaigns, brief.segments) == ([2, 2, 2], 2, 3, 1)
    assert (brief.click_rate, brief.conversion_rate) == (HISTORY.click_rate, 1.0)
    assert np.exp(brief.price_forecast_log) == pytest.approx(HISTORY.mean_price_micros)
    assert brief.budget_share == pytest.approx(500 / (2 * HISTORY.mean_price_micros))
    assert brief.activity.shape == (1, 168)
    assert brief.values_known
    assert not brief.first_price


@pytest.mark.parametrize(
    ("action", "observed"),
    [
        (Action(np.array([1, 2])), r"shape \(2,\)"),
        (Action(np.array([[1.0]])), "float64"),
        (Action(np.array([[1]]), pace=np.array([np.nan], dtype=np.float32)), r"pace\[0\] = nan"),
        (Action(np.array([[1]]), pace=np.ones(2, dtype=np.float32)), r"pace of shape \(2,\)"),
        (Action(np.array([[1]]), creative=np.array([[1]], dtype=np.int8)), "creative 1"),
    ],
)
def test_an_action_that_cannot_be_carried_out_is_refused(action: Action, observed: str) -> None:
    with pytest.raises(ActionError, match=observed):
        replay_of(log_of([10])).step(action)


def test_an_action_out_of_bounds_is_pulled_back_and_counted() -> None:
    action = Action(np.array([[-5]]), pace=np.array([2.0], dtype=np.float32))
    obs, outcome = replay_of(log_of([10])).step(action)
    assert outcome.clipped == 2
    assert obs.pace.tolist() == [1.0]


def test_a_step_after_the_end_is_refused() -> None:
    replay = replay_of(log_of([10]))
    replay.step(bids_of(1))
    with pytest.raises(ActionError, match="ended after 1 auctions"):
        replay.step(bids_of(1))


@pytest.mark.parametrize("change", [{"auctions": -1}, {"budget": 0}, {"budget": 2**60}])
def test_impossible_terms_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(DataError, match="allowed"):
        replay_of(log_of([10]), **change)


auctions = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 1), st.floats(0, 1), st.integers(0, 90)), min_size=1, max_size=40
)


@settings(max_examples=200, deadline=None)
@given(auctions, st.integers(1, 12), st.integers(1, 300))
def test_replay_equals_a_plain_loop_and_never_overspends(
    rows: list[tuple[int, int, float, int]], episode: int, budget: int
) -> None:
    price, click, probability, bid = (list(column) for column in zip(*rows, strict=True))
    log = AuctionLog(np.array(price), np.array(click, dtype=np.int8), np.array(probability), None, 1)
    replay = replay_of(log, auctions=episode, budget=budget)
    bid_matrix = np.zeros(replay.campaigns * episode, dtype=np.int64)
    bid_matrix[: len(bid)] = bid
    value = np.zeros(replay.campaigns)
    reward = np.zeros(replay.campaigns)
    while not replay.done:
        step_bids = bid_matrix.reshape(replay.campaigns, episode)[:, replay.hour][:, None].copy()
        obs, outcome = replay.step(Action(step_bids))
        assert (obs.left_micros >= 0).all()
        value += outcome.value_micros[:, 0]
        reward += outcome.reward
    assert (obs.total_cost_micros[:, 0] + obs.left_micros == budget).all()
    assert (reward <= 1 + 1e-5).all()
    for start in range(0, len(rows), episode):
        left, wins, clicks, expected = budget, 0, 0, 0.0
        for row in rows[start : start + episode]:
            if min(row[3], left) >= row[0]:
                left, wins, clicks = left - row[0], wins + 1, clicks + row[1]
                expected += row[2] * CLICK_VALUE_MICROS
        place = start // episode
        assert left == obs.left_micros[place]
        assert (wins, clicks) == (obs.total_impressions[place, 0], obs.total_clicks[place, 0])
        assert expected == pytest.approx(value[place])
