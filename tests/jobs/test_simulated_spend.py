import pyarrow as pa
import pyarrow.compute as pc

from gaelp.jobs.budget_limits import load_budget_check
from gaelp.jobs.simulated_spend import DECISION_COLUMNS, SIMULATED_ACCOUNT, episode_limits, simulated_spend
from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.schema import TABLES, TableName


def decisions(spend_micros):
    """Two episodes of four hours with one segment; every hour costs this much."""
    table = episode_batch(2)[TableName.DECISIONS].select(list(DECISION_COLUMNS))
    place = table.column_names.index("spend_micros")
    return table.set_column(place, table.schema.field(place), pa.array([spend_micros] * table.num_rows, pa.int64()))


def test_every_hour_of_an_episode_is_one_charge_and_one_report_of_the_same_cost():
    tables = simulated_spend([decisions(5)])
    charges, reports = tables[TableName.SPEND_EVENTS], tables[TableName.HOUR_REPORTS]
    assert (charges.num_rows, reports.num_rows) == (8, 8)
    assert pc.sum(charges["amount_micros"]).as_py() == pc.sum(reports["spend_micros"]).as_py() == 40
    assert charges.schema == TABLES[TableName.SPEND_EVENTS].columns
    assert set(charges["account"].to_pylist()) == {SIMULATED_ACCOUNT}


def test_an_hour_whose_segments_are_in_two_scanned_tables_is_one_hour():
    whole = decisions(5)
    halves = simulated_spend([whole, whole])[TableName.SPEND_EVENTS]
    assert halves.num_rows == 8
    assert set(halves["amount_micros"].to_pylist()) == {10}


def test_nothing_stored_gives_no_rows():
    assert simulated_spend([])[TableName.SPEND_EVENTS].num_rows == 0


def test_an_episode_may_spend_its_budget_and_one_without_a_budget_has_no_limits():
    episodes = pa.table({"episode": ["a", "b"], "budget_micros": pa.array([7, None], pa.int64())})
    limits = episode_limits(episodes)
    [account] = limits.accounts.values()
    assert account.campaigns.keys() == {"a"}
    assert account.campaigns["a"].episode_cap_micros == 7
    assert [rule.id for rule in load_budget_check(limits).rules.rules] == ["episode-limit"]
