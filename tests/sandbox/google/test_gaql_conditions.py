"""Conditions of WHERE on values, by the type of the field."""
# ruff: noqa: S608 - these queries are GAQL

from datetime import date

import pytest

from gaelp.sandbox.google.failures import AdsRefusal
from gaelp.sandbox.google.gaql_conditions import compile_condition
from gaelp.sandbox.google.gaql_fields import resolve_field
from gaelp.sandbox.google.gaql_parser import parse_gaql

TODAY = date(2026, 11, 18)  # a Wednesday


def holds(text, value):
    condition = parse_gaql(f"SELECT campaign.id FROM campaign WHERE {text}").conditions[0]
    return compile_condition(condition, resolve_field(condition.field), TODAY)(value)


@pytest.mark.parametrize(
    ("text", "true_for", "false_for"),
    [
        ("campaign.id = 7", [7], [8, None]),
        ("campaign.id != 7", [8, None], [7]),
        ("campaign.id > 7", [8], [7, None]),
        ("campaign.id BETWEEN 5 AND 7", [5, 7], [4, 8, None]),
        ("campaign.id NOT IN (1, 2)", [3], [1, 2]),
        ("campaign.status IN ('ENABLED', 'PAUSED')", ["ENABLED"], ["REMOVED"]),
        ("campaign.name LIKE '%shoe[_]%'", ["red SHOE_1"], ["shoes"]),
        ("campaign.name LIKE 'a_c'", ["abc"], ["ac", "abbc"]),
        ("campaign.name LIKE '[[]x]%'", ["[x] y"], ["x"]),
        ("campaign.name NOT LIKE 'a%'", ["b", None], ["ab"]),
        ("campaign.name REGEXP_MATCH '[a-c]+'", ["abc"], ["abcd"]),
        ("campaign.labels CONTAINS ANY ('a', 'b')", [["b", "x"]], [["x"], []]),
        ("campaign.labels CONTAINS ALL ('a', 'b')", [["a", "b", "x"]], [["a"]]),
        ("campaign.labels CONTAINS NONE ('a')", [["x"], []], [["a"]]),
        ("campaign.end_date_time IS NULL", [None, ""], ["2026-01-01 00:00:00"]),
        ("segments.date DURING LAST_7_DAYS", ["2026-11-11", "2026-11-17"], ["2026-11-10", "2026-11-18"]),
        ("segments.date >= '2026-11-18'", ["2026-11-18"], ["2026-11-17"]),
        ("change_event.change_date_time DURING TODAY", ["2026-11-18 09:00:00.5"], ["2026-11-17 23:59:59.9"]),
        ("ad_group_criterion.negative = TRUE", [True], [False]),
    ],
)
def test_a_condition_holds_for_the_right_values(text, true_for, false_for):
    assert all(holds(text, value) for value in true_for)
    assert not any(holds(text, value) for value in false_for)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("campaign.status > 'ENABLED'", "OPERATOR_FIELD_MISMATCH"),
        ("campaign.name CONTAINS ANY ('x')", "OPERATOR_FIELD_MISMATCH"),
        ("campaign.labels = 'x'", "OPERATOR_FIELD_MISMATCH"),
        ("campaign.id DURING TODAY", "OPERATOR_FIELD_MISMATCH"),
        ("campaign.id BETWEEN 7 AND 5", "INVALID_VALUE_WITH_BETWEEN_OPERATOR"),
        ("segments.date = '18.11.2026'", "INVALID_DATE_FORMAT"),
        ("segments.month = '2026-11-18'", "MISALIGNED_DATE_FOR_FILTER"),
        ("ad_group_criterion.negative = 'perhaps'", "BAD_VALUE"),
        ("campaign.name REGEXP_MATCH '['", "BAD_VALUE"),
    ],
)
def test_a_condition_that_does_not_fit_its_field_is_refused(text, code):
    with pytest.raises(AdsRefusal) as raised:
        holds(text, None)
    assert raised.value.errors[0].code == code
