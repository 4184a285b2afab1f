import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.bench.rowwise_estimators import rowwise_lift
from gaelp.errors import DataError
from gaelp.history.intervals import bootstrap_intervals, student_interval
from gaelp.history.value_per_dollar import (
    bid_effect_on_click_value,
    lift_of,
    logged_dollars,
    realised_dollars,
    recalibrated_dollars,
    value_per_dollar,
)
from gaelp.history.weights import shifted_normal_weights

SEEDS = st.integers(0, 2**32 - 1)
SD = 0.4


def market(seed, *, days=42, campaigns=12, groups=4, bid_matters=0.0):
    """Segment-hours: clicks grow with the bid and cost more; half of the groups are worth three times as much."""
    rng = np.random.default_rng(seed)
    campaign, day, _, group = (
        axis.ravel() for axis in np.meshgrid(np.arange(campaigns), np.arange(days), np.arange(24), np.arange(groups))
    )
    action = SD * rng.standard_normal(len(day))
    clicks = rng.poisson(1.5 * np.exp(0.8 * action))
    worth = np.where(group % 2 == 0, 3.0, 1.0) * np.exp(bid_matters * action)
    value = 25 * rng.poisson(clicks * worth / 25)
    return {
        "clicks": clicks,
        "value": value,
        "spend": clicks * np.exp(0.5 * action),
        "action": action,
        "shift": np.where(group % 2 == 0, 0.3, -0.3),
        "group": group,
        "cells": campaign * groups + group,
        "clusters": campaign * days + day,
    }


def true_lift():
    """Of the target that bids exp(0.3) more in good groups and exp(-0.3) less in others: lognormal moments."""
    clicks = np.exp(0.8 * np.array([0.3, -0.3, 0.0]))
    price = np.exp(0.5 * np.array([0.3, -0.3, 0.0]))
    target = (3 * clicks[0] + clicks[1]) / (clicks[0] * price[0] + clicks[1] * price[1])
    return target / (4 / 2) - 1


def columns_of(log, weight=None, model=2.0):
    weight = shifted_normal_weights(log["action"], log["shift"], sd=SD) if weight is None else weight
    realised = realised_dollars(log["value"], log["spend"], weight)
    recalibrated = recalibrated_dollars(
        log["value"],
        log["spend"],
        weight,
        clicks=log["clicks"],
        predicted_value_per_click=np.broadcast_to(model, log["clicks"].shape),
        cells=log["cells"],
    )
    return realised, recalibrated


@given(seed=SEEDS)
def test_the_lift_equals_the_row_by_row_reference(seed):
    rng = np.random.default_rng(seed)
    value, spend, weight = rng.exponential(1, 30), rng.uniform(0.1, 2, 30), rng.lognormal(0, 0.5, 30)
    lift = lift_of(realised_dollars(value, spend, weight), logged_dollars(value, spend)).value
    assert lift == pytest.approx(rowwise_lift(value.tolist(), spend.tolist(), weight.tolist()), abs=1e-9)


@given(seed=SEEDS)
def test_the_logging_policy_has_a_lift_of_exactly_zero_in_every_resample(seed):
    log = market(seed % 1000, days=5, campaigns=4)
    reference = logged_dollars(log["value"], log["spend"])
    for target in columns_of(log, weight=np.ones(len(log["value"]))):
        lift = lift_of(target, reference)
        assert lift.value == pytest.approx(0, abs=1e-12)
        (interval,) = bootstrap_intervals((lift,), log["clusters"], np.random.default_rng(1), replicates=20)
        assert (interval.lower, interval.upper) == pytest.approx((0, 0), abs=1e-12)


def test_both_versions_have_the_true_lift_inside_and_the_recalibrated_is_at_least_twice_as_narrow():
    log = market(11)
    reference = logged_dollars(log["value"], log["spend"])
    realised, recalibrated = (
        student_interval(lift_of(target, reference), log["clusters"], log_offset=1.0) for target in columns_of(log)
    )
    for interval in (realised, recalibrated):
        assert interval.lower < true_lift() < interval.upper
    assert realised.upper - realised.lower > 2 * (recalibrated.upper - recalibrated.lower)


def test_a_policy_cannot_gain_by_moving_to_cells_that_the_model_overrates():
    """The model has the groups the wrong way round; the target follows the model and loses."""
    log = market(12)
    log["shift"] = -log["shift"]
    weight = shifted_normal_weights(log["action"], log["shift"], sd=SD)
    model = np.where(log["group"] % 2 == 0, 1.0, 3.0)
    _, recalibrated = columns_of(log, weight, model)
    lift = lift_of(recalibrated, logged_dollars(log["value"], log["spend"]))
    believed = (
        np.sum(weight * log["clicks"] * model)
        / np.sum(weight * log["spend"])
        / (log["value"].sum() / log["spend"].sum())
    )
    assert believed - 1 > 0.05
    assert student_interval(lift, log["clusters"], log_offset=1.0).upper < 0


def test_a_perfect_model_adds_nothing_to_the_point_estimate_that_cells_have_not_corrected():
    log = market(13, days=10)
    right = columns_of(log, model=np.where(log["group"] % 2 == 0, 3.0, 1.0))[1]
    wrong = columns_of(log, model=0.0)[1]
    assert value_per_dollar(right).value == pytest.approx(value_per_dollar(wrong).value, rel=1e-9)


def test_with_every_decision_in_its_own_cell_nothing_is_assumed():
    log = market(14, days=3, campaigns=2)
    keep = log["clicks"] > 0
    log = {name: column[keep] for name, column in log.items()}
    log["cells"] = np.arange(keep.sum())
    realised, recalibrated = columns_of(log)
    assert value_per_dollar(recalibrated).value == pytest.approx(value_per_dollar(realised).value, rel=1e-9)


def effect(log):
    return bid_effect_on_click_value(
        log["value"],
        shifted_normal_weights(log["action"], log["shift"], sd=SD),
        clicks=log["clicks"],
        predicted_value_per_click=np.full(len(log["value"]), 2.0),
        cells=log["cells"],
        clusters=log["clusters"],
    )


def test_clicks_whose_value_depends_on_the_bid_are_noticed():
    assert effect(market(15)).p_value > 0.05
    assert effect(market(15, bid_matters=1.0)).p_value < 0.001


def test_the_difference_tested_is_the_one_between_the_two_estimates():
    log = market(16, days=6)
    realised, recalibrated = columns_of(log)
    gap = (realised.value.sum() - recalibrated.value.sum()) / realised.value.sum()
    assert effect(log).share_of_value == pytest.approx(gap, abs=1e-9)


def test_two_targets_are_compared_on_the_same_decisions():
    log = market(17, days=6)
    agent, champion = columns_of(log)[0], columns_of(log, weight=np.ones(len(log["value"])))[0]
    assert lift_of(agent, champion).value == pytest.approx(
        lift_of(agent, logged_dollars(log["value"], log["spend"])).value
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: logged_dollars([1.0], [-1.0]), "spend is below 0 for 1"),
        (lambda: logged_dollars([1.0], [0.0]), "spend is 0 for every decision"),
        (lambda: logged_dollars([np.nan], [1.0]), "value has 1 missing"),
        (lambda: realised_dollars([1.0], [1.0], [-1.0]), "negative"),
        (lambda: realised_dollars([1.0, 2.0], [1.0, 1.0], [1.0]), "shapes differ"),
        (lambda: lift_of(logged_dollars([0.0], [1.0]), logged_dollars([0.0], [1.0])), "needs a reference"),
        (lambda: lift_of(logged_dollars([1.0], [1.0]), logged_dollars([1.0, 1.0], [1.0, 1.0])), "same decisions"),
        (lambda: _recalibrated(clicks=[-1.0]), "clicks are below 0"),
        (lambda: _recalibrated(clicks=[0.0]), "cells without a single click"),
    ],
)
def test_what_has_no_value_per_dollar_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def _recalibrated(clicks):
    return recalibrated_dollars([1.0], [1.0], [1.0], clicks=clicks, predicted_value_per_click=[1.0], cells=[0])


def budget_days(seed, shift, *, days=3000, budget=12.0):
    """Days of 24 hours that end when the money is spent: a higher bid brings more clicks an hour and dearer ones."""
    rng = np.random.default_rng(seed)
    left, columns = np.full(days, budget), []
    for _ in range(24):
        action = shift + SD * rng.standard_normal(days)
        price = np.exp(0.6 * action)
        clicks = np.minimum(rng.poisson(np.exp(0.6 * action)), np.floor(left / price))
        left = left - clicks * price
        columns.append((action - 0.0, clicks * 2.0, clicks * price))
    return (np.array([column[part] for column in columns]).T.ravel() for part in range(3))


def test_under_a_budget_value_per_day_has_the_wrong_sign_and_value_per_dollar_is_right():
    """The target bids 26% less: each hour brings less, but the money lasts and buys more in all."""
    shift = -0.3
    action, value, spend = budget_days(1, 0.0)
    _, target_value, target_spend = budget_days(2, shift)
    weight = shifted_normal_weights(action, np.full(len(action), shift), sd=SD)
    per_day = np.sum(weight * value) / np.sum(weight) / value.mean() - 1
    truth_per_day = target_value.sum() / value.sum() - 1
    assert truth_per_day > 0.1
    assert per_day < -0.1
    lift = lift_of(realised_dollars(value, spend, weight), logged_dollars(value, spend)).value
    truth = target_value.sum() / target_spend.sum() / (value.sum() / spend.sum()) - 1
    assert truth > 0.1
    assert lift == pytest.approx(truth, abs=0.02)


def test_a_decision_carries_its_effect_on_the_correction_of_its_whole_cell():
    """Counted once more in a log of many copies, a decision changes the recalibrated value by what its row says."""
    log = market(18, days=1, campaigns=1)
    weight = shifted_normal_weights(log["action"], log["shift"], sd=SD)

    def recalibrated(rows):
        return recalibrated_dollars(
            log["value"][rows],
            log["spend"][rows],
            weight[rows],
            clicks=log["clicks"][rows],
            predicted_value_per_click=np.full(len(rows), 1.0),
            cells=log["cells"][rows],
        ).value

    once = np.arange(len(weight))
    many = np.tile(once, 2000)
    row = int(np.argmax(log["clicks"] * np.abs(weight - 1)))
    change = recalibrated(np.append(many, row)).sum() - recalibrated(many).sum()
    assert change == pytest.approx(recalibrated(once)[row], rel=1e-3)
    assert change != pytest.approx(weight[row] * log["value"][row], rel=0.1)


def test_a_copy_of_the_logging_policy_has_exactly_its_value_without_rounding():
    """A lift of 2e-16 with no spread would pass a gate that asks for more than 0."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clicks = rng.poisson(0.3, 500).astype(float)
        value = np.where(clicks > 0, rng.exponential(7.3, 500), 0.0)
        copied = recalibrated_dollars(
            value,
            rng.random(500) + 0.1,
            np.ones(500),
            clicks=clicks,
            predicted_value_per_click=rng.random(500),
            cells=rng.integers(0, 5, 500),
        )
        assert (copied.value == value).all()
