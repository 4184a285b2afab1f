"""`gaelp data synthesize` stores a history once and says what it stored."""

import json

import pytest


def test_a_history_is_stored_once_and_can_be_described(gaelp):
    first = json.loads(gaelp("data", "synthesize", "--weeks", 1, "--campaigns", 1, "--seed", 2, "--json").stdout)
    assert first["already_stored"] == 0
    assert first["rows"]["decisions"] == 7 * 24 * 8
    assert first["stored"] == sum(first["rows"].values())
    again = gaelp("data", "synthesize", "--weeks", 1, "--campaigns", 1, "--seed", 2)
    assert f"0 stored, {first['stored']:,} already stored, as source {first['source']}" in " ".join(
        again.stdout.split()
    )
    assert first["source"] in gaelp("data", "describe", "--json").stdout


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--weeks", "0", "--weeks: weeks: saw 0; allowed: greater than 0 and at most 104"),
        ("--bid-log-sd", "9", "saw 9.0; allowed: greater than 0 and at most 1.5"),
        ("--world", "nowhere", "nowhere"),
    ],
)
def test_wrong_values_are_refused_before_anything_runs(gaelp, option, value, message):
    result = gaelp("data", "synthesize", option, value)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
