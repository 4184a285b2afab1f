"""A synthesized history is what an advertiser would have, and the same for the same specs."""

from datetime import timedelta

import numpy as np
import pyarrow.compute as pc
import pytest

from gaelp.quality.derived_columns import with_derived
from gaelp.sandbox.incumbent import SynthesisSpec, action_density, draw_actions, history_tag
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_source, history_tables
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.row_check import check_batch
from gaelp.storage.schema import TableName

SPEC = SynthesisSpec(weeks=1, campaigns=1, seed=3)


@pytest.fixture(scope="module")
def world():
    return load_sandbox_spec()


@pytest.fixture(scope="module")
def history(world):
    return synthesize(SPEC, world)


@pytest.fixture(scope="module")
def tables(history):
    return history_tables(history)


def frame(tables, name):
    return tables[name].to_pandas()


def test_every_hour_and_segment_has_a_decision_with_the_density_of_its_action(tables):
    decisions = frame(tables, TableName.DECISIONS)
    assert len(decisions) == 7 * 24 * 8
    sd = SPEC.bid_log_sd
    expected = np.exp(-0.5 * (decisions["action"] / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    assert np.allclose(decisions["density"], expected)
    assert set(decisions["density_kind"]) == {"recorded"}
    assert decisions["action"].std() == pytest.approx(sd, rel=0.08)
    usual = decisions["bid_micros"] / np.exp(decisions["action"])
    spread = usual.groupby([decisions["campaign"], decisions["segment"]]).agg(lambda bids: bids.max() / bids.min())
    assert spread.max() < 1.1  # whole cents aside, each ad group has one manual bid


def test_the_last_revision_of_hour_reports_adds_up_to_clicks_less_credits(history, tables):
    reports = frame(tables, TableName.HOUR_REPORTS).sort_values("revision")
    last = reports.drop_duplicates(["campaign", "segment", "at"], keep="last")
    first_tick, lag = history.end_tick, history.world.reports.lag_hours * 60 + 60
    covered = frame(tables, TableName.CLICKS)
    covered = covered[covered["at"] < history.instant(first_tick - lag)]
    credits_ = history.events.credits
    taken_back = int((credits_["tick"] <= first_tick).sum())
    assert abs(last["clicks"].sum() + taken_back - len(covered)) <= taken_back
    assert (reports["reported_at"] > reports["at"]).all()
    assert (reports["reported_at"] <= history.instant(history.end_tick)).all()
    assert reports["impression_share"].isna().all()  # platforms give none by hour


def test_revisions_only_add_conversions_and_take_back_invalid_clicks(tables):
    reports = frame(tables, TableName.HOUR_REPORTS).sort_values(["campaign", "segment", "at", "revision"])
    steps = reports.groupby(["campaign", "segment", "at"])[["clicks", "conversions", "spend_micros"]].diff().dropna()
    assert len(steps) > 0
    assert (steps["clicks"] <= 0).all()
    assert (steps["spend_micros"] <= 0).all()
    assert (steps["conversions"] >= 0).all()


def test_sales_have_their_click_and_refunds_are_revisions_of_value_0(tables):
    sales = frame(tables, TableName.CONVERSIONS)
    clicks = set(frame(tables, TableName.CLICKS)["id"])
    assert set(sales["click"]) <= clicks
    assert (sales["click_at"] <= sales["at"]).all()
    assert (sales["at"] <= sales["reported_at"]).all()
    refunds = sales[sales["revision"] == 1]
    assert (refunds["value_micros"] == 0).all()
    assert set(refunds["conversion"]) <= set(sales[sales["revision"] == 0]["conversion"])


def test_spend_events_are_the_cost_of_all_clicks(tables):
    spend = frame(tables, TableName.SPEND_EVENTS)
    charged = spend[spend["kind"] == "charge"]["amount_micros"].sum()
    assert charged == frame(tables, TableName.CLICKS)["cost_micros"].sum()
    assert (spend[spend["kind"] == "credit"]["amount_micros"] < 0).all()


def test_simulator_points_rise_with_the_bid(tables):
    points = frame(tables, TableName.BID_SIMULATIONS).sort_values("bid_micros")
    assert len(points) == 8 * 5
    impressions = points.groupby(["campaign", "segment"])["impressions"].apply(list)
    assert all(each[-1] > each[0] for each in impressions)
    assert (points["period_end"] - points["period_start"]).map(lambda days: days.days).eq(6).all()
    assert (with_derived(TableName.BID_SIMULATIONS, points)["spend_over_bid_micros"] <= 0).mean() == 1


def test_shares_are_floored_as_the_platform_floors_them(history, tables):
    shares = tables[TableName.IMPRESSION_SHARES]["impression_share"]
    assert pc.min(shares).as_py() >= 0.0999
    exact = history_tables(history, floor_shares=False)[TableName.IMPRESSION_SHARES]["impression_share"]
    assert pc.min(exact).as_py() <= pc.min(shares).as_py()


def test_the_same_specs_give_the_same_rows_and_are_stored_once(world, tables, tmp_path):
    again = history_tables(synthesize(SPEC, world))
    assert all(again[name].equals(table) for name, table in tables.items())
    checked = check_batch(tables)
    assert {name: table.num_rows for name, table in checked.items()} == {
        name: table.num_rows for name, table in tables.items()
    }
    store = DuckDbStore(tmp_path)
    rows = sum(table.num_rows for table in tables.values())
    assert store.append(tables) == (rows, 0)
    assert store.append(again) == (0, rows)
    store.close()


def test_every_id_and_the_source_tell_histories_of_other_specs_apart(world, history, tables):
    tag = history_tag(SPEC, world)
    others = {history_tag(SPEC.model_copy(update={"seed": 4}), world), history_tag(SPEC, replace_seed(world, 9))}
    assert tag not in others
    assert tag in history_source(history.spec, history.world)
    assert all(tag in each for table in tables.values() for each in table["id"].to_pylist())


def replace_seed(world, seed):
    return world.model_copy(update={"seed": seed})


def test_actions_depend_on_seed_campaign_and_hour_alone():
    first = draw_actions(SPEC, 1, 5, 8)
    assert (first == draw_actions(SPEC, 1, 5, 8)).all()
    assert (first != draw_actions(SPEC, 1, 6, 8)).all()
    total = sum(action_density(SPEC, x) * 0.01 for x in np.arange(-3, 3, 0.01))
    assert total == pytest.approx(1.0, abs=1e-3)


def test_bids_set_a_week_at_a_time_are_those_set_by_the_hour_even_when_clocks_change(world):
    autumn = world.model_copy(update={"start": world.start + timedelta(weeks=7)})  # clocks go back on the last day
    by_hour, by_week = (
        synthesize(SPEC, autumn.model_copy(update={"seed": 8}), simulator_points=asked) for asked in (True, False)
    )
    assert len(by_week.hour_ticks) == 7 * 24 + 1
    assert np.array_equal(by_hour.bid_micros, by_week.bid_micros)
    assert np.array_equal(by_hour.actions, by_week.actions)
    for rows in ("hours", "clicks", "conversions", "credits"):
        assert np.array_equal(getattr(by_hour.events, rows), getattr(by_week.events, rows)), rows


def test_a_factor_that_no_schedule_allows_is_served_as_its_bid(world):
    wild = SPEC.model_copy(update={"bid_log_sd": 1.5, "seed": 4})
    history = synthesize(wild, world, simulator_points=False)
    usual = np.array([group.bid_micros for group in history.campaigns[0].served.groups])
    assert (history.bid_micros[:, 0] / usual).max() > 50


def test_some_tables_alone_are_the_same(history, tables):
    chosen = {TableName.HOUR_REPORTS, TableName.CONVERSIONS}
    some = history_tables(history, only=chosen)
    assert set(some) == chosen
    assert all(some[name].equals(tables[name]) for name in chosen)
