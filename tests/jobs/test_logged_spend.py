"""Limits of logged campaigns: their own budgets, what a platform may exceed, and the account's days."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.jobs.logged_spend import account_zone, logged_limits

GOOGLE = load_platform_terms().of("google-ads")


def reports(hours_behind=4, days=3, campaign="a"):
    rows = []
    for day in range(days):
        midnight = datetime(2026, 9, 7 + day, hours_behind, tzinfo=UTC)
        rows += [(midnight + timedelta(hours=hour), date(2026, 9, 7 + day)) for hour in range(24)]
    return pa.table(
        {
            "account": ["1"] * len(rows),
            "campaign": [campaign] * len(rows),
            "account_day": pa.array([day for _, day in rows], pa.date32()),
            "at": pa.array([at for at, _ in rows], pa.timestamp("us", tz="UTC")),
            "reported_at": pa.array([at for at, _ in rows], pa.timestamp("us", tz="UTC")),
        }
    )


def decisions(*left, campaign="a"):
    at = [datetime(2026, 9, 7, 4, tzinfo=UTC)] * len(left)
    return pa.table(
        {
            "campaign": [campaign] * len(left),
            "at": pa.array(at, pa.timestamp("us", tz="UTC")),
            "budget_left_micros": pa.array(left, pa.int64()),
        }
    )


def test_a_day_may_cost_what_the_platform_allows_of_the_whole_budget():
    limits = logged_limits(reports(), decisions(3_000_000, 10_000_000, 0), GOOGLE)
    campaign = limits.accounts["1"].campaigns["a"]
    assert campaign.daily_micros == 10_000_000
    assert campaign.day_cap_micros == 20_000_000
    assert campaign.episode_cap_micros == 60_000_000


def test_a_log_without_budgets_cannot_be_checked():
    assert logged_limits(reports(), decisions(None, 0), GOOGLE) is None


@pytest.mark.parametrize(("behind", "zone"), [(0, "UTC"), (4, "Etc/GMT+4"), (22, "Etc/GMT-2")])
def test_days_are_those_of_the_account(behind, zone):
    assert account_zone(reports(behind)) == zone


def test_a_zone_that_is_given_holds():
    limits = logged_limits(reports(), decisions(1_000_000), GOOGLE, "America/New_York")
    assert limits.accounts["1"].time_zone == "America/New_York"
