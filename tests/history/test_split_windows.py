"""Windows are disjoint, in order, whole days, and hold what they say."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.config.split_settings import SplitSettings
from gaelp.errors import DataError
from gaelp.history.logged_campaigns import keep_rows, read_logged
from gaelp.history.split_windows import compute_splits, row_fingerprint
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.held_out import is_held_out
from gaelp.storage.store import RowFilter

CAMPAIGNS = tuple(f"campaign {n}" for n in range(6))


@pytest.fixture(scope="module")
def logged(log_rows, tmp_path_factory):
    store = DuckDbStore(tmp_path_factory.mktemp("log"))
    store.append(log_rows.history(days=42, campaigns=CAMPAIGNS, segments=("s",)))
    return read_logged(store, RowFilter(), keep_unreported=True)


def rows_of(logged, window):
    return window.contains(logged.campaign_names, logged.campaign, logged.account_day)


def first_days(logged, days):
    return keep_rows(logged, logged.account_day < logged.account_day.min() + days)


def test_six_weeks_give_three_weeks_eight_days_and_the_last_thirteen_less_a_day_of_gap(logged):
    splits = compute_splits(logged, SplitSettings(), history="h")
    assert [window.days for window in splits.windows] == [20, 7, 13]
    assert splits.sealed.since - splits.calibration.since == timedelta(days=29)
    assert splits.validation.since - splits.calibration.until == timedelta(days=1)
    assert splits.calibration.known_at == splits.validation.since
    assert splits.next_sealed_last_day() - splits.sealed.last_day == timedelta(days=14)


SETTINGS = st.builds(
    SplitSettings,
    calibration_share=st.floats(0.2, 0.6),
    validation_share=st.floats(0.1, 0.35),
    gap_days=st.integers(0, 3),
    calibration_days_min=st.integers(1, 5),
    validation_days_min=st.integers(1, 3),
    sealed_days_min=st.integers(1, 5),
    held_out_share=st.floats(0, 0.5),
    held_out_key=st.text(min_size=1, max_size=8),
)


@settings(max_examples=40)
@given(split=SETTINGS, days=st.integers(5, 42))
def test_no_row_is_in_two_windows_and_each_window_has_what_it_says(logged, split, days):
    part = first_days(logged, days)
    try:
        splits = compute_splits(part, split, history="h")
    except DataError:
        return  # too few days, which has a test of its own
    inside = np.array([rows_of(part, window) for window in splits.windows])
    assert inside.sum(axis=0).max() <= 1
    assert inside.sum(axis=1).tolist() == [window.rows for window in splits.windows]
    for earlier, later in zip(splits.windows, splits.windows[1:], strict=False):
        assert later.first_day - earlier.last_day == timedelta(days=1 + split.gap_days)
        assert earlier.until <= later.since
    for window, mine in zip(splits.windows, inside, strict=True):
        hours = part.hour_start[mine].astype("datetime64[s]").astype(np.int64)
        assert (hours.min(), hours.max() + 3600) == (window.since.timestamp(), window.until.timestamp())
        assert {*part.account_day[mine].tolist()} == {
            *range(window.first_day.toordinal(), window.last_day.toordinal() + 1)
        }
        assert window.fingerprint == row_fingerprint(keep_rows(part, mine))
    held_out = {name for name in CAMPAIGNS if is_held_out(name, key=split.held_out_key, share=split.held_out_share)}
    for mine in inside[:2]:
        assert held_out.isdisjoint({part.campaign_names[place] for place in part.campaign[mine].tolist()})
    assert splits.sealed.campaigns == len(CAMPAIGNS)
    first, last = part.account_day.min(), part.account_day.max()
    assert (splits.calibration.first_day.toordinal(), splits.sealed.last_day.toordinal()) == (first, last)


def test_a_part_of_a_day_at_either_end_is_in_no_window(logged):
    hour = (logged.hour_start - logged.hour_start.min()).astype("timedelta64[h]").astype(int)
    part = keep_rows(logged, (hour >= 5) & (hour < 42 * 24 - 7))
    splits = compute_splits(part, SplitSettings(), history="h")
    first = logged.account_day.min()
    assert splits.calibration.first_day.toordinal() == first + 1
    assert splits.sealed.last_day.toordinal() == first + 40


def test_later_windows_begin_after_what_was_sealed_before(logged):
    short = SplitSettings(validation_days_min=3)
    before = compute_splits(first_days(logged, 28), short, history="h")
    after = compute_splits(logged, short, history="h", sealed_after=before.sealed.last_day)
    assert after.sealed.first_day > before.sealed.last_day
    assert after.sealed.days == 13
    assert after.validation.last_day < after.sealed.first_day
    with pytest.raises(DataError, match="sealed window"):
        compute_splits(first_days(logged, 33), short, history="h", sealed_after=before.sealed.last_day)


def test_the_fingerprint_is_of_what_was_decided_whatever_the_order_the_source_and_the_outcome(log_rows, tmp_path):
    prints = {}
    for name, source in (("first", "log"), ("again", "other")):
        store = DuckDbStore(tmp_path / name)
        store.append(log_rows.history(days=2, source=source))
        logged = read_logged(
            store, RowFilter(), as_of=None if name == "first" else log_rows.START, keep_unreported=True
        )
        prints[name] = row_fingerprint(logged)
    assert prints["first"] == prints["again"]
    bids = logged.bid_micros.copy()
    bids[3] += 1
    changed = keep_rows(logged, np.arange(len(logged)) != 3)
    assert row_fingerprint(changed) != prints["first"]


def test_the_side_of_a_campaign_depends_on_its_name_and_the_key_alone():
    names = [f"c{n}" for n in range(4000)]
    sides = [is_held_out(name, key="k", share=0.25) for name in names]
    assert sum(sides) / len(sides) == pytest.approx(0.25, abs=0.03)
    wider = [is_held_out(name, key="k", share=0.5) for name in names]
    assert all(more for less, more in zip(sides, wider, strict=True) if less)
    assert [is_held_out(name, key="other", share=0.25) for name in names] != sides
    assert not any(is_held_out(name, key="k", share=0.0) for name in names)


def test_shares_that_leave_no_sealed_window_are_refused():
    with pytest.raises(ValidationError, match="leave no day"):
        SplitSettings(calibration_share=0.7, validation_share=0.3)
