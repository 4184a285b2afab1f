"""An agent is judged beside every rule on the same episodes, here and on a market with other parameters."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.config.places import names_in
from gaelp.errors import DataError
from gaelp.gates.metrics import problem_of_figure
from gaelp.market.baselines.compare import compare
from gaelp.market.build import load_market_spec
from gaelp.market.spec import MarketSpec
from gaelp.phases.judging import MarketShift, first_gate_metrics, judge_policy, shifted
from gaelp.training.price_level_rule import PriceLevelRule

WITH_INTERVAL = (
    "reward",
    "headroom_share",
    "lead_over_constant",
    "lead_over_best_rule",
    "success_rate",
    "ruined_share",
)
ALONE = ("episodes", "budget_used", "reward_p10", "worst_group_lead")


@pytest.fixture(scope="module")
def judged(tiny_market, tiny_rules):
    return judge_policy(tiny_market, PriceLevelRule(), tiny_rules, episodes=16, seed=5)


def test_every_metric_is_a_number_and_an_estimate_lies_between_its_bounds(judged):
    bounds = [f"{name}_{end}_95" for name in WITH_INTERVAL for end in ("lower", "upper")]
    assert judged.metrics.keys() == {*ALONE, *WITH_INTERVAL, *bounds}
    assert all(math.isfinite(value) for value in judged.metrics.values())
    for name in WITH_INTERVAL:
        value = judged.metrics[name]
        assert judged.metrics[f"{name}_lower_95"] <= value <= judged.metrics[f"{name}_upper_95"]
        assert judged.metrics[f"{name}_lower_95"] < judged.metrics[f"{name}_upper_95"]


def test_every_metric_has_a_declared_range_and_lies_in_it(judged):
    values = {name: value for name, value in judged.metrics.items() if not name.endswith(("_lower_95", "_upper_95"))}
    assert {name: problem_of_figure(name, value) for name, value in values.items()} == dict.fromkeys(values)


def test_the_metrics_are_those_of_the_agent_beside_every_rule(judged, tiny_market, tiny_rules):
    names = [result.policy for result in judged.comparison.results]
    assert sorted(names) == sorted([*(rule.name for rule in tiny_rules.build_all()), "price level"])
    alone = compare(tiny_market, [], constant=tiny_rules.constant(), candidates=[PriceLevelRule()], episodes=16, seed=5)
    assert judged.metrics["reward"] == alone.of("price level").reward.value
    assert judged.metrics["lead_over_constant"] == alone.of("price level").lead_over_constant.value
    assert judged.metrics["episodes"] == 16


def test_the_best_rule_is_never_the_agent_itself(tiny_market, tiny_rules):
    class Twin:
        """The best rule under another name."""

        name = "agent"

        def __init__(self):
            rule = tiny_rules.build("mpc")
            self.begin, self.act = rule.begin, rule.act

    judged = judge_policy(tiny_market, Twin(), tiny_rules, episodes=16, seed=5)
    assert judged.comparison.best_uninformed == tiny_rules.build("mpc").name
    assert judged.metrics["lead_over_best_rule"] == pytest.approx(0, abs=1e-12)
    assert judged.metrics["lead_over_best_rule_lower_95"] == pytest.approx(0, abs=1e-12)


def test_of_the_shifted_market_the_lead_and_the_ruined_campaigns_are_judged(judged, tiny_market, tiny_rules):
    elsewhere = judge_policy(tiny_market, PriceLevelRule(), tiny_rules, episodes=16, seed=6)
    metrics = first_gate_metrics(judged, elsewhere)
    added = metrics.keys() - judged.metrics.keys()
    assert metrics["shifted_lead_over_best_rule"] == elsewhere.metrics["lead_over_best_rule"]
    assert {name: metrics[name] for name in judged.metrics} == judged.metrics
    assert added == {
        f"shifted_{name}{end}"
        for name in ("lead_over_best_rule", "ruined_share")
        for end in ("", "_lower_95", "_upper_95")
    }


# The shifted market

STATED = {
    ("volume", "per_hour"): 0.8,
    ("price", "common_drift_sd"): 1.5,
    ("price", "segment_drift_sd"): 1.5,
    ("price", "hourly_noise_sd"): 1.5,
    ("response", "click_log_sd"): 1.2,
    ("response", "conversion_log_sd"): 1.2,
    ("delay", "mean_hours"): 1.5,
}


def changes(before, after):
    """Every number of a section that differs, by section and key."""
    return {
        (section, key): after[section][key] / value
        for section, values in before.items()
        if isinstance(values, dict) and section != "randomise"
        for key, value in values.items()
        if value != after[section][key]
    }


@pytest.mark.parametrize("name", names_in("markets"))
def test_a_shifted_market_differs_in_the_stated_factors_and_in_nothing_else(name):
    spec = load_market_spec(name)
    before, after = spec.model_dump(), shifted(spec, MarketShift()).model_dump()
    expected = {place: factor for place, factor in STATED.items() if before[place[0]][place[1]]}
    assert changes(before, after) == pytest.approx(expected)
    assert (after["name"], after["randomise"]) == (f"{name}-shifted", {})
    assert "other parameters" in after["label"]
    for key in ("days", "segments", "landscapes", "hour_of_week"):
        assert after[key] == before[key]


@settings(max_examples=60, deadline=None)
@given(
    per_hour=st.floats(0.001, 200),
    drift=st.floats(0, 1),
    spread=st.floats(0, 0.9),
    delay=st.floats(0, 2160),
    factors=st.tuples(*[st.floats(0.01, 10)] * 3),
)
def test_no_shift_leaves_the_limits_of_a_parameter(per_hour, drift, spread, delay, factors):
    volume, moves, slower = factors
    spec = MarketSpec(
        name="edge",
        days=1,
        segments=2,
        volume={"per_hour": per_hour},
        price={"common_drift_sd": drift, "drift_persistence": 0},
        response={"click_log_sd": spread},
        delay={"mean_hours": delay},
    )
    moved = shifted(spec, MarketShift(volume=volume, price_moves=moves, delay=slower))
    assert moved.volume.per_hour == pytest.approx(max(per_hour * volume, 0.001))
    assert moved.price.common_drift_sd == pytest.approx(min(drift * moves, 1))
    assert moved.delay.mean_hours == pytest.approx(min(delay * slower, 2160))


def test_the_longest_name_a_market_may_have_can_be_shifted():
    name = shifted(MarketSpec(name="x" * 64), MarketShift()).name
    assert (len(name), name[-9:]) == (64, "x-shifted")


def test_a_market_so_wild_that_its_prices_would_leave_the_range_is_reported_by_its_name():
    price = {"level_micros": 200_000, "segment_log_sd": 1.5, "common_drift_sd": 0.65, "segment_drift_sd": 0.65}
    with pytest.raises(DataError, match=r"market 'edge', shifted to judge it: price.level_micros: saw 200000"):
        shifted(MarketSpec(name="edge", price=price), MarketShift())
