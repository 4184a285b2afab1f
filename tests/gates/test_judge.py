"""A gate in doubt does not open: every rule of every file, at its threshold, next to it, and with bad evidence."""

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.config.places import names_in
from gaelp.errors import BadInput, DataError
from gaelp.gates import Criterion, Evidence, Gate, Verdict, check_replay, judge, load_gate
from gaelp.gates.metrics import RANGES
from gaelp.types import Phase

GATES = {name: load_gate(name) for name in names_in("gates")}
RULES = [pytest.param(gate, rule, id=f"{gate.name}-{rule.metric}") for gate in GATES.values() for rule in gate.criteria]
every_rule = pytest.mark.parametrize(("gate", "rule"), RULES)
every_gate = pytest.mark.parametrize("gate", [pytest.param(gate, id=name) for name, gate in GATES.items()])


def changed(evidence, **metrics):
    """The evidence with other figures; None takes one away."""
    figures = {name: value for name, value in {**evidence.metrics, **metrics}.items() if value is not None}
    return Evidence(**{**dict(evidence), "metrics": figures})


def result_of(verdict, rule):
    return next(result for result in verdict.results if result.criterion == rule)


# At, below and above each threshold


@every_gate
def test_evidence_that_keeps_every_rule_passes(gate, passing, now):
    verdict = judge(gate, passing(gate), now)
    assert verdict.outcome == "pass"
    assert [result.outcome for result in verdict.results] == ["pass"] * len(gate.criteria)
    assert [result.criterion for result in verdict.results] == list(gate.criteria)


@every_rule
@pytest.mark.parametrize("side", [-math.inf, 0, math.inf], ids=["below", "at", "above"])
def test_a_figure_at_its_threshold_and_next_to_it_is_judged_by_its_bound(gate, rule, side, passing, now):
    possible = RANGES[rule.metric]
    further = rule.threshold + math.copysign(1, side) if possible.whole else math.nextafter(rule.threshold, side)
    figure = further if side else rule.threshold
    kept = {"at_least": side >= 0, "above": side > 0, "at_most": side <= 0}[rule.bound] and possible.contains(figure)
    verdict = judge(gate, changed(passing(gate), **{rule.figure: figure}), now)
    result = result_of(verdict, rule)
    assert result.outcome == ("pass" if kept else "fail")
    assert verdict.outcome == result.outcome
    assert (result.compared, result.criterion.threshold) == (figure, rule.threshold)
    assert [other.outcome for other in verdict.results if other is not result] == ["pass"] * (len(gate.criteria) - 1)


@every_rule
def test_a_sample_at_its_minimum_counts_and_one_fewer_holds(gate, rule, passing, now):
    enough = changed(passing(gate), **{rule.sample_metric: rule.minimum_sample})
    assert result_of(judge(gate, enough, now), rule).outcome == "pass"
    verdict = judge(gate, changed(enough, **{rule.sample_metric: rule.minimum_sample - 1}), now)
    result = result_of(verdict, rule)
    assert (result.outcome, verdict.outcome) == ("inconclusive", "inconclusive")
    assert f"needs {rule.minimum_sample} or more" in result.reason


@every_rule
def test_too_small_a_sample_holds_even_if_the_figure_is_bad(gate, rule, passing, now):
    worse = rule.threshold + 1 if rule.bound == "at_most" else max(rule.threshold - 1, RANGES[rule.metric].lowest)
    evidence = changed(passing(gate), **{rule.figure: worse, rule.sample_metric: 0})
    assert result_of(judge(gate, evidence, now), rule).outcome == "inconclusive"


# Evidence that is none


@every_rule
@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "is missing"), (math.nan, "is NaN"), (math.inf, "is infinite"), (-math.inf, "is infinite")],
)
@pytest.mark.parametrize("part", ["metric", "figure", "sample_metric"])
def test_a_metric_a_bound_or_a_sample_that_is_no_number_fails(gate, rule, part, value, said, passing, now):
    name = getattr(rule, part)
    verdict = judge(gate, changed(passing(gate), **{name: value}), now)
    result = result_of(verdict, rule)
    assert (result.outcome, verdict.outcome) == ("fail", "fail")
    assert f"{name} {said}" in result.reason
    assert {"metric": result.value, "figure": result.compared, "sample_metric": result.sample}[part] is None


@every_rule
def test_evidence_at_its_oldest_counts_and_any_older_fails(gate, rule, passing, now):
    oldest = now - timedelta(hours=rule.maximum_age_hours)
    assert judge(gate, passing(gate, measured_at=oldest), now).outcome == "pass"
    verdict = judge(gate, passing(gate, measured_at=oldest - timedelta(seconds=1)), now)
    assert result_of(verdict, rule).outcome == "fail"
    assert "hours ago" in result_of(verdict, rule).reason


def test_evidence_without_a_limit_to_its_age_never_grows_stale(passing, now):
    gate = one_rule("reward", "at_least", 0.7)
    assert judge(gate, passing(gate, measured_at=now - timedelta(days=9999)), now).outcome == "pass"


def test_evidence_from_the_future_fails_beyond_what_clocks_differ(passing, now):
    gate = one_rule("reward", "at_least", 0.7)
    assert judge(gate, passing(gate, measured_at=now + timedelta(seconds=60)), now).outcome == "pass"
    verdict = judge(gate, passing(gate, measured_at=now + timedelta(seconds=61)), now)
    assert verdict.outcome == "fail"
    assert "after it is judged" in verdict.results[0].reason


@every_gate
def test_no_evidence_at_all_fails_every_rule(gate, passing, now):
    verdict = judge(gate, passing(gate, metrics={}), now)
    assert {result.outcome for result in verdict.results} == {"fail"}


def test_a_failing_rule_wins_over_one_with_too_little_data(passing, now):
    gate = GATES["pilot"]
    verdict = judge(
        gate, changed(passing(gate), campaigns=4, checked_rows=9, roi_spans=2, shadow_hours=9, safety_violations=1), now
    )
    assert {result.outcome for result in verdict.results} == {"fail", "inconclusive"}
    assert verdict.outcome == "fail"


def test_a_judge_without_a_time_zone_is_refused(passing):
    with pytest.raises(BadInput, match="has no time zone"):
        judge(GATES["pilot"], passing(GATES["pilot"]), datetime(2026, 11, 16))  # noqa: DTZ001 (what is tested)


# What is said


def test_the_verdict_says_that_nothing_was_learned_when_a_tuned_rule_is_judged(passing, now):
    gate = GATES["simulation"]
    learned, tuned = (judge(gate, passing(gate, learned=learned), now) for learned in (True, False))
    assert "Nothing was learned" in tuned.summary
    assert "Nothing was learned" not in learned.summary
    assert learned.outcome == tuned.outcome == "pass"


def test_the_summary_counts_what_failed_and_what_is_held(passing, now):
    gate = GATES["simulation"]
    assert judge(gate, passing(gate), now).summary == "Gate simulation: agent (ppo) passes, all 10 rules hold."
    failing = judge(gate, changed(passing(gate), success_rate=0.1, success_rate_lower_95=0.1), now)
    assert failing.summary == "Gate simulation: agent (ppo) fails, 1 of 10 rules."
    held = judge(gate, changed(passing(gate), episodes=199, checked_rows=9), now)
    assert held.summary == "Gate simulation: agent (ppo) holds, 10 of 10 rules have too little data."


def test_a_reason_names_the_bound_the_figure_and_what_is_asked(passing, now):
    gate = GATES["simulation"]
    verdict = judge(gate, changed(passing(gate), reward_lower_95=0.65), now)
    assert verdict.results[0].reason == "the lower 95% bound of reward is 0.65; asked: at least 0.7"
    nearly = judge(gate, changed(passing(gate), reward_lower_95=math.nextafter(0.7, 0)), now)
    assert "is 0.6999999999999" in nearly.results[0].reason
    scale = judge(GATES["scale"], passing(GATES["scale"]), now)
    assert "holds at every look, alpha 0.05" in scale.results[0].reason


# A stored verdict


@every_gate
def test_a_verdict_that_was_stored_and_read_is_the_same_and_replays(gate, passing, now):
    for evidence in (passing(gate), passing(gate, metrics={"reward": math.nan, "roi": -math.inf})):
        verdict = judge(gate, evidence, now)
        read = Verdict.model_validate_json(verdict.canonical_json(), strict=True)
        assert read.canonical_json() == verdict.canonical_json()
        check_replay(read)


@pytest.mark.parametrize(
    "changes", [{"outcome": "pass"}, {"summary": "all is well"}, {"evidence_hash": "0" * 64}, {"results": ()}]
)
def test_a_verdict_that_was_changed_after_it_was_judged_is_refused(changes, passing, now):
    gate = GATES["simulation"]
    verdict = judge(gate, changed(passing(gate), reward_lower_95=0.1), now)
    with pytest.raises(DataError, match="it was changed after it was judged"):
        check_replay(verdict.model_copy(update=changes))


# Whatever the figures

FIGURES = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])
JUNK = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 1.5, -0.5])
METRICS = ("reward", "headroom_share", "success_rate")


def one_rule(metric, bound, threshold, compare="value"):
    return gate_of([criterion(metric, bound, threshold, compare)])


def criterion(metric, bound, threshold, compare="value", minimum=10):
    return Criterion(
        **{bound: threshold},
        metric=metric,
        compare=compare,
        sample_metric="episodes",
        minimum_sample=minimum,
        why="a test",
    )


def gate_of(rules):
    return Gate(name="own", follows=Phase.SIMULATION, criteria=tuple(rules))


@st.composite
def gates(draw):
    bounds = [(metric, draw(st.sampled_from(["at_least", "above", "at_most"]))) for metric in METRICS]
    rules = []
    for metric, bound in bounds[: draw(st.integers(1, 3))]:
        cautious = "upper_95" if bound == "at_most" else "lower_95"
        compare = draw(st.sampled_from(["value", cautious]))
        rules.append(criterion(metric, bound, draw(FIGURES), compare, draw(st.integers(1, 30))))
    return gate_of(rules)


@st.composite
def figures_for(draw, gate):
    metrics = {}
    for metric in sorted({rule.metric for rule in gate.criteria}):
        value, below, above = draw(FIGURES), draw(st.floats(0, 0.2)), draw(st.floats(0, 0.2))
        metrics |= {metric: value, f"{metric}_lower_95": value - below, f"{metric}_upper_95": value + above}
    for name in sorted(metrics):
        if not draw(st.integers(0, 29)):
            metrics[name] = draw(JUNK)
        elif not draw(st.integers(0, 29)):
            del metrics[name]
    return metrics | {"episodes": float(draw(st.integers(0, 40)))}


def evidence_of(metrics, now):
    return Evidence(run_id="run", agent="agent", learned=True, config_hash="hash", measured_at=now, metrics=metrics)


RANK = {"fail": 0, "inconclusive": 1, "pass": 2}
unhurried = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@unhurried
@given(st.data())
def test_improving_a_figure_never_makes_a_verdict_worse(now, data):
    gate = data.draw(gates())
    metrics = {name: value for name, value in data.draw(figures_for(gate)).items() if math.isfinite(value)}
    rule = data.draw(st.sampled_from(gate.criteria))
    value, possible = metrics.get(rule.metric, 0.0), RANGES[rule.metric]
    step = data.draw(st.floats(0, 3))
    target = value - step if rule.bound == "at_most" else value + step
    step = min(max(target, possible.lowest), possible.highest) - value  # whoever claims the impossible does not improve
    names = {name for name in metrics if name.startswith(rule.metric)}
    better = metrics | {name: metrics[name] + step for name in names}
    before, after = (judge(gate, evidence_of(figures, now), now) for figures in (metrics, better))
    assert RANK[after.outcome] >= RANK[before.outcome]


@unhurried
@given(st.data())
def test_more_data_never_turns_a_pass_into_anything_else(now, data):
    gate = data.draw(gates())
    metrics = data.draw(figures_for(gate))
    more = metrics | {"episodes": metrics["episodes"] + data.draw(st.integers(0, 50))}
    if judge(gate, evidence_of(metrics, now), now).outcome == "pass":
        assert judge(gate, evidence_of(more, now), now).outcome == "pass"


@unhurried
@given(st.data())
def test_the_order_of_the_rules_changes_neither_verdict_nor_hash(now, data):
    gate = data.draw(gates())
    evidence = evidence_of(data.draw(figures_for(gate)), now)
    other = gate.model_copy(update={"criteria": tuple(data.draw(st.permutations(gate.criteria)))})
    one, two = judge(gate, evidence, now), judge(other, evidence, now)
    assert (one.outcome, one.summary, one.evidence_hash) == (two.outcome, two.summary, two.evidence_hash)
    by_metric = [{result.criterion.metric: result for result in verdict.results} for verdict in (one, two)]
    assert by_metric[0] == by_metric[1]


@unhurried
@given(st.data())
def test_a_pass_means_that_every_figure_is_there_finite_and_on_the_right_side(now, data):
    gate = data.draw(gates())
    metrics = data.draw(figures_for(gate))
    if judge(gate, evidence_of(metrics, now), now).outcome == "pass":
        for rule in gate.criteria:
            assert RANGES[rule.metric].contains(metrics[rule.metric])
            assert metrics["episodes"] >= rule.minimum_sample
            distance = metrics[rule.figure] - rule.threshold
            assert distance <= 0 if rule.bound == "at_most" else distance >= 0
