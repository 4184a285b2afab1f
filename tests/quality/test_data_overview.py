from datetime import UTC, date, datetime

from gaelp.quality.data_overview import overview, overview_png
from gaelp.quality.last_check import LastChecks
from gaelp.quality.window_check import CheckedExpectation, QualityResult
from gaelp.storage.schema import TableName
from gaelp.storage.store import StoredPart
from gaelp.types import Phase

PARTS = [
    StoredPart(TableName.CLICKS, Phase.HISTORY, "b", date(2024, 1, day), rows=10, bytes=100) for day in (3, 1, 2)
] + [StoredPart(TableName.CLICKS, Phase.HISTORY, "a", date(2024, 1, 1), rows=5, bytes=7)]


def test_parts_are_summed_over_days_with_the_quality_of_their_table():
    bad = CheckedExpectation(expectation="x", columns=(), why="y", holds=False)
    checked = QualityResult(
        suite="s", table=TableName.CLICKS, rows=35, checked_at=datetime(2026, 1, 1, tzinfo=UTC), results=(bad,)
    )
    first, second = overview(PARTS, LastChecks(results={TableName.CLICKS: checked}))
    assert (first.source, first.rows) == ("a", 5)
    assert (second.rows, second.bytes, second.first_day, second.last_day) == (
        30,
        300,
        date(2024, 1, 1),
        date(2024, 1, 3),
    )
    assert second.quality == "1 of 1 failed (2026-01-01)"
    assert overview(PARTS, LastChecks())[0].quality == "not checked"
    assert (first.days, second.days) == ("2024-01-01", "2024-01-01 to 2024-01-03")


def test_a_check_that_did_not_read_every_row_says_how_many_it_read():
    checked = QualityResult(
        suite="s", table=TableName.CLICKS, rows=5, checked_at=datetime(2026, 1, 1, tzinfo=UTC), results=()
    )
    assert {source.quality for source in overview(PARTS, LastChecks(results={TableName.CLICKS: checked}))} == {
        "good (2026-01-01, 5 of 35 rows)"
    }


def test_the_plot_is_drawn_also_without_data():
    assert overview_png(PARTS).startswith(b"\x89PNG")
    assert overview_png([]).startswith(b"\x89PNG")
