"""Budget safety reports each breach once, counts nothing twice, and judges hours as the guard of the platform does."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from gaelp.bench.planted_breaches import BREACH_KINDS, confusion, plant_month
from gaelp.budget.rules import load_rules
from gaelp.jobs.budget_limits import BudgetLimits, load_budget_check
from gaelp.jobs.budget_safety import ACCOUNT_RULE, check_accounts, check_campaigns, kind_of_rule
from gaelp.storage.schema import TABLES, TableName

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
AS_OF = START + timedelta(days=20)
LIMITS = {
    "daily_micros": 24_000_000,
    "day_cap_micros": 48_000_000,
    "episode_cap_micros": 10**9,
    "loss_cap_micros": 10**9,
    "conversion_value_micros": 2_000_000,
}


def check_for(day_cap=10**9, **campaign):
    limits = {"accounts": {"acc": {"day_cap_micros": day_cap, "campaigns": {"spring": {**LIMITS, **campaign}}}}}
    return load_budget_check(BudgetLimits.model_validate(limits))


def event(number, amount=1_000_000, hour=0, **more):
    at = START + hour * HOUR
    row = {
        "id": f"e{number}",
        "at": at,
        "phase": "pilot",
        "source": "t",
        "campaign": "spring",
        "account": "acc",
        "account_day": at.date(),
        "kind": "charge",
        "amount_micros": amount,
        "reported_at": at,
    }
    return {**row, **more}


def report(hour, spend=1_000_000, revision=0, **more):
    at = START + hour * HOUR
    row = {
        "id": f"h{hour}-{revision}-{more.get('segment')}",
        "at": at,
        "phase": "pilot",
        "source": "t",
        "campaign": "spring",
        "account": "acc",
        "account_day": at.date(),
        "revision": revision,
        "reported_at": at + HOUR,
        "spend_micros": spend,
        "impressions": 100,
        "clicks": 5,
        "conversions": 1.0,
    }
    return {**row, **more}


def run(events, reports, check=None):
    schemas = (TABLES[TableName.SPEND_EVENTS].columns, TABLES[TableName.HOUR_REPORTS].columns)
    nullable = [pa.schema([field.with_nullable(True) for field in schema]) for schema in schemas]
    tables = [
        pa.Table.from_pylist(rows, schema=schema) for rows, schema in zip((events, reports), nullable, strict=True)
    ]
    return check_campaigns([tables[0]], [tables[1]], check or check_for(), AS_OF)


def kinds(result):
    return [(row["kind"], row["rule"], row["decision"]) for row in result.breaches.to_pylist()]


def test_a_healthy_day_has_no_breach():
    result = run([event(hour, hour=hour) for hour in range(24)], [report(hour) for hour in range(24)])
    assert kinds(result) == []
    assert result.days.to_pylist()[0]["event_micros"] == 24_000_000
    assert result.verdicts["decision"].to_pylist() == ["allow"]


def test_a_duplicate_counts_once_with_the_account_day_of_its_first_report():
    again = event(0, reported_at=START + 5 * HOUR, account_day=START.date() + timedelta(days=1))
    result = run([again, event(0), event(0)], [report(0)])
    assert [(row["day"], row["event_micros"]) for row in result.days.to_pylist()] == [(START.date(), 1_000_000)]
    assert (kinds(result), result.dead.num_rows) == ([], 0)


def test_the_same_id_with_another_amount_is_reported_and_the_first_counts():
    result = run([event(0), event(0, amount=9, reported_at=START + HOUR)], [report(0)])
    assert result.days["event_micros"].to_pylist() == [1_000_000]
    assert result.dead["reason"].to_pylist() == ["a later event has the same id and another body; the first counts"]


def test_the_newest_revision_counts_and_a_whole_campaign_replaces_its_segments():
    reports = [report(0, spend=9), report(0, revision=1), report(1, segment="a"), report(1)]
    result = run([event(0), event(1, hour=1)], reports)
    assert result.days["report_micros"].to_pylist() == [2_000_000]


def test_what_was_reported_after_as_of_is_not_known_yet():
    late = event(1, amount=5, reported_at=AS_OF + HOUR)
    assert run([event(0), late], [report(0)]).days["event_micros"].to_pylist() == [1_000_000]


def test_cost_beyond_the_reservation_is_found_in_the_words_of_reconciliation():
    check = check_for(reserved_by_day_micros={START.date(): 900_000})
    result = run([event(0)], [report(0)], check)
    assert kinds(result) == [("unreserved", "cost-beyond-reservation", "hold")]
    assert result.breaches["reason"].to_pylist() == ["spring cost 1000000 micros on 2026-01-01, reserved were 900000"]


def test_a_difference_holds_once_the_day_is_final():
    result = run([event(0, amount=2_000_000)], [report(0)])
    assert kinds(result) == [("difference", "ledger-differs", "hold")]
    young = (AS_OF - START).days * 24 - 30
    at = START + young * HOUR
    assert kinds(run([event(0, hour=young)], [report(young, spend=5, account_day=at.date())])) == []


def test_a_campaign_without_limits_is_held():
    assert kinds(run([event(0, campaign="stray")], [])) == [("no-limits", "no-limits", "hold")]


def test_a_breach_that_lasts_is_reported_when_it_begins():
    reports = [report(hour, spend=1_000_000 if hour < 6 else 7_000_000) for hour in range(14)]
    events = [event(hour, amount=row["spend_micros"], hour=hour) for hour, row in enumerate(reports)]
    result = run(events, reports)
    rules = [row["rule"] for row in result.breaches.to_pylist()]
    assert len(rules) == len(set(rules))
    assert {("pacing", "spend-rate-3h", "kill"), ("overspend", "day-limit", "kill")} <= set(kinds(result))
    assert result.verdicts["decision"].to_pylist() == ["kill"]


def test_an_account_is_judged_by_the_larger_of_events_and_reports():
    result = run([event(0)], [report(0, spend=3_000_000)])
    breaches = check_accounts(result.days, check_for(day_cap=2_000_000)).to_pylist()
    assert [(row["rule"], row["account"], row["campaign"], row["value"]) for row in breaches] == [
        (ACCOUNT_RULE, "acc", None, 3_000_000)
    ]
    assert check_accounts(result.days, check_for(day_cap=3_000_000)).num_rows == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "gift"}, "kind is not charge, credit or adjustment"),
        ({"amount_micros": -5}, "a charge below 0"),
        ({"account_day": START.date() + timedelta(days=5)}, "account_day is not the day of `at` in any time zone"),
        ({"account": None}, "account is missing"),
    ],
)
def test_an_invalid_event_is_a_dead_letter(change, reason):
    result = run([event(0), event(1, **change)], [report(0)])
    assert result.dead["reason"].to_pylist() == [reason]
    assert result.days["event_micros"].to_pylist() == [1_000_000]


def test_every_rule_has_a_kind_of_breach():
    by_rule = {rule.id: kind_of_rule(rule.figure) for rule in load_rules("campaign").rules}
    assert set(by_rule.values()) == {"overspend", "pacing", "loss", "anomaly"}
    assert (by_rule["day-limit"], by_rule["roi-floor"], by_rule["tracking-outage"]) == ("overspend", "loss", "anomaly")


def test_every_planted_breach_is_found_and_nothing_else():
    month = plant_month(10, np.random.default_rng(8), events=20_000)
    check = load_budget_check(month.limits)
    checked = check_campaigns([month.spend_events], [month.hour_reports], check, month.as_of)
    counts = confusion(month.planted, pa.concat_tables([checked.breaches, check_accounts(checked.days, check)]))
    exact = {"planted": 10, "true_positives": 10, "false_negatives": 0, "false_positives": 0}
    assert counts == dict.fromkeys(sorted(BREACH_KINDS), exact)
    assert checked.dead.num_rows == 0
