"""What GAELP expects of every store of episode data, as checks for your own.

Subclass `StoreConformance` in a test module. `fresh` returns a function that opens one store, empty at first, each time
it is called; it is called in other processes too, so it must be picklable:

    class TestMine(StoreConformance):
        def fresh(self):
            return functools.partial(MyStore, new_folder())

Without pytest, `check_store(fresh)` raises an AssertionError that says what is wrong.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from gaelp.errors import BadInput, DataError
from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, one_row_of_each, rows_of
from gaelp.storage.conformance_writers import OpenStore, kill_writers, write_at_once
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import SCAN_ROWS, Appended, EpisodeStore, RowFilter
from gaelp.types import Phase

__all__ = [
    "CHECKS",
    "StoreCheck",
    "StoreConformance",
    "a_hold_needs_a_reason_and_can_be_released",
    "a_killed_writer_leaves_whole_appends_only",
    "a_row_that_does_not_fit_is_named_and_nothing_is_stored",
    "a_scan_is_ordered_by_day_and_has_only_the_columns_asked_for",
    "check_store",
    "columns_may_be_missing_or_in_another_order",
    "eight_writers_at_once_lose_nothing",
    "eight_writers_of_the_same_rows_store_them_once",
    "filters_select_rows",
    "it_describes_what_is_stored",
    "nulls_and_zeros_stay_apart",
    "retention_deletes_old_rows_except_those_on_hold",
    "the_same_rows_twice_are_stored_once",
    "what_is_appended_is_read_back",
]

StoreCheck = Callable[[OpenStore], None]

_WRITERS = 8


def check_store(fresh: Callable[[], OpenStore]) -> None:
    """Run every check, each on a new store; raise AssertionError on the first that fails."""
    for check in CHECKS:
        check(fresh())


def what_is_appended_is_read_back(open_store: OpenStore) -> None:
    """Every table, every column, after the store was closed and opened again."""
    batch = one_row_of_each()
    with closing(open_store()) as store:
        appended = store.append(batch)
    _expect(appended == Appended(len(batch), 0), f"appended {len(batch)} rows, the store says {appended}")
    with closing(open_store()) as store:
        for name, rows in batch.items():
            table = _all_rows(store, name)
            _expect(table.to_pylist() == rows.to_pylist(), f"wrote {rows.to_pylist()}, read {table.to_pylist()}")
            _expect(table.schema.equals(TABLES[name].columns), f"{name} has the schema {table.schema}")


def the_same_rows_twice_are_stored_once(open_store: OpenStore) -> None:
    """Also where a batch has an id twice, and where only some rows of a batch are new."""
    with closing(open_store()) as store:
        first, more = episode_batch(2), episode_batch(3)
        twice = {name: pa.concat_tables([table, table]) for name, table in first.items()}
        answers = [store.append(batch) for batch in (twice, first, more)]
        _expect(answers == [Appended(10, 10), Appended(0, 10), Appended(5, 10)], f"the answers are {answers}")
        ids = _all_rows(store, TableName.DECISIONS, columns=["id"]).column("id").to_pylist()
        _expect(sorted(ids) == sorted(more[TableName.DECISIONS].column("id").to_pylist()), f"the ids are {ids}")


def a_row_that_does_not_fit_is_named_and_nothing_is_stored(open_store: OpenStore) -> None:
    """The message has table, row, column, value; other tables of the append are not stored either."""
    good = episode_batch(2)
    wrong: dict[str, tuple[str, list[Any], str]] = {
        "null": ("segment", ["a"] * 5 + [None] * 3, "row 5, column segment: saw 'null'"),
        "type": ("bid_micros", ["1", "2", "x", "4", "5", "6", "7", "8"], "row 2, column bid_micros: saw 'x'"),
        "infinite": ("density", [0.5, float("inf")] + [None] * 6, "row 1, column density: saw inf"),
        "unknown": ("phase", ["history"] * 7 + ["phase 2"], "row 7, column phase: saw 'phase 2'"),
        "naive": ("at", [datetime(2026, 3, 1)] * 8, "row 0, column at"),  # noqa: DTZ001 - without a zone on purpose
    }
    with closing(open_store()) as store:
        for column, values, named in wrong.values():
            place = good[TableName.DECISIONS].schema.get_field_index(column)
            bad = good[TableName.DECISIONS].set_column(place, column, pa.array(values))
            message = _message(DataError, lambda bad=bad: store.append({**good, TableName.DECISIONS: bad}))
            _expect(f"decisions, {named}" in message, f"{message!r} does not name {named}")
        unknown = good[TableName.DECISIONS].append_column("mood", pa.array(["calm"] * 8))
        _expect("mood" in _message(DataError, lambda: store.append({TableName.DECISIONS: unknown})), "mood is accepted")
        _expect(not store.describe(), f"a refused append left {store.describe()}")


def columns_may_be_missing_or_in_another_order(open_store: OpenStore) -> None:
    """Columns that may be null may be missing; smaller types are widened."""
    full = episode_batch(1)[TableName.DECISIONS]
    names = [name for name in reversed(full.column_names) if name not in ("density", "value_micros")]
    given = full.select(names).to_pandas()["step"].to_numpy()
    table = full.select(names).set_column(names.index("step"), "step", pa.array(given, pa.int64()))
    with closing(open_store()) as store:
        store.append({TableName.DECISIONS: table})
        rows = _all_rows(store, TableName.DECISIONS)
    _expect(_by_id(rows) == _by_id(full), f"read {rows.to_pylist()}")


def nulls_and_zeros_stay_apart(open_store: OpenStore) -> None:
    """A column is null where the source has no such figure; the largest whole numbers are exact."""
    values = [None, 0, 2**63 - 1, -(2**53) - 1]
    rows = [
        {"id": str(number), "account": "a", "account_day": FIRST_HOUR.date(), "revision": 0, "reported_at": FIRST_HOUR}
        | {"spend_micros": value}
        for number, value in enumerate(values)
    ]
    with closing(open_store()) as store:
        store.append({TableName.HOUR_REPORTS: rows_of(TableName.HOUR_REPORTS, *rows)})
        read = _by_id(_all_rows(store, TableName.HOUR_REPORTS, columns=["id", "spend_micros"]))
    _expect([row["spend_micros"] for row in read] == values, f"wrote {values}, read {read}")


def filters_select_rows(open_store: OpenStore) -> None:
    """By window (its end is not included), phase, source, policy and campaign; a quote in a name is only a name."""
    rows = rows_of(
        TableName.CLICKS,
        {"id": "0", "cost_micros": 1, "policy": "a"},
        {"id": "1", "cost_micros": 1, "at": FIRST_HOUR + timedelta(days=1), "phase": "pilot"},
        {"id": "2", "cost_micros": 1, "at": FIRST_HOUR + timedelta(days=2), "source": "x' OR '1'='1"},
        {"id": "3", "cost_micros": 1, "at": FIRST_HOUR + timedelta(days=3), "campaign": "autumn", "policy": "b"},
    )
    day = timedelta(days=1)
    expected = {
        RowFilter(): "0123",
        RowFilter(since=FIRST_HOUR + day): "123",
        RowFilter(until=FIRST_HOUR + day): "0",
        RowFilter(since=FIRST_HOUR + day, until=FIRST_HOUR + 3 * day): "12",
        RowFilter(phases=(Phase.PILOT, Phase.SCALE)): "1",
        RowFilter(sources=("x' OR '1'='1",)): "2",
        RowFilter(sources=("run-1",), campaigns=("autumn",)): "3",
        RowFilter(policies=("a", "b")): "03",
        RowFilter(policies=("c",)): "",
    }
    with closing(open_store()) as store:
        store.append({TableName.CLICKS: rows})
        for rows_wanted, ids in expected.items():
            read = "".join(sorted(_all_rows(store, TableName.CLICKS, rows_wanted).column("id").to_pylist()))
            _expect(read == ids, f"{rows_wanted} selects {read!r} instead of {ids!r}")


def a_scan_is_ordered_by_day_and_has_only_the_columns_asked_for(open_store: OpenStore) -> None:
    """Tables have at most SCAN_ROWS rows; a column that does not exist is refused."""
    late, early = (episode_batch(2, source=name, start=FIRST_HOUR + shift) for name, shift in _SHIFTS.items())
    with closing(open_store()) as store:
        store.append(late)
        store.append(early)
        tables = list(store.scan(TableName.DECISIONS, columns=["at", "id"]))
        days = [moment.date() for table in tables for moment in table.column("at").to_pylist()]
        _expect(days == sorted(days) and len(days) == 16, f"the days are {days}")
        _expect(all(table.column_names == ["at", "id"] for table in tables), f"columns are {tables[0].column_names}")
        _expect(all(table.num_rows <= SCAN_ROWS for table in tables), "a scanned table is too large")
        _message(BadInput, lambda: list(store.scan(TableName.DECISIONS, columns=["mood"])))


_SHIFTS = {"late": timedelta(days=5), "early": timedelta(0)}


def it_describes_what_is_stored(open_store: OpenStore) -> None:
    """Rows by table, phase, source and day, sorted."""
    with closing(open_store()) as store:
        _expect(list(store.describe()) == [], f"an empty store has {store.describe()}")
        store.append(episode_batch(3, source="run-2"))
        store.append(episode_batch(2, source="run-1"))
        parts = [(part.table, part.phase, part.source, part.day.day, part.rows) for part in store.describe()]
    expected = [
        (TableName.EPISODES, Phase.SIMULATION, "run-1", 2, 2),
        (TableName.EPISODES, Phase.SIMULATION, "run-2", 2, 3),
        (TableName.DECISIONS, Phase.SIMULATION, "run-1", 1, 4),
        (TableName.DECISIONS, Phase.SIMULATION, "run-1", 2, 4),
        (TableName.DECISIONS, Phase.SIMULATION, "run-2", 1, 6),
        (TableName.DECISIONS, Phase.SIMULATION, "run-2", 2, 6),
    ]
    _expect(parts == expected, f"it describes {parts} instead of {expected}")


def retention_deletes_old_rows_except_those_on_hold(open_store: OpenStore) -> None:
    """Only the named tables and phases, only days before the given one; a hold keeps a source until it is released."""
    with closing(open_store()) as store:
        store.append(
            {
                name: pa.concat_tables([episode_batch(2, source=source)[name] for source in ("kept", "gone")])
                for name in (TableName.EPISODES, TableName.DECISIONS)
            }
        )
        store.hold("kept", "case 7")
        second_day = FIRST_HOUR.date() + timedelta(days=1)
        other = store.remove_before(second_day, [TableName.DECISIONS], [Phase.HISTORY])
        _expect(other == 0, f"{other} rows of another phase are gone")
        removed = [store.remove_before(second_day, [TableName.DECISIONS]) for _ in range(2)]
        _expect(removed == [4, 0], f"removed {removed} rows instead of 4, then 0")
        rows = {(part.table, part.source, part.day): part.rows for part in store.describe()}
        _expect((TableName.DECISIONS, "gone", FIRST_HOUR.date()) not in rows, f"old rows are still there: {rows}")
        _expect(rows[TableName.DECISIONS, "kept", FIRST_HOUR.date()] == 4, f"rows on hold are gone: {rows}")
        _expect(sum(rows.values()) == 4 + 8 + 4, f"other rows are gone: {rows}")
        store.release_hold("kept")
        later = store.remove_before(second_day + timedelta(days=1), [TableName.DECISIONS, TableName.EPISODES])
        _expect(later == 16 and not store.describe(), f"removed {later}, left {store.describe()}")


def a_hold_needs_a_reason_and_can_be_released(open_store: OpenStore) -> None:
    """Holds outlive the process; a hold on the same source replaces its reason."""
    with closing(open_store()) as store:
        _message(BadInput, lambda: store.hold("run-1", " "))
        _message(BadInput, lambda: store.release_hold("run-1"))
        store.hold("run-1", "case 7")
        store.hold("run-1", "case 8")
        store.hold("it's", "a 'quoted' reason")
    with closing(open_store()) as store:
        _expect(dict(store.holds()) == {"run-1": "case 8", "it's": "a 'quoted' reason"}, f"holds are {store.holds()}")
        store.release_hold("it's")
        _expect(dict(store.holds()) == {"run-1": "case 8"}, f"holds are {store.holds()}")


def eight_writers_at_once_lose_nothing(open_store: OpenStore) -> None:
    """Processes that append different episodes at the same time."""
    open_store().close()
    batches = [[episode_batch(2, source=f"writer-{number}")] for number in range(_WRITERS)]
    write_at_once(open_store, batches)
    with closing(open_store()) as store:
        ids = _all_rows(store, TableName.DECISIONS, columns=["id"]).column("id").to_pylist()
        expected = _WRITERS * 2 * 4
        _expect(len(ids) == len(set(ids)) == expected, f"{len(ids)} rows, {len(set(ids))} ids, {expected} written")


def eight_writers_of_the_same_rows_store_them_once(open_store: OpenStore) -> None:
    """Processes that append the same episodes at the same time."""
    open_store().close()
    answers = write_at_once(open_store, [[episode_batch(3)] for _ in range(_WRITERS)])
    with closing(open_store()) as store:
        rows = sum(part.rows for part in store.describe())
    stored = sum(answer.stored for answer in answers)
    _expect(rows == stored == 15, f"{rows} rows are stored, the writers counted {stored}, 15 were written")


def a_killed_writer_leaves_whole_appends_only(open_store: OpenStore, moments: int = 6) -> None:
    """SIGKILL at random moments: each episode is stored whole or not at all, and a retry completes the rest."""
    kill_writers(open_store, moments=moments)


CHECKS: tuple[StoreCheck, ...] = (
    what_is_appended_is_read_back,
    the_same_rows_twice_are_stored_once,
    a_row_that_does_not_fit_is_named_and_nothing_is_stored,
    columns_may_be_missing_or_in_another_order,
    nulls_and_zeros_stay_apart,
    filters_select_rows,
    a_scan_is_ordered_by_day_and_has_only_the_columns_asked_for,
    it_describes_what_is_stored,
    retention_deletes_old_rows_except_those_on_hold,
    a_hold_needs_a_reason_and_can_be_released,
    eight_writers_at_once_lose_nothing,
    eight_writers_of_the_same_rows_store_them_once,
    a_killed_writer_leaves_whole_appends_only,
)


class StoreConformance:
    """The checks as tests; subclass it in a test module."""

    def fresh(self) -> OpenStore:
        """A function that opens the same store, empty at first, each time it is called."""
        raise NotImplementedError("return a picklable function that opens an empty store")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_the_store_keeps_its_promise(self, check: StoreCheck) -> None:
        """One property of EpisodeStore."""
        check(self.fresh())

    @pytest.mark.slow
    def test_a_writer_killed_at_50_moments_leaves_whole_episodes(self) -> None:
        """The last check again, at more moments."""
        a_killed_writer_leaves_whole_appends_only(self.fresh(), moments=50)


def _all_rows(
    store: EpisodeStore, name: TableName, rows: RowFilter | None = None, columns: list[str] | None = None
) -> pa.Table:
    tables = list(store.scan(name, rows, columns))
    schema = TABLES[name].columns
    empty = schema.empty_table() if columns is None else schema.empty_table().select(columns)
    return pa.concat_tables([empty, *tables])


def _by_id(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def _message(error: type[Exception], call: Callable[[], object]) -> str:
    try:
        result = call()
    except error as problem:
        return str(problem)
    raise AssertionError(f"{error.__name__} expected, the answer was {result}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
