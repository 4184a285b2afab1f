"""The limits of accounts are one file; days that differ are listed, and everything it names is loaded."""

from datetime import date

import pytest

from gaelp.errors import ConfigError
from gaelp.jobs.budget_limits import BudgetLimits, CampaignLimits, load_budget_check

DAY = date(2026, 1, 2)
LIMITS = CampaignLimits(
    daily_micros=10,
    day_cap_micros=20,
    episode_cap_micros=100,
    loss_cap_micros=50,
    conversion_value_micros=5,
    daily_by_day_micros={DAY: 12},
    day_cap_by_day_micros={DAY: 24},
    reserved_by_day_micros={date(2026, 1, 3): 7},
)


def test_a_day_has_its_own_budget_cap_and_reservation():
    other = date(2026, 1, 1)
    assert (LIMITS.daily_on(DAY), LIMITS.daily_on(other)) == (12, 10)
    assert (LIMITS.caps_on(DAY).day_cap_micros, LIMITS.caps_on(other).day_cap_micros) == (24, 20)
    assert [LIMITS.reserved_on(day) for day in (other, DAY, date(2026, 1, 3))] == [20, 24, 7]


def test_a_file_is_read_with_the_rules_and_signals_it_names(tmp_path):
    path = tmp_path / "limits.yaml"
    limits = BudgetLimits.model_validate({"accounts": {"a": {"day_cap_micros": 5, "campaigns": {"c": LIMITS}}}})
    path.write_text(limits.model_dump_json())
    check = load_budget_check(path)
    assert check.limits == limits
    assert (check.rules.name, check.plan.weights) == ("campaign", (1,) * 24)


def test_an_unknown_key_is_refused(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("accounts: {}\ntolerance: 5\n")
    with pytest.raises(ConfigError, match="tolerance"):
        load_budget_check(path)
