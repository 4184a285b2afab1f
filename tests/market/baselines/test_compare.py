import numpy as np
import pytest

from gaelp.config.objective import Objective
from gaelp.errors import BadInput
from gaelp.market.baselines import compare as compare_module
from gaelp.market.baselines.catalog import CATALOG, CONSTANT
from gaelp.market.baselines.compare import Comparison, compare, headroom, lead

KINDS = {kind.key: kind for kind in CATALOG}


def named(*keys):
    return [KINDS[key].build() for key in keys]


@pytest.fixture(scope="module")
def market(make_market):
    return make_market(days=1, segments=4)


@pytest.fixture(scope="module")
def comparison(market):
    rules = named("lin", "mpc", "mpc-informed")
    return compare(market, rules, constant=CONSTANT.build(), candidates=named("pid"), episodes=60, seed=3)


def test_a_constant_bid_is_always_among_the_results(comparison):
    assert [result.policy for result in comparison.results] == ["constant", "lin", "mpc", "mpc (informed)", "pid"]
    constant = comparison.of("constant")
    assert constant.headroom_share.model_dump() == pytest.approx({"value": 0, "lower_95": 0, "upper_95": 0}, abs=1e-12)


def test_the_constant_bid_appears_once_even_if_given_twice(market):
    both = compare(market, [CONSTANT.build()], constant=CONSTANT.build(), episodes=4)
    assert [result.policy for result in both.results] == ["constant"]


def test_leads_are_against_the_best_rule_that_is_not_informed(comparison):
    rules = [result for result in comparison.results if not result.informed and result.policy != "pid"]
    best = max(rules, key=lambda result: result.reward.value)
    assert comparison.best_uninformed == best.policy
    assert best.difference_to_best.value == best.lead_over_best.value == 0
    for result in comparison.results:
        difference = result.reward.value - best.reward.value
        assert result.difference_to_best.value == pytest.approx(difference)
        assert result.lead_over_best.value == pytest.approx(difference / best.reward.value)


def test_an_informed_rule_or_a_candidate_is_never_the_reference(market):
    alone = compare(
        market, named("mpc-informed"), constant=CONSTANT.build(), candidates=named("mpc"), episodes=20, seed=3
    )
    assert alone.best_uninformed == "constant"


def test_the_same_seed_gives_the_same_table_and_json_keeps_it(market, comparison):
    rules = named("lin", "mpc", "mpc-informed")
    again = compare(market, rules, constant=CONSTANT.build(), candidates=named("pid"), episodes=60, seed=3)
    assert again == comparison
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


def test_batches_bound_memory_and_change_nothing(market, comparison, monkeypatch):
    monkeypatch.setattr(compare_module, "_BATCH_EPISODES", 25)
    steps = []
    rules = named("lin", "mpc", "mpc-informed")
    parts = compare(
        market,
        rules,
        constant=CONSTANT.build(),
        candidates=named("pid"),
        episodes=60,
        seed=3,
        progress=lambda *step: steps.append(step),
    )
    assert parts == comparison
    assert steps[:3] == [("constant", 25, 60), ("constant", 50, 60), ("constant", 60, 60)]


def test_episodes_are_held_out_and_the_same_for_all(market, monkeypatch):
    played = []
    play = compare_module.play
    monkeypatch.setattr(compare_module, "play", lambda *args: played.append(args[2]) or play(*args))
    compare(market, named("lin"), constant=CONSTANT.build(), episodes=10)
    np.testing.assert_array_equal(played[0], played[1])
    assert all(int(seed) % 2 == 1 for seed in played[0])


def test_intervals_agree_with_a_paired_bootstrap():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.08, 400)
    constant = 0.6 + shared + rng.normal(0, 0.05, 400)
    agent = 0.8 + 0.7 * shared + rng.normal(0, 0.03, 400)
    draws = rng.integers(0, 400, (4000, 400))
    a, c = agent[draws].mean(axis=1), constant[draws].mean(axis=1)
    for estimate, resampled in (
        (compare_module.headroom(agent, constant), (a - c) / (1 - c)),
        (compare_module.lead(agent, constant), a / c - 1),
    ):
        low, high = np.quantile(resampled, [0.025, 0.975])
        assert estimate.lower_95 == pytest.approx(low, abs=0.1 * (high - low))
        assert estimate.upper_95 == pytest.approx(high, abs=0.1 * (high - low))


def test_more_episodes_than_memory_holds_are_refused(market):
    with pytest.raises(BadInput, match="episodes=100000000000 seen, 1000000 or fewer allowed"):
        compare(market, [], constant=CONSTANT.build(), episodes=100_000_000_000)


def test_one_episode_is_too_few(market):
    with pytest.raises(BadInput, match="episodes=1 seen, 2 or more allowed"):
        compare(market, [], constant=CONSTANT.build(), episodes=1)


def test_every_result_is_also_shown_in_money(comparison):
    for result in comparison.results:
        money = result.money
        assert money.profit_micros == pytest.approx(money.value_micros - money.spend_micros, abs=1)
        assert money.roas == pytest.approx(money.value_micros / money.spend_micros, rel=1e-4)
        assert money.spend_share == pytest.approx(result.budget_used, abs=0.1)
        assert money.cpa_micros > 0


@pytest.fixture(scope="module")
def profit(make_market):
    """Campaigns with more money than there is profit to buy, in batches of two sizes."""
    market = make_market(Objective(kind="profit"), days=1, segments=2, budget={"share_low": 0.3, "share_high": 0.9})
    return market, compare(market, named("mpc", "lin"), constant=CONSTANT.build(), episodes=300, seed=3)


def test_with_profit_the_reward_is_the_sum_of_profits_over_the_sum_of_optima(profit):
    market, comparison = profit
    assert comparison.objective == market.objective
    seeds = compare_module.held_out_seeds(3, 300)
    achieved, optimum = 0.0, 0.0
    for part in (seeds[:100], seeds[100:]):
        played = compare_module.play(market, named("mpc")[0], part)
        achieved += played.achieved_micros.sum()
        optimum += played.optimum_micros.sum()
    assert comparison.of("mpc").reward.value == pytest.approx(achieved / optimum)
    assert comparison.of("mpc").money.profit_micros == pytest.approx(achieved / 300, rel=1e-6)


def test_intervals_of_ratios_to_a_common_optimum_are_those_of_a_bootstrap():
    rng = np.random.default_rng(0)
    optimum = rng.lognormal(0, 1, 400) * (rng.random(400) < 0.8)
    agent, constant = (optimum * rng.normal(share, 0.1, 400) - 0.05 for share in (0.9, 0.6))
    draws = rng.integers(0, 400, (4000, 400))
    share = optimum / optimum.mean()
    rewards = [values / optimum.mean() for values in (agent, constant)]
    sums = [values[draws].sum(axis=1) for values in (agent, constant, optimum)]
    cases = [
        (compare_module._mean_over_optima(rewards[0], share), sums[0] / sums[2]),
        (headroom(*rewards, share), (sums[0] - sums[1]) / (sums[2] - sums[1])),
        (lead(*rewards), sums[0] / sums[1] - 1),
    ]
    for estimate, resampled in cases:
        width = estimate.upper_95 - estimate.lower_95
        assert width == pytest.approx(np.subtract(*np.quantile(resampled, [0.975, 0.025])), rel=0.12)
        assert estimate.value == pytest.approx(resampled.mean(), abs=0.1 * width)


def test_a_lead_over_a_rule_that_loses_money_is_finite_and_has_the_right_sign():
    losing, earning = np.array([-0.3, -0.1, 0.0]), np.array([0.5, 0.4, 0.6])
    assert lead(earning, losing).value == pytest.approx((0.5 + 0.4 / 3) / 0.01)
    assert lead(losing, losing).value == 0
    assert lead(losing - 0.1, losing).value < 0
