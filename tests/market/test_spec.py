"""Every market that the configuration accepts can be played: at the ends of its numbers too."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from gaelp.config import load_model
from gaelp.config.schema import constraints_at, leaf_keys, types_at
from gaelp.config.validation_errors import CUSTOM_MESSAGE
from gaelp.errors import ConfigError
from gaelp.market.build import build_market, load_persona_table
from gaelp.market.features import FeatureMaker
from gaelp.market.market import seeds_from
from gaelp.market.spaces import ContinuousActions
from gaelp.market.spec import RANDOMISABLE, BudgetRange, LandscapeSpec, MarketSpec

ONE_LANDSCAPE = [{"name": "one", "mixture": [{"weight": 1, "log_mean": -0.4, "log_sd": 0.8}]}]  # quickly tabulated
TINY = {"name": "tiny", "days": 1, "segments": 2, "landscapes": ONE_LANDSCAPE}
CAMPAIGNS = 3


def ends_of(model, path):
    """The outermost values that the constraints of a number allow."""
    kind = types_at(model, path)[0]
    limits = {}
    for limit in constraints_at(model, path):
        for name in ("gt", "ge", "lt", "le"):
            if getattr(limit, name, None) is not None:
                limits[name] = getattr(limit, name)
    low = limits["ge"] if "ge" in limits else 1 if kind is int else math.nextafter(limits["gt"], math.inf)
    high = limits["le"] if "le" in limits else math.nextafter(limits["lt"], -math.inf)
    return low, high


NUMBERS = {
    ".".join(path): ends_of(MarketSpec, path)
    for path in leaf_keys(MarketSpec)
    if types_at(MarketSpec, path) in ((float,), (int,))
}
# Long flights and many segments are a matter of time, not of numbers: the extremes know them by their count.
PLAYED = {path: ends for path, ends in NUMBERS.items() if path not in ("days", "segments", "creatives.count")}


def spec_with(values, **more):
    given_values = {**TINY, **more}
    for path, value in values.items():
        section, key = path.split(".")
        given_values[section] = {**given_values.get(section, {}), key: value}
    budget = {**BudgetRange().model_dump(), **given_values.get("budget", {})}
    for pair in ("share", "daily"):
        budget[f"{pair}_low"] = min(budget[f"{pair}_low"], budget[f"{pair}_high"])
    given_values["budget"] = budget
    return MarketSpec.model_validate(given_values)


@cache
def personas():
    return load_persona_table("personas")


def assert_playable(spec, seed=1):
    """A day of random bids: finite all the way, no warning (they are errors here), and every count and micro kept."""
    market = build_market(spec, personas())
    obs = market.reset(seeds_from(seed, CAMPAIGNS))
    features, actions = FeatureMaker(market.brief), ContinuousActions(spec.segments, spec.creatives.count)
    assert np.isfinite(features(obs)).all()
    rng = np.random.default_rng(seed)
    opportunities = np.zeros((CAMPAIGNS, spec.segments))
    rewards = np.zeros(CAMPAIGNS)
    for _ in range(market.hours):
        raw = rng.uniform(-1, 1, (CAMPAIGNS, *actions.space.shape)).astype(np.float32)
        obs, outcome = market.step(actions.decode(raw, market.brief)[0])
        assert np.isfinite(features(obs)).all()
        assert np.isfinite(outcome.reward).all()
        assert (obs.conversions >= 0).all()
        assert (market.state.arriving >= 0).all()
        opportunities += market.state.opportunities
        rewards += outcome.reward
    state, world = market.state, market.world
    spent = state.total_cost_micros.sum(axis=1)
    assert (spent + state.left_micros == world.budget_micros).all()
    assert (state.left_micros >= 0).all()
    assert (state.total_impressions <= opportunities).all()
    assert (state.total_clicks <= state.total_impressions).all()
    happened = state.total_conversions + state.pending + state.lost_to_window
    due = state.arriving.sum(axis=0, dtype=np.int64)  # all that is pending, but for reports later than is stored
    stored = len(state.arriving) > spec.delay.window_hours
    assert (due == state.pending).all() if stored else (due <= state.pending).all()
    assert (happened <= state.total_clicks).all()
    assert np.isfinite(world.optimum_micros).all()
    assert (world.optimum_micros > 0).all()
    assert (world.conversion_value_micros >= 1).all()
    assert (rewards >= 0).all()
    return rewards


def test_every_number_of_a_market_has_a_range():
    assert set(RANDOMISABLE) <= set(NUMBERS)
    for path, (low, high) in NUMBERS.items():
        assert -math.inf < low < high < math.inf, path


@pytest.mark.parametrize("path", PLAYED)
def test_a_market_survives_either_end_of_every_number(path):
    for end in PLAYED[path]:
        for payment in ("first", "second"):
            assert_playable(spec_with({path: end, "price.payment": payment}))


corners = st.dictionaries(
    st.sampled_from(sorted(PLAYED)), st.sampled_from(("low", "middle", "high")), min_size=1, max_size=12
)


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    corners=corners,
    known=st.booleans(),
    payment=st.sampled_from(("first", "second")),
    creatives=st.sampled_from((1, 3)),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_is_accepted_at_the_corners_can_be_played(corners, known, payment, creatives, seed):
    values = {}
    for path, corner in corners.items():
        low, high = PLAYED[path]
        middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
        value = {"low": low, "middle": middle, "high": high}[corner]
        values[path] = round(value) if types_at(MarketSpec, tuple(path.split("."))) == (int,) else value
    values |= {"price.payment": payment, "response.values_known": known, "creatives.count": creatives}
    spec = accepted(values)
    assume(spec is not None)
    assert_playable(spec, seed)


def accepted(values):
    """The market, or None if its numbers overflow together; alone each is allowed."""
    try:
        return spec_with(values)
    except ValidationError as problem:
        if all(error["type"] == CUSTOM_MESSAGE for error in problem.errors()):
            return None
        raise


def load(folder, text):
    (folder / "m.yaml").write_text(text)
    return load_model(MarketSpec, folder / "m.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price:\n  segment_log_sd: 500\n", "m.yaml:3: price.segment_log_sd: saw 500; allowed: from 0 to 2."),
        ("price:\n  hourly_noise_sd: 30\n", "m.yaml:3: price.hourly_noise_sd: saw 30; allowed: from 0 to 1."),
        ("volume:\n  per_hour: 1e7\n", "m.yaml:3: volume.per_hour: saw 10000000.0; allowed: from 0.001 to 50000."),
        (
            "price:\n  level_micros: 9999999999\n",
            "price.level_micros: saw 9999999999; allowed: greater than 0 and at most 1000000000.",
        ),
        (
            "price:\n  level_micros: 0.5\n",
            "saw 0.5; allowed: a whole number greater than 0 and at most 1000000000.",
        ),
        ("days: 61\n", "m.yaml:2: days: saw 61; allowed: greater than 0 and at most 60."),
        ("response: {values_known: yes}\n", "response.values_known: saw 'yes'; allowed: true or false."),
        ("hour_of_week: [1, 2]\n", "hour_of_week needs 168 factors, Monday 00h first, seen 2"),
        (f"hour_of_week: [{', '.join(['0'] * 168)}]\n", "hour_of_week[0]: saw 0; allowed: from 1e-06 to 1000000000."),
    ],
)
def test_a_number_outside_its_range_is_refused_with_file_key_sight_and_range(tmp_path, text, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"name: m\n{text}")
    assert message in str(caught.value)
    assert "Input should" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        ({"volume": {"per_hour": 50_000, "segment_log_sd": 1.5}}, "volume.per_hour", "opportunities in 3 days"),
        (
            {"volume": {"per_hour": 50_000}, "response": {"click_rate": 0.5}},
            "volume.per_hour",
            "conversions in an hour; allowed: 30000 at most",
        ),
        ({"price": {"level_micros": 10**9, "segment_log_sd": 2}}, "price.level_micros", "a price could reach"),
        ({"price": {"level_micros": 10**9}, "days": 60, "segments": 256}, "price.level_micros", "a budget could reach"),
        (
            {"price": {"level_micros": 10**6}, "response": {"click_rate": 1e-6, "conversion_rate": 1e-6}},
            "price",
            "wort",
        ),
        (
            {"price": {"level_micros": 1}, "response": {"click_rate": 0.9, "conversion_rate": 0.9}},
            "price",
            "1 at least",
        ),
        ({"rivals": {"depth": 3, "randomness": 2}}, "rivals.depth", "600 at most"),
    ],
)
def test_numbers_that_overflow_only_together_are_refused_at_a_key_with_all_of_them(values, key, words):
    with pytest.raises(ValidationError) as caught:
        MarketSpec.model_validate({"name": "m", **values})
    errors = caught.value.errors()
    assert any(".".join(error["loc"]).startswith(key) and words in error["msg"] for error in errors)


def test_what_ranges_could_draw_together_counts_not_only_what_stands_beside_them():
    MarketSpec(name="m", volume={"per_hour": 50_000}, response={"click_rate": 0.01})
    with pytest.raises(ValidationError, match="conversions in an hour"):
        MarketSpec(name="m", volume={"per_hour": 50_000}, randomise={"response.click_rate": (0.01, 0.5)})


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (
            "budget.share_low: [0.1, 0.5]",
            "m.yaml:2: randomise.budget.share_low[1]: a campaign could draw share_low=0.5 above share_high=0.4;",
        ),
        (
            "budget.share_high: [0.01, 0.5]",
            "randomise.budget.share_high[0]: a campaign could draw share_low=0.06 above",
        ),
        (
            "budget.daily_low: [1, 3], budget.daily_high: [2, 4]",
            "randomise.budget.daily_low[1]: a campaign could draw daily_low=3 above daily_high=2; allowed:",
        ),
        (
            "price.segment_log_sd: [0, 9]",
            "randomise.price.segment_log_sd[1]: saw 9; allowed: from 0 to 2, as for price.",
        ),
        (
            "price.level_micros: [0, 9]",
            "randomise.price.level_micros[0]: saw 0; allowed: a whole number greater than 0",
        ),
        ("rivals.depth: [0.5, 0.2]", "randomise.rivals.depth: runs from 0.5 to 0.2; allowed: the smaller end first."),
        ("rivals.dept: [0, 1]", "randomise.rivals.dept: cannot vary between campaigns; allowed: volume.per_hour,"),
        ("rivals.dept: [0, 1]", "Did you mean rivals.depth?"),
        (
            "rivals.depth: [0]",
            "randomise.rivals.depth[1]: saw a list of 1; allowed: one more entry, in place 2. Add it.",
        ),
        ("rivals.depth: [0, 1, 2]", "randomise.rivals.depth: saw a list of 3; allowed: at most 2 entries."),
        ("rivals.depth: [0, x]", "randomise.rivals.depth[1]: saw 'x'; allowed: a number."),
        ("rivals.depth: 3", "randomise.rivals.depth: saw 3; allowed: a list."),
    ],
)
def test_a_range_that_cannot_be_drawn_from_is_refused_with_key_sight_and_limit(tmp_path, ranges, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"name: m\nrandomise: {{{ranges}}}\n")
    assert message in str(caught.value)


def test_two_ranges_that_fit_each_other_need_not_fit_the_numbers_they_replace():
    ranges = {"budget.share_low": (0.5, 0.6), "budget.share_high": (0.6, 0.9)}
    assert MarketSpec(name="m", randomise=ranges).randomise == ranges


@pytest.mark.parametrize("name", ["../../../escaped", "x/y", "a: b", "", ".", "-x", "a" * 65, "a\n"])
def test_a_market_whose_name_is_no_file_name_is_refused_in_words(name):
    with pytest.raises(ValidationError, match=r"saw .*; allowed: 1 to 64 of the letters"):
        MarketSpec(name=name)


@pytest.mark.parametrize(
    "knots",
    [[(0.1, 0.0), (1, 0.0)], [(1e-4, 0.5), (2e-4, 0.5)], [(0.1, 0.5)], [(1, 0.5), (0.5, 0.9)], [(1, 0.9), (2, 0.5)]],
)
def test_a_landscape_without_prices_to_draw_from_is_refused(knots):
    with pytest.raises(ValidationError, match="landscape 'x'"):
        LandscapeSpec(name="x", knots=knots)


@pytest.mark.parametrize(
    "landscape",
    [
        {"mixture": [{"weight": 1e-6, "log_mean": -9, "log_sd": 0.01}]},
        {"mixture": [{"weight": 1e6, "log_mean": 6.5, "log_sd": 5}]},
        {"knots": [[1e-4, 0.0], [1e3, 1e-3]]},
        {"knots": [[1e-4, 0.999], [2e-4, 1.0]]},
    ],
)
@pytest.mark.parametrize("steepness", [0.05, 5])
@pytest.mark.parametrize("payment", ["first", "second"])
def test_a_market_survives_the_strangest_landscape(landscape, steepness, payment):
    price = {"payment": payment, "steepness": steepness}
    assert_playable(MarketSpec(**TINY | {"price": price, "landscapes": [{"name": "x", **landscape}]}))


def test_models_of_a_market_hold_no_number_without_limits():
    def numbers(model):
        for name, info in model.model_fields.items():
            if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
                yield from numbers(info.annotation)
            elif info.annotation in (int, float):
                yield name, constraints_at(model, (name,))

    assert all(limits for _, limits in numbers(MarketSpec))
