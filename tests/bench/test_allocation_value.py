"""The bench of splits: every split has the same total and history, and gains are paired by seed."""

import pytest

from gaelp.bench.allocation_value import BY_MARGINAL_VALUE, OWN, SplitOutcome, measure_splits, split_gains
from gaelp.sandbox.spec import load_sandbox_spec


def outcome(seed, split, value, spend=100.0):
    return SplitOutcome(seed=seed, split=split, value_a_day=value, spend_a_day=spend, budget_a_day=120.0)


def test_a_gain_is_the_mean_over_seeds_with_the_worst_one_named():
    pairs = [(1, 200.0, 220.0), (2, 300.0, 315.0), (3, 400.0, 396.0)]
    rows = [outcome(seed, OWN, before) for seed, before, _ in pairs]
    rows += [outcome(seed, BY_MARGINAL_VALUE, after) for seed, _, after in pairs]
    [gain] = split_gains(rows, BY_MARGINAL_VALUE)
    assert gain.value_gain == pytest.approx((0.10 + 0.05 - 0.01) / 3)
    assert gain.value_low < gain.value_gain < gain.value_high
    assert (gain.worst_seed, gain.worst_value_gain) == (3, pytest.approx(-0.01))


def test_the_interval_is_of_the_pairs_and_not_of_the_levels():
    rows = [outcome(seed, OWN, 100.0 * seed) for seed in range(1, 6)]
    rows += [outcome(seed, BY_MARGINAL_VALUE, 103.0 * seed) for seed in range(1, 6)]
    [gain] = split_gains(rows, BY_MARGINAL_VALUE)
    assert gain.value_low == pytest.approx(0.03) == gain.value_high


@pytest.mark.slow
def test_every_split_stays_within_the_same_total_and_is_repeatable():
    first = measure_splits(load_sandbox_spec(), 5, 4)
    assert len({row.split for row in first}) == len(first) == 5
    total = first[0].budget_a_day
    for row in first:
        assert row.budget_a_day <= total + 1e-9
        assert row.budget_a_day >= 0.9 * total
        assert row.value_a_day > 0
    assert measure_splits(load_sandbox_spec(), 5, 4) == first
