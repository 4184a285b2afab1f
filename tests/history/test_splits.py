"""Windows are fixed once; the sealed one is withheld from then on, and nothing stored later moves any of them."""

from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.split_settings import SplitSettings
from gaelp.errors import BadInput, DataError, Refused
from gaelp.history.log_checks import LogLimits, check_log
from gaelp.history.splits import SEALED, HistoryRows, fix_splits, fixed_splits, next_splits, read_window
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName

ROWS = HistoryRows()
DAYS = 12
SPLIT = SplitSettings(calibration_days_min=2, validation_days_min=1, sealed_days_min=2)
MARKER = 777_777_777


@pytest.fixture
def clock(log_rows):
    return ManualClock(log_rows.START + timedelta(days=100))


@pytest.fixture
def settings(tmp_path, log_rows):
    loaded = load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings
    store_history(loaded, log_rows.history(days=DAYS, campaigns=("a", "b"), segments=("s",)))
    return loaded


def store_history(settings, tables):
    with closing(build_store(settings)) as store:
        store.append(tables)


def read(settings, splits, name, **options):
    with closing(build_store(settings)) as store:
        return read_window(store, splits, name, **options)


def test_windows_are_the_same_whatever_is_stored_or_asked_for_later(settings, clock, log_rows):
    assert fixed_splits(settings, ROWS) is None
    splits = fix_splits(settings, SPLIT, clock, ROWS)
    assert [window.days for window in splits.windows] == [5, 1, 4]
    before = [read(settings, splits, name) for name in ("calibration", "validation")]
    store_history(settings, log_rows.history(days=DAYS + 6, campaigns=("a", "b"), segments=("s",)))
    clock.advance(timedelta(days=9))
    assert fix_splits(settings, SplitSettings(calibration_share=0.3), clock, ROWS) == splits
    assert fixed_splits(settings, ROWS) == splits
    for old, name in zip(before, ("calibration", "validation"), strict=True):
        again = read(settings, splits, name)
        assert len(again) == len(old) == splits.window(name).rows
        assert again.clicks.tolist() == old.clicks.tolist()


def test_a_window_read_is_sound_and_has_no_row_of_the_others(settings, clock):
    splits = fix_splits(settings, SPLIT, clock, ROWS)
    limits = LogLimits(clicks_min=1, conversions_min=1, days_min=1)
    for window in (splits.calibration, splits.validation):
        others = tuple(other for other in splits.windows if other is not window)
        check = check_log(read(settings, splits, window.name), limits, window=window, others=others)
        assert [problem.kind for problem in check.problems] == ["few_conversions"]


def test_what_is_reported_after_the_cut_changes_no_calibration_figure(settings, clock, log_rows):
    splits = fix_splits(settings, SPLIT, clock, ROWS)
    revised = [log_rows.report("a", "s", hour, 1, 24 * 20, clicks=MARKER) for hour in range(24)]
    sales = [log_rows.conversion("late", "a", "s", 3, delay_hours=24 * 20, value=MARKER)]
    store_history(
        settings,
        {
            TableName.HOUR_REPORTS: log_rows.table(TableName.HOUR_REPORTS, revised),
            TableName.CONVERSIONS: log_rows.table(TableName.CONVERSIONS, sales),
        },
    )
    calibration = read(settings, splits, "calibration")
    assert calibration.clicks.max() < MARKER
    assert calibration.value_micros.sum() == 0
    with pytest.raises(Refused, match="leak"):
        read(settings, splits, "calibration", as_of=splits.validation.until)


def test_the_sealed_window_and_its_gap_are_withheld_from_every_reader(settings, clock, log_rows):
    planted = [log_rows.decision("marker", "s", hour, bid_micros=MARKER) for hour in range(24 * (DAYS - 1), 24 * DAYS)]
    store_history(settings, {TableName.DECISIONS: log_rows.table(TableName.DECISIONS, planted)})
    splits = fix_splits(settings, SPLIT, clock, ROWS)
    with pytest.raises(Refused, match="ticket"):
        read(settings, splits, "sealed")
    with closing(build_store(settings)) as store:
        for name in TableName:
            for part in store.scan(name):
                assert max(part["at"].to_pylist()) < splits.validation.until
                assert str(MARKER) not in str(part.to_pylist())


def test_held_out_campaigns_are_in_the_sealed_window_alone(tmp_path, clock, log_rows):
    settings = load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings
    names = tuple(f"c{n}" for n in range(8))
    store_history(settings, log_rows.history(days=DAYS, campaigns=names, segments=("s",)))
    splits = fix_splits(settings, SPLIT.model_copy(update={"held_out_share": 0.4}), clock, ROWS)
    assert splits.calibration.campaigns == splits.validation.campaigns < splits.sealed.campaigns == 8
    assert len({*read(settings, splits, "calibration").campaign.tolist()}) == splits.calibration.campaigns


def test_sealing_is_in_the_audit_log_once_also_after_a_crash_before_it(settings, clock):
    splits = fix_splits(settings, SPLIT, clock, ROWS)
    fix_splits(settings, SPLIT, clock, ROWS)
    rows = [row for row in AuditLog(open_database(approvals_place(settings))).rows() if row.kind == SEALED]
    assert len(rows) == 1
    assert splits.sealed.fingerprint in rows[0].body


def test_the_next_window_has_new_days_only_and_frees_the_old_one(settings, clock, log_rows):
    with pytest.raises(BadInput, match="no windows yet"):
        next_splits(settings, SPLIT, clock, ROWS)
    first = fix_splits(settings, SPLIT, clock, ROWS)
    with pytest.raises(DataError, match=f"needs history up to {first.next_sealed_last_day()}"):
        next_splits(settings, SPLIT, clock, ROWS)
    assert fixed_splits(settings, ROWS) == first
    store_history(settings, log_rows.history(days=DAYS + 4, campaigns=("a", "b"), segments=("s",)))
    second = next_splits(settings, SPLIT, clock, ROWS)
    assert second.sealed.since >= first.sealed.until
    assert second.sealed.fingerprint != first.sealed.fingerprint
    assert read(settings, second, "validation").account_day.max() > first.validation.last_day.toordinal()
    assert fix_splits(settings, SPLIT, clock, ROWS) == second


def test_a_history_is_of_the_sources_it_was_fixed_for_and_its_rows_are_sealed_once(settings, clock):
    fix_splits(settings, SPLIT, clock, HistoryRows(name="mine"))
    with pytest.raises(Refused, match="were fixed for sources all"):
        fix_splits(settings, SPLIT, clock, HistoryRows(sources=("log",), name="mine"))
    with pytest.raises(Refused, match="overlaps"):
        fix_splits(settings, SPLIT, clock, HistoryRows(sources=("log",)))
    with pytest.raises(DataError, match="has no decision"):
        fix_splits(settings, SPLIT, clock, HistoryRows(sources=("absent",)))


def test_too_short_a_history_says_what_is_needed(tmp_path, clock, log_rows):
    settings = load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings
    store_history(settings, log_rows.history(days=10, campaigns=("a",), segments=("s",)))
    with pytest.raises(DataError, match="allowed: at least 7"):
        fix_splits(settings, SplitSettings(), clock, ROWS)
    assert fixed_splits(settings, ROWS) is None
