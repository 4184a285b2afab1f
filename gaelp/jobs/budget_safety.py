"""Check spend events and platform reports against the limits: each breach, and Allow, Hold or Kill for each campaign.

Hours pass through the functions that judge running campaigns (`gaelp.platforms.campaign_hours`, `gaelp.budget`), and
costs through the one that reconciliation uses. A duplicate event counts once, with the account day of its first report;
of an hour's reports the newest revision counts. Where events and reports differ, the larger cost is compared with caps.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.budget.hours import SpendWindow
from gaelp.budget.rule_judge import RuleVerdict, decide, judge_rules
from gaelp.budget.rules import RuleReading
from gaelp.budget.signals import CampaignWatch
from gaelp.clock import account_day
from gaelp.jobs.budget_limits import AccountLimits, BudgetCheck, CampaignLimits
from gaelp.jobs.screening import ScreenedRows, dead_letters, join_tables, keep_newest, keep_valid
from gaelp.platforms.campaign_hours import Pace, first_observed, observe_each, readings_of
from gaelp.platforms.cost_booking import beyond_reservation
from gaelp.platforms.platform import CampaignHour
from gaelp.storage.schema import TABLES, TableName

__all__ = [
    "ACCOUNT_RULE",
    "BREACHES",
    "BUDGET_VERDICTS",
    "CAMPAIGN_DAYS",
    "CampaignsChecked",
    "check_accounts",
    "check_campaigns",
    "kind_of_rule",
]

_TIME = pa.timestamp("us", tz="UTC")
_HOUR = timedelta(hours=1)
ACCOUNT_RULE = "account-day-limit"
_DIFFERENCE_RULE, _RESERVATION_RULE, _UNKNOWN_RULE = "ledger-differs", "cost-beyond-reservation", "no-limits"

BREACHES = pa.schema(
    [
        ("kind", pa.string()),
        ("rule", pa.string()),
        ("decision", pa.string()),
        ("account", pa.string()),
        ("campaign", pa.string()),
        ("day", pa.date32()),
        ("at", _TIME),
        ("value", pa.float64()),
        ("limit", pa.float64()),
        ("reason", pa.string()),
    ]
)
"""One row a breach, when it began; one that lasts is listed once. `campaign` is null for a whole account."""

CAMPAIGN_DAYS = pa.schema(
    [
        ("account", pa.string()),
        ("campaign", pa.string()),
        ("day", pa.date32()),
        ("event_micros", pa.int64()),
        ("report_micros", pa.int64()),
    ]
)
BUDGET_VERDICTS = pa.schema(
    [
        ("account", pa.string()),
        ("campaign", pa.string()),
        ("at", _TIME),
        ("decision", pa.string()),
        ("reason", pa.string()),
    ]
)


class CampaignsChecked(NamedTuple):
    """What was found about some campaigns: breaches, verdicts as of their last hour, costs by day, dead letters."""

    breaches: pa.Table
    verdicts: pa.Table
    days: pa.Table
    dead: pa.Table


class _Breach(NamedTuple):
    kind: str
    rule: str
    decision: str
    account: str
    campaign: str | None
    day: date
    at: datetime | None
    value: float | None
    limit: float | None
    reason: str


def check_campaigns(
    events: Sequence[pa.Table], reports: Sequence[pa.Table], check: BudgetCheck, as_of: datetime
) -> CampaignsChecked:
    """Check all spend events and hour reports of some campaigns, as known at `as_of`."""
    charged = _spend_events(join_tables(events, TABLES[TableName.SPEND_EVENTS].columns), as_of)
    reported = _hour_reports(join_tables(reports, TABLES[TableName.HOUR_REPORTS].columns), as_of)
    days = _campaign_days(charged.valid, reported.valid)
    breaches = list(_cost_breaches(days, check, as_of))
    verdicts = []
    for (account, campaign), hours in _by_campaign(reported.valid).items():
        limits = _limits_of(check, account, campaign)
        if limits is not None:
            of_campaign, verdict = _judge_hours(check, limits, (account, campaign), hours)
            breaches += of_campaign
            verdicts.append((account, campaign, verdict.judged_at, verdict.decision, verdict.reason))
    return CampaignsChecked(
        _rows(breaches, BREACHES),
        _rows(verdicts, BUDGET_VERDICTS),
        days,
        pa.concat_tables([charged.dead, reported.dead]),
    )


def check_accounts(days: pa.Table, check: BudgetCheck) -> pa.Table:
    """The breaches of whole accounts: days on which their campaigns together cost more than the account's cap."""
    costs = pc.max_element_wise(days.column("event_micros"), days.column("report_micros"))
    sums = days.select(["account", "day"]).append_column("cost", costs).group_by(["account", "day"])
    breaches = []
    totals = sums.aggregate([("cost", "sum")]).sort_by([("account", "ascending"), ("day", "ascending")])
    for row in totals.to_pylist():
        limits = check.limits.accounts.get(row["account"])
        if limits is not None and row["cost_sum"] > limits.day_cap_micros:
            reason = f"its campaigns cost {row['cost_sum']} micros; asked: at most {limits.day_cap_micros}"
            breach = ("account-overspend", ACCOUNT_RULE, "kill", row["account"], None, row["day"], None)
            breaches.append(_Breach(*breach, row["cost_sum"], limits.day_cap_micros, reason))
    return _rows(breaches, BREACHES)


def kind_of_rule(figure: str) -> str:
    """The kind of breach that a rule on this figure finds."""
    if figure in ("day_spend_micros", "episode_spend_micros"):
        return "overspend"
    if figure.startswith(("spend_3h", "spend_6h", "spend_12h", "ahead_of_plan", "projected_day")):
        return "pacing"
    return "loss" if figure.startswith("week_") else "anomaly"


# Reading rows


def _spend_events(table: pa.Table, as_of: datetime) -> ScreenedRows:
    """Each event once; a second one with the same id and another amount, campaign or account is a dead letter."""
    name = TableName.SPEND_EVENTS
    known = _known_at(table, as_of)
    screened = keep_valid(name, known, _event_problems(known))
    firsts = keep_newest(screened.valid, ("id",), [("reported_at", "ascending")])
    if firsts.num_rows == screened.valid.num_rows:
        return screened
    body = ["id", "account", "campaign", "amount_micros"]
    bodies = screened.valid.select(body).group_by(body).aggregate([([], "count_all")])
    repeated = bodies.group_by("id").aggregate([([], "count_all")])
    changed = repeated.filter(pc.greater(repeated.column("count_all"), 1)).column("id")
    conflicts = firsts.filter(pc.is_in(firsts.column("id"), value_set=changed.combine_chunks()))
    dead = dead_letters(name, conflicts, "a later event has the same id and another body; the first counts")
    return ScreenedRows(firsts, pa.concat_tables([screened.dead, dead]))


def _event_problems(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    problems = _missing(TableName.SPEND_EVENTS, table)
    amount, kind = table.column("amount_micros"), table.column("kind")
    problems["kind is not charge, credit or adjustment"] = pc.invert(
        pc.is_in(kind, value_set=pa.array(["charge", "credit", "adjustment"]))
    )
    problems["a charge below 0"] = pc.and_(pc.equal(kind, "charge"), pc.less(amount, 0))
    problems["a credit above 0"] = pc.and_(pc.equal(kind, "credit"), pc.greater(amount, 0))
    days_apart = pc.days_between(table.column("at").cast(pa.date32()), table.column("account_day"))
    problems["account_day is not the day of `at` in any time zone"] = pc.greater(pc.abs(days_apart), 1)
    return problems


def _hour_reports(table: pa.Table, as_of: datetime) -> ScreenedRows:
    """The newest revision of each hour; a report of the whole campaign replaces those of its segments."""
    name = TableName.HOUR_REPORTS
    known = _known_at(table, as_of)
    problems = _missing(name, known)
    problems["spend_micros is missing"] = pc.is_null(known.column("spend_micros"))
    counts = ("spend_micros", "impressions", "clicks", "conversions")
    problems |= {f"{count} is negative": pc.less(known.column(count), 0) for count in counts}
    screened = keep_valid(name, known, problems)
    hour = ("account", "campaign", "at")
    order = [("revision", "descending"), ("reported_at", "descending")]
    newest = keep_newest(screened.valid, (*hour, "segment"), order)
    whole = newest.filter(pc.is_null(newest.column("segment")))
    parts = newest.filter(pc.is_valid(newest.column("segment")))
    if parts.num_rows and whole.num_rows:
        parts = parts.join(whole.select(list(hour)), list(hour), join_type="left anti")
        newest = pa.concat_tables([whole, parts.select(whole.column_names).cast(whole.schema)])
    return ScreenedRows(newest, screened.dead)


def _known_at(table: pa.Table, as_of: datetime) -> pa.Table:
    return table.filter(pc.fill_null(pc.less_equal(table.column("reported_at"), pa.scalar(as_of, _TIME)), True))


def _missing(name: TableName, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {f"{column} is missing": pc.is_null(table.column(column)) for column in TABLES[name].required}


def _campaign_days(events: pa.Table, reports: pa.Table) -> pa.Table:
    """What each campaign-day cost by its events and by the platform's reports; 0 where either has nothing."""
    keys = ["account", "campaign", "account_day"]
    by_event = events.group_by(keys).aggregate([("amount_micros", "sum")])
    by_report = reports.group_by(keys).aggregate([("spend_micros", "sum")])
    joined = by_event.join(by_report, keys, join_type="full outer")
    arrays = [
        *(joined.column(key) for key in keys),
        pc.fill_null(joined.column("amount_micros_sum"), 0),
        pc.fill_null(joined.column("spend_micros_sum"), 0),
    ]
    return pa.table(arrays, schema=CAMPAIGN_DAYS).sort_by(
        [("account", "ascending"), ("campaign", "ascending"), ("day", "ascending")]
    )


def _by_campaign(reports: pa.Table) -> dict[tuple[str, str], list[CampaignHour]]:
    """The hours of each campaign, in order; fractions of conversions are cut off."""
    keys = ["account", "campaign", "at"]
    counts = ("spend_micros", "impressions", "clicks", "conversions")
    sums = reports.group_by(keys).aggregate([(count, "sum") for count in counts])
    ordered = sums.sort_by([(key, "ascending") for key in keys])
    columns = [ordered.column(key).to_pylist() for key in keys]
    numbers = [pc.fill_null(ordered.column(f"{count}_sum"), 0).to_pylist() for count in counts]
    hours: dict[tuple[str, str], list[CampaignHour]] = defaultdict(list)
    for account, campaign, at, spend, impressions, clicks, conversions in zip(*columns, *numbers, strict=True):
        hours[account, campaign].append(CampaignHour(campaign, at, spend, impressions, clicks, int(conversions)))
    return hours


# Comparing


def _cost_breaches(days: pa.Table, check: BudgetCheck, as_of: datetime) -> Iterator[_Breach]:
    """Compare each campaign-day's cost with its reservation, and its spend events with the platform's reports."""
    for row in days.to_pylist():
        account, campaign, day = row["account"], row["campaign"], row["day"]
        limits = _limits_of(check, account, campaign)
        if limits is None:
            reason = f"{campaign} spends and has no limits: an unknown limit is never allowed"
            yield _Breach("no-limits", _UNKNOWN_RULE, "hold", account, campaign, day, None, None, None, reason)
            continue
        reserved = limits.reserved_on(day)
        if problem := beyond_reservation(campaign, day, row["report_micros"], reserved):
            costs = (row["report_micros"], reserved)
            yield _Breach("unreserved", _RESERVATION_RULE, "hold", account, campaign, day, None, *costs, problem)
        difference = abs(row["event_micros"] - row["report_micros"])
        if difference > check.limits.tolerance_micros and _is_final(check, account, day, as_of):
            reason = (
                f"spend events add up to {row['event_micros']} micros, the platform reports {row['report_micros']};"
                f" asked: at most {check.limits.tolerance_micros} apart"
            )
            amounts = (difference, check.limits.tolerance_micros)
            yield _Breach("difference", _DIFFERENCE_RULE, "hold", account, campaign, day, None, *amounts, reason)


def _is_final(check: BudgetCheck, account: str, day: date, as_of: datetime) -> bool:
    zone = ZoneInfo(check.limits.accounts[account].time_zone)
    ended = datetime.combine(day + timedelta(days=1), time(), zone)
    return as_of >= ended + timedelta(hours=check.limits.final_after_hours)


def _judge_hours(
    check: BudgetCheck, limits: CampaignLimits, names: tuple[str, str], hours: list[CampaignHour]
) -> tuple[list[_Breach], RuleVerdict]:
    """Judge a campaign after each of its hours, as a pass over a running account does."""
    account, campaign = names
    zone = ZoneInfo(check.limits.accounts[account].time_zone)
    start, last_end = hours[0].start, hours[-1].start + _HOUR
    window, watch = SpendWindow(limits.caps_on(account_day(start, zone))), CampaignWatch(check.signals)
    observed = first_observed(start, zone, check.signals)
    pace, caps_on = Pace(check.plan, limits.daily_on, zone), cache(limits.caps_on)
    breaches: list[_Breach] = []
    breached: set[str] = set()
    readings: dict[str, RuleReading] = {}
    for began, ended in observe_each(observed, hours, last_end, pace, (window, watch)):
        day = account_day(began, zone)
        readings = readings_of(window, watch, caps_on(day))
        now_breached = {rule.id for rule in check.rules.rules if decide(rule, readings, ended)[0] != "allow"}
        if now_breached - breached:
            verdict = judge_rules(check.rules, readings, ended)
            breaches += _onsets(check, verdict, now_breached - breached, (account, campaign, day, ended))
        breached = now_breached
    return breaches, judge_rules(check.rules, readings, last_end)


def _onsets(
    check: BudgetCheck, verdict: RuleVerdict, rule_ids: set[str], where: tuple[str, str, date, datetime]
) -> Iterator[_Breach]:
    kinds = {rule.id: kind_of_rule(rule.figure) for rule in check.rules.rules}
    account, campaign, day, at = where
    for result in verdict.results:
        if result.rule_id in rule_ids:
            yield _Breach(
                kind=kinds[result.rule_id],
                rule=result.rule_id,
                decision=result.decision,
                account=account,
                campaign=campaign,
                day=day,
                at=at,
                value=result.value,
                limit=result.limit,
                reason=result.reason,
            )


def _limits_of(check: BudgetCheck, account: str, campaign: str) -> CampaignLimits | None:
    limits: AccountLimits | None = check.limits.accounts.get(account)
    return None if limits is None else limits.campaigns.get(campaign)


def _rows(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
    return pa.table(columns, schema=schema)
