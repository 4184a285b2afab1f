"""No gate passes on a figure that cannot have been measured, and no evidence makes the judge raise."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.config.places import names_in
from gaelp.errors import BadInput, ConfigError
from gaelp.gates import Criterion, Evidence, Gate, check_replay, judge, load_gate
from gaelp.gates.metrics import RANGES, MetricRange
from gaelp.gates.verdict_plot import as_png
from gaelp.gates.verdict_table import as_markdown
from gaelp.types import Phase

GATES = {name: load_gate(name) for name in names_in("gates")}
RULES = [pytest.param(gate, rule, id=f"{gate.name}-{rule.metric}") for gate in GATES.values() for rule in gate.criteria]
every_rule = pytest.mark.parametrize(("gate", "rule"), RULES)
unhurried = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])


def changed(evidence, **metrics):
    return Evidence(**{**dict(evidence), "metrics": {**evidence.metrics, **metrics}})


def result_of(verdict, rule):
    return next(result for result in verdict.results if result.criterion == rule)


# Figures


@every_rule
@pytest.mark.parametrize("end", ["lower_95", "upper_95"])
def test_a_bound_on_the_wrong_side_of_its_value_fails(gate, rule, end, passing, now):
    evidence = passing(gate)
    value = evidence.metrics[rule.metric]
    bound = math.nextafter(value, math.inf if end == "lower_95" else -math.inf)
    result = result_of(judge(gate, changed(evidence, **{f"{rule.metric}_{end}": bound}), now), rule)
    assert result.outcome == "fail"
    assert f"{rule.metric}_{end} is {bound}" in result.reason
    assert "bounds enclose their value" in result.reason


@every_rule
@pytest.mark.parametrize("figure", [1e308, -1e308, 1e300])
@pytest.mark.parametrize("part", ["metric", "sample_metric"])
def test_a_figure_outside_the_range_of_its_metric_fails_with_the_range(gate, rule, part, figure, passing, now):
    name = getattr(rule, part)
    spoiled = {name: figure}
    if part == "metric":  # bounds that enclose it make it no better
        spoiled |= {f"{name}_lower_95": figure, f"{name}_upper_95": figure}
    verdict = judge(gate, changed(passing(gate), **spoiled), now)
    result = result_of(verdict, rule)
    assert (result.outcome, verdict.outcome) == ("fail", "fail")
    assert f"{name} is {figure}; possible: {RANGES[name].words}" in result.reason


@every_rule
def test_a_lower_bound_of_1e308_does_not_pass(gate, rule, passing, now):
    evidence = changed(passing(gate), **{rule.figure: 1e308})
    assert result_of(judge(gate, evidence, now), rule).outcome == "fail"


def test_a_count_is_whole(passing, now):
    gate = GATES["pilot"]
    verdict = judge(gate, changed(passing(gate), positive_roi_streak=5.5), now)
    [streak] = [result for result in verdict.results if result.criterion.metric == "positive_roi_streak"]
    assert "possible: a whole number from 0" in streak.reason


def test_the_other_end_of_a_one_sided_interval_may_be_infinite_and_not_nan(passing, now):
    gate = GATES["scale"]
    assert judge(gate, changed(passing(gate), improvement_upper_95=math.inf), now).outcome == "pass"
    assert judge(gate, changed(passing(gate), improvement_upper_95=math.nan), now).outcome == "fail"
    assert judge(gate, changed(passing(gate), improvement_upper_95=-math.inf), now).outcome == "fail"


def test_every_metric_of_a_shipped_gate_declares_its_range_and_its_threshold_lies_in_it():
    for gate in GATES.values():
        for rule in gate.criteria:
            assert RANGES[rule.metric].contains(rule.threshold)
            assert RANGES[rule.sample_metric].contains(rule.minimum_sample)


@pytest.mark.parametrize("field", ["metric", "sample_metric"])
def test_a_metric_without_a_range_cannot_be_judged_and_its_file_is_refused(field, passing, now, tmp_path):
    values = GATES["simulation"].criteria[0].model_dump() | {field: "rewards_of_the_day"}
    rule = Criterion.model_validate(values)
    gate = Gate(name="own", follows=Phase.SIMULATION, criteria=(rule,))
    figures = {"reward": 0.9, "reward_lower_95": 0.9, "rewards_of_the_day": 0.9, "rewards_of_the_day_lower_95": 0.9}
    verdict = judge(gate, passing(GATES["simulation"], metrics=figures | {"episodes": 900.0}), now)
    assert verdict.outcome == "fail"
    assert "rewards_of_the_day has no declared range" in verdict.results[0].reason
    file = tmp_path / "own.yaml"
    file.write_text(gate.model_dump_json(exclude={"file"}), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"own\.yaml: rewards_of_the_day has no declared range"):
        load_gate(file)


# Times


@pytest.mark.parametrize("year", [1, 1969])
def test_a_time_before_there_were_such_clocks_fails_also_without_a_limit_to_its_age(year, passing, now):
    rule = GATES["simulation"].criteria[0].model_copy(update={"maximum_age_hours": None})
    gate = GATES["simulation"].model_copy(update={"criteria": (rule,)})
    verdict = judge(gate, passing(gate, measured_at=datetime(year, 1, 1, tzinfo=UTC)), now)
    assert verdict.outcome == "fail"
    assert "before 1970: set the clock right" in verdict.results[0].reason


@pytest.mark.parametrize(("year", "hours"), [(1, 5), (9999, -5)])
def test_a_time_that_utc_cannot_hold_is_refused_in_words(year, hours, passing):
    edge = datetime(year, 12 if year > 1 else 1, 31 if year > 1 else 1, 23 if year > 1 else 0)  # noqa: DTZ001
    instant = edge.replace(tzinfo=timezone(timedelta(hours=hours)))
    with pytest.raises(ValidationError, match="allowed: the years 1 to 9999 in UTC"):
        passing(GATES["pilot"], measured_at=instant)
    with pytest.raises(BadInput, match="set the clock right"):
        judge(GATES["pilot"], passing(GATES["pilot"]), instant)


# Whatever the evidence

FIGURES = (
    st.floats(allow_nan=True, allow_infinity=True)
    | st.floats(-2, 2)
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([1e308, -1e308, 1e300, 10**400, -(10**400), 0, 1, 5, 200, 1000])
)
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(timezones=OFFSETS)


@st.composite
def evidences(draw, gate):
    """Evidence about a gate with any figures at any time, some of it missing; None where a model refuses it."""
    names = sorted({f"{rule.metric}{end}" for rule in gate.criteria for end in ("", "_lower_95", "_upper_95")})
    names += sorted({rule.sample_metric for rule in gate.criteria})
    metrics = {name: draw(FIGURES) for name in names if draw(st.integers(0, 7))}
    values = {"run_id": "run", "agent": "agent", "learned": True, "config_hash": "hash"}
    try:
        return Evidence(**values, measured_at=draw(INSTANTS), metrics=metrics)
    except ValidationError:  # too large an integer, or a time that UTC cannot hold
        return None


def is_possible(rule, metrics):
    """Said again, independently of the judge."""
    value, low, high = (metrics.get(f"{rule.metric}{end}") for end in ("", "_lower_95", "_upper_95"))
    sample = metrics.get(rule.sample_metric)
    if value is None or sample is None or not all(map(math.isfinite, (value, sample))):
        return False
    within = [
        RANGES[name].lowest <= x <= RANGES[name].highest
        for name, x in ((rule.metric, value), (rule.sample_metric, sample))
    ]
    return all(within) and (low is None or low <= value) and (high is None or value <= high)


@unhurried
@given(data=st.data(), name=st.sampled_from(sorted(GATES)))
def test_no_evidence_makes_the_judge_raise_or_pass_on_an_impossible_figure(data, name, now):
    gate = GATES[name]
    evidence = data.draw(evidences(gate))
    if evidence is None:
        return
    verdict = judge(gate, evidence, now)
    check_replay(verdict)
    as_markdown(verdict)
    for result in verdict.results:
        if result.outcome != "fail":
            assert is_possible(result.criterion, evidence.metrics)
            assert datetime(1970, 1, 1, tzinfo=UTC) <= evidence.measured_at <= now + timedelta(minutes=1)


@unhurried
@given(data=st.data(), name=st.sampled_from(sorted(GATES)))
def test_one_spoiled_figure_is_enough_to_refuse(data, name, passing, now):
    gate = GATES[name]
    rule = data.draw(st.sampled_from(gate.criteria))
    figure = data.draw(st.floats(allow_nan=True, allow_infinity=True))
    spoiled = data.draw(st.sampled_from([rule.metric, rule.figure, rule.sample_metric]))
    evidence = changed(passing(gate), **{spoiled: figure})
    if judge(gate, evidence, now).outcome == "pass":
        assert is_possible(rule, evidence.metrics)
        assert rule.limit.holds(evidence.metrics[rule.figure])


def test_a_verdict_on_impossible_figures_can_be_drawn(passing, now):
    gate = GATES["simulation"]
    figures = {name: (-1) ** number * 1e308 for number, name in enumerate(passing(gate).metrics)}
    assert as_png(judge(gate, passing(gate, metrics=figures), now)).startswith(b"\x89PNG")


@pytest.mark.parametrize(("figure", "possible"), [(0, True), (1, True), (1.5, False), (-1, False), (math.nan, False)])
def test_a_range_holds_its_ends_and_a_whole_one_no_fractions(figure, possible):
    assert MetricRange(0, 1, whole=True).contains(figure) == possible


def test_a_file_that_asks_for_a_metric_of_an_older_release_is_refused_with_what_replaced_it(tmp_path):
    gate = load_gate("simulation")
    rule = {"metric": "last_50_z", "at_most": 3, "compare": "value", "sample_metric": "episodes", "minimum_sample": 200}
    own = {"name": gate.name, "follows": "simulation", "criteria": [rule | {"why": "steadiness"}]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"own\.yaml: last_50_z is no longer measured.*ask for worst_group_lead"):
        load_gate(tmp_path / "own.yaml")
