"""Evidence keeps what cannot be a number, refuses what is none, and survives JSON."""

import math
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from gaelp.gates import Evidence, load_gate

GATE = load_gate("simulation")


@pytest.mark.parametrize("value", [True, "0.9", None, [0.9]])
def test_only_numbers_are_metrics(value, passing):
    with pytest.raises(ValidationError):
        passing(GATE, metrics={"reward": value})


@pytest.mark.parametrize(
    ("value", "word"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (0.5, 0.5), (3, 3.0)]
)
def test_metrics_survive_json_also_where_json_has_no_number_for_them(value, word, passing):
    evidence = passing(GATE, metrics={"reward": value})
    assert evidence.model_dump(mode="json")["metrics"] == {"reward": word}
    read = Evidence.model_validate_json(evidence.model_dump_json(), strict=True)
    assert repr(read) == repr(evidence)


def test_an_instant_without_time_zone_is_refused_and_others_become_utc(passing):
    with pytest.raises(ValidationError, match="timezone"):
        passing(GATE, measured_at=datetime(2026, 1, 1))  # noqa: DTZ001 (what is tested)
    assert passing(GATE, measured_at="2026-01-01T02:00:00+02:00").measured_at == datetime(2026, 1, 1, tzinfo=UTC)
