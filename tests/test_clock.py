import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.clock import Clock, ManualClock, SystemClock, account_day, day_start
from gaelp.errors import BadInput

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock(NOON)])
def test_every_clock_tells_an_aware_instant_in_utc(clock: Clock):
    assert clock.now().tzinfo is UTC


def test_the_system_clock_tells_the_present():
    before = datetime.now(UTC)
    assert before <= SystemClock().now() <= datetime.now(UTC)


def test_a_manual_clock_stands_still_until_it_is_advanced():
    clock = ManualClock(NOON.astimezone(timezone(timedelta(hours=-5))))
    assert clock.now() == clock.now() == NOON
    assert clock.advance(timedelta(hours=36)) == clock.now() == NOON + timedelta(hours=36)


def test_a_manual_clock_does_not_run_backwards():
    with pytest.raises(BadInput, match="give zero or more"):
        ManualClock(NOON).advance(timedelta(seconds=-1))


@pytest.mark.parametrize(
    ("instant", "zone", "day"),
    [
        (datetime(2026, 1, 1, 4, 59, tzinfo=UTC), "America/New_York", date(2025, 12, 31)),
        (datetime(2026, 1, 1, 5, 0, tzinfo=UTC), "America/New_York", date(2026, 1, 1)),
        (datetime(2026, 7, 1, 3, 59, tzinfo=UTC), "America/New_York", date(2026, 6, 30)),
        (datetime(2026, 7, 1, 4, 0, tzinfo=UTC), "America/New_York", date(2026, 7, 1)),
        (datetime(2026, 12, 31, 10, 0, tzinfo=UTC), "Pacific/Kiritimati", date(2027, 1, 1)),
        (datetime(2026, 1, 1, 18, 29, tzinfo=UTC), "Asia/Kolkata", date(2026, 1, 1)),
        (datetime(2026, 1, 1, 18, 30, tzinfo=UTC), "Asia/Kolkata", date(2026, 1, 2)),
    ],
)
def test_the_account_day_turns_at_midnight_of_the_account(instant, zone, day):
    assert account_day(instant, zone) == account_day(instant, ZoneInfo(zone)) == day


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/New_York", date(2026, 3, 8), 23),
        ("America/New_York", date(2026, 11, 1), 25),
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        ("America/Santiago", date(2026, 9, 6), 23),  # its clocks change at midnight, so that day begins at one
        ("Europe/Berlin", date(2026, 6, 1), 24),
    ],
)
def test_a_day_on_which_clocks_change_has_its_own_length(zone, day, hours):
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    instants = (start + timedelta(hours=hour) for hour in range(72))
    assert sum(account_day(instant, zone) == day for instant in instants) == hours


@given(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC)), st.timedeltas(timedelta(0)))  # noqa: DTZ001 - hypothesis adds the zone
def test_account_days_never_run_backwards(instant, later):
    later = min(later, timedelta(days=400))
    assert account_day(instant, "America/New_York") <= account_day(instant + later, "America/New_York")


@pytest.mark.parametrize("zone", ["", "America", "Mars/Olympus", "/etc/passwd", "../UTC", "a\0b", "zone.tab"])
def test_an_unknown_zone_is_refused_with_advice(zone):
    with pytest.raises(BadInput, match="IANA name"):
        account_day(NOON, zone)


def test_an_instant_without_a_zone_is_refused():
    naive = NOON.replace(tzinfo=None)
    for use in (lambda: account_day(naive, "UTC"), lambda: ManualClock(naive)):
        with pytest.raises(BadInput, match="has no time zone"):
            use()


def test_importing_the_vocabulary_does_not_read_the_date():
    check = (
        "import datetime, time\n"
        "class Watched(datetime.datetime):\n"
        "    now = today = utcnow = classmethod(lambda *_: 1 / 0)\n"
        "datetime.datetime = Watched\n"
        "time.time = lambda: 1 / 0\n"
        "import gaelp.clock, gaelp.types, gaelp.money\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_a_day_of_the_account_begins_at_its_own_midnight():
    assert day_start(date(2026, 7, 1), "Europe/Berlin") == datetime(2026, 6, 30, 22, tzinfo=UTC)
