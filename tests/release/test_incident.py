"""The report of a release that ended badly."""

from datetime import UTC, datetime

import pytest

from gaelp.release.incident import Incident, IncidentFinding, incident_text, likely_cause
from gaelp.release.losing_parts import LosingPart

WORST = LosingPart(
    campaign="spring",
    target="bread",
    spend_micros=9_000_000,
    value_micros=1_000_000,
    control_value_micros=18_000_000,
    clicks=12,
)


def incident(check="worse", **changes):
    values = {
        "release": "run-scale",
        "outcome": "roll_back",
        "at": datetime(2026, 11, 20, tzinfo=UTC),
        "day": 3,
        "hour": 0,
        "percent_before": 50.0,
        "agents_campaigns": 4,
        "campaigns": 8,
        "currency": "USD",
        "spend_micros": 80_000_000,
        "agents_spend_micros": 40_000_000,
        "agents_value_micros": 30_000_000,
        "findings": (IncidentFinding(check=check, text="what was seen", figures={"seen": 9, "limit": 5}),),
        "counts": {"unknown": 7, "late": 0},
        "worst": (WORST,),
    }
    return Incident(**values | changes)


def test_it_has_the_figures_beside_their_limits_the_money_and_who_lost_most():
    text = incident_text(incident(restored="8 campaigns have the control's bids again"))
    for part in (
        "# Release run-scale: roll back",
        "4 of 8 campaigns (50% exposure)",
        "- **worse**: what was seen",
        "| worse: seen | 9 |\n| worse: limit | 5 |",
        "$40.00 spent, $30.00 of value",
        "8 campaigns have the control's bids again",
        "| spring | bread | 12 | $9.00 | $1.00 | $18.00 | $17.00 |",
    ):
        assert part in text


def test_before_anything_is_read_back_it_says_so():
    assert "Nothing was read back yet" in incident_text(incident())


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("worse", "value model is wrong or the market has changed; most was lost in bread of spring"),
        ("errors", "(in the whole release: 7 unknown)"),
        ("cost-spike", "delivered far more than the budgets allow"),
        ("kill-switch", "a person stopped all spending"),
        ("new", "no cause is known"),
    ],
)
def test_the_likely_cause_follows_from_the_first_finding(check, says):
    assert says in likely_cause(incident(check))
