"""A confidence sequence holds at every look at once: false alarms and coverage over many runs, peeked at each step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.gates.sequences import AsymptoticSequence, BoundedSequence, asymptotic_radius, bounded_radius

ALPHA = 0.05
TUNED_FOR = 245


def ever_missed(sequence, runs, truth, minimum=1):
    """Whether each run's interval was ever above, and ever below, the truth; `runs` has shape (runs, looks)."""
    above, below = np.zeros(len(runs), bool), np.zeros(len(runs), bool)
    for column in runs.T:
        sequence.add(column)
        if sequence.count >= minimum:
            lower, upper = sequence.bounds()
            above |= lower > truth
            below |= upper < truth
    return above, below


def most(runs, rate):
    """The most misses that chance explains in all but 1 of 1,000 cases, as a share."""
    return rate + 3.1 * math.sqrt(rate * (1 - rate) / runs)


def test_the_radius_is_that_of_the_published_formula():
    # One-sided Gaussian mixture, by hand: n = 100, sd = 2, rho^2 = 0.05, alpha = 0.05.
    side, rho_squared = 0.05, 0.05
    by_hand = 2 * math.sqrt(2 * (5 + 1) / (100**2 * 0.05) * math.log(1 + math.sqrt(5 + 1) / 0.1))
    log_alpha = -2 * math.log(2 * side)
    tuned_for = (log_alpha + math.log(log_alpha) + 1) / rho_squared
    assert asymptotic_radius(100, 2.0, side_alpha=side, tuned_for=tuned_for) == pytest.approx(by_hand)


@pytest.mark.parametrize("wanted", [50, 245, 2000])
def test_the_radius_relative_to_a_fixed_look_is_smallest_near_the_count_it_is_tuned_for(wanted):
    counts = np.arange(2, 20_000)
    radius = asymptotic_radius(counts, 1.0, side_alpha=0.025, tuned_for=wanted)
    at = asymptotic_radius(wanted, 1.0, side_alpha=0.025, tuned_for=wanted)
    tunings = np.geomspace(wanted / 100, wanted * 100, 401)
    others = [asymptotic_radius(wanted, 1.0, side_alpha=0.025, tuned_for=other) for other in tunings]
    assert at == pytest.approx(min(others), rel=0.01)
    assert (np.diff(radius) < 0).all()


def followed(x):
    sequence = AsymptoticSequence(ALPHA, TUNED_FOR)
    for value in x:
        sequence.add(value)
    return sequence


@pytest.mark.parametrize("distance", [0, 1e6])
def test_the_interval_is_that_of_mean_spread_and_skewness_however_far_from_zero(distance):
    x = np.random.default_rng(2).exponential(1.0, 500)
    mean, sd = x.mean(), x.std(ddof=1)
    skewness = ((x - mean) ** 3).mean() / sd**3
    radius = float(asymptotic_radius(500, 1.0, side_alpha=ALPHA, tuned_for=TUNED_FOR))
    lower, upper = followed(x + distance).bounds()
    assert lower - distance == pytest.approx(mean - sd * radius, rel=1e-6)
    # Hall's transformation t + g t^2 / 3 + g^2 t^3 / 27 + g / (6 n) of the upper end is the plain end again.
    t = (mean - (upper - distance)) / sd
    assert t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 3000 == pytest.approx(-radius, rel=1e-5)
    assert upper - distance > mean + sd * radius


def test_skewness_to_the_other_side_moves_the_other_end():
    x = np.random.default_rng(2).exponential(1.0, 500)
    lower, upper = followed(x).bounds()
    assert followed(-x).bounds() == (pytest.approx(-upper), pytest.approx(-lower))


def test_nothing_is_known_before_two_different_observations():
    sequence = AsymptoticSequence(ALPHA, TUNED_FOR)
    for _ in range(40):
        assert sequence.bounds() == (-math.inf, math.inf)
        sequence.add(1.0)
    sequence.add(2.0)
    assert np.isfinite(sequence.bounds()).all()


@pytest.mark.parametrize("make", [lambda: AsymptoticSequence(ALPHA, TUNED_FOR), lambda: BoundedSequence(ALPHA, -3, 3)])
def test_many_runs_at_once_give_each_run_what_it_would_get_alone(make):
    x = np.random.default_rng(3).uniform(-1, 1, (4, 60))
    together = make()
    for column in x.T:
        together.add(column)
    for run, lower, upper in zip(x, *together.bounds(), strict=True):
        alone = make()
        for value in run:
            alone.add(value)
        assert alone.bounds() == (pytest.approx(lower, rel=1e-12), pytest.approx(upper, rel=1e-12))


def test_the_bounded_interval_by_hand_after_two_observations():
    # x = 1, 0 in [0, 1]: both bets are at their largest, 1/2.
    sequence = BoundedSequence(ALPHA, 0, 1)
    sequence.add(1.0)
    sequence.add(0.0)
    loss = -math.log(0.5) - 0.5
    losses = ((1 - 0.5) ** 2 + (0 - 0.75) ** 2) * loss
    radius = (math.log(20) + losses) / 1.0
    assert radius > 1
    assert sequence.bounds() == (0, 1)
    assert sequence.state() == pytest.approx(
        {"count": 2, "values": 1, "squares": 0.25**2 + 0.5**2, "bets": 1, "bet_values": 0.5, "losses": losses}
    )


# 1,000 runs of 2,000 observations, peeked at each one, nothing to find


def lognormal_pairs(rng, runs, looks):
    return (rng.lognormal(0, 1, (runs, looks)) - rng.lognormal(0, 1, (runs, looks))) / math.exp(0.5)


def sparse_pairs(rng, runs, looks):
    return (rng.random((runs, looks)) < 0.02) * 1.0 - (rng.random((runs, looks)) < 0.02)


NOTHING_TO_FIND = {
    "normal": lambda rng, runs, looks: rng.normal(0, 1, (runs, looks)),
    "lognormal pairs": lognormal_pairs,
    "sparse successes": sparse_pairs,
}


@pytest.mark.parametrize("kind", NOTHING_TO_FIND)
def test_false_alarms_of_the_asymptotic_sequence_stay_within_alpha(kind):
    x = NOTHING_TO_FIND[kind](np.random.default_rng(11), 1000, 2000)
    above, below = ever_missed(AsymptoticSequence(ALPHA / 2, TUNED_FOR), x, 0, minimum=30)
    assert (above | below).mean() <= ALPHA


def test_false_alarms_of_the_bounded_sequence_stay_within_alpha_from_the_first_look_on():
    x = sparse_pairs(np.random.default_rng(12), 1000, 2000)
    above, below = ever_missed(BoundedSequence(ALPHA / 2, -1, 1), x, 0)
    assert (above | below).mean() <= ALPHA


SKEWED = {
    "unequal spreads": lambda rng, size: rng.lognormal(-0.125, 0.5, size) - rng.lognormal(-0.5, 1, size),
    "one side alone": lambda rng, size: rng.lognormal(-0.5, 1, size) - 1,
    "exponential": lambda rng, size: rng.exponential(1, size) - 1,
}


@pytest.mark.parametrize("kind", SKEWED)
def test_false_alarms_stay_within_alpha_for_skewed_observations_from_100_on(kind):
    x = SKEWED[kind](np.random.default_rng(14), (1000, 2000))
    above, below = ever_missed(AsymptoticSequence(ALPHA / 2, 500), x, 0, minimum=100)
    assert (above | below).mean() <= ALPHA


def test_each_side_alone_keeps_its_alpha():
    x = lognormal_pairs(np.random.default_rng(13), 1000, 2000)
    above, below = ever_missed(AsymptoticSequence(ALPHA, TUNED_FOR), x, 0, minimum=30)
    assert above.mean() <= ALPHA
    assert below.mean() <= ALPHA


def test_a_peeked_normal_interval_would_not_have_passed_this_test():
    x = lognormal_pairs(np.random.default_rng(11), 1000, 2000)
    n = np.arange(1, 2001)
    mean = x.cumsum(1) / n
    sd = np.sqrt(np.maximum((x**2).cumsum(1) / n - mean**2, 1e-12))
    assert (np.abs(mean) > 1.96 * sd / np.sqrt(n))[:, 29:].any(1).mean() > 0.3


# Whatever the distribution


@settings(deadline=None, max_examples=8, derandomize=True)
@given(
    mean=st.floats(-100, 100),
    sd=st.floats(0.01, 100),
    seed=st.integers(0, 2**32),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    tuned_for=st.sampled_from([30, 245, 3000]),
)
def test_the_asymptotic_sequence_covers_the_mean_at_every_look(mean, sd, seed, alpha, tuned_for):
    x = np.random.default_rng(seed).normal(mean, sd, (400, 300))
    above, below = ever_missed(AsymptoticSequence(alpha / 2, tuned_for), x, mean, minimum=30)
    assert (above | below).mean() <= most(400, alpha)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(
    a=st.floats(0.1, 5),
    b=st.floats(0.1, 5),
    low=st.floats(-10, 10),
    width=st.floats(0.1, 100),
    seed=st.integers(0, 2**32),
)
def test_the_bounded_sequence_covers_the_mean_at_every_look(a, b, low, width, seed):
    x = low + width * np.random.default_rng(seed).beta(a, b, (400, 300))
    above, below = ever_missed(BoundedSequence(ALPHA / 2, low, low + width), x, low + width * a / (a + b))
    assert (above | below).mean() <= most(400, ALPHA)


def test_the_bounded_sequence_closes_in_on_the_mean():
    x = np.random.default_rng(4).beta(8, 2, (200, 3000))
    sequence = BoundedSequence(ALPHA / 2, 0, 1)
    for column in x.T:
        sequence.add(column)
    lower, upper = sequence.bounds()
    radius, worth = bounded_radius(3000, x.std(), side_alpha=ALPHA / 2)
    assert (upper - lower).mean() / 2 == pytest.approx(radius[-1], rel=0.05)
    assert radius[-1] < 0.02
    middle_error = ((upper + lower) / 2).std(ddof=1)
    assert middle_error == pytest.approx(x.std() / math.sqrt(worth[-1]), rel=0.25)
    assert worth[-1] < 3000
