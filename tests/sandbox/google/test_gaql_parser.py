"""GAQL's form: what parses to what, and which error a malformed query gets."""
# ruff: noqa: S608 - these queries are GAQL

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.sandbox.google.failures import AdsRefusal
from gaelp.sandbox.google.gaql_parser import GaqlCondition, GaqlOrder, parse_gaql


def test_all_clauses_of_a_query():
    query = parse_gaql(
        "select campaign.id, metrics.clicks from campaign where segments.date during LAST_7_DAYS"
        " and campaign.id in (1, 2) and campaign.name not like '%it\\'s%' order by metrics.clicks desc,"
        " campaign.id limit 10 parameters include_drafts = true"
    )
    assert query.fields == ("campaign.id", "metrics.clicks")
    assert query.resource == "campaign"
    assert query.conditions == (
        GaqlCondition("segments.date", "DURING", ("LAST_7_DAYS",)),
        GaqlCondition("campaign.id", "IN", ("1", "2")),
        GaqlCondition("campaign.name", "NOT LIKE", ("%it's%",)),
    )
    assert query.order == (GaqlOrder("metrics.clicks", descending=True), GaqlOrder("campaign.id"))
    assert (query.limit, query.parameters) == (10, (("include_drafts", "true"),))


@pytest.mark.parametrize(
    ("condition", "parsed"),
    [
        ("a.b = 1", GaqlCondition("a.b", "=", ("1",))),
        ("a.b>=-2.5", GaqlCondition("a.b", ">=", ("-2.5",))),
        ("a.b BETWEEN '2026-01-01' AND '2026-01-31'", GaqlCondition("a.b", "BETWEEN", ("2026-01-01", "2026-01-31"))),
        ("a.b CONTAINS ALL ('x', \"y\")", GaqlCondition("a.b", "CONTAINS ALL", ("x", "y"))),
        ("a.b IS NOT NULL", GaqlCondition("a.b", "IS NOT NULL")),
        ("a.b != ENABLED", GaqlCondition("a.b", "!=", ("ENABLED",))),
        ("a.b REGEXP_MATCH '.*x'", GaqlCondition("a.b", "REGEXP_MATCH", (".*x",))),
    ],
)
def test_each_operator(condition, parsed):
    assert parse_gaql(f"SELECT a.b FROM a WHERE {condition}").conditions == (parsed,)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "EXPECTED_SELECT"),
        ("SELECT", "UNEXPECTED_END_OF_QUERY"),
        ("SELECT 1 FROM a", "BAD_FIELD_NAME"),
        ("SELECT a.b FORM a", "EXPECTED_FROM"),
        ("SELECT a.b FROM a, b", "UNEXPECTED_INPUT"),
        ("SELECT a.b FROM a WHERE", "UNEXPECTED_END_OF_QUERY"),
        ("SELECT a.b FROM a WHERE a.b ~ 1", "BAD_SYMBOL"),
        ("SELECT a.b FROM a WHERE a.b EQUALS 1", "BAD_OPERATOR"),
        ("SELECT a.b FROM a WHERE a.b = 1 OR a.c = 2", "EXPECTED_AND"),
        ("SELECT a.b FROM a WHERE a.b IN 1", "EXPECTED_LIST"),
        ("SELECT a.b FROM a WHERE a.b IN ()", "PROHIBITED_EMPTY_LIST_IN_CONDITION"),
        ("SELECT a.b FROM a WHERE a.b = (1, 2)", "EXPECTED_SINGLE_VALUE"),
        ("SELECT a.b FROM a WHERE a.b BETWEEN 1", "EXPECTED_VALUE_WITH_BETWEEN_OPERATOR"),
        ("SELECT a.b FROM a WHERE a.b = 'open", "STRING_NOT_TERMINATED"),
        ("SELECT a.b FROM a WHERE a.b = 'two\nlines'", "PROHIBITED_NEWLINE_IN_STRING"),
        ("SELECT a.b FROM a WHERE a.b = '\\x'", "BAD_ESCAPE_SEQUENCE"),
        ("SELECT a.b FROM a WHERE a.b = 12x", "BAD_NUMBER"),
        ("SELECT a.b FROM a ORDER a.b", "EXPECTED_BY"),
        ("SELECT a.b FROM a LIMIT ten", "BAD_LIMIT_VALUE"),
        ("SELECT a.b FROM a PARAMETERS colour=true", "BAD_PARAMETER_NAME"),
        ("SELECT a.b FROM a PARAMETERS include_drafts=maybe", "BAD_PARAMETER_VALUE"),
    ],
)
def test_a_malformed_query_gets_the_error_that_google_has_for_it(query, code):
    with pytest.raises(AdsRefusal) as raised:
        parse_gaql(query)
    assert [error.code for error in raised.value.errors] == [code]


@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            ["SELECT", "FROM", "WHERE", "a.b", ",", "=", "(", ")", "'x'", "IN", "AND", "ORDER", "BY", "LIMIT", "5"]
        )
    ).map(" ".join)
)
def test_any_text_parses_or_is_refused(text):
    with suppress(AdsRefusal):
        assert parse_gaql(text).fields
