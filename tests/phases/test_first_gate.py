"""The first gate on the default market refuses agents that have not learned, and judges a tuned rule like any agent."""

import dataclasses
from datetime import UTC, datetime

import pytest

from gaelp.clock import ManualClock
from gaelp.gates import Evidence, judge, load_gate
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.judging import first_gate_metrics, judge_policy
from gaelp.training.assemble import RunPlace, assemble, ground_of
from gaelp.training.recipe import load_recipe

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
EPISODES = 1000


@dataclasses.dataclass
class Renamed:
    """A rule under a candidate's name."""

    name: str
    rule: object

    def begin(self, brief):
        self.rule.begin(brief)

    def act(self, obs):
        return self.rule.act(obs)


@pytest.fixture(scope="module")
def cal():
    return build_market(load_market_spec("cal"), load_persona_table("personas"))


@pytest.fixture(scope="module")
def tuned(cal):
    return load_tuned(cal, None)


@pytest.fixture(scope="module")
def verdict_on(cal, tuned):
    # The gate compares with the constant bid and the best rule; the other rules would only take their time.
    rivals = tuned.model_copy(update={"bidders": {key: tuned.bidders[key] for key in ("constant", "mpc")}})

    def verdict(policy, *, learned):
        judged = judge_policy(cal, policy, rivals, episodes=EPISODES, seed=1009)
        metrics = first_gate_metrics(judged, judged)  # the shifted market has tests of its own
        evidence = Evidence(
            run_id="r", agent=policy.name, learned=learned, config_hash="c0ffee", measured_at=NOW, metrics=metrics
        )
        return judge(without_data_rules(load_gate("simulation")), evidence, NOW)

    return verdict


@pytest.fixture
def plain_training(cal, tuned, tmp_path):
    """PPO without a heuristic inside, ready to train."""
    recipe = load_recipe("ppo-plain").with_rounds(6)
    place = RunPlace(tmp_path, "0" * 64, ManualClock(NOW))
    return assemble(recipe, ground_of(cal, tuned, recipe.rule), seed=7, validation_seed=11, place=place)


def failed(verdict):
    return {result.criterion.metric for result in verdict.results if result.outcome == "fail"}


def as_policy(training, name):
    return training.arena.policy(name, lambda obs: training.loop.learner.act(obs, explore=False))


def test_a_constant_bid_is_refused(verdict_on, tuned):
    verdict = verdict_on(Renamed("candidate", tuned.constant()), learned=False)
    assert verdict.outcome == "fail"
    assert failed(verdict) >= {"success_rate", "lead_over_constant", "lead_over_best_rule", "ruined_share"}


def test_an_untrained_network_is_refused(verdict_on, plain_training):
    verdict = verdict_on(as_policy(plain_training, "untrained"), learned=True)
    assert verdict.outcome == "fail"
    assert "lead_over_best_rule" in failed(verdict)


def test_a_half_trained_network_is_refused(verdict_on, plain_training):
    for _ in plain_training.loop.run():
        pass
    verdict = verdict_on(as_policy(plain_training, "half-trained"), learned=True)
    assert verdict.outcome == "fail"
    assert "lead_over_best_rule" in failed(verdict)


def test_a_tuned_rule_is_judged_like_any_agent_and_the_verdict_says_that_nothing_was_learned(verdict_on, tuned):
    [best] = [rule for rule in tuned.build_all() if rule.name == "mpc"]
    verdict = verdict_on(Renamed("candidate", best), learned=False)
    assert verdict.outcome == "pass", verdict.summary
    assert "Nothing was learned" in verdict.summary
