"""The advertiser's own sales, from the shop to days and campaigns."""

from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.sales_feed import read_sales, sales_by_day, sales_table
from gaelp.sandbox.control_messages import SandboxSale
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName

ZONE = "America/New_York"
DAYS = (date(2026, 10, 6), date(2026, 10, 7))
CAMPAIGNS = ("spring", "summer")
LATE = datetime(2026, 11, 1, tzinfo=UTC)


def sale(number, campaign="spring", *, click=datetime(2026, 10, 6, 15, tzinfo=UTC), refunded=None, value=20_000_000):
    return SandboxSale(
        sale=number,
        click=100 + number,
        campaign=campaign,
        segment="bread",
        click_at=click,
        at=click + timedelta(hours=5),
        value_micros=value,
        refunded_at=refunded,
    )


@pytest.fixture
def store(tmp_path):
    with closing(DuckDbStore(tmp_path / "episodes")) as opened:
        yield opened


def fed(store, *sales, as_of=LATE):
    store.append({TableName.CONVERSIONS: sales_table(sales, source="run-1")})
    return read_sales(store, CAMPAIGNS, DAYS, ZONE, as_of)


def test_a_sale_counts_on_the_account_day_of_its_click(store):
    late_evening = datetime(2026, 10, 7, 3, 30, tzinfo=UTC)  # 23:30 of the day before in New York
    found = fed(store, sale(1, click=late_evening), sale(2, "summer", click=late_evening + timedelta(hours=1)))
    assert found.sales.tolist() == [[1, 0], [0, 1]]
    assert found.value_micros.tolist() == [[20_000_000, 0], [0, 20_000_000]]


def test_a_refund_takes_the_sale_off_once_it_is_known(store):
    back = datetime(2026, 10, 20, tzinfo=UTC)
    sales = (sale(1, refunded=back), sale(2))
    assert fed(store, *sales, as_of=back - timedelta(days=1)).sales[0, 0] == 2
    after = fed(store, *sales, as_of=back)
    assert (after.sales[0, 0], after.value_micros[0, 0]) == (1, 20_000_000)


def test_what_is_not_recorded_yet_is_not_known(store):
    click = datetime(2026, 10, 6, 15, tzinfo=UTC)
    assert fed(store, sale(1), as_of=click + timedelta(hours=4)).sales.sum() == 0


def test_feeding_the_same_sales_again_changes_nothing(store):
    assert fed(store, sale(1)).sales.sum() == fed(store, sale(1), sale(2)).sales.sum() - 1
    assert fed(store, sale(1), sale(2)).sales.sum() == 2


def test_without_a_feed_there_is_none_which_is_not_zero(store):
    assert read_sales(store, CAMPAIGNS, DAYS, ZONE, LATE) is None


def test_sales_of_other_days_are_counted_as_unmatched(store):
    found = fed(store, sale(1, click=datetime(2026, 9, 1, tzinfo=UTC)))
    assert (found.sales.sum(), found.unmatched) == (0, 1)


def test_a_part_that_was_sent_back_lowers_the_value_and_keeps_the_sale():
    row = {"campaign": "spring", "conversion": "1", "click_at": datetime(2026, 10, 6, 15, tzinfo=UTC)}
    rows = [
        {**row, "revision": 0, "reported_at": LATE - timedelta(days=2), "value_micros": 20_000_000},
        {**row, "revision": 1, "reported_at": LATE - timedelta(days=1), "value_micros": 5_000_000},
    ]
    found = sales_by_day(rows, CAMPAIGNS, DAYS, ZONE, LATE)
    assert (found.sales[0, 0], found.value_micros[0, 0]) == (1, 5_000_000)


def test_the_arrays_are_those_of_the_pilots_figures(store):
    found = fed(store, sale(1))
    nothing = np.zeros((2, 2), np.int64)
    figures = PilotFigures(
        as_of=LATE,
        days=DAYS,
        campaigns=CAMPAIGNS,
        spend_micros=nothing,
        impressions=nothing,
        clicks=nothing,
        conversions=nothing.astype(float),
        value_micros=nothing,
        sales=found.sales,
        sale_value_micros=found.value_micros,
    )
    assert figures.sales.sum() == 1
