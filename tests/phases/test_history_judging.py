"""Figures of gate 2 by the market alone: an identical agent has none to show, a thin log none that count."""

from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from gaelp.gates import Evidence, judge, load_gate
from gaelp.history.log_checks import LogCheck, LogProblem, ProblemKind
from gaelp.history.posterior_lift import TwinOutcome, lift_between
from gaelp.phases import history_judging
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.history_declaration import WITHOUT_PROPENSITIES
from gaelp.phases.history_figures import ModelBased
from gaelp.phases.history_judging import JudgedAgent, judge_agent

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
MODEL_BASED = LogProblem(ProblemKind.NO_PROPENSITIES, "none", "some", "log them")
THIN = LogProblem(ProblemKind.FEW_CLICKS, "9 clicks", "at least 1,000", "wait")
TRUE_MARKET = {"campaign_days": 500.0} | {
    f"{name}{end}": 0.97
    for name in ("simulator_match", "prediction_accuracy", "correlation_with_actuals")
    for end in ("", "_lower_95", "_upper_95")
}


def outcome(policy, value, draws=40):
    rng = np.random.default_rng(3)
    spend = rng.lognormal(0, 0.1, (draws, 3, 2))
    chance = rng.lognormal(0, 0.02, (draws, 3, 2))
    return TwinOutcome(policy, value * spend * chance if value != 1 else spend, spend, spend.sum(axis=(1, 2)), value)


def judged(value, *problems, bid_variation=0.2):
    lift = lift_between(outcome("agent", value), outcome("logged bids", 1.0), 0.983)
    model = ModelBased(lift=lift, incumbent_lift=None, rivals=(), groups=(), bid_variation=bid_variation)
    return JudgedAgent(LogCheck((MODEL_BASED, *problems)), model=model)


def verdict(agent):
    metrics = TRUE_MARKET | agent.metrics
    evidence = Evidence(run_id="r", agent="a", learned=True, config_hash="c", measured_at=NOW, metrics=metrics)
    return judge(without_data_rules(load_gate(WITHOUT_PROPENSITIES)), evidence, NOW)


def test_a_good_agent_passes():
    assert verdict(judged(1.3)).outcome == "pass"


@pytest.mark.parametrize("value", [1.0, 1.09, 0.8])
def test_an_identical_a_slightly_better_and_a_worse_agent_are_refused(value):
    assert verdict(judged(value)).outcome == "fail"


def test_a_market_that_never_saw_another_bid_proves_nothing():
    failed = [
        rule.criterion.metric for rule in verdict(judged(1.3, bid_variation=0.0)).results if rule.outcome == "fail"
    ]
    assert failed == ["bid_variation"]


def test_a_thin_log_is_inconclusive_whatever_the_market_says():
    agent = judged(1.3, THIN)
    assert agent.metrics["posterior_draws"] == 0
    assert verdict(agent).outcome == "inconclusive"


def test_few_draws_are_inconclusive():
    lift = lift_between(outcome("agent", 1.3, 20), outcome("logged bids", 1.0, 20), 0.983)
    model = ModelBased(lift=lift, incumbent_lift=None, rivals=(), groups=(), bid_variation=0.2)
    assert verdict(JudgedAgent(LogCheck((MODEL_BASED,)), model=model)).outcome == "inconclusive"


def test_that_a_log_has_no_densities_is_no_doubt_where_the_market_is_asked():
    assert judged(1.3).doubts == ()
    assert judged(1.3, THIN).doubts == (str(THIN),)
    assert JudgedAgent(LogCheck((MODEL_BASED,))).doubts == (str(MODEL_BASED),)


def test_a_gate_that_asks_for_weights_gets_no_figure_of_the_market(monkeypatch):
    """The sealed window has no densities where the window before it had: nobody plays, nothing is estimated."""
    monkeypatch.setattr(history_judging, "check_log", lambda *_args, **_options: LogCheck((MODEL_BASED,)))
    given = SimpleNamespace(settings=None)
    opened = SimpleNamespace(logged=[1, 2], window=None)
    splits = SimpleNamespace(calibration=None, validation=None)
    agent = judge_agent(given, None, None, opened, splits, by_market=False)
    assert agent.model is None
    assert agent.metrics == {}
    assert agent.doubts == (str(MODEL_BASED),)
