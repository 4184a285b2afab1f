"""What no bidder reached on a market is said, with what would help."""

import pytest

from gaelp.gates import load_gate
from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult
from gaelp.phases.market_limits import market_limits

GATE = load_gate("simulation")


def exactly(value):
    return Estimate(value=value, lower_95=value, upper_95=value)


def bidder(name, reward, lead_over_constant):
    return PolicyResult(
        policy=name,
        informed="(informed)" in name,
        reward=exactly(reward),
        headroom_share=exactly(0),
        difference_to_best=exactly(0),
        lead_over_best=exactly(0),
        lead_over_constant=exactly(lead_over_constant),
        budget_used=1,
        reward_p10=0,
    )


def limits(*bidders):
    given = {"market": "m", "label": "", "episodes": 2000, "seed": 1, "constant": "constant", "best_uninformed": "mpc"}
    return market_limits(GATE, Comparison(**given, results=tuple(bidder(*figures) for figures in bidders)))


def test_a_market_that_some_bidder_masters_has_no_limits():
    assert limits(("constant", 0.6, 0.0), ("mpc", 0.75, 0.25), ("agent (ppo)", 0.65, 0.1)) == ()


def test_a_floor_that_nobody_reached_is_named_with_the_best_bidder_and_what_would_help():
    [text] = limits(("constant", 0.5, 0.0), ("mpc", 0.6, 0.2), ("mpc (informed)", 0.64, 0.28))
    assert text.startswith(
        "No bidder reached a reward_lower_95 of 0.7 on this market; the best, mpc (informed), has 0.640."
    )
    assert "What would help: more to learn from" in text


def test_a_floor_that_only_the_informed_rule_reached_can_be_learned():
    [text] = limits(("constant", 0.5, 0.0), ("mpc", 0.66, 0.2), ("mpc (informed)", 0.8, 0.6))
    assert "Only a bidder that knows more than the agent" in text
    assert "mpc (informed) with 0.800" in text
    assert "longer training" in text


def test_where_the_constant_bid_is_nearly_the_best_nothing_can_be_gained():
    [text] = limits(("constant", 0.93, 0.0), ("mpc", 0.95, 0.02))
    assert text.startswith("No bidder reached a lead_over_constant_lower_95 of 0.05")
    assert "Keep it" in text


@pytest.mark.parametrize("outcome", [0.69, 0.71])
def test_the_agent_itself_counts_as_a_bidder(outcome):
    assert bool(limits(("constant", 0.5, 0.0), ("mpc", 0.6, 0.2), ("agent (ppo)", outcome, 0.4))) == (outcome < 0.7)
