import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.episodes import play, training_seeds
from gaelp.market.baselines.search_space import SearchSpace

every_kind = pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)


def run(market, obs, bidder):
    """Play to the end, checking each action and that no cap is broken; returns the mean reward."""
    brief = market.brief
    bidder.begin(brief)
    reward = np.zeros(brief.campaigns)
    while not market.done:
        action = bidder.act(obs)
        assert action.bid_micros.shape == (brief.campaigns, brief.segments)
        assert action.bid_micros.dtype == np.int64
        assert (action.bid_micros >= 0).all()
        assert (action.bid_micros <= 10**12).all()
        obs, outcome = market.step(action)
        assert outcome.clipped == 0
        assert (obs.left_micros >= 0).all()
        reward += outcome.reward
    assert np.isfinite(reward).all()
    return reward.mean()


def test_keys_are_unique_and_informed_bidders_say_so():
    assert len({kind.key for kind in CATALOG}) == len(CATALOG)
    assert {kind.key: kind.build().name for kind in CATALOG if kind.informed} == {
        "online-lp-informed": "online-lp (informed)",
        "mpc-informed": "mpc (informed)",
    }
    assert all(kind.build().name == kind.key for kind in CATALOG if not kind.informed)


@every_kind
def test_every_bidder_is_explained_in_one_line_of_eighty_columns(kind):
    assert len(f"online-lp-informed  {kind.summary}") <= 80
    assert not kind.summary.endswith(".")


@every_kind
def test_every_bidder_plays_a_market_with_every_mechanism(kind, everything):
    assert run(everything, everything.reset(training_seeds(1, 24)), kind.build()) > 0.1


@every_kind
def test_every_bidder_replays_a_log(kind, replay):
    assert run(replay, replay.reset(), kind.build()) > 0.1


@every_kind
def test_every_bidder_does_the_same_again(kind, everything):
    bidder = kind.build()
    first = play(everything, bidder, training_seeds(2, 8))
    play(everything, bidder, training_seeds(3, 5))  # begin() must forget other batches
    again = play(everything, bidder, training_seeds(2, 8))
    np.testing.assert_array_equal(first.reward, again.reward)


def test_rules_that_learn_beat_the_constant_bid_which_beats_chance(make_market):
    market = make_market()
    rewards = {kind.key: play(market, kind.build(), training_seeds(4, 150)).reward.mean() for kind in CATALOG}
    assert (
        rewards["random"] < rewards["constant"] < min(rewards[key] for key in ("pid", "eb-pacing", "online-lp", "mpc"))
    )


SPECS = st.fixed_dictionaries(
    {
        "days": st.integers(1, 2),
        "segments": st.integers(1, 4),
        "volume": st.fixed_dictionaries({"per_hour": st.sampled_from([0.05, 3.0, 300.0])}),
        "price": st.fixed_dictionaries(
            {
                "payment": st.sampled_from(["first", "second"]),
                "level_micros": st.sampled_from([5, 2000, 10**7]),
                "steepness": st.sampled_from([0.3, 1.0, 3.0]),
            }
        ),
        "response": st.fixed_dictionaries(
            {
                "values_known": st.booleans(),
                "click_rate": st.sampled_from([1e-4, 0.01, 0.5]),
                "click_log_sd": st.sampled_from([0.0, 2.0]),
                "daypart_amplitude": st.sampled_from([0.0, 2.0]),
            }
        ),
        "budget": st.sampled_from(
            [
                {},
                {"share_low": 1e-4, "share_high": 1e-3, "daily_low": 0.05, "daily_high": 0.1},
                {"share_low": 5, "share_high": 10, "daily_low": 1, "daily_high": 10},
            ]
        ),
    }
)


@given(spec=SPECS, seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_market_and_no_parameters_within_bounds_lead_to_nonsense(make_market, spec, seed):
    market = make_market(**spec)
    rng = np.random.default_rng(seed)
    for kind in CATALOG:
        parameters = SearchSpace.of(kind.parameters).draw(rng)
        run(market, market.reset(training_seeds(seed, 6)), kind.build(parameters))
