import pandas as pd

from gaelp.quality.derived_columns import with_derived
from gaelp.storage.schema import TableName


def test_money_above_the_bid_counts_impressions_in_decisions_and_clicks_in_reports(decisions):
    assert with_derived(TableName.DECISIONS, decisions)["spend_over_bid_micros"].unique().tolist() == [-1000.0]
    reports = decisions.assign(reported_at=decisions["at"])
    assert with_derived(TableName.HOUR_REPORTS, reports)["spend_over_bid_micros"].unique().tolist() == [8000.0]


def test_the_clock_of_an_episode_is_followed_in_the_order_of_its_steps(decisions):
    shuffled = decisions.sample(frac=1, random_state=1)
    steps = with_derived(TableName.DECISIONS, shuffled)["seconds_since_last_step"]
    assert sorted(steps.dropna().unique()) == [3600.0]
    assert steps.isna().sum() == 2


def test_the_price_of_a_lost_auction_may_be_above_the_bid():
    at = pd.Timestamp("2024-01-01", tz="UTC")
    frame = pd.DataFrame(
        {"won": [True, False], "bid_micros": [5, 5], "price_micros": [7.0, 9.0], "at": at, "converted_at": at}
    )
    derived = with_derived(TableName.AUCTIONS, frame)
    assert derived["price_over_bid_micros"].tolist()[0] == 2.0
    assert derived["price_over_bid_micros"].isna().tolist() == [False, True]
    assert derived["seconds_to_conversion"].tolist() == [0.0, 0.0]


def test_a_reward_above_the_optimum_is_wrong_for_value_and_possible_for_profit():
    frame = pd.DataFrame({"reward": [1.2, 1.2, 1.2], "objective": ["value", "profit", None]})
    times = pd.to_datetime(["2026-01-01"] * 3, utc=True)
    derived = with_derived(TableName.EPISODES, frame.assign(started_at=times, ended_at=times))
    assert derived["reward_for_value"].isna().tolist() == [False, True, False]
