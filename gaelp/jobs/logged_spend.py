"""The limits of logged campaigns for the job `budget_safety`: their daily budgets, and what a platform may exceed."""

from datetime import UTC, date

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.budget.platform_budget import Overdelivery, day_worst_micros, span_worst_micros
from gaelp.jobs.budget_limits import AccountLimits, BudgetLimits, CampaignLimits

__all__ = ["ACCOUNT_COLUMNS", "BUDGET_COLUMNS", "account_zone", "logged_limits"]

ACCOUNT_COLUMNS = ("account", "campaign", "account_day", "at", "reported_at")  # of hour reports
BUDGET_COLUMNS = ("campaign", "at", "budget_left_micros")  # of decisions
_RULES = "history"
_LAST_OFFSET_HOURS = 12


def account_zone(reports: pa.Table) -> str:
    """A time zone whose days are those of the reports: the commonest distance of their first hour from midnight UTC.

    Without daylight saving: where clocks change within the log, name the zone in the settings.
    """
    first = reports.group_by("account_day").aggregate([("at", "min")])["at_min"].to_pylist()
    hours = [at.astimezone(UTC).hour for at in first]
    behind = max(set(hours), key=hours.count) if hours else 0
    offset = behind if behind <= _LAST_OFFSET_HOURS else behind - 24
    return f"Etc/GMT{offset:+d}" if offset else "UTC"  # the sign of these names is that of UTC minus local time


def logged_limits(
    reports: pa.Table, decisions: pa.Table, terms: Overdelivery, zone: str | None = None
) -> BudgetLimits | None:
    """What each logged campaign may have spent at worst; None where the log has no budgets.

    A day's budget is the most that was left of it, at its beginning; the highest of all days holds.
    """
    known = decisions.filter(pc.greater(pc.fill_null(decisions["budget_left_micros"], 0), 0))
    most = known.group_by("campaign").aggregate([("budget_left_micros", "max")])
    budgets = dict(zip(most["campaign"].to_pylist(), most["budget_left_micros_max"].to_pylist(), strict=True))
    spans = reports.group_by(["account", "campaign"]).aggregate([("account_day", "min"), ("account_day", "max")])
    accounts: dict[str, dict[str, CampaignLimits]] = {}
    for row in spans.to_pylist():
        if row["campaign"] in budgets:
            limits = _campaign_limits(budgets[row["campaign"]], terms, row["account_day_min"], row["account_day_max"])
            accounts.setdefault(row["account"], {})[row["campaign"]] = limits
    if not accounts:
        return None
    return BudgetLimits(
        accounts={
            account: AccountLimits(
                time_zone=zone or account_zone(reports),
                day_cap_micros=sum(limits.day_cap_micros for limits in campaigns.values()),
                campaigns=campaigns,
            )
            for account, campaigns in accounts.items()
        },
        rules=_RULES,
        final_after_hours=24 * terms.revised_days,
    )


def _campaign_limits(daily_micros: int, terms: Overdelivery, first: date, last: date) -> CampaignLimits:
    whole = span_worst_micros(daily_micros, terms, first, last)
    return CampaignLimits(
        daily_micros=daily_micros,
        day_cap_micros=day_worst_micros(daily_micros, terms),
        episode_cap_micros=whole,
        loss_cap_micros=whole,
        conversion_value_micros=1,  # no rule of logged campaigns looks at their return: the gate does
    )
