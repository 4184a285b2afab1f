"""Simulated episodes as the job `budget_safety` reads them: hours as charges and reports, budgets as limits."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.jobs.budget_limits import AccountLimits, BudgetLimits, CampaignLimits
from gaelp.storage.schema import TABLES, TableName

__all__ = ["DECISION_COLUMNS", "SIMULATED_ACCOUNT", "episode_limits", "simulated_spend"]

SIMULATED_ACCOUNT = "simulation"  # no ad account: every episode has a budget of its own, and they share nothing
_RULES = "simulation"
_HOUR = ("episode", "at", "phase", "source")
_SUMMED = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")
DECISION_COLUMNS = (*_HOUR, *_SUMMED)  # what `simulated_spend` reads


def simulated_spend(decisions: Iterable[pa.Table]) -> dict[TableName, pa.Table]:
    """The hours of some episodes, each with all its segments, as a charge and as a platform would report them."""
    none = TABLES[TableName.DECISIONS].columns.empty_table().select(list(DECISION_COLUMNS))
    hours = _by_hour(pa.concat_tables([_by_hour(table) for table in (none, *decisions)]))
    known = {
        "id": pc.binary_join_element_wise(hours["episode"], pc.cast(hours["at"], pa.string()), "/"),
        "campaign": hours["episode"],
        "account": pa.array([SIMULATED_ACCOUNT] * hours.num_rows, pa.string()),
        "account_day": hours["at"].cast(pa.date32()),
        "reported_at": hours["at"],
        "kind": pa.array(["charge"] * hours.num_rows, pa.string()),
        "amount_micros": pc.fill_null(hours["spend_micros"], 0),
        "revision": pa.array([0] * hours.num_rows, pa.int32()),
        **{name: hours[name] for name in ("at", "phase", "source", *_SUMMED)},
    }
    return {name: _as_stored(name, known, hours.num_rows) for name in (TableName.SPEND_EVENTS, TableName.HOUR_REPORTS)}


def _by_hour(table: pa.Table) -> pa.Table:
    sums = table.group_by(list(_HOUR)).aggregate([(name, "sum") for name in _SUMMED])
    return sums.select([*_HOUR, *(f"{name}_sum" for name in _SUMMED)]).rename_columns([*_HOUR, *_SUMMED])


def _as_stored(name: TableName, known: dict[str, pa.Array], rows: int) -> pa.Table:
    schema = TABLES[name].columns
    columns = [known.get(field.name, pa.nulls(rows, field.type)) for field in schema]
    return pa.table([column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def episode_limits(episodes: pa.Table) -> BudgetLimits:
    """A simulated flight may spend its budget, on any of its days, and no more."""
    known = episodes.filter(pc.and_(pc.is_valid(episodes["budget_micros"]), pc.greater(episodes["budget_micros"], 0)))
    budgets = dict(zip(known["episode"].to_pylist(), known["budget_micros"].to_pylist(), strict=True))
    campaigns = {
        episode: CampaignLimits(
            daily_micros=budget,
            day_cap_micros=budget,
            episode_cap_micros=budget,
            loss_cap_micros=budget,
            conversion_value_micros=1,  # no rule of a simulated flight looks at its return: the gate does
        )
        for episode, budget in budgets.items()
    }
    account = AccountLimits(day_cap_micros=sum(budgets.values()), campaigns=campaigns)
    return BudgetLimits(accounts={SIMULATED_ACCOUNT: account}, rules=_RULES)
