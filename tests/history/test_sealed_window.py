"""Only a ticket opens a sealed window: the same data again for the same attempt, and nothing once it is given up."""

from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.split_settings import SplitSettings
from gaelp.errors import BadInput, Refused
from gaelp.history import sealed_window
from gaelp.history.look_book import TicketRequest
from gaelp.history.sealed_window import alpha_of_look, data_hash, issue_ticket, looks_left, open_window
from gaelp.history.splits import HistoryRows, fix_splits, next_splits
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName

DAYS = 12
SPLIT = SplitSettings(calibration_days_min=2, validation_days_min=1, sealed_days_min=2)


def request(run="run-1", attempt=1, model="1"):
    return TicketRequest(
        run_id=run, attempt=attempt, model_hash=model * 64, gate="history-to-pilot", gate_file_hash="c" * 64
    )


@pytest.fixture
def clock(log_rows):
    return ManualClock(log_rows.START + timedelta(days=100))


@pytest.fixture
def settings(tmp_path, log_rows):
    loaded = load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings
    append(loaded, log_rows.history(days=DAYS, campaigns=("a", "b"), segments=("s",)))
    return loaded


@pytest.fixture
def splits(settings, clock):
    return fix_splits(settings, SPLIT, clock, HistoryRows())


def append(settings, tables):
    with closing(build_store(settings)) as store:
        store.append(tables)


def late_rows(log_rows, hours):
    """A revision and a conversion of the first hour of the sealed window, reported so many hours later."""
    hour = 24 * (DAYS - 4)
    return {
        TableName.HOUR_REPORTS: log_rows.table(
            TableName.HOUR_REPORTS, [log_rows.report("a", "s", hour, 1, hours, clicks=9)]
        ),
        TableName.CONVERSIONS: log_rows.table(
            TableName.CONVERSIONS, [log_rows.conversion("x", "a", "s", hour, delay_hours=hours)]
        ),
    }


def test_a_ticket_opens_all_of_the_window_and_nothing_else(settings, splits, clock):
    assert looks_left(settings, splits) == 3
    ticket = issue_ticket(settings, splits, request(), clock)
    assert looks_left(settings, splits) == 2  # before anything was read
    opened = open_window(settings, splits, ticket, clock)
    days = {*opened.logged.account_day.tolist()}
    assert days == {*range(splits.sealed.first_day.toordinal(), splits.sealed.last_day.toordinal() + 1)}
    assert len(opened.logged) == splits.sealed.rows
    assert opened.window.known_at == ticket.as_of
    assert opened.alpha(0.05) == alpha_of_look(0.05) == pytest.approx(0.05 / 3)


def test_the_fourth_look_is_refused_with_the_day_of_the_next_window(settings, splits, clock):
    for number in range(3):
        issue_ticket(settings, splits, request(run=f"run-{number}"), clock)
    with pytest.raises(Refused, match=f"up to {splits.next_sealed_last_day()}, 5 days after") as refused:
        issue_ticket(settings, splits, request(run="run-4"), clock)
    assert refused.value.exit_code == 3
    assert looks_left(settings, splits) == 0


def test_after_a_crash_the_same_attempt_reads_the_same_data_though_more_was_reported(settings, splits, clock, log_rows):
    ticket = issue_ticket(settings, splits, request(), clock)
    first = open_window(settings, splits, ticket, clock)
    append(settings, late_rows(log_rows, 24 * 60))
    clock.advance(timedelta(days=1))
    again = open_window(settings, splits, issue_ticket(settings, splits, request(), clock), clock)
    assert data_hash(again.logged) == data_hash(first.logged)
    assert looks_left(settings, splits) == 2
    later = open_window(settings, splits, issue_ticket(settings, splits, request(attempt=2), clock), clock)
    assert later.logged.clicks.sum() == first.logged.clicks.sum() + 5
    assert later.logged.conversions.sum() == 1


def test_a_crash_between_ticket_and_reading_gives_no_further_look(settings, splits, clock, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sealed_window, "_read", crash)
        with pytest.raises(KeyboardInterrupt):
            issue_ticket(settings, splits, request(), clock)
    assert looks_left(settings, splits) == 3  # nothing was read, nothing counted
    ticket = issue_ticket(settings, splits, request(), clock)
    with monkeypatch.context() as patched:
        patched.setattr(sealed_window, "_read", crash)
        with pytest.raises(KeyboardInterrupt):
            open_window(settings, splits, ticket, clock)
    assert looks_left(settings, splits) == 2
    assert issue_ticket(settings, splits, request(), clock) == ticket


def test_nothing_but_an_issued_ticket_opens_it(settings, splits, clock, tmp_path):
    ticket = issue_ticket(settings, splits, request(), clock)
    for change in ({"token": "x"}, {"look": 2}, {"request": request(model="2")}):
        with pytest.raises(Refused, match="not issued"):
            open_window(settings, splits, ticket.model_copy(update=change), clock)
    with pytest.raises(Refused, match="is for window"):
        open_window(settings, splits, ticket.model_copy(update={"fingerprint": "0" * 64}), clock)
    changed = splits.sealed.model_copy(update={"first_day": splits.validation.first_day})
    with pytest.raises(Refused, match="not as they were fixed"):
        open_window(settings, splits.model_copy(update={"sealed": changed}), ticket, clock)


def test_a_window_with_other_rows_than_were_sealed_is_not_opened_and_uses_no_look(settings, splits, clock, log_rows):
    planted = [log_rows.decision("new", "s", 24 * (DAYS - 3))]
    append(settings, {TableName.DECISIONS: log_rows.table(TableName.DECISIONS, planted)})
    with pytest.raises(Refused, match=r"192 then, 193 now"):
        issue_ticket(settings, splits, request(), clock)
    assert looks_left(settings, splits) == 3


def test_a_window_that_was_given_up_is_not_opened(settings, splits, clock, log_rows):
    ticket = issue_ticket(settings, splits, request(), clock)
    append(settings, log_rows.history(days=DAYS + 4, campaigns=("a", "b"), segments=("s",)))
    later = next_splits(settings, SPLIT, clock, HistoryRows())
    with pytest.raises(Refused, match="given up"):
        open_window(settings, splits, ticket, clock)
    with pytest.raises(Refused, match="given up"):
        issue_ticket(settings, splits, request(), clock)
    assert issue_ticket(settings, later, request(), clock).look == 1


def test_the_same_rows_imported_into_another_home_of_the_same_database_share_their_looks(
    clock, tmp_path, databases, log_rows
):
    url = databases.fresh_place("postgres")
    homes = []
    for name in ("one", "two"):
        address = {"GAELP__BUDGET__DATABASE_URL": url}
        homes.append(load_settings(None, environ=address, overrides=[f"home={tmp_path / name}"]).settings)
        append(homes[-1], log_rows.history(days=DAYS, campaigns=("a",), segments=("s",)))
    windows = [fix_splits(home, SPLIT, clock, HistoryRows()) for home in homes]
    assert windows[0] == windows[1]
    for number in range(3):
        issue_ticket(homes[number % 2], windows[0], request(run=f"run-{number}"), clock)
    for home in homes:
        with pytest.raises(Refused, match="3 times"):
            issue_ticket(home, windows[0], request(run="late"), clock)


def test_a_window_of_nothing_sealed_is_not_opened(settings, splits, clock, tmp_path):
    empty = load_settings(None, environ={}, overrides=[f"home={tmp_path / 'empty'}"]).settings
    with pytest.raises(Refused, match="has no sealed window here"):
        issue_ticket(empty, splits, request(), clock)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_a_level_that_is_none_is_refused(alpha):
    with pytest.raises(BadInput, match="alpha"):
        alpha_of_look(alpha)
