"""The spec of a world: what ships loads, and impossible worlds are refused with the key to change."""

from pathlib import Path

import pytest

from gaelp.errors import BadInput
from gaelp.sandbox.serving import OverdeliveryLimits
from gaelp.sandbox.spec import load_sandbox_spec


def test_the_default_world_has_the_rules_of_the_platforms():
    spec = load_sandbox_spec()
    assert spec.overdelivery.google.limits() == OverdeliveryLimits(200, "month", 3040)
    assert spec.overdelivery.meta.limits() == OverdeliveryLimits(175, "week", 700)
    assert spec.zone.key == spec.time_zone


def test_every_number_of_the_default_world_says_where_it_comes_from():
    lines = Path("configs/sandbox/default.yaml").read_text(encoding="utf-8").splitlines()
    numbers = [
        line for line in lines if line.startswith("  ") and any(character.isdigit() for character in line.split("#")[0])
    ]
    personas = [line for line in numbers if "peak_hour:" in line]  # their source is above them
    assert [line for line in numbers if "#" not in line] == personas


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("time_zone: America/New_York", "time_zone: Mars/Base", "IANA time zone"),
        ("currency: USD", "currency: DOL", "ISO 4217"),
        ("T04:00:00+00:00", "T04:30:00+00:00", "a whole hour of UTC"),
        ('manager_customer_id: "1000000000"', 'manager_customer_id: "1000000001"', "two accounts are named"),
        ("delay_shares: [0.5, 0.5]", "delay_shares: [0.5, 0.4]", "sum to 1"),
        ("budget_low: 0.5", "budget_low: 5", "swap them"),
        ("count: 12", "count: 0", "rivals.count"),
        ("seed: 1", "sed: 1", "sed"),
    ],
)
def test_an_impossible_world_is_refused(tmp_path, before, after, message):
    text = Path("configs/sandbox/default.yaml").read_text(encoding="utf-8")
    assert before in text
    (tmp_path / "world.yaml").write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        load_sandbox_spec(tmp_path / "world.yaml")
