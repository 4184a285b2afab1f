"""Whoever approves is informed about money."""

import pytest

from gaelp.gates.approval_effect import answer_effects, approval_effect
from gaelp.types import Phase


def test_no_money_moves_after_the_simulation():
    effect = approval_effect(Phase.SIMULATION)
    assert "money" not in effect.allows
    assert "No money moves" in effect.does_not_allow


@pytest.mark.parametrize("phase", [Phase.HISTORY, Phase.PILOT])
def test_where_money_is_spent_the_daily_budget_of_the_approval_is_the_limit(phase):
    effect = approval_effect(phase)
    assert "real money" in effect.allows
    assert "at most the daily budget named in the approval" in effect.allows
    assert effect.does_not_allow.startswith("more than that daily budget")


def test_every_phase_says_both():
    assert all(all(approval_effect(phase)) for phase in Phase)


def test_every_answer_that_is_offered_is_explained():
    assert answer_effects(("reject", "rerun")) == "reject ends the run, rerun trains with another seed"
