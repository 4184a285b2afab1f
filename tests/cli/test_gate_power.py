"""`gaelp gate power`: a table for people, JSON for programs, and options that are checked."""

import json

import pytest


def test_a_gate_is_explained_in_a_table_with_an_example_in_words(gaelp):
    shown = " ".join(gaelp("gate", "power", "--gate", "pilot", "--spend-per-day", 50).stdout.split())
    assert "pilot: roi_lower_95 >= 0.05 (false alarms: at most 0.025)" in shown
    assert (
        "To distinguish 0.3 from 0.05 with 80% power: 28 campaigns, 28 days with 20 campaigns at once, about $19,600"
        in shown
    )
    assert "at $50 a day." in shown
    assert "accounting has no sampling error" in shown


def test_without_a_gate_one_row_for_each_rule_says_what_it_can_see(gaelp):
    shown = gaelp("gate", "power")
    assert len(shown.stdout.splitlines()) < 60
    assert "To distinguish" not in shown.stdout
    [row] = [line for line in shown.stdout.splitlines() if line.startswith("roi ")]
    assert row.split() == ["roi", ">=", "0.05", "0.3", "0.05", "28", "campaigns", "28", "9,800"]
    assert "not modelled" in shown.stdout
    assert "gaelp gate power --gate NAME" in shown.stderr


def test_json_has_the_assumptions_and_every_rule_and_no_home_is_made(gaelp, here):
    result = gaelp("gate", "power", "--gate", "history", "--sd", "prediction_accuracy=0.1", "--json", GAELP_HOME="home")
    report = json.loads(result.stdout)
    assert report["assumed"]["sd"] == {"prediction_accuracy": 0.1}
    [rules] = report["gates"].values()
    assert {"figure", "asked", "sample_metric", "false_alarms", "rows", "notes"} == rules[0].keys()
    assert {"truth", "against", "power", "sample", "days", "dollars"} == rules[1]["rows"][0].keys()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        (("--spend-per-day", 0), "spend_per_day: saw 0.0; allowed: greater than 0"),
        (("--campaigns", 0), "campaigns: saw 0"),
        (("--value-per-observation", "nan"), "spread"),
        (("--sd", "roii=0.5"), "roii has no declared range"),
        (("--sd", "roi"), "--sd roi: allowed is METRIC=NUMBER, such as roi=0.5"),
        (("--sd", "roi=-1"), "roi"),
        (("--gate", "pilto"), "pilot"),
    ],
)
def test_a_wrong_option_is_refused_in_words(gaelp, options, seen):
    result = gaelp("gate", "power", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert seen in result.stderr
