"""Sealed rows reach no reader: not by any table, filter or column; a store without seals is as it was."""

import ast
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import BadInput, DataError, Refused
from gaelp.jobs.stored_input import export_tables, table_pattern
from gaelp.market.calibration import read_report_tables
from gaelp.storage.conformance import CHECKS
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.episode_reader import find_episode
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.sealed_files import mark_sealed
from gaelp.storage.sealed_store import SealedStore, open_sealed, withheld_note, withheld_rows
from gaelp.storage.seals import Seal, SealBook, history_name
from gaelp.storage.store import RowFilter
from gaelp.types import Phase

ROOT = Path(__file__).resolve().parents[2]
CUT = datetime(2026, 3, 20, tzinfo=UTC)
DAY = timedelta(days=1)
MARKER = 777_777_777
_FILL = {
    pa.string(): "text",
    pa.int64(): 1,
    pa.int32(): 1,
    pa.float64(): 1.0,
    pa.bool_(): True,
}


def seal(**values):
    common = {
        "history": "h",
        "number": 1,
        "fingerprint": "f" * 64,
        "sources": (),
        "campaigns": ("shop",),
        "withheld_from": CUT,
        "withheld_day": CUT.date(),
        "since": CUT + DAY,
        "until": CUT + 14 * DAY,
        "held_out_share": 0.0,
        "held_out_key": "k",
        "sealed_at": CUT,
        "splits": "{}",
    }
    return Seal(**common | values)


def row(name, at, number=1, **values):
    """A row of any table, every figure `number`."""
    made = {}
    for field in TABLES[name].columns:
        if field.type == pa.date32():
            made[field.name] = at.date()
        elif pa.types.is_timestamp(field.type):
            made[field.name] = at
        else:
            made[field.name] = number if field.type in (pa.int64(), pa.float64()) else _FILL[field.type]
    return {**made, "id": f"{name}/{at}/{number}", "phase": "history", "source": "log", "campaign": "shop", **values}


def append(store, name, *rows):
    kept = [{key: value for key, value in each.items() if key in TABLES[name].columns.names} for each in rows]
    store.append({name: pa.Table.from_pylist(kept, schema=TABLES[name].columns)})


def read(store, name, rows=None, columns=None):
    return [each for part in store.scan(name, rows, columns) for each in part.to_pylist()]


@pytest.fixture
def inner(tmp_path):
    with closing(DuckDbStore(tmp_path / "episodes")) as store:
        yield store


@pytest.fixture
def book(tmp_path):
    return SealBook(tmp_path / "seals.db")


@pytest.fixture
def store(inner, book):
    return SealedStore(inner, book)


def valid_row(name, at, number):
    values = {"step": 0, "state": "finished", "kind": "charge", "density_kind": "recorded", "impression_share": 0.5}
    values |= {"revision": 0, "click_probability": 0.5}
    if name == TableName.EPISODES:
        values |= {"started_at": at - DAY, "ended_at": at, "episode": f"episode {number}"}
    return row(name, at, number, **values)


@pytest.mark.parametrize("name", TableName)
def test_planted_rows_of_a_sealed_window_are_read_from_no_table(store, book, name):
    append(store, name, valid_row(name, CUT - DAY, 5), valid_row(name, CUT + 2 * DAY, MARKER))
    append(store, name, valid_row(name, CUT + 400 * DAY, MARKER))  # newer than the window: the next one needs it unread
    assert len(read(store, name)) == 3
    book.add(seal())
    for rows in (
        None,
        RowFilter(),
        RowFilter(since=CUT),
        RowFilter(phases=(Phase.HISTORY,)),
        RowFilter(sources=("log",)),
    ):
        for columns in (None, ["id"], [TABLES[name].columns.names[-1]]):
            assert str(MARKER) not in str(read(store, name, rows, columns))
    assert [each["id"] for each in read(store, name)] == [f"{name}/{CUT - DAY}/5"]
    assert set(read(store, name, None, ["id"])[0]) == {"id"}
    assert withheld_rows(store)[name] > 0
    assert f"{name}" in withheld_note(store)
    assert len(read(open_sealed(store), name)) == 3


def test_a_conversion_belongs_to_the_window_of_its_click(store, book):
    book.add(seal())
    late = row(TableName.CONVERSIONS, CUT + DAY, 1, click_at=CUT - DAY)
    sealed = row(TableName.CONVERSIONS, CUT + DAY, 2, click_at=CUT + DAY / 2)
    unknown = row(TableName.CONVERSIONS, CUT + DAY, 3, click_at=None)
    append(store, TableName.CONVERSIONS, late, sealed, unknown)
    assert [each["value_micros"] for each in read(store, TableName.CONVERSIONS)] == [1]


def test_sums_that_reach_into_the_window_are_withheld_with_it(store, book):
    book.add(seal())
    at = CUT - DAY
    append(store, TableName.EPISODES, {**valid_row(TableName.EPISODES, at, 1), "ended_at": CUT + DAY})
    points = [
        {**row(TableName.BID_SIMULATIONS, at, n), "period_start": date(2026, 3, 13), "period_end": end}
        for n, end in ((1, date(2026, 3, 19)), (2, date(2026, 3, 20)))
    ]
    append(store, TableName.BID_SIMULATIONS, *points)
    assert read(store, TableName.EPISODES) == []
    assert [each["bid_micros"] for each in read(store, TableName.BID_SIMULATIONS)] == [1]


def test_other_phases_and_other_histories_are_not_withheld(store, book):
    book.add(seal(sources=("log",), campaigns=("shop",)))
    name = TableName.DECISIONS
    rows = [
        valid_row(name, CUT + DAY, 1) | {"phase": "pilot", "id": "1"},
        valid_row(name, CUT + DAY, 2) | {"source": "other", "campaign": "another shop", "id": "2"},
        valid_row(name, CUT + DAY, 3) | {"source": "log", "campaign": "another shop", "id": "3"},
        valid_row(name, CUT + DAY, 4) | {"source": "the same, imported again", "id": "4"},
    ]
    append(store, name, *rows)
    assert sorted(each["id"] for each in read(store, name)) == ["1", "2"]


def test_held_out_campaigns_are_withheld_at_any_time(store, book):
    book.add(seal(held_out_share=0.5))
    name = TableName.DECISIONS
    append(store, name, *(valid_row(name, CUT - DAY, n) | {"campaign": f"c{n}", "id": f"{n}"} for n in range(40)))
    kept = {each["campaign"] for each in read(store, name)}
    assert 8 < len(kept) < 32
    assert kept == {each["campaign"] for each in read(store, name)}


def test_the_newest_seal_of_a_history_is_in_force_and_windows_share_no_hour(store, book):
    name = TableName.DECISIONS
    append(store, name, *(valid_row(name, CUT + n * DAY, n) for n in range(40)))
    book.add(seal())
    assert len(read(store, name)) == 0
    again = seal(number=2, fingerprint="e" * 64, since=CUT + 10 * DAY, until=CUT + 30 * DAY)
    with pytest.raises(Refused, match="overlaps"):
        book.add(again)
    with pytest.raises(Refused, match="overlaps"):
        book.add(again.model_copy(update={"history": "under another name", "number": 1}))
    later = seal(
        number=2, fingerprint="e" * 64, withheld_from=CUT + 15 * DAY, since=CUT + 16 * DAY, until=CUT + 30 * DAY
    )
    assert book.add(later) == later
    assert book.add(later.model_copy(update={"sealed_at": CUT + DAY})) == later  # another process was first
    assert len(read(store, name)) == 15
    assert book.in_force() == (later,)


def test_two_histories_without_a_common_row_may_have_windows_at_the_same_time(book):
    book.add(seal(history="one", sources=("a",), campaigns=("a1",)))
    book.add(seal(history="two", fingerprint="e" * 64, sources=("b",), campaigns=("b1",)))
    with pytest.raises(Refused):
        book.add(seal(history="three", fingerprint="d" * 64, sources=("c",), campaigns=("b1",)))
    assert history_name(("b", "a")) == "a, b"


def test_reading_makes_no_record_of_seals(store, tmp_path):
    assert read(store, TableName.CLICKS) == []
    assert not (tmp_path / "seals.db").exists()


def test_seals_that_were_lost_are_noticed_and_nothing_is_read(store, book, tmp_path):
    book.add(seal())
    for path in tmp_path.glob("seals.db*"):
        if not path.name.endswith(".head"):
            path.unlink()
    fresh = SealedStore(open_sealed(store), SealBook(tmp_path / "seals.db"))
    with pytest.raises(Exception, match="is gone"):
        read(fresh, TableName.CLICKS)
    assert read(fresh, TableName.CLICKS, RowFilter(phases=(Phase.SIMULATION,))) == []


def test_seals_hold_on_both_databases(inner, place):
    SealBook(place).add(seal())
    append(inner, TableName.CLICKS, row(TableName.CLICKS, CUT + DAY))
    assert read(SealedStore(inner, SealBook(place)), TableName.CLICKS) == []


def test_calibration_exports_and_listings_leave_sealed_rows_out_and_say_so(store, book, tmp_path):
    book.add(seal())
    for name in (TableName.HOUR_REPORTS, TableName.EPISODES):
        append(store, name, valid_row(name, CUT - DAY, 5), valid_row(name, CUT + DAY, MARKER))
    append(store, TableName.BID_SIMULATIONS, row(TableName.BID_SIMULATIONS, CUT + DAY, MARKER))
    tables = read_report_tables(store, RowFilter())
    assert tables[TableName.HOUR_REPORTS]["spend_micros"].to_pylist() == [5]
    with pytest.raises(DataError, match="2 rows were withheld"):
        read_report_tables(store, RowFilter(), needed=TableName.BID_SIMULATIONS)
    with pytest.raises(BadInput, match="rows were withheld"):
        find_episode(store, f"episode {MARKER}")
    export_tables(store, tmp_path / "out", list(TableName))
    exported = [pq.read_table(path).to_pylist() for path in (tmp_path / "out").rglob("*.parquet")]
    assert exported
    assert str(MARKER) not in str(exported)


def test_raw_files_of_a_store_with_a_sealed_window_are_refused(store, tmp_path):
    append(store, TableName.CLICKS, row(TableName.CLICKS, CUT))
    folder = tmp_path / "episodes"
    assert table_pattern(folder, TableName.CLICKS)
    mark_sealed(folder)
    mark_sealed(folder)
    with pytest.raises(Refused, match="sealed window"):
        table_pattern(folder, TableName.CLICKS)
    assert len(read(store, TableName.CLICKS)) == 1


@pytest.mark.parametrize("check", CHECKS[:10], ids=lambda check: check.__name__)
def test_it_keeps_every_promise_of_a_store_while_another_history_is_sealed(check, tmp_path):
    SealBook(tmp_path / "seals.db").add(seal(sources=("elsewhere",), campaigns=("elsewhere",)))
    check(partial(_open, tmp_path))


def _open(folder):
    return SealedStore(DuckDbStore(folder / "episodes"), SealBook(folder / "seals.db"))


def _callers(*names):
    """The modules outside gaelp/storage that use one of these names."""
    for tree in ("gaelp", "tasks", "flows", "beam_pipelines", "bench"):
        for path in (ROOT / tree).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if not any(name in source for name in names):
                continue
            used = {
                node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
                for node in ast.walk(ast.parse(source))
            }
            if used & {*names} and not path.is_relative_to(ROOT / "gaelp/storage"):
                yield path.relative_to(ROOT).as_posix()


def test_only_the_history_package_opens_a_store_behind_its_seals():
    # A benchmark makes a history in a folder of its own and throws it away: nobody is judged on it.
    benchmark = "gaelp/bench/model_based_trial.py"
    assert set(_callers("open_sealed")) == {"gaelp/history/sealed_window.py", "gaelp/history/splits.py", benchmark}
    assert set(_callers("DuckDbStore", "BigQueryStore")) == {"gaelp/bench/synthesis_speed.py"}
