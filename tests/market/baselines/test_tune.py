import pytest

from gaelp.market.baselines import tune as tune_module
from gaelp.market.baselines.catalog import CATALOG, CONSTANT
from gaelp.market.baselines.episodes import play, training_seeds
from gaelp.market.baselines.search_space import SearchSpace
from gaelp.market.baselines.tune import Search, tune, tune_bidder

SMALL = Search(trials=9, campaigns=24, finalists=2, final_batches=1)
MPC = next(kind for kind in CATALOG if kind.key == "mpc")


@pytest.fixture(scope="module")
def market(make_market):
    return make_market(days=1, segments=3)


def test_tuning_finds_the_same_again_and_something_else_with_another_seed(market):
    first = tune(market, SMALL, [CONSTANT, MPC])
    assert first == tune(market, SMALL, [CONSTANT, MPC])
    assert first.bidders != tune(market, SMALL.model_copy(update={"seed": 8}), [CONSTANT, MPC]).bidders


def test_a_bidder_is_tuned_alike_whoever_is_tuned_beside_it(market):
    assert tune(market, SMALL, [CONSTANT, MPC]).bidders["mpc"] == tune_bidder(market, MPC, SMALL)


def test_what_is_found_is_better_than_the_defaults(market):
    search = SMALL.model_copy(update={"trials": 20})
    chosen = tune_bidder(market, CONSTANT, search)
    seeds = training_seeds(99, 200)
    tuned, plain = (play(market, CONSTANT.build(given), seeds).reward.mean() for given in (chosen.parameters, None))
    assert tuned > plain


def test_the_score_is_that_of_the_final_batches(market):
    chosen = tune_bidder(market, CONSTANT, SMALL)
    again = play(market, CONSTANT.build(chosen.parameters), training_seeds(SMALL.seed, SMALL.campaigns, batch=1))
    assert chosen.score == pytest.approx(again.reward.mean(), abs=1e-4)


def test_every_bidder_gets_the_same_number_of_trials_and_progress_is_told(market):
    steps = []
    tune(market, SMALL, [CONSTANT, MPC], progress=lambda *step: steps.append(step))
    assert steps == [(key, done, 9) for key in ("constant", "mpc") for done in range(1, 10)]


def test_only_training_episodes_are_played(market, monkeypatch):
    played = []
    monkeypatch.setattr(tune_module, "play", lambda *args: played.append(args[2]) or play(*args))
    tune_bidder(market, CONSTANT, SMALL)
    assert all(int(seed) % 2 == 0 for seeds in played for seed in seeds)
    assert len(played) == SMALL.trials + SMALL.finalists


@pytest.mark.parametrize(
    ("overrides", "absent", "present"),
    [
        ({}, "shade_offset", "values"),
        ({"price": {"payment": "first"}}, "", "shade_offset"),
        ({"response": {"values_known": True}}, "values", "margin"),
    ],
)
def test_no_trial_is_spent_on_what_has_no_effect(make_market, overrides, absent, present):
    without = tune_module._without_effect(make_market(**overrides).spec)
    keys = {key for item in SearchSpace.of(MPC.parameters, without=without).ranges for key in item.path}
    assert absent not in keys
    assert present in keys
