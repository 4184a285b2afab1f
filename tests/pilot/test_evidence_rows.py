"""The rows of a pilot in the episode store: revisions continue after a restart, and money adds up to the platform's."""

from contextlib import closing
from datetime import timedelta

import numpy as np
import pytest

from gaelp.pilot.assembly import pilot_begins
from gaelp.pilot.decision_book import CampaignDecision
from gaelp.pilot.evidence_rows import EvidenceRows, PilotSource
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.report_arrays import PilotPlaces
from gaelp.pilot.seen_hours import SeenHours, pilot_figures
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import EpisodeState, TableName
from tests.pilot.double_pilot import double_plan

PLAN = double_plan(days=2)
PLACES = PilotPlaces.of(PLAN, pilot_begins(PLAN))
SOURCE = PilotSource("20261117-000000-abcdef", "agent-1", "profit")


@pytest.fixture
def store(tmp_path):
    with closing(DuckDbStore(tmp_path)) as opened:
        yield opened


def figures(hours, clicks, sales=0.0):
    shape = (hours, *PLACES.shape)
    many = np.full(shape, clicks)
    return HourFigures(0, 10 * many, many, np.full(shape, sales), 700_000 * many, (many * 0 + int(sales * 20e6)))


def rows_of(store, table):
    return [row for part in store.scan(table) for row in part.to_pylist()]


def seen_of(*reports):
    seen = SeenHours(PLACES.shape)
    for report in reports:
        seen.take_in(report)
    return seen


def test_hours_are_stored_once_and_again_when_they_change(store):
    at = PLACES.begins + timedelta(hours=5)
    evidence = EvidenceRows(store, PLAN, PLACES, SOURCE)
    bids = {0: np.full(PLACES.shape, 1_000_000)}
    assert evidence.append_hours(seen_of(figures(2, 3)), bids, at) == 2 * 16
    assert evidence.append_hours(seen_of(figures(2, 3)), bids, at) == 0
    again = EvidenceRows(store, PLAN, PLACES, SOURCE)  # after a restart
    assert again.append_hours(seen_of(figures(2, 3)), bids, at) == 0
    assert again.append_hours(seen_of(figures(2, 3), figures(3, 2, 1.0)), bids, at + timedelta(hours=1)) == 3 * 16
    stored = rows_of(store, TableName.HOUR_REPORTS)
    assert {row["revision"] for row in stored} == {0, 1}
    assert {row["phase"] for row in stored} == {"pilot"}
    assert {(row["bid_micros"], row["at"] == PLACES.begins) for row in stored} == {(1_000_000, True), (None, False)}


def test_spend_adds_up_to_what_the_platform_reports_last(store):
    evidence = EvidenceRows(store, PLAN, PLACES, SOURCE)
    at = PLACES.begins + timedelta(hours=5)
    for report in (figures(2, 3), figures(3, 2), figures(3, 4)):
        evidence.append_hours(seen_of(report), {}, at)
    events = rows_of(store, TableName.SPEND_EVENTS)
    assert sum(row["amount_micros"] for row in events) == 3 * 16 * 4 * 700_000
    assert {row["kind"] for row in events} == {"charge", "credit", "adjustment"}


def test_decisions_say_that_there_is_no_density_and_episodes_how_they_ended(store):
    evidence = EvidenceRows(store, PLAN, PLACES, SOURCE)
    decision = CampaignDecision("spring", 5, (1_000_000,) * 8, (0.1,) * 8, (False,) * 8)
    evidence.append_decisions([decision])
    evidence.append_decisions([decision])
    rows = rows_of(store, TableName.DECISIONS)
    assert len(rows) == 8
    assert {(row["action"], row["density"], row["density_kind"], row["step"]) for row in rows} == {(0.1, None, None, 5)}
    evidence.append_episodes(EpisodeState.RUNNING, PLACES.begins)
    seen = seen_of(figures(2, 3, 1.0))
    evidence.append_episodes(
        EpisodeState.TERMINATED, PLACES.begins + timedelta(days=1), reported=seen, reason="loss-cap"
    )
    ended = [row for row in rows_of(store, TableName.EPISODES) if row["state"] == "terminated"]
    assert {(row["reason"], row["spend_micros"], row["conversions"]) for row in ended} == {
        ("loss-cap", 2 * 8 * 3 * 700_000, 16.0)
    }


def test_figures_by_day_and_campaign_hold_what_the_hours_held():
    seen = seen_of(figures(30, 3, 1.0))
    by_day = pilot_figures(seen, PLAN, PLACES.begins, PLACES.begins + timedelta(hours=33))
    assert by_day.campaigns == ("spring", "summer")
    assert [day.isoformat() for day in by_day.days] == ["2026-11-17", "2026-11-18"]
    np.testing.assert_array_equal(by_day.clicks, [[24 * 8 * 3] * 2, [6 * 8 * 3] * 2])
    assert by_day.spend_micros.sum() == seen.cost_micros.sum()
    assert by_day.value_micros.sum() == seen.value_micros.sum()


def test_an_older_report_changes_nothing():
    seen = seen_of(figures(5, 3), figures(3, 9))
    assert seen.until == 5
    assert seen.clicks.max() == 3
