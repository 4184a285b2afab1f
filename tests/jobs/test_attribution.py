"""Conversions are credited to clicks in windows of event time; revisions correct, late ones and strays go aside."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from gaelp.jobs.attribution import AttributionSettings, attribute
from gaelp.storage.schema import TABLES, TableName

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def click(name, days, **more):
    common = {"phase": "pilot", "source": "t", "campaign": "spring", "cost_micros": 100}
    return {**common, "id": name, "at": START + days * DAY, **more}


def conversion(name, days, revision=0, reported=None, **more):
    common = {"phase": "pilot", "source": "t", "campaign": "spring", "value_micros": 1000}
    when = {"at": START + days * DAY, "reported_at": START + (days if reported is None else reported) * DAY}
    return {**common, "id": f"{name}{revision}", "conversion": name, "revision": revision, **when, **more}


def run(clicks, conversions, as_of=60, **settings):
    tables = [
        [pa.Table.from_pylist(rows, schema=TABLES[name].columns)] if rows else []
        for name, rows in ((TableName.CLICKS, clicks), (TableName.CONVERSIONS, conversions))
    ]
    return attribute(*tables, AttributionSettings(as_of=START + as_of * DAY, **settings))


def credited(result):
    return {row["click"]: (row["conversions"], row["value_micros"]) for row in result.valid.to_pylist()}


def test_a_conversion_belongs_to_the_click_it_names_or_to_the_last_one_before_it():
    clicks = [click("a", 0), click("b", 1), click("c", 3)]
    result = run(clicks, [conversion("x", 2), conversion("y", 4, click="a")])
    assert credited(result) == {"a": (1, 1000), "b": (1, 1000), "c": (0, 0)}
    assert result.dead.num_rows == 0


def test_a_conversion_with_a_segment_belongs_to_a_click_of_that_segment():
    clicks = [click("a", 0, segment="brand"), click("b", 1, segment="generic"), click("other", 1, campaign="summer")]
    assert credited(run(clicks, [conversion("x", 2, segment="brand")]))["a"] == (1, 1000)


def test_a_later_revision_corrects_an_earlier_row():
    clicks = [click("a", 0)]
    reports = [conversion("x", 1), conversion("x", 1, revision=1, reported=10, value_micros=0)]
    assert credited(run(clicks, reports, as_of=5)) == {"a": (1, 1000)}
    assert credited(run(clicks, reports, as_of=20)) == {"a": (1, 0)}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (conversion("x", 31), "more than 30 days after its click"),
        (conversion("x", 5, reported=38), "reported more than 7 days after the window"),
        (conversion("x", -1), "no click before it in its campaign"),
        (conversion("x", -1, click="a"), "happened before its click"),
        (conversion("x", 1, click="gone"), "no click before it in its campaign"),
        (conversion("x", 1, value_micros=-5), "value_micros is negative"),
        (conversion("x", 2, reported=1), "reported before it happened"),
    ],
)
def test_a_conversion_that_counts_nowhere_is_a_dead_letter(row, reason):
    result = run([click("a", 0)], [row])
    assert credited(result) == {"a": (0, 0)}
    assert result.dead["reason"].to_pylist() == [reason]


def test_a_click_is_final_once_no_report_can_change_it():
    result = run([click("a", 0), click("b", 30)], [], as_of=40)
    assert {row["click"]: row["is_final"] for row in result.valid.to_pylist()} == {"a": True, "b": False}


def test_a_click_stored_twice_counts_once_and_what_came_later_is_not_known_yet():
    assert credited(run([click("a", 0), click("a", 0), click("late", 50)], [], as_of=40)) == {"a": (0, 0)}


def test_conversions_without_any_click_are_dead_letters():
    result = run([], [conversion("x", 1), conversion("y", 1, click="a")])
    assert (result.valid.num_rows, result.dead.num_rows) == (0, 2)
