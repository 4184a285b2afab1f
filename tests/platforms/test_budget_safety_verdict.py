"""The job `budget_safety` gives the verdict that the guard gives on the same hours, hour by hour."""

from datetime import timedelta

import pyarrow as pa
import pytest

from gaelp.budget.ledger import Cap, CapKind, known_limit
from gaelp.config import load_settings
from gaelp.jobs.budget_limits import BudgetLimits, load_budget_check
from gaelp.jobs.budget_safety import check_campaigns
from gaelp.platforms import Done, apply_money_rules, guarded
from gaelp.storage.schema import TABLES, TableName

HOUR = timedelta(hours=1)
DAILY = 5_000_000
SETTINGS = ("budget.conversion_value_micros=300000", "budget.loss_cap_micros=21200000")
STEADY, WILD = [200_000] * 12, [200_000] * 6 + [2_000_000] * 4


def stored_hours(hours):
    """The hours of the double as the table `hour_reports`."""
    rows = [
        {
            "id": str(number),
            "at": hour.start,
            "phase": "pilot",
            "source": "t",
            "campaign": hour.campaign,
            "account": "acc",
            "account_day": hour.start.date(),
            "revision": 0,
            "reported_at": hour.start + HOUR,
            "spend_micros": hour.cost_micros,
            "impressions": hour.impressions,
            "clicks": hour.clicks,
            "conversions": float(hour.conversions),
        }
        for number, hour in enumerate(hours)
    ]
    return pa.Table.from_pylist(rows, schema=TABLES[TableName.HOUR_REPORTS].columns)


def limits_of(door):
    campaign = {
        "daily_micros": DAILY,
        "day_cap_micros": 2 * DAILY,
        "loss_cap_micros": 21_200_000,
        "conversion_value_micros": 300_000,
        "episode_cap_micros": known_limit(door.ledger, Cap(CapKind.CAMPAIGN, "spring")).micros,
    }
    return BudgetLimits.model_validate(
        {"accounts": {"acc": {"day_cap_micros": 10**9, "campaigns": {"spring": campaign}}}}
    )


@pytest.mark.parametrize(("costs", "last"), [(STEADY, "allow"), (WILD, "kill")], ids=["steady", "wild"])
def test_the_job_and_the_guard_give_the_same_verdict_on_the_same_hours(make_door, double, costs, last):
    door = make_door(limits={CapKind.ACCOUNT_DAY: 10**9, CapKind.TOTAL: 10**9, CapKind.ACCOUNT: 10**9})
    settings = load_settings(overrides=SETTINGS, environ={}).settings.budget
    for kind in ("budget", "enable"):
        assert (
            guarded(door.guard, double.approve(door, double.order(f"spring-{kind}", kind, "spring", DAILY))) == Done()
        )
    apply_money_rules(door.guard, settings)
    check, verdict = load_budget_check(limits_of(door)), ""
    for cost in costs:
        door.clock.advance(HOUR)
        door.platform.report_hour("spring", door.clock.now() - HOUR, cost, impressions=1000, clicks=20, conversions=1)
        verdict = apply_money_rules(door.guard, settings).verdicts.get("spring", verdict)
        job = check_campaigns([], [stored_hours(door.platform.hours)], check, door.clock.now()).verdicts.to_pylist()
        assert [f"{row['decision']}: {row['reason']}" for row in job] == [verdict]
        if verdict.startswith("kill"):
            break  # the guard has stopped the campaign
    assert verdict.startswith(last)
