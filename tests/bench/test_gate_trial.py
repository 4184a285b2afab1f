"""Every rule of the first gate has a planted bad agent that no other rule refuses; good agents pass.

Campaigns are independent, so that planted agents are joined from a few bidders that were played once: about 10 seconds.
"""

import numpy as np
import pytest

from gaelp.bench.gate_trial import PoolOutcome, failed_rules, mixed, nothing_delivered, play_pool, trial, verdict_on
from gaelp.bench.planted_agents import Spoiled, everywhere
from gaelp.gates import load_gate
from gaelp.market.baselines.campaign_outcomes import GROUPED_BY
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.judging import MarketShift, shifted

EPISODES = 1000  # the fewest with which the gate can pass
GATE = without_data_rules(load_gate("simulation"))  # tests/phases/test_data_evidence.py plants bad rows
PRICE = GROUPED_BY.index("price")


def pool_on(name, agents=lambda tuned: (), **changes):
    """Constant bid, MPC and `agents` on a shipped market with other numbers, and on the shifted one."""
    spec = load_market_spec(name)
    values = spec.model_dump()
    for section, numbers in changes.items():
        values[section] = values[section] | numbers if isinstance(numbers, dict) else numbers
    personas = load_persona_table("personas")
    tuned = load_tuned(build_market(spec, personas))
    changed = MarketSpec.model_validate(values)
    markets = (build_market(variant, personas) for variant in (changed, shifted(changed, MarketShift())))
    rules = [tuned.constant(), tuned.build("mpc")]
    return play_pool(*markets, rules, agents(tuned), episodes=EPISODES, seed=880_301)


@pytest.fixture(scope="module")
def signals():
    return pool_on(
        "signals",
        lambda tuned: [
            tuned.build("mpc-informed"),
            *(Spoiled(f"x{factor}", tuned.build("mpc"), everywhere(factor)) for factor in (0.97, 0.85, 0.8)),
        ],
    )


@pytest.fixture(scope="module")
def lot():
    """A number from 0 to 1 for each episode."""
    return np.random.default_rng(5).random(EPISODES)


def in_both(usual, spoiled, chosen):
    """Spoiled in the chosen campaigns of both markets."""
    return PoolOutcome(*(mixed(a, b, chosen(a)) for a, b in zip(usual, spoiled, strict=True)))


def planted(pool, lot):
    """By rule: the agent on `signals` that it alone refuses."""
    played = pool.outcomes
    mpc, informed, weak, weaker = (played[name] for name in ("mpc", "mpc (informed)", "x0.85", "x0.8"))
    return {
        "success_rate": in_both(informed, weak, lambda _: lot < 0.5),
        "lead_over_best_rule": in_both(mpc, weaker, lambda _: lot < 0.13),
        "worst_group_lead": in_both(
            informed, weaker, lambda played: played.launch[:, PRICE] > np.quantile(played.launch[:, PRICE], 0.9)
        ),
        "ruined_share": PoolOutcome(mixed(informed.own, nothing_delivered(informed.own), lot < 0.03), informed.shifted),
        "shifted_lead_over_best_rule": PoolOutcome(informed.own, weak.shifted),
        "shifted_ruined_share": PoolOutcome(
            informed.own, mixed(informed.shifted, nothing_delivered(informed.shifted), lot < 0.04)
        ),
    }


# Elsewhere: clicks too rare to learn from, and prices so equal that a constant bid is nearly the best.
RARE_CLICKS = {"days": 1, "volume": {"per_hour": 20}}
EQUAL_PRICES = {
    "days": 1,
    "volume": {"prior_log_error": 0, "segment_log_sd": 0.1},
    "budget": {"share_low": 0.15, "share_high": 0.2},
    "price": {"prior_log_error": 0, "segment_log_sd": 0, "diurnal_amplitude": 0},
}
ELSEWHERE = {"reward", "lead_over_constant"}


def test_every_rule_of_the_gate_has_a_planted_agent(signals, lot):
    assert {*planted(signals, lot), *ELSEWHERE} == {rule.metric for rule in GATE.criteria}


@pytest.mark.parametrize("rule", [rule.metric for rule in GATE.criteria if rule.metric not in ELSEWHERE])
def test_the_planted_agent_of_a_rule_is_refused_by_this_rule_alone(rule, signals, lot):
    verdict = verdict_on(signals.with_agent("planted", planted(signals, lot)[rule]), "planted", GATE)
    assert failed_rules(verdict) == {rule}, verdict.evidence.metrics


def test_the_best_rule_is_refused_by_its_reward_alone_where_there_is_too_little_to_learn_from():
    verdict = verdict_on(pool_on("signals", **RARE_CLICKS), "mpc", GATE)
    assert failed_rules(verdict) == {"reward"}, verdict.evidence.metrics


def test_too_small_a_lead_over_the_constant_bid_is_refused_by_this_rule_alone(lot):
    pool = pool_on("calm", **EQUAL_PRICES)
    nearly_best = in_both(pool.outcomes["mpc"], pool.outcomes["constant"], lambda _: lot < 0.06)
    verdict = verdict_on(pool.with_agent("planted", nearly_best), "planted", GATE)
    assert failed_rules(verdict) == {"lead_over_constant"}, verdict.evidence.metrics


@pytest.mark.parametrize("agent", ["mpc", "mpc (informed)", "x0.97"])
def test_the_best_rule_the_informed_rule_and_slightly_lower_bids_pass(agent, signals):
    verdict = verdict_on(signals, agent, GATE)
    assert verdict.outcome == "pass", verdict.evidence.metrics


@pytest.mark.parametrize("is_rule", [True, False])
def test_a_trial_counts_refusals_and_the_rules_behind_them(signals, is_rule):
    agent = "constant" if is_rule else lambda lot: planted(signals, lot)["ruined_share"]
    figures = trial(signals, agent, GATE, episodes=EPISODES, repetitions=3, rng=np.random.default_rng(0))
    assert figures["refused"] == 1.0
    assert figures["refused_by"]["ruined_share"] == 1.0
    assert figures["refused_by_one_rule_alone"] == ({} if is_rule else {"ruined_share": 1.0})


def test_a_sample_that_cannot_see_rare_failures_never_passes(signals):
    verdict = verdict_on(signals, "mpc", GATE, np.arange(999))
    assert verdict.outcome == "inconclusive"
    assert failed_rules(verdict) == {"worst_group_lead", "ruined_share", "shifted_ruined_share"}
