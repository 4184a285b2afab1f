"""Reports by the account's clock: hours where clocks change, whole conversions, and treatments under their campaign."""

import re
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from gaelp.platforms.google_ads.account_reading import CampaignRow
from gaelp.platforms.google_ads.report_reading import ReportedNames, read_day_costs, read_hour_rows

BERLIN = ZoneInfo("Europe/Berlin")


def campaign(number, name, base=""):
    day = date(2026, 1, 1)
    return CampaignRow(number, name, f"customers/1/campaigns/{number}", "ENABLED", day, "", 1, False, base)


NAMES = ReportedNames([campaign(1, "spring"), campaign(2, "spring [trial]", "customers/1/campaigns/1")])


class Rows:
    """A connection that answers a query with those of these rows that are of its days and hours."""

    def __init__(self, *rows):
        self.rows, self.asked = rows, []

    def search_plain(self, text):
        self.asked.append(text)
        first, last = re.search(r"BETWEEN '(.+?)' AND '(.+?)'", text).groups()
        hour = re.search(r"segments.hour >= (\d+)", text)
        since = int(hour[1]) if hour else 0
        return [
            row for row in self.rows if first <= row.segments.date <= last and getattr(row.segments, "hour", 0) >= since
        ]


def row(campaign_id=1, day="2026-10-25", hour=0, conversions=0.0, cost=10, group="g", value=0.0):
    metrics = SimpleNamespace(
        cost_micros=cost, impressions=5, clicks=1, conversions=conversions, conversions_value=value
    )
    return SimpleNamespace(
        campaign=SimpleNamespace(id=campaign_id),
        ad_group=SimpleNamespace(name=group),
        segments=SimpleNamespace(date=day, hour=hour),
        metrics=metrics,
    )


def hours(*rows, since=datetime(2026, 1, 1, tzinfo=BERLIN)):
    return read_hour_rows(Rows(*rows), NAMES, since, datetime(2026, 12, 1, tzinfo=UTC), BERLIN)


def test_hours_begin_by_the_accounts_clock_where_it_changes_too():
    starts = [hour.start for hour in hours(row(hour=1), row(hour=2), row(hour=3))]
    assert starts == [
        datetime(2026, 10, 24, 23, tzinfo=UTC),
        datetime(2026, 10, 25, 0, tzinfo=UTC),
        datetime(2026, 10, 25, 2, tzinfo=UTC),
    ]


def test_fractions_of_conversions_count_when_they_add_up_to_a_whole_one():
    counted = hours(*(row(hour=number, conversions=0.4) for number in range(5)), row(group="other", conversions=0.9))
    assert [hour.conversions for hour in counted if hour.target == "g"] == [0, 0, 1, 0, 1]
    assert [hour.conversions for hour in counted if hour.target == "other"] == [0]


def test_the_value_of_conversions_is_whole_micros():
    assert [hour.value_micros for hour in hours(row(value=12.34))] == [12_340_000]


def test_a_treatment_is_reported_under_its_campaign_and_others_not_at_all():
    found = hours(row(1), row(2), row(3))
    assert [(hour.campaign, hour.target) for hour in found] == [("spring", "g"), ("spring", "trial/g")]
    costs = read_day_costs(Rows(row(1), row(2), row(3)), NAMES, date(2026, 10, 25), date(2026, 10, 25))
    assert [(cost.campaign, cost.micros) for cost in costs] == [("spring", 20)]


def test_hours_before_the_requested_instant_are_left_out():
    assert [
        hour.start.hour for hour in hours(row(hour=1), row(hour=5), since=datetime(2026, 10, 25, 2, tzinfo=UTC))
    ] == [4]


@pytest.mark.parametrize(("ends", "queries"), [(timedelta(hours=3), 1), (timedelta(days=2), 2)])
def test_from_the_middle_of_a_day_on_its_earlier_hours_are_not_read(ends, queries):
    since = datetime(2026, 10, 20, 15, tzinfo=BERLIN)
    account = Rows(*(row(day=f"2026-10-{day}", hour=hour) for day in (19, 20, 21, 22) for hour in (0, 14, 15, 23)))
    found = read_hour_rows(account, NAMES, since, since + ends, BERLIN)
    assert len(account.asked) == queries
    expected = [(20, 15), (20, 23)] + [(day, hour) for day in (21, 22) for hour in (0, 14, 15, 23)] * (queries - 1)
    starts = [hour.start.astimezone(BERLIN) for hour in found]
    assert [(start.day, start.hour) for start in starts] == expected
