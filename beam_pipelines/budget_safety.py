"""Job: spend events and platform hour reports against the limits; each breach, and Allow, Hold or Kill.

    python -m beam_pipelines.budget_safety --spend_events 'data/spend_events/**.parquet' \\
        --hour_reports 'data/hour_reports/**.parquet' --limits limits.yaml --as_of 2026-04-10T00:00Z --output safety

Results: OUTPUT/breaches (of campaigns) and OUTPUT/account_breaches, OUTPUT/verdicts by campaign, OUTPUT/campaign_days
with the cost by events and by reports, OUTPUT/dead_letters. The limits are a file of gaelp.jobs.budget_limits.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pydantic import AwareDatetime, Field

from beam_pipelines.options import JobOptions, parse_options
from beam_pipelines.running import JobReport, main, run_job
from beam_pipelines.sharded_job import JobInput, ShardedJob
from beam_pipelines.table_files import read_whole, write_table
from gaelp.errors import BadInput
from gaelp.jobs.budget_limits import BudgetCheck, load_budget_check
from gaelp.jobs.budget_safety import CAMPAIGN_DAYS, check_accounts, check_campaigns
from gaelp.jobs.screening import join_tables
from gaelp.storage.schema import TableName

__all__ = ["BudgetSafetyOptions", "budget_safety_job", "run"]

_EVENT_COLUMNS = (
    *("id", "at", "phase", "source", "campaign", "account", "account_day", "kind", "amount_micros", "reported_at"),
)


class BudgetSafetyOptions(JobOptions):
    """Options of `budget_safety`; give one input or both. A campaign-day that is in one of them only is a breach."""

    spend_events: str | None = Field(default=None, description="pattern of the Parquet files of `spend_events`")
    hour_reports: str | None = Field(default=None, description="pattern of those of `hour_reports`")
    limits: Path = Field(description="YAML file with the limits of accounts and campaigns")
    as_of: AwareDatetime = Field(description="use what was reported by this time, such as 2026-04-10T00:00:00Z")


def budget_safety_job(options: BudgetSafetyOptions, check: BudgetCheck) -> ShardedJob:
    """Gather events and reports by campaign, then judge each campaign."""
    patterns = ((TableName.SPEND_EVENTS, options.spend_events), (TableName.HOUR_REPORTS, options.hour_reports))
    columns = {TableName.SPEND_EVENTS: _EVENT_COLUMNS}
    return ShardedJob(
        name="budget_safety",
        version=1,
        steps=("SelectRows", "JudgeCampaigns"),
        inputs=tuple(JobInput(table, pattern, columns.get(table)) for table, pattern in patterns if pattern),
        prepare=_prepare,
        finish=partial(_finish, check=check, options=options),
        by_day=False,
        settings={
            "as_of": options.as_of,
            "limits": check.limits.model_dump(mode="json"),
            "rules": check.rules.model_dump(mode="json"),
            "signals": check.signals.model_dump(mode="json"),
            "plan": check.plan.model_dump(mode="json"),
        },
    )


def run(argv: Sequence[str] | None = None) -> JobReport:
    """Run the job with these command-line options; whole accounts are added up at the end."""
    options, for_beam = parse_options(BudgetSafetyOptions, argv, job="budget_safety", about=__doc__ or "")
    if options.spend_events is None and options.hour_reports is None:
        raise BadInput("no input: give --spend_events, --hour_reports or both")
    check = load_budget_check(options.limits)
    report = run_job(budget_safety_job(options, check), options, for_beam)
    folder = options.output.rstrip("/")
    days = join_tables(read_whole(f"{folder}/campaign_days/*.parquet"), CAMPAIGN_DAYS)
    write_table(f"{folder}/account_breaches/accounts.parquet", check_accounts(days, check))
    return report


def _prepare(name: TableName, table: pa.Table) -> Mapping[str, pa.Table]:
    return {name.value: table}


def _finish(
    tables: Mapping[str, list[pa.Table]], *, check: BudgetCheck, options: BudgetSafetyOptions
) -> Mapping[str, pa.Table]:
    checked = check_campaigns(tables.get("spend_events", []), tables.get("hour_reports", []), check, options.as_of)
    return {
        "breaches": checked.breaches,
        "verdicts": checked.verdicts,
        "campaign_days": checked.days,
        "dead_letters": checked.dead,
    }


if __name__ == "__main__":
    sys.exit(main("budget_safety"))
