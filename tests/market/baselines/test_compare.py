import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.market.baselines import compare as compare_module
from gaelp.market.baselines.catalog import CATALOG, CONSTANT
from gaelp.market.baselines.compare import Comparison, compare

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
